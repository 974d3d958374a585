//! A switchover over many caches, whose settings nobody knows until they are calibrated: what was foreseen, as the journal has
//! it from before the move, against what was measured.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use understudy::name::Name;
use understudy::probe::ask::query;
use understudy::rr::RrType;

use super::support::daemon::Home;
use super::support::fleet::Fleet;
use super::support::lab::{is_isolated, isolated};
use super::support::message;
use super::support::sign::run;

/// The TTL of what moves, in seconds.
const TTL: u32 = 60;
/// How many caches.
const CACHES: u32 = 200;
/// So far may a foreseen time be from the measured one, in parts.
const TOLERANCE: f64 = 0.15;
/// How many standard deviations a share of a sample may be off: 99 %.
const DEVIATIONS: f64 = 2.576;
/// No cache of the fleet holds an answer for longer, in seconds.
const LONGEST: u64 = 150;

#[test]
fn peer_switchover_of_a_fleet_comes_as_foreseen() {
    isolated("switchover::peer_switchover_of_a_fleet_comes_as_foreseen", || {
        if std::env::var_os("UNDERSTUDY_LONG").is_none() || !is_isolated() {
            eprintln!("only with UNDERSTUDY_LONG, and where there are namespaces: it takes about a quarter of an hour");
            return;
        }
        for address in ["127.0.0.2/32", "127.0.0.3/32"] {
            run(Command::new("ip").args(["address", "add", address, "dev", "lo"]));
        }
        let number = |name: &str, usual: u32| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
        switch(number("UNDERSTUDY_CACHES", CACHES), number("UNDERSTUDY_SEED", 1).into());
    });
}

/// A drawn number, the same for each seed.
struct Draw(u64);

impl Draw {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, least: u32, most: u32) -> u32 {
        least + (self.part() * f64::from(most - least)) as u32
    }
}

/// Real caches, with settings by chance: half of them keep TTLs.
fn fleet(zone: &Name, caches: u32, draw: &mut Draw) -> Fleet {
    let mut fleet = Fleet::apart(zone, Ipv4Addr::new(127, 0, 0, 3));
    // The canaries have a server of their own.
    fleet.also("_canary.wiki.example", Ipv4Addr::new(127, 0, 0, 2));
    for number in 0..caches {
        let name: &'static str = format!("r{number:03}").leak();
        match draw.between(0, 100) {
            0..50 => fleet.unbound(name, &[]),
            50..68 => fleet.unbound(name, &[&format!("cache-min-ttl: {}", draw.between(70, LONGEST as u32 - 5))]),
            68..82 => fleet.unbound(name, &[&format!("cache-max-ttl: {}", draw.between(12, 50))]),
            82..88 => fleet.unbound(name, &["serve-expired: yes"]),
            88..95 => fleet.unbound(name, &["prefetch: yes"]),
            _ => fleet.shim(name, |_, ttl| ttl + ttl / 2),
        }
    }
    fleet
}

