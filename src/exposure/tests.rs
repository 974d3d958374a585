//! What is folded, against a full log of what was told.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use proptest::prelude::*;

use super::networks::Networks;
use super::note::{Level, Note, NotedNetwork};
use super::points::{PointId, Points, What};
use super::{Exposures, Limits};
use crate::net::ClientNet;
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Edition, Rule};
use crate::time::{Timestamp, Ttl};

pub(super) fn network(address: IpAddr) -> NotedNetwork {
    NotedNetwork::of(ClientNet::from_source(address))
}

pub(super) fn v4(number: u32) -> NotedNetwork {
    network(Ipv4Addr::from_bits(number << 8).into())
}

/// That a network was told the address of a name at a time, by the first edition.
pub(super) fn note(network: NotedNetwork, name: u64, at: i64) -> Note {
    Note {
        network,
        region: RegionId(0),
        proven: false,
        edition: Edition(1),
        decided: Decided { rule: Rule::Exact, name },
        rtype: RrType::A,
        ttl: Ttl::new(300).unwrap(),
        at: Timestamp(at),
    }
}

fn exposures(memory: usize) -> Exposures {
    Exposures::new(Limits { memory, ..Limits::default() }, 7, Timestamp(0))
}

/// What a note is known as: by itself, or with all of its edition and region.
fn known(exposures: &Exposures, note: &Note) -> Vec<(PointId, super::points::Point)> {
    let fits = |what: &What| {
        what.edition == note.edition
            && what.region == note.region
            && what.question.is_none_or(|question| question == (note.decided, note.rtype))
    };
    exposures.points().iter().filter(|(_, point)| fits(&point.what)).collect()
}

