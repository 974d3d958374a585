//! The commands that a running daemon carries out: reload, status, moves.

use std::path::PathBuf;

use super::Doers;
use crate::config::Source;
use crate::control::api::drain::{DrainReport, DrainRequest};
use crate::control::api::moves::{HistoryReport, HistoryRequest, MoveReport, MoveRequest, SteerReport};
use crate::control::api::told::{ExplainReport, ExplainRequest, TopReport, TopRequest};
use crate::control::api::{Failure, ReloadReport, ReloadRequest, Request, Response, StatusReport};
use crate::control::client;
use crate::store::Store;

/// Has the daemon read everything again.
pub(super) fn reload(source: &Source, request: ReloadRequest) -> Result<ReloadReport, Failure> {
    at_once(source, &Request::Reload(request), |response| match response {
        Response::Reload(report) => Some(report),
        _ => None,
    })
}

/// Has the daemon answer a zone from another site. What is only thought of needs none.
pub(super) fn moved(source: &Source, request: MoveRequest, doers: &Doers) -> Result<MoveReport, Failure> {
    if request.dry_run && !client::is_up(&state_dir(source)?) {
        return (doers.dry_run)(source, &request);
    }
    at_once(source, &Request::Move(request), |response| match response {
        Response::Move(report) => Some(*report),
        _ => None,
    })
}

/// Has the daemon take down what an operator decides.
pub(super) fn steer(source: &Source, request: &Request) -> Result<SteerReport, Failure> {
    at_once(source, request, |response| match response {
        Response::Steer(report) => Some(report),
        _ => None,
    })
}

/// What was done.
pub(super) fn history(source: &Source, request: HistoryRequest) -> Result<HistoryReport, Failure> {
    at_once(source, &Request::History(request), |response| match response {
        Response::History(report) => Some(report),
        _ => None,
    })
}

/// Which answer a client gets, and why.
pub(super) fn explain(source: &Source, request: ExplainRequest) -> Result<ExplainReport, Failure> {
    at_once(source, &Request::Explain(request), |response| match response {
        Response::Explain(report) => Some(*report),
        _ => None,
    })
}

/// What caches may still hold, and how that drains.
pub(super) fn drain(source: &Source, request: DrainRequest) -> Result<DrainReport, Failure> {
    at_once(source, &Request::Drain(request), |response| match response {
        Response::Drain(report) => Some(*report),
        _ => None,
    })
}

/// What is asked most, and by whom.
pub(super) fn top(source: &Source, request: TopRequest) -> Result<TopReport, Failure> {
    at_once(source, &Request::Top(request), |response| match response {
        Response::Top(report) => Some(*report),
        _ => None,
    })
}

/// The status in a response.
pub(super) fn status(response: Response) -> Option<StatusReport> {
    match response {
        Response::Status(report) => Some(report),
        _ => None,
    }
}

/// Asks the daemon, and takes what is expected out of its response.
pub(super) fn at_once<T>(
    source: &Source,
    request: &Request,
    expected: impl FnOnce(Response) -> Option<T>,
) -> Result<T, Failure> {
    let state_dir = state_dir(source)?;
    let response = runtime()?.block_on(client::call(&state_dir, request))?;
    expected(response).ok_or_else(other_answer)
}

/// That a response is of another kind than the request.
pub(super) fn other_answer() -> Failure {
    Failure::new("the daemon answered something else than was asked", "", "")
}

/// What a command asks the daemon with.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        let what = format!("the system gives no resources to ask the daemon with: {error}");
        Failure::new(what, "nothing was changed", "")
    })
}

pub(super) fn state_dir(source: &Source) -> Result<PathBuf, Failure> {
    source.state_dir()?.ok_or_else(|| Failure::new("no state directory is known", "", "--state-dir DIR"))
}

/// Makes the state directory of a server that never ran before.
pub(super) fn init(source: &Source) -> Result<SteerReport, Failure> {
    let dir = state_dir(source)?;
    if client::is_up(&dir) {
        let done = vec![format!("{}: was made before, and a daemon runs on it: it is left as it is", dir.display())];
        return Ok(SteerReport { done, run: None });
    }
    let store = Store::open(Some(&dir))?;
    let done = match store.initialise()? {
        true => format!("{}: made, for a server that never ran before", dir.display()),
        false => format!("{}: was made before, and is left as it is", dir.display()),
    };
    Ok(SteerReport { done: vec![done], run: None })
}
