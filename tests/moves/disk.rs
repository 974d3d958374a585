//! The disk is full in the middle of a move.

use std::process::Command;

use crate::support::daemon::{Daemon, may_mount};
use crate::{PMTPA, ZONE, at_site, count, short, wait_for};

/// What can't be written is not done: everybody stays where he is, and is answered. Once there is room the move goes on by
/// itself.
#[test]
fn a_full_disk_stops_a_move_where_it_is_and_room_lets_it_go_on() {
    let Some(args) = may_mount() else { return eprintln!("this test has to mount a small file system") };
    let home = short("steps = ['10%', '50%']\nstep_wait = '1s'\nlow_ttl = '0s'\nbake = '0s'\n");
    std::fs::create_dir(home.path("var")).unwrap();
    let mut command = Command::new("unshare");
    command.current_dir(home.dir.path()).args(args).args(["sh", "-c"]);
    command.arg("mount -t tmpfs -o size=600k,mode=0700 none var && exec \"$@\"").arg("sh");
    command.arg(env!("CARGO_BIN_EXE_understudy")).args(["serve", "--init"]);
    let daemon = Daemon::start(command, home.path("log"));
    // Seen from outside of its mounts.
    let var = format!("/proc/{}/root{}", daemon.pid(), home.path("var").display());
    let run = |code: i32, line: &str| home.expect(code, &format!("{line} --state-dir {var}"));
    let first = || run(0, "status")["zones"][0]["moves"][0].clone();
    run(0, "switchover a.example --to pmtpa --until begun");
    wait_for("the first step", || {
        let now = first();
        if now["share"] == "10%" { Ok(()) } else { Err(now.to_string()) }
    });
    let from = daemon.log().len();
    let ballast = format!("{var}/ballast");
    let _ = std::fs::write(&ballast, vec![1; 1 << 20]);
    let sides = at_site(&daemon, PMTPA, 100);
    let serial = daemon.serial(ZONE);
    daemon.wait_for_log(from, "could not be written");
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    assert_eq!(daemon.serial(ZONE), serial);
    assert_eq!(first()["share"], "10%");
    std::fs::remove_file(&ballast).unwrap();
    wait_for("the end", || {
        let now = first();
        if now.is_null() { Ok(()) } else { Err(now.to_string()) }
    });
    assert_eq!(count(&at_site(&daemon, PMTPA, 100)), 100);
    assert!(daemon.serial(ZONE) > serial);
}
