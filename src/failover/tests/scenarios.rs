//! What an operator would see, told as short stories.

use super::play::{Play, ann, bob, seconds, share};
use crate::failover::actor::Actor;
use crate::failover::effect::{Effect, Severity};
use crate::failover::event::{Event, Judgement, Target};
use crate::failover::health::Health;
use crate::failover::moves::{MoveId, Outcome, PhaseKind, Why};
use crate::failover::plan::Kind;
use crate::failover::policy::Approval;
use crate::failover::refusal::Refusal;
use crate::time::{Timestamp, Ttl};

#[test]
fn a_switchover_goes_through_its_phases() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.judge();
    assert_eq!((play.cap("europe"), play.cap("default")), (Some(10), None));
    // The wait begins when the low TTL is published, not when it is asked for.
    play.now = play.now.after(seconds(1000));
    play.event(&Event::Tick).unwrap();
    let lowered = play.now;
    play.settle();
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Lowering);
    assert_eq!(play.state.old_ttl_until(play.at(id).base.keys(), play.now), Some(lowered.after(seconds(300))));
    let mut seen = Vec::new();
    let outcome = loop {
        if let Some(outcome) = play.ended.get(&id) {
            break outcome.clone();
        }
        assert_eq!(play.cap("europe"), Some(10));
        seen.push(format!("{} {}", play.now.since(lowered).as_secs(), play.route("europe")));
        assert!(play.tick());
    };
    assert_eq!(outcome, Outcome::Done);
    seen.dedup();
    // The last share is drained for the low TTL, and then watched for a minute.
    assert_eq!(seen, ["0 a", "300 a, 10% b", "320 a, 30% b", "340 b", "350 b"]);
    assert_eq!(play.now.since(lowered), seconds(410));
    assert_eq!((play.route("europe"), play.route("default"), play.cap("europe")), ("b".into(), "a".into(), None));
    assert_eq!(play.state.previous["europe"], "a".into());
    assert_eq!(*play.state.served, play.state.view());
    assert!(play.alerts.is_empty(), "{:?}", play.alerts);
}

#[test]
fn a_failover_moves_everybody_at_once_and_waits_for_the_old_ttl() {
    let mut play = Play::new();
    play.health("a", Health::Down);
    let id = play.begin(Kind::Failover, "b", &["europe", "asia"]);
    play.judge();
    assert_eq!(play.route("europe"), "b");
    assert_eq!(play.issued.iter().map(|issued| &issued.effect).collect::<Vec<_>>(), [&Effect::Publish]);
    play.settle();
    let published = play.now;
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Draining);
    play.until(id, PhaseKind::Baking);
    assert_eq!(play.now.since(published), seconds(300));
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn a_failover_goes_by_steps_where_capacity_wants_it() {
    let mut play = Play::new();
    let mut plan = play.plan(Kind::Failover, "b", &["europe"]);
    plan.stepped = true;
    let id = play.try_begin(plan).unwrap();
    play.settle();
    assert_eq!((play.route("europe"), play.at(id).phase.kind()), ("a, 10% b".into(), PhaseKind::Shifting));
    // Behind plain secondaries there is no ramp: a switchover is one step.
    let mut plan = play.plan(Kind::Switchover, "c", &["asia"]);
    plan.ramp_possible = false;
    let id = play.try_begin(plan).unwrap();
    play.until(id, PhaseKind::Draining);
    assert!(play.published.iter().all(|view| view.routes["asia"].moving.is_none()));
}

