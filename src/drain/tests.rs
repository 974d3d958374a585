use super::*;
use crate::profile::{Applications, Caches, Class, Keeping, Prefetch, Stale};

fn ttl(seconds: u32) -> Ttl {
    Ttl::new(seconds).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(1_000_000_000_000 + seconds * 1000)
}

fn holder(demand: f64, profile: Profile) -> Holder {
    Holder {
        family: RrType::A,
        weight: 1.0,
        demand: Demand::Known(demand),
        told: Told::Unknown,
        ttl: ttl(60),
        kind: Kind::Positive,
        profile: Some(Arc::new(profile)),
        moves: None,
    }
}

fn population(applications: Option<Applications>) -> Population {
    Population { applications, ..Population::proposed() }
}

fn all_at(seconds: i64) -> Vec<Step> {
    vec![Step { at: at(seconds), share: Share::ALL }]
}

fn course(holders: &[Holder], population: &Population, steps: &[Step]) -> Course {
    let outlook = Outlook { holders, population, steps, known_until: at(0), bound: Some(at(60)) };
    forecast(&outlook).courses.into_iter().next().unwrap()
}

fn new_at(course: &Course, seconds: f64) -> f64 {
    course.new_at(Duration::from_secs_f64(seconds))
}

fn keeping(floor: u32, prefetch: Option<Prefetch>, stale: Option<Stale>) -> Keeping {
    Keeping { floor: (floor > 0).then(|| ttl(floor)), prefetch, stale, ..Keeping::default() }
}

/// Numbers that follow from a seed.
struct Draws(u64);

impl Draws {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 / (1u64 << 53) as f64).max(1e-16)
    }

    fn wait(&mut self, mean: f64) -> f64 {
        -mean * self.share().ln()
    }
}

/// Plays one cache through until it is asked at `time` behind the switch; whether the answer is old. Where `told` is given,
/// the cache was filled so long before the switch, and not since.
fn play(draws: &mut Draws, hold: (f64, f64), demand: f64, told: Option<f64>, time: f64) -> bool {
    let mut filled = -told.map(|told| told.max(1e-9)).unwrap_or(20.0 * hold.0 + draws.share() * 10.0 * hold.0.max(1.0));
    loop {
        let mut refill = filled + hold.0 + draws.wait(1.0 / demand);
        if told.is_some() && filled < 0.0 && refill < 0.0 {
            refill = draws.wait(1.0 / demand);
        }
        if refill > time {
            return filled < 0.0 && time - filled < hold.1;
        }
        if refill >= 0.0 {
            return false;
        }
        filled = refill;
    }
}

fn played(hold: (f64, f64), demand: f64, told: Option<f64>, time: f64) -> f64 {
    let mut draws = Draws(7);
    let old = (0..20_000).filter(|_| play(&mut draws, hold, demand, told, time)).count();
    old as f64 / 20_000.0
}

/// What a profile does with a TTL of 60 s: from which age on it is fetched again, and given out no more.
fn habits() -> Vec<(Keeping, (f64, f64))> {
    vec![
        (keeping(0, None, None), (60.0, 60.0)),
        (keeping(90, None, None), (90.0, 90.0)),
        (keeping(0, Some(Prefetch::Percent(10)), None), (54.0, 60.0)),
        (keeping(0, None, Some(Stale::ForEver)), (60.0, f64::INFINITY)),
        (keeping(0, None, Some(Stale::For(ttl(30)))), (60.0, 90.0)),
    ]
}

#[test]
fn the_law_agrees_with_caches_that_are_played_through() {
    for (keeping, hold) in habits() {
        for demand in [0.002, 0.02, 0.3] {
            let course = course(&[holder(demand, Profile::alike(keeping.clone()))], &population(None), &all_at(0));
            for time in [0.5, 20.0, 57.0, 75.0, 140.0] {
                let (said, seen) = (1.0 - new_at(&course, time), played(hold, demand, None, time));
                assert!((said - seen).abs() < 0.015, "{keeping:?}, {demand}/s at {time}: {said} and not {seen}");
            }
        }
    }
}

