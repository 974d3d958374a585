//! What the configuration says, in the words of the core.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::exposure::Limits;
use crate::name::Name;
use crate::net::{Network, Region};
use crate::probe::ask::Asking;
use crate::serving::Settings;
use crate::serving::content::{Content, Policy};
use crate::serving::units::Units;

/// All that is configured about what is served.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The zones, in the order of the configuration.
    pub zones: Vec<ZoneSpec>,
    /// The regions, in the order of the configuration.
    pub regions: Vec<Region>,
    /// Who changes sides together while a region moves in steps.
    pub units: Units,
    /// Whether texts may include files from outside of their directory.
    pub include_outside: bool,
    /// How answers are given, whatever the zone.
    pub settings: Settings,
    /// The resolvers that are known by name.
    pub resolvers: Vec<ResolverSpec>,
    /// The most questions to one resolver in a day.
    pub daily_questions: u64,
    /// How much it is kept who was told what; none: it is not noted.
    pub exposures: Option<Limits>,
    /// Where drills are answered.
    pub drill_listen: DrillListen,
}

/// Where drills are answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrillListen {
    /// The addresses; port 0 is any free one.
    pub addresses: Vec<SocketAddr>,
    /// Where that is configured, as operators are told of it.
    pub place: String,
}

/// A resolver as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverSpec {
    /// What operators call it.
    pub name: String,
    /// Where it asks from, as far as that is configured.
    pub networks: Vec<Network>,
    /// Where and how fast it is asked; none: it is not.
    pub asking: Option<Asking>,
}

/// A zone as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSpec {
    /// The origin.
    pub origin: Name,
    /// The text that all sites share.
    pub common: Option<TextFile>,
    /// The sites, in the order of the configuration.
    pub sites: Vec<SiteSpec>,
    /// What the operator wants of the zone.
    pub policy: Policy,
    /// How careful its moves are.
    pub moves: crate::failover::policy::Policy,
    /// How it is drilled; none: nobody has asked for that.
    pub drill: Option<crate::drill::Policy>,
    /// How many fresh names are kept ready for each lever.
    pub spare_levers: u16,
    /// Where its name servers are asked, instead of at the addresses that the zone has for them.
    pub name_servers: Option<Vec<SocketAddr>>,
    /// The site of each region at first; `default` is always among them.
    pub routes: BTreeMap<String, String>,
}

/// A site of a zone as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSpec {
    /// What operators call it.
    pub name: String,
    /// Its own text.
    pub file: Option<TextFile>,
}

/// Where a text lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// The directory that its inclusions may not leave.
    pub root: PathBuf,
    /// The path from there.
    pub path: PathBuf,
}

impl ZoneSpec {
    /// A zone that is served and not configured: nothing is known of its files.
    pub fn unconfigured(content: &Content) -> ZoneSpec {
        let sites = content.sites.iter().map(|site| SiteSpec { name: site.name.clone(), file: None });
        ZoneSpec {
            origin: content.origin.clone(),
            common: None,
            sites: sites.collect(),
            policy: content.policy.clone(),
            moves: crate::failover::policy::Policy::default(),
            drill: None,
            spare_levers: 0,
            name_servers: None,
            routes: BTreeMap::new(),
        }
    }
}

impl Setup {
    /// The zone of this origin.
    pub fn zone(&self, origin: &Name) -> Option<&ZoneSpec> {
        self.zones.iter().find(|zone| zone.origin == *origin)
    }
}
