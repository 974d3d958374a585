//! What resolvers do with answers, one habit at a time, over virtual time.

use std::net::IpAddr;

use understudy::name::Name;
use understudy::rr::RrType;
use understudy::share::Share;
use understudy::time::Timestamp;
use understudy::world::sim::authority::Authority;
use understudy::world::sim::resolver::{Ask, Habits, Outcome, Prefetch, Reply, Resolver, Stale};

use super::name;

const HEAD: &str = "$TTL 30\n@ IN SOA ns h 1 1h 10m 2w 20\n@ IN NS ns\nns IN A 192.0.2.53\n";
const OLD: &str = "www IN A 192.0.2.1\nfront 6 IN CNAME www\n";
const NEW: &str = "www IN A 192.0.2.2\nfront 6 IN CNAME www\nlate IN A 192.0.2.2\nlate IN AAAA 2001:db8::2\n";

/// A resolver, the server that it asks, and the time.
struct Scene {
    resolver: Resolver,
    authority: Authority,
    /// The server is silent.
    silent: bool,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(1_000_000_000_000 + seconds * 1000)
}

/// The zone changes its content at second 0.
fn scene(habits: Habits) -> Scene {
    let (old, new) = (format!("{HEAD}{OLD}"), format!("{HEAD}{NEW}"));
    let steps = [(at(0), Share::ALL)];
    let authority = Authority::of_move(&name("wiki.example"), [&old, &new], &steps, [7; 16]).unwrap();
    let address: IpAddr = "192.0.2.9".parse().unwrap();
    Scene { resolver: Resolver::new(address, habits, 3), authority, silent: false }
}

impl Scene {
    fn ask(&mut self, asked: &str, rtype: RrType, seconds: i64) -> Reply {
        let (authority, silent) = (&mut self.authority, self.silent);
        let mut server = |packet: &[u8], from: IpAddr, at: Timestamp, out: &mut Vec<u8>| {
            if !silent {
                authority.ask(packet, from, at, out);
            }
        };
        let asked: Name = name(&format!("{asked}.wiki.example"));
        self.resolver.resolve(&asked, rtype, at(seconds), &mut server)
    }

    /// The last octet of the address of a name; 0 where there is none.
    fn address(&mut self, asked: &str, seconds: i64) -> u8 {
        match self.ask(asked, RrType::A, seconds).outcome {
            Outcome::Data(data) => *data[0].last().unwrap(),
            Outcome::NoData | Outcome::NoName => 0,
            Outcome::Failed => 255,
        }
    }
}

/// What is asked for at which seconds, and what comes back: the last octet of the address, 0 for a negative answer.
fn plays(habits: &Habits, asked: &str, answers: &[(i64, u8)]) {
    let mut scene = scene(habits.clone());
    for (seconds, answer) in answers {
        assert_eq!(scene.address(asked, *seconds), *answer, "{habits:?}: {asked} at {seconds}");
    }
}

#[test]
fn answers_are_kept_by_habit() {
    let usual = Habits::default();
    plays(&usual, "www", &[(-10, 1), (0, 1), (19, 1), (20, 2)]);
    plays(&usual, "late", &[(-10, 0), (9, 0), (10, 2)]);
    plays(&Habits { floor: 90, ..usual.clone() }, "www", &[(-10, 1), (79, 1), (80, 2)]);
    plays(&Habits { floor: 90, ..usual.clone() }, "late", &[(-10, 0), (10, 2)]);
    plays(&Habits { negative_floor: 600, ..usual.clone() }, "late", &[(-10, 0), (589, 0), (590, 2)]);
    plays(&Habits { cap: 5, ..usual.clone() }, "www", &[(-1, 1), (3, 1), (4, 2)]);
    plays(&Habits { negative_cap: 5, ..usual.clone() }, "late", &[(-1, 0), (3, 0), (4, 2)]);
    plays(&Habits { late: 1, ..usual.clone() }, "www", &[(-10, 1), (20, 1), (21, 2)]);
    // Whoever asks in the last seconds gets the old one, and has the new one fetched.
    let prefetch = Habits { prefetch: Prefetch::Last(5, 9), ..usual.clone() };
    plays(&prefetch, "www", &[(-10, 1), (14, 1), (15, 1), (16, 2)]);
    plays(&Habits { prefetch: Prefetch::LastTenth, ..usual.clone() }, "www", &[(-10, 1), (17, 1), (18, 2)]);
    // However late, the first to ask is given the old one.
    let stale = Habits { stale: Stale::AtOnce(86_400), ..usual.clone() };
    plays(&stale, "www", &[(-10, 1), (9000, 1), (9000, 2)]);
    plays(&stale, "late", &[(-10, 0), (9000, 0), (9000, 2)]);
    plays(&Habits { stale: Stale::AtOnce(60), ..usual }, "www", &[(-10, 1), (81, 2)]);
}

