//! All that answers about one zone can depend on, as one digest: what a finding that is kept rests on.

use std::collections::BTreeSet;

use super::Change;
use crate::digest::Digest;
use crate::name::NameRef;
use crate::serving::View;
use crate::serving::content::SiteContent;

/// The digest of what the views answer for the zone that changes and for all zones of ours that its answers can lead
/// into, of the names of the sites that they have it from, and of what the operators allow.
pub(super) fn digest(change: Change<'_>, views: &[View<'_>]) -> Digest {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for origin in reached(change, views) {
        parts.push(origin.as_wire().to_ascii_lowercase());
        for view in views {
            match held(*view, origin) {
                Some(site) => parts.extend([b"at".to_vec(), site.name.as_bytes().to_vec(), site_digest(site)]),
                None => parts.push(b"nowhere".to_vec()),
            }
            let common = view.common_content_of(origin).filter(|(site, _)| site.zone.origin() == origin);
            if let Some((site, servers)) = common {
                parts.extend([b"apex at".to_vec(), site.name.as_bytes().to_vec(), site_digest(site)]);
                parts.extend(servers.iter().map(|server| server.as_ref().as_wire().to_vec()));
            }
        }
        let policy = change.after.zone(origin).map(|zone| &zone.content.policy);
        for name in policy.into_iter().flat_map(|policy| &policy.may_vanish) {
            parts.extend([b"may vanish".to_vec(), name.as_ref().as_wire().to_ascii_lowercase()]);
        }
    }
    Digest::of_parts(parts)
}

/// What tells a site's answers from all others: its records, and what compiling makes of their TTLs.
pub(super) fn site_digest(site: &SiteContent) -> Vec<u8> {
    let shape = site.snapshot.shape();
    let mut octets = site.zone.digest().as_bytes().to_vec();
    octets.extend(format!("{:?} {:?}", shape.negative_ttl, shape.max_ttl).into_bytes());
    octets
}

/// The site that answers from exactly this zone.
fn held<'a>(view: View<'a>, origin: NameRef<'_>) -> Option<&'a SiteContent> {
    view.content_of(origin).filter(|site| site.zone.origin() == origin)
}

/// The zone that changes, and those that its answers can lead into.
fn reached<'a>(change: Change<'a>, views: &[View<'a>]) -> BTreeSet<NameRef<'a>> {
    let zones = change.before.zones().iter().chain(change.after.zones());
    let origins: BTreeSet<NameRef<'a>> = zones.map(|zone| zone.content.origin.as_ref()).collect();
    let mut reached = BTreeSet::new();
    let mut waiting = vec![change.origin];
    while let Some(origin) = waiting.pop() {
        if !reached.insert(origin) || origins.len() == 1 {
            continue;
        }
        // Names below a zone's origin may be in a zone of their own; its DS RRset is in the one above.
        waiting.extend(origins.iter().filter(|other| other.is_below(origin)));
        let holding = |name: NameRef<'_>| {
            let name = name.to_name();
            views.iter().filter_map(move |view| view.content_of(name.as_ref())).map(|site| site.zone.origin())
        };
        waiting.extend(origin.parent().into_iter().flat_map(holding));
        for site in views.iter().filter_map(|view| held(*view, origin)) {
            let Some(outward) = site.zone.outward() else {
                waiting.extend(&origins);
                continue;
            };
            for led_to in outward {
                waiting.extend(holding(led_to.name.as_ref()));
                if led_to.below {
                    let name = led_to.name.as_ref();
                    waiting.extend(origins.iter().filter(|other| other.is_at_or_below(name)));
                }
            }
        }
    }
    reached
}
