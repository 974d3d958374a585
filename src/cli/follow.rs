//! Following a run: a line for each thing that happens, and on a terminal one that says how it stands.

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::args::Until;
use super::command::Followed;
use super::daemon::{at_once, runtime};
use super::live::{self, Live, Lost, Page};
use super::render::run;
use super::{Exit, show_failure};
use crate::config::Source;
use crate::control::api::moves::{MoveStatus, RunKey, RunReport, RunRequest};
use crate::control::api::{Failure, Request, Response};

/// How often the daemon is asked.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a status that is watched is shown.
const WATCH: Duration = Duration::from_secs(1);

/// Follows a run as far as was asked for.
pub(super) fn run(source: &Source, key: &RunKey, until: Until, json: bool) -> Exit {
    let follow = || -> Result<Exit, Lost> {
        // It has just said that there is such a run.
        let live = Live::of(source, true)?;
        let follower = Follower { live, key: key.clone(), until, json, page: Page::new(json), after: 0 };
        runtime()?.block_on(follower.show_all())
    };
    follow().unwrap_or_else(|lost| {
        let next = format!("`understudy serve`; then `understudy follow {}`", key.zone.as_ref().dotless());
        lost.shown(json, "what the run has published stays; the run goes on when the daemon runs", &next)
    })
}

/// Follows the move that is under way in a zone.
pub(super) fn of_zone(source: &Source, followed: &Followed, json: bool) -> Exit {
    match under_way(source, followed) {
        Ok(key) => run(source, &key, Until::Done, json),
        Err(failure) => show_failure(json, &failure),
    }
}

fn under_way(source: &Source, followed: &Followed) -> Result<RunKey, Failure> {
    let status = at_once(source, &Request::Status, super::daemon::status)?;
    let wanted = followed.zone.trim_end_matches('.');
    let zone = status.zones.iter().find(|zone| zone.name.as_ref().dotless().eq_ignore_ascii_case(wanted));
    let known = || status.zones.iter().map(|zone| zone.name.as_ref().dotless());
    let Some(zone) = zone else {
        return Err(crate::config::nearest::UnknownName::new("zone", &followed.zone, known()).into());
    };
    let regions = || zone.routes.iter().map(|route| route.region.as_str());
    if let Some(given) = followed.region.as_deref().filter(|given| regions().all(|known| known != *given)) {
        return Err(crate::config::nearest::UnknownName::new("region", given, regions()).into());
    }
    let moves = |region: &str, run: &MoveStatus| run.from.iter().any(|route| route.region == region);
    let fits = |run: &&MoveStatus| followed.region.as_deref().is_none_or(|region| moves(region, run));
    let fitting: Vec<_> = zone.moves.iter().filter(fits).collect();
    match fitting.as_slice() {
        [one] => Ok(RunKey { zone: zone.name.clone(), run: one.run }),
        [] => {
            let next = format!("`understudy history {wanted}` shows what was done");
            Err(Failure::new("no move is under way there", "", next))
        }
        several => {
            let each: Vec<_> = several.iter().map(|run| run.in_short()).collect();
            let what = format!("{} moves are under way there", several.len());
            Err(Failure::new(what, "", each.join("; ")))
        }
    }
}

/// Shows the status again and again, until nobody looks any more.
pub(super) fn status(source: &Source, json: bool) -> Exit {
    live::watch(source, &Request::Status, WATCH, json, super::daemon::status)
}

struct Follower {
    live: Live,
    key: RunKey,
    until: Until,
    json: bool,
    page: Page,
    /// What was shown up to there.
    after: u64,
}

impl Follower {
    async fn show_all(mut self) -> Result<Exit, Lost> {
        // From here on, and not only once it is waited for, an interrupt is told what it leaves behind.
        let mut stop = signal(SignalKind::interrupt()).map_err(|error| {
            let what = format!("the system gives no resources to follow the run with: {error}");
            let next = format!("understudy follow {}", self.key.zone.as_ref().dotless());
            Failure::new(what, "the run goes on", next)
        })?;
        loop {
            let report = self.ask().await?;
            self.show(&report);
            self.after = report.looked_at;
            if report.more {
                continue;
            }
            if let Some(exit) = self.exit(&report) {
                return Ok(exit);
            }
            tokio::select! {
                _ = stop.recv() => {
                    drop(self.page);
                    let zone = self.key.zone.as_ref().dotless();
                    let next = format!("`understudy follow {zone}` shows it, `understudy abort {zone}` ends it");
                    let _ = writeln!(std::io::stderr(), "understudy: the run goes on; {next}");
                    return Ok(Exit::Interrupted);
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    async fn ask(&mut self) -> Result<RunReport, Lost> {
        let RunKey { zone, run } = self.key.clone();
        let request = Request::Run(RunRequest { zone, run, after: self.after });
        let asked = self.live.ask(&request, |response| match response {
            Response::Run(report) => Some(*report),
            _ => None,
        });
        asked.await
    }

    fn show(&mut self, report: &RunReport) {
        report.events.iter().for_each(|event| self.page.tell(event, run::event));
        if let Some(now) = &report.now {
            self.page.stands(&run::progress(now));
        }
    }

    /// How the command ends, if it is time.
    fn exit(&mut self, report: &RunReport) -> Option<Exit> {
        if let Some(ended) = &report.ended {
            self.page.tell(ended, |ended| format!("{}\n", ended.text));
            return Some(run::exit(ended));
        }
        let now = report.now.as_ref()?;
        if now.held.is_some() {
            if !self.json {
                self.page.tell(now, |now| run::held(&self.key, now));
            }
            return Some(Exit::Held);
        }
        let reached = match self.until {
            Until::Begun => true,
            Until::Moved => !now.back && matches!(now.phase.as_str(), "draining" | "baking"),
            Until::Done => false,
        };
        reached.then_some(Exit::Done)
    }
}
