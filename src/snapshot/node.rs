//! How nodes and their RRsets lie in the arena: octets, in the order in which a lookup reads them.
//!
//! ```text
//! node      name length (1)  flags (1)  RRsets (2)  name (lower case, wire form)  RRsets…
//! RRset     type (2)  TTL (4)  records (2)  body length (2)  more (1)
//!           if there is more: signatures (2)  signatures' length (2)  pointers (2)  links (2)
//!           pointers (2 each)  links (6 each)  body  signatures
//! body      records as they go out: owner (2)  type  class  TTL  length  data
//! ```
//! Owners are pointers to the name of a question, which most answers need; for others they are filled in.
//! A *pointer* says where in the body a compression pointer to the zone's origin is to be filled in. A *link* leads
//! from a name in the body (say the target of an MX record) to the node whose addresses go with it.

use crate::prefetch::{LINE, prefetch};
use crate::rr::RrType;
use crate::time::Ttl;

/// Nodes lie at multiples of this, so that 32 bits reach 32 GiB.
const ALIGN: usize = 8;
const NODE_HEAD: usize = 4;
const SET_HEAD: usize = 11;
const MORE: usize = 8;
const LINK: usize = 6;
/// From a record's start to its data, its owner being a pointer.
pub(super) const RECORD_HEAD: usize = 12;
/// A pointer to the name in the question (RFC 1035 §4.1.4): it stands right behind the header.
pub(super) const OWNER_ASKED: [u8; 2] = [0xC0, 12];
/// The highest bit of a link: the address is glue without which a referral is of no use (RFC 9471 §3).
const REQUIRED: u32 = 1 << 31;

/// What a lookup has to know of a node before it reads its RRsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Nothing special.
    pub const NONE: Flags = Flags(0);
    /// A zone cut: NS below the apex.
    pub const CUT: Flags = Flags(1);
    /// It has a DNAME.
    pub const DNAME: Flags = Flags(2);
    /// It has a CNAME.
    pub const CNAME: Flags = Flags(4);
    /// A child of it is a wildcard.
    pub const WILDCARD_CHILD: Flags = Flags(8);

    /// There is no such name, though a layer below has one.
    pub(super) const GONE: Flags = Flags(16);

    /// Whether all of `other` is set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The octets that nodes and RRsets lie in.
#[derive(Debug, Default)]
pub struct Arena {
    octets: Vec<u8>,
}

/// A name that exists, and what it has.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    arena: &'a Arena,
    at: usize,
}

/// An RRset as it goes out: all of it, as it lies there. No more than that, since sets are handed on all the time.
#[derive(Clone, Copy)]
pub struct WireSet<'a>(&'a [u8]);

/// Where the parts of an RRset begin.
struct Layout {
    pointers: usize,
    links: usize,
    body: usize,
    signatures: usize,
    end: usize,
    signature_count: u16,
}

/// From a name in an RRset's body to the node with its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where in the body the name stands.
    pub name_at: u16,
    /// The node; 0 while it is not known, or if there is none.
    pub node: u32,
    /// Whether a referral is of no use without the addresses.
    pub required: bool,
}

/// An RRset to be laid down.
#[derive(Default)]
pub(super) struct SetParts {
    pub(super) records: u16,
    pub(super) signature_count: u16,
    pub(super) pointers: Vec<u16>,
    pub(super) links: Vec<Link>,
    pub(super) body: Vec<u8>,
    pub(super) signatures: Vec<u8>,
}

impl SetParts {
    /// Makes room for the next RRset.
    pub(super) fn clear(&mut self) {
        (self.records, self.signature_count) = (0, 0);
        self.pointers.clear();
        self.links.clear();
        self.body.clear();
        self.signatures.clear();
    }
}

impl Arena {
    /// An arena in this memory.
    pub(super) fn within(octets: Vec<u8>) -> Arena {
        Arena { octets }
    }

    /// How many octets it has.
    pub fn len(&self) -> usize {
        self.octets.len()
    }

