//! When a state wants to be told that time has passed.

use super::moves::{Clock, Move, Phase};
use super::state::State;
use crate::time::Timestamp;

impl State {
    /// When the next `Tick` is due: it does something then, and nothing before. None: only other events do.
    pub fn deadline(&self) -> Option<Timestamp> {
        let moves = self.moves.values().map(|moving| (moving, moving.hold.is_some() || self.is_challenged(moving)));
        let challengers = self.challengers.values().map(|moving| (moving, true));
        let moves = moves.chain(challengers).filter_map(|(moving, stands_still)| due(moving, stands_still));
        let pending = self.pending.values().map(|pending| pending.again_at);
        moves.chain(pending).min()
    }
}

fn due(moving: &Move, stands_still: bool) -> Option<Timestamp> {
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
            if moving.confirmed { Some(until.min(overdue_at)) } else { Some(overdue_at) }
        }
        Phase::Baking { observed, since } => {
            since.map(|since| since.after(moving.policy.bake.saturating_sub(observed)))
        }
        _ => None,
    };
    [held, expires, next].into_iter().flatten().min()
}
