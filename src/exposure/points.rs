//! Points: what was told, whoever it was told to, and when last.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::note::Note;
use crate::prefetch::prefetch;
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Edition};
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

/// What was told, and when. In a cache line of its own: of many points each note waits for memory once.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Point {
    /// What.
    pub what: What,
    /// The greatest TTL that was told with it.
    pub ttl: Ttl,
    /// When it was told last, to anybody.
    pub last: Timestamp,
    /// How often; see [`Points::halve`].
    pub count: u64,
}

/// All points, in bounded memory.
#[derive(Debug)]
pub struct Points {
    points: Vec<Point>,
    /// Numbers of points plus one, by hash.
    index: Table,
    /// Numbers of points that were forgotten.
    free: Vec<u32>,
    /// How many there may be; one for each edition and region may come on top, up to as many again as [`SPARE`].
    most: usize,
    hasher: FixedState,
}

/// How many points may be there for what is not known in detail, beyond all others.
const SPARE: usize = 4096;
/// Octets that points, and the index, have room for from the beginning on: to lay them out anew takes a while, in which nothing is
/// folded, and room that is not needed yet takes no memory.
const AT_FIRST: usize = 2 << 20;
const INDEXED: usize = AT_FIRST / INDEX_SIZE;
/// Octets of the index that a point takes, about.
const INDEX_SIZE: usize = 16;
/// Octets that a point takes, its share of the index included.
pub const POINT_SIZE: usize = size_of::<Point>() + INDEX_SIZE;

impl Points {
    /// Without any; room for at most so many. `seed` is drawn at random, so that nobody can make points that collide.
    pub fn new(most: usize, seed: u64) -> Points {
        let hasher = FixedState::with_seed(seed);
        let most = most.min(1 << 31);
        Points {
            points: Vec::with_capacity(most.min(AT_FIRST.div_ceil(size_of::<Point>()))),
            index: Table::with_room_for(most.min(INDEXED)),
            free: Vec::new(),
            most,
            hasher,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.points.len() - self.free.len()
    }

    /// Whether the index has room for so many more.
    pub(super) fn has_room_for(&self, points: usize) -> bool {
        self.index.has_room_for(points)
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
    pub fn iter(&self) -> impl Iterator<Item = (PointId, &Point)> {
        let numbered = (0..).map(PointId).zip(&self.points);
        numbered.filter(|(_, point)| point.is_known())
    }

    /// One of them.
    pub fn get(&self, id: PointId) -> Option<&Point> {
        self.points.get(id.0 as usize).filter(|point| point.is_known())
    }

    /// The hash of what a note is about.
    pub(super) fn hash_of(&self, note: &Note) -> u64 {
        What::of(note).hash(&self.hasher)
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
        let what = What::of(note);
        let known = under.filter(|id| self.points[id.0 as usize].what == what);
        let id = known.or_else(|| self.find_or_add(what, hash)).or_else(|| {
            let coarse = What { question: None, ..what };
            self.find_or_add(coarse, coarse.hash(&self.hasher))
        })?;
        let point = &mut self.points[id.0 as usize];
        (point.ttl, point.last) = (point.ttl.max(note.ttl), point.last.max(note.at));
        point.count += 1;
        Some(id)
    }

    /// Puts in what was known before a restart.
    pub(super) fn restore(&mut self, point: Point) -> Option<PointId> {
        let id = self.find_or_add(point.what, point.what.hash(&self.hasher))?;
        let known = &mut self.points[id.0 as usize];
        (known.ttl, known.last) = (known.ttl.max(point.ttl), known.last.max(point.last));
        known.count += point.count;
        Some(id)
    }

    #[inline]
    fn find_or_add(&mut self, what: What, hash: u64) -> Option<PointId> {
        if let Some(number) = self.index.find(hash, |number| self.points[number as usize - 1].what == what) {
            return Some(PointId(number - 1));
        }
        let most = if what.question.is_none() { self.most + SPARE } else { self.most };
        if self.len() >= most {
            return None;
        }
        let point = Point { what, ttl: Ttl::ZERO, last: Timestamp(i64::MIN), count: 0 };
        let number = match self.free.pop() {
            Some(number) => {
                self.points[number as usize] = point;
                number
            }
            None => {
                self.points.push(point);
                self.points.len() as u32 - 1
            }
        };
        // The time makes it known: it is told right now.
        self.points[number as usize].last = Timestamp(i64::MIN + 1);
        if self.index.is_full() {
            self.build_index(self.len());
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
            if let Some(point) = self.points.get_mut(id.0 as usize)
                && point.is_known()
            {
                point.last = Timestamp(i64::MIN);
                self.free.push(id.0);
            }
        }
        if !ids.is_empty() {
            self.build_index(self.len());
        }
    }

    /// Builds the index anew, with room for so many, and for those that it has room for from the beginning on.
    fn build_index(&mut self, most: usize) {
        let known = (1..).zip(&self.points).filter(|(_, point)| point.is_known());
        self.index.refill(
            most.max(self.most.min(INDEXED)),
            known.map(|(number, point)| (point.what.hash(&self.hasher), number)),
        );
    }
}

impl Point {
    /// Until when a cache that obeys TTLs may hold it.
    pub fn held_until(&self) -> Timestamp {
        self.last.after(self.ttl.duration())
    }

    fn is_known(&self) -> bool {
        self.last > Timestamp(i64::MIN)
    }
}

impl What {
    fn of(note: &Note) -> What {
        What { edition: note.edition, region: note.region, question: Some((note.decided, note.rtype)) }
    }

    fn hash(&self, hasher: &FixedState) -> u64 {
        let What { edition, region, question } = *self;
        let (rule, name, rtype) = question.map_or((4, 0, 0), |(by, rtype)| (by.rule as u64, by.name, rtype.0));
        let rest = u64::from(edition.0) << 32 | u64::from(region.0) << 16 | u64::from(rtype);
        hasher.hash_one((name, rest ^ rule << 61))
    }
}