/// What a cache gave to its users.
#[derive(Clone, Copy, Default)]
struct Seen {
    last_old: Option<f64>,
    first_new: Option<f64>,
    answers: u32,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Users of every cache, each at a rate of its own, until they are told to stop.
fn users(caches: &[SocketAddr], draw: &mut Draw, stop: &Arc<AtomicBool>) -> Arc<Mutex<HashMap<SocketAddr, Seen>>> {
    let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let seen = Arc::new(Mutex::new(caches.iter().map(|cache| (*cache, Seen::default())).collect::<HashMap<_, _>>()));
    let asks = query(Name::absolute("www.wiki.example").unwrap().as_ref(), RrType::A, 0x5555);
    // From half a question in a second to four; the first ones come spread, so that caches are not filled together.
    let mut rates: Vec<(SocketAddr, f64)> = Vec::new();
    let mut due = BinaryHeap::new();
    let began = Instant::now();
    for (at, cache) in caches.iter().enumerate() {
        rates.push((*cache, 0.5 * 8f64.powf(draw.part())));
        due.push(Reverse(((draw.part() * LONGEST as f64 * 1e6) as u64, at)));
    }
    let (sender, ended) = (Arc::clone(&socket), Arc::clone(stop));
    let mut own = Draw(draw.number());
    std::thread::spawn(move || {
        while let Some(Reverse((micros, at))) = due.pop().filter(|_| !ended.load(Ordering::Relaxed)) {
            std::thread::sleep(Duration::from_micros(micros).saturating_sub(began.elapsed()));
            let (cache, rate) = rates[at];
            let _ = sender.send_to(&asks, cache);
            let wait = -(1.0 - own.part()).ln() / rate;
            due.push(Reverse((micros + (wait * 1e6) as u64, at)));
        }
    });
    let (known, ended) = (Arc::clone(&seen), Arc::clone(stop));
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while !ended.load(Ordering::Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
            let Ok(answer) = message::read(&buffer[..length]) else { continue };
            let Some(data) = answer.answers.iter().find(|record| record.rtype == RrType::A) else { continue };
            let mut known = known.lock().unwrap();
            let Some(cache) = known.get_mut(&from) else { continue };
            cache.answers += 1;
            match data.rdata.last() {
                Some(1) => (cache.last_old, cache.first_new) = (Some(now()), None),
                _ => cache.first_new = cache.first_new.or(Some(now())),
            }
        }
    });
    seen
}

fn switch(caches: u32, seed: u64) {
    let (mut draw, zone) = (Draw(seed), Name::absolute("wiki.example").unwrap());
    let text = |octet: u8| format!("www {TTL} A 192.0.2.{octet}\n");
    let common = format!(
        "$ORIGIN wiki.example.\n$TTL {TTL}\n@ SOA ns1 hostmaster 1 3600 600 86400 {TTL}\n@ NS ns1\nns1 A 127.0.0.3\n\
         _canary NS ns._canary\nns._canary A 127.0.0.2\n"
    );
    let home = Home::new(
        &format!(
            "state_dir = 'state'\n[server]\nlisten = ['127.0.0.3:53']\n[canary]\nzone = '_canary.wiki.example'\n\
             listen = ['127.0.0.2:53']\n[probe]\nttls = ['{TTL}s']\nwatch = '4m'\ndaily_questions = 100000\n\
             [[zone]]\nname = 'wiki.example'\nfile = 'zone'\nname_servers = ['127.0.0.3:53']\n[[zone.site]]\n\
             name = 'one'\nfile = 'one'\n[[zone.site]]\nname = 'two'\nfile = 'two'\n[zone.policy]\nbake = '2s'\n\
             steps = ['100%']\nlow_ttl = '{TTL}s'\n"
        ),
        &[("zone", &common), ("one", &text(1)), ("two", &text(2))],
    );
    let _daemon = home.serve();
    let began = Instant::now();
    let fleet = fleet(&zone, caches, &mut draw);
    let addresses = fleet.addresses();
    let mut resolvers = String::new();
    for (name, address) in &addresses {
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{}'\nrate = 20\n", address.ip());
    }
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));
    home.expect(0, "reload");
    eprintln!("{:>4} s: {} caches are up", began.elapsed().as_secs(), addresses.len());

    let stop = Arc::new(AtomicBool::new(false));
    let all: Vec<SocketAddr> = addresses.iter().map(|(_, address)| *address).collect();
    let seen = users(&all, &mut draw, &stop);
    let measured = home.command(&["probe", "calibrate", "--json"]).output().unwrap();
    let lines = String::from_utf8(measured.stdout).unwrap();
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let known = found.iter().filter(|found| found["unknown"].is_null()).count();
    eprintln!("{:>4} s: {known} of {} are measured", began.elapsed().as_secs(), found.len());
    for failed in found.iter().filter(|found| !found["unknown"].is_null()) {
        eprintln!("       {}: {}", failed["name"], failed["unknown"]);
    }

    home.expect(0, "switchover wiki.example --to two --until begun --reason fleet");
    let follow = home.command(&["follow", "wiki.example"]).output().unwrap();
    let told = String::from_utf8(follow.stdout).unwrap();
    stop.store(true, Ordering::Relaxed);
    eprintln!("{:>4} s: the move has ended\n{told}", began.elapsed().as_secs());
    assert!(follow.status.success());
    let history = home.expect(0, "history wiki.example --limit 100");
    let entries = history["entries"].as_array().unwrap();
    let entry = |part: &str| entries.iter().find(|entry| entry["what"].as_str().unwrap().contains(part)).unwrap();
    let step = entry("100% of the clients answered")["at"].as_i64().unwrap() as f64 / 1000.0;
    let foreseen = entry("foreseen after the first step");
    assert!((foreseen["at"].as_i64().unwrap() as f64) < step * 1000.0, "it is in the journal before the move");
    let seen = seen.lock().unwrap().clone();
    compare(foreseen["what"].as_str().unwrap(), &seen, step);
}

