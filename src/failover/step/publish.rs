//! What is to be served is published, and confirmed; or it is refused.

use super::{Turn, short, short_all};
use crate::failover::alert;
use crate::failover::effect::{Effect, EffectId, Pending};
use crate::failover::moves::{Clock, Direction, Move, MoveId, Origin, Outcome, Phase, PhaseKind, Why, by_the_journal};
use crate::failover::names::Frozen;
use crate::failover::refusal::Refusal;
use crate::share::Share;

impl Turn {
    /// Brings what follows from the state in line with it: holds, and what is to be served.
    pub(super) fn settle(&mut self) {
        self.review();
        if !self.rerouted {
            return;
        }
        if !self.state.asked.is_of(&self.state) {
            self.state.asked = Frozen::new(self.state.view());
            // One publication at a time: the newest makes everything so that the state wants.
            self.forget(&Effect::Publish);
            self.issue(Effect::Publish);
        } else if !self.state.pending.values().any(|pending| pending.effect == Effect::Publish) {
            // It is served already: there is nothing to wait for.
            self.land(false);
            self.review();
        }
    }

    pub(super) fn published(&mut self, effect: EffectId) -> Result<(), Refusal> {
        self.take_pending(effect, &Effect::Publish)?;
        self.state.served = self.state.asked.clone();
        self.land(true);
        if self.state.moves.values().any(|moving| !moving.confirmed) {
            self.forget(&Effect::Confirm);
            self.issue(Effect::Confirm);
        }
        Ok(())
    }

