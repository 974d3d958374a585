//! `zone.cross-closure`: while clients or caches may hold answers of both ends, every name that either end refers to
//! resolves at both.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::ask::{Asker, types_at};
use super::memo::Recall;
use super::{Change, Finding, Pair, Side, id, reach};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::serving::content::SiteContent;
use crate::serving::{Serving, ZoneServing};
use crate::zone::outward::refers;
use crate::zone::rdata;

/// Judges all regions that move: against the site that they leave, whose answers are in caches, and against the sites
/// that other regions are answered from, where the change brings the two together. A cache may well ask from several
/// regions; so what is edited at one site in use has to resolve at the others, as far as it did.
pub fn judge(change: Change<'_>) -> Finding {
    let recall = &mut Recall::reading(change.memo);
    let mut broken = BTreeSet::new();
    let mut followed = 0;
    let directions = directions(change);
    for [side, other] in &directions {
        let found = find(change, *side, *other, recall);
        followed += found.followed;
        broken.extend(found.lines.iter().cloned());
    }
    let compiled = |direction: &Direction<'_>| direction.map(|side| Arc::as_ptr(&side.site.snapshot));
    let followed_already: HashSet<_> = directions.iter().map(compiled).collect();
    let edited = edited(change).into_iter().filter(|(direction, _)| !followed_already.contains(&compiled(direction)));
    for ([side, other], earlier) in edited {
        let found = find(change, side, other, recall);
        followed += found.followed;
        // What was so before is not the edit's doing.
        let known = earlier.map(|[side, other]| find(change, side, other, recall));
        let is_new = |line: &&String| known.as_ref().is_none_or(|known| known.lines.binary_search(line).is_err());
        broken.extend(found.lines.iter().filter(is_new).cloned());
    }
    if broken.is_empty() {
        return Finding::pass(
            id::CROSS_CLOSURE,
            change.origin,
            format!("both sites resolve what either refers to: {} asked", counted(followed, "reference")),
        );
    }
    Finding {
        gate: id::CROSS_CLOSURE,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason: format!(
            "{} from one site would lead to nothing at the other: a resolver that holds the reference and asks the \
             other site would be told that there is nothing",
            counted(broken.len(), "reference")
        ),
        remedy: "give these names at both sites: put them into the zone's common file".into(),
        items: broken.into_iter().collect(),
    }
}

/// What one side refers to and the other does not resolve, if it is not known.
pub(super) fn find(change: Change<'_>, side: Side<'_>, other: Side<'_>, recall: &mut Recall<'_>) -> Arc<Broken> {
    recall.find(|| reach::digest(change, &[side.view, other.view]), || check(change, side, other))
}

/// The sides whose references are followed, each with the one that they are to resolve at.
pub(super) fn directions<'a>(change: Change<'a>) -> Vec<Direction<'a>> {
    let mut directions = Vec::new();
    let mut checked = HashSet::new();
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        checked.insert([pair.before, pair.after].map(|side| Arc::as_ptr(&side.site.snapshot)));
        let others = neighbours(change).into_iter().filter(|other| {
            other.site.name != pair.before.site.name && !were_together(change, &other.site.name, &pair.after.site.name)
        });
        for other in std::iter::once(pair.before).chain(others) {
            directions.extend([[other, pair.after], [pair.after, other]]);
        }
    }
    // Clients at either side of a move are out there together, whatever it is that changes. Not again where a pair has
    // shown it.
    for [one, other] in change.splits() {
        if !checked.contains(&[one, other].map(|side| Arc::as_ptr(&side.site.snapshot))) {
            directions.extend([[one, other], [other, one]]);
        }
    }
    directions
}

/// Two sides, one of which refers to what the other is to resolve.
pub(super) type Direction<'a> = [Side<'a>; 2];

/// The sides that regions are answered from before and after a change, where one of the two is edited by it; each with
/// what the two were before, if both were there.
fn edited<'a>(change: Change<'a>) -> Vec<(Direction<'a>, Option<Direction<'a>>)> {
    let (before, after) = (in_use(change.before, change.origin), in_use(change.after, change.origin));
    let former = |side: &Side<'a>| before.iter().find(|known| known.site.name == side.site.name).copied();
    let is_edited =
        |side: &Side<'a>| former(side).is_some_and(|known| !Arc::ptr_eq(&known.site.snapshot, &side.site.snapshot));
    let pairs = after.iter().flat_map(|one| after.iter().map(move |other| [*one, *other]));
    let pairs = pairs.filter(|[one, other]| one.site.name != other.site.name);
    let pairs = pairs.filter(|pair| pair.iter().any(is_edited));
    pairs
        .map(|[one, other]| ([one, other], former(&one).zip(former(&other)).map(|(one, other)| [one, other])))
        .collect()
}

