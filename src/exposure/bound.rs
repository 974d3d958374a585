//! Bounds: until when a cache that obeys TTLs may hold an answer that is no longer given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::fold::{EditionInfo, Exposures};
use super::known::Known;
use super::points::{Point, What};
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serving::content::{SiteContent, SiteId};
use crate::serving::regions::RegionId;
use crate::serving::resolve::AnyPolicy;
use crate::serving::told::{Decided, Rule};
use crate::serving::{Serving, ZoneServing};
use crate::share::Share;
use crate::snapshot::answer::{Owner, Scope, Section, Sink, Spot};
use crate::snapshot::capped::Capped;
use crate::snapshot::denial::Proof;
use crate::snapshot::node::WireSet;
use crate::snapshot::sought::Sought;
use crate::time::{Timestamp, Ttl};

/// Caches round the second up (Unbound and Knot Resolver hold an answer for a second more than it says), and clocks of
/// workers and of caches are not one.
pub(crate) const SKEW: Duration = Duration::from_secs(1);
/// For how long answers may go out after the journal has it that they do not: a disk that is slow, a worker that is.
const LATE: Duration = Duration::from_secs(10);

/// Until when an answer that is no longer given may be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Then nobody who obeys TTLs holds one.
    pub until: Timestamp,
    /// What that rests on.
    pub basis: Basis,
    /// The same for each region that was told one.
    pub regions: Vec<(RegionId, Timestamp)>,
}

/// What a bound rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Who was told what, and when last.
    Exposure,
    /// Nobody was told an old answer that may still be held.
    NobodyTold,
    /// The greatest TTL that was given, from when it was given last: not all that was told is known.
    Journal,
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Basis::Exposure => "when each old answer was given last, and its TTL",
            Basis::NobodyTold => "nobody was given an old answer that may still be held",
            Basis::Journal => "the greatest TTL that old answers were given with",
        })
    }
}

/// What the bound is asked for.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// What is answered by now.
    pub serving: &'a Serving,
    /// The zone that was changed.
    pub zone: &'a ZoneServing,
    /// The regions in question.
    pub regions: &'a BTreeSet<RegionId>,
    /// When the journal says that nobody holds an old answer, at the latest; none if nothing old is held by its word.
    pub ceiling: Option<Timestamp>,
    /// The greatest TTL that any old answer may have been told with.
    pub longest: Ttl,
}

impl Exposures {
    /// Until when answers may be held that are no longer given. It may be later than the journal's word, by as much as answers went
    /// out for longer than the journal knows; where not all that was told is known, it is not earlier.
    ///
    /// A question whose answer is certain to be the same as before does not count.
    pub fn bound(&self, change: &Change<'_>, now: Timestamp) -> Bound {
        let mut regions = BTreeMap::new();
        for (_, point) in self.points().iter() {
            let held = point.held_until().after(SKEW);
            let known = regions.get(&point.what.region).copied().unwrap_or(now);
            if held <= known || !change.may_concern(&point.what) {
                continue;
            }
            let Some(info) = self.edition(point.what.edition).filter(|info| info.zone == change.zone.content.origin)
            else {
                continue;
            };
            if !change.is_certain_to_be_the_same(info, &point) {
                regions.insert(point.what.region, held);
            }
        }
        let told = regions.values().copied().max();
        let known = told.map_or((now, Basis::NobodyTold), |told| (told, Basis::Exposure));
        // What nobody noted may have been an old answer.
        let blind_until = self.blind_until_of(&change.zone.content.origin);
        let is_blind = blind_until.after(change.longest.duration()).after(SKEW) > now;
        let (until, basis) = match change.ceiling.map(|ceiling| ceiling.after(SKEW)) {
            Some(ceiling) if is_blind && ceiling > known.0 => (ceiling.max(now), Basis::Journal),
            // Nothing was given for so much longer than the journal knows.
            Some(ceiling) if ceiling.after(LATE) < known.0 => (ceiling.after(LATE), Basis::Journal),
            _ => known,
        };
        Bound { until, basis, regions: regions.into_iter().map(|(region, held)| (region, held.min(until))).collect() }
    }
}

/// How much of what was asked of late was asked by those who may hold an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Answers given to networks that may hold theirs.
    pub held: u64,
    /// Answers given.
    pub all: u64,
}

impl Holding {
    /// The share; none if nothing was asked.
    pub fn share(self) -> Option<Share> {
        let points = u128::from(self.held) * u128::from(Share::ALL.basis_points()) / u128::from(self.all.max(1));
        Share::new(points as u16).filter(|_| self.all > 0)
    }

    /// How much of what was asked of a zone's regions of late was asked by those who may hold an answer now.
    pub fn of(known: &impl Known, zone: &Name, regions: &BTreeSet<RegionId>, now: Timestamp) -> Holding {
        let mut holding = Holding::default();
        known.each_part(|exposures, part| {
            for (told, point) in exposures.of_regions(part, zone, regions) {
                let count = told.count.value();
                holding.all += count;
                holding.held += if told.last.after(point.ttl.duration()) > now { count } else { 0 };
            }
        });
        holding
    }
}

