//! From an address to whose it is: of networks that lie in one another the longest decides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::{Network, Region};

/// Address ranges that do not overlap, each with a number; 0 is everybody whom no network holds.
#[derive(Clone, Debug)]
pub struct Ranges {
    v4: Family,
    v6: Family,
}

/// Where each range begins, sorted, and whose it is; a range ends where the next begins. No two neighbours are the same
/// one's.
#[derive(Clone, Debug)]
struct Family(Vec<(u128, u16)>);

/// Addresses of one family, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: u128,
    last: u128,
}

impl Default for Ranges {
    /// Nobody is in any network.
    fn default() -> Ranges {
        Ranges::new([])
    }
}

impl Ranges {
    /// From networks and whose they are. Where networks lie in one another, the longer prefix wins.
    pub fn new(networks: impl IntoIterator<Item = (Network, u16)>) -> Ranges {
        let (v4, v6) = networks.into_iter().partition(|(network, _)| network.address().is_ipv4());
        Ranges { v4: Family::of(v4), v6: Family::of(v6) }
    }

    /// Over named sets of networks: the first one has number 1.
    pub fn of_sets(sets: &[Region]) -> Ranges {
        let numbered = sets.iter().zip(1..);
        Ranges::new(numbered.flat_map(|(set, whose)| set.networks.iter().map(move |network| (*network, whose))))
    }

    /// Whose an address is.
    #[inline]
    pub fn find(&self, address: IpAddr) -> u16 {
        let (family, address) = self.family(address);
        // As a rule nobody is told apart.
        if let [(_, all)] = family.0[..] { all } else { family.0[family.at(address)].1 }
    }

    /// Whose an address is, and which addresses around it are the same one's.
    pub fn around(&self, address: IpAddr) -> (u16, Span) {
        let (family, address) = self.family(address);
        let at = family.at(address);
        let (first, whose) = family.0[at];
        let last = family.0.get(at + 1).map_or(u128::MAX, |(next, _)| next - 1);
        (whose, Span { first, last })
    }

    /// The first address of a network that is this one's, if any is.
    pub fn first_within(&self, network: Network, whose: u16) -> Option<IpAddr> {
        let within = Span::of(network);
        let (family, first) = self.family(network.address());
        let own = family.0[family.at(first)..].iter().take_while(|(start, _)| *start <= within.last);
        let (start, _) = own.into_iter().find(|range| range.1 == whose)?;
        let number = first.max(*start);
        Some(if network.address().is_ipv4() {
            Ipv4Addr::from_bits(number as u32).into()
        } else {
            Ipv6Addr::from_bits(number).into()
        })
    }

    fn family(&self, address: IpAddr) -> (&Family, u128) {
        let family = if address.is_ipv4() { &self.v4 } else { &self.v6 };
        (family, number(address))
    }
}

impl Family {
    fn of(mut networks: Vec<(Network, u16)>) -> Family {
        // Shorter prefixes first: longer ones are laid over them.
        networks.sort_by_key(|(network, _)| network.prefix());
        let mut ranges = vec![(0, 0)];
        for (network, whose) in networks {
            let Span { first, last } = Span::of(network);
            let behind = ranges.iter().rev().find(|(start, _)| *start <= last.saturating_add(1)).map(|range| range.1);
            ranges.retain(|(start, _)| *start < first || *start > last);
            ranges.push((first, whose));
            // What the network was laid over goes on behind it, unless something begins there or it reaches the end.
            if let Some(next) = last.checked_add(1)
                && !ranges.iter().any(|(start, _)| *start == next)
                && let Some(behind) = behind
            {
                ranges.push((next, behind));
            }
            ranges.sort_by_key(|(start, _)| *start);
        }
        ranges.dedup_by_key(|range| range.1);
        Family(ranges)
    }

    /// The place of the range that holds the address: the first one begins at 0.
    fn at(&self, address: u128) -> usize {
        self.0.partition_point(|(start, _)| *start <= address).saturating_sub(1)
    }
}

