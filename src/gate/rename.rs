//! `rename.*`: what speaks against giving a lever's records a fresh name.
//!
//! That the name is a sibling, has room in 255 octets and was never used before is so by how it is chosen
//! ([`crate::rename::fresh`]).

use std::collections::BTreeSet;
use std::net::SocketAddr;

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
    /// What servers at the lever showed to who asked for the fresh name; none where they were not asked.
    pub shown: Option<&'a [Shown]>,
}

/// A server that clients are led to by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Where it is.
    pub address: SocketAddr,
    /// The type of what leads clients there.
    pub by: RrType,
    /// What it showed to who asked for the fresh name.
    pub shows: Shows,
}

/// What a server shows to who asks for the fresh name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A certificate that has the fresh name.
    Fresh,
    /// One that has not, or none for that name.
    Others,
    /// Nothing: it offers no TLS.
    NoTls,
    /// Why it is not known.
    Unknown(String),
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
    let reason =
        format!("left behind below {lever}: {}; who asks there keeps the old names", counted(left.len(), "name"));
    Finding { verdict: Verdict::Warn, ..renaming.found(id::RENAME_COMES_ALONG, reason, String::new(), left) }
}

/// Whether clients look for the name that they are led to in a certificate. Over UDP there is none to be seen.
pub fn goes_by_name(reference: &Reference) -> bool {
    let is_udp = || reference.owner.as_ref().labels().nth(1).is_some_and(|label| label.eq_ignore_ascii_case(b"_udp"));
    reference.rtype == RrType::MX || reference.rtype == RrType::SRV && !is_udp()
}

