//! Caches that are played, and what is said of them.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::canary::Part;
use crate::rr::RrType;
use crate::serving::respond::Transport;

/// How a played cache keeps answers. Times are in milliseconds.
#[derive(Clone, Copy)]
struct Cache {
    /// From the TTL in seconds to how long an answer is kept.
    keeps: fn(Content, i64) -> i64,
    /// So long before its end it is fetched again.
    prefetch: i64,
    stale_at_once: bool,
    stale_on_failure: bool,
    /// From the TTL and the age in seconds to the TTL that is shown.
    shows: fn(i64, i64) -> i64,
    /// Whether negative answers come with a SOA record.
    tells_soa: bool,
}

const EXACT: Cache = Cache {
    keeps: |_, ttl| ttl * 1000,
    prefetch: 0,
    stale_at_once: false,
    stale_on_failure: false,
    shows: |ttl, age| (ttl - age).max(0),
    tells_soa: true,
};

const T0: i64 = 1_790_000_000_000;
/// How long a query takes from us to the cache, from there to our server, and back.
const TRIP: i64 = 10;

struct Player<'c> {
    caches: &'c [Cache],
    turn: usize,
    /// What each cache holds: the content, its version, when it was given.
    held: Vec<Option<(Content, u8, i64)>>,
    series: Series,
}

impl<'c> Player<'c> {
    fn new(caches: &'c [Cache], before: Content, after: Content, ttl: u32, start: i64) -> Player<'c> {
        let turn = Timestamp(T0 + start + 1000);
        let canary = Canary::new(before, after, Ttl::new(ttl).unwrap(), turn, start as u32);
        let series = Series { canary, asks: Vec::new(), arrivals: Vec::new() };
        Player { caches, turn: start as usize, held: vec![None; caches.len()], series }
    }

    fn fetch(&mut self, cache: usize, at: i64) -> Option<(Content, u8, i64)> {
        self.series.arrivals.push(Arrival {
            canary: self.series.canary,
            part: Part::Asked,
            rtype: RrType::TXT,
            at: Timestamp(at),
            source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, (1 + cache % 200) as u8)),
            transport: Transport::Udp,
            subnet: None,
            edns: true,
            dnssec_ok: true,
            mixed_case: false,
        });
        let (content, version) = self.series.canary.at(Timestamp(at));
        if content == Content::Silence {
            return None;
        }
        self.held[cache] = Some((content, version, at));
        self.held[cache]
    }

    /// Asks the next cache in turn.
    fn ask(&mut self, sent: i64) {
        let index = self.turn % self.caches.len();
        self.turn += 1;
        let cache = self.caches[index];
        let ttl = i64::from(self.series.canary.ttl.seconds());
        let at = sent + TRIP;
        let held = self.held[index].map(|held| (held, held.2 + (cache.keeps)(held.0, ttl)));
        let given = match held {
            Some((held, end)) if at < end => {
                if at >= end - cache.prefetch {
                    self.fetch(index, at + TRIP);
                }
                Some(held)
            }
            Some((held, _)) if cache.stale_at_once => {
                self.fetch(index, at + TRIP);
                Some(held)
            }
            Some((held, _)) => self.fetch(index, at + TRIP).or(cache.stale_on_failure.then_some(held)),
            None => self.fetch(index, at + TRIP),
        };
        let reply = given.map_or(Reply::Failure, |(content, version, given)| {
            let shown = Ttl::new((cache.shows)(ttl, (at - given).max(0) / 1000) as u32).unwrap();
            let absence = Absence {
                given: cache.tells_soa.then_some(Timestamp(given / 100 * 100)),
                ttl: cache.tells_soa.then_some(shown),
            };
            match content {
                Content::Data => Reply::Data { version, given: Timestamp(given), ttl: shown },
                Content::NoName => Reply::NoName(absence),
                Content::NoData => Reply::NoData(absence),
                _ => Reply::Failure,
            }
        });
        self.series.asks.push(Ask { sent: Timestamp(sent), ended: Timestamp(sent + 4 * TRIP), reply });
    }
}

