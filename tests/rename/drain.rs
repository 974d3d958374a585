//! A move waits for a resolver that holds on to what it was told of a lever; the policy proposes a rename, does it, or is
//! silent.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use understudy::name::Name;
use understudy::probe::ask::query;
use understudy::rr::RrType;

use crate::support::client::ask;
use crate::support::daemon::{Daemon, Home};
use crate::support::fleet::Fleet;
use crate::support::lab::{is_isolated, isolated};
use crate::support::message;
use crate::support::sign::run;
use crate::wait_for;

const ZONE: &str = "$ORIGIN wiki.example.\n$TTL 60\n@ 2 SOA ns1 hostmaster 1 3600 600 86400 2\n@ NS ns1\nns1 A 127.0.0.3\n\
    www 2 CNAME edge\nedge 8 A 192.0.2.1\n";
/// The other site has an address of the new kind, too: that there is none is what is held.
const SITE: &str = "edge 8 AAAA 2001:db8::2\n";
struct Scene {
    home: Home,
    daemon: Daemon,
    fleet: Fleet,
    begun: Instant,
}

/// A move has begun after both resolvers were asked; `rename` is the zone's policy.
fn begun(rename: &str) -> Scene {
    begun_with(rename, |fleet| {
        fleet.unbound("lawful", &[]);
        fleet.bind("stuck", &["min-ncache-ttl 90"]);
    })
}

/// The same with other resolvers; those called `measured` are measured before.
fn begun_with(rename: &str, start: impl FnOnce(&mut Fleet)) -> Scene {
    for address in ["127.0.0.2/32", "127.0.0.3/32"] {
        run(Command::new("ip").args(["address", "add", address, "dev", "lo"]));
    }
    let config = format!(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.3:53']\n[canary]\nzone = '_canary.wiki.example'\n\
         listen = ['127.0.0.2:53']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\nname_servers = ['127.0.0.3:53']\n\
         [[zone.site]]\nname = 'one'\n[[zone.site]]\nname = 'two'\nfile = 'two'\n[zone.policy]\nbake = '1s'\n\
         low_ttl = '2s'\nrename = '{rename}'\n[zone.routing]\ndefault = ['one']\n"
    );
    let home = Home::new(&config, &[("zone", ZONE), ("two", SITE)]);
    let daemon = home.serve();
    let mut fleet = Fleet::new(&Name::absolute("wiki.example").unwrap(), Ipv4Addr::new(127, 0, 0, 3));
    fleet.also("_canary.wiki.example", Ipv4Addr::new(127, 0, 0, 2));
    start(&mut fleet);
    let mut resolvers = String::new();
    for (name, address) in fleet.addresses() {
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{}'\nrate = 50\n", address.ip());
    }
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));
    home.expect(0, "reload");
    for (name, _) in fleet.addresses() {
        if name == "measured" {
            let measured = home.cli("probe calibrate measured --ttl 2s --watch 15s");
            assert_eq!(measured.code, 0, "{measured:?}");
        }
    }
    // The very thing: a resolver that asks the old site is told that there is none.
    let report = home.cli("failover wiki.example --to two --dry-run").json;
    let findings = report["findings"].as_array().unwrap();
    let stops = findings.iter().find(|found| found["gate"] == "zone.cross-closure").unwrap();
    let word = format!("zone.cross-closure@{}", &stops["digest"].as_str().unwrap()[..8]);
    // From here on it is held: what takes its time was done before.
    for (name, address) in fleet.addresses() {
        assert_eq!(addresses(address, "www.wiki.example"), 0, "{name}");
    }
    home.expect(0, &format!("failover wiki.example --to two --until begun --override {word}"));
    Scene { home, daemon, fleet, begun: Instant::now() }
}

/// How many addresses of the new kind a resolver has for a name.
fn addresses(resolver: SocketAddr, name: &str) -> usize {
    let question = query(Name::absolute(name).unwrap().as_ref(), RrType::AAAA, 0x5555);
    let answer = message::read(&ask(resolver, &[question]).remove(0)).unwrap();
    answer.answers.iter().filter(|record| record.rtype == RrType::AAAA).count()
}

impl Scene {
    fn moving(&self) -> Value {
        self.home.zone("wiki.example")["moves"][0].clone()
    }

    fn renames(&self) -> usize {
        self.home.zone("wiki.example")["renames"].as_array().map_or(0, Vec::len)
    }

    fn stuck(&self) -> SocketAddr {
        self.fleet.addresses().into_iter().find(|(name, _)| *name == "stuck").unwrap().1
    }

