//! An answer that was given, in 32 octets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::{ClientNet, Network};
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Edition, Rule, Told};
use crate::time::{Timestamp, Ttl};

/// Where the family stands, above the 48 bits of the prefix.
const FAMILY: u32 = 48;
const IPV4: u64 = 1;
const IPV6: u64 = 2;
/// Bits of a note's first word above the 50 of the network.
const RULE: u32 = 50;
const PROVEN: u32 = 52;

/// A client network, in 50 bits: an IPv4 /24, an IPv6 /48, or one of these cut to fewer bits. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NotedNetwork(u64);

impl NotedNetwork {
    /// The network that a client counts as. An IPv4 address mapped into IPv6 counts as IPv4.
    #[inline]
    pub fn of(client: ClientNet) -> NotedNetwork {
        match client.0.address().to_canonical() {
            IpAddr::V4(v4) => NotedNetwork(IPV4 << FAMILY | u64::from(v4.to_bits() >> 8) << 24),
            IpAddr::V6(v6) => NotedNetwork(IPV6 << FAMILY | (v6.to_bits() >> 80) as u64),
        }
    }

    /// The same with fewer bits: 24 of an IPv4 network and 48 of an IPv6 one at level 0; see [`LEVELS`].
    pub fn at_level(self, level: Level) -> NotedNetwork {
        if level == Level::default() {
            return self;
        }
        let [v4, v6] = LEVELS[usize::from(level.0)];
        let kept = if self.0 >> FAMILY == IPV4 { v4 } else { v6 };
        NotedNetwork(self.0 & !((1 << (FAMILY - u32::from(kept))) - 1))
    }

    /// As a network; `level` is the one that it was cut at.
    pub fn network(self, level: Level) -> Option<Network> {
        let [v4, v6] = LEVELS[usize::from(level.0)];
        let prefix = self.0 & ((1 << FAMILY) - 1);
        match self.0 >> FAMILY {
            IPV4 => Network::new(Ipv4Addr::from_bits((prefix >> 16) as u32).into(), v4),
            IPV6 => Network::new(Ipv6Addr::from_bits(u128::from(prefix) << 80).into(), v6),
            _ => None,
        }
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// From [`NotedNetwork::bits`].
    pub(super) fn from_bits(bits: u64) -> NotedNetwork {
        NotedNetwork(bits & ((1 << RULE) - 1))
    }
}

/// How coarse networks are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

/// How many bits of IPv4 and IPv6 networks are kept at each level.
pub const LEVELS: [[u8; 2]; 3] = [[24, 48], [20, 40], [16, 32]];

impl Level {
    /// As a number, for what is kept.
    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// The level of this number, or the coarsest one.
    pub(super) fn numbered(number: u8) -> Level {
        Level(number.min(Level::COARSEST.0))
    }

    /// The coarsest one.
    pub const COARSEST: Level = Level(LEVELS.len() as u8 - 1);

    /// The next coarser one.
    pub fn coarser(self) -> Option<Level> {
        (self < Level::COARSEST).then(|| Level(self.0 + 1))
    }
}

/// An answer that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// To whom.
    pub network: NotedNetwork,
    /// The client's region.
    pub region: RegionId,
    /// Whether the source is not forged.
    pub proven: bool,
    /// Of which edition of which zone.
    pub edition: Edition,
    /// By which rule.
    pub decided: Decided,
    /// The type that was asked for.
    pub rtype: RrType,
    /// The greatest TTL in it.
    pub ttl: Ttl,
    /// When it was given.
    pub at: Timestamp,
}

impl Note {
    /// The notes of an answer: one for each zone that had a part in it.
    #[inline]
    pub fn of(told: &Told, at: Timestamp) -> impl Iterator<Item = Note> {
        let network = NotedNetwork::of(told.client);
        let Told { region, proven, rtype, ttl, .. } = *told;
        let note = move |(edition, decided)| Note { network, region, proven, edition, decided, rtype, ttl, at };
        told.trail.steps().map(note)
    }

