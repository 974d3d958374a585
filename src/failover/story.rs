//! What happened, in sentences: what operators read while a run goes on, and in the history after it.

use super::effect::Ended;
use super::event::{Event, Judgement};
use super::moves::{Clock, Direction, Move, MoveId, Outcome, Phase, Why};
use super::plan::Kind;
use super::renames::{Proposed, Turned};
use super::sample::{Evidence, Sample};
use super::state::State;
use crate::time::Timestamp;

/// What a wait rests on that goes on because other name servers lag; who they are stands behind it.
pub const LAG: &str = "other name servers do not give the new content yet";

/// What a step changed, a sentence each; nothing where it changed nothing that an operator would want to know.
pub fn lines(before: &State, event: &Event, after: &State) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, now) in all(after) {
        match before.find(id) {
            None => {
                lines.push(beginning(id, now));
                let forecast = now.plan.forecast.as_ref();
                lines.extend(
                    forecast.map(|foreseen| format!("move {}: foreseen after the first step: {foreseen}", id.0)),
                );
            }
            Some(then) => progress(id, [then, now], after, &mut lines),
        }
    }
    for (id, then) in all(before).filter(|(id, _)| after.find(*id).is_none()) {
        lines.push(ending(id, then, event, before, after));
    }
    for (site, now) in after.health.iter() {
        let then = before.health.get(site);
        if then.is_none_or(|then| then.effective() != now.effective() || then.forced != now.forced)
            && !(then.is_none() && now.forced.is_none())
        {
            let forced = now.forced.as_ref().map(|forced| format!(", by the word of {}", forced.actor.name));
            lines.push(format!("site {site} counts as {}{}", now.effective(), forced.unwrap_or_default()));
        }
    }
    if before.doubt != after.doubt {
        lines.push(match &after.doubt {
            Some(why) => format!("moves wait for an operator: {why}"),
            None => "the state was accepted: moves may begin".into(),
        });
    }
    lines
}

/// Whether a sentence is about the move of this number.
pub fn is_about(line: &str, run: u64) -> bool {
    let front = line.split(':').next().unwrap_or_default();
    let mut words = front.split(' ').skip(1);
    words.next().and_then(|number| number.parse().ok()) == Some(run) && words.next().is_none_or(|word| word == "to")
}

fn all(state: &State) -> impl Iterator<Item = (MoveId, &Move)> {
    state.moves.iter().chain(&state.challengers).map(|(id, moving)| (*id, moving))
}

fn beginning(id: MoveId, now: &Move) -> String {
    let from: Vec<String> = now.base.iter().map(|(region, origin)| format!("{region} from {}", origin.site)).collect();
    format!(
        "{} {} to {}: {} (plan {})",
        kind(now.plan.kind),
        id.0,
        now.plan.to,
        from.join(", "),
        now.plan.shown.unwrap_or(now.plan.digest).short()
    )
}

/// What sort of move, in a word.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Switchover => "switchover",
        Kind::Failover => "failover",
        Kind::Rollback => "rollback",
    }
}

fn progress(id: MoveId, [then, now]: [&Move; 2], state: &State, lines: &mut Vec<String>) {
    let id = id.0;
    if then.direction != now.direction {
        lines.push(format!("move {id}: given up, clients go back"));
    }
    // What is not published yet is no news.
    let told = |moving: &Move| (!moving.phase.is_publishing()).then(|| (moving.phase.kind(), waits(moving, state)));
    if let Some((phase, waits)) = told(now).filter(|now| told(then).as_ref() != Some(now)) {
        lines.push(format!("move {id}: {phase}{waits}"));
    }
    if then.published != now.published {
        let left = if now.direction == Direction::Back { "still " } else { "" };
        lines.push(format!("move {id}: {} of the clients {left}answered from {}", now.published, now.plan.to));
    }
    if !then.confirmed && now.confirmed {
        lines.push(format!("move {id}: our own sockets give the new answers"));
    }
    if then.approved.is_none()
        && let Some(actor) = &now.approved
    {
        lines.push(format!("move {id}: approved by {}", actor.name));
    }
    renamed(id, then, now, lines);
    sampled(id, then, now, lines);
    match (&then.hold, &now.hold) {
        (None, Some(hold)) => lines.push(format!("move {id}: HELD: {}", why(&hold.why))),
        (Some(_), None) => lines.push(format!("move {id}: goes on")),
        _ => {}
    }
}

/// Renames that are proposed or done, and what they led past, where that is something else than before.
fn renamed(id: u64, then: &Move, now: &Move, lines: &mut Vec<String>) {
    for rename in now.watched.renames.iter().filter(|rename| !then.watched.renames.contains(rename)) {
        lines.push(format!("move {id}: {}", proposed(rename)));
    }
    for turned in now.watched.turned.iter().skip(then.watched.turned.len()) {
        let Turned { lever, fresh, ttl, .. } = turned;
        let until = turned.until();
        lines.push(format!(
            "move {id}: what led to {lever} leads to {fresh}; caches may go by what led there until {until} (TTL {}), and it \
             does not matter any more what they hold of {lever}",
            ttl.seconds()
        ));
    }
}

/// A rename that gains something, in a sentence.
pub fn proposed(rename: &Proposed) -> String {
    let Proposed { lever, gain, command, against, by_policy } = rename;
    match (by_policy, against) {
        (true, _) => format!("the policy has {lever} renamed: {gain}"),
        (false, None) => format!("PROPOSED: {command} ({gain})"),
        (false, Some(against)) => format!("PROPOSED: {command} ({gain}); against it stands: {against}"),
    }
}

