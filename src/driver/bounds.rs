//! Until when old answers may be held, by who was told what: what Lowering and Draining wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use super::name_servers::{NameServers, ask_serials};
use super::stretch::Old;
use super::{Driver, DriverError, STREAM, now};
use crate::digest::Digest;
use crate::exposure::bound::{Basis, Bound, Change, Holding};
use crate::exposure::known::Known;
use crate::exposure::{Exposures, Limits};
use crate::failover::event::Event;
use crate::failover::ledger::Held;
use crate::failover::moves::{Clock, Move, MoveId, Phase, PhaseKind};
use crate::failover::names::RegionName;
use crate::failover::state::State;
use crate::failover::story::LAG;
use crate::name::Name;
use crate::serial::Serial;
use crate::serve::folding::Folding;
use crate::serving::regions::RegionId;
use crate::share::Share;
use crate::store::Store;
use crate::store::journal::Journal;
use crate::time::{Timestamp, Ttl};
use crate::world::By;

/// How long after a publication it is known who was told what before it: batches under way are answered, and notes folded.
const SETTLED: Duration = Duration::from_millis(1200);
/// How soon it is seen whether other name servers have answered, and how often they are asked while they lag.
const ANSWERED: Duration = Duration::from_millis(250);
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// What a wait rests on once other name servers give what is published.
const HAVE: &str = "when the last name server was seen to give the new content, and the greatest TTL of old answers";
/// What a wait rests on once levers were renamed meanwhile.
const PAST_LEVERS: &str = "the TTLs of old answers, and of what led to levers that were renamed";
/// How often it is looked at what was measured of resolvers while nothing else has changed.
const MEASURED_AGAIN: Duration = Duration::from_secs(30);
/// What is known sooner than that is not worth a row in the journal.
const WORTH: Duration = Duration::from_millis(500);

/// When it is looked again until when old answers may be held.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    looks: BTreeMap<(Name, MoveId), Look>,
    /// What other name servers of zones tell, once they do, and when that was.
    asked: BTreeMap<Name, Receiver<Told>>,
}

/// What name servers tell, each with its address, and when that was.
type Told = (Timestamp, Vec<(SocketAddr, Result<Serial, String>)>);

/// What the name servers of a zone give that are not this one.
enum Others {
    /// There are none.
    None,
    /// It can't be known.
    Unknown,
    /// They are being asked.
    Asked,
    /// All give what is published.
    Have,
    /// Some do not: which, and what they say.
    Lag(String),
}

/// A look at a wait.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Until when the wait lasts: it is looked at anew when that changes.
    until: Timestamp,
    /// When it is looked at; none once it was.
    due: Option<Timestamp>,
    /// The greatest TTL of old answers, as it was when the wait began.
    ttl: Ttl,
    /// When it was last looked at what was measured of resolvers.
    measured: Option<Timestamp>,
    /// The negative TTL that was found of the sites that the move leaves, and the serial at which it was.
    negative: Option<(Serial, Option<Ttl>)>,
}

impl Look {
    /// One that nothing is known of yet.
    fn of(until: Timestamp, ttl: Ttl) -> Look {
        Look { until, due: None, ttl, measured: None, negative: None }
    }
}

/// Starts to fold what is noted.
pub(super) fn start_folding(limits: Limits, store: &Store) -> Result<Arc<Folding>, DriverError> {
    let seed =
        store.secret::<16>("exposures")?.iter().fold(0, |seed: u64, octet| seed.rotate_left(8) ^ u64::from(*octet));
    Ok(Folding::start(|| Exposures::new(limits, seed, now()))?)
}

/// A move that waits for old answers to run out.
#[derive(Clone, Copy)]
struct Wait<'a> {
    id: MoveId,
    moving: &'a Move,
    until: Timestamp,
}

impl Driver {
    /// Who was told what, as far as it is noted.
    pub fn exposures(&self) -> Option<&Arc<Folding>> {
        self.folding.as_ref()
    }