    /// In four words, as it goes from who answers to who folds.
    pub fn words(&self) -> [u64; 4] {
        [
            self.network.0 | (self.decided.rule as u64) << RULE | u64::from(self.proven) << PROVEN,
            self.decided.name,
            u64::from(self.edition.0) << 32 | u64::from(self.rtype.0) << 16 | u64::from(self.region.0),
            // The lower half of the milliseconds.
            u64::from(self.ttl.seconds()) << 32 | u64::from(self.at.0 as u32),
        ]
    }

    /// From [`Note::words`] of a note that was taken within three weeks of `now`.
    pub fn from_words(words: [u64; 4], now: Timestamp) -> Note {
        let [first, name, what, when] = words;
        let rule = Rule::ALL[(first >> RULE & 3) as usize];
        Note {
            network: NotedNetwork::from_bits(first),
            region: RegionId(what as u16),
            proven: first >> PROVEN & 1 == 1,
            edition: Edition((what >> 32) as u32),
            decided: Decided { rule, name },
            rtype: RrType((what >> 16) as u16),
            ttl: Ttl::from_wire((when >> 32) as u32),
            at: Timestamp(now.0.saturating_sub(i64::from((now.0 as u32).wrapping_sub(when as u32) as i32))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(network: &str) -> NotedNetwork {
        NotedNetwork::of(ClientNet(network.parse().unwrap()))
    }

    #[test]
    fn networks_are_told_apart_by_their_prefix_alone() {
        for (one, other, levels) in [
            ("192.0.2.1", "192.0.2.255", [true; 3]),
            ("192.0.2.1", "::ffff:192.0.2.7", [true; 3]),
            ("192.0.2.1", "192.0.3.1", [false, true, true]),
            ("192.0.2.1", "192.0.16.1", [false, false, true]),
            ("192.0.2.1", "192.1.2.1", [false; 3]),
            ("0.0.0.0", "::", [false; 3]),
            ("2001:db8::", "2001:db8:0:ffff::1", [true; 3]),
            ("2001:db8::", "2001:db8:1::1", [false, true, true]),
            ("2001:db8::", "2001:db8:100::1", [false, false, true]),
            ("2001:db8::", "2001:db9::", [false; 3]),
        ] {
            for (level, alike) in [Level(0), Level(1), Level(2)].into_iter().zip(levels) {
                assert_eq!(of(one).at_level(level) == of(other).at_level(level), alike, "{one} {other} {level:?}");
            }
        }
        let shown =
            |text, level| of(text).at_level(Level(level)).network(Level(level)).map(|network| network.to_string());
        assert_eq!(shown("192.0.31.9", 0).as_deref(), Some("192.0.31.0/24"));
        assert_eq!(shown("192.0.31.9", 1).as_deref(), Some("192.0.16.0/20"));
        assert_eq!(shown("2001:db8:1234:5678::1", 0).as_deref(), Some("2001:db8:1234::/48"));
        assert_eq!(shown("2001:db8:1234:5678::1", 2).as_deref(), Some("2001:db8::/32"));
    }

    proptest! {
        #[test]
        fn a_note_is_the_same_behind_its_words(
            v6: u128, v4: u32, region: u16, proven: bool, edition: u32, rule in 0u8..4, name: u64, rtype: u16,
            ttl in 0u32..1 << 31, at in 0i64..1 << 50, ago: i32,
        ) {
            let rule = Rule::ALL[usize::from(rule)];
            for client in [IpAddr::V4(v4.into()), IpAddr::V6(v6.into())] {
                let note = Note {
                    network: NotedNetwork::of(ClientNet::from_source(client)),
                    region: RegionId(region),
                    proven,
                    edition: Edition(edition),
                    decided: Decided { rule, name },
                    rtype: RrType(rtype),
                    ttl: Ttl::new(ttl).unwrap(),
                    at: Timestamp(at),
                };
                prop_assert_eq!(Note::from_words(note.words(), Timestamp(at + i64::from(ago))), note);
            }
        }
    }
}
