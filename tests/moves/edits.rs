//! Files and configuration change while a move is under way.

use understudy::rr::RrType;

use crate::{
    ESAMS, KNAMS, PMTPA, QUICK, SLOW, ZONE, at_site, beside, client, count, finding, home, lines_of, moves, routes,
    seen_by, slow, until_over, until_phase, wait_for,
};

/// What does not move is edited at once, on both sides. What moves waits, visibly, and comes by itself when the move is
/// over.
#[test]
fn an_edit_elsewhere_comes_at_once_and_one_of_what_moves_waits() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    let sides = at_site(&daemon, PMTPA, 100);
    let moved = client(sides.iter().position(|moved| *moved).unwrap() as u16);
    let stays = client(sides.iter().position(|moved| !*moved).unwrap() as u16);
    home.edit("common.zone", "note IN TXT one", "note IN TXT two");
    let report = home.expect(0, "reload");
    assert_eq!(report["zones"][0]["outcome"], "published", "{report:#}");
    for client in [moved, stays] {
        let note = daemon.ask_from(client, "note.a.example", RrType::TXT);
        assert_eq!(note.answers[0].rdata, b"\x03two", "{client}");
    }
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    assert_eq!((&moves(&home)[0]["share"], &moves(&home)[0]["held"]), (&"10%".into(), &serde_json::Value::Null));

    home.edit("pmtpa.zone", "198.0.2.1\n", "198.0.2.2\n");
    let report = home.expect(4, "reload");
    assert_eq!(report["zones"][0]["outcome"], "queued", "{report:#}");
    assert_eq!(report["zones"][0]["touched"], serde_json::json!(["www.a.example. A"]));
    assert_eq!(home.zone(ZONE)["content"]["state"], "queued_edit");
    let plain = home.command(&["status"]).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("QUEUED"), "{plain}");
    assert_eq!(daemon.ask_from(moved, "www.a.example", RrType::A).answers[0].rdata, [198, 0, 2, 1]);
    let serial = daemon.serial(ZONE);
    // It goes back, so that its end comes soon.
    home.expect(0, "abort a.example");
    until_over(&home);
    wait_for("the edit", || {
        let content = home.zone(ZONE)["content"].clone();
        if content["state"] == "loaded" { Ok(()) } else { Err(format!("{content:#}")) }
    });
    assert!(daemon.serial(ZONE) > serial);
    home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(daemon.ask_from(moved, "www.a.example", RrType::A).answers[0].rdata, [198, 0, 2, 2]);
}

/// An edit that waits is not lost with the process.
#[test]
fn an_edit_that_waits_outlives_a_crash() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    home.edit("knams.zone", "192.0.2.1\n", "192.0.2.2\n");
    home.expect(4, "reload");
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(moves(&home)[0]["share"], "10%", "the edit does not come in by a restart either");
    assert_eq!(home.zone(ZONE)["content"]["state"], "queued_edit");
    home.expect(0, "abort a.example");
    until_over(&home);
    wait_for("the edit", || {
        let rdata = daemon.ask_from(client(0), "www.a.example", RrType::A).answers[0].rdata.clone();
        if rdata == [192, 0, 2, 2] { Ok(()) } else { Err(format!("{rdata:?}")) }
    });
}

/// A move keeps the policy that it began with; a site that it needs can't be taken out of the configuration.
#[test]
fn the_policy_of_a_move_is_frozen_and_its_sites_stay() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    let good = home.read("understudy.toml");
    // By the new policy it would be over at once.
    home.write("understudy.toml", &good.replace(SLOW, "steps = ['90%']\nstep_wait = '1s'\nbake = '1s'\n"));
    home.expect(0, "reload");
    let began = moves(&home)[0]["since"].clone();
    home.expect(0, "hold a.example");
    home.expect(0, "resume a.example");
    let now = &moves(&home)[0];
    let wait = now["until"].as_i64().unwrap_or_default() - began.as_i64().unwrap_or_default();
    assert!(now["until"].is_string() || wait > 1_800_000, "{now:#}");
    assert_eq!(now["share"], "10%");

    for site in ["knams", "pmtpa"] {
        let block = format!("  [[zone.site]]\n  name = '{site}'\n  file = '{site}.zone'\n");
        assert!(good.contains(&block));
        let others = ["pmtpa", "knams"].iter().find(|other| **other != site).unwrap();
        let without =
            good.replace(&block, "").replace("['knams', 'pmtpa', 'esams']", &format!("['{others}', 'esams']"));
        home.write("understudy.toml", &without);
        let refused = home.expect(3, "reload");
        let loads = finding(&refused["zones"][0], "zone.loads");
        assert!(loads["reason"].as_str().unwrap().contains(site), "{refused:#}");
        assert_eq!(moves(&home)[0]["share"], "10%");
        let at_pmtpa = count(&at_site(&daemon, PMTPA, 100));
        assert!(at_pmtpa > 0 && at_pmtpa < 50, "{at_pmtpa}");
    }
    home.write("understudy.toml", &good);
    home.expect(0, "reload");
    home.expect(0, "abort a.example");
    until_over(&home);
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
}

