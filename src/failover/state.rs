//! A zone's traffic, as far as it is decided: one journal row holds one of these.

use std::collections::BTreeMap;

use super::effect::{Effect, EffectId, Pending};
use super::health::{Health, SiteHealth};
use super::ledger::Ledger;
use super::moves::{Direction, Move, MoveId};
use super::names::{Frozen, RegionName, SiteName};
use super::policy::Policy;
use super::refusal::Refusal;
use super::view::View;
use crate::name::Name;
use crate::time::Timestamp;

/// A zone's traffic, as far as it is decided. [`super::step::step`] is what changes it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The zone.
    pub zone: Frozen<Name>,
    /// The time of the last event; time does not go back.
    pub last: Timestamp,
    /// The site of each region, moves that are under way aside.
    pub base: Frozen<BTreeMap<RegionName, SiteName>>,
    /// The site that each region was last moved away from: where a rollback goes.
    pub previous: Frozen<BTreeMap<RegionName, SiteName>>,
    /// What is known of each site of the zone.
    pub health: Frozen<BTreeMap<SiteName, Frozen<SiteHealth>>>,
    /// Moves, for regions that no two of them share.
    pub moves: BTreeMap<MoveId, Move>,
    /// Moves that will take regions over from `moves` once they are let through. No two of them share a region either.
    /// What they would take over stands still.
    pub challengers: BTreeMap<MoveId, Move>,
    /// How long old answers may be held.
    pub ttls: Frozen<Ledger>,
    /// Whether the daemon may move traffic by itself.
    pub autopilot: Frozen<Autopilot>,
    /// What nobody has said is done.
    pub pending: BTreeMap<EffectId, Pending>,
    /// The number of the next move.
    pub next_move: u64,
    /// The number of the next effect.
    pub next_effect: u64,
    /// Counts what was decided on routing; it only grows.
    pub revision: u64,
    /// The revision that last decided on each region.
    pub moved: Frozen<BTreeMap<RegionName, u64>>,
    /// What was last told to be served.
    pub asked: Frozen<View>,
    /// What is known to be served.
    pub served: Frozen<View>,
    /// Why nobody should rely on this state, if so.
    pub doubt: Option<String>,
    /// Why the last event changed nothing, if it didn't.
    pub refusal: Option<Refusal>,
    /// How careful new moves are.
    pub policy: Frozen<Policy>,
}

/// Whether the daemon may move traffic by itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Autopilot {
    /// It may.
    Armed,
    /// It may not.
    Disarmed {
        /// Why.
        why: String,
    },
}

impl State {
    /// A zone without any history, whose regions are answered from these sites. Each of them has to be among `sites`.
    pub fn new(
        zone: Name,
        policy: Frozen<Policy>,
        sites: impl IntoIterator<Item = SiteName>,
        base: BTreeMap<RegionName, SiteName>,
        now: Timestamp,
    ) -> State {
        let known =
            sites.into_iter().chain(base.values().cloned()).map(|site| (site, Frozen::new(SiteHealth::default())));
        let mut state = State {
            zone: Frozen::new(zone),
            last: now,
            previous: Frozen::new(BTreeMap::new()),
            health: Frozen::new(known.collect()),
            moves: BTreeMap::new(),
            challengers: BTreeMap::new(),
            ttls: Frozen::new(Ledger::default()),
            autopilot: Frozen::new(Autopilot::Disarmed { why: "nobody has armed it".into() }),
            pending: BTreeMap::new(),
            next_move: 1,
            next_effect: 1,
            revision: 0,
            moved: Frozen::new(BTreeMap::new()),
            asked: Frozen::new(View::default()),
            served: Frozen::new(View::default()),
            doubt: None,
            refusal: None,
            policy,
            base: Frozen::new(base),
        };
        state.asked = Frozen::new(state.view());
        state.served = state.asked.clone();
        state
    }

