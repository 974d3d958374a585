//! The loop around the failover engine: step, journal, perform; and what came of it is the next event.
//!
//! Steps that need nothing from the world but the gates' verdict are written in one transaction. A publication is written
//! in the transaction of the step that it is known by, and gets in front of clients after that.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::json;

use super::publish::Prepared;
use super::{Driver, DriverError, Health, STREAM, now};
use crate::failover::actor::Actor;
use crate::failover::effect::{Alert, Effect, EffectId, Issued, Severity};
use crate::failover::event::Event;
use crate::failover::refusal::Refusal;
use crate::failover::state::State;
use crate::failover::step::step;
use crate::failover::story;
use crate::name::Name;
use crate::store::journal::{Entry, Journal, Row, Sequence};
use crate::time::Timestamp;

/// How soon the state is written again after it could not be: a disk that is full may have room by then.
const WRITE_AGAIN: Duration = Duration::from_secs(5);
/// How much one event may lead to: more is a fault of the engine, not of the world.
const MAX_WORK: usize = 10_000;
/// How many alerts are kept to be shown.
const ALERTS: usize = 50;

/// A zone's engine.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) state: State,
    /// The last row of its stream; none if nothing was ever decided.
    pub(super) last: Option<Sequence>,
    /// When to try again what could not be written.
    pub(super) again: Option<Timestamp>,
}

/// Where the stream of a zone ended that was taken out of the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedStream {
    /// Its last row: what it says of the zone is over, also when the zone comes back.
    pub(super) last: Sequence,
    /// The number of the next move: none is given twice.
    pub(super) next_move: u64,
    /// The last revision: plans for it are stale when the zone comes back.
    pub(super) revision: u64,
}

impl EndedStream {
    pub(super) fn of(last: Sequence, state: &State) -> EndedStream {
        EndedStream { last, next_move: state.next_move, revision: state.revision }
    }
}

/// Who causes an event, and why.
#[derive(Clone, Debug)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// Why, in the actor's words.
    pub reason: String,
}

impl By {
    /// The daemon, by itself.
    pub fn daemon() -> By {
        By { actor: super::daemon(), reason: String::new() }
    }
}

/// An alert, as it is kept to be shown.
#[derive(Clone, Debug)]
pub struct Told {
    /// When.
    pub at: Timestamp,
    /// Of which zone.
    pub zone: Name,
    /// What operators are to know.
    pub alert: Alert,
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
    Take(Event),
    Perform(Issued),
}

impl Driver {
    /// The name of a zone's stream in the journal.
    pub(super) fn stream(origin: &Name) -> String {
        format!("{STREAM}/{}", origin.as_ref().to_lowercase())
    }

    /// What is decided on a zone's traffic.
    pub fn traffic(&self, origin: &Name) -> Option<&State> {
        self.engines.get(origin).map(|engine| &engine.state)
    }

    /// What is in the journal on a zone's traffic behind `after`, oldest first, at most so many.
    pub fn rows_since(&self, origin: &Name, after: Sequence, limit: u32) -> Result<Vec<Row>, DriverError> {
        Ok(self.journal.since(&Driver::stream(origin), after, limit)?)
    }

    /// What is in the journal on a zone's traffic, newest first, at most so many, each with its stream.
    pub fn rows_of(&self, origin: &Name, limit: u32) -> Result<Vec<(String, Row)>, DriverError> {
        let stream = Driver::stream(origin);
        let rows = self.journal.rows(&stream, limit)?;
        Ok(rows.into_iter().map(|row| (stream.clone(), row)).collect())
    }

    /// Lets moves begin again in all zones whose state is in doubt: their origins.
    pub fn accept_state(&mut self, by: &By) -> Result<Vec<Name>, DriverError> {
        let doubted = self.engines.iter().filter(|(_, engine)| engine.state.doubt.is_some());
        let doubted: Vec<Name> = doubted.map(|(origin, _)| origin.clone()).collect();
        for origin in &doubted {
            let (actor, reason) = (by.actor.clone(), by.reason.clone());
            self.drive(origin, Event::StateAccepted { actor, reason }, by)?;
        }
        if !doubted.is_empty() {
            self.note(by, "state accept".into(), None);
        }
        Ok(doubted)
    }

    /// The alerts of late, oldest first.
    pub fn alerts(&self) -> impl Iterator<Item = &Told> {
        self.alerts.iter()
    }