/// What resolvers gave, where that is something else than before.
fn sampled(id: u64, then: &Move, now: &Move, lines: &mut Vec<String>) {
    let Some(sample) = now.watched.sample.as_ref() else { return };
    let who =
        |sample: &Sample| sample.evidence.iter().map(|found| (found.resolver.clone(), found.sight)).collect::<Vec<_>>();
    let told = |sample: &Sample| (sample.counts.clone(), who(sample));
    if then.watched.sample.as_ref().map(told) == Some(told(sample)) {
        return;
    }
    lines.push(format!("move {id}: resolvers: {sample}"));
    let bound = now.watched.bound.unwrap_or(now.phase_since());
    lines.extend(sample.late_ones().map(|found| format!("move {id}: LATE: {}", late(found, bound))));
    lines.extend(sample.unsure_ones().map(|found| format!("move {id}: UNKNOWN: {}", unsure(found))));
}

/// A resolver that still gives an old answer, in a sentence.
pub fn late(found: &Evidence, bound: Timestamp) -> String {
    let left = found.ttl.map(|ttl| format!(", TTL {}", ttl.seconds())).unwrap_or_default();
    let past = found.past(bound).as_secs();
    let Evidence { resolver, question, said, sight, .. } = found;
    format!("{resolver} gives {said} for {question}{left}: {}, {past} s past the bound", sight.word())
}

/// One of which it is not known what its users get, or that they get nothing, in a sentence.
pub fn unsure(found: &Evidence) -> String {
    let Evidence { resolver, question, said, .. } = found;
    format!("{resolver}: {said} when asked for {question}")
}

/// What a phase waits for.
fn waits(moving: &Move, state: &State) -> String {
    let watched = state.health.get(&moving.plan.to).is_some_and(|known| known.is_watched());
    match &moving.phase {
        Phase::Checking => String::new(),
        Phase::AwaitingApproval { until } => format!(" until {until}"),
        Phase::Lowering { clock: Clock::Until(until), basis } => {
            format!(": no cache holds the old TTL from {until} on ({basis})")
        }
        Phase::Shifting { clock: Clock::Until(until) } => format!(": the next step not before {until}"),
        Phase::Lowering { .. } | Phase::Shifting { .. } => String::new(),
        Phase::Draining { until, basis } if moving.watched.samples > 0 => {
            format!(": resolvers are asked again at {until} ({basis})")
        }
        Phase::Draining { until, basis } => format!(": no cache holds old answers from {until} on ({basis})"),
        Phase::Baking { since: Some(_), .. } if watched => format!(": {} is seen working", moving.plan.to),
        Phase::Baking { since: Some(_), .. } => {
            format!(": nobody watches {}, so the time counts in which nobody says anything", moving.plan.to)
        }
        Phase::Baking { .. } => format!(": {} is not seen working", moving.plan.to),
    }
}

fn ending(id: MoveId, then: &Move, event: &Event, before: &State, after: &State) -> String {
    let outcome = after.pending.values().chain(before.pending.values()).find_map(|pending| match &pending.effect {
        super::effect::Effect::Ended(ended) if ended.id == id => Some(ended.clone()),
        _ => None,
    });
    match outcome {
        Some(found) => format!("{} {}: {}", kind(then.plan.kind), id.0, ended(&found)),
        None => format!("{} {}: ended by {}", kind(then.plan.kind), id.0, blocked(event)),
    }
}

fn blocked(event: &Event) -> &'static str {
    match event {
        Event::Judged { verdict: Judgement::Blocked(_), .. } => "the gates",
        _ => "what happened",
    }
}

/// How a move ended, in a sentence; and what it is not known of.
pub fn ended(ended: &Ended) -> String {
    let to = &ended.last.plan.to;
    let how = match &ended.outcome {
        Outcome::Done => format!("done: its regions are answered from {to}, and TTLs are what the zone says again"),
        Outcome::Reversed => "reversed: its regions are answered from where they came from".into(),
        Outcome::Aborted { why } => format!("aborted before anybody had moved: {why}"),
        Outcome::Refused { findings } => format!("refused: {}", findings.join("; ")),
        Outcome::Replaced { by } => format!("replaced by move {}", by.0),
    };
    match ended.last.watched.sample.as_ref().and_then(Sample::reservation) {
        Some(reservation) => format!("{how}; {reservation}"),
        None => how,
    }
}

/// How a move ended, in a word.
pub fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Reversed => "reversed",
        Outcome::Aborted { .. } => "aborted",
        Outcome::Refused { .. } => "refused",
        Outcome::Replaced { .. } => "replaced",
    }
}

/// Why a move is held, in a sentence.
pub fn why(why: &Why) -> String {
    super::alert::reason(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_about_one_move() {
        for (line, run) in [
            ("move 2: 10% of the clients answered from pmtpa", 2),
            ("switchover 12 to pmtpa: default from knams (plan 468200b3)", 12),
            ("failover 2: done: its regions are answered from pmtpa", 2),
        ] {
            assert!((0..2030).all(|other| is_about(line, other) == (other == run)), "{line}");
        }
        assert!((0..2030).all(|run| !is_about("site knams counts as down, by the word of 3", run)));
        assert!(!is_about("move 1: the next step not before 2026-11-30 03:16:35 UTC", 2026));
    }
}
