//! Folding notes into exposures: by who noted them, behind each batch of answers; what it can't fold at once, a thread does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::noted::{Noting, RING, Ring};
use crate::exposure::known::Known;
use crate::exposure::networks::{Networks, Told};
use crate::exposure::{Exposures, TOGETHER};
use crate::pages::in_small_pages;
use crate::serving::Serving;
use crate::serving::told::{Edition, Told as Answered};
use crate::time::Timestamp;

/// How long the thread waits: while there is work, and when there is none. Meanwhile a ring fills by a tenth at 300,000 answers
/// a second.
const WAIT: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(80));
/// How many notes of each worker are taken in at once; whoever wants to know something waits for no more than these.
const AT_ONCE: usize = 1 << 13;
/// How many notes a worker folds at a time at the most: some hundredths of a millisecond.
const BY_WORKER: usize = 256;
/// How often a little of what is old is forgotten: all is passed over in some minutes.
const SWEEP: Duration = Duration::from_secs(1);

/// Folds what is noted for a stage.
#[derive(Debug)]
pub struct Folding {
    noting: Arc<Noting>,
    kept: Mutex<Kept>,
    stop: AtomicBool,
}

/// What one worker notes with.
#[derive(Debug)]
pub(super) struct Pen {
    ring: Arc<Ring>,
    folding: Arc<Folding>,
}

#[derive(Debug)]
struct Kept {
    exposures: Exposures,
    /// What is answered from now, by edition.
    in_force: Vec<Edition>,
}

impl Folding {
    /// Starts the thread, which ends when nobody else holds this any more, with the exposures that `first` makes.
    pub fn start(first: impl FnOnce() -> Exposures) -> std::io::Result<Arc<Folding>> {
        let kept = Mutex::new(Kept { exposures: in_small_pages(first), in_force: Vec::new() });
        let folding = Arc::new(Folding { noting: Arc::default(), kept, stop: AtomicBool::new(false) });
        let weak = Arc::downgrade(&folding);
        thread::Builder::new().name("fold".into()).spawn(move || {
            let (mut wait, mut swept) = (WAIT.0, super::now());
            while let Some(folding) = weak.upgrade().filter(|folding| !folding.stop.load(Ordering::Acquire)) {
                let now = super::now();
                let sweeps = now.since(swept) >= SWEEP;
                swept = if sweeps { now } else { swept };
                let count = folding.turn(sweeps.then_some(now));
                drop(folding);
                if count >= AT_ONCE {
                    continue;
                }
                wait = if count > 0 { WAIT.0 } else { (wait * 2).min(WAIT.1) };
                thread::sleep(wait);
            }
        })?;
        Ok(folding)
    }

    /// What takes the notes down.
    pub fn noting(&self) -> &Arc<Noting> {
        &self.noting
    }

