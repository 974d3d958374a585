//! The whole fleet is measured at once, and by hand beside it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use understudy::canary::{CanaryKey, CanaryZone, Content};
use understudy::name::Name;
use understudy::observation::{Kind, Measured, Verdict};
use understudy::probe::ask::Carrier;
use understudy::probe::calibrate::Plan;
use understudy::probe::prober::{Calibrated, Target};
use understudy::probe::{CanaryListeners, Prober, Register};
use understudy::time::Ttl;

use super::brute::{self, Brute};
use super::support::fleet::Fleet;
use super::support::lab::{is_isolated, isolated};
use super::support::sign::run;

/// Where the canaries' server is.
const SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// How fast each resolver may be asked here.
const RATE: u32 = 60;

/// What a run is made of.
struct Run {
    ttls: Vec<u32>,
    /// What floors are set to, and what caps are.
    floor: u32,
    cap: u32,
    watch: u64,
}

fn chosen() -> Run {
    match std::env::var_os("UNDERSTUDY_LONG") {
        Some(_) => Run { ttls: vec![20, 30], floor: 60, cap: 10, watch: 80 },
        None => Run { ttls: vec![6, 12], floor: 22, cap: 3, watch: 36 },
    }
}

#[test]
fn peer_resolvers_are_told_for_what_they_are() {
    isolated("calibrate::peer_resolvers_are_told_for_what_they_are", || {
        if !is_isolated() {
            eprintln!("no namespaces here: resolvers need port 53 of addresses of their own");
            return;
        }
        run(Command::new("ip").args(["address", "add", "127.0.0.2/32", "dev", "lo"]));
        measure_all(&chosen());
    });
}

fn seconds(value: u32) -> Ttl {
    Ttl::new(value).unwrap()
}

/// The fleet, by settings that each of them has.
fn fleet(zone: &Name, Run { floor, cap, .. }: &Run) -> Fleet {
    let mut fleet = Fleet::new(zone, SERVER);
    fleet.unbound("unbound", &[]);
    fleet.unbound("unbound-floor", &[&format!("cache-min-ttl: {floor}")]);
    fleet.unbound("unbound-cap", &[&format!("cache-max-ttl: {cap}"), &format!("cache-max-negative-ttl: {cap}")]);
    fleet.unbound("unbound-stale", &["serve-expired: yes"]);
    fleet.unbound("unbound-prefetch", &["prefetch: yes"]);
    fleet.bind("bind", &[]);
    fleet.bind("bind-floor", &[&format!("min-cache-ttl {floor}"), &format!("min-ncache-ttl {floor}")]);
    fleet.bind("bind-cap", &[&format!("max-cache-ttl {cap}"), &format!("max-ncache-ttl {cap}")]);
    let stale = ["stale-answer-enable yes", "stale-cache-enable yes"];
    fleet.bind_forwarding("bind-stale", &[stale[0], stale[1], "stale-answer-client-timeout 0"]);
    fleet.bind("bind-stale-failure", &stale);
    fleet.powerdns("powerdns", &[]);
    fleet.powerdns("powerdns-floor", &[&format!("minimum-ttl-override={floor}")]);
    fleet.powerdns("powerdns-cap", &[&format!("max-cache-ttl={cap}"), &format!("max-negative-ttl={cap}")]);
    fleet.knot("knot", &[]);
    fleet.knot("knot-floor", &[&format!("cache.min_ttl({floor})")]);
    fleet.dnsmasq("dnsmasq", &[]);
    fleet.dnsmasq("dnsmasq-floor", &[&format!("min-cache-ttl={floor}")]);
    fleet.dnsmasq("dnsmasq-shown", &["max-ttl=5"]);
    fleet.dnsmasq("dnsmasq-stale", &["use-stale-cache"]);
    fleet.dnsdist("dnsdist-three", "", &["", "", ""]);
    let minimum = format!("cache-min-ttl: {floor}");
    fleet.dnsdist("dnsdist-unlike", "", &["", &minimum]);
    let still = "cache = newPacketCache(1000, {dontAge=true})\ngetPool(\"\"):setCache(cache)";
    fleet.dnsdist("dnsdist-still", still, &[""]);
    fleet.shim("extender", |negative, ttl| if negative { ttl.max(25) } else { ttl });
    fleet.shim("multiplier", |_, ttl| ttl * 2);
    fleet
}

