//! Names in the data: whether they lead where they should.

use foldhash::{HashSet, HashSetExt};

use super::lay::{Lay, Target, address_in, target_of};
use super::owners::is_host_name;
use super::{Findings, first};
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::zone::diagnostic::Severity;
use crate::zone::rdata::names;
use crate::zone::rrsets::Rrset;
use crate::zone::text::Record;

pub(super) fn check<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    let twice = Twice::of(lay.origin);
    origin_twice(lay, &twice, findings);
    for set in lay.zone.rrsets().filter(|set| lay.holds(set.owner)) {
        match set.rtype {
            RrType::NS if set.owner == lay.origin => each(set, |ns, name| apex_server(lay, ns, name, findings)),
            RrType::NS => each(set, |ns, name| {
                let _ = shape(lay, ns, name, findings);
            }),
            RrType::MX | RrType::SRV => {
                null_mx(set, findings);
                each(set, |record, name| host(lay, &twice, record, name, findings));
            }
            RrType::SVCB | RrType::HTTPS => each(set, |record, name| service(lay, &twice, record, name, findings)),
            RrType::CNAME => each(set, |record, name| alias(lay, &twice, record, name, findings)),
            _ => {}
        }
    }
}

fn each<'a>(set: Rrset<'a>, mut judge: impl FnMut(Record<'a>, NameRef<'a>)) {
    for record in set.records() {
        if let Some(name) = target_of(record) {
            judge(record, name);
        }
    }
}

/// The origin put behind itself: what names end in whose final dot was forgotten.
struct Twice(Option<Name>);

impl Twice {
    fn of(origin: NameRef<'_>) -> Twice {
        Twice(if origin.is_root() { None } else { origin.replace_suffix(NameRef::ROOT, origin).ok() })
    }

    fn ends(&self, name: NameRef<'_>) -> bool {
        self.0.as_ref().is_some_and(|twice| name.is_at_or_below(twice.as_ref()))
    }
}

fn origin_twice<'a>(lay: &Lay<'a>, twice: &Twice, findings: &mut Findings<'a>) {
    let records = || lay.zone.rrsets().filter(|set| lay.holds(set.owner)).flat_map(|set| set.records());
    let wrong = |record: &Record<'a>| {
        // What a signer wrote repeats the names that it was given: these are counted already.
        if matches!(record.rtype, RrType::RRSIG | RrType::NSEC) {
            return None;
        }
        let mut names = names(record.rtype, record.rdata).map(|(_, name)| name).chain([record.owner]);
        names.find(|name| twice.ends(*name))
    };
    let found: Vec<_> = records().filter_map(|record| Some((record, wrong(&record)?))).collect();
    // Under a top-level domain `com.com` is a name like any other: there it is no proof of a forgotten dot.
    let many = lay.origin.label_count() > 1 && found.len() > 2;
    let severity = if many { Severity::Error } else { Severity::Warning };
    for (record, name) in found {
        let Some(front) = name.strip(lay.origin) else { continue };
        let meant = NameRef::read(&[front, &[0]].concat()).map(|name| name.to_string()).unwrap_or_default();
        findings.add(
            severity,
            "origin-twice",
            Some(record),
            format!("{name} ends in the zone's origin twice: a final dot was forgotten, and users are led to nowhere"),
            format!("write `{meant}` with its final dot, or without the origin"),
        );
    }
}

/// What can be said of a host in the data without looking at the zone; whether something was said.
fn shape<'a>(lay: &Lay<'a>, record: Record<'a>, name: NameRef<'a>, findings: &mut Findings<'a>) -> bool {
    let rtype = record.rtype;
    if let Some(address) = address_in(name, lay.origin) {
        // A server of the zone itself that can't be reached is not served by others either.
        let in_vain = rtype == RrType::NS && record.owner == lay.origin && lay.holds(name);
        findings.add(
            if in_vain { Severity::Error } else { Severity::Warning },
            "target-is-address",
            Some(record),
            format!("{rtype} takes a name, and {address} is an address: it is read as the name {name} and never found"),
            format!("give the address a name (`host A {address}`) and write that name here"),
        );
        return true;
    }
    if rtype == RrType::NS && name.is_root() {
        findings.warning(
            "ns-is-root",
            record,
            "the root is no name server: nobody answers there".into(),
            "write the name of a server",
        );
        return true;
    }
    if !is_host_name(name) {
        findings.warning(
            "target-not-a-host-name",
            record,
            format!("{name} is not a host name: some resolvers and mail servers refuse to go there"),
            "use letters, digits and hyphens only, no hyphen first or last (RFC 1123 §2.1)",
        );
    }
    false
}

