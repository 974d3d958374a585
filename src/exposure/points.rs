//! Points: what was told, whoever it was told to, and when last.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::note::Note;
use crate::prefetch::prefetch;
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Edition, Rule};
use crate::table::Table;
use crate::time::{Timestamp, Ttl};

/// A point's number; used again once the point was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointId(pub(super) u32);

/// What was told: a rule's answer to questions of a type, to one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// Of which edition.
    pub edition: Edition,
    /// To which region.
    pub region: RegionId,
    /// By which rule, and to questions of which type; none: something of the edition, it is not known what.
    pub question: Option<(Decided, RrType)>,
}

/// What was told, and when.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// What.
    pub what: What,
    /// The greatest TTL that was told with it.
    pub ttl: Ttl,
    /// When it was told last, to anybody.
    pub last: Timestamp,
    /// How often, up to 2³²−1; see [`Points::halve`].
    pub count: u64,
}

/// A point as it is kept: two in a cache line, so that a known one is waited for once, and a new one asks for little memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    name: u64,
    /// See [`Key`].
    rest: u64,
    /// When it was told last, above the three bits of how.
    when: i64,
    ttl: Ttl,
    count: u32,
}

/// What was told, in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    name: u64,
    /// The edition, the type and the region.
    rest: u64,
    how: How,
}

/// How it was told: one more than the number of the rule; another number where it is not known what was told.
type How = u8;
/// Of an entry that is free.
const FREE: How = 0;
/// Of one of which it is not known what was told.
const ANYHOW: How = 5;
const HOW_BITS: u32 = 3;

/// All points, in bounded memory.
#[derive(Debug)]
pub struct Points {
    points: Vec<Entry>,
    /// Numbers of points plus one, by hash.
    index: Table,
    /// Numbers of points that were forgotten.
    free: Vec<u32>,
    /// How many the index has room for in any case.
    expected: usize,
    /// How many there may be; one for each edition and region may come on top, up to as many again as [`SPARE`].
    most: usize,
    hasher: FixedState,
}

/// How many points may be there for what is not known in detail, beyond all others.
const SPARE: usize = 4096;
/// Octets that points have room for from the beginning on: room that is not needed yet takes no memory.
const AT_FIRST: usize = 2 << 20;
/// Points for which the index is laid out anew in less than a millisecond.
const QUICK: usize = 1 << 15;
/// Octets of the index that a point takes, about.
const INDEX_SIZE: usize = 16;
/// Octets that a point takes, its share of the index included.
pub const POINT_SIZE: usize = size_of::<Entry>() + INDEX_SIZE;

impl Points {
    /// Without any; room for at most so many. `seed` is drawn at random, so that nobody can make points that collide.
    pub fn new(most: usize, seed: u64) -> Points {
        let hasher = FixedState::with_seed(seed);
        let most = most.min(1 << 31);
        Points {
            points: Vec::with_capacity(most.min(AT_FIRST.div_ceil(size_of::<Entry>()))),
            index: Table::with_room_for(0),
            free: Vec::new(),
            expected: 0,
            most,
            hasher,
        }
    }

