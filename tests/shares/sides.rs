//! Which side a client is on, and what a change of that means for the serial.

use std::collections::BTreeSet;

use understudy::serving::Settings;

use super::*;

const A: &str = "$TTL 60\n@ SOA ns.else. h 1 1h 10m 2w 20\n@ NS ns.else.\nw CNAME l\nl A 192.0.2.1\nv A 192.0.2.1\n";
const B: &str = "$TTL 60\n@ SOA ns.else. h 1 1h 10m 2w 20\n@ NS ns.else.\nw CNAME l\nl A 192.0.2.2\nv A 192.0.2.2\n";

fn networks() -> impl Iterator<Item = String> {
    (0..2000).map(|n| format!("10.{}.{}.{}", n / 250, n % 250, n % 7))
}

#[test]
fn shares_are_kept_and_nobody_goes_back() {
    let none = nothing(&[], &[], Settings::default());
    let content = content("x.example", &[A, B]);
    let mut over: BTreeSet<String> = BTreeSet::new();
    for (text, fewest, most) in
        [("0%", 0, 0), ("1%", 5, 40), ("10%", 150, 250), ("30%", 520, 680), ("75%", 1420, 1580), ("100%", 2000, 2000)]
    {
        let serving = unjudged(&none, &content, ramp(text, None));
        let now: BTreeSet<String> =
            networks().filter(|client| address(&ask(&serving, client, "v.x.example", RrType::A)) == 2).collect();
        assert!((fewest..=most).contains(&now.len()), "{text}: {}", now.len());
        assert!(over.is_subset(&now), "{text}: some went back");
        over = now;
        for client in networks().step_by(50) {
            // One site for the whole chain, for all types, and for the neighbours in the network.
            let own = if over.contains(&client) { 2 } else { 1 };
            let neighbour = client.rsplit_once('.').unwrap().0.to_owned() + ".250";
            assert_eq!(address(&ask(&serving, &client, "w.x.example", RrType::A)), own);
            assert_eq!(address(&ask(&serving, &neighbour, "w.x.example", RrType::A)), own);
            assert_eq!(address(&ask(&serving, &format!("::ffff:{client}"), "l.x.example", RrType::A)), own);
        }
    }
}

/// What an operator of resolvers asks from is one unit, wherever it lies.
#[test]
fn an_operator_changes_sides_as_one() {
    let operators = sets(&[("farm", &["10.0.0.0/8", "2001:db8::/32"])]);
    let content = content("x.example", &[A, B]);
    for points in (0..=10_000).step_by(500) {
        let none = nothing(&[], &operators, Settings::default());
        let routing = ramp(&share(points).to_string(), None);
        let serving = unjudged(&none, &content, routing);
        let clients = networks().step_by(20).chain(["2001:db8::1".into(), "2001:db8:ffff::1".into()]);
        let told: BTreeSet<u8> = clients.map(|from| address(&ask(&serving, &from, "v.x.example", RrType::A))).collect();
        assert_eq!(told.len(), 1, "{points}");
    }
}

/// Each region has a move of its own; one that does not move is not touched.
#[test]
fn regions_move_side_by_side() {
    let regions = sets(&[("one", &["10.1.0.0/16"]), ("two", &["10.2.0.0/16"])]);
    let none = nothing(&regions, &[], Settings::default());
    let content = content("x.example", &[A, B, &A.replace("192.0.2.1", "192.0.2.3")]);
    let mut routing = Routing::at(vec![SiteId(0), SiteId(1), SiteId(2)]);
    routing.shift(RegionId(1), moving(2, "50%", None), 1);
    routing.shift(RegionId(2), moving(0, "50%", None), 1);
    let serving = unjudged(&none, &content, routing);
    let told = |region: u8| -> BTreeSet<u8> {
        let clients = (0..200).map(|n| format!("10.{region}.{n}.1"));
        clients.map(|from| address(&ask(&serving, &from, "w.x.example", RrType::A))).collect()
    };
    assert_eq!((told(3), told(1), told(2)), ([1].into(), [2, 3].into(), [1, 3].into()));
}

/// The serial rises with each change that some client can see, and with no other.
#[test]
fn the_serial_rises_when_answers_change() {
    let content = content("x.example", &[A, B, B]);
    let mut serving = unjudged(&nothing(&[], &[], Settings::default()), &content, Routing::at(vec![SiteId(0)]));
    let ended = |site| {
        let mut routing = ramp("100%", None);
        routing.set(DEFAULT, SiteId(site), 9);
        routing
    };
    let serial = |serving: &Serving| serving.zone(name("x.example").as_ref()).unwrap().serial.0;
    for (what, routing, rises) in [
        ("nothing has moved yet", ramp("0%", None), 0),
        ("TTLs are lowered", ramp("0%", Some(30)), 1),
        ("lower still", ramp("0%", Some(10)), 1),
        ("a first share", ramp("10%", Some(10)), 1),
        ("the same again", ramp("10%", Some(10)), 0),
        ("more", ramp("30%", Some(10)), 1),
        ("all of it", ramp("100%", Some(10)), 1),
        ("TTLs are as they were", ended(1), 1),
        ("the other site's twin", ended(2), 0),
    ] {
        let last = serial(&serving);
        serving = unjudged(&serving, &content, routing);
        assert_eq!(serial(&serving) - last, rises, "{what}");
    }
}

/// A new number for a site, and a site that a move goes to, are not lost with the texts that are read anew.
#[test]
fn routing_follows_its_sites() {
    let routing = ramp("30%", Some(30));
    assert_eq!(routing.sites_held(), [SiteId(0), SiteId(1)]);
    assert_eq!(ramp("0%", None).sites_in_use(), [SiteId(0)]);
    assert_eq!(ramp("100%", None).sites_in_use(), [SiteId(1)]);
    let turned = routing.renumbered(|site| SiteId(1 - site.0));
    assert_eq!((turned.site(DEFAULT), turned.moving(DEFAULT).unwrap().to), (SiteId(1), SiteId(0)));
    // A move to where the region is by now is none; a region that is not known moves with everybody.
    assert_eq!(routing.renumbered(|_| SiteId(0)).moving(DEFAULT), None);
    assert_eq!(routing.moving(RegionId(9)), routing.moving(DEFAULT));
    let of = Routing::of(vec![SiteId(0)], vec![Some(moving(1, "30%", Some(30)))], vec![1], 1);
    assert_eq!(of, routing);
    assert_eq!(Routing::of(vec![SiteId(1)], vec![Some(moving(1, "30%", None))], vec![1], 1).moving(DEFAULT), None);
    let mut apart = routing.clone();
    apart.set(RegionId(2), SiteId(1), 5);
    assert_eq!((apart.moving(RegionId(1)), apart.moving(RegionId(2))), (routing.moving(DEFAULT), None));
    assert_eq!(apart.lowered(), [(SiteId(0), SiteId(1), Ttl::new(30).unwrap())]);
}
