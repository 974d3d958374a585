//! The sites of a zone share what they have in common.

use std::sync::Arc;

use crate::serving::content::{Content, SiteContent};
use crate::snapshot::Snapshot;
use crate::zone::rrsets::Zone;

/// Zones of fewer RRsets are not worth the second look that each answer takes then.
const WORTH_IT: usize = 1000;

/// Lets sites that were made anew share with one that was not, or else with the first of them.
pub(super) fn share<'a>(sites: impl Iterator<Item = &'a mut SiteContent>, former: Option<&Content>) {
    let mut sites: Vec<&mut SiteContent> = sites.filter(|site| site.zone.len() >= WORTH_IT).collect();
    let is_former = |site: &SiteContent| {
        former.is_some_and(|former| former.sites.iter().any(|known| Arc::ptr_eq(&known.snapshot, &site.snapshot)))
    };
    if sites.len() < 2 {
        return;
    }
    let at = sites.iter().position(|site| is_former(site)).unwrap_or(0);
    let base = SiteContent::clone(sites[at]);
    for site in sites.iter_mut().filter(|site| !Arc::ptr_eq(&site.snapshot, &base.snapshot) && !is_former(site)) {
        // What nobody else holds yet can be made into something else.
        if let Some(snapshot) = Arc::get_mut(&mut site.snapshot) {
            Snapshot::share(snapshot, &base.snapshot);
        }
        if let Some(zone) = Arc::get_mut(&mut site.zone) {
            Zone::share(zone, &base.zone);
        }
    }
}