/// All that is asked of a resolver, as the prober does it.
fn observe(caches: &[Cache], ttls: &[u32]) -> Observations {
    let mut seen = Observations::default();
    let mut start = 0;
    let fills = if caches.len() > 1 { 13 } else { 2 };
    let mut player = Player::new(caches, Content::Data, Content::Data, 60, 0);
    (0..24).for_each(|at| player.ask(T0 + at * 20));
    seen.counts.push(player.series);
    for content in [Content::Data, Content::NoName, Content::NoData, Content::Failure] {
        for &ttl in ttls {
            for phase in 0..3 {
                start += 7919;
                let mut player = Player::new(caches, content, Content::Data, ttl, start);
                (0..fills).for_each(|at| player.ask(T0 + start + at * 20));
                let mut at = 1100 + phase * 170;
                while at < 45_000 {
                    player.ask(T0 + start + at);
                    at += 500;
                }
                seen.holds.push(player.series);
            }
        }
    }
    for (after, to) in [(Content::Data, 0), (Content::Silence, 1)] {
        for _ in 0..3 {
            start += 7919;
            let mut player = Player::new(caches, Content::Data, after, ttls[0], start);
            (0..fills).for_each(|at| player.ask(T0 + start + at * 20));
            (0..3).for_each(|at| player.ask(T0 + start + 90_000 + at * 1000));
            if to == 0 { seen.cold.push(player.series) } else { seen.failing.push(player.series) }
        }
    }
    seen
}

fn measure(caches: &[Cache]) -> Measured {
    observe(caches, &[6, 12]).measure()
}

fn held(measured: &Measured, kind: Kind, ttl: u32) -> &Hold {
    measured.holds.iter().find(|hold| hold.kind == kind && hold.ttl == ttl).unwrap()
}

/// Each hold has to be so long, give or take a second and what it says itself.
fn assert_holds(measured: &Measured, kind: Kind, wanted: &[(u32, f64)]) {
    for &(ttl, seconds) in wanted {
        let hold = held(measured, kind, ttl);
        assert!((hold.hold - seconds).abs() <= 1.0 + hold.uncertainty && !hold.at_least, "{seconds}: {hold:?}");
        assert!(hold.uncertainty < 1.5, "{hold:?}");
    }
}

fn without_failures(measured: &Measured) -> Vec<Verdict> {
    measured.verdicts.clone()
}

#[test]
fn nobody_honest_is_accused() {
    let unbound =
        Cache { keeps: |content, ttl| if content == Content::Failure { 5000 } else { ttl * 1000 + 999 }, ..EXACT };
    let silent = Cache { tells_soa: false, ..EXACT };
    for (what, caches) in [
        ("exact", vec![EXACT]),
        ("one second more", vec![unbound]),
        ("no SOA", vec![silent]),
        ("three", vec![EXACT; 3]),
        ("three, one second more", vec![unbound; 3]),
    ] {
        let measured = measure(&caches);
        assert_eq!(without_failures(&measured), [], "{what}");
        for kind in [Kind::Positive, Kind::NoName, Kind::NoData] {
            assert_holds(&measured, kind, &[(6, 6.0), (12, 12.0)]);
        }
        let found = measured.caches.unwrap();
        assert_eq!((found.likely as usize, measured.egress.len()), (caches.len(), caches.len()), "{what}: {found:?}");
    }
}

#[test]
fn a_floor_that_is_not_shown_at_first_is_found() {
    // dnsmasq: its first reply has the TTL that came, later ones that of its floor.
    let floor = Cache {
        keeps: |_, ttl| ttl.max(20) * 1000,
        shows: |ttl, age| if age == 0 { ttl } else { ttl.max(20) - age },
        tells_soa: false,
        ..EXACT
    };
    let measured = measure(&[floor]);
    assert_holds(&measured, Kind::Positive, &[(6, 20.0), (12, 20.0)]);
    assert_holds(&measured, Kind::NoName, &[(6, 20.0), (12, 20.0)]);
    let floors = measured.verdicts.iter().filter(
        |verdict| matches!(verdict, Verdict::Floor { seconds, at_least: false, .. } if (seconds - 20.0).abs() < 1.5),
    );
    assert_eq!((floors.count(), measured.verdicts.len()), (3, 3), "{:?}", measured.verdicts);
}

#[test]
fn a_ttl_that_counts_to_nothing_and_is_held_on_is_found() {
    // Knot Resolver shows what is left of the TTL that came, and holds on when it is 0.
    let floor = Cache { keeps: |_, ttl| ttl.max(20) * 1000, ..EXACT };
    let verdicts = measure(&[floor]).verdicts;
    assert!(verdicts.contains(&Verdict::MisleadingTtl), "{verdicts:?}");
    assert!(verdicts.iter().any(|verdict| matches!(verdict, Verdict::Floor { kind: Kind::Positive, .. })));
}

#[test]
fn what_is_shown_is_not_what_counts() {
    // dnsmasq's max-ttl shows 5 and holds the TTL; dnsdist can be told not to count down.
    for shows in [|ttl: i64, age: i64| (ttl - age).clamp(0, 5), |ttl: i64, _: i64| ttl] {
        let measured = measure(&[Cache { shows, ..EXACT }]);
        assert_holds(&measured, Kind::Positive, &[(6, 6.0), (12, 12.0)]);
        assert_eq!(measured.verdicts, [Verdict::MisleadingTtl]);
    }
}