    /// Whether nothing was laid down.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The node that was laid down at `at`.
    pub fn node(&self, at: u32) -> Node<'_> {
        Node { arena: self, at: at as usize * ALIGN }
    }

    /// Has at hand what the node at `at` begins with.
    #[inline]
    pub(super) fn prefetch(&self, at: u32) {
        // Most nodes lie in three cache lines.
        self.octets[at as usize * ALIGN..].iter().step_by(LINE).take(3).for_each(prefetch);
    }

    /// The lone RRset that was laid down at `at`.
    pub fn wire_set(&self, at: u32) -> WireSet<'_> {
        WireSet::at(&self.octets, at as usize * ALIGN)
    }

    /// Begins a node; its RRsets are laid down next.
    pub(super) fn begin_node(&mut self, name: &[u8], flags: Flags, sets: u16) -> u32 {
        let at = self.align();
        self.octets.extend_from_slice(&[name.len() as u8, flags.0]);
        self.octets.extend_from_slice(&sets.to_le_bytes());
        self.octets.extend_from_slice(name);
        at
    }

    /// Begins a lone RRset, to be found by its place alone.
    pub(super) fn begin_lone_set(&mut self) -> u32 {
        self.align()
    }

    /// Lays down an RRset; returns where its links are, for [`Arena::set_link`].
    pub(super) fn push_set(&mut self, rtype: RrType, ttl: Ttl, parts: &SetParts) -> usize {
        let out = &mut self.octets;
        let more = parts.signature_count > 0 || !parts.pointers.is_empty() || !parts.links.is_empty();
        out.extend_from_slice(&rtype.0.to_le_bytes());
        out.extend_from_slice(&ttl.seconds().to_le_bytes());
        out.extend_from_slice(&parts.records.to_le_bytes());
        out.extend_from_slice(&(parts.body.len() as u16).to_le_bytes());
        out.push(u8::from(more));
        if more {
            out.extend_from_slice(&parts.signature_count.to_le_bytes());
            out.extend_from_slice(&(parts.signatures.len() as u16).to_le_bytes());
            out.extend_from_slice(&(parts.pointers.len() as u16).to_le_bytes());
            out.extend_from_slice(&(parts.links.len() as u16).to_le_bytes());
        }
        for pointer in &parts.pointers {
            out.extend_from_slice(&pointer.to_le_bytes());
        }
        let links_at = out.len();
        for link in &parts.links {
            out.extend_from_slice(&encode_link(*link));
        }
        let records_at = out.len();
        out.extend_from_slice(&parts.body);
        out.extend_from_slice(&parts.signatures);
        fill_in(&mut out[records_at..], OWNER_ASKED, ttl);
        links_at
    }

    /// Writes link number `index` of the RRset whose links are at `links_at`.
    pub(super) fn set_link(&mut self, links_at: usize, index: usize, link: Link) {
        self.octets[links_at + index * LINK..][..LINK].copy_from_slice(&encode_link(link));
    }

    /// Adds `flags` to those of the node at `at`.
    pub(super) fn add_flags(&mut self, at: u32, flags: Flags) {
        self.octets[at as usize * ALIGN + 1] |= flags.0;
    }

    /// Gives back what was reserved and not used.
    pub(super) fn shrink(&mut self) {
        self.octets.shrink_to_fit();
    }

    fn align(&mut self) -> u32 {
        // Place 0 means "none" in slots and links.
        let at = self.octets.len().next_multiple_of(ALIGN).max(ALIGN);
        self.octets.resize(at, 0);
        (at / ALIGN) as u32
    }
}

/// Fills in what depends on the message in records that go out: owner and TTL.
pub(super) fn fill_in(mut records: &mut [u8], owner: [u8; 2], ttl: Ttl) {
    while let Some((head, behind)) = records.split_first_chunk_mut::<RECORD_HEAD>() {
        head[..2].copy_from_slice(&owner);
        head[6..10].copy_from_slice(&ttl.seconds().to_be_bytes());
        records = behind.get_mut(usize::from(u16::from_be_bytes([head[10], head[11]]))..).unwrap_or_default();
    }
}

