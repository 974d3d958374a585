//! What is known of drills, and how the thread of the one under way is reached.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use super::super::now;
use super::halt::Halt;
use super::stream;
use crate::drill::due::Last;
use crate::drill::{Drill, End, Outcome};
use crate::failover::state::State;
use crate::name::Name;
use crate::store::drills::KEPT;
use crate::store::journal::{Entry, Journal};
use crate::store::{Store, StoreError};
use crate::world::daemon;

/// Why a drill was interrupted that a start finds under way.
const DAEMON_ENDED: &str = "the daemon ended";

/// All that is known of drills. Clones are handles of the same.
#[derive(Clone, Debug, Default)]
pub struct Drills(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The drills of each zone, oldest first; one that is under way is the last one.
    held: BTreeMap<Name, Vec<Drill>>,
    under_way: Option<Running>,
}

/// A drill under way, as its thread is reached.
#[derive(Debug)]
struct Running {
    zone: Name,
    halt: Arc<Halt>,
    listeners: Vec<SocketAddr>,
    state: Option<State>,
}

/// How a drill stands that is under way.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The zone.
    pub zone: Name,
    /// Its number.
    pub drill: u64,
    /// Where it is answered; empty before it is.
    pub listeners: Vec<SocketAddr>,
    /// What is decided on its traffic; none before it has begun to move.
    pub state: Option<State>,
}

impl Drills {
    /// What the store has. One that it has under way was ended with the daemon, and is taken down so.
    pub(in crate::driver) fn open(store: &Store) -> Result<Drills, StoreError> {
        let mut held = store.drills().all()?;
        for (zone, drills) in &mut held {
            for drill in drills.iter_mut().filter(|drill| drill.end.is_none()) {
                let (outcome, why) = (Outcome::Interrupted, DAEMON_ENDED.to_owned());
                drill.end = Some(End { at: now(), outcome, why, blocked: false, findings: Vec::new() });
                // A start does not fail for that.
                if let Err(error) = store.drills().keep(zone, drill).and_then(|()| close(store, zone, drill)) {
                    tracing::error!(zone = %zone, %error, "that a drill was interrupted could not be written");
                }
            }
        }
        Ok(Drills(Arc::new(Mutex::new(Known { held, under_way: None }))))
    }

    /// The drills of a zone, oldest first; one that is under way is the last one.
    pub fn of(&self, zone: &Name) -> Vec<Drill> {
        self.known().held.get(zone).cloned().unwrap_or_default()
    }

    /// The last drill of a zone, under way or over.
    pub fn last(&self, zone: &Name) -> Option<Drill> {
        self.known().held.get(zone)?.last().cloned()
    }

    /// When the last drill of a zone began, and how it ended.
    pub(super) fn last_began(&self, zone: &Name) -> Option<Last> {
        let known = self.known();
        let last = known.held.get(zone)?.last()?;
        let outcome = last.end.as_ref().map_or(Outcome::Interrupted, |end| end.outcome);
        Some(Last { began: last.began, outcome })
    }

    /// All drills that are known, by zone, oldest first.
    pub fn all(&self) -> BTreeMap<Name, Vec<Drill>> {
        self.known().held.clone()
    }

    /// The one that is under way.
    pub fn under_way(&self) -> Option<Standing> {
        let known = self.known();
        let Running { zone, listeners, state, .. } = known.under_way.as_ref()?;
        let drill = known.held.get(zone)?.last()?.drill;
        Some(Standing { zone: zone.clone(), drill, listeners: listeners.clone(), state: state.clone() })
    }

    /// Ends the drill of a zone, if one is under way: its number. Nothing is waited for.
    pub(in crate::driver) fn interrupt(&self, zone: &Name, why: impl Into<String>) -> Option<u64> {
        let known = self.known();
        let running = known.under_way.as_ref().filter(|running| running.zone == *zone)?;
        running.halt.call(why.into());
        known.held.get(zone)?.last().map(|drill| drill.drill)
    }

    /// How the one that is under way stands.
    pub(super) fn show(&self, listeners: &[SocketAddr], state: &State) {
        if let Some(running) = &mut self.known().under_way {
            running.listeners = listeners.to_vec();
            running.state = Some(state.clone());
        }
    }

    pub(super) fn begun(&self, zone: &Name, drill: Drill, halt: Arc<Halt>) {
        let mut known = self.known();
        let held = known.held.entry(zone.clone()).or_default();
        held.push(drill);
        let surplus = held.len().saturating_sub(KEPT);
        held.drain(..surplus);
        known.under_way = Some(Running { zone: zone.clone(), halt, listeners: Vec::new(), state: None });
    }

    /// The one that was under way has ended so.
    pub(super) fn over(&self, zone: &Name, drill: Drill) {
        let mut known = self.known();
        if let Some(last) = known.held.get_mut(zone).and_then(|held| held.last_mut()) {
            *last = drill;
        }
        known.under_way = None;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the end of a drill that a crash broke off behind what it wrote itself.
fn close(store: &Store, zone: &Name, drill: &Drill) -> Result<(), StoreError> {
    let mut journal = store.journal();
    let last = journal.latest(&stream(zone))?;
    let told = format!("drill {}: {}", drill.drill, drill.told().unwrap_or_default());
    let entry = Entry {
        stream: stream(zone),
        after: last.as_ref().map(|row| row.sequence),
        at: now(),
        actor: daemon(),
        reason: String::new(),
        event: json!({ "told": [told], "drill": drill.drill }),
        state: last.as_ref().map_or(json!({}), |row| row.state.clone()),
        effects: json!([]),
        generation: last.as_ref().map_or(0, |row| row.generation),
        publications: Vec::new(),
    };
    journal.commit(&entry).map(drop)
}
