use super::*;

fn ttl(seconds: u32) -> Ttl {
    Ttl::new(seconds).unwrap()
}

fn whole(hold: Hold) -> (u64, Option<u64>) {
    (hold.refreshed.as_secs(), hold.dropped.map(|dropped| dropped.as_secs()))
}

#[test]
fn holds_follow_from_habits() {
    let usual = Keeping::default();
    let floor = Keeping { floor: Some(ttl(90)), ..usual.clone() };
    let cap = Keeping { cap: Some(ttl(300)), ..usual.clone() };
    let both = Keeping { floor: Some(ttl(600)), ..cap.clone() };
    let unbound = Keeping { rounding: Duration::from_secs(1), prefetch: Some(Prefetch::Percent(10)), ..usual.clone() };
    let bind = Keeping { prefetch: Some(Prefetch::Seconds { last: ttl(2), from: ttl(9) }), ..usual.clone() };
    let stale = Keeping { stale: Some(Stale::ForEver), ..usual.clone() };
    let day = Keeping { stale: Some(Stale::For(ttl(86_400))), ..usual.clone() };
    for (keeping, told, refreshed, dropped) in [
        (&usual, 60, 60, Some(60)),
        (&usual, 0, 0, Some(0)),
        (&floor, 60, 90, Some(90)),
        (&floor, 120, 120, Some(120)),
        (&cap, 3600, 300, Some(300)),
        (&both, 30, 300, Some(300)),
        (&unbound, 99, 90, Some(100)),
        (&bind, 30, 28, Some(30)),
        (&bind, 8, 8, Some(8)),
        (&stale, 60, 60, None),
        (&day, 60, 60, Some(86_460)),
    ] {
        assert_eq!(whole(keeping.hold(ttl(told))), (refreshed, dropped), "{keeping:?} told {told}");
    }
    let extender = Profile { negative: floor, ..Profile::exact() };
    assert_eq!(whole(extender.hold(ttl(30), Kind::Positive)), (30, Some(30)));
    assert_eq!(whole(extender.hold(ttl(30), Kind::Negative)), (90, Some(90)));
}

#[test]
fn what_was_measured_stands_for_habits() {
    let point = |told, hold| Measured {
        ttl: ttl(told),
        hold: Duration::from_secs(hold),
        uncertainty: Duration::ZERO,
        at_least: false,
    };
    let floor = Keeping { measured: vec![point(5, 60), point(60, 60), point(300, 300)], ..Keeping::default() };
    for (told, held, at_least) in
        [(1, 60, false), (30, 60, false), (180, 180, false), (300, 300, false), (3600, 3600, true)]
    {
        let hold = floor.hold(ttl(told));
        assert_eq!((whole(hold), hold.at_least), ((held, Some(held)), at_least), "{told}");
    }
    let cap = Keeping { measured: vec![point(3600, 300)], ..Keeping::default() };
    assert_eq!(whole(cap.hold(ttl(86_400))).0, 300);
    let unfinished = Keeping { measured: vec![Measured { at_least: true, ..point(60, 500) }], ..Keeping::default() };
    assert!(unfinished.hold(ttl(60)).at_least);
}

#[test]
fn the_proposed_population_is_whole_and_can_be_bent() {
    let proposed = Population::proposed();
    assert!((proposed.weight() - 1.0).abs() < 1e-12);
    assert!((proposed.classes[0].weight - 0.82).abs() < 1e-12);
    let bent = proposed.clone().with_violators(0.1);
    assert!((bent.weight() - 1.0).abs() < 1e-12 && (bent.classes[0].weight - 0.9).abs() < 1e-12);
    assert!((proposed.clone().with_violators(0.0).classes[0].weight - 1.0).abs() < 1e-12);
    assert_eq!(proposed.clone().with_violators(f64::NAN), proposed);
}

#[test]
fn profiles_are_read_as_they_are_written() {
    let population = Population::proposed();
    let text = serde_json::to_string(&population).unwrap();
    assert_eq!(serde_json::from_str::<Population>(&text).unwrap(), population);
    let short = r#"{"positive": {"floor": 60}, "caches": {"least": 8, "likely": 9, "most": 12}}"#;
    let profile: Profile = serde_json::from_str(short).unwrap();
    assert_eq!((profile.hold(ttl(5), Kind::Positive).refreshed.as_secs(), profile.caches.count()), (60, 9));
    assert!(serde_json::from_str::<Profile>(r#"{"positive": {"rounding": -1}}"#).is_err());
    assert!(serde_json::from_str::<Profile>(r#"{"flor": 1}"#).is_err());
}
