//! A name that is looked for: in lower case, with the hash of every ancestor at hand.

use crate::name::{MAX_NAME, NameRef};

/// The key of the hash over names: drawn once a process, so that nobody can make names that collide.
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

    /// The hash of a name from that of its parent and its first label (in lower case, with the length octet).
    pub(super) fn extend(self, parent: u64, label: &[u8]) -> u64 {
        let mut hash = parent;
        let mut chunks = label.chunks_exact(8);
        for chunk in &mut chunks {
            hash = self.fold(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.fold(hash, u64::from_le_bytes(last))
    }

    /// The same of a label that stands at `start..end` in a name's room, where a whole word can be read at its last octet.
    fn extend_within(self, parent: u64, room: &[u8; ROOM], start: usize, end: usize) -> u64 {
        let (mut hash, mut at) = (parent, start);
        loop {
            let word = room[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            if at + WORD > end {
                return self.fold(hash, word & ((1 << (8 * (end - at))) - 1));
            }
            hash = self.fold(hash, word);
            at += WORD;
        }
    }

    /// The hash of the wildcard right below a name, from that of the name.
    pub(crate) fn of_wildcard(self, encloser: u64) -> u64 {
        self.extend(encloser, b"\x01*")
    }

    /// The hash of a whole name in lower case.
    pub(crate) fn of(self, name: NameRef<'_>) -> u64 {
        let wire = name.as_wire();
        let (mut starts, mut count, mut at) = ([0u8; 128], 0, 0);
        while wire[at] != 0 {
            starts[count] = at as u8;
            count += 1;
            at += 1 + wire[at] as usize;
        }
        starts[..count]
            .iter()
            .rev()
            .map(|start| usize::from(*start))
            .fold(self.root(), |hash, start| self.extend(hash, &wire[start..start + 1 + wire[start] as usize]))
    }

    fn fold(self, hash: u64, word: u64) -> u64 {
        let product = u128::from(hash ^ word) * u128::from(self.factor);
        (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(29)
    }
}

/// So many octets are put into lower case at once.
const BLOCK: usize = 16;
/// So many octets are hashed at once.
const WORD: usize = 8;
/// Room for a name in whole blocks, and for a word behind it.
const ROOM: usize = MAX_NAME.next_multiple_of(BLOCK) + WORD;

/// A name that is looked for.
pub struct Sought {
    /// The name; what stands behind it means nothing.
    wire: [u8; ROOM],
    len: u8,
    labels: u8,
    starts: [u8; 128],
    hashes: [u64; 128],
}

impl Default for Sought {
    /// The root name, under no key: to be [set](Sought::set). Costs more than setting it: best kept for the next name.
    fn default() -> Sought {
        Sought { wire: [0; ROOM], len: 1, labels: 0, starts: [0; 128], hashes: [0; 128] }
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
        self.wire[..=at].copy_from_slice(&octets[..=at]);
        let (blocks, _) = self.wire.as_chunks_mut::<BLOCK>();
        blocks.iter_mut().take(at / BLOCK + 1).for_each(|block| block.make_ascii_lowercase());
        let (mut hash, mut end) = (key.root(), at);
        self.hashes[labels] = hash;
        for i in (0..labels).rev() {
            let start = self.starts[i] as usize;
            hash = key.extend_within(hash, &self.wire, start, end);
            (self.hashes[i], end) = (hash, start);
        }
        true
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

    #[test]
    fn what_is_no_name_is_not_looked_for() {
        let key = HashKey::new([7; 16]);
        let long = [&[63; 64][..], &[63; 64], &[63; 64], &[63; 64], &[0]].concat();
        for octets in [&b""[..], b"\x03ab", b"\xC0\x0c", b"\x01a\xC0\x0c", b"\x40", &long, &[1; 300]] {
            assert!(!Sought::default().set(key, octets), "{octets:?}");
        }
    }
}
