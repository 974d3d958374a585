//! What operators order of a move that is under way: hold, resume, abort.

use super::{Turn, idle, short};
use crate::failover::actor::Actor;
use crate::failover::effect::{Effect, Issued};
use crate::failover::event::Target;
use crate::failover::health::Health;
use crate::failover::moves::{Clock, Direction, MoveId, Origin, Outcome, Phase, Why};
use crate::failover::names::{Frozen, SiteName};
use crate::failover::refusal::Refusal;

impl Turn {
    pub(super) fn hold_ordered(&mut self, target: &Target, actor: &Actor, reason: &str) -> Result<(), Refusal> {
        let id = self.target(target)?;
        let moving = self.state.find(id).ok_or(Refusal::NoMove)?;
        // What would go on by itself does not, once somebody has said so.
        if moving.hold.as_ref().is_some_and(|hold| !hold.why.lifts_itself()) {
            return Err(Refusal::Held { id });
        }
        let actor = Actor { uid: actor.uid, name: short(&actor.name) };
        self.hold(id, Why::Operator { actor, reason: short(reason) });
        Ok(())
    }

    pub(super) fn resume(&mut self, target: &Target) -> Result<(), Refusal> {
        let id = self.target(target)?;
        let moving = self.state.find(id).ok_or(Refusal::NoMove)?;
        let hold = moving.hold.clone().ok_or(Refusal::NotHeld { id })?;
        match self.hindrance(moving) {
            None => {}
            Some(Why::CutOff) => return Err(Refusal::CutOff { site: self.goal(id) }),
            Some(Why::Unseen { site }) => return Err(Refusal::Unseen { site }),
            Some(_) => return Err(Refusal::TargetDown { site: self.goal(id) }),
        }
        let now = self.now;
        let moving = self.find_mut(id).ok_or(Refusal::NoMove)?;
        moving.hold = None;
        match (&mut moving.phase, &hold.why) {
            // A site that failed has to prove itself from the beginning.
            (Phase::Baking { observed, .. }, Why::Relapse { .. }) => *observed = Default::default(),
            // The share that stands has its wait before it, whatever passed during the hold.
            (Phase::Shifting { clock: Clock::Until(until) }, why) if !matches!(why, Why::Refused { .. }) => {
                *until = now.after(moving.policy.step_wait);
            }
            // Somebody says that it was waited for long enough.
            (Phase::Draining { until, basis }, Why::DrainOverdue) => {
                (*until, *basis) = (now, "an operator resumed it before old answers had run out".into());
                moving.watched.edit().waived = true;
            }
            _ => {}
        }
        if hold.why == Why::DrainOverdue {
            self.forget(&Effect::Sample { id });
        }
        if matches!(hold.why, Why::Failing { .. }) {
            self.publish_now();
        }
        // What it was held for last may have come after that nothing was confirmed.
        self.confirm_again();
        self.rejudge(id);
        Ok(())
    }

    /// What waits to be published is tried now.
    fn publish_now(&mut self) {
        let waiting = self.state.pending.iter_mut().find(|(_, pending)| pending.effect == Effect::Publish);
        if let Some((id, pending)) = waiting {
            (pending.failures, pending.again_at) = (0, self.now.after(super::PATIENCE));
            self.issued.push(Issued { id: *id, effect: Effect::Publish });
        }
    }

    pub(super) fn abort(&mut self, target: &Target, actor: &Actor, reason: &str) -> Result<(), Refusal> {
        let id = self.target(target)?;
        let moving = self.state.find(id).ok_or(Refusal::NoMove)?;
        let phase = moving.phase.kind();
        if moving.direction == Direction::Back {
            return Err(Refusal::Reversing { id });
        }
        match moving.phase {
            Phase::Checking | Phase::AwaitingApproval { .. } | Phase::Lowering { .. } => {
                let why = format!("{} gave it up: {}", short(&actor.name), short(reason));
                self.end(id, Outcome::Aborted { why });
            }
            Phase::Shifting { .. } => match self.dead_source(id) {
                Some(site) if self.is_held_for_source(id) => {
                    return Err(idle(&format!(
                        "{site} is down, so that nobody can go back there: fail over to another"
                    )));
                }
                Some(site) => self.hold(id, Why::SourceDown { site }),
                None => self.reverse(id),
            },
            Phase::Draining { .. } | Phase::Baking { .. } => return Err(Refusal::TooLate { id, phase }),
        }
        Ok(())
    }

    fn is_held_for_source(&self, id: MoveId) -> bool {
        let hold = self.state.find(id).and_then(|moving| moving.hold.as_ref());
        hold.is_some_and(|hold| matches!(hold.why, Why::SourceDown { .. }))
    }

    /// A site that a move's regions come from, and that does not work.
    fn dead_source(&self, id: MoveId) -> Option<SiteName> {
        let moving = self.state.find(id)?;
        let mut sources = moving.base.values().map(|origin| &origin.site);
        sources.find(|site| self.state.health_of(site) == Health::Down).cloned()
    }

    /// Back, from the present share, the way it came.
    fn reverse(&mut self, id: MoveId) {
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        (moving.direction, moving.hold) = (Direction::Back, None);
        let whole = |origin: &Origin| Origin { split: None, ..origin.clone() };
        let base = moving.base.iter().map(|(region, origin)| (region.clone(), whole(origin)));
        moving.base = Frozen::new(base.collect());
        self.shift(id);
    }

    /// The site that a move brings clients to; of several the first.
    fn goal(&self, id: MoveId) -> SiteName {
        let moving = self.state.find(id);
        let goal = moving.and_then(|moving| self.state.heading_for(moving).first().map(|site| (*site).clone()));
        goal.unwrap_or_else(|| "".into())
    }
}
