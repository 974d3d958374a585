//! The daemon's end of the control socket.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::de::DeserializeOwned;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::api::{Actor, Failure, Request, Response};
use super::{Answer, Call, SOCKET};
use crate::store::Store;

/// The most octets of a request's body.
const MAX_BODY: usize = 64 * 1024;
/// The most connections at a time.
const MAX_CONNECTIONS: usize = 32;
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to send a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the daemon may take to answer. A reload reads every zone, so this is far from what is usual.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// The control socket, bound and not yet served. Its file goes when it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    file: SocketFile,
}

#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The system has no such group.
    #[error("there is no group `{0}` on this system")]
    NoSuchGroup(String),
    /// It can't be bound, or its rights can't be set.
    #[error("the control socket {} can't be made: {error}", path.display())]
    Unusable {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl From<SocketError> for Failure {
    fn from(error: SocketError) -> Failure {
        let try_next = match &error {
            SocketError::NoSuchGroup(_) => "correct `control.group` in the configuration, or make the group",
            SocketError::Unusable { .. } => {
                "give understudy the right to write there and to pass files to the group of `control.group`; the path may \
                 have 107 octets at most"
            }
        };
        Failure::new(error.to_string(), "operators could not reach this daemon, so it has not started", try_next)
    }
}

/// Binds the control socket in the directory of `store`: for its owner alone (0600), or for the members of `group`, too
/// (0660, and they may pass through the directory). None for a store in memory.
///
/// A socket that is there already was left by a daemon that ended without cleaning up: a live one would hold the store.
/// Call it within a tokio runtime.
pub fn bind(store: &Store, group: Option<&str>) -> Result<Option<ControlSocket>, SocketError> {
    let Some(dir) = store.path().and_then(Path::parent) else { return Ok(None) };
    let gid = match group {
        Some(name) => match nix::unistd::Group::from_name(name) {
            Ok(Some(group)) => Some(group.gid.as_raw()),
            _ => return Err(SocketError::NoSuchGroup(name.into())),
        },
        None => None,
    };
    let path = dir.join(SOCKET);
    bind_at(dir, &path, gid).map(Some).map_err(|error| SocketError::Unusable { path, error })
}

fn bind_at(dir: &Path, path: &Path, gid: Option<u32>) -> io::Result<ControlSocket> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    let file = SocketFile(path.into());
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    if let Some(gid) = gid {
        chown(path, None, Some(gid))?;
        std::fs::set_permissions(path, Permissions::from_mode(0o660))?;
        let mode = dir.metadata()?.permissions().mode();
        if mode & 0o001 == 0 {
            chown(dir, None, Some(gid))?;
            std::fs::set_permissions(dir, Permissions::from_mode(mode & 0o7777 | 0o010))?;
        }
    }
    Ok(ControlSocket { listener, file })
}

