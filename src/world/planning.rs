//! What a request comes to: the site and the regions that it means, and the end of the move that it asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::held::{Held, negative_ttl};
use crate::door::{Candidate, Proposal};
use crate::failover::names::{RegionName, SiteName};
use crate::failover::plan::{Impossible, Kind, MoveRequest, Plan};
use crate::failover::state::State;
use crate::failover::view::Route;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serving::content::SiteId;
use crate::serving::regions::Regions;
use crate::serving::{Routing, Serving, ZoneServing};
use crate::time::{Timestamp, Ttl};

/// The site to go to: the one that was asked for, or where the regions were before.
pub fn target(state: &State, kind: Kind, request: &MoveRequest) -> Result<String, Impossible> {
    if kind != Kind::Rollback {
        return Ok(request.to.clone());
    }
    has_region(state, request)?;
    let asked = |region: &RegionName| request.region.as_deref().is_none_or(|only| only == region.as_str());
    let mut back: Vec<(&RegionName, &SiteName)> = state
        .base
        .keys()
        .filter(|region| asked(region))
        .filter_map(|region| Some((region, state.way_back(region)?)))
        .collect();
    back.sort_unstable_by_key(|(_, site)| *site);
    match back.as_slice() {
        [] => Err(Impossible::NoWayBack),
        [(_, site), rest @ ..] if rest.iter().all(|(_, other)| other == site) => Ok(site.to_string()),
        several => Err(Impossible::SeveralWaysBack {
            ways: several.iter().map(|(region, site)| format!("{region} to {site}")).collect(),
        }),
    }
}

/// Whether there is the region that a request names.
fn has_region(state: &State, request: &MoveRequest) -> Result<(), Impossible> {
    match &request.region {
        Some(given) if !state.base.contains_key(given.as_str()) => {
            let known = state.base.keys().map(ToString::to_string).collect();
            Err(Impossible::NoRegion { given: given.clone(), known })
        }
        _ => Ok(()),
    }
}

/// The regions that a request means, each with the site that it is answered from: none if all are there already.
pub fn regions_of(
    zone: &ZoneServing,
    state: &State,
    kind: Kind,
    request: &MoveRequest,
) -> Result<BTreeMap<RegionName, SiteName>, Impossible> {
    let known = || zone.content.sites.iter().map(|site| site.name.clone()).collect::<Vec<_>>();
    for site in [Some(&request.to), request.from.as_ref()].into_iter().flatten() {
        if zone.content.site_named(site).is_none() {
            return Err(Impossible::NoSite { given: site.clone(), known: known() });
        }
    }
    has_region(state, request)?;
    let routes = state.routes();
    let asked: Vec<_> = routes
        .iter()
        .filter(|(region, _)| request.region.as_deref().is_none_or(|only| only == region.as_str()))
        .filter(|(region, _)| kind != Kind::Rollback || state.way_back(region).is_some())
        .collect();
    // While a region is split, its clients are at either site: both are left for any one of them.
    let ends = |at: &Route| [Some(at.site.clone()), at.moving.as_ref().map(|moving| moving.to.clone())];
    let leaves = |at: &Route| {
        let from = request.from.as_deref();
        ends(at).iter().flatten().any(|end| from.is_none_or(|from| from == end.as_str()))
    };
    if let Some(from) = request.from.as_deref().filter(|_| !asked.iter().any(|(_, at)| leaves(at))) {
        let now = asked.iter().map(|(region, at)| format!("{region} is answered from {}", at.site));
        return Err(Impossible::NotThere { from: from.into(), now: now.collect::<Vec<_>>().join(", ") });
    }
    let moved = asked.into_iter().filter(|(_, at)| leaves(at)).filter_map(|(region, at)| {
        let other = ends(at).into_iter().flatten().find(|end| end.as_str() != request.to)?;
        Some((region.clone(), other))
    });
    Ok(moved.collect())
}

/// The routing of a zone once these regions are answered from a site.
pub fn routing_at_end<'a>(
    zone: &ZoneServing,
    known: &Regions,
    moved: impl Iterator<Item = &'a RegionName>,
    to: SiteId,
) -> Routing {
    let mut routing = zone.routing.clone();
    for region in moved.filter_map(|region| known.named(region.as_str())) {
        routing.set(region, to, zone.routing.revision + 1);
    }
    routing
}

/// What a plan comes to in the end, by what is served now; none if the zone or the site is not served.
pub fn end_of(serving: &Arc<Serving>, origin: &Name, plan: &Plan, now: Timestamp) -> Option<Candidate> {
    let zone = serving.zone(origin.as_ref())?;
    let to = zone.content.site_named(plan.to.as_str())?;
    let routing = routing_at_end(zone, &serving.regions, plan.regions.keys(), to);
    Some(rerouted(serving, zone, routing, now))
}

/// The content that is served, with another routing.
pub(super) fn rerouted(serving: &Arc<Serving>, zone: &ZoneServing, routing: Routing, now: Timestamp) -> Candidate {
    let content = Arc::clone(&zone.content);
    let loads = Finding::pass(id::LOADS, content.origin.as_ref(), "the content is the one that is served");
    let proposal = Proposal { content, routing, loads, restored: None };
    Candidate::new(Arc::clone(serving), vec![proposal], now)
}

/// The greatest TTL that caches may hold what moves with, at either end: that there is nothing is among it, and what was
/// edited since.
pub fn old_ttl(candidate: &Candidate, held: &Held, now: Timestamp) -> Ttl {
    let mut greatest = held.longest(candidate, now);
    for (change, differing) in candidate.changes().zip(candidate.differing()) {
        for (pair, differing) in change.pairs().into_iter().zip(differing) {
            for (side, ttl) in [pair.before, pair.after].into_iter().zip(differing.ttls) {
                let cap = side.site.snapshot.shape().max_ttl.unwrap_or(Ttl::MAX);
                greatest = greatest.max(ttl.min(cap)).max(negative_ttl(side.site));
            }
        }
    }
    greatest
}
