//! Dry runs, with a daemon and without one: what they say, and that they change nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::daemon::Home;
use crate::{SLOW, failed, finding, follow, home, until_phase};

/// What a directory holds: of each entry its mode, when it was written, and what it says.
fn tree(dir: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut paths = vec![dir.to_owned()];
    while let Some(path) = paths.pop() {
        let meta = path.symlink_metadata().unwrap();
        let octets = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        if meta.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        // Where the daemon's standard error goes is the test's, and it goes on speaking; and a daemon that looks into its database
        // leaves a mark where others who look would see it.
        let is_noted = path == dir.join("log") || path.ends_with("understudy.db-shm");
        if !is_noted {
            found.insert(path, (meta.mode(), meta.mtime(), meta.mtime_nsec(), octets));
        }
    }
    found
}

/// Runs a dry run that changes nothing, in the directory or where it keeps its copy.
fn dry(home: &Home, code: i32, line: &str) -> Value {
    let scratch = tempfile::tempdir().unwrap();
    let before = tree(home.dir.path());
    let line: Vec<&str> = line.split_whitespace().chain(["--dry-run", "--json"]).collect();
    let output = home.command(&line).env("TMPDIR", scratch.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(code), &b""[..]), "{text}");
    let after = tree(home.dir.path());
    let changed: Vec<&PathBuf> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "a dry run changed {changed:?}");
    assert_eq!(tree(scratch.path()).len(), 1, "a dry run left something behind");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_dry_run_needs_no_daemon_and_its_plan_can_be_carried_out() {
    let home = home(SLOW);
    let none = dry(&home, 1, "switchover a.example --to pmtpa");
    assert!(failed(&none).starts_with("there is no state in"), "{none:#}");

    let daemon = home.serve();
    // Once it answers, it has written what it had to.
    home.expect(0, "status");
    let live = dry(&home, 6, "switchover a.example --to pmtpa");
    assert_eq!(live["offline"], Value::Null);
    // Ended in order, what it wrote is in the database, and who was told what is kept.
    assert!(daemon.stop().success());
    assert!(!lost(&same_when_down(&home, &live)));
    // Killed, what it wrote last stands beside the database.
    home.serve().kill();
    assert!(home.path("var/understudy.db-wal").metadata().unwrap().len() > 0);
    assert!(lost(&same_when_down(&home, &live)));

    let _daemon = home.serve();
    let line = format!("switchover a.example --to pmtpa --until begun --plan {}", live["plan"].as_str().unwrap());
    follow(&home, 0, &line);
    until_phase(&home, "shifting", "10%");
}

/// What a dry run says while no daemon runs: the same plan.
fn same_when_down(home: &Home, live: &Value) -> Value {
    let down = dry(home, 6, "switchover a.example --to pmtpa");
    for part in ["plan", "diff", "steps", "moves"] {
        assert_eq!(down[part], live[part], "{part}: {down:#}");
    }
    assert!(down["offline"]["written"].as_i64() <= down["offline"]["at"].as_i64());
    down
}

/// Whether it is said that it was not kept who was told what.
fn lost(report: &Value) -> bool {
    let unknown = report["offline"]["unknown"].as_array().unwrap();
    unknown.iter().any(|what| what.as_str().unwrap().contains("did not end in order"))
}

#[test]
fn without_a_daemon_a_dry_run_says_what_waits_for_one() {
    let home = home(SLOW);
    let daemon = home.serve();
    follow(&home, 0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");

    // One that holds the state and can't be asked is up.
    std::fs::rename(home.path("var/control.sock"), home.path("control.sock")).unwrap();
    let deaf = dry(&home, 1, "failover a.example --to esams");
    assert!(failed(&deaf).starts_with(&format!("process {} has the state directory", daemon.pid())), "{deaf:#}");
    std::fs::rename(home.path("control.sock"), home.path("var/control.sock")).unwrap();

    daemon.kill();
    let over = dry(&home, 6, "failover a.example --to esams");
    let run = &over["offline"]["under_way"][0];
    assert_eq!((&run["run"], &run["phase"], &run["share"]), (&1.into(), &"shifting".into(), &"10%".into()));
    // Another by steps would be refused now, too.
    let busy = dry(&home, 1, "switchover a.example --to esams");
    // What it rests on is said of a refusal as of a plan, and nothing is told to be typed that takes a daemon first.
    let failure = |part: &str| busy["failure"][part].as_str().unwrap().to_owned();
    assert!(failed(&busy).contains("move 1 is moving the region `default`"), "{busy:#}");
    let meaning = failure("meaning");
    assert!(meaning.contains("THE DAEMON IS DOWN") && meaning.contains("var, last written"), "{busy:#}");
    let next = failure("try_next");
    assert!(next.starts_with("start the daemon (`understudy serve`); then"), "{busy:#}");
    assert!(next.contains("`understudy follow a.example`"), "{busy:#}");
    // What needs none is told as it is.
    let slip = dry(&home, 1, "failover a.example --to esasm");
    assert_eq!(slip["failure"]["try_next"], "did you mean `esams`?", "{slip:#}");
    assert!(slip["failure"]["meaning"].as_str().unwrap().contains("THE DAEMON IS DOWN"), "{slip:#}");

    // Edits that a start would take over, and some that it would not.
    home.edit("common.zone", "note IN TXT one", "note IN TXT two");
    let edited = dry(&home, 6, "failover a.example --to esams");
    assert!(edited["warnings"][0].as_str().unwrap().contains("3 changed"), "{edited:#}");
    home.write("esams.zone", "www IN A 203.0.2\n");
    let broken = dry(&home, 3, "failover a.example --to esams");
    assert_eq!(finding(&broken, "zone.loads")["verdict"], "block", "{broken:#}");
    assert!(broken["warnings"][0].as_str().unwrap().contains("esams.zone"), "{broken:#}");
}
