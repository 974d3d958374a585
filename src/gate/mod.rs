//! Gates: pure checks of a change before it is published. One file a family.
//!
//! A gate derives what must resolve from the parsed zones, blind to the compiler, and asks the very snapshots that will
//! be served through the very function that answers.

pub mod apex;
pub mod ask;
pub mod blast;
pub mod closure;
pub mod dead_ends;
pub mod drills;
pub mod memo;
mod reach;
pub mod rename;
pub mod serials;
pub mod signed;
pub mod ttls;
pub mod vanish;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use crate::digest::Digest;
use crate::evidence::Verdict;
use crate::name::{Name, NameRef};
use crate::serving::content::{SiteContent, SiteId};
use crate::serving::regions::RegionId;
use crate::serving::routing;
use crate::serving::{Serving, View, ZoneServing};
use crate::time::Timestamp;
use crate::zone::diff::Differing;
use crate::zone::rrsets::Zone;
use memo::{Memo, Recall};

/// The names of the gates, as operators type them.
pub mod id {
    /// The target's texts can be read and have no errors.
    pub const LOADS: &str = "zone.loads";
    /// Nothing stops being answered.
    pub const NOTHING_VANISHES: &str = "zone.nothing-vanishes";
    /// What either end refers to resolves at both.
    pub const CROSS_CLOSURE: &str = "zone.cross-closure";
    /// An edit does not remove more than expected.
    pub const BLAST_RADIUS: &str = "zone.blast-radius";
    /// Secondaries and caches see the serial rise.
    pub const SERIAL: &str = "zone.serial";
    /// The signatures verify, and outlive the change.
    pub const SIGNATURES: &str = "zone.signatures";
    /// Both ends of a move have the same keys, names and types, if they are signed.
    pub const SIGNED_ALIKE: &str = "zone.signed-alike";
    /// What the target refers to leads somewhere.
    pub const NO_DEAD_ENDS: &str = "zone.no-dead-ends";
    /// The apex and the name servers' addresses are still there.
    pub const APEX_KEPT: &str = "zone.apex-kept";
    /// What moves is not kept for too long.
    pub const TTL_CEILING: &str = "zone.ttl-ceiling";
    /// That there is nothing is not kept for too long.
    pub const NEGATIVE_TTL: &str = "zone.negative-ttl";
    /// Edits that have nothing to do with a move are told apart from it.
    pub const UNRELATED_EDITS: &str = "zone.unrelated-edits";
    /// Every name server of the zone takes part in a move by steps.
    pub const RAMP_POSSIBLE: &str = "plan.ramp-possible";
    /// The move was drilled of late.
    pub const DRILL_RECENT: &str = "drill.recent";
    /// The plan was made for what is served now.
    pub const FRESH: &str = "plan.fresh";

    /// An edit leaves what renames rest on.
    pub const LEVER_KEPT: &str = "rename.lever-kept";
    /// A signed zone is renamed in by its signer.
    pub const RENAME_SIGNED: &str = "rename.signed";
    /// Neither a wildcard nor a DNAME nor a delegation answers for the fresh name.
    pub const RENAME_WAY_CLEAR: &str = "rename.way-clear";
    /// The name above the fresh one exists beside the lever.
    pub const RENAME_PARENT: &str = "rename.parent";
    /// What hangs on the lever comes along.
    pub const RENAME_COMES_ALONG: &str = "rename.comes-along";
    /// Certificates have the fresh name where clients look for it in them.
    pub const RENAME_CERTIFICATE: &str = "rename.certificate";
    /// It is known where all name servers of the zone are asked.
    pub const RENAME_SERVERS: &str = "rename.name-servers";
    /// What is retired was left alone.
    pub const RENAME_QUIET: &str = "rename.quiet";

    /// Gates that nobody can override.
    pub const FIRM: [&str; 5] = [LOADS, SERIAL, FRESH, RENAME_SIGNED, LEVER_KEPT];
    /// Gates that an operator can override.
    pub const SOFT: [&str; 18] = [
        NOTHING_VANISHES,
        CROSS_CLOSURE,
        BLAST_RADIUS,
        SIGNATURES,
        SIGNED_ALIKE,
        NO_DEAD_ENDS,
        APEX_KEPT,
        TTL_CEILING,
        NEGATIVE_TTL,
        UNRELATED_EDITS,
        RAMP_POSSIBLE,
        DRILL_RECENT,
        RENAME_WAY_CLEAR,
        RENAME_PARENT,
        RENAME_COMES_ALONG,
        RENAME_CERTIFICATE,
        RENAME_SERVERS,
        RENAME_QUIET,
    ];
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// Which gate.
    pub gate: &'static str,
    /// Of which zone.
    pub zone: Name,
    /// What it says.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
    /// All that it found, one a line, sorted.
    pub items: Vec<String>,
}

