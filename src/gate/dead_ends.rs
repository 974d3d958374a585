//! `zone.no-dead-ends`: what a zone refers to in zones of ours leads somewhere.

use std::collections::{BTreeSet, HashSet};

use super::ask::{ask, types_at};
use super::{Change, Finding, Pair, Side, id};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::outward::refers;
use crate::zone::rdata;

/// Judges all regions that move: a reference that led somewhere, or was not there, must not lead to nothing after it.
/// One that leads to nothing before as well is told, and stops nothing.
pub fn judge(change: Change<'_>) -> Finding {
    let (mut new, mut old) = (BTreeSet::new(), BTreeSet::new());
    let mut followed = 0;
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        let known: HashSet<Reference<'_>> = references(pair.before).collect();
        for reference in references(pair.after) {
            followed += 1;
            if !is_dead_end(pair.after, reference.target) {
                continue;
            }
            let was_dead = known.contains(&reference) && is_dead_end(pair.before, reference.target);
            let Reference { owner, rtype, target } = reference;
            let line = format!("{owner} {rtype} leads to {target}, which has nothing at {}", pair.after.site.name);
            if was_dead {
                old.insert(line)
            } else {
                new.insert(line)
            };
        }
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

/// Where a record leads on to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

/// Whether a name in a zone of ours has nothing that somebody who is led to it could use. The root as a target says on
/// purpose that there is nothing (RFC 2782, RFC 7505), or that the owner itself is meant (RFC 9460 §2.5.2).
fn is_dead_end(side: Side<'_>, target: NameRef<'_>) -> bool {
    let Some(held) = side.view.content_of(target).filter(|_| target != NameRef::ROOT) else { return false };
    let mut types = types_at(&held.zone, target);
    types.extend([RrType::A, RrType::AAAA]);
    let useful = types.into_iter().filter(|rtype| *rtype != RrType::CNAME);
    !useful.into_iter().any(|rtype| ask(side.view, target, rtype).is_positive())
}