    /// Makes room for so many in the index, as far as there may be so many: to lay a large one out anew while they come takes long.
    pub(super) fn expect(&mut self, points: usize) {
        self.expected = points.min(self.most);
        if !self.index.has_room_for(self.expected.saturating_sub(self.index.len())) {
            self.build_index();
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.points.len() - self.free.len()
    }

    /// Whether so many more take no longer than a moment: the index has room for them, or is soon laid out anew.
    pub(super) fn grows_quickly(&self, points: usize) -> bool {
        self.index.has_room_for(points) || self.index.len() <= QUICK
    }

    /// Octets that the index takes.
    #[cfg(test)]
    pub(super) fn index_octets(&self) -> usize {
        self.index.memory()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (PointId, Point)> {
        let numbered = (0..).map(PointId).zip(&self.points);
        numbered.filter_map(|(id, entry)| entry.read().map(|point| (id, point)))
    }

    /// One of them.
    pub fn get(&self, id: PointId) -> Option<Point> {
        self.points.get(id.0 as usize)?.read()
    }

    /// The hash of what a note is about.
    pub(super) fn hash_of(&self, note: &Note) -> u64 {
        Key::of(&What::of(note)).hash(&self.hasher)
    }

    /// Has at hand where a search for a point of this hash begins.
    pub(super) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// The point that may have this hash.
    pub(super) fn under(&self, hash: u64) -> Option<PointId> {
        self.index.find(hash, |_| true).map(|number| PointId(number - 1))
    }

    /// Has a point at hand.
    pub(super) fn prefetch(&self, id: PointId) {
        prefetch(&self.points[id.0 as usize]);
    }

    /// Takes a note in, which may be about the point `under` its hash. None if there is no room even for what is not known in
    /// detail.
    pub(super) fn note(&mut self, note: &Note, hash: u64, under: Option<PointId>) -> Option<PointId> {
        let key = Key::of(&What::of(note));
        let known = under.filter(|id| self.points[id.0 as usize].is_of(key));
        let id = known.or_else(|| self.find_or_add(key, hash)).or_else(|| {
            let coarse = key.anyhow();
            self.find_or_add(coarse, coarse.hash(&self.hasher))
        })?;
        self.points[id.0 as usize].tell(note.at, note.ttl, 1);
        Some(id)
    }

    /// Puts in what was known before a restart.
    pub(super) fn restore(&mut self, point: &Point) -> Option<PointId> {
        let key = Key::of(&point.what);
        let id = self.find_or_add(key, key.hash(&self.hasher))?;
        self.points[id.0 as usize].tell(point.last, point.ttl, u32::try_from(point.count).unwrap_or(u32::MAX));
        Some(id)
    }

    #[inline]
    fn find_or_add(&mut self, key: Key, hash: u64) -> Option<PointId> {
        if let Some(number) = self.index.find(hash, |number| self.points[number as usize - 1].is_of(key)) {
            return Some(PointId(number - 1));
        }
        let most = if key.how == ANYHOW { self.most + SPARE } else { self.most };
        if self.len() >= most {
            return None;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.points[number as usize] = Entry::new(key);
                number
            }
            None => {
                self.points.push(Entry::new(key));
                self.points.len() as u32 - 1
            }
        };
        if self.index.is_full() {
            self.build_index();
        } else {
            self.index.insert(hash, number + 1);
        }
        Some(PointId(number))
    }

    /// Halves all counts: what was asked long ago counts for less and less.
    pub(super) fn halve(&mut self) {
        self.points.iter_mut().for_each(|point| point.count /= 2);
    }

    /// Forgets those of which nothing is to be known any more. Nothing may refer to them.
    pub(super) fn forget(&mut self, ids: &[PointId]) {
        for id in ids {
            if let Some(entry) = self.points.get_mut(id.0 as usize).filter(|entry| entry.how() != FREE) {
                entry.when = i64::from(FREE);
                self.free.push(id.0);
            }
        }
        if !ids.is_empty() {
            self.build_index();
        }
    }

    /// Builds the index anew, with room for all that are there, and for those that are expected.
    fn build_index(&mut self) {
        let known = (1..).zip(&self.points).filter(|(_, entry)| entry.how() != FREE);
        let known = known.map(|(number, entry)| (entry.key().hash(&self.hasher), number));
        self.index.refill(self.len().max(self.expected), known);
    }
}

impl Point {
    /// Until when a cache that obeys TTLs may hold it.
    pub fn held_until(&self) -> Timestamp {
        self.last.after(self.ttl.duration())
    }
}

impl What {
    fn of(note: &Note) -> What {
        What { edition: note.edition, region: note.region, question: Some((note.decided, note.rtype)) }
    }
}

impl Entry {
    /// One that was never told yet.
    fn new(Key { name, rest, how }: Key) -> Entry {
        Entry { name, rest, when: i64::MIN | i64::from(how), ttl: Ttl::ZERO, count: 0 }
    }

    fn how(&self) -> How {
        self.when as How & ((1 << HOW_BITS) - 1)
    }

    fn key(&self) -> Key {
        Key { name: self.name, rest: self.rest, how: self.how() }
    }

    fn is_of(&self, key: Key) -> bool {
        self.key() == key
    }

    fn tell(&mut self, at: Timestamp, ttl: Ttl, count: u32) {
        // The bits of how are the same in both.
        let when = at.0.clamp(i64::MIN >> HOW_BITS, i64::MAX >> HOW_BITS) << HOW_BITS | i64::from(self.how());
        (self.when, self.ttl) = (self.when.max(when), self.ttl.max(ttl));
        self.count = self.count.saturating_add(count);
    }

    fn read(&self) -> Option<Point> {
        let (what, last) = (self.key().what()?, Timestamp(self.when >> HOW_BITS));
        Some(Point { what, ttl: self.ttl, last, count: self.count.into() })
    }
}

impl Key {
    fn of(&What { edition, region, question }: &What) -> Key {
        let (how, name, rtype) =
            question.map_or((ANYHOW, 0, RrType(0)), |(by, rtype)| (by.rule as How + 1, by.name, rtype));
        let rest = u64::from(edition.0) << 32 | u64::from(rtype.0) << 16 | u64::from(region.0);
        Key { name, rest, how }
    }

