//! Edits: all of a zone or nothing, the last good one served on, and what goes is listed.

use nix::sys::signal::Signal;
use understudy::rr::RrType;

use crate::support::daemon::Home;
use crate::{COMMON, config, finding, home, items};

#[test]
fn a_broken_file_leaves_the_last_good_and_is_taken_once_it_is_put_right() {
    let home = home();
    let daemon = home.serve();
    let good = home.read("common.zone");
    home.write("common.zone", &good.replace("note IN TXT one", "note IN TXT two\nbad IN AAAAA ::1"));
    let report = home.expect(1, "reload");
    assert_eq!(report["zones"][0]["outcome"], "kept_last_good");
    assert!(report["zones"][0]["diagnostics"][0].as_str().unwrap().contains("common.zone:16:8"), "{report:#}");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03one"]);
    let zone = home.zone("a.example");
    assert_eq!((&zone["content"]["state"], &zone["serial"]), (&"last_good".into(), &100.into()));

    home.edit("common.zone", "\nbad IN AAAAA ::1", "");
    let report = home.expect(0, "reload");
    assert_eq!((&report["zones"][0]["outcome"], &report["zones"][0]["changed"]), (&"published".into(), &2.into()));
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03two"]);
    assert_eq!(
        (home.zone("a.example")["content"]["state"].clone(), daemon.serial("a.example")),
        ("loaded".into(), 101)
    );
}

/// Broken from the start: the other zones are served, and corrected it is taken without a restart.
#[test]
fn a_zone_that_was_never_good_is_taken_once_it_is() {
    let config = format!("{}\n[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n", config());
    let home = Home::new(&config, &[("common.zone", COMMON), ("knams.zone", ""), ("pmtpa.zone", "")]);
    home.edit("common.zone", "www", "lever IN A 192.0.2.2\nwww");
    home.write("b.zone", "@ IN SOA ns host 1 1h 10m 2w 20\n@ IN NS ns.a.example.\nbad IN AAAAA 1\n");
    let daemon = home.serve();
    assert_eq!(home.zone("b.example")["content"]["state"], "broken");
    // Configured and not there is a failure, which resolvers ask others about; it is not somebody else's zone.
    assert_eq!(daemon.ask("b.example", RrType::SOA).rcode(), 2);
    assert_eq!(daemon.data("www.a.example", RrType::A).len(), 1);
    assert!(daemon.log().contains("AAAAA"));
    home.edit("b.zone", "bad IN AAAAA 1\n", "");
    home.expect(0, "reload");
    assert_eq!(daemon.serial("b.example"), 1);
}

#[test]
fn names_that_an_edit_removes_are_listed() {
    let home = home();
    home.edit("common.zone", "note", "one IN A 192.0.2.1\ntwo IN A 192.0.2.1\nnote");
    let daemon = home.serve();
    home.edit("common.zone", "one IN A 192.0.2.1\ntwo IN A 192.0.2.1\n", "");
    let report = home.expect(0, "reload");
    let gone = finding(&report["zones"][0], "zone.blast-radius");
    assert_eq!(items(gone), ["one.a.example.", "two.a.example."]);
    assert_eq!(daemon.ask("one.a.example", RrType::A).rcode(), 3);
}

#[test]
fn a_hangup_reloads() {
    let home = home();
    let daemon = home.serve();
    // At once: the daemon says where it listens when it is ready for it.
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for_log(0, "unchanged");
    home.edit("common.zone", "note IN TXT one", "note IN TXT two");
    let from = daemon.log().len();
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for_log(from, "published");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03two"]);
    let from = daemon.log().len();
    home.edit("common.zone", "note IN TXT two", "note IN TXXT two");
    daemon.signal(Signal::SIGHUP);
    daemon.wait_for_log(from, "the last good content is served on");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03two"]);
}

