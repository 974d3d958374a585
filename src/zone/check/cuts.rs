//! Delegations and DNAMEs: what they cover, and whether what is delegated can be reached.

use foldhash::{HashSet, HashSetExt};

use super::lay::{Cover, Covers, Lay, Target, has_address, is_address, target_of};
use super::{Findings, first};
use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::rrsets::{Owner, Rrset};
use crate::zone::text::Record;

pub(super) fn check<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    let mut glue = HashSet::new();
    for cut in lay.delegations() {
        glue.extend(cut.records().filter_map(target_of));
        reachable(lay, cut, findings);
    }
    let mut covers = Covers::of(lay);
    for owner in lay.zone.owners().filter(|owner| lay.holds(owner.name)) {
        if let (Some(ds), None) = (owner.rrset(RrType::DS), owner.rrset(RrType::NS))
            && owner.name != lay.origin
            && let Some(record) = first(ds)
        {
            findings.warning(
                "ds-without-ns",
                record,
                format!("{} has a DS record and is not delegated: it protects nothing", owner.name),
                "add the NS records of the delegation, or remove the DS record",
            );
        }
        if let (Some(dname), Some(_)) = (owner.rrset(RrType::DNAME), owner.rrset(RrType::NS))
            && owner.name != lay.origin
            && let Some(record) = first(dname)
        {
            findings.error(
                "dname-and-ns",
                record,
                format!("{} is both delegated and a DNAME: either could be answered (RFC 6672 §2.3)", owner.name),
                "keep one of them; in the delegated zone the DNAME may stand at its origin",
            );
        }
        match covers.next(owner) {
            Some(Cover::Dname(at)) => below_dname(owner, at, findings),
            Some(Cover::Delegation(at)) => below_delegation(owner, at, &glue, findings),
            None => {}
        }
    }
}

fn below_dname<'a>(owner: Owner<'a>, at: NameRef<'_>, findings: &mut Findings<'a>) {
    // The hashed names of a signed zone are not names that anybody asks for.
    let data = owner.rrsets().find(|set| !matches!(set.rtype, RrType::NSEC3 | RrType::RRSIG));
    if let Some(record) = data.and_then(first) {
        findings.error(
            "below-dname",
            record,
            format!(
                "{} stands below the DNAME at {at}, which leads all such names elsewhere (RFC 6672 §2.4)",
                owner.name
            ),
            "remove the DNAME, or move this record to where it leads",
        );
    }
}

fn below_delegation<'a>(owner: Owner<'a>, at: NameRef<'_>, glue: &HashSet<NameRef<'a>>, findings: &mut Findings<'a>) {
    let of_the_cut = |rtype| matches!(rtype, RrType::NS | RrType::DS | RrType::RRSIG | RrType::NSEC | RrType::DNAME);
    let hidden = owner.rrsets().find(|set| {
        let as_glue = is_address(set.rtype) && glue.contains(&owner.name);
        !(as_glue || owner.name == at && of_the_cut(set.rtype))
    });
    if let Some(record) = hidden.and_then(first) {
        findings.warning(
            "occluded",
            record,
            format!("{at} is delegated: nobody is given the {} record of {} from here", record.rtype, owner.name),
            "put it into the zone that is delegated to, or remove the delegation",
        );
    }
}

/// Whether a resolver that follows the delegation finds a server, as far as this zone can tell.
fn reachable<'a>(lay: &Lay<'a>, cut: Rrset<'a>, findings: &mut Findings<'a>) {
    let faults: Vec<(Record<'a>, Fault)> =
        cut.records().filter_map(|ns| Some((ns, fault(lay, cut.owner, ns)?))).collect();
    let dead = |fault: &Fault| matches!(fault, Fault::NoGlue | Fault::NoAddress);
    if faults.len() == cut.records().len()
        && faults.iter().all(|(_, fault)| dead(fault))
        && let Some(record) = first(cut)
    {
        findings.error(
            "unreachable-delegation",
            record,
            format!(
                "{} is delegated to servers in this zone of which none has an address here: nothing below it resolves",
                cut.owner
            ),
            "add A or AAAA records for the servers, below the delegation as glue",
        );
        return;
    }
    for (record, fault) in faults {
        let server = target_of(record).map(|name| name.to_string()).unwrap_or_default();
        match fault {
            Fault::NoGlue => findings.warning(
                "missing-glue",
                record,
                format!("the server {server} is below the delegation it serves and has no address here: it is never asked"),
                format!("add its address as glue: `{server} A 192.0.2.1`"),
            ),
            Fault::NoAddress => findings.warning(
                "delegation-to-no-address",
                record,
                format!("the server {server} of the delegation has no address: it is never asked"),
                format!("add its address, `{server} A 192.0.2.1`, or correct the name"),
            ),
            Fault::Alias => findings.warning(
                "delegation-to-alias",
                record,
                format!("the server {server} is an alias, which a name server may not be (RFC 2181 §10.3): some resolvers don't follow"),
                "name the alias's target instead",
            ),
        }
    }
}

/// What is wrong with a server of a delegation.
enum Fault {
    NoGlue,
    NoAddress,
    Alias,
}

fn fault<'a>(lay: &Lay<'a>, cut: NameRef<'a>, ns: Record<'a>) -> Option<Fault> {
    let name = target_of(ns)?;
    match lay.target(name) {
        // Below a delegation wildcards are not ours: only what stands there is glue.
        Target::Delegated(at) if at == cut => match lay.owner(name) {
            Some(owner) if has_address(owner) => None,
            _ => Some(Fault::NoGlue),
        },
        Target::Alias(_) => Some(Fault::Alias),
        Target::NoAddress | Target::Missing => Some(Fault::NoAddress),
        Target::Outside | Target::Delegated(_) | Target::Address => None,
    }
}