#[test]
fn what_is_left_of_a_hold_is_known_where_it_is_known_who_was_told() {
    for (keeping, hold) in habits() {
        for (demand, told) in [(0.02, 0.0), (0.02, 50.0), (0.3, 10.0), (0.01, 75.0)] {
            let mut holder = holder(demand, Profile::alike(keeping.clone()));
            holder.told = Told::At { at: at(-(told as i64)), ttl: ttl(60) };
            let course = course(&[holder], &population(None), &all_at(0));
            for time in [0.5, 7.0, 45.0, 55.0, 80.0, 120.0] {
                let (said, seen) = (1.0 - new_at(&course, time), played(hold, demand, Some(told), time));
                assert!(
                    (said - seen).abs() < 0.015,
                    "{keeping:?}, {demand}/s, told {told} ago, at {time}: {said}, {seen}"
                );
            }
        }
    }
}

#[test]
fn of_several_caches_only_one_was_told_last() {
    let (demand, count, told, hold) = (0.2, 8.0, 5.0f64, 60.0f64);
    let caches = Caches { least: 8, likely: 8, most: 8 };
    let mut one = holder(demand, Profile { caches, ..Profile::exact() });
    one.told = Told::At { at: at(-(told as i64)), ttl: ttl(60) };
    let course = course(&[one], &population(None), &all_at(0));
    // The others are as old as they can be: filled for longer than that, and each asked an eighth as often.
    let each = demand / count;
    for time in [0.0, 20.0, 50.0, 54.0, 56.0] {
        let others = each * (hold - time - told).max(0.0) / (each * (hold - told) + 1.0);
        let last = if time < hold - told { 1.0 } else { 0.0 };
        let expected = last / count + others * (count - 1.0) / count;
        assert!((1.0 - new_at(&course, time) - expected).abs() < 2e-3, "{time}");
    }
}

/// `∫ₓᴱ S(u) du / (B + 1/λ)` in small steps.
#[test]
fn the_law_is_the_integral_that_it_stands_for() {
    for (keeping, (refreshed, dropped)) in habits() {
        for demand in [1e-9, 1e-4, 0.05, 20.0] {
            let course = course(&[holder(demand, Profile::alike(keeping.clone()))], &population(None), &all_at(0));
            for time in [0.0, 30.0, 65.0, 85.0] {
                let lasting = |age: f64| (-demand * (age - refreshed).max(0.0)).exp();
                let end = if dropped == f64::INFINITY { refreshed + 40.0 / demand } else { dropped };
                let (step, mut sum) = (((end - time) / 200_000.0).max(0.0), 0.0);
                for at in 0..200_000 {
                    sum += lasting(time + (f64::from(at) + 0.5) * step) * step;
                }
                let (said, integral) = (1.0 - new_at(&course, time), sum / (refreshed + 1.0 / demand));
                assert!((said - integral).abs() < 2e-3, "{keeping:?}, {demand}/s at {time}: {said} and not {integral}");
            }
        }
    }
}

#[test]
fn demand_follows_from_what_is_seen() {
    for demand in [0.001, 0.05, 3.0] {
        let seen = 1.0 / (60.0 + 1.0 / demand);
        let known = course(&[holder(demand, Profile::exact())], &population(None), &all_at(0));
        let mut of_seen = holder(demand, Profile::exact());
        of_seen.demand = Demand::Seen(seen);
        assert!((new_at(&known, 10.0) - new_at(&course(&[of_seen], &population(None), &all_at(0)), 10.0)).abs() < 1e-3);
    }
    // More than a cache that keeps TTLs would ask, and nothing known, are the most that there can be.
    for demand in [Demand::Seen(5.0), Demand::Unknown, Demand::Known(f64::NAN), Demand::Seen(-1.0)] {
        let mut popular = holder(0.0, Profile::exact());
        popular.demand = demand;
        let course = course(&[popular], &population(None), &all_at(0));
        assert!((new_at(&course, 15.0) - 0.25).abs() < 1e-3, "{demand:?}");
        assert_eq!(course.quantiles.half.map(f64::round), Some(30.0));
        assert!(course.old_at_bound.unwrap() < 1e-6);
    }
}

