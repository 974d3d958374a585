//! Random histories, in a world that loses outcomes, tells them late and twice, steps its clock and restarts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::play::{Play, REGIONS, SITES, ann, bob, found, given, name, seconds, turned};
use crate::failover::effect::{Effect, EffectId};
use crate::failover::event::{Event, Judgement, Target};
use crate::failover::health::Health;
use crate::failover::moves::{Direction, MoveId};
use crate::failover::names::Frozen;
use crate::failover::plan::{Kind, Plan};
use crate::failover::policy::Approval;
use crate::failover::refusal::Refusal;
use crate::failover::renames::Initiative;
use crate::failover::sample::{Longer, Sample};
use crate::failover::state::State;
use crate::failover::step::step;
use crate::failover::view::View;
use crate::observation::sight::Sight;
use crate::time::Timestamp;

/// Something that happens.
#[derive(Clone, Debug)]
enum Act {
    Begin {
        kind: usize,
        to: usize,
        regions: usize,
        stepped: bool,
        stale: bool,
        approval: bool,
    },
    Order {
        order: usize,
        region: usize,
    },
    Health {
        site: usize,
        health: usize,
        forced: bool,
    },
    /// The outcome of one of the effects that wait, or of one that no longer does.
    Outcome {
        which: usize,
        outcome: usize,
    },
    Late {
        effect: u64,
        outcome: usize,
    },
    /// The next deadline comes.
    Due,
    /// The clock shows something else.
    Clock {
        milliseconds: i64,
    },
    Restart,
    Configure {
        without: usize,
    },
    Bound {
        id: u64,
        seconds: u64,
    },
    Edited {
        id: u64,
    },
    /// Renames gain something, some of them with something against them.
    Found {
        id: u64,
        levers: usize,
    },
    /// What led to a lever leads elsewhere, since then.
    Turned {
        id: u64,
        lever: usize,
        seconds: u64,
    },
    Doubt {
        accepted: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let sides = any::<(bool, bool, bool)>();
    prop_oneof![
        5 => (0..3usize, 0..3usize, 1..8usize, sides).prop_map(|(kind, to, regions, (stepped, stale, approval))| {
            Act::Begin { kind, to, regions, stepped, stale: stale && stepped, approval }
        }),
        4 => (0..4usize, 0..3usize).prop_map(|(order, region)| Act::Order { order, region }),
        3 => (0..3usize, 0..3usize, any::<bool>())
            .prop_map(|(site, health, forced)| Act::Health { site, health, forced }),
        16 => (0..8usize, 0..6usize).prop_map(|(which, outcome)| Act::Outcome { which, outcome }),
        1 => (0..60u64, 0..6usize).prop_map(|(effect, outcome)| Act::Late { effect, outcome }),
        12 => Just(Act::Due),
        2 => (-100_000..400_000i64).prop_map(|milliseconds| Act::Clock { milliseconds }),
        1 => Just(Act::Restart),
        1 => (0..4usize).prop_map(|without| Act::Configure { without }),
        1 => (0..6u64, 0..9000u64).prop_map(|(id, seconds)| Act::Bound { id, seconds }),
        1 => (0..6u64).prop_map(|id| Act::Edited { id }),
        2 => (0..6u64, 0..16usize).prop_map(|(id, levers)| Act::Found { id, levers }),
        1 => (0..6u64, 0..4usize, 0..40u64).prop_map(|(id, lever, seconds)| Act::Turned { id, lever, seconds }),
        1 => any::<bool>().prop_map(|accepted| Act::Doubt { accepted }),
    ]
}

const HEALTHS: [Health; 3] = [Health::Up, Health::Down, Health::Unknown];

fn plan_of(play: &mut Play, act: &Act) -> Option<Plan> {
    let Act::Begin { kind, to, regions, stepped, stale, approval } = act else { return None };
    let kind = [Kind::Switchover, Kind::Failover, Kind::Rollback][*kind];
    let chosen = REGIONS
        .iter()
        .enumerate()
        .filter(|(at, region)| regions & (1 << at) != 0 && play.state.base.contains_key(**region));
    let chosen: Vec<&str> = chosen.map(|(_, region)| *region).collect();
    play.policy.approval = if *approval { Approval::Planned } else { Approval::Nothing };
    play.policy.rename = if *stepped { Initiative::Do } else { Initiative::Propose };
    let mut plan = play.plan(kind, SITES[*to], &chosen);
    plan.stepped = *stepped;
    plan.revision += u64::from(*stale);
    Some(plan)
}

/// What may be told of an effect: mostly that it went well.
fn outcome(id: EffectId, effect: &Effect, which: usize) -> Event {
    let failed = Event::EffectFailed { effect: id, why: "it failed".into() };
    match (effect, which) {
        (_, 0) => failed,
        (Effect::Judge { .. }, 1) => Event::Judged { effect: id, verdict: Judgement::Blocked(vec!["a gate".into()]) },
        (Effect::Judge { .. }, _) => Event::Judged { effect: id, verdict: Judgement::Passed },
        (Effect::Publish, 1) => Event::PublishRefused { effect: id, findings: vec!["a gate".into()] },
        (Effect::Publish, _) => Event::Published { effect: id },
        (Effect::Confirm, 1) => Event::ConfirmFailed { effect: id, why: "behind".into() },
        (Effect::Confirm, _) => Event::Confirmed { effect: id },
        (Effect::Sample { .. }, 1) => {
            Event::DrainSampled { effect: id, sample: Sample::of([given("odd", Sight::Stale)]) }
        }
        (Effect::Sample { .. }, 2) => {
            Event::DrainSampled { effect: id, sample: Sample::of([given("odd", Sight::New)]) }
        }
        (Effect::Sample { .. }, _) => Event::DrainSampled { effect: id, sample: Sample::default() },
        (Effect::Rename { .. }, 1 | 2) => Event::RenameStopped { effect: id, why: "a gate".into() },
        (Effect::Rename { .. }, _) => Event::RenameBegun { effect: id, fresh: name("fresh") },
        (Effect::Alert(_) | Effect::Ended(_), _) => Event::Told { effect: id },
    }
}

fn event_of(play: &mut Play, act: &Act) -> Option<Event> {
    let reason = || "chance".to_owned();
    Some(match act {
        Act::Begin { .. } => {
            let plan = Frozen::new(plan_of(play, act)?);
            Event::Begin { plan, policy: Frozen::new(play.policy.clone()) }
        }
        Act::Order { order, region } => {
            let target = Target::Region(REGIONS[*region].into());
            match order {
                0 => Event::Hold { target, actor: ann(), reason: reason() },
                1 => Event::Resume { target, actor: ann(), reason: reason() },
                2 => Event::Abort { target, actor: ann(), reason: reason() },
                _ => Event::Approved { target, actor: bob() },
            }
        }
        Act::Health { site, health, forced: false } => {
            Event::SiteHealthChanged { site: SITES[*site].into(), health: HEALTHS[*health] }
        }
        Act::Health { site, health, forced: true } => Event::SiteForced {
            site: SITES[*site].into(),
            health: Some(HEALTHS[*health]).filter(|health| *health != Health::Unknown),
            actor: ann(),
            reason: reason(),
        },
        Act::Outcome { which, outcome: what } => {
            let (id, pending) = play.state.pending.iter().nth(*which % play.state.pending.len().max(1))?;
            outcome(*id, &pending.effect, *what)
        }
        Act::Late { effect, outcome: what } => {
            let kinds = [
                Effect::Judge { id: MoveId(1) },
                Effect::Publish,
                Effect::Confirm,
                Effect::Sample { id: MoveId(1) },
                Effect::Rename { id: MoveId(1), lever: name("l0") },
            ];
            outcome(EffectId(*effect), &kinds[*effect as usize % 5], *what)
        }
        Act::Due => {
            play.now = play.now.max(play.state.deadline()?);
            Event::Tick
        }
        Act::Clock { milliseconds } => {
            play.now = Timestamp(play.now.0 + milliseconds);
            Event::Tick
        }
        Act::Restart => Event::Restarted,
        Act::Configure { without } => Event::Configured {
            policy: Frozen::new(play.policy.clone()),
            sites: SITES.iter().enumerate().filter(|(at, _)| at != without).map(|(_, site)| (*site).into()).collect(),
            regions: REGIONS.iter().map(|region| ((*region).into(), "a".into())).collect(),
        },
        Act::Bound { id, seconds: wait } => {
            let until = play.state.last.after(seconds(*wait));
            // Some keep answers for longer.
            let longer = Longer { resolver: "odd".into(), until: until.after(seconds(*wait % 100)) };
            Event::DrainBound { id: MoveId(*id), until, basis: reason(), longer: vec![longer] }
        }
        Act::Found { id, levers } => {
            let levers = (0..4usize).filter(|at| levers & (1 << at) != 0);
            let renames = levers.map(|at| found(&format!("l{at}"), (at == 3).then_some("a gate"))).collect();
            Event::RenamesFound { id: MoveId(*id), renames }
        }
        Act::Turned { id, lever, seconds: ago } => {
            let at = Timestamp(play.now.0 - 1000 * *ago as i64 + 5000);
            Event::FrontsTurned { id: MoveId(*id), levers: vec![turned(&format!("l{lever}"), at)] }
        }
        Act::Edited { id } => Event::ContentChanged { moves: [MoveId(*id)].into() },
        Act::Doubt { accepted: false } => Event::StateDoubted { why: reason() },
        Act::Doubt { accepted: true } => Event::StateAccepted { actor: ann(), reason: reason() },
    })
}

/// Where client number `unit` is answered from: its place in the order of the move's hash decides.
fn side(view: &View, region: &str, unit: u64) -> Option<String> {
    let route = view.routes.get(region)?;
    let moved = route.moving.as_ref().filter(|moving| {
        let place = (unit ^ moving.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        place % 10_000 < u64::from(moving.share.basis_points())
    });
    Some(moved.map_or(&route.site, |moving| &moving.to).to_string())
}

/// What holds between two states of a history, told without the engine's own checks.
fn holds(before: &State, after: &State) {
    if let Some(Refusal::Broken { what }) = &after.refusal {
        panic!("the engine stopped itself: {what}");
    }
    for (region, route) in &after.served.routes {
        assert!(route.moving.is_none() || after.served.caps.contains_key(region), "{region} is split and not capped");
    }
    for view in [&before.asked, &after.asked, &after.served] {
        assert_eq!(view.is_of(after), **view == after.view());
    }
    for (region, cap) in &after.asked.caps {
        assert!(after.move_of(region).is_some(), "{region} is left at {}", cap.ttl);
    }
    // No client goes back while its move goes forward.
    for (id, moving) in &after.moves {
        let forward = |moving: &crate::failover::moves::Move| moving.direction == Direction::Forward;
        if !before.moves.get(id).is_some_and(forward) || !forward(moving) {
            continue;
        }
        for region in moving.base.keys() {
            for unit in 0..40 {
                let sides = [&before.served, &after.served].map(|view| side(view, region.as_str(), unit));
                let went_back = sides[0].as_deref() == Some(moving.plan.to.as_str()) && sides[1] != sides[0];
                assert!(!went_back, "client {unit} of {region} went back: {sides:?}");
            }
        }
    }
    if after.refusal.is_some() {
        let same = State { refusal: None, last: before.last, ..after.clone() };
        assert_eq!(same, State { refusal: None, ..before.clone() }, "a refused event changes nothing");
    }
}

fn take(play: &mut Play, event: &Event) {
    let before = play.state.clone();
    // The journal keeps all that matters, and the same event gives the same again.
    let text = serde_json::to_string(&before).unwrap();
    let read: State = serde_json::from_str(&text).unwrap();
    assert_eq!(read, before);
    _ = play.event(event);
    let again = step(&read, event, play.now);
    assert_eq!((&again.0, &again.1), (&play.state, &play.issued));
    let event_text = serde_json::to_string(event).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&event_text).unwrap(), *event);
    holds(&before, &play.state);
}