fn encode_link(link: Link) -> [u8; LINK] {
    let mut octets = [0; LINK];
    octets[..2].copy_from_slice(&link.name_at.to_le_bytes());
    octets[2..].copy_from_slice(&(link.node | if link.required { REQUIRED } else { 0 }).to_le_bytes());
    octets
}

impl<'a> Node<'a> {
    /// The name, in lower case.
    pub fn name(self) -> &'a [u8] {
        &self.arena.octets[self.at + NODE_HEAD..][..self.arena.octets[self.at] as usize]
    }

    /// What is special about it.
    pub fn flags(self) -> Flags {
        Flags(self.arena.octets[self.at + 1])
    }

    /// Its RRsets by type; none for an empty non-terminal.
    pub fn sets(self) -> impl Iterator<Item = WireSet<'a>> {
        let octets = &self.arena.octets;
        let mut left = u16_at(octets, self.at + 2);
        let mut at = self.at + NODE_HEAD + octets[self.at] as usize;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let set = WireSet::at(octets, at);
            at += set.len();
            Some(set)
        })
    }

    /// How many octets it takes with its RRsets.
    pub(super) fn len(self) -> usize {
        NODE_HEAD + self.name().len() + self.sets().map(WireSet::len).sum::<usize>()
    }

    /// Its RRset of this type.
    pub fn set(self, rtype: RrType) -> Option<WireSet<'a>> {
        self.sets().find(|set| set.rtype() == rtype)
    }
}

impl Layout {
    #[inline(always)]
    fn of(set: &[u8]) -> Layout {
        let (mut pointers, mut counts) = (SET_HEAD, [0; 4]);
        if set[SET_HEAD - 1] != 0 {
            pointers += MORE;
            counts = std::array::from_fn(|index| u16_at(set, SET_HEAD + 2 * index));
        }
        let [signature_count, signatures_len, pointer_count, link_count] = counts;
        let links = pointers + usize::from(pointer_count) * 2;
        let body = links + usize::from(link_count) * LINK;
        let signatures = body + usize::from(u16_at(set, 8));
        Layout { pointers, links, body, signatures, end: signatures + usize::from(signatures_len), signature_count }
    }
}

impl<'a> WireSet<'a> {
    #[inline(always)]
    fn at(octets: &'a [u8], at: usize) -> WireSet<'a> {
        let octets = &octets[at..];
        WireSet(&octets[..Layout::of(octets).end])
    }

    /// How many octets it takes.
    fn len(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn layout(self) -> Layout {
        Layout::of(self.0)
    }

    /// Whether both go out alike; where their links lead is left out.
    pub(super) fn same_records(self, other: WireSet<'_>) -> bool {
        self.0[..SET_HEAD] == other.0[..SET_HEAD]
            && self.signature_count() == other.signature_count()
            && self.pointers().eq(other.pointers())
            && self.body() == other.body()
            && self.signatures() == other.signatures()
    }

    /// The type.
    #[inline]
    pub fn rtype(self) -> RrType {
        RrType(u16_at(self.0, 0))
    }

    /// How many records there are.
    #[inline]
    pub fn record_count(self) -> u16 {
        u16_at(self.0, 6)
    }

    /// How many RRSIG records cover it.
    #[inline]
    pub fn signature_count(self) -> u16 {
        self.layout().signature_count
    }

    /// The TTL of the records and of their signatures.
    #[inline]
    pub fn ttl(self) -> Ttl {
        Ttl::from_wire(u32_at(self.0, 2))
    }

    /// Where in memory it lies: what tells it from any other for as long as its snapshot is there.
    pub(super) fn place(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// The records as they go out, pointers to be filled in.
    #[inline]
    pub fn body(self) -> &'a [u8] {
        let Layout { body, signatures, .. } = self.layout();
        &self.0[body..signatures]
    }

    /// The RRSIG records that cover it, as they go out.
    #[inline]
    pub fn signatures(self) -> &'a [u8] {
        &self.0[self.layout().signatures..]
    }

    /// Where in the body pointers to the origin are to be filled in.
    #[inline]
    pub fn pointers(self) -> impl Iterator<Item = usize> + 'a {
        let Layout { pointers, links, .. } = self.layout();
        self.0[pointers..links].chunks_exact(2).map(|octets| u16_at(octets, 0) as usize)
    }

