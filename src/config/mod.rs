//! What an operator configures: `understudy.toml`, read into plain types with everything resolved.
//!
//! `page` knows where things stand in the text, `table` reads typed values, `read` knows the keys, `source` finds the
//! file. All that is wrong with a text is found in one run.

mod drill;
mod moves;
pub mod nearest;
mod networks;
mod page;
pub mod probe;
pub mod problem;
pub mod protocol;
mod read;
mod setup;
pub mod source;
mod table;
#[cfg(test)]
mod tests;
mod zone;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::exposure::Limits;
use crate::name::Name;
use crate::net::{Network, Region};
use crate::serve::dnstap;
use crate::serve::rrl::RateLimit;
use crate::time::Ttl;
use nearest::UnknownName;

pub use problem::{Problem, Problems};
pub(crate) use read::not_a_listener;
pub use read::read;
pub use setup::Keys;
pub use source::{Origin, Source, SourceError};

/// The region of everybody whom no other region holds.
pub const DEFAULT_REGION: &str = "default";
/// What the one site of a zone is called for which no site is configured.
pub const ONLY_SITE: &str = "main";

/// All that is configured.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Config {
    /// The configuration file, as its path was given; none where the command line says all.
    pub file: Option<PathBuf>,
    /// The directory that the paths of zone files start from: the configuration file's own.
    pub dir: PathBuf,
    /// Where state is kept: journal, texts, control socket; a path from the working directory. None: in memory, and
    /// there is no control socket.
    pub state_dir: Option<PathBuf>,
    /// Whether `$INCLUDE` may reach outside of `dir`, or of a zone file's own directory where that is elsewhere.
    pub include_outside: bool,
    /// How queries are taken in.
    pub server: Server,
    /// How much it is kept who was told what; none: it is not noted.
    pub exposures: Option<Limits>,
    /// Where queries and answers are shown; none: nowhere.
    pub dnstap: Option<dnstap::Settings>,
    /// How operators reach the daemon.
    pub control: Control,
    /// The regions in the order of the file; `default` is not among them.
    pub regions: Vec<Region>,
    /// The operators of resolvers, in the order of the file.
    pub resolvers: Vec<ResolverConfig>,
    /// The zone of canaries that they are asked for; none: resolvers are not probed.
    pub canary: Option<probe::CanaryConfig>,
    /// What is measured of them.
    pub probe: probe::ProbeConfig,
    /// Where drills are answered; port 0 is any free one.
    pub drill_listen: Vec<SocketAddr>,
    /// The zones in the order of the file.
    pub zones: Vec<ZoneConfig>,
}

/// How queries are taken in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Server {
    /// The addresses to listen on, for UDP and TCP alike; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// How many UDP workers there are for each address; none: one for each processor.
    pub workers: Option<NonZeroUsize>,
    /// The user to become once the sockets are bound.
    pub user: Option<String>,
    /// The group to become then; none: the user's own.
    pub group: Option<String>,
    /// The most octets of an answer over UDP (RFC 9715).
    pub udp_payload: u16,
    /// The limits of TCP.
    pub tcp: TcpLimits,
    /// Which server of several this is, told to who asks (NSID, `id.server`, `hostname.bind`); none: it isn't told.
    pub identity: Option<String>,
    /// Whether the version is told to who asks (`version.bind`, `version.server`).
    pub show_version: bool,
    /// DNS cookies.
    pub cookies: protocol::Cookies,
    /// Encrypted transports; none: there are none.
    pub encrypted: Option<protocol::Encrypted>,
    /// How answers over UDP are limited; none: they are not.
    pub rate_limit: Option<RateLimit>,
    /// Resolvers whose word is taken for which network a client is in (RFC 7871); of others the option is ignored.
    pub trusted_ecs: Vec<Network>,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5300)), SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 5300))],
            workers: None,
            user: None,
            group: None,
            udp_payload: 1232,
            tcp: TcpLimits::default(),
            identity: None,
            show_version: false,
            cookies: protocol::Cookies::default(),
            encrypted: None,
            rate_limit: None,
            trusted_ecs: Vec::new(),
        }
    }
}

/// The limits of TCP (RFC 7766 §6.2).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TcpLimits {
    /// The most connections at a time.
    pub connections: usize,
    /// The most connections at a time from one address.
    pub per_client: usize,
    /// How long a connection may be silent.
    pub idle: Duration,
    /// How long a client may take to receive an answer.
    pub write: Duration,
}

impl Default for TcpLimits {
    fn default() -> TcpLimits {
        TcpLimits { connections: 1024, per_client: 64, idle: Duration::from_secs(10), write: Duration::from_secs(10) }
    }
}

/// How operators reach the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Control {
    /// The group whose members may use the control socket; none: only the user of the daemon.
    pub group: Option<String>,
}

/// An operator of resolvers: all that they ask from changes sides together while a region moves in steps.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ResolverConfig {
    /// What operators call it.
    pub name: String,
    /// The networks that its resolvers ask from; none where nobody says so.
    pub networks: Vec<Network>,
    /// How it can be asked; none: it is not.
    pub asking: Option<crate::probe::ask::Asking>,
}

