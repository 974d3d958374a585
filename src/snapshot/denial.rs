//! Proofs that something does not exist, as the zone brings them: NSEC (RFC 4034 §4) or NSEC3 (RFC 5155).

use sha1::{Digest as _, Sha1};

use super::node::{Arena, Node, WireSet};
use crate::name::{MAX_NAME, NameRef};
use crate::rr::RrType;
use crate::zone::rrsets::Zone;

/// The octets of a hashed owner name (RFC 5155 §5, SHA-1).
const HASH: usize = 20;

/// How a zone proves that something does not exist.
#[derive(Debug, Default)]
pub(super) enum Denial {
    /// It does not: it is not signed.
    #[default]
    None,
    /// By the names that do exist: the nodes with an NSEC record in canonical order.
    Nsec(Box<[u32]>),
    /// By hashes of the names that do exist.
    Nsec3(Hashed),
}

/// The NSEC3 chain of a zone.
#[derive(Debug)]
pub(super) struct Hashed {
    iterations: u16,
    salt: Box<[u8]>,
    /// Sorted by hash; the nodes are in no table, for hashed names are no names that anybody asks for.
    chain: Box<[([u8; HASH], u32)]>,
}

/// The parameters of a zone's NSEC3 chain: those of its first NSEC3PARAM record that uses SHA-1.
pub(super) fn parameters(zone: &Zone) -> Option<(u16, &[u8])> {
    let set = zone.rrset(zone.origin(), RrType::NSEC3PARAM)?;
    set.rdatas().find_map(|rdata| {
        let (front, salt) = rdata.split_at_checked(5)?;
        let known = front[0] == 1 && salt.len() == front[4] as usize;
        known.then(|| (u16::from_be_bytes([front[2], front[3]]), salt))
    })
}

impl Hashed {
    /// A chain of these nodes.
    pub(super) fn new((iterations, salt): (u16, &[u8]), mut chain: Vec<([u8; HASH], u32)>) -> Hashed {
        chain.sort_unstable();
        Hashed { iterations, salt: salt.into(), chain: chain.into() }
    }

    /// The hash of a name in lower case (RFC 5155 §5).
    fn hash(&self, name: &[u8]) -> [u8; HASH] {
        let mut hash: [u8; HASH] = Sha1::new().chain_update(name).chain_update(&self.salt).finalize().into();
        for _ in 0..self.iterations {
            hash = Sha1::new().chain_update(hash).chain_update(&self.salt).finalize().into();
        }
        hash
    }

    /// The node of this very name.
    pub(super) fn matching(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hash(name);
        self.chain.binary_search_by(|(known, _)| known.cmp(&hash)).ok().map(|at| self.chain[at].1)
    }

    /// The node whose record spans the place where the name would be.
    pub(super) fn covering(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hash(name);
        let behind = self.chain.partition_point(|(known, _)| *known <= hash);
        // The chain is a ring: the last one spans the end and the beginning.
        let at = behind.checked_sub(1).or(self.chain.len().checked_sub(1))?;
        Some(self.chain[at].1)
    }
}

/// The node of the NSEC chain whose record is the name's own, or spans the place where the name would be.
pub(super) fn nsec_at_or_before(chain: &[u32], arena: &Arena, name: NameRef<'_>) -> Option<u32> {
    let behind = chain.partition_point(|at| NameRef::trusted(arena.node(*at).name()) <= name);
    behind.checked_sub(1).map(|at| chain[at])
}

/// The hash that an NSEC3 record's owner tells: its first label in base32hex (RFC 5155 §3, RFC 4648 §7).
pub(super) fn hash_of_owner(owner: NameRef<'_>) -> Option<[u8; HASH]> {
    let label = owner.first_label().filter(|label| label.len() == HASH * 8 / 5)?;
    let mut hash = [0; HASH];
    for (group, octets) in label.chunks_exact(8).zip(hash.chunks_exact_mut(5)) {
        let bits = group.iter().try_fold(0u64, |bits, digit| {
            let value = match digit.to_ascii_lowercase() {
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'v' => digit - b'a' + 10,
                _ => return None,
            };
            Some(bits << 5 | u64::from(value))
        })?;
        octets.copy_from_slice(&bits.to_be_bytes()[3..]);
    }
    Some(hash)
}

/// A proof: the RRset, and the name that it stands at.
#[derive(Clone, Copy)]
pub struct Proof<'s> {
    /// The owner, in lower case.
    pub owner: NameRef<'s>,
    /// The NSEC or NSEC3 RRset.
    pub set: WireSet<'s>,
}

impl<'s> Proof<'s> {
    pub(super) fn of(node: Node<'s>) -> Option<Proof<'s>> {
        let set = node.sets().find(|set| matches!(set.rtype(), RrType::NSEC | RrType::NSEC3))?;
        Some(Proof { owner: NameRef::trusted(node.name()), set })
    }
}

/// A wildcard below a name, in wire form.
pub(super) struct Wildcard {
    octets: [u8; MAX_NAME + 2],
    len: usize,
}

impl Wildcard {
    /// `*.` in front of `parent`, which is in lower case.
    pub(super) fn below(parent: &[u8]) -> Wildcard {
        let mut octets = [0; MAX_NAME + 2];
        octets[..2].copy_from_slice(b"\x01*");
        octets[2..2 + parent.len()].copy_from_slice(parent);
        Wildcard { octets, len: 2 + parent.len() }
    }

    /// The octets.
    pub(super) fn as_wire(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// The name; none where the wildcard would be too long to be one.
    pub(super) fn name(&self) -> Option<NameRef<'_>> {
        NameRef::read(self.as_wire()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    /// The example of RFC 5155, Appendix A: salt AABBCCDD, 12 iterations.
    #[test]
    fn names_hash_as_in_rfc_5155() {
        let hashed = Hashed::new((12, &[0xAA, 0xBB, 0xCC, 0xDD]), Vec::new());
        for (name, owner) in [
            ("example", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"),
            ("a.example", "35mthgpgcu1qg68fab165klnsnk3dpvl"),
            ("*.w.example", "r53bq7cc2uvmubfu5ocmm6pers9tk9en"),
            ("x.y.w.example", "2vptu5timamqttgl4luu9kg21e0aor3s"),
        ] {
            let owner = Name::absolute(&format!("{owner}.example")).unwrap();
            assert_eq!(
                Some(hashed.hash(Name::absolute(name).unwrap().as_ref().as_wire())),
                hash_of_owner(owner.as_ref())
            );
        }
    }

    #[test]
    fn the_chain_is_a_ring() {
        let hash = |first| {
            let mut hash = [0; HASH];
            hash[0] = first;
            hash
        };
        let hashed = Hashed::new((0, &[]), vec![(hash(200), 2), (hash(100), 1)]);
        let in_order: Vec<u8> = (0..=255u16).map(|n| hashed.hash(&n.to_be_bytes())[0]).collect();
        for (n, first) in in_order.into_iter().enumerate() {
            let expected = if (100..200).contains(&first) { 1 } else { 2 };
            assert_eq!(hashed.covering(&(n as u16).to_be_bytes()), Some(expected), "{first}");
        }
        assert_eq!(Hashed::new((0, &[]), Vec::new()).covering(b"\0"), None);
    }
}
