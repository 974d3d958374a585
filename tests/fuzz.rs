//! The fuzz bodies over their corpus and some mutations of it, always the same ones. `examples/fuzz.rs` runs more.

mod support;

use support::engine;
use support::fuzz::{self, Corpus, origin};
use support::generate::Rng;

#[test]
fn any_packet_gets_an_answer_that_strict_readers_take() {
    let corpus = Corpus::new();
    let mut out = vec![0; 65_535];
    let mut rng = Rng::new(1);
    let mutated = (0..300_000).map(|_| corpus.mutated_packet(&mut rng));
    for packet in corpus.packets.iter().cloned().chain(mutated) {
        if let Err(why) = fuzz::packet(&corpus.serving, &packet, &mut out) {
            panic!("{why}\nthe packet: {packet:?}");
        }
    }
}

#[test]
fn any_zone_text_is_read_and_checked_to_an_end() {
    let corpus = Corpus::new();
    let mut rng = Rng::new(2);
    for text in &corpus.texts {
        fuzz::zone_text(text);
    }
    for _ in 0..3_000 {
        fuzz::zone_text(&corpus.mutated_text(&mut rng));
    }
}

#[test]
fn any_zone_text_that_is_served_gives_answers_that_strict_readers_take() {
    let corpus = Corpus::new();
    let mut out = vec![0; 65_535];
    let mut rng = Rng::new(3);
    let mutated = (0..2_000).map(|_| corpus.mutated_text(&mut rng));
    let mut served = 0;
    for text in corpus.texts.iter().cloned().chain(mutated) {
        served += usize::from(engine::try_serve(&origin(), &text).is_some());
        if let Err(why) = fuzz::served_text(&text, &mut out) {
            panic!("{why}\nthe zone:\n{}", text.escape_ascii());
        }
    }
    println!("{served} of {} served", corpus.texts.len() + 2000);
    assert!(served > 600, "of so many texts only {served} are served");
}
