//! What is shared answers as what stands alone.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::digest::Digest;
use crate::gate::tests::{served, zone};
use crate::name::Name;
use crate::rr::RrType;
use crate::serving::Serving;
use crate::serving::content::Content;
use crate::serving::respond::{Asker, Transport};
use crate::snapshot::Snapshot;
use crate::snapshot::node::Flags;
use crate::time::Timestamp;
use crate::zone::diff::diff;
use crate::zone::rrsets::{Rrset, Zone};

/// What may stand in one of two sites or in both: one of each line.
const CHOICES: &[&[&str]] = &[
    &["", "a A 192.0.2.1", "a A 192.0.2.2", "A A 192.0.2.1", "a A 192.0.2.1\na MX 1 h", "a CNAME h", "c.b.a TXT t"],
    &["h A 192.0.2.9", "h A 192.0.2.8", "", "h MX 2 a\nh A 192.0.2.9", "h AAAA ::1"],
    &["m MX 1 h\nm MX 2 a\ns SRV 1 1 1 h", "m MX 1 a", "m MX 1 w.wild"],
    &["", "*.wild A 192.0.2.4", "*.wild A 192.0.2.5", "*.wild CNAME h", "x.wild TXT t", "*.y.wild TXT t"],
    &["", "d NS ns.d\nns.d A 192.0.2.1", "d NS ns.d\nns.d A 192.0.2.2", "d NS h", "d DNAME wild", "ns.d A 192.0.2.1"],
    &["", "e NS ns.d", "e NS ns.e\ne NS h\nns.e AAAA ::2"],
    &["", "$TTL 30\nt TXT t", "$TTL 60\nt TXT t"],
];

/// Numbers that look random, the same every time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % bound as u64) as usize
    }

    fn text(&mut self) -> String {
        // Most of a zone is the same at both sites, or there is nothing to share.
        let same: String = (0..80).map(|number| format!("same{number} A 192.0.2.1\n")).collect();
        same + &CHOICES.iter().map(|lines| format!("{}\n", lines[self.below(lines.len())])).collect::<String>()
    }
}

fn questions(zones: [&Zone; 2]) -> Vec<(Name, RrType)> {
    let mut names = BTreeSet::new();
    for owner in zones.into_iter().flat_map(Zone::owners).filter(|owner| !owner.name.to_string().starts_with("same1")) {
        for name in owner.name.ancestors().take_while(|name| name.is_at_or_below(zones[0].origin())) {
            names.insert(name.to_name());
            names.extend([&b"*"[..], b"w", b"y"].iter().filter_map(|label| name.child(label).ok()));
        }
    }
    let types = [RrType::A, RrType::AAAA, RrType::MX, RrType::SRV, RrType::NS, RrType::TXT, RrType::SOA, RrType::ANY];
    names.into_iter().flat_map(|name| types.map(|rtype| (name.clone(), rtype))).collect()
}

fn answer(serving: &Serving, name: &Name, rtype: RrType) -> Vec<u8> {
    let mut query = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend_from_slice(name.as_ref().as_wire());
    query.extend_from_slice(&[(rtype.0 >> 8) as u8, rtype.0 as u8, 0, 1]);
    let asker = Asker { source: IpAddr::V4(Ipv4Addr::LOCALHOST), transport: Transport::Tcp, now: Timestamp(0) };
    let mut out = vec![0; 65_535];
    let length = serving.respond(&query, &asker, &mut out).unwrap();
    out.truncate(length);
    out
}

fn differences(before: &Zone, after: &Zone) -> Vec<(Name, RrType, [Option<Digest>; 2])> {
    let told = diff(before, after).map(|difference| {
        let set = difference.either();
        let digests = [difference.before, difference.after].map(|set| set.map(Rrset::digest));
        (set.owner.to_name(), set.rtype, digests)
    });
    told.collect()
}

#[test]
fn what_is_shared_answers_as_what_stands_alone() {
    let mut numbers = Numbers(2);
    let (mut shared, mut alone, mut hidden, mut memory) = (0, 0, 0, 0);
    for _ in 0..150 {
        let proposal = zone("x.example", &[("a", &numbers.text()), ("b", &numbers.text())], &[1, 1], &[]);
        let content = &proposal.content;
        let mut sites = content.sites.clone();
        let [first, second] = &mut sites[..] else { panic!("two sites") };
        let mut base = Zone::clone(&first.zone);
        base.settle();
        let over = |own: &Zone| {
            let mut own = own.clone();
            own.settle();
            own.share(&base);
            own
        };
        // They differ as they would each on its own.
        let third = self::zone("x.example", &[("c", &numbers.text())], &[0], &[]).content.sites[0].zone.clone();
        let all = [&*first.zone, &second.zone, &third].map(|alone| (alone, over(alone)));
        for (alone, layered) in &all {
            for (other, other_layered) in &all {
                assert_eq!(differences(layered, other_layered), differences(alone, other));
                assert_eq!(differences(layered, other), differences(alone, other));
            }
            memory += usize::from(layered.own_octets() * 2 < alone.own_octets());
            for owner in alone.owners() {
                assert!(
                    layered
                        .owner(owner.name)
                        .is_some_and(|found| found.rrsets().zip(owner.rrsets()).all(|(own, other)| own.same_as(other)))
                );
            }
        }
        let zone = over(&second.zone);
        assert!(zone.rrsets().zip(second.zone.rrsets()).all(|(own, other)| own.same_as(other)));
        assert_eq!(zone.rrsets().count(), second.zone.rrsets().count());
        assert_eq!((zone.digest(), zone.len()), (second.zone.digest(), second.zone.len()));
        let mut snapshot = Snapshot::compile(&second.zone, second.snapshot.shape()).unwrap();
        snapshot.share(&first.snapshot);
        assert_eq!(snapshot.len(), second.snapshot.len());
        match &snapshot.over {
            Some(over) => {
                shared += 1;
                let is_gone = |at: u32| over.arena.node(at).flags().has(Flags::GONE);
                hidden += usize::from(over.table.numbers().any(is_gone));
                assert!(snapshot.memory() * 2 < second.snapshot.memory());
            }
            None => alone += 1,
        }
        (second.snapshot, second.zone) = (Arc::new(snapshot), Arc::new(zone));
        let questions = questions([&first.zone, &second.zone]);
        let plain = served(vec![proposal.clone()]);
        let layered = Content { sites, ..Content::clone(content) };
        let layered = served(vec![crate::door::Proposal { content: Arc::new(layered), ..proposal }]);
        for (name, rtype) in questions {
            assert_eq!(answer(&layered, &name, rtype), answer(&plain, &name, rtype), "{name} {rtype}");
        }
    }
    assert!(shared > 130 && hidden > 50, "{shared} shared, {alone} alone, names hidden in {hidden}");
    assert!(memory > 400, "{memory}");
}

#[test]
fn what_has_little_in_common_stands_alone() {
    let half = |first: usize| (first..first + 50).map(|number| format!("n{number} A 192.0.2.1\n")).collect::<String>();
    let proposal = zone("x.example", &[("a", &half(0)), ("b", &half(25))], &[0], &[]);
    let [first, second] = &proposal.content.sites[..] else { panic!("two sites") };
    let mut own = Snapshot::compile(&second.zone, second.snapshot.shape()).unwrap();
    own.share(&first.snapshot);
    assert!(own.over.is_none());
}
