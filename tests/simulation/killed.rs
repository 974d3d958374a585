//! The same loop over the real database, in a process that is killed: what the file says then is gone on with.

use std::path::Path;
use std::process::Command;

use understudy::store::journal::{Entry, Journal, Published, Row, Sequence, SqliteJournal};
use understudy::store::{Store, StoreError};

use crate::case::Case;
use crate::run::{go_on, run_kept};
use crate::shrink::play;
use crate::support::generate::Rng;

/// How many runs are killed.
const KILLED: u64 = 50;

/// A journal whose process ends at one of its commits.
struct Deadly {
    journal: SqliteJournal,
    left: u64,
    /// Whether the last commit is written.
    written: bool,
}

impl Journal for Deadly {
    fn commit_all(&mut self, entries: &[Entry]) -> Result<Option<Sequence>, StoreError> {
        if entries.is_empty() {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && !self.written {
            std::process::abort();
        }
        let written = self.journal.commit_all(entries);
        if self.left == 0 {
            std::process::abort();
        }
        written
    }

    fn rows(&self, stream: &str, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.journal.rows(stream, limit)
    }

    fn since(&self, stream: &str, after: Sequence, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.journal.since(stream, after, limit)
    }

    fn latest_of(&self, prefix: &str) -> Result<Vec<(String, Row)>, StoreError> {
        self.journal.latest_of(prefix)
    }

    fn published(&self) -> Result<Vec<Published>, StoreError> {
        self.journal.published()
    }
}

/// A case of which only the process goes wrong, by being killed.
fn case(seed: u64) -> Case {
    let mut case = Case::of(1_000_000 + seed);
    case.effects.clear();
    case.commits.clear();
    case
}

fn open(dir: &Path) -> Store {
    let store = Store::open(Some(dir)).unwrap();
    store.initialise().unwrap();
    store
}

/// The process that is killed.
#[test]
fn the_one_that_is_killed() {
    let Ok(told) = std::env::var("UNDERSTUDY_KILLED") else { return };
    let mut words = told.splitn(4, ' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap();
    let (seed, left, written) = (number(), number(), number() == 1);
    let dir = words.next().unwrap();
    let store = open(Path::new(dir));
    let journal = Deadly { journal: store.journal(), left, written };
    _ = run_kept(&case(seed), journal, &store);
}

#[test]
fn killed_at_any_commit_it_goes_on_from_the_file() {
    let mut interrupted = 0;
    for seed in 0..KILLED {
        let case = case(seed);
        // What it may have published by then is known from this.
        let whole = play(&case, None).unwrap_or_else(|violation| panic!("seed {seed}: {}", violation.what));
        let mut rng = Rng::new(seed);
        let (left, written) = (2 + rng.below(2 + whole.rows) as u64, rng.chance(50));
        let dir = tempfile::tempdir().unwrap();
        let told = format!("{seed} {left} {} {}", u64::from(written), dir.path().display());
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "killed::the_one_that_is_killed"]).env("UNDERSTUDY_KILLED", told);
        let output = child.output().unwrap();
        interrupted += u64::from(!output.status.success());
        let store = open(dir.path());
        if let Err(violation) = go_on(&case, store.journal(), &store) {
            let trace = violation.trace.join("\n");
            panic!("seed {seed}, killed at commit {left}: {}\n{case}\n{trace}", violation.what);
        }
    }
    assert!(interrupted > KILLED / 2, "{interrupted} of {KILLED} were killed before they had ended");
}