#[test]
fn a_second_failover_takes_over_when_the_target_dies() {
    let mut play = Play::new();
    let first = play.begin(Kind::Switchover, "b", &["europe", "asia"]);
    play.until(first, PhaseKind::Shifting);
    play.tick();
    assert_eq!(play.route("europe"), "a, 30% b");
    play.health("b", Health::Down);
    assert_eq!(play.held(first), Some(&Why::Relapse { site: "b".into(), alone: false }));
    let alert = play.alerts.last().unwrap().clone();
    assert_eq!(alert.severity, Severity::Critical);
    assert!(alert.next.starts_with("understudy failover wiki.example. --to"), "{}", alert.next);
    assert!(alert.meaning.contains("30% of the users are sent to b"), "{}", alert.meaning);
    // Until the gates have judged the second one, the first stands.
    let second = play.begin(Kind::Failover, "c", &["europe"]);
    assert_eq!(play.route("europe"), "a, 30% b");
    play.judge();
    assert_eq!(play.route("europe"), "c");
    let origin = play.at(second).base["europe"].clone();
    assert_eq!(origin.site, "a".into());
    assert!(origin.others.contains("b"), "answers of both are out there");
    let cap = &play.state.ttl_caps()["europe"];
    assert_eq!(cap.sites, ["a", "b", "c"].map(Into::into).into());
    // What the second one does not move, the first one keeps.
    assert_eq!((play.route("asia"), play.at(first).base.len()), ("a, 30% b".into(), 1));
    // TTLs are low for what differs between a and b; c's differences were given with the old one.
    let moved = play.now;
    play.settle();
    play.until(second, PhaseKind::Baking);
    assert_eq!(play.now.since(moved), seconds(300));
    assert_eq!(play.until_ended(second), Outcome::Done);
    assert_eq!(play.held(first), Some(&Why::Relapse { site: "b".into(), alone: false }));
    play.abort(first).unwrap();
    assert_eq!(play.until_ended(first), Outcome::Reversed);
    assert_eq!((play.route("europe"), play.route("asia"), play.route("default")), ("c".into(), "a".into(), "a".into()));
    assert!(play.state.ttl_caps().is_empty());
}

#[test]
fn a_takeover_that_is_refused_leaves_the_first_move_as_it_was() {
    let mut play = Play::new();
    let first = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(first, PhaseKind::Shifting);
    let second = play.begin(Kind::Failover, "c", &["europe"]);
    play.now = play.now.after(seconds(30));
    play.event(&Event::Tick).unwrap();
    assert_eq!(play.route("europe"), "a, 10% b", "it stands still while another may take over");
    let effect = play.pending(|effect| matches!(effect, Effect::Judge { .. })).unwrap();
    play.event(&Event::Judged { effect, verdict: Judgement::Blocked(vec!["a gate".into()]) }).unwrap();
    assert_eq!(play.ended[&second], Outcome::Refused { findings: vec!["a gate".into()] });
    assert_eq!(play.until_ended(first), Outcome::Done);

    // The gates let it through and the door does not: the split stays, and the move that is at fault is held.
    let mut play = Play::new();
    let first = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(first, PhaseKind::Shifting);
    let second = play.begin(Kind::Failover, "c", &["europe"]);
    play.judge();
    assert_eq!(play.ended[&first], Outcome::Replaced { by: second });
    play.refuse();
    assert_eq!(play.route("europe"), "a, 10% b");
    assert!(matches!(play.held(second), Some(Why::Refused { .. })));
    assert_eq!(play.state.served.routes, play.state.routes());
    play.resume(second).unwrap();
    assert_eq!(play.until_ended(second), Outcome::Done);
    assert_eq!(play.route("europe"), "c");
}

#[test]
fn a_failover_hurries_a_switchover_on() {
    let mut play = Play::new();
    let first = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(first, PhaseKind::Lowering);
    let lowered = play.now;
    play.now = play.now.after(seconds(100));
    let second = play.begin(Kind::Failover, "b", &["europe"]);
    play.settle();
    assert_eq!(play.ended[&first], Outcome::Replaced { by: second });
    assert_eq!((play.route("europe"), play.at(second).phase.kind()), ("b".into(), PhaseKind::Draining));
    // Old answers run out from when TTLs were lowered, not from when everybody moved.
    play.until(second, PhaseKind::Baking);
    assert_eq!(play.now.since(lowered), seconds(300));
}

#[test]
fn two_regions_move_at_once() {
    let mut play = Play::new();
    let europe = play.begin(Kind::Switchover, "b", &["europe"]);
    let asia = play.begin(Kind::Switchover, "c", &["asia"]);
    play.until(europe, PhaseKind::Shifting);
    play.until(asia, PhaseKind::Shifting);
    assert_eq!(
        play.event(&Event::Abort { target: Target::Only, actor: ann(), reason: String::new() }),
        Err(Refusal::WhichMove)
    );
    play.event(&Event::Hold { target: Target::Region("asia".into()), actor: ann(), reason: String::new() }).unwrap();
    assert_eq!(play.until_ended(europe), Outcome::Done);
    assert_eq!((play.route("europe"), play.route("asia")), ("b".into(), "a, 10% c".into()));
    assert_eq!((play.cap("europe"), play.cap("asia")), (None, Some(10)));
    play.resume(asia).unwrap();
    assert_eq!(play.until_ended(asia), Outcome::Done);
    assert_eq!((play.route("asia"), play.route("default")), ("c".into(), "a".into()));
}

