//! What clients see of a switchover, from the outside.

use understudy::rr::RrType;

use crate::support::daemon::Daemon;
use crate::{
    FAST, KNAMS, PMTPA, QUICK, TTL, ZONE, at_site, beside, client, count, home, lines_of, nobody_back, routes, seen_by,
    until_over, until_phase,
};

/// How many clients are asked: enough for the shares to be told apart, and few enough for a phase.
const CLIENTS: u16 = 400;

fn ttl_of(daemon: &Daemon, name: &str, rtype: RrType) -> u32 {
    daemon.ask_from(client(1), name, rtype).answers[0].ttl
}

/// TTLs go down where something will change, and nowhere else; then a tenth, half and all of the clients go over, and
/// nobody goes back; then TTLs are what they were.
#[test]
fn a_switchover_goes_through_its_phases_as_clients_see_them() {
    let home = home(QUICK);
    let daemon = home.serve();
    assert_eq!(seen_by(&daemon, client(0)), (KNAMS, TTL));
    let serial = daemon.serial(ZONE);
    let run = beside(&home, "switchover a.example --to pmtpa --reason planned");

    until_phase(&home, "lowering", "0%");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), 0, "nobody moves before old TTLs have run out");
    for (name, rtype, ttl) in [
        ("www.a.example", RrType::A, 1),
        ("a.example", RrType::A, 1),
        ("mx.a.example", RrType::A, TTL),
        ("note.a.example", RrType::TXT, TTL),
        ("a.example", RrType::MX, TTL),
        ("a.example", RrType::NS, TTL),
    ] {
        assert_eq!(ttl_of(&daemon, name, rtype), ttl, "{name} {rtype} while TTLs are lowered");
    }

    // Four standard deviations to either side.
    until_phase(&home, "shifting", "10%");
    let tenth = at_site(&daemon, PMTPA, CLIENTS);
    assert!((16..=64).contains(&count(&tenth)), "{} of {CLIENTS} at 10%", count(&tenth));
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), tenth, "nobody changes sides while the share stands");
    until_phase(&home, "shifting", "50%");
    let half = at_site(&daemon, PMTPA, CLIENTS);
    assert!((160..=240).contains(&count(&half)), "{} of {CLIENTS} at 50%", count(&half));
    nobody_back(&tenth, &half);
    until_phase(&home, "draining", "100%");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), usize::from(CLIENTS));
    assert_eq!(ttl_of(&daemon, "www.a.example", RrType::A), 1, "TTLs stay low until it is certain that it holds");
    until_phase(&home, "baking", "100%");
    assert_eq!(seen_by(&daemon, client(0)), (PMTPA, 1));
    until_over(&home);
    assert_eq!(seen_by(&daemon, client(0)), (PMTPA, TTL));
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"]);
    assert!(daemon.serial(ZONE) > serial);

    let (code, lines) = lines_of(run);
    assert_eq!((code, &lines[0]["outcome"]), (0, &"begun".into()), "{lines:#?}");
    let (end, events) = lines[1..].split_last().unwrap();
    assert_eq!(end["outcome"], "done", "{lines:#?}");
    let told: String = events.iter().map(|event| event["text"].as_str().unwrap().to_owned() + "\n").collect();
    let order = ["lowering", "10% of the clients", "50% of the clients", "draining", "baking"];
    let places: Vec<_> =
        order.iter().map(|word| told.find(word).unwrap_or_else(|| panic!("{word}:\n{told}"))).collect();
    assert!(places.is_sorted(), "{told}");
    let numbers: Vec<_> = events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

/// Everybody goes over at once; the command says so then, and until when caches may hold the old answers.
#[test]
fn a_failover_moves_everybody_at_once_and_tells_until_when_old_answers_are_held() {
    let home = home(FAST);
    let daemon = home.serve();
    let before = at_site(&daemon, KNAMS, CLIENTS);
    assert_eq!(count(&before), usize::from(CLIENTS));
    let done = home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), usize::from(CLIENTS));
    assert_eq!((&done["outcome"], &done["confirmed"], &done["old_ttl"]), (&"done".into(), &true.into(), &TTL.into()));
    assert!(done["old_until"].is_string() || done["old_until"].is_number(), "{done:#}");
    assert_eq!(done["serial"], daemon.serial(ZONE));
    until_over(&home);
    assert_eq!(seen_by(&daemon, client(0)), (PMTPA, TTL));
}
