//! From a name to the zone that answers it: the one with the longest origin that the name is at or below.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ZoneServing;
use crate::name::{Name, NameRef};
use crate::snapshot::sought::{HashKey, Sought};
use crate::table::Table;

/// Where each zone stands in the list of zones.
#[derive(Debug)]
pub struct Directory {
    /// From the hash of an origin to its place in `origins`, plus one.
    table: Table,
    /// In lower case, as every name is that is looked for: they are compared as octets.
    origins: Vec<Name>,
    /// Which numbers of labels origins have, the greatest first: others need not be looked for.
    depths: Vec<u8>,
}

impl Directory {
    /// Over these zones.
    pub fn of(key: HashKey, zones: &[Arc<ZoneServing>]) -> Directory {
        let (mut depths, mut table) = (BTreeSet::new(), Table::with_room_for(zones.len()));
        let origins = zones.iter().zip(1..).map(|(zone, number)| {
            let sought = Sought::new(key, zone.content.origin.as_ref());
            depths.insert(sought.label_count() as u8);
            table.insert(sought.hash_above(0), number);
            sought.name().to_name()
        });
        Directory { origins: origins.collect(), table, depths: depths.into_iter().rev().collect() }
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
    #[inline]
    pub fn find_index(&self, sought: &Sought, skip: usize) -> Option<usize> {
        let labels = sought.label_count();
        let deepest = labels.checked_sub(skip)?;
        for depth in self.depths.iter().map(|depth| usize::from(*depth)).filter(|depth| *depth <= deepest) {
            let skip = labels - depth;
            let (hash, name) = (sought.hash_above(skip), sought.wire_above(skip));
            let is_it = |number: u32| self.origins[number as usize - 1].as_ref().as_wire() == name;
            if let Some(number) = self.table.find(hash, is_it) {
                return Some(number as usize - 1);
            }
        }
        None
    }
}
