//! Names that a move would take away: how much is asked for them, and for how long caches would deny them once they are back.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::Draft;
use super::stretch::MeasuredResolver;
use super::{Driver, now};
use crate::drain::dark::{Darkness, Denied};
use crate::exposure::known::Known as _;
use crate::exposure::weights::Weights;
use crate::failover::policy::Policy;
use crate::gate::{Pair, ttls, vanish};
use crate::name::Name;
use crate::profile::{Kind, Population, Profile};
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::Rule;
use crate::share::Share;
use crate::time::Ttl;

/// What a move would take away.
#[derive(Clone, Debug, PartialEq)]
pub struct Dark {
    /// What is asked for in vain then.
    pub questions: BTreeSet<(Name, RrType)>,
    /// The share of what the regions asked of late that was for these, from 0 to 1; none if that is not known.
    pub asked: Option<f64>,
    /// What follows from what is told while the move goes on: with a low TTL.
    pub during: Darkness,
    /// What follows from what is told once it has ended.
    pub afterwards: Darkness,
    /// Resolvers that were measured.
    pub measured: Vec<Keeper>,
}

/// A resolver that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Keeper {
    /// What operators call it.
    pub name: String,
    /// The share of what was asked of late that it asked; none if that is not known: it is not in the figures.
    pub share: Option<Share>,
    /// What it does.
    pub profile: Arc<Profile>,
}

impl Driver {
    /// What a plan would take away; none if nothing.
    pub(super) fn dark(&self, draft: &Draft, policy: &Policy) -> Option<Dark> {
        let questions: BTreeSet<(Name, RrType)> = draft.candidate.changes().flat_map(vanish::dark).collect();
        if questions.is_empty() {
            return None;
        }
        let regions: BTreeSet<RegionId> =
            draft.regions.keys().filter_map(|region| self.serving.regions.named(region.as_str())).collect();
        let measured = self.keepers(&draft.origin, &regions);
        let population = Population::proposed();
        let darkness = |ttl| {
            let counted = measured.iter().filter_map(|keeper| {
                let share = f64::from(keeper.share?.basis_points()) / f64::from(Share::ALL.basis_points());
                Some((share, Arc::clone(&keeper.profile)))
            });
            Denied { ttl, population: &population, measured: counted.collect() }.darkness()
        };
        let told = negative_ttl(draft);
        Some(Dark {
            asked: self.asked_of_late(&draft.origin, &regions, &questions),
            questions,
            during: darkness(told.min(policy.low_ttl)),
            afterwards: darkness(told),
            measured,
        })
    }

    /// The share of what the regions asked a zone of late that was for these.
    fn asked_of_late(
        &self,
        origin: &Name,
        regions: &BTreeSet<RegionId>,
        questions: &BTreeSet<(Name, RrType)>,
    ) -> Option<f64> {
        let key = self.serving.key;
        let sought: BTreeSet<(u64, u16)> =
            questions.iter().map(|(name, rtype)| (key.of(name.as_ref().to_lowercase().as_ref()), rtype.0)).collect();
        let (all, found) = self.folding.as_ref()?.look(|exposures| {
            let of_zone = |edition| exposures.edition(edition).is_some_and(|info| info.zone == *origin);
            let points = exposures.points().iter().map(|(_, point)| point);
            let counted = points.filter(|point| regions.contains(&point.what.region) && of_zone(point.what.edition));
            counted.fold((0, 0), |(all, found), point| {
                let by_name = point.what.question.filter(|(by, _)| matches!(by.rule, Rule::Exact | Rule::Wildcard));
                let is_sought = by_name.is_some_and(|(by, rtype)| sought.contains(&(by.name, rtype.0)));
                (all + point.count, found + if is_sought { point.count } else { 0 })
            })
        });
        (all > 0).then(|| found as f64 / all as f64)
    }

    /// The resolvers that were measured, and not too long ago.
    fn keepers(&self, origin: &Name, regions: &BTreeSet<RegionId>) -> Vec<Keeper> {
        let weights =
            self.folding.as_ref().and_then(|folding| Weights::of(&**folding, origin, regions, &self.serving.units));
        let shares: Vec<(&str, Share)> = weights.iter().flat_map(Weights::of_operators).collect();
        let keeper = |MeasuredResolver { name, profile, .. }: MeasuredResolver| {
            let share = shares.iter().find(|(known, _)| *known == name).map(|(_, share)| *share);
            Keeper { name, share, profile: Arc::new(profile) }
        };
        self.measured_resolvers(now()).into_iter().map(keeper).collect()
    }
}

impl Keeper {
    /// How long it keeps that there is nothing, told with this TTL, and whether it may be for longer.
    pub fn keeps(&self, ttl: Ttl) -> (std::time::Duration, bool) {
        let hold = self.profile.hold(ttl, Kind::Negative);
        (hold.refreshed, hold.at_least || hold.dropped.is_none())
    }
}

/// The greatest TTL that the target denies names with, when nothing lowers it.
fn negative_ttl(draft: &Draft) -> Ttl {
    let pairs = draft.candidate.changes().flat_map(|change| change.pairs());
    let longest = pairs.filter(Pair::is_move).map(|pair| ttls::negative_ttl(pair.after)).max();
    longest.and_then(Ttl::new).unwrap_or_default()
}
