//! `drill`: begins one and follows it, follows or ends one that is under way, and lists those there were.

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::daemon::{at_once, runtime};
use super::live::{Live, Lost, Page, line};
use super::render::{drill as render, run};
use super::{Exit, show, show_failure};
use crate::config::Source;
use crate::control::api::drill::{
    DrillAbort, DrillReport, DrillRequest, DrillRunReport, DrillRunRequest, DrillsReport, DrillsRequest,
};
use crate::control::api::{Failure, Request, Response};

/// How often the daemon is asked.
const PAUSE: Duration = Duration::from_millis(200);

/// What is to be done about drills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Drilling {
    /// Begin one; the flag: whether to follow it.
    Begin(DrillRequest, bool),
    /// Follow the one of this zone that is under way.
    Attach(String),
    /// End it.
    Abort(DrillAbort),
    /// List those there were.
    List(DrillsRequest),
}

/// Carries it out.
pub(super) fn run(source: &Source, drilling: Drilling, json: bool) -> Exit {
    match drilling {
        Drilling::Begin(request, followed) => match begin(source, &request, followed, json) {
            Ok(exit) => exit,
            Err(failure) => show_failure(json, &failure),
        },
        Drilling::Attach(zone) => follow(source, DrillRunRequest { zone, drill: None, after: 0 }, json),
        Drilling::Abort(request) => show(json, super::daemon::steer(source, &Request::AbortDrill(request))),
        Drilling::List(request) => show(json, list(source, request)),
    }
}

fn begin(source: &Source, request: &DrillRequest, followed: bool, json: bool) -> Result<Exit, Failure> {
    let begun = at_once(source, &Request::Drill(request.clone()), |response| match response {
        Response::Drill(begun) => Some(begun),
        _ => None,
    })?;
    let text = if json { line(&begun) } else { render::begun(&begun) };
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if !followed {
        return Ok(Exit::Done);
    }
    let request = DrillRunRequest { zone: request.zone.clone(), drill: Some(begun.drill), after: begun.after };
    Ok(follow(source, request, json))
}

fn list(source: &Source, request: DrillsRequest) -> Result<DrillsReport, Failure> {
    at_once(source, &Request::Drills(request), |response| match response {
        Response::Drills(report) => Some(report),
        _ => None,
    })
}

/// Shows a drill until it ends.
fn follow(source: &Source, request: DrillRunRequest, json: bool) -> Exit {
    let follow = || -> Result<Exit, Lost> {
        // Of one that it has begun it has answered already.
        let live = Live::of(source, request.drill.is_some())?;
        runtime()?.block_on(Follower { live, request, page: Page::new(json), told: false }.show_all())
    };
    follow().unwrap_or_else(|lost| {
        let next = "`understudy serve`; then `understudy drill --list`";
        lost.shown(json, "a drill ends with the daemon; users were never sent to it", next)
    })
}

struct Follower {
    live: Live,
    request: DrillRunRequest,
    page: Page,
    /// Whether anything was told of it: one that is over and was never followed is none to follow.
    told: bool,
}

impl Follower {
    async fn show_all(mut self) -> Result<Exit, Lost> {
        // From here on, and not only once it is waited for, an interrupt is told what it leaves behind.
        let mut stop = signal(SignalKind::interrupt()).map_err(|error| {
            let what = format!("the system gives no resources to follow the drill with: {error}");
            Failure::new(what, "the drill goes on", "understudy drill ZONE --attach")
        })?;
        let attached = self.request.drill.is_none();
        loop {
            let report = self.ask().await?;
            if attached && !self.told && report.drill.end.is_some() {
                let what = format!("no drill of {} is under way", report.zone.as_ref().dotless());
                return Err(Failure::new(what, "", "`understudy drill --list` shows those there were").into());
            }
            self.told = true;
            self.request.drill = Some(report.drill.drill);
            self.show(&report);
            self.request.after = report.looked_at;
            if report.more {
                continue;
            }
            if report.drill.end.is_some() {
                return Ok(self.end(report));
            }
            tokio::select! {
                _ = stop.recv() => {
                    drop(self.page);
                    let zone = report.zone.as_ref().dotless();
                    let next = format!(
                        "`understudy drill {zone} --attach` shows it, `understudy drill {zone} --abort` ends it"
                    );
                    let _ = writeln!(std::io::stderr(), "understudy: the drill goes on; {next}");
                    return Ok(Exit::Interrupted);
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    async fn ask(&mut self) -> Result<DrillRunReport, Lost> {
        let request = Request::DrillRun(self.request.clone());
        let asked = self.live.ask(&request, |response| match response {
            Response::DrillRun(report) => Some(*report),
            _ => None,
        });
        asked.await
    }

    fn show(&mut self, report: &DrillRunReport) {
        report.events.iter().for_each(|event| self.page.tell(event, run::event));
        if let Some(now) = report.now.first() {
            self.page.stands(&format!("drill: {}", run::progress(now)));
        }
    }

    fn end(&mut self, report: DrillRunReport) -> Exit {
        let report = DrillReport { zone: report.zone, drill: report.drill };
        self.page.tell(&report, render::ended);
        render::exit(&report.drill)
    }
}