impl Span {
    /// The addresses of a network.
    pub fn of(network: Network) -> Span {
        let bits = if network.address().is_ipv4() { 32 } else { 128 };
        let (first, host_bits) = (number(network.address()), bits - u32::from(network.prefix()));
        Span { first, last: first | 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1) }
    }

    /// The addresses that are in both.
    pub fn and(self, other: Span) -> Span {
        Span { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    /// The largest network around `address` all of whose addresses are in the span, as `address` is.
    pub fn largest_around(self, address: IpAddr) -> Network {
        let whole = |network: &Network| {
            let of = Span::of(*network);
            self.first <= of.first && of.last <= self.last
        };
        let longer = (0..=128).map_while(|prefix| Network::new(address, prefix));
        longer.into_iter().find(whole).unwrap_or(Network::host(address))
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(networks: &[(&str, u16)]) -> Ranges {
        Ranges::new(networks.iter().map(|(network, whose)| (network.parse().unwrap(), *whose)))
    }

    #[test]
    fn the_first_address_of_a_network_is_found_behind_networks_that_lie_in_it() {
        let ranges = ranges(&[
            ("10.0.0.0/8", 1),
            ("10.0.0.0/16", 2),
            ("10.1.0.0/16", 3),
            ("2001:db8::/32", 1),
            ("2001:db8::/33", 2),
            ("192.0.2.0/31", 4),
            ("192.0.2.0/32", 2),
            ("192.0.2.1/32", 3),
        ]);
        for (network, whose, first) in [
            ("10.0.0.0/8", 1, Some("10.2.0.0")),
            ("10.0.0.0/8", 3, Some("10.1.0.0")),
            ("10.0.0.0/16", 1, None),
            ("10.255.255.255/32", 1, Some("10.255.255.255")),
            ("2001:db8::/32", 1, Some("2001:db8:8000::")),
            ("192.0.2.0/31", 4, None),
            ("0.0.0.0/0", 0, Some("0.0.0.0")),
            ("10.0.0.0/7", 0, Some("11.0.0.0")),
            ("::/0", 2, Some("2001:db8::")),
        ] {
            let found = ranges.first_within(network.parse().unwrap(), whose);
            assert_eq!(found, first.map(|first| first.parse().unwrap()), "{network} of {whose}");
        }
    }

    #[test]
    fn the_longest_network_decides() {
        let ranges = ranges(&[
            ("192.0.2.64/26", 1),
            ("2001:db8:e::/48", 1),
            ("0.0.0.0/32", 1),
            ("192.0.2.0/24", 2),
            ("2001:db8::/32", 2),
            ("255.255.255.255/32", 2),
            ("192.0.2.128/25", 3),
        ]);
        for (address, whose) in [
            ("192.0.2.63", 2),
            ("192.0.2.64", 1),
            ("192.0.2.127", 1),
            ("192.0.2.128", 3),
            ("192.0.2.255", 3),
            ("192.0.3.0", 0),
            ("192.0.1.255", 0),
            ("0.0.0.0", 1),
            ("0.0.0.1", 0),
            ("255.255.255.255", 2),
            ("2001:db8:e::1", 1),
            ("2001:db8:f::1", 2),
            ("2001:db9::", 0),
            ("::1", 0),
        ] {
            assert_eq!(ranges.find(address.parse().unwrap()), whose, "{address}");
        }
    }

    #[test]
    fn a_network_is_as_large_as_what_surrounds_it_allows() {
        let ranges = ranges(&[("192.0.2.0/25", 1), ("192.0.2.128/25", 1), ("192.0.2.8/32", 2), ("2001:db8::/32", 1)]);
        for (address, network) in [
            // The two halves are one.
            ("192.0.2.200", "192.0.2.128/25"),
            ("192.0.2.9", "192.0.2.9/32"),
            ("192.0.2.8", "192.0.2.8/32"),
            ("192.0.2.15", "192.0.2.12/30"),
            ("10.0.0.1", "0.0.0.0/1"),
            ("2001:db8::1", "2001:db8::/32"),
            ("::1", "::/3"),
        ] {
            let address = address.parse().unwrap();
            let found = ranges.around(address).1.largest_around(address);
            assert_eq!(found.to_string(), network);
        }
        let address = "::1".parse().unwrap();
        assert_eq!(Ranges::default().around(address).1.largest_around(address).to_string(), "::/0");
    }

    proptest! {
        /// The ranges say what going through all networks says, and every address of a span is the same one's.
        #[test]
        fn spans_hold_what_is_one_ones(
            networks in proptest::collection::vec((0u32..64, 26u8..=32, 1u16..4), 0..12),
            probe in 0u32..64,
        ) {
            let at = |low: u32| IpAddr::from((0xC000_0200 + low).to_be_bytes());
            let mut networks: Vec<_> =
                networks.into_iter().map(|(low, prefix, whose)| (Network::new(at(low), prefix).unwrap(), whose)).collect();
            let mut seen = std::collections::HashSet::new();
            networks.retain(|(network, _)| seen.insert(*network));
            let ranges = Ranges::new(networks.iter().copied());
            let longest = |address| {
                let holding = networks.iter().filter(|(network, _)| network.contains(address));
                holding.max_by_key(|(network, _)| network.prefix()).map_or(0, |(_, whose)| *whose)
            };
            for low in 0..64 {
                prop_assert_eq!(ranges.find(at(low)), longest(at(low)));
            }
            let (whose, span) = ranges.around(at(probe));
            let network = span.largest_around(at(probe));
            prop_assert!(network.contains(at(probe)));
            for low in (0..64).filter(|low| network.contains(at(*low))) {
                prop_assert_eq!(longest(at(low)), whose);
            }
            // One bit shorter, it would hold somebody else's.
            if network.prefix() > 26 {
                let wider = Network::new(at(probe), network.prefix() - 1).unwrap();
                prop_assert!((0..64).any(|low| wider.contains(at(low)) && longest(at(low)) != whose));
            }
        }
    }
}
