//! Asking the daemon again and again, as commands do that follow something; and how they end when the daemon ends.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::daemon::{other_answer, runtime, state_dir};
use super::render::Report;
use super::{Exit, show_failure};
use crate::config::Source;
use crate::control::api::{Failure, Request, Response};
use crate::control::client::{self, NoResponse};

/// How often it is looked whether a daemon that has broken off is there still.
const PAUSE: Duration = Duration::from_millis(50);
/// How many times: one that is ending may take requests for a moment.
const LOOKS: u32 = 20;

/// Takes the line back that the cursor is in.
const CLEAR: &str = "\r\x1b[K";

/// A daemon that is asked again and again.
pub(super) struct Live {
    dir: PathBuf,
    /// Whether it ever answered: one that never did has not ended.
    answered: bool,
}

/// Why there is nothing more to see.
pub(super) enum Lost {
    /// It could not be asked, or did not do what it was asked for.
    Failed(Failure),
    /// It was there, and is no more.
    Ended,
}

impl Live {
    /// The daemon that `source` means; `answered`: whether it has done so already.
    pub(super) fn of(source: &Source, answered: bool) -> Result<Live, Failure> {
        Ok(Live { dir: state_dir(source)?, answered })
    }

    /// Asks, and takes what is expected out of the answer.
    pub(super) async fn ask<T>(
        &mut self,
        request: &Request,
        expected: impl FnOnce(Response) -> Option<T>,
    ) -> Result<T, Lost> {
        let mut answer = client::ask(&self.dir, request).await;
        if self.answered && matches!(answer, Err(NoResponse::Gone(_))) {
            for _ in 0..LOOKS {
                if !client::is_up(&self.dir) {
                    return Err(Lost::Ended);
                }
                tokio::time::sleep(PAUSE).await;
            }
            // It goes on, or there is another one by now: whatever is followed can be asked for twice.
            answer = client::ask(&self.dir, request).await;
        }
        let response = answer.map_err(Failure::from)?;
        self.answered = true;
        Ok(expected(response).ok_or_else(other_answer)?)
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Lost {
        Lost::Failed(failure)
    }
}

impl Lost {
    /// Says so behind what was shown before, with what it means where the daemon ended, and what to do then.
    pub(super) fn shown(self, json: bool, meaning: &str, try_next: &str) -> Exit {
        let (exit, failure) = match self {
            Lost::Failed(failure) => (Exit::Error, failure),
            Lost::Ended => (Exit::Gone, Failure::new("the daemon ended", meaning, try_next)),
        };
        if json {
            // What was said before stands on lines, and so does this.
            let _ = std::io::stdout().lock().write_all(line(&serde_json::json!({ "failure": failure })).as_bytes());
        } else {
            show_failure(false, &failure);
        }
        exit
    }
}

/// Shows a report again and again, until nobody looks any more.
pub(super) fn watch<R: Report>(
    source: &Source,
    request: &Request,
    every: Duration,
    json: bool,
    expected: impl Fn(Response) -> Option<R>,
) -> Exit {
    let shown = async {
        let mut live = Live::of(source, false)?;
        loop {
            let report = live.ask(request, &expected).await?;
            let text = if json { line(&report) } else { report.text() };
            // On a terminal the page is shown in one place.
            let front = if json || !std::io::stdout().is_terminal() { "" } else { "\x1b[H\x1b[2J" };
            let mut out = std::io::stdout().lock();
            if out.write_all(format!("{front}{text}").as_bytes()).and_then(|()| out.flush()).is_err() {
                return Ok(Exit::Done);
            }
            drop(out);
            tokio::time::sleep(every).await;
        }
    };
    let ended = runtime().map_err(Lost::from).and_then(|runtime| runtime.block_on(shown));
    ended.unwrap_or_else(|lost: Lost| {
        lost.shown(
            json,
            "nobody answers these zones from here",
            "`understudy serve` with the same --config or --state-dir",
        )
    })
}

/// What a command that follows something writes: a line for each thing that happens and, on a terminal, one behind them that
/// says how it stands, until the next one is written or nobody follows any more.
pub(super) struct Page {
    json: bool,
    /// Whether the last line is one that the next one is written over.
    shown: bool,
}

impl Page {
    pub(super) fn new(json: bool) -> Page {
        Page { json, shown: false }
    }

    /// Writes something that is there to stay: as one JSON value, or as `text`.
    pub(super) fn tell<T: Serialize>(&mut self, told: &T, text: impl FnOnce(&T) -> String) {
        self.clear();
        let text = if self.json { line(told) } else { text(told) };
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    /// Writes how it stands.
    pub(super) fn stands(&mut self, text: &str) {
        if !self.json && std::io::stdout().is_terminal() {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(over(text).as_bytes()).and_then(|()| out.flush());
            self.shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(CLEAR.as_bytes()).and_then(|()| out.flush());
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `text` in place of the line that the cursor is in. What is wider than the terminal is cut off and not broken (DECAWM): of two
/// lines the next one would take back the second alone, and each would leave one behind.
fn over(text: &str) -> String {
    format!("{CLEAR}\x1b[?7l{text}\x1b[?7h")
}

/// One JSON value on a line of its own.
pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::daemon;

    /// Also by one that ends at once behind that.
    #[tokio::test]
    async fn what_is_refused_is_told_and_not_asked_for_again() {
        let mut daemon = daemon();
        let mut live = Live { dir: daemon.dir.clone(), answered: true };
        let why = Failure::new("there is no move 3", "", "`understudy history a.example`");
        let refuse = async {
            let call = daemon.calls.recv().await.unwrap();
            daemon.calls.close();
            call.answer.send(Err(why.clone())).unwrap();
        };
        let asked = tokio::join!(live.ask(&Request::Status, Some), refuse).0;
        let told = asked.map_err(|lost| match lost {
            Lost::Failed(failure) => Some(failure),
            Lost::Ended => None,
        });
        assert_eq!(told.unwrap_err(), Some(why));
    }

    #[test]
    fn a_line_that_is_written_over_is_one_line_on_any_terminal() {
        let shown = over("switchover 1: default knams -> pmtpa");
        let (cleared, rest) = shown.split_once("\x1b[?7l").expect("wide lines are cut");
        assert_eq!((cleared, rest), (CLEAR, "switchover 1: default knams -> pmtpa\x1b[?7h"), "and others are not");
    }
}