#[test]
fn applications_keep_what_they_were_told() {
    let kept = |between_uses| Applications {
        share: 1.0,
        least: Duration::from_secs(40),
        greatest: Duration::from_secs(40),
        between_uses: Duration::from_secs(between_uses),
    };
    // A popular cache with a hold of 60 s, and an application in use all the time: the mean of 1 - t/60 over 40 s.
    let popular = holder(1e9, Profile::exact());
    let always = course(std::slice::from_ref(&popular), &population(Some(kept(0))), &all_at(0));
    for (time, old) in
        [(0.0, 1.0), (20.0, 0.5 + 0.5 * (1.0 - 10.0 / 60.0)), (50.0, 0.5), (80.0, 200.0 / 60.0 / 40.0), (101.0, 0.0)]
    {
        assert!((1.0 - new_at(&always, time) - old).abs() < 2e-3, "{time}: {}", new_at(&always, time));
    }
    // Used seldom, it keeps nothing most of the time.
    let seldom = course(&[popular], &population(Some(kept(40_000))), &all_at(0));
    assert!((1.0 - new_at(&seldom, 30.0) - 0.5).abs() < 2e-3);
}

#[test]
fn a_ramp_moves_its_shares_one_after_the_other() {
    let share = |points| Share::new(points).unwrap();
    let steps =
        [(0, 1000), (300, 5000), (600, 10_000)].map(|(seconds, points)| Step { at: at(seconds), share: share(points) });
    let popular = [holder(1e9, Profile::exact())];
    let ramp = course(&popular, &population(None), &steps);
    for (time, new) in
        [(-1.0, 0.0), (30.0, 0.05), (299.0, 0.1), (330.0, 0.3), (599.0, 0.5), (630.0, 0.75), (660.0, 1.0)]
    {
        let said = if time < 0.0 { curve::value_at(&ramp.curve, time) } else { new_at(&ramp, time) };
        assert!((said - new).abs() < 2e-3, "{time}: {said}");
    }
    // Where it is known when a holder moves, the shares do not count for it.
    let mut last = popular[0].clone();
    last.moves = Some(at(600));
    let known = course(&[last], &population(None), &steps);
    assert!(new_at(&known, 599.0) < 1e-3 && (new_at(&known, 630.0) - 0.5).abs() < 2e-3);
    // A ramp that stops leaves the rest where it is, and one that goes back takes them back.
    let stopped = course(&popular, &population(None), &steps[..1]);
    assert_eq!((stopped.quantiles.half, (new_at(&stopped, 1e6) * 1000.0).round()), (None, 100.0));
    let back = [steps[0], Step { at: at(300), share: Share::NONE }];
    assert!(new_at(&course(&popular, &population(None), &back), 400.0) < 1e-3);
}

