//! What is checked after every step, and what keeps a state small.

use serde_json::Value;

use super::play::{Play, ann, seconds};
use crate::failover::effect::{Effect, Severity};
use crate::failover::event::{Event, Target};
use crate::failover::health::Health;
use crate::failover::moves::{PhaseKind, Why};
use crate::failover::plan::Kind;
use crate::failover::refusal::Refusal;
use crate::failover::state::{Autopilot, State};

/// A state with a move that shifts, altered on its way through the journal.
fn altered(alter: impl Fn(&mut Value)) -> Play {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    let mut value = serde_json::to_value(&play.state).unwrap();
    alter(&mut value);
    play.state = serde_json::from_value(value).unwrap();
    play.alerts.clear();
    play
}

#[test]
fn a_broken_state_stops_and_says_so_once() {
    type Fault = (&'static str, fn(&mut Value));
    let faults: [Fault; 8] = [
        ("another move have the region `europe`", |state| {
            let moving = state["moves"]["1"].clone();
            state["moves"]["2"] = moving;
            state["next_move"] = 3.into();
        }),
        ("a region or a site that the zone does not have", |state| {
            state["health"].as_object_mut().unwrap().remove("b");
        }),
        ("moves no region", |state| state["moves"]["1"]["base"] = Value::Object(Default::default())),
        ("is shifting, with 10% of the clients moved", |state| state["moves"]["1"]["published"] = 500.into()),
        ("is draining, with 10% of the clients moved", |state| {
            state["moves"]["1"]["phase"] = serde_json::json!({ "draining": { "until": 5_000_000, "basis": "" } });
        }),
        ("not what was decided last", |state| state["moved"]["europe"] = 1.into()),
        ("waits for a publication", |state| {
            state["moves"]["1"]["phase"] = serde_json::json!({ "shifting": { "clock": "publishing" } });
        }),
        ("too many publications", |state| {
            let pending = serde_json::json!({ "effect": "publish", "failures": 0, "again_at": 9_000_000 });
            state["pending"] = serde_json::json!({ "7": pending, "8": pending });
        }),
    ];
    for (said, fault) in faults {
        let mut play = altered(fault);
        let before = play.state.clone();
        let refused = play.event(&Event::Autopilot { armed: true, actor: ann(), reason: String::new() });
        assert!(matches!(refused, Err(Refusal::Broken { .. })), "{said}: {refused:?}");
        assert!(play.state.refusal.as_ref().unwrap().to_string().contains(said), "{said}: {refused:?}");
        for moving in play.state.moves.values() {
            assert!(matches!(moving.hold.as_ref().map(|hold| &hold.why), Some(Why::Broken { .. })), "{said}");
        }
        assert!(matches!(*play.state.autopilot, Autopilot::Disarmed { .. }));
        assert_eq!(play.state.view(), before.view(), "{said}: what is served is as it was");
        assert_eq!(play.alerts.len(), 1, "{said}");
        assert_eq!(play.alerts[0].severity, Severity::Critical);
        _ = play.event(&Event::Tick);
        assert_eq!(play.alerts.len(), 1, "{said}: once is enough");
    }
    // The measure: an unaltered state goes on.
    altered(|_| {}).event(&Event::Tick).unwrap();
}

#[test]
fn what_the_journal_holds_is_read_back_or_refused() {
    let odd = |alter: fn(&mut Value)| {
        let mut value = serde_json::to_value(altered(|_| {}).state).unwrap();
        alter(&mut value);
        serde_json::from_value::<State>(value)
    };
    assert!(odd(|_| {}).is_ok());
    assert!(odd(|state| state["unheard_of"] = 1.into()).unwrap_err().to_string().contains("unheard_of"));
    assert!(odd(|state| state["moves"]["1"]["share"] = 10_001.into()).is_err());
    assert!(odd(|state| state["policy"]["steps"] = serde_json::json!([100])).is_err());
    assert!(odd(|state| _ = state.as_object_mut().unwrap().remove("ttls")).is_err());
}

#[test]
fn nothing_grows_without_end() {
    let mut play = Play::new();
    let long = "é".repeat(100_000);
    for round in 0..300 {
        let mut plan = play.plan(Kind::Switchover, "b", &["europe"]);
        plan.reason = long.clone();
        plan.overrides = vec![long.clone(); 100];
        match play.try_begin(plan) {
            Ok(id) => {
                let (actor, reason) = (ann(), long.clone());
                play.event(&Event::Hold { target: Target::Id(id), actor, reason }).unwrap();
                play.abort(id).unwrap();
            }
            Err(refusal) => {
                assert!(matches!(refusal, Refusal::TooMany { .. }), "{refusal}");
                assert!(round >= 64);
            }
        }
        let health = if round % 2 == 0 { Health::Down } else { Health::Up };
        play.health("c", health);
    }
    assert!(play.state.pending.len() <= 64 + 64 + 2, "{}", play.state.pending.len());
    let length = serde_json::to_vec(&play.state).unwrap().len();
    assert!(length < 4 << 20, "{length} octets");
    // Endings are never forgotten: once they can be told, moves begin again.
    let endings = play.state.pending.values().filter(|pending| matches!(pending.effect, Effect::Ended(_))).count();
    assert_eq!(endings, 64);
    play.pass(seconds(1));
    play.settle();
    play.begin(Kind::Switchover, "b", &["europe"]);
}
