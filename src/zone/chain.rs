//! Do a zone's proofs of non-existence hold together: is there one for every name, does each lead to the next, and does
//! it name the types that are there (RFC 4034 §4, RFC 5155 §7.1)?

use std::collections::{BTreeMap, BTreeSet};

use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::zone::nsec3::{HASH, Hash, Parameters, hash_of_owner};
use crate::zone::rrsets::{Owner, Zone};

/// A name that proofs are about, and the types that it has.
struct Standing<'z> {
    owner: Owner<'z>,
    types: BTreeSet<RrType>,
    /// Whether it is a delegation without a DS record, which an opt-out span may leave out (RFC 5155 §6).
    may_opt_out: bool,
}

/// What is wrong with the proofs of a signed zone, a line each.
pub fn problems(zone: &Zone) -> Vec<String> {
    let standing = standing(zone);
    match Parameters::of(zone) {
        Some(parameters) => hashed(zone, &standing, &parameters),
        None => plain(zone, &standing),
    }
}

/// The names of the zone that are its own: not what is delegated or hidden, nor hashes.
fn standing(zone: &Zone) -> Vec<Standing<'_>> {
    let mut standing = Vec::new();
    let mut hidden_by: Option<NameRef<'_>> = None;
    for owner in zone.owners() {
        if hidden_by.is_some_and(|top| owner.name.is_below(top)) {
            continue;
        }
        let has = |rtype| owner.rrset(rtype).is_some();
        let cut = has(RrType::NS) && owner.name != zone.origin();
        hidden_by = (cut || has(RrType::DNAME)).then_some(owner.name);
        let told = |rtype: &RrType| match *rtype {
            RrType::NS | RrType::DS | RrType::NSEC | RrType::RRSIG => true,
            RrType::NSEC3 => false,
            _ => !cut,
        };
        let types: BTreeSet<RrType> = owner.rrsets().map(|set| set.rtype).filter(told).collect();
        let only_hash = has(RrType::NSEC3) && types.iter().all(|rtype| *rtype == RrType::RRSIG);
        if !only_hash {
            standing.push(Standing { owner, types, may_opt_out: cut && !has(RrType::DS) });
        }
    }
    standing
}

fn plain(zone: &Zone, standing: &[Standing<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    let nexts = standing.iter().skip(1).map(|next| next.owner.name).chain([zone.origin()]);
    for (here, next) in standing.iter().zip(nexts) {
        let name = here.owner.name;
        let Some(rdata) = here.owner.rrset(RrType::NSEC).and_then(|set| set.rdatas().next()) else {
            problems.push(format!("{name}: it has no NSEC record, so that nothing proves which types it lacks"));
            continue;
        };
        let Ok(told) = NameRef::read(rdata) else { continue };
        if told != next {
            problems.push(format!("{name} NSEC: it leads to {told}, and the next name is {next}"));
        }
        problems.extend(differing(name, RrType::NSEC, &here.types, &rdata[told.len()..]));
    }
    problems
}

/// An NSEC3 record.
struct Hashed<'z> {
    owner: NameRef<'z>,
    opt_out: bool,
    next: &'z [u8],
    bitmap: &'z [u8],
}

impl<'z> Hashed<'z> {
    fn read(owner: NameRef<'z>, rdata: &'z [u8], parameters: &Parameters) -> Option<Hashed<'z>> {
        let (own, rest) = Parameters::read(rdata)?;
        let (length, rest) = rest.split_first()?;
        let (next, bitmap) = rest.split_at_checked((*length).into())?;
        let fits = own == *parameters && next.len() == HASH;
        fits.then(|| Hashed { owner, opt_out: rdata[1] & 1 == 1, next, bitmap })
    }
}

