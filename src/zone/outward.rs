//! Where a zone's records lead to outside of it: on which other zones its answers may depend.

use std::collections::BTreeSet;

use crate::name::Name;
use crate::rr::RrType;
use crate::zone::rdata;
use crate::zone::rrsets::Zone;

/// More names than this are not kept: such a zone may lead anywhere.
const MOST: usize = 1000;

/// A name outside of the zone that a record of it leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outward {
    /// The name.
    pub name: Name,
    /// Whether what is below the name is led to as well.
    pub below: bool,
}

/// The names outside of the zone that clients are led to, each once; none if they are too many to be kept.
pub(super) fn outward(zone: &Zone) -> Option<Vec<Outward>> {
    let mut found = BTreeSet::new();
    for set in zone.rrsets().filter(|set| refers(set.rtype)) {
        for (_, name) in set.rdatas().flat_map(|rdata| rdata::names(set.rtype, rdata)) {
            if !name.is_at_or_below(zone.origin()) {
                found.insert(Outward { name: name.to_name(), below: set.rtype == RrType::DNAME });
                if found.len() > MOST {
                    return None;
                }
            }
        }
    }
    Some(found.into_iter().collect())
}

/// Whether clients go on from the type's data to another name.
pub fn refers(rtype: RrType) -> bool {
    rtype == RrType::NS || leads(rtype)
}

/// The same, but for NS: which servers a zone has is its parent's word, too.
pub fn leads(rtype: RrType) -> bool {
    matches!(
        rtype,
        RrType::CNAME | RrType::DNAME | RrType::MX | RrType::SRV | RrType::SVCB | RrType::HTTPS | RrType::NAPTR
    )
}
