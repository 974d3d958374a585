//! Drills: a zone moved there and back by the very loop of the live engine, on a stage of its own that nobody is sent to.
//!
//! A drill has a thread, a stage, listeners and a stream of the journal for itself. It publishes nothing: what is served,
//! its serial and its generation stay what they are. There is one at a time. What is done to the zone for real ends it: the
//! driver says so, and waits for nothing.

mod course;
mod halt;
mod known;
mod sample;
mod shadow;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::engine::By;
use super::plan::Draft;
use super::{Driver, DriverError, now};
use crate::drill::due::{self, Last};
use crate::drill::{Drill, End, Outcome, Policy};
use crate::failover::actor::Actor;
use crate::failover::moves::MoveId;
use crate::failover::plan::{Impossible, Kind, MoveRequest};
use crate::failover::state::State;
use crate::gate::Finding;
use crate::gate::drills::{Way, recent};
use crate::name::Name;
use crate::store::StoreError;
use crate::store::drills::stream;
use crate::store::journal::{Journal, Row, Sequence};
use crate::time::Timestamp;
use crate::world::{daemon, planning};
use course::{Course, Given};
use halt::Halt;

pub use crate::store::drills::STREAM;
pub use known::{Drills, Standing};

/// How soon it is looked again whether one may begin by itself that is due.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What an operator wants drilled.
#[derive(Clone, Debug, Default)]
pub struct DrillOrder {
    /// The site to go to; none: the one that was gone to longest ago.
    pub to: Option<String>,
    /// Only this region; none: all that are not there.
    pub region: Option<String>,
    /// Why.
    pub reason: String,
}

/// Why a drill does not begin.
#[derive(Debug, thiserror::Error)]
pub enum CannotDrill {
    /// There is nowhere to go.
    #[error("the zone {zone} has one site: there is nowhere to move it to")]
    OneSite {
        /// The zone.
        zone: Name,
    },
    /// There is one at a time.
    #[error("drill {drill} of {zone} is under way, and there is one at a time")]
    UnderWay {
        /// The zone of that one.
        zone: Name,
        /// Its number.
        drill: u64,
    },
    /// The zone is moved for real.
    #[error("{by} of {zone} is under way: a drill begins where everything is at rest")]
    Moving {
        /// The zone.
        zone: Name,
        /// The move.
        by: MoveId,
    },
    /// No move would begin either.
    #[error("no move of {zone} begins, and so no drill: {why}")]
    Doubted {
        /// The zone.
        zone: Name,
        /// Why.
        why: String,
    },
    /// Nothing would move.
    #[error("all that was asked for is answered from {to} already: nothing would move")]
    Nothing {
        /// The site.
        to: String,
    },
    /// It names what there is not.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no thread.
    #[error("the system gave no thread to drill on: {0}")]
    System(#[from] std::io::Error),
}

impl Driver {
    /// What is known of drills.
    pub fn drills(&self) -> &Drills {
        &self.drills
    }

    /// What is in the journal on a zone's drills behind `after`, oldest first, at most so many.
    pub fn drill_rows_since(&self, origin: &Name, after: Sequence, limit: u32) -> Result<Vec<Row>, DriverError> {
        Ok(self.journal.since(&stream(origin), after, limit)?)
    }

    /// What is in the journal on a zone's drills, newest first, at most so many, each with its stream.
    pub(super) fn drill_rows(&self, origin: &Name, limit: u32) -> Result<Vec<(String, Row)>, DriverError> {
        let stream = stream(origin);
        let rows = self.journal.rows(&stream, limit)?;
        Ok(rows.into_iter().map(|row| (stream.clone(), row)).collect())
    }

    /// Where the stream of a zone's drills ends.
    pub fn drill_rows_end(&self, origin: &Name) -> Result<Sequence, DriverError> {
        Ok(self.journal.latest(&stream(origin))?.map_or(Sequence(0), |row| row.sequence))
    }

    /// Begins a drill by the word of an operator. It goes on by itself.
    pub fn order_drill(&mut self, origin: &Name, order: &DrillOrder, actor: &Actor) -> Result<Drill, CannotDrill> {
        let drill = self.begin_drill(origin, order, actor)?;
        let by = By { actor: actor.clone(), reason: order.reason.clone() };
        self.note(&by, format!("drill {origin} --to {}", drill.to), None);
        Ok(drill)
    }

    fn begin_drill(&mut self, origin: &Name, order: &DrillOrder, actor: &Actor) -> Result<Drill, CannotDrill> {
        let (given, to) = self.given(origin, order, actor)?;
        let last = self.drills.last(origin);
        let mut from: Vec<String> = given.regions.values().map(ToString::to_string).collect();
        from.sort();
        from.dedup();
        let drill = Drill {
            drill: last.map_or(0, |last| last.drill) + 1,
            from,
            to,
            region: order.region.clone(),
            actor: actor.name.clone(),
            reason: order.reason.clone(),
            began: now(),
            there: None,
            back: None,
            end: None,
        };
        self.store.drills().keep(origin, &drill)?;
        let halt = Arc::<Halt>::default();
        self.drills.begun(origin, drill.clone(), Arc::clone(&halt));
        let course = Course::new(given, drill.clone(), self.drills.clone(), self.store.clone(), halt);
        let started = thread::Builder::new().name("drill".into()).spawn(move || course.run());
        if let Err(error) = started {
            let (outcome, why) = (Outcome::Interrupted, "there was no thread for it".to_owned());
            let end = Some(End { at: now(), outcome, why, blocked: false, findings: Vec::new() });
            let drill = Drill { end, ..drill };
            self.store.drills().keep(origin, &drill)?;
            self.drills.over(origin, drill);
            return Err(error.into());
        }
        Ok(drill)
    }

