//! Reloads and failovers under load: what is lost, and how long answers take at worst, beside an echo server that gets as
//! many queries from the same generator at the same time. A round in which that one loses any is void.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use super::failover::{SITES, STILL, Started};
use super::mix::Mix;
use super::{PATIENCE, serial};
use blast::{Blast, Outcome};

#[path = "../../tests/support/blast.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod blast;

/// The load goes on for so long before and after.
const AROUND: Duration = Duration::from_millis(500);
/// As much worse than the echo server's the worst delay may be.
const WITHIN: Duration = Duration::from_millis(20);

/// Measures so many reloads and failovers of a zone of so many names, under `rate` queries a second.
pub fn measure(names: usize, rounds: usize, rate: u32) {
    let dir = tempfile::tempdir().expect("a directory");
    let mix = Mix::of(names);
    for (site, version) in SITES.into_iter().zip(1..) {
        fs::write(dir.path().join(site), mix.text(version)).expect("the zone is written");
    }
    std::thread::sleep(STILL);
    let server = Started::new(&dir.path().join("server"), dir.path(), &SITES);
    let queries = mix.queries(50_000);
    let blast = Blast { target: server.address, rate, queries, rounds: 1 };
    let mut generation = 1;
    for (what, moves) in [("failover", true), ("reload", false)] {
        println!("\n{what}, {names} names, {rate} queries a second");
        println!("{:>8}{:>10}{:>8}{:>8}{:>10}{:>10}", "ms", "sent", "lost", "drops", "worst ms", "echo's ms");
        let (mut counted, mut close, mut lost) = (0, 0, 0);
        for round in 0..rounds {
            let before = drops(server.address);
            let mut took = 0.0;
            // A version of its own each time; the texts differ as the two sites do.
            let text = (!moves).then(|| mix.text(3 + round as u32));
            if moves {
                server.wait_until_verified(generation);
            }
            let (outcome, echoed) = blast.round(&|_, answer: &[u8]| matches!(answer[3] & 0x0F, 0 | 3), || {
                std::thread::sleep(AROUND);
                took = match &text {
                    Some(text) => reload(&server, &dir.path().join(SITES[rounds % 2]), text),
                    None => {
                        let (took, next) = server.fail_over(SITES[(round + 1) % 2]);
                        generation = next;
                        took
                    }
                };
                std::thread::sleep(AROUND);
            });
            let drops = drops(server.address) - before;
            let void = echoed.lost > 0;
            println!("{}{}", row(took, &outcome, &echoed, drops), if void { "  void" } else { "" });
            if !void {
                counted += 1;
                lost += outcome.lost + outcome.strange + drops;
                close += usize::from(outcome.worst <= echoed.worst + WITHIN);
            }
        }
        println!("{close} of {counted} rounds within {} ms of the echo server, {lost} lost", WITHIN.as_millis());
    }
}

fn row(took: f64, outcome: &Outcome, echoed: &Outcome, drops: u64) -> String {
    let [worst, echo] = [outcome, echoed].map(|outcome| outcome.worst.as_secs_f64() * 1000.0);
    format!("{took:8.1}{:10}{:8}{drops:8}{worst:10.1}{echo:10.1}", outcome.sent, outcome.lost + outcome.strange)
}

/// Milliseconds until the site's new text is served.
fn reload(server: &Started, file: &Path, text: &str) -> f64 {
    let before = serial(server.address);
    let beside = file.with_extension("new");
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, file)).expect("the zone is written");
    let begun = Instant::now();
    kill(server.process.id(), Signal::SIGHUP).expect("it runs");
    while serial(server.address).is_none_or(|now| Some(now) == before) {
        assert!(begun.elapsed() < PATIENCE && server.process.is_running(), "it does not reload");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed().as_secs_f64() * 1000.0
}

/// How many datagrams the kernel has thrown away in front of the server (`SO_RXQ_OVFL` tells the server the same).
fn drops(address: SocketAddr) -> u64 {
    let port = format!(":{:04X}", address.port());
    let sockets = fs::read_to_string("/proc/net/udp").expect("the kernel tells of its sockets");
    let own = sockets.lines().filter(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port)));
    own.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum()
}
