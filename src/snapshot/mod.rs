//! A zone at one site, compiled: what answers are made of. Immutable once made.
//!
//! One open-addressing table over lower-case names leads to nodes in one arena; a node holds its RRsets as wire data,
//! ready to be copied into an answer. What a zone cut or a DNAME hides is left out when the zone is compiled, every
//! empty non-terminal has a node, and a node knows whether it has a wildcard child: so a lookup walks up the name and
//! asks nothing else.

pub mod answer;
pub mod compile;
pub mod denial;
pub mod emit;
pub mod lookup;
pub mod node;
pub mod sought;

use crate::name::{Name, NameRef};
use crate::serial::Serial;
use compile::Shape;
use denial::{Denial, Proof, Wildcard, nsec_at_or_before};
use node::{Arena, Node, WireSet};
use sought::{HashKey, Sought};

/// The content of a zone for one site, compiled.
#[derive(Debug)]
pub struct Snapshot {
    /// In lower case.
    origin: Name,
    shape: Shape,
    table: Table,
    arena: Arena,
    /// The SOA RRset as it goes into negative answers: its TTL is the negative TTL.
    negative_soa: u32,
    /// How many labels the longest name in the table has: longer ones need not be looked for.
    most_labels: usize,
    denial: Denial,
    /// The text's serial where it must be told as it is: it is signed.
    signed_serial: Option<Serial>,
}

impl Snapshot {
    /// The zone's origin, in lower case.
    pub fn origin(&self) -> NameRef<'_> {
        self.origin.as_ref()
    }

    /// How many names there are, empty non-terminals included.
    pub fn len(&self) -> usize {
        self.table.used
    }

    /// Whether there are none; never so for a zone with a SOA.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many octets of memory it takes.
    pub fn memory(&self) -> usize {
        self.arena.len() + self.table.slots.len() * size_of::<Slot>()
    }

    /// What it was given beside its records.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The key of the hash over names.
    pub(crate) fn key(&self) -> HashKey {
        self.shape.key
    }

    /// The SOA RRset as it goes into negative answers.
    pub(crate) fn negative_soa(&self) -> WireSet<'_> {
        self.arena.wire_set(self.negative_soa)
    }

    /// Whether the zone is signed, and proves what does not exist.
    pub fn is_signed(&self) -> bool {
        self.signed_serial.is_some()
    }

    /// The serial of a signed zone, which is told as the text has it: its SOA is signed.
    pub fn signed_serial(&self) -> Option<Serial> {
        self.signed_serial
    }

    /// The proof about `sought` without its first `skip` labels: its own record, or the one that spans its place. `None`
    /// in an unsigned zone, and for NSEC3 where the name has no record of its own though `own` is wanted.
    pub(crate) fn proof(&self, sought: &Sought, skip: usize, own: bool) -> Option<Proof<'_>> {
        self.proof_of(sought.wire_above(skip), own)
    }

    /// The same about the wildcard right below.
    pub(crate) fn wildcard_proof(&self, sought: &Sought, skip: usize, own: bool) -> Option<Proof<'_>> {
        let wildcard = Wildcard::below(sought.wire_above(skip));
        wildcard.name()?;
        self.proof_of(wildcard.as_wire(), own)
    }

    fn proof_of(&self, name: &[u8], own: bool) -> Option<Proof<'_>> {
        let place = match &self.denial {
            Denial::None => None,
            // Where a record of its own is wanted and there is none (an empty non-terminal), the one in front says so.
            Denial::Nsec(chain) => nsec_at_or_before(chain, &self.arena, NameRef::trusted(name)),
            Denial::Nsec3(hashed) if own => hashed.matching(name),
            Denial::Nsec3(hashed) => hashed.covering(name),
        };
        Proof::of(self.arena.node(place?))
    }

    /// Whether proofs are made of hashes.
    pub(crate) fn denies_by_hash(&self) -> bool {
        matches!(self.denial, Denial::Nsec3(_))
    }

    /// The node that a link leads to.
    pub(crate) fn node_at(&self, place: u32) -> Node<'_> {
        self.arena.node(place)
    }

    /// The node of the name that is `skip` labels shorter than `sought`.
    fn node_above(&self, sought: &Sought, skip: usize) -> Option<Node<'_>> {
        if sought.label_count() - skip > self.most_labels {
            return None;
        }
        self.table
            .find(sought.hash_above(skip), |at| self.arena.node(at).name() == sought.wire_above(skip))
            .map(|at| self.arena.node(at))
    }

    /// The wildcard child of the name that is `skip` labels shorter than `sought`.
    fn wildcard_above(&self, sought: &Sought, skip: usize) -> Option<Node<'_>> {
        let hash = self.shape.key.extend(sought.hash_above(skip), b"\x01*");
        let parent = sought.wire_above(skip);
        self.table
            .find(hash, |at| {
                let name = self.arena.node(at).name();
                name.strip_prefix(b"\x01*").is_some_and(|rest| rest == parent)
            })
            .map(|at| self.arena.node(at))
    }
}

/// Where a name's node is: a part of the hash, to tell most strangers apart, and the node's place in the arena.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    /// 0 in an empty slot: no node stands at the arena's start.
    node: u32,
}

/// An open-addressing hash table with linear probing, at most two thirds full.
#[derive(Debug, Default)]
struct Table {
    slots: Box<[Slot]>,
    used: usize,
}

impl Table {
    fn with_room_for(names: usize) -> Table {
        let slots = (names * 3 / 2 + 2).next_power_of_two();
        Table { slots: vec![Slot::default(); slots].into(), used: 0 }
    }

    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let tag = (hash >> 32) as u32;
        let mut at = hash as usize & mask;
        // There is always an empty slot to stop at.
        loop {
            let slot = self.slots[at];
            if slot.node == 0 {
                return None;
            }
            if slot.tag == tag && is_it(slot.node) {
                return Some(slot.node);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a node that is not in the table yet.
    fn insert(&mut self, hash: u64, node: u32) {
        if (self.used + 1) * 3 > self.slots.len() * 2 {
            unreachable!("the table was made for as many names as are put in");
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].node != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { tag: (hash >> 32) as u32, node };
        self.used += 1;
    }
}