impl Change<'_> {
    /// Whether what was told may be an old answer to somebody in question: of an edition that the region is not answered from
    /// any more.
    fn may_concern(&self, what: &What) -> bool {
        let routing = &self.zone.routing;
        let in_force = || routing.sides(what.region).map(|side| self.zone.edition(routing.site_at(what.region, side)));
        // What everybody is told alike, all regions were told.
        (self.regions.contains(&what.region) || self.regions.contains(&RegionId::default()))
            && in_force().all(|edition| edition != what.edition)
    }

    /// Whether an old answer is certain to have nothing in it that is answered otherwise by now, or whose TTL is another one.
    fn is_certain_to_be_the_same(&self, info: &EditionInfo, point: &Point) -> bool {
        self.is_the_same(info, point).unwrap_or(false)
    }

    /// None: it is not certain.
    fn is_the_same(&self, info: &EditionInfo, point: &Point) -> Option<bool> {
        let (what, zone, capped) = (&point.what, self.zone, self.zone.capped()?);
        let told = Answer::told(self.serving, zone, info, point)?;
        let is_common = zone.common_site(&told.sought, told.rtype).is_some();
        if is_common && zone.edition(zone.routing.apex_site()) == what.edition {
            return Some(true);
        }
        if !is_common && !self.regions.contains(&what.region) {
            return Some(true);
        }
        // Of two sites between which nothing is lowered it is not known what differs.
        let routing = &zone.routing;
        let compared = |other: SiteId| {
            let pair = (told.site.min(other), told.site.max(other));
            told.site == other || zone.lowered().iter().any(|(one, other, _)| (*one, *other) == pair)
        };
        let in_force = routing.sides(what.region).map(|side| routing.site_at(what.region, side));
        if is_common || !in_force.into_iter().all(compared) {
            return None;
        }
        Some(!told.touched(self.serving, zone, capped).changes)
    }
}

/// The greatest TTL of RRsets in what was told that are among those of `capped`, which a move changes; none if there are none.
/// What is not known to stay the same counts as changed.
pub(crate) fn changed_ttl(
    serving: &Serving,
    zone: &ZoneServing,
    capped: &Capped,
    info: &EditionInfo,
    point: &Point,
) -> Option<Ttl> {
    let Some(told) = Answer::told(serving, zone, info, point) else { return Some(point.ttl) };
    let touched = told.touched(serving, zone, capped);
    // What an earlier edition told with a low TTL was told with no more.
    touched.changes.then(|| touched.ttl.min(point.ttl))
}

/// An answer that was told, and that a site which is served gives still.
struct Answer {
    site: SiteId,
    sought: Sought,
    rtype: RrType,
}

impl Answer {
    /// What was told of a point; none if it is not certain what that was.
    fn told(serving: &Serving, zone: &ZoneServing, info: &EditionInfo, point: &Point) -> Option<Answer> {
        let snapshot = info.snapshot.upgrade()?;
        let certain = |(by, _): &(Decided, RrType)| matches!(by.rule, Rule::Exact | Rule::Wildcard);
        let (decided, rtype) = point.what.question.filter(certain)?;
        let same = |site: &SiteContent| Arc::ptr_eq(&site.snapshot, &snapshot);
        let site = SiteId(u16::try_from(zone.content.sites.iter().position(same)?).ok()?);
        let sought = Sought::new(serving.key, NameRef::trusted(snapshot.node_named(decided.name)?.name()));
        Some(Answer { site, sought, rtype })
    }

    /// What of it is among RRsets that a move changes.
    fn touched<'c>(mut self, serving: &Serving, zone: &ZoneServing, capped: &'c Capped) -> Touched<'c> {
        let mut touched = Touched { capped, changes: false, ttl: Ttl::ZERO };
        let view = serving.view_of_site(zone, self.site);
        view.resolve(&mut self.sought, self.rtype, AnyPolicy::All, &mut touched);
        touched
    }
}

/// Looks for RRsets that a move changes in an answer that is not written.
struct Touched<'c> {
    capped: &'c Capped,
    changes: bool,
    /// The greatest TTL of those that change.
    ttl: Ttl,
}

impl Touched<'_> {
    fn look_at(&mut self, set: WireSet<'_>) {
        // Denials are told with the SOA record of yet another site, perhaps.
        if self.capped.lowers(set) || set.rtype() == RrType::SOA {
            self.changes = true;
            self.ttl = self.ttl.max(set.ttl());
        }
    }
}

impl<'s> Sink<'s> for Touched<'_> {
    fn enter(&mut self, _: Scope<'s>, _: &Sought) {}

    fn put(&mut self, section: Section, _: Owner, set: WireSet<'s>) -> Option<Spot> {
        if section != (Section::Additional { required: false }) {
            self.look_at(set);
        }
        Some(Spot::default())
    }

    fn wants_proofs(&self) -> bool {
        true
    }

    fn put_proof(&mut self, proof: Proof<'s>, _: &Sought) {
        self.look_at(proof.set);
    }

    fn put_signatures(&mut self, _: Owner, set: WireSet<'s>) -> Option<Spot> {
        self.look_at(set);
        Some(Spot::default())
    }

    fn put_synthesized(&mut self, _: NameRef<'_>, dname: WireSet<'s>) -> Option<Spot> {
        self.look_at(dname);
        Some(Spot::default())
    }

    fn follow(&mut self, _: Spot, _: &Sought) -> bool {
        true
    }
}