#[test]
fn of_two_commands_one_wins() {
    let mut play = Play::new();
    let (first, second) = (play.plan(Kind::Failover, "b", &["europe"]), play.plan(Kind::Failover, "c", &["europe"]));
    let id = play.try_begin(first).unwrap();
    let before = play.state.clone();
    let refused = play.try_begin(second.clone()).unwrap_err();
    assert_eq!(refused, Refusal::Stale { planned: 0, now: 1, by: Some(id) });
    let text = refused.to_string();
    assert!(text.contains("revision 0") && text.contains("revision 1") && text.contains("move 1"), "{text}");
    play.state.refusal = None;
    assert_eq!(play.state, before, "the loser changes nothing");
    // Paused while the first is carried out, it is still refused.
    assert_eq!(play.until_ended(id), Outcome::Done);
    assert!(matches!(play.try_begin(second), Err(Refusal::Stale { planned: 0, .. })));
    // A plan for other regions is not.
    let mut other = play.plan(Kind::Failover, "c", &["asia"]);
    assert_eq!(other.revision, 0);
    other.revision = 0;
    play.try_begin(other).unwrap();
    // A switchover takes nothing over, however fresh.
    let busy = play.plan(Kind::Switchover, "b", &["asia"]);
    let text = play.try_begin(busy).unwrap_err().to_string();
    assert!(text.contains("move 2 is moving the region `asia`"), "{text}");
}

#[test]
fn an_abort_goes_back_the_way_it_came() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Lowering);
    play.abort(id).unwrap();
    assert_eq!(play.cap("europe"), None, "the TTL is not left low");
    play.settle();
    assert!(play.state.served.caps.is_empty());
    assert!(matches!(play.ended[&id], Outcome::Aborted { .. }));

    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    play.tick();
    assert_eq!(play.at(id).share, share("30%"));
    play.published.clear();
    play.abort(id).unwrap();
    assert_eq!(play.abort(id), Err(Refusal::Reversing { id }));
    assert_eq!(play.until_ended(id), Outcome::Reversed);
    let routes: Vec<String> = play
        .published
        .iter()
        .map(|view| view.routes["europe"].moving.as_ref().map_or("a".into(), |moving| moving.share.to_string()))
        .collect();
    assert_eq!(routes, ["10%", "a", "a"]);
    let low = |at: usize| play.published[at].caps.contains_key("europe");
    assert!(low(0) && low(1) && !low(2), "TTLs come back when nobody can hold answers of b any more");

    // Once everybody has moved it is too late; back is a plan of its own, and needs no wait for TTLs.
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Draining);
    assert_eq!(play.abort(id), Err(Refusal::TooLate { id, phase: PhaseKind::Draining }));
    assert!(play.abort(id).unwrap_err().to_string().contains("rollback"));
    let back = play.begin(Kind::Rollback, "a", &["europe"]);
    play.judge();
    assert_eq!(play.ended[&id], Outcome::Replaced { by: back });
    assert_eq!(play.route("europe"), "b, 10% a");
    let begun = play.now;
    play.until(back, PhaseKind::Shifting);
    assert_eq!((play.now, play.route("europe")), (begun, "b, 10% a".into()));
    assert_eq!(play.until_ended(back), Outcome::Done);
    assert_eq!(play.route("europe"), "a");
}

#[test]
fn nobody_is_sent_back_to_a_dead_site() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    play.health("a", Health::Down);
    play.abort(id).unwrap();
    assert_eq!(play.held(id), Some(&Why::SourceDown { site: "a".into() }));
    assert_eq!(play.route("europe"), "a, 10% b");
    assert!(play.abort(id).is_err());
    // Onwards is still possible.
    play.resume(id).unwrap();
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn a_relapse_holds_and_never_bounces() {
    for phase in [PhaseKind::Shifting, PhaseKind::Draining, PhaseKind::Baking] {
        let mut play = Play::new();
        let id = play.begin(Kind::Switchover, "b", &["europe"]);
        play.until(id, phase);
        let route = play.route("europe");
        play.health("b", Health::Down);
        assert!(matches!(play.held(id), Some(Why::Relapse { .. })), "{phase}");
        play.pass(seconds(1000));
        assert_eq!((play.route("europe"), play.cap("europe")), (route.clone(), Some(10)), "{phase}");
        let reminders = play.alerts.iter().filter(|alert| alert.what.starts_with("still")).count();
        assert_eq!(reminders, 3, "{phase}: it says so every 300 s");
        assert_eq!(play.resume(id), Err(Refusal::TargetDown { site: "b".into() }));
        play.health("b", Health::Up);
        play.pass(seconds(1000));
        assert!(play.held(id).is_some(), "{phase}: that it works again is for somebody to look into");
        play.resume(id).unwrap();
        let resumed = play.now;
        assert_eq!(play.until_ended(id), Outcome::Done);
        assert!(play.now.since(resumed) >= seconds(60), "{phase}: it is watched from the beginning");
    }
}

