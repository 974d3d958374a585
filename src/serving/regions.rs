//! From a client to its region: the longest network that holds it.

use std::net::IpAddr;

use crate::net::{ClientNet, Network, Region};

/// A region's number; 0 is `default`, everybody whom no region holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u16);

/// The name of the region of everybody else.
pub const DEFAULT: &str = "default";

/// All regions, ready to be asked for one client: address ranges that do not overlap.
#[derive(Clone, Debug)]
pub struct Regions {
    names: Vec<String>,
    v4: Ranges,
    v6: Ranges,
}

/// Where each range begins, sorted, and whose it is; a range ends where the next begins.
#[derive(Clone, Debug, Default)]
struct Ranges(Vec<(u128, RegionId)>);

impl Default for Regions {
    /// Everybody is in the default region.
    fn default() -> Regions {
        Regions::new(&[])
    }
}

impl Regions {
    /// From the regions as they are configured. Where networks lie in one another, the longer prefix wins.
    pub fn new(regions: &[Region]) -> Regions {
        let mut v4 = Vec::new();
        let mut v6 = Vec::new();
        for (index, region) in regions.iter().enumerate() {
            for &network in &region.networks {
                let family = if network.address().is_ipv4() { &mut v4 } else { &mut v6 };
                family.push((network, RegionId(index as u16 + 1)));
            }
        }
        let names =
            std::iter::once(DEFAULT.to_owned()).chain(regions.iter().map(|region| region.name.clone())).collect();
        Regions { names, v4: Ranges::of(v4), v6: Ranges::of(v6) }
    }

    /// The region of a client.
    pub fn of(&self, client: ClientNet) -> RegionId {
        let (family, address) = match client.0.address() {
            IpAddr::V4(v4) => (&self.v4, u128::from(v4.to_bits())),
            IpAddr::V6(v6) => (&self.v6, v6.to_bits()),
        };
        family.find(address)
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

impl Ranges {
    fn of(mut networks: Vec<(Network, RegionId)>) -> Ranges {
        // Shorter prefixes first: longer ones are laid over them.
        networks.sort_by_key(|(network, _)| network.prefix());
        let mut ranges = vec![(0, RegionId::default())];
        for (network, region) in networks {
            let (first, last) = bounds(network);
            let behind = ranges.iter().rev().find(|(start, _)| *start <= last.saturating_add(1)).map(|range| range.1);
            ranges.retain(|(start, _)| *start < first || *start > last);
            ranges.push((first, region));
            // What the network was laid over goes on behind it, unless something begins there or it reaches the end.
            if let Some(next) = last.checked_add(1)
                && !ranges.iter().any(|(start, _)| *start == next)
                && let Some(behind) = behind
            {
                ranges.push((next, behind));
            }
            ranges.sort_by_key(|(start, _)| *start);
        }
        Ranges(ranges)
    }

    fn find(&self, address: u128) -> RegionId {
        self.0[..self.0.partition_point(|(start, _)| *start <= address)].last().map(|range| range.1).unwrap_or_default()
    }
}

fn bounds(network: Network) -> (u128, u128) {
    let (first, bits) = match network.address() {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let host_bits = bits - u32::from(network.prefix());
    (first, first | 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1))
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
