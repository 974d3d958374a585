//! When a state wants to be told that time has passed.

use super::moves::{Clock, Move, Phase};
use super::state::State;
use crate::time::Timestamp;

impl State {
    /// When the next `Tick` is due: it does something then, and nothing before. None: only other events do.
    pub fn deadline(&self) -> Option<Timestamp> {
        let stands_still = |moving: &Move| moving.hold.is_some() || self.is_challenged(moving);
        let moves = self.moves.iter().map(|(id, moving)| (moving, stands_still(moving), self.is_sampling(*id)));
        let challengers = self.challengers.values().map(|moving| (moving, true, false));
        let moves = moves.chain(challengers);
        let moves = moves.filter_map(|(moving, stands_still, is_sampling)| due(moving, stands_still, is_sampling));
        let pending = self.pending.values().map(|pending| pending.again_at);
        moves.chain(pending).min()
    }
}

fn due(moving: &Move, stands_still: bool, is_sampling: bool) -> Option<Timestamp> {
    let hold = moving.hold.as_ref();
    let held = hold.map(|hold| hold.deadline.map_or(hold.remind_at, |deadline| deadline.min(hold.remind_at)));
    let expires = match moving.phase {
        Phase::AwaitingApproval { until } => Some(until),
        _ => None,
    };
    let next = match moving.phase {
        _ if stands_still => None,
        Phase::Shifting { clock: Clock::Until(until) } => moving.confirmed.then_some(until),
        Phase::Draining { until, .. } | Phase::Lowering { clock: Clock::Until(until), .. } => {
            let overdue_at = moving.drain_overdue_at();
            // What resolvers say is waited for, too.
            let waits = moving.confirmed && !is_sampling;
            if waits { Some(until.min(overdue_at)) } else { Some(overdue_at) }
        }
        Phase::Baking { observed, since } => {
            since.map(|since| since.after(moving.policy.bake.saturating_sub(observed)))
        }
        _ => None,
    };
    [held, expires, next].into_iter().flatten().min()
}
