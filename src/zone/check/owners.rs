//! What may stand together at one owner, and how long it may be held.

use super::lay::{Lay, is_address};
use super::{Findings, Limit, Limits, first, last, lines};
use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::rrsets::{Owner, Rrset};

pub(super) fn check<'a>(lay: &Lay<'a>, limits: &Limits, findings: &mut Findings<'a>) {
    for owner in lay.zone.owners() {
        if !lay.holds(owner.name) {
            outside(lay, owner, findings);
            continue;
        }
        aliases(lay, owner, findings);
        for set in owner.rrsets() {
            unequal_ttls(set, findings);
        }
        host_name(owner, findings);
    }
    long_ttls(lay, limits, findings);
}

fn outside<'a>(lay: &Lay<'a>, owner: Owner<'a>, findings: &mut Findings<'a>) {
    for record in owner.rrsets().filter_map(first) {
        findings.error(
            "out-of-zone",
            record,
            format!("{} is not in the zone {}: nobody would ever be given this record", owner.name, lay.origin),
            "check the final dot, and `$ORIGIN` above it; or put the record into the zone that it belongs to",
        );
    }
}

/// What may stand beside a CNAME: what signs it and proves it (RFC 4035 §2.5).
fn may_stand_beside_cname(rtype: RrType) -> bool {
    matches!(rtype, RrType::CNAME | RrType::RRSIG | RrType::NSEC)
}

fn aliases<'a>(lay: &Lay<'a>, owner: Owner<'a>, findings: &mut Findings<'a>) {
    let name = || owner.name.relative_to(lay.origin);
    if let Some(cname) = owner.rrset(RrType::CNAME) {
        single("several-cnames", cname, &name(), findings);
        let others: Vec<Rrset<'_>> = owner.rrsets().filter(|set| !may_stand_beside_cname(set.rtype)).collect();
        if let (Some(record), false) = (first(cname), others.is_empty()) {
            let types: Vec<String> = others.iter().map(|set| set.rtype.to_string()).collect();
            let advice = if owner.name == lay.origin {
                "an origin can't be an alias, as it has SOA and NS: write A and AAAA records, or HTTPS, instead"
            } else {
                "keep the CNAME alone, or replace it by the records that its target has"
            };
            findings.error(
                "cname-and-other-data",
                record,
                format!(
                    "{} has a CNAME and other data ({}; {}): a resolver takes the one or the other as it comes \
                     (RFC 1034 §3.6.2)",
                    name(),
                    types.join(", "),
                    lines(lay.zone, others.iter().flat_map(|set| set.records()))
                ),
                advice,
            );
        }
    }
    if let Some(dname) = owner.rrset(RrType::DNAME) {
        single("several-dnames", dname, &name(), findings);
        if owner.name.is_wildcard() {
            odd_wildcard("wildcard-dname", dname, "RFC 4592 §4.4", findings);
        }
    }
    if let Some(servers) = owner.rrset(RrType::NS)
        && owner.name.is_wildcard()
    {
        odd_wildcard("wildcard-ns", servers, "RFC 4592 §4.2", findings);
    }
}

fn single<'a>(id: &'static str, set: Rrset<'a>, name: &str, findings: &mut Findings<'a>) {
    if let (Some(record), true) = (last(set), set.records().len() > 1) {
        findings.error(
            id,
            record,
            format!(
                "{name} has {} {} records ({}), and a name leads to one place only",
                set.records().len(),
                set.rtype,
                lines(findings.zone, set.records())
            ),
            "keep one of them; to share load, give the target several addresses",
        );
    }
}

fn odd_wildcard<'a>(id: &'static str, set: Rrset<'a>, rfc: &str, findings: &mut Findings<'a>) {
    if let Some(record) = first(set) {
        findings.warning(
            id,
            record,
            format!(
                "what a {} record at a wildcard means is not defined ({rfc}): servers answer differently",
                set.rtype
            ),
            "write one record for each name that is meant",
        );
    }
}

/// The signatures at a name are not one set: each has the TTL of what it signs (RFC 4034 §3).
fn unequal_ttls<'a>(set: Rrset<'a>, findings: &mut Findings<'a>) {
    if set.rtype == RrType::RRSIG {
        return;
    }
    let mut longer = set.records().filter(|record| record.ttl != set.ttl);
    if let Some(record) = longer.next() {
        findings.warning(
            "unequal-ttls",
            record,
            format!(
                "the {} records of {} have unequal TTLs ({}); they are served with the lowest, {} (RFC 2181 §5.2)",
                set.rtype,
                set.owner,
                lines(findings.zone, set.records()),
                set.ttl
            ),
            format!("write the TTL {} at each of them", set.ttl),
        );
    }
}

fn long_ttls<'a>(lay: &Lay<'a>, limits: &Limits, findings: &mut Findings<'a>) {
    let long = || lay.zone.rrsets().filter(|set| set.ttl > limits.max_ttl.most() && lay.holds(set.owner));
    let count = long().count();
    if count == 0 {
        return;
    }
    // Mostly one `$TTL` is the cause: one finding, at the longest.
    let Some(set) =
        long().max_by(|a, b| a.ttl.cmp(&b.ttl).then(first(*b).map(|r| r.place).cmp(&first(*a).map(|r| r.place))))
    else {
        return;
    };
    if let Some(record) = first(set) {
        let (message, advice) = match limits.max_ttl {
            Limit::Usual(most) => (
                format!(
                    "the TTL {} is above {most} seconds ({count} such in the zone): a change reaches users as late as that",
                    set.ttl
                ),
                format!(
                    "write a TTL, or a `$TTL`, of {most} at most; or a cap for the zone: `max_ttl = \"1d\"` in its `[[zone]]`"
                ),
            ),
            Limit::Cap(most) => (
                format!(
                    "the TTL {} is above `zone.max_ttl`, {most} seconds ({count} such in the zone): it is answered from here \
                     with {most}, and with {} by other servers that have this file",
                    set.ttl, set.ttl
                ),
                format!("write a TTL, or a `$TTL`, of {most} at most; or raise `max_ttl` in the zone's `[[zone]]`"),
            ),
        };
        findings.warning("ttl-too-long", record, message, advice);
    }
}

/// Names with addresses or mail are host names (RFC 1123 §2.1); Active Directory's `gc._msdcs` is let pass.
fn host_name<'a>(owner: Owner<'a>, findings: &mut Findings<'a>) {
    let set = owner.rrsets().find(|set| is_address(set.rtype) || set.rtype == RrType::MX);
    let Some(record) = set.and_then(first) else { return };
    let mut labels = owner.name.labels();
    let directory = labels.next().is_some_and(|label| label.eq_ignore_ascii_case(b"gc"))
        && labels.next().is_some_and(|label| label.eq_ignore_ascii_case(b"_msdcs"));
    let name = if owner.name.is_wildcard() { owner.name.parent().unwrap_or(owner.name) } else { owner.name };
    if !directory && !is_host_name(name) {
        findings.warning(
            "not-a-host-name",
            record,
            format!(
                "{} has {} records and is not a host name: browsers, mail servers and certificates may refuse it",
                owner.name, record.rtype
            ),
            "use letters, digits and hyphens only, no hyphen first or last (RFC 1123 §2.1)",
        );
    }
}

/// Whether each label has letters, digits and inner hyphens only.
pub(super) fn is_host_name(name: NameRef<'_>) -> bool {
    name.labels().all(|label| {
        label.iter().all(|octet| octet.is_ascii_alphanumeric() || *octet == b'-')
            && label.first() != Some(&b'-')
            && label.last() != Some(&b'-')
    })
}
