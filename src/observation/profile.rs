//! What was measured of a resolver, as a profile: what forecasts rest on.

use std::time::Duration;

use super::{Hold, Kind, Measured};
use crate::profile::{self, Caches, Keeping, Origin, Prefetch, Profile, Stale};
use crate::time::{Timestamp, Ttl};

/// As many caches are taken for the most where no limit could be told.
const UNLIMITED: u32 = u32::MAX;

impl Measured {
    /// The profile that was measured, at that time.
    ///
    /// Of unlike caches, the one that keeps answers longest counts, and of NXDOMAIN and NODATA what is kept longer: nobody
    /// is told that old answers are gone while somebody still gives them. Stale answers at once have no end that was seen.
    pub fn profile(&self, at: Timestamp) -> Profile {
        Profile {
            positive: Keeping { prefetch: self.fetches(), ..self.keeping(&[Kind::Positive]) },
            negative: self.keeping(&[Kind::NoName, Kind::NoData]),
            caches: self.caches.map_or(Caches::default(), |caches| Caches {
                least: caches.least,
                likely: caches.likely,
                most: caches.most.unwrap_or(UNLIMITED),
            }),
            source: Origin::Measured { at },
        }
    }

    fn keeping(&self, kinds: &[Kind]) -> Keeping {
        let holds = self.holds.iter().filter(|hold| kinds.contains(&hold.kind));
        let mut measured: Vec<profile::Measured> = holds.filter_map(point).collect();
        measured.sort_by_key(|point| (point.ttl, std::cmp::Reverse((point.hold, point.at_least))));
        measured.dedup_by_key(|point| point.ttl);
        let stale = self.stale_at_once.is_seen().then_some(Stale::ForEver);
        Keeping { measured, stale, ..Keeping::default() }
    }

    /// How long before their end answers are fetched again, and from which hold on that was seen.
    fn fetches(&self) -> Option<Prefetch> {
        let last = Ttl::new(self.prefetch_left?.ceil() as u32)?;
        let seen = self.holds.iter().filter(|hold| hold.kind == Kind::Positive && hold.in_advance > 0);
        Some(Prefetch::Seconds { last, from: Ttl::new(seen.map(|hold| hold.ttl).min()?)? })
    }
}

fn point(hold: &Hold) -> Option<profile::Measured> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let kept = hold.longest.unwrap_or(hold.hold);
    // Where it was fetched in advance, it was so because somebody asked; others have it to its end.
    let kept = if hold.in_advance > 0 { kept.max(f64::from(hold.ttl)) } else { kept };
    Some(profile::Measured {
        ttl: Ttl::new(hold.ttl)?,
        hold: seconds(kept)?,
        uncertainty: seconds(hold.uncertainty)?,
        at_least: hold.at_least,
    })
}