/// The next move goes by the new policy.
#[test]
fn a_new_policy_counts_for_the_next_move() {
    let home = home(QUICK);
    let _daemon = home.serve();
    home.edit("understudy.toml", "steps = ['10%', '50%']", "steps = ['25%']");
    home.expect(0, "reload");
    let would = home.expect(6, "switchover a.example --to pmtpa --dry-run");
    assert_eq!(would["steps"], serde_json::json!(["25%", "100%"]));
    assert_eq!(routes(&home), ["knams", "knams"]);
}

/// A daemon that starts with a configuration that lacks what a move needs serves on what it served, and says so.
#[test]
fn a_restart_without_what_a_move_needs_serves_on_as_before() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    let sides = at_site(&daemon, PMTPA, 100);
    daemon.kill();
    let good = home.read("understudy.toml");
    let without = good
        .replace("  [[zone.site]]\n  name = 'pmtpa'\n  file = 'pmtpa.zone'\n", "")
        .replace("['knams', 'pmtpa', 'esams']", "['knams', 'esams']");
    home.write("understudy.toml", &without);
    let daemon = home.serve();
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    assert_eq!(home.zone(ZONE)["content"]["state"], "refused_edit");
    assert_eq!(moves(&home)[0]["share"], "10%");
    daemon.kill();
    // The region is gone as well: who belonged to it is answered like everybody else.
    home.write("understudy.toml", &good.replace("[[region]]\nname = 'europe'\nnetworks = ['127.128.0.0/9']\n", ""));
    let daemon = home.serve();
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    daemon.kill();
    home.write("understudy.toml", &good);
    let daemon = home.serve();
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    assert_eq!(home.zone(ZONE)["content"]["state"], "loaded");
    home.expect(0, "abort a.example");
    until_over(&home);
    assert_eq!(routes(&home), ["knams", "knams"]);
    assert_eq!(count(&at_site(&daemon, PMTPA, 100)), 0);
}

/// A zone is taken out of the configuration while it moves: it is served on until somebody accepts that it goes; then its
/// move ends with it, and when it comes back it is whole, under a serial that rises.
#[test]
fn a_zone_that_goes_takes_its_move_along() {
    let home = slow();
    home.write("b.zone", "$TTL 60\n@ IN SOA ns host 5 1h 10m 2w 20\n@ IN NS ns\nns IN A 127.0.0.1\n");
    let daemon = home.serve();
    let follower = beside(&home, "switchover a.example --to pmtpa");
    until_phase(&home, "shifting", "10%");
    let sides = at_site(&daemon, PMTPA, 100);
    let (good, serial) = (home.read("understudy.toml"), daemon.serial(ZONE));
    let start = good.find("[[zone]]").unwrap();
    home.write("understudy.toml", &format!("{}[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n", &good[..start]));
    let refused = home.expect(3, "reload");
    let zones = refused["zones"].as_array().unwrap();
    let digest = zones.iter().find_map(|zone| zone["findings"][0]["digest"].as_str()).unwrap().to_owned();
    assert_eq!(at_site(&daemon, PMTPA, 100), sides);
    home.expect(0, &format!("reload --accept {digest}"));
    assert_ne!(daemon.ask(ZONE, RrType::SOA).flags.rcode(), 0, "it is answered no more");
    let (code, lines) = lines_of(follower);
    assert_eq!((code, &lines.last().unwrap()["outcome"]), (1, &"withdrawn".into()), "{lines:#?}");
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(home.expect(0, "status")["zones"].as_array().unwrap().len(), 1);
    home.write("understudy.toml", &good);
    home.expect(3, "reload");
    home.write("understudy.toml", &format!("{good}\n[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n"));
    home.expect(0, "reload");
    assert!(daemon.serial(ZONE) > serial, "{} after {serial}", daemon.serial(ZONE));
    assert_eq!((moves(&home).len(), seen_by(&daemon, client(0)).1), (0, 1));
    // Its former move is over for good, also for a daemon that starts then; and numbers go on.
    let serial = daemon.serial(ZONE);
    daemon.kill();
    let daemon = home.serve();
    assert_eq!((moves(&home).len(), seen_by(&daemon, client(0))), (0, (KNAMS, 1)));
    assert_eq!((count(&at_site(&daemon, PMTPA, 100)), daemon.serial(ZONE)), (0, serial));
    let done = home.expect(0, "failover a.example --to esams");
    assert_eq!((&done["run"], seen_by(&daemon, client(0)).0), (&2.into(), ESAMS));
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(seen_by(&daemon, client(0)).0, ESAMS);
    assert_eq!(routes(&home), ["esams", "esams"]);
}

/// The same by SIGHUP: what waits is said in the log.
#[test]
fn a_signal_in_mid_move_queues_what_moves() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    home.edit("knams.zone", "192.0.2.10\n", "192.0.2.11\n");
    let from = daemon.log().len();
    daemon.signal(nix::sys::signal::Signal::SIGHUP);
    daemon.wait_for_log(from, "a.example. A");
    assert_eq!(home.zone(ZONE)["content"]["state"], "queued_edit");
    // Put back as it was, nothing waits any more.
    home.edit("knams.zone", "192.0.2.11\n", "192.0.2.10\n");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "unchanged");
    assert_eq!(home.zone(ZONE)["content"]["state"], "loaded");
}
