//! A second person has to approve.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::daemon::Home;
use crate::{ESAMS, FAST, KNAMS, PMTPA, SLOW, client, failed, home, moves, seen_by, until_over, until_phase, wait_for};

/// Runs a command as nobody.
fn as_nobody(home: &Home, line: &str) -> (i32, String) {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", env!("CARGO_BIN_EXE_understudy")]);
    let output = command.args(line.split_whitespace()).arg("--json").current_dir(home.dir.path()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8(text).unwrap())
}

/// A home in whose control socket's group nobody is.
fn home_of_two(policy: &str) -> Home {
    let home = home(policy);
    let group = nix::unistd::Group::from_gid(nix::unistd::Gid::from_raw(65534)).unwrap().unwrap();
    home.edit("understudy.toml", "[[region]]", &format!("[control]\ngroup = '{}'\n\n[[region]]", group.name));
    std::fs::set_permissions(home.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}

/// Who asked for it can't approve it; somebody else can, also after a crash. A failover needs nobody.
#[test]
fn a_planned_move_waits_for_a_second_person() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("this test needs root: it takes two users");
    }
    let home = home_of_two(&format!("{FAST}approval = 'planned'\n"));
    let mut daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "awaiting approval", "0%");
    let same = home.expect(1, "approve a.example");
    assert!(failed(&same).contains("another user"), "{same:#}");
    until_phase(&home, "awaiting approval", "0%");
    daemon.kill();
    daemon = home.serve();
    until_phase(&home, "awaiting approval", "0%");
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
    let (code, text) = as_nobody(&home, "approve a.example");
    assert_eq!(code, 0, "{text}");
    until_over(&home);
    let history = home.expect(0, "history a.example").to_string();
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA, "{history}");
    let name = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(65534)).unwrap().unwrap().name;
    assert!(history.contains(&format!("approved by {name}")), "{history}");
    home.expect(0, "failover a.example --to knams");
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS, "{:#?}", moves(&home));
}

/// One that nobody approves is given up without a trace.
#[test]
fn a_move_that_nobody_approves_ends() {
    let home = home(&format!("{FAST}approval = 'everything'\napproval_expires = '1s'\n"));
    let daemon = home.serve();
    let serial = daemon.serial(crate::ZONE);
    let run = crate::beside(&home, "failover a.example --to pmtpa");
    let (code, lines) = crate::lines_of(run);
    assert_eq!((code, &lines.last().unwrap()["outcome"]), (5, &"aborted".into()), "{lines:#?}");
    assert_eq!((daemon.serial(crate::ZONE), seen_by(&daemon, client(0)).0), (serial, KNAMS));
}

/// While it waits, what it does not move moves and is edited: it is still the plan that was shown. What it does move can't
/// be edited under it.
#[test]
fn what_happens_elsewhere_does_not_stale_a_plan_that_waits() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("this test needs root: it takes two users");
    }
    let home = home_of_two(&format!("{SLOW}approval = 'planned'\n"));
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --region europe --until begun");
    until_phase(&home, "awaiting approval", "0%");
    home.expect(0, "failover a.example --to esams --region default");
    let which = home.expect(1, "approve a.example")["failure"]["try_next"].to_string();
    for run in
        ["--region europe (switchover 1 to pmtpa, awaiting approval, asked for by ", "--region default (failover 2"]
    {
        assert!(which.contains(run), "{which}");
    }
    home.edit("common.zone", "note IN", "_acme-challenge IN TXT token\nnote IN");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "published");
    home.edit("pmtpa.zone", "198.0.2.1\n", "198.0.2.2\n");
    assert_eq!(home.expect(4, "reload")["zones"][0]["outcome"], "queued");
    let (code, text) = as_nobody(&home, "approve a.example --region europe");
    assert_eq!(code, 0, "{text}");
    wait_for("the first step", || {
        let moves = moves(&home);
        let europe = moves.iter().find(|run| run["to"] == "pmtpa").map(|run| run["share"].clone());
        if europe == Some("10%".into()) { Ok(()) } else { Err(format!("{:#}", home.expect(0, "history a.example"))) }
    });
    assert_eq!(seen_by(&daemon, client(0)).0, ESAMS);
}
