//! What a state wants served: for each region its site or sites, and how long answers may be kept.

use std::collections::{BTreeMap, BTreeSet};

use super::moves::{Move, Moving};
use super::names::{RegionName, SiteName};
use super::state::State;
use crate::share::Share;
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
        self.base.iter().map(|(region, site)| (region.clone(), self.route(region, site))).collect()
    }

    /// Where a region is to be answered from; `site` is where it is if nothing moves it.
    fn route(&self, region: &RegionName, site: &SiteName) -> Route {
        let still = Route { site: site.clone(), moving: None };
        let Some((_, moving)) = self.move_of(region) else { return still };
        let Some(origin) = moving.base.get(region) else { return still };
        let to = || moving.plan.to.clone();
        match moving.share {
            Share::ALL => Route { site: to(), moving: None },
            Share::NONE => Route { site: origin.site.clone(), moving: origin.split.clone() },
            share => {
                let moving = Moving { to: to(), share, salt: moving.salt() };
                Route { site: origin.site.clone(), moving: Some(moving) }
            }
        }
    }

    /// The TTL caps of the regions that have one: from when TTLs are lowered until the move has ended.
    pub fn ttl_caps(&self) -> BTreeMap<RegionName, TtlCap> {
        let capped = self.moves.values().filter(|moving| moving.is_under_way());
        capped.flat_map(|moving| moving.base.keys().map(|region| (region.clone(), cap(moving, region)))).collect()
    }
}

impl View {
    /// Whether it is what a state wants served: as if compared with [`State::view`], which costs more.
    pub fn is_of(&self, state: &State) -> bool {
        let routed = |(region, site)| self.routes.get(region).is_some_and(|route| *route == state.route(region, site));
        let capped = || state.moves.values().filter(|moving| moving.is_under_way());
        let is_capped = |moving: &Move| {
            let mut regions = moving.base.keys();
            regions.all(|region| self.caps.get(region).is_some_and(|kept| is_cap(kept, moving, region)))
        };
        self.routes.len() == state.base.len()
            && self.caps.len() == capped().map(|moving| moving.base.len()).sum::<usize>()
            && state.base.iter().all(routed)
            && capped().all(is_capped)
    }
}

/// Whether a cap is that of [`cap`].
fn is_cap(kept: &TtlCap, moving: &Move, region: &RegionName) -> bool {
    let Some(origin) = moving.base.get(region) else { return false };
    let split = origin.split.as_ref().map(|split| &split.to);
    let ends = [Some(&moving.plan.to), Some(&origin.site), split];
    kept.ttl == moving.policy.low_ttl
        && ends.iter().flatten().all(|site| kept.sites.contains(*site))
        && origin.others.iter().all(|site| kept.sites.contains(site))
        && kept.sites.iter().all(|site| ends.contains(&Some(site)) || origin.others.contains(site))
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
