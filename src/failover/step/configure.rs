//! The configuration or the content changes under what is under way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Turn, idle, short};
use crate::failover::health::SiteHealth;
use crate::failover::moves::{Clock, Move, MoveId, Outcome, Phase, Why};
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::policy::Policy;
use crate::failover::refusal::Refusal;
use crate::failover::renames::Turned;
use crate::failover::sample::{Longer, MOST_NAMED};
use crate::serving::regions::DEFAULT;
use crate::time::Timestamp;

impl Turn {
    pub(super) fn configured(
        &mut self,
        policy: &Frozen<Policy>,
        sites: &BTreeSet<SiteName>,
        regions: &BTreeMap<RegionName, SiteName>,
    ) -> Result<(), Refusal> {
        self.may_configure(sites, regions)?;
        let state = &mut self.state;
        state.policy = policy.clone();
        state.health.edit().retain(|site, _| sites.contains(site));
        for site in sites.iter().filter(|site| !state.health.contains_key(*site)).cloned().collect::<Vec<_>>() {
            state.health.edit().insert(site, Frozen::new(SiteHealth::default()));
        }
        state.base.edit().retain(|region, _| regions.contains_key(region));
        // A region that is new was part of everybody else until now; what it prefers is for an operator to move it to.
        let everybody = state.base.get(DEFAULT).cloned();
        for (region, site) in regions {
            let site = everybody.as_ref().unwrap_or(site);
            state.base.edit().entry(region.clone()).or_insert_with(|| site.clone());
        }
        state.previous.edit().retain(|region, site| regions.contains_key(region) && sites.contains(site));
        state.moved.edit().retain(|region, _| regions.contains_key(region));
        state.ttls.edit().keep(|region| regions.contains_key(region));
        self.rerouted = true;
        Ok(())
    }

    /// Whether nothing goes that is needed.
    fn may_configure(
        &self,
        sites: &BTreeSet<SiteName>,
        regions: &BTreeMap<RegionName, SiteName>,
    ) -> Result<(), Refusal> {
        let in_use =
            |site: &SiteName, region: &RegionName| Refusal::SiteInUse { site: site.clone(), region: region.clone() };
        let moves = self.state.moves.iter().chain(&self.state.challengers);
        for (id, moving) in moves {
            if let Some(region) = moving.base.keys().find(|region| !regions.contains_key(*region)) {
                return Err(Refusal::RegionInUse { region: region.clone(), by: *id });
            }
            let gone = used_by(moving).into_iter().find(|(site, _)| !sites.contains(*site));
            if let Some((site, region)) = gone {
                return Err(in_use(site, region));
            }
        }
        let kept = self.state.base.iter().filter(|(region, _)| regions.contains_key(*region));
        if let Some((region, site)) = kept.into_iter().find(|(_, site)| !sites.contains(*site)) {
            return Err(in_use(site, region));
        }
        let new = regions.keys().find(|region| !self.state.base.contains_key(*region));
        let everybody = self.state.move_of(&RegionName::from(DEFAULT));
        if let (Some(region), Some((by, _))) = (new, everybody) {
            return Err(Refusal::RegionInUse { region: region.clone(), by });
        }
        match regions.iter().find(|(region, site)| !self.state.base.contains_key(*region) && !sites.contains(*site)) {
            Some((_, site)) => Err(Refusal::NoSite { site: site.clone() }),
            None => Ok(()),
        }
    }

    /// `until` is the bound of all who obey TTLs; those in `longer` make the wait longer.
    pub(super) fn drain_bound(
        &mut self,
        id: MoveId,
        until: Timestamp,
        basis: &str,
        longer: &[Longer],
    ) -> Result<(), Refusal> {
        let moving = self.state.moves.get_mut(&id).ok_or(Refusal::NoMove)?;
        let basis = short(basis);
        moving.phase = match moving.phase {
            Phase::Draining { .. } => {
                let named = longer.iter().take(MOST_NAMED);
                let short = |longer: &Longer| Longer { resolver: short(&longer.resolver), ..*longer };
                let watched = moving.watched.edit();
                // What leads past a renamed lever is waited for in any case.
                let until = watched.turned.iter().map(Turned::until).fold(until, Timestamp::max);
                (watched.bound, watched.longer) = (Some(until), named.map(short).collect());
                Phase::Draining { until: watched.stretched(until), basis: watched.basis(&basis, until) }
            }
            Phase::Lowering { clock: Clock::Until(_), .. } => Phase::Lowering { clock: Clock::Until(until), basis },
            _ => return Err(idle(&format!("{id} is {}: no old answers are waited for", moving.phase.kind()))),
        };
        Ok(())
    }

    pub(super) fn content_changed(&mut self, moves: &BTreeSet<MoveId>) -> Result<(), Refusal> {
        let known: Vec<MoveId> = self.ids().into_iter().filter(|id| moves.contains(id)).collect();
        if known.is_empty() {
            return Err(Refusal::NoMove);
        }
        for id in known {
            let Some(moving) = self.state.find(id) else { continue };
            if !moving.is_under_way() {
                let finding =
                    "plan.fresh: what it moves was edited since the plan was made: make a new plan".to_owned();
                self.end(id, Outcome::Refused { findings: vec![finding] });
            } else if moving.hold.as_ref().is_none_or(|hold| hold.why.lifts_itself()) {
                self.hold(id, Why::ContentChanged);
            }
        }
        Ok(())
    }
}

/// The sites that a move needs, each with a region that it needs it for.
fn used_by(moving: &Move) -> Vec<(&SiteName, &RegionName)> {
    let of_region = moving.base.iter().flat_map(|(region, origin)| {
        let split = origin.split.iter().map(|split| &split.to);
        let sites = [&origin.site, &moving.plan.to].into_iter().chain(&origin.others).chain(split);
        sites.map(move |site| (site, region))
    });
    of_region.collect()
}