#[test]
fn aliases_are_chased_and_kept_apart() {
    let mut scene = scene(Habits::default());
    assert_eq!(scene.address("front", -2), 1);
    assert_eq!(scene.resolver.asked(), 2);
    // The alias ends first, and only it is fetched again.
    assert_eq!((scene.address("front", 5), scene.resolver.asked()), (1, 3));
    assert_eq!((scene.address("www", 27), scene.address("www", 28)), (1, 2));
}

#[test]
fn a_silent_server_is_not_asked_all_the_time() {
    for (stale, answer) in [(Stale::Never, 255), (Stale::OnFailure(3600), 1)] {
        let mut scene = scene(Habits { stale, ..Habits::default() });
        assert_eq!(scene.address("www", -40), 1);
        scene.silent = true;
        let asked = scene.resolver.asked();
        assert_eq!((scene.address("www", -9), scene.address("www", -8)), (answer, answer));
        assert_eq!(scene.resolver.asked(), asked + 1);
        scene.silent = false;
        assert_eq!((scene.address("www", -6), scene.address("www", -4)), (answer, 1));
    }
}

#[test]
fn several_caches_hold_several_answers() {
    let mut scene = scene(Habits { caches: 8, ..Habits::default() });
    assert_eq!(scene.address("www", -10), 1);
    let seen: Vec<u8> = (0..40).map(|_| scene.address("www", 5)).collect();
    assert!(seen.contains(&1) && seen.contains(&2), "{seen:?}");
    assert!(scene.resolver.asked() <= 8);
    assert!((0..100).all(|_| scene.address("www", 36) == 2));
}

#[test]
fn nothing_is_below_a_name_that_does_not_exist() {
    for (nxdomain_cut, asked) in [(false, 2), (true, 1)] {
        let mut scene = scene(Habits { nxdomain_cut, ..Habits::default() });
        assert_eq!(scene.ask("late", RrType::A, -5).outcome, Outcome::NoName);
        assert_eq!(scene.ask("a.late", RrType::A, -4).outcome, Outcome::NoName);
        assert_eq!(scene.resolver.asked(), asked);
        // The name itself is denied for every type.
        assert_eq!(scene.ask("late", RrType::AAAA, 3).outcome, Outcome::NoName);
        assert_eq!(scene.address("late", 15), 2);
    }
    // No data of one type says nothing of another.
    let mut scene = scene(Habits::default());
    assert_eq!(scene.ask("www", RrType::AAAA, -5).outcome, Outcome::NoData);
    assert_eq!(scene.address("www", -5), 1);
}

/// A server with NSEC records that are nobody's signatures: what matters is what resolvers make of them.
#[test]
fn names_between_those_of_nsec_records_do_not_exist() {
    let nsec = |out: &mut Vec<u8>, owner: &[u8], next: &[u8]| {
        out.extend_from_slice(&[owner, b"\x04wiki\x07example\0\0\x2f\0\x01\0\0\0\x14"].concat());
        let data = [next, b"\x04wiki\x07example\0\0\x01\x40"].concat();
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(&data);
    };
    let mut server = |packet: &[u8], _: IpAddr, _: Timestamp, out: &mut Vec<u8>| {
        out.extend_from_slice(packet);
        (out[2], out[3], out[9], out[11]) = (0x84, 3, 3, 0);
        out.truncate(out.len() - 11);
        out.extend_from_slice(
            b"\x04wiki\x07example\0\0\x06\0\x01\0\0\0\x14\0\x16\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x14",
        );
        nsec(out, b"\x01b", b"\x01m");
        nsec(out, b"", b"\x01b");
    };
    for (nsec, asked) in [(false, 4), (true, 2)] {
        let mut resolver = Resolver::new("192.0.2.9".parse().unwrap(), Habits { nsec, ..Habits::default() }, 1);
        let mut ask = |asked: &str| {
            let asked = name(&format!("{asked}.wiki.example"));
            resolver.resolve(&asked, RrType::A, at(0), &mut server).outcome
        };
        // The second is denied by what came with the first; so is the third, which stands below a name that is denied.
        // The fourth stands behind the next name.
        let outcomes = ["c", "d", "x.d", "z"].map(&mut ask);
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::NoName), "{outcomes:?}");
        assert_eq!(resolver.asked(), asked);
    }
}