/// A zone, its sites, and who is answered from which.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ZoneConfig {
    /// The origin.
    pub name: Name,
    /// The text that all sites share, as its path is written; none where each site's file is a whole zone.
    pub file: Option<PathBuf>,
    /// The sites in the order of the file; at least one.
    pub sites: Vec<SiteConfig>,
    /// The most that negative answers are told to be kept.
    pub negative_ttl: Option<Ttl>,
    /// The most that any answer is told to be kept.
    pub max_ttl: Option<Ttl>,
    /// Names that may stop being answered; one with a leftmost `*` stands for all names below its parent.
    pub may_vanish: Vec<Name>,
    /// How much an edit may remove without being asked about.
    pub blast_radius: BlastRadius,
    /// How careful its moves are.
    pub policy: crate::failover::policy::Policy,
    /// How it is drilled; none: nobody has asked for that.
    pub drill: Option<crate::drill::Policy>,
    /// How many fresh names are kept ready for each lever.
    pub spare_levers: u16,
    /// Where its name servers are asked, instead of at the addresses that the zone has for them; none: at these.
    pub name_servers: Option<Vec<SocketAddr>>,
    /// For each region that is routed by itself, sites in order of preference; `default` is always there. Neither the
    /// regions nor the sites need be all of them.
    pub routing: BTreeMap<String, Vec<String>>,
}

/// A place that a zone can be answered from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SiteConfig {
    /// What operators call it.
    pub name: String,
    /// Its text, as its path is written: the RRsets that differ from the common ones, or a whole zone. None: the common
    /// text as it is.
    pub file: Option<PathBuf>,
}

/// How much an edit may remove: what goes beyond *both* limits has to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BlastRadius {
    /// The share of the zone's names, in percent.
    pub percent: u8,
    /// The number of names.
    pub names: u32,
}

impl Default for BlastRadius {
    fn default() -> BlastRadius {
        BlastRadius { percent: 10, names: 10 }
    }
}

impl Config {
    /// A configuration of nothing but defaults: no zones, state in memory.
    pub fn bare() -> Config {
        Config {
            exposures: Some(Limits::default()),
            dnstap: None,
            file: None,
            dir: ".".into(),
            state_dir: None,
            include_outside: false,
            server: Server::default(),
            control: Control::default(),
            regions: Vec::new(),
            resolvers: Vec::new(),
            canary: None,
            probe: probe::ProbeConfig::default(),
            drill_listen: drill::usual_listen(),
            zones: Vec::new(),
        }
    }

    /// A key and where it stands, as operators are told of it.
    pub fn place(&self, key: &str) -> String {
        self.file.as_ref().map_or_else(|| format!("`{key}`"), |file| format!("`{key}` in {}", file.display()))
    }

    /// The zone that an operator calls `name`, with or without the final dot.
    pub fn zone(&self, name: &str) -> Result<&ZoneConfig, UnknownName> {
        let wanted = Name::absolute(name).ok();
        self.zones
            .iter()
            .find(|zone| Some(&zone.name) == wanted.as_ref())
            .ok_or_else(|| UnknownName::new("zone", name, self.zones.iter().map(|zone| zone.name.as_ref().dotless())))
    }

    /// The region that an operator calls `name`; `default` is one.
    pub fn region(&self, name: &str) -> Result<&str, UnknownName> {
        let mut known = self.regions.iter().map(|region| region.name.as_str()).chain([DEFAULT_REGION]);
        known.clone().find(|known| *known == name).ok_or_else(|| UnknownName::new("region", name, known.by_ref()))
    }
}

impl ZoneConfig {
    /// A zone of one file and one site, with defaults for the rest.
    pub fn bare(name: Name, file: PathBuf) -> ZoneConfig {
        ZoneConfig {
            name,
            file: Some(file),
            sites: vec![SiteConfig { name: ONLY_SITE.into(), file: None }],
            negative_ttl: None,
            max_ttl: None,
            may_vanish: Vec::new(),
            blast_radius: BlastRadius::default(),
            policy: Default::default(),
            drill: None,
            spare_levers: 0,
            name_servers: None,
            routing: BTreeMap::from([(DEFAULT_REGION.into(), vec![ONLY_SITE.into()])]),
        }
    }

    /// The site that an operator calls `name`.
    pub fn site(&self, name: &str) -> Result<&SiteConfig, UnknownName> {
        self.sites
            .iter()
            .find(|site| site.name == name)
            .ok_or_else(|| UnknownName::new("site", name, self.sites.iter().map(|site| site.name.as_str())))
    }

    /// The sites of a region in order of preference; those of `default` if it is not routed by itself.
    pub fn preference(&self, region: &str) -> &[String] {
        self.routing.get(region).or_else(|| self.routing.get(DEFAULT_REGION)).map_or(&[], Vec::as_slice)
    }
}
