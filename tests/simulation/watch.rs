//! What holds at every moment of a run, told without the engine's own checks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use serde::Deserialize as _;
use understudy::failover::effect::Effect;
use understudy::failover::event::Event;
use understudy::failover::moves::{Direction, Move, MoveId, Outcome, Phase, Why};
use understudy::failover::plan::Kind;
use understudy::failover::state::State;
use understudy::failover::step::step;
use understudy::name::Name;
use understudy::rr::RrType;
use understudy::serial::Serial;
use understudy::serving::content::Content;
use understudy::serving::regions::RegionId;
use understudy::serving::routing::{Routing, Side};
use understudy::serving::{Serving, ZoneServing};
use understudy::share::Share;
use understudy::store::journal::{Journal, Row, Sequence};
use understudy::time::Timestamp;
use understudy::world::World;
use understudy::world::routing::routing_of;
use understudy::world::sim::Simulated;
use understudy::world::turns::Engine;

use crate::clients::{Entry, Resolver, site_of};
use crate::content::origin;

/// How many clients of each region are watched.
const CLIENTS: u8 = 24;

/// What a client was answered from.
#[derive(Default)]
struct Client {
    site: String,
    /// The sites that it left, each with how many commands there had been.
    left: HashMap<String, usize>,
}

pub struct Watch {
    /// What a zone was before its first row.
    initial: State,
    seen: Option<Sequence>,
    rows: usize,
    generation: u64,
    serial: Serial,
    epoch: u64,
    revision: u64,
    clients: Vec<(IpAddr, Client)>,
    /// How many commands were taken.
    commands: usize,
    /// By how many milliseconds the clock was ever set forward: so much sooner may a wait end.
    forward: i64,
    /// Moves whose clients have begun to move, and those who have all moved.
    begun: BTreeSet<MoveId>,
    drained: BTreeSet<MoveId>,
    directions: BTreeMap<MoveId, Direction>,
    /// What the zone said since each move began, as it was edited.
    contents: BTreeMap<MoveId, Vec<Arc<Content>>>,
    ended: Vec<(MoveId, Outcome)>,
    /// What was last held against each other: the last row, and what was served.
    looked: Option<(Option<Sequence>, Arc<Serving>)>,
}

impl Watch {
    pub fn new(initial: &State) -> Watch {
        let of_region = |first: u8| (0..CLIENTS).map(move |at| IpAddr::from([first, at * 9 + 1, 7, 7]));
        let clients = of_region(100).chain(of_region(200)).map(|address| (address, Client::default()));
        Watch {
            initial: initial.clone(),
            seen: None,
            rows: 0,
            generation: 0,
            serial: Serial(0),
            epoch: 0,
            revision: 0,
            clients: clients.collect(),
            commands: 0,
            forward: 0,
            begun: BTreeSet::new(),
            drained: BTreeSet::new(),
            directions: BTreeMap::new(),
            contents: BTreeMap::new(),
            ended: Vec::new(),
            looked: None,
        }
    }

    pub fn clock_stepped(&mut self, milliseconds: i64) {
        self.forward += milliseconds.abs();
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.ended.iter().map(|(_, outcome)| match outcome {
            Outcome::Done => "done",
            Outcome::Reversed => "reversed",
            Outcome::Aborted { .. } => "aborted",
            Outcome::Refused { .. } => "refused",
            Outcome::Replaced { .. } => "replaced",
        })
    }

    /// What was written since, a line for each sentence. What is written is what the engine goes by.
    pub fn news(&mut self, engine: &Engine, journal: &dyn Journal, stream: &str) -> Result<Vec<String>, String> {
        let rows =
            journal.since(stream, self.seen.unwrap_or(Sequence(0)), 10_000).map_err(|error| error.to_string())?;
        let mut lines = Vec::new();
        for row in &rows {
            self.row(row)?;
            let told = row.event["told"].as_array().into_iter().flatten();
            lines.extend(told.map(|line| line.as_str().unwrap_or_default().to_owned()));
        }
        if engine.last != self.seen {
            return Err(format!("the engine goes by row {:?}, and the last one is {:?}", engine.last, self.seen));
        }
        if self.seen.is_none() {
            self.initial = engine.state.clone();
        }
        Ok(lines)
    }