#[test]
fn only_health_that_was_seen_counts_as_baking() {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.until(id, PhaseKind::Baking);
    play.pass(seconds(40));
    play.health("b", Health::Unknown);
    play.settle();
    play.pass(seconds(1000));
    assert_eq!(play.held(id), Some(&Why::Unseen { site: "b".into() }));
    // The daemon was away: what it did not see does not count.
    play.event(&Event::Restarted).unwrap();
    play.health("b", Health::Up);
    play.settle();
    assert_eq!(play.held(id), None);
    play.pass(seconds(10));
    // Nothing was journaled in these ten seconds, so that nothing shows that they were seen.
    play.now = play.now.after(seconds(5000));
    play.event(&Event::Restarted).unwrap();
    play.health("a", Health::Up);
    play.health("b", Health::Up);
    play.settle();
    play.pass(seconds(19));
    assert!(!play.ended.contains_key(&id));
    play.pass(seconds(1));
    assert_eq!(play.ended.get(&id), Some(&Outcome::Done));
}

#[test]
fn a_zone_that_nobody_watches_is_baked_by_the_clock() {
    let mut play = Play::unwatched();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Baking);
    let baking = play.now;
    assert_eq!(play.held(id), None);
    assert_eq!(play.until_ended(id), Outcome::Done);
    assert_eq!(play.now.since(baking), play.policy.bake);
    // As soon as somebody watches, that nothing is known is news.
    let id = play.begin(Kind::Switchover, "c", &["europe"]);
    play.health("c", Health::Up);
    play.until(id, PhaseKind::Baking);
    play.health("c", Health::Unknown);
    assert_eq!(play.held(id), Some(&Why::Unseen { site: "c".into() }));
    let next = &play.alerts.last().unwrap().next;
    assert!(next.contains("understudy site up c"), "{next}");
    let word = |health| Event::SiteForced { site: "c".into(), health, actor: ann(), reason: "looked".into() };
    play.event(&word(Some(Health::Up))).unwrap();
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn when_every_site_looks_dead_nothing_moves() {
    let mut play = Play::new();
    play.health("a", Health::Down);
    play.health("b", Health::Unknown);
    let plan = play.plan(Kind::Failover, "b", &["europe"]);
    assert_eq!(play.try_begin(plan), Err(Refusal::CutOff { site: "b".into() }));
    play.health("b", Health::Down);
    play.health("a", Health::Up);
    let plan = play.plan(Kind::Failover, "b", &["europe"]);
    assert_eq!(play.try_begin(plan), Err(Refusal::TargetDown { site: "b".into() }));
    // A restart in mid-move: nothing is known until it is seen again, and then it goes on by itself.
    play.health("b", Health::Up);
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    play.event(&Event::Restarted).unwrap();
    play.pass(seconds(100));
    assert_eq!((play.held(id), play.route("europe")), (Some(&Why::CutOff), "a, 10% b".into()));
    play.health("a", Health::Up);
    assert_eq!(play.held(id), Some(&Why::Unseen { site: "b".into() }));
    play.health("b", Health::Up);
    assert_eq!(play.until_ended(id), Outcome::Done);
    // What died after it was judged is not gone to.
    let id = play.begin(Kind::Failover, "c", &["europe"]);
    play.health("c", Health::Down);
    play.judge();
    assert!(matches!(&play.ended[&id], Outcome::Refused { findings } if findings[0].contains("c is down")));
}