impl ControlSocket {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.file.0
    }

    /// Hands each request to `calls`, until that is closed or the future is dropped.
    pub async fn serve(self, calls: mpsc::Sender<Call>) {
        let routes = routes(calls.clone());
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let accepted = tokio::select! {
                () = calls.closed() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let routes = routes.clone();
                    tokio::spawn(async move {
                        serve_connection(stream, routes).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the control socket can't take a connection; trying again in a second");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

async fn serve_connection(stream: UnixStream, routes: Router) {
    let actor = match stream.peer_cred() {
        Ok(peer) => actor(peer.uid(), peer.pid()),
        Err(error) => {
            tracing::warn!(%error, "the kernel does not say who is at the control socket; the connection is closed");
            return;
        }
    };
    let service = TowerToHyperService::new(routes.layer(Extension(actor)));
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a control connection ended early");
    }
}

fn actor(uid: u32, pid: Option<i32>) -> Actor {
    let user = nix::unistd::User::from_uid(uid.into()).ok().flatten().map(|user| user.name);
    Actor { uid, user, pid }
}

fn routes(calls: mpsc::Sender<Call>) -> Router {
    type Calls = State<mpsc::Sender<Call>>;
    Router::new()
        .route("/v1/status", get(|calls: Calls, actor| ask(calls, actor, Request::Status)))
        .route("/v1/reload", with(Request::Reload))
        .route("/v1/move", with(Request::Move))
        .route("/v1/steer", with(Request::Steer))
        .route("/v1/site", with(Request::Site))
        .route("/v1/run", with(Request::Run))
        .route("/v1/history", with(Request::History))
        .route("/v1/explain", with(Request::Explain))
        .route("/v1/drain", with(Request::Drain))
        .route("/v1/top", with(Request::Top))
        .route("/v1/drill", with(Request::Drill))
        .route("/v1/drill/abort", with(Request::AbortDrill))
        .route("/v1/drill/run", with(Request::DrillRun))
        .route("/v1/drill/list", with(Request::Drills))
        .route("/v1/state/accept", with(Request::AcceptState))
        .route("/v1/probe/calibrate", with(Request::Calibrate))
        .route("/v1/probe/calibration", get(|calls: Calls, actor| ask(calls, actor, Request::Calibration)))
        .route("/v1/probe/profiles", with(Request::Profiles))
        .route("/v1/probe/look", with(Request::Look))
        .route("/v1/rename", with(Request::Rename))
        .route("/v1/renames", with(Request::Renames))
        .fallback(|| async {
            let what = "this daemon has no such request";
            let meaning = "the command may be of another version than the daemon";
            failed(
                StatusCode::NOT_FOUND,
                Failure::new(what, meaning, "use the understudy that the daemon was started from"),
            )
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(axum::middleware::from_fn(whole_body))
        .with_state(calls)
}

/// A request with a body.
fn with<T: DeserializeOwned + Send + 'static>(request: fn(T) -> Request) -> MethodRouter<mpsc::Sender<Call>> {
    post(move |calls, actor, body: Result<Json<T>, JsonRejection>| ask_with(calls, actor, body, request))
}

/// Takes in the whole body first, in bounded time.
async fn whole_body(request: axum::extract::Request, next: axum::middleware::Next) -> HttpResponse {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, MAX_BODY)).await {
        Ok(Ok(octets)) => next.run(axum::extract::Request::from_parts(head, octets.into())).await,
        Ok(Err(_)) => failed(
            StatusCode::PAYLOAD_TOO_LARGE,
            Failure::new(
                format!("the request has more than {MAX_BODY} octets, or broke off"),
                "nothing was changed",
                "",
            ),
        ),
        Err(_) => failed(
            StatusCode::REQUEST_TIMEOUT,
            Failure::new("the request's body did not arrive in time", "nothing was changed", "ask again"),
        ),
    }
}

async fn ask_with<T>(
    calls: State<mpsc::Sender<Call>>,
    actor: Extension<Actor>,
    body: Result<Json<T>, JsonRejection>,
    request: fn(T) -> Request,
) -> HttpResponse {
    match body {
        Ok(Json(body)) => ask(calls, actor, request(body)).await,
        Err(rejection) => {
            let what = format!("the request is not understood: {}", rejection.body_text());
            let try_next = "use the understudy that the daemon was started from";
            failed(StatusCode::BAD_REQUEST, Failure::new(what, "nothing was changed", try_next))
        }
    }
}

async fn ask(calls: State<mpsc::Sender<Call>>, actor: Extension<Actor>, request: Request) -> HttpResponse {
    let stopping = || {
        let what = "the daemon is stopping, and did not answer";
        failed(
            StatusCode::SERVICE_UNAVAILABLE,
            Failure::new(what, "the request may not have been carried out", "`understudy status`"),
        )
    };
    let (answer, answered) = oneshot::channel();
    let asked = async {
        calls.send(Call { request, actor: actor.0, answer }).await.ok()?;
        answered.await.ok()
    };
    match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
        Ok(Some(answer)) => respond(answer),
        Ok(None) => stopping(),
        Err(_) => {
            let what = format!("the daemon has not answered within {} s", ANSWER_TIMEOUT.as_secs());
            let meaning = "it may still carry the request out";
            failed(StatusCode::GATEWAY_TIMEOUT, Failure::new(what, meaning, "`understudy status`"))
        }
    }
}

fn respond(answer: Answer) -> HttpResponse {
    match answer {
        Ok(Response::Status(report)) => Json(report).into_response(),
        Ok(Response::Reload(report)) => Json(report).into_response(),
        Ok(Response::Move(report)) => Json(report).into_response(),
        Ok(Response::Steer(report)) => Json(report).into_response(),
        Ok(Response::Run(report)) => Json(report).into_response(),
        Ok(Response::History(report)) => Json(report).into_response(),
        Ok(Response::Explain(report)) => Json(report).into_response(),
        Ok(Response::Drain(report)) => Json(report).into_response(),
        Ok(Response::Top(report)) => Json(report).into_response(),
        Ok(Response::Drill(report)) => Json(report).into_response(),
        Ok(Response::DrillRun(report)) => Json(report).into_response(),
        Ok(Response::Drills(report)) => Json(report).into_response(),
        Ok(Response::Calibration(report)) => Json(report).into_response(),
        Ok(Response::Profiles(report)) => Json(report).into_response(),
        Ok(Response::Look(report)) => Json(report).into_response(),
        Ok(Response::Rename(report)) => Json(report).into_response(),
        Ok(Response::Renames(report)) => Json(report).into_response(),
        Err(failure) => failed(StatusCode::UNPROCESSABLE_ENTITY, failure),
    }
}

fn failed(status: StatusCode, failure: Failure) -> HttpResponse {
    (status, Json(failure)).into_response()
}
