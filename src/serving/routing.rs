//! Routing: for each region the site that it is answered from, and at most one move under way for it.

use super::content::SiteId;
use super::regions::RegionId;
use crate::share::Share;
use crate::time::Ttl;

/// For each region, the site that it is answered from, and where it is moving.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// The site of each region, by [`RegionId`]: of one that moves, the site that it leaves.
    pub sites: Vec<SiteId>,
    /// Counts the changes of the zone's routing; it only grows.
    pub revision: u64,
    /// The revision that last moved each region, by [`RegionId`]; a region behind the end was never moved.
    pub moved: Vec<u64>,
    /// The move under way for each region, by [`RegionId`]; never one to where the region is.
    moving: Vec<Option<Moving>>,
}

/// A move under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// The site that the region goes to.
    pub to: SiteId,
    /// How much of its clients is answered from there.
    pub share: Share,
    /// Which clients go first follows from this; it stays the same for as long as the move lasts.
    pub salt: u64,
    /// The most that RRsets are told to be kept which differ between the two sites, and negative answers.
    pub low_ttl: Option<Ttl>,
}

/// A side of a move; of a region that is not moving there is but one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What the region leaves.
    Base,
    /// What it goes to.
    To,
}

impl Routing {
    /// Each region at its site, by [`RegionId`]; nothing has moved yet.
    pub fn at(sites: Vec<SiteId>) -> Routing {
        Routing { sites, ..Routing::default() }
    }

    /// What was published before a restart: sites, moves and revisions by [`RegionId`].
    pub fn of(sites: Vec<SiteId>, moving: Vec<Option<Moving>>, moved: Vec<u64>, revision: u64) -> Routing {
        let mut routing = Routing { sites, revision, moved, moving: Vec::new() };
        for (region, moving) in (0..).map(RegionId).zip(moving) {
            if let Some(moving) = moving {
                routing.put(region, moving);
            }
        }
        routing
    }

    /// The same with other numbers of sites. A move to where a region is by then is none.
    pub fn renumbered(&self, number: impl Fn(SiteId) -> SiteId) -> Routing {
        let sites = self.sites.iter().map(|site| number(*site)).collect();
        let moving = self.moving.iter().map(|moving| moving.map(|moving| Moving { to: number(moving.to), ..moving }));
        Routing::of(sites, moving.collect(), self.moved.clone(), self.revision)
    }

    /// The revision that last moved a region: a plan that was made before it is none any more, even where the region is
    /// back at the site that it was at.
    pub fn moved(&self, region: RegionId) -> u64 {
        self.moved.get(region.0 as usize).copied().unwrap_or(0)
    }

    /// Answers all of a region from a site, as part of the change that makes `revision`; a move of it ends with that.
    pub fn set(&mut self, region: RegionId, site: SiteId, revision: u64) {
        let at = self.touch(region, revision);
        self.sites[at] = site;
        if let Some(moving) = self.moving.get_mut(at) {
            *moving = None;
        }
    }

    /// Begins a move of a region, or goes on with it, as part of the change that makes `revision`.
    pub fn shift(&mut self, region: RegionId, moving: Moving, revision: u64) {
        self.touch(region, revision);
        self.put(region, moving);
    }

    /// Gives the region an entry of its own.
    fn touch(&mut self, region: RegionId, revision: u64) -> usize {
        let at = region.0 as usize;
        let first = self.sites.first().copied().unwrap_or_default();
        let (count, moving) = (self.sites.len(), self.moving(region).copied());
        self.sites.resize(count.max(at + 1), first);
        // A region that was like everybody else moves as everybody else does until it is told otherwise.
        if at >= count
            && let Some(moving) = moving
        {
            (count..=at).for_each(|at| self.put(RegionId(at as u16), moving));
        }
        self.moved.resize(self.moved.len().max(at + 1), 0);
        (self.moved[at], self.revision) = (revision, self.revision.max(revision));
        at
    }

    fn put(&mut self, region: RegionId, moving: Moving) {
        let at = region.0 as usize;
        let Some(base) = self.sites.get(at).copied() else { return };
        self.moving.resize(self.moving.len().max(at + 1), None);
        self.moving[at] = (moving.to != base).then_some(moving);
    }

    /// The place of a region's entry; a region that the routing does not know is answered like everybody else.
    fn entry(&self, region: RegionId) -> usize {
        Some(region.0 as usize).filter(|at| *at < self.sites.len()).unwrap_or(0)
    }

    /// The site of a region: of one that moves, the site that it leaves.
    pub fn site(&self, region: RegionId) -> SiteId {
        self.sites.get(self.entry(region)).copied().unwrap_or_default()
    }

    /// The move under way for a region.
    pub fn moving(&self, region: RegionId) -> Option<&Moving> {
        self.moving.get(self.entry(region))?.as_ref()
    }

    /// The move under way for a region some of whose clients are at either side.
    pub fn split(&self, region: RegionId) -> Option<&Moving> {
        self.moving(region).filter(|moving| moving.share.is_split())
    }

    /// The site at one side of a region's move; where all clients are at one side, the site of that one.
    pub fn site_at(&self, region: RegionId, side: Side) -> SiteId {
        match (self.moving(region), side) {
            (Some(moving), _) if moving.share == Share::ALL => moving.to,
            (Some(moving), Side::To) if moving.share != Share::NONE => moving.to,
            _ => self.site(region),
        }
    }

    /// The sides that clients of a region are at.
    pub fn sides(&self, region: RegionId) -> impl Iterator<Item = Side> + use<> {
        let (base, to) = match self.moving(region).map(|moving| moving.share) {
            None | Some(Share::NONE) => (Some(Side::Base), None),
            Some(Share::ALL) => (None, Some(Side::To)),
            Some(_) => (Some(Side::Base), Some(Side::To)),
        };
        base.into_iter().chain(to)
    }

    /// The site that everybody is told the zone's SOA, NS and keys from, and the addresses of its name servers: caches
    /// ask for these from anywhere. While the default region moves it is the one that it leaves.
    pub fn apex_site(&self) -> SiteId {
        self.site_at(RegionId::default(), Side::Base)
    }

    /// The sites that some client is answered from, each once, in order of their number.
    pub fn sites_in_use(&self) -> Vec<SiteId> {
        let regions = (0..self.sites.len().max(1) as u16).map(RegionId);
        let mut sites: Vec<SiteId> =
            regions.flat_map(|region| self.sides(region).map(move |side| self.site_at(region, side))).collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// The sites that must not go: clients are answered from them, or a move leaves them or goes there.
    pub fn sites_held(&self) -> Vec<SiteId> {
        let mut sites: Vec<SiteId> =
            self.sites.iter().copied().chain(self.moving.iter().flatten().map(|moving| moving.to)).collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// The pairs of sites between which something moves and RRsets that differ are given low TTLs: each once, with the
    /// least TTL that a move asks for.
    pub fn lowered(&self) -> Vec<(SiteId, SiteId, Ttl)> {
        let moves = self.sites.iter().zip(&self.moving).filter_map(|(base, moving)| Some((*base, moving.as_ref()?)));
        let mut lowered: Vec<_> = moves
            .filter_map(|(base, moving)| Some((base.min(moving.to), base.max(moving.to), moving.low_ttl?)))
            .collect();
        lowered.sort_unstable();
        lowered.dedup_by_key(|(a, b, _)| (*a, *b));
        lowered
    }
}