#[test]
fn the_worst_family_is_the_latest() {
    let mut old = vec![holder(1.0, Profile::exact()), holder(1.0, Profile::exact()), holder(1.0, Profile::exact())];
    (old[1].family, old[1].ttl) = (RrType::AAAA, ttl(300));
    (old[2].family, old[2].ttl, old[2].kind) = (RrType::HTTPS, ttl(20), Kind::Negative);
    let population = population(None);
    let steps = all_at(0);
    let outlook = Outlook { holders: &old, population: &population, steps: &steps, known_until: at(0), bound: None };
    let forecast = forecast(&outlook);
    assert_eq!(
        forecast.courses.iter().map(|course| course.family).collect::<Vec<_>>(),
        [RrType::A, RrType::AAAA, RrType::HTTPS]
    );
    assert_eq!(forecast.worst().unwrap().family, RrType::AAAA);
    assert_eq!(forecast.courses[0].old_at_bound, None);
    let text = serde_json::to_string(&forecast).unwrap();
    assert!(text.contains(r#""family":"HTTPS""#), "{text}");
    assert_eq!(serde_json::from_str::<Forecast>(&text).unwrap().worst().unwrap().family, RrType::AAAA);
}

#[test]
fn what_is_not_known_is_named() {
    let measured = |at_least| {
        let point = crate::profile::Measured {
            ttl: ttl(60),
            hold: Duration::from_secs(500),
            uncertainty: Duration::ZERO,
            at_least,
        };
        let positive = Keeping { measured: vec![point], ..Keeping::default() };
        Profile { positive, source: Origin::Measured { at: at(-9) }, ..Profile::exact() }
    };
    let mut holders = vec![holder(1.0, measured(false)), holder(1.0, measured(true)), holder(1.0, Profile::exact())];
    holders.push(Holder { weight: f64::NAN, ..holders[0].clone() });
    holders.push(Holder { profile: None, ..holders[0].clone() });
    let population = population(None);
    let steps = all_at(0);
    let said = forecast(&Outlook {
        holders: &holders,
        population: &population,
        steps: &steps,
        known_until: at(0),
        bound: None,
    });
    assert!((said.assumed - 0.5).abs() < 1e-9);
    let left = [LeftOut::Forwarders, LeftOut::Applications, LeftOut::Unweighed(1), LeftOut::AtLeast(0.25)];
    assert_eq!(said.left_out, left);
    assert_eq!(left[3].to_string(), "25.0% of the demand: its resolvers hold for longer than was measured");
}

/// Every odd number in every place: no panic, and a curve of shares.
#[test]
fn odd_input_is_no_trouble() {
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300, f64::MIN_POSITIVE, 1.0];
    let habits = habits().into_iter().map(|(keeping, _)| keeping).chain([keeping(i32::MAX as u32, None, None)]);
    let profiles: Vec<_> = habits.map(|keeping| Arc::new(Profile::alike(keeping))).collect();
    let times = [Timestamp(i64::MIN), at(0), Timestamp(i64::MAX)];
    let mut holders = Vec::new();
    for (number, value) in odd.into_iter().enumerate() {
        for demand in [Demand::Seen(value), Demand::Known(value), Demand::Unknown] {
            for told in [Told::Unknown, Told::Never, Told::At { at: times[number % 3], ttl: Ttl::MAX }] {
                let profile = profiles.get(number % (profiles.len() + 1)).cloned();
                let moves = times.get(number % 4).copied();
                let ttl = if number % 2 == 0 { Ttl::ZERO } else { Ttl::MAX };
                let weight = odd[(number + holders.len()) % odd.len()];
                let family = RrType(number as u16 % 3);
                holders.push(Holder { family, weight, demand, told, ttl, kind: Kind::Negative, profile, moves });
            }
        }
    }
    for value in odd {
        let span = Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX);
        let applications =
            Some(Applications { share: value, least: Duration::ZERO, greatest: span, between_uses: Duration::ZERO });
        let classes = vec![Class { name: String::new(), weight: value, profile: Profile::exact() }];
        let population = Population { classes, applications };
        for steps in [vec![], times.map(|at| Step { at, share: Share::ALL }).to_vec(), all_at(0)] {
            for holders in [&holders[..], &[]] {
                let outlook = Outlook {
                    holders,
                    population: &population,
                    steps: &steps,
                    known_until: at(0),
                    bound: Some(times[2]),
                };
                for course in forecast(&outlook).courses {
                    assert!((2..=MOST_POINTS).contains(&course.curve.len()), "{}", course.curve.len());
                    let shares =
                        course.curve.iter().all(|point| (0.0..=1.0).contains(&point.new) && point.seconds.is_finite());
                    assert!(shares, "{:?}", course.curve);
                }
            }
        }
    }
}
