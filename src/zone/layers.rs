//! The RRsets of a zone, where they are mostly those of another one: what is the same lies in memory once.

use std::ops::Range;
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
    /// Where the owners of the zone lie, in order.
    runs: Box<[Run]>,
    owners: usize,
    sets: usize,
    records: usize,
    octets: usize,
    longest: Ttl,
}

/// Owners that lie one behind the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number of the first of them in the zone; the run ends where the next one begins.
    first: u32,
    /// Its number in the base, or that among the zone's own with [`OWN`] set.
    number: u32,
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
        let (mut own, mut runs) = (Packed::default(), Vec::<Run>::new());
        let mut put = |owner: usize, number: u32| {
            let owner = owner as u32;
            if runs.last().is_none_or(|run| run.number + (owner - run.first) != number) {
                runs.push(Run { first: owner, number });
            }
        };
        let mut at = 0;
        for number in 0..self.base.owner_count() {
            let name = self.base.name(number);
            while at < base.owner_count() && base.name(at) < name {
                at += 1;
            }
            if at < base.owner_count() && base.entry(at) == self.base.entry(number) {
                put(number, at as u32);
                continue;
            }
            put(number, own.owner_count() as u32 | OWN);
            own.push_entry(self.base.entry(number));
            if own.octets() * WORTH_IT > self.base.octets() {
                return None;
            }
        }
        own.settle();
        let (sets, records, octets) = (self.set_count(), self.record_count(), self.octets());
        let (owners, longest) = (self.owner_count(), self.longest_ttl());
        let over = Over { own, runs: runs.into(), owners, sets, records, octets, longest };
        Some(Layers { base, over: Some(over) })
    }

    /// Forgets where the records stand.
    pub fn settle(&mut self) {
        // Whoever shares it shares what has settled; as a rule nobody does yet.
        if self.base.has_details() {
            Arc::make_mut(&mut self.base).settle();
        }
    }

    /// How many octets of memory it takes that it does not share.
    pub fn own_octets(&self) -> usize {
        match &self.over {
            Some(over) => over.own.octets() + size_of_val(&*over.runs),
            None => self.base.octets() + self.base.owner_count() * size_of::<u32>(),
        }
    }

    /// How many octets names and data take.
    pub fn octets(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.octets(), |over| over.octets)
    }

    /// How many owners there are.
    pub fn owner_count(&self) -> usize {
        self.over.as_ref().map_or_else(|| self.base.owner_count(), |over| over.owners)
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

    /// Owner number `index`: its name, and its RRsets by type.
    pub fn owner(&self, index: usize) -> (NameRef<'_>, Sets<'_>) {
        let (packed, number) = self.place(index);
        (packed.name(number), packed.sets(number))
    }

    /// The owners of these numbers, one after the other.
    pub fn owners(&self, numbers: Range<usize>) -> Owners<'_> {
        Owners { layers: self, numbers, known: Stretch { numbers: 0..0, packed: &self.base, first: 0 } }
    }

    /// The numbers of the owners, in order, that do not lie where `other` has them from, too.
    pub fn beside(&self, other: &Layers) -> Vec<Range<usize>> {
        if !Arc::ptr_eq(&self.base, &other.base) {
            return std::iter::once(0..self.owner_count()).collect();
        }
        let mut beside = Vec::new();
        // Both have what they share in its order.
        let mut others = other.segments().filter(|(_, number, _)| number & OWN == 0).peekable();
        for (first, number, len) in self.segments() {
            if number & OWN != 0 {
                beside.push(first..first + len);
                continue;
            }
            let (start, end) = (number as usize, number as usize + len);
            let mut at = start;
            while let Some(&(_, shared, shared_len)) = others.peek() {
                let (shared, shared_end) = (shared as usize, shared as usize + shared_len);
                if shared >= end {
                    break;
                }
                if shared > at {
                    beside.push(first + (at - start)..first + (shared - start));
                }
                at = at.max(shared_end.min(end));
                if shared_end > end {
                    break;
                }
                others.next();
            }
            if at < end {
                beside.push(first + (at - start)..first + len);
            }
        }
        beside
    }

    /// Runs of owners that lie one behind the other: the number of the first one in the zone, where it lies, and how many
    /// they are.
    fn segments(&self) -> impl Iterator<Item = (usize, u32, usize)> {
        let whole = [Run { first: 0, number: 0 }];
        let runs: Vec<Run> = self.over.as_ref().map_or_else(|| whole.to_vec(), |over| over.runs.to_vec());
        let ends: Vec<usize> = runs.iter().skip(1).map(|run| run.first as usize).chain([self.owner_count()]).collect();
        runs.into_iter().zip(ends).map(|(run, end)| (run.first as usize, run.number, end - run.first as usize))
    }

    /// The number of the first owner that is not in front, of these, of which those in front come first.
    pub fn partition_point(&self, numbers: Range<usize>, is_in_front: impl Fn(NameRef<'_>) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = numbers;
        // Owners near each other mostly lie in one stretch: it is looked for once.
        let mut known = Stretch { numbers: 0..0, packed: &self.base, first: 0 };
        while low < high {
            let middle = low.midpoint(high);
            if !known.numbers.contains(&middle) {
                known = self.stretch(middle);
            }
            if is_in_front(known.packed.name(known.place(middle))) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn place(&self, index: usize) -> (&Packed, usize) {
        let stretch = self.stretch(index);
        (stretch.packed, stretch.place(index))
    }

    /// The owners that lie one behind the other, owner number `index` among them.
    fn stretch(&self, index: usize) -> Stretch<'_> {
        let Some(over) = &self.over else {
            return Stretch { numbers: 0..self.base.owner_count(), packed: &self.base, first: 0 };
        };
        let behind = over.runs.partition_point(|run| run.first as usize <= index);
        let run = over.runs[behind - 1];
        let end = over.runs.get(behind).map_or(over.owners, |next| next.first as usize);
        let (packed, first) =
            if run.number & OWN != 0 { (&over.own, run.number & !OWN) } else { (&*self.base, run.number) };
        Stretch { numbers: run.first as usize..end, packed, first: first as usize }
    }
}

/// Owners that lie one behind the other.
#[derive(Clone)]
struct Stretch<'a> {
    /// Their numbers.
    numbers: Range<usize>,
    packed: &'a Packed,
    /// Where the first of them lies.
    first: usize,
}

impl Stretch<'_> {
    /// Where owner number `index` lies.
    fn place(&self, index: usize) -> usize {
        self.first + (index - self.numbers.start)
    }
}

/// Owners one after the other.
#[derive(Clone)]
pub(super) struct Owners<'a> {
    layers: &'a Layers,
    /// The numbers of those that are left.
    numbers: Range<usize>,
    /// Where the last one lies: the next one mostly lies right behind it.
    known: Stretch<'a>,
}

impl<'a> Owners<'a> {
    /// Where the next one lies.
    fn advance(&mut self) -> Option<(&'a Packed, usize)> {
        let index = self.numbers.next()?;
        if !self.known.numbers.contains(&index) {
            self.known = self.layers.stretch(index);
        }
        Some((self.known.packed, self.known.place(index)))
    }

    /// The next one's name, and its RRsets as they lie in memory.
    pub fn next_entry(&mut self) -> Option<(NameRef<'a>, &'a [u8])> {
        let (packed, number) = self.advance()?;
        Some((packed.name(number), packed.sets_entry(number)))
    }
}

impl<'a> Iterator for Owners<'a> {
    type Item = (NameRef<'a>, Sets<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (packed, number) = self.advance()?;
        Some((packed.name(number), packed.sets(number)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl ExactSizeIterator for Owners<'_> {}
