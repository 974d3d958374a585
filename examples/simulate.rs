//! Runs as many seeds of the simulation as wanted:
//!
//! ```text
//! cargo run --locked --profile fuzz --example simulate -- 1000000
//! ```
//! `250000..500000` are the seeds from the one up to the other, so that many can be run in parts. Ends with a line of figures, and
//! with 1 if a seed failed: it is told with what happened, with no more in it than it takes, and with the command that shows it
//! again.

/// What the tests share and this needs.
#[allow(dead_code, reason = "tests need more of it")]
#[path = "../tests/support"]
mod support {
    pub mod compare;
    pub mod generate;
    pub mod message;
    pub mod sign;
    pub mod sites;
}

#[allow(dead_code, reason = "tests need more of it")]
#[path = "../tests/simulation"]
mod simulation {
    pub mod case;
    pub mod clients;
    pub mod content;
    pub mod run;
    pub mod shrink;
    pub mod watch;
    pub mod wrong;
}

pub(crate) use simulation::{case, clients, content, run, shrink, watch, wrong};

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use case::Case;
use run::Summary;
use shrink::{play, tell};

const PROGRESS: Duration = Duration::from_secs(10);
/// As many failures tell enough.
const MOST_FAILURES: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = if let [only] = &arguments[..] { range(only) } else { None };
    let Some(Range { start, end }) = wanted else {
        eprintln!("usage: simulate COUNT | FROM..TO");
        return ExitCode::from(2);
    };
    let (begin, next) = (Instant::now(), AtomicU64::new(start));
    let (total, failed) = (Mutex::new(Summary::default()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| seeds(&next, end, &total, &failed));
        }
        let mut told = Instant::now();
        while next.load(Ordering::Relaxed) < end && failed.lock().is_ok_and(|failed| failed.len() < MOST_FAILURES) {
            thread::sleep(Duration::from_millis(100));
            if told.elapsed() >= PROGRESS {
                println!("{:?}: up to seed {}", begin.elapsed(), next.load(Ordering::Relaxed));
                told = Instant::now();
            }
        }
    });
    let (Ok(total), Ok(failed)) = (total.into_inner(), failed.into_inner()) else { return ExitCode::FAILURE };
    let taken = begin.elapsed();
    failed.iter().for_each(|seed| println!("\n{}", tell(*seed, None)));
    let run = next.into_inner().min(end) - start;
    println!("seeds {start}..{end}: {run} run in {:.0} s, {} failed; {total:?}", taken.as_secs_f64(), failed.len());
    ExitCode::from(u8::from(!failed.is_empty()))
}

/// So many seeds from 0, or from one up to another.
fn range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once("..").unwrap_or(("0", text));
    Some(start.parse().ok()?..end.parse().ok()?).filter(|seeds| !seeds.is_empty())
}

/// Runs one seed after the other until there are none left, or too many have failed.
fn seeds(next: &AtomicU64, end: u64, total: &Mutex<Summary>, failed: &Mutex<Vec<u64>>) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end || failed.lock().is_ok_and(|failed| failed.len() >= MOST_FAILURES) {
            return;
        }
        match play(&Case::of(seed), None) {
            Ok(summary) => _ = total.lock().map(|mut total| total.add(&summary)),
            Err(violation) => {
                println!("seed {seed} failed: {}", violation.what);
                _ = failed.lock().map(|mut failed| failed.push(seed));
            }
        }
    }
}
