//! Numbers that nobody has to foresee: message ids, nonces, the jitter of questions.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of them, seeded by the system.
#[derive(Debug)]
pub(super) struct Chance {
    seed: RandomState,
    count: AtomicU64,
}

impl Chance {
    pub(super) fn new() -> Chance {
        Chance { seed: RandomState::new(), count: AtomicU64::new(0) }
    }

    /// The next number.
    pub(super) fn number(&self) -> u64 {
        self.seed.hash_one(self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// A number from 0 to below 1.
    pub(super) fn part(&self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}
