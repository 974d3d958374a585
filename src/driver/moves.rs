//! What operators ask of moves: to begin, to hold, to go on, to be given up.

use std::sync::Arc;

use super::dark::Dark;
use super::drains::Prospect;
use super::engine::By;
use super::plan::{Draft, RrsetChange, changes};
use super::{Driver, DriverError, now};
use crate::digest::Digest;
use crate::door::{Candidate, Idle, Override, Proposal, stops};
use crate::evidence::Verdict;
use crate::exposure::weights::WeighedStep;
use crate::exposure::weights::Weights;
use crate::failover::actor::Actor;
use crate::failover::effect::Ended;
use crate::failover::event::{Event, Judgement, Target};
use crate::failover::health::Health as SiteHealth;
use crate::failover::moves::{Direction, MoveId, Phase, salt};
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::plan::{Impossible, Kind, MoveRequest, Plan};
use crate::failover::refusal::Refusal;
use crate::failover::state::State;
use crate::failover::step::step;
use crate::failover::steps::Steps;
use crate::failover::story;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serial::Serial;
use crate::share::Share;
use crate::store::audit::{Deed, Override as Overridden};
use crate::time::{Timestamp, Ttl};
use crate::world::{judging, planning};

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct Order {
    /// What sort of move.
    pub kind: Kind,
    /// Which regions go where.
    pub request: MoveRequest,
    /// The shares that it goes by, instead of the policy's; none: the policy's.
    pub steps: Option<Steps>,
    /// Only say what would happen.
    pub dry_run: bool,
    /// How the digest of the plan begins that was shown; any other is refused.
    pub plan: Option<String>,
    /// Why, for the audit trail.
    pub reason: String,
    /// Findings that were seen and shall not stop it.
    pub overrides: Vec<Override>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Moved {
    /// What sort of move.
    pub kind: Kind,
    /// The zone.
    pub origin: Name,
    /// The site to go to.
    pub to: SiteName,
    /// What tells this plan from any other.
    pub plan: Digest,
    /// The regions that move, each with the site that it leaves.
    pub moves: Vec<(String, String)>,
    /// The shares that it goes by.
    pub steps: Vec<Share>,
    /// The same by what was asked of late; empty if too little is known of that.
    pub weighed: Vec<WeighedStep>,
    /// What the gates found.
    pub findings: Vec<Finding>,
    /// How answers change: of very many RRsets, the first.
    pub changes: Vec<RrsetChange>,
    /// How many more RRsets change than are listed; where regions leave different sites, counted for each.
    pub unlisted: usize,
    /// The greatest TTL that what moves is answered with now.
    pub old_ttl: Ttl,
    /// Until when caches that obey TTLs may hold what was answered before.
    pub old_until: Option<Timestamp>,
    /// How much of what the regions asked of late was asked by those who may hold an answer now; none if that is not known.
    pub old_share: Option<Share>,
    /// What a dry run foresees; none where it is no dry run, nothing would change, or it is not noted who is told what.
    pub prospect: Option<Box<Prospect>>,
    /// What would no longer be answered, by a dry run, be it stopped for that; none if nothing.
    pub dark: Option<Box<Dark>>,
    /// What went wrong beside it, and does not undo it.
    pub warnings: Vec<String>,
    /// In short.
    pub outcome: MoveOutcome,
}

/// What became of it, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// All regions are there already, and would be after a restart.
    NothingToDo,
    /// A dry run that nothing would stop.
    WouldChange,
    /// A gate stops it; nothing was changed.
    Blocked,
    /// It has begun, and goes on by itself.
    Begun {
        /// Its number.
        run: MoveId,
    },
    /// Everybody is answered from the new site; it goes on by itself until it is certain that this holds.
    Done {
        /// Its number.
        run: MoveId,
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: Serial,
        /// Whether our own sockets gave the new answers when they were asked.
        confirmed: bool,
    },
}

impl std::fmt::Display for MoveOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MoveOutcome::NothingToDo => f.write_str("nothing to do"),
            MoveOutcome::WouldChange => f.write_str("a dry run"),
            MoveOutcome::Blocked => f.write_str("a gate blocks it"),
            MoveOutcome::Begun { run } => write!(f, "{run} has begun"),
            MoveOutcome::Done { run, generation, serial, confirmed } => {
                let not = if *confirmed { "" } else { "NOT " };
                write!(f, "{run}: everybody has moved, generation {generation}, serial {serial}, {not}confirmed")
            }
        }
    }
}

