//! Networks: where clients ask from, and the regions that operators make of them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP prefix: an address whose bits behind the prefix length are zero.
// In whole words, without gaps: it goes through many hands for each query.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    family: Family,
    /// The address as a number.
    bits: u128,
    prefix: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u64)]
enum Family {
    V4,
    V6,
}

impl Network {
    /// The first `prefix` bits of `address`; none if the family has fewer bits.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Network> {
        let (host, prefix) = (Network::host(address), u64::from(prefix));
        (prefix <= host.prefix).then(|| Network { bits: host.masked(prefix), prefix, ..host })
    }

    /// The network of this one address.
    #[inline]
    pub fn host(address: IpAddr) -> Network {
        match address {
            IpAddr::V4(v4) => Network { family: Family::V4, bits: v4.to_bits().into(), prefix: 32 },
            IpAddr::V6(v6) => Network { family: Family::V6, bits: v6.to_bits(), prefix: 128 },
        }
    }

    /// The first address.
    #[inline]
    pub fn address(self) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from_bits(self.bits as u32).into(),
            Family::V6 => Ipv6Addr::from_bits(self.bits).into(),
        }
    }

    /// The prefix length in bits.
    pub fn prefix(self) -> u8 {
        self.prefix as u8
    }

    /// Whether `address` is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.covers(Network::host(address))
    }

    /// Whether all of `other` is in it.
    pub fn covers(self, other: Network) -> bool {
        self.family == other.family && self.prefix <= other.prefix && other.masked(self.prefix) == self.bits
    }

    /// The address with no bits set but the first `prefix`.
    fn masked(self, prefix: u64) -> u128 {
        let width = if self.family == Family::V4 { 32 } else { 128 };
        self.bits & u128::MAX.checked_shl(width - prefix as u32).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.prefix)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Network {
    type Err = String;

    /// `192.0.2.0/24`, or a lone address. Bits set behind the prefix length are refused: they are a slip more often
    /// than not.
    fn from_str(text: &str) -> Result<Network, String> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("`{text}` is not a network: write it as 192.0.2.0/24 or 2001:db8::/48"))?;
        let Some(prefix) = prefix else { return Ok(Network::host(address)) };
        let network = prefix.parse().ok().and_then(|prefix| Network::new(address, prefix)).ok_or_else(|| {
            format!(
                "`{text}`: the prefix length is not a number from 0 to {}",
                if address.is_ipv4() { 32 } else { 128 }
            )
        })?;
        if network.address() != address {
            return Err(format!("`{text}` has bits set behind its prefix length: did you mean `{network}`?"));
        }
        Ok(network)
    }
}

impl serde::Serialize for Network {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Network {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Network, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Where a query comes from: the address it was sent from, or the client subnet that a trusted resolver names
/// (RFC 7871).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNet(pub Network);

impl ClientNet {
    /// The client that sent a packet from `address`. An IPv4 address mapped into IPv6 counts as IPv4.
    #[inline]
    pub fn from_source(address: IpAddr) -> ClientNet {
        ClientNet(Network::host(address.to_canonical()))
    }
}

/// A named set of client networks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Region {
    /// What operators call it.
    pub name: String,
    /// Its networks; the longest one that holds a client decides.
    pub networks: Vec<Network>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_read_and_hold_what_they_say() {
        let europe: Network = "192.0.2.0/24".parse().unwrap();
        assert!(europe.contains("192.0.2.255".parse().unwrap()) && !europe.contains("192.0.3.0".parse().unwrap()));
        assert!("0.0.0.0/0".parse::<Network>().unwrap().covers(europe));
        assert!(!"::/0".parse::<Network>().unwrap().covers(europe));
        assert_eq!("2001:db8::1".parse::<Network>().unwrap().to_string(), "2001:db8::1/128");
        for wrong in ["192.0.2.1/24", "192.0.2.0/33", "192.0.2.0/", "here", "192.0.2/24"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn networks_are_sorted_by_family_address_and_prefix() {
        let sorted = ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/9", "255.0.0.0/8", "::/0", "::1/128", "2001:db8::/32"];
        let mut networks: Vec<Network> = sorted.iter().rev().map(|network| network.parse().unwrap()).collect();
        networks.sort();
        assert_eq!(networks.iter().map(Network::to_string).collect::<Vec<_>>(), sorted);
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_client() {
        assert_eq!(
            ClientNet::from_source("::ffff:192.0.2.1".parse().unwrap()),
            ClientNet::from_source("192.0.2.1".parse().unwrap())
        );
    }
}