    /// Takes up what is known of who was told what before the start.
    pub(super) fn restore_exposures(&mut self) -> Result<(), DriverError> {
        // Taken out in any case: what is told from here on is not in it.
        let kept = self.store.take_exposures()?;
        let Some(folding) = &self.folding else { return Ok(()) };
        // A copy of the state from before something else was done is of no use.
        let decided = self.journal.latest(STREAM)?.map_or(Timestamp(i64::MIN), |row| row.at);
        match kept.filter(|kept| kept.head.at >= decided) {
            Some(kept) => folding.change(|known| known.restore(&kept, &self.serving, &self.told_apart_by())),
            None => tracing::info!("what was told before this start is not known"),
        }
        Ok(())
    }

    /// Keeps who was told what for the next start. Nobody may be answered any more.
    pub fn keep_exposures(&self) {
        let Some(folding) = &self.folding else { return };
        let kept = folding.look(|exposures| exposures.keep(&self.serving, &self.told_apart_by(), now()));
        if let Err(error) = self.store.keep_exposures(&kept) {
            tracing::warn!(%error, "who was told what could not be kept: after the next start it is not known");
        }
    }

    /// What clients are told apart by: of all regions, their networks.
    fn told_apart_by(&self) -> String {
        Digest::of(format!("{:?}", self.setup.regions).as_bytes()).to_string()
    }

    /// When a wait is to be looked at next. A wait that is new is taken down.
    pub(super) fn bounds_due(&mut self) -> Option<Timestamp> {
        let at = now();
        let mut looks = BTreeMap::new();
        for (origin, engine) in self.engines.iter().filter(|(_, engine)| engine.again.is_none()) {
            for wait in waits(&engine.state) {
                let key = (origin.clone(), wait.id);
                let ttl = held(&engine.state, wait.moving).map_or(wait.moving.plan.old_ttl, |held| held.ttl);
                let known = self.bounds.looks.remove(&key).filter(|look| look.until == wait.until);
                let new = || Look { due: Some(at.after(SETTLED)), ..Look::of(wait.until, ttl) };
                looks.insert(key, known.unwrap_or_else(new));
            }
        }
        self.bounds.looks = looks;
        self.bounds.looks.values().filter_map(|look| look.due).min()
    }

