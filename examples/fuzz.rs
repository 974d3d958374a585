//! Runs a fuzz body as often as wanted:
//!
//! ```text
//! cargo run --release --config profile.release.debug-assertions=true --example fuzz -- packets 100000000
//! cargo run --release --config profile.release.debug-assertions=true --example fuzz -- texts 1000000
//! ```
//! A third argument is the seed; each thread has its own. Prints what went wrong and the octets that did it, and now and
//! then how far it is and how much memory the process takes, which does not grow.

/// What the tests share and this needs.
#[allow(dead_code, reason = "tests need more of it")]
#[path = "../tests/support"]
mod support {
    pub mod compare;
    pub mod engine;
    pub mod fuzz;
    pub mod generate;
    pub mod message;
    pub mod sign;
}

use std::sync::atomic::{AtomicU64, Ordering};

use support::fuzz::{self, Corpus};
use support::generate::Rng;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| args.get(index).and_then(|text| text.parse::<u64>().ok());
    let (Some(body @ ("packets" | "texts")), Some(count)) = (args.first().map(String::as_str), number(1)) else {
        eprintln!("usage: fuzz packets|texts COUNT [SEED]");
        std::process::exit(2);
    };
    let corpus = Corpus::new();
    let (seed, done) = (number(2).unwrap_or(1), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (corpus, done) = (&corpus, &done);
            scope.spawn(move || {
                let mut rng = Rng::new(seed.wrapping_mul(1000) + thread);
                let mut out = vec![0; 65_535];
                for _ in (thread..count).step_by(threads as usize) {
                    if body == "packets" {
                        let packet = corpus.mutated_packet(&mut rng);
                        if let Err(why) = fuzz::packet(&corpus.serving, &packet, &mut out) {
                            println!("{why}\nthe packet: {packet:?}\n");
                        }
                    } else {
                        fuzz::zone_text(&corpus.mutated_text(&mut rng));
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of((count / 20).max(1)) {
                        println!("{done} of {count}; {}", memory());
                    }
                }
            });
        }
    });
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("no memory figures here").to_owned()
}
