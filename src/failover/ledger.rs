//! How long caches may hold what they were given before it changed.

use std::collections::BTreeMap;

use super::names::RegionName;
use crate::time::{Timestamp, Ttl};

/// For each region, the greatest TTL of answers that are no longer given, and until when one may be held.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Ledger(BTreeMap<RegionName, Held>);

/// Answers that are no longer given and may still be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// The greatest TTL that one was given with.
    pub ttl: Ttl,
    /// Until when one may be held by a cache that obeys TTLs.
    pub until: Timestamp,
}

impl Ledger {
    /// Answers with this TTL were given up to `now`, and are no more.
    pub fn note(&mut self, region: &RegionName, ttl: Ttl, now: Timestamp) {
        let until = now.after(ttl.duration());
        let held = self.0.entry(region.clone()).or_insert(Held { ttl, until });
        (held.ttl, held.until) = (held.ttl.max(ttl), held.until.max(until));
    }

    /// Until when old answers may be held in a region; none if none are.
    pub fn until(&self, region: &RegionName) -> Option<Timestamp> {
        self.0.get(region).map(|held| held.until)
    }

    /// Until when old answers may be held in any of these regions; none if none are.
    pub fn until_all<'a>(&self, regions: impl IntoIterator<Item = &'a RegionName>) -> Option<Timestamp> {
        regions.into_iter().filter_map(|region| self.until(region)).max()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&RegionName, &Held)> {
        self.0.iter()
    }

    /// Strikes out what nobody can hold any more.
    pub fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, held| held.until > now);
    }

    /// Strikes out regions that there are no more.
    pub fn keep(&mut self, exists: impl Fn(&RegionName) -> bool) {
        self.0.retain(|region, _| exists(region));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_hold_counts_until_it_is_over() {
        let (mut ledger, region) = (Ledger::default(), RegionName::from("default"));
        ledger.note(&region, Ttl::new(300).unwrap(), Timestamp(1000));
        ledger.note(&region, Ttl::new(30).unwrap(), Timestamp(2000));
        assert_eq!(ledger.until(&region), Some(Timestamp(301_000)));
        ledger.note(&region, Ttl::new(30).unwrap(), Timestamp(300_000));
        assert_eq!(ledger.until(&region), Some(Timestamp(330_000)));
        ledger.expire(Timestamp(329_999));
        assert_eq!(ledger.iter().count(), 1);
        ledger.expire(Timestamp(330_000));
        assert_eq!(ledger.until(&region), None);
    }
}
