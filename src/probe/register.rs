//! The queries that reached the canaries' server, for those who wait for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::canary::Arrival;

/// No more canaries than this are waited for at a time.
const MOST_CANARIES: usize = 16_384;
/// No more queries than this are kept for one canary.
const MOST_ARRIVALS: usize = 1024;

/// What arrived for the canaries that somebody waits for, by their nonces. Nothing is kept of others.
#[derive(Debug, Default)]
pub struct Register(Mutex<HashMap<u32, Vec<Arrival>>>);

impl Register {
    /// From now on keeps what arrives for the canary with this nonce; says whether there is room for one more.
    pub fn open(&self, nonce: u32) -> bool {
        let mut canaries = self.canaries();
        let free = canaries.len() < MOST_CANARIES && !canaries.contains_key(&nonce);
        if free {
            canaries.insert(nonce, Vec::new());
        }
        free
    }

    /// Takes down a query.
    pub fn note(&self, arrival: Arrival) {
        if let Some(arrivals) = self.canaries().get_mut(&arrival.canary.nonce)
            && arrivals.len() < MOST_ARRIVALS
        {
            arrivals.push(arrival);
        }
    }

    /// What arrived, and nothing more is kept from here on.
    pub fn close(&self, nonce: u32) -> Vec<Arrival> {
        self.canaries().remove(&nonce).unwrap_or_default()
    }

    fn canaries(&self) -> MutexGuard<'_, HashMap<u32, Vec<Arrival>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
