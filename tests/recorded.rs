//! The engine against what BIND, NSD and Knot agreed on when they were asked last: the differential test without the
//! peers, over a part of its questions.
//!
//! `UNDERSTUDY_RECORD=1 cargo nextest run --test differential unsigned` makes a new recording; `mutants.rs` shows that this test
//! notices a wrong engine.

mod support;

use support::compare::{NORMALISATIONS, Origins, View};
use support::corpus::{RECORDED, Recording, cases};
use support::{engine, message};
use understudy::serving::respond::Transport;

#[test]
fn the_engine_answers_as_the_peers_agreed() {
    let cases = cases();
    let recording = Recording::read(&cases);
    let origins = Origins(cases.iter().map(|case| case.zone.origin.clone()).collect());
    let serving = engine::serve(cases.iter().map(|case| (&case.zone.origin, &*case.zone.text)));
    let (mut compared, mut wrong) = (0, 0);
    for (number, case) in cases.iter().enumerate() {
        for (index, question) in case.questions.iter().take(RECORDED).enumerate() {
            let name = question.name.as_ref();
            let query = message::query(7, name, question.qtype, question.recursion_desired, question.payload);
            let octets = engine::ask(&serving, &query, Transport::Udp);
            let answer = message::read(&octets).unwrap_or_else(|error| panic!("{question:?}: {error}: {octets:?}"));
            let view = View::of(&answer).normalised(&question.name, &origins, &mut [0; NORMALISATIONS.len()]);
            let Some(mut right) = recording.matches(number, index, &view) else { continue };
            if !right && recording.matches(number, index, &view.cut()) == Some(true) {
                right = engine::is_whole(&serving, &query, &octets);
            }
            compared += 1;
            if !right {
                wrong += 1;
                if wrong <= 5 {
                    eprintln!("zone {}: {question:?}\n  not what the peers say: {}\n", case.zone.origin, view.text());
                }
            }
        }
    }
    assert!(compared > 25_000, "only {compared} answers are recorded");
    assert_eq!(wrong, 0, "of {compared} answers");
}
