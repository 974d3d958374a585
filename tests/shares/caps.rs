//! TTLs while traffic moves: low where the two ends differ, as they are elsewhere.

use support::sign::{METHODS, Signer};
use understudy::serving::Settings;

use super::*;

const COMMON: &str = "$TTL 3600
@ SOA ns.else. h 1 1h 10m 2w 600
@ NS ns.else.
same A 192.0.2.9
alias CNAME www
*.wild A 192.0.2.7
mx MX 10 www
cut NS ns.cut
other NS ns.other
ns.other A 192.0.2.60
q.t1 A 192.0.2.41
q.t2 A 192.0.2.42
";
const A: &str = "www A 192.0.2.1
only-a A 192.0.2.1
d DNAME t1
ns.cut A 192.0.2.51
deep.new A 192.0.2.1
";
const B: &str = "www A 192.0.2.2
x.wild A 192.0.2.8
d DNAME t2
ns.cut A 192.0.2.52
new NS ns.else.
new A 192.0.2.1
deep.new A 192.0.2.1
";

/// The TTLs that records of a type are told with, in all sections.
fn ttls(message: &Message, rtype: RrType) -> Vec<u32> {
    let all = message.answers.iter().chain(&message.authorities).chain(&message.additionals);
    all.filter(|record| record.rtype == rtype).map(|record| record.ttl).collect()
}

fn tcp(serving: &Serving, asked: &str, rtype: RrType, dnssec: bool) -> Message {
    let asked = format!("{asked}.x.example");
    send(serving, "10.0.0.1", Transport::Tcp, &query(asked.trim_start_matches("@."), rtype, dnssec, None))
}

#[test]
fn what_differs_is_told_low_on_every_path() {
    let none = nothing(&[], &[], Settings::default());
    let content = content("x.example", &[&format!("{COMMON}{A}"), &format!("{COMMON}{B}")]);
    let plain = unjudged(&none, &content, Routing::at(vec![SiteId(0)]));
    let lowered = unjudged(&none, &content, ramp("0%", Some(30)));
    let over = unjudged(&none, &content, ramp("100%", Some(30)));
    let (low, high) = (30, 3600);
    for (asked, rtype, seen, at_a, at_b) in [
        ("www", RrType::A, RrType::A, low, low),
        ("www", RrType::ANY, RrType::A, low, low),
        ("same", RrType::A, RrType::A, high, high),
        // An alias is the same at both ends; what it leads to is not.
        ("alias", RrType::A, RrType::CNAME, high, high),
        ("alias", RrType::A, RrType::A, low, low),
        ("alias", RrType::CNAME, RrType::CNAME, high, high),
        ("only-a", RrType::A, RrType::A, low, 0),
        // A wildcard that the other end's new name cuts off.
        ("x.wild", RrType::A, RrType::A, low, low),
        ("y.wild", RrType::A, RrType::A, low, high),
        // A DNAME, and the CNAME that is made of it.
        ("q.d", RrType::A, RrType::DNAME, low, low),
        ("q.d", RrType::A, RrType::CNAME, low, low),
        ("q.d", RrType::A, RrType::A, high, high),
        // Addresses that go along; glue.
        ("mx", RrType::MX, RrType::MX, high, high),
        ("mx", RrType::MX, RrType::A, low, low),
        ("z.cut", RrType::A, RrType::NS, high, high),
        ("z.cut", RrType::A, RrType::A, low, low),
        ("z.other", RrType::A, RrType::NS, high, high),
        ("z.other", RrType::A, RrType::A, high, high),
        // Below a delegation that only one end has.
        ("deep.new", RrType::A, RrType::A, low, 0),
        ("deep.new", RrType::A, RrType::NS, 0, low),
        // Negative answers.
        ("nothing", RrType::A, RrType::SOA, low, low),
        ("same", RrType::TXT, RrType::SOA, low, low),
        // The SOA itself is the same at both ends.
        ("@", RrType::SOA, RrType::SOA, high, high),
    ] {
        for (serving, expected) in [(&lowered, at_a), (&over, at_b)] {
            let found = ttls(&tcp(serving, asked, rtype, false), seen);
            let expected = if expected == 0 { vec![] } else { vec![expected] };
            assert_eq!(found, expected, "{asked} {rtype}: {seen}");
        }
        let usual = if seen == RrType::SOA && asked != "@" { 600 } else { high };
        assert!(
            ttls(&tcp(&plain, asked, rtype, false), seen).iter().all(|ttl| *ttl == usual),
            "{asked} {rtype}: {seen}"
        );
    }
}

