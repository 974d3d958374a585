//! Looking on: following a run, leaving it, watching the status, and what is kept of who did what.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::daemon::Home;
use crate::{FAST, PMTPA, beside, client, failed, home, lines_of, moves, seen_by, slow, until_phase};

/// Who stops looking does not stop the run; another one takes up where he left.
#[test]
fn interrupted_the_run_goes_on_and_can_be_followed_again() {
    let home = home(FAST);
    let daemon = home.serve();
    let mut run = beside(&home, "switchover a.example --to pmtpa");
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let number = first["run"].clone();
    // Its first event: from there on it waits.
    lines.next().unwrap().unwrap();
    kill(Pid::from_raw(run.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(moves(&home)[0]["run"], number);
    let (code, lines) = lines_of(beside(&home, "follow a.example"));
    assert_eq!((code, &lines.last().unwrap()["outcome"]), (0, &"done".into()), "{lines:#?}");
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);
    let nothing = home.expect(1, "follow a.example");
    assert!(failed(&nothing).contains("no move is under way"), "{nothing:#}");
}

/// The daemon is stopped under who follows or looks on: that has a code of its own, and is not taken for the end.
#[test]
fn the_daemon_is_gone_under_who_follows() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "drill a.example --to esams --detach");
    let drill = watching(&home, "drill a.example --attach");
    let status = watching(&home, "status --watch");
    daemon.kill();
    for (watched, next) in [(drill, "understudy drill --list"), (status, "understudy serve")] {
        let (code, lines) = ended(watched);
        assert_gone(code, lines.last().unwrap(), next);
    }

    let daemon = home.serve();
    let run = beside(&home, "switchover a.example --to pmtpa");
    until_phase(&home, "shifting", "10%");
    // Ended in order it is gone, too.
    assert!(daemon.stop().success());
    let (code, lines) = lines_of(run);
    assert_gone(code, lines.last().unwrap(), "understudy follow a.example");
    // Who never saw it is not told that it ended.
    for line in ["status --watch", "drill a.example --attach", "follow a.example"] {
        let (code, lines) = lines_of(beside(&home, line));
        assert_eq!(code, 1, "{line}: {lines:#?}");
        assert!(failed(&lines[0]).starts_with("no understudy is running"), "{line}: {lines:#?}");
    }
    let _daemon = home.serve();
    assert_eq!(moves(&home)[0]["share"], "10%");
}

/// A command that has said something, and what it says behind that.
fn watching(home: &Home, line: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = beside(home, line);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    (child, lines)
}

/// How it ended, and what it said until then.
fn ended((mut child, lines): (Child, Lines<BufReader<ChildStdout>>)) -> (i32, Vec<Value>) {
    let lines = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    (child.wait().unwrap().code().unwrap(), lines)
}

fn assert_gone(code: i32, last: &Value, next: &str) {
    assert_eq!((code, failed(last)), (7, "the daemon ended"), "{last:#}");
    assert!(last["failure"]["try_next"].as_str().unwrap().contains(next), "{last:#}");
}

/// Who, when and why; also of what was refused, and of what was overridden.
#[test]
fn the_history_tells_who_did_what_and_why() {
    let home = home("bake = '1s'\nlow_ttl = '1s'\n");
    home.write("pmtpa.zone", &crate::site(PMTPA, "").replace("www", "web"));
    let _daemon = home.serve();
    home.expect(3, "failover a.example --to pmtpa --reason refused");
    let refused = home.expect(3, "failover a.example --to pmtpa --dry-run");
    let words: Vec<(String, String)> = refused["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["verdict"] == "block" || finding["verdict"] == "unknown")
        .map(|finding| (finding["gate"].as_str().unwrap().into(), finding["digest"].as_str().unwrap().into()))
        .collect();
    let overrides: String = words.iter().map(|(gate, digest)| format!(" --override {gate}@{digest}")).collect();
    home.expect(0, &format!("failover a.example --to pmtpa --reason fire --until done{overrides}"));
    home.expect(0, "site down knams --reason flood");
    let history = home.expect(0, "history a.example");
    let entries = history["entries"].as_array().unwrap();
    let deed = |what: &str, reason: &str| {
        let fits = |entry: &&Value| entry["what"].as_str().unwrap().contains(what) && entry["reason"] == reason;
        entries.iter().find(fits).unwrap_or_else(|| panic!("no {what} because {reason} in {history:#}"))
    };
    let done = deed("failover a.example. --to pmtpa", "fire");
    assert_eq!(done["uid"], nix::unistd::getuid().as_raw());
    let overridden = done["overridden"].as_array().unwrap();
    assert_eq!(overridden.len(), words.len(), "{done:#}");
    for ((gate, digest), told) in words.iter().zip(overridden) {
        let (told_gate, told_digest) = told.as_str().unwrap().split_once('@').unwrap();
        assert!(told_gate == gate && digest.starts_with(told_digest), "{done:#}");
    }
    deed("failover a.example. --to pmtpa", "refused");
    deed("site down knams", "flood");
    // Of a slip nothing is told, and nothing of a zone whose name only has it in it.
    for other in ["a.exampl", "example"] {
        let slip = home.expect(1, &format!("history {other}"));
        assert!(failed(&slip).contains(&format!("there is no zone `{other}`")), "{slip:#}");
    }
    assert!(entries.iter().any(|entry| entry["what"].as_str().unwrap().contains("done: its regions")), "{history:#}");
    assert_eq!(home.expect(0, "history --limit 2")["entries"].as_array().unwrap().len(), 2);
    let times: Vec<_> = entries.iter().map(|entry| entry["at"].to_string()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let plain = home.command(&["history", "a.example"]).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("because: fire") && plain.contains("overridden: "), "{plain}");
}

/// It is shown again and again, until nobody looks.
#[test]
fn a_status_that_is_watched_is_shown_again() {
    let home = home(FAST);
    let _daemon = home.serve();
    let mut watch = beside(&home, "status --watch");
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let status: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(status["zones"][0]["name"], "a.example.");
    }
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    let status: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(status["zones"][0]["moves"].as_array().unwrap().len(), 1);
    watch.kill().unwrap();
    watch.wait().unwrap();
}
