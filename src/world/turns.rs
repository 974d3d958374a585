//! The loop around the failover engine: step, journal, perform; and what came of it is the next event.
//!
//! Steps that need nothing from the world but the gates' verdict are written in one transaction. A publication is written
//! in the transaction of the step that it is known by, and gets in front of clients after that.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;

use super::{By, Outcome, Prepared, World};
use crate::failover::effect::{Effect, Issued};
use crate::failover::event::Event;
use crate::failover::refusal::Refusal;
use crate::failover::state::State;
use crate::failover::step::step;
use crate::failover::story;
use crate::store::StoreError;
use crate::store::journal::{Entry, Journal, Sequence};
use crate::time::Timestamp;

/// How soon the state is written again after it could not be: a disk that is full may have room by then.
const WRITE_AGAIN: Duration = Duration::from_secs(5);
/// How much one event may lead to: more is a fault of the engine, not of the world.
const MAX_WORK: usize = 10_000;

/// A zone's engine: what is decided, as far as it is written.
#[derive(Clone, Debug)]
pub struct Engine {
    /// What is decided.
    pub state: State,
    /// The last row of its stream; none if nothing was ever decided.
    pub last: Option<Sequence>,
    /// When to try again what could not be written.
    pub again: Option<Timestamp>,
    /// Whether it has to be written yet that the daemon has started.
    starting: bool,
}

/// What has been stepped through and is not written yet.
struct Batch {
    state: State,
    entries: Vec<Entry>,
    /// What is to get in front of clients once it is written.
    publication: Option<Prepared>,
}

/// What is to be done next.
enum Work {
    Take(Outcome),
    Perform(Issued),
}

impl Engine {
    /// An engine that stands where its stream's last row left it.
    pub fn new(state: State, last: Option<Sequence>) -> Engine {
        Engine { state, last, again: None, starting: false }
    }

    /// Takes one event in and performs what follows from it, until there is nothing more to do at once. Why it changed
    /// nothing, if it didn't.
    ///
    /// # Errors
    /// What could not be written is not done: the engine stands where the journal does, and tries again.
    pub fn drive<W: World>(
        &mut self,
        world: &mut W,
        journal: &mut dyn Journal,
        event: impl Into<Outcome>,
        by: &By,
    ) -> Result<Option<Refusal>, StoreError> {
        // Nothing is decided on what was known before the start.
        if self.starting {
            self.resume(world, journal)?;
        }
        self.work_off(world, journal, VecDeque::from([Work::Take(event.into())]), by)
    }

    /// Goes on with what was under way before the daemon started: what may not have been done is asked for again, and
    /// nothing is known of any site.
    ///
    /// # Errors
    /// What could not be written is not done. It comes before anything else then.
    pub fn resume<W: World>(&mut self, world: &mut W, journal: &mut dyn Journal) -> Result<(), StoreError> {
        self.starting = true;
        let start = Work::Take(Event::Restarted.into());
        self.work_off(world, journal, VecDeque::from([start]), &By::daemon())?;
        self.starting = false;
        Ok(())
    }

