//! What queries are answered from: content chosen by routing.
//!
//! [`Serving`] is immutable; a change makes a new one, and the only way for it to get in front of clients is
//! [`crate::door`].

pub mod ahead;
pub mod asked;
pub mod chaos;
pub mod content;
pub mod cookie;
pub mod directory;
pub mod edns;
pub mod explain;
pub mod notes;
mod proof;
pub mod query;
pub mod ranges;
pub mod regions;
pub mod resolve;
pub mod respond;
pub mod routing;
mod subnet;
pub mod told;
pub mod tsig;
pub mod units;
mod variation;
mod view;
mod zone;

use std::sync::Arc;

use cookie::CookieSecret;
use directory::Directory;
use notes::Notes;
use ranges::Ranges;
use regions::Regions;
use told::Edition;
use units::Units;

use crate::name::NameRef;
use crate::snapshot::sought::{HashKey, Sought};

pub use routing::Routing;
pub use view::View;
pub use zone::ZoneServing;

/// All that queries are answered from: routing and verified content.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Counts every publication; it only grows.
    pub generation: u64,
    /// The key of the hash over names, the same for all snapshots.
    pub key: HashKey,
    /// How answers are given, whatever the zone.
    pub settings: Settings,
    /// The regions that clients are told apart by.
    pub regions: Arc<Regions>,
    /// Who changes sides together while a region moves in steps.
    pub units: Arc<Units>,
    notes: Arc<Notes>,
    /// The last edition that a zone was given.
    last_edition: Edition,
    zones: Vec<Arc<ZoneServing>>,
    directory: Arc<Directory>,
    /// Whether lookups wait for memory, so that it is worth while to look ahead further than the name itself: zones are too large
    /// for a processor's cache.
    is_far: bool,
}

/// What zones take in memory at the most, in octets, to be in the cache of any processor.
const AT_HAND: usize = 512 << 10;

/// How answers are given, whatever the zone.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The greatest answer over UDP, in octets; 1232 passes nearly everywhere without fragments.
    pub udp_payload: u16,
    /// How DNS cookies are made; none: they are ignored.
    pub cookies: Option<Cookies>,
    /// Which server of several this is, in 100 octets at most: NSID (RFC 5001), `id.server` and `hostname.bind`.
    pub identity: Option<Arc<str>>,
    /// What `version.bind` and `version.server` are answered with, in 255 octets at most.
    pub version: Option<Arc<str>>,
    /// Whose word is taken for which network a client is in (RFC 7871), by a number that is not 0; of others the option is
    /// ignored.
    pub trusted_subnets: Arc<Ranges>,
}

/// How DNS cookies are made.
#[derive(Clone, Copy, Debug)]
pub struct Cookies {
    /// What they are made with.
    pub secret: CookieSecret,
    /// Whether a client that knows cookies must show one of ours before it is answered over UDP (RFC 7873 §5.2.3).
    pub required: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        let trusted_subnets = Arc::default();
        Settings { udp_payload: 1232, cookies: None, identity: None, version: None, trusted_subnets }
    }
}

impl Serving {
    /// Nothing is served yet; the next publication is the one after `generation`.
    pub fn empty(generation: u64, key: HashKey, settings: Settings, regions: Regions) -> Serving {
        let directory = Arc::new(Directory::of(key, &[]));
        let (regions, units, notes) = (Arc::new(regions), Arc::default(), Arc::default());
        let (zones, last_edition) = (Vec::new(), Edition::default());
        Serving { generation, key, settings, regions, units, notes, last_edition, zones, directory, is_far: false }
    }

    /// The same with clients told apart by these units. Only as long as nothing is served: with other units clients
    /// would change sides.
    pub fn with_units(self, units: Units) -> Serving {
        if self.zones.is_empty() { Serving { units: Arc::new(units), ..self } } else { self }
    }

    /// Where the zones stand in their list: the same as long as none is added or goes.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// The zones, in no order that means anything.
    pub fn zones(&self) -> &[Arc<ZoneServing>] {
        &self.zones
    }

    /// The zone of this origin.
    pub fn zone(&self, origin: NameRef<'_>) -> Option<&ZoneServing> {
        let sought = Sought::new(self.key, origin);
        self.directory.find(&self.zones, &sought, 0).filter(|zone| zone.content.origin.as_ref() == origin)
    }

    /// The same as it was published before a restart.
    pub(crate) fn at_generation(&self, generation: u64) -> Serving {
        Serving { generation, ..self.clone() }
    }

    /// The same answers with other settings and notes.
    pub(crate) fn with_manner(&self, settings: Settings, notes: Notes) -> Serving {
        Serving { settings, notes: Arc::new(notes), ..self.clone() }
    }

    /// The same with some zones changed or added, one generation on. Private to the core: what it returns is no more
    /// than a candidate.
    pub(crate) fn with_zones(&self, zones: impl IntoIterator<Item = ZoneServing>) -> Serving {
        let mut next = Serving { generation: self.generation + 1, ..self.clone() };
        for mut zone in zones {
            // The directory knows the zones that were there before; new ones are behind them.
            let at = self.directory.position(&self.zones, zone.content.origin.as_ref(), self.key);
            zone.number_editions(at.map(|at| &*self.zones[at]), &mut next.last_edition);
            match at {
                Some(at) => next.zones[at] = Arc::new(zone),
                None => next.zones.push(Arc::new(zone)),
            }
        }
        if next.zones.len() > self.zones.len() {
            next.directory = Arc::new(Directory::of(next.key, &next.zones));
        }
        next.is_far = are_far(&next.zones);
        next
    }

    /// The same without one zone, one generation on.
    pub(crate) fn without_zone(&self, origin: NameRef<'_>) -> Serving {
        let mut next = Serving { generation: self.generation + 1, ..self.clone() };
        next.zones.retain(|zone| zone.content.origin.as_ref() != origin);
        next.directory = Arc::new(Directory::of(next.key, &next.zones));
        next.is_far = are_far(&next.zones);
        next
    }
}

/// Whether zones are too large for a processor's cache.
fn are_far(zones: &[Arc<ZoneServing>]) -> bool {
    let sites = zones.iter().flat_map(|zone| &zone.content.sites);
    sites.map(|site| site.snapshot.memory()).sum::<usize>() > AT_HAND
}

impl Default for Serving {
    /// Nothing is served: every query is refused.
    fn default() -> Serving {
        Serving::empty(0, HashKey::new([0; 16]), Settings::default(), Regions::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::{served, zone};
    use crate::serial::Serial;

    /// A zone grows and shrinks by reloads, where no zone is added.
    #[test]
    fn whether_lookups_wait_for_memory_is_known_of_what_is_served_now() {
        let of = |names: usize| {
            let text: String = (0..names).map(|name| format!("n{name} A 192.0.2.1\n")).collect();
            zone("x.example", &[("a", &text)], &[0], &[])
        };
        let small = served(vec![of(1)]);
        let reloaded = |before: &Serving, names| {
            let content = of(names).content;
            before.with_zones([ZoneServing::new(content, Routing::default(), Serial(2), None)])
        };
        let grown = reloaded(&small, 20_000);
        assert!(Arc::ptr_eq(small.directory(), grown.directory()), "no zone was added");
        assert_eq!([small.is_far, grown.is_far, reloaded(&grown, 1).is_far], [false, true, false]);
    }
}
