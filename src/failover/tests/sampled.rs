//! Draining ends when resolvers do not give old answers any more; those who do are named.

use super::play::{Play, given, seconds};
use crate::failover::effect::Effect;
use crate::failover::event::Event;
use crate::failover::moves::{MoveId, Outcome, Phase, PhaseKind, Why};
use crate::failover::plan::Kind;
use crate::failover::sample::{Evidence, Longer, Sample};
use crate::failover::state::State;
use crate::failover::story;
use crate::observation::sight::Sight;

/// A failover that waits for old answers to run out.
fn draining(given: Vec<Evidence>) -> (Play, MoveId) {
    let mut play = Play::new();
    let id = play.begin(Kind::Failover, "b", &["europe"]);
    play.until(id, PhaseKind::Draining);
    play.given = given;
    (play, id)
}

/// What the next deadline, and what resolvers give then, add to the story.
fn told(play: &mut Play) -> Vec<String> {
    play.now = play.state.deadline().unwrap();
    play.event(&Event::Tick).unwrap();
    let before: State = play.state.clone();
    let effect = play.pending(|effect| matches!(effect, Effect::Sample { .. })).unwrap();
    let now = play.now;
    let sample = Sample::of(play.given.iter().map(|found| Evidence { at: now, ..found.clone() }));
    let event = Event::DrainSampled { effect, sample };
    play.event(&event).unwrap();
    story::lines(&before, &event, &play.state)
}

#[test]
fn a_move_goes_on_when_every_resolver_gives_what_our_zone_does() {
    let (mut play, id) = draining(vec![given("campus", Sight::New), given("abroad", Sight::Policy)]);
    let lines = told(&mut play);
    assert_eq!(lines[1], "move 1: resolvers: 1 new, 1 policy", "{lines:?}");
    assert_eq!(play.at(id).phase.kind(), PhaseKind::Baking);
    assert_eq!(play.until_ended(id), Outcome::Done);
}

/// D1: names were gone for a while, and a resolver still says so when min(SOA TTL, MINIMUM) is long over. It is late, it is
/// named with what it says and for how long, and the move does not call itself done.
#[test]
fn d1_a_resolver_that_is_still_negative_behind_the_bound_is_named_as_late() {
    let gone = Evidence { said: "NXDOMAIN".into(), ttl: None, ..given("isp", Sight::Negative) };
    let (mut play, id) = draining(vec![gone, given("campus", Sight::New)]);
    let bound = play.state.deadline().unwrap();
    let lines = told(&mut play);
    assert_eq!(lines[1], "move 1: resolvers: 1 new, 1 negative");
    assert_eq!(lines[2], "move 1: LATE: isp gives NXDOMAIN for www.wiki.example. A: negative, 0 s past the bound");
    // An hour later it is no better.
    play.pass(seconds(3600));
    let watched = &play.at(id).watched;
    let late = watched.sample.as_ref().unwrap().late_ones().next().unwrap();
    assert_eq!((play.at(id).phase.kind(), watched.bound), (PhaseKind::Draining, Some(bound)));
    assert!(story::late(late, bound).starts_with("isp gives NXDOMAIN") && late.past(bound) > seconds(3000));
    assert!(watched.samples < 20, "{} samples in an hour", watched.samples);
    // It lets go.
    play.given = vec![given("isp", Sight::New), given("campus", Sight::New)];
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn old_answers_hold_a_move_up_until_the_deadline_and_then_a_person_decides() {
    let (mut play, id) = draining(vec![given("floor", Sight::Stale)]);
    play.pass(seconds(7200));
    assert_eq!(play.held(id), Some(&Why::DrainOverdue));
    let told = play.alerts.iter().any(|alert| alert.what.ends_with("1 of 1 resolvers still give old answers: floor"));
    assert!(told, "{:?}", play.alerts);
    let Phase::Draining { basis, .. } = &play.at(id).phase else { panic!() };
    assert_eq!(basis, "1 of 1 resolvers still give old answers");
    play.resume(id).unwrap();
    assert_eq!(play.until_ended(id), Outcome::Done, "they are not asked again");
}

/// Who does not answer, and who fails, is no success: the end says so. It holds nothing up.
#[test]
fn what_is_not_known_is_said_with_the_end() {
    let end = |given: Vec<Evidence>| {
        let (mut play, id) = draining(given);
        let lines = told(&mut play);
        play.now = play.state.deadline().unwrap();
        let mut ended = None;
        while ended.is_none() {
            play.event(&Event::Tick).unwrap();
            ended = play.issued.iter().find_map(|issued| match &issued.effect {
                Effect::Ended(ended) if ended.id == id => Some(story::ended(ended)),
                _ => None,
            });
            play.settle();
            play.now = play.state.deadline().unwrap_or(play.now);
        }
        (lines, ended.unwrap())
    };
    let silent = || Evidence { said: "does not answer".into(), ..given("gone", Sight::Unknown) };
    let (lines, ended) = end(vec![silent(), given("campus", Sight::New)]);
    assert_eq!(lines[2], "move 1: UNKNOWN: gone: does not answer when asked for www.wiki.example. A");
    assert!(ended.ends_with("nothing is known of 1 of 2 resolvers, or they fail: gone"), "{ended}");
    let (_, ended) = end(vec![silent(), given("broken", Sight::Failing)]);
    assert!(
        ended.ends_with("nothing is known of any resolver that was asked (gone, broken): it went by the bound alone")
    );
    let (_, ended) = end(Vec::new());
    assert!(ended.ends_with("TTLs are what the zone says again"), "{ended}");
}

#[test]
fn measured_resolvers_stretch_the_wait_and_the_bound_is_kept_beside_it() {
    let (mut play, id) = draining(vec![given("floor", Sight::New)]);
    let until = play.now.after(seconds(100));
    let longer = vec![Longer { resolver: "floor".into(), until: until.after(seconds(60)) }];
    play.event(&Event::DrainBound { id, until, basis: "as told".into(), longer }).unwrap();
    assert_eq!((play.state.deadline(), play.at(id).watched.bound), (Some(until.after(seconds(60))), Some(until)));
    let Phase::Draining { basis, .. } = &play.at(id).phase else { panic!() };
    assert_eq!(basis, "as told, and up to 60 s more, by what was measured of floor");
    assert_eq!(play.until_ended(id), Outcome::Done);
}

#[test]
fn asking_that_fails_again_and_again_holds_nothing_up() {
    let (mut play, id) = draining(Vec::new());
    play.now = play.state.deadline().unwrap();
    play.event(&Event::Tick).unwrap();
    for _ in 0..5 {
        let effect = play.pending(|effect| matches!(effect, Effect::Sample { .. })).expect("resolvers to ask");
        play.event(&Event::EffectFailed { effect, why: "no socket".into() }).unwrap();
    }
    assert_eq!(play.until_ended(id), Outcome::Done);
}