/// What regions are answered from after the change, each site once.
fn neighbours<'a>(change: Change<'a>) -> Vec<Side<'a>> {
    in_use(change.after, change.origin)
}

/// What regions are answered from, each site once.
fn in_use<'a>(serving: &'a Serving, origin: NameRef<'_>) -> Vec<Side<'a>> {
    let Some(zone) = serving.zone(origin) else { return Vec::new() };
    let sides = serving.regions.iter().flat_map(|(region, _)| {
        let sides = zone.routing.sides(region);
        sides.map(move |side| Side::of(serving, zone, region, [side, side]))
    });
    let mut seen = HashSet::new();
    sides.filter(|side| seen.insert(&side.site.name)).collect()
}

/// Whether regions were answered from both sites before the change: then it is not the change that brings them together.
fn were_together(change: Change<'_>, one: &str, other: &str) -> bool {
    let in_use =
        |zone: &ZoneServing, name: &str| zone.sites_in_use().iter().any(|site| zone.content.site(*site).name == name);
    one == other || change.zone_before().is_some_and(|zone| in_use(zone, one) && in_use(zone, other))
}

/// What one side refers to and the other does not resolve.
pub(crate) struct Broken {
    /// How many names were followed.
    pub followed: usize,
    /// What is broken, a line each, sorted.
    pub lines: Vec<String>,
}

/// Asks the other side for whatever this one refers to in zones of ours.
fn check(change: Change<'_>, side: Side<'_>, other: Side<'_>) -> Broken {
    let (mut followed, mut broken) = (0, BTreeSet::new());
    let mut asker = Asker::default();
    let sets = side.site.zone.rrsets().filter(|set| refers(set.rtype));
    let names = sets.flat_map(|set| set.rdatas().flat_map(move |rdata| rdata::names(set.rtype, rdata)));
    let targets = side.site.zone.in_order(names.map(|(_, name)| name));
    // Mostly nothing may vanish.
    let may_vanish = |target| {
        change.after.zones().iter().any(|zone| !zone.content.policy.may_vanish.is_empty()) && may_vanish(change, target)
    };
    for target in targets {
        let Some(held) = asker.content_of(side.view, target) else { continue };
        followed += 1;
        if may_vanish(target) {
            continue;
        }
        for rtype in types_of(held, target) {
            let here = asker.ask(side.view, target, rtype);
            let there = asker.ask(other.view, target, rtype);
            if here.is_positive() && here.kept_by(&there) == Verdict::Block {
                broken.insert(format!(
                    "{target} {rtype}, which {} refers to, is {there} at {}",
                    side.site.name, other.site.name
                ));
            }
        }
    }
    Broken { followed, lines: broken.into_iter().collect() }
}

/// Whether the operator of the zone that holds the name lets it stop being answered.
fn may_vanish(change: Change<'_>, target: NameRef<'_>) -> bool {
    let holding = target.ancestors().find_map(|origin| change.after.zone(origin));
    holding.is_some_and(|zone| zone.content.policy.may_vanish(target))
}

/// What a client that followed a reference may ask the name for.
fn types_of(held: &SiteContent, target: NameRef<'_>) -> Vec<RrType> {
    let types = types_at(&held.zone, target);
    // An alias is followed for whatever was asked; below a cut or a DNAME the zone itself does not say what there is.
    if types.is_empty() || types.contains(&RrType::CNAME) {
        return vec![RrType::A, RrType::AAAA];
    }
    types.into_iter().filter(|rtype| is_followed(*rtype)).collect()
}

/// Whether it is what a client that followed a reference may ask for.
fn is_followed(rtype: RrType) -> bool {
    !matches!(rtype, RrType::RRSIG | RrType::NSEC | RrType::NSEC3 | RrType::NSEC3PARAM | RrType::SOA | RrType::NS)
}
