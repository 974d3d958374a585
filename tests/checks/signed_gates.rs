//! What gates say of signed zones, beside `dnssec-verify`: zones changed in one way each.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use crate::support::sign::{METHODS, Method, Signer};
use crate::support::{engine, message};
use understudy::door::{Candidate, Proposal};
use understudy::evidence::Verdict;
use understudy::gate::{Finding, id};
use understudy::name::Name;
use understudy::rr::RrType;
use understudy::serving::content::{Content, Policy, SiteContent, SiteId};
use understudy::serving::regions::Regions;
use understudy::serving::respond::Transport;
use understudy::serving::{Routing, Serving, Settings};
use understudy::snapshot::Snapshot;
use understudy::snapshot::compile::Shape;
use understudy::snapshot::sought::HashKey;
use understudy::time::{Timestamp, Ttl};
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::Zone;
use understudy::zone::signatures::Signatures;

const TEXT: &str = "\
example. 3600 IN SOA ns1.example. h.example. 10 3600 600 604800 60
example. 3600 IN NS ns1.example.
ns1.example. 300 IN A 192.0.2.53
www.example. 300 IN A 192.0.2.1
www.example. 300 IN TXT \"beside it\"
alias.example. 300 IN CNAME www.example.
*.wild.example. 300 IN A 192.0.2.2
deep.in.ent.example. 300 IN MX 10 WWW.example.
cut.example. 300 IN NS ns.cut.example.
ns.cut.example. 300 IN A 192.0.2.54
safe.example. 300 IN NS ns1.example.
safe.example. 300 IN DS 1 8 2 00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF
";

struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(path.into())
    }
}

fn origin() -> Name {
    Name::absolute("example.").unwrap()
}

fn zone(text: &str) -> Zone {
    let source = Source { path: "example".into(), octets: text.as_bytes().into() };
    let text = reader::read(&origin(), source, &mut NoSources).into_text().unwrap_or_else(|wrong| panic!("{wrong:#?}"));
    Zone::new(Some(&text), None).unwrap()
}

fn now() -> Timestamp {
    Timestamp(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64)
}

/// Content with a site for each text.
fn content(texts: &[&str], epoch: u64) -> Content {
    capped(texts, epoch, None, None)
}

fn capped(texts: &[&str], epoch: u64, negative_ttl: Option<Ttl>, max_ttl: Option<Ttl>) -> Content {
    let key = HashKey::new([3; 16]);
    let site = |(number, text): (usize, &&str)| {
        let zone = zone(text);
        let snapshot = Snapshot::compile(&zone, Shape { key, negative_ttl, max_ttl }).unwrap();
        let signatures = zone.is_signed().then(|| Arc::new(Signatures::of(&zone, None)));
        SiteContent { name: format!("site{number}"), zone: Arc::new(zone), snapshot: Arc::new(snapshot), signatures }
    };
    Content {
        origin: origin(),
        sites: texts.iter().enumerate().map(site).collect(),
        policy: Policy::default(),
        epoch,
        overlays: Default::default(),
    }
}

/// What is judged of going from `before`, if anything, to `site` of `after`; and what would be served.
fn judge(before: Option<Arc<Serving>>, after: Content, site: u16) -> (Vec<Finding>, Option<Arc<Serving>>) {
    let key = HashKey::new([3; 16]);
    let before = before.unwrap_or_else(|| Arc::new(Serving::empty(0, key, Settings::default(), Regions::default())));
    let proposal = Proposal {
        routing: Routing::of(vec![SiteId(site)], Vec::new(), Vec::new(), after.epoch),
        loads: Finding::pass(id::LOADS, after.origin.as_ref(), ""),
        content: Arc::new(after),
        restored: None,
    };
    let candidate = Candidate::new(before, vec![proposal], now());
    let findings = candidate.judge().to_vec();
    (findings, candidate.verify(&[]).ok().map(|verified| verified.serving().clone()))
}

fn finding<'f>(findings: &'f [Finding], gate: &str) -> &'f Finding {
    findings.iter().find(|finding| finding.gate == gate).unwrap()
}

/// Whether `dnssec-verify` takes the zone.
fn is_verified(text: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("zone");
    fs::write(&path, text).unwrap();
    let output = Command::new("dnssec-verify").args(["-q", "-z", "-o", "example"]).arg(&path).output();
    output.unwrap_or_else(|error| panic!("dnssec-verify: {error}; ./scripts/test installs it")).status.success()
}

