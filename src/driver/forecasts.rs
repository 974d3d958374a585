//! What is foreseen of measured resolvers before a planned move begins: the journal has it beside the plan, so that it can
//! be held against what comes of it.

use std::sync::Arc;
use std::time::Duration;

use super::drains::stepped;
use super::plan::Draft;
use super::stretch::MeasuredResolver;
use super::{Driver, now};
use crate::drain::holders::{Holders, Scope, Turn};
use crate::drain::{Demand, Holder, Outlook, Step, Told, forecast};
use crate::exposure::bound::SKEW;
use crate::exposure::known::Known;
use crate::failover::names::SiteName;
use crate::failover::plan::{Kind, Quantile, ResolverForecast};
use crate::failover::policy::Policy;
use crate::profile::Population;
use crate::rr::RrType;
use crate::serving::ZoneServing;
use crate::snapshot::capped::Capped;

impl Driver {
    /// How the resolvers that were measured are foreseen to come over in a planned move, each for what it asked most and
    /// counting as much as any other; none where none was told what moves, or who was told what is not noted.
    pub(super) fn forecast_of_resolvers(&self, draft: &Draft, policy: &Policy) -> Option<ResolverForecast> {
        let at = now();
        let zone = self.serving.zone(draft.origin.as_ref())?;
        // On a day on which a site is down, nothing waits for this.
        let (measured, folding) = (self.measured_resolvers(at), self.folding.as_ref()?);
        if measured.is_empty() || draft.kind == Kind::Failover {
            return None;
        }
        let capped = lowered(zone, draft, policy);
        let is_planned = draft.kind == Kind::Switchover;
        // TTLs that are low by themselves are not waited for.
        let lowers = is_planned && draft.old_ttl > policy.low_ttl;
        let begin = if lowers { at.after(draft.old_ttl.duration()).after(SKEW) } else { at };
        let steps: Vec<Step> = stepped(policy.steps.as_slice(), begin, policy.step_wait).collect();
        let turn = Turn { new: vec![draft.to.to_string()], salt: None, is_back: false, steps: steps.clone() };
        let turns = self.region_ids(draft.regions.keys()).map(|id| (id, turn.clone())).collect();
        let low = is_planned.then_some(policy.low_ttl);
        let scope = Scope {
            serving: &self.serving,
            zone,
            only: None,
            regions: &turns,
            capped: Some(&capped),
            low,
            profiles: &[],
        };
        let wanted = |network| measured.iter().any(|resolver| resolver.asks_from(network));
        let told = Holders::told_old(&**folding, &scope, wanted);
        let window = folding.look(|exposures| exposures.window(at));
        let holder = |resolver: MeasuredResolver| {
            let own = told.iter().filter(|told| resolver.asks_from(told.network));
            let most = own.max_by_key(|told| (told.count, told.last))?;
            let holder = Holder {
                // Whatever they ask for, they count together.
                family: RrType::A,
                weight: 1.0,
                demand: Demand::Seen(most.count as f64 / window.as_secs_f64().max(1.0)),
                told: Told::At { at: most.last, ttl: most.ttl },
                ttl: most.ttl,
                kind: most.kind,
                profile: Some(Arc::new(resolver.profile)),
                moves: None,
            };
            Some(holder.lowered(low))
        };
        let holders: Vec<Holder> = measured.into_iter().filter_map(holder).collect();
        let population = Population { classes: Vec::new(), applications: None };
        let outlook =
            Outlook { holders: &holders, population: &population, steps: &steps, known_until: at, bound: None };
        let quantiles = forecast(&outlook).courses.pop()?.quantiles;
        let quantile = |percent, seconds: Option<f64>| {
            let after = Duration::try_from_secs_f64(seconds?).ok()?;
            Some(Quantile { percent, after })
        };
        let quantiles = [(50, quantiles.half), (90, quantiles.ninety), (99, quantiles.ninety_nine)];
        let quantiles = quantiles.into_iter().filter_map(|(percent, seconds)| quantile(percent, seconds)).collect();
        Some(ResolverForecast { resolvers: holders.len() as u64, quantiles })
    }
}

/// What a move that is only thought of would lower the TTLs of.
pub(super) fn lowered(zone: &ZoneServing, draft: &Draft, policy: &Policy) -> Capped {
    let site = |name: &SiteName| zone.content.site_named(name.as_str());
    let mut capped = Capped::default();
    for from in draft.regions.values() {
        if let Some((from, to)) = site(from).zip(site(&draft.to)) {
            zone.lower_between(&mut capped, from, to, policy.low_ttl);
        }
    }
    capped
}
