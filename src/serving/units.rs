//! Units: those who change sides together while a region moves in steps.
//!
//! Which side a unit is on follows from a keyed hash, so that nobody can choose it, and from the share that has moved: a
//! unit that is over stays there while the share grows. Units are of equal weight here, however much they ask.

use std::fmt;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use super::ranges::{Ranges, Span};
use crate::net::{ClientNet, Network, Region};
use crate::share::Share;

/// How long the prefix of a client network is that is a unit, in bits of IPv4 and of IPv6: the longest that networks
/// announce to each other, so that the addresses that one resolver asks from are rarely torn apart, and what resolvers
/// tell of their clients (RFC 7871 §11.1 says no more than that; for IPv6 it is what one customer may have).
pub const UNIT_PREFIX: [u8; 2] = [24, 48];

/// The key of the hash that says which side a unit is on. It outlives the process: with another one units would change
/// sides at a restart.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct UnitKey(pub [u8; 16]);

// No log may tell keys.
impl fmt::Debug for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnitKey")
    }
}

/// Tells units apart: operators whose networks are configured are one each, other clients are one for each network.
#[derive(Clone, Debug, Default)]
pub struct Units {
    key: UnitKey,
    operators: Ranges,
    names: Vec<String>,
    /// What each operator is known by: made of its name, so that it stays on its side when another one is added.
    marks: Vec<u64>,
}

/// Who changes sides together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit<'u> {
    /// The resolvers of this operator.
    Operator(&'u str),
    /// The clients in this network.
    Network(Network),
}

impl fmt::Display for Unit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Operator(name) => write!(f, "the resolvers of {name}"),
            Unit::Network(network) => write!(f, "{network}"),
        }
    }
}

impl Units {
    /// What proves, to somebody who has the key too, that we have it: in hexadecimal digits, for a text of their choice.
    pub fn proof(&self, text: &[u8]) -> [u8; 16] {
        const FRONT: &[u8] = b"understudy instance\0";
        let mut octets = [0; FRONT.len() + 64];
        let text = &text[..text.len().min(64)];
        octets[..FRONT.len()].copy_from_slice(FRONT);
        octets[FRONT.len()..][..text.len()].copy_from_slice(text);
        let hash = SipHasher24::new_with_key(&self.key.0).hash(&octets[..FRONT.len() + text.len()]);
        let mut digits = [0; 16];
        for (at, digit) in digits.iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(hash >> (60 - 4 * at)) as usize & 15];
        }
        digits
    }

    /// With the networks that operators of resolvers ask from; where they lie in one another, the longer prefix wins.
    pub fn new(key: UnitKey, operators: &[Region]) -> Units {
        let mark = |operator: &Region| SipHasher24::new_with_key(&key.0).hash(operator.name.as_bytes());
        let names = operators.iter().map(|operator| operator.name.clone()).collect();
        Units { key, operators: Ranges::of_sets(operators), names, marks: operators.iter().map(mark).collect() }
    }

    /// Whether a client's unit is among the share that has moved, in a move with this salt.
    pub fn has_moved(&self, client: ClientNet, salt: u64, share: Share) -> bool {
        self.position(client, salt) < u64::from(share.basis_points())
    }

    /// The share from which on a client's unit has moved, in basis points: 1 to 10,000.
    pub fn moves_at(&self, client: ClientNet, salt: u64) -> u16 {
        self.position(client, salt) as u16 + 1
    }

    /// Who changes sides together with a client.
    pub fn unit_of(&self, client: ClientNet) -> Unit<'_> {
        let operator = usize::from(self.operators.find(client.0.address()));
        match operator.checked_sub(1).and_then(|at| self.names.get(at)) {
            Some(name) => Unit::Operator(name),
            None => Unit::Network(unit_network(client)),
        }
    }

    /// Where a client's unit stands in a move with this salt, in basis points below 10,000: it goes over when the share
    /// rises above that.
    fn position(&self, client: ClientNet, salt: u64) -> u64 {
        let mut octets = [0; 25];
        octets[..8].copy_from_slice(&salt.to_be_bytes());
        let operator = usize::from(self.operators.find(client.0.address()));
        match operator.checked_sub(1).and_then(|at| self.marks.get(at)) {
            Some(mark) => {
                octets[8] = 1;
                octets[9..17].copy_from_slice(&mark.to_be_bytes());
            }
            None => match unit_network(client).address() {
                IpAddr::V4(v4) => {
                    octets[8] = 4;
                    octets[9..13].copy_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    octets[8] = 6;
                    octets[9..].copy_from_slice(&v6.octets());
                }
            },
        }
        SipHasher24::new_with_key(&self.key.0).hash(&octets) % u64::from(Share::ALL.basis_points())
    }

    /// The addresses around a client that are of the same unit.
    pub fn around(&self, client: ClientNet) -> Span {
        let (operator, span) = self.operators.around(client.0.address());
        if operator > 0 { span } else { span.and(Span::of(unit_network(client))) }
    }
}