    /// When [`Engine::tick`] has something to do next.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.again.or_else(|| self.state.deadline())
    }

    /// Does what is due by now, if anything is.
    pub fn tick<W: World>(&mut self, world: &mut W, journal: &mut dyn Journal) {
        let at = world.now();
        let is_due = |deadline: Option<Timestamp>| deadline.is_some_and(|deadline| deadline <= at);
        if !is_due(self.deadline()) {
            return;
        }
        let before = self.last;
        let is_stuck = self.again.take().is_some();
        if self.starting && self.resume(world, journal).is_err() {
            return;
        }
        let work = if is_stuck { self.not_known_to_be_done() } else { VecDeque::new() };
        let tick = Work::Take(Event::Tick.into());
        // The log says what could not be written.
        let _ = self.work_off(world, journal, work.into_iter().chain([tick]).collect(), &By::daemon());
        // A phase may be over as soon as it begins. What stays due without that anything is decided, whatever it is,
        // does not make the loop spin.
        if self.again.is_none() && self.last == before && is_due(self.state.deadline()) {
            self.again = Some(at.after(WRITE_AGAIN));
        }
    }

    /// All that is not known to be done, as the state has it.
    fn not_known_to_be_done(&self) -> VecDeque<Work> {
        let pending = self.state.pending.iter();
        pending.map(|(id, pending)| Work::Perform(Issued { id: *id, effect: pending.effect.clone() })).collect()
    }

    fn work_off<W: World>(
        &mut self,
        world: &mut W,
        journal: &mut dyn Journal,
        mut work: VecDeque<Work>,
        by: &By,
    ) -> Result<Option<Refusal>, StoreError> {
        let mut batch = Batch { state: self.state.clone(), entries: Vec::new(), publication: None };
        // Only the first event is somebody's; what follows from it is the daemon's doing.
        let (mut by, mut refusal) = (Some(by), None);
        for _ in 0..MAX_WORK {
            match work.pop_front() {
                None => {
                    self.write(world, journal, &mut batch)?;
                    return Ok(refusal);
                }
                Some(Work::Take(outcome)) => {
                    let effects = self.take(world, &mut batch, outcome, by);
                    if by.take().is_some() {
                        refusal = batch.state.refusal.clone();
                    }
                    if batch.publication.is_some() {
                        self.write(world, journal, &mut batch)?;
                    }
                    work.extend(effects.into_iter().map(Work::Perform));
                }
                // What was settled or overtaken since is not done.
                Some(Work::Perform(issued)) if !batch.state.pending.contains_key(&issued.id) => {}
                Some(Work::Perform(issued)) => {
                    // What was decided is on the disk before anything of it is done.
                    if !matches!(issued.effect, Effect::Judge { .. }) {
                        self.write(world, journal, &mut batch)?;
                    }
                    // Its outcome comes before anything else: a publication waits for it.
                    if let Some(outcome) = world.perform(&batch.state, &issued) {
                        work.push_front(Work::Take(outcome));
                    }
                }
            }
        }
        tracing::error!(zone = %*self.state.zone, "the failover engine does not come to rest; what it asks for next is not done");
        self.write(world, journal, &mut batch)?;
        Ok(refusal)
    }

    /// One step: the state after it, and the entry that tells of it.
    fn take<W: World>(&self, world: &W, batch: &mut Batch, outcome: Outcome, by: Option<&By>) -> Vec<Issued> {
        let Outcome { event, publication } = outcome;
        let (next, effects) = step(&batch.state, &event, world.now());
        // What nobody waits for any more is not published.
        batch.publication = publication.filter(|_| next.refusal.is_none());
        // What changed nothing is not worth a row.
        if !next.is_like(&batch.state) || !effects.is_empty() || batch.publication.is_some() {
            let told = story::lines(&batch.state, &event, &next);
            told.iter().for_each(|line| tracing::info!(zone = %*self.state.zone, "{line}"));
            let By { actor, reason } = by.cloned().unwrap_or_else(By::daemon);
            let publication = batch.publication.as_ref();
            batch.entries.push(Entry {
                stream: world.stream(),
                after: self.last,
                at: next.last,
                actor,
                reason,
                event: json!({ "told": told, "event": event }),
                state: serde_json::to_value(&next).unwrap_or_default(),
                effects: serde_json::to_value(&effects).unwrap_or_default(),
                generation: publication.map_or(world.generation(), Prepared::generation),
                publications: publication.map_or_else(Vec::new, |prepared| prepared.publications.clone()),
            });
        }
        batch.state = next;
        effects
    }

    /// Writes what was stepped through; what it publishes gets in front of clients then, and not before.
    fn write<W: World>(
        &mut self,
        world: &mut W,
        journal: &mut dyn Journal,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let entries = std::mem::take(&mut batch.entries);
        let publication = batch.publication.take();
        match journal.commit_all(&entries) {
            Ok(None) => return Ok(()),
            Ok(last) => *self = Engine::new(batch.state.clone(), last),
            Err(error) => {
                self.again = Some(world.now().after(WRITE_AGAIN));
                tracing::error!(
                    zone = %*self.state.zone, %error,
                    "what was decided could not be written: nothing of it is done, and what is served is served on"
                );
                return Err(error);
            }
        }
        if let Some(publication) = publication {
            world.bring_out(publication);
        }
        Ok(())
    }
}
