//! When renamed levers, and their fresh names, were told last. That is nobody's personal data, and is kept for as long as they
//! are there: one is retired once it was left alone for days, which is longer than it is kept who was told what.

use std::collections::BTreeMap;
use std::time::Duration;

use super::points::Point;
use crate::name::Name;
use crate::rename::apply::along;
use crate::serving::Serving;
use crate::time::Timestamp;

/// A name of a zone: the hash under the key of the serving.
type Key = (Name, u64);

/// What is known of when some names were told last.
#[derive(Clone, Debug, Default)]
pub(super) struct Levers(BTreeMap<Key, LastTold>);

/// When a name was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LastTold {
    /// Since when that is known, as far as all that was told is.
    pub since: Timestamp,
    /// When it was told last, of what is not noted with all else any more; none if it was not.
    pub last: Option<Timestamp>,
}

impl LastTold {
    /// What is known by two that know something of the same name.
    fn and(self, other: LastTold) -> LastTold {
        LastTold { since: self.since.min(other.since), last: self.last.max(other.last) }
    }
}

impl Levers {
    /// Which names these are, by what is served; of those that come in it is known since `since`, by zone, what was told.
    pub(super) fn of(&mut self, serving: &Serving, since: impl Fn(&Name) -> Timestamp) {
        let mut found = BTreeMap::new();
        for content in serving.zones().iter().map(|zone| &zone.content) {
            let names = content.overlays.renames.iter();
            let names = names.flat_map(|rename| [(&rename.lever, rename.whole), (&rename.fresh, rename.whole)]);
            for (name, whole) in names {
                let owners = content.sites.iter().flat_map(|site| along(&site.zone, name.as_ref(), whole));
                // A lever that is not answered any more is asked for still.
                let owners = owners.map(|owner| owner.name.to_name()).chain([name.clone()]);
                for owner in owners {
                    let key = (content.origin.clone(), serving.key.of(owner.as_ref().to_lowercase().as_ref()));
                    let new = || LastTold { since: since(&content.origin), last: None };
                    let known = self.0.get(&key).copied().unwrap_or_else(new);
                    found.insert(key, known);
                }
            }
        }
        self.0 = found;
    }

    /// A point of a zone is forgotten: what it knew of these names stays known.
    pub(super) fn keep(&mut self, zone: &Name, point: &Point) {
        if self.0.is_empty() {
            return;
        }
        // What had no room to be noted by its name may have been any.
        let (first, last) = point.what.question.map_or((0, u64::MAX), |(by, _)| (by.name, by.name));
        for told in self.0.range_mut((zone.clone(), first)..=(zone.clone(), last)).map(|(_, told)| told) {
            told.last = told.last.max(Some(point.last));
        }
    }

    /// What is known of a name of a zone, by its hash; none if it is not among them.
    pub(super) fn get(&self, zone: &Name, name: u64) -> Option<LastTold> {
        self.0.get(&(zone.clone(), name)).copied()
    }

    /// All of them, to be kept over a restart.
    pub(super) fn kept(&self) -> Vec<(Name, u64, LastTold)> {
        self.0.iter().map(|((zone, name), told)| (zone.clone(), *name, *told)).collect()
    }

    /// What was kept over a restart, of names that are still among them.
    pub(super) fn restore(&mut self, kept: &[(Name, u64, LastTold)]) {
        for (zone, name, told) in kept {
            if let Some(known) = self.0.get_mut(&(zone.clone(), *name)) {
                *known = known.and(*told);
            }
        }
    }
}

/// Since when it is known what was told, of what is forgotten after a time.
pub(super) fn known_since(since: Timestamp, retention: Duration, now: Timestamp) -> Timestamp {
    since.max(Timestamp(now.0.saturating_sub(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Weak;

    use super::*;
    use crate::exposure::networks::Networks;
    use crate::exposure::tests::{network, note};
    use crate::exposure::{EditionInfo, Exposures, Limits};
    use crate::serving::told::Edition;

    const DAY: i64 = 86_400_000;

    #[test]
    fn what_is_forgotten_stays_known_of_levers() {
        let zone = Name::absolute("wiki.example").unwrap();
        let limits = Limits { memory: 1 << 20, retention: Duration::from_secs(3600) };
        let mut exposures = Exposures::new(limits, 7, Timestamp(0));
        let told = LastTold { since: Timestamp(0), last: None };
        exposures.levers = Levers(BTreeMap::from([((zone.clone(), 9), told)]));
        let (site, since) = ("one".into(), Timestamp(0));
        let info = EditionInfo { zone: zone.clone(), site, since, snapshot: Weak::new() };
        exposures.editions.insert(Edition(1), info);
        exposures.fold(&[9, 8].map(|name| note(network([192, 0, 2, 1].into()), name, 1000)));
        let of = |exposures: &Exposures, name, days: i64| {
            let told = exposures.last_told(&zone, &BTreeSet::from([name]), Timestamp(days * DAY));
            (told.since, told.last)
        };
        assert_eq!(of(&exposures, 9, 0), (Timestamp(0), Some(Timestamp(1000))));
        for _ in 0..3 * Networks::parts() {
            exposures.sweep(Timestamp(8 * DAY), |_| false);
        }
        assert!(exposures.points().is_empty());
        assert_eq!(of(&exposures, 9, 8), (Timestamp(0), Some(Timestamp(1000))));
        let hour = 3_600_000;
        assert_eq!(of(&exposures, 8, 8), (Timestamp(8 * DAY - hour), None), "of others it is known for an hour");
        // And over a restart.
        let mut again =
            Levers(BTreeMap::from([((zone.clone(), 9), LastTold { since: Timestamp(8 * DAY), last: None })]));
        again.restore(&exposures.levers.kept());
        assert_eq!(again.get(&zone, 9), Some(LastTold { since: Timestamp(0), last: Some(Timestamp(1000)) }));
    }
}