    /// Takes one event in and performs what follows from it, until there is nothing more to do at once. Why it changed
    /// nothing, if it didn't.
    pub(super) fn drive(&mut self, origin: &Name, event: Event, by: &By) -> Result<Option<Refusal>, DriverError> {
        self.work_off(origin, VecDeque::from([Work::Take(event)]), by)
    }

    fn work_off(&mut self, origin: &Name, mut work: VecDeque<Work>, by: &By) -> Result<Option<Refusal>, DriverError> {
        let Some(engine) = self.engines.get(origin) else { return Ok(Some(Refusal::NoMove)) };
        let mut batch = Batch { state: engine.state.clone(), entries: Vec::new(), publication: None };
        // Only the first event is somebody's; what follows from it is the daemon's doing.
        let (mut by, mut refusal) = (Some(by), None);
        for _ in 0..MAX_WORK {
            match work.pop_front() {
                None => {
                    self.write(origin, &mut batch)?;
                    return Ok(refusal);
                }
                Some(Work::Take(event)) => {
                    let effects = self.take(origin, &mut batch, &event, by);
                    if by.take().is_some() {
                        refusal = batch.state.refusal.clone();
                    }
                    if batch.publication.is_some() {
                        self.write(origin, &mut batch)?;
                    }
                    work.extend(effects.into_iter().map(Work::Perform));
                }
                // What was settled or overtaken since is not done.
                Some(Work::Perform(issued)) if !batch.state.pending.contains_key(&issued.id) => {}
                // Its outcome comes before anything else: a publication waits for it.
                Some(Work::Perform(issued)) => work.push_front(Work::Take(self.perform(origin, &mut batch, issued)?)),
            }
        }
        tracing::error!(zone = %origin, "the failover engine does not come to rest; what it asks for next is not done");
        self.write(origin, &mut batch)?;
        Ok(refusal)
    }

    /// One step: the state after it, and the entry that tells of it.
    fn take(&self, origin: &Name, batch: &mut Batch, event: &Event, by: Option<&By>) -> Vec<Issued> {
        let (next, effects) = step(&batch.state, event, now());
        // What changed nothing is not worth a row.
        let same = State { refusal: None, last: next.last, ..batch.state.clone() };
        let changes = State { refusal: None, ..next.clone() } != same;
        if changes || !effects.is_empty() || batch.publication.is_some() {
            let told = story::lines(&batch.state, event, &next);
            told.iter().for_each(|line| tracing::info!(zone = %origin, "{line}"));
            let by = by.cloned().unwrap_or_else(By::daemon);
            batch.entries.push(Entry {
                stream: Driver::stream(origin),
                after: self.engines.get(origin).and_then(|engine| engine.last),
                at: next.last,
                actor: by.actor,
                reason: by.reason,
                event: json!({ "told": told, "event": event }),
                state: serde_json::to_value(&next).unwrap_or_default(),
                effects: serde_json::to_value(&effects).unwrap_or_default(),
                generation: batch.publication.as_ref().map_or(self.serving.generation, Prepared::generation),
                publications: batch
                    .publication
                    .as_ref()
                    .map_or_else(Vec::new, |prepared| prepared.publications().to_vec()),
            });
        }
        batch.state = next;
        effects
    }

    /// Writes what was stepped through; what it publishes gets in front of clients then, and not before.
    fn write(&mut self, origin: &Name, batch: &mut Batch) -> Result<(), DriverError> {
        let entries = std::mem::take(&mut batch.entries);
        let publication = batch.publication.take();
        let written = self.journal.commit_all(&entries);
        let Some(engine) = self.engines.get_mut(origin) else { return Ok(()) };
        match written {
            Ok(None) => return Ok(()),
            Ok(last) => {
                engine.last = last;
                engine.state = batch.state.clone();
                engine.again = None;
                // Edits that touch what moved are taken over as soon as everybody has moved.
                let queued = matches!(self.health.get(origin), Some(Health::Queued(_)));
                if queued && engine.state.ways().is_empty() {
                    self.queued.insert(origin.clone());
                }
            }
            Err(error) => {
                engine.again = Some(now().after(WRITE_AGAIN));
                tracing::error!(
                    zone = %origin, %error,
                    "what was decided could not be written: nothing of it is done, and what is served is served on"
                );
                return Err(error.into());
            }
        }
        if let Some(publication) = publication {
            self.bring_out(publication);
        }
        Ok(())
    }

