//! The same loop over the real database, in a process that is killed: what the file says then is gone on with.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{self, Command};

use understudy::store::Store;
use understudy::world::sim::faulty::{DiskFault, FaultyJournal, Process};

use crate::case::Case;
use crate::run::{go_on, run_kept};
use crate::shrink::play;
use crate::support::generate::Rng;

/// How many runs are killed.
const KILLED: u64 = 50;

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
    let (seed, commit) = (number(), number());
    let end = if number() == 1 { DiskFault::CrashAfter } else { DiskFault::CrashBefore };
    let dir = words.next().unwrap();
    let store = open(Path::new(dir));
    let journal = FaultyJournal::new(store.journal(), BTreeMap::from([(commit, end)]), Process::real(process::abort));
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
        let (commit, written) = (1 + rng.below(2 + whole.rows) as u64, rng.chance(50));
        let dir = tempfile::tempdir().unwrap();
        let told = format!("{seed} {commit} {} {}", u64::from(written), dir.path().display());
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "killed::the_one_that_is_killed"]).env("UNDERSTUDY_KILLED", told);
        let output = child.output().unwrap();
        interrupted += u64::from(!output.status.success());
        let store = open(dir.path());
        if let Err(violation) = go_on(&case, store.journal(), &store) {
            let trace = violation.trace.join("\n");
            panic!("seed {seed}, killed at commit {commit}: {}\n{case}\n{trace}", violation.what);
        }
    }
    assert!(interrupted > KILLED / 2, "{interrupted} of {KILLED} were killed before they had ended");
}