    /// What a drill is to go by, and the site that it goes to, if it may begin.
    fn given(&self, origin: &Name, order: &DrillOrder, actor: &Actor) -> Result<(Given, String), CannotDrill> {
        let served = self.serving.zone(origin.as_ref()).zip(self.setup.zone(origin));
        let (Some((zone, spec)), Some(state)) = (served, self.traffic(origin)) else {
            return Err(Impossible::NotServed { zone: origin.clone() }.into());
        };
        if zone.content.sites.len() < 2 {
            return Err(CannotDrill::OneSite { zone: origin.clone() });
        }
        if let Some(Standing { zone, drill, .. }) = self.drills.under_way() {
            return Err(CannotDrill::UnderWay { zone, drill });
        }
        if let Some(by) = state.moves.keys().chain(state.challengers.keys()).next() {
            return Err(CannotDrill::Moving { zone: origin.clone(), by: *by });
        }
        if let Some(why) = &state.doubt {
            return Err(CannotDrill::Doubted { zone: origin.clone(), why: why.clone() });
        }
        let request = |to: &str| MoveRequest { to: to.into(), from: None, region: order.region.clone() };
        let moved = |to: &str| planning::regions_of(zone, state, Kind::Switchover, &request(to));
        let to = match &order.to {
            Some(to) => to.clone(),
            None => {
                let others = zone.content.sites.iter().map(|site| site.name.as_str());
                let others = others.filter(|site| moved(site).is_ok_and(|regions| !regions.is_empty()));
                let drills = self.drills.of(origin);
                let last = |site: &&str| drills.iter().rev().find(|drill| drill.to == *site).map(|drill| drill.began);
                // The first of the sites will do where a region is named that there is not: it is said next.
                let first = &zone.content.sites[0].name;
                others.min_by_key(last).unwrap_or(first).to_owned()
            }
        };
        let regions = moved(&to)?;
        if regions.is_empty() {
            return Err(CannotDrill::Nothing { to });
        }
        let given = Given {
            origin: origin.clone(),
            spec: spec.clone(),
            include_outside: self.setup.include_outside,
            listen: self.setup.drill_listen.clone(),
            known: self.setup.regions.clone(),
            live: Arc::clone(&self.serving),
            state: state.clone(),
            regions,
            own: self.own.clone(),
            held: self.held(origin),
            memo: self.standby.memo(origin),
            readings: self.readings.clone(),
            actor: actor.clone(),
        };
        Ok((given, to))
    }

    /// Ends the drill of a zone by the word of an operator: its number, if one is under way.
    pub fn abort_drill(&mut self, origin: &Name, by: &By) -> Option<u64> {
        let reason = Some(&by.reason).filter(|reason| !reason.is_empty());
        let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let ended = self.drills.interrupt(origin, format!("{} ended it{why}", by.actor.name))?;
        self.note(by, format!("drill {origin} --abort"), None);
        Some(ended)
    }

    /// When [`Driver::begin_due_drill`] has something to do next.
    pub fn drill_due(&self) -> Option<Timestamp> {
        let (at, again) = (now(), now().after(LOOK_AGAIN));
        let zones = self.setup.zones.iter().filter_map(|spec| Some((&spec.origin, spec.drill.as_ref()?)));
        let next = zones.filter_map(|(origin, policy)| due::next(policy, self.last_drill(origin), at)).min()?;
        // What is due and can't begin now is waited for.
        Some(if self.may_drill() { next } else { next.max(again) })
    }

    /// Begins the drill of the zone whose turn it is.
    pub fn begin_due_drill(&mut self) {
        if !self.may_drill() {
            return;
        }
        let zones = self.setup.zones.iter();
        let zones = zones.filter_map(|spec| {
            let policy = spec.drill.as_ref()?;
            Some((spec.origin.clone(), policy, self.last_drill(&spec.origin)))
        });
        let Some(origin) = due::turn(zones, now()) else { return };
        let order = DrillOrder { reason: "it was due".into(), ..DrillOrder::default() };
        if let Err(error) = self.begin_drill(&origin, &order, &daemon()) {
            tracing::warn!(zone = %origin, "the drill that is due does not begin: {error}");
            self.put_off.insert(origin, now());
        }
    }

    /// Whether one may begin by itself: none is under way, and no zone is moved for real.
    fn may_drill(&self) -> bool {
        let is_moving = |state: &State| !state.moves.is_empty() || !state.challengers.is_empty();
        self.drills.under_way().is_none() && !self.engines.values().any(|engine| is_moving(&engine.state))
    }

    fn last_drill(&self, origin: &Name) -> Option<Last> {
        // One that could not begin is as one that was broken off.
        let put_off = self.put_off.get(origin).map(|at| Last { began: *at, outcome: Outcome::Interrupted });
        self.drills.last_began(origin).into_iter().chain(put_off).max_by_key(|last| last.began)
    }

    /// `drill.recent`; nothing where nobody has asked for drills, or it is a way back.
    pub(super) fn drill_recent(&self, draft: &Draft) -> Option<Finding> {
        let policy: &Policy = self.setup.zone(&draft.origin)?.drill.as_ref()?;
        if draft.kind == Kind::Rollback || draft.regions.is_empty() {
            return None;
        }
        let drills = self.drills.of(&draft.origin);
        let to = draft.to.to_string();
        let way = |from: &str| Way {
            from: from.into(),
            to: to.clone(),
            drilled: drills.iter().filter_map(|drill| drill.proves(from, &to)).max(),
        };
        let ways: Vec<Way> = draft.regions.values().map(|from| way(from.as_str())).collect();
        Some(recent(draft.origin.as_ref(), policy, &ways, now()))
    }
}
