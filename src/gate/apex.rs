//! `zone.apex-kept`: what stands at the apex, and the addresses of the zone's name servers, are still there afterwards.
//! `may_vanish` does not excuse them: without them the whole zone is lost, or its mail.

use std::collections::BTreeSet;

use super::{Change, Finding, Pair, id};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::rdata;
use crate::zone::rrsets::{Rrset, Zone};

/// What is looked for at the apex.
const KEPT: [RrType; 7] = [RrType::SOA, RrType::NS, RrType::DNSKEY, RrType::DS, RrType::MX, RrType::TXT, RrType::CAA];

/// Judges all regions whose answers change: RRsets that go stop it; another set of name servers, keys or addresses of
/// name servers is told, since the parent zone knows the former ones.
pub fn judge(change: Change<'_>) -> Finding {
    let (mut lost, mut other) = (BTreeSet::new(), BTreeSet::new());
    for pair in change.pairs() {
        compare(&pair, change.origin, &mut lost, &mut other);
    }
    let finding = |verdict, reason: String, remedy: &str, items: BTreeSet<String>| Finding {
        gate: id::APEX_KEPT,
        zone: change.origin.to_name(),
        verdict,
        reason,
        remedy: remedy.into(),
        items: items.into_iter().collect(),
    };
    if !lost.is_empty() {
        let reason = format!("{} that the whole zone rests on would be gone", counted(lost.len(), "RRset"));
        return finding(Verdict::Block, reason, "put them into the zone's common file", lost);
    }
    if !other.is_empty() {
        let reason = format!("{} that the parent zone knows of would change", counted(other.len(), "RRset"));
        let remedy = "see that the parent zone has the new ones as well, and that the old ones go on answering";
        return finding(Verdict::Warn, reason, remedy, other);
    }
    Finding::pass(id::APEX_KEPT, change.origin, "the apex and the addresses of the name servers stay")
}

fn compare(pair: &Pair<'_>, origin: NameRef<'_>, lost: &mut BTreeSet<String>, other: &mut BTreeSet<String>) {
    let (before, after) = (&*pair.before.site.zone, &*pair.after.site.zone);
    let apex = KEPT.into_iter().filter_map(|rtype| before.rrset(origin, rtype));
    for old in apex.chain(addresses(before, origin)) {
        let at = format!("{} {}", old.owner, old.rtype);
        match after.rrset(old.owner, old.rtype) {
            // A name server that is none any more needs no address.
            None if matches!(old.rtype, RrType::A | RrType::AAAA) && !serves(after, origin, old.owner) => {}
            None => drop(lost.insert(format!("{at} would be missing at {}", pair.after.site.name))),
            Some(new) if is_known_to_parent(old.rtype) && !has_same_data(old, new) => {
                other.insert(format!("{at} is another at {}", pair.after.site.name));
            }
            Some(_) => {}
        }
    }
}

/// The names of the zone's name servers.
fn servers<'a>(zone: &'a Zone, origin: NameRef<'_>) -> impl Iterator<Item = NameRef<'a>> {
    let set = zone.rrset(origin, RrType::NS);
    set.into_iter().flat_map(|set| set.rdatas().flat_map(|rdata| rdata::names(RrType::NS, rdata)).map(|(_, name)| name))
}

/// The addresses of those name servers whose names are in the zone.
pub(crate) fn addresses<'a>(zone: &'a Zone, origin: NameRef<'_>) -> impl Iterator<Item = Rrset<'a>> {
    servers(zone, origin)
        .flat_map(move |name| [RrType::A, RrType::AAAA].into_iter().filter_map(move |rtype| zone.rrset(name, rtype)))
}

fn serves(zone: &Zone, origin: NameRef<'_>, name: NameRef<'_>) -> bool {
    servers(zone, origin).any(|server| server == name)
}

fn is_known_to_parent(rtype: RrType) -> bool {
    matches!(rtype, RrType::NS | RrType::DNSKEY | RrType::A | RrType::AAAA)
}

fn has_same_data(a: Rrset<'_>, b: Rrset<'_>) -> bool {
    a.rdatas().collect::<BTreeSet<_>>() == b.rdatas().collect::<BTreeSet<_>>()
}
