//! A world and a journal in which things go wrong, at places that are given beforehand.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::failover::effect::{Effect, Issued};
use crate::failover::event::Event;
use crate::failover::state::State;
use crate::store::StoreError;
use crate::store::journal::{Entry, Journal, Published, Row, Sequence};
use crate::time::Timestamp;
use crate::world::{Outcome, Prepared, World};

/// What goes wrong with an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails.
    Failed,
    /// It is not done, and nothing is heard of it.
    Lost,
    /// It is done so much later. The gates' verdict is found at once and heard of later.
    Late(Duration),
    /// It is told twice, the second time so much later.
    Doubled(Duration),
    /// The process ends before it is done.
    CrashBefore,
    /// The process ends when it is done, before anything is heard of it.
    CrashAfter,
}

/// What goes wrong with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The disk is full, for so many commits.
    Full(u64),
    /// The process ends before anything is written.
    CrashBefore,
    /// The process ends when it is written.
    CrashAfter,
}

/// Whether the process runs. Clones tell of the same one; once it has ended nothing has any effect.
#[derive(Clone, Debug, Default)]
pub struct Process {
    ended: Arc<AtomicBool>,
    real: Option<fn() -> !>,
}

impl Process {
    /// A process that is not simulated: it ends in this way.
    pub fn real(end: fn() -> !) -> Process {
        Process { real: Some(end), ..Process::default() }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Ends it.
    pub fn end(&self) {
        if let Some(end) = self.real {
            end()
        }
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Starts it again.
    pub fn start(&self) {
        self.ended.store(false, Ordering::Relaxed);
    }
}

/// What is done or told later.
#[derive(Clone, Debug)]
enum Later {
    Done(Issued),
    Told(Event),
    /// That it is published is told once more. Where that could not be written the first time, it is not: it is done anew.
    Again(Issued, Event),
}

/// A world in which things go wrong.
#[derive(Clone, Debug)]
pub struct Faulty<W> {
    /// The world without its faults.
    pub world: W,
    /// What goes wrong, by the number of the effect: from 0, in the order in which they are performed.
    pub faults: BTreeMap<u64, Fault>,
    process: Process,
    performed: u64,
    later: Vec<(Timestamp, Later)>,
    /// By how many milliseconds its clock goes wrong.
    skew: i64,
}

impl<W: World> Faulty<W> {
    /// A world in which this goes wrong.
    pub fn new(world: W, faults: BTreeMap<u64, Fault>, process: Process) -> Faulty<W> {
        Faulty { world, faults, process, performed: 0, later: Vec::new(), skew: 0 }
    }

    /// Sets the clock forward, or back, by so many milliseconds.
    pub fn step_clock(&mut self, milliseconds: i64) {
        self.skew += milliseconds;
    }

    /// By how many milliseconds the clock goes wrong.
    pub fn skew(&self) -> i64 {
        self.skew
    }

    /// The world after the process has started again: what was to come later never does.
    pub fn restarted(&mut self, world: W) {
        self.world = world;
        self.later.clear();
        self.process.start();
    }

    /// When something that is late comes next, by the true time.
    pub fn next(&self) -> Option<Timestamp> {
        self.later.iter().map(|(at, _)| *at).min()
    }

    /// The next thing that is late and due by now; none that a state does not wait for any more is done.
    pub fn due(&mut self, state: &State) -> Option<Outcome> {
        while let Some(at) = self.next().filter(|at| *at <= self.world.now()) {
            let place = self.later.iter().position(|(due, _)| *due == at)?;
            match self.later.remove(place).1 {
                Later::Done(issued) | Later::Again(issued, _) if state.pending.contains_key(&issued.id) => {
                    return self.world.perform(state, &issued);
                }
                Later::Told(event) | Later::Again(_, event) => return Some(event.into()),
                Later::Done(_) => {}
            }
        }
        None
    }
}

impl<W: World> World for Faulty<W> {
    fn now(&self) -> Timestamp {
        Timestamp(self.world.now().0 + self.skew)
    }

    fn stream(&self) -> String {
        self.world.stream()
    }

    fn generation(&self) -> u64 {
        self.world.generation()
    }

    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome> {
        if self.process.has_ended() {
            return None;
        }
        let fault = self.faults.get(&self.performed).copied();
        self.performed += 1;
        let at = |wait| self.world.now().after(wait);
        match fault {
            None => self.world.perform(state, issued),
            Some(Fault::Failed) => Some(Event::EffectFailed { effect: issued.id, why: "it went wrong".into() }.into()),
            Some(Fault::Lost) => None,
            Some(Fault::Late(wait)) => {
                let at = at(wait);
                let later = match issued.effect {
                    Effect::Publish => Some(Later::Done(issued.clone())),
                    _ => self.world.perform(state, issued).map(|outcome| Later::Told(outcome.event)),
                };
                self.later.extend(later.map(|later| (at, later)));
                None
            }
            Some(Fault::Doubled(wait)) => {
                let at = at(wait);
                let outcome = self.world.perform(state, issued)?;
                let told = outcome.event.clone();
                let again = match issued.effect {
                    Effect::Publish => Later::Again(issued.clone(), told),
                    _ => Later::Told(told),
                };
                self.later.push((at, again));
                Some(outcome)
            }
            Some(Fault::CrashBefore) => {
                self.process.end();
                None
            }
            Some(Fault::CrashAfter) => {
                _ = self.world.perform(state, issued);
                self.process.end();
                None
            }
        }
    }

    fn bring_out(&mut self, publication: Prepared) {
        if !self.process.has_ended() {
            self.world.bring_out(publication);
        }
    }
}

/// A journal in which things go wrong.
#[derive(Clone, Debug)]
pub struct FaultyJournal<J> {
    /// The journal without its faults.
    pub journal: J,
    /// What goes wrong, by the number of the commit: from 0, those that fail among them.
    pub faults: BTreeMap<u64, DiskFault>,
    process: Process,
    commits: u64,
    full_until: u64,
}

impl<J: Journal> FaultyJournal<J> {
    /// A journal in which this goes wrong.
    pub fn new(journal: J, faults: BTreeMap<u64, DiskFault>, process: Process) -> FaultyJournal<J> {
        FaultyJournal { journal, faults, process, commits: 0, full_until: 0 }
    }

    /// Has nothing go wrong any more.
    pub fn recover(&mut self) {
        self.faults.clear();
        self.full_until = 0;
    }
}

impl<J: Journal> Journal for FaultyJournal<J> {
    fn commit_all(&mut self, entries: &[Entry]) -> Result<Option<Sequence>, StoreError> {
        if entries.is_empty() {
            return Ok(None);
        }
        if self.process.has_ended() {
            return Err(failed("the process has ended"));
        }
        let number = self.commits;
        self.commits += 1;
        match self.faults.get(&number) {
            Some(DiskFault::Full(commits)) => self.full_until = self.full_until.max(number + commits),
            Some(DiskFault::CrashBefore) => {
                self.process.end();
                return Err(failed("the process has ended"));
            }
            _ => {}
        }
        if number < self.full_until {
            return Err(failed("the disk is full"));
        }
        let written = self.journal.commit_all(entries)?;
        if self.faults.get(&number) == Some(&DiskFault::CrashAfter) {
            self.process.end();
            return Err(failed("the process has ended"));
        }
        Ok(written)
    }

    fn rows(&self, stream: &str, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.journal.rows(stream, limit)
    }

    fn since(&self, stream: &str, after: Sequence, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.journal.since(stream, after, limit)
    }

    fn latest_of(&self, prefix: &str) -> Result<Vec<(String, Row)>, StoreError> {
        self.journal.latest_of(prefix)
    }

    fn published(&self) -> Result<Vec<Published>, StoreError> {
        self.journal.published()
    }
}

fn failed(why: &str) -> StoreError {
    StoreError::File { path: PathBuf::from("simulated"), source: io::Error::other(why) }
}
