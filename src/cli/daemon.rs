//! The commands that a running daemon carries out: reload, status, failover.

use std::path::PathBuf;

use crate::config::Source;
use crate::control::api::{
    FailoverReport, FailoverRequest, Failure, ReloadReport, ReloadRequest, Request, Response, StatusReport,
};
use crate::control::client;

/// Has the daemon read everything again.
pub(super) fn reload(source: &Source, request: ReloadRequest) -> Result<ReloadReport, Failure> {
    ask(source, &Request::Reload(request), |response| match response {
        Response::Reload(report) => Some(report),
        _ => None,
    })
}

/// Has the daemon answer a zone from another site.
pub(super) fn failover(source: &Source, request: FailoverRequest) -> Result<FailoverReport, Failure> {
    ask(source, &Request::Failover(request), |response| match response {
        Response::Failover(report) => Some(report),
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
pub(super) fn ask<T>(
    source: &Source,
    request: &Request,
    expected: impl FnOnce(Response) -> Option<T>,
) -> Result<T, Failure> {
    let state_dir = state_dir(source)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::new(
            format!("the system gives no resources to ask the daemon with: {error}"),
            "nothing was changed",
            "",
        )
    })?;
    let response = runtime.block_on(client::call(&state_dir, request))?;
    expected(response).ok_or_else(|| Failure::new("the daemon answered something else than was asked", "", ""))
}

fn state_dir(source: &Source) -> Result<PathBuf, Failure> {
    source.state_dir()?.ok_or_else(|| Failure::new("no state directory is known", "", "--state-dir DIR"))
}
