//! What queries are answered from: content chosen by routing.
//!
//! [`Serving`] is immutable; a change makes a new one, and the only way for it to get in front of clients is
//! [`crate::door`].

pub mod ahead;
pub mod chaos;
pub mod content;
pub mod cookie;
pub mod directory;
pub mod edns;
pub mod notes;
mod proof;
pub mod query;
pub mod regions;
pub mod resolve;
pub mod respond;
pub mod tsig;

use std::sync::Arc;

use content::{Content, SiteId};
use cookie::CookieSecret;
use directory::Directory;
use notes::Notes;
use regions::{RegionId, Regions};

use crate::name::NameRef;
use crate::net::ClientNet;
use crate::serial::Serial;
use crate::snapshot::Snapshot;
use crate::snapshot::answer::Scope;
use crate::snapshot::sought::{HashKey, Sought};
use crate::time::Ttl;

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
    notes: Arc<Notes>,
    zones: Vec<Arc<ZoneServing>>,
    directory: Arc<Directory>,
}

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
        Settings { udp_payload: 1232, cookies: None, identity: None, version: None }
    }
}

/// A zone as it is answered: its content, and which of it each region gets.
#[derive(Clone, Debug)]
pub struct ZoneServing {
    /// What it answers at each site.
    pub content: Arc<Content>,
    /// Which site each region is answered from.
    pub routing: Routing,
    /// The serial that all answers tell.
    pub serial: Serial,
}

/// For each region, the site that it is answered from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Routing {
    /// The site of each region, by [`RegionId`].
    pub sites: Vec<SiteId>,
    /// Counts the changes of the zone's routing; it only grows.
    pub revision: u64,
    /// The revision that last moved each region, by [`RegionId`]; a region behind the end was never moved.
    pub moved: Vec<u64>,
}

impl Routing {
    /// The revision that last moved a region: a plan that was made before it is none any more, even where the region is
    /// back at the site that it was at.
    pub fn moved(&self, region: RegionId) -> u64 {
        self.moved.get(region.0 as usize).copied().unwrap_or(0)
    }

    /// Answers a region from another site, as part of the change that makes `revision`.
    pub fn set(&mut self, region: RegionId, site: SiteId, revision: u64) {
        let at = region.0 as usize;
        let first = self.sites.first().copied().unwrap_or_default();
        self.sites.resize(self.sites.len().max(at + 1), first);
        self.moved.resize(self.moved.len().max(at + 1), 0);
        (self.sites[at], self.moved[at], self.revision) = (site, revision, self.revision.max(revision));
    }

    /// The site of a region; a region that the routing does not know is answered like everybody else.
    pub fn site(&self, region: RegionId) -> SiteId {
        self.sites.get(region.0 as usize).or(self.sites.first()).copied().unwrap_or_default()
    }

    /// The sites that some region is answered from, each once, in order of their number.
    pub fn sites_in_use(&self) -> Vec<SiteId> {
        let mut sites = self.sites.clone();
        sites.sort_unstable();
        sites.dedup();
        sites
    }
}

impl ZoneServing {
    /// What a region gets.
    pub fn snapshot(&self, region: RegionId) -> &Snapshot {
        &self.content.site(self.routing.site(region)).snapshot
    }

    /// What is true of all records that a region gets.
    fn scope(&self, snapshot: &Snapshot) -> Scope {
        let serial = (!snapshot.is_signed()).then_some(self.serial);
        Scope { origin_len: self.content.origin.as_ref().len(), serial, ttl_cap: Ttl::MAX }
    }
}

impl Serving {
    /// Nothing is served yet; the next publication is the one after `generation`.
    pub fn empty(generation: u64, key: HashKey, settings: Settings, regions: Regions) -> Serving {
        let directory = Arc::new(Directory::of(key, &[]));
        let (regions, notes) = (Arc::new(regions), Arc::default());
        Serving { generation, key, settings, regions, notes, zones: Vec::new(), directory }
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

    /// What `client` is answered from.
    pub fn view(&self, client: ClientNet) -> View<'_> {
        View { serving: self, region: self.regions.of(client) }
    }

    /// What clients of a region are answered from.
    pub fn view_of(&self, region: RegionId) -> View<'_> {
        View { serving: self, region }
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
        for zone in zones {
            // The directory knows the zones that were there before; new ones are behind them.
            match self.directory.position(&self.zones, zone.content.origin.as_ref(), self.key) {
                Some(at) => next.zones[at] = Arc::new(zone),
                None => next.zones.push(Arc::new(zone)),
            }
        }
        if next.zones.len() > self.zones.len() {
            next.directory = Arc::new(Directory::of(next.key, &next.zones));
        }
        next
    }

    /// The same without one zone, one generation on.
    pub(crate) fn without_zone(&self, origin: NameRef<'_>) -> Serving {
        let mut next = Serving { generation: self.generation + 1, ..self.clone() };
        next.zones.retain(|zone| zone.content.origin.as_ref() != origin);
        next.directory = Arc::new(Directory::of(next.key, &next.zones));
        next
    }
}

/// What one client is answered from.
#[derive(Clone, Copy)]
pub struct View<'s> {
    serving: &'s Serving,
    region: RegionId,
}

impl<'s> View<'s> {
    /// What the region gets of the zone that holds the name.
    pub fn content_of(self, name: NameRef<'_>) -> Option<&'s content::SiteContent> {
        let sought = Sought::new(self.serving.key, name);
        let zone = self.serving.directory.find(&self.serving.zones, &sought, 0)?;
        Some(zone.content.site(zone.routing.site(self.region)))
    }

    /// The key of the hash over names.
    pub fn key(self) -> HashKey {
        self.serving.key
    }

    /// Whether a zone of ours holds the name.
    pub fn serves(self, sought: &Sought) -> bool {
        self.serving.directory.find(&self.serving.zones, sought, 0).is_some()
    }
}

impl Default for Serving {
    /// Nothing is served: every query is refused.
    fn default() -> Serving {
        Serving::empty(0, HashKey::new([0; 16]), Settings::default(), Regions::default())
    }
}
