//! Do the signatures of a zone verify (RFC 4034 §3.1.8.1), and do its proofs hold together? Computed when a zone is read, and remembered by RRset, so
//! that nobody waits for it when traffic has to move.

use std::collections::HashSet;

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

use crate::count::{counted, span};
use crate::digest::Digest;
use crate::name::{Name, NameRef};
use crate::rr::{Class, RrType};
use crate::time::{Timestamp, Ttl};
use crate::zone::rrsets::{Owner, Rrset, Zone};
use crate::zone::{chain, rdata};

/// What a zone's signatures are worth, whatever the time is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures {
    /// What is wrong, a line each, sorted.
    pub problems: Vec<String>,
    /// When the first of them expires, in seconds since 1970 modulo 2³² (RFC 4034 §3.1.5), and whose it is.
    pub first_to_expire: Option<(u32, String)>,
    /// When the last of them begins to be valid.
    pub last_to_begin: Option<(u32, String)>,
    /// The digests of RRset, signature and key of all that verified.
    verified: HashSet<Digest>,
}

/// A public key of the zone (RFC 4034 §2).
struct Key<'a> {
    tag: u16,
    algorithm: u8,
    rdata: &'a [u8],
}

/// What a signature says beside the signature itself (RFC 4034 §3.1).
struct Signature<'a> {
    covered: RrType,
    algorithm: u8,
    labels: u8,
    original_ttl: [u8; 4],
    expiration: u32,
    inception: u32,
    tag: u16,
    signer: NameRef<'a>,
    /// All in front of the signature, the signer's name included.
    front: &'a [u8],
    octets: &'a [u8],
}

/// Signatures that end sooner than this behind the longest TTL end while caches may still hold what they sign.
const MARGIN: i64 = 3600;
/// Signatures that end sooner than this are worth a word.
const SOON: i64 = 3 * 86_400;

/// What a zone's signatures are worth at a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What resolvers that validate would not accept, or not for long enough; a line each, sorted.
    pub wrong: Vec<String>,
    /// What ends soon.
    pub soon: Vec<String>,
    /// When the first signature ends, if that makes it wrong or soon: `ended 3 days ago`.
    pub ends: Option<String>,
}

impl Signatures {
    /// What they are worth at `now`, for records that caches keep for `longest` at most.
    pub fn standing(&self, now: Timestamp, longest: Ttl) -> Standing {
        let mut standing = Standing { wrong: self.problems.clone(), ..Standing::default() };
        if let Some((expiration, whose)) = &self.first_to_expire {
            let left = seconds_until(*expiration, now);
            let line = format!("{whose}: the signature is valid until {} UTC", time_text(*expiration));
            if left < i64::from(longest.seconds()) + MARGIN {
                standing.wrong.push(line);
            } else if left < SOON {
                standing.soon.push(line);
            }
            let told = if left < 0 { ["ended ", " ago"] } else { ["ends in ", ""] };
            let ends = format!("{}{}{}", told[0], span(left.unsigned_abs()), told[1]);
            standing.ends = Some(ends).filter(|_| left < i64::from(longest.seconds()) + MARGIN || left < SOON);
        }
        if let Some((inception, whose)) = self.last_to_begin.as_ref().filter(|(at, _)| seconds_until(*at, now) > 0) {
            let from = time_text(*inception);
            standing.wrong.push(format!("{whose}: the signature is not valid before {from} UTC"));
        }
        standing.wrong.sort();
        standing
    }

