//! The state can't be written: nothing is published, the error says so, and the next time it works.

use std::process::Command;

use understudy::rr::RrType;

use understudy::store::Store;
use understudy::store::journal::Journal as _;

use crate::home;
use crate::support::daemon::{Daemon, may_mount};

#[test]
fn a_full_disk_publishes_nothing_and_room_again_is_enough() {
    let Some(args) = may_mount() else { return eprintln!("this test has to mount a small file system") };
    let home = home();
    std::fs::create_dir(home.path("var")).unwrap();
    let mut command = Command::new("unshare");
    command.current_dir(home.dir.path()).args(args).args(["sh", "-c"]);
    command.arg("mount -t tmpfs -o size=600k,mode=0700 none var && exec \"$@\"").arg("sh");
    command.arg(env!("CARGO_BIN_EXE_understudy")).args(["serve", "--init"]);
    let daemon = Daemon::start(command, home.path("log"));
    // Seen from outside of its mounts.
    let var = format!("/proc/{}/root{}", daemon.pid(), home.path("var").display());
    let run = |code: i32, line: &str| home.expect(code, &format!("{line} --state-dir {var}"));
    let (before, ballast) = (run(0, "status")["generation"].clone(), format!("{var}/ballast"));
    let fill = || {
        let _ = std::fs::write(&ballast, vec![1; 1 << 20]);
    };
    fill();

    home.edit("common.zone", "note IN TXT one", &format!("note IN TXT two\n;{}", "x".repeat(100_000)));
    let report = run(1, "reload");
    assert_eq!(report["zones"][0]["outcome"], "not_published", "{report:#}");
    assert!(report["zones"][0]["why"].as_str().unwrap().contains("no room left"), "{report:#}");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03one"]);
    let status = run(0, "status");
    assert_eq!((&status["generation"], &status["zones"][0]["content"]["state"]), (&before, &"last_good".into()));

    fill();
    let failed = run(1, "failover a.example --to pmtpa");
    assert!(failed["failure"]["what"].as_str().unwrap().contains("no room left"), "{failed:#}");
    assert_eq!(daemon.data("direct.a.example", RrType::A), [[crate::KNAMS, 0, 2, 1]]);
    assert_eq!((daemon.serial("a.example"), run(0, "status")["generation"].clone()), (100, before));

    std::fs::remove_file(&ballast).unwrap();
    run(0, "failover a.example --to pmtpa");
    run(0, "reload");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03two"]);
    assert_eq!(run(0, "status")["zones"][0]["content"]["state"], "loaded");
}

/// A start on a full disk says that there is no room, and not only that something failed.
#[test]
fn a_start_on_a_full_disk_says_so() {
    let Some(args) = may_mount() else { return eprintln!("this test has to mount a small file system") };
    let home = home();
    std::fs::create_dir(home.path("var")).unwrap();
    let script = "mount -t tmpfs -o size=600k,mode=0700 none var && \"$0\" init >&2 && \
                  { head -c 1000000 /dev/zero > var/ballast; exec \"$0\" serve --json; }";
    let mut command = Command::new("unshare");
    command.current_dir(home.dir.path()).args(args).args(["sh", "-c", script, env!("CARGO_BIN_EXE_understudy")]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(told.contains("no room left to write var/understudy.db") && told.contains("free space"), "{output:?}");
}

/// What would be written to a directory that is gone would be lost with the process: it is refused, not published.
#[test]
fn a_state_directory_that_was_taken_away_publishes_nothing() {
    let home = home();
    let daemon = home.serve();
    std::fs::rename(home.path("var/understudy.lock"), home.path("lock")).unwrap();
    let failed = home.expect(1, "failover a.example --to pmtpa");
    assert!(failed["failure"]["what"].as_str().unwrap().contains("removed or replaced"), "{failed:#}");
    assert_eq!(home.zone("a.example")["routes"][0]["site"], "knams");
    assert_eq!(daemon.serial("a.example"), 100);
    assert_eq!(home.expect(0, "status")["last_failover"]["ok"], false);
    home.edit("common.zone", "note IN TXT one", "note IN TXT two");
    assert_eq!(home.expect(1, "reload")["zones"][0]["outcome"], "not_published");
    std::fs::rename(home.path("lock"), home.path("var/understudy.lock")).unwrap();
    home.expect(0, "failover a.example --to pmtpa");
}

/// A state directory that was named by mistake is another server's: it is not served from, and not written to.
#[test]
fn a_state_of_other_zones_is_refused_and_left_alone() {
    let home = home();
    home.serve();
    let journaled = || {
        let store = Store::open(Some(&home.path("var"))).unwrap();
        (store.journal().published().unwrap(), store.journal().recent(9).unwrap().len())
    };
    let before = journaled();
    home.edit("understudy.toml", "name = 'a.example'", "name = 'b.example'");
    let refused = home.serve_in_vain();
    assert!(format!("{refused:?}").contains("a.example"), "{refused:?}");
    assert_eq!(journaled(), before);
    home.edit("understudy.toml", "name = 'b.example'", "name = 'a.example'");
    home.serve();
}
