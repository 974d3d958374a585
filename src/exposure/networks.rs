//! Which client networks were told a point, when last and how often: 16 octets each.
//!
//! The table is in parts, each of which grows by itself and has its own share of the room. A part that is full counts
//! networks together by shorter prefixes; one that is full of the shortest keeps no networks at all: then only the points say
//! what was told.

use super::count::Count;
use super::note::{Level, NotedNetwork};
use super::points::PointId;
use crate::prefetch::prefetch;
use crate::time::Timestamp;

/// Parts of the table; a network is always in the same one, however coarse it is counted.
const PARTS: usize = 256;
/// Entries that a part begins with.
const FEWEST: usize = 16;
/// Entries of a part that are laid out anew in a millisecond or two.
const QUICK: usize = 1 << 15;
/// Octets of an entry.
pub const ENTRY_SIZE: usize = size_of::<Entry>();

/// A network that was told a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The network.
    pub network: NotedNetwork,
    /// How coarse it is counted.
    pub level: Level,
    /// What it was told.
    pub point: PointId,
    /// When last, to the second, rounded up.
    pub last: Timestamp,
    /// About how often; see [`super::Exposures::sweep`].
    pub count: Count,
    /// Whether it was shown at least once that the source is not forged.
    pub proven: bool,
}

impl Told {
    /// As it is kept, with the number that its point is kept under.
    pub(super) fn octets(&self, place: u32) -> [u8; ENTRY_SIZE] {
        let Entry(first, second) = Entry::of(&Told { point: PointId(place), ..*self });
        let mut octets = [0; ENTRY_SIZE];
        octets[..8].copy_from_slice(&first.to_be_bytes());
        octets[8..].copy_from_slice(&second.to_be_bytes());
        octets
    }

    /// From [`Told::octets`]: what it was, and the number of its point.
    fn from_octets(octets: &[u8], level: Level) -> Option<(Told, u32)> {
        let half = |at: usize| octets.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
        let told = Entry(half(0)?, half(8)?).read(level)?;
        Some((told, told.point.0))
    }
}

/// Which networks were told what.
#[derive(Debug)]
pub struct Networks {
    parts: Vec<Part>,
    /// Entries that a part may have room for.
    most: usize,
    seed: u64,
    drawn: u64,
}

#[derive(Debug, Default)]
struct Part {
    entries: Vec<Entry>,
    used: usize,
    level: Level,
    /// Whether it keeps no networks any more.
    closed: bool,
}

/// Where a network that was told a point stands, or would stand, while its part counts as coarsely as this.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    part: usize,
    level: Level,
    /// The network, as coarse as it is counted there.
    network: NotedNetwork,
    point: PointId,
    hash: u64,
}

/// The network, whether it is proven and the count; the point and the seconds. All 0: free.
#[derive(Clone, Copy, Debug, Default)]
struct Entry(u64, u64);

const PROVEN: u64 = 1 << Count::BITS;
const NETWORK: u32 = Count::BITS + 1;

impl Networks {
    /// Without any; takes at most about so many octets. `seed` is drawn at random.
    pub fn new(octets: usize, seed: u64) -> Networks {
        let most = (octets / ENTRY_SIZE / PARTS).max(FEWEST);
        Networks { parts: (0..PARTS).map(|_| Part::default()).collect(), most, seed, drawn: seed | 1 }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.used).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether parts are so small that to lay one out anew takes less than a millisecond or two.
    pub(super) fn grows_quickly(&self) -> bool {
        self.most <= QUICK
    }

    /// Octets that the entries take.
    pub fn octets(&self) -> usize {
        self.parts.iter().map(|part| part.entries.capacity() * ENTRY_SIZE).sum()
    }

    /// How many parts of a thousand count networks by shorter prefixes, and how many keep none.
    pub fn coarsened(&self) -> [usize; 2] {
        let of = |what: fn(&Part) -> bool| self.parts.iter().filter(|part| what(part)).count() * 1000 / PARTS;
        [of(|part| part.level > Level::default() && !part.closed), of(|part| part.closed)]
    }

