//! The same as operators do it: a configuration, a daemon, `probe calibrate`.

use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::Value;
use understudy::name::Name;

use super::support::daemon::Home;
use super::support::fleet::Fleet;
use super::support::lab::{is_isolated, isolated};
use super::support::sign::run;

const ZONE: &str = "$ORIGIN wiki.example.\n$TTL 300\n@ SOA ns1 hostmaster 1 3600 600 86400 20\n@ NS ns1\nns1 A 127.0.0.1\n\
                    www 20 A 192.0.2.1\n\
                    _canary NS ns._canary\nns._canary A 127.0.0.2\n";

#[test]
fn peer_probe_calibrate_measures_what_is_configured() {
    isolated("command::peer_probe_calibrate_measures_what_is_configured", || {
        if !is_isolated() {
            eprintln!("no namespaces here: resolvers need port 53 of addresses of their own");
            return;
        }
        run(Command::new("ip").args(["address", "add", "127.0.0.2/32", "dev", "lo"]));
        calibrate();
    });
}

fn calibrate() {
    let mut fleet = Fleet::new(&Name::absolute("_canary.wiki.example").unwrap(), Ipv4Addr::new(127, 0, 0, 2));
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:5300']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\n\
         [canary]\nzone = '_canary.wiki.example'\nlisten = ['127.0.0.2:53']\ncontact = 'noc@wiki.example'\n\
         [probe]\nttls = ['4s']\nwatch = '15s'\n",
        &[("zone", ZONE)],
    );
    let _daemon = home.serve();
    // Resolvers may be slow to ask a server that was not there when they began.
    fleet.dnsmasq("home", &[]);
    fleet.unbound("floor", &["cache-min-ttl: 10"]);
    let mut resolvers = String::new();
    for (name, address) in fleet.addresses() {
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{}'\nrate = 50\n", address.ip());
    }
    resolvers += "[[resolver]]\nname = 'gone'\naddress = '127.0.0.99'\nrate = 50\n";
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));

    let list = home.expect(0, "probe list");
    assert_eq!(list["resolvers"][0]["unknown"], "it was not measured yet", "{list:#}");
    let output = home.command(&["probe", "calibrate", "--json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((found.len(), output.status.code()), (3, Some(1)), "one of them can't be reached: {lines}");
    let of = |name: &str| found.iter().find(|found| found["name"] == name).unwrap();
    assert!(
        of("gone")["unknown"].as_str().unwrap().starts_with("no answer from 127.0.0.99:53 by udp"),
        "{:#}",
        of("gone")
    );
    let home_router = of("home");
    assert_eq!(home_router["verdicts"].as_array().map(Vec::len), Some(0), "{home_router:#}");
    let holds = |found: &Value, least: f64, most: f64| {
        let holds = found["holds"].as_array().unwrap();
        let judged = holds.iter().filter(|hold| hold["kind"] != "failure");
        judged.clone().count() == 3
            && judged.into_iter().all(|hold| {
                let seconds = hold["hold"].as_f64().unwrap();
                (least..=most).contains(&seconds)
            })
    };
    assert!(holds(home_router, 3.0, 5.0), "{home_router:#}");
    assert!(holds(of("floor"), 9.0, 12.0), "{:#}", of("floor"));
    let verdict = |found: &Value| found["verdicts"][0]["verdict"].as_str().map(str::to_owned);
    assert_eq!(verdict(of("floor")).as_deref(), Some("floor"));

    // It is kept, and counts as what the day's budget is made of.
    let shown = home.expect(0, "probe show floor");
    let shown = &shown["resolvers"][0];
    assert_eq!((verdict(shown).as_deref(), &shown["expired"]), (Some("floor"), &Value::Bool(false)), "{shown:#}");
    home.edit("understudy.toml", "[probe]\n", "[probe]\ndaily_questions = 5\n");
    let output = home.command(&["probe", "calibrate", "floor", "--json"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && lines.contains("budget"), "{lines}");
    // What was found before stands.
    let shown = home.expect(0, "probe show floor");
    let shown = &shown["resolvers"][0];
    assert!(shown["failed"].as_str().unwrap().contains("budget") && shown["unknown"].is_null(), "{shown:#}");
    assert_eq!((verdict(shown).as_deref(), &shown["expired"]), (Some("floor"), &Value::Bool(false)), "{shown:#}");
    let done = home.cli("probe calibrate flor");
    assert!(done.code == 1 && done.json["failure"]["what"].as_str().unwrap().contains("flor"), "{done:?}");
}

#[test]
fn peer_probe_watch_holds_resolvers_against_our_zone() {
    isolated("command::peer_probe_watch_holds_resolvers_against_our_zone", || {
        if !is_isolated() {
            eprintln!("no namespaces here: resolvers need port 53 of addresses of their own");
            return;
        }
        for address in ["127.0.0.2/32", "127.0.0.3/32"] {
            run(Command::new("ip").args(["address", "add", address, "dev", "lo"]));
        }
        watch();
    });
}

/// Two sites, three resolvers that ask us for the zone, one of them with a floor, one that is not there, and one that fails.
fn watch() {
    let ours = Ipv4Addr::new(127, 0, 0, 3);
    let mut fleet = Fleet::new(&Name::absolute("wiki.example").unwrap(), ours);
    let site = "www 20 A 192.0.2.2\n";
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.3:53']\n[canary]\nzone = '_canary.wiki.example'\n\
         listen = ['127.0.0.2:53']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\nname_servers = ['127.0.0.3:53']\n\
         [[zone.site]]\nname = 'one'\n[[zone.site]]\nname = 'two'\nfile = 'two'\n",
        &[("zone", ZONE), ("two", site)],
    );
    let _daemon = home.serve();
    fleet.dnsmasq("home", &[]);
    fleet.unbound("campus", &[]);
    fleet.unbound("floor", &["cache-min-ttl: 60"]);
    // It asks a server that is not there.
    let mut broken = Fleet::new(&Name::absolute("wiki.example").unwrap(), Ipv4Addr::new(127, 0, 0, 77));
    broken.skip(100);
    broken.powerdns("broken", &["network-timeout=300"]);
    let mut resolvers = String::new();
    for (name, address) in fleet.addresses().into_iter().chain(broken.addresses()) {
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{}'\nrate = 50\n", address.ip());
    }
    resolvers += "[[resolver]]\nname = 'gone'\naddress = '127.0.0.99'\nrate = 50\n";
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));

    let look = || home.cli("probe watch www.wiki.example --once").json;
    let states = |report: &Value| -> Vec<(String, String)> {
        let of = |found: &Value| {
            let word = |key: &str| found[key].as_str().unwrap().to_owned();
            (word("name"), word("sight"))
        };
        let mut states: Vec<_> = report["resolvers"].as_array().unwrap().iter().map(of).collect();
        states.sort();
        states
    };
    let all = |home: &str, campus: &str, floor: &str| {
        [("broken", "failing"), ("campus", campus), ("floor", floor), ("gone", "unknown"), ("home", home)]
            .map(|(name, state)| (name.to_owned(), state.to_owned()))
            .to_vec()
    };
    let before = look();
    assert_eq!(states(&before), all("new", "new", "new"), "{before:#}");
    assert_eq!(
        (&before["complete"], &before["counts"]["failing"]),
        (&Value::Bool(false), &Value::from(1)),
        "{before:#}"
    );

    home.expect(0, "failover wiki.example --to two --until begun");
    let after = look();
    assert_eq!(states(&after), all("old", "old", "old"), "{after:#}");
    // The honest ones let go when the TTL runs out; behind the bound, the one with a floor has no excuse.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(40);
    let done = loop {
        let report = look();
        if states(&report) == all("new", "new", "stale") {
            break report;
        }
        assert!(std::time::Instant::now() < deadline, "{report:#}");
        std::thread::sleep(std::time::Duration::from_millis(500));
    };
    assert_eq!(done["complete"], false);
    assert_eq!(done["resolvers"][0]["name"], "gone", "the worst first: {done:#}");

    // What our zone does not have is not asked for: resolvers would remember that it was not there.
    let new = home.cli("probe watch new.wiki.example --once");
    assert!(new.json["failure"]["what"].as_str().unwrap().contains("has no A"), "{new:?}");
    home.edit("zone", "www 20 A", "new 20 A 192.0.2.9\nwww 20 A");
    home.expect(0, "reload");
    let new = home.cli("probe watch new.wiki.example --once").json;
    assert_eq!(new["counts"]["new"], 3, "{new:#}");
}