impl Finding {
    /// Nothing speaks against the change.
    pub fn pass(gate: &'static str, zone: NameRef<'_>, reason: impl Into<String>) -> Finding {
        let (reason, remedy) = (reason.into(), String::new());
        Finding { gate, zone: zone.to_name(), verdict: Verdict::Pass, reason, remedy, items: Vec::new() }
    }

    /// What tells this finding from any other: an override covers just that.
    pub fn digest(&self) -> Digest {
        let zone = self.zone.as_ref().to_lowercase().to_string();
        // Reasons count what was looked at: an edit that has nothing to do with what was found is no other finding.
        let reason = if self.items.is_empty() { self.reason.as_str() } else { "" };
        let front = [self.gate, &zone, reason];
        Digest::of_parts(front.into_iter().chain(self.items.iter().map(String::as_str)))
    }
}

/// One zone before and after a change.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// What is served now.
    pub before: &'a Serving,
    /// What would be served.
    pub after: &'a Serving,
    /// The zone that changes.
    pub origin: NameRef<'a>,
    /// When it would change.
    pub now: Timestamp,
    /// What was found out about such changes before.
    pub memo: &'a Memo,
}

/// What clients of a region get of the zone, before and after.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The region; where several get the same, the first of them.
    pub region: RegionId,
    /// What is answered now.
    pub before: Side<'a>,
    /// What would be answered.
    pub after: Side<'a>,
}

/// One end of a change for one region.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The content: for its name and its parsed zone.
    pub site: &'a SiteContent,
    /// What to ask.
    pub view: View<'a>,
}

impl<'a> Change<'a> {
    /// The zone before, if it was served.
    pub fn zone_before(self) -> Option<&'a ZoneServing> {
        self.before.zone(self.origin)
    }

    /// The zone after.
    pub fn zone_after(self) -> Option<&'a ZoneServing> {
        self.after.zone(self.origin)
    }

    /// Each distinct pair of what a client may get before and after, where the two are not the very same snapshot. While
    /// a region moves its clients are at either side: all that one of them may go through is a pair. Chains lead into
    /// other zones: regions that get those from other sites get something else.
    pub fn pairs(self) -> Vec<Pair<'a>> {
        let (Some(before), Some(after)) = (self.zone_before(), self.zone_after()) else { return Vec::new() };
        let mut seen = HashSet::new();
        let mut pairs = Vec::new();
        for (region, _) in self.after.regions.iter() {
            for (from, to) in passages(before, after, region) {
                for others in [routing::Side::Base, routing::Side::To] {
                    let pair = Pair {
                        region,
                        before: Side::of(self.before, before, region, [from, others]),
                        after: Side::of(self.after, after, region, [to, others]),
                    };
                    let is_new = !Arc::ptr_eq(&pair.before.site.snapshot, &pair.after.site.snapshot);
                    let sites = (&raw const *pair.before.site, &raw const *pair.after.site);
                    if is_new && seen.insert((sites, self.others(region, others))) {
                        pairs.push(pair);
                    }
                }
            }
        }
        pairs
    }

    /// What clients of regions that are answered from two sites after the change get at either side of the move.
    pub fn splits(self) -> Vec<[Side<'a>; 2]> {
        let Some(after) = self.zone_after() else { return Vec::new() };
        let mut seen = HashSet::new();
        let mut splits = Vec::new();
        for (region, _) in self.after.regions.iter().filter(|(region, _)| after.routing.split(*region).is_some()) {
            for others in [routing::Side::Base, routing::Side::To] {
                let sides = [routing::Side::Base, routing::Side::To];
                let split = sides.map(|side| Side::of(self.after, after, region, [side, others]));
                if seen.insert((split.map(|side| &raw const *side.site), self.others(region, others))) {
                    splits.push(split);
                }
            }
        }
        splits
    }

    /// How the zones of a pair differ.
    pub fn differing(self, pair: &Pair<'_>) -> Arc<Differing> {
        self.recall_differing(pair, &mut Recall::reading(self.memo))
    }

    fn recall_differing(self, pair: &Pair<'_>, recall: &mut Recall<'_>) -> Arc<Differing> {
        let [before, after] = [pair.before, pair.after].map(|side| &side.site.zone);
        recall.find(
            || Digest::of_parts([before.digest().as_bytes(), after.digest().as_bytes()]),
            || Differing::of(before, after),
        )
    }

    /// All that gates would ask about the regions that move, what takes longest first: to be found out in advance, or on
    /// several threads.
    pub fn errands(self) -> Vec<Errand<'a>> {
        let (pairs, moves) = (self.pairs(), || self.pairs().into_iter().filter(Pair::is_move));
        let mut zones: Vec<&Zone> = Vec::new();
        for zone in pairs.iter().flat_map(|pair| [pair.before, pair.after]).map(|side| &*side.site.zone) {
            if !zones.iter().any(|known| std::ptr::eq(*known, zone)) {
                zones.push(zone);
            }
        }
        // All else waits for the digests.
        let digests = zones.into_iter().map(What::Digest);
        let what = digests
            .chain(moves().flat_map(|pair| (0..vanish::PARTS).map(move |part| What::Vanishing(pair, part))))
            .chain(closure::directions(self).into_iter().map(What::Broken))
            .chain(moves().map(What::DeadEnds))
            .chain(pairs.into_iter().map(What::Differing))
            .chain(moves().map(What::Unlike));
        what.map(|what| Errand { change: self, what }).collect()
    }

    /// From which sites a region gets the other zones at one side of their moves, before and after.
    fn others(self, region: RegionId, side: routing::Side) -> Vec<SiteId> {
        let zones = self.before.zones().iter().chain(self.after.zones());
        let others = zones.filter(|zone| zone.content.origin.as_ref() != self.origin);
        others.map(|zone| zone.routing.site_at(region, side)).collect()
    }
}