    /// What the moves wait for is served. `is_new`: it was not before, and our own sockets are to be asked.
    fn land(&mut self, is_new: bool) {
        let publishing = self.state.moves.iter().filter(|(_, moving)| moving.phase.is_publishing());
        for id in publishing.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.land_one(id, is_new);
        }
    }

    /// From now on, what was answered before is only held by caches, and runs out.
    fn land_one(&mut self, id: MoveId, is_new: bool) {
        let now = self.now;
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        let low = moving.policy.low_ttl;
        let shifts = moving.phase.kind() == PhaseKind::Shifting && moving.published != moving.share;
        if moving.given > low || shifts {
            for region in moving.base.keys() {
                self.state.ttls.edit().note(region, moving.given, now);
            }
        }
        // Old answers of edits and of earlier moves count as well.
        let held = self.state.ttls.until_all(moving.base.keys()).filter(|held| *held > now).unwrap_or(now);
        moving.given = moving.given.min(low);
        moving.confirmed &= !is_new;
        match moving.phase.kind() {
            PhaseKind::Lowering => {
                moving.phase = Phase::Lowering { clock: Clock::Until(held), basis: by_the_journal() };
            }
            PhaseKind::Shifting => {
                moving.published = moving.share;
                if moving.base.values().any(|origin| origin.split.is_some()) {
                    let whole = |origin: &Origin| Origin { split: None, ..origin.clone() };
                    let base = moving.base.iter().map(|(region, origin)| (region.clone(), whole(origin)));
                    moving.base = Frozen::new(base.collect());
                }
                if moving.share == moving.end() {
                    self.drain(id);
                } else {
                    moving.phase = Phase::Shifting { clock: Clock::Until(now.after(moving.policy.step_wait)) };
                }
            }
            _ => {}
        }
    }

    fn drain(&mut self, id: MoveId) {
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        // What was found out on the way there does not count on the way back.
        moving.watched = Frozen::new(Default::default());
        let base = moving.base.clone();
        let held = self.state.old_ttl_until(base.keys(), self.now);
        self.enter(id, Phase::Draining { until: held.unwrap_or(self.now), basis: by_the_journal() });
    }

    pub(super) fn publish_refused(&mut self, effect: EffectId, findings: &[String]) -> Result<(), Refusal> {
        let refused = self.take_pending(effect, &Effect::Publish)?;
        self.state.asked = self.state.served.clone();
        let findings = short_all(findings);
        let publishing = self.state.moves.iter().filter(|(_, moving)| moving.phase.is_publishing());
        let publishing: Vec<MoveId> = publishing.map(|(id, _)| *id).collect();
        for id in &publishing {
            self.put_back(*id, &findings);
        }
        self.rerouted = true;
        let view = self.state.view();
        if *self.state.served != view {
            // The rest is wanted whatever becomes of the moves: TTLs that no move needs low, and new regions.
            if publishing.is_empty() {
                let alert = alert::not_restored(&self.state.zone, &findings);
                self.alert(alert);
            }
            self.state.asked = Frozen::new(view);
            self.publish_later(refused.failures.saturating_add(1));
        }
        Ok(())
    }

    /// Asks for a publication once some time has passed.
    fn publish_later(&mut self, failures: u16) {
        let id = EffectId(self.state.next_effect);
        self.state.next_effect = self.state.next_effect.saturating_add(1);
        let again_at = self.now.after(self.back_off(failures));
        self.state.pending.insert(id, Pending { effect: Effect::Publish, failures, again_at });
    }

    /// A move's step was refused: it stands again where it is published.
    fn put_back(&mut self, id: MoveId, findings: &[String]) {
        let now = self.now;
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        moving.share = moving.published;
        let untouched = moving.published == Share::NONE
            && moving.direction == Direction::Forward
            && moving.times.iter().all(|(phase, _)| *phase != PhaseKind::Lowering)
            && moving.base.values().all(|origin| origin.split.is_none());
        if untouched || moving.phase.kind() == PhaseKind::Lowering {
            self.end(id, Outcome::Refused { findings: findings.to_vec() });
            return;
        }
        moving.phase = Phase::Shifting { clock: Clock::Until(now) };
        self.decide(id);
        self.hold(id, Why::Refused { findings: findings.to_vec() });
    }

    pub(super) fn confirmed(&mut self, effect: EffectId) -> Result<(), Refusal> {
        self.take_pending(effect, &Effect::Confirm)?;
        for moving in self.state.moves.values_mut().filter(|moving| !moving.phase.is_publishing()) {
            moving.confirmed = true;
        }
        Ok(())
    }

    pub(super) fn confirm_failed(&mut self, effect: EffectId, why: &str) -> Result<(), Refusal> {
        self.take_pending(effect, &Effect::Confirm)?;
        self.not_confirmed(why);
        Ok(())
    }

    pub(super) fn not_confirmed(&mut self, why: &str) {
        let unsure = |moving: &Move| !moving.confirmed && !moving.phase.is_publishing();
        let unsure = self.state.moves.iter().filter(|(_, moving)| unsure(moving)).map(|(id, _)| *id);
        for id in unsure.collect::<Vec<_>>() {
            self.hold(id, Why::NotConfirmed { why: short(why) });
        }
    }

    /// Takes a pending effect off the list, if it is this one.
    fn take_pending(&mut self, effect: EffectId, wanted: &Effect) -> Result<Pending, Refusal> {
        match self.state.pending.get(&effect) {
            Some(pending) if pending.effect == *wanted => {
                self.state.pending.remove(&effect).ok_or(Refusal::Late { effect })
            }
            _ => Err(Refusal::Late { effect }),
        }
    }

    /// What was asked for is overtaken: its outcome will be late.
    pub(super) fn forget(&mut self, effect: &Effect) {
        self.state.pending.retain(|_, pending| pending.effect != *effect);
    }

    /// Has our own sockets asked, if nobody does and a move needs it.
    pub(super) fn confirm_again(&mut self) {
        let asked = self.state.pending.values().any(|pending| pending.effect == Effect::Confirm);
        if !asked && self.state.moves.values().any(|moving| !moving.confirmed && !moving.phase.is_publishing()) {
            self.issue(Effect::Confirm);
        }
    }
}
