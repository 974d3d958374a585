//! Records of DNSSEC that do not go with the rest of the zone, or that validators make nothing of. Whether signatures
//! verify is another question ([`crate::zone::signatures`]).

use super::lay::Lay;
use super::{Findings, first};
use crate::rr::RrType;
use crate::zone::rrsets::Rrset;

/// Digests of DS records that validators know (RFC 8624 §3.3). The reader sees to their lengths.
const DIGESTS: [u8; 3] = [1, 2, 4];
/// The one of them that no longer counts for much.
const SHA_1: u8 = 1;
/// The flag of a key that the parent zone is to point at (RFC 4034 §2.1.1).
const SEP: u8 = 1;

pub(super) fn check<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    chain_is_there(lay, findings);
    if let Some(keys) = lay.zone.rrset(lay.origin, RrType::DNSKEY) {
        some_key_is_an_entry(keys, findings);
    }
    for owner in lay.zone.owners().filter(|owner| lay.holds(owner.name)) {
        if let Some(signatures) = owner.rrset(RrType::RRSIG) {
            for record in signatures.records() {
                let &[high, low, ..] = record.rdata else { continue };
                let covered = RrType(u16::from_be_bytes([high, low]));
                if owner.rrset(covered).is_none() {
                    findings.warning(
                        "rrsig-covers-nothing",
                        record,
                        format!("{} has no {covered} record that this could be the signature of", owner.name),
                        "sign the zone anew after each edit",
                    );
                }
            }
        }
        if let Some(set) = owner.rrset(RrType::DS).filter(|_| owner.name != lay.origin) {
            digests(set, findings);
        }
    }
}

/// Servers hash names as NSEC3PARAM says, and look for NSEC3 records that were made so (RFC 5155 §4).
fn chain_is_there<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    let Some(parameters) = lay.zone.rrset(lay.origin, RrType::NSEC3PARAM) else { return };
    let made_so = |parameters: &[u8], rdata: &[u8]| {
        let salt = parameters.get(4..).unwrap_or_default();
        parameters[..1] == rdata[..1] && parameters[2..4] == rdata[2..4] && rdata[4..].starts_with(salt)
    };
    for record in parameters.records().filter(|record| record.rdata.len() >= 5) {
        let mut proofs = lay.zone.rrsets().filter(|set| set.rtype == RrType::NSEC3).flat_map(|set| set.rdatas());
        if !proofs.any(|rdata| rdata.len() >= 5 && made_so(record.rdata, rdata)) {
            findings.warning(
                "nsec3param-without-chain",
                record,
                "no NSEC3 record is hashed so: nothing proves which names do not exist".into(),
                "sign the zone anew, or remove the NSEC3PARAM record",
            );
        }
        if record.rdata[4] > 0 {
            findings.warning(
                "nsec3-salt",
                record,
                "names are hashed with a salt, which protects nothing (RFC 9276 §3.1)".into(),
                "sign the zone anew without a salt: `-`",
            );
        }
    }
}

fn some_key_is_an_entry<'a>(keys: Rrset<'a>, findings: &mut Findings<'a>) {
    let is_entry = |rdata: &[u8]| matches!(rdata, [_, flags, ..] if flags & SEP != 0);
    if let (Some(record), false) = (first(keys), keys.rdatas().any(is_entry)) {
        findings.warning(
            "dnskey-without-sep",
            record,
            "no DNSKEY record has the SEP flag (257): tools and registries do not know which key the DS record is for"
                .into(),
            "give the key that the parent's DS record points at the flags 257, and sign the zone anew",
        );
    }
}

fn digests<'a>(set: Rrset<'a>, findings: &mut Findings<'a>) {
    let digest_type = |rdata: &[u8]| rdata.get(3).copied();
    for record in set.records() {
        let Some(other) = digest_type(record.rdata).filter(|number| !DIGESTS.contains(number)) else { continue };
        findings.warning(
            "ds-digest",
            record,
            format!("validators know no digest of type {other}, and pass this DS record over"),
            "add a DS record with digest type 2 (SHA-256) of the same key",
        );
    }
    let only_sha_1 = set.rdatas().all(|rdata| digest_type(rdata) == Some(SHA_1));
    if let (Some(record), true) = (first(set), only_sha_1) {
        findings.warning(
            "ds-sha1",
            record,
            "the delegation is secured by SHA-1 alone, which RFC 8624 §3.3 forbids: some validators take the zone below for \
             unsigned"
                .into(),
            "add a DS record with digest type 2 (SHA-256) of the same key",
        );
    }
}
