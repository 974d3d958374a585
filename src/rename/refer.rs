//! What leads clients from one name to another, and turning it.

use super::Turn;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::zone::outward::leads as turns;
use crate::zone::rdata;
use crate::zone::rrsets::Zone;

/// A record set that leads to a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Its owner.
    pub owner: Name,
    /// Its type.
    pub rtype: RrType,
    /// The name that it leads to.
    pub target: Name,
}

/// What in a zone leads to names that `wanted` picks, each reference once, in order.
pub fn references(zone: &Zone, wanted: impl Fn(NameRef<'_>) -> bool) -> Vec<Reference> {
    let mut found = Vec::new();
    for set in zone.rrsets().filter(|set| turns(set.rtype)) {
        for (_, target) in set.rdatas().flat_map(|data| rdata::names(set.rtype, data)) {
            if wanted(target) {
                let reference =
                    Reference { owner: set.owner.to_name(), rtype: set.rtype, target: target.to_lowercase() };
                if !found.contains(&reference) {
                    found.push(reference);
                }
            }
        }
    }
    found
}

/// Whether something in a zone leads to a name.
pub fn refers(zone: &Zone, target: NameRef<'_>) -> bool {
    let mut sets = zone.rrsets().filter(|set| turns(set.rtype));
    sets.any(|set| set.rdatas().any(|data| rdata::names(set.rtype, data).any(|(_, name)| name == target)))
}

/// A record's data with its names turned; none if it leads to no name that turns.
pub(super) fn turned(rtype: RrType, data: &[u8], by: &[Turn]) -> Option<Vec<u8>> {
    if by.is_empty() || !turns(rtype) {
        return None;
    }
    let turn_of = |name: NameRef<'_>| {
        by.iter().find(|turn| turn.lever.as_ref() == name && (rtype != RrType::DNAME || turn.whole))
    };
    let (mut out, mut copied) = (Vec::new(), 0);
    for (at, name) in rdata::names(rtype, data) {
        let Some(turn) = turn_of(name) else { continue };
        out.extend_from_slice(&data[copied..at]);
        out.extend_from_slice(turn.fresh.as_ref().as_wire());
        copied = at + name.len();
    }
    (copied > 0).then(|| {
        out.extend_from_slice(&data[copied..]);
        out
    })
}