#[test]
fn another_person_approves() {
    let mut play = Play::new();
    play.policy.approval = Approval::Planned;
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.judge();
    let approve = |play: &mut Play, actor: Actor| play.event(&Event::Approved { target: Target::Only, actor });
    assert_eq!(approve(&mut play, ann()), Err(Refusal::SamePerson { id, uid: 1001 }));
    let twin = Actor { uid: Some(1001), name: "bob".into() };
    assert_eq!(approve(&mut play, twin), Err(Refusal::SamePerson { id, uid: 1001 }), "it is the uid that counts");
    let daemon = Actor { uid: None, name: "autopilot".into() };
    assert_eq!(approve(&mut play, daemon), Err(Refusal::Nobody { id }));
    approve(&mut play, bob()).unwrap();
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Checking, "the gates judge it once more");
    assert_eq!(play.until_ended(id), Outcome::Done);
    // Nobody comes.
    let id = play.begin(Kind::Switchover, "a", &["europe"]);
    play.judge();
    assert_eq!(play.until_ended(id), Outcome::Aborted { why: "nobody approved it in time".into() });
    // A failover does not wait.
    let id = play.begin(Kind::Failover, "a", &["europe"]);
    play.judge();
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Shifting);
}

#[test]
fn holds_and_resumes_in_every_phase() {
    for (phase, approval) in [
        (PhaseKind::Checking, Approval::Nothing),
        (PhaseKind::AwaitingApproval, Approval::Planned),
        (PhaseKind::Lowering, Approval::Nothing),
        (PhaseKind::Shifting, Approval::Nothing),
        (PhaseKind::Draining, Approval::Nothing),
        (PhaseKind::Baking, Approval::Nothing),
    ] {
        let mut play = Play::new();
        play.policy.approval = approval;
        play.policy.approval_expires = seconds(10_000);
        let id = play.begin(Kind::Switchover, "b", &["europe"]);
        if phase != PhaseKind::Checking {
            play.until(id, phase);
        }
        play.hold(id).unwrap();
        assert_eq!(play.hold(id), Err(Refusal::Held { id }));
        let (before, cap) = (play.route("europe"), play.cap("europe"));
        play.settle();
        play.pass(seconds(2000));
        assert_eq!((play.at(id).phase.kind(), play.route("europe"), play.cap("europe")), (phase, before, cap));
        play.resume(id).unwrap();
        assert_eq!(play.resume(id), Err(Refusal::NotHeld { id }));
        if approval == Approval::Planned {
            play.event(&Event::Approved { target: Target::Only, actor: bob() }).unwrap();
        }
        assert_eq!(play.until_ended(id), Outcome::Done, "{phase}");
    }
}

#[test]
fn a_hold_has_an_end() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Lowering);
    play.hold(id).unwrap();
    play.pass(seconds(3001));
    assert!(matches!(&play.ended[&id], Outcome::Aborted { why } if why.contains("on hold")));
    assert!(play.state.served.caps.is_empty(), "no TTL stays low");
    // Clients have moved: it stays, and is said louder.
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    play.hold(id).unwrap();
    play.settle();
    play.alerts.clear();
    play.pass(seconds(3600));
    assert_eq!((play.route("europe"), play.cap("europe")), ("a, 10% b".into(), Some(10)));
    let loud = play.alerts.iter().filter(|alert| alert.severity == Severity::Critical).count();
    assert_eq!((loud, play.alerts.len()), (1, 12));
}

