//! What a step of the failover engine costs on a busy zone: `cargo bench --bench failover`.
//!
//! A plain harness, as `engine` is: the median of several rounds, as CPU time of this thread, with the invariants that are
//! checked after every step.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use understudy::digest::Digest;
use understudy::failover::actor::Actor;
use understudy::failover::effect::{Effect, EffectId};
use understudy::failover::event::{Event, Judgement, Target};
use understudy::failover::health::Health;
use understudy::failover::moves::{MoveId, PhaseKind};
use understudy::failover::names::Frozen;
use understudy::failover::plan::{Kind, Plan};
use understudy::failover::policy::Policy;
use understudy::failover::sample::Sample;
use understudy::failover::state::State;
use understudy::failover::step::step;
use understudy::name::Name;
use understudy::time::{Timestamp, Ttl};

/// How often everything is measured.
const ROUNDS: usize = 7;
/// Steps in a round.
const STEPS: usize = 200_000;
const REGIONS: [&str; 8] = ["africa", "america", "asia", "default", "europe", "oceania", "polar", "south"];
const SITES: [&str; 4] = ["a", "b", "c", "d"];

fn main() {
    let state = busy();
    let phases: Vec<String> = state.moves.values().map(|moving| moving.phase.kind().to_string()).collect();
    let octets = serde_json::to_vec(&state).unwrap().len();
    println!(
        "{} regions, {} sites, moves {}, {} challengers, {} effects pending, {octets} octets of JSON; median of {ROUNDS}",
        REGIONS.len(),
        SITES.len(),
        phases.join(" and "),
        state.challengers.len(),
        state.pending.len()
    );
    let events = events(&state);
    for (name, event, now) in &events {
        measure(name, || _ = black_box(step(black_box(&state), black_box(event), *now)));
    }
    let mut turn = 0;
    measure("all of them in turn", || {
        let (_, event, now) = &events[turn % events.len()];
        turn += 1;
        _ = black_box(step(black_box(&state), black_box(event), *now));
    });
    whole_runs();
}

/// Switchovers of a zone of two regions, each from its beginning to its end: what a zone usually asks of the engine.
fn whole_runs() {
    const RUNS: usize = 2000;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let base = ["default", "europe"].map(|region| (region.into(), "a".into()));
            let zone = Name::absolute("wiki.example").unwrap();
            let sites = ["a".into(), "b".into()];
            let mut state = State::new(zone, Frozen::new(Policy::default()), sites, base.into(), Timestamp(0));
            let (start, first) = (spent(), state.next_effect);
            let mut steps = 0;
            for run in 0..RUNS {
                let id = begin(&mut state, Kind::Switchover, ["b", "a"][run % 2], &["default", "europe"]);
                steps += 1;
                while state.find(id).is_some() || !state.pending.is_empty() {
                    let (event, now) = next(&state);
                    take(&mut state, &event, now);
                    steps += 1;
                }
            }
            assert!(state.next_effect > first && steps > 10 * RUNS);
            steps as f64 / (spent() - start).as_secs_f64()
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{:<28} {:>8.0} ns  {:>10.0} steps/s", "whole switchovers", 1e9 / rounds[ROUNDS / 2], rounds[ROUNDS / 2]);
}

/// What comes next where all goes well.
fn next(state: &State) -> (Event, Timestamp) {
    let now = state.last;
    match state.pending.iter().next().map(|(id, pending)| (*id, &pending.effect)) {
        Some((effect, Effect::Judge { .. })) => (Event::Judged { effect, verdict: Judgement::Passed }, now),
        Some((effect, Effect::Publish)) => (Event::Published { effect }, now),
        Some((effect, Effect::Confirm)) => (Event::Confirmed { effect }, now),
        Some((effect, Effect::Sample { .. })) => (Event::DrainSampled { effect, sample: Sample::default() }, now),
        Some((effect, _)) => (Event::Told { effect }, now),
        None => (Event::Tick, now.max(state.deadline().unwrap())),
    }
}

fn measure(name: &str, mut run: impl FnMut()) {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = spent();
            (0..STEPS).for_each(|_| run());
            spent() - start
        })
        .collect();
    rounds.sort();
    let nanoseconds = rounds[ROUNDS / 2].as_nanos() as f64 / STEPS as f64;
    println!("{name:<28} {nanoseconds:>8.0} ns  {:>10.0} steps/s", 1e9 / nanoseconds);
}

/// The CPU time that this thread has used.
fn spent() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    Duration::from_micros((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as u64)
}

fn ann() -> Actor {
    Actor { uid: Some(1001), name: "ann".into() }
}

