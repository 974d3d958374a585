//! Moves from end to end, on the real program: what clients are told in each phase, what a crash in each leaves, and what
//! operators can do meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod approval;
mod bounds;
mod crash;
mod disk;
mod drain;
mod drill;
mod dry;
mod edits;
mod follow;
mod lost;
mod march_2010;
mod phases;
mod ramp;
mod retain;
mod steer;
mod writers;

use std::net::{IpAddr, Ipv4Addr};

use serde_json::Value;
use understudy::rr::RrType;

use support::daemon::{Daemon, Home, free_port};
pub(crate) use support::report::{beside, failed, finding, lines_of};
pub(crate) use support::wait::wait_for;

/// A policy whose phases take seconds, and long enough to look at each.
pub(crate) const QUICK: &str = "steps = ['10%', '50%']\nstep_wait = '2s'\nlow_ttl = '1s'\nbake = '1s'\n";
/// One that is over as soon as can be.
pub(crate) const FAST: &str = "steps = ['50%']\nstep_wait = '1s'\nlow_ttl = '1s'\nbake = '1s'\n";
/// One whose steps and whose bake time end only when an operator ends them.
pub(crate) const SLOW: &str = "steps = ['10%', '50%']\nstep_wait = '1h'\nlow_ttl = '0s'\nbake = '1h'\n";

pub(crate) const ZONE: &str = "a.example";
/// How long everything may be held before it is lowered, in seconds.
pub(crate) const TTL: u32 = 2;
pub(crate) const KNAMS: u8 = 192;
pub(crate) const PMTPA: u8 = 198;
pub(crate) const ESAMS: u8 = 203;

const COMMON: &str = "$TTL 60
@ IN SOA ns0 host 100 1h 10m 2w 20
@ IN NS ns0
@ IN MX 10 mx
@ IN TXT \"v=spf1 mx -all\"
ns0 IN A 127.0.0.1
mx IN A 192.0.2.25
note IN TXT one
";

/// What differs at a site: the first octet of each address tells which.
pub(crate) fn site(octet: u8, more: &str) -> String {
    format!("$TTL 60\n@ IN A {octet}.0.2.10\nwww IN A {octet}.0.2.1\n{more}")
}

/// A zone with three sites, whose only name server is the daemon itself. Europe is the upper half of 127.0.0.0/8.
pub(crate) fn home(policy: &str) -> Home {
    let port = free_port();
    home_at(port, &format!("'127.0.0.1:{port}'"), policy)
}

/// One whose moves are soon at their first step, and stay there.
pub(crate) fn slow() -> Home {
    short(SLOW)
}

/// One whose answers may be held for a second only.
pub(crate) fn short(policy: &str) -> Home {
    let home = home(policy);
    home.edit("understudy.toml", "_ttl = '2s'", "_ttl = '1s'");
    home
}

/// The same as [`home`], listening there, with these name servers.
pub(crate) fn home_at(port: u16, name_servers: &str, policy: &str) -> Home {
    let config = format!(
        "
[server]
listen = ['127.0.0.1:{port}']
workers = 1

[[region]]
name = 'europe'
networks = ['127.128.0.0/9']

[[zone]]
name = 'a.example'
file = 'common.zone'
max_ttl = '{TTL}s'
negative_ttl = '{TTL}s'
name_servers = [{name_servers}]
  [[zone.site]]
  name = 'knams'
  file = 'knams.zone'
  [[zone.site]]
  name = 'pmtpa'
  file = 'pmtpa.zone'
  [[zone.site]]
  name = 'esams'
  file = 'esams.zone'
  [zone.routing]
  default = ['knams', 'pmtpa', 'esams']
  [zone.policy]
  {policy}"
    );
    let home = Home::new(&config, &[("common.zone", COMMON)]);
    for (file, octet) in [("knams.zone", KNAMS), ("pmtpa.zone", PMTPA), ("esams.zone", ESAMS)] {
        home.write(file, &site(octet, ""));
    }
    home
}

/// Waits until nothing can be held of what may have been told before the start.
pub(crate) fn until_known(home: &Home, ttl: i64) {
    let blind = home.expect(0, "explain 127.0.0.1 www.a.example")["blind_until"].as_i64().unwrap();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    wait_for("the end of what is not known", || {
        let left = blind + ttl * 1000 + 1500 - now();
        if left < 0 { Ok(()) } else { Err(format!("{left} ms")) }
    });
}

/// The moves under way, as `status` has them.
pub(crate) fn moves(home: &Home) -> Vec<Value> {
    home.zone(ZONE)["moves"].as_array().unwrap().clone()
}

/// Waits until the first move is in this phase, at this share, and it is published.
pub(crate) fn until_phase(home: &Home, phase: &str, share: &str) -> Value {
    wait_for(&format!("{phase} at {share}"), || {
        let moves = moves(home);
        let found = moves.first().filter(|run| run["phase"] == phase && run["share"] == share);
        found.cloned().ok_or_else(|| format!("{moves:#?}"))
    })
}

/// Waits until nothing is under way.
pub(crate) fn until_over(home: &Home) -> Value {
    wait_for("the end", || {
        let zone = home.zone(ZONE);
        if zone["moves"].as_array().unwrap().is_empty() { Ok(zone) } else { Err(format!("{:#}", zone["moves"])) }
    })
}

/// Where each region is answered from.
pub(crate) fn routes(home: &Home) -> [String; 2] {
    let zone = home.zone(ZONE);
    ["default", "europe"].map(|region| {
        let route = zone["routes"].as_array().unwrap().iter().find(|route| route["region"] == region);
        route.unwrap()["site"].as_str().unwrap().to_owned()
    })
}

/// A client of this number: each is in a network of its own, none in Europe.
pub(crate) fn client(number: u16) -> IpAddr {
    Ipv4Addr::new(127, 1 + (number >> 8) as u8, number as u8, 7).into()
}

/// A client in Europe.
pub(crate) fn european(number: u16) -> IpAddr {
    Ipv4Addr::new(127, 129 + (number >> 8) as u8, number as u8, 7).into()
}

/// The site that somebody is answered from, by the first octet of its addresses, and the TTL.
pub(crate) fn seen_by(daemon: &Daemon, client: IpAddr) -> (u8, u32) {
    let answer = daemon.ask_from(client, "www.a.example", RrType::A);
    let record = answer.answers.first().unwrap_or_else(|| panic!("{client}: {answer:?}"));
    (record.rdata[0], record.ttl)
}

/// Which of the first `count` clients are answered from the site with this octet.
pub(crate) fn at_site(daemon: &Daemon, octet: u8, count: u16) -> Vec<bool> {
    (0..count).map(|number| seen_by(daemon, client(number)).0 == octet).collect()
}

pub(crate) fn count(sides: &[bool]) -> usize {
    sides.iter().filter(|moved| **moved).count()
}

/// Nobody that had moved is back.
pub(crate) fn nobody_back(before: &[bool], after: &[bool]) {
    let back = before.iter().zip(after).position(|(before, after)| *before && !*after);
    assert_eq!(back, None, "a client has gone back");
}

/// Runs a command that follows a move; it has to end with this code. What it said at first.
pub(crate) fn follow(home: &Home, code: i32, line: &str) -> Value {
    let (ended, mut lines) = lines_of(beside(home, line));
    assert_eq!(ended, code, "understudy {line}\n{lines:#?}");
    lines.swap_remove(0)
}
