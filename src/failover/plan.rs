//! From what an operator asks for to the routing that it means, and to the plan of a move.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::actor::Actor;
use super::names::{RegionName, SiteName};
use super::policy::millis;
use super::refusal::Refusal;
use crate::digest::Digest;
use crate::door::Idle;
use crate::name::Name;
use crate::time::{Timestamp, Ttl};

/// What an operator asks for: answer a zone from another site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MoveRequest {
    /// The site to answer from.
    pub to: String,
    /// Only regions that are answered from this site; none: whichever it is.
    pub from: Option<String>,
    /// Only this region; none: all of them.
    pub region: Option<String>,
}

/// A request that names what there is not. Each says what there is instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The zone is not served.
    #[error("the zone {zone} is not served")]
    NotServed {
        /// The zone.
        zone: Name,
    },
    /// The zone has no such site.
    #[error("the zone has no site `{given}`; it has {}", known.join(", "))]
    NoSite {
        /// The name that was given.
        given: String,
        /// The zone's sites.
        known: Vec<String>,
    },
    /// There is no such region.
    #[error("there is no region `{given}`; there are {}", known.join(", "))]
    NoRegion {
        /// The name that was given.
        given: String,
        /// The regions.
        known: Vec<String>,
    },
    /// An override covers nothing.
    #[error(transparent)]
    Idle(#[from] Idle),
    /// The engine does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// They are there, and a move is about to take them away.
    #[error(
        "{by} is about to move the region `{region}` to {to}: it is answered from where it should be only until then"
    )]
    Leaving {
        /// The move.
        by: super::moves::MoveId,
        /// The region.
        region: RegionName,
        /// Where it goes.
        to: SiteName,
    },
    /// Nothing was ever moved there.
    #[error("no region that was asked for was ever moved: there is nowhere to go back to")]
    NoWayBack,
    /// The regions came from different sites.
    #[error("the regions came from different sites: {}", ways.join(", "))]
    SeveralWaysBack {
        /// Which region from where.
        ways: Vec<String>,
    },
    /// Nothing is answered from the site that is to be left.
    #[error("no region that was asked for is answered from {from}: {now}")]
    NotThere {
        /// The site that was to be left.
        from: String,
        /// Where the regions are answered from.
        now: String,
    },
}

/// What a move is to do, decided once: from then on it is only carried out or given up.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What tells it from any other: over the RRsets that move and what it rests on.
    pub digest: Digest,
    /// What it was shown by: that digest, with how it is carried out. None: by that digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Digest>,
    /// How it goes about it.
    pub kind: Kind,
    /// The regions that move, each with the site that it is answered from when the plan is made.
    pub regions: BTreeMap<RegionName, SiteName>,
    /// The site to answer from.
    pub to: SiteName,
    /// The greatest revision of its regions when it was made ([`super::state::State::revision_of`]).
    pub revision: u64,
    /// The greatest TTL that any cache may have been given for an RRset that changes, at either site, negative answers
    /// included.
    pub old_ttl: Ttl,
    /// Whether every name server of the zone shares the routing, so that a region can be answered from two sites.
    pub ramp_possible: bool,
    /// Whether a failover goes by steps.
    pub stepped: bool,
    /// Whether nobody asked for it: the autopilot did.
    pub automatic: bool,
    /// Who asked for it.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// What was overridden, as it was typed.
    pub overrides: Vec<String>,
    /// When it was made.
    pub at: Timestamp,
    /// What was foreseen then of resolvers that were measured; none where none was told what moves, or in a failover, which
    /// waits for no forecast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ResolverForecast>,
}

/// When measured resolvers are foreseen to give new answers, each counting as much as any other.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolverForecast {
    /// How many.
    pub resolvers: u64,
    /// From when on so many of them do, to stay.
    pub quantiles: Vec<Quantile>,
}

/// From when on a part of them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// How many in a hundred.
    pub percent: u8,
    /// How long after the first step is published.
    #[serde(with = "millis")]
    pub after: Duration,
}

impl fmt::Display for ResolverForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each =
            self.quantiles.iter().map(|found| format!("{} % after {:.1} s", found.percent, found.after.as_secs_f64()));
        write!(f, "of {} measured resolvers, {}", self.resolvers, each.collect::<Vec<_>>().join(", "))
    }
}

/// How a move goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Planned: TTLs are lowered first, then clients move step by step.
    Switchover,
    /// Unplanned: everybody moves, now.
    Failover,
    /// A planned move back to where the regions came from.
    Rollback,
}

impl Plan {
    /// Whether everybody moves at once, without waiting for anything: the one kind that may take over from another move.
    pub fn is_immediate(&self) -> bool {
        self.kind == Kind::Failover && !self.is_stepped()
    }

    /// Whether it stops at shares between nobody and everybody.
    pub fn is_stepped(&self) -> bool {
        self.ramp_possible && (self.kind != Kind::Failover || self.stepped)
    }
}
