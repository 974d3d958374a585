//! Runs a fuzz body as often as wanted:
//!
//! ```text
//! cargo run --locked --profile fuzz --example fuzz -- packets 100000000
//! ```
//! `texts` are zone texts, read and checked; `zones` are such texts, served and asked. A third argument is the seed; a
//! fourth how many inputs were tried already in a run that was ended, which each line of progress tells. `seeds DIRECTORY`
//! writes what the inputs are made from into files, for cargo-fuzz to begin with.
//!
//! Ends with a verdict, and with 1 if an input brought on a panic, a hang, or an answer that a strict reader refuses, or
//! if memory grew. Each such input is printed.

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

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use support::fuzz::{self, Corpus};
use support::generate::Rng;

/// Inputs that are made from one seed.
const BLOCK: u64 = 10_000;
/// No input may take as long.
const HANG: Duration = Duration::from_secs(60);
const PROGRESS: Duration = Duration::from_secs(10);
/// As many failures tell enough.
const MOST_FAILURES: u64 = 10;
/// What memory may grow by after every thread's first blocks: an allocator's slack, and no leak of millions of inputs.
const MOST_GROWTH: u64 = 32 << 20;

#[derive(Clone, Copy)]
enum Body {
    Packets,
    Texts,
    Zones,
}

/// A run, and how far it is.
struct Run {
    body: Body,
    name: String,
    count: u64,
    seed: u64,
    corpus: Corpus,
    next_block: AtomicU64,
    failures: AtomicU64,
    threads: Vec<Thread>,
}

/// How far a thread is.
struct Thread {
    /// The block it tries; the last one's successor at the end.
    block: AtomicU64,
    /// Inputs tried in all.
    tried: AtomicU64,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |index: usize| args.get(index).map_or(Some(None), |text| text.parse::<u64>().ok().map(Some));
    let body = match args[..] {
        ["seeds", directory] => return write_seeds(Path::new(directory)),
        ["packets", ..] => Body::Packets,
        ["texts", ..] => Body::Texts,
        ["zones", ..] => Body::Zones,
        _ => return usage(),
    };
    let (Some(Some(count)), Some(seed), Some(done)) = (number(1), number(2), number(3)) else { return usage() };
    let first = done.unwrap_or(0) / BLOCK;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let thread = || Thread { block: AtomicU64::new(first), tried: AtomicU64::new(0) };
    Run {
        body,
        name: args[0].to_owned(),
        count,
        seed: seed.unwrap_or(1),
        corpus: Corpus::new(),
        next_block: AtomicU64::new(first),
        failures: AtomicU64::new(0),
        threads: (0..threads).map(|_| thread()).collect(),
    }
    .all()
}

fn usage() -> ExitCode {
    eprintln!("usage: fuzz packets|texts|zones COUNT [SEED [DONE]]\n       fuzz seeds DIRECTORY");
    ExitCode::from(2)
}

/// Each input of the corpus as a file, packets and texts apart.
fn write_seeds(directory: &Path) -> ExitCode {
    let corpus = Corpus::new();
    for (target, inputs) in [("packet", &corpus.packets), ("zone_text", &corpus.texts), ("served_text", &corpus.texts)]
    {
        let directory = directory.join(target);
        let write = |(number, input): (usize, &Vec<u8>)| std::fs::write(directory.join(format!("{number:05}")), input);
        let written = std::fs::create_dir_all(&directory).and_then(|()| inputs.iter().enumerate().try_for_each(write));
        if let Err(error) = written {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::FAILURE;
        }
        println!("{}: {} files", directory.display(), inputs.len());
    }
    ExitCode::SUCCESS
}

