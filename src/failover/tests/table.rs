//! What every event does in every phase. The table is kept beside this file; where it changes on purpose, write it anew:
//!
//!     UNDERSTUDY_RECORD=1 cargo nextest run --lib failover

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use super::play::{Play, ann, bob, found, given, name, policy, seconds, turned};
use crate::failover::effect::Effect;
use crate::failover::event::{Event, Judgement, Target};
use crate::failover::health::Health;
use crate::failover::moves::{Direction, MoveId, Outcome, PhaseKind};
use crate::failover::names::Frozen;
use crate::failover::plan::Kind;
use crate::failover::policy::Approval;
use crate::failover::sample::Sample;
use crate::observation::sight::Sight;

const PATH: &str = "src/failover/tests/table.txt";
pub const ID: MoveId = MoveId(1);

/// Whether to write what was found instead of comparing with what is there.
pub fn records() -> bool {
    std::env::var_os("UNDERSTUDY_RECORD").is_some()
}

/// Compares a text with a file of the repository, or writes it there.
pub fn compare(path: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if records() {
        std::fs::write(&path, found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let line = kept.lines().zip(found.lines()).position(|(kept, found)| kept != found);
    let line = line.unwrap_or(kept.lines().count().min(found.lines().count()));
    let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    assert!(
        kept == found,
        "{} is not what the engine does; from line {}:\n  kept:  {}\n  found: {}\nIf that is meant, UNDERSTUDY_RECORD=1 \
         writes it anew.",
        path.display(),
        line + 1,
        show(&kept),
        show(found)
    );
}

/// A zone with a move of `europe` and `default` from `a` to `b` in each phase and state, by name.
pub fn phases() -> Vec<(&'static str, Play)> {
    let switchover = |approval: Approval| {
        let mut play = Play::new();
        play.policy.approval = approval;
        play.begin(Kind::Switchover, "b", &["europe", "default"]);
        play
    };
    let mut phases = vec![("no move", Play::new())];
    let checking = switchover(Approval::Nothing);
    phases.push(("checking", checking.clone()));
    let mut awaiting = switchover(Approval::Planned);
    awaiting.judge();
    phases.push(("awaiting approval", awaiting));
    let mut play = checking;
    play.judge();
    phases.push(("lowering, not published", play.clone()));
    play.settle();
    phases.push(("lowering", play.clone()));
    let mut held = play.clone();
    held.hold(ID).unwrap();
    held.settle();
    phases.push(("lowering, on hold", held));
    play.now = play.state.deadline().unwrap();
    play.event(&Event::Tick).unwrap();
    phases.push(("shifting, not published", play.clone()));
    play.publish();
    phases.push(("shifting, not confirmed", play.clone()));
    play.settle();
    phases.push(("shifting", play.clone()));
    let mut relapsed = play.clone();
    relapsed.health("b", Health::Down);
    relapsed.settle();
    phases.push(("shifting, relapsed", relapsed));
    let mut challenged = play.clone();
    challenged.begin(Kind::Failover, "c", &["europe", "default"]);
    phases.push(("shifting, challenged", challenged));
    let mut back = play.clone();
    back.pass(seconds(20));
    back.abort(ID).unwrap();
    back.settle();
    assert_eq!(back.at(ID).direction, Direction::Back);
    phases.push(("shifting back", back.clone()));
    back.until(ID, PhaseKind::Draining);
    phases.push(("draining back", back.clone()));
    let mut asked = back;
    asked.now = asked.state.deadline().unwrap();
    asked.event(&Event::Tick).unwrap();
    phases.push(("draining back, resolvers asked", asked));
    play.until(ID, PhaseKind::Draining);
    phases.push(("draining", play.clone()));
    let mut asked = play.clone();
    asked.now = asked.state.deadline().unwrap();
    asked.event(&Event::Tick).unwrap();
    phases.push(("draining, resolvers asked", asked.clone()));
    asked.hold(ID).unwrap();
    phases.push(("draining, on hold, resolvers asked", asked));
    play.until(ID, PhaseKind::Baking);
    phases.push(("baking", play.clone()));
    play.health("b", Health::Down);
    play.settle();
    phases.push(("baking, relapsed", play));
    phases
}

/// The name of an event's kind. A new kind does not compile before it has one, and fails before it is in the table.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Begin { .. } => "begin",
        Event::Judged { .. } => "judged",
        Event::Approved { .. } => "approved",
        Event::Hold { .. } => "hold",
        Event::Resume { .. } => "resume",
        Event::Abort { .. } => "abort",
        Event::SiteHealthChanged { .. } => "site health changed",
        Event::SiteForced { .. } => "site forced",
        Event::Tick => "tick",
        Event::Published { .. } => "published",
        Event::PublishRefused { .. } => "publish refused",
        Event::Confirmed { .. } => "confirmed",
        Event::ConfirmFailed { .. } => "confirm failed",
        Event::Told { .. } => "told",
        Event::EffectFailed { .. } => "effect failed",
        Event::Configured { .. } => "configured",
        Event::DrainBound { .. } => "drain bound",
        Event::DrainSampled { .. } => "drain sampled",
        Event::RenamesFound { .. } => "renames found",
        Event::RenameBegun { .. } => "rename begun",
        Event::RenameStopped { .. } => "rename stopped",
        Event::FrontsTurned { .. } => "fronts turned",
        Event::ContentChanged { .. } => "content changed",
        Event::Restarted => "restarted",
        Event::StateDoubted { .. } => "state doubted",
        Event::StateAccepted { .. } => "state accepted",
        Event::Autopilot { .. } => "autopilot",
    }
}

