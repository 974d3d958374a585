//! What caches may still hold, and how that drains: by who was told what, before a move, in one and behind it.

use serde_json::Value;
use understudy::rr::RrType;

use crate::support::daemon::Home;
use crate::{KNAMS, client, free_port, home, home_at, seen_by, site, until_known, until_phase, wait_for};

/// The course of a type; none if nobody asked for it.
fn family<'a>(report: &'a Value, rtype: &str) -> Option<&'a Value> {
    let families = report["families"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    families.iter().find(|family| family["family"] == rtype)
}

fn drain(home: &Home, of: &str) -> Value {
    home.expect(0, &format!("drain {of}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value:#}"))
}

/// What users asked for of late is missed first, and named first.
#[test]
fn of_names_that_would_vanish_those_that_were_asked_for_are_told() {
    let home = home("");
    home.write("knams.zone", &site(KNAMS, "asked A 192.0.2.7\nquiet A 192.0.2.8\n"));
    let daemon = home.serve();
    (0..3).for_each(|number| drop(daemon.ask_from(client(number), "Asked.a.example", RrType::A)));
    let report = home.expect(3, "failover a.example --to pmtpa --dry-run");
    let found = report["findings"].as_array().unwrap().iter().find(|found| found["gate"] == "zone.nothing-vanishes");
    let found = found.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(found["items"].as_array().map(Vec::len), Some(2), "{found:#}");
    let asked = found["asked"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    assert_eq!((asked.len(), &asked[0]["item"], &asked[0]["count"]), (1, &found["items"][0], &3.into()), "{found:#}");
}

#[test]
fn what_caches_hold_is_seen_before_a_move_in_it_and_behind_it() {
    let port = free_port();
    let policy = "steps = ['50%']\nstep_wait = '1h'\nlow_ttl = '1s'\nbake = '1h'\n";
    let home = home_at(port, &format!("'127.0.0.1:{port}'"), policy);
    home.edit("understudy.toml", "max_ttl = '2s'", "max_ttl = '4s'");
    home.edit("understudy.toml", "negative_ttl = '2s'", "negative_ttl = '4s'");
    let daemon = home.serve();
    until_known(&home, 4);

    // Nobody has asked: there is nothing to drain.
    let quiet = drain(&home, "a.example");
    assert_eq!(
        (quiet["families"].as_array().map(Vec::len), quiet["bound"] == quiet["at"]),
        (Some(0), true),
        "{quiet:#}"
    );

    (0..20).for_each(|number| assert_eq!(seen_by(&daemon, client(number)).1, 4));
    daemon.ask_from(client(1), "mx.a.example", RrType::A);
    let before = drain(&home, "a.example");
    assert_eq!(before["runs"].as_array().map(Vec::len), Some(0), "{before:#}");
    let a = family(&before, "A").unwrap_or_else(|| panic!("{before:#}"));
    assert!(number(&a["held_now"]) > 0.99 && number(&a["new_now"]) < 0.01, "{before:#}");
    assert!(before["bound"].as_i64() > before["at"].as_i64(), "{before:#}");
    assert_eq!(before["holders"], 21);
    let regions = before["regions"].as_array().unwrap_or_else(|| panic!("{before:#}"));
    assert!((regions.iter().map(|region| number(&region["weight"])).sum::<f64>() - 1.0).abs() < 1e-6, "{before:#}");
    for region in regions {
        assert!(number(&region["held_now"]) > 0.99, "{before:#}");
        let until = region["held_until"].as_i64();
        assert!(until > before["at"].as_i64() && until <= before["bound"].as_i64(), "{before:#}");
    }
    let quantiles = &a["quantiles"];
    assert!(number(&quantiles["half"]) <= number(&quantiles["ninety"]), "{before:#}");
    assert_eq!(drain(&home, "a.example mx.a.example")["holders"], 1);
    assert_eq!(drain(&home, "a.example mx")["holders"], 1, "a single label is one of the zone");
    assert_eq!(drain(&home, "a.example note.a.example")["holders"], 0);
    home.expect(1, "drain a.example www.b.example");

    // A dry run foresees each phase; what both sites answer alike is left out.
    let would = home.expect(6, "switchover a.example --to pmtpa --dry-run");
    let forecast = &would["forecast"];
    let phases: Vec<&str> =
        forecast["phases"].as_array().unwrap().iter().filter_map(|row| row["phase"].as_str()).collect();
    assert_eq!(phases, ["checking", "lowering", "shifting", "shifting", "draining", "baking"], "{forecast:#}");
    assert_eq!(
        (&forecast["holders"], forecast["steps"].as_array().map(Vec::len)),
        (&20.into(), Some(2)),
        "{forecast:#}"
    );
    let half = &family(forecast, "A").unwrap_or_else(|| panic!("{forecast:#}"))["quantiles"]["half"];
    assert!(number(half) < 3800.0, "{forecast:#}");

    home.expect(0, "failover a.example --to pmtpa");
    until_phase(&home, "draining", "100%");
    let during = drain(&home, "a.example www.a.example");
    assert_eq!(during["runs"][0], 1, "{during:#}");
    let a = family(&during, "A").unwrap_or_else(|| panic!("{during:#}"));
    assert!((0.0..=1.0).contains(&number(&a["new_now"])), "{during:#}");

    // What is told anew is not held for old, and what has run out is not either.
    seen_by(&daemon, client(1));
    let after = wait_for("the end of what is held", || {
        let report = drain(&home, "a.example www.a.example");
        let held = family(&report, "A").map_or(0.0, |a| number(&a["held_now"]));
        if held == 0.0 { Ok(report) } else { Err(format!("{held}")) }
    });
    let a = family(&after, "A").unwrap_or_else(|| panic!("{after:#}"));
    // Some resolvers keep no TTL, and applications keep what they want.
    assert!(number(&a["new_now"]) > number(&family(&during, "A").unwrap()["new_now"]), "{after:#}");
    assert!(number(&a["new_now"]) > 0.2, "{after:#}");
}
