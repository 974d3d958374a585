//! A name that is looked for: in lower case, with the hash of every ancestor at hand.

use super::Snapshot;
use crate::name::{MAX_NAME, NameRef};

/// The key of the hash over names: drawn once for a state directory, so that nobody can make names that collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKey {
    seed: u64,
    factor: u64,
}

impl HashKey {
    /// A key from random octets.
    pub fn new(random: [u8; 16]) -> HashKey {
        let number = u128::from_le_bytes(random);
        HashKey { seed: number as u64, factor: (number >> 64) as u64 | 1 }
    }

    /// The hash of the root name.
    pub(super) fn root(self) -> u64 {
        self.seed
    }

    /// The hash of the wildcard right below a name, from that of the name.
    pub(crate) fn of_wildcard(self, encloser: u64) -> u64 {
        self.fold(encloser, u16::from_le_bytes(*b"\x01*").into())
    }

    /// The hash of a whole name in lower case.
    pub(crate) fn of(self, name: NameRef<'_>) -> u64 {
        let wire = name.as_wire();
        let mut room = [0; ROOM];
        room[..wire.len()].copy_from_slice(wire);
        let (mut starts, mut count, mut at) = ([0u8; 128], 0, 0);
        while wire[at] != 0 {
            starts[count] = at as u8;
            count += 1;
            at += 1 + wire[at] as usize;
        }
        let labels = starts[..count].iter().rev();
        let (hash, _) =
            labels.fold((self.root(), at as u8), |(hash, end), start| (self.extend(hash, &room, *start, end), *start));
        hash
    }

    /// The hash of a name from that of its parent and its first label, in lower case: the octets `start..end`.
    #[inline]
    fn extend(self, parent: u64, room: &[u8; ROOM], start: u8, end: u8) -> u64 {
        let (mut hash, mut at, end) = (parent, usize::from(start), usize::from(end));
        let block = |at: usize| room[at..].first_chunk().map_or(0, |block| u128::from_le_bytes(*block));
        while end - at > BLOCK {
            hash = self.fold(hash, block(at));
            at += BLOCK;
        }
        // As a rule there is this one only: how long a label is, no processor could predict.
        self.fold(hash, block(at) & MASKS[end - at])
    }

    fn fold(self, hash: u64, block: u128) -> u64 {
        let product = u128::from(hash ^ block as u64) * u128::from(self.factor ^ (block >> 64) as u64);
        (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(29)
    }
}

/// So many octets are put into lower case, or hashed, at once.
const BLOCK: usize = 16;
/// The first so many octets of a block.
static MASKS: [u128; BLOCK + 1] = {
    let (mut masks, mut octets) = ([0; BLOCK + 1], 0);
    while octets < BLOCK {
        masks[octets + 1] = masks[octets] << 8 | 0xFF;
        octets += 1;
    }
    masks
};
/// Room for a name in whole blocks, and for a block behind it.
const ROOM: usize = MAX_NAME.next_multiple_of(BLOCK) + BLOCK;

/// Copies a name in lower case: in whole blocks, of which the last one may write once more what others have written.
fn lowercase_into(room: &mut [u8; ROOM], name: &[u8]) {
    let lowercase = |block: &[u8; BLOCK]| block.map(|octet| octet.to_ascii_lowercase());
    for (to, from) in room.as_chunks_mut().0.iter_mut().zip(name.as_chunks().0) {
        *to = lowercase(from);
    }
    match (name.last_chunk(), room[..name.len()].last_chunk_mut()) {
        (Some(from), Some(to)) => *to = lowercase(from),
        _ => {
            let mut block = [0; BLOCK];
            block[..name.len()].copy_from_slice(name);
            room[..BLOCK].copy_from_slice(&lowercase(&block));
        }
    }
}

/// A name that is looked for.
pub struct Sought {
    /// The name; what stands behind it means nothing.
    wire: [u8; ROOM],
    len: u8,
    labels: u8,
    starts: [u8; 128],
    hashes: [u64; 128],
    /// Where a look ahead saw a node that may be the name's.
    seen: Option<Seen>,
}

/// A place in a snapshot, which is told by where it lies itself.
#[derive(Clone, Copy)]
struct Seen {
    snapshot: usize,
    node: u32,
}

impl Default for Sought {
    /// The root name, under no key: to be [set](Sought::set). Costs more than setting it: best kept for the next name.
    fn default() -> Sought {
        Sought { wire: [0; ROOM], len: 1, labels: 0, starts: [0; 128], hashes: [0; 128], seen: None }
    }
}

impl Sought {
    /// A name to look for.
    pub fn new(key: HashKey, name: NameRef<'_>) -> Sought {
        let mut sought = Sought::default();
        if !sought.set(key, name.as_wire()) {
            unreachable!("a name is a name");
        }
        sought
    }

    /// Looks for another name from here on; `false`, with the name undefined, if no uncompressed name stands there.
    pub fn set(&mut self, key: HashKey, octets: &[u8]) -> bool {
        let is_name = self.read(octets);
        if is_name {
            self.hash(key);
        }
        is_name
    }