/// Prints each quantile, foreseen and measured, and fails where they are too far apart.
fn compare(foreseen: &str, seen: &HashMap<SocketAddr, Seen>, step: f64) {
    // Between the last old answer and the first new one that somebody asked for.
    let moved = |seen: &Seen| {
        let (Some(old), Some(new)) = (seen.last_old, seen.first_new) else { return f64::INFINITY };
        f64::midpoint(old, new) - step
    };
    let mut times: Vec<f64> = seen.values().map(moved).collect();
    times.sort_by(f64::total_cmp);
    let count = times.len() as f64;
    eprintln!("{foreseen}\n{} caches, {} answers", times.len(), seen.values().map(|seen| seen.answers).sum::<u32>());
    eprintln!("QUANTILE  FORESEEN  MEASURED    OFF  BY THEN  INTERVAL");
    let mut wrong = Vec::new();
    for percent in [50, 90, 99] {
        let share = f64::from(percent) / 100.0;
        let at = foreseen.split(&format!("{percent} % after ")).nth(1).and_then(|rest| rest.split(' ').next());
        let at: f64 = at.and_then(|at| at.parse().ok()).unwrap_or(f64::INFINITY);
        let measured = times[((share * count).ceil() as usize).clamp(1, times.len()) - 1];
        let off = (at - measured) / measured;
        let by_then = times.iter().filter(|time| **time <= at).count() as f64 / count;
        let deviation = DEVIATIONS * (share * (1.0 - share) / count).sqrt() + 0.5 / count;
        let is_good = off.abs() <= TOLERANCE || (by_then - share).abs() <= deviation;
        eprintln!(
            "{percent:>6} %  {at:>6.1} s  {measured:>6.1} s  {:>+4.0} %  {:>5.1} %  {:.1} to {:.1} %{}",
            off * 100.0,
            by_then * 100.0,
            (share - deviation) * 100.0,
            ((share + deviation) * 100.0).min(100.0),
            if is_good { "" } else { "  TOO FAR" }
        );
        if !is_good {
            wrong.push(percent);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn what_is_compared_can_fail() {
    let cache = |at: u8| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 1, at, 10)), 53);
    let all = |scale: f64| -> HashMap<SocketAddr, Seen> {
        let seen = |at: u8| Seen {
            last_old: Some(1000.0 + f64::from(at) * scale),
            first_new: Some(1000.0 + f64::from(at) * scale),
            answers: 1,
        };
        (0..200).map(|at| (cache(at), seen(at))).collect()
    };
    let foreseen = "of 200 measured resolvers, 50 % after 50.0 s, 90 % after 90.0 s, 99 % after 99.0 s";
    compare(foreseen, &all(0.5), 1000.0);
    assert!(std::panic::catch_unwind(|| compare(foreseen, &all(0.7), 1000.0)).is_err());
}
