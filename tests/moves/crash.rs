//! Killed in any phase, a run goes on to its right end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use understudy::rr::RrType;

use crate::support::daemon::{Daemon, Home};
use crate::support::generate::Rng;
use crate::{
    KNAMS, PMTPA, QUICK, SLOW, TTL, ZONE, at_site, beside, client, count, home, moves, nobody_back, routes, seen_by,
    short, until_over, until_phase,
};

const CLIENTS: u16 = 200;
/// How often it is killed at any moment.
const ROUNDS: usize = 6;

/// Kills it and starts it again, on the same port.
fn again(home: &Home, daemon: Daemon) -> Daemon {
    let serial = daemon.serial(ZONE);
    daemon.kill();
    let daemon = home.serve();
    assert!(daemon.serial(ZONE) >= serial, "the serial fell from {serial} to {}", daemon.serial(ZONE));
    daemon
}

/// Lowering, each step, draining and baking: whoever had moved is where he was, no serial is lower, and in the end all
/// have moved and TTLs are what they were.
#[test]
fn killed_in_every_phase_a_switchover_goes_on_to_its_end() {
    let home = home(QUICK);
    let mut daemon = home.serve();
    let run = home.expect(0, "switchover a.example --to pmtpa --until begun")["run"].clone();
    let mut moved = vec![false; CLIENTS.into()];
    let phases =
        [("lowering", "0%"), ("shifting", "10%"), ("shifting", "50%"), ("draining", "100%"), ("baking", "100%")];
    for (phase, share) in phases {
        until_phase(&home, phase, share);
        let before = at_site(&daemon, PMTPA, CLIENTS);
        daemon = again(&home, daemon);
        let after = at_site(&daemon, PMTPA, CLIENTS);
        nobody_back(&moved, &before);
        nobody_back(&before, &after);
        let now = &moves(&home)[0];
        assert_eq!(now["run"], run, "{now:#}");
        // If it stands where it stood, so does everybody.
        if now["share"] == share {
            assert_eq!(before, after, "{phase} at {share}");
        }
        moved = after;
    }
    until_over(&home);
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"]);
    assert_eq!(seen_by(&daemon, client(0)), (PMTPA, TTL));
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), usize::from(CLIENTS));
    let history = home.expect(0, "history a.example");
    let ends = history["entries"].as_array().unwrap().iter().filter(|entry| {
        entry["what"].as_str().is_some_and(|what| what.contains("done: its regions are answered from pmtpa"))
    });
    assert_eq!(ends.count(), 1, "it ended once: {history:#}");
}

/// A hold outlives the process, and so does the side of each client; on the way back, too.
#[test]
fn killed_while_it_is_held_and_while_it_goes_back() {
    // Old answers are waited for on the way back, too.
    let home = home(&SLOW.replace("low_ttl = '0s'", "low_ttl = '2s'"));
    let mut daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    home.expect(0, "hold a.example --reason lunch");
    let before = at_site(&daemon, PMTPA, CLIENTS);
    assert!(count(&before) > 0);
    daemon = again(&home, daemon);
    let now = &moves(&home)[0];
    assert!(now["held"].as_str().unwrap().contains("lunch"), "{now:#}");
    assert_eq!((&now["phase"], &now["share"]), (&"shifting".into(), &"10%".into()));
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), before);
    home.expect(0, "resume a.example");
    home.expect(0, "abort a.example");
    until_phase(&home, "draining", "0%");
    daemon = again(&home, daemon);
    until_over(&home);
    assert_eq!(routes(&home), ["knams", "knams"]);
    assert_eq!(seen_by(&daemon, client(0)), (KNAMS, TTL), "TTLs are what they were");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), 0);
}

/// Killed at any moment around a failover, whoever asks is never told a lower serial than before, and what was answered
/// after the command had ended stays so.
#[test]
fn killed_right_after_a_failover_it_never_tells_a_lower_serial() {
    let home = home("bake = '1s'\nlow_ttl = '1s'\n");
    let mut daemon = home.serve();
    let greatest = AtomicU32::new(0);
    for round in 0..6 {
        let (to, octet) = if round % 2 == 0 { ("pmtpa", PMTPA) } else { ("knams", KNAMS) };
        let over = AtomicBool::new(false);
        let published = thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    greatest.fetch_max(daemon.serial(ZONE), Ordering::AcqRel);
                }
            });
            let done = home.cli(&format!("failover a.example --to {to}"));
            over.store(true, Ordering::Release);
            assert_eq!(done.code, 0, "{done:?}");
            done.json["serial"].as_u64().unwrap()
        });
        assert_eq!(u64::from(daemon.serial(ZONE)), published);
        daemon.kill();
        daemon = home.serve();
        let serial = daemon.serial(ZONE);
        assert!(serial >= greatest.load(Ordering::Acquire), "round {round}: {serial} after {greatest:?}");
        assert!(u64::from(serial) >= published);
        assert_eq!(seen_by(&daemon, client(3)).0, octet, "round {round}");
        assert_eq!(daemon.ask("a.example", RrType::A).answers[0].rdata[0], octet);
        home.expect(0, "reload");
    }
    assert!(greatest.load(Ordering::Acquire) > 105);
}

/// Nothing is waited for, so that all steps of a move and all that they lead to fall into a fraction of a second; it is
/// killed somewhere in there. Whether the command was heard or not: the zone ends whole at the one site or the other, with
/// the TTLs that it says, and goes on from there.
#[test]
fn killed_at_any_moment_of_a_move_it_ends_at_one_site_or_the_other() {
    let home = short("steps = ['10%', '50%']\nstep_wait = '0s'\nlow_ttl = '0s'\nbake = '0s'\n");
    let mut rng = Rng::new(20_251_020);
    let mut at = "knams";
    let (mut done, mut serial) = (0, 0);
    let mut daemon = home.serve();
    for round in 0..ROUNDS {
        let to = if at == "knams" { "pmtpa" } else { "knams" };
        let kind = *rng.pick(&["failover", "failover", "switchover"]);
        let command = beside(&home, &format!("{kind} a.example --to {to} --until begun"));
        // Half of the kills fall on the command and what it does at once, the others on what comes of itself.
        let most = if rng.chance(50) { 80_000 } else { 1_300_000 };
        thread::sleep(Duration::from_micros(rng.below(most) as u64));
        daemon.kill();
        let heard = command.wait_with_output().unwrap();
        daemon = home.serve();
        let zone = until_over(&home);
        let routes = routes(&home);
        let octet = seen_by(&daemon, client(9)).0;
        let whole = (routes[0].as_str(), octet);
        assert!(whole == ("knams", KNAMS) || whole == ("pmtpa", PMTPA), "round {round}: {whole:?} {zone:#}");
        assert_eq!(routes[0], routes[1], "round {round}");
        if heard.status.success() {
            assert_eq!(routes[0], to, "round {round}: what the command said is so");
        }
        done += usize::from(routes[0] == to);
        at = if routes[0] == "knams" { "knams" } else { "pmtpa" };
        assert_eq!(seen_by(&daemon, client(9)).1, 1, "round {round}: TTLs are what the zone says");
        assert!(daemon.serial(ZONE) >= serial, "round {round}: {} after {serial}", daemon.serial(ZONE));
        serial = daemon.serial(ZONE);
    }
    assert!(done > 0, "some were carried out");
}
