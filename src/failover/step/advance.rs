//! A time has come: a wait is over, something is tried again, somebody is reminded.

use std::time::Duration;

use super::{PATIENCE, TRIES, Turn};
use crate::failover::alert;
use crate::failover::effect::{Effect, EffectId, Issued};
use crate::failover::moves::{Clock, Hold, MoveId, Outcome, Phase, Why};
use crate::failover::names::Frozen;
use crate::failover::refusal::Refusal;

impl Turn {
    pub(super) fn tick(&mut self) -> Result<(), Refusal> {
        if self.state.ttls.iter().any(|(_, held)| held.until <= self.now) {
            self.state.ttls.edit().expire(self.now);
        }
        let due = self.state.pending.iter().filter(|(_, pending)| pending.again_at <= self.now);
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.ask_again(id);
        }
        for id in self.ids() {
            self.expire(id);
            self.advance(id);
        }
        Ok(())
    }

    /// Nothing was heard of an effect, or it failed and the wait is over.
    fn ask_again(&mut self, id: EffectId) {
        let Some(pending) = self.state.pending.get(&id) else { return };
        let (effect, failures) = (pending.effect.clone(), pending.failures.saturating_add(1));
        if self.gives_up(id, &effect, failures, "nothing was heard of it") {
            return;
        }
        let again_at = self.now.after(PATIENCE.max(self.back_off(failures)));
        if let Some(pending) = self.state.pending.get_mut(&id) {
            (pending.failures, pending.again_at) = (failures, again_at);
        }
        self.issued.push(Issued { id, effect });
    }

    pub(super) fn effect_failed(&mut self, id: EffectId, why: &str) -> Result<(), Refusal> {
        let Some(pending) = self.state.pending.get(&id) else { return Err(Refusal::Late { effect: id }) };
        let (effect, failures) = (pending.effect.clone(), pending.failures.saturating_add(1));
        if !self.gives_up(id, &effect, failures, why) {
            let again_at = self.now.after(self.back_off(failures));
            if let Some(pending) = self.state.pending.get_mut(&id) {
                (pending.failures, pending.again_at) = (failures, again_at);
            }
        }
        Ok(())
    }

    /// Whether something failed once too often to be tried again, and what follows from that. What is to be served is
    /// tried for ever, and so is telling how a move ended.
    fn gives_up(&mut self, id: EffectId, effect: &Effect, failures: u16, why: &str) -> bool {
        if failures < TRIES {
            return false;
        }
        match effect {
            Effect::Judge { id: judged } => {
                let judged = *judged;
                self.state.pending.remove(&id);
                let finding = format!("it could not be judged: {}", super::short(why));
                self.end(judged, Outcome::Refused { findings: vec![finding] });
            }
            Effect::Confirm => {
                self.state.pending.remove(&id);
                self.not_confirmed(why);
            }
            // What can't be asked for does not hold a move up: it goes by the bound alone.
            Effect::Sample { id: sampled } => {
                let sampled = *sampled;
                self.state.pending.remove(&id);
                self.unsampled(sampled);
            }
            // What is in its way now may be over when it is found again.
            Effect::Rename { id: renaming, .. } => {
                let renaming = *renaming;
                self.forget_rename(renaming);
            }
            Effect::Alert(_) => _ = self.state.pending.remove(&id),
            Effect::Publish if failures == TRIES => {
                let publishing = self.state.moves.iter().filter(|(_, moving)| moving.phase.is_publishing());
                let publishing: Vec<MoveId> = publishing.map(|(id, _)| *id).collect();
                if publishing.is_empty() {
                    let alert = alert::not_restored(&self.state.zone, &[super::short(why)]);
                    self.alert(alert);
                }
                for moving in publishing {
                    self.hold(moving, Why::Failing { why: super::short(why) });
                }
                return false;
            }
            Effect::Publish | Effect::Ended(_) => return false,
        }
        true
    }

    pub(super) fn told(&mut self, effect: EffectId) -> Result<(), Refusal> {
        match self.state.pending.get(&effect).map(|pending| &pending.effect) {
            Some(Effect::Alert(_) | Effect::Ended(_)) => _ = self.state.pending.remove(&effect),
            _ => return Err(Refusal::Late { effect }),
        }
        Ok(())
    }

    /// A move that waits for a person does so no longer than it was told to.
    fn expire(&mut self, id: MoveId) {
        let (now, zone) = (self.now, self.state.zone.clone());
        let Some(moving) = self.find_mut(id) else { return };
        if let Phase::AwaitingApproval { until } = moving.phase
            && until <= now
        {
            self.end(id, Outcome::Aborted { why: "nobody approved it in time".into() });
            return;
        }
        let Some(hold) = moving.hold.clone() else { return };
        let overdue = hold.deadline.is_some_and(|deadline| deadline <= now);
        let is_whole = moving.base.values().all(|origin| origin.split.is_none());
        if overdue && !moving.has_moved() && is_whole {
            // Nobody has moved, so that nothing is lost; and TTLs are not to stay low for ever.
            self.end(id, Outcome::Aborted { why: "it was on hold for too long, and nobody had moved".into() });
        } else if overdue || hold.remind_at <= now {
            let told = alert::still_held(&zone, id, moving, &hold.why, overdue);
            let remind_at = now.after(moving.policy.hold_reminder.max(SHORTEST_REMINDER));
            let deadline = hold.deadline.filter(|_| !overdue);
            moving.hold = Some(Frozen::new(Hold { remind_at, deadline, ..(*hold).clone() }));
            self.alert(told);
        }
    }

    /// The next phase or share, if the present one is over. One at a time: each is journaled.
    fn advance(&mut self, id: MoveId) {
        let now = self.now;
        let Some(moving) = self.state.moves.get(&id) else { return };
        if moving.hold.is_some() || self.state.is_challenged(moving) {
            return;
        }
        match moving.phase {
            Phase::Lowering { clock: Clock::Until(until), .. } | Phase::Shifting { clock: Clock::Until(until) }
                if until <= now && moving.confirmed =>
            {
                self.shift(id);
            }
            Phase::Draining { until, .. } if until <= now && moving.confirmed && !self.state.is_sampling(id) => {
                self.bound_passed(id);
            }
            Phase::Draining { .. } | Phase::Lowering { .. } if moving.drain_overdue_at() <= now => {
                self.hold(id, Why::DrainOverdue);
            }
            Phase::Baking { observed, since: Some(since) }
                if observed.saturating_add(now.since(since)) >= moving.policy.bake =>
            {
                self.end(id, Outcome::Done);
            }
            _ => {}
        }
    }

    /// On to the next share.
    pub(super) fn shift(&mut self, id: MoveId) {
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        moving.share = moving.next_share();
        self.enter(id, Phase::Shifting { clock: Clock::Publishing });
        self.decide(id);
    }
}

/// How often a hold says so at most, whatever the policy says.
const SHORTEST_REMINDER: Duration = Duration::from_secs(1);
