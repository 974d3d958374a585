//! Why a client gets what it gets.

use super::Serving;
use super::content::SiteId;
use super::regions::RegionId;
use super::routing::{Moving, Side};
use super::zone::ZoneServing;
use crate::name::NameRef;
use crate::net::ClientNet;
use crate::rr::RrType;
use crate::snapshot::sought::Sought;

/// Why a client gets what it gets.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'s> {
    /// The zone that the name is in.
    pub zone: &'s ZoneServing,
    /// The client's region.
    pub region: RegionId,
    /// The move that the region is in the middle of, and the share from which on the client's unit has moved, in basis points.
    pub moving: Option<(Moving, u16)>,
    /// The site that it is answered from.
    pub site: SiteId,
    /// Why from there.
    pub because: Because,
}

/// Why a client is answered from a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// Its region is.
    Region,
    /// Its region moves, and its unit has moved.
    Moved,
    /// Its region moves, and its unit has not.
    NotMoved,
    /// Everybody is told this from one site: caches find the zone by it.
    Common,
}

impl Serving {
    /// Why a client gets what it gets for a name and type; none if no zone of ours has the name.
    pub fn explain(&self, client: ClientNet, name: NameRef<'_>, rtype: RrType) -> Option<Explanation<'_>> {
        let sought = Sought::new(self.key, name);
        let view = self.view(client);
        let place = view.place_in(view.zone_of(&sought), &sought, rtype)?;
        let (zone, region) = (place.zone, view.region());
        let routing = &zone.routing;
        let moving = routing.split(region).map(|moving| (*moving, self.units.moves_at(client, moving.salt)));
        let because = match moving {
            _ if zone.only_site().is_none() && zone.common_site(&sought, rtype).is_some() => Because::Common,
            None => Because::Region,
            Some((moving, _)) if self.units.has_moved(client, moving.salt, moving.share) => Because::Moved,
            Some(_) => Because::NotMoved,
        };
        Some(Explanation { zone, region, moving, site: place.site, because })
    }

    /// The sites that a region is answered from.
    pub fn sites_of(&self, zone: &ZoneServing, region: RegionId) -> Vec<SiteId> {
        zone.routing.sides(region).map(|side: Side| zone.routing.site_at(region, side)).collect()
    }
}
