//! The control socket from both ends.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::api::moves::*;
use super::api::*;
use super::client::NoResponse;
use super::server::{SocketError, bind};
use super::{Call, SOCKET, client};
use crate::store::{Store, StoreError};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// A state directory with a daemon's socket in it.
pub(crate) struct Daemon {
    _home: tempfile::TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) calls: mpsc::Receiver<Call>,
    serving: JoinHandle<()>,
}

pub(crate) fn daemon() -> Daemon {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("var");
    let store = Store::open(Some(&dir)).unwrap();
    let socket = bind(&store, None).unwrap().unwrap();
    let (sender, calls) = mpsc::channel(4);
    let serving = tokio::spawn(async move {
        let _store = store;
        socket.serve(sender).await;
    });
    Daemon { _home: home, dir, calls, serving }
}

fn status() -> StatusReport {
    StatusReport {
        version: "0.1.0".into(),
        pid: 1,
        uptime_seconds: 2,
        generation: 3,
        listeners: vec!["[::1]:53".parse().unwrap()],
        encrypted: Vec::new(),
        zones: Vec::new(),
        caution: None,
        last_failover: None,
        last_reload: None,
    }
}

fn move_request() -> MoveRequest {
    MoveRequest {
        kind: MoveKind::Failover,
        zone: "wiki.example".into(),
        to: Some("pmtpa".into()),
        steps: Vec::new(),
        from: None,
        region: Some("europe".into()),
        dry_run: true,
        plan: None,
        reason: Some("heat".into()),
        overrides: vec!["zone.nothing-vanishes@3f9c".parse().unwrap()],
    }
}

#[tokio::test]
async fn requests_reach_the_daemon_and_answers_come_back() {
    let mut daemon = daemon();
    let (dir, calls) = (&daemon.dir, &mut daemon.calls);
    let failure =
        Failure::new("there is no zone `wiki.example`", "nothing was changed", "did you mean `wiki.exmaple`?");
    let table: Vec<(Request, Result<Response, Failure>)> = vec![
        (Request::Status, Ok(Response::Status(status()))),
        (Request::Reload(ReloadRequest { accept: vec!["3f9c".into()] }), Ok(Response::Reload(ReloadReport::default()))),
        (Request::Move(move_request()), Err(failure)),
    ];
    for (request, answer) in table {
        let daemon = async {
            let call = calls.recv().await.unwrap();
            assert_eq!(call.request, request);
            assert_eq!(call.actor.uid, nix::unistd::getuid().as_raw(), "the actor is the peer's uid");
            assert_eq!(call.actor.pid, Some(std::process::id() as i32));
            call.answer.send(answer.clone()).unwrap();
        };
        let answer = answer.clone().map_err(NoResponse::Refused);
        assert_eq!(tokio::join!(client::ask(dir, &request), daemon).0, answer);
    }
}

#[tokio::test]
async fn a_daemon_that_stops_says_so() {
    let mut daemon = daemon();
    let stop = async {
        drop(daemon.calls.recv().await.unwrap());
        daemon.calls.close();
    };
    let (answer, ()) = tokio::join!(client::ask(&daemon.dir, &Request::Status), stop);
    let Err(NoResponse::Gone(failure)) = answer else { panic!("{answer:?}") };
    assert_eq!(failure.what, "the daemon is stopping, and did not answer");
    daemon.serving.await.unwrap();
    assert!(!daemon.dir.join(SOCKET).exists(), "the socket's file goes with it");

    let failure = client::call(&daemon.dir, &Request::Status).await.unwrap_err();
    assert!(failure.what.starts_with("no understudy is running on the state directory"), "{failure}");
    assert!(failure.try_next.contains("`understudy serve`"), "{failure}");
    Store::open(Some(&daemon.dir)).unwrap();
}

/// What a client of another making sends, and how the answer has to begin.
#[tokio::test]
async fn odd_requests_are_refused_without_reaching_the_daemon() {
    let mut daemon = daemon();
    let post = |path: &str, kind: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let json = "application/json";
    let long = format!("{{\"accept\": [\"{}\"]}}", "x".repeat(70_000));
    for (sent, code) in [
        ("GET /v2/status HTTP/1.1\r\nhost: x\r\n\r\n".into(), "404"),
        ("POST /v1/status HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".into(), "405"),
        ("GET /v1/move HTTP/1.1\r\nhost: x\r\n\r\n".into(), "405"),
        ("nonsense\r\n\r\n".into(), "400"),
        (post("/v1/reload", json, "{"), "400"),
        (post("/v1/reload", "text/plain", "{}"), "400"),
        (post("/v1/reload", json, "{\"force\": true}"), "400"),
        (post("/v1/move", json, "{\"zone\": \"a\"}"), "400"),
        (post("/v1/move", json, "{\"zone\": \"a\", \"to\": \"b\", \"overrides\": [\"all\"]}"), "400"),
        (post("/v1/reload", json, &long), "413"),
    ] {
        let mut stream = UnixStream::connect(daemon.dir.join(SOCKET)).await.unwrap();
        // A server that refuses a long body need not read it.
        let _ = stream.write_all(sent.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        let shown: String = sent.chars().take(100).collect();
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{shown}\n{answer}");
    }
    assert!(daemon.calls.try_recv().is_err());
}

#[tokio::test]
async fn directory_and_socket_are_private() {
    let daemon = daemon();
    assert_eq!((mode(&daemon.dir), mode(&daemon.dir.join(SOCKET))), (0o700, 0o600));
    for file in daemon.dir.read_dir().unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{} is private", path.display());
    }
    assert!(bind(&Store::open(None).unwrap(), None).unwrap().is_none(), "state in memory has no directory");

    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("var");
    let store = Store::open(Some(&dir)).unwrap();
    assert!(matches!(bind(&store, Some("no-such-group-here")), Err(SocketError::NoSuchGroup(_))));

    // A group that we are in: its members may connect, and pass through the directory without listing it.
    let gid = nix::unistd::getegid();
    let group = nix::unistd::Group::from_gid(gid).unwrap().unwrap();
    let socket = bind(&store, Some(&group.name)).unwrap().unwrap();
    assert_eq!((mode(&dir), mode(socket.path())), (0o710, 0o660));
    assert_eq!(socket.path().metadata().unwrap().gid(), gid.as_raw());
}

#[tokio::test]
async fn a_live_daemon_is_left_alone_and_a_dead_ones_socket_replaced() {
    let mut live = daemon();
    let taken = Store::open(Some(&live.dir)).unwrap_err();
    assert!(matches!(taken, StoreError::InUse { .. }), "{taken}");
    let failure = Failure::from(taken);
    assert!(failure.what.contains(&format!("in use by process {}", std::process::id())), "{failure}");
    let answer = async { live.calls.recv().await.unwrap().answer.send(Ok(Response::Status(status()))).unwrap() };
    assert!(tokio::join!(client::call(&live.dir, &Request::Status), answer).0.is_ok(), "the live one is not disturbed");

    // What `kill -9` leaves: a socket that nobody listens on.
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("var");
    drop(Store::open(Some(&dir)).unwrap());
    drop(std::os::unix::net::UnixListener::bind(dir.join(SOCKET)).unwrap());
    let failure = client::call(&dir, &Request::Status).await.unwrap_err();
    assert!(failure.what.starts_with("no understudy is running"), "{failure}");
    let store = Store::open(Some(&dir)).unwrap();
    let socket = bind(&store, None).unwrap().unwrap();
    UnixStream::connect(socket.path()).await.unwrap();
}