/// A configuration with an error changes nothing at all: neither defaults nor half of it.
#[test]
fn a_wrong_configuration_leaves_the_last_good_one() {
    let home = home();
    let daemon = home.serve();
    let good = home.read("understudy.toml");
    for (from, to) in [
        ("may_vanish", "may_vanihs"),
        ("version = 1", "version = 7"),
        ("[server]", "[server"),
        ("'common.zone'", "7"),
        ("default = ['knams', 'pmtpa']", "default = ['nowhere']"),
    ] {
        home.write("understudy.toml", &good.replace(from, to));
        home.edit("common.zone", "note IN TXT one", "note IN TXT two");
        home.expect(1, "reload");
        assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03one"]);
        let status = home.expect(0, "status --state-dir var");
        assert_eq!((&status["last_reload"]["ok"], status["zones"].as_array().unwrap().len()), (&false.into(), 1));
        home.edit("common.zone", "note IN TXT two", "note IN TXT one");
    }
    std::fs::remove_file(home.path("understudy.toml")).unwrap();
    home.expect(1, "reload --state-dir var");
    assert_eq!(daemon.data("note.a.example", RrType::TXT), [b"\x03one"]);
    home.write("understudy.toml", &good);
    home.expect(0, "reload");
}

#[test]
fn policy_is_taken_over_and_what_takes_a_restart_is_said() {
    let home = home();
    home.edit("understudy.toml", "file = 'common.zone'", "file = 'common.zone'\nmax_ttl = '4s'\nnegative_ttl = '4s'");
    let daemon = home.serve();
    home.edit("understudy.toml", "max_ttl = '4s'\nnegative_ttl = '4s'", "max_ttl = '3s'\nnegative_ttl = '2s'");
    let report = home.expect(0, "reload");
    assert_eq!(
        (&report["zones"][0]["outcome"], &report["needs_restart"]),
        (&"published".into(), &serde_json::json!([]))
    );
    assert_eq!(daemon.ask("note.a.example", RrType::TXT).answers[0].ttl, 3);
    assert_eq!(daemon.ask("none.a.example", RrType::TXT).authorities[0].ttl, 2);
    assert_eq!(daemon.serial("a.example"), 101);

    home.edit("understudy.toml", "'127.0.0.2/32'", "'127.0.0.3/32'");
    home.edit("understudy.toml", "workers = 1", "workers = 2");
    let report = home.expect(0, "reload");
    assert_eq!(report["needs_restart"], serde_json::json!(["`[[region]]`", "`server.workers`"]));
    assert!(home.expect(0, "status")["last_reload"]["summary"].as_str().unwrap().contains("restart"));

    // A site that clients are answered from can't go; one that nobody is answered from can.
    let two = home.read("understudy.toml");
    home.edit("understudy.toml", "  [[zone.site]]\n  name = 'knams'\n  file = 'knams.zone'\n", "");
    home.edit("understudy.toml", "['knams', 'pmtpa']", "['pmtpa']");
    home.expect(3, "reload");
    assert_eq!(home.zone("a.example")["routes"][0]["site"], "knams");
    drop(daemon);
    let daemon = home.serve();
    assert_eq!(home.zone("a.example")["routes"][0]["site"], "knams", "a restart is no failover");
    // One that was just left can't go before it is certain that nobody has to go back.
    home.write("understudy.toml", &two.replace("max_ttl = '3s'", "max_ttl = '1s'\npolicy = { bake = '1s' }"));
    home.expect(0, "reload");
    home.expect(0, "failover a.example --to pmtpa --state-dir var");
    let two = home.read("understudy.toml");
    home.edit("understudy.toml", "  [[zone.site]]\n  name = 'knams'\n  file = 'knams.zone'\n", "");
    home.edit("understudy.toml", "['knams', 'pmtpa']", "['pmtpa']");
    home.expect(3, "reload");
    let pmtpa_only = home.read("understudy.toml");
    home.write("understudy.toml", &two);
    home.run(&["follow", "a.example"]);
    home.write("understudy.toml", &pmtpa_only);
    home.expect(0, "reload");
    assert!(home.expect(1, "failover a.example --to knams")["failure"]["what"].as_str().unwrap().contains("knams"));
    drop(daemon);
}

