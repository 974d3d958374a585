//! The engines of all zones, and the live world that the loop around each of them acts on: the stage, the gates with what
//! was found out beforehand, and our own sockets.

use super::{Driver, DriverError, Health, STREAM, now};
use crate::failover::effect::{Alert, Effect, EffectId, Issued, Severity};
use crate::failover::event::Event;
use crate::failover::refusal::Refusal;
use crate::failover::state::State;
use crate::name::Name;
use crate::store::journal::{Journal, Row, Sequence, SqliteJournal};
use crate::time::Timestamp;
use crate::world::{Outcome, Prepared, World};

pub use crate::world::By;
pub(super) use crate::world::turns::Engine;

/// How many alerts are kept to be shown.
const ALERTS: usize = 50;

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

/// The world that a zone's traffic is moved in: the stage that clients are answered from.
pub(super) struct Live<'a> {
    driver: &'a mut Driver,
    origin: &'a Name,
}

impl World for Live<'_> {
    fn now(&self) -> Timestamp {
        now()
    }

    fn stream(&self) -> String {
        Driver::stream(self.origin)
    }

    fn generation(&self) -> u64 {
        self.driver.serving.generation
    }

    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome> {
        let (effect, origin) = (issued.id, self.origin);
        Some(match &issued.effect {
            Effect::Judge { id } => Event::Judged { effect, verdict: self.driver.judge(origin, state, *id) }.into(),
            Effect::Publish => self.driver.prepare_publication(origin, state, effect),
            Effect::Confirm if self.driver.confirm(origin, None) => Event::Confirmed { effect }.into(),
            Effect::Confirm => {
                let why = "a socket of ours does not give what was published; the log names it".into();
                Event::ConfirmFailed { effect, why }.into()
            }
            Effect::Sample { id } => {
                let sample = self.driver.sample(origin, state, *id, effect)?;
                Event::DrainSampled { effect, sample }.into()
            }
            // It changes what is published: not while the engine is at work.
            Effect::Rename { .. } => {
                self.driver.want_rename(origin, effect);
                return None;
            }
            Effect::Alert(alert) => {
                self.driver.tell(origin, alert);
                Event::Told { effect }.into()
            }
            Effect::Ended(ended) => {
                self.driver.ended(origin, ended);
                Event::Told { effect }.into()
            }
        })
    }

    fn bring_out(&mut self, publication: Prepared) {
        self.driver.bring_out(publication);
    }
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

    /// What is in the journal on a zone's traffic and its drills, of each the newest first and at most so many, each with its
    /// stream.
    pub fn rows_of(&self, origin: &Name, limit: u32) -> Result<Vec<(String, Row)>, DriverError> {
        let stream = Driver::stream(origin);
        let rows = self.journal.rows(&stream, limit)?;
        let drills = self.drill_rows(origin, limit)?;
        Ok(rows.into_iter().map(|row| (stream.clone(), row)).chain(drills).collect())
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
        let driven = self.with_engine(origin, |engine, world, journal| engine.drive(world, journal, event, by));
        Ok(driven.unwrap_or(Ok(Some(Refusal::NoMove)))?)
    }

    /// Has the engine of a zone do something in the live world.
    pub(super) fn with_engine<T>(
        &mut self,
        origin: &Name,
        turn: impl FnOnce(&mut Engine, &mut Live<'_>, &mut SqliteJournal) -> T,
    ) -> Option<T> {
        let mut engine = self.engines.get(origin)?.clone();
        let (before, mut journal) = (engine.last, self.journal.clone());
        let done = turn(&mut engine, &mut Live { driver: self, origin }, &mut journal);
        // Edits that touch what moved are taken over as soon as everybody has moved.
        let queued = matches!(self.health.get(origin), Some(Health::Queued(_)));
        if queued && engine.last != before && engine.state.ways().is_empty() {
            self.queued.insert(origin.clone());
        }
        self.engines.insert(origin.clone(), engine);
        Some(done)
    }

    fn prepare_publication(&mut self, origin: &Name, state: &State, effect: EffectId) -> Outcome {
        Outcome::of_publication(effect, self.prepare(origin, state))
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
    pub fn deadline(&mut self) -> Option<Timestamp> {
        let others = self.bounds_due().into_iter().chain(self.renames_due());
        self.engines.values().filter_map(Engine::deadline).chain(others).min()
    }

    /// Does what is due by now.
    pub fn tick(&mut self) {
        self.look_at_bounds();
        self.look_at_renames();
        let at = now();
        let due = self.engines.iter().filter(|(_, engine)| engine.deadline().is_some_and(|deadline| deadline <= at));
        for origin in due.map(|(origin, _)| origin.clone()).collect::<Vec<_>>() {
            self.with_engine(&origin, |engine, world, journal| engine.tick(world, journal));
        }
    }
}
