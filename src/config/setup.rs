//! From the configuration to the words of the driver.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Config, ResolverConfig, SiteConfig, ZoneConfig};
use crate::driver::setup::{DrillListen, ResolverSpec, Setup, SiteSpec, TextFile, ZoneSpec};
use crate::net::Region;
use crate::serving::content::{BlastRadius, Policy};
use crate::serving::cookie::{CookieKeys, CookieSecret};
use crate::serving::ranges::Ranges;
use crate::serving::units::{UnitKey, Units};
use crate::serving::{Cookies, Settings};

fn resolver(resolver: &ResolverConfig) -> ResolverSpec {
    let ResolverConfig { name, networks, asking } = resolver;
    ResolverSpec { name: name.clone(), networks: networks.clone(), asking: asking.clone() }
}

/// Keys that outlive the process.
#[derive(Clone, Copy, Default)]
pub struct Keys {
    /// What the keys of cookies are made from.
    pub cookies: [u8; 16],
    /// The key of the hash that says which clients a move takes first.
    pub units: UnitKey,
}

impl Config {
    /// What the configuration says of what is served, with the keys that are kept.
    pub fn setup(&self, keys: Keys) -> Setup {
        Setup {
            zones: self.zones.iter().map(|zone| self.spec(zone)).collect(),
            regions: self.regions.clone(),
            units: Units::new(keys.units, &self.operators()),
            include_outside: self.include_outside,
            settings: self.settings(keys.cookies),
            resolvers: self.resolvers.iter().map(resolver).collect(),
            daily_questions: self.probe.daily_questions,
            exposures: self.exposures,
            drill_listen: DrillListen { addresses: self.drill_listen.clone(), place: self.place("drill.listen") },
        }
    }

    /// The operators of resolvers, each with the networks that they ask from.
    fn operators(&self) -> Vec<Region> {
        let region =
            |resolver: &ResolverConfig| Region { name: resolver.name.clone(), networks: resolver.networks.clone() };
        self.resolvers.iter().filter(|resolver| !resolver.networks.is_empty()).map(region).collect()
    }

    fn settings(&self, cookie_root: [u8; 16]) -> Settings {
        let server = &self.server;
        let cookies = &server.cookies;
        let secret = match cookies.secrets.first() {
            Some(&current) => CookieSecret::Shared(CookieKeys { current, previous: cookies.secrets.get(1).copied() }),
            None => CookieSecret::Rolled { root: cookie_root, every: cookies.rollover },
        };
        Settings {
            udp_payload: server.udp_payload,
            cookies: cookies.enabled.then_some(Cookies { secret, required: cookies.required }),
            identity: server.identity.as_deref().map(Into::into),
            trusted_subnets: Arc::new(Ranges::new(server.trusted_ecs.iter().map(|network| (*network, 1)))),
            version: server.show_version.then(|| concat!("understudy ", env!("CARGO_PKG_VERSION")).into()),
        }
    }

    fn spec(&self, zone: &ZoneConfig) -> ZoneSpec {
        let names = usize::try_from(zone.blast_radius.names).unwrap_or(usize::MAX);
        let first = |(region, sites): (&String, &Vec<String>)| Some((region.clone(), sites.first()?.clone()));
        let text = |file: &PathBuf| {
            let root = if self.dir.as_os_str().is_empty() { ".".into() } else { self.dir.clone() };
            TextFile { root, path: file.clone() }
        };
        let site = |site: &SiteConfig| SiteSpec { name: site.name.clone(), file: site.file.as_ref().map(text) };
        ZoneSpec {
            origin: zone.name.clone(),
            common: zone.file.as_ref().map(text),
            sites: zone.sites.iter().map(site).collect(),
            policy: Policy {
                negative_ttl: zone.negative_ttl,
                max_ttl: zone.max_ttl,
                may_vanish: zone.may_vanish.clone(),
                blast_radius: BlastRadius { percent: zone.blast_radius.percent, names },
            },
            moves: zone.policy.clone(),
            drill: zone.drill.clone(),
            spare_levers: zone.spare_levers,
            name_servers: zone.name_servers.clone(),
            routes: zone.routing.iter().filter_map(first).collect(),
        }
    }
}
