//! What a move may take away, what it leaves behind, and what a clean-up keeps.

use std::fmt::Write as _;

use serde_json::Value;
use understudy::rr::RrType;

use crate::{KNAMS, PMTPA, ZONE, client, finding, follow, routes, seen_by, short, site, until_over, until_phase};

const QUICKEST: &str = "bake = '0s'\nlow_ttl = '1s'\nstep_wait = '0s'\n";

fn hosts(range: std::ops::Range<usize>, octet: u8) -> String {
    range.fold(String::new(), |mut text, n| {
        writeln!(text, "h{n} IN A {octet}.0.3.{n}").unwrap();
        text
    })
}

/// What overrides all that stops a move, as it is typed.
fn overrides(report: &Value) -> String {
    let findings = report["findings"].as_array().unwrap().iter();
    let stopping = findings.filter(|finding| finding["verdict"] == "block" || finding["verdict"] == "unknown");
    let word =
        |finding: &Value| format!("{}@{}", finding["gate"].as_str().unwrap(), finding["digest"].as_str().unwrap());
    stopping.map(|finding| format!(" --override {}", word(finding))).collect()
}

/// A target without two names in five is refused, and lists them; the word for it covers that plan and no other. One that
/// changes every address and loses no name is not refused, nor is the way back that brings all of them again.
#[test]
fn names_that_would_go_are_refused_and_addresses_that_change_are_not() {
    let home = short(QUICKEST);
    home.write("knams.zone", &site(KNAMS, &hosts(0..200, KNAMS)));
    home.write("pmtpa.zone", &site(PMTPA, &hosts(0..120, PMTPA)));
    home.write("esams.zone", &site(crate::ESAMS, &hosts(0..200, crate::ESAMS)));
    let daemon = home.serve();
    home.expect(0, "failover a.example --to esams --until done");
    home.expect(0, "failover a.example --to knams --until done");
    let refused = home.expect(3, "failover a.example --to pmtpa");
    let gone = finding(&refused, "zone.nothing-vanishes");
    assert_eq!(gone["items"].as_array().unwrap().len(), 80, "{gone:#}");
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
    let digest = gone["digest"].as_str().unwrap().to_owned();
    home.write("pmtpa.zone", &site(PMTPA, &hosts(0..119, PMTPA)));
    home.expect(1, &format!("failover a.example --to pmtpa --override zone.nothing-vanishes@{digest}"));
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS, "another plan is not covered");
    home.write("pmtpa.zone", &site(PMTPA, &hosts(0..120, PMTPA)));
    home.expect(0, &format!("failover a.example --to pmtpa --until done {}", overrides(&refused)));
    assert_eq!(daemon.ask("h150.a.example", RrType::A).flags.rcode(), 3);
    let back = follow(&home, 0, "rollback a.example");
    assert!(back["findings"].as_array().unwrap().iter().all(|finding| finding["verdict"] != "block"), "{back:#}");
    until_over(&home);
    assert_eq!(daemon.data("h150.a.example", RrType::A), [[KNAMS, 0, 3, 150]]);
}

/// What is live, and what a rollback would bring back, is kept by every clean-up: after many edits and moves, with all
/// files gone, it starts with what was served, and goes back to where it was.
#[test]
fn the_clean_up_keeps_what_is_live_and_what_a_rollback_needs() {
    let home = short(QUICKEST);
    let daemon = home.serve();
    for round in 0..8 {
        home.edit("pmtpa.zone", "$TTL 60\n", &format!("$TTL 60\nr{round} IN TXT pmtpa{round}\n"));
        home.edit("knams.zone", "$TTL 60\n", &format!("$TTL 60\nr{round} IN TXT knams{round}\n"));
        home.expect(0, "reload");
        if round == 5 {
            home.expect(0, "failover a.example --to pmtpa --until done");
        }
    }
    let files = ["common.zone", "knams.zone", "pmtpa.zone", "esams.zone"];
    let kept = files.map(|file| home.read(file));
    files.iter().for_each(|file| std::fs::remove_file(home.path(file)).unwrap());
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(daemon.data("r7.a.example", RrType::TXT), [b"\x06pmtpa7"]);
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"]);
    // A target that can't be read is no target; once it can, the way back is open.
    home.expect(3, "rollback a.example");
    files.iter().zip(&kept).for_each(|(file, text)| home.write(file, text));
    home.expect(0, "rollback a.example --until done");
    assert_eq!(daemon.data("r7.a.example", RrType::TXT), [b"\x06knams7"]);
}

/// Fail over, put the old file back, fail back: secondaries have seen a higher serial than the file's, and what is
/// published is above it. The dry run shows which.
#[test]
fn going_back_to_the_old_file_never_lowers_the_serial() {
    let home = short(QUICKEST);
    let old = home.read("common.zone");
    let daemon = home.serve();
    home.edit("common.zone", "host 100", "host 200");
    home.expect(0, "reload");
    home.expect(0, "failover a.example --to pmtpa --until done");
    let served = daemon.serial(ZONE);
    assert!(served > 200);
    home.write("common.zone", &old);
    home.expect(0, "reload");
    let after_reload = daemon.serial(ZONE);
    assert!(after_reload >= served);
    let would = home.expect(6, "failover a.example --to knams --dry-run");
    let soa = would["diff"].as_array().unwrap().iter().find(|set| set["rtype"] == "SOA").unwrap();
    let shown: u32 = soa["after"][0].as_str().unwrap().split_whitespace().nth(5).unwrap().parse().unwrap();
    assert!(shown > after_reload, "{soa:#}");
    let done = home.expect(0, "failover a.example --to knams");
    assert_eq!(done["serial"], shown);
    until_over(&home);
    assert!(daemon.serial(ZONE) >= shown);
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
}

/// What an operator saw and overrode for a move counts for each of its steps, for the way back, and after a crash.
#[test]
fn what_was_overridden_counts_for_every_step() {
    let home = short("steps = ['50%']\nstep_wait = '1s'\nlow_ttl = '0s'\nbake = '0s'\n");
    home.write("knams.zone", &site(KNAMS, "only IN A 192.0.2.77\nold IN CNAME only\n"));
    let mut daemon = home.serve();
    let refused = home.expect(3, "switchover a.example --to pmtpa");
    let words = overrides(&refused);
    home.expect(0, &format!("switchover a.example --to pmtpa --until begun {words}"));
    until_phase(&home, "shifting", "50%");
    daemon.kill();
    daemon = home.serve();
    home.edit("common.zone", "note IN", "_acme-challenge IN TXT token\nnote IN");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "published", "an edit elsewhere is let through, too");
    let zone = until_over(&home);
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"], "{zone:#}");
    assert_eq!(daemon.ask("only.a.example", RrType::A).flags.rcode(), 3);

    // The way back to what was served is not barred; what speaks against it is a warning.
    let back = follow(&home, 0, "rollback a.example --until done");
    assert_eq!(finding(&back, "zone.cross-closure")["verdict"], "warn", "{back:#}");
    assert_eq!(daemon.data("only.a.example", RrType::A), [[KNAMS, 0, 2, 77]]);
    let refused = home.expect(3, "switchover a.example --to pmtpa");
    home.expect(0, &format!("switchover a.example --to pmtpa --until begun {}", overrides(&refused)));
    until_phase(&home, "shifting", "50%");
    home.expect(0, "abort a.example");
    until_over(&home);
    assert_eq!(routes(&home), ["knams", "knams"]);
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
}