    /// Whether it leads to nodes with addresses, or may.
    #[inline]
    pub fn has_links(self) -> bool {
        let Layout { links, body, .. } = self.layout();
        links < body
    }

    /// Its links to nodes with addresses.
    pub fn links(self) -> impl Iterator<Item = Link> + 'a {
        let Layout { links, body, .. } = self.layout();
        self.0[links..body].chunks_exact(LINK).map(|octets| {
            let node = u32_at(octets, 2);
            Link { name_at: u16_at(octets, 0), node: node & !REQUIRED, required: node & REQUIRED != 0 }
        })
    }

    /// The data of the first record, and whether its end is a pointer to the origin yet to be filled in.
    pub fn first_rdata(self) -> (&'a [u8], bool) {
        let body = self.body();
        let rdata = &body[12..12 + u16::from_be_bytes([body[10], body[11]]) as usize];
        (rdata, self.pointers().next().is_some_and(|at| at + 2 == 12 + rdata.len()))
    }
}

impl std::fmt::Debug for WireSet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({} records)", self.ttl(), self.rtype(), self.record_count())
    }
}

fn u16_at(octets: &[u8], at: usize) -> u16 {
    let octets = &octets[at..at + 2];
    u16::from_le_bytes([octets[0], octets[1]])
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    let octets = &octets[at..at + 4];
    u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_down_is_found_again() {
        let mut arena = Arena::default();
        let first = arena.begin_node(b"\x01a\0", Flags::CUT, 2);
        let link = Link { name_at: 12, node: 0, required: true };
        let parts = SetParts {
            records: 1,
            signature_count: 1,
            pointers: vec![14],
            links: vec![link],
            body: b"\0\0\0\x02\0\x01\0\0\0\0\0\x04\x01b\0\0".to_vec(),
            signatures: vec![1, 2, 3],
        };
        let links_at = arena.push_set(RrType::NS, Ttl::new(9).unwrap(), &parts);
        arena.push_set(RrType::TXT, Ttl::ZERO, &SetParts { records: 1, body: vec![5; 11], ..SetParts::default() });
        let second = arena.begin_node(b"\x01b\x01a\0", Flags::NONE, 0);
        arena.set_link(links_at, 0, Link { node: second, ..link });
        arena.add_flags(first, Flags::WILDCARD_CHILD);

        let node = arena.node(first);
        assert_eq!(node.name(), b"\x01a\0");
        assert!(node.flags().has(Flags::CUT.with(Flags::WILDCARD_CHILD)) && !node.flags().has(Flags::DNAME));
        let set = node.set(RrType::NS).unwrap();
        assert_eq!((set.record_count(), set.signature_count(), set.ttl().seconds()), (1, 1, 9));
        let filled = b"\xC0\x0C\0\x02\0\x01\0\0\0\x09\0\x04\x01b\0\0";
        assert_eq!((set.body(), set.signatures()), (&filled[..], &parts.signatures[..]));
        assert_eq!(set.links().collect::<Vec<_>>(), [Link { node: second, ..link }]);
        assert_eq!(set.pointers().collect::<Vec<_>>(), [14]);
        assert_eq!(set.first_rdata(), (&b"\x01b\0\0"[..], true));
        assert_eq!(node.set(RrType::TXT).unwrap().body(), [5; 11]);
        assert!(node.set(RrType::A).is_none() && arena.node(second).sets().next().is_none());
    }
}
