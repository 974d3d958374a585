//! The command line's end of the control socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::api::{Failure, Request, Response};
use super::server::ANSWER_TIMEOUT;
use super::{Answer, SOCKET};

/// The most octets of an answer: a failover of a large zone lists a record diff.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// Why a daemon that was asked gave no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResponse {
    /// It is there, and says why; or it is silent for so long that it is not worth asking again.
    Refused(Failure),
    /// Nobody is there, or it broke off, or it is stopping.
    Gone(Failure),
}

impl From<NoResponse> for Failure {
    fn from(why: NoResponse) -> Failure {
        match why {
            NoResponse::Refused(failure) | NoResponse::Gone(failure) => failure,
        }
    }
}

/// Asks the daemon that runs on `state_dir`.
pub async fn call(state_dir: &Path, request: &Request) -> Answer {
    Ok(ask(state_dir, request).await?)
}

/// The same, for those to whom it matters whether the daemon is there.
pub async fn ask(state_dir: &Path, request: &Request) -> Result<Response, NoResponse> {
    let stream = connect(state_dir).await.map_err(NoResponse::Gone)?;
    // The daemon gives up first, and says more.
    let patience = ANSWER_TIMEOUT + Duration::from_secs(10);
    let asked = async {
        match request {
            Request::Status => get(stream, "/v1/status").await.map(Response::Status),
            Request::Reload(body) => post(stream, "/v1/reload", body).await.map(Response::Reload),
            Request::Move(body) => post(stream, "/v1/move", body).await.map(Box::new).map(Response::Move),
            Request::Steer(body) => post(stream, "/v1/steer", body).await.map(Response::Steer),
            Request::Site(body) => post(stream, "/v1/site", body).await.map(Response::Steer),
            Request::Run(body) => post(stream, "/v1/run", body).await.map(Response::Run),
            Request::History(body) => post(stream, "/v1/history", body).await.map(Response::History),
            Request::Explain(body) => post(stream, "/v1/explain", body).await.map(Box::new).map(Response::Explain),
            Request::Drain(body) => post(stream, "/v1/drain", body).await.map(Box::new).map(Response::Drain),
            Request::Top(body) => post(stream, "/v1/top", body).await.map(Box::new).map(Response::Top),
            Request::Drill(body) => post(stream, "/v1/drill", body).await.map(Response::Drill),
            Request::AbortDrill(body) => post(stream, "/v1/drill/abort", body).await.map(Response::Steer),
            Request::DrillRun(body) => post(stream, "/v1/drill/run", body).await.map(Box::new).map(Response::DrillRun),
            Request::Drills(body) => post(stream, "/v1/drill/list", body).await.map(Response::Drills),
            Request::AcceptState(body) => post(stream, "/v1/state/accept", body).await.map(Response::Steer),
            Request::Calibrate(body) => {
                post(stream, "/v1/probe/calibrate", body).await.map(Box::new).map(Response::Calibration)
            }
            Request::Calibration => get(stream, "/v1/probe/calibration").await.map(Box::new).map(Response::Calibration),
            Request::Profiles(body) => {
                post(stream, "/v1/probe/profiles", body).await.map(Box::new).map(Response::Profiles)
            }
            Request::Rename(body) => post(stream, "/v1/rename", body).await.map(Box::new).map(Response::Rename),
            Request::Renames(body) => post(stream, "/v1/renames", body).await.map(Box::new).map(Response::Renames),
            Request::Look(body) => post(stream, "/v1/probe/look", body).await.map(Box::new).map(Response::Look),
        }
    };
    match tokio::time::timeout(patience, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(NoResponse::Refused(broken_off("it has not answered in time"))),
    }
}

/// Whether a daemon runs on `state_dir`. One that may not be reached counts as running.
pub fn is_up(state_dir: &Path) -> bool {
    let found = std::os::unix::net::UnixStream::connect(state_dir.join(SOCKET));
    !found.is_err_and(|error| is_absent(&error))
}

/// Whether there is nobody, rather than somebody who can't be reached.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

async fn connect(state_dir: &Path) -> Result<UnixStream, Failure> {
    let path = state_dir.join(SOCKET);
    UnixStream::connect(&path).await.map_err(|error| match error.kind() {
        _ if is_absent(&error) => Failure::new(
            format!("no understudy is running on the state directory {}", state_dir.display()),
            "nobody answers these zones from here, and nothing was changed",
            "`understudy serve` with the same --config or --state-dir; if it runs elsewhere, name that one",
        ),
        io::ErrorKind::PermissionDenied => Failure::new(
            format!("the control socket {} is not yours to use", path.display()),
            "nothing was changed",
            "run this as the user of the daemon or as root, or become a member of the group in `control.group`",
        ),
        _ => Failure::new(
            format!("the control socket {} can't be reached: {error}", path.display()),
            "nothing was changed",
            "check the state directory with --state-dir or --config",
        ),
    })
}

async fn get<T: DeserializeOwned>(stream: UnixStream, path: &str) -> Result<T, NoResponse> {
    exchange(stream, hyper::Request::get(path), Bytes::new()).await
}

async fn post<T: DeserializeOwned>(stream: UnixStream, path: &str, body: &impl Serialize) -> Result<T, NoResponse> {
    let body = serde_json::to_vec(body).map_err(gone)?;
    exchange(stream, hyper::Request::post(path).header(CONTENT_TYPE, "application/json"), body.into()).await
}

async fn exchange<T: DeserializeOwned>(
    stream: UnixStream,
    head: hyper::http::request::Builder,
    body: Bytes,
) -> Result<T, NoResponse> {
    let request = head.header(HOST, "understudy").body(Full::new(body)).map_err(gone)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(gone)?;
    // The task ends with the connection, which ends with `sender`.
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(gone)?;
    let status = answer.status();
    let octets = Limited::new(answer.into_body(), MAX_ANSWER).collect().await.map_err(gone)?.to_bytes();
    if status.is_success() {
        return serde_json::from_slice(&octets).map_err(|error| NoResponse::Refused(other_version(error)));
    }
    let failure = serde_json::from_slice::<Failure>(&octets).unwrap_or_else(other_version);
    // That is how one answers that is stopping.
    Err(if status == StatusCode::SERVICE_UNAVAILABLE {
        NoResponse::Gone(failure)
    } else {
        NoResponse::Refused(failure)
    })
}

fn gone(error: impl std::fmt::Display) -> NoResponse {
    NoResponse::Gone(broken_off(error))
}

fn broken_off(error: impl std::fmt::Display) -> Failure {
    Failure::new(
        format!("the daemon broke off: {error}"),
        "the request may have been carried out, or not",
        "`understudy status`, and the daemon's log",
    )
}

fn other_version(error: serde_json::Error) -> Failure {
    Failure::new(
        format!("the daemon's answer is not understood: {error}"),
        "the daemon is of another version than this command; the request may have been carried out",
        "use the understudy that the daemon was started from",
    )
}
