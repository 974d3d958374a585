//! Laying the overlays over what a site's texts say.

use std::collections::BTreeMap;

use super::refer::turned;
use super::{Overlays, Rename, Stage, Turn};
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::time::Ttl;
use crate::zone::diagnostic::Place;
use crate::zone::rrsets::{Owner, Zone};
use crate::zone::text::{Record, Records};

/// What a zone answers with the overlays upon it; none where they change nothing at this site.
///
/// A fresh name has what its lever has at this very site, unless the text gives it records of its own: then these stand.
pub fn overlaid(zone: &Zone, overlays: &Overlays) -> Option<Zone> {
    if overlays.is_empty() {
        return None;
    }
    let turns: Vec<Turn> = overlays.own_turns().into_iter().chain(overlays.turns.iter().cloned()).collect();
    let mut edits: BTreeMap<Name, Vec<Edited>> = BTreeMap::new();
    if !turns.is_empty() {
        for owner in zone.owners() {
            if let Some(records) = turned_owner(owner, &turns) {
                edits.insert(owner.name.to_name(), records);
            }
        }
    }
    for rename in &overlays.renames {
        for (owner, name) in copies(zone, rename) {
            if zone.owner(name.as_ref()).is_none() {
                let records = edits.get(&owner.name.to_name()).cloned().unwrap_or_else(|| records_of(owner));
                edits.insert(name, records);
            }
        }
    }
    for rename in overlays.renames.iter().filter(|rename| rename.stage == Stage::Retired) {
        for owner in along(zone, rename.lever.as_ref(), rename.whole) {
            edits.insert(owner.name.to_name(), Vec::new());
        }
    }
    if edits.is_empty() {
        return None;
    }
    let mut records = Records::default();
    for (owner, edited) in &edits {
        for Edited { rtype, ttl, data } in edited {
            let record =
                Record { owner: owner.as_ref(), rtype: *rtype, ttl: *ttl, rdata: data, place: Place::default() };
            // The arena is full at 4 GiB: a handful of names never fills it.
            let _ = records.push(record);
        }
    }
    let replaced = edits.into_keys().collect();
    Some(zone.with_owners(&replaced, &records))
}

/// What comes along with a lever: the lever itself, and below it the names of ports and services (`_443._tcp`), or all
/// names if `whole`.
pub fn along<'z>(zone: &'z Zone, lever: NameRef<'z>, whole: bool) -> impl Iterator<Item = Owner<'z>> {
    zone.owners_at_or_below(lever).filter(move |owner| whole || is_lever_or_service(owner.name, lever))
}

/// The names below a lever that do not come along.
pub fn left_behind<'z>(zone: &'z Zone, lever: NameRef<'z>) -> impl Iterator<Item = NameRef<'z>> {
    zone.owners_at_or_below(lever).map(|owner| owner.name).filter(move |name| !is_lever_or_service(*name, lever))
}

/// What a rename copies, each with its new name; what has no room for it is left out.
fn copies<'z>(zone: &'z Zone, rename: &'z Rename) -> impl Iterator<Item = (Owner<'z>, Name)> {
    let (lever, fresh) = (rename.lever.as_ref(), rename.fresh.as_ref());
    let owners = along(zone, lever, rename.whole);
    owners.filter_map(move |owner| Some((owner, owner.name.replace_suffix(lever, fresh).ok()?)))
}

/// Whether a name at or below a lever is the lever, or one of a port or service there.
fn is_lever_or_service(name: NameRef<'_>, lever: NameRef<'_>) -> bool {
    let Some(depth) = name.label_count().checked_sub(lever.label_count()) else { return false };
    let nearest = depth.checked_sub(1).and_then(|at| name.labels().nth(at));
    nearest.is_none_or(|label| label.first() == Some(&b'_'))
}

/// A record that stands instead of another, or under another name.
#[derive(Clone)]
struct Edited {
    rtype: RrType,
    ttl: Ttl,
    data: Vec<u8>,
}

fn records_of(owner: Owner<'_>) -> Vec<Edited> {
    let sets = owner.rrsets();
    let records = sets.flat_map(|set| set.rdatas().map(move |data| (set.rtype, set.ttl, data)));
    records.map(|(rtype, ttl, data)| Edited { rtype, ttl, data: data.to_vec() }).collect()
}

/// The records of an owner some of which lead elsewhere now; none if none does.
fn turned_owner(owner: Owner<'_>, turns: &[Turn]) -> Option<Vec<Edited>> {
    let leads = owner.rrsets().any(|set| set.rdatas().any(|data| turned(set.rtype, data, turns).is_some()));
    leads.then(|| {
        let mut records = records_of(owner);
        for record in &mut records {
            if let Some(data) = turned(record.rtype, &record.data, turns) {
                record.data = data;
            }
        }
        records
    })
}