#[test]
fn caps_and_multipliers_are_told_from_floors() {
    let measured = measure(&[Cache { keeps: |_, ttl| ttl.min(4) * 1000, ..EXACT }]);
    assert_holds(&measured, Kind::NoData, &[(12, 4.0)]);
    let caps = measured.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Cap { .. })).count();
    assert_eq!((caps, measured.verdicts.len()), (3, 4), "and the TTLs mislead: {:?}", measured.verdicts);
    let measured =
        measure(&[Cache { keeps: |_, ttl| ttl * 2500, shows: |ttl, age| (ttl * 5 / 2 - age).max(0), ..EXACT }]);
    let factor =
        |verdict: &Verdict| matches!(verdict, Verdict::Multiplier { factor, .. } if (factor - 2.5).abs() < 0.2);
    assert!(measured.verdicts.len() == 3 && measured.verdicts.iter().all(factor), "{:?}", measured.verdicts);
}

#[test]
fn only_negatives_may_be_kept_too_long() {
    let keeps = |content, ttl: i64| match content {
        Content::NoName | Content::NoData => 30_000,
        _ => ttl * 1000,
    };
    let measured = measure(&[Cache { keeps, shows: |_, age| (30 - age).max(0), ..EXACT }]);
    assert_holds(&measured, Kind::Positive, &[(6, 6.0), (12, 12.0)]);
    assert_holds(&measured, Kind::NoName, &[(6, 30.0), (12, 30.0)]);
    let kinds: Vec<Kind> = measured
        .verdicts
        .iter()
        .filter_map(|verdict| match verdict {
            Verdict::Floor { kind, .. } => Some(*kind),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [Kind::NoName, Kind::NoData]);
}

#[test]
fn a_hold_that_did_not_end_is_at_least_so_long() {
    let measured = measure(&[Cache { keeps: |_, _| 300_000, shows: |_, age| 300 - age, ..EXACT }]);
    let hold = held(&measured, Kind::Positive, 6);
    assert!(hold.at_least && hold.hold > 40.0, "{hold:?}");
    assert!(measured.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Floor { at_least: true, .. })));
    // What is held still says nothing of what comes behind.
    assert!(matches!(measured.stale_at_once, Habit::Unknown { .. }), "{:?}", measured.stale_at_once);
}

#[test]
fn prefetching_is_no_cap() {
    let measured = measure(&[Cache { prefetch: 2000, ..EXACT }]);
    let [Verdict::Prefetch { left }] = measured.verdicts[..] else { panic!("{:?}", measured.verdicts) };
    assert!(left > 1.0 && left <= 2.1, "{left}");
    assert_holds(&measured, Kind::Positive, &[(12, 10.5)]);
}

#[test]
fn fetching_in_advance_of_a_cap_is_a_cap() {
    // BIND with a cap of 10 s fetches again when 2 s of that are left.
    let cap =
        Cache { keeps: |_, ttl| ttl.min(10) * 1000, prefetch: 2000, shows: |ttl, age| ttl.min(10) - age, ..EXACT };
    let verdicts = observe(&[cap], &[20, 30]).measure().verdicts;
    let caps = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Cap { .. })).count();
    assert_eq!((caps, verdicts.len()), (3, 3), "{verdicts:?}");
}

#[test]
fn stale_answers_are_found_at_once_and_on_failure() {
    let measured = measure(&[Cache { stale_at_once: true, ..EXACT }]);
    // One that gives them at once gives them on failure, too.
    assert_eq!(measured.verdicts, [Verdict::StaleAtOnce, Verdict::StaleOnFailure]);
    let measured = measure(&[Cache { stale_on_failure: true, ..EXACT }]);
    assert_eq!(measured.verdicts, [Verdict::StaleOnFailure]);
    assert_eq!(measured.stale_at_once, Habit::No { times: 0, of: 3 });
}

#[test]
fn unlike_caches_are_told_apart() {
    let floor = Cache { keeps: |_, ttl| ttl.max(25) * 1000, shows: |ttl, age| ttl.max(25) - age, ..EXACT };
    let measured = measure(&[EXACT, floor]);
    let hold = held(&measured, Kind::Positive, 12);
    assert!((hold.hold - 12.0).abs() < 2.0 && (hold.longest.unwrap() - 25.0).abs() < 2.0, "{hold:?}");
    assert!(measured.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unlike { kind: Kind::Positive, .. })));
    assert!(!measured.verdicts.contains(&Verdict::MisleadingTtl), "{:?}", measured.verdicts);
}

#[test]
fn failures_are_kept_as_they_are() {
    let keeps = |content, ttl: i64| if content == Content::Failure { 5000 } else { ttl * 1000 };
    let measured = measure(&[Cache { keeps, ..EXACT }]);
    assert_holds(&measured, Kind::Failure, &[(6, 5.0), (12, 5.0)]);
    assert_eq!(measured.verdicts, []);
}

