//! From what an operator asks for to the routing that it means, and to the plan of a move.

use std::collections::BTreeMap;

use super::actor::Actor;
use super::names::{RegionName, SiteName};
use crate::digest::Digest;
use crate::door::Idle;
use crate::name::Name;
use crate::serving::content::SiteId;
use crate::serving::regions::{RegionId, Regions};
use crate::serving::{Routing, ZoneServing};
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
    /// Nothing is answered from the site that is to be left.
    #[error("no region that was asked for is answered from {from}: {now}")]
    NotThere {
        /// The site that was to be left.
        from: String,
        /// Where the regions are answered from.
        now: String,
    },
}

/// A region and the site that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The region.
    pub region: RegionId,
    /// The site that it was answered from.
    pub from: SiteId,
}

/// The routing that a request means, and which regions it moves: none if all of them are there already.
pub fn reroute(
    zone: &ZoneServing,
    regions: &Regions,
    request: &MoveRequest,
) -> Result<(Routing, Vec<Moved>), Impossible> {
    let to = site_named(zone, &request.to)?;
    let from = request.from.as_deref().map(|from| site_named(zone, from)).transpose()?;
    let only = match &request.region {
        None => None,
        Some(name) => Some(regions.named(name).ok_or_else(|| Impossible::NoRegion {
            given: name.clone(),
            known: regions.iter().map(|(_, name)| name.to_owned()).collect(),
        })?),
    };
    let asked: Vec<RegionId> =
        regions.iter().map(|(id, _)| id).filter(|id| only.is_none_or(|only| only == *id)).collect();
    let site_of = |region| zone.routing.site(region);
    if let Some(from) = from.filter(|from| asked.iter().all(|region| site_of(*region) != *from)) {
        let now = asked
            .iter()
            .map(|region| {
                format!("{} is answered from {}", regions.name(*region), zone.content.site(site_of(*region)).name)
            })
            .collect::<Vec<_>>()
            .join(", ");
        return Err(Impossible::NotThere { from: zone.content.site(from).name.clone(), now });
    }
    let moved: Vec<Moved> = asked
        .into_iter()
        .map(|region| Moved { region, from: site_of(region) })
        .filter(|moved| moved.from != to && from.is_none_or(|from| from == moved.from))
        .collect();
    let mut routing = zone.routing.clone();
    for moved in &moved {
        routing.set(moved.region, to, zone.routing.revision + 1);
    }
    Ok((routing, moved))
}

fn site_named(zone: &ZoneServing, name: &str) -> Result<SiteId, Impossible> {
    zone.content.site_named(name).ok_or_else(|| Impossible::NoSite {
        given: name.into(),
        known: zone.content.sites.iter().map(|site| site.name.clone()).collect(),
    })
}

/// What a move is to do, decided once: from then on it is only carried out or given up.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What tells it from any other: over the RRsets that move and what it rests on.
    pub digest: Digest,
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