/// Changes the field number `field` of the records that begin so.
fn set_field(text: &str, owner: &str, what: &str, field: usize, to: impl Fn(&str) -> String) -> String {
    let mut changed = 0;
    let lines = text.lines().map(|line| {
        let mut fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if fields.first().is_some_and(|first| first == owner) && fields[3..].join(" ").starts_with(what) {
            fields[field] = to(&fields[field]);
            changed += 1;
        }
        fields.join(" ") + "\n"
    });
    let text = lines.collect();
    assert_eq!(changed, 1, "{owner} {what}");
    text
}

/// Leaves out records that begin so.
fn without(text: &str, owner: &str, what: &str) -> String {
    let kept = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        !(fields.first() == Some(&owner) && fields[3..].join(" ").starts_with(what))
    };
    let kept: String = text.lines().filter(kept).map(|line| format!("{line}\n")).collect();
    assert_ne!(kept.lines().count(), text.lines().count(), "{owner} {what}");
    kept
}

fn flip(base64: &str) -> String {
    let first = if base64.starts_with('A') { "B" } else { "A" };
    format!("{first}{}", &base64[1..])
}

/// How a zone is changed, what our gate says, a word of why, and whether `dnssec-verify` takes it.
type Row = (&'static str, fn(&Signer, Method) -> String, Verdict, &'static str, bool);

fn signed(signer: &Signer, method: Method) -> String {
    signer.sign(&origin(), TEXT, method)
}

fn signed_between(signer: &Signer, method: Method, start: &str, end: &str) -> String {
    signer.sign_with(&origin(), TEXT, method, &["-s", start, "-e", end])
}

const ROWS: &[Row] = &[
    ("as it is", signed, Verdict::Pass, "all signatures verify", true),
    (
        "a signature of other octets",
        |s, m| set_field(&signed(s, m), "www.example.", "RRSIG A ", 12, flip),
        Verdict::Block,
        "www.example. A: its signature by key",
        false,
    ),
    (
        "a signature left out",
        |s, m| without(&signed(s, m), "www.example.", "RRSIG A "),
        Verdict::Block,
        "www.example. A: there is no signature",
        false,
    ),
    ("expired", |s, m| signed_between(s, m, "20200101000000", "20200201000000"), Verdict::Block, "ended ", false),
    (
        "not valid yet",
        |s, m| signed_between(s, m, "now+86400", "now+864000"),
        Verdict::Block,
        "not valid before",
        false,
    ),
    ("soon to end", |s, m| signed_between(s, m, "now-3600", "now+86400"), Verdict::Warn, "ends in", true),
    ("too soon to end", |s, m| signed_between(s, m, "now-3600", "now+1800"), Verdict::Block, "ends in", true),
    (
        "the tag of another key",
        |s, m| {
            set_field(&signed(s, m), "www.example.", "RRSIG A ", 10, |tag| {
                (tag.parse::<u16>().unwrap() ^ 1).to_string()
            })
        },
        Verdict::Block,
        "which is not in the zone",
        false,
    ),
    (
        "a wrong number of labels",
        |s, m| set_field(&signed(s, m), "www.example.", "RRSIG A ", 6, |_| "1".into()),
        Verdict::Block,
        "over a name of 1 label, not 2",
        false,
    ),
    (
        "an unknown algorithm",
        |s, m| set_field(&signed(s, m), "www.example.", "RRSIG A ", 5, |_| "200".into()),
        Verdict::Block,
        "algorithm 200",
        false,
    ),
    (
        "another signer",
        |s, m| set_field(&signed(s, m), "www.example.", "RRSIG A ", 11, |_| "test.".into()),
        Verdict::Block,
        "its signer is test.",
        false,
    ),
    (
        "other data",
        |s, m| set_field(&signed(s, m), "www.example.", "A ", 4, |_| "192.0.2.9".into()),
        Verdict::Block,
        "www.example. A: its signature",
        false,
    ),
    (
        "capitals",
        |s, m| set_field(&signed(s, m), "deep.in.ent.example.", "MX ", 5, |_| "wWw.ExAmPlE.".into()),
        Verdict::Pass,
        "all",
        true,
    ),
    (
        "a record more at a name",
        |s, m| signed(s, m) + "www.example. 300 IN AAAA ::1\n",
        Verdict::Block,
        "www.example. AAAA: there is no signature",
        false,
    ),
    (
        "glue more, which nobody signs",
        |s, m| signed(s, m) + "ns.cut.example. 300 IN AAAA ::1\n",
        Verdict::Pass,
        "all",
        true,
    ),
    (
        "a name more, without a proof",
        |s, m| signed(s, m) + "new.example. 300 IN A 192.0.2.3\n",
        Verdict::Block,
        "new.example",
        false,
    ),
    (
        "no key",
        |s, m| without(&without(&signed(s, m), "example.", "DNSKEY"), "example.", "RRSIG DNSKEY"),
        Verdict::Block,
        "no DNSKEY record",
        false,
    ),
];

