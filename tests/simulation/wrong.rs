//! Worlds with one protection less. None of it is in the product: what a world does wrong, it does by itself.

use std::collections::BTreeMap;

use understudy::digest::Digest;
use understudy::door::Override;
use understudy::evidence::Verdict;
use understudy::failover::effect::{Effect, Issued};
use understudy::failover::event::{Event, Judgement};
use understudy::failover::moves::Move;
use understudy::failover::names::Frozen;
use understudy::failover::plan::{Kind, Plan};
use understudy::failover::state::State;
use understudy::gate::{Finding, id};
use understudy::time::{Timestamp, Ttl};
use understudy::world::held::Held;
use understudy::world::sim::Simulated;
use understudy::world::sim::{Draft, Order};
use understudy::world::{Outcome, Prepared, World, judging, planning};

use crate::content::origin;

/// The gates that say what would stop resolving.
const ZONE_GATES: [&str; 2] = [id::CROSS_CLOSURE, id::NOTHING_VANISHES];

/// A protection that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// A plan is carried out though what it rests on has changed.
    Fence,
    /// Nobody knows how long what was answered before is kept.
    OldTtl,
    /// Nobody asks whether both sites resolve what either refers to.
    Closure,
    /// Which units have moved is drawn anew for each share.
    SameHash,
    /// What is published gets in front of clients before it is written.
    JournalFirst,
    /// Nobody knows how long what was edited is kept.
    Edits,
}

impl Without {
    pub const ALL: [Without; 6] =
        [Without::Fence, Without::OldTtl, Without::Closure, Without::SameHash, Without::JournalFirst, Without::Edits];
}

/// A simulated world with one protection less, or with all of them.
#[derive(Clone, Debug)]
pub struct Weakened {
    pub sim: Simulated,
    pub without: Option<Without>,
}

impl Weakened {
    /// What an order comes to by now, if its plan was shown before.
    pub fn carry_out(&self, state: &State, order: &Order, shown: Option<&Draft>) -> Result<Draft, String> {
        let fresh = match self.sim.draft(state, order) {
            Err(impossible) => return Err(impossible.to_string()),
            Ok(None) => return Err("all regions are there already".into()),
            Ok(Some(fresh)) => fresh,
        };
        let mut draft = match shown {
            Some(shown) if self.without == Some(Without::Fence) => {
                let revision = state.revision_of(shown.plan.regions.keys());
                Draft { plan: Plan { revision, ..shown.plan.clone() }, ..shown.clone() }
            }
            Some(shown) if shown.plan.digest != fresh.plan.digest => {
                return Err("content or routing changed since the plan was shown".into());
            }
            _ => fresh,
        };
        if self.without == Some(Without::OldTtl) {
            draft.plan.old_ttl = Ttl::ZERO;
        }
        if self.without == Some(Without::Edits) {
            let now = self.sim.now();
            let end = planning::end_of(self.sim.serving(), &origin(), &draft.plan, now);
            draft.plan.old_ttl = end.map_or(draft.plan.old_ttl, |end| planning::old_ttl(&end, &Held::default(), now));
        }
        let blind = |gate: &str| self.without == Some(Without::Closure) && gate == id::CROSS_CLOSURE;
        // A rollback stops at nothing, so that its operator has to.
        let told = |finding: &&Finding| {
            draft.plan.kind == Kind::Rollback && finding.verdict == Verdict::Warn && ZONE_GATES.contains(&finding.gate)
        };
        let stopping = draft.stopping().chain(draft.findings.iter().filter(told));
        let stopping = stopping.into_iter().find(|finding| !blind(finding.gate));
        let stopping = stopping.map(|finding| format!("{}: {}", finding.gate, finding.reason));
        stopping.map_or(Ok(draft), Err)
    }

    /// The gates' verdict but for one of them.
    fn judge_without(&self, gate: &str, state: &State, issued: &Issued) -> Option<Outcome> {
        let Effect::Judge { id } = issued.effect else { return None };
        let plan = &state.find(id)?.plan;
        let candidate = planning::end_of(self.sim.serving(), &origin(), plan, self.sim.now())?;
        let mut findings = candidate.judge().to_vec();
        findings.extend(judging::freshness(&origin(), candidate.digest(plan.revision), Some(&plan.digest.to_string())));
        let stopping = findings.iter().filter(|found| found.verdict.stops() && found.gate != gate);
        let lines: Vec<String> = stopping.map(|found| found.reason.clone()).collect();
        let verdict = if lines.is_empty() { Judgement::Passed } else { Judgement::Blocked(lines) };
        Some(Event::Judged { effect: issued.id, verdict }.into())
    }

    fn publish_without_closure(&self, state: &State, issued: &Issued) -> Option<Outcome> {
        let effect = issued.id;
        let candidate = match judging::wanted(self.sim.serving(), state, self.sim.now()) {
            Ok(Some(candidate)) => candidate,
            Ok(None) => return Some(Event::Published { effect }.into()),
            Err(findings) => return Some(Event::PublishRefused { effect, findings }.into()),
        };
        let closure = candidate.judge().iter().filter(|found| found.gate == id::CROSS_CLOSURE);
        let words: Vec<Override> =
            closure.map(|found| Override { gate: found.gate.into(), digest: found.digest().to_string() }).collect();
        Some(match candidate.verify(&words) {
            Ok(verified) => {
                Outcome { event: Event::Published { effect }, publication: self.sim.let_out(verified, state) }
            }
            Err(_) => Event::PublishRefused { effect, findings: vec!["another gate".into()] }.into(),
        })
    }
}

/// The state with another salt for each share.
fn with_other_salts(state: &State) -> State {
    let salted = |moving: &Move| {
        let digest = Digest::of(&moving.share.basis_points().to_be_bytes());
        Move { plan: Frozen::new(Plan { digest, ..(*moving.plan).clone() }), ..moving.clone() }
    };
    let moves: BTreeMap<_, _> = state.moves.iter().map(|(id, moving)| (*id, salted(moving))).collect();
    State { moves, ..state.clone() }
}

impl World for Weakened {
    fn now(&self) -> Timestamp {
        self.sim.now()
    }

    fn stream(&self) -> String {
        self.sim.stream()
    }

    fn generation(&self) -> u64 {
        self.sim.generation()
    }

    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome> {
        let wrong = match (self.without, &issued.effect) {
            (Some(Without::Fence), Effect::Judge { .. }) => self.judge_without(id::FRESH, state, issued),
            (Some(Without::Closure), Effect::Judge { .. }) => self.judge_without(id::CROSS_CLOSURE, state, issued),
            (Some(Without::Closure), Effect::Publish) => self.publish_without_closure(state, issued),
            (Some(Without::SameHash), Effect::Publish) => self.sim.perform(&with_other_salts(state), issued),
            (Some(Without::JournalFirst), Effect::Publish) => {
                let outcome = self.sim.perform(state, issued);
                if let Some(publication) = outcome.as_ref().and_then(|outcome| outcome.publication.clone()) {
                    self.sim.bring_out(publication);
                }
                outcome
            }
            _ => None,
        };
        wrong.or_else(|| self.sim.perform(state, issued))
    }

    fn bring_out(&mut self, publication: Prepared) {
        self.sim.bring_out(publication);
    }
}