    /// A row follows from the one before.
    fn row(&mut self, row: &Row) -> Result<(), String> {
        let after = State::deserialize(&row.state).map_err(|error| error.to_string())?;
        let event = Event::deserialize(&row.event["event"]).map_err(|error| error.to_string())?;
        let (again, issued) = step(&self.initial, &event, row.at);
        let again = State { refusal: after.refusal.clone(), ..again };
        if again != after {
            return Err(format!("row {:?} does not follow from the one before", row.sequence));
        }
        if serde_json::to_value(&issued).ok() != Some(row.effects.clone()) {
            return Err(format!("row {:?} asks for something else than follows", row.sequence));
        }
        for (id, moving) in after.moves.iter().chain(&after.challengers) {
            let was = self.directions.insert(*id, moving.direction);
            let turned = was == Some(Direction::Forward) && moving.direction == Direction::Back;
            if turned && !matches!(event, Event::Abort { .. }) {
                return Err(format!("{id} was reversed, and nobody had said so: {event:?}"));
            }
            if was.is_none() && !matches!(event, Event::Begin { .. }) {
                return Err(format!("{id} has begun, and nobody had said so: {event:?}"));
            }
        }
        let ended = issued.iter().filter_map(|issued| match &issued.effect {
            Effect::Ended(ended) => Some((ended.id, ended.outcome.clone())),
            _ => None,
        });
        for (id, outcome) in ended {
            if self.ended.iter().all(|(known, _)| *known != id) {
                self.ended.push((id, outcome));
            }
        }
        self.commands += usize::from(row.actor.uid.is_some());
        self.initial = after;
        self.seen = Some(row.sequence);
        self.rows += 1;
        Ok(())
    }

    /// Looks at what is served; whether that is new.
    pub fn look(
        &mut self,
        sim: &Simulated,
        engine: &Engine,
        resolvers: &[Resolver],
        now: Timestamp,
    ) -> Result<bool, String> {
        let state = &engine.state;
        self.moves(state)?;
        let serving = sim.serving();
        let zone = serving.zone(origin().as_ref()).ok_or("the zone is not served any more")?;
        // As long as nothing else is decided or served, it is as it was.
        let looked = (engine.last, Arc::clone(serving));
        let is_same =
            |(last, before): &(Option<Sequence>, Arc<Serving>)| *last == looked.0 && Arc::ptr_eq(before, &looked.1);
        if !self.looked.as_ref().is_some_and(is_same) {
            as_decided(state, zone, &serving.regions)?;
            self.looked = Some(looked);
        }
        let is_new = serving.generation != self.generation;
        if serving.generation < self.generation {
            return Err(format!("the generation goes back from {} to {}", self.generation, serving.generation));
        }
        if zone.serial != self.serial && !zone.serial.is_above(self.serial) && self.generation != 0 {
            return Err(format!("the serial goes back from {} to {}", self.serial, zone.serial));
        }
        if zone.content.epoch < self.epoch || zone.routing.revision < self.revision || state.revision < self.revision {
            return Err("the epoch or the revision goes back".into());
        }
        (self.generation, self.serial) = (serving.generation, zone.serial);
        (self.epoch, self.revision) = (zone.content.epoch, zone.routing.revision);
        if is_new {
            for (address, client) in &mut self.clients {
                let site = site_of(serving, *address, now)?;
                if client.site == site {
                    continue;
                }
                if client.left.get(&site) == Some(&self.commands) {
                    return Err(format!("{address} goes back to {site}, and nobody had said so"));
                }
                let left = std::mem::replace(&mut client.site, site);
                client.left.insert(left, self.commands);
            }
        }
        self.waits(state, zone, resolvers, now)?;
        Ok(is_new)
    }

    fn moves(&self, state: &State) -> Result<(), String> {
        let mut regions = BTreeSet::new();
        for (id, moving) in &state.moves {
            if let Some(region) = moving.base.keys().find(|region| !regions.insert((*region).clone())) {
                return Err(format!("{id} is the second move of {region}"));
            }
        }
        for moving in state.moves.values().chain(state.challengers.values()) {
            if let Some(Why::Broken { what }) = moving.hold.as_ref().map(|hold| &hold.why) {
                return Err(format!("the engine stopped itself: {what}"));
            }
        }
        Ok(())
    }

    /// Waits that end have waited for what they are for: no resolver holds by then what they wait out.
    fn waits(
        &mut self,
        state: &State,
        zone: &ZoneServing,
        resolvers: &[Resolver],
        now: Timestamp,
    ) -> Result<(), String> {
        for (id, moving) in &state.moves {
            let contents = self.contents.entry(*id).or_default();
            if contents.last().is_none_or(|last| !Arc::ptr_eq(last, &zone.content)) {
                contents.push(Arc::clone(&zone.content));
            }
            let forward = moving.direction == Direction::Forward;
            if moving.published > Share::NONE
                && forward
                && self.begun.insert(*id)
                && moving.plan.kind == Kind::Switchover
            {
                let low = Timestamp(now.0 + i64::from(moving.policy.low_ttl.seconds()) * 1000);
                self.nobody_holds(*id, moving, zone, resolvers, low, "longer than the low TTL, and clients move")?;
            }
            if matches!(moving.phase, Phase::Baking { .. }) && self.drained.insert(*id) {
                self.nobody_holds(*id, moving, zone, resolvers, now, "and old answers count as gone")?;
            }
        }
        Ok(())
    }

