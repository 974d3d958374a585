//! What one client is answered from: one site of each zone.

use super::content::{SiteContent, SiteId};
use super::regions::RegionId;
use super::routing::Side;
use super::{Serving, ZoneServing};
use crate::name::{Name, NameRef};
use crate::net::ClientNet;
use crate::rr::RrType;
use crate::snapshot::Snapshot;
use crate::snapshot::sought::{HashKey, Sought};

/// What one client is answered from.
#[derive(Clone, Copy)]
pub struct View<'s> {
    pub(super) serving: &'s Serving,
    region: RegionId,
    pick: Pick<'s>,
}

/// Which site of a zone is answered from, where there are several in use.
#[derive(Clone, Copy)]
enum Pick<'s> {
    /// The one that this client gets.
    Client(ClientNet),
    /// This one in this zone, and in all others the one that everybody is at.
    Site(&'s ZoneServing, SiteId),
    /// The one at a side of the region's move: in this zone, and in all others.
    Sides(&'s ZoneServing, [Side; 2]),
    /// The one of this number among those in use, or the last one.
    Nth(usize),
}

/// What a name is answered from.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    pub(super) zone: &'s ZoneServing,
    pub(super) site: SiteId,
    pub(super) snapshot: &'s Snapshot,
}

impl Serving {
    /// What `client` is answered from.
    pub fn view(&self, client: ClientNet) -> View<'_> {
        View { serving: self, region: self.regions.of(client), pick: Pick::Client(client) }
    }

    /// What clients of a region are answered from that are at these sides of its moves: in `zone`, and in all others.
    pub fn view_at<'s>(&'s self, region: RegionId, zone: &'s ZoneServing, sides: [Side; 2]) -> View<'s> {
        View { serving: self, region, pick: Pick::Sides(zone, sides) }
    }

    /// A zone answered from one of its sites, whoever is answered from there.
    pub fn view_of_site<'s>(&'s self, zone: &'s ZoneServing, site: SiteId) -> View<'s> {
        View { serving: self, region: RegionId::default(), pick: Pick::Site(zone, site) }
    }

    /// Each zone answered from the site of this number among those in use, or from the last one.
    pub(super) fn view_nth(&self, number: usize) -> View<'_> {
        View { serving: self, region: RegionId::default(), pick: Pick::Nth(number) }
    }
}

impl<'s> View<'s> {
    /// What the client gets of the zone that holds the name.
    pub fn content_of(self, name: NameRef<'_>) -> Option<&'s SiteContent> {
        self.content_holding(&Sought::new(self.serving.key, name))
    }

    /// What the client gets of the zone that holds a name that is looked for.
    pub fn content_holding(self, sought: &Sought) -> Option<&'s SiteContent> {
        let zone = self.serving.directory.find(&self.serving.zones, sought, 0)?;
        Some(zone.content.site(self.site(zone)))
    }

    /// What everybody gets of the apex of the zone that holds the name, and of which names' addresses, where clients are
    /// answered from several sites.
    pub fn common_content_of(self, name: NameRef<'_>) -> Option<(&'s SiteContent, &'s [Name])> {
        let sought = Sought::new(self.serving.key, name);
        self.serving.directory.find(&self.serving.zones, &sought, 0)?.common_content()
    }

    /// The region that the client is in.
    pub(super) fn region(self) -> RegionId {
        self.region
    }

    /// The key of the hash over names.
    pub fn key(self) -> HashKey {
        self.serving.key
    }

    /// Whether a zone of ours holds the name.
    pub fn serves(self, sought: &Sought) -> bool {
        self.serving.directory.find(&self.serving.zones, sought, 0).is_some()
    }

    /// The site that the client gets of a zone, save for what everybody gets from one site.
    pub(super) fn site(self, zone: &ZoneServing) -> SiteId {
        // As a rule a zone is answered from one site, and nothing more has to be looked at.
        match zone.only_site() {
            Some(site) if !matches!(self.pick, Pick::Site(..)) => site,
            _ => self.own_site(zone),
        }
    }

    #[inline(never)]
    fn own_site(self, zone: &ZoneServing) -> SiteId {
        let routing = &zone.routing;
        match self.pick {
            Pick::Client(client) => match routing.split(self.region) {
                Some(moving) if self.serving.units.has_moved(client, moving.salt, moving.share) => moving.to,
                _ => routing.site_at(self.region, Side::Base),
            },
            Pick::Site(own, site) if std::ptr::eq(own, zone) => site,
            Pick::Site(..) => routing.site_at(self.region, Side::Base),
            Pick::Sides(own, sides) => {
                let side = sides[usize::from(!std::ptr::eq(own, zone))];
                routing.site_at(self.region, side)
            }
            Pick::Nth(number) => {
                let in_use = zone.sites_in_use();
                in_use[number.min(in_use.len() - 1)]
            }
        }
    }

    /// The number of the zone that holds `sought`.
    pub(super) fn zone_of(self, sought: &Sought) -> Option<usize> {
        self.serving.directory.find_index(sought, 0)
    }

    /// What `sought` is answered from: the zone of this number, which holds it. A DS RRset is the parent's (RFC 4035
    /// §3.1.4.1): at the origin of a zone whose parent is served as well it is answered from there.
    #[inline(always)]
    pub(super) fn place_in(self, zone: Option<usize>, sought: &Sought, rtype: RrType) -> Option<Place<'s>> {
        let mut zone: &ZoneServing = self.serving.zones.get(zone?)?;
        if rtype == RrType::DS && zone.content.origin.as_ref().len() == sought.len() && sought.label_count() > 0 {
            zone = self.serving.directory.find(&self.serving.zones, sought, 1).unwrap_or(zone);
        }
        let site = match zone.only_site() {
            Some(site) if !matches!(self.pick, Pick::Site(..)) => site,
            _ => zone.common_site(sought, rtype).unwrap_or_else(|| self.own_site(zone)),
        };
        Some(Place { zone, site, snapshot: zone.snapshot(site) })
    }
}