#[test]
fn peer_zones_changed_in_one_way_are_judged_as_dnssec_verify_does() {
    let signer = Signer::new();
    let unsigned = TEXT.replace(" 10 3600 ", " 9 3600 ");
    for method in METHODS {
        for (change, make, verdict, why, verified) in ROWS {
            let text = make(&signer, *method);
            let (_, before) = judge(None, content(&[&unsigned], 1), 0);
            let (findings, _) = judge(before, content(&[&text], 2), 0);
            let found = finding(&findings, id::SIGNATURES);
            let shown = format!("{change} ({method:?}): {found:#?}");
            assert_eq!(found.verdict, *verdict, "{shown}");
            assert!(found.reason.contains(why) || found.items.iter().any(|item| item.contains(why)), "{why}: {shown}");
            assert_eq!(is_verified(&text), *verified, "dnssec-verify, {shown}");
        }
    }
}

/// Proofs that do not hold together, though each signature verifies: records of another version of the zone.
#[test]
fn peer_broken_chains_are_named() {
    let signer = Signer::new();
    let gone = TEXT
        .replace("www.example. 300 IN TXT \"beside it\"\n", "")
        .replace("alias.example. 300 IN CNAME www.example.\n", "");
    for method in METHODS {
        let (whole, less) = (signed(&signer, *method), signer.sign(&origin(), &gone, *method));
        let is_proof = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.len() > 4
                && (fields[3].starts_with("NSEC") && fields[3] != "NSEC3PARAM"
                    || fields[3] == "RRSIG" && matches!(fields[4], "NSEC" | "NSEC3"))
        };
        let mix = |records: &str, proofs: &str| -> String {
            let lines = records.lines().filter(|line| !is_proof(line)).chain(proofs.lines().filter(is_proof));
            lines.map(|line| format!("{line}\n")).collect()
        };
        for (text, whys) in [
            (mix(&whole, &less), ["denies TXT", "alias.example.: it has no NSEC"]),
            (
                mix(&less, &whole),
                [
                    "tells of TXT",
                    if whole.contains("NSEC3") {
                        "of no name in the zone"
                    } else {
                        "alias.example. NSEC: it tells of CNAME"
                    },
                ],
            ),
            (mix(&whole, ""), ["", "no NSEC"]),
        ] {
            let signatures = Signatures::of(&zone(&text), None);
            for why in whys {
                assert!(
                    signatures.problems.iter().any(|line| line.contains(why)),
                    "{why} ({method:?}): {:#?}",
                    signatures.problems
                );
            }
            assert!(!is_verified(&text), "dnssec-verify takes it ({method:?})");
        }
    }
}

#[test]
fn peer_sites_signed_alike_may_be_moved_between_and_others_are_told_apart() {
    let signer = Signer::new();
    let method = METHODS[0];
    let here = signed(&signer, method);
    let sign = |text: String| signer.sign(&origin(), &text, method);
    let text = TEXT.replace(" 10 3600 ", " 11 3600 ");
    let there = sign(text.replace("192.0.2.1\n", "198.51.100.1\n"));
    let alike = content(&[&here, &there], 1);
    let (_, served) = judge(None, alike.clone(), 0);
    let served = served.expect("a zone that is signed well");
    let (findings, moved) = judge(Some(served), alike.clone(), 1);
    let moved = moved.unwrap_or_else(|| panic!("{findings:#?}"));
    assert_eq!(moved.zone(origin().as_ref()).unwrap().serial.0, 11, "the signer's serial");
    // The way back to the unchanged old file.
    let (findings, back) = judge(Some(moved), alike, 0);
    let found = finding(&findings, id::SERIAL);
    assert!(back.is_none() && found.verdict == Verdict::Block && found.remedy.contains("above 11"), "{found:#?}");

    let unsigned = text.clone();
    let other_key = Signer::new().sign(&origin(), &text, method);
    for (there, why) in [
        (sign(text.clone() + "more.example. 300 IN A 192.0.2.3\n"), "more.example. A is at site1 only"),
        (sign(text.clone() + "www.example. 300 IN AAAA ::1\n"), "www.example. AAAA is at site1 only"),
        (unsigned, "site0 is signed and site1 is not"),
        (other_key, "the DNSKEY sets of site0 and site1 differ"),
    ] {
        let (_, served) = judge(None, content(&[&here, &there], 1), 0);
        let (findings, moved) = judge(served, content(&[&here, &there], 1), 1);
        let found = finding(&findings, id::SIGNED_ALIKE);
        assert!(moved.is_none() && found.verdict == Verdict::Block, "{found:#?}");
        assert!(found.items.iter().any(|item| item == why), "{why}: {found:#?}");
    }
}

