//! Who gets what, and who was told what.

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::net::Network;
use crate::rr::RrType;
use crate::time::Timestamp;

/// Which answer a client gets, and why (`POST /v1/explain`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The client's network, or its address.
    pub client: Network,
    /// The name that it asks for.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
}

/// Which answer a client gets, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainReport {
    /// When this was said.
    pub at: Timestamp,
    /// Who asks.
    pub client: Network,
    /// What for.
    pub name: Name,
    /// Which type.
    pub rtype: RrType,
    /// The zone that the name is in.
    pub zone: Name,
    /// The client's region.
    pub region: String,
    /// Who changes sides together with it: the operator of a resolver, or a network.
    pub unit: String,
    /// The move that the region is in the middle of.
    pub moving: Option<Split>,
    /// The site that it is answered from.
    pub site: String,
    /// Why from there.
    pub because: String,
    /// What RRsets that a move changes are told with at most, in seconds.
    pub low_ttl: Option<u32>,
    /// The answer as on the wire, in hexadecimal digits.
    pub answer: String,
    /// The generation that it is answered from.
    pub generation: u64,
    /// What clients of its network were told of this name and type, the last first.
    pub told: Vec<ToldBefore>,
    /// Up to when something may have been told that nobody noted; none if all that was told is known.
    pub blind_until: Option<Timestamp>,
}

/// A region that is in the middle of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The site that it leaves.
    pub from: String,
    /// The site that it goes to.
    pub to: String,
    /// The share that has moved.
    pub share: String,
    /// The share from which on this unit has moved.
    pub moves_at: String,
}

/// What a network was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldBefore {
    /// The network, as it is counted.
    pub network: Network,
    /// From which site.
    pub site: String,
    /// When last.
    pub last: Timestamp,
    /// The greatest TTL, in seconds.
    pub ttl: u32,
    /// Until when a cache that obeys TTLs may hold it.
    pub held_until: Timestamp,
    /// About how often of late.
    pub count: u64,
    /// Whether it was shown that the source is not forged.
    pub proven: bool,
    /// Whether it was told from the content that the region is answered with now, be it with other TTLs.
    pub current: bool,
}

/// What is asked most, and by whom (`POST /v1/top`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopRequest {
    /// Only of this zone.
    #[serde(default)]
    pub zone: Option<String>,
    /// How many of each.
    pub limit: u32,
}

/// What is asked most, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopReport {
    /// Over how many seconds it was counted, about: what was asked an hour ago counts half.
    pub window_seconds: u64,
    /// The zones, the busiest first.
    pub zones: Vec<TopZone>,
    /// Names and types that were answered, the busiest first.
    pub questions: Vec<TopQuestion>,
    /// Names below which there was nothing, the busiest first.
    pub absent: Vec<TopQuestion>,
    /// Networks, the busiest first.
    pub networks: Vec<TopNetwork>,
    /// How much of what is known is coarse: of a thousand parts, those that count networks by shorter prefixes, and those that
    /// count none.
    pub coarse: [usize; 2],
    /// Octets that all of it takes.
    pub octets: usize,
    /// How long it is kept, in seconds.
    pub retention_seconds: u64,
}

/// How busy a zone is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopZone {
    /// The zone.
    pub zone: Name,
    /// Answers of late.
    pub count: u64,
    /// Those of them that said there is no such name.
    pub absent: u64,
}

/// How often something was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopQuestion {
    /// The name of the rule that answered: the name itself, a wildcard, or the closest name that there is.
    pub name: String,
    /// The type.
    pub rtype: RrType,
    /// Answers of late.
    pub count: u64,
    /// When last.
    pub last: Timestamp,
}

/// How busy a network is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopNetwork {
    /// The network, as it is counted.
    pub network: Network,
    /// Answers of late, about.
    pub count: u64,
    /// When last.
    pub last: Timestamp,
    /// Whether it was shown that the source is not forged.
    pub proven: bool,
}
