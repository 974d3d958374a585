//! The day of 2010 with real resolvers: a lever goes NXDOMAIN, some hold that for ten minutes whatever they were told, and a
//! rename leads their users round it.
//!
//! Both curves, and the gain that was foreseen beside the one that was seen:
//!
//!     cargo nextest run --test rename lab --no-capture
//!     UNDERSTUDY_LONG=1 cargo nextest run --test rename lab --no-capture      # until the last one lets go: eleven minutes

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use understudy::gain::{Gain, Held, Stuck, WhyNot};
use understudy::name::Name;
use understudy::profile::{Keeping, Kind, Profile, Stale};
use understudy::rr::RrType;
use understudy::time::{Timestamp, Ttl};

use crate::follow;
use crate::support::chaser::Chaser;
use crate::support::daemon::{Home, query};
use crate::support::fleet::Fleet;
use crate::support::lab::{is_isolated, isolated};
use crate::support::message;

/// `www` is renamed; `still` is repaired in place, and that is all.
const ZONE: &str = "$TTL 60\n@ SOA ns1 hostmaster 1 3600 600 86400 20\n@ NS ns1\nns1 A 127.0.0.1\n\
    www 5 CNAME edge\nstill 5 CNAME other\n";
const LEVERS: &str = "edge A 192.0.2.1\nother A 192.0.2.2\n";
const NEGATIVE: u64 = 20;
const FRONT: u64 = 5;
const TEN_MINUTES: u32 = 600;
/// From the answer that is stuck to the rename: all that keep TTLs are back by then.
const RENAMED: Duration = Duration::from_secs(NEGATIVE + 4);
/// How often each resolver is asked.
const ASKED: Duration = Duration::from_millis(250);

/// A resolver, what it is known to do, and when its users were seen to arrive, by each of the two ways.
struct Watched {
    name: &'static str,
    address: SocketAddr,
    profile: Profile,
    back: [Option<Duration>; 2],
}

#[test]
fn peer_users_of_those_that_do_not_let_go_are_led_round() {
    isolated("lab::peer_users_of_those_that_do_not_let_go_are_led_round", || match is_isolated() {
        true => led_round(),
        false => eprintln!("no namespaces here: resolvers need port 53 of addresses of their own"),
    });
}

fn held_for(seconds: u32) -> Keeping {
    Keeping { floor: Some(Ttl::from_wire(seconds)), ..Keeping::default() }
}

/// Some that keep denials for ten minutes, and nothing else for longer than it says: these are not real.
fn extenders() -> impl Iterator<Item = (&'static str, SocketAddr)> {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 53));
    (0u8..).zip(["ten-minutes", "ten-minutes-too", "ten-minutes-as-well"]).map(move |(number, name)| {
        let address = SocketAddr::from((Ipv4Addr::new(127, 0, 2, number + 1), 53));
        (name, Chaser::start(address, server, Duration::from_secs(TEN_MINUTES.into())).address)
    })
}

fn fleet() -> (Fleet, Vec<Watched>) {
    let mut fleet = Fleet::new(&Name::absolute("wiki.example").unwrap(), Ipv4Addr::LOCALHOST);
    fleet.unbound("unbound", &[]);
    fleet.bind("bind", &[]);
    fleet.powerdns("powerdns", &[]);
    fleet.dnsmasq("dnsmasq", &[]);
    fleet.unbound("unbound-floor", &["cache-min-ttl: 600"]);
    fleet.bind_forwarding(
        "bind-stale-first",
        &["stale-cache-enable yes", "stale-answer-enable yes", "stale-answer-client-timeout 0", "min-ncache-ttl 90"],
    );
    fleet.bind("bind-ninety-seconds", &["min-ncache-ttl 90"]);
    let exact = Profile::exact();
    let stuck = Profile { negative: held_for(TEN_MINUTES), ..exact.clone() };
    let stale = Keeping { stale: Some(Stale::ForEver), ..Keeping::default() };
    let watched = fleet.addresses().into_iter().chain(extenders()).map(|(name, address)| {
        let profile = match name {
            _ if name.starts_with("ten-minutes") => stuck.clone(),
            "bind-ninety-seconds" => Profile { negative: held_for(90), ..exact.clone() },
            _ if name.ends_with("floor") => Profile::alike(held_for(TEN_MINUTES)),
            _ if name.ends_with("stale-first") => {
                Profile { positive: stale.clone(), negative: held_for(90), ..exact.clone() }
            }
            _ => exact.clone(),
        };
        Watched { name, address, profile, back: [None; 2] }
    });
    let watched = watched.collect();
    (fleet, watched)
}