/// By which shares a move goes, and what is to be said of that.
struct Ramp {
    /// The shares that are wanted.
    wanted: Vec<Share>,
    steps: Steps,
    /// The same by what was asked of late, as far as that is known: these are what is carried out.
    weighed: Vec<WeighedStep>,
    finding: Option<Finding>,
}

impl Ramp {
    fn at_once(finding: Option<Finding>) -> Ramp {
        Ramp { wanted: vec![Share::ALL], steps: Steps::at_once(), weighed: Vec::new(), finding }
    }
}

/// What an operator does to a move under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// Leave it where it is.
    Hold,
    /// Let it go on.
    Resume,
    /// Give it up.
    Abort,
    /// Let it begin, as a second person.
    Approve,
}

impl Driver {
    /// Answers a zone from another site.
    pub fn move_traffic(
        &mut self,
        origin: &Name,
        order: &Order,
        actor: &Actor,
    ) -> Result<Result<Moved, Impossible>, DriverError> {
        let draft = match self.draft(origin, order.kind, &order.request) {
            Ok(draft) => draft,
            Err(impossible) => return Ok(Err(impossible)),
        };
        let ramp = self.ramp(origin, &draft, order);
        let mut report = self.report(&draft, order, &ramp);
        report.findings.extend(self.queued_edit(&draft));
        report.findings.extend(self.drill_recent(&draft));
        if draft.regions.is_empty() {
            if let Some(leaving) = self.leaving(origin, &draft, &order.request) {
                return Ok(Err(leaving));
            }
            // What a plan rests on, and whether the texts can be read, counts even so; an edit of them is a reload's.
            let firm = |finding: &Finding| finding.verdict.stops() && [id::LOADS, id::FRESH].contains(&finding.gate);
            if report.findings.iter().any(firm) {
                report.outcome = MoveOutcome::Blocked;
            }
            return Ok(Ok(report));
        }
        if let Some(idle) = Idle::among(&order.overrides, &report.findings) {
            return Ok(Err(idle.into()));
        }
        let begin = self.beginning(&draft, &report, order, ramp.steps, actor);
        if let (true, Event::Begin { policy, .. }) = (order.dry_run, &begin) {
            report.dark = self.dark(&draft, policy).map(Box::new);
        }
        if report.findings.iter().any(|finding| stops(finding, &order.overrides)) {
            report.outcome = MoveOutcome::Blocked;
        } else if let Some(refusal) = self.would_refuse(origin, &begin) {
            // Nothing is published for a move that would not begin, and none is promised.
            if !order.dry_run {
                self.remember(&mut report, order, actor, &format!("refused: {refusal}"));
            }
            return Ok(Err(refusal.into()));
        } else if order.dry_run {
            report.outcome = MoveOutcome::WouldChange;
            if let Event::Begin { policy, .. } = &begin {
                report.prospect = self.prospect(&draft, policy).map(Box::new);
            }
        } else if let Err(refusal) = self.begin(draft, &mut report, order, begin, actor)? {
            self.remember(&mut report, order, actor, &format!("refused: {refusal}"));
            return Ok(Err(refusal.into()));
        }
        // What was published is published, and the journal says so: the audit trail must not make a failure of it.
        if !order.dry_run {
            let outcome = report.outcome.to_string();
            self.remember(&mut report, order, actor, &outcome);
        }
        Ok(Ok(report))
    }

    fn report(&self, draft: &Draft, order: &Order, ramp: &Ramp) -> Moved {
        let mut findings = draft.findings.clone();
        findings.extend(ramp.finding.clone());
        let plan = self.shown(draft, ramp);
        findings.extend(judging::freshness(&draft.origin, plan, order.plan.as_deref()));
        let unlisted = draft.candidate.differing().iter().flatten().map(|differing| differing.unlisted()).sum();
        Moved {
            kind: draft.kind,
            origin: draft.origin.clone(),
            to: draft.to.clone(),
            plan,
            moves: draft.regions.iter().map(|(region, site)| (region.to_string(), site.to_string())).collect(),
            steps: ramp.steps.as_slice().to_vec(),
            weighed: ramp.weighed.clone(),
            findings,
            changes: changes(&draft.candidate),
            unlisted,
            old_ttl: draft.old_ttl,
            old_until: None,
            old_share: self.held_share(&draft.origin, draft.regions.keys()),
            prospect: None,
            dark: None,
            warnings: Vec::new(),
            outcome: MoveOutcome::NothingToDo,
        }
    }