impl Run {
    fn all(&self) -> ExitCode {
        println!("{} {} with seed {}; {} threads", self.count, self.name, self.seed, self.threads.len());
        let begin = Instant::now();
        let before = thread::scope(|scope| {
            for thread in &self.threads {
                scope.spawn(|| self.blocks(thread));
            }
            self.watch(begin)
        });
        let (after, failures) = (resident(), self.failures.load(Relaxed));
        let grown = after.saturating_sub(before);
        let tried: u64 = self.threads.iter().map(|thread| thread.tried.load(Relaxed)).sum();
        println!(
            "{tried} {} in {:?}: {failures} failures; {} MiB in memory at the beginning, {} MiB at the end",
            self.name,
            begin.elapsed(),
            before >> 20,
            after >> 20
        );
        let good = failures == 0 && grown <= MOST_GROWTH;
        println!("{}", if good { "GOOD" } else { "FAILED" });
        ExitCode::from(u8::from(!good))
    }

    /// Blocks, until there are no more.
    fn blocks(&self, thread: &Thread) {
        let mut out = vec![0; 65_535];
        loop {
            let block = self.next_block.fetch_add(1, Relaxed);
            thread.block.store(block, Relaxed);
            let begin = block.saturating_mul(BLOCK);
            if begin >= self.count || self.failures.load(Relaxed) >= MOST_FAILURES {
                return thread.block.store(self.count.div_ceil(BLOCK), Relaxed);
            }
            let mut rng = Rng::new((self.seed << 40) + block);
            for _ in 0..BLOCK.min(self.count - begin) {
                let input = match self.body {
                    Body::Packets => self.corpus.mutated_packet(&mut rng),
                    Body::Texts | Body::Zones => self.corpus.mutated_text(&mut rng),
                };
                let outcome = catch_unwind(AssertUnwindSafe(|| self.one(&input, &mut out)));
                if let Some(why) = outcome.unwrap_or_else(|_| Err("a panic".into())).err() {
                    println!("{why}\nthe input, of block {block}: {input:?}\n");
                    self.failures.fetch_add(1, Relaxed);
                }
                thread.tried.fetch_add(1, Relaxed);
            }
        }
    }

    fn one(&self, input: &[u8], out: &mut [u8]) -> Result<(), String> {
        match self.body {
            Body::Packets => fuzz::packet(&self.corpus.serving, input, out),
            Body::Texts => {
                fuzz::zone_text(input);
                Ok(())
            }
            Body::Zones => fuzz::served_text(input, out),
        }
    }

    /// Tells how far all is, until it is over; ends the process if an input takes too long. Returns how much memory there
    /// was once every thread had begun.
    fn watch(&self, begin: Instant) -> u64 {
        let blocks = self.count.div_ceil(BLOCK);
        let mut moved: Vec<(u64, Instant)> = self.threads.iter().map(|_| (0, begin)).collect();
        let (mut before, mut told) = (None, begin);
        loop {
            thread::sleep(Duration::from_millis(200));
            let done = self.threads.iter().map(|thread| thread.block.load(Relaxed)).min().unwrap_or(blocks);
            let tried: u64 = self.threads.iter().map(|thread| thread.tried.load(Relaxed)).sum();
            let warm = self.threads.iter().all(|thread| thread.tried.load(Relaxed) >= BLOCK);
            if warm && before.is_none() {
                before = Some(resident());
            }
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                println!(
                    "{} of {} done, {:.0} in a second, {} failures, {} MiB in memory; to go on from here: {} {} {} {}",
                    done * BLOCK,
                    self.count,
                    tried as f64 / begin.elapsed().as_secs_f64(),
                    self.failures.load(Relaxed),
                    resident() >> 20,
                    self.name,
                    self.count,
                    self.seed,
                    done * BLOCK
                );
            }
            if done >= blocks {
                return before.unwrap_or_else(resident);
            }
            for (thread, (last, since)) in self.threads.iter().zip(&mut moved) {
                let (tried, block) = (thread.tried.load(Relaxed), thread.block.load(Relaxed));
                if tried != *last || block >= blocks {
                    (*last, *since) = (tried, Instant::now());
                } else if since.elapsed() > HANG {
                    println!("an input of block {block} (seed {}) takes more than {HANG:?}\nFAILED", self.seed);
                    std::process::exit(1);
                }
            }
        }
    }
}

/// Octets in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(0, |kib| kib << 10)
}