    /// Whether each network that was told anything is known by its own prefix.
    pub fn is_fine(&self) -> bool {
        self.parts.iter().all(|part| part.level == Level::default() && !part.closed)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Told> {
        self.parts.iter().flat_map(Part::iter)
    }

    /// What a network was told, or the wider one that it is counted with.
    pub fn of(&self, network: NotedNetwork) -> impl Iterator<Item = Told> {
        let number = self.part_of(network);
        let network = network.at_level(self.parts[number].level);
        self.part(number).filter(move |told| told.network == network)
    }

    /// What is in one part.
    pub(super) fn part(&self, number: usize) -> impl Iterator<Item = Told> {
        self.parts[number].iter()
    }

    /// How coarse a part counts networks; none: it keeps none.
    pub(super) fn level(&self, number: usize) -> Option<u8> {
        let part = &self.parts[number];
        (!part.closed).then(|| part.level.number())
    }

    /// Takes up a part as it was kept.
    pub(super) fn restore_part(
        &mut self,
        number: usize,
        level: Option<u8>,
        octets: &[u8],
        id: impl Fn(u32) -> Option<PointId>,
    ) {
        let Some(part) = self.parts.get_mut(number) else { return };
        let Some(level) = level.map(Level::numbered) else { return part.closed = true };
        part.level = level;
        for octets in octets.chunks_exact(ENTRY_SIZE) {
            let Some((mut told, place)) = Told::from_octets(octets, level) else { continue };
            let Some(point) = id(place) else { continue };
            told.point = point;
            // More than there is room for now makes it coarser, or closes it.
            self.add(number, told);
        }
    }

    /// Puts in an entry as it is.
    fn add(&mut self, number: usize, told: Told) {
        while !self.parts[number].closed {
            let network = told.network.at_level(self.parts[number].level);
            let hash = self.hash(network, told.point);
            match self.parts[number].find(hash, network, told.point) {
                Ok(known) => return self.parts[number].entries[known].merge(&told),
                Err(free) if !self.parts[number].is_full() => {
                    let part = &mut self.parts[number];
                    part.entries[free] = Entry::of(&Told { network, ..told });
                    part.used += 1;
                    return;
                }
                Err(_) => self.make_room(number),
            }
        }
    }

    /// Where a network that was told a point may stand; nowhere in a part that keeps none.
    pub(super) fn place(&self, network: NotedNetwork, point: PointId) -> Option<Place> {
        let part = self.part_of(network);
        (!self.parts[part].closed).then(|| self.place_in(part, network, point))
    }

    fn place_in(&self, part: usize, network: NotedNetwork, point: PointId) -> Place {
        let level = self.parts[part].level;
        let network = network.at_level(level);
        Place { part, level, network, point, hash: self.hash(network, point) }
    }

    /// The part that a network is in, however coarse it is counted.
    fn part_of(&self, network: NotedNetwork) -> usize {
        (mixed(network.at_level(Level::COARSEST).bits(), self.seed) >> 56) as usize % PARTS
    }

    fn hash(&self, network: NotedNetwork, point: PointId) -> u64 {
        mixed(network.bits() ^ u64::from(point.0) << 40 ^ u64::from(point.0) >> 24, self.seed.rotate_left(32))
    }

    /// Has at hand what stands there.
    pub(super) fn prefetch(&self, place: &Place) {
        let part = &self.parts[place.part];
        if let Some(entry) = part.entries.get(part.start(place.hash)) {
            prefetch(entry);
        }
    }

    /// Takes in that a network was told a point, which stands there.
    pub(super) fn note(&mut self, mut place: Place, at: Timestamp, proven: bool) {
        self.drawn = mixed(self.drawn, 0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        loop {
            let part = &self.parts[place.part];
            if part.closed {
                return;
            }
            // The part may have become coarser since the place was looked for.
            if part.level != place.level {
                place = self.place_in(place.part, place.network, place.point);
            }
            let Place { network, point, .. } = place;
            let part = &mut self.parts[place.part];
            match part.find(place.hash, network, point) {
                Ok(known) => return part.entries[known].tell(at, proven, self.drawn),
                Err(free) if !part.is_full() => {
                    part.entries[free] = Entry::new(network, point, at, proven);
                    part.used += 1;
                    return;
                }
                Err(_) => self.make_room(place.part),
            }
        }
    }

    /// Gives a part more room, or makes it coarser.
    fn make_room(&mut self, number: usize) {
        let part = &mut self.parts[number];
        let size = part.entries.len();
        if size < self.most {
            let size = (size * 2).clamp(FEWEST, self.most);
            return self.rebuild(number, size, |_| true);
        }
        match part.level.coarser() {
            Some(level) => {
                part.level = level;
                // What is the same network now gets together; with little gained, the next level is not far.
                self.rebuild(number, size, |_| true);
            }
            None => *part = Part { closed: true, level: part.level, ..Part::default() },
        }
    }

    /// Lays a part out anew, with what is to be kept.
    fn rebuild(&mut self, number: usize, size: usize, keep: impl Fn(&Told) -> bool) {
        let old = std::mem::take(&mut self.parts[number].entries);
        let level = self.parts[number].level;
        let mut part = Part { entries: vec![Entry::default(); size], used: 0, level, closed: false };
        for told in old.iter().filter_map(|entry| entry.read(level)).filter(keep) {
            let network = told.network.at_level(level);
            match part.find(self.hash(network, told.point), network, told.point) {
                Ok(known) => part.entries[known].merge(&told),
                Err(free) => {
                    part.entries[free] = Entry::of(&Told { network, ..told });
                    part.used += 1;
                }
            }
        }
        self.parts[number] = part;
    }

    /// How many parts there are to [sweep](Networks::sweep).
    pub const fn parts() -> usize {
        PARTS
    }

    /// Forgets what is not to be kept in one part, and halves the counts there if they are to be.
    pub(super) fn sweep(&mut self, number: usize, halve: bool, keep: impl Fn(&Told) -> bool) {
        let part = &mut self.parts[number];
        if halve {
            part.entries.iter_mut().for_each(Entry::halve);
        }
        let kept = part.iter().filter(|told| keep(told)).count();
        // A part that is empty may be as fine again as it can be.
        if kept == 0 {
            *part = Part::default();
        } else if kept < part.used {
            let size = (kept * 2).next_power_of_two().clamp(FEWEST, self.most).min(part.entries.len());
            let size = if kept * 8 > size * 7 { part.entries.len() } else { size };
            self.rebuild(number, size, keep);
        }
    }
}

impl Part {
    fn iter(&self) -> impl Iterator<Item = Told> {
        self.entries.iter().filter_map(|entry| entry.read(self.level))
    }

    /// Where to begin to look: anywhere in the table, whatever its size.
    fn start(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.entries.len() as u128) >> 64) as usize
    }

