//! Which sites a zone's traffic needs, and which ways it goes.

use std::collections::BTreeSet;

use super::moves::Phase;
use super::names::{RegionName, SiteName};
use super::state::State;

impl State {
    /// The sites that clients are answered from, or may be again: none of them can go.
    pub fn sites_needed(&self) -> BTreeSet<SiteName> {
        let moves = self.moves.values().chain(self.challengers.values());
        let ends = moves.flat_map(|moving| {
            let origins = moving.base.values();
            let origins = origins.flat_map(|origin| {
                let split = origin.split.as_ref().map(|split| &split.to);
                std::iter::once(&origin.site).chain(&origin.others).chain(split)
            });
            origins.chain([&moving.plan.to])
        });
        self.base.values().chain(ends).cloned().collect()
    }

    /// From which site to which one traffic is moving, or is about to: each way once. A move that has moved everybody is
    /// none of these: what its target answers is edited like that of any other site.
    pub fn ways(&self) -> BTreeSet<(SiteName, SiteName)> {
        let moves = self.moves.values().chain(self.challengers.values());
        let moves = moves.filter(|moving| !matches!(moving.phase, Phase::Draining { .. } | Phase::Baking { .. }));
        let ways = moves.flat_map(|moving| {
            let to = moving.plan.to.clone();
            let from = moving.base.values().flat_map(|origin| std::iter::once(&origin.site).chain(&origin.others));
            from.map(move |from| (from.clone(), to.clone()))
        });
        ways.filter(|(from, to)| from != to).collect()
    }

    /// The site that a rollback takes a region to: the one that its move takes it from, or that its last move took it
    /// from. None if it was never moved.
    pub fn way_back(&self, region: &RegionName) -> Option<&SiteName> {
        match self.move_of(region) {
            Some((_, moving)) => moving.base.get(region).map(|origin| &origin.site),
            None => self.previous.get(region),
        }
    }
}
