//! Measuring resolvers: the daemon does it; what is found is shown as it comes.

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::daemon::{at_once, runtime};
use super::live::{self, Live, Lost, Page};
use super::render::{Report as _, probe};
use super::{Exit, show};
use crate::config::Source;
use crate::control::api::probe::{CalibrateRequest, CalibrationReport, LookRequest, ProfilesReport, ProfilesRequest};
use crate::control::api::{Failure, Request, Response};

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
pub(super) fn watch(source: &Source, request: LookRequest, every: Option<Duration>, json: bool) -> Exit {
    let request = Request::Look(request);
    let looked = |response| match response {
        Response::Look(report) => Some(*report),
        _ => None,
    };
    match every {
        Some(every) => live::watch(source, &request, every, json, looked),
        None => show(json, at_once(source, &request, looked)),
    }
}

/// Has resolvers measured, or none where a calibration is under way that is to be followed; and shows what is found.
pub(super) fn calibrate(source: &Source, request: Option<CalibrateRequest>, json: bool) -> Exit {
    let request = request.map_or(Request::Calibration, Request::Calibrate);
    let follow = || -> Result<Exit, Lost> { runtime()?.block_on(follow(Live::of(source, false)?, &request, json)) };
    follow().unwrap_or_else(|lost| {
        let next = "`understudy serve`; then `understudy probe list`, which says what is known";
        lost.shown(json, "measuring ends with the daemon", next)
    })
}

async fn follow(mut live: Live, request: &Request, json: bool) -> Result<Exit, Lost> {
    let mut stop = signal(SignalKind::interrupt()).map_err(|error| {
        Failure::new(format!("the system gives no resources to follow it with: {error}"), "nothing was begun", "")
    })?;
    let mut report = ask(&mut live, request).await?;
    let number = report.number;
    let mut shown = 0;
    let mut page = Page::new(json);
    loop {
        for found in report.resolvers.get(shown..).unwrap_or_default() {
            page.tell(found, |found| found.text());
            shown += 1;
        }
        if report.under_way {
            page.stands(&probe::progress(&report));
        }
        if !report.under_way || report.number != number {
            let failed = report.resolvers.iter().any(|found| found.measured.is_none());
            return Ok(if failed || report.number != number { Exit::Error } else { Exit::Done });
        }
        tokio::select! {
            _ = stop.recv() => {
                drop(page);
                let _ = writeln!(
                    std::io::stderr(),
                    "understudy: measuring goes on; `understudy probe calibrate --attach` follows it"
                );
                return Ok(Exit::Interrupted);
            }
            () = tokio::time::sleep(PAUSE) => {}
        }
        report = ask(&mut live, &Request::Calibration).await?;
    }
}

async fn ask(live: &mut Live, request: &Request) -> Result<CalibrationReport, Lost> {
    let report = live.ask(request, |response| match response {
        Response::Calibration(report) => Some(*report),
        _ => None,
    });
    report.await
}