#[test]
fn two_violations_are_not_enough() {
    let mut seen =
        observe(&[Cache { keeps: |_, ttl| ttl.max(20) * 1000, shows: |ttl, age| ttl.max(20) - age, ..EXACT }], &[6]);
    seen.holds.retain(|series| series.canary.before == Content::Data);
    assert_eq!(seen.measure().verdicts.len(), 1);
    seen.holds.truncate(2);
    assert_eq!(seen.measure().verdicts, []);
}

#[test]
fn nothing_seen_is_nothing_known() {
    let measured = Observations::default().measure();
    assert_eq!((measured.caches, measured.holds.len(), measured.verdicts.len()), (None, 0, 0));
    for habit in [&measured.prefetch, &measured.stale_at_once, &measured.stale_on_failure, &measured.absence_below] {
        assert!(matches!(habit, Habit::Unknown { .. }), "{habit:?}");
    }
}

#[test]
fn caches_are_counted_by_how_many_were_met() {
    let met = |given: &[i64]| {
        let canary = Canary::new(Content::Data, Content::Data, Ttl::new(60).unwrap(), Timestamp(T0 + 100_000), 1);
        let ask = |given: &i64| Ask {
            sent: Timestamp(T0),
            ended: Timestamp(T0),
            reply: Reply::Data { version: 1, given: Timestamp(*given), ttl: Ttl::ZERO },
        };
        super::caches::count(&[Series { canary, asks: given.iter().map(ask).collect(), arrivals: Vec::new() }])
    };
    let one = met(&[1; 24]).unwrap();
    assert_eq!((one.least, one.likely, one.most), (1, 1, Some(1)));
    let three: Vec<i64> = (0..24).map(|at| at % 3).collect();
    let three = met(&three).unwrap();
    assert!(three.least == 3 && three.likely == 3 && (3..=4).contains(&three.most.unwrap()), "{three:?}");
    // Twelve questions that all met another one: there may be any number.
    let many: Vec<i64> = (0..12).collect();
    assert_eq!(met(&many).unwrap(), CacheCount { least: 12, likely: 12, most: None });
    let some: Vec<i64> = (0..24).map(|at| at % 12).collect();
    let some = met(&some).unwrap();
    assert!((13..=16).contains(&some.likely), "{some:?}");
    assert_eq!(met(&[]), None);
}

#[test]
fn nothing_is_said_of_caches_that_could_not_be_counted() {
    // More than were met by questions that all met another one: whoever asks next meets a new one, too.
    let many = vec![EXACT; 997];
    let measured = measure(&many);
    assert_eq!(measured.verdicts, [Verdict::Afresh { questions: 24 }]);
    assert!(measured.holds.iter().all(|hold| hold.at_least));
    let nothing = measure(&[Cache { keeps: |_, _| 0, ..EXACT }]);
    assert_eq!(nothing.verdicts, [Verdict::Afresh { questions: 24 }]);
}

#[test]
fn what_was_measured_is_a_profile() {
    use crate::profile::{Kind as Told, Origin};
    let ttl = |seconds| Ttl::new(seconds).unwrap();
    let at = Timestamp(T0);
    let floor = Cache { keeps: |_, ttl| ttl.max(20) * 1000, shows: |ttl, age| ttl.max(20) - age, ..EXACT };
    let profile = measure(&[floor]).profile(at);
    assert_eq!((profile.source, profile.caches.count()), (Origin::Measured { at }, 1));
    for (told, wanted) in [(6, 20.0), (9, 20.0), (12, 20.0)] {
        for kind in [Told::Positive, Told::Negative] {
            let hold = profile.hold(ttl(told), kind);
            assert!((hold.refreshed.as_secs_f64() - wanted).abs() < 1.0 && !hold.at_least, "{told} {kind:?}: {hold:?}");
        }
    }
    let profile = measure(&[Cache { prefetch: 2000, ..EXACT }]).profile(at);
    let hold = profile.hold(ttl(12), Told::Positive);
    assert!(hold.refreshed <= Duration::from_secs(10) && hold.dropped.unwrap() >= Duration::from_secs(12), "{hold:?}");
    let profile = measure(&[Cache { stale_at_once: true, ..EXACT }]).profile(at);
    assert_eq!(profile.hold(ttl(12), Told::Positive).dropped, None);
    // Of unlike caches, what matters is how long the slower one keeps old answers.
    let profile = measure(&[EXACT, floor]).profile(at);
    assert!(profile.hold(ttl(12), Told::Positive).dropped.unwrap() > Duration::from_secs(17));
}