    /// Something of the same edition and region, it is not known what.
    fn anyhow(self) -> Key {
        Key { name: 0, rest: self.rest & !(0xFFFF << 16), how: ANYHOW }
    }

    /// None of what is free.
    fn what(self) -> Option<What> {
        let rule = Rule::ALL.get(usize::from(self.how.checked_sub(1)?)).copied();
        let question = rule.map(|rule| (Decided { rule, name: self.name }, RrType((self.rest >> 16) as u16)));
        Some(What { edition: Edition((self.rest >> 32) as u32), region: RegionId(self.rest as u16), question })
    }

    fn hash(self, hasher: &FixedState) -> u64 {
        hasher.hash_one((self.name, self.rest ^ u64::from(self.how) << 61))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exposure::tests::note;

    prop_compose! {
        fn any_point()(
            name: u64, rule in 0usize..5, edition: u32, region: u16, rtype: u16, ttl in 0u32..1 << 31, last: i64, count: u32,
        ) -> Point {
            let question = Rule::ALL.get(rule).map(|rule| (Decided { rule: *rule, name }, RrType(rtype)));
            let what = What { edition: Edition(edition), region: RegionId(region), question };
            Point { what, ttl: Ttl::new(ttl).unwrap(), last: Timestamp(last >> HOW_BITS), count: count.into() }
        }
    }

    proptest! {
        #[test]
        fn a_point_is_the_same_however_it_is_kept(point in any_point(), other in any_point()) {
            let mut points = Points::new(100, 7);
            let ids = [points.restore(&point).unwrap(), points.restore(&other).unwrap()];
            for (id, point) in ids.into_iter().zip([point, other]).filter(|_| point.what != other.what) {
                let kept = points.get(id).unwrap();
                let fields = |p: &Point| (p.what, p.ttl, p.last, p.count, p.held_until());
                prop_assert_eq!(fields(&kept), fields(&point));
            }
        }
    }

    #[test]
    fn what_is_too_great_to_be_kept_is_kept_as_the_greatest() {
        let mut points = Points::new(100, 7);
        let what = What::of(&note(crate::exposure::tests::v4(1), 1, 0));
        for (last, count, kept) in [
            (i64::MIN, 0, (i64::MIN >> HOW_BITS, 0)),
            (i64::MAX, u64::MAX, (i64::MAX >> HOW_BITS, u32::MAX.into())),
            (0, 1, (i64::MAX >> HOW_BITS, u32::MAX.into())),
        ] {
            let id = points.restore(&Point { what, ttl: Ttl::ZERO, last: Timestamp(last), count }).unwrap();
            assert_eq!(points.get(id).map(|point| (point.last.0, point.count)), Some(kept));
        }
        assert_eq!(points.len(), 1);
    }

    #[test]
    fn a_large_index_is_no_work_for_a_moment() {
        let mut points = Points::new(usize::MAX, 7);
        let mut slow = Vec::new();
        for name in 0..200_000 {
            if !points.grows_quickly(1) {
                slow.push(points.len());
            }
            let note = note(crate::exposure::tests::v4(1), name, 0);
            points.note(&note, points.hash_of(&note), None).unwrap();
        }
        assert!(slow.iter().all(|len| *len > QUICK) && (1..5).contains(&slow.len()), "{slow:?}");
    }

    #[test]
    fn what_is_expected_needs_no_other_index() {
        let mut points = Points::new(100_000, 7);
        let fill = |points: &mut Points, names: std::ops::Range<u64>| {
            for name in names {
                let note = note(crate::exposure::tests::v4(1), name, 0);
                points.note(&note, points.hash_of(&note), None).unwrap();
            }
        };
        fill(&mut points, 0..1000);
        points.expect(60_000);
        let octets = points.index_octets();
        fill(&mut points, 1000..60_000);
        assert_eq!((points.len(), points.index_octets()), (60_000, octets));
        // Fewer are expected: what there is keeps its room. No more than there may be are ever expected.
        points.expect(10);
        assert_eq!(points.index_octets(), octets);
        points.expect(usize::MAX);
        assert!(points.index_octets() <= 100_000 * 24 + 64, "{}", points.index_octets());
        let one = note(crate::exposure::tests::v4(1), 7, 0);
        assert_eq!(points.under(points.hash_of(&one)), Some(PointId(7)));
    }
}