/// Our own server stands for a resolver that is asked by each of the transports.
#[test]
fn resolvers_are_asked_by_udp_tcp_and_tls() {
    let made = rcgen::generate_simple_self_signed(vec!["ns1.example".into()]).unwrap();
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:0']\n[server.encrypted]\ndot = ['127.0.0.1:0']\n\
         certificate = 'cert.pem'\nkey = 'key.pem'\n[canary]\nzone = '_canary.wiki.example'\nlisten = ['127.0.0.1:0']\n\
         [[zone]]\nname = 'wiki.example'\nfile = 'zone'\n",
        &[("zone", ZONE), ("cert.pem", &made.cert.pem()), ("key.pem", &made.signing_key.serialize_pem())],
    );
    let daemon = home.serve();
    let secure = home.expect(0, "status")["encrypted"][0]["address"].as_str().unwrap().to_owned();
    let plain = daemon.address.to_string();
    let mut resolvers = String::new();
    // The last one is asked for TLS where there is none.
    for (transport, address) in [("udp", &plain), ("tcp", &plain), ("dot", &secure), ("dot", &plain)] {
        let name = format!("{transport}{}", resolvers.len());
        resolvers += &format!("[[resolver]]\nname = '{name}'\naddress = '{address}'\ntransport = '{transport}'\n");
    }
    home.write("understudy.toml", &(home.read("understudy.toml") + &resolvers));
    let report = home.cli("probe watch www.wiki.example --once").json;
    assert_eq!((&report["counts"]["new"], &report["counts"]["unknown"]), (&3.into(), &1.into()), "{report:#}");
    // Questions count, whatever they are for; whoever is not asked is in the denominator.
    home.write("understudy.toml", &(home.read("understudy.toml") + "[probe]\ndaily_questions = 1\n"));
    let report = home.cli("probe watch www.wiki.example --once").json;
    assert_eq!(report["counts"]["unknown"], 4, "{report:#}");
    assert!(report["resolvers"][0]["note"].as_str().unwrap().contains("budget"), "{report:#}");
}