    /// What a command writes for people, and how it ends.
    fn text(&self, line: &str) -> (Option<i32>, String) {
        let output = self.home.command(&line.split_whitespace().collect::<Vec<_>>()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    fn history(&self) -> String {
        self.text("history wiki.example").1
    }

    /// Waits until the stuck resolver was seen to hold the move up.
    fn until_late(&self) -> Value {
        wait_for("somebody who is late", || {
            let seen = self.moving();
            let late = seen["late"].as_array().is_some_and(|late| !late.is_empty());
            if late { Ok(seen) } else { Err(format!("{seen:#}")) }
        })
    }

    /// Follows the move to its end: what is told.
    fn to_its_end(&self) -> String {
        let (code, told) = self.text("follow wiki.example");
        assert_eq!(code, Some(0), "{told}");
        told
    }

    /// It has ended before the resolver lets go of the lever, whose users arrive all the same. It holds for 90 s, which is the
    /// most that BIND can be told to.
    fn has_led_round(&self) {
        let held = addresses(self.stuck(), "edge.wiki.example");
        assert_eq!(held, 0, "it holds on to the lever {:?} behind the beginning", self.begun.elapsed());
        assert_eq!(addresses(self.stuck(), "www.wiki.example"), 1);
        eprintln!("over after {:?}\n{}", self.begun.elapsed(), self.history());
    }
}

fn with_resolvers(name: &str, test: impl Fn()) {
    isolated(name, || match is_isolated() {
        true => test(),
        false => eprintln!("no namespaces here: resolvers need port 53 of addresses of their own"),
    });
}

#[test]
fn peer_the_policy_has_it_done_and_the_move_ends_by_itself() {
    with_resolvers("drain::peer_the_policy_has_it_done_and_the_move_ends_by_itself", || {
        let scene = begun("do");
        let told = scene.to_its_end();
        assert!(told.contains("the policy has edge.wiki.example. renamed"), "{told}");
        assert!(told.contains("what led to edge.wiki.example. leads to edge-r1.wiki.example."), "{told}");
        assert!(told.contains("done: its regions") && !told.contains("LATE"), "{told}");
        scene.has_led_round();
        let history = scene.history();
        assert!(history.contains("policy") && history.contains("waits for old answers"), "{history}");
    });
}

/// Whatever it was about to do.
#[test]
fn peer_killed_in_between_it_goes_on() {
    with_resolvers("drain::peer_killed_in_between_it_goes_on", || {
        let mut scene = begun("do");
        for (what, text) in [("wanted", "the policy has"), ("led past", "leads to edge-r1")] {
            wait_for(what, || {
                let log = scene.daemon.log() + &scene.history();
                if log.contains(text) { Ok(()) } else { Err(log) }
            });
            scene.daemon.kill();
            scene.daemon = scene.home.serve();
        }
        let told = scene.to_its_end();
        assert!(told.contains("done: its regions"), "{told}");
        assert_eq!(scene.renames(), 1, "no second one");
        scene.has_led_round();
    });
}

#[test]
fn peer_it_is_proposed_once_and_what_is_typed_ends_the_move() {
    with_resolvers("drain::peer_it_is_proposed_once_and_what_is_typed_ends_the_move", || {
        let scene = begun("propose");
        let seen = scene.until_late();
        assert_eq!(seen["late"][0]["name"], "stuck", "{seen:#}");
        let proposed = &wait_for("a proposal", || {
            let renames = scene.moving()["renames"].clone();
            if renames.is_array() { Ok(renames) } else { Err(format!("{:#}", scene.moving())) }
        })[0];
        assert_eq!((&proposed["against"], &proposed["by_policy"]), (&Value::Null, &false.into()), "{proposed:#}");
        let watched = scene.text("probe watch www.wiki.example AAAA --once").1;
        let status = scene.text("status").1;
        let command = proposed["command"].as_str().unwrap();
        for text in [&watched, &status, &scene.history()] {
            assert_eq!(text.matches("PROPOSED").count(), 1, "{text}");
            assert!(text.contains(command), "{text}");
        }
        eprintln!("{status}\n{watched}");
        assert_eq!(scene.renames(), 0, "nothing was done");
        scene.home.expect(0, command.strip_prefix("understudy ").unwrap());
        let told = scene.to_its_end();
        assert!(told.contains("it does not matter any more what they hold of edge.wiki.example."), "{told}");
        scene.has_led_round();
    });
}

#[test]
fn peer_a_policy_that_wants_none_is_silent() {
    with_resolvers("drain::peer_a_policy_that_wants_none_is_silent", || {
        let scene = begun("never");
        let first = scene.until_late();
        // Between two samples renames are looked for.
        wait_for("another sample", || {
            let seen = scene.moving();
            let is_another = !seen["late"][0]["at"].is_null() && seen["late"][0]["at"] != first["late"][0]["at"];
            if is_another { Ok(()) } else { Err(format!("{seen:#}")) }
        });
        let told = scene.daemon.log() + &scene.history() + &scene.text("status").1;
        assert!(told.contains("LATE: stuck") && !told.contains("PROPOSED"), "{told}");
        assert_eq!(scene.renames(), 0);
    });
}

/// One that is measured to keep denials stretches the wait, until nothing leads to what it keeps.
#[test]
fn peer_what_is_measured_of_the_lever_is_not_waited_for() {
    with_resolvers("drain::peer_what_is_measured_of_the_lever_is_not_waited_for", || {
        let scene = begun_with("do", |fleet| fleet.bind("measured", &["min-ncache-ttl 90"]));
        let told = scene.to_its_end();
        let parts = told.split_once("what led to edge.wiki.example. leads to");
        let (before, after) = parts.unwrap_or_else(|| panic!("{told}"));
        assert!(before.contains("by what was measured of measured"), "{told}");
        assert!(!after.contains("by what was measured of") && !after.contains("LATE"), "{told}");
        eprintln!("over after {:?}\n{told}", scene.begun.elapsed());
    });
}
