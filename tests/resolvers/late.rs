//! A move asks real resolvers before it calls old answers gone: those who still give them are named, and it waits.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use understudy::name::Name;
use understudy::probe::ask::query;
use understudy::rr::RrType;

use super::support::client::ask;
use super::support::daemon::Home;
use super::support::fleet::Fleet;
use super::support::lab::{is_isolated, isolated};
use super::support::message;
use super::support::sign::run;

const ZONE: &str = "$ORIGIN wiki.example.\n$TTL 300\n@ 2 SOA ns1 hostmaster 1 3600 600 86400 2\n@ NS ns1\nns1 A 127.0.0.3\n\
                    www 2 A 192.0.2.1\n";
/// A name that is not there before the move.
const SITE: &str = "www 2 A 192.0.2.2\nnew 2 A 192.0.2.9\n";

#[test]
fn peer_d1_late_resolvers_are_named_and_waited_for() {
    isolated("late::peer_d1_late_resolvers_are_named_and_waited_for", || {
        if !is_isolated() {
            eprintln!("no namespaces here: resolvers need port 53 of addresses of their own");
            return;
        }
        for address in ["127.0.0.2/32", "127.0.0.3/32"] {
            run(Command::new("ip").args(["address", "add", address, "dev", "lo"]));
        }
        late();
    });
}

/// What a resolver says to a client: the code, and how many answers.
fn asked(resolver: SocketAddr, name: &str) -> (u8, usize) {
    let question = query(Name::absolute(name).unwrap().as_ref(), RrType::A, 0x5555);
    let answer = ask(resolver, &[question]).remove(0);
    let answer = message::read(&answer).unwrap();
    (answer.rcode() as u8, answer.answers.len())
}

fn late() {
    let mut fleet = Fleet::new(&Name::absolute("wiki.example").unwrap(), Ipv4Addr::new(127, 0, 0, 3));
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.3:53']\n[canary]\nzone = '_canary.wiki.example'\n\
         listen = ['127.0.0.2:53']\n[[region]]\nname = 'abroad'\nnetworks = ['127.0.1.12/32']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\nname_servers = ['127.0.0.3:53']\n\
         [[zone.site]]\nname = 'one'\n[[zone.site]]\nname = 'two'\nfile = 'two'\n[zone.policy]\nbake = '1s'\n\
         low_ttl = '2s'\n[zone.routing]\ndefault = ['one']\nabroad = ['one']\n",
        &[("zone", ZONE), ("two", SITE)],
    );
    let _daemon = home.serve();
    fleet.dnsmasq("home", &[]);
    fleet.unbound("floor", &["cache-min-ttl: 12"]);
    // Its region does not move: it is given the old answers on purpose, and is not asked for what it has not.
    fleet.dnsmasq("abroad", &[]);
    fleet.shim("isp", |negative, ttl| if negative { ttl.max(12) } else { ttl });
    let mut resolvers = String::new();
    for (name, address) in fleet.addresses() {
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{}'\nrate = 50\n", address.ip());
        assert_eq!(asked(address, "www.wiki.example"), (0, 1), "{name}");
        assert_eq!(asked(address, "new.wiki.example").0, 3, "{name}");
    }
    resolvers += "[[resolver]]\nname = 'gone'\naddress = '127.0.0.99'\nrate = 50\n";
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));
    home.expect(0, "reload");

    home.expect(0, "failover wiki.example --to two --region default --until begun");
    let moving = || home.zone("wiki.example")["moves"][0].clone();
    let deadline = Instant::now() + Duration::from_secs(40);
    let seen = loop {
        let seen = moving();
        if seen["late"].as_array().is_some_and(|late| !late.is_empty()) {
            break seen;
        }
        assert!(!seen.is_null() && Instant::now() < deadline, "{seen:#}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let names = |found: &Value| -> Vec<(String, String)> {
        let word = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
        found.as_array().unwrap().iter().map(|found| (word(found, "name"), word(found, "said"))).collect()
    };
    let late = names(&seen["late"]);
    let expected = ["floor", "isp"].map(|name| (name.to_owned(), "NXDOMAIN".to_owned()));
    assert_eq!(late, expected, "the worst of each is shown: {seen:#}");
    assert_eq!(names(&seen["unsure"]), [("gone".to_owned(), "does not answer".to_owned())]);
    assert_eq!((&seen["phase"], &seen["sample"]["new"]), (&"draining".into(), &2.into()), "{seen:#}");
    let text = seen["late"][0]["text"].as_str().unwrap();
    assert!(text.contains("past the bound") && text.contains(".wiki.example. A"), "{text}");

    // It ends when they have let go, and says of whom nothing is known.
    let follow = home.command(&["follow", "wiki.example"]).output().unwrap();
    let told = String::from_utf8(follow.stdout).unwrap();
    assert!(follow.status.success(), "{told}");
    assert!(told.contains("done: its regions") && told.contains("nothing is known of 1 of 5 resolvers"), "{told}");
    for name in ["www", "new"] {
        let question = format!("{name}.wiki.example");
        for (resolver, address) in fleet.addresses() {
            let expected = if (resolver, name) == ("abroad", "new") { (3, 0) } else { (0, 1) };
            assert_eq!(asked(address, &question), expected, "{resolver}, {question}");
        }
    }
    let history = home.expect(0, "history wiki.example").to_string();
    assert!(history.contains("LATE: isp gives NXDOMAIN for new.wiki.example. A"), "{history}");
}