fn apex_server<'a>(lay: &Lay<'a>, record: Record<'a>, name: NameRef<'a>, findings: &mut Findings<'a>) {
    if shape(lay, record, name, findings) {
        return;
    }
    match lay.target(name) {
        Target::Alias(at) => findings.error(
            "ns-is-alias",
            record,
            format!("the name server {name} is an alias (by {at}), which it may not be (RFC 2181 §10.3)"),
            "name the alias's target instead",
        ),
        Target::NoAddress | Target::Missing => findings.error(
            "ns-without-address",
            record,
            format!("the name server {name} is in the zone and has no address: it is never asked"),
            format!("add its address, `{} A 192.0.2.1`, or correct the name", name.relative_to(lay.origin)),
        ),
        Target::Outside | Target::Delegated(_) | Target::Address => {}
    }
}

fn null_mx<'a>(set: Rrset<'a>, findings: &mut Findings<'a>) {
    let mut null =
        set.records().filter(|record| record.rtype == RrType::MX && target_of(*record).is_some_and(NameRef::is_root));
    if let (Some(record), true) = (null.next(), set.records().len() > 1) {
        findings.warning(
            "null-mx-not-alone",
            record,
            format!("{} says that it takes no mail (`MX 0 .`) and names mail servers too (RFC 7505 §3)", set.owner),
            "keep the one or the others",
        );
    }
}

fn host<'a>(lay: &Lay<'a>, twice: &Twice, record: Record<'a>, name: NameRef<'a>, findings: &mut Findings<'a>) {
    if name.is_root() || twice.ends(name) || shape(lay, record, name, findings) {
        return;
    }
    match lay.target(name) {
        Target::Alias(at) => findings.warning(
            "target-is-alias",
            record,
            format!(
                "{name} is an alias (by {at}), which {} may not lead to (RFC 2181 §10.3): some clients don't follow",
                record.rtype
            ),
            "name the alias's target instead",
        ),
        target => without_address(record, name, target, findings),
    }
}

/// HTTPS and SVCB may lead to an alias (RFC 9460 §2.4.2), and `.` is their own name.
fn service<'a>(lay: &Lay<'a>, twice: &Twice, record: Record<'a>, name: NameRef<'a>, findings: &mut Findings<'a>) {
    if !name.is_root() && !twice.ends(name) {
        without_address(record, name, lay.target(name), findings);
    }
}

fn without_address<'a>(record: Record<'a>, name: NameRef<'a>, target: Target<'a>, findings: &mut Findings<'a>) {
    let why = match target {
        Target::Missing => "does not exist",
        Target::NoAddress => "has no address",
        _ => return,
    };
    findings.warning(
        "target-without-address",
        record,
        format!("{name} {why}: who follows the {} record finds nobody", record.rtype),
        "add an A or AAAA record there, or correct the name; a final dot makes it absolute",
    );
}

fn alias<'a>(lay: &Lay<'a>, twice: &Twice, record: Record<'a>, name: NameRef<'a>, findings: &mut Findings<'a>) {
    if twice.ends(name) {
        return;
    }
    if let Some(address) = address_in(name, lay.origin) {
        findings.warning(
            "target-is-address",
            record,
            format!("CNAME takes a name, and {address} is an address: it is read as the name {name} and never found"),
            format!("write `A {address}` instead of the CNAME"),
        );
    } else if lay.target(name) == Target::Missing {
        findings.warning(
            "cname-to-nowhere",
            record,
            format!("{name} does not exist: users of {} are told that there is no such name", record.owner),
            "add the target, or correct the name; a final dot makes it absolute",
        );
    } else if let Some(length) = loop_length(lay, record.owner) {
        findings.warning(
            "cname-loop",
            record,
            format!("{} leads back to itself after {length} CNAMEs: it never resolves", record.owner),
            "let one of them lead to a name with addresses",
        );
    }
}

/// How many CNAMEs lead from `start` back to it, if they do and none of them has a lesser name: a loop is told once.
fn loop_length(lay: &Lay<'_>, start: NameRef<'_>) -> Option<usize> {
    let mut seen = HashSet::new();
    let mut at = lay.owner(start)?;
    while seen.insert(at.name) {
        if at.name < start || lay.cover(at.name).is_some() {
            return None;
        }
        let next = target_of(first(at.rrset(RrType::CNAME)?)?)?;
        if !lay.holds(next) || lay.cover(next).is_some() {
            return None;
        }
        at = lay.answering(next)?;
    }
    (at.name == start).then_some(seen.len())
}