/// What nothing is known of is measured by itself, and what could not be is not tried again at once.
#[test]
fn resolvers_are_measured_in_the_background() {
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:0']\n[canary]\nzone = '_canary.wiki.example'\n\
         listen = ['127.0.0.1:0']\n[probe]\nttls = ['1s']\nbackground = true\n\
         [[zone]]\nname = 'wiki.example'\nfile = 'zone'\n[[resolver]]\nname = 'deaf'\naddress = '127.0.0.1:1'\nrate = 100\n",
        &[("zone", ZONE)],
    );
    let daemon = home.serve();
    daemon.wait_for_log(0, "not measured");
    let shown = home.expect(0, "probe show deaf");
    let found = &shown["resolvers"][0];
    assert!(
        found["unknown"].as_str().unwrap().contains("no answer from 127.0.0.1:1") && found["at"].is_i64(),
        "{shown:#}"
    );
    drop(daemon);
    let again = home.serve();
    let list = home.expect(0, "probe list");
    assert_eq!(list["resolvers"][0]["at"], found["at"], "kept over a restart: {list:#}");
    assert_eq!(again.log().matches("measuring resolvers").count(), 1);
}

/// D15: a name that is not published yet is never asked for: a resolver would remember that it was not there, and so
/// poison what is waited for. What our zone has is found out from our zone.
#[test]
fn d15_a_name_that_is_not_published_is_never_sent_to_a_resolver() {
    let resolver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    resolver.set_nonblocking(true).unwrap();
    let home = Home::new(
        &format!(
            "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:0']\n[canary]\nzone = '_canary.wiki.example'\n\
             listen = ['127.0.0.1:0']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\n\
             [[resolver]]\nname = 'counting'\naddress = '{}'\n",
            resolver.local_addr().unwrap()
        ),
        &[("zone", ZONE)],
    );
    let _daemon = home.serve();
    let arrived = || resolver.recv(&mut [0; 512]).is_ok();
    let new = home.cli("probe watch new.wiki.example --once");
    assert!(new.code == 1 && new.json["failure"]["what"].as_str().unwrap().contains("has no A"), "{new:?}");
    assert!(!arrived(), "the name was asked for");
    home.edit("zone", "www 20 A", "new 20 A 192.0.2.9\nwww 20 A");
    home.expect(0, "reload");
    let new = home.cli("probe watch new.wiki.example --once").json;
    assert_eq!(new["counts"]["unknown"], 1, "{new:#}");
    assert!(arrived(), "the name is there now, and is asked for");
}

#[test]
fn without_canaries_it_is_said_what_is_missing() {
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:0']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\n\
         [[resolver]]\nname = 'campus'\naddress = '127.0.0.1:1'\n",
        &[("zone", ZONE)],
    );
    let _daemon = home.serve();
    for line in ["probe calibrate", "probe watch www.wiki.example --once"] {
        let done = home.cli(line);
        let failure = done.json["failure"].to_string();
        assert!(done.code == 1 && failure.contains("no canary zone is configured"), "{line}: {done:?}");
    }
    assert_eq!(home.expect(0, "probe list")["resolvers"][0]["name"], "campus");
}