#[test]
fn peer_a_signed_zones_serial_is_its_signers() {
    let signer = Signer::new();
    let sign = |serial: u32| {
        let text = TEXT
            .replace(" 10 3600 ", &format!(" {serial} 3600 "))
            .replace("192.0.2.1\n", &format!("192.0.2.{serial}\n"));
        signer.sign(&origin(), &text, METHODS[0])
    };
    let (ten, eleven, same) =
        (sign(10), sign(11), signer.sign(&origin(), &TEXT.replace("192.0.2.1\n", "192.0.2.77\n"), METHODS[0]));
    let (_, first) = judge(None, content(&[&ten], 1), 0);
    let (_, second) = judge(first.clone(), content(&[&eleven], 2), 0);
    let second = second.expect("a serial that rises");
    assert_eq!(second.zone(origin().as_ref()).unwrap().serial.0, 11);
    // The old file again: resolvers would take it, secondaries would not.
    let (findings, back) = judge(Some(second), content(&[&ten], 3), 0);
    let found = finding(&findings, id::SERIAL);
    assert!(back.is_none() && found.verdict == Verdict::Block, "{found:#?}");
    assert!(found.remedy.contains("above 11") && found.remedy.contains("signer"), "{found:#?}");
    // Other data under the same serial.
    let (findings, again) = judge(first, content(&[&same], 2), 0);
    let found = finding(&findings, id::SERIAL);
    assert!(again.is_none() && found.verdict == Verdict::Block, "{found:#?}");
}

#[test]
fn peer_what_is_published_first_is_warned_of() {
    let bad = without(&signed(&Signer::new(), METHODS[0]), "www.example.", "RRSIG A ");
    let (findings, served) = judge(None, content(&[&bad], 1), 0);
    assert!(served.is_some());
    assert_eq!(finding(&findings, id::SIGNATURES).verdict, Verdict::Warn);
}

#[test]
fn peer_caps_lower_nothing_but_ttl_fields() {
    let signer = Signer::new();
    for method in METHODS {
        let text = signed(&signer, *method);
        let caps = (Ttl::new(7), Ttl::new(100));
        let (_, served) = judge(None, capped(&[&text], 1, caps.0, caps.1), 0);
        let served = served.unwrap();
        for (name, qtype, ttl) in
            [("www.example.", RrType::A, 100), ("nx.example.", RrType::A, 7), ("www.example.", RrType::MX, 7)]
        {
            let mut query = message::query(1, Name::absolute(name).unwrap().as_ref(), qtype, false, Some(4096));
            let flags = query.len() - 4;
            query[flags] |= 0x80;
            let answer = message::read(&engine::ask(&served, &query, Transport::Tcp)).unwrap();
            let records: Vec<_> = answer.answers.iter().chain(&answer.authorities).collect();
            assert!(
                records.len() >= 2 && records.iter().all(|record| record.ttl == ttl),
                "{name} {qtype}: {records:?}"
            );
            let signatures = records.iter().filter(|record| record.rtype == RrType::RRSIG);
            let original = signatures.map(|record| u32::from_be_bytes(record.rdata[4..8].try_into().unwrap()));
            assert!(original.clone().count() > 0 && original.clone().all(|original| original >= 60), "{name} {qtype}");
            assert!(
                answer.answers.iter().chain(&answer.authorities).all(
                    |record| record.rtype != RrType::SOA || record.rdata[record.rdata.len() - 4..] == [0, 0, 0, 60]
                )
            );
        }
    }
}