    /// Verifies all signatures of a zone; those that `former` has verified already are not computed again.
    pub fn of(zone: &Zone, former: Option<&Signatures>) -> Signatures {
        let mut found = Signatures::default();
        let keys: Vec<Key<'_>> = zone
            .rrset(zone.origin(), RrType::DNSKEY)
            .into_iter()
            .flat_map(|set| set.rdatas().filter_map(Key::read))
            .collect();
        if keys.is_empty() {
            found.problems.push(format!("{} has signatures and no DNSKEY record", zone.origin()));
        }
        let mut hidden_by: Option<NameRef<'_>> = None;
        for owner in zone.owners() {
            let has = |rtype| owner.rrset(rtype).is_some();
            let hidden = hidden_by.is_some_and(|top| owner.name.is_below(top));
            let cut = has(RrType::NS) && owner.name != zone.origin();
            if !hidden {
                hidden_by = (cut || has(RrType::DNAME)).then_some(owner.name);
            }
            // Not even a DNAME at the origin hides the proofs that stand below it.
            let is_signed = |set: &Rrset<'_>| match hidden {
                true => set.rtype == RrType::NSEC3 && owner.name.parent() == Some(zone.origin()),
                false => is_signed_here(set.rtype, cut),
            };
            for set in owner.rrsets().filter(is_signed) {
                found.judge(zone, owner, set, &keys, former);
            }
        }
        found.problems.extend(chain::problems(zone));
        found.problems.sort();
        found
    }

    fn judge(&mut self, zone: &Zone, owner: Owner<'_>, set: Rrset<'_>, keys: &[Key<'_>], former: Option<&Signatures>) {
        let all = owner.rrset(RrType::RRSIG);
        let mut any = false;
        for signature in all.into_iter().flat_map(Rrset::rdatas).filter_map(Signature::read) {
            if signature.covered != set.rtype {
                continue;
            }
            any = true;
            self.note_times(&signature, set);
            if let Err(why) = self.verify(zone, set, &signature, keys, former) {
                self.problems.push(format!("{} {}: {why}", set.owner, set.rtype));
            }
        }
        if !any {
            self.problems.push(format!("{} {}: there is no signature over it", set.owner, set.rtype));
        }
    }

    fn note_times(&mut self, signature: &Signature<'_>, set: Rrset<'_>) {
        let whose = || format!("{} {}", set.owner, set.rtype);
        // Compared as serial numbers are (RFC 4034 §3.1.5).
        let is_before = |a: u32, b: u32| a != b && b.wrapping_sub(a) < 1 << 31;
        if self.first_to_expire.as_ref().is_none_or(|(known, _)| is_before(signature.expiration, *known)) {
            self.first_to_expire = Some((signature.expiration, whose()));
        }
        if self.last_to_begin.as_ref().is_none_or(|(known, _)| is_before(*known, signature.inception)) {
            self.last_to_begin = Some((signature.inception, whose()));
        }
    }

    fn verify(
        &mut self,
        zone: &Zone,
        set: Rrset<'_>,
        signature: &Signature<'_>,
        keys: &[Key<'_>],
        former: Option<&Signatures>,
    ) -> Result<(), String> {
        if signature.signer != zone.origin() {
            return Err(format!("its signer is {}, not the zone", signature.signer));
        }
        let labels = set.owner.label_count() - usize::from(set.owner.is_wildcard());
        if usize::from(signature.labels) != labels {
            return Err(format!(
                "its signature is over a name of {}, not {labels}",
                counted(usize::from(signature.labels), "label")
            ));
        }
        let fitting = || keys.iter().filter(|key| (key.tag, key.algorithm) == (signature.tag, signature.algorithm));
        if fitting().next().is_none() {
            let (tag, algorithm) = (signature.tag, signature.algorithm);
            return Err(format!("its signature is by key {tag} (algorithm {algorithm}), which is not in the zone"));
        }
        let message = signed_octets(set, signature);
        for key in fitting() {
            let digest = Digest::of_parts([&message, signature.octets, key.rdata]);
            if former.is_some_and(|former| former.verified.contains(&digest))
                || key.verifies(&message, signature.octets)?
            {
                self.verified.insert(digest);
                return Ok(());
            }
        }
        Err(format!("its signature by key {} does not verify", signature.tag))
    }
}

/// A time of a signature as zone files have it.
fn time_text(time: u32) -> String {
    let mut text = String::new();
    rdata::time(time, &mut text);
    text
}

/// From now to a time of a signature, which counts modulo 2³² (RFC 4034 §3.1.5).
fn seconds_until(time: u32, now: Timestamp) -> i64 {
    i64::from(time.wrapping_sub(now.seconds() as u32) as i32)
}

/// Whether the zone's keys sign the RRset: what it delegates, and signatures themselves, they don't (RFC 4035 §2.2).
fn is_signed_here(rtype: RrType, cut: bool) -> bool {
    rtype != RrType::RRSIG && (!cut || matches!(rtype, RrType::DS | RrType::NSEC))
}

impl<'a> Key<'a> {
    fn read(rdata: &'a [u8]) -> Option<Key<'a>> {
        // A zone key, and of the one protocol there is (RFC 4034 §2.1.1).
        let usable = rdata.len() > 4 && rdata[0] & 1 == 1 && rdata[2] == 3;
        usable.then(|| Key { tag: key_tag(rdata), algorithm: rdata[3], rdata })
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> Result<bool, String> {
        let public = &self.rdata[4..];
        let point = || [&[4], public].concat();
        Ok(match self.algorithm {
            5 | 7 => rsa(public, &RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, message, signature),
            8 => rsa(public, &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, message, signature),
            10 => rsa(public, &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, message, signature),
            13 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point()).verify(message, signature).is_ok(),
            14 => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point()).verify(message, signature).is_ok(),
            15 => UnparsedPublicKey::new(&ED25519, public).verify(message, signature).is_ok(),
            other => return Err(format!("signatures of algorithm {other} cannot be verified here")),
        })
    }
}

/// An RSA key is an exponent and a modulus (RFC 3110 §2).
fn rsa(public: &[u8], how: &'static ring::signature::RsaParameters, message: &[u8], signature: &[u8]) -> bool {
    let split = match public {
        [0, high, low, rest @ ..] => rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low]))),
        [len, rest @ ..] => rest.split_at_checked(usize::from(*len)),
        [] => None,
    };
    let without_zeros = |octets: &'_ [u8]| octets.iter().skip_while(|octet| **octet == 0).copied().collect::<Vec<_>>();
    split.is_some_and(|(e, n)| {
        RsaPublicKeyComponents { n: without_zeros(n), e: without_zeros(e) }.verify(how, message, signature).is_ok()
    })
}

