//! A move begins, is judged, and takes over from others.

use std::collections::BTreeMap;

use super::{MOST_ENDINGS, Turn, idle, short, short_all};
use crate::failover::actor::Actor;
use crate::failover::effect::{Effect, EffectId};
use crate::failover::event::{Judgement, Target};
use crate::failover::health::Health;
use crate::failover::moves::{
    Clock, Direction, Move, MoveId, Moving, Origin, Outcome, Phase, PhaseKind, by_the_journal,
};
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::plan::{Kind, Plan};
use crate::failover::policy::Policy;
use crate::failover::refusal::Refusal;
use crate::failover::state::Autopilot;
use crate::share::Share;
use crate::time::Ttl;

impl Turn {
    pub(super) fn begin(&mut self, plan: &Frozen<Plan>, policy: &Frozen<Policy>) -> Result<(), Refusal> {
        self.may_begin(plan)?;
        let others = self.overlapped(plan.regions.keys());
        self.may_move(plan, &others)?;
        self.may_go(&plan.to, &self.sites_of(plan))?;
        let base = plan.regions.keys().filter_map(|region| {
            let site = self.state.base.get(region)?.clone();
            Some((region.clone(), Origin { site, others: Default::default(), split: None }))
        });
        let moving = Move {
            base: Frozen::new(base.collect()),
            plan: trimmed(plan),
            policy: policy.clone(),
            phase: Phase::Checking,
            revision: 0,
            share: Share::NONE,
            published: Share::NONE,
            direction: Direction::Forward,
            given: plan.old_ttl,
            confirmed: true,
            approved: None,
            hold: None,
            started: self.now,
            times: vec![(PhaseKind::Checking, self.now)],
            watched: Frozen::new(Default::default()),
        };
        let id = MoveId(self.state.next_move);
        self.state.next_move = self.state.next_move.saturating_add(1);
        if others.is_empty() {
            self.state.moves.insert(id, moving);
        } else {
            self.state.challengers.insert(id, moving);
        }
        self.decide(id);
        self.issue(Effect::Judge { id });
        if plan.automatic {
            let why = format!("{id} was its own doing: it never moves traffic twice without being armed again");
            self.state.autopilot = Frozen::new(Autopilot::Disarmed { why });
        }
        Ok(())
    }

    /// Whether the state and the plan by itself allow it.
    fn may_begin(&self, plan: &Plan) -> Result<(), Refusal> {
        if let Some(why) = &self.state.doubt {
            return Err(Refusal::Doubted { why: why.clone() });
        }
        if let (true, Autopilot::Disarmed { why }) = (plan.automatic, &*self.state.autopilot) {
            return Err(Refusal::Disarmed { why: why.clone() });
        }
        if plan.regions.is_empty() {
            return Err(idle("the plan names no region"));
        }
        if let Some(region) = plan.regions.keys().find(|region| !self.state.base.contains_key(*region)) {
            return Err(Refusal::NoRegion { region: region.clone() });
        }
        if !self.state.health.contains_key(&plan.to) {
            return Err(Refusal::NoSite { site: plan.to.clone() });
        }
        let endings = self.state.pending.values().filter(|pending| matches!(pending.effect, Effect::Ended(_))).count();
        if endings >= MOST_ENDINGS {
            return Err(Refusal::TooMany { what: format!("{endings} endings of moves could not be recorded yet") });
        }
        Ok(())
    }

    /// Whether what else is under way allows it.
    fn may_move(&self, plan: &Plan, others: &[MoveId]) -> Result<(), Refusal> {
        let now = self.state.revision_of(plan.regions.keys());
        if plan.revision != now {
            let challengers = self.state.challengers.iter();
            let mut all = challengers.chain(&self.state.moves);
            let by = all.find(|(_, moving)| moving.revision == now).map(|(id, _)| *id);
            return Err(Refusal::Stale { planned: plan.revision, now, by });
        }
        let busy =
            |by: MoveId, region: &RegionName| Refusal::Busy { by, region: region.clone(), planned: plan.revision, now };
        for region in plan.regions.keys() {
            if let Some((id, _)) = self.state.challengers.iter().find(|(_, other)| other.base.contains_key(region)) {
                return Err(busy(*id, region));
            }
            let holder = others.iter().find_map(|id| {
                let moving = self.state.moves.get(id)?;
                moving.base.contains_key(region).then_some((*id, moving))
            });
            let there = match holder {
                None => self.state.base.get(region) == Some(&plan.to),
                Some((_, moving)) if moving.share == Share::ALL => moving.plan.to == plan.to,
                Some((_, moving)) => !moving.has_moved() && self.state.base.get(region) == Some(&plan.to),
            };
            if there {
                return Err(Refusal::NothingToMove { region: region.clone(), to: plan.to.clone() });
            }
            if let Some((id, _)) = holder.filter(|(_, moving)| !may_take_over(plan, moving, region)) {
                return Err(busy(id, region));
            }
        }
        Ok(())
    }

