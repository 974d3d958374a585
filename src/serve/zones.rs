//! How many queries each zone got, as each worker counts them.
//!
//! A UDP worker counts by the numbers that zones have in what it answers from. Only when zones come or go, and these numbers
//! change, does it take a lock, and start anew. Threads that share their numbers take it for each query.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::name::Name;
use crate::serving::Serving;
use crate::serving::directory::Directory;

/// Queries by zone, of one worker.
#[derive(Debug, Default)]
pub struct ZoneCounts(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// What each number means now.
    names: Vec<Name>,
    current: Arc<[AtomicU64]>,
    /// What was counted under other numbers.
    past: BTreeMap<Name, u64>,
    /// Stands for the numbering.
    directory: Option<Arc<Directory>>,
}

/// What a UDP worker itself holds.
#[derive(Debug)]
pub(super) struct ZoneCounter {
    counts: Arc<ZoneCounts>,
    /// Stands for the numbering.
    directory: Option<Arc<Directory>>,
    current: Arc<[AtomicU64]>,
}

impl ZoneCounts {
    /// Adds these numbers to `total`.
    pub fn add_to(&self, total: &mut BTreeMap<Name, u64>) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, count) in &counts.past {
            *total.entry(name.clone()).or_default() += count;
        }
        for (name, count) in counts.now() {
            *total.entry(name.clone()).or_default() += count;
        }
    }
}

impl ZoneCounts {
    /// Counts a query for the zone of this number in `serving`; for several threads, and dearer than [`ZoneCounter::add`].
    pub fn add(&self, serving: &Serving, zone: usize) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.begin(serving);
        if let Some(count) = counts.current.get(zone) {
            count.fetch_add(1, Relaxed);
        }
    }
}

impl Counts {
    /// From here on zones have the numbers that they have in `serving`.
    fn begin(&mut self, serving: &Serving) {
        if self.directory.as_ref().is_some_and(|known| Arc::ptr_eq(known, serving.directory())) {
            return;
        }
        let done: Vec<(Name, u64)> = self.now().map(|(name, count)| (name.clone(), count)).collect();
        for (name, count) in done {
            *self.past.entry(name).or_default() += count;
        }
        self.names = serving.zones().iter().map(|zone| zone.content.origin.clone()).collect();
        self.current = serving.zones().iter().map(|_| AtomicU64::new(0)).collect();
        self.directory = Some(Arc::clone(serving.directory()));
    }

    fn now(&self) -> impl Iterator<Item = (&Name, u64)> {
        self.names.iter().zip(self.current.iter().map(|count| count.load(Relaxed))).filter(|(_, count)| *count > 0)
    }
}

impl ZoneCounter {
    /// For the one thread that writes `counts`.
    pub fn new(counts: Arc<ZoneCounts>) -> ZoneCounter {
        ZoneCounter { counts, directory: None, current: Arc::default() }
    }

    /// From here on zones have the numbers that they have in `serving`.
    pub fn begin(&mut self, serving: &Serving) {
        if self.directory.as_ref().is_some_and(|known| Arc::ptr_eq(known, serving.directory())) {
            return;
        }
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.begin(serving);
        self.current = Arc::clone(&counts.current);
        self.directory = Some(Arc::clone(serving.directory()));
    }

    /// Counts a query for the zone of this number.
    pub fn add(&self, zone: usize) {
        if let Some(count) = self.current.get(zone) {
            // Nobody else writes it.
            count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Region;
    use crate::serial::Serial;
    use crate::serving::Settings;
    use crate::serving::content::{Content, Policy};
    use crate::serving::regions::Regions;
    use crate::serving::{Routing, ZoneServing};
    use crate::snapshot::sought::HashKey;

    fn with(before: &Serving, origin: &str) -> Serving {
        let content = Content {
            origin: Name::absolute(origin).unwrap(),
            sites: Vec::new(),
            policy: Policy::default(),
            epoch: 0,
            overlays: Default::default(),
        };
        before.with_zones([ZoneServing::new(Arc::new(content), Routing::default(), Serial(1), None)])
    }

    #[test]
    fn counts_follow_their_zones_when_numbers_change() {
        let none: &[Region] = &[];
        let empty = Serving::empty(0, HashKey::new([1; 16]), Settings::default(), Regions::new(none));
        let first = with(&empty, "a.example");
        let both = with(&first, "b.example");
        let second = both.without_zone(Name::absolute("a.example").unwrap().as_ref());
        let counts = Arc::new(ZoneCounts::default());
        let mut counter = ZoneCounter::new(Arc::clone(&counts));
        let together = ZoneCounts::default();
        for (serving, zones) in [(&first, &[0, 0][..]), (&both, &[0, 1, 1]), (&second, &[0]), (&second, &[0, 9])] {
            counter.begin(serving);
            zones.iter().for_each(|zone| counter.add(*zone));
            zones.iter().for_each(|zone| together.add(serving, *zone));
        }
        for counts in [&*counts, &together] {
            let mut total = BTreeMap::from([(Name::absolute("a.example").unwrap(), 10)]);
            counts.add_to(&mut total);
            let total: Vec<_> = total.into_iter().map(|(name, count)| (name.to_string(), count)).collect();
            assert_eq!(total, [("a.example.".to_owned(), 13), ("b.example.".to_owned(), 4)]);
        }
    }
}
