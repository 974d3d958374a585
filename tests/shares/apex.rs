//! What never varies by client: what caches find the zone by.

use std::collections::BTreeSet;

use understudy::serving::Settings;

use super::*;

fn text(site: u8) -> String {
    format!(
        "$TTL 300\n@ SOA ns{site} h{site} {site} 1h 10m 2w 20\n@ NS ns\n@ NS ns{site}\n@ NS s.wild\n@ DNSKEY 257 3 13 AA0{site}\n\
         @ CDS 1 13 2 00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEE0{site}\n@ CDNSKEY 257 3 13 AA0{site}\n\
         @ A 192.0.2.{site}\nns A 192.0.2.5{site}\nns AAAA 2001:db8::{site}\nns1 A 192.0.2.6{site}\nns2 A 192.0.2.6{site}\n\
         *.wild A 192.0.2.7{site}\nmail MX 10 ns\nmail MX 20 www\nmail MX 30 s.wild\nwww A 192.0.2.{site}\n\
         alias CNAME ns\nns TXT \"{site}\"\n"
    )
}

/// All answers that clients get, each once: without addresses that only go along.
fn answers(serving: &Serving, asked: &str, rtype: RrType) -> BTreeSet<Vec<(u32, Vec<u8>)>> {
    let clients = (0..100).map(|n| format!("10.0.{n}.1"));
    let told = clients.map(|from| {
        let message = ask(serving, &from, asked, rtype);
        let records = message.answers.iter().chain(&message.authorities);
        records.map(|record| (record.ttl, record.canonical.clone())).collect()
    });
    told.collect()
}

#[test]
fn the_apex_is_told_to_everybody_from_one_site() {
    let none = nothing(&[], &[], Settings::default());
    let content = content("x.example", &[&text(1), &text(2)]);
    let base = unjudged(&none, &content, Routing::at(vec![SiteId(0)]));
    let over = unjudged(&none, &content, Routing::at(vec![SiteId(1)]));
    for points in [100, 5000, 9999] {
        let split = unjudged(&none, &content, ramp(&share(points).to_string(), None));
        for (asked, rtype) in [
            ("x.example", RrType::SOA),
            ("x.example", RrType::NS),
            ("x.example", RrType::DNSKEY),
            ("x.example", RrType::CDS),
            ("x.example", RrType::CDNSKEY),
            ("ns.x.example", RrType::A),
            ("ns.x.example", RrType::AAAA),
            ("NS1.x.example", RrType::A),
            ("ns2.x.example", RrType::A),
            ("s.wild.x.example", RrType::A),
            ("alias.x.example", RrType::A),
            // The SOA of negative answers.
            ("nothing.x.example", RrType::A),
            ("www.x.example", RrType::TXT),
        ] {
            assert_eq!(answers(&split, asked, rtype), answers(&base, asked, rtype), "{asked} {rtype}");
            assert_ne!(answers(&over, asked, rtype), answers(&base, asked, rtype), "{asked} {rtype}: it could vary");
        }
    }
    // All else does.
    let split = unjudged(&none, &content, ramp("50%", None));
    for (asked, rtype) in [
        ("x.example", RrType::A),
        ("www.x.example", RrType::A),
        ("ns.x.example", RrType::TXT),
        ("other.wild.x.example", RrType::A),
    ] {
        assert_eq!(answers(&split, asked, rtype).len(), 2, "{asked} {rtype}");
    }
}

/// Addresses of name servers do not go along with other records where they would be the other site's.
#[test]
fn name_servers_addresses_are_not_told_in_passing() {
    let none = nothing(&[], &[], Settings::default());
    let content = content("x.example", &[&text(1), &text(2)]);
    let split = unjudged(&none, &content, ramp("50%", None));
    let mut seen = BTreeSet::new();
    for n in 0..100 {
        let message = ask(&split, &format!("10.0.{n}.1"), "mail.x.example", RrType::MX);
        let extra = message.additionals.iter().map(|record| (record.owner.to_string(), *record.rdata.last().unwrap()));
        seen.insert(extra.collect::<BTreeSet<_>>());
    }
    let told =
        |extra: &[(&str, u8)]| extra.iter().map(|(owner, last)| (format!("{owner}.x.example."), *last)).collect();
    let base: BTreeSet<_> = told(&[("ns", 51), ("ns", 1), ("www", 1), ("s.wild", 71)]);
    assert_eq!(seen, [base, told(&[("www", 2)])].into());
    // With the zone's NS they do go along.
    let message = ask(&split, "10.0.0.1", "x.example", RrType::NS);
    assert_eq!(message.additionals.len(), 4, "{message:?}");
}

/// Regions that are told of different sites are told the same of the apex: that of `default`.
#[test]
fn regions_apart_share_the_apex_of_default() {
    let regions = sets(&[("one", &["10.1.0.0/16"])]);
    let none = nothing(&regions, &[], Settings::default());
    let content = content("x.example", &[&text(1), &text(2)]);
    let serving = unjudged(&none, &content, Routing::at(vec![SiteId(1), SiteId(0)]));
    let ns = |from| of_type(&ask(&serving, from, "x.example", RrType::NS).answers, RrType::NS);
    assert_eq!(ns("10.1.0.1"), ns("10.2.0.1"));
    let soa = ask(&serving, "10.1.0.1", "x.example", RrType::SOA);
    assert_eq!(of_type(&soa.answers, RrType::SOA)[0].1[..4], *b"\x03ns2");
    assert_eq!(address(&ask(&serving, "10.1.0.1", "www.x.example", RrType::A)), 1);
    assert_eq!(address(&ask(&serving, "10.2.0.1", "www.x.example", RrType::A)), 2);
}
