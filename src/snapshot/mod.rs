//! A zone at one site, compiled: what answers are made of. Immutable once made.
//!
//! One open-addressing table over lower-case names leads to nodes in one arena; a node holds its RRsets as wire data,
//! ready to be copied into an answer. What a zone cut or a DNAME hides is left out when the zone is compiled, every
//! empty non-terminal has a node, and a node knows whether it has a wildcard child: so a lookup walks up the name and
//! asks nothing else.

pub mod answer;
pub mod capped;
pub mod compile;
pub mod denial;
pub mod emit;
pub mod lookup;
pub mod node;
pub mod sought;

mod ahead;
mod encode;
mod share;

use std::sync::Arc;

use crate::name::{Name, NameRef};
use crate::serial::Serial;
use crate::table::Table;
use compile::Shape;
use denial::{Denial, Proof, Wildcard, nsec_at_or_before};
use node::{Arena, Flags, Node, WireSet};
use sought::{HashKey, Sought};

/// The content of a zone for one site, compiled.
#[derive(Debug)]
pub struct Snapshot {
    /// In lower case.
    origin: Name,
    shape: Shape,
    base: Arc<Layer>,
    /// What differs from the base, if that is another site's; what stands here goes first.
    over: Option<Box<Layer>>,
    /// How many names there are.
    names: usize,
    /// The SOA RRset as it goes into negative answers: its TTL is the negative TTL.
    negative_soa: u32,
    /// How many labels the longest name in the table has: longer ones need not be looked for.
    most_labels: usize,
    denial: Denial,
    /// The text's serial where it must be told as it is: it is signed.
    signed_serial: Option<Serial>,
}

/// Names and what they have, in memory.
#[derive(Debug)]
struct Layer {
    table: Table,
    arena: Arena,
}

/// Set in the place of what lies in the upper layer.
const OVER: u32 = 1 << 30;

impl Layer {
    fn memory(&self) -> usize {
        self.arena.len() + self.table.memory()
    }

    /// The node under this hash that `is_it` recognises by its name.
    fn find(&self, hash: u64, is_it: impl Fn(&[u8]) -> bool) -> Option<Node<'_>> {
        self.table.find(hash, |at| is_it(self.arena.node(at).name())).map(|at| self.arena.node(at))
    }
}

impl Snapshot {
    /// The zone's origin, in lower case.
    pub fn origin(&self) -> NameRef<'_> {
        self.origin.as_ref()
    }

    /// How many names there are, empty non-terminals included.
    pub fn len(&self) -> usize {
        self.names
    }

    /// Whether there are none; never so for a zone with a SOA.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many octets of memory it takes that it does not share with another site's.
    pub fn memory(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.memory(), |over| over.memory())
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
        let (arena, at) = self.place(self.negative_soa);
        arena.wire_set(at)
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
            Denial::Nsec(chain) => nsec_at_or_before(chain, &self.base.arena, NameRef::trusted(name)),
            Denial::Nsec3(hashed) if own => hashed.matching(name),
            Denial::Nsec3(hashed) => hashed.covering(name),
        };
        Proof::of(self.base.arena.node(place?))
    }

    /// Whether proofs are made of hashes.
    pub(crate) fn denies_by_hash(&self) -> bool {
        matches!(self.denial, Denial::Nsec3(_))
    }

    /// The node that a link leads to.
    pub(crate) fn node_at(&self, place: u32) -> Node<'_> {
        let (arena, at) = self.place(place);
        arena.node(at)
    }

    /// The layer in which a place is.
    fn place(&self, place: u32) -> (&Arena, u32) {
        match &self.over {
            Some(over) if place & OVER != 0 => (&over.arena, place & !OVER),
            _ => (&self.base.arena, place),
        }
    }

    /// The node under this hash that `is_it` recognises by its name. One that differs from the base's hides that.
    fn find(&self, hash: u64, is_it: impl Fn(&[u8]) -> bool) -> Option<Node<'_>> {
        if let Some(over) = &self.over
            && let Some(node) = over.find(hash, &is_it)
        {
            return Some(node).filter(|node| !node.flags().has(Flags::GONE));
        }
        self.base.find(hash, is_it)
    }

    /// The node of the name.
    #[inline]
    fn node_of(&self, sought: &Sought) -> Option<Node<'_>> {
        let seen = sought.seen(self).map(|place| self.node_at(place));
        match seen.filter(|node| node.name() == sought.wire_above(0)) {
            Some(node) => Some(node).filter(|node| !node.flags().has(Flags::GONE)),
            None => self.node_above(sought, 0),
        }
    }

    /// The node of the name that is `skip` labels shorter than `sought`.
    #[inline]
    fn node_above(&self, sought: &Sought, skip: usize) -> Option<Node<'_>> {
        if sought.label_count() - skip > self.most_labels {
            return None;
        }
        self.find(sought.hash_above(skip), |name| name == sought.wire_above(skip))
    }

    /// The wildcard child of the name that is `skip` labels shorter than `sought`.
    fn wildcard_above(&self, sought: &Sought, skip: usize) -> Option<Node<'_>> {
        let hash = self.shape.key.of_wildcard(sought.hash_above(skip));
        let parent = sought.wire_above(skip);
        self.find(hash, |name| name.strip_prefix(b"\x01*").is_some_and(|rest| rest == parent))
    }
}