    /// The move that is about to take a region away from where it should be.
    fn leaving(&self, origin: &Name, draft: &Draft, request: &MoveRequest) -> Option<Impossible> {
        let asked = |region: &&RegionName| request.region.as_deref().is_none_or(|only| only == region.as_str());
        let state = self.traffic(origin)?;
        state.base.keys().filter(asked).find_map(|region| {
            let (by, moving) = state.move_of(region)?;
            let goes = moving.plan.to != draft.to && moving.direction == Direction::Forward;
            let to = moving.plan.to.clone();
            goes.then(|| Impossible::Leaving { by, region: region.clone(), to })
        })
    }

    /// Edits of the target's files that wait for the end of another move are not published by this one either.
    fn queued_edit(&self, draft: &Draft) -> Option<Finding> {
        let (content, ..) = draft.edit.as_ref()?;
        let served = &self.serving.zone(draft.origin.as_ref())?.content;
        let touched = self.touched_by_moves(served, content);
        (!touched.is_empty()).then(|| Finding {
            gate: id::LOADS,
            zone: draft.origin.clone(),
            verdict: Verdict::Block,
            reason: format!("the files of {} were edited where a move under way moves traffic", draft.to),
            remedy: "wait for the end of that move, or take the edit back".into(),
            items: touched,
        })
    }

    /// What a plan is shown by, and asked for again: what moves, and how it is carried out. Which units go with a step may have
    /// changed since; the shares that are wanted may not.
    fn shown(&self, draft: &Draft, ramp: &Ramp) -> Digest {
        let careful = self.setup.zone(&draft.origin).map(|spec| &spec.moves);
        let how = careful.map(|policy| (policy.low_ttl, policy.step_wait, policy.bake, policy.drain_deadline));
        Digest::of(format!("{} {:?} {:?} {how:?}", draft.digest, draft.kind, ramp.wanted).as_bytes())
    }

    /// Steps by what was asked of late; none if too little is known of that.
    fn weighed(&self, draft: &Draft, wanted: &[Share]) -> Vec<WeighedStep> {
        let regions = draft.regions.keys().filter_map(|region| self.serving.regions.named(region.as_str())).collect();
        let units = &self.serving.units;
        let known = self.folding.as_ref();
        let weights = known.and_then(|folding| Weights::of(&**folding, &draft.origin, &regions, units));
        weights.map_or_else(Vec::new, |weights| weights.steps(wanted, units, salt(draft.digest)))
    }

    /// The shares that a move goes by: those that were asked for, or the policy's; everybody at once where not all name
    /// servers of the zone take part.
    fn ramp(&self, origin: &Name, draft: &Draft, order: &Order) -> Ramp {
        let Some(spec) = self.setup.zone(origin) else { return Ramp::at_once(None) };
        let usual = match order.kind {
            Kind::Failover if !spec.moves.capacity_steps => Steps::at_once(),
            Kind::Failover | Kind::Switchover => spec.moves.steps.clone(),
            Kind::Rollback => Steps::at_once(),
        };
        let steps = order.steps.clone().unwrap_or(usual);
        if steps.as_slice().len() == 1 || draft.regions.is_empty() {
            return Ramp { wanted: steps.as_slice().to_vec(), steps, weighed: Vec::new(), finding: None };
        }
        let finding = self.ramp_possible(spec, order.steps.is_some());
        let possible = finding.verdict == Verdict::Pass || order.steps.is_some();
        if !possible {
            return Ramp::at_once(Some(finding));
        }
        let wanted = steps.as_slice().to_vec();
        let weighed = self.weighed(draft, &wanted);
        let by_units = Steps::try_from(weighed.iter().map(|step| step.units).collect::<Vec<_>>());
        match by_units {
            Ok(steps) if !weighed.is_empty() => Ramp { wanted, steps, weighed, finding: Some(finding) },
            _ => Ramp { wanted, steps, weighed: Vec::new(), finding: Some(finding) },
        }
    }

    /// What the engine is to be told.
    fn beginning(&self, draft: &Draft, report: &Moved, order: &Order, steps: Steps, actor: &Actor) -> Event {
        let revision = self.traffic(&draft.origin).map_or(0, |state| state.revision_of(draft.regions.keys()));
        let words = overridden(report, order);
        let plan = Plan {
            digest: draft.digest,
            kind: draft.kind,
            regions: draft.regions.clone(),
            to: draft.to.clone(),
            revision,
            old_ttl: draft.old_ttl,
            shown: Some(report.plan),
            ramp_possible: steps.as_slice().len() > 1,
            stepped: steps.as_slice().len() > 1,
            automatic: false,
            actor: actor.clone(),
            reason: order.reason.clone(),
            overrides: words.iter().map(|word| format!("{}@{}", word.gate, word.digest)).collect(),
            at: now(),
            forecast: None,
        };
        let usual = self.setup.zone(&draft.origin).map(|spec| spec.moves.clone()).unwrap_or_default();
        let policy = crate::failover::policy::Policy { steps, ..usual };
        let plan = Plan { forecast: self.forecast_of_resolvers(draft, &policy), ..plan };
        Event::Begin { plan: Frozen::new(plan), policy: Frozen::new(policy) }
    }

