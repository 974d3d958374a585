//! The origin: SOA, NS and DS there.

use std::collections::BTreeSet;

use super::lay::{Lay, Target, is_address, target_of};
use super::{Findings, Limit, Limits, first, last};
use crate::rr::RrType;
use crate::zone::rdata::names;
use crate::zone::rrsets::Rrset;

pub(super) fn check<'a>(lay: &Lay<'a>, limits: &Limits, findings: &mut Findings<'a>) {
    soas(lay, findings);
    if let Some(soa) = lay.zone.rrset(lay.origin, RrType::SOA) {
        soa_fields(lay, soa, limits, findings);
    }
    match lay.zone.rrset(lay.origin, RrType::NS) {
        Some(servers) => name_servers(lay, servers, findings),
        None => findings.lacking(
            "no-ns",
            format!("{} has no NS record at its origin: no resolver could tell who serves it", lay.origin),
            "add the name servers that the parent zone names: `@ NS ns1`, `@ NS ns2`",
        ),
    }
    if let Some(record) = lay.zone.rrset(lay.origin, RrType::DS).and_then(first) {
        findings.warning(
            "ds-at-origin",
            record,
            "a DS record belongs in the parent zone: here nobody asks for it, and the zone is not signed by it".into(),
            "hand the DS record to the parent zone's registrar and remove it here",
        );
    }
}

fn soas<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    let mut at_origin = false;
    for set in lay.zone.rrsets().filter(|set| set.rtype == RrType::SOA && lay.holds(set.owner)) {
        if set.owner != lay.origin {
            for record in set.records() {
                findings.error(
                    "soa-not-at-origin",
                    record,
                    format!("a SOA record may stand at the zone's origin {} only", lay.origin),
                    "remove it, or make what is below it a zone of its own, delegated with NS records",
                );
            }
            continue;
        }
        at_origin = true;
        if let (Some(record), true) = (last(set), set.records().len() > 1) {
            let lines = super::lines(lay.zone, set.records());
            findings.error(
                "several-soas",
                record,
                format!("a zone has one SOA record, and this one has {} ({lines})", set.records().len()),
                "keep the one with the right serial",
            );
        }
    }
    if !at_origin {
        findings.lacking(
            "no-soa",
            format!("{} has no SOA record at its origin: it can't be served or transferred", lay.origin),
            "add one: `@ SOA ns1 hostmaster 1 3600 900 1209600 300`",
        );
    }
}

fn soa_fields<'a>(lay: &Lay<'a>, set: Rrset<'a>, limits: &Limits, findings: &mut Findings<'a>) {
    let (Some(record), Some(soa)) = (first(set), lay.zone.soa()) else { return };
    if soa.ttl > soa.minimum {
        findings.warning(
            "soa-ttl-above-minimum",
            record,
            format!(
                "the SOA's TTL ({}) is above its MINIMUM ({}): negative answers are held {} seconds (RFC 2308 §5), \
                 and the SOA's own TTL says otherwise",
                soa.ttl, soa.minimum, soa.minimum
            ),
            format!("give the SOA record the TTL {}", soa.minimum),
        );
    }
    if soa.negative_ttl() > limits.max_negative_ttl.most() {
        let told = soa.negative_ttl();
        let (message, advice) = match limits.max_negative_ttl {
            Limit::Usual(most) => (
                format!(
                    "negative answers are held {told} seconds, more than {most}: a name that is looked up before it is added \
                     stays unknown so long"
                ),
                "lower the SOA's MINIMUM, its last number, to between 300 and 10800 (RFC 2308 §5); or a cap for the zone: \
                 `negative_ttl = \"5m\"` in its `[[zone]]`"
                    .to_owned(),
            ),
            Limit::Cap(most) => (
                format!(
                    "the SOA has negative answers held {told} seconds, more than `zone.negative_ttl`, {most}: they are given \
                     from here with {most}, and with {told} by other servers that have this file"
                ),
                format!(
                    "lower the SOA's MINIMUM, its last number, to {most}; or raise `negative_ttl` in the zone's `[[zone]]`"
                ),
            ),
        };
        findings.warning("negative-ttl-too-long", record, message, advice);
    }
    let numbers = record.rdata.len().checked_sub(20).map(|at| record.rdata[at..].as_chunks::<4>().0);
    if let Some(&[_, refresh, retry, expire, _]) = numbers.map(|chunks| chunks as &[[u8; 4]]) {
        let [refresh, retry, expire] = [refresh, retry, expire].map(u32::from_be_bytes);
        if retry > refresh || u64::from(expire) < u64::from(refresh) + u64::from(retry) {
            findings.warning(
                "soa-timers",
                record,
                format!(
                    "with REFRESH {refresh}, RETRY {retry} and EXPIRE {expire} a secondary gives the zone up before it \
                     has tried twice to get it, or waits longer after a failure than after a success"
                ),
                "keep RETRY below REFRESH, and EXPIRE above both together: 3600 900 1209600",
            );
        }
    }
    let mailbox = names(record.rtype, record.rdata).nth(1).map(|(_, name)| name);
    if let Some(mailbox) = mailbox.filter(|mailbox| mailbox.labels().any(|label| label.contains(&b'@'))) {
        findings.warning(
            "rname-with-at",
            record,
            format!("the mailbox of the SOA has an `@` in it: {mailbox} is read as a name, and mail to it is lost"),
            "write a dot for the `@`: `hostmaster.example.com.` for hostmaster@example.com",
        );
    }
}

fn name_servers<'a>(lay: &Lay<'a>, servers: Rrset<'a>, findings: &mut Findings<'a>) {
    let Some(record) = first(servers) else { return };
    if servers.records().len() == 1 {
        findings.warning(
            "lone-ns",
            record,
            "the zone has one name server: when it or its network is down, no name of the zone resolves".into(),
            "add a second one in another network (RFC 2182 §3.1)",
        );
        return;
    }
    if let Some(network) = one_network(lay, servers) {
        findings.warning(
            "ns-one-network",
            record,
            format!(
                "all {} name servers are in {network}: when that network is down, no name of the zone resolves",
                servers.records().len()
            ),
            "put one of them into another network, at another provider (RFC 2182 §3.1)",
        );
    }
}

/// The network (a /24, a /48, or one of each) that all name servers are in, if they are and we can tell.
fn one_network<'a>(lay: &Lay<'a>, servers: Rrset<'a>) -> Option<String> {
    let mut networks = BTreeSet::new();
    for record in servers.records() {
        let name = target_of(record)?;
        if lay.target(name) != Target::Address {
            return None;
        }
        let addresses = lay.answering(name)?.rrsets().filter(|set| is_address(set.rtype));
        networks.extend(addresses.flat_map(|set| set.rdatas().filter_map(network)));
    }
    let of_v6 = networks.iter().filter(|network| network.contains(':')).count();
    let alone = of_v6 <= 1 && networks.len() - of_v6 <= 1;
    alone.then(|| networks.into_iter().collect::<Vec<_>>().join(" and "))
}

fn network(address: &[u8]) -> Option<String> {
    match *address {
        [a, b, c, _] => Some(format!("{a}.{b}.{c}.0/24")),
        [a, b, c, d, e, f, ..] if address.len() == 16 => {
            let [x, y, z] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
            Some(format!("{x:x}:{y:x}:{z:x}::/48"))
        }
        _ => None,
    }
}
