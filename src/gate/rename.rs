//! `rename.*`: what speaks against giving a lever's records a fresh name.
//!
//! That the name is a sibling, has room in 255 octets and was never used before is so by how it is chosen
//! ([`crate::rename::fresh`]).

use std::collections::BTreeSet;

use super::{Finding, id};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::{Name, NameRef};
use crate::rename::apply::{along, left_behind};
use crate::rename::refer::Reference;
use crate::rr::RrType;
use crate::serving::content::SiteContent;
use crate::zone::rrsets::Zone;

/// A rename that is judged.
#[derive(Clone, Copy)]
pub struct Renaming<'a> {
    /// The zone.
    pub origin: NameRef<'a>,
    /// Its sites, as they are answered now.
    pub sites: &'a [SiteContent],
    /// The lever.
    pub lever: NameRef<'a>,
    /// The fresh name.
    pub fresh: NameRef<'a>,
    /// Whether all that is below the lever comes along.
    pub whole: bool,
    /// What leads to the lever, in all zones of ours.
    pub references: &'a [Reference],
    /// The signed zones among those that lead there.
    pub signed: &'a [Name],
}

/// What all gates find.
pub fn judge(renaming: &Renaming<'_>) -> Vec<Finding> {
    vec![signed(renaming), way_clear(renaming), parent(renaming), comes_along(renaming), certificate(renaming)]
}

impl<'a> Renaming<'a> {
    fn zones(&self) -> impl Iterator<Item = &'a Zone> {
        self.sites.iter().map(|site| &*site.zone)
    }

    fn found(&self, gate: &'static str, reason: String, remedy: String, items: BTreeSet<String>) -> Finding {
        let (verdict, items) = (Verdict::Block, items.into_iter().collect());
        Finding { gate, zone: self.origin.to_name(), verdict, reason, remedy, items }
    }
}

/// A signed zone: what is not signed is refused by those who validate, and the NSEC records that caches hold deny the fresh
/// name already (RFC 8198).
fn signed(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, lever, fresh, .. } = *renaming;
    let own = renaming.zones().any(Zone::is_signed).then(|| origin.to_name());
    let signed: BTreeSet<String> = own.iter().chain(renaming.signed).map(ToString::to_string).collect();
    if signed.is_empty() {
        return Finding::pass(id::RENAME_SIGNED, origin, "no zone that it changes is signed");
    }
    let remedy = format!(
        "by hand: write the records of {lever} into the zone under {fresh}, sign it, and reload; wait until every name server has \
         it and the zone's negative TTL has passed, as caches may hold an NSEC record that denies {fresh}; then lead the \
         fronts there, sign and reload again"
    );
    let reason = "the zone is signed: records that its signer has not signed are not accepted".to_owned();
    renaming.found(id::RENAME_SIGNED, reason, remedy, signed)
}

/// A wildcard gives answers for the fresh name where it is not published yet, and a DNAME or a delegation above it takes it out
/// of the zone.
fn way_clear(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, fresh, .. } = *renaming;
    let mut items = BTreeSet::new();
    for site in renaming.sites {
        let zone = &site.zone;
        for above in fresh.ancestors().skip(1).take_while(|above| above.is_at_or_below(origin)) {
            let has = |rtype| zone.rrset(above, rtype).is_some();
            if has(RrType::DNAME) {
                items.insert(format!("{above} DNAME at {}: nothing below it is answered from here", site.name));
            }
            if has(RrType::NS) && above != origin {
                items.insert(format!("{above} NS at {}: what is below it is delegated", site.name));
            }
            if let Ok(wildcard) = above.child(b"*")
                && zone.owner(wildcard.as_ref()).is_some()
            {
                items.insert(format!(
                    "{wildcard} at {}: who asks for {fresh} too early is given its records, and keeps them",
                    site.name
                ));
            }
        }
    }
    if items.is_empty() {
        return Finding::pass(id::RENAME_WAY_CLEAR, origin, format!("nothing else answers for {fresh}"));
    }
    let reason = format!("something else answers for {fresh} until all name servers have it, or for ever");
    let remedy = "let the front lead to a name elsewhere in the zone, by hand".to_owned();
    renaming.found(id::RENAME_WAY_CLEAR, reason, remedy, items)
}

/// A parent that exists by the lever alone was denied together with it, and denies all below it (RFC 8020, RFC 9156).
fn parent(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, lever, .. } = *renaming;
    let Some(parent) = lever.parent().filter(|parent| parent.is_below(origin)) else {
        return Finding::pass(id::RENAME_PARENT, origin, "the name above it is the zone's origin");
    };
    let stands = |zone: &Zone| zone.owners_at_or_below(parent).any(|owner| !owner.name.is_at_or_below(lever));
    let items: BTreeSet<String> = renaming
        .sites
        .iter()
        .filter(|site| !stands(&site.zone))
        .map(|site| format!("{parent} at {}", site.name))
        .collect();
    if items.is_empty() {
        return Finding::pass(id::RENAME_PARENT, origin, format!("{parent} exists without it, too"));
    }
    let reason = format!(
        "{parent} exists by {lever} alone, if at all: a cache that was told that {lever} does not exist may hold the same of \
         {parent}, and so of all names below it (RFC 8020)"
    );
    let remedy = "let the front lead to a name directly below the origin, by hand".to_owned();
    renaming.found(id::RENAME_PARENT, reason, remedy, items)
}