/// What is known of a resolver by its settings: for each kind of verdict, whether it has to be there.
fn wanted(name: &str) -> &'static [&'static str] {
    match name {
        // Fetching in advance is BIND's default, and no fault.
        "bind" => &["prefetch"],
        "unbound-floor" | "bind-floor" | "powerdns-floor" | "dnsmasq-floor" => &["floor"],
        "knot-floor" => &["floor", "misleading_ttl"],
        "unbound-cap" | "powerdns-cap" | "bind-cap" => &["cap"],
        "unbound-stale" | "dnsmasq-stale" => &["stale_at_once", "stale_on_failure"],
        "bind-stale" => &["stale_at_once", "stale_on_failure"],
        "bind-stale-failure" => &["prefetch", "stale_on_failure"],
        "unbound-prefetch" => &["prefetch"],
        "dnsmasq-shown" | "dnsdist-still" => &["misleading_ttl"],
        "dnsdist-unlike" => &["unlike", "floor"],
        // These do not count down.
        "extender" => &["floor", "misleading_ttl"],
        "multiplier" => &["multiplier", "misleading_ttl"],
        _ => &[],
    }
}

fn measure_all(chosen: &Run) {
    let began = Instant::now();
    let origin = Name::absolute("_canary.wiki.example").unwrap();
    let server = SocketAddr::new(IpAddr::V4(SERVER), 53);
    let zone = CanaryZone::new(origin.clone(), CanaryKey([9; 16]), vec![server.ip()], "noc@wiki.example").unwrap();
    let register = Arc::new(Register::default());
    let listeners = CanaryListeners::bind(&[server]).unwrap();
    let _running = listeners.run(zone.clone(), Arc::clone(&register)).unwrap();
    let fleet = fleet(&origin, chosen);
    let prober = Prober::new(zone.clone(), register).unwrap();
    let targets = fleet.addresses().into_iter().map(|(name, address)| Target {
        name: name.into(),
        addresses: vec![address],
        carrier: Carrier::Udp,
        rate: RATE,
        budget: 1_000_000,
    });
    let watch = Duration::from_secs(chosen.watch);
    let plan = Plan { ttls: chosen.ttls.iter().map(|ttl| seconds(*ttl)).collect(), watch };
    let started = began.elapsed();
    prober.begin(targets.collect(), plan, |_| {}).unwrap();
    let by_hand = by_hand(&zone, &fleet, chosen);
    let mut told = Instant::now();
    while prober.calibration().is_under_way() {
        std::thread::sleep(Duration::from_millis(200));
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            for standing in prober.calibration().standings.iter().filter(|standing| !standing.ended) {
                eprintln!(
                    "{:?}: {}: {} ({}/{})",
                    began.elapsed(),
                    standing.name,
                    standing.doing,
                    standing.done,
                    standing.of
                );
            }
        }
    }
    let calibration = prober.calibration();
    let took = began.elapsed();
    eprintln!("the fleet of {} started in {started:?}; all took {took:?}", calibration.ended.len());
    let found: Vec<String> =
        calibration.ended.iter().flat_map(|calibrated| judge(calibrated, &by_hand, chosen)).collect();
    assert!(found.is_empty(), "{} wrong:\n  {}", found.len(), found.join("\n  "));
    assert!(took < Duration::from_secs(300), "{took:?}");
}

type Holds = BTreeMap<(&'static str, Kind, u32), Option<f64>>;

/// What is seen of every resolver by asking it once in a second.
fn by_hand(zone: &CanaryZone, fleet: &Fleet, chosen: &Run) -> Holds {
    let kinds = [(Content::Data, Kind::Positive), (Content::NoName, Kind::NoName), (Content::NoData, Kind::NoData)];
    let watch = Duration::from_secs(chosen.watch + 5);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (name, address) in fleet.addresses() {
            for (content, kind) in kinds {
                for &ttl in &chosen.ttls {
                    let nonce = 1 + threads.len() as u32;
                    let brute = Brute { content, ttl: seconds(ttl), nonce, watch };
                    let thread = scope.spawn(move || brute::hold(zone, address, &brute));
                    threads.push(((name, kind, ttl), thread));
                }
            }
        }
        threads.into_iter().map(|(key, thread)| (key, thread.join().unwrap())).collect()
    })
}

