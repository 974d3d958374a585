//! `zone.no-dead-ends`: what a zone refers to in zones of ours leads somewhere.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::ask::{Asker, types_at};
use super::memo::Recall;
use super::{Change, Finding, Pair, Side, id, reach};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::outward::refers;
use crate::zone::rdata;

/// Judges all regions that move: a reference that led somewhere, or was not there, must not lead to nothing after it.
/// One that leads to nothing before as well is told, and stops nothing.
pub fn judge(change: Change<'_>) -> Finding {
    let mut recall = Recall::reading(change.memo);
    let (mut new, mut old) = (BTreeSet::new(), BTreeSet::new());
    let mut followed = 0;
    for pair in change.pairs().iter().filter(|pair| pair.is_move()) {
        let found = find(change, pair, &mut recall);
        new.extend(found.new.iter().cloned());
        old.extend(found.old.iter().cloned());
        followed += found.followed;
    }
    let finding = |verdict, reason: String, remedy: &str, items: BTreeSet<String>| Finding {
        gate: id::NO_DEAD_ENDS,
        zone: change.origin.to_name(),
        verdict,
        reason,
        remedy: remedy.into(),
        items: items.into_iter().collect(),
    };
    if !new.is_empty() {
        let reason = format!("{} of the target would lead to names that do not exist", counted(new.len(), "reference"));
        return finding(Verdict::Block, reason, "give these names, or point the references elsewhere", new);
    }
    if !old.is_empty() {
        let reason = format!("{} would lead to nothing, now as then", counted(old.len(), "reference"));
        return finding(Verdict::Warn, reason, "", old);
    }
    let reason = format!("no reference leads to nothing: {} followed", counted(followed, "reference"));
    Finding::pass(id::NO_DEAD_ENDS, change.origin, reason)
}

/// What of a target leads to nothing.
pub(crate) struct DeadEnds {
    /// What led somewhere before, or was not there; a line each, sorted.
    pub new: Vec<String>,
    /// What led to nothing before as well; a line each, sorted.
    pub old: Vec<String>,
    /// How many references were followed.
    pub followed: usize,
}

/// What of a target leads to nothing, if it is not known.
pub(super) fn find(change: Change<'_>, pair: &Pair<'_>, recall: &mut Recall<'_>) -> Arc<DeadEnds> {
    recall.find(|| reach::digest(change, &[pair.before.view, pair.after.view]), || follow(pair))
}

fn follow(pair: &Pair<'_>) -> DeadEnds {
    let (mut new, mut old) = (BTreeSet::new(), BTreeSet::new());
    let mut asker = Asker::default();
    let mut followed = 0;
    // Many references lead to the same name.
    let targets = references(pair.after).inspect(|_| followed += 1).map(|reference| reference.target);
    let targets = pair.after.site.zone.in_order(targets);
    let dead: HashSet<_> = targets.into_iter().filter(|target| is_dead_end(pair.after, *target, &mut asker)).collect();
    // As a rule there is none, and no reference to it to be looked for.
    let dead_ends = (!dead.is_empty()).then(|| references(pair.after)).into_iter().flatten();
    for Reference { owner, rtype, target } in dead_ends.filter(|reference| dead.contains(&reference.target)) {
        let was_dead = refers_to(pair.before, owner, rtype, target) && is_dead_end(pair.before, target, &mut asker);
        let line = format!("{owner} {rtype} leads to {target}, which has nothing at {}", pair.after.site.name);
        if was_dead {
            old.insert(line);
        } else {
            new.insert(line);
        }
    }
    let lines = |set: BTreeSet<String>| set.into_iter().collect();
    DeadEnds { new: lines(new), old: lines(old), followed }
}

/// Where a record leads on to.
struct Reference<'a> {
    owner: NameRef<'a>,
    rtype: RrType,
    target: NameRef<'a>,
}

fn references<'a>(side: Side<'a>) -> impl Iterator<Item = Reference<'a>> {
    let zone = &side.site.zone;
    let sets = zone.rrsets().filter(|set| refers(set.rtype) && set.rtype != RrType::DNAME);
    sets.flat_map(|set| {
        let names = set.rdatas().flat_map(move |rdata| rdata::names(set.rtype, rdata));
        names.map(move |(_, target)| Reference { owner: set.owner, rtype: set.rtype, target })
    })
}

/// Whether there is that very reference.
fn refers_to(side: Side<'_>, owner: NameRef<'_>, rtype: RrType, target: NameRef<'_>) -> bool {
    let set = side.site.zone.rrset(owner, rtype);
    set.is_some_and(|set| set.rdatas().flat_map(|rdata| rdata::names(rtype, rdata)).any(|(_, named)| named == target))
}

/// Whether a name in a zone of ours has nothing that somebody who is led to it could use. The root as a target says on
/// purpose that there is nothing (RFC 2782, RFC 7505), or that the owner itself is meant (RFC 9460 §2.5.2).
fn is_dead_end(side: Side<'_>, target: NameRef<'_>, asker: &mut Asker) -> bool {
    let Some(held) = asker.content_of(side.view, target).filter(|_| target != NameRef::ROOT) else { return false };
    let mut is_answered = |rtype| asker.ask(side.view, target, rtype).is_positive();
    // Addresses are what most names have: of those the zone need not be asked what else there is.
    let addresses = [RrType::A, RrType::AAAA].into_iter().any(&mut is_answered);
    !addresses && !types_at(&held.zone, target).into_iter().filter(|rtype| *rtype != RrType::CNAME).any(is_answered)
}