/// Something that gates will ask, to be found out before they do.
pub struct Errand<'a> {
    change: Change<'a>,
    what: What<'a>,
}

/// What is to be found out.
enum What<'a> {
    Digest(&'a Zone),
    Vanishing(Pair<'a>, usize),
    Broken([Side<'a>; 2]),
    DeadEnds(Pair<'a>),
    Differing(Pair<'a>),
    Unlike(Pair<'a>),
}

impl Errand<'_> {
    /// Finds it out, unless the change's memo has it: what is found is kept in another memo.
    pub fn run(&self) -> Memo {
        let change = self.change;
        let mut recall = Recall::learning(change.memo);
        match &self.what {
            What::Digest(zone) => drop(zone.digest()),
            What::Vanishing(pair, part) => {
                let policy = change.zone_after().map(|zone| &zone.content.policy);
                policy.into_iter().for_each(|policy| drop(vanish::find(change, *pair, *part, policy, &mut recall)));
            }
            What::Broken([side, other]) => drop(closure::find(change, *side, *other, &mut recall)),
            What::DeadEnds(pair) => drop(dead_ends::find(change, pair, &mut recall)),
            What::Differing(pair) => drop(change.recall_differing(pair, &mut recall)),
            What::Unlike(pair) => drop(signed::find(pair, &mut recall)),
        }
        recall.into_learnt()
    }
}

/// From which side to which one clients of a region may go by a change. Within one move nobody goes back while the share
/// grows, and nobody goes over while it shrinks.
fn passages(
    before: &ZoneServing,
    after: &ZoneServing,
    region: RegionId,
) -> impl Iterator<Item = (routing::Side, routing::Side)> {
    let ends = |zone: &ZoneServing| {
        let moving = zone.routing.split(region)?;
        let names = [zone.routing.site(region), moving.to].map(|site| zone.content.site(site).name.clone());
        Some((names, moving.salt, moving.share))
    };
    let order = ends(before).zip(ends(after)).filter(|(old, new)| old.0 == new.0 && old.1 == new.1);
    let order = order.map(|(old, new)| new.2.cmp(&old.2));
    let possible = move |from, to| match order {
        None => true,
        Some(order) if from == routing::Side::To && to == routing::Side::Base => order.is_lt(),
        Some(order) if from == routing::Side::Base && to == routing::Side::To => order.is_gt(),
        Some(_) => true,
    };
    let targets: Vec<_> = after.routing.sides(region).collect();
    let all = before.routing.sides(region).flat_map(move |from| targets.clone().into_iter().map(move |to| (from, to)));
    all.filter(move |(from, to)| possible(*from, *to))
}

impl<'a> Side<'a> {
    /// What clients of a region get that are at these sides of its moves: in `zone`, and in all others.
    pub fn of(serving: &'a Serving, zone: &'a ZoneServing, region: RegionId, sides: [routing::Side; 2]) -> Side<'a> {
        let site = zone.content.site(zone.routing.site_at(region, sides[0]));
        Side { site, view: serving.view_at(region, zone, sides) }
    }
}

impl Pair<'_> {
    /// Whether the region is moved to another site, rather than its site edited.
    pub fn is_move(&self) -> bool {
        self.before.site.name != self.after.site.name
    }
}