prop_compose! {
    fn any_note()(
        v6: bool, net in 0u32..3000, region in 0u16..3, edition in 1u32..4, name in 0u64..400, rule in 0u8..4,
        aaaa: bool, ttl in 0u32..4000, at in 0i64..10_000_000, proven: bool,
    ) -> Note {
        let address = match v6 {
            true => IpAddr::V6(Ipv6Addr::from_bits(u128::from(net) << 80 | 0x2001 << 112)),
            false => Ipv4Addr::from_bits(net << 8 | 5).into(),
        };
        Note {
            network: network(address),
            region: RegionId(region),
            proven,
            edition: Edition(edition),
            decided: Decided { rule: Rule::ALL[usize::from(rule)], name },
            rtype: if aaaa { RrType::AAAA } else { RrType::A },
            ttl: Ttl::new(ttl).unwrap(),
            at: Timestamp(at),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However little room there is: until when an answer may be held is never told too early, to whomever it was told; and no
    /// network is left out as long as networks are kept at all.
    #[test]
    fn nothing_that_was_told_is_held_for_longer_than_is_known(
        notes in proptest::collection::vec(any_note(), 1..6000), memory in 4096usize..600_000,
    ) {
        let mut exposures = exposures(memory);
        exposures.fold(&notes);
        let mut held: BTreeMap<(PointId, NotedNetwork), Timestamp> = BTreeMap::new();
        for told in exposures.networks().iter() {
            held.insert((told.point, told.network), told.last);
        }
        for note in &notes {
            let until = note.at.after(note.ttl.duration());
            let points = known(&exposures, note);
            let bound = points.iter().map(|(_, point)| point.held_until()).max();
            prop_assert!(bound.is_some_and(|bound| bound >= until), "{note:?} {bound:?}");
            if exposures.networks().is_fine() {
                let last = points.iter().filter_map(|(id, _)| held.get(&(*id, note.network))).max();
                prop_assert!(last.is_some_and(|last| *last >= note.at), "{note:?}");
            }
        }
        // Parts are never smaller than their least; the rest is within the limit.
        let least = Networks::parts() * 16 * 16 * 2;
        prop_assert!(exposures.networks().octets() <= memory + least, "{} of {memory}", exposures.networks().octets());
    }
}

#[test]
fn networks_get_coarser_and_then_are_not_kept() {
    let mut exposures = exposures(3 << 20);
    let mut levels = BTreeSet::new();
    for number in 0..4_000_000u32 {
        // Ever more networks: first within few prefixes of 20 bits, then everywhere.
        let spread = if number < 1_000_000 { number } else { number.wrapping_mul(0x9E37_79B9) >> 8 };
        exposures.fold(&[note(v4(spread), 1, i64::from(number))]);
        if number % 10_000 == 0 {
            levels.extend(exposures.networks().iter().map(|told| told.level));
        }
    }
    assert!(levels.contains(&Level::default()) && levels.contains(&Level::COARSEST), "{levels:?}");
    assert!(exposures.octets() < 3 << 20, "{}", exposures.octets());
    let points: Vec<_> = exposures.points().iter().collect();
    assert_eq!((points.len(), points[0].1.last, points[0].1.count), (1, Timestamp(3_999_999), 4_000_000));
}

#[test]
fn what_has_no_room_is_known_as_something_of_its_edition() {
    let mut points = Points::new(100, 7);
    let mut ids = BTreeSet::new();
    for name in 0..1000 {
        let note = note(v4(1), name, name as i64);
        ids.insert(points.note(&note, points.hash_of(&note), None).unwrap());
    }
    assert_eq!((ids.len(), points.len()), (101, 101));
    let (_, coarse) = points.iter().find(|(_, point)| point.what.question.is_none()).unwrap();
    assert_eq!((coarse.last, coarse.count), (Timestamp(999), 900));
    // There is room again once others are forgotten.
    let over: Vec<PointId> = points.iter().filter(|(_, point)| point.last < Timestamp(50)).map(|(id, _)| id).collect();
    points.forget(&over);
    assert_eq!((over.len(), points.len()), (50, 51));
    for name in 2000..2049 {
        let note = note(v4(1), name, 5000);
        let id = points.note(&note, points.hash_of(&note), None).unwrap();
        assert!(points.get(id).unwrap().what.question.is_some());
    }
    assert_eq!(points.len(), 100);
}

/// Numbers of points that were forgotten are used again, and the index grows no faster than points do.
#[test]
fn points_come_and_go_within_their_memory() {
    let mut points = Points::new(usize::MAX, 7);
    let id_of = |points: &mut Points, name| {
        let note = note(v4(1), name, name as i64);
        points.note(&note, points.hash_of(&note), points.under(points.hash_of(&note)))
    };
    let mut ids = BTreeMap::new();
    for round in 0..5u64 {
        for name in round * 90_000..(round + 1) * 90_000 {
            ids.insert(name, id_of(&mut points, name).unwrap());
            let most = points.len() * 24 + 64;
            assert!(points.index_octets() <= most, "{} of {}", points.index_octets(), points.len());
        }
        let over: Vec<PointId> = ids.iter().filter(|(name, _)| *name % 3 == round % 3).map(|(_, id)| *id).collect();
        points.forget(&over);
        ids.retain(|name, _| name % 3 != round % 3);
        assert_eq!(points.len(), ids.len());
        assert!(ids.iter().all(|(name, id)| id_of(&mut points, *name) == Some(*id)));
    }
    assert_eq!(points.len(), ids.len());
}

#[test]
fn what_is_old_is_forgotten_and_what_may_be_held_is_not() {
    let mut exposures = exposures(1 << 20);
    let day = 24 * 60 * 60 * 1000;
    let long = Note { ttl: Ttl::new(2 * 86_400).unwrap(), ..note(v4(2), 2, 0) };
    exposures.fold(&[note(v4(1), 1, 0), long]);
    let pass = |exposures: &mut Exposures, now: i64| {
        (0..2 * Networks::parts() + 1).for_each(|_| exposures.sweep(Timestamp(now), |_| false));
    };
    pass(&mut exposures, day - 2000);
    assert_eq!((exposures.networks().len(), exposures.points().len()), (2, 2));
    pass(&mut exposures, day + 2000);
    let left: Vec<_> = exposures.networks().iter().map(|told| told.network).collect();
    assert_eq!((left, exposures.points().len()), (vec![v4(2)], 1));
    pass(&mut exposures, 2 * day + 2000);
    assert!(exposures.networks().is_empty() && exposures.points().is_empty());
}

#[test]
fn counts_are_of_late() {
    let mut exposures = exposures(1 << 20);
    for _ in 0..400 {
        exposures.fold(&[note(v4(1), 1, 0)]);
    }
    let hour = 60 * 60 * 1000;
    for (now, left) in [(hour - 1, 400), (hour, 200), (hour + 1, 200), (2 * hour, 100)] {
        (0..Networks::parts()).for_each(|_| exposures.sweep(Timestamp(now), |_| true));
        let counts: Vec<u64> = exposures.networks().iter().map(|told| told.count.value()).collect();
        let point = exposures.points().iter().next().map(|(_, point)| point.count);
        assert_eq!((counts, point), (vec![left], Some(left)), "{now}");
    }
    assert_eq!(exposures.window(Timestamp(hour / 2)), Duration::from_secs(1800));
}

/// What is kept and taken up again is what was known, whatever numbers editions have by then.
#[test]
fn what_is_kept_comes_back() {
    let mut before = exposures(1 << 20);
    before.fold(
        &(0..5000)
            .map(|n| Note { proven: n % 3 == 0, ..note(v4(n), u64::from(n % 7), i64::from(n)) })
            .collect::<Vec<_>>(),
    );
    let serving = crate::serving::Serving::default();
    // Points of editions that are not known are not kept; this one is.
    before.editions.insert(
        Edition(1),
        super::fold::EditionInfo {
            zone: crate::name::Name::absolute("a.example").unwrap(),
            site: "knams".into(),
            since: Timestamp(0),
            snapshot: std::sync::Weak::new(),
        },
    );
    before.is_whole_since(Timestamp(0), Timestamp(i64::MIN));
    let kept = before.keep(&serving, "", Timestamp(10_000));
    let head = serde_json::from_str(&serde_json::to_string(&kept.head).unwrap()).unwrap();
    let mut after = Exposures::new(Limits { memory: 1 << 20, ..Limits::default() }, 7, Timestamp(20_000));
    after.restore(&super::kept::Kept { head, ..kept }, &serving, "");
    let told = |exposures: &Exposures| {
        let told = exposures.networks().iter().map(|told| {
            let point = exposures.points().get(told.point).unwrap();
            let info = exposures.edition(point.what.edition).unwrap();
            (
                told.network,
                told.last,
                told.count.value(),
                told.proven,
                point.what.question,
                point.last,
                info.site.clone(),
            )
        });
        let mut told: Vec<_> = told.map(|told| format!("{told:?}")).collect();
        told.sort_unstable();
        told
    };
    let (one, other) = (told(&before), told(&after));
    let per = |e: &Exposures| {
        (0..Networks::parts())
            .map(|n| (n, e.networks().part(n).count(), e.networks().level(n)))
            .filter(|p| p.1 > 0 || p.2 != Some(0))
            .collect::<Vec<_>>()
    };
    assert_eq!(per(&before), per(&after));
    assert_eq!(one.iter().zip(&other).find(|(one, other)| one != other), None);
    assert_eq!((after.blind_until(), after.since()), (Timestamp(i64::MIN), Timestamp(0)));
    // Less room than there was: what has none is not known any more.
    let mut small = Exposures::new(Limits { memory: 512, ..Limits::default() }, 7, Timestamp(20_000));
    small.restore(&before.keep(&serving, "", Timestamp(10_000)), &serving, "");
    assert!(small.blind_until() == Timestamp(10_000) || small.points().len() == before.points().len());
}

/// Case D4: what is denied is held for the lesser of the SOA's TTL and MINIMUM (RFC 2308 §5), and that is what is noted.
#[test]
fn a_denial_is_noted_with_the_negative_ttl() {
    use crate::serving::asked::Asked;
    use crate::serving::content::{Content, Policy, SiteContent, SiteId};
    use crate::serving::respond::{Asker, Transport};
    use crate::serving::{Routing, Serving};
    use crate::snapshot::Snapshot;
    use crate::snapshot::compile::Shape;
    use crate::zone::reader::{NoSources, Source, read};

    for (soa, minimum, expected) in [(300, 86_400, 300), (86_400, 300, 300), (60, 60, 60)] {
        let origin = crate::name::Name::absolute("a.example").unwrap();
        let text = format!("$TTL 900\n@ {soa} SOA ns.else. h 1 1h 10m 2w {minimum}\n@ NS ns.else.\nwww A 192.0.2.1\n");
        let source = Source { path: "x".into(), octets: text.into_bytes().into() };
        let text = read(&origin, source, &mut NoSources).into_text().unwrap();
        let zone = crate::zone::rrsets::Zone::new(Some(&text), None).unwrap();
        let empty = std::sync::Arc::new(Serving::default());
        let shape = Shape { key: empty.key, negative_ttl: None, max_ttl: None };
        let snapshot = Snapshot::compile(&zone, shape).unwrap();
        let site = SiteContent {
            name: "one".into(),
            zone: std::sync::Arc::new(zone),
            snapshot: std::sync::Arc::new(snapshot),
            signatures: None,
        };
        let content = Content {
            origin: origin.clone(),
            sites: vec![site],
            policy: Policy::default(),
            epoch: 1,
            overlays: Default::default(),
        };
        let proposal = crate::door::Proposal {
            loads: crate::gate::Finding::pass(crate::gate::id::LOADS, origin.as_ref(), ""),
            content: std::sync::Arc::new(content),
            routing: Routing::at(vec![SiteId(0)]),
            restored: None,
        };
        let candidate = crate::door::Candidate::new(empty, vec![proposal], Timestamp(0));
        let serving = candidate.verify(&[]).unwrap().serving().clone();
        for (question, rtype, rule, ttl) in [
            ("none.a.example", 1, Rule::Absent, expected),
            ("www.a.example", 28, Rule::Exact, expected),
            ("www.a.example", 1, Rule::Exact, 900),
        ] {
            let name = crate::name::Name::absolute(question).unwrap();
            let mut query = vec![0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            query.extend_from_slice(name.as_ref().as_wire());
            query.extend_from_slice(&[0, rtype, 0, 1]);
            let asker = Asker { source: Ipv4Addr::LOCALHOST.into(), transport: Transport::Udp, now: Timestamp(0) };
            let mut asked = Asked::of(&serving, &query);
            serving.respond_to(&query, &mut asked, &asker, &mut [0; 4096]).unwrap();
            let note = Note::of(asked.told().unwrap(), Timestamp(0)).next().unwrap();
            assert_eq!((note.decided.rule, note.ttl.seconds()), (rule, ttl), "{question} {rtype}, {soa} {minimum}");
        }
    }
}
