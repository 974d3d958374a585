//! What the gates say of a move, and of what it wants served at each of its steps.

use std::sync::Arc;

use super::planning::rerouted;
use super::routing::routing_of;
use crate::digest::Digest;
use crate::door::{Candidate, Override, Verified, stops};
use crate::evidence::Verdict;
use crate::failover::event::Judgement;
use crate::failover::moves::{Direction, Move};
use crate::failover::plan::{Kind, Plan};
use crate::failover::state::State;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serving::Serving;
use crate::time::Timestamp;

/// What the gates say of a plan, by what it would come to now ([`super::planning::end_of`]).
pub fn judgement(candidate: &Candidate, origin: &Name, plan: &Plan) -> Judgement {
    let words: Vec<Override> = plan.overrides.iter().filter_map(|word| word.parse().ok()).collect();
    let mut findings = candidate.judge().to_vec();
    if plan.kind == Kind::Rollback {
        findings.retain(|found| id::FIRM.contains(&found.gate));
    }
    // Since it began nothing else was decided on its regions: the engine sees to that.
    let now = candidate.digest(plan.revision);
    findings.extend(freshness(origin, now, Some(&plan.digest.to_string())));
    match in_lines(&findings, &words) {
        lines if lines.is_empty() => Judgement::Passed,
        lines => Judgement::Blocked(lines),
    }
}

/// What a state wants served; none if it is served. Why it can't be, in lines.
pub fn wanted(serving: &Arc<Serving>, state: &State, now: Timestamp) -> Result<Option<Candidate>, Vec<String>> {
    let Some(zone) = serving.zone((*state.zone).as_ref()) else {
        return Err(vec![format!("the zone {} is not served", *state.zone)]);
    };
    let routing = routing_of(state, &state.view(), &zone.content, &serving.regions);
    Ok((routing != zone.routing).then(|| rerouted(serving, zone, routing, now)))
}

/// Has the gates judge what a state wants served: what they let through, or what they have against it, in lines.
pub fn let_through(candidate: Candidate, state: &State) -> Result<Verified, Vec<String>> {
    let mut words = words_of(state);
    let goes_back = |moving: &Move| moving.direction == Direction::Back || moving.plan.kind == Kind::Rollback;
    if state.moves.values().any(goes_back) {
        // Towards what was verified once and served, the zone gates tell, and stop nothing.
        let stops = |found: &&Finding| found.verdict.stops() && !id::FIRM.contains(&found.gate);
        let told = candidate.judge().iter().filter(stops);
        words.extend(told.map(|found| Override { gate: found.gate.into(), digest: found.digest().to_string() }));
    }
    candidate.verify(&words).map_err(|refused| in_lines(&refused.findings, &words))
}

/// What was overridden for the moves under way: it counts for whatever is published meanwhile.
pub fn words_of(state: &State) -> Vec<Override> {
    let words = state.moves.values().flat_map(|moving| &moving.plan.overrides);
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The findings that stop a change, a line each.
fn in_lines(findings: &[Finding], words: &[Override]) -> Vec<String> {
    let stopping = findings.iter().filter(|finding| stops(finding, words));
    stopping.map(|found| format!("{} [{}]: {}", found.gate, found.digest().short(), found.reason)).collect()
}

/// `plan.fresh`: whether a plan is the one that was shown.
pub fn freshness(origin: &Name, plan: Digest, wanted: Option<&str>) -> Option<Finding> {
    let wanted = wanted?;
    if plan.matches(wanted) {
        return Some(Finding::pass(id::FRESH, origin.as_ref(), "the plan is the one that was shown"));
    }
    Some(Finding {
        gate: id::FRESH,
        zone: origin.clone(),
        verdict: Verdict::Block,
        reason: format!(
            "the plan is {} by now, not {wanted}: content or routing changed since it was shown, or it is to be carried out otherwise",
            plan.short()
        ),
        remedy: "look at the new plan with --dry-run and carry out that one".into(),
        items: Vec::new(),
    })
}