    /// Does what a step asks for. What came of it is the next event.
    fn perform(&mut self, origin: &Name, batch: &mut Batch, issued: Issued) -> Result<Event, DriverError> {
        let Issued { id: effect, effect: what } = issued;
        Ok(match what {
            Effect::Judge { id } => Event::Judged { effect, verdict: self.judge(origin, &batch.state, id) },
            Effect::Publish => {
                // What was decided is on the disk before anything of it is done.
                self.write(origin, batch)?;
                self.prepare_publication(origin, batch, effect)
            }
            Effect::Confirm => {
                self.write(origin, batch)?;
                match self.confirm(origin, None) {
                    true => Event::Confirmed { effect },
                    false => {
                        let why = "a socket of ours does not give what was published; the log names it".into();
                        Event::ConfirmFailed { effect, why }
                    }
                }
            }
            Effect::Alert(alert) => {
                self.tell(origin, &alert);
                Event::Told { effect }
            }
            Effect::Ended(ended) => {
                self.ended(origin, &ended);
                Event::Told { effect }
            }
        })
    }

    fn prepare_publication(&mut self, origin: &Name, batch: &mut Batch, effect: EffectId) -> Event {
        match self.prepare(origin, &batch.state) {
            Ok(prepared) => {
                batch.publication = prepared;
                Event::Published { effect }
            }
            Err(findings) => Event::PublishRefused { effect, findings },
        }
    }

    fn tell(&mut self, origin: &Name, alert: &Alert) {
        let Alert { severity, what, meaning, next } = alert;
        match severity {
            Severity::Notice => tracing::info!(zone = %origin, meaning, next, "{what}"),
            Severity::Warning => tracing::warn!(zone = %origin, meaning, next, "{what}"),
            Severity::Critical => tracing::error!(zone = %origin, meaning, next, "{what}"),
        }
        self.alerts.push_back(Told { at: now(), zone: origin.clone(), alert: alert.clone() });
        while self.alerts.len() > ALERTS {
            self.alerts.pop_front();
        }
    }

    /// A zone of which something could not be written, and when that is tried again.
    pub fn stuck(&self) -> Option<(&Name, Timestamp)> {
        self.engines.iter().find_map(|(origin, engine)| Some((origin, engine.again?)))
    }

    /// When [`Driver::tick`] has something to do next.
    pub fn deadline(&self) -> Option<Timestamp> {
        let of = |engine: &Engine| engine.again.or_else(|| engine.state.deadline());
        self.engines.values().filter_map(of).min()
    }

    /// Does what is due by now.
    pub fn tick(&mut self) {
        let at = now();
        let due = self.engines.iter().filter(|(_, engine)| match engine.again {
            Some(again) => again <= at,
            None => engine.state.deadline().is_some_and(|deadline| deadline <= at),
        });
        let due: Vec<Name> = due.map(|(origin, _)| origin.clone()).collect();
        for origin in due {
            let stuck = self.engines.get_mut(&origin).is_some_and(|engine| engine.again.take().is_some());
            let before = self.engines.get(&origin).and_then(|engine| engine.last);
            // The log says what could not be written.
            let _ = if stuck {
                self.take_up_again(&origin)
            } else {
                self.drive(&origin, Event::Tick, &By::daemon()).map(drop)
            };
            // A phase may be over as soon as it begins. What stays due without that anything is decided, whatever it is,
            // does not make the loop spin.
            if let Some(engine) = self.engines.get_mut(&origin)
                && engine.again.is_none()
                && engine.last == before
                && engine.state.deadline().is_some_and(|deadline| deadline <= at)
            {
                engine.again = Some(at.after(WRITE_AGAIN));
            }
        }
    }

    /// Does again what is not known to be done, as the state has it.
    fn take_up_again(&mut self, origin: &Name) -> Result<(), DriverError> {
        let pending = self.engines.get(origin).map(|engine| engine.state.pending.clone()).unwrap_or_default();
        let work = pending.into_iter().map(|(id, pending)| Work::Perform(Issued { id, effect: pending.effect }));
        self.work_off(origin, work.chain([Work::Take(Event::Tick)]).collect(), &By::daemon()).map(drop)
    }
}
