//! Killed at any moment, it goes on from what the journal says: routing, generation, content, and no serial that is
//! lower than any that a client saw.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use understudy::failover::effect::Effect;
use understudy::failover::state::State;
use understudy::rr::RrType;
use understudy::store::Store;
use understudy::store::journal::{Journal, Published};

use crate::support::daemon::{Daemon, Home, query, serial_in};
use crate::support::generate::Rng;
use crate::support::message;
use crate::{COMMON, home};

/// How often it is killed.
const KILLS: usize = 36;

/// Asks without pause, and keeps the greatest serial that it was told.
fn watch(daemon: &Daemon, greatest: &AtomicU32, over: &AtomicBool) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(daemon.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let queries = [query("a.example", RrType::SOA), query("none.a.example", RrType::A)];
    let mut buffer = [0; 4096];
    for number in 0.. {
        if over.load(Ordering::Acquire) {
            return;
        }
        let _ = socket.send(&queries[number % 2]);
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let serial = message::read(&buffer[..length]).ok().as_ref().and_then(serial_in);
        greatest.fetch_max(serial.unwrap_or(0), Ordering::AcqRel);
    }
}

/// Changes the zone and moves it about until the daemon is gone.
fn operate(home: &Home, seed: u64, over: &AtomicBool) {
    let mut rng = Rng::new(seed);
    for number in 0.. {
        if over.load(Ordering::Acquire) {
            return;
        }
        if rng.chance(40) {
            home.write("common.zone", &COMMON.replace("TXT one", &format!("TXT s{seed}n{number}")));
            home.cli("reload");
        } else {
            let to = *rng.pick(&["knams", "pmtpa"]);
            let region = *rng.pick(&["", "--region europe", "--region default"]);
            home.cli(&format!("failover a.example --to {to} {region}"));
        }
    }
}

/// What the journal says of the zone, the note that the texts it kept have, and what was decided and is not published.
fn journaled(home: &Home) -> (Published, String, Option<State>) {
    let store = Store::open(Some(&home.path("var"))).unwrap();
    let row = store.journal().published().unwrap().remove(0);
    let bundle = store.texts().bundle(row.live).unwrap().unwrap();
    // As the site that everybody else is answered from was published.
    let site = row.routing["view"]["routes"]["default"]["site"].as_str().unwrap();
    let common = understudy::store::texts::Role::Common(site.into());
    let part = bundle.parts.iter().find(|part| part.role == common).unwrap();
    let text = String::from_utf8(part.kept.files["common.zone"].to_vec()).unwrap();
    let note = text.lines().find_map(|line| line.strip_prefix("note IN TXT ")).unwrap().to_owned();
    let decided = store.journal().latest_of("public/").unwrap().pop();
    let decided = decided.map(|(_, row)| serde_json::from_value::<State>(row.state).unwrap());
    let publishes = |state: &State| state.pending.values().any(|pending| pending.effect == Effect::Publish);
    (row, note, decided.filter(publishes))
}

#[test]
fn killed_at_any_moment_it_goes_on_from_the_last_row() {
    let home = home();
    let mut rng = Rng::new(20_100_324);
    let greatest = AtomicU32::new(0);
    for round in 0..KILLS {
        let daemon = home.serve();
        let over = AtomicBool::new(false);
        let pid = nix::unistd::Pid::from_raw(daemon.pid() as i32);
        thread::scope(|scope| {
            scope.spawn(|| watch(&daemon, &greatest, &over));
            scope.spawn(|| operate(&home, round as u64, &over));
            thread::sleep(Duration::from_micros(rng.below(150_000) as u64));
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
            over.store(true, Ordering::Release);
        });
        daemon.kill();

        // The files are as they were, or were broken, removed, or replaced by a directory meanwhile.
        let (row, note, decided) = journaled(&home);
        let path = home.path("common.zone");
        std::fs::remove_file(&path).unwrap();
        let kind = round % 4;
        match kind {
            0 => home.write("common.zone", &COMMON.replace("TXT one", &format!("TXT {note}"))),
            1 => home.write("common.zone", "@ IN SOA broken\n"),
            2 => {}
            _ => std::fs::create_dir(&path).unwrap(),
        }
        let from = std::fs::read_to_string(home.path("log")).unwrap().len();
        let daemon = home.serve();
        let (zone, status) = (home.zone("a.example"), home.expect(0, "status"));
        let routes = zone["routes"].as_array().unwrap().iter();
        let routes: BTreeMap<&str, &str> =
            routes.map(|route| (route["region"].as_str().unwrap(), route["site"].as_str().unwrap())).collect();
        // A move that was decided and not published by then goes on.
        let went_on = u64::from(decided.is_some());
        let published = row.routing["view"]["routes"].as_object().unwrap();
        let published: BTreeMap<&str, &str> =
            published.iter().map(|(region, route)| (region.as_str(), route["site"].as_str().unwrap())).collect();
        let routed = match &decided {
            Some(state) => {
                state.routes().into_iter().map(|(region, route)| (region.to_string(), route.site.to_string())).collect()
            }
            None => published
                .iter()
                .map(|(region, site)| (region.to_string(), site.to_string()))
                .collect::<BTreeMap<_, _>>(),
        };
        assert!(routes.iter().all(|(region, site)| routed[*region] == **site), "round {round}: {routes:?}, {routed:?}");
        let served = daemon.serial("a.example");
        let seen = greatest.load(Ordering::Acquire);
        assert!(served >= seen, "round {round}: {served} is served after {seen}");
        assert_eq!(daemon.data("note.a.example", RrType::TXT), [[&[note.len() as u8], note.as_bytes()].concat()]);
        if kind > 0 {
            assert_eq!(status["generation"].as_u64(), Some(row.generation + went_on), "round {round}");
            assert!(served == row.serial.0 || went_on > 0, "round {round}");
            assert_eq!(zone["content"]["state"], "last_good", "round {round}");
            assert!(daemon.log()[from..].contains("the last good content is served on"), "it is said loudly");
        } else {
            assert!(status["generation"].as_u64().unwrap() >= row.generation);
            assert_eq!(zone["content"]["state"], "loaded");
        }
        daemon.kill();
        match kind {
            3 => std::fs::remove_dir(&path).unwrap(),
            _ => drop(std::fs::remove_file(&path)),
        }
        home.write("common.zone", &COMMON.replace("TXT one", &format!("TXT {note}")));
    }
    assert!(greatest.load(Ordering::Acquire) > 100 + KILLS as u32 / 2, "something happened in between");
}