#[test]
fn what_cannot_be_drained_is_looked_into() {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.until(id, PhaseKind::Draining);
    let until = play.now.after(seconds(100_000));
    play.event(&Event::DrainBound { id, until, basis: "a resolver holds on".into(), longer: Vec::new() }).unwrap();
    play.pass(seconds(7200));
    assert_eq!(play.held(id), Some(&Why::DrainOverdue));
    play.resume(id).unwrap();
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn a_configuration_waits_for_what_is_under_way() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Shifting);
    let regions = [("europe", "a"), ("default", "a"), ("asia", "a")];
    assert!(matches!(play.configure(&["a", "c"], &regions), Err(Refusal::SiteInUse { .. })));
    assert_eq!(
        play.configure(&["a", "b", "c"], &regions[1..]),
        Err(Refusal::RegionInUse { region: "europe".into(), by: id })
    );
    assert!(matches!(play.configure(&["b", "c"], &regions), Err(Refusal::SiteInUse { .. })));
    assert_eq!(
        play.configure(&["a", "b"], &[("europe", "a"), ("default", "a"), ("mars", "m")]),
        Err(Refusal::NoSite { site: "m".into() })
    );
    let other = play.begin(Kind::Switchover, "c", &["default"]);
    play.until(other, PhaseKind::Shifting);
    assert_eq!(
        play.configure(&["a", "b", "c", "d"], &[("europe", "a"), ("default", "a"), ("mars", "d")]),
        Err(Refusal::RegionInUse { region: "mars".into(), by: other })
    );
    play.abort(other).unwrap();
    play.until_ended(other);
    // Others may come and go; the move keeps the policy that it began with.
    play.policy.bake = seconds(1_000_000);
    play.configure(&["a", "b", "d"], &[("europe", "a"), ("default", "a"), ("mars", "d")]).unwrap();
    assert_eq!((play.route("mars"), play.state.routes().len()), ("a".into(), 3), "it was part of everybody else");
    assert!(play.pending(|effect| *effect == Effect::Publish).is_some(), "a new region is published");
    play.health("d", Health::Up);
    assert_eq!(play.until_ended(id), Outcome::Done);
    play.configure(&["b", "a", "d"], &[("europe", "a"), ("default", "a"), ("mars", "d")]).unwrap();
    assert_eq!(play.route("europe"), "b", "what it prefers does not move a region that is there");
}

#[test]
fn an_edit_of_what_moves_stops_it() {
    let changed = |id| Event::ContentChanged { moves: [id].into() };
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.event(&changed(id)).unwrap();
    assert!(matches!(&play.ended[&id], Outcome::Refused { findings } if findings[0].starts_with("plan.fresh")));
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Lowering);
    play.event(&changed(id)).unwrap();
    assert_eq!(play.held(id), Some(&Why::ContentChanged));
    assert_eq!(play.event(&changed(MoveId(99))), Err(Refusal::NoMove));
}

#[test]
fn outcomes_count_once() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.judge();
    let publish = play.pending(|effect| *effect == Effect::Publish).unwrap();
    play.publish();
    assert_eq!(play.event(&Event::Published { effect: publish }), Err(Refusal::Late { effect: publish }));
    play.settle();
    play.until(id, PhaseKind::Shifting);
    // A publication that was overtaken is late, and so is its failure.
    play.now = play.state.deadline().unwrap();
    play.event(&Event::Tick).unwrap();
    let overtaken = play.pending(|effect| *effect == Effect::Publish).unwrap();
    play.abort(id).unwrap();
    assert_eq!(play.event(&Event::Published { effect: overtaken }), Err(Refusal::Late { effect: overtaken }));
    let refused = Event::PublishRefused { effect: overtaken, findings: Vec::new() };
    assert_eq!(play.event(&refused), Err(Refusal::Late { effect: overtaken }));
    assert_eq!(play.until_ended(id), Outcome::Reversed);
}

#[test]
fn what_fails_is_tried_again_and_then_held() {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.judge();
    let effect = play.pending(|effect| *effect == Effect::Publish).unwrap();
    let fail = || Event::EffectFailed { effect, why: "the disk is full".into() };
    let mut waits = Vec::new();
    for _ in 0..6 {
        play.event(&fail()).unwrap();
        let deadline = play.state.pending[&effect].again_at;
        waits.push(deadline.since(play.now).as_secs());
        if waits.len() == 5 {
            break;
        }
        play.now = deadline;
        play.event(&Event::Tick).unwrap();
    }
    assert_eq!(play.held(id), Some(&Why::Failing { why: "the disk is full".into() }));
    assert!(waits.is_sorted(), "{waits:?}");
    // There is room again: it is published, and told to go on.
    play.resume(id).unwrap();
    assert!(play.issued.iter().any(|issued| issued.id == effect));
    assert_eq!(play.until_ended(id), Outcome::Done);
    // What cannot be judged does not move.
    let id = play.begin(Kind::Failover, "c", &["europe"]);
    let effect = play.pending(|effect| matches!(effect, Effect::Judge { .. })).unwrap();
    for _ in 0..5 {
        play.event(&Event::EffectFailed { effect, why: "no".into() }).unwrap();
    }
    assert!(matches!(&play.ended[&id], Outcome::Refused { findings } if findings[0].contains("could not be judged")));
}