/// All sites are well, everything that is asked for is done, and time passes.
fn recover(play: &mut Play) {
    if play.state.doubt.is_some() {
        take(play, &Event::StateAccepted { actor: ann(), reason: String::new() });
    }
    for site in play.state.health.keys().cloned().collect::<Vec<_>>() {
        take(
            play,
            &Event::SiteForced { site: site.clone(), health: Some(Health::Up), actor: ann(), reason: String::new() },
        );
    }
    let mut standing = 0;
    for _ in 0..3000 {
        if let Some((id, pending)) = play.state.pending.clone().into_iter().next() {
            take(play, &outcome(id, &pending.effect, 5));
            continue;
        }
        let waiting = play.state.moves.values().chain(play.state.challengers.values());
        if waiting.into_iter().all(|moving| moving.hold.is_some()) {
            return;
        }
        let deadline = play.state.deadline();
        let deadline = deadline.unwrap_or_else(|| {
            panic!(
                "a move that is not on hold has something to wait for: {:?} {:?}",
                play.state.moves, play.state.pending
            )
        });
        standing = if deadline > play.state.last { 0 } else { standing + 1 };
        assert!(standing < 20, "it is due all the time and nothing happens: {:?}", play.state);
        play.now = play.now.max(deadline);
        take(play, &Event::Tick);
    }
    panic!("it comes to no end: {:?}", play.state);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_history_ends_in_done_or_held(acts in proptest::collection::vec(act(), 0..90), watched in any::<bool>()) {
        let mut play = if watched { Play::new() } else { Play::unwatched() };
        for act in &acts {
            if let Some(event) = event_of(&mut play, act) {
                take(&mut play, &event);
            }
        }
        recover(&mut play);
        let capped: BTreeMap<_, _> = play.state.served.caps.clone();
        for region in capped.keys() {
            prop_assert!(play.state.move_of(region).is_some_and(|(_, moving)| moving.hold.is_some()), "{} is left low", region);
        }
        prop_assert_eq!(&*play.state.served, &play.state.view());
        prop_assert_eq!(&play.state.served, &play.state.asked);
        // Nobody looks: what has moved nobody is given up, and the rest goes on saying so.
        play.now = play.now.after(seconds(4000));
        for _ in 0..3 {
            take(&mut play, &Event::Tick);
            recover(&mut play);
        }
        for moving in play.state.moves.values() {
            prop_assert!(moving.hold.is_some() && (moving.has_moved() || moving.base.values().any(|from| from.split.is_some())));
        }
    }
}
