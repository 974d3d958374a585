//! Who was told what, on its way from who answers to who folds it.
//!
//! Each UDP worker has a ring of its own, which it writes to and whoever folds reads from: no lock, no allocation, no
//! system call. Other transports share one behind a lock, taken once the answer is written. A ring that is full loses no
//! knowledge of *when* something was told, only of what: see [`Noting::unnoted_until`].

use std::array;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::exposure::TOGETHER;
use crate::exposure::note::Note;
use crate::serving::told::Told;
use crate::time::Timestamp;

/// Notes that a worker may be ahead of who folds: a fifth of a second at 300,000 answers a second.
pub(super) const RING: usize = 1 << 16;
/// The same for all other transports together.
const SHARED_RING: usize = 1 << 14;
/// Words of a note.
const WORDS: usize = 4;

/// Notes on their way: one writes, one reads.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// How many were written, and how many read; both only grow.
    written: AtomicUsize,
    read: AtomicUsize,
    /// When something was told last for which there was no room.
    unnoted: AtomicI64,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, read) = (self.written.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        write!(f, "Ring ({} of {} notes)", written.wrapping_sub(read), self.capacity())
    }
}

impl Ring {
    fn new(capacity: usize) -> Ring {
        let words = (0..capacity.next_power_of_two() * WORDS).map(|_| AtomicU64::new(0)).collect();
        let (written, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ring { words, written, read, unnoted: AtomicI64::new(i64::MIN) }
    }

    fn capacity(&self) -> usize {
        self.words.len() / WORDS
    }

    /// How many notes wait, at least; for who writes them.
    pub(super) fn waiting(&self) -> usize {
        self.written.load(Ordering::Relaxed).wrapping_sub(self.read.load(Ordering::Acquire))
    }

    /// Where in the ring the next note goes.
    #[cfg(test)]
    pub(super) fn begins_at(&self) -> usize {
        self.written.load(Ordering::Relaxed) % self.capacity()
    }

    /// Begins at the front again if none wait: what is written next is in the cache of who writes. For who writes, while nobody
    /// reads.
    pub(super) fn rewind(&self) {
        if self.waiting() == 0 {
            self.written.store(0, Ordering::Relaxed);
            self.read.store(0, Ordering::Relaxed);
        }
    }

    fn slot(&self, number: usize) -> &[AtomicU64] {
        let at = (number & (self.capacity() - 1)) * WORDS;
        &self.words[at..at + WORDS]
    }

    /// Notes an answer; only one thread does at a time.
    pub(super) fn note(&self, told: &Told, at: Timestamp) {
        Note::of(told, at).for_each(|note| self.write(note.words(), at));
        if told.trail.is_longer {
            self.unnoted.fetch_max(at.0, Ordering::Release);
        }
    }

    /// Adds a note.
    fn write(&self, words: [u64; WORDS], at: Timestamp) {
        let written = self.written.load(Ordering::Relaxed);
        if written.wrapping_sub(self.read.load(Ordering::Acquire)) >= self.capacity() {
            self.unnoted.fetch_max(at.0, Ordering::Release);
            return;
        }
        for (slot, word) in self.slot(written).iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        self.written.store(written.wrapping_add(1), Ordering::Release);
    }

    /// Takes out what is there, at most `most`, in groups; how many that are. Only one thread does at a time.
    pub(super) fn read(&self, now: Timestamp, most: usize, mut take: impl FnMut(&[Note])) -> usize {
        let (read, written) = (self.read.load(Ordering::Relaxed), self.written.load(Ordering::Acquire));
        let count = written.wrapping_sub(read).min(most);
        for first in (0..count).step_by(TOGETHER) {
            // Of the last group some may not be written yet, or be written right now: they are cut off.
            let notes: [Note; TOGETHER] = array::from_fn(|number| {
                let slot = self.slot(read.wrapping_add(first + number));
                Note::from_words(array::from_fn(|word| slot[word].load(Ordering::Relaxed)), now)
            });
            let group = TOGETHER.min(count - first);
            self.read.store(read.wrapping_add(first + group), Ordering::Release);
            take(&notes[..group]);
        }
        count
    }
}

/// Takes down who was told what, for a set of listeners.
#[derive(Debug)]
pub struct Noting {
    rings: Mutex<Vec<Arc<Ring>>>,
    shared: Mutex<Arc<Ring>>,
}

impl Default for Noting {
    fn default() -> Noting {
        let shared = Arc::new(Ring::new(SHARED_RING));
        Noting { rings: Mutex::new(vec![Arc::clone(&shared)]), shared: Mutex::new(shared) }
    }
}

impl Noting {
    /// A ring for one worker.
    pub(super) fn ring(&self) -> Arc<Ring> {
        let ring = Arc::new(Ring::new(RING));
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&ring));
        ring
    }

    /// Notes an answer of a transport whose workers have no pen.
    pub(super) fn note(&self, told: Option<&Told>, at: Timestamp) {
        if let Some(told) = told {
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).note(told, at);
        }
    }

    /// Takes out what was noted, up to `most` of each worker, in groups; how many that are. Only one thread does.
    pub fn take(&self, now: Timestamp, most: usize, mut take: impl FnMut(&[Note])) -> usize {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        rings.iter().map(|ring| ring.read(now, most, &mut take)).sum()
    }

    /// Up to when something was told that there was no room to note; none if nothing was.
    pub fn unnoted_until(&self) -> Option<Timestamp> {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = rings.iter().map(|ring| ring.unnoted.load(Ordering::Acquire)).max();
        latest.filter(|at| *at > i64::MIN).map(Timestamp)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::net::ClientNet;
    use crate::rr::RrType;
    use crate::serving::regions::RegionId;
    use crate::serving::told::{Decided, Edition, Rule, Trail};
    use crate::time::Ttl;

    pub(in crate::serve) fn told(name: u64) -> Told {
        let mut trail = Trail::default();
        trail.enter(Edition(7), Decided { rule: Rule::Exact, name });
        Told {
            client: ClientNet::from_source([192, 0, 2, 1].into()),
            region: RegionId(1),
            trail,
            rtype: RrType::A,
            ttl: Ttl::new(300).unwrap(),
            proven: false,
        }
    }

    #[test]
    fn what_is_written_is_read_once_and_in_order() {
        let noting = Noting::default();
        let ring = noting.ring();
        let mut read = Vec::new();
        for round in 0..3 {
            (0..50_000).for_each(|number| ring.note(&told(round * 50_000 + number), Timestamp(2000)));
            noting.note(Some(&told(u64::MAX)), Timestamp(2000));
            noting.take(Timestamp(2000), usize::MAX, |notes| read.extend_from_slice(notes));
        }
        let names: Vec<u64> = read.iter().map(|note| note.decided.name).filter(|name| *name < u64::MAX).collect();
        assert!(names.iter().copied().eq(0..150_000));
        assert_eq!((read.len(), noting.unnoted_until()), (150_003, None));
        assert!(Note::of(&told(0), Timestamp(2000)).eq([read[1]]));
    }

    #[test]
    fn a_ring_that_was_read_begins_at_the_front_again() {
        let noting = Noting::default();
        let ring = noting.ring();
        let mut read = Vec::new();
        for (round, most) in (0u64..).zip([usize::MAX, 10, usize::MAX]) {
            (0..50).for_each(|number| ring.note(&told(round * 50 + number), Timestamp(2000)));
            noting.take(Timestamp(2000), most, |notes| read.extend_from_slice(notes));
            ring.rewind();
            // Not while some wait.
            assert_eq!((ring.begins_at(), ring.waiting()), if most < 50 { (50, 40) } else { (0, 0) });
        }
        assert!(read.iter().map(|note| note.decided.name).eq(0..150));
    }

    #[test]
    fn what_there_is_no_room_for_is_known_by_its_time() {
        let noting = Noting::default();
        let ring = noting.ring();
        (0..RING as i64 + 10).for_each(|at| ring.note(&told(1), Timestamp(at)));
        let mut read = Vec::new();
        noting.take(Timestamp(0), 100, |notes| read.extend_from_slice(notes));
        assert_eq!((read.len(), noting.unnoted_until()), (100, Some(Timestamp(RING as i64 + 9))));
        noting.take(Timestamp(0), usize::MAX, |notes| read.extend_from_slice(notes));
        assert_eq!(read.len(), RING);
    }

    /// A writer and a reader at once: nothing is lost, torn or told twice.
    #[test]
    fn one_writes_while_another_reads() {
        const COUNT: u64 = 300_000;
        let noting = Arc::new(Noting::default());
        let ring = noting.ring();
        let writer = std::thread::spawn(move || {
            for number in 0..COUNT {
                while ring.written.load(Ordering::Relaxed) - ring.read.load(Ordering::Relaxed) >= RING {
                    std::thread::yield_now();
                }
                ring.note(&told(number), Timestamp(number as i64));
            }
        });
        let mut read = Vec::new();
        while read.len() < COUNT as usize {
            noting.take(Timestamp(0), 1000, |notes| read.extend_from_slice(notes));
        }
        writer.join().unwrap();
        assert!((0..).zip(&read).all(|(at, note)| (note.decided.name, note.at) == (at as u64, Timestamp(at))));
        assert_eq!(noting.unnoted_until(), None);
    }
}