const KINDS: usize = 27;

/// Every event, with what is particular to it, and whether it comes at the next deadline.
pub fn events(play: &Play) -> Vec<(&'static str, Event, bool)> {
    let none = crate::failover::effect::EffectId(u64::MAX);
    let effect = |wanted: &dyn Fn(&Effect) -> bool| play.pending(wanted).unwrap_or(none);
    let judge = effect(&|effect| matches!(effect, Effect::Judge { .. }));
    let (publish, confirm) =
        (effect(&|effect| *effect == Effect::Publish), effect(&|effect| *effect == Effect::Confirm));
    let told = effect(&|effect| matches!(effect, Effect::Alert(_)));
    let sample = effect(&|effect| matches!(effect, Effect::Sample { .. }));
    let sampled = |sight| Event::DrainSampled { effect: sample, sample: Sample::of([given("campus", sight)]) };
    let rename = effect(&|effect| matches!(effect, Effect::Rename { .. }));
    let target = || Target::Id(ID);
    let reason = || "a test".to_owned();
    let begin = |kind, to: &str| {
        let plan = play.plan(kind, to, &["europe", "default"]);
        Event::Begin { plan: Frozen::new(plan), policy: Frozen::new(policy()) }
    };
    let mut stale = play.plan(Kind::Failover, "c", &["europe"]);
    stale.revision = 1000;
    let mut stepped = play.plan(Kind::Failover, "b", &["europe", "default"]);
    stepped.stepped = true;
    let of = |plan| Event::Begin { plan: Frozen::new(plan), policy: Frozen::new(policy()) };
    let health = |site: &str, health| Event::SiteHealthChanged { site: site.into(), health };
    let forced = |health| Event::SiteForced { site: "b".into(), health, actor: ann(), reason: reason() };
    let configured = |sites: &[&str]| Event::Configured {
        policy: Frozen::new(policy()),
        sites: sites.iter().map(|site| (*site).into()).collect(),
        regions: (*play.state.base).clone(),
    };
    vec![
        ("a switchover", begin(Kind::Switchover, "c"), false),
        ("a failover to the same site", begin(Kind::Failover, "b"), false),
        ("a failover to another site", begin(Kind::Failover, "c"), false),
        ("a failover by steps to the same site", of(stepped), false),
        ("a rollback", begin(Kind::Rollback, "a"), false),
        ("a stale failover", of(stale), false),
        ("passed", Event::Judged { effect: judge, verdict: Judgement::Passed }, false),
        ("blocked", Event::Judged { effect: judge, verdict: Judgement::Blocked(vec!["a gate".into()]) }, false),
        ("by another", Event::Approved { target: target(), actor: bob() }, false),
        ("by the same", Event::Approved { target: target(), actor: ann() }, false),
        ("", Event::Hold { target: target(), actor: ann(), reason: reason() }, false),
        ("", Event::Resume { target: target(), actor: ann(), reason: reason() }, false),
        ("", Event::Abort { target: target(), actor: ann(), reason: reason() }, false),
        ("target down", health("b", Health::Down), false),
        ("target unknown", health("b", Health::Unknown), false),
        ("target up", health("b", Health::Up), false),
        ("source down", health("a", Health::Down), false),
        ("up", forced(Some(Health::Up)), false),
        ("down", forced(Some(Health::Down)), false),
        ("as measured", forced(None), false),
        ("at the deadline", Event::Tick, true),
        ("too early", Event::Tick, false),
        ("", Event::Published { effect: publish }, false),
        ("", Event::PublishRefused { effect: publish, findings: vec!["a gate".into()] }, false),
        ("", Event::Confirmed { effect: confirm }, false),
        ("", Event::ConfirmFailed { effect: confirm, why: reason() }, false),
        ("of an alert", Event::Told { effect: told }, false),
        ("of a judgement", Event::EffectFailed { effect: judge, why: reason() }, false),
        ("of a publication", Event::EffectFailed { effect: publish, why: reason() }, false),
        ("the same", configured(&["a", "b", "c"]), false),
        ("without the target", configured(&["a", "c"]), false),
        (
            "",
            Event::DrainBound {
                id: ID,
                until: play.now.after(seconds(1)),
                basis: "measured".into(),
                longer: Vec::new(),
            },
            false,
        ),
        ("nobody asked", Event::DrainSampled { effect: sample, sample: Sample::default() }, false),
        ("new answers", sampled(Sight::New), false),
        ("an old answer", sampled(Sight::Old), false),
        ("silence", sampled(Sight::Unknown), false),
        ("of one", Event::RenamesFound { id: ID, renames: vec![found("edge", None)] }, false),
        ("that a gate stops", Event::RenamesFound { id: ID, renames: vec![found("other", Some("a gate"))] }, false),
        ("", Event::RenameBegun { effect: rename, fresh: name("edge-r1") }, false),
        ("", Event::RenameStopped { effect: rename, why: reason() }, false),
        ("", Event::FrontsTurned { id: ID, levers: vec![turned("edge", play.now)] }, false),
        ("", Event::ContentChanged { moves: BTreeSet::from([ID]) }, false),
        ("", Event::Restarted, false),
        ("", Event::StateDoubted { why: reason() }, false),
        ("", Event::StateAccepted { actor: ann(), reason: reason() }, false),
        ("armed", Event::Autopilot { armed: true, actor: ann(), reason: reason() }, false),
    ]
}