    /// Why the engine would not take an event, if it wouldn't.
    fn would_refuse(&self, origin: &Name, event: &Event) -> Option<Refusal> {
        let state = self.traffic(origin)?;
        step(state, event, now()).0.refusal
    }

    /// Publishes what the target's files say by now, and has the engine begin.
    fn begin(
        &mut self,
        draft: Draft,
        report: &mut Moved,
        order: &Order,
        mut begin: Event,
        actor: &Actor,
    ) -> Result<Result<(), Refusal>, DriverError> {
        let (origin, edited) = (draft.origin.clone(), draft.edit.is_some());
        let by = By { actor: actor.clone(), reason: order.reason.clone() };
        self.drills.interrupt(&origin, format!("a {} to {} has begun", story::kind(draft.kind), draft.to));
        if !self.publish_edit(draft, order, &by)? {
            report.outcome = MoveOutcome::Blocked;
            return Ok(Ok(()));
        }
        if let Event::Begin { plan, .. } = &mut begin {
            // What it moves is compared with what is served from now on.
            let (mut digest, mut old_ttl) = (plan.digest, plan.old_ttl);
            if let Some(end) = self.end_of(&origin, plan).filter(|_| edited) {
                digest = end.digest(plan.revision);
                old_ttl = old_ttl.max(planning::old_ttl(&end, &self.held(&origin), now()));
            }
            *plan = Frozen::new(Plan { digest, old_ttl, ..(**plan).clone() });
            // The gates have judged this very plan just now.
            self.cleared = Some((origin.clone(), digest));
        }
        let next = |driver: &Driver| driver.traffic(&origin).map_or(0, |state| state.next_move);
        let before = next(self);
        let begun = self.drive(&origin, begin, &by);
        self.cleared = None;
        self.standby.look_into(&self.serving);
        self.tidy();
        match begun {
            Ok(Some(refusal)) => return Ok(Err(refusal)),
            Ok(None) => {}
            // It has begun, and goes on by itself as soon as the state can be written.
            Err(error) if next(self) > before => report.warnings.push(format!(
                "the state could not be written ({error}): the run stands where it is, and goes on as soon as it can"
            )),
            Err(error) => return Err(error),
        }
        self.outcome_of(&origin, report);
        Ok(Ok(()))
    }

    /// What a plan comes to in the end, by what is served now.
    fn end_of(&self, origin: &Name, plan: &Plan) -> Option<Candidate> {
        Some(self.looked_into(origin, planning::end_of(&self.serving, origin, plan, now())?))
    }

    /// Publishes what the target's files say by now; whether the gates let that through.
    fn publish_edit(&mut self, draft: Draft, order: &Order, by: &By) -> Result<bool, DriverError> {
        let Some((content, loads, texts)) = draft.edit else { return Ok(true) };
        let Some(routing) = self.serving.zone(draft.origin.as_ref()).map(|zone| zone.routing.clone()) else {
            return Ok(false);
        };
        let proposal = Proposal { content, routing, loads, restored: None };
        let candidate = Candidate::new(Arc::clone(&self.serving), vec![proposal], now());
        let Ok(verified) = candidate.verify(&order.overrides) else { return Ok(false) };
        let event = serde_json::json!({ "told": [format!("the files of {} were taken over", draft.to)] });
        let cause = super::publish::Cause { actor: by.actor.clone(), reason: by.reason.clone(), event };
        self.publish(&verified, vec![(draft.origin, texts)], cause)?;
        Ok(true)
    }

    fn outcome_of(&self, origin: &Name, report: &mut Moved) {
        let Some(state) = self.traffic(origin) else { return };
        let run = MoveId(state.next_move.saturating_sub(1));
        let regions: Vec<RegionName> = report.moves.iter().map(|(region, _)| region.as_str().into()).collect();
        report.old_until = state.old_ttl_until(&regions, now());
        if let Some(Phase::AwaitingApproval { until }) = state.find(run).map(|moving| &moving.phase) {
            report.warnings.push(format!("it waits until {until} for another user: understudy approve {origin}"));
        }
        report.outcome = match state.find(run) {
            Some(moving) if moving.published == Share::ALL && moving.hold.is_none() => MoveOutcome::Done {
                run,
                generation: self.serving.generation,
                serial: self.serial_of(origin),
                confirmed: moving.confirmed,
            },
            _ => MoveOutcome::Begun { run },
        };
    }