    /// The state of a zone that was there before: its numbers go on, and plans from then are stale.
    pub fn going_on(mut self, next_move: u64, revision: u64) -> State {
        self.next_move = next_move.max(1);
        self.revision = revision.saturating_add(1);
        self.moved = Frozen::new(self.base.keys().map(|region| (region.clone(), self.revision)).collect());
        self
    }

    /// The greatest revision of some regions: what a plan for them is made for.
    pub fn revision_of<'a>(&self, regions: impl IntoIterator<Item = &'a RegionName>) -> u64 {
        regions.into_iter().filter_map(|region| self.moved.get(region).copied()).max().unwrap_or(0)
    }

    /// Whether it differs from another one by nothing but the time and what was refused.
    pub fn is_like(&self, other: &State) -> bool {
        let State {
            zone,
            last: _,
            base,
            previous,
            health,
            moves,
            challengers,
            ttls,
            autopilot,
            pending,
            next_move,
            next_effect,
            revision,
            moved,
            asked,
            served,
            doubt,
            refusal: _,
            policy,
        } = self;
        (zone, base, previous, health) == (&other.zone, &other.base, &other.previous, &other.health)
            && (moves, challengers, ttls) == (&other.moves, &other.challengers, &other.ttls)
            && (autopilot, pending, policy, doubt) == (&other.autopilot, &other.pending, &other.policy, &other.doubt)
            && (next_move, next_effect, revision) == (&other.next_move, &other.next_effect, &other.revision)
            && (moved, asked, served) == (&other.moved, &other.asked, &other.served)
    }

    /// A move by its number, whether it waits to take over or not.
    pub fn find(&self, id: MoveId) -> Option<&Move> {
        self.moves.get(&id).or_else(|| self.challengers.get(&id))
    }

    /// The move that has a region; not one that only waits to take it over.
    pub fn move_of(&self, region: &RegionName) -> Option<(MoveId, &Move)> {
        self.moves.iter().find(|(_, moving)| moving.base.contains_key(region)).map(|(id, moving)| (*id, moving))
    }

    /// Whether a move stands still because another waits to take regions over from it.
    pub fn is_challenged(&self, moving: &Move) -> bool {
        self.challengers.values().any(|other| other.base.keys().any(|region| moving.base.contains_key(region)))
    }

    /// Whether resolvers are being asked what they give for names that a move moved.
    pub fn is_sampling(&self, id: MoveId) -> bool {
        self.pending.values().any(|pending| pending.effect == Effect::Sample { id })
    }

    /// Whether a lever is being renamed by the policy's word, and that is not known to have begun.
    pub fn is_renaming(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending.effect, Effect::Rename { .. }))
    }

    /// What counts of a site's health; unknown for one that there is not.
    pub fn health_of(&self, site: &SiteName) -> Health {
        self.health.get(site).map_or(Health::Unknown, |known| known.effective())
    }

    /// Until when old answers may be held in some regions, whatever is done now; none if none are.
    pub fn old_ttl_until<'a>(
        &self,
        regions: impl IntoIterator<Item = &'a RegionName>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.ttls.until_all(regions).filter(|until| *until > now)
    }

    /// The sites that a move brings clients to, in the direction that it goes in.
    pub fn heading_for<'a>(&self, moving: &'a Move) -> Vec<&'a SiteName> {
        match moving.direction {
            Direction::Forward => vec![&moving.plan.to],
            Direction::Back => distinct(moving),
        }
    }

    /// The sites that a move takes clients from, in the direction that it goes in.
    pub fn leaving<'a>(&self, moving: &'a Move) -> Vec<&'a SiteName> {
        match moving.direction {
            Direction::Forward => distinct(moving),
            Direction::Back => vec![&moving.plan.to],
        }
    }
}

/// The sites that a move's regions come from, each once.
fn distinct(moving: &Move) -> Vec<&SiteName> {
    let mut sites: Vec<&SiteName> = moving.base.values().map(|origin| &origin.site).collect();
    sites.sort_unstable();
    sites.dedup();
    sites
}