    /// For a worker of its own.
    pub(super) fn pen(self: &Arc<Folding>) -> Pen {
        Pen { ring: self.noting.ring(), folding: Arc::clone(self) }
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// What is served from now on; to be told before anybody is answered from it. No answer waits for what room is made here, so it
    /// may lie in large pages: each answer looks at the index in another place.
    pub fn published(&self, serving: &Serving) {
        let mut kept = self.lock();
        kept.exposures.published(serving, super::now());
        let zones = serving.zones().iter();
        kept.in_force = zones.flat_map(|zone| zone.editions().iter().copied()).collect();
        kept.in_force.sort_unstable();
    }

    /// Changes what is known: what is restored after a start.
    pub fn change<T>(&self, change: impl FnOnce(&mut Exposures) -> T) -> T {
        self.with(|kept| change(&mut kept.exposures))
    }

    /// Folds what was noted; how much that was.
    fn turn(&self, sweep: Option<Timestamp>) -> usize {
        self.with(|kept| {
            if let Some(now) = sweep {
                kept.exposures.sweep(now, |edition| kept.in_force.binary_search(&edition).is_ok());
            }
            kept.fold(&self.noting)
        })
    }

    /// Works with what is kept, alone. It lies in small pages: it grows while queries are answered, and a large page is waited for
    /// up to some ten milliseconds where a host has to give it back, for as long as it takes to fold a hundred thousand notes.
    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        in_small_pages(|| work(&mut self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pen {
    /// Notes an answer.
    pub(super) fn note(&self, told: &Answered, at: Timestamp) {
        self.ring.note(told, at);
    }

    /// Folds what it noted, once the answers are sent, while that is in the worker's cache: it costs less than to hand it over, be
    /// the worker ever so busy. Unless somebody else folds or looks just now, or room has to be made for it, which takes long: all
    /// that is left is the thread's.
    pub(super) fn fold(&self, now: Timestamp) {
        if self.ring.waiting() < TOGETHER {
            return;
        }
        let Ok(mut kept) = self.folding.kept.try_lock() else { return };
        if kept.exposures.grows_quickly(BY_WORKER) {
            in_small_pages(|| self.ring.read(now, BY_WORKER, |notes| kept.exposures.fold(notes)));
            self.ring.rewind();
        }
    }
}

impl Known for Folding {
    /// Looks at what is known, everything included that was noted by now.
    fn look<T>(&self, look: impl FnOnce(&Exposures) -> T) -> T {
        self.with(|kept| {
            // As often as takes in all that was there when it began; more may come all the time.
            for _ in 0..=RING / AT_ONCE {
                if kept.fold(&self.noting) == 0 {
                    break;
                }
            }
            look(&kept.exposures)
        })
    }

    fn each_part(&self, mut look: impl FnMut(&Exposures, &mut dyn Iterator<Item = Told>)) {
        for number in 0..Networks::parts() {
            self.with(|kept| {
                // Who takes the lock so often has to do the work of the thread that hardly gets it.
                kept.fold(&self.noting);
                kept.exposures.look_at_part(number, &mut look);
            });
        }
    }
}

impl Kept {
    /// Takes in what was noted, or the first part of it; how much that was.
    fn fold(&mut self, noting: &Noting) -> usize {
        // Before the notes are taken: what had no room came before those that have.
        if let Some(at) = noting.unnoted_until() {
            self.exposures.unnoted(at);
        }
        noting.take(super::now(), AT_ONCE, |notes| self.exposures.fold(notes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposure::Limits;
    use crate::serve::noted::tests::told;

    /// Without the thread.
    fn alone(memory: usize) -> Arc<Folding> {
        let exposures = Exposures::new(Limits { memory, ..Limits::default() }, 7, Timestamp(0));
        let kept = Mutex::new(Kept { exposures, in_force: Vec::new() });
        Arc::new(Folding { noting: Arc::default(), kept, stop: AtomicBool::new(false) })
    }

    #[test]
    fn a_worker_folds_its_own_notes_some_at_a_time() {
        let folding = alone(128 << 20);
        let (pen, other) = (folding.pen(), folding.pen());
        let note =
            |pen: &Pen, names: std::ops::Range<u64>| names.for_each(|name| pen.note(&told(name), Timestamp(2000)));
        note(&other, 1000..1100);
        // Too few to be worth it.
        note(&pen, 0..31);
        pen.fold(Timestamp(2000));
        assert_eq!(pen.ring.waiting(), 31);
        note(&pen, 31..300);
        pen.fold(Timestamp(2000));
        assert_eq!((pen.ring.waiting(), other.ring.waiting()), (300 - BY_WORKER, 100));
        assert_eq!(folding.with(|kept| kept.exposures.points().len()), BY_WORKER);
        pen.fold(Timestamp(2000));
        assert_eq!(pen.ring.waiting(), 0);
        // What it writes next it has in its cache.
        assert_eq!(pen.ring.begins_at(), 0);
        assert_eq!(folding.look(|exposures| exposures.points().len()), 400);
    }

    #[test]
    fn a_worker_waits_for_nobody_and_lays_nothing_out_anew() {
        // Parts of more memory than that take long to grow.
        let (folding, large) = (alone(128 << 20), alone(1 << 30));
        for (folding, looks) in [(folding, true), (large, false)] {
            let pen = folding.pen();
            (0..100).for_each(|name| pen.note(&told(name), Timestamp(2000)));
            let hold = looks.then(|| folding.kept.lock().unwrap());
            pen.fold(Timestamp(2000));
            assert_eq!(pen.ring.waiting(), 100);
            drop(hold);
            assert_eq!(folding.turn(None), 100);
        }
    }

    /// Workers fold, the thread does, and somebody looks: each note is taken in once.
    #[test]
    fn nothing_is_lost_or_told_twice_whoever_folds() {
        const COUNT: u64 = 60_000;
        let folding = alone(128 << 20);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let pen = folding.pen();
                scope.spawn(move || {
                    for number in 0..COUNT {
                        pen.note(&told(number % 1000), Timestamp(2000));
                        if number % 32 == 31 {
                            pen.fold(Timestamp(2000));
                        }
                    }
                });
            }
            let told =
                || folding.look(|exposures| exposures.points().iter().map(|(_, point)| point.count).sum::<u64>());
            let mut before = 0;
            while before < 2 * COUNT {
                folding.turn(None);
                let now = told();
                assert!((before..=2 * COUNT).contains(&now), "{now} behind {before}");
                before = now;
            }
        });
        assert_eq!(folding.noting().unnoted_until(), None);
    }
}