fn hashed(zone: &Zone, standing: &[Standing<'_>], parameters: &Parameters) -> Vec<String> {
    let mut problems = Vec::new();
    let mut chain: BTreeMap<Hash, Hashed<'_>> = BTreeMap::new();
    for owner in zone.owners().filter(|owner| owner.name.parent() == Some(zone.origin())) {
        let rdatas = owner.rrset(RrType::NSEC3).into_iter().flat_map(|set| set.rdatas());
        let found = rdatas.filter_map(|rdata| Hashed::read(owner.name, rdata, parameters)).next();
        chain.extend(hash_of_owner(owner.name).zip(found));
    }
    if chain.is_empty() {
        return vec![format!("{} NSEC3PARAM: there is no NSEC3 record with these parameters", zone.origin())];
    }
    let nexts = chain.iter().skip(1).chain(chain.first_key_value());
    for (here, (hash, next)) in chain.values().zip(nexts) {
        if here.next != hash {
            problems.push(format!("{} NSEC3: it does not lead to the next one, {}", here.owner, next.owner));
        }
    }
    let mut expected: BTreeMap<Name, (BTreeSet<RrType>, bool)> = BTreeMap::new();
    for here in standing {
        expected.insert(here.owner.name.to_lowercase(), (here.types.clone(), here.may_opt_out));
        // Empty non-terminals have proofs too, unless all below them is left out.
        let above = here.owner.name.ancestors().skip(1).take_while(|name| name.is_below(zone.origin()));
        for name in above.filter(|name| zone.owner(*name).is_none()) {
            let entry = expected.entry(name.to_lowercase()).or_insert((BTreeSet::new(), true));
            entry.1 &= here.may_opt_out;
        }
    }
    let mut known = BTreeSet::new();
    for (name, (types, may_opt_out)) in &expected {
        let hash = parameters.hash(name.as_ref().as_wire());
        known.insert(hash);
        match chain.get(&hash) {
            Some(found) => problems.extend(differing(name.as_ref(), RrType::NSEC3, types, found.bitmap)),
            None if *may_opt_out && spans_by_opt_out(&chain, &hash) => {}
            None => problems
                .push(format!("{name}: it has no NSEC3 record, so that resolvers are told that it is not there")),
        }
    }
    let strangers = chain.iter().filter(|(hash, _)| !known.contains(*hash));
    problems.extend(strangers.map(|(_, stranger)| format!("{} NSEC3: it is of no name in the zone", stranger.owner)));
    problems
}

fn spans_by_opt_out(chain: &BTreeMap<Hash, Hashed<'_>>, hash: &Hash) -> bool {
    let before = chain.range(..*hash).next_back().or(chain.last_key_value());
    before.is_some_and(|(_, found)| found.opt_out)
}

/// Where a bitmap names other types than there are.
fn differing(name: NameRef<'_>, rtype: RrType, types: &BTreeSet<RrType>, bitmap: &[u8]) -> Option<String> {
    let told = types_in(bitmap);
    let list = |types: Vec<&RrType>| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (missing, extra) = (list(types.difference(&told).collect()), list(told.difference(types).collect()));
    match (missing.is_empty(), extra.is_empty()) {
        (true, true) => None,
        (false, _) => Some(format!("{name} {rtype}: it denies {missing}, which the name has")),
        (true, false) => Some(format!("{name} {rtype}: it tells of {extra}, which the name has not")),
    }
}

/// The types that a bitmap names (RFC 4034 §4.1.2).
fn types_in(mut bitmap: &[u8]) -> BTreeSet<RrType> {
    let mut types = BTreeSet::new();
    while let [window, length, rest @ ..] = bitmap {
        let Some((bits, rest)) = rest.split_at_checked((*length).into()) else { break };
        for (at, octet) in bits.iter().enumerate() {
            let set = (0..8u16).filter(|bit| octet & (0x80 >> bit) != 0);
            types.extend(set.map(|bit| RrType(u16::from(*window) << 8 | (at as u16 * 8 + bit))));
        }
        bitmap = rest;
    }
    types
}