    /// The first half of [`Sought::set`]: takes the name in, which has no hash yet.
    pub(crate) fn read(&mut self, octets: &[u8]) -> bool {
        self.seen = None;
        // No name goes on behind these; so none has more labels than there is room for.
        let octets = &octets[..octets.len().min(MAX_NAME)];
        let (mut at, mut labels) = (0, 0);
        loop {
            match octets.get(at) {
                Some(0) => break,
                Some(&len @ ..=63) => {
                    self.starts[labels] = at as u8;
                    labels += 1;
                    at += 1 + len as usize;
                }
                _ => return false,
            }
        }
        self.len = at as u8 + 1;
        self.labels = labels as u8;
        self.starts[labels] = at as u8;
        lowercase_into(&mut self.wire, &octets[..=at]);
        true
    }

    /// The second half of [`Sought::set`]. It goes faster some time after the first: then what that wrote is not on its way to
    /// memory any more.
    pub(crate) fn hash(&mut self, key: HashKey) {
        self.seen = None;
        let labels = usize::from(self.labels);
        let (mut hash, mut end) = (key.root(), self.starts[labels]);
        self.hashes[labels] = hash;
        for (start, kept) in self.starts[..labels].iter().zip(&mut self.hashes[..labels]).rev() {
            hash = key.extend(hash, &self.wire, *start, end);
            (*kept, end) = (hash, *start);
        }
    }

    /// The name, in lower case.
    pub fn name(&self) -> NameRef<'_> {
        NameRef::trusted(self.wire_above(0))
    }

    /// How many octets the name has.
    #[allow(clippy::len_without_is_empty, reason = "no name is empty: the root has one octet")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// How many labels the name has, without the root's.
    pub fn label_count(&self) -> usize {
        self.labels as usize
    }

    /// The octets of the name without its first `skip` labels, in lower case.
    pub(crate) fn wire_above(&self, skip: usize) -> &[u8] {
        &self.wire[self.starts[skip] as usize..self.len as usize]
    }

    /// Keeps where a node was seen that may be the name's, until another name is looked for: its lookup begins there.
    pub(crate) fn see(&mut self, snapshot: &Snapshot, node: u32) {
        self.seen = Some(Seen { snapshot: std::ptr::from_ref(snapshot).addr(), node });
    }

    /// The node that was seen in this snapshot, if one was.
    #[inline]
    pub(super) fn seen(&self, snapshot: &Snapshot) -> Option<u32> {
        self.seen.filter(|seen| seen.snapshot == std::ptr::from_ref(snapshot).addr()).map(|seen| seen.node)
    }

    /// The hash of the name without its first `skip` labels.
    pub(crate) fn hash_above(&self, skip: usize) -> u64 {
        self.hashes[skip]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn every_ancestor_has_the_hash_it_has_alone() {
        let key = HashKey::new([7; 16]);
        for text in [".", "a.", "WWW.wiki.example.", "a-label-of-more-than-eight.octets.x.", &"a.".repeat(127)] {
            let name = Name::absolute(text).unwrap();
            let sought = Sought::new(key, name.as_ref());
            for (skip, ancestor) in name.as_ref().ancestors().enumerate() {
                let lower = ancestor.to_lowercase();
                assert_eq!(sought.wire_above(skip), lower.as_ref().as_wire());
                assert_eq!(sought.hash_above(skip), key.of(lower.as_ref()), "{text} without {skip}");
            }
        }
    }

    /// Of any length, and whatever was looked for before.
    #[test]
    fn names_are_in_lower_case_and_alike_whatever_their_case() {
        let key = HashKey::new([7; 16]);
        let mut reused = Sought::default();
        for len in (0..=254).chain([20, 0, 15, 14, 16]) {
            // Labels as long as they may be, and then one of what is left.
            let labels = (2..=len).rev().step_by(64).map(|left: usize| left.min(64) - 1);
            let mut wire: Vec<u8> = labels.flat_map(|label| [vec![label as u8], vec![b'Q'; label]].concat()).collect();
            wire.push(0);
            let lower: Vec<u8> = wire.iter().map(u8::to_ascii_lowercase).collect();
            assert!(
                reused.set(key, &[&wire[..], b"\0\x01\0\x01"].concat()) && reused.name().as_wire() == lower,
                "{len}"
            );
            assert_eq!(reused.hash_above(0), key.of(NameRef::read(&lower).unwrap()), "{len}");
            assert_eq!(reused.hash_above(reused.label_count()), key.root());
        }
    }

    #[test]
    fn a_wildcard_has_the_hash_it_has_alone_and_every_octet_counts() {
        let key = HashKey::new([7; 16]);
        let of = |text: &str| key.of(Name::absolute(text).unwrap().as_ref());
        assert_eq!(key.of_wildcard(of("x.example")), of("*.x.example"));
        assert_eq!(key.of_wildcard(key.root()), of("*."));
        for len in 1..=63 {
            let label = "l".repeat(len);
            for at in 0..len {
                let other = format!("{}o{}", &label[..at], &label[at + 1..]);
                assert_ne!(of(&format!("{label}.x.example")), of(&format!("{other}.x.example")), "{other}");
            }
        }
    }

    #[test]
    fn what_is_no_name_is_not_looked_for() {
        let key = HashKey::new([7; 16]);
        let long = [&[63; 64][..], &[63; 64], &[63; 64], &[63; 64], &[0]].concat();
        for octets in [&b""[..], b"\x03ab", b"\xC0\x0c", b"\x01a\xC0\x0c", b"\x40", &long, &[1; 300]] {
            assert!(!Sought::default().set(key, octets), "{octets:?}");
        }
    }
}
