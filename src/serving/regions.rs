//! From a client to its region: the longest network that holds it.

use std::net::IpAddr;

use super::ranges::{Ranges, Span};
use crate::net::{ClientNet, Network, Region};

/// A region's number; 0 is `default`, everybody whom no region holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u16);

/// The name of the region of everybody else.
pub const DEFAULT: &str = "default";

/// All regions, ready to be asked for one client.
#[derive(Clone, Debug)]
pub struct Regions {
    names: Vec<String>,
    ranges: Ranges,
}

impl Default for Regions {
    /// Everybody is in the default region.
    fn default() -> Regions {
        Regions::new(&[])
    }
}

impl Regions {
    /// From the regions as they are configured. Where networks lie in one another, the longer prefix wins.
    pub fn new(regions: &[Region]) -> Regions {
        let names = std::iter::once(DEFAULT.to_owned()).chain(regions.iter().map(|region| region.name.clone()));
        Regions { names: names.collect(), ranges: Ranges::of_sets(regions) }
    }

    /// The region of a client.
    pub fn of(&self, client: ClientNet) -> RegionId {
        RegionId(self.ranges.find(client.0.address()))
    }

    /// The region of a client, and the addresses around it that are in the same.
    pub fn around(&self, client: ClientNet) -> (RegionId, Span) {
        let (region, span) = self.ranges.around(client.0.address());
        (RegionId(region), span)
    }

    /// The first address of a network that is in a region, if any is.
    pub fn first_within(&self, network: Network, region: RegionId) -> Option<IpAddr> {
        self.ranges.first_within(network, region.0)
    }

    /// The region of this name.
    pub fn named(&self, name: &str) -> Option<RegionId> {
        self.names.iter().position(|known| known == name).map(|at| RegionId(at as u16))
    }

    /// What operators call a region.
    pub fn name(&self, region: RegionId) -> &str {
        self.names.get(region.0 as usize).map_or(DEFAULT, String::as_str)
    }

    /// All regions, `default` first.
    pub fn iter(&self) -> impl Iterator<Item = (RegionId, &str)> {
        self.names.iter().enumerate().map(|(at, name)| (RegionId(at as u16), name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_network_decides() {
        let region = |name: &str, networks: &[&str]| Region {
            name: name.into(),
            networks: networks.iter().map(|n| n.parse().unwrap()).collect(),
        };
        let regions = Regions::new(&[
            region("inner", &["192.0.2.64/26", "2001:db8:e::/48", "0.0.0.0/32"]),
            region("outer", &["192.0.2.0/24", "2001:db8::/32", "255.255.255.255/32"]),
            region("twin", &["192.0.2.128/25"]),
        ]);
        for (client, name) in [
            ("192.0.2.63", "outer"),
            ("192.0.2.64", "inner"),
            ("192.0.2.127", "inner"),
            ("192.0.2.128", "twin"),
            ("192.0.2.255", "twin"),
            ("192.0.3.0", "default"),
            ("192.0.1.255", "default"),
            ("0.0.0.0", "inner"),
            ("0.0.0.1", "default"),
            ("255.255.255.255", "outer"),
            ("2001:db8:e::1", "inner"),
            ("2001:db8:f::1", "outer"),
            ("2001:db9::", "default"),
            ("::1", "default"),
        ] {
            let found = regions.of(ClientNet::from_source(client.parse().unwrap()));
            assert_eq!(regions.name(found), name, "{client}");
        }
        assert_eq!(regions.named("twin").map(|id| regions.name(id)), Some("twin"));
    }
}
