//! From the configuration to the words of the driver.

use super::{Config, ZoneConfig};
use crate::driver::setup::{Setup, SiteSpec, ZoneSpec};
use crate::serving::Settings;
use crate::serving::content::{BlastRadius, Policy};

impl Config {
    /// What the configuration says of what is served.
    pub fn setup(&self) -> Setup {
        Setup {
            zones: self.zones.iter().map(ZoneConfig::spec).collect(),
            regions: self.regions.clone(),
            root: self.dir.clone(),
            include_outside: self.include_outside,
            settings: Settings { udp_payload: self.server.udp_payload },
        }
    }
}

impl ZoneConfig {
    fn spec(&self) -> ZoneSpec {
        let names = usize::try_from(self.blast_radius.names).unwrap_or(usize::MAX);
        let first = |(region, sites): (&String, &Vec<String>)| Some((region.clone(), sites.first()?.clone()));
        ZoneSpec {
            origin: self.name.clone(),
            common: self.file.clone(),
            sites: self
                .sites
                .iter()
                .map(|site| SiteSpec { name: site.name.clone(), file: site.file.clone() })
                .collect(),
            policy: Policy {
                negative_ttl: self.negative_ttl,
                max_ttl: self.max_ttl,
                may_vanish: self.may_vanish.clone(),
                blast_radius: BlastRadius { percent: self.blast_radius.percent, names },
            },
            routes: self.routing.iter().filter_map(first).collect(),
        }
    }
}