    /// Whether it is known that nothing good can come of sending clients to a site.
    fn may_go(&self, to: &SiteName, from: &[SiteName]) -> Result<(), Refusal> {
        if self.nothing_works(std::iter::once(to).chain(from)) {
            return Err(Refusal::CutOff { site: to.clone() });
        }
        match self.state.health_of(to) {
            Health::Down => Err(Refusal::TargetDown { site: to.clone() }),
            Health::Up | Health::Unknown => Ok(()),
        }
    }

    /// The sites that a plan's regions are answered from now.
    fn sites_of(&self, plan: &Plan) -> Vec<SiteName> {
        let mut sites: Vec<SiteName> = Vec::new();
        for region in plan.regions.keys() {
            let moving =
                self.state.move_of(region).map(|(_, moving)| moving).filter(|moving| moving.share > Share::NONE);
            sites.extend(self.state.base.get(region).cloned());
            sites.extend(moving.map(|moving| moving.plan.to.clone()));
        }
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// The moves, other than those that wait to take over, that have some of these regions.
    fn overlapped<'a>(&self, regions: impl Iterator<Item = &'a RegionName>) -> Vec<MoveId> {
        let mut ids: Vec<MoveId> = regions.filter_map(|region| self.state.move_of(region)).map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(super) fn judged(&mut self, effect: EffectId, verdict: &Judgement) -> Result<(), Refusal> {
        let Some(Effect::Judge { id }) = self.state.pending.get(&effect).map(|pending| pending.effect.clone()) else {
            return Err(Refusal::Late { effect });
        };
        self.state.pending.remove(&effect);
        let Some(moving) = self.state.find(id) else { return Err(Refusal::Late { effect }) };
        let stands_still =
            moving.hold.is_some() || self.state.moves.contains_key(&id) && self.state.is_challenged(moving);
        let (wants_approval, expires) = (moving.wants_approval(), moving.policy.approval_expires);
        let may_go = self.may_go(&moving.plan.to, &self.sites_of(&moving.plan));
        match (verdict, may_go) {
            (Judgement::Blocked(findings), _) => {
                self.end(id, Outcome::Refused { findings: short_all(findings) });
            }
            // It is judged again when it goes on: what was found out by then is old.
            _ if stands_still => {}
            (Judgement::Passed, Err(refusal)) => {
                self.end(id, Outcome::Refused { findings: vec![refusal.to_string()] });
            }
            (Judgement::Passed, Ok(())) if wants_approval => {
                self.enter(id, Phase::AwaitingApproval { until: self.now.after(expires) });
            }
            (Judgement::Passed, Ok(())) => self.start(id),
        }
        Ok(())
    }

    pub(super) fn approved(&mut self, target: &Target, actor: &Actor) -> Result<(), Refusal> {
        let id = self.target(target)?;
        let moving = self.find_mut(id).ok_or(Refusal::NoMove)?;
        let phase = moving.phase.kind();
        if phase != PhaseKind::AwaitingApproval {
            return Err(Refusal::NotAwaited { id, phase });
        }
        if moving.hold.is_some() {
            return Err(Refusal::Held { id });
        }
        let uid = actor.uid.ok_or(Refusal::Nobody { id })?;
        if moving.plan.actor.uid == Some(uid) {
            return Err(Refusal::SamePerson { id, uid });
        }
        moving.approved = Some(Actor { uid: Some(uid), name: short(&actor.name) });
        // The gates have the last word: much may have changed while it waited.
        self.enter(id, Phase::Checking);
        self.issue(Effect::Judge { id });
        Ok(())
    }

    /// The gates let it through, and so did whoever has to.
    fn start(&mut self, id: MoveId) {
        if self.state.challengers.contains_key(&id) {
            self.take_over(id);
        }
        let Some(moving) = self.state.moves.get(&id) else { return };
        match moving.plan.kind {
            // Low TTLs would only make the way back longer: caches let go of the old answers no sooner for it.
            Kind::Failover | Kind::Rollback => self.shift(id),
            Kind::Switchover => self.enter(id, Phase::Lowering { clock: Clock::Publishing, basis: by_the_journal() }),
        }
    }

    /// Takes regions over from the moves that have them. These go on with what they keep, or end.
    fn take_over(&mut self, id: MoveId) {
        let Some(mut moving) = self.state.challengers.remove(&id) else { return };
        let mut base = (*moving.base).clone();
        let (mut given, mut taken) = (Ttl::ZERO, 0);
        for other in self.overlapped(moving.base.keys()) {
            let Some(former) = self.state.moves.get(&other).cloned() else { continue };
            let (lost, kept): (BTreeMap<_, _>, BTreeMap<_, _>) = former
                .base
                .iter()
                .map(|(region, origin)| (region.clone(), origin.clone()))
                .partition(|(region, _)| base.contains_key(region));
            for (region, origin) in lost {
                // TTLs are low already if the former move lowered them for what differs at this one's target, too.
                let target_known =
                    (origin.site == moving.plan.to || former.plan.to == moving.plan.to) && origin.others.is_empty();
                let ttl = if target_known { former.given } else { moving.plan.old_ttl };
                (given, taken) = (given.max(ttl), taken + 1);
                let inherited = inherit(&former, origin);
                self.state.base.edit().insert(region.clone(), inherited.site.clone());
                base.insert(region, inherited);
            }
            if kept.is_empty() {
                self.end(other, Outcome::Replaced { by: id });
            } else if let Some(former) = self.state.moves.get_mut(&other) {
                former.base = Frozen::new(kept);
                self.decide(other);
                self.rejudge(other);
            }
        }
        moving.given = if taken == base.len() { given } else { given.max(moving.plan.old_ttl) };
        moving.base = Frozen::new(base);
        self.state.moves.insert(id, moving);
        self.decide(id);
    }

    /// A move that stood still because another was to take over goes on: that one is no more.
    pub(super) fn unchallenge(&mut self, regions: &BTreeMap<RegionName, Origin>) {
        for id in self.overlapped(regions.keys()) {
            self.decide(id);
            self.rejudge(id);
        }
    }

    /// Has a move judged that is being checked, if nobody does.
    pub(super) fn rejudge(&mut self, id: MoveId) {
        let checking =
            self.state.find(id).is_some_and(|moving| moving.phase == Phase::Checking && moving.hold.is_none());
        let judge = Effect::Judge { id };
        if checking && !self.state.pending.values().any(|pending| pending.effect == judge) {
            self.issue(judge);
        }
    }
}

/// A plan with its texts at a length that a state can keep.
fn trimmed(plan: &Frozen<Plan>) -> Frozen<Plan> {
    let (reason, overrides) = (short(&plan.reason), short_all(&plan.overrides));
    if reason == plan.reason && overrides == plan.overrides {
        return plan.clone();
    }
    Frozen::new(Plan { reason, overrides, ..(**plan).clone() })
}

/// Whether a plan may take a region over from a move that has it.
fn may_take_over(plan: &Plan, moving: &Move, region: &RegionName) -> bool {
    let nobody_moved = !matches!(moving.phase.kind(), PhaseKind::Shifting | PhaseKind::Draining | PhaseKind::Baking);
    let everybody_moved =
        moving.direction == Direction::Forward && matches!(moving.phase, Phase::Draining { .. } | Phase::Baking { .. });
    match plan.kind {
        Kind::Failover => plan.is_immediate() || nobody_moved && moving.plan.to == plan.to,
        Kind::Rollback => everybody_moved && moving.base.get(region).is_some_and(|origin| origin.site == plan.to),
        Kind::Switchover => false,
    }
}

/// Where a region comes from once another move takes it over from `former`.
fn inherit(former: &Move, mut origin: Origin) -> Origin {
    let to = former.plan.to.clone();
    match former.published {
        Share::ALL => {
            origin.others.remove(&to);
            origin.others.insert(std::mem::replace(&mut origin.site, to));
            origin.split = None;
        }
        Share::NONE => {
            let went_there = former.share > Share::NONE || former.direction == Direction::Back;
            origin.others.extend(went_there.then_some(to));
        }
        share => {
            origin.split = Some(Moving { to: to.clone(), share, salt: former.salt() });
            origin.others.insert(to);
        }
    }
    origin
}
