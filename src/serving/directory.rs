//! From a name to the zone that answers it: the one with the longest origin that the name is at or below.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ZoneServing;
use crate::name::{Name, NameRef};
use crate::snapshot::sought::{HashKey, Sought};

/// Where each zone stands in the list of zones.
#[derive(Debug)]
pub struct Directory {
    /// Sorted by hash, for binary search; origins of the same hash stand side by side.
    by_hash: Vec<Entry>,
    /// Which numbers of labels origins have, the greatest first: others need not be looked for.
    depths: Vec<u8>,
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
        let mut depths = BTreeSet::new();
        let mut by_hash: Vec<_> = zones
            .iter()
            .enumerate()
            .map(|(index, zone)| {
                let sought = Sought::new(key, zone.content.origin.as_ref());
                depths.insert(sought.label_count() as u8);
                Entry { hash: sought.hash_above(0), origin: sought.name().to_name(), index }
            })
            .collect();
        by_hash.sort_unstable_by_key(|entry| (entry.hash, entry.index));
        Directory { by_hash, depths: depths.into_iter().rev().collect() }
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
        let deepest = labels.checked_sub(skip)?;
        for depth in self.depths.iter().map(|depth| usize::from(*depth)).filter(|depth| *depth <= deepest) {
            let skip = labels - depth;
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
