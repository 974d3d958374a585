//! `zone.cross-closure`: while clients or caches may hold answers of both ends, every name that either end refers to
//! resolves at both.

use std::collections::{BTreeSet, HashSet};

use super::ask::{ask, types_at};
use super::{Change, Finding, Pair, Side, id};
use crate::evidence::Verdict;
use crate::rr::RrType;
use crate::zone::rdata;

/// Judges all regions that move.
pub fn judge(change: Change<'_>) -> Finding {
    let mut broken = BTreeSet::new();
    let mut followed = 0;
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        followed += check(pair.before, pair.after, &mut broken);
        followed += check(pair.after, pair.before, &mut broken);
    }
    if broken.is_empty() {
        return Finding::pass(
            id::CROSS_CLOSURE,
            change.origin,
            format!("all {followed} names that either site refers to resolve at both"),
        );
    }
    Finding {
        gate: id::CROSS_CLOSURE,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason: format!(
            "{} names that one site refers to do not resolve at the other; a resolver that holds the reference and asks \
             the other site would be told that there is nothing",
            broken.len()
        ),
        remedy: "give these names at both sites: put them into the zone's common file".into(),
        items: broken.into_iter().collect(),
    }
}

/// Asks `other` for whatever `side` refers to; returns how many names that were.
fn check(side: Side<'_>, other: Side<'_>, broken: &mut BTreeSet<String>) -> usize {
    let mut targets = HashSet::new();
    for set in side.site.zone.rrsets().filter(|set| refers(set.rtype)) {
        targets.extend(set.rdatas().flat_map(|rdata| rdata::names(set.rtype, rdata)).map(|(_, name)| name));
    }
    let origin = side.site.zone.origin();
    let mut followed = 0;
    for target in targets.into_iter().filter(|target| target.is_at_or_below(origin)) {
        followed += 1;
        for rtype in types_at(&side.site.zone, target).into_iter().filter(|rtype| is_followed(*rtype)) {
            let here = ask(side.view, target, rtype);
            let there = ask(other.view, target, rtype);
            if here.is_positive() && !here.is_kept_by(&there) {
                broken.insert(format!(
                    "{target} {rtype}, which {} refers to, is {there} at {}",
                    side.site.name, other.site.name
                ));
            }
        }
    }
    followed
}

/// Whether clients go on from the type's data to another name.
fn refers(rtype: RrType) -> bool {
    matches!(
        rtype,
        RrType::CNAME
            | RrType::DNAME
            | RrType::NS
            | RrType::MX
            | RrType::SRV
            | RrType::SVCB
            | RrType::HTTPS
            | RrType::NAPTR
    )
}

/// Whether it is what a client that followed a reference may ask for.
fn is_followed(rtype: RrType) -> bool {
    !matches!(rtype, RrType::RRSIG | RrType::NSEC | RrType::NSEC3 | RrType::NSEC3PARAM | RrType::SOA | RrType::NS)
}