    /// Looks at the waits that are due. What is known of one is told to its engine if it is over sooner than the journal alone
    /// can tell.
    pub(super) fn look_at_bounds(&mut self) {
        let at = now();
        let due = self.bounds.looks.iter().filter(|(_, look)| look.due.is_some_and(|due| due <= at));
        let due: Vec<(Name, MoveId)> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            let (origin, id) = &key;
            let Some(engine) = self.engines.get(origin) else { continue };
            let Some(wait) = waits(&engine.state).find(|wait| wait.id == *id) else { continue };
            let (moving, state) = (wait.moving.clone(), engine.state.clone());
            // Those who keep answers for longer are counted anew.
            let was = moving.watched.bound.filter(|_| moving.phase.kind() == PhaseKind::Draining).unwrap_or(wait.until);
            let look = self.bounds.looks.get(&key).copied();
            let mut look = look.unwrap_or(Look::of(wait.until, moving.plan.old_ttl));
            let ttl = look.ttl;
            let mut is_noted = false;
            let (bound, basis, due) = match self.others_of(origin, at) {
                // What was told since then is of no edition that is answered still, whatever of it is answered otherwise. What is
                // waited for by then is known, and each who was told anything.
                Others::None if !moving.watched.turned.is_empty() => {
                    is_noted = self.is_all_noted(origin, at);
                    (was, PAST_LEVERS.into(), None)
                }
                Others::None => {
                    let sooner = self.bound_of(origin, &state, &moving, at);
                    is_noted = sooner.as_ref().is_some_and(|bound| bound.basis != Basis::Journal);
                    let sooner = sooner.filter(|bound| bound.until.since(was).max(was.since(bound.until)) > WORTH);
                    match sooner {
                        Some(Bound { until, basis, .. }) => (until, basis.to_string(), None),
                        None => (was, String::new(), None),
                    }
                }
                // What they told nobody noted.
                Others::Unknown => (was, String::new(), Some(at.after(ASK_AGAIN))),
                Others::Asked => (was, String::new(), Some(at.after(ANSWERED))),
                Others::Have => (was.max(at.after(ttl.duration())), HAVE.into(), None),
                Others::Lag(who) => {
                    // Written now and then only: the next look comes long before that.
                    let left = was.since(at);
                    let until = if left > ttl.duration() / 2 + ASK_AGAIN {
                        was
                    } else {
                        at.after(ttl.duration() + 2 * ASK_AGAIN)
                    };
                    (until, format!("{LAG}: {who}"), Some(at.after(ASK_AGAIN)))
                }
            };
            // It reads the state, and compares whole zones: as long as nothing has changed, what was told last holds.
            let is_known = bound == was && look.measured.is_some_and(|since| since.after(MEASURED_AGAIN) > at);
            let longer = if is_known {
                moving.watched.longer.clone()
            } else {
                look.measured = Some(at);
                self.longer(origin, &moving, &mut Old { bound, ttl, is_noted, negative: &mut look.negative }, at)
            };
            let is_new = bound != was || longer != moving.watched.longer;
            let until = longer.iter().map(|longer| longer.until).max().map_or(bound, |last| last.max(bound));
            self.bounds.looks.insert(key.clone(), Look { until, due, ..look });
            if is_new {
                let basis = if basis.is_empty() { Basis::Journal.to_string() } else { basis };
                let event = Event::DrainBound { id: *id, until: bound, basis, longer };
                // The log says what could not be written; then the wait lasts as long as it was to.
                let _ = self.drive(origin, event, &By::daemon());
            }
        }
    }

    /// What the name servers of a zone give that are not this one. They are asked on a thread of its own, if nobody has yet.
    fn others_of(&mut self, origin: &Name, at: Timestamp) -> Others {
        let (Some(spec), Some(zone)) = (self.setup.zone(origin), self.serving.zone(origin.as_ref())) else {
            return Others::Unknown;
        };
        let servers = NameServers::of(spec, &zone.content.sites[0]);
        // The serial of a signed zone is its signer's, and does not tell what this server did.
        let is_signed = zone.content.sites.iter().any(|site| site.snapshot.is_signed());
        if !servers.elsewhere.is_empty() || is_signed {
            return Others::Unknown;
        }
        let others: Vec<_> = servers.others(&self.own).collect();
        if others.is_empty() {
            return Others::None;
        }
        let serial = zone.serial;
        match self.bounds.asked.get(origin).map(Receiver::try_recv) {
            Some(Ok((since, told))) if told.is_empty() || since.after(2 * ASK_AGAIN) > at => {
                self.bounds.asked.remove(origin);
                let lag = told.iter().filter_map(|(address, told)| match told {
                    Ok(told) if serial.is_above(*told) => Some(format!("{address} tells serial {told}, not {serial}")),
                    _ => None,
                });
                let lag: Vec<String> = lag.collect();
                match told.iter().all(|(_, told)| told.is_ok()) {
                    _ if !lag.is_empty() => Others::Lag(lag.join("; ")),
                    true => Others::Have,
                    // That they do not answer us says nothing about what they tell others.
                    false => Others::Unknown,
                }
            }
            Some(Err(TryRecvError::Empty)) => Others::Asked,
            // Nobody was asked yet, or what came of it is old.
            _ => {
                let (sender, receiver) = mpsc::channel();
                let name = origin.clone();
                let ask = move || {
                    let told = ask_serials(&name, &others);
                    drop(sender.send((now(), told)));
                };
                let started = thread::Builder::new().name("ask-others".into()).spawn(ask);
                self.bounds.asked.insert(origin.clone(), receiver);
                // Without a thread nothing is known, and it is tried again.
                if started.is_ok() { Others::Asked } else { Others::Unknown }
            }
        }
    }

    /// How much of what some regions asked of late was asked by those who may hold an answer now; none if it is not known.
    pub(super) fn held_share<'a>(&self, origin: &Name, regions: impl Iterator<Item = &'a RegionName>) -> Option<Share> {
        let regions = regions.filter_map(|region| self.serving.regions.named(region.as_str())).collect();
        Holding::of(&**self.folding.as_ref()?, origin, &regions, now()).share()
    }

    /// The greatest TTL that an answer of a zone may have been given with that is still held.
    pub(super) fn longest_of(&self, origin: &Name) -> Ttl {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return Ttl::MAX };
        let longest = zone.content.sites.iter().map(|site| site.zone.longest_ttl()).max().unwrap_or_default();
        longest.min(zone.content.policy.max_ttl.unwrap_or(Ttl::MAX)).max(self.held(origin).longest_ttl())
    }

    /// Whether all is noted of who was told what of a zone and may hold it still.
    fn is_all_noted(&self, origin: &Name, at: Timestamp) -> bool {
        let longest = self.longest_of(origin).duration();
        let blind_until = self.folding.as_ref().map(|folding| folding.look(|known| known.blind_until_of(origin)));
        blind_until.is_some_and(|until| until.after(longest) <= at)
    }

    /// The regions of a move; none if there is one no more: it is not known who was in it.
    pub(super) fn regions_of(&self, state: &State, moving: &Move) -> Option<BTreeSet<RegionId>> {
        let named = |region: &RegionName| self.serving.regions.named(region.as_str());
        let mut regions = moving.base.keys().map(named).collect::<Option<BTreeSet<RegionId>>>()?;
        // One that the engine does not know is answered like everybody else.
        if regions.contains(&RegionId::default()) {
            let unknown = |name: &str| !state.base.contains_key(&RegionName::from(name));
            regions.extend(self.serving.regions.iter().filter(|(_, name)| unknown(name)).map(|(region, _)| region));
        }
        Some(regions)
    }

    /// Until when answers may be held that are no longer given in the regions of a move.
    fn bound_of(&self, origin: &Name, state: &State, moving: &Move, at: Timestamp) -> Option<Bound> {
        let zone = self.serving.zone(origin.as_ref())?;
        let regions = self.regions_of(state, moving)?;
        let longest = self.longest_of(origin);
        let ceiling = held(state, moving).map(|held| held.until);
        let change = Change { serving: &self.serving, zone, regions: &regions, ceiling, longest };
        let folding = self.folding.as_ref()?;
        Some(folding.look(|exposures| exposures.bound(&change, at)))
    }
}

/// The moves that wait for old answers to run out.
fn waits(state: &State) -> impl Iterator<Item = Wait<'_>> {
    // Once resolvers were asked, it counts what they give.
    let standing = |moving: &Move| moving.hold.is_some() || !moving.confirmed || moving.watched.samples > 0;
    state.moves.iter().filter(move |(_, moving)| !standing(moving)).filter_map(|(id, moving)| {
        let until = match moving.phase {
            Phase::Lowering { clock: Clock::Until(until), .. } | Phase::Draining { until, .. } => until,
            _ => return None,
        };
        Some(Wait { id: *id, moving, until })
    })
}

/// What the journal knows of old answers in the regions of a move: the longest that one may be held.
fn held(state: &State, moving: &Move) -> Option<Held> {
    let held = state.ttls.iter().filter(|(region, _)| moving.base.contains_key(*region)).map(|(_, held)| *held);
    held.max_by_key(|held| held.until)
}
