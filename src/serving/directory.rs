//! From a name to the zone that answers it: the one with the longest origin that the name is at or below.

use std::sync::Arc;

use super::ZoneServing;
use crate::name::{Name, NameRef};
use crate::snapshot::sought::{HashKey, Sought};

/// Where each zone stands in the list of zones.
#[derive(Debug)]
pub struct Directory {
    /// Sorted by hash, for binary search; origins of the same hash stand side by side.
    by_hash: Vec<Entry>,
    /// Which numbers of labels origins have, as bits: others need not be looked for.
    depths: u128,
}

/// A zone.
#[derive(Debug)]
struct Entry {
    hash: u64,
    /// In lower case, as every name is that is looked for: they are compared as octets.
    origin: Name,
    /// Where it stands in the list.
    index: usize,
}

impl Directory {
    /// Over these zones.
    pub fn of(key: HashKey, zones: &[Arc<ZoneServing>]) -> Directory {
        let mut depths = 0;
        let mut by_hash: Vec<_> = zones
            .iter()
            .enumerate()
            .map(|(index, zone)| {
                let sought = Sought::new(key, zone.content.origin.as_ref());
                depths |= 1 << sought.label_count();
                Entry { hash: sought.hash_above(0), origin: sought.name().to_name(), index }
            })
            .collect();
        by_hash.sort_unstable_by_key(|entry| (entry.hash, entry.index));
        Directory { by_hash, depths }
    }

    /// The zone that `sought` without at least `skip` labels is in, given the list that the directory was made over.
    pub fn find<'z>(&self, zones: &'z [Arc<ZoneServing>], sought: &Sought, skip: usize) -> Option<&'z ZoneServing> {
        self.find_index(sought, skip).map(|index| &*zones[index])
    }

    /// Where the zone of this very origin stands in the list.
    pub fn position(&self, zones: &[Arc<ZoneServing>], origin: NameRef<'_>, key: HashKey) -> Option<usize> {
        self.find_index(&Sought::new(key, origin), 0).filter(|index| zones[*index].content.origin.as_ref() == origin)
    }

    /// The same as a number: where the zone stands in the list.
    pub fn find_index(&self, sought: &Sought, skip: usize) -> Option<usize> {
        let labels = sought.label_count();
        let deepest = u32::try_from(labels.checked_sub(skip)?).ok()?;
        // The deepest origins first; no name has more than 127 labels.
        let mut depths = self.depths & (u128::MAX >> (127 - deepest.min(127)));
        while depths != 0 {
            let depth = 127 - depths.leading_zeros();
            depths &= !(1 << depth);
            let skip = labels - depth as usize;
            let (hash, name) = (sought.hash_above(skip), sought.wire_above(skip));
            let first = self.by_hash.partition_point(|entry| entry.hash < hash);
            let mut alike = self.by_hash[first..].iter().take_while(|entry| entry.hash == hash);
            if let Some(found) = alike.find(|entry| entry.origin.as_ref().as_wire() == name) {
                return Some(found.index);
            }
        }
        None
    }
}
