//! What a state wants served: for each region its site or sites, and how long answers may be kept.

use std::collections::{BTreeMap, BTreeSet};

use super::moves::{Move, Moving, Phase};
use super::names::{RegionName, SiteName};
use super::share::Share;
use super::state::State;
use crate::time::Ttl;

/// What a state wants served.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Where each region is answered from.
    pub routes: BTreeMap<RegionName, Route>,
    /// The TTL caps of the regions that have one.
    pub caps: BTreeMap<RegionName, TtlCap>,
}

/// Where a region is answered from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The site.
    pub site: SiteName,
    /// The part that is answered from another one, if it is neither nobody nor everybody.
    pub moving: Option<Moving>,
}

/// The greatest TTL of RRsets that change.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlCap {
    /// The TTL.
    pub ttl: Ttl,
    /// It holds for what differs between any two of these sites.
    pub sites: BTreeSet<SiteName>,
}

impl State {
    /// What is to be served.
    pub fn view(&self) -> View {
        View { routes: self.routes(), caps: self.ttl_caps() }
    }

    /// Where each region is to be answered from.
    pub fn routes(&self) -> BTreeMap<RegionName, Route> {
        let mut routes: BTreeMap<RegionName, Route> = self
            .base
            .iter()
            .map(|(region, site)| (region.clone(), Route { site: site.clone(), moving: None }))
            .collect();
        for moving in self.moves.values() {
            for (region, origin) in moving.base.iter() {
                let split = match moving.share {
                    Share::NONE => origin.split.clone(),
                    Share::ALL => {
                        routes.insert(region.clone(), Route { site: moving.plan.to.clone(), moving: None });
                        continue;
                    }
                    share => Some(Moving { to: moving.plan.to.clone(), share, salt: moving.salt() }),
                };
                routes.insert(region.clone(), Route { site: origin.site.clone(), moving: split });
            }
        }
        routes
    }

    /// The TTL caps of the regions that have one: from when TTLs are lowered until the move has ended.
    pub fn ttl_caps(&self) -> BTreeMap<RegionName, TtlCap> {
        let capped = self.moves.values().filter(|moving| moving.is_under_way());
        capped.flat_map(|moving| moving.base.keys().map(|region| (region.clone(), cap(moving, region)))).collect()
    }
}

fn cap(moving: &Move, region: &RegionName) -> TtlCap {
    let mut sites = BTreeSet::from([moving.plan.to.clone()]);
    if let Some(origin) = moving.base.get(region) {
        sites.insert(origin.site.clone());
        sites.extend(origin.others.iter().cloned());
        sites.extend(origin.split.iter().map(|split| split.to.clone()));
    }
    TtlCap { ttl: moving.policy.low_ttl, sites }
}

impl Phase {
    /// Whether clients are answered from both sites, or may be.
    pub fn may_be_split(&self) -> bool {
        matches!(self, Phase::Shifting { .. })
    }
}
