//! The RRsets of a zone, where they are mostly those of another one: what is the same lies in memory once.

use std::sync::Arc;

use super::packed::{Packed, Sets};
use crate::name::NameRef;
use crate::time::Ttl;

/// Set in the number of an owner that the zone does not share.
const OWN: u32 = 1 << 31;
/// A zone that shares less than three quarters of its octets had better stand alone.
const WORTH_IT: usize = 4;

/// All RRsets of a zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// What other zones may share.
    base: Arc<Packed>,
    over: Option<Over>,
}

/// What a zone has on top of what it shares.
#[derive(Clone, Debug)]
struct Over {
    own: Packed,
    /// For each owner of the zone, in order, its number in the base, or that among its own with [`OWN`] set.
    owners: Box<[u32]>,
    sets: usize,
    records: usize,
    octets: usize,
    longest: Ttl,
}

impl Layers {
    /// One layer.
    pub fn of(packed: Packed) -> Layers {
        Layers { base: Arc::new(packed), over: None }
    }

    /// The same RRsets, those that lie in the base of `other` left there; none if that is not worth it.
    pub fn sharing(&self, other: &Layers) -> Option<Layers> {
        if self.over.is_some() || self.base.has_details() || other.base.has_details() {
            return None;
        }
        let base = Arc::clone(&other.base);
        let (mut own, mut owners) = (Packed::default(), Vec::with_capacity(self.owner_count()));
        let mut at = 0;
        for number in 0..self.base.owner_count() {
            let name = self.base.name(number);
            while at < base.owner_count() && base.name(at) < name {
                at += 1;
            }
            if at < base.owner_count() && base.entry(at) == self.base.entry(number) {
                owners.push(at as u32);
                continue;
            }
            owners.push(own.owner_count() as u32 | OWN);
            own.push_entry(self.base.entry(number));
            if own.octets() * WORTH_IT > self.base.octets() {
                return None;
            }
        }
        own.settle();
        let (sets, records, octets) = (self.set_count(), self.record_count(), self.octets());
        let over = Over { own, owners: owners.into(), sets, records, octets, longest: self.longest_ttl() };
        Some(Layers { base, over: Some(over) })
    }

    /// Forgets where the records stand.
    pub fn settle(&mut self) {
        // Whoever shares it shares what has settled.
        if let Some(packed) = Arc::get_mut(&mut self.base) {
            packed.settle();
        }
    }

    /// How many octets of memory it takes that it does not share.
    pub fn own_octets(&self) -> usize {
        match &self.over {
            Some(over) => over.own.octets() + size_of_val(&*over.owners),
            None => self.base.octets() + self.base.owner_count() * size_of::<u32>(),
        }
    }

    /// How many octets names and data take.
    pub fn octets(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.octets(), |over| over.octets)
    }

    /// How many owners there are.
    pub fn owner_count(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.owner_count(), |over| over.owners.len())
    }

    /// How many RRsets there are.
    pub fn set_count(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.set_count(), |over| over.sets)
    }

    /// How many records there are.
    pub fn record_count(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.record_count(), |over| over.records)
    }

    /// The longest TTL of an RRset.
    pub fn longest_ttl(&self) -> Ttl {
        self.over.as_ref().map_or_else(|| self.base.longest_ttl(), |over| over.longest)
    }

    /// The name of owner number `index`.
    pub fn name(&self, index: usize) -> NameRef<'_> {
        let (packed, number) = self.place(index);
        packed.name(number)
    }

    /// The RRsets of owner number `index`, by type.
    pub fn sets(&self, index: usize) -> Sets<'_> {
        let (packed, number) = self.place(index);
        packed.sets(number)
    }

    fn place(&self, index: usize) -> (&Packed, usize) {
        match &self.over {
            None => (&self.base, index),
            Some(over) => match over.owners[index] {
                own if own & OWN != 0 => (&over.own, (own & !OWN) as usize),
                shared => (&self.base, shared as usize),
            },
        }
    }
}