/// Takes an event in, when it is due.
pub fn after(play: &Play, event: &Event, at_deadline: bool) -> Play {
    let mut play = play.clone();
    if at_deadline {
        play.now = play.state.deadline().unwrap_or(play.now);
    }
    _ = play.event(event);
    play
}

/// How an event is written in the table and the diagram.
pub fn label(event: &Event, particular: &str) -> String {
    let words = [kind(event), particular];
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// What an event did, in a line.
fn told(before: &Play, after: &Play) -> String {
    if let Some(refusal) = &after.state.refusal {
        let whole = format!("{refusal:?}");
        let name: String = whole.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        return format!("refused: {name}");
    }
    let mut line = match after.state.moves.get(&ID) {
        None => match after.ended.get(&ID).filter(|_| !before.ended.contains_key(&ID)) {
            None => "-".to_owned(),
            Some(outcome) => format!("ended: {}", name_of(outcome)),
        },
        Some(moving) => {
            let mut line = format!("{} {}", moving.phase.kind(), moving.share);
            if moving.direction == Direction::Back {
                line += " back";
            }
            if let Some(hold) = &moving.hold {
                let why = format!("{:?}", hold.why);
                let name: String = why.chars().take_while(|letter| letter.is_alphanumeric()).collect();
                _ = write!(line, ", held: {name}");
            }
            line
        }
    };
    for (id, other) in after.state.moves.iter().chain(&after.state.challengers).filter(|(id, _)| **id != ID) {
        let role = if after.state.challengers.contains_key(id) { "challenger" } else { "move" };
        _ = write!(line, "; {role} {}: {} {}", id.0, other.phase.kind(), other.share);
    }
    let effects: Vec<&str> = after.issued.iter().map(|issued| name_of_effect(&issued.effect)).collect();
    if !effects.is_empty() {
        _ = write!(line, "; {}", effects.join(", "));
    }
    line
}

pub fn name_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Reversed => "reversed",
        Outcome::Aborted { .. } => "aborted",
        Outcome::Refused { .. } => "refused",
        Outcome::Replaced { .. } => "replaced",
    }
}

fn name_of_effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::Judge { .. } => "judge",
        Effect::Publish => "publish",
        Effect::Confirm => "confirm",
        Effect::Alert(_) => "alert",
        Effect::Sample { .. } => "sample",
        Effect::Rename { .. } => "rename",
        Effect::Ended(_) => "tell the end",
    }
}

#[test]
fn every_event_does_in_every_phase_what_the_table_says() {
    let mut table = String::from("What every event does in every phase: the move after it, and what is to be done.\n");
    for (name, play) in phases() {
        _ = write!(table, "\n{name}\n");
        let mut kinds = BTreeSet::new();
        for (particular, event, at_deadline) in events(&play) {
            kinds.insert(kind(&event));
            let after = after(&play, &event, at_deadline);
            _ = writeln!(table, "    {:<46}{}", label(&event, particular), told(&play, &after));
        }
        assert_eq!(kinds.len(), KINDS, "each kind of event is in the table");
    }
    compare(PATH, &table);
}
