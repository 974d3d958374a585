//! From a name to its owner in a zone: a table for those who look up many.

use std::hash::BuildHasher;

use crate::name::NameRef;
use crate::zone::rrsets::{Owner, Zone};

/// An open-addressing hash table of owners' numbers: four octets a slot, so that even a large zone's is small.
pub(super) struct Index<'a> {
    zone: &'a Zone,
    /// One more than the owner's number; 0 is empty. At most half of them are used.
    slots: Vec<u32>,
    hasher: foldhash::fast::RandomState,
}

impl<'a> Index<'a> {
    pub fn of(zone: &'a Zone) -> Index<'a> {
        let size = (zone.owners().len() * 2 + 1).next_power_of_two();
        let mut index = Index { zone, slots: vec![0; size], hasher: foldhash::fast::RandomState::default() };
        for (number, owner) in zone.owners().enumerate() {
            let free = index.places(owner.name).find(|at| index.slots[*at] == 0);
            if let Some(free) = free {
                index.slots[free] = number as u32 + 1;
            }
        }
        index
    }

    /// The owner of this name.
    pub fn find(&self, name: NameRef<'_>) -> Option<Owner<'a>> {
        self.places(name)
            .map_while(|at| self.slots[at].checked_sub(1))
            .map(|number| self.zone.owner_number(number as usize))
            .find(|owner| owner.name == name)
    }

    /// Where a name may stand, the likeliest place first.
    fn places(&self, name: NameRef<'_>) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let first = self.hasher.hash_one(name) as usize;
        (0..=mask).map(move |step| first.wrapping_add(step) & mask)
    }
}
