//! How fast a resolver is asked: others' resolvers are guests' rooms.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use super::chance::Chance;

/// After so many refusals or silences in a row a resolver is left alone.
const GIVE_UP: u32 = 8;
/// By so many doublings the pause between questions grows at most.
const MOST_DOUBLINGS: u32 = 6;
/// A part of a question in a second that load is counted in.
const UNITS: f64 = 1000.0;

/// Why no more questions are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The resolver refuses or is silent.
    #[error("{GIVE_UP} questions in a row were refused or not answered")]
    Unwilling,
    /// What may be asked in a day has been.
    #[error("the day's budget of questions is used up")]
    Budget,
}

/// How many questions may still be asked today, of one resolver.
#[derive(Debug)]
pub struct Budget(AtomicU64);

impl Budget {
    /// So many.
    pub fn new(questions: u64) -> Budget {
        Budget(AtomicU64::new(questions))
    }

    /// Takes one, if there is one.
    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The pace at which one resolver is asked.
#[derive(Debug)]
pub(super) struct Pace {
    gap: Duration,
    next: Mutex<Instant>,
    trouble: AtomicU32,
    budget: Budget,
    filling: Mutex<()>,
    load: Semaphore,
    whole_load: u32,
    chance: Chance,
}

impl Pace {
    /// At most so many questions in a second.
    pub(super) fn new(rate: u32, budget: Budget) -> Pace {
        let rate = rate.max(1);
        let whole_load = rate.saturating_mul(UNITS as u32);
        Pace {
            gap: Duration::from_secs(1) / rate,
            next: Mutex::new(Instant::now()),
            trouble: AtomicU32::new(0),
            budget,
            filling: Mutex::new(()),
            load: Semaphore::new(whole_load as usize),
            whole_load,
            chance: Chance::new(),
        }
    }

    /// The pause between two questions while all is well.
    pub(super) fn gap(&self) -> Duration {
        self.gap
    }

    /// How many questions may still be asked.
    pub(super) fn left(&self) -> u64 {
        self.budget.left()
    }

    pub(super) fn chance(&self) -> &Chance {
        &self.chance
    }

    /// Waits until questions that come so far apart are no more load than the resolver may have beside the others.
    pub(super) async fn load(&self, apart: Duration) -> Option<SemaphorePermit<'_>> {
        let units = (UNITS / apart.as_secs_f64().max(0.001)).ceil() as u32;
        self.load.acquire_many(units.clamp(1, self.whole_load)).await.ok()
    }

    /// Waits until nobody else puts answers into caches, which has to be done before a canary's turn.
    pub(super) async fn filling(&self) -> MutexGuard<'_, ()> {
        self.filling.lock().await
    }

    /// Waits until it is time for the next question.
    pub(super) async fn turn(&self) -> Result<(), Stopped> {
        let trouble = self.trouble.load(Ordering::Relaxed);
        if trouble >= GIVE_UP {
            return Err(Stopped::Unwilling);
        }
        if !self.budget.take() {
            return Err(Stopped::Budget);
        }
        // Not in step with anything else that asks every so often.
        let jitter = 0.8 + 0.4 * self.chance.part();
        let gap = self.gap.mul_f64(jitter) * (1 << trouble.min(MOST_DOUBLINGS));
        let at = {
            let mut next = self.next.lock().await;
            let at = (*next).max(Instant::now());
            *next = at + gap;
            at
        };
        sleep_until(at).await;
        Ok(())
    }

    /// Takes down whether the resolver answered.
    pub(super) fn answered(&self, well: bool) {
        if well {
            self.trouble.store(0, Ordering::Relaxed);
        } else {
            self.trouble.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn questions_keep_their_distance_and_end_in_time() {
        let pace = Pace::new(200, Budget::new(30));
        let began = Instant::now();
        for _ in 0..20 {
            pace.turn().await.unwrap();
        }
        // 19 gaps of 5 ms, each shorter by a fifth at most.
        assert!(began.elapsed() > Duration::from_millis(75), "{:?}", began.elapsed());
        (0..7).for_each(|_| pace.answered(false));
        let began = Instant::now();
        pace.turn().await.unwrap();
        pace.turn().await.unwrap();
        assert!(began.elapsed() > Duration::from_millis(64 * 4), "{:?}", began.elapsed());
        pace.answered(false);
        assert_eq!(pace.turn().await, Err(Stopped::Unwilling));
        pace.answered(true);
        for _ in 0..8 {
            pace.turn().await.unwrap();
        }
        assert_eq!((pace.turn().await, pace.left()), (Err(Stopped::Budget), 0));
    }
}