#[test]
fn low_ttls_are_lifted_however_often_that_fails() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Lowering);
    play.abort(id).unwrap();
    for _ in 0..20 {
        play.refuse();
        assert!(play.state.served.caps.contains_key("europe") && play.state.asked.caps.is_empty());
        let effect = play.pending(|effect| *effect == Effect::Publish).unwrap();
        assert!(play.issued.iter().all(|issued| issued.id != effect), "not at once");
        play.now = play.state.pending[&effect].again_at;
        play.event(&Event::Tick).unwrap();
        assert!(play.issued.iter().any(|issued| issued.id == effect));
    }
    assert!(play.alerts.iter().any(|alert| alert.meaning.contains("low TTLs")));
    play.settle();
    assert!(play.state.served.caps.is_empty());
}

#[test]
fn nothing_goes_on_that_our_own_sockets_do_not_give() {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.judge();
    play.publish();
    let effect = play.pending(|effect| *effect == Effect::Confirm).unwrap();
    play.now = play.now.after(seconds(1000));
    play.event(&Event::Tick).unwrap();
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Draining, "old answers have run out, if it was published");
    play.event(&Event::ConfirmFailed { effect, why: "[::1]:53 is behind".into() }).unwrap();
    assert!(matches!(play.held(id), Some(Why::NotConfirmed { .. })));
    play.resume(id).unwrap();
    assert!(play.pending(|effect| *effect == Effect::Confirm).is_some(), "they are asked again");
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn a_lost_state_moves_nothing_until_somebody_has_looked() {
    let mut play = Play::new();
    play.event(&Event::StateDoubted { why: "the directory was empty".into() }).unwrap();
    let plan = play.plan(Kind::Failover, "b", &["europe"]);
    let text = play.try_begin(plan.clone()).unwrap_err().to_string();
    assert!(text.contains("the directory was empty") && text.contains("understudy state accept"), "{text}");
    play.event(&Event::StateAccepted { actor: ann(), reason: "compared".into() }).unwrap();
    play.try_begin(plan).unwrap();
}

#[test]
fn the_autopilot_moves_once() {
    let mut play = Play::new();
    let automatic = |play: &Play, to: &str| {
        let actor = Actor { uid: None, name: "autopilot".into() };
        crate::failover::plan::Plan { automatic: true, actor, ..play.plan(Kind::Failover, to, &["europe"]) }
    };
    let plan = automatic(&play, "b");
    assert!(matches!(play.try_begin(plan.clone()), Err(Refusal::Disarmed { .. })));
    play.event(&Event::Autopilot { armed: true, actor: ann(), reason: "ready".into() }).unwrap();
    let id = play.try_begin(plan).unwrap();
    assert_eq!(play.until_ended(id), Outcome::Done);
    let plan = automatic(&play, "a");
    assert!(play.try_begin(plan).unwrap_err().to_string().contains("armed again"));
}

#[test]
fn time_does_not_go_back() {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.now = Timestamp(5);
    play.settle();
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Draining);
    assert!(play.state.last > Timestamp(5) && play.at(id).started <= play.at(id).phase_since());
    play.now = Timestamp(i64::MAX / 2);
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn the_greatest_ttl_given_outlasts_the_moves() {
    let mut play = Play::new();
    let id = play.begin(Kind::Switchover, "b", &["europe"]);
    play.until(id, PhaseKind::Lowering);
    let lowered = play.now;
    play.abort(id).unwrap();
    play.settle();
    // TTLs are what they were: what is given from now on is held as long.
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    assert_eq!(play.at(id).given, Ttl::new(300).unwrap());
    play.now = play.now.after(seconds(100));
    play.settle();
    let moved = play.now;
    assert!(moved > lowered);
    play.until(id, PhaseKind::Baking);
    assert_eq!(play.now.since(moved), seconds(300));
}

/// A failover to where clients still are takes over a move that was given up before anybody had followed it: there is
/// nothing to publish for it, and it goes on to its end.
#[test]
fn a_move_to_where_everybody_is_still_has_nothing_to_shift() {
    let mut play = Play::new();
    let first = play.begin(Kind::Failover, "b", &["default", "europe"]);
    play.judge();
    play.abort(first).unwrap();
    play.refuse();
    let plan = play.plan(Kind::Failover, "a", &["europe"]);
    if let Ok(id) = play.try_begin(plan) {
        assert_eq!(play.until_ended(id), Outcome::Done);
    }
    assert_eq!(play.route("europe"), "a");
}
