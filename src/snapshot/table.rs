//! From the hash of a name to its node: one open-addressing hash table.

/// Where a name's node is: a part of the hash, to tell most strangers apart, and the node's place in the arena.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    /// 0 in an empty slot: no node stands at the arena's start.
    node: u32,
}

/// An open-addressing hash table with linear probing, at most two thirds full: a name costs one cache line as a rule.
#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    used: usize,
}

impl Table {
    pub fn with_room_for(names: usize) -> Table {
        let count = (names * 3 / 2 + 2).next_power_of_two();
        Table { slots: vec![Slot::default(); count], used: 0 }
    }

    /// How many nodes are in it.
    pub fn len(&self) -> usize {
        self.used
    }

    /// How many octets of memory it takes.
    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    /// The node of this hash that `is_it` recognises.
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
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

    /// What stands where a search for this hash begins: of no meaning by itself, but the search's first look at memory.
    pub fn touch(&self, hash: u64) -> u32 {
        self.slots[hash as usize & (self.slots.len() - 1)].node
    }

    /// All nodes, in no order that means anything.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| slot.node).filter(|node| *node != 0)
    }

    /// Adds a node that is not in the table yet.
    pub fn insert(&mut self, hash: u64, node: u32) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_whose_hashes_collide_are_all_found() {
        let mut table = Table::with_room_for(6);
        // The same place and tag, the same place only, and the last place of the table, behind which it goes on in front.
        let hashes = [7, 7, 7 | 1 << 40, u64::MAX, u64::MAX, u64::MAX];
        for (hash, node) in hashes.into_iter().zip(1..) {
            assert_eq!(table.find(hash, |at| at == node), None);
            table.insert(hash, node);
        }
        for (hash, node) in hashes.into_iter().zip(1..) {
            assert_eq!(table.find(hash, |at| at == node), Some(node));
        }
        assert_eq!(table.find(7, |_| false), None);
        assert_eq!((table.len(), table.memory()), (6, 16 * 8));
        assert_eq!((table.touch(7), table.touch(8), table.touch(3)), (1, 2, 0));
    }
}