/// What is wrong with what was found of a resolver.
fn judge(calibrated: &Calibrated, by_hand: &Holds, chosen: &Run) -> Vec<String> {
    let name = &calibrated.target.name;
    let measured = match &calibrated.result {
        Ok(measured) => measured,
        Err(why) => return vec![format!("{name}: {why}")],
    };
    show(calibrated, measured, by_hand);
    let mut wrong = Vec::new();
    let verdict = |verdict: &Verdict| serde_json::to_value(verdict).unwrap()["verdict"].as_str().unwrap().to_owned();
    let verdicts: Vec<String> = measured.verdicts.iter().map(verdict).collect();
    for want in wanted(name).iter().filter(|want| !verdicts.iter().any(|found| found == *want)) {
        wrong.push(format!("{name}: no `{want}` among {verdicts:?}"));
    }
    for found in verdicts.iter().filter(|found| !wanted(name).contains(&found.as_str())) {
        wrong.push(format!("{name}: is accused of `{found}`: {:?}", measured.verdicts));
    }
    let caches = measured.caches.map_or(0, |caches| caches.likely);
    let (least, most) = match name.as_str() {
        "dnsdist-three" => (2, 4),
        "dnsdist-unlike" => (2, 2),
        _ => (1, 1),
    };
    if !(least..=most).contains(&caches) {
        wrong.push(format!("{name}: {caches} caches"));
    }
    // By hand somebody asks once a second. Where the first one behind a hold gets the old answer once more, it is seen a second later.
    let late = if wanted(name).contains(&"stale_at_once") { 3.0 } else { 2.0 };
    for hold in measured.holds.iter().filter(|hold| hold.kind != Kind::Failure && caches == 1) {
        let hand = by_hand.iter().find(|((of, kind, ttl), _)| of == name && *kind == hold.kind && *ttl == hold.ttl);
        match hand.map(|(_, seconds)| *seconds) {
            Some(Some(seconds)) if !hold.at_least && (hold.hold - seconds).abs() <= late => {}
            Some(None) if hold.at_least => {}
            hand => wrong.push(format!("{name}: by hand {hand:?}, measured {hold:?}")),
        }
    }
    if measured.holds.len() != chosen.ttls.len() * 3 + 1 {
        wrong.push(format!("{name}: {} holds", measured.holds.len()));
    }
    wrong
}

/// All that was found of a resolver, for those who look.
fn show(calibrated: &Calibrated, measured: &Measured, by_hand: &Holds) {
    let name = &calibrated.target.name;
    eprintln!("{name}: {} questions, {:?}, {} egresses", calibrated.questions, measured.caches, measured.egress.len());
    for hold in &measured.holds {
        let hand = by_hand.iter().find(|((of, kind, ttl), _)| of == name && *kind == hold.kind && *ttl == hold.ttl);
        eprintln!(
            "  {:<8} {:>3} s: {}{} ± {} s{}; by hand {:?}",
            hold.kind.word(),
            hold.ttl,
            if hold.at_least { "at least " } else { "" },
            hold.hold,
            hold.uncertainty,
            hold.longest.map(|longest| format!(", another {longest}")).unwrap_or_default(),
            hand.map(|(_, seconds)| *seconds)
        );
    }
    eprintln!(
        "  prefetch {:?}\n  stale at once {:?}\n  stale on failure {:?}\n  absence below {:?}; TCP {:?}, {:?}; DO {}; ECS {}; {:?}",
        measured.prefetch,
        measured.stale_at_once,
        measured.stale_on_failure,
        measured.absence_below,
        measured.asks_over_tcp,
        measured.replies_over_tcp,
        measured.dnssec_ok,
        measured.client_subnet,
        measured.tally
    );
    measured.verdicts.iter().for_each(|verdict| eprintln!("  - {verdict}"));
}