    /// What the gates say of a move that is to begin, or to begin again after a restart or an approval.
    pub(super) fn judge(&mut self, origin: &Name, state: &State, id: MoveId) -> Judgement {
        let Some(moving) = state.find(id) else { return Judgement::Passed };
        let plan = &moving.plan;
        if self.cleared.take_if(|(zone, digest)| zone == origin && *digest == plan.digest).is_some() {
            return Judgement::Passed;
        }
        let Some(candidate) = self.end_of(origin, plan) else {
            return Judgement::Blocked(vec![format!("the zone {origin} is not served at {}", plan.to)]);
        };
        judging::judgement(&candidate, origin, plan)
    }

    /// A move has ended.
    pub(super) fn ended(&self, origin: &Name, ended: &Ended) {
        tracing::info!(zone = %origin, "move {}: {}", ended.id.0, story::ended(ended));
    }

    /// Does something to a move under way. Why it changed nothing, if it didn't.
    pub fn steer(
        &mut self,
        origin: &Name,
        steering: Steering,
        region: Option<&str>,
        by: &By,
    ) -> Result<Option<Refusal>, DriverError> {
        let target = region.map_or(Target::Only, |region| Target::Region(RegionName::from(region)));
        let (actor, reason) = (by.actor.clone(), by.reason.clone());
        let (event, command) = match steering {
            Steering::Hold => (Event::Hold { target, actor, reason }, "hold"),
            Steering::Resume => (Event::Resume { target, actor, reason }, "resume"),
            Steering::Abort => (Event::Abort { target, actor, reason }, "abort"),
            Steering::Approve => (Event::Approved { target, actor }, "approve"),
        };
        let refusal = self.drive(origin, event, by)?;
        let region = region.map(|region| format!(" --region {region}")).unwrap_or_default();
        self.note(by, format!("{command} {origin}{region}"), refusal.as_ref());
        Ok(refusal)
    }

    /// Holds a site of a zone for up or down, or no longer. Why that changed nothing, if it didn't.
    pub fn force_site(
        &mut self,
        origin: &Name,
        site: &str,
        health: Option<SiteHealth>,
        by: &By,
    ) -> Result<Option<Refusal>, DriverError> {
        let (actor, reason) = (by.actor.clone(), by.reason.clone());
        let event = Event::SiteForced { site: SiteName::from(site), health, actor, reason };
        let refusal = self.drive(origin, event, by)?;
        let word = health.map_or("auto".to_owned(), |health| health.to_string());
        self.note(by, format!("site {word} {site} --zone {origin}"), refusal.as_ref());
        Ok(refusal)
    }

    /// Writes a command into the audit trail.
    pub(super) fn note(&self, by: &By, command: String, refusal: Option<&Refusal>) {
        let outcome = refusal.map_or("done".to_owned(), |refusal| format!("refused: {refusal}"));
        let (actor, reason) = (by.actor.clone(), by.reason.clone());
        let deed = Deed { at: now(), actor, command, reason, overrides: Vec::new(), outcome };
        if let Err(error) = self.store.audit().record(&deed) {
            tracing::error!(%error, "the audit trail could not be written");
        }
    }

    fn remember(&self, report: &mut Moved, order: &Order, actor: &Actor, outcome: &str) {
        let deed = Deed {
            at: now(),
            actor: actor.clone(),
            command: format!("{} {} --to {}", story::kind(report.kind), report.origin, report.to),
            reason: order.reason.clone(),
            overrides: overridden(report, order),
            outcome: outcome.to_owned(),
        };
        if let Err(error) = self.store.audit().record(&deed) {
            tracing::error!(%error, zone = %report.origin, "the audit trail could not be written");
            report.warnings.push(format!("this is not in the audit trail, which could not be written: {error}"));
        }
    }
}

/// What was overridden.
fn overridden(report: &Moved, order: &Order) -> Vec<Overridden> {
    let stopping = report.findings.iter().filter(|finding| finding.verdict.stops());
    let words = stopping.filter_map(|finding| {
        let word = order.overrides.iter().find(|word| word.covers(finding))?;
        Some(Overridden { gate: word.gate.clone(), digest: finding.digest(), covered: finding.items.clone() })
    });
    words.collect()
}
