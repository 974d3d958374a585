//! What holds of every state and of every step, checked after each, in releases too: a fault of the engine is to stop it
//! before it reaches users.

use std::collections::BTreeSet;

use super::effect::Effect;
use super::moves::{Clock, Direction, Move, MoveId, Phase, PhaseKind};
use super::names::RegionName;
use super::renames::{Initiative, MOST_PROPOSED, MOST_TURNED};
use super::state::State;
use super::step::{MOST_ALERTS, MOST_ENDINGS};
use crate::share::Share;

/// Something that should hold and does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Two moves have the same region.
    #[error("{0} and another move have the region `{1}`")]
    Shared(MoveId, RegionName),
    /// A move of a region or site that there is not.
    #[error("{0} is of a region or a site that the zone does not have")]
    Nowhere(MoveId),
    /// A move with nothing to move.
    #[error("{0} moves no region")]
    Empty(MoveId),
    /// Clients are split in a phase in which they must not be.
    #[error("{id} is {phase}, with {share} of the clients moved")]
    Split {
        /// The move.
        id: MoveId,
        /// Its phase.
        phase: PhaseKind,
        /// Its share.
        share: Share,
    },
    /// A share went against the direction of its move.
    #[error("the share of {id} went from {from} to {to}")]
    Bounced {
        /// The move.
        id: MoveId,
        /// The share before.
        from: Share,
        /// The share after.
        to: Share,
    },
    /// A move turned around a second time.
    #[error("{0} was being reversed and goes forward again")]
    Turned(MoveId),
    /// A phase was skipped, or gone back to.
    #[error("{id} went from {from} to {to}")]
    Skipped {
        /// The move.
        id: MoveId,
        /// The phase before.
        from: PhaseKind,
        /// The phase after.
        to: PhaseKind,
    },
    /// Something that only grows did not.
    #[error("{0} went back")]
    WentBack(&'static str),
    /// A region's revision is not that of the move that has it.
    #[error("{0} is not what was decided last on one of its regions")]
    Stale(MoveId),
    /// A move waits for a publication that nobody was asked for.
    #[error("{0} waits for a publication that nobody was asked for")]
    Forgotten(MoveId),
    /// What is to be served is not what was asked for.
    #[error("what is to be served is not what was asked for")]
    Unasked,
    /// Clients are split and TTLs are not low.
    #[error("the clients of {0} are split and its TTLs are not low")]
    Uncapped(MoveId),
    /// A TTL is low and no move needs it.
    #[error("TTLs are low in the region `{0}` and no move needs them so")]
    LeftLow(RegionName),
    /// The policy or the plan of a move changed.
    #[error("{0} is not carried out as it was planned")]
    Altered(MoveId),
    /// A lever is renamed that no move waits for, or that the policy does not want renamed.
    #[error("{0} does not want the rename that was asked for")]
    Unwanted(MoveId),
    /// A move ends before caches that obey TTLs lead past a lever that was renamed.
    #[error("{0} does not wait for what led to a lever that was renamed")]
    TooSoon(MoveId),
    /// There is too much of something.
    #[error("there are too many {0}")]
    TooMany(&'static str),
}

/// Whether `after` is a state, and may follow `before`.
pub fn check(before: &State, after: &State) -> Result<(), Broken> {
    grows(before, after)?;
    disjoint(after)?;
    let moves = after.moves.iter().map(|(id, moving)| (*id, moving, false));
    let challengers = after.challengers.iter().map(|(id, moving)| (*id, moving, true));
    for (id, moving, waits) in moves.chain(challengers) {
        holds_of_move(after, id, moving, waits)?;
        if let Some(former) = before.find(id) {
            follows(id, former, moving)?;
        }
    }
    bounds(after)?;
    renames(after)?;
    publications(before, after)
}

fn grows(before: &State, after: &State) -> Result<(), Broken> {
    let pairs = [
        ("the revision", before.revision, after.revision),
        ("the number of the next move", before.next_move, after.next_move),
        ("the number of the next effect", before.next_effect, after.next_effect),
    ];
    match pairs.iter().find(|(_, before, after)| after < before) {
        Some((what, ..)) => Err(Broken::WentBack(what)),
        None if after.last < before.last => Err(Broken::WentBack("time")),
        None => Ok(()),
    }
}

/// No two moves have a region, nor do two that wait to take over.
fn disjoint(after: &State) -> Result<(), Broken> {
    for moves in [&after.moves, &after.challengers] {
        if moves.len() < 2 {
            continue;
        }
        let mut seen = BTreeSet::new();
        for (id, moving) in moves {
            if let Some(region) = moving.base.keys().find(|region| !seen.insert(*region)) {
                return Err(Broken::Shared(*id, region.clone()));
            }
        }
    }
    Ok(())
}

fn holds_of_move(after: &State, id: MoveId, moving: &Move, waits: bool) -> Result<(), Broken> {
    if moving.base.is_empty() {
        return Err(Broken::Empty(id));
    }
    let exists = |region, site| after.base.get(region) == Some(site) && after.health.contains_key(site);
    // A move that waits to take over learns where its regions are when it does.
    let everywhere = waits || moving.base.iter().all(|(region, origin)| exists(region, &origin.site));
    if !everywhere || !after.health.contains_key(&moving.plan.to) || id.0 >= after.next_move {
        return Err(Broken::Nowhere(id));
    }
    let decided = moving.base.keys().all(|region| after.moved.get(region) == Some(&moving.revision));
    if !decided && (waits || !after.is_challenged(moving)) {
        return Err(Broken::Stale(id));
    }
    let phase = moving.phase.kind();
    let whole = match (&moving.phase, moving.direction) {
        (Phase::Checking | Phase::AwaitingApproval { .. } | Phase::Lowering { .. }, direction) => {
            direction == Direction::Forward && moving.share == Share::NONE && moving.published == Share::NONE
        }
        (Phase::Shifting { clock: Clock::Publishing }, _) => !waits,
        (Phase::Shifting { clock: Clock::Until(_) }, _) => !waits && moving.share == moving.published,
        (Phase::Draining { .. }, _) => moving.share == moving.end() && moving.published == moving.share,
        (Phase::Baking { .. }, direction) => {
            direction == Direction::Forward && moving.share == Share::ALL && moving.published == Share::ALL
        }
    };
    if !whole || waits && moving.is_under_way() {
        return Err(Broken::Split { id, phase, share: moving.share });
    }
    let publishing = after.pending.values().any(|pending| pending.effect == Effect::Publish);
    if moving.phase.is_publishing() && !publishing {
        return Err(Broken::Forgotten(id));
    }
    Ok(())
}

/// What may follow what, of one move.
fn follows(id: MoveId, before: &Move, after: &Move) -> Result<(), Broken> {
    if before.direction == Direction::Back && after.direction == Direction::Forward {
        return Err(Broken::Turned(id));
    }
    // A share goes back by being refused: to what is published.
    let onward = match after.direction {
        Direction::Forward => after.share >= before.share,
        Direction::Back => after.share <= before.share,
    };
    if !onward && after.share != before.published {
        return Err(Broken::Bounced { id, from: before.share, to: after.share });
    }
    let published_onward = match (before.direction, after.direction) {
        (Direction::Forward, Direction::Forward) => after.published >= before.published,
        (Direction::Back, _) => after.published <= before.published,
        (Direction::Forward, Direction::Back) => after.published == before.published,
    };
    if !published_onward {
        return Err(Broken::Bounced { id, from: before.published, to: after.published });
    }
    // A step may lead through a phase: a move to where everybody is served already has nothing to wait for.
    let mut from = before.phase.kind();
    let through = after.times.iter().skip(before.times.len()).map(|(phase, _)| *phase);
    for to in through.chain([after.phase.kind()]) {
        if from != to && !may_follow(from, to) {
            return Err(Broken::Skipped { id, from, to });
        }
        from = to;
    }
    let kept = before.base.len() >= after.base.len();
    if before.plan != after.plan || before.policy != after.policy || before.started != after.started || !kept {
        return Err(Broken::Altered(id));
    }
    Ok(())
}

/// Which phase may follow which.
pub(super) fn may_follow(from: PhaseKind, to: PhaseKind) -> bool {
    use PhaseKind::{AwaitingApproval, Baking, Checking, Draining, Lowering, Shifting};
    matches!(
        (from, to),
        (Checking, AwaitingApproval | Lowering | Shifting)
            | (AwaitingApproval, Checking)
            | (Lowering, Shifting)
            | (Shifting, Draining)
            | (Draining, Baking)
    )
}

/// The daemon renames a lever only while a move waits for old answers whose policy says so, and only one that it found out
/// what it gains of and that nobody has led anything past since.
fn renames(after: &State) -> Result<(), Broken> {
    for pending in after.pending.values() {
        let Effect::Rename { id, lever } = &pending.effect else { continue };
        let wanted = after.moves.get(id).is_some_and(|moving| {
            let mut proposed = moving.watched.renames.iter();
            moving.phase.kind() == PhaseKind::Draining
                && moving.policy.rename == Initiative::Do
                && moving.hold.is_none()
                && proposed.any(|rename| rename.lever == *lever && rename.by_policy && rename.against.is_none())
                && !moving.watched.turned.iter().any(|turned| turned.lever == *lever)
        });
        if !wanted {
            return Err(Broken::Unwanted(*id));
        }
    }
    for (id, moving) in &after.moves {
        let watched = &moving.watched;
        if watched.renames.len() > MOST_PROPOSED || watched.turned.len() > MOST_TURNED {
            return Err(Broken::TooMany("renames of one move"));
        }
        if let Phase::Draining { until, .. } = moving.phase
            && watched.samples == 0
            && watched.turned.iter().any(|turned| turned.until() > until)
            && !watched.waived
        {
            return Err(Broken::TooSoon(*id));
        }
    }
    Ok(())
}

fn bounds(after: &State) -> Result<(), Broken> {
    let moves = after.moves.len() + after.challengers.len();
    let [mut alerts, mut endings, mut publications, mut confirmations, mut judgements, mut samples, mut renames] =
        [0; 7];
    for pending in after.pending.values() {
        *match &pending.effect {
            Effect::Alert(_) => &mut alerts,
            Effect::Ended(_) => &mut endings,
            Effect::Publish => &mut publications,
            Effect::Confirm => &mut confirmations,
            Effect::Judge { .. } => &mut judgements,
            Effect::Sample { .. } => &mut samples,
            Effect::Rename { .. } => &mut renames,
        } += 1;
    }
    let limits = [
        ("moves", moves, 2 * after.base.len()),
        ("alerts that wait", alerts, MOST_ALERTS),
        // No move begins beyond the limit, but all that had begun may end.
        ("endings that wait", endings, MOST_ENDINGS + 2 * after.base.len()),
        ("publications that wait", publications, 1),
        ("confirmations that wait", confirmations, 1),
        ("judgements that wait", judgements, moves),
        ("samples that wait", samples, after.moves.len()),
        ("renames that wait", renames, 1),
    ];
    match limits.iter().find(|(_, count, limit)| count > limit) {
        Some((what, ..)) => Err(Broken::TooMany(what)),
        None => Ok(()),
    }
}

/// What is asked for is what the state wants; TTLs are low where clients are split, and only where a move is.
fn publications(before: &State, after: &State) -> Result<(), Broken> {
    if after.moves == before.moves && after.base == before.base && after.asked == before.asked {
        return Ok(());
    }
    if !after.asked.is_of(after) {
        return Err(Broken::Unasked);
    }
    for (id, moving) in after.moves.iter().filter(|(_, moving)| moving.is_under_way()) {
        if moving.base.keys().any(|region| !after.asked.caps.contains_key(region)) {
            return Err(Broken::Uncapped(*id));
        }
    }
    let needed = |region: &RegionName| after.move_of(region).is_some_and(|(_, moving)| moving.is_under_way());
    match after.asked.caps.keys().find(|region| !needed(region)) {
        Some(region) => Err(Broken::LeftLow(region.clone())),
        None => Ok(()),
    }
}