fn led_round() {
    let home = Home::new(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:53']\n[[zone]]\nname = 'wiki.example'\nfile = 'zone'\n",
        &[("zone", ZONE)],
    );
    let _daemon = home.serve();
    let (_fleet, mut watched) = fleet();
    // Everybody asks while the levers are not there, and is told so for 20 s.
    for resolver in &watched {
        for front in ["www", "still"] {
            assert!(!arrives(resolver.address, front), "{}", resolver.name);
        }
    }
    let begun = Instant::now();
    home.write("zone", &format!("{ZONE}{LEVERS}"));
    home.expect(0, "reload");
    watch(&mut watched, begun, RENAMED);
    let dark = |watched: &[Watched], way: usize| {
        let dark = watched.iter().filter(|resolver| resolver.back[way].is_none());
        dark.map(|resolver| resolver.name).collect::<Vec<_>>()
    };
    let all = dark(&watched, 1);
    assert!(
        all.contains(&"ten-minutes") && all.contains(&"bind-ninety-seconds"),
        "repaired in place, they stay dark: {all:?}"
    );
    for name in ["unbound", "bind", "powerdns", "dnsmasq"] {
        assert!(!all.contains(&name), "{name} keeps TTLs, and is back");
    }

    let gains: Vec<Gain> = watched.iter().map(|resolver| foreseen(resolver, begun.elapsed())).collect();
    follow(&home, 0, "rename wiki.example edge");
    let renamed = begun.elapsed();
    watch(&mut watched, begun, renamed + Duration::from_secs(FRONT + 2));
    let long = std::env::var_os("UNDERSTUDY_LONG").is_some();
    if long {
        watch(&mut watched, begun, Duration::from_secs(u64::from(TEN_MINUTES) + 30));
    }
    show(&watched, &gains, renamed, begun.elapsed());
    for (resolver, gain) in watched.iter().zip(&gains) {
        if gain.why_not.is_none() {
            let back = resolver.back[0].unwrap_or_else(|| panic!("{} is not back", resolver.name));
            assert!(back <= renamed + Duration::from_secs(FRONT + 2), "{}: {back:?}", resolver.name);
        }
        let seen =
            resolver.back[1].unwrap_or(begun.elapsed()).saturating_sub(resolver.back[0].unwrap_or(begun.elapsed()));
        // What can be gained is between the two ends that were foreseen; what has not ended yet may be more.
        if let (Some(most), None) = (gain.sooner.most, gain.why_not) {
            assert!(seen <= most + Duration::from_secs(2), "{}: {seen:?}, {gain:?}", resolver.name);
        }
        if long && gain.why_not.is_none() {
            assert!(seen + Duration::from_secs(3) >= gain.sooner.least, "{}: {seen:?}, {gain:?}", resolver.name);
        }
    }
    assert_eq!(gains.iter().filter(|gain| gain.why_not.is_none()).count(), 4, "{gains:#?}");
    assert!(gains.iter().any(|gain| gain.why_not == Some(WhyNot::StaleFirst)));
    assert!(gains.iter().any(|gain| gain.why_not == Some(WhyNot::FrontHeld)));
    assert!(dark(&watched, 1).is_empty() || !long);
}