/// Mail servers, and clients of services, look for the name that MX or SRV led them to in the certificate. Through an alias, and
/// behind HTTPS and SVCB records (RFC 9460 §2.4.2), it is the front's name that is looked for: that stays.
fn certificate(renaming: &Renaming<'_>) -> Finding {
    let Renaming { origin, lever, fresh, references, shown, .. } = *renaming;
    let by_name = references.iter().filter(|reference| goes_by_name(reference));
    let leads: BTreeSet<String> =
        by_name.map(|found| format!("{} {} leads to {lever}", found.owner, found.rtype)).collect();
    if leads.is_empty() {
        return Finding::pass(id::RENAME_CERTIFICATE, origin, "nobody looks for the fresh name in a certificate");
    }
    let shown = shown.unwrap_or_default();
    let which = |wanted: &dyn Fn(&Shows) -> bool| {
        let found = shown.iter().filter(|server| wanted(&server.shows));
        found.map(|Shown { address, by, .. }| format!("{address} ({by})")).collect::<BTreeSet<String>>()
    };
    let lacking = which(&|shows| *shows == Shows::Others);
    let parent = lever.parent().map(|parent| parent.to_string()).unwrap_or_default();
    if !lacking.is_empty() {
        let count = counted(lacking.len(), "server");
        let reason =
            format!("{fresh} is not in the certificate of {count}: clients that are led there would refuse it");
        let remedy = format!("give them a certificate that has it, as one for *.{parent} does, and try again");
        return renaming.found(id::RENAME_CERTIFICATE, reason, remedy, lacking);
    }
    let unknown: Vec<String> = shown
        .iter()
        .filter_map(|Shown { address, by, shows }| match shows {
            Shows::Unknown(why) => Some(format!("{address} ({by}): {why}")),
            _ => None,
        })
        .collect();
    let plain = which(&|shows| *shows == Shows::NoTls);
    if !shown.is_empty() && unknown.is_empty() {
        let having = which(&|shows| *shows == Shows::Fresh).len();
        let reason = format!("{fresh} is in the certificate of {}", counted(having, "server"));
        if plain.is_empty() {
            return Finding::pass(id::RENAME_CERTIFICATE, origin, reason);
        }
        let reason = if having == 0 { String::new() } else { reason + "; " };
        let count = counted(plain.len(), "server");
        let reason = format!("{reason}no TLS is offered by {count}: nobody looks for {fresh} in a certificate there");
        return Finding {
            verdict: Verdict::Warn,
            ..renaming.found(id::RENAME_CERTIFICATE, reason, String::new(), plain)
        };
    }
    let why = if unknown.is_empty() { "no server was asked".to_owned() } else { unknown.join("; ") };
    let reason = format!("whether the certificates there have {fresh} in them is not known: {why}");
    let host = fresh.to_string();
    let host = host.trim_end_matches('.');
    let remedy = format!(
        "see that they do (a certificate for *.{parent} has it), and override this by the digest shown. By hand: openssl s_client \
         -connect ADDRESS:PORT -servername {host} -verify_hostname {host} (for mail: -starttls smtp)"
    );
    Finding { verdict: Verdict::Unknown, ..renaming.found(id::RENAME_CERTIFICATE, reason, remedy, leads) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::zone;
    use crate::rename::fresh::choose;
    use crate::rename::refer::references;
    use crate::serving::content::Content;

    /// The rename of a lever to a fresh name, at the sites of a content.
    fn of_lever<'a>(
        content: &'a Content,
        [lever, fresh]: [&'a Name; 2],
        references: &'a [Reference],
        shown: Option<&'a [Shown]>,
    ) -> Renaming<'a> {
        Renaming {
            origin: content.origin.as_ref(),
            sites: &content.sites,
            lever: lever.as_ref(),
            fresh: fresh.as_ref(),
            whole: false,
            references,
            signed: &[],
            shown,
        }
    }

    /// The verdicts that are no pass, each with how its items begin.
    fn stopped(text: &str, lever: &str) -> Vec<(&'static str, Verdict, Vec<String>)> {
        let proposal = zone("x.example", &[("a", text)], &[0, 0], &[]);
        let content = &proposal.content;
        let name = |text: &str| Name::absolute(&format!("{text}.x.example")).unwrap();
        let lever = name(lever);
        let (fresh, _) = choose(&[&content.sites[0].zone], lever.as_ref(), 0).unwrap();
        let found = references(&content.sites[0].zone, |target| target == lever.as_ref());
        let renaming = of_lever(content, [&lever, &fresh], &found, None);
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

    #[test]
    fn a_certificate_has_the_fresh_name_or_has_not_or_nobody_knows() {
        let unknown = || Shows::Unknown("silent".into());
        let cases = [
            (vec![Shows::Fresh, Shows::Fresh], Verdict::Pass, "FRESH is in the certificate of 2 servers"),
            (
                vec![Shows::Fresh, Shows::NoTls],
                Verdict::Warn,
                "FRESH is in the certificate of 1 server; no TLS is offered by 1 server: nobody looks for FRESH in a \
                 certificate there",
            ),
            (
                vec![Shows::NoTls, Shows::NoTls],
                Verdict::Warn,
                "no TLS is offered by 2 servers: nobody looks for FRESH in a certificate there",
            ),
            (
                vec![Shows::Fresh, unknown()],
                Verdict::Unknown,
                "whether the certificates there have FRESH in them is not known: 192.0.2.1:25 (MX): silent",
            ),
            (
                vec![Shows::Others, unknown()],
                Verdict::Block,
                "FRESH is not in the certificate of 1 server: clients that are led there would refuse it",
            ),
            (
                vec![],
                Verdict::Unknown,
                "whether the certificates there have FRESH in them is not known: no server was asked",
            ),
        ];
        let proposal = zone("x.example", &[("a", "@ MX 1 mail\nmail A 192.0.2.1\n")], &[0, 0], &[]);
        let content = &proposal.content;
        let name = |text: &str| Name::absolute(text).unwrap();
        let (lever, fresh) = (name("mail.x.example"), name("mail-r1.x.example"));
        let found = references(&content.sites[0].zone, |target| target == lever.as_ref());
        for (shows, verdict, reason) in cases {
            let address = |at: usize| SocketAddr::from(([192, 0, 2, at as u8], 25));
            let shown = shows.iter().enumerate();
            let shown: Vec<Shown> =
                shown.map(|(at, shows)| Shown { address: address(at), by: RrType::MX, shows: shows.clone() }).collect();
            let renaming = of_lever(content, [&lever, &fresh], &found, Some(&shown));
            let found = certificate(&renaming);
            assert_eq!(
                (found.verdict, found.reason.replace("mail-r1.x.example.", "FRESH")),
                (verdict, reason.to_owned())
            );
        }
    }
}
