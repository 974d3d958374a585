//! Old answers should have run out: resolvers are asked, and what they give says whether a move goes on.

use std::time::Duration;

use super::{Turn, idle, short};
use crate::failover::effect::{Effect, EffectId};
use crate::failover::moves::{Direction, MoveId, Outcome, Phase};
use crate::failover::refusal::Refusal;
use crate::failover::sample::{Evidence, MOST_NAMED, Sample};

/// How soon resolvers are asked again that gave old answers: as soon as these may run out that they give by then, within
/// these limits, and each time twice as late.
const SOONEST: Duration = Duration::from_secs(5);
const LATEST: Duration = Duration::from_secs(300);
/// By so many doublings it gets later at most.
const MOST_DOUBLINGS: u16 = 8;

impl Turn {
    /// The bound has passed: what resolvers give by now says whether old answers are gone.
    pub(super) fn bound_passed(&mut self, id: MoveId) {
        let waived = self.state.moves.get(&id).is_some_and(|moving| moving.watched.waived);
        if waived {
            self.drained(id);
        } else if !self.state.is_sampling(id) {
            self.issue(Effect::Sample { id });
        }
    }

    pub(super) fn drain_sampled(&mut self, effect: EffectId, sample: &Sample) -> Result<(), Refusal> {
        let Some(Effect::Sample { id }) = self.state.pending.get(&effect).map(|pending| pending.effect.clone()) else {
            return Err(Refusal::Late { effect });
        };
        self.state.pending.remove(&effect);
        let now = self.now;
        let Some(moving) = self.state.moves.get_mut(&id) else { return Err(Refusal::NoMove) };
        let Phase::Draining { until, basis } = &mut moving.phase else {
            return Err(idle(&format!("{id} is {}: no old answers are waited for", moving.phase.kind())));
        };
        let watched = moving.watched.edit();
        if sample.asked() > 0 {
            watched.bound.get_or_insert(*until);
            watched.samples = watched.samples.saturating_add(1);
            watched.sample = Some(trimmed(sample));
        }
        // What the wait lasts for may have changed while they were asked.
        if *until > now {
            return Ok(());
        }
        if sample.late() > 0 {
            let doubled = 1u32 << (watched.samples - 1).min(MOST_DOUBLINGS);
            let wait = moving.given.duration().max(SOONEST).saturating_mul(doubled).min(LATEST);
            *until = now.after(wait);
            *basis = format!("{} of {} resolvers still give old answers", sample.late(), sample.asked());
            return Ok(());
        }
        // One that stands still is asked about again when it goes on.
        let stands_still = self
            .state
            .moves
            .get(&id)
            .is_none_or(|moving| moving.hold.is_some() || !moving.confirmed || self.state.is_challenged(moving));
        if !stands_still {
            self.drained(id);
        }
        Ok(())
    }

    /// Resolvers could not be asked, however often it was tried.
    pub(super) fn unsampled(&mut self, id: MoveId) {
        if let Some(moving) = self.state.moves.get_mut(&id) {
            moving.watched.edit().waived = true;
        }
    }

    /// Nobody waits for old answers any more.
    pub(super) fn drained(&mut self, id: MoveId) {
        // What was to be got round is gone.
        self.forget_rename(id);
        match self.state.moves.get(&id).map(|moving| moving.direction) {
            Some(Direction::Forward) => self.enter(id, Phase::Baking { observed: Duration::ZERO, since: None }),
            Some(Direction::Back) => self.end(id, Outcome::Reversed),
            None => {}
        }
    }
}

/// A sample with its texts at a length that a state can keep.
fn trimmed(sample: &Sample) -> Sample {
    let evidence = sample.evidence.iter().take(MOST_NAMED).map(|evidence| Evidence {
        resolver: short(&evidence.resolver),
        question: short(&evidence.question),
        said: short(&evidence.said),
        ..evidence.clone()
    });
    Sample { counts: sample.counts.clone(), evidence: evidence.collect() }
}