/// A zone that is no longer configured is answered until an operator accepts just that, over restarts, too; when it comes
/// back its serial goes on.
#[test]
fn zones_come_and_go() {
    let home = home();
    let alone = home.read("understudy.toml");
    let both = format!("{alone}\n[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n");
    home.write("b.zone", "$TTL 9\n@ IN SOA ns host 7 1h 10m 2w 20\n@ IN NS ns.a.example.\nw IN A 192.0.2.1\n");
    let daemon = home.serve();
    assert_eq!(daemon.ask("w.b.example", RrType::A).rcode(), 5);
    home.write("understudy.toml", &both);
    assert_eq!(home.expect(0, "reload")["zones"][1]["outcome"], "published");
    assert_eq!((daemon.data("w.b.example", RrType::A).len(), daemon.serial("b.example")), (1, 7));
    home.edit("b.zone", "192.0.2.1", "192.0.2.2");
    home.expect(0, "reload");
    assert_eq!(daemon.serial("b.example"), 8);

    home.write("understudy.toml", &alone);
    let refused = home.expect(3, "reload");
    assert_eq!(refused["zones"][0]["name"], "b.example.");
    assert_eq!(home.zone("b.example")["content"]["state"], "refused_edit");
    drop(daemon);
    let daemon = home.serve();
    assert_eq!((daemon.data("w.b.example", RrType::A).len(), daemon.serial("b.example")), (1, 8));
    assert_eq!(home.zone("b.example")["content"]["state"], "refused_edit");
    assert!(daemon.log().contains("no longer configured"));

    let digest = finding(&refused["zones"][0], "zone.blast-radius")["digest"].as_str().unwrap();
    home.expect(0, &format!("reload --accept {digest}"));
    assert_eq!(daemon.ask("w.b.example", RrType::A).rcode(), 5);
    assert_eq!(home.expect(0, "status")["zones"].as_array().unwrap().len(), 1);
    drop(daemon);
    let daemon = home.serve();
    assert_eq!(daemon.ask("w.b.example", RrType::A).rcode(), 5, "what was withdrawn does not come back by itself");

    home.write("understudy.toml", &both);
    home.edit("b.zone", "192.0.2.2", "192.0.2.3");
    home.expect(0, "reload");
    assert_eq!(daemon.serial("b.example"), 9, "secondaries that still have it take it");
}

/// One zone that cannot be taken keeps no other back.
#[test]
fn zones_are_taken_or_not_each_by_itself() {
    let zones: String = (0..20).map(|n| format!("[[zone]]\nname = 'z{n}.example'\nfile = 'z{n}.zone'\n")).collect();
    let home = Home::new(&format!("[server]\nlisten = ['127.0.0.1:0']\n{zones}"), &[]);
    let write = |n: usize, text: &str| {
        let soa = "$TTL 9\n@ IN SOA ns host 7 1h 10m 2w 20\n@ IN NS ns.else.\n";
        home.write(&format!("z{n}.zone"), &format!("{soa}{text}\n"));
    };
    (0..20).for_each(|n| write(n, "w IN A 192.0.2.1"));
    let daemon = home.serve();
    (0..20).for_each(|n| write(n, if n % 3 == 0 { "w IN AAAAA ::1" } else { "w IN A 192.0.2.2" }));
    let report = home.expect(1, "reload");
    for (n, zone) in report["zones"].as_array().unwrap().iter().enumerate() {
        let (outcome, last) = if n % 3 == 0 { ("kept_last_good", 1) } else { ("published", 2) };
        assert_eq!(zone["outcome"], outcome, "{zone:#}");
        assert_eq!(daemon.data(&format!("w.z{n}.example"), RrType::A), [[192, 0, 2, last]]);
    }
}
