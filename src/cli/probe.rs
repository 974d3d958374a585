//! Measuring resolvers: the daemon does it; what is found is shown as it comes.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::daemon::{at_once, runtime, state_dir};
use super::follow::line;
use super::render::{Report as _, probe};
use super::{Exit, show_failure};
use crate::config::Source;
use crate::control::api::probe::{CalibrateRequest, CalibrationReport, LookRequest, ProfilesReport, ProfilesRequest};
use crate::control::api::{Failure, Request, Response};
use crate::control::client;

/// How often the daemon is asked.
const PAUSE: Duration = Duration::from_millis(500);

/// What is known of resolvers.
pub(super) fn profiles(source: &Source, request: ProfilesRequest) -> Result<ProfilesReport, Failure> {
    at_once(source, &Request::Profiles(request), |response| match response {
        Response::Profiles(report) => Some(*report),
        _ => None,
    })
}

/// Shows what resolvers give for a name: once, or again and again until nobody looks any more.
pub(super) fn watch(source: &Source, request: &LookRequest, every: Option<Duration>, json: bool) -> Exit {
    loop {
        let looked = at_once(source, &Request::Look(request.clone()), |response| match response {
            Response::Look(report) => Some(*report),
            _ => None,
        });
        let report = match looked {
            Ok(report) => report,
            Err(failure) => return show_failure(json, &failure),
        };
        let text = if json { line(&report) } else { report.text() };
        let in_place = every.is_some() && !json && std::io::stdout().is_terminal();
        let front = if in_place { "\x1b[H\x1b[2J" } else { "" };
        let mut out = std::io::stdout().lock();
        if out.write_all(format!("{front}{text}").as_bytes()).and_then(|()| out.flush()).is_err() {
            return Exit::Done;
        }
        drop(out);
        match every {
            Some(every) => std::thread::sleep(every),
            None => return report.exit(),
        }
    }
}

/// Has resolvers measured, or none where a calibration is under way that is to be followed; and shows what is found.
pub(super) fn calibrate(source: &Source, request: Option<CalibrateRequest>, json: bool) -> Exit {
    let request = request.map_or(Request::Calibration, Request::Calibrate);
    let followed = state_dir(source).and_then(|dir| runtime()?.block_on(follow(&dir, &request, json)));
    followed.unwrap_or_else(|failure| show_failure(json, &failure))
}

async fn follow(dir: &Path, request: &Request, json: bool) -> Result<Exit, Failure> {
    let mut stop = signal(SignalKind::interrupt()).map_err(|error| {
        Failure::new(format!("the system gives no resources to follow it with: {error}"), "nothing was begun", "")
    })?;
    let mut report = ask(dir, request).await?;
    let number = report.number;
    let mut shown = 0;
    let terminal = !json && std::io::stdout().is_terminal();
    loop {
        let mut out = std::io::stdout().lock();
        let clear = if terminal { "\r\x1b[K" } else { "" };
        for found in report.resolvers.get(shown..).unwrap_or_default() {
            let text = if json { line(found) } else { found.text() };
            let _ = write!(out, "{clear}{text}");
            shown += 1;
        }
        if terminal && report.under_way {
            let _ = write!(out, "{clear}{}", probe::progress(&report));
        }
        let _ = out.flush();
        drop(out);
        if !report.under_way || report.number != number {
            let failed = report.resolvers.iter().any(|found| found.measured.is_none());
            return Ok(if failed || report.number != number { Exit::Error } else { Exit::Done });
        }
        tokio::select! {
            _ = stop.recv() => {
                let _ = writeln!(
                    std::io::stderr(),
                    "{clear}understudy: measuring goes on; `understudy probe calibrate --attach` follows it"
                );
                return Ok(Exit::Interrupted);
            }
            () = tokio::time::sleep(PAUSE) => {}
        }
        report = ask(dir, &Request::Calibration).await?;
    }
}

async fn ask(dir: &Path, request: &Request) -> Result<CalibrationReport, Failure> {
    match client::call(dir, request).await? {
        Response::Calibration(report) => Ok(*report),
        _ => Err(Failure::new("the daemon answered something else than was asked", "", "")),
    }
}
