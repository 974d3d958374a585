//! Proofs that something does not exist, as the zone brings them: NSEC (RFC 4034 §4) or NSEC3 (RFC 5155).

use super::node::{Arena, Node, WireSet};
use crate::name::{MAX_NAME, NameRef};
use crate::rr::RrType;
use crate::zone::nsec3::{Hash, Parameters};

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

impl Denial {
    /// The node of the NSEC3 record whose owner tells this hash.
    pub(super) fn nsec3_at(&self, hash: Hash) -> Option<u32> {
        let Denial::Nsec3(Hashed { chain, .. }) = self else { return None };
        chain.binary_search_by(|(known, _)| known.cmp(&hash)).ok().map(|at| chain[at].1)
    }
}

/// The NSEC3 chain of a zone.
#[derive(Debug)]
pub(super) struct Hashed {
    parameters: Parameters,
    /// Sorted by hash; the nodes are in no table, for hashed names are no names that anybody asks for.
    chain: Box<[(Hash, u32)]>,
}

impl Hashed {
    /// A chain of these nodes.
    pub(super) fn new(parameters: Parameters, mut chain: Vec<(Hash, u32)>) -> Hashed {
        chain.sort_unstable();
        Hashed { parameters, chain: chain.into() }
    }

    /// The node of this very name.
    pub(super) fn matching(&self, name: &[u8]) -> Option<u32> {
        let hash = self.parameters.hash(name);
        self.chain.binary_search_by(|(known, _)| known.cmp(&hash)).ok().map(|at| self.chain[at].1)
    }

    /// The node whose record spans the place where the name would be.
    pub(super) fn covering(&self, name: &[u8]) -> Option<u32> {
        let hash = self.parameters.hash(name);
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
    use crate::zone::nsec3::HASH;

    #[test]
    fn the_chain_is_a_ring() {
        let hash = |first| {
            let mut hash = [0; HASH];
            hash[0] = first;
            hash
        };
        let parameters = Parameters { iterations: 0, salt: [].into() };
        let hashed = Hashed::new(parameters.clone(), vec![(hash(200), 2), (hash(100), 1)]);
        let in_order: Vec<u8> = (0..=255u16).map(|n| parameters.hash(&n.to_be_bytes())[0]).collect();
        for (n, first) in in_order.into_iter().enumerate() {
            let expected = if (100..200).contains(&first) { 1 } else { 2 };
            assert_eq!(hashed.covering(&(n as u16).to_be_bytes()), Some(expected), "{first}");
        }
        assert_eq!(Hashed::new(parameters, Vec::new()).covering(b"\0"), None);
    }
}