/// Three moves, each in another phase; a fourth that waits to take one over; alerts that nobody has heard.
fn busy() -> State {
    let base = REGIONS.iter().map(|region| ((*region).into(), "a".into())).collect();
    let sites = SITES.iter().map(|site| (*site).into());
    let zone = Name::absolute("wiki.example").unwrap();
    let mut state = State::new(zone, Frozen::new(Policy::default()), sites, base, Timestamp(0));
    for site in SITES {
        take(&mut state, &Event::SiteHealthChanged { site: site.into(), health: Health::Up }, Timestamp(0));
    }
    begin(&mut state, Kind::Failover, "b", &["africa", "america"]);
    until(&mut state, MoveId(1), PhaseKind::Baking);
    begin(&mut state, Kind::Failover, "c", &["asia", "default"]);
    until(&mut state, MoveId(2), PhaseKind::Draining);
    let mut held = begin(&mut state, Kind::Switchover, "d", &["europe", "oceania", "polar"]);
    until(&mut state, held, PhaseKind::Shifting);
    for site in ["b", "c"] {
        let health = |health| Event::SiteHealthChanged { site: site.into(), health };
        let now = state.last;
        take(&mut state, &health(Health::Unknown), now);
        take(&mut state, &health(Health::Up), now);
    }
    held = begin(&mut state, Kind::Failover, "b", &["europe"]);
    assert!(state.challengers.contains_key(&held));
    state
}

fn events(state: &State) -> Vec<(&'static str, Event, Timestamp)> {
    let (now, target) = (state.last, || Target::Region("asia".into()));
    let judge = |effect: &Effect| matches!(effect, Effect::Judge { .. });
    let effect = pending(state, judge).unwrap();
    let due = state.deadline().unwrap();
    let baked = now.after(Duration::from_secs(3600));
    vec![
        ("tick, nothing due", Event::Tick, now),
        ("tick, an effect is due", Event::Tick, due),
        ("tick, moves are due", Event::Tick, baked),
        ("a site falls ill", Event::SiteHealthChanged { site: "c".into(), health: Health::Down }, now),
        ("the gates let it through", Event::Judged { effect, verdict: Judgement::Passed }, now),
        ("hold", Event::Hold { target: target(), actor: ann(), reason: "to look".into() }, now),
        ("abort", Event::Abort { target: Target::Region("polar".into()), actor: ann(), reason: "no".into() }, now),
        ("a late outcome", Event::Published { effect: EffectId(1) }, now),
        ("restarted", Event::Restarted, now),
    ]
}

fn take(state: &mut State, event: &Event, now: Timestamp) {
    *state = step(state, event, now).0;
    assert_eq!(state.refusal, None, "{event:?}");
}

fn begin(state: &mut State, kind: Kind, to: &str, regions: &[&str]) -> MoveId {
    let regions: BTreeMap<_, _> =
        regions.iter().map(|region| ((*region).into(), state.base[*region].clone())).collect();
    let (id, now) = (MoveId(state.next_move), state.last);
    let plan = Frozen::new(Plan {
        shown: None,
        digest: Digest::of_parts([to]),
        kind,
        revision: state.revision_of(regions.keys()),
        regions,
        to: to.into(),
        old_ttl: Ttl::new(300).unwrap(),
        ramp_possible: true,
        stepped: false,
        automatic: false,
        actor: ann(),
        reason: "to measure".into(),
        overrides: Vec::new(),
        at: now,
        forecast: None,
    });
    take(state, &Event::Begin { plan, policy: state.policy.clone() }, now);
    id
}

fn pending(state: &State, wanted: impl Fn(&Effect) -> bool) -> Option<EffectId> {
    state.pending.iter().find(|(_, pending)| wanted(&pending.effect)).map(|(id, _)| *id)
}

/// Answers what is asked for and lets time pass until a move is in a phase.
fn until(state: &mut State, id: MoveId, phase: PhaseKind) {
    while state.moves[&id].phase.kind() != phase {
        let now = state.last;
        let asked = pending(state, |effect| !matches!(effect, Effect::Alert(_) | Effect::Ended(_)));
        let event = match asked.map(|effect| (effect, &state.pending[&effect].effect)) {
            Some((effect, Effect::Judge { .. })) => Event::Judged { effect, verdict: Judgement::Passed },
            Some((effect, Effect::Publish)) => Event::Published { effect },
            Some((effect, Effect::Sample { .. })) => Event::DrainSampled { effect, sample: Sample::default() },
            Some((effect, _)) => Event::Confirmed { effect },
            None => Event::Tick,
        };
        let now = if event == Event::Tick { now.max(state.deadline().unwrap()) } else { now };
        take(state, &event, now);
    }
}