    /// Full is what is so nearly full that looking takes long.
    fn is_full(&self) -> bool {
        (self.used + 1) * 8 > self.entries.len() * 7
    }

    /// Where the entry stands, or would stand. A part without any entries has no such place, and is full.
    fn find(&self, hash: u64, network: NotedNetwork, point: PointId) -> Result<usize, usize> {
        let mut at = self.start(hash);
        for _ in 0..self.entries.len() {
            let entry = self.entries[at];
            if entry.is_free() {
                return Err(at);
            }
            if entry.is_of(network, point) {
                return Ok(at);
            }
            at = if at + 1 == self.entries.len() { 0 } else { at + 1 };
        }
        Err(0)
    }
}

impl Entry {
    fn new(network: NotedNetwork, point: PointId, at: Timestamp, proven: bool) -> Entry {
        let proven = if proven { PROVEN } else { 0 };
        let count = u64::from(Count::about(1).bits());
        Entry(network.bits() << NETWORK | proven | count, u64::from(point.0) << 32 | u64::from(seconds(at)))
    }

    fn of(told: &Told) -> Entry {
        let mut entry = Entry::new(told.network, told.point, told.last, told.proven);
        entry.set_count(told.count);
        entry
    }

    fn is_free(self) -> bool {
        self.0 == 0
    }

    fn is_of(self, network: NotedNetwork, point: PointId) -> bool {
        self.0 >> NETWORK == network.bits() && (self.1 >> 32) as u32 == point.0
    }

    fn read(&self, level: Level) -> Option<Told> {
        (!self.is_free()).then(|| Told {
            network: NotedNetwork::from_bits(self.0 >> NETWORK),
            level,
            point: PointId((self.1 >> 32) as u32),
            last: Timestamp((self.1 as u32 as i64) * 1000),
            count: self.count(),
            proven: self.0 & PROVEN != 0,
        })
    }

    fn count(&self) -> Count {
        Count::from_bits(self.0 as u16)
    }

    fn set_count(&mut self, count: Count) {
        self.0 = self.0 & !((1 << Count::BITS) - 1) | u64::from(count.bits());
    }

    fn halve(&mut self) {
        if !self.is_free() {
            self.set_count(self.count().halved());
        }
    }

    fn tell(&mut self, at: Timestamp, proven: bool, drawn: u64) {
        self.set_count(self.count().one_more(drawn));
        self.0 |= if proven { PROVEN } else { 0 };
        self.later(seconds(at));
    }

    fn merge(&mut self, told: &Told) {
        self.set_count(self.count().and(told.count));
        self.0 |= if told.proven { PROVEN } else { 0 };
        self.later(seconds(told.last));
    }

    fn later(&mut self, seconds: u32) {
        self.1 = self.1 >> 32 << 32 | u64::from(seconds.max(self.1 as u32));
    }
}

/// Seconds since 1970, rounded up: what is known of a time is never earlier than it was.
fn seconds(at: Timestamp) -> u32 {
    u32::try_from(at.0.saturating_add(999).div_euclid(1000).max(0)).unwrap_or(u32::MAX)
}

fn mixed(number: u64, seed: u64) -> u64 {
    let product = u128::from(number ^ seed) * 0x9E37_79B9_7F4A_7C15u128;
    (product as u64) ^ (product >> 64) as u64
}