/// The network that is a client's unit. A client subnet that is larger than that counts as its first unit: how far the
/// answer is good is told in the scope.
fn unit_network(client: ClientNet) -> Network {
    let address = client.0.address();
    let [v4, v6] = UNIT_PREFIX;
    Network::new(address, if address.is_ipv4() { v4 } else { v6 }).unwrap_or(client.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn client(address: impl Into<IpAddr>) -> ClientNet {
        ClientNet::from_source(address.into())
    }

    fn operators() -> Vec<Region> {
        let operator = |name: &str, networks: &[&str]| Region {
            name: name.into(),
            networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
        };
        vec![operator("quad", &["9.9.0.0/16", "2620:fe::/48"]), operator("one", &["9.9.7.0/24", "1.1.1.0/24"])]
    }

    proptest! {
        /// While the share grows nobody goes back; with nothing moved nobody is over, with all moved everybody is.
        #[test]
        fn no_unit_goes_back(address: u128, v4: u32, key: [u8; 16], salt: u64, a in 0u16..=10_000, b in 0u16..=10_000) {
            let units = Units::new(UnitKey(key), &operators());
            let share = |points| Share::new(points).unwrap();
            for client in [client(address.to_be_bytes()), client(v4.to_be_bytes())] {
                let over = |share| units.has_moved(client, salt, share);
                prop_assert!(!over(share(a.min(b))) || over(share(a.max(b))));
                prop_assert!(!over(Share::NONE) && over(Share::ALL));
            }
        }

        /// All of one network are one unit, and all that an operator asks from.
        #[test]
        fn who_belongs_together_stays_together(key: [u8; 16], salt: u64, low: u8, v4: u32, v6: u128) {
            let units = Units::new(UnitKey(key), &operators());
            let at = |client| units.position(client, salt);
            let [a, b, c, _] = v4.to_be_bytes();
            prop_assert_eq!(at(client([a, b, c, 0])), at(client([a, b, c, low])));
            let first = v6 & !(u128::MAX >> 48);
            prop_assert_eq!(at(client(first.to_be_bytes())), at(client(v6.to_be_bytes())));
            let one = at(client([1, 1, 1, 1]));
            prop_assert_eq!((at(client([9, 9, 7, low])), at(client([9, 9, 7, 0]))), (one, one));
            let quad = at(client([9, 9, 8, low]));
            let v6: IpAddr = "2620:fe::9".parse().unwrap();
            prop_assert_eq!((at(client([9, 9, 200, 1])), at(client(v6))), (quad, quad));
            // An operator that is added in front of others moves none of them.
            let mut more = operators();
            more.insert(0, Region { name: "new".into(), networks: vec!["5.5.5.0/24".parse().unwrap()] });
            let more = Units::new(UnitKey(key), &more);
            prop_assert_eq!((more.position(client([1, 1, 1, 1]), salt), more.position(client([9, 9, 8, 1]), salt)), (one, quad));
            // What is around a client is of its unit, and no more.
            for client in [client([a, b, c, low]), client([9, 9, 6, low])] {
                let around = units.around(client).largest_around(client.0.address());
                prop_assert_eq!(at(ClientNet(Network::host(around.address()))), at(client));
            }
        }
    }

    /// Chi-square over 100 bins and 200,000 networks: 99 degrees of freedom, of which 149 is passed once in a thousand
    /// keys; these keys are always the same.
    #[test]
    fn units_are_spread_evenly() {
        for (key, salt) in [([7; 16], 1), ([7; 16], 2), (*b"another key here", 1)] {
            let units = Units::new(UnitKey(key), &[]);
            let mut bins = [0u32; 100];
            let count = 200_000u32;
            for n in 0..count {
                bins[(units.position(client((n << 8).to_be_bytes()), salt) / 100) as usize] += 1;
            }
            let expected = f64::from(count) / 100.0;
            let chi: f64 = bins.iter().map(|found| (f64::from(*found) - expected).powi(2) / expected).sum();
            assert!(chi < 149.0, "{chi}");
        }
    }

    /// Who is over in one move says nothing about another one, nor about another server's.
    #[test]
    fn moves_and_keys_are_independent() {
        let half = Share::new(5000).unwrap();
        let over =
            |key, salt, n: u32| Units::new(UnitKey(key), &[]).has_moved(client((n << 8).to_be_bytes()), salt, half);
        for (key, salt) in [([1; 16], 2), ([2; 16], 1)] {
            let both = (0..10_000).filter(|n| over([1; 16], 1, *n) && over(key, salt, *n)).count();
            assert!((2300..2700).contains(&both), "{both}");
        }
    }
}