/// Names below the lever that do not come along are told; such that can't, as they would be too long, stop it.
fn comes_along(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, lever, fresh, whole, .. } = *renaming;
    let mut long = BTreeSet::new();
    let mut left = BTreeSet::new();
    for zone in renaming.zones() {
        let owners = along(zone, lever, whole).map(|owner| owner.name);
        long.extend(owners.filter(|name| name.replace_suffix(lever, fresh).is_err()).map(|name| name.to_string()));
        if !whole {
            left.extend(left_behind(zone, lever).map(|name| name.to_string()));
        }
    }
    if !long.is_empty() {
        let reason = format!("{} would be longer than 255 octets below {fresh}", counted(long.len(), "name"));
        let remedy = "give the lever a shorter name, by hand".to_owned();
        return renaming.found(id::RENAME_COMES_ALONG, reason, remedy, long);
    }
    if left.is_empty() {
        return Finding::pass(id::RENAME_COMES_ALONG, origin, format!("all that hangs on {lever} comes along"));
    }
    let reason = format!(
        "{} below {lever} do not come along: who asks for them keeps the old names",
        counted(left.len(), "name")
    );
    Finding { verdict: Verdict::Warn, ..renaming.found(id::RENAME_COMES_ALONG, reason, String::new(), left) }
}

/// Mail servers, and clients of services, look for the name that they were led to in the certificate.
fn certificate(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, lever, fresh, references, .. } = *renaming;
    let by_name = references.iter().filter(|reference| matches!(reference.rtype, RrType::MX | RrType::SRV));
    let items: BTreeSet<String> =
        by_name.map(|found| format!("{} {} leads to {lever}", found.owner, found.rtype)).collect();
    if items.is_empty() {
        return Finding::pass(id::RENAME_CERTIFICATE, origin, "nobody looks for the fresh name in a certificate");
    }
    let reason = format!("whether the certificates there have {fresh} in them is not known");
    let remedy = format!(
        "see that they do (a certificate for *.{} has it), and override this by the digest shown",
        lever.parent().map(|parent| parent.to_string()).unwrap_or_default()
    );
    Finding { verdict: Verdict::Unknown, ..renaming.found(id::RENAME_CERTIFICATE, reason, remedy, items) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::zone;
    use crate::rename::fresh::choose;
    use crate::rename::refer::references;

    /// The verdicts that are no pass, each with how its items begin.
    fn stopped(text: &str, lever: &str) -> Vec<(&'static str, Verdict, Vec<String>)> {
        let proposal = zone("x.example", &[("a", text)], &[0, 0], &[]);
        let content = &proposal.content;
        let name = |text: &str| Name::absolute(&format!("{text}.x.example")).unwrap();
        let lever = name(lever);
        let (fresh, _) = choose(&[&content.sites[0].zone], lever.as_ref(), 0).unwrap();
        let found = references(&content.sites[0].zone, |target| target == lever.as_ref());
        let renaming = Renaming {
            origin: content.origin.as_ref(),
            sites: &content.sites,
            lever: lever.as_ref(),
            fresh: fresh.as_ref(),
            whole: false,
            references: &found,
            signed: &[],
        };
        let found = judge(&renaming).into_iter().filter(|found| found.verdict != Verdict::Pass);
        let first = |item: &String| item.split(' ').take(2).collect::<Vec<_>>().join(" ");
        found.map(|found| (found.gate, found.verdict, found.items.iter().map(first).collect())).collect()
    }

    #[test]
    fn each_gate_stops_what_it_is_there_for() {
        type Stops<'a> = &'a [(&'a str, Verdict, &'a [&'a str])];
        let cases: [(&str, &str, Stops<'_>); 8] = [
            ("www CNAME edge\nedge A 192.0.2.1\n_443._tcp.edge TLSA 3 1 1 00\n", "edge", &[]),
            (
                "www CNAME edge\nedge A 192.0.2.1\n* A 192.0.2.9\n",
                "edge",
                &[(id::RENAME_WAY_CLEAR, Verdict::Block, &["*.x.example. at"])],
            ),
            (
                "www CNAME edge.d\nd DNAME e\nedge.d A 192.0.2.1\n",
                "edge.d",
                &[(id::RENAME_WAY_CLEAR, Verdict::Block, &["d.x.example. DNAME"])],
            ),
            (
                "www CNAME edge.lone\nedge.lone A 192.0.2.1\n",
                "edge.lone",
                &[(id::RENAME_PARENT, Verdict::Block, &["lone.x.example. at"])],
            ),
            ("www CNAME edge.two\nedge.two A 192.0.2.1\nb.two A 192.0.2.1\n", "edge.two", &[]),
            (
                "@ MX 1 mail\nmail A 192.0.2.1\n_s._tcp SRV 0 0 1 mail\n",
                "mail",
                &[(id::RENAME_CERTIFICATE, Verdict::Unknown, &["_s._tcp.x.example. SRV", "x.example. MX"])],
            ),
            (
                "www CNAME edge\nedge A 192.0.2.1\nh.edge A 192.0.2.1\n",
                "edge",
                &[(id::RENAME_COMES_ALONG, Verdict::Warn, &["h.edge.x.example."])],
            ),
            (
                "@ DNSKEY 257 3 13 AAAA\nwww CNAME edge\nedge A 192.0.2.1\n",
                "edge",
                &[(id::RENAME_SIGNED, Verdict::Block, &["x.example."])],
            ),
        ];
        for (text, lever, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(gate, verdict, items)| (*gate, *verdict, items.iter().map(ToString::to_string).collect()))
                .collect::<Vec<(&str, Verdict, Vec<String>)>>();
            assert_eq!(stopped(text, lever), expected, "{text}");
        }
    }
}
