//! Waits end when those who were told can hold nothing old any more, and not later; and never sooner.

use std::time::{Duration, Instant};

use understudy::name::Name;
use understudy::rr::RrType;

use crate::support::daemon::{Daemon, Home};
use crate::support::lab::{Server, ZoneFile};
use crate::{
    COMMON, PMTPA, ZONE, beside, client, free_port, home_at, moves, seen_by, until_known, until_over, until_phase,
    wait_for,
};

/// One step, and low TTLs that are over soon.
const POLICY: &str = "steps = ['100%']\nstep_wait = '1s'\nlow_ttl = '1s'\nbake = '1s'\n";

/// A zone whose answers may be held for an hour.
fn home_with(ttl: &str, name_servers: Option<&str>) -> Home {
    let port = free_port();
    let own = format!("'127.0.0.1:{port}'");
    let servers = name_servers.map_or(own.clone(), |other| format!("{own}, '{other}'"));
    let home = home_at(port, &servers, POLICY);
    home.edit("understudy.toml", "max_ttl = '2s'", &format!("max_ttl = {ttl}"));
    home.edit("understudy.toml", "negative_ttl = '2s'", &format!("negative_ttl = {ttl}"));
    for file in ["common.zone", "knams.zone", "pmtpa.zone", "esams.zone"] {
        let text = home.read(file).replace("$TTL 60", "$TTL 3600").replace("2w 20", "2w 3600");
        home.write(file, &text);
    }
    home
}

fn told(home: &Home) -> String {
    let history = home.expect(0, "history a.example");
    format!("{history:#}")
}

/// Nobody has asked for as long as an answer is held, so nobody holds one: the TTL is waited for by nobody.
#[test]
fn a_quiet_zone_waits_for_nothing() {
    let home = home_with("'6s'", None);
    let daemon = home.serve();
    until_known(&home, 6);
    beside(&home, "switchover a.example --to pmtpa --reason planned").wait().unwrap();
    assert_eq!(seen_by(&daemon, client(1)).0, PMTPA);
    assert!(told(&home).contains("nobody was given"), "{}", told(&home));
    assert!(lowering(&home) < Duration::from_secs(5), "{:?}", lowering(&home));
}

/// What was told is waited for from when it was told last, not from when TTLs were lowered; what does not change is not waited
/// for.
#[test]
fn what_was_told_is_waited_for_from_when_it_was_told() {
    let home = home_with("'6s'", None);
    let daemon = home.serve();
    until_known(&home, 6);
    let asked = Instant::now();
    assert_eq!(seen_by(&daemon, client(1)).1, 6);
    // Others ask for what stays as it is, until just before.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(daemon.ask_from(client(2), "mx.a.example", RrType::A).answers[0].ttl, 6);
    let mut run = beside(&home, "switchover a.example --to pmtpa --reason planned");
    until_phase(&home, "lowering", "0%");
    until_phase(&home, "baking", "100%");
    let told_for = asked.elapsed();
    // Six seconds from the first, and one for clocks; nine if it were by the journal, or for the second.
    assert!(told_for >= Duration::from_secs(7), "{told_for:?}");
    assert!(told(&home).contains("when each old answer was given last"), "{}", told(&home));
    let shown = until_over(&home);
    run.wait().unwrap();
    assert_eq!(shown["routes"][0]["site"], "pmtpa");
    let lowered = lowering(&home);
    assert!(lowered < Duration::from_millis(5500), "lowering took {lowered:?}");
}

/// How long TTLs were lowered for, as the history has it.
fn lowering(home: &Home) -> Duration {
    let history = home.expect(0, "history a.example");
    let at = |word: &str| {
        let rows = history["entries"].as_array().unwrap();
        let found = rows.iter().filter(|row| row["what"].as_str().is_some_and(|what| what.contains(word)));
        found.map(|row| row["at"].as_i64().unwrap()).min().unwrap_or_else(|| panic!("{word}: {history:#}"))
    };
    Duration::from_millis((at("100% of the clients") - at("lowering")) as u64)
}

/// A start knows nothing of what was told before it: the journal's word counts.
#[test]
fn a_crash_falls_back_to_what_the_journal_says() {
    let home = home_with("'8s'", None);
    let daemon = home.serve();
    let began = Instant::now();
    let mut run = beside(&home, "switchover a.example --to pmtpa --reason planned");
    until_phase(&home, "lowering", "0%");
    daemon.kill();
    let _ = run.wait();
    let daemon = home.serve();
    until_phase(&home, "baking", "100%");
    assert!(began.elapsed() >= Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(seen_by(&daemon, client(1)).0, PMTPA);
}

/// An end in order loses nothing: after the next start it is known as well that nobody was told.
#[test]
fn a_stop_in_order_keeps_who_was_told_what() {
    let home = home_with("'1h'", None);
    let daemon = home.serve();
    let explain = || home.expect(0, &format!("explain {} www.a.example", client(1)));
    let before = explain();
    seen_by(&daemon, client(1));
    daemon.stop();
    let daemon = home.serve();
    let known = explain();
    assert_eq!(known["told"][0]["site"], "knams", "{known:#}");
    assert_eq!(known["blind_until"], before["blind_until"], "no more is unknown than before");
    // After a crash all is unknown that was told before it.
    daemon.kill();
    let _daemon = home.serve();
    let known = explain();
    assert!(known["blind_until"].as_i64() > before["blind_until"].as_i64(), "{known:#}");
    assert!(known["told"].as_array().unwrap().is_empty(), "{known:#}");
}

/// A flood of questions makes a wait longer, up to what the journal says, and never shorter.
#[test]
fn a_flood_changes_no_more_than_the_journal_allows() {
    let home = home_with("'5s'", None);
    let daemon = home.serve();
    flood(&daemon);
    let began = Instant::now();
    let mut run = beside(&home, "switchover a.example --to pmtpa --reason planned");
    until_phase(&home, "lowering", "0%");
    // New answers to everybody who was told the old one: none of them is proven.
    flood(&daemon);
    until_phase(&home, "draining", "100%");
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(4500), "{waited:?}");
    flood(&daemon);
    until_over(&home);
    run.wait().unwrap();
}

fn flood(daemon: &Daemon) {
    for number in 0..300 {
        seen_by(daemon, client(number));
    }
}

/// A secondary that gives the old content keeps caches fed with it.
#[test]
fn peer_a_name_server_that_lags_is_waited_for() {
    let origin = Name::absolute(ZONE).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let text = format!("$ORIGIN a.example.\n{}", COMMON.replace("host 100", "host 1"));
    let nsd = Server::nsd(&[ZoneFile::write(dir.path(), &origin, text.as_bytes())]);
    let home = home_with("'3s'", Some(&nsd.address.to_string()));
    let _daemon = home.serve();
    home.expect(0, "failover a.example --to pmtpa");
    let began = Instant::now();
    let lags = wait_for("the one that lags", || {
        let shown = format!("{:#?}", moves(&home));
        if shown.contains("tells serial 1, not") { Ok(shown) } else { Err(shown) }
    });
    assert!(lags.contains(&nsd.address.to_string()), "{lags}");
    // Longer than anything that this server told can be held.
    while began.elapsed() < Duration::from_secs(6) {
        assert_eq!(moves(&home)[0]["phase"], "draining");
        std::thread::sleep(Duration::from_millis(200));
    }
}
