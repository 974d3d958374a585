//! What an edit has to do with moves under way.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::failover::names::SiteName;
use crate::failover::state::State;
use crate::name::Name;
use crate::rr::RrType;
use crate::serving::content::Content;
use crate::zone::diff::diff;
use crate::zone::rrsets::{Rrset, Zone};

/// The RRsets that an edit touches and that moves under way move, or would.
pub fn touched_by_moves(state: &State, old: &Content, new: &Content) -> Vec<String> {
    let mut touched = BTreeSet::new();
    for (from, to) in state.ways() {
        let ends = |content: &Content| -> Option<[Arc<Zone>; 2]> {
            let zone = |site: &SiteName| Some(Arc::clone(&content.site(content.site_named(site.as_str())?).zone));
            Some([zone(&from)?, zone(&to)?])
        };
        let (Some(old), Some(new)) = (ends(old), ends(new)) else { continue };
        let mut moving: HashSet<(Name, RrType)> = HashSet::new();
        for ends in [&old, &new] {
            moving.extend(diff(&ends[0], &ends[1]).map(|difference| key(difference.either())));
        }
        for (old, new) in old.iter().zip(&new).filter(|(old, new)| !Arc::ptr_eq(old, new)) {
            let edited = diff(old, new).map(|difference| key(difference.either()));
            touched.extend(edited.filter(|key| key.1 != RrType::SOA && moving.contains(key)));
        }
    }
    touched.into_iter().map(|(owner, rtype)| format!("{owner} {rtype}")).collect()
}

fn key(set: Rrset<'_>) -> (Name, RrType) {
    (set.owner.to_lowercase(), set.rtype)
}
