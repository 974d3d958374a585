//! From the hash of what is looked for, a name as a rule, to its number: one open-addressing hash table.

use crate::prefetch::prefetch;

/// A number, and a part of its hash that tells most strangers apart.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    /// 0 in an empty slot.
    number: u32,
}

/// An open-addressing hash table with linear probing, at most two thirds full: a name costs one cache line as a rule.
#[derive(Debug)]
pub struct Table {
    slots: Vec<Slot>,
    used: usize,
}

impl Table {
    /// With room for so many names.
    pub fn with_room_for(names: usize) -> Table {
        Table { slots: vec![Slot::default(); slots_for(names)], used: 0 }
    }

    /// Holds these instead, and has room for `names`.
    pub fn refill(&mut self, names: usize, numbers: impl Iterator<Item = (u64, u32)>) {
        let count = slots_for(names);
        self.slots.clear();
        self.slots.shrink_to(count);
        if self.slots.capacity() < count {
            // Not grown: nothing has to be kept, and in which pages it lies is up to who builds it this time.
            self.slots = Vec::new();
        }
        self.slots.resize(count, Slot::default());
        self.used = 0;
        numbers.for_each(|(hash, number)| self.insert(hash, number));
    }

    /// How many names are in it.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether there is no room for another one.
    pub fn is_full(&self) -> bool {
        !self.has_room_for(1)
    }

    /// Whether there is room for so many more.
    pub fn has_room_for(&self, names: usize) -> bool {
        (self.used + names) * 3 <= self.slots.len() * 2
    }

    /// How many octets of memory it takes.
    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    /// The number under this hash that `is_it` recognises.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        // There is always an empty slot to stop at.
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return None;
            }
            if slot.tag == tag(hash) && is_it(slot.number) {
                return Some(slot.number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Has at hand where a search for this hash begins.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(&self.slots[hash as usize & (self.slots.len() - 1)]);
    }

    /// All numbers, in no order that means anything.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| slot.number).filter(|number| *number != 0)
    }

    /// Adds a number, other than 0, that is not in the table yet.
    pub fn insert(&mut self, hash: u64, number: u32) {
        if self.is_full() || number == 0 {
            unreachable!("the table was made for as many names as are put in, and 0 is none");
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].number != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { tag: tag(hash), number };
        self.used += 1;
    }
}

/// How many slots are made for so many names.
fn slots_for(names: usize) -> usize {
    (names * 3 / 2 + 2).next_power_of_two()
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_whose_hashes_collide_are_all_found() {
        let mut table = Table::with_room_for(6);
        // The same place and tag, the same place only, and the last place of the table, behind which it goes on in front.
        let hashes = [7, 7, 7 | 1 << 40, u64::MAX, u64::MAX, u64::MAX];
        for (hash, number) in hashes.into_iter().zip(1..) {
            assert_eq!(table.find(hash, |at| at == number), None);
            table.insert(hash, number);
        }
        for (hash, number) in hashes.into_iter().zip(1..) {
            assert_eq!(table.find(hash, |at| at == number), Some(number));
        }
        assert_eq!(table.find(7, |_| false), None);
        assert_eq!((table.len(), table.memory()), (6, 16 * 8));
    }

    #[test]
    fn a_table_holds_as_many_as_it_was_made_for_and_others_afterwards() {
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut table = Table::with_room_for(1000);
        for names in [0, 1, 3, 4, 5, 9, 1000, 100, 10] {
            table.refill(names, (1..=names as u32).map(|number| (hash(number), number)));
            assert_eq!((table.numbers().count(), table.len()), (names, names));
            assert!((1..=names as u32).all(|number| table.find(hash(number), |at| at == number).is_some()));
        }
        while !table.is_full() {
            table.insert(1, 1);
        }
    }
}
