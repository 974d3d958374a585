//! Following a run: a line for each thing that happens, and on a terminal one that says how it stands.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::args::Until;
use super::command::Followed;
use super::daemon::{at_once, runtime, state_dir};
use super::render::run;
use super::{Exit, show_failure};
use crate::config::Source;
use crate::control::api::moves::{MoveStatus, RunKey, RunReport, RunRequest};
use crate::control::api::{Failure, Request, Response};
use crate::control::client;

/// How often the daemon is asked.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a status that is watched is shown.
const WATCH: Duration = Duration::from_secs(1);

/// Follows a run as far as was asked for.
pub(super) fn run(source: &Source, key: &RunKey, until: Until, json: bool) -> Exit {
    let outcome = state_dir(source).and_then(|dir| {
        let follower = Follower { dir, key: key.clone(), until, json, after: 0, shown: false };
        runtime()?.block_on(follower.show_all())
    });
    outcome.unwrap_or_else(|failure| {
        if !json {
            return show_failure(json, &failure);
        }
        // What was said before stands on lines, and so does this.
        let _ = std::io::stdout().lock().write_all(line(&serde_json::json!({ "failure": failure })).as_bytes());
        Exit::Error
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
    let zone = status.zones.iter().find(|zone| crate::config::dotless(zone.name.as_ref()).eq_ignore_ascii_case(wanted));
    let known = || status.zones.iter().map(|zone| crate::config::dotless(zone.name.as_ref()));
    let Some(zone) = zone else {
        return Err(crate::config::nearest::UnknownName::new("zone", &followed.zone, known()).into());
    };
    let moves = |region: &str, run: &MoveStatus| run.from.iter().any(|route| route.region == region);
    let fits = |run: &&MoveStatus| followed.region.as_deref().is_none_or(|region| moves(region, run));
    let fitting: Vec<_> = zone.moves.iter().filter(fits).collect();
    match fitting.as_slice() {
        [one] => Ok(RunKey { zone: zone.name.clone(), run: one.run }),
        [] => Err(Failure::new("no move is under way there", "", "`understudy history` shows what was done")),
        several => {
            let each: Vec<_> = several.iter().map(|run| run.in_short()).collect();
            let what = format!("{} moves are under way there", several.len());
            Err(Failure::new(what, "", each.join("; ")))
        }
    }
}

/// Shows the status again and again, until nobody looks any more.
pub(super) fn status(source: &Source, json: bool) -> Exit {
    loop {
        let report = match at_once(source, &Request::Status, super::daemon::status) {
            Ok(report) => report,
            Err(failure) => return show_failure(json, &failure),
        };
        let text = if json { line(&report) } else { super::render::Report::text(&report) };
        // On a terminal the page is shown in one place.
        let front = if json || !std::io::stdout().is_terminal() { "" } else { "\x1b[H\x1b[2J" };
        let mut out = std::io::stdout().lock();
        if out.write_all(format!("{front}{text}").as_bytes()).and_then(|()| out.flush()).is_err() {
            return Exit::Done;
        }
        drop(out);
        std::thread::sleep(WATCH);
    }
}

/// One JSON value on a line of its own.
pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

struct Follower {
    dir: PathBuf,
    key: RunKey,
    until: Until,
    json: bool,
    /// What was shown up to there.
    after: u64,
    /// Whether the last line is one that the next one is written over.
    shown: bool,
}

impl Follower {
    async fn show_all(mut self) -> Result<Exit, Failure> {
        // From here on, and not only once it is waited for, an interrupt is told what it leaves behind.
        let mut stop = signal(SignalKind::interrupt()).map_err(|error| {
            let what = format!("the system gives no resources to follow the run with: {error}");
            Failure::new(what, "the run goes on", "understudy follow")
        })?;
        loop {
            let report = ask(&self.dir, &self.key, self.after).await.map_err(|failure| Failure {
                meaning: "what the run has published stays; the run goes on when the daemon runs".into(),
                try_next: format!("understudy follow {}", crate::config::dotless(self.key.zone.as_ref())),
                ..failure
            })?;
            self.show(&report);
            self.after = report.looked_at;
            if report.more {
                continue;
            }
            if let Some(exit) = self.exit(&report) {
                self.end_line();
                return Ok(exit);
            }
            tokio::select! {
                _ = stop.recv() => {
                    self.end_line();
                    let zone = crate::config::dotless(self.key.zone.as_ref());
                    let next = format!("`understudy follow {zone}` shows it, `understudy abort {zone}` ends it");
                    let _ = writeln!(std::io::stderr(), "understudy: the run goes on; {next}");
                    return Ok(Exit::Interrupted);
                }
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    fn show(&mut self, report: &RunReport) {
        for event in &report.events {
            let text = if self.json { line(event) } else { run::event(event) };
            self.end_line();
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
        }
        if let Some(now) = report.now.as_ref().filter(|_| !self.json && std::io::stdout().is_terminal()) {
            let mut out = std::io::stdout().lock();
            let _ = write!(out, "\r\x1b[K{}", run::progress(now)).and_then(|()| out.flush());
            self.shown = true;
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stdout().lock(), "\r\x1b[K");
        }
    }

    /// How the command ends, if it is time.
    fn exit(&self, report: &RunReport) -> Option<Exit> {
        if let Some(ended) = &report.ended {
            let text = if self.json { line(ended) } else { format!("{}\n", ended.text) };
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            return Some(run::exit(ended));
        }
        let now = report.now.as_ref()?;
        if now.held.is_some() {
            if !self.json {
                let _ = std::io::stdout().lock().write_all(run::held(&self.key, now).as_bytes());
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

async fn ask(dir: &Path, key: &RunKey, after: u64) -> Result<RunReport, Failure> {
    let request = RunRequest { zone: key.zone.clone(), run: key.run, after };
    match client::call(dir, &Request::Run(request)).await? {
        Response::Run(report) => Ok(*report),
        _ => Err(Failure::new("the daemon answered something else than was asked", "the run goes on", "")),
    }
}
