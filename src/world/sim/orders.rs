//! What an operator asks of a simulated world.

use super::Simulated;
use crate::evidence::Verdict;
use crate::failover::actor::Actor;
use crate::failover::event::Event;
use crate::failover::names::{Frozen, SiteName};
use crate::failover::plan::{Impossible, Kind, MoveRequest, Plan};
use crate::failover::policy::Policy;
use crate::failover::state::State;
use crate::failover::steps::Steps;
use crate::gate::{Finding, id};
use crate::world::World;
use crate::world::planning;

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct Order {
    /// What sort of move.
    pub kind: Kind,
    /// Which regions go where.
    pub request: MoveRequest,
    /// Who asks.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// How careful it is.
    pub policy: Policy,
}

/// A move as it would be made now, and what speaks against it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What it would do.
    pub plan: Plan,
    /// How careful it would be.
    pub policy: Policy,
    /// What the gates say of it.
    pub findings: Vec<Finding>,
}

impl Draft {
    /// The findings that stop it.
    pub fn stopping(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.verdict.stops())
    }

    /// What the engine is told to begin it.
    pub fn begin(&self) -> Event {
        Event::Begin { plan: Frozen::new(self.plan.clone()), policy: Frozen::new(self.policy.clone()) }
    }
}

impl Simulated {
    /// What an order means now; none if all regions are there already.
    ///
    /// # Errors
    /// It names what there is not.
    pub fn draft(&self, state: &State, order: &Order) -> Result<Option<Draft>, Impossible> {
        let Order { kind, request, actor, reason, policy } = order;
        let Some(zone) = self.serving.zone(self.origin.as_ref()) else {
            return Err(Impossible::NotServed { zone: self.origin.clone() });
        };
        let request = MoveRequest { to: planning::target(state, *kind, request)?, ..request.clone() };
        let regions = planning::regions_of(zone, state, *kind, &request)?;
        if regions.is_empty() {
            return Ok(None);
        }
        let to = zone.content.site_named(&request.to).unwrap_or_default();
        let routing = planning::routing_at_end(zone, &self.serving.regions, regions.keys(), to);
        let candidate = planning::rerouted(&self.serving, zone, routing, self.now());
        let revision = state.revision_of(regions.keys());
        let mut findings = candidate.judge().to_vec();
        if *kind == Kind::Rollback {
            let told = |found: &&mut Finding| found.verdict.stops() && !id::FIRM.contains(&found.gate);
            findings.iter_mut().filter(told).for_each(|finding| finding.verdict = Verdict::Warn);
        }
        let steps = match kind {
            Kind::Failover if !policy.capacity_steps => Steps::at_once(),
            Kind::Failover | Kind::Switchover => policy.steps.clone(),
            Kind::Rollback => Steps::at_once(),
        };
        let stepped = steps.as_slice().len() > 1;
        let plan = Plan {
            digest: candidate.digest(revision),
            kind: *kind,
            regions,
            to: SiteName::from(request.to.as_str()),
            revision,
            old_ttl: planning::old_ttl(&candidate, &self.held, self.now()),
            shown: None,
            ramp_possible: stepped,
            stepped,
            automatic: false,
            actor: actor.clone(),
            reason: reason.clone(),
            overrides: Vec::new(),
            at: self.now(),
            forecast: None,
        };
        Ok(Some(Draft { plan, policy: Policy { steps, ..policy.clone() }, findings }))
    }
}