/// The tag of a key (RFC 4034, Appendix B).
fn key_tag(rdata: &[u8]) -> u16 {
    let sum = rdata.iter().enumerate().fold(0u32, |sum, (at, octet)| {
        sum.wrapping_add(if at % 2 == 0 { u32::from(*octet) << 8 } else { u32::from(*octet) })
    });
    (sum + (sum >> 16)) as u16
}

impl<'a> Signature<'a> {
    fn read(rdata: &'a [u8]) -> Option<Signature<'a>> {
        let signer = NameRef::read(rdata.get(18..)?).ok()?;
        let number = |at: usize| u32::from_be_bytes([rdata[at], rdata[at + 1], rdata[at + 2], rdata[at + 3]]);
        let (front, octets) = rdata.split_at(18 + signer.len());
        Some(Signature {
            covered: RrType(u16::from_be_bytes([rdata[0], rdata[1]])),
            algorithm: rdata[2],
            labels: rdata[3],
            original_ttl: number(4).to_be_bytes(),
            expiration: number(8),
            inception: number(12),
            tag: u16::from_be_bytes([rdata[16], rdata[17]]),
            signer,
            front,
            octets,
        })
    }
}

/// What a signature is computed over (RFC 4034 §3.1.8.1).
fn signed_octets(set: Rrset<'_>, signature: &Signature<'_>) -> Vec<u8> {
    let mut message = signature.front[..18].to_vec();
    message.extend_from_slice(&signature.signer.as_wire().to_ascii_lowercase());
    let owner: Name = set.owner.to_lowercase();
    let mut rdatas: Vec<Vec<u8>> = set.rdatas().map(|rdata| canonical(set.rtype, rdata)).collect();
    rdatas.sort_unstable();
    rdatas.dedup();
    for rdata in rdatas {
        message.extend_from_slice(owner.as_ref().as_wire());
        message.extend_from_slice(&set.rtype.0.to_be_bytes());
        message.extend_from_slice(&Class::IN.0.to_be_bytes());
        message.extend_from_slice(&signature.original_ttl);
        message.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
        message.extend_from_slice(&rdata);
    }
    message
}

/// Data in canonical form: names of the older types in lower case (RFC 4034 §6.2, RFC 6840 §5.1).
fn canonical(rtype: RrType, rdata: &[u8]) -> Vec<u8> {
    const FOLDED: [RrType; 17] = [
        RrType::NS,
        RrType::MD,
        RrType::MF,
        RrType::CNAME,
        RrType::SOA,
        RrType::MB,
        RrType::MG,
        RrType::MR,
        RrType::PTR,
        RrType::MINFO,
        RrType::MX,
        RrType::RP,
        RrType::AFSDB,
        RrType::RT,
        RrType::SRV,
        RrType::DNAME,
        RrType::NAPTR,
    ];
    let mut canonical = rdata.to_vec();
    if FOLDED.contains(&rtype) || matches!(rtype, RrType::KX | RrType::PX) {
        for (at, name) in rdata::names(rtype, rdata) {
            canonical[at..at + name.len()].make_ascii_lowercase();
        }
    }
    canonical
}