    /// Whether no resolver holds, beyond `until`, what a site that is left answered and the target does not.
    fn nobody_holds(
        &self,
        id: MoveId,
        moving: &Move,
        zone: &ZoneServing,
        resolvers: &[Resolver],
        until: Timestamp,
        why: &str,
    ) -> Result<(), String> {
        match last_held(moving, zone, self.contents_since(id), resolvers) {
            Some((held, what)) if held.0 - self.forward > until.0 => {
                Err(format!("{what} {} ms too long: {why}", held.0 - until.0))
            }
            _ => Ok(()),
        }
    }

    /// What the zone said since a move began, the first first.
    pub fn contents_since(&self, id: MoveId) -> &[Arc<Content>] {
        self.contents.get(&id).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn end(&mut self, sim: &Simulated, engine: &Engine, journal: &dyn Journal) -> Result<(), String> {
        let state = &engine.state;
        let zone = sim.serving().zone(origin().as_ref()).ok_or("the zone is not served any more")?;
        if state.moves.values().all(|moving| moving.hold.is_none()) && !zone.routing.lowered().is_empty() {
            return Err("TTLs are low, and nothing moves".into());
        }
        if *state.served != state.view() {
            return Err("what is served is not what is wanted".into());
        }
        let last = journal.latest(&sim.stream()).map_err(|error| error.to_string())?.map(|row| row.sequence);
        if last != self.seen {
            return Err(format!("row {last:?} is the last one, and nobody has looked at it"));
        }
        // Each move has come to an end, or stands still and says why.
        for id in 1..state.next_move {
            let id = MoveId(id);
            let held = state.find(id).is_some_and(|moving| moving.hold.is_some());
            if !held && self.ended.iter().all(|(ended, _)| *ended != id) {
                return Err(format!("{id} is gone, and nobody knows how it ended"));
            }
        }
        Ok(())
    }
}

/// Until when some resolver holds what a site that is left answered and the target did not since the move began; who, and
/// what.
pub fn last_held(
    moving: &Move,
    zone: &ZoneServing,
    since: &[Arc<Content>],
    resolvers: &[Resolver],
) -> Option<(Timestamp, String)> {
    let to = moving.plan.to.as_str();
    let left = moving.base.values().flat_map(|from| from.others.iter().chain([&from.site]));
    let left: BTreeSet<&str> = left.map(|site| site.as_str()).filter(|site| *site != to).collect();
    let is_old = |((name, rtype), entry): &&((Name, RrType), Entry)| {
        let Entry { rdatas, site, egress, content, .. } = entry;
        let region = if is_european(*egress) { "europe" } else { "default" };
        if !left.contains(&**site) || !moving.base.contains_key(region) || *rtype == RrType::SOA {
            return false;
        }
        let told = |content: &Content, site: &str| -> Option<BTreeSet<Vec<u8>>> {
            let site = content.site_named(site).map(|id| content.site(id))?;
            let set = site.zone.rrset(name.as_ref(), *rtype);
            Some(set.iter().flat_map(|set| set.rdatas()).map(<[u8]>::to_vec).collect())
        };
        let held_as: Option<BTreeSet<Vec<u8>>> = Some(rdatas.iter().cloned().collect());
        // What both ends answer alike, or did when it was told or at any time since, does not move: an edit made it what it is.
        let mut contents = since.iter().chain([content, &zone.content]);
        told(&zone.content, site) != told(&zone.content, to) && contents.all(|content| told(content, to) != held_as)
    };
    let old = resolvers.iter().flat_map(Resolver::caches).filter(is_old);
    let last = old.max_by_key(|(_, entry)| entry.until);
    last.map(|((name, rtype), Entry { until, site, egress, .. })| {
        (*until, format!("{egress} holds {name} {rtype} of {site}"))
    })
}

fn is_european(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.octets()[0] == 100)
}

/// What is served is what is decided: the sites and the shares of all regions.
fn as_decided(
    state: &State,
    zone: &ZoneServing,
    regions: &understudy::serving::regions::Regions,
) -> Result<(), String> {
    let decided = routing_of(state, &state.served, &zone.content, regions);
    let of = |routing: &Routing, region: RegionId| {
        let split = routing.split(region).map(|moving| moving.share);
        ([Side::Base, Side::To].map(|side| routing.site_at(region, side)), split, routing.lowered())
    };
    for (region, name) in regions.iter() {
        let [decided, served] = [&decided, &zone.routing].map(|routing| of(routing, region));
        if decided != served {
            return Err(format!("{name} is served as {served:?}, and decided is {decided:?}"));
        }
    }
    Ok(())
}
