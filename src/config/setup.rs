//! From the configuration to the words of the driver.

use std::path::PathBuf;

use super::{Config, SiteConfig, ZoneConfig};
use crate::driver::setup::{Setup, SiteSpec, TextFile, ZoneSpec};
use crate::serving::Settings;
use crate::serving::content::{BlastRadius, Policy};

impl Config {
    /// What the configuration says of what is served.
    pub fn setup(&self) -> Setup {
        Setup {
            zones: self.zones.iter().map(|zone| self.spec(zone)).collect(),
            regions: self.regions.clone(),
            include_outside: self.include_outside,
            settings: Settings { udp_payload: self.server.udp_payload },
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
            routes: zone.routing.iter().filter_map(first).collect(),
        }
    }
}