/// What a rename now would gain with a resolver that was told of both at the beginning. Users ask all the time, so that the front
/// is fetched anew as soon as it runs out, and may be at any age.
fn foreseen(resolver: &Watched, now: Duration) -> Gain {
    let (begun, now) = (Timestamp(0), Timestamp(now.as_millis() as i64));
    let negative = Held { kind: Kind::Negative, ttl: Ttl::from_wire(NEGATIVE as u32), told: Some(begun) };
    let is_refreshed = resolver
        .profile
        .hold(Ttl::from_wire(FRONT as u32), Kind::Positive)
        .dropped
        .is_some_and(|hold| hold < now.since(begun));
    let told = if is_refreshed { None } else { Some(begun) };
    let front = Held { kind: Kind::Positive, ttl: Ttl::from_wire(FRONT as u32), told };
    Gain::of(&Stuck { weight: 1.0, profile: &resolver.profile, lever: negative, front, block: Duration::ZERO }, now)
}

/// Asks for both fronts again and again, and notes when each is there for the first time.
fn watch(watched: &mut [Watched], begun: Instant, until: Duration) {
    while begun.elapsed() < until {
        let round = Instant::now();
        for resolver in watched.iter_mut() {
            for (way, front) in ["www", "still"].into_iter().enumerate() {
                if resolver.back[way].is_none() && arrives(resolver.address, front) {
                    resolver.back[way] = Some(begun.elapsed());
                }
            }
        }
        std::thread::sleep(ASKED.saturating_sub(round.elapsed()));
    }
}

/// Whether a user of the resolver is given an address.
fn arrives(resolver: SocketAddr, front: &str) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut question = query(&format!("{front}.wiki.example"), RrType::A);
    question[2] |= 1; // RD
    socket.send_to(&question, resolver).unwrap();
    let mut answer = [0; 4096];
    let Ok((length, _)) = socket.recv_from(&mut answer) else { return false };
    let answer = message::read(&answer[..length]).unwrap();
    answer.answers.iter().any(|record| record.rtype == RrType::A)
}

fn show(watched: &[Watched], gains: &[Gain], renamed: Duration, end: Duration) {
    let lit = |way: usize, at: Duration| {
        watched.iter().filter(|resolver| resolver.back[way].is_some_and(|back| back <= at)).count()
    };
    eprintln!(
        "\nshare of resolvers whose users arrive; renamed at {:.0} s\n  at     renamed   repaired in place",
        renamed.as_secs_f64()
    );
    let step = if end > Duration::from_secs(60) { 20 } else { 2 };
    for seconds in (0..=end.as_secs()).step_by(step) {
        let share = |way| 100 * lit(way, Duration::from_secs(seconds)) / watched.len();
        let (one, other) = (share(0), share(1));
        eprintln!("{seconds:>4} s {one:>7} % {}{other:>7} % {}", bar(one), bar(other));
    }
    eprintln!("\n{:<22} {:>14} {:>14}   gain foreseen, and seen", "", "back, renamed", "in place");
    let time = |back: Option<Duration>| {
        back.map_or(format!("> {:.0} s", end.as_secs_f64()), |back| format!("{:.1} s", back.as_secs_f64()))
    };
    for (resolver, gain) in watched.iter().zip(gains) {
        let seen = resolver.back[0].map(|back| resolver.back[1].unwrap_or(end).saturating_sub(back).as_secs());
        let at_least = if resolver.back[1].is_none() { "at least " } else { "" };
        let seen = seen.map_or("none".to_owned(), |seen| format!("{at_least}{seen} s"));
        let sooner = gain.sooner;
        let foreseen = match gain.why_not {
            Some(why) => format!("none ({why})"),
            None => format!("{} to {} s", sooner.least.as_secs(), sooner.most.map_or(0, |most| most.as_secs())),
        };
        eprintln!(
            "{:<22} {:>14} {:>14}   {foreseen}; {seen}",
            resolver.name,
            time(resolver.back[0]),
            time(resolver.back[1])
        );
    }
}

fn bar(percent: usize) -> String {
    format!("{:<20}", "#".repeat(percent / 5))
}
