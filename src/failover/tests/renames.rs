//! While old answers are waited for, renames are proposed or done; what led to a lever is waited for then, and no more what
//! caches hold of it.

use super::play::{Play, found, given, name, seconds, turned};
use crate::failover::effect::Effect;
use crate::failover::event::Event;
use crate::failover::moves::{MoveId, Outcome, Phase, PhaseKind};
use crate::failover::plan::Kind;
use crate::failover::refusal::Refusal;
use crate::failover::renames::Initiative;
use crate::failover::story;
use crate::observation::sight::Sight;

/// A failover that waits for old answers to run out, by a policy.
fn draining(rename: Initiative) -> (Play, MoveId) {
    let mut play = Play::new();
    play.policy.rename = rename;
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.until(id, PhaseKind::Draining);
    (play, id)
}

/// What an event adds to the story.
fn told(play: &mut Play, event: &Event) -> Vec<String> {
    let before = play.state.clone();
    play.event(event).unwrap();
    story::lines(&before, event, &play.state)
}

fn until(play: &Play, id: MoveId) -> crate::time::Timestamp {
    let Phase::Draining { until, .. } = play.at(id).phase else { panic!("{:?}", play.at(id)) };
    until
}

#[test]
fn a_rename_is_proposed_once() {
    let (mut play, id) = draining(Initiative::Propose);
    let event = Event::RenamesFound { id, renames: vec![found("edge", None)] };
    let lines = told(&mut play, &event);
    assert_eq!(lines, ["move 1: PROPOSED: understudy rename wiki.example edge.wiki.example (much)"]);
    assert!(play.issued.is_empty(), "nothing is done");
    assert!(matches!(play.event(&event), Err(Refusal::Idle { .. })), "and nothing is said again");
    let (mut play, id) = draining(Initiative::Never);
    assert!(play.event(&Event::RenamesFound { id, renames: vec![found("edge", None)] }).is_err());
}

#[test]
fn the_policy_has_one_done_at_a_time_and_what_is_stopped_proposed() {
    let (mut play, id) = draining(Initiative::Do);
    let renames = vec![found("edge", None), found("other", None), found("barred", Some("rename.parent: it is alone"))];
    let lines = told(&mut play, &Event::RenamesFound { id, renames: renames.clone() });
    assert_eq!(lines[0], "move 1: the policy has edge.wiki.example. renamed: much");
    assert!(lines[1].contains("PROPOSED") && lines[1].ends_with("against it stands: rename.parent: it is alone"));
    assert_eq!(lines.len(), 2, "the other one waits: {lines:?}");
    assert!(play.event(&Event::RenamesFound { id, renames: renames.clone() }).is_err());
    let rename = |play: &Play| play.pending(|effect| matches!(effect, Effect::Rename { .. })).unwrap();
    let effect = rename(&play);
    let lines = told(&mut play, &Event::RenameStopped { effect, why: "a gate".into() });
    assert_eq!(
        lines,
        ["move 1: PROPOSED: understudy rename wiki.example edge.wiki.example (much); against it stands: a gate"]
    );
    play.event(&Event::RenamesFound { id, renames }).unwrap();
    let effect = rename(&play);
    play.event(&Event::RenameBegun { effect, fresh: name("other-r1") }).unwrap();
    assert!(!play.state.is_renaming());
}

#[test]
fn what_led_to_a_lever_is_waited_for_and_the_lever_no_more() {
    let (mut play, id) = draining(Initiative::Propose);
    play.given = vec![given("stuck", Sight::Negative)];
    // It is asked again and again, and each time later.
    for _ in 0..6 {
        play.tick();
    }
    let (now, late) = (play.now, until(&play, id));
    assert!(play.at(id).watched.sample.is_some() && late > now.after(seconds(60)), "{late}");
    let turned = turned("edge", now);
    let lines = told(&mut play, &Event::FrontsTurned { id, levers: vec![turned.clone()] });
    assert!(lines[1].starts_with("move 1: what led to edge.wiki.example. leads to edge-r1"), "{lines:?}");
    assert_eq!(until(&play, id), turned.until(), "sooner than it was to be asked again");
    assert!(play.at(id).watched.sample.is_none());
    assert!(play.event(&Event::FrontsTurned { id, levers: vec![turned.clone()] }).is_err(), "it is known");
    // What is found out about old answers does not make it end before that.
    let bound = Event::DrainBound { id, until: now, basis: "told".into(), longer: Vec::new() };
    play.event(&bound).unwrap();
    assert_eq!(until(&play, id), turned.until());
    play.given = vec![given("stuck", Sight::New)];
    assert_eq!(play.until_ended(id), Outcome::Done);
}

/// Who obeys TTLs is waited for whatever is renamed; and what resolvers were being asked meanwhile does not count.
#[test]
fn a_rename_makes_no_wait_shorter_than_ttls() {
    let (mut play, id) = draining(Initiative::Propose);
    let lawful = until(&play, id);
    play.event(&Event::FrontsTurned { id, levers: vec![turned("edge", play.now)] }).unwrap();
    assert_eq!(until(&play, id), lawful);
    play.now = lawful;
    play.event(&Event::Tick).unwrap();
    let effect = play.pending(|effect| matches!(effect, Effect::Sample { .. })).unwrap();
    play.event(&Event::FrontsTurned { id, levers: vec![turned("other", play.now)] }).unwrap();
    let sample = crate::failover::sample::Sample::of([given("stuck", Sight::Negative)]);
    assert_eq!(play.event(&Event::DrainSampled { effect, sample }), Err(Refusal::Late { effect }));
    assert_eq!(until(&play, id), turned("other", play.now).until());
}
