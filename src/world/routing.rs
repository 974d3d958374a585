//! Between what the engine wants served, by the names of regions and sites, and what queries are answered by: numbers.

use crate::failover::moves::Moving as Split;
use crate::failover::names::{RegionName, SiteName};
use crate::failover::state::State;
use crate::failover::view::{Route, TtlCap, View};
use crate::serving::ZoneServing;
use crate::serving::content::{Content, SiteId};
use crate::serving::regions::{DEFAULT, Regions};
use crate::serving::routing::{Moving, Routing, Side};
use crate::share::Share;

/// The routing that a view means. A region that the view does not know is answered like everybody else; a site that the
/// content does not have counts as its first one.
pub fn routing_of(state: &State, view: &View, content: &Content, regions: &Regions) -> Routing {
    let moved = regions.iter().map(|(_, name)| state.moved.get(name).copied().unwrap_or(0)).collect();
    from_view(view, content, regions, moved, state.revision)
}

/// The routing that a view means, with the revisions at which its regions were moved.
pub fn from_view(view: &View, content: &Content, regions: &Regions, moved: Vec<u64>, revision: u64) -> Routing {
    let number = |site: &SiteName| content.site_named(site.as_str()).unwrap_or_default();
    let of_region = |name: &str| {
        let route = view.routes.get(name).or_else(|| view.routes.get(DEFAULT))?;
        let cap = view.caps.get(name).or_else(|| view.caps.get(DEFAULT).filter(|_| !view.routes.contains_key(name)));
        Some((number(&route.site), moving(route, cap, number)))
    };
    let (mut sites, mut movings) = (Vec::new(), Vec::new());
    for (_, name) in regions.iter() {
        let (site, moving) = of_region(name).unwrap_or_default();
        sites.push(site);
        movings.push(moving);
    }
    Routing::of(sites, movings, moved, revision)
}

/// How a region is split, and what is told with a low TTL: what differs between its site and the other one. Where all
/// clients are at one site, TTLs are low because of a move that is about to begin or whose end is not yet certain.
fn moving(route: &Route, cap: Option<&TtlCap>, number: impl Fn(&SiteName) -> SiteId) -> Option<Moving> {
    let low_ttl = cap.map(|cap| cap.ttl);
    match &route.moving {
        Some(Split { to, share, salt }) => Some(Moving { to: number(to), share: *share, salt: *salt, low_ttl }),
        None => {
            let other = cap?.sites.iter().find(|site| **site != route.site)?;
            Some(Moving { to: number(other), share: Share::NONE, salt: 0, low_ttl })
        }
    }
}

/// What a zone is served as that no engine has anything to say about: each region from its site.
pub fn view_of(zone: &ZoneServing, regions: &Regions) -> View {
    let routes = regions.iter().map(|(region, name)| {
        let site = &zone.content.site(zone.routing.site_at(region, Side::Base)).name;
        (RegionName::from(name), Route { site: SiteName::from(site.as_str()), moving: None })
    });
    View { routes: routes.collect(), caps: Default::default() }
}