/// A TTL that is low already stays what it is; of several moves the least counts; what ends with a move ends.
#[test]
fn caps_only_lower_and_end_with_the_move() {
    let regions = sets(&[("one", &["10.1.0.0/16"])]);
    let none = nothing(&regions, &[], Settings::default());
    let b = A.replace("192.0.2.1", "192.0.2.2").replace("t1", "t2");
    let c = A.replace("only-a A 192.0.2.1", "only-a A 192.0.2.3").replace("www A", "www 5 A");
    let content =
        content("x.example", &[A, &b, &c].map(|text| COMMON.to_owned() + text).each_ref().map(String::as_str));
    let mut routing = Routing::at(vec![SiteId(0), SiteId(0)]);
    routing.shift(DEFAULT, moving(1, "0%", Some(60)), 1);
    routing.shift(RegionId(1), moving(2, "0%", Some(20)), 1);
    let told = |routing: &Routing, asked| {
        let serving = unjudged(&none, &content, routing.clone());
        ttls(&tcp(&serving, asked, RrType::A, false), RrType::A)
    };
    // `www` differs in both moves, `deep.new` in that to b only, `same` in none.
    assert_eq!([told(&routing, "www"), told(&routing, "deep.new"), told(&routing, "same")], [[20], [60], [3600]]);
    let mut ended = routing.clone();
    ended.set(RegionId(1), SiteId(0), 2);
    assert_eq!([told(&ended, "www"), told(&ended, "deep.new")], [[60], [60]]);
    ended.set(DEFAULT, SiteId(2), 3);
    assert_eq!([told(&ended, "www"), told(&ended, "deep.new"), told(&ended, "same")], [[5], [3600], [3600]]);
    let mut raised = routing.clone();
    raised.shift(DEFAULT, moving(2, "100%", Some(60)), 4);
    raised.set(RegionId(1), SiteId(2), 4);
    assert_eq!(told(&raised, "www"), [5]);
}

/// The TTL fields of signatures go down with those of what they cover; what is signed stays as it is, and so do proofs that
/// are the same at both ends.
#[test]
fn signatures_and_proofs_go_with_what_they_cover() {
    let signer = Signer::new();
    let origin = name("x.example");
    let text = |site: &str| {
        format!(
            "x.example. 3600 IN SOA ns.else. h. 1 3600 600 1209600 600\nx.example. 3600 IN NS ns.else.\n\
             www.x.example. 3600 IN A 192.0.2.{site}\nsame.x.example. 3600 IN A 192.0.2.9\n\
             zoo.x.example. 3600 IN TXT \"z\"\n*.wild.x.example. 3600 IN A 192.0.2.{site}\n{}",
            if site == "2" { "zoo.x.example. 3600 IN A 192.0.2.2\n" } else { "" }
        )
    };
    for method in &METHODS[..2] {
        let texts = ["1", "2"].map(|site| signer.sign(&origin, &text(site), *method));
        let content = content("x.example", &texts.each_ref().map(String::as_str));
        let serving = unjudged(&nothing(&[], &[], Settings::default()), &content, ramp("0%", Some(30)));
        let proof = if texts[0].contains("NSEC3PARAM") { RrType::NSEC3 } else { RrType::NSEC };
        for (asked, rtype, seen, expected) in [
            ("www", RrType::A, RrType::A, 30),
            ("www", RrType::RRSIG, RrType::RRSIG, 30),
            ("same", RrType::A, RrType::A, 3600),
            ("q.wild", RrType::A, RrType::A, 30),
            ("@", RrType::SOA, RrType::SOA, 3600),
            // `zoo` has other types at the other end: its proof differs, too. That of `same` does not.
            ("zoo", RrType::MX, proof, 30),
            ("zoo", RrType::MX, RrType::SOA, 30),
            ("same", RrType::MX, proof, 600),
            ("same", RrType::MX, RrType::SOA, 30),
        ] {
            let message = tcp(&serving, asked, rtype, true);
            let found = ttls(&message, seen);
            // The signatures of a whole name: those over its proof keep their TTL.
            let kept = |ttl: u32| rtype == RrType::RRSIG && ttl == 600;
            assert!(found.contains(&expected), "{asked} {rtype} {seen}: {found:?}");
            assert!(found.iter().all(|ttl| *ttl == expected || kept(*ttl)), "{asked} {rtype} {seen}: {found:?}");
            let all: Vec<&Record> = message.answers.iter().chain(&message.authorities).collect();
            for signature in all.iter().filter(|record| record.rtype == RrType::RRSIG && rtype != RrType::RRSIG) {
                let covered = RrType(u16::from_be_bytes([signature.rdata[0], signature.rdata[1]]));
                let of = all.iter().find(|record| record.owner == signature.owner && record.rtype == covered).unwrap();
                assert_eq!(signature.ttl, of.ttl, "{asked} {rtype}: RRSIG {covered}");
                let original = u32::from_be_bytes(signature.rdata[4..8].try_into().unwrap());
                assert_eq!(original, if covered == proof { 600 } else { 3600 }, "what is signed is untouched");
            }
        }
    }
}
