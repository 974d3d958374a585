//! Under load: no query is lost, and no answer is without what was asked for, whatever is changed meanwhile.

use std::collections::HashSet;
use std::net::UdpSocket;
use std::time::Duration;

use nix::sys::signal::Signal;
use understudy::control::api::moves::{MoveKind, MoveOutcome, MoveRequest};
use understudy::control::api::{ReloadOutcome, ReloadRequest, Request, Response};
use understudy::control::client::call;
use understudy::rr::RrType;

use crate::support::blast::Blast;
use crate::support::client;
use crate::support::daemon::{Daemon, Home, query};
use crate::{COMMON, home};

/// Reloads and failovers, half of each.
const CHANGES: usize = 100;
/// Queries a second; as many again go to the echo server.
const RATE: u32 = 20_000;

fn request(home: &Home, request: &Request) -> Response {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(call(&home.path("var"), request)).unwrap_or_else(|failure| panic!("{failure}"))
}

fn fail_over(home: &Home, to: &str) {
    let order = MoveRequest {
        kind: MoveKind::Failover,
        steps: Vec::new(),
        zone: "a.example".into(),
        to: Some(to.into()),
        from: None,
        region: None,
        dry_run: false,
        plan: None,
        reason: None,
        overrides: Vec::new(),
    };
    let Response::Move(report) = request(home, &Request::Move(order)) else { panic!("no failover") };
    assert!(matches!(report.outcome, MoveOutcome::Done { confirmed: true, .. }), "{report:?}");
}

/// Edits one RRset, and has it taken.
fn edit(home: &Home, note: &str) {
    home.write("common.zone", &COMMON.replace("TXT one", &format!("TXT {note}")));
    let Response::Reload(report) = request(home, &Request::Reload(ReloadRequest::default())) else {
        panic!("no reload")
    };
    assert!(matches!(report.zones[0].outcome, ReloadOutcome::Published { .. }), "{report:?}");
}

/// The answers to these queries, without their ids.
fn answers(daemon: &Daemon, queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    client::ask(daemon.address, queries).into_iter().map(|answer| answer[2..].to_vec()).collect()
}

#[test]
fn blast_nothing_is_lost_and_nothing_is_missing_through_a_hundred_changes() {
    let home = home();
    // Room for a second or two of queries, should the machine give the processor to others for so long.
    home.edit("understudy.toml", "workers = 1", "workers = 4");
    let daemon = home.serve();
    let questions =
        [("www", RrType::A), ("www", RrType::AAAA), ("direct", RrType::A), ("note", RrType::TXT), ("mx", RrType::A)];
    let queries: Vec<_> = questions.map(|(name, rtype)| query(&format!("{name}.a.example"), rtype)).into();
    // Whatever is right at one time or another: each answer comes whole from one site and one edit.
    let mut right: Vec<HashSet<Vec<u8>>> = vec![HashSet::new(); queries.len()];
    for note in ["two", "one"] {
        edit(&home, note);
        for to in ["pmtpa", "knams"] {
            fail_over(&home, to);
            for (right, answer) in right.iter_mut().zip(answers(&daemon, &queries)) {
                right.insert(answer);
            }
        }
    }
    assert_eq!(right.iter().map(HashSet::len).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);

    let blast = Blast { target: daemon.address, rate: RATE, queries, rounds: 8 };
    // Rounds that were void do not count here, either.
    let mut before = 0;
    let outcome = blast.run(
        |query, answer| right[query].contains(&answer[2..]),
        |_| {
            before = daemon.overflowed();
            for change in 0..CHANGES / 2 {
                edit(&home, ["two", "one"][change % 2]);
                fail_over(&home, ["pmtpa", "knams"][change % 2]);
            }
        },
    );
    eprintln!("{outcome:?}");
    assert_eq!((outcome.lost, outcome.strange), (0, 0), "{outcome:?}");
    assert_eq!(outcome.sent, outcome.answered);
    assert_eq!(daemon.overflowed(), before, "the kernel had room for all of them");
    assert_eq!(home.expect(0, "status")["generation"].as_u64().map(|made| made > CHANGES as u64), Some(true));
}

/// SIGTERM: what was sent before is answered.
#[test]
fn what_is_in_flight_is_answered_at_the_end() {
    const QUERIES: u16 = 150;
    let home = home();
    for _ in 0..5 {
        let mut daemon = home.serve();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut packet = query("www.a.example", RrType::A);
        for id in 0..QUERIES {
            packet[..2].copy_from_slice(&id.to_be_bytes());
            socket.send_to(&packet, daemon.address).unwrap();
        }
        daemon.signal(Signal::SIGTERM);
        let mut answered = HashSet::new();
        let mut buffer = [0; 4096];
        while answered.len() < QUERIES.into() {
            let Ok(length) = socket.recv(&mut buffer) else { break };
            assert!(length > packet.len());
            answered.insert([buffer[0], buffer[1]]);
        }
        assert_eq!(answered.len(), usize::from(QUERIES));
        assert!(daemon.wait().success());
    }
}
