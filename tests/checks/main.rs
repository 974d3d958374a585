//! The zone checks: each kind of finding on zones that have it and on siblings that don't; and our verdicts beside those
//! of BIND, Knot and NSD. Signed zones: `check`, and the gates.

#[path = "../support/mod.rs"]
mod support;

mod peers;
mod signed;
mod signed_gates;
mod table;

use std::collections::BTreeSet;

use proptest::prelude::*;
use understudy::name::Name;
use understudy::rr::RrType;
use understudy::time::Ttl;
use understudy::zone::check::{Limits, check};
use understudy::zone::diagnostic::{Diagnostic, Place, Severity};
use understudy::zone::reader::{Reading, Source, Sources, read};
use understudy::zone::rrsets::Zone;
use understudy::zone::text::{Record, Records, ZoneText};

use table::{ODD, ROWS, Row, cases};

/// No file includes another here.
struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path} is not here"))
    }
}

/// What reading `wiki.example` from this text gives, the file being called `wiki.zone`.
fn reading(text: &str) -> Reading {
    let source = Source { path: "wiki.zone".into(), octets: text.as_bytes().into() };
    read(&Name::absolute("wiki.example").unwrap(), source, &mut NoSources)
}

fn zone(text: &str) -> Zone {
    let text = reading(text).into_text().unwrap_or_else(|found| panic!("in\n{text}\n{}", told(&found)));
    Zone::new(Some(&text), None).unwrap()
}

/// All that is found about a text: by reading it and, if it reads well, by checking the zone.
fn findings(text: &str) -> Vec<Diagnostic> {
    let reading = reading(text);
    let mut found = reading.diagnostics.clone();
    if let Ok(text) = reading.into_text() {
        found.extend(check(&Zone::new(Some(&text), None).unwrap(), &Limits::default()));
    }
    found
}

fn ids(found: &[Diagnostic]) -> BTreeSet<&'static str> {
    found.iter().map(|diagnostic| diagnostic.id).collect()
}

fn told(found: &[Diagnostic]) -> String {
    found.iter().map(|diagnostic| format!("{diagnostic}\n")).collect()
}

#[test]
fn each_kind_of_finding_is_found_and_nothing_else() {
    let mut wrong = Vec::new();
    for row in ROWS {
        for text in cases(row.bad) {
            let found = findings(&text);
            let expected: BTreeSet<&str> = row.also.iter().copied().chain([row.id]).collect();
            let severe = found.iter().all(|finding| finding.id != row.id || finding.severity == row.severity);
            if ids(&found) != expected || !severe {
                wrong.push(format!("expected {:?} {expected:?} in\n{text}found\n{}", row.severity, told(&found)));
            }
        }
        for text in cases(row.good) {
            let found = findings(&text);
            if !found.is_empty() {
                wrong.push(format!("expected no {} in\n{text}found\n{}", row.id, told(&found)));
            }
        }
    }
    for text in cases(ODD) {
        let found = findings(&text);
        if !found.is_empty() {
            wrong.push(format!("expected nothing in\n{text}found\n{}", told(&found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_finding_says_where_and_what_to_write() {
    for (row, text) in ROWS.iter().flat_map(|row| cases(row.bad).into_iter().map(move |text| (row, text))) {
        for finding in findings(&text) {
            assert!(finding.message.len() > 20 && finding.advice.len() > 10, "{}", finding);
            assert_eq!(finding.file, "wiki.zone");
            let about_the_whole = matches!(row.id, "no-soa" | "no-ns");
            assert!(about_the_whole || finding.line > 0, "{finding}");
            if finding.line > 0 {
                let line = text.lines().nth(finding.line as usize - 1).unwrap_or_else(|| panic!("{finding}"));
                let word = finding.text.split(' ').nth(1).unwrap_or(&finding.text);
                assert!(line.split_whitespace().any(|other| other == word), "`{line}` is not where {finding} stands");
            }
        }
    }
}

#[test]
fn every_id_in_the_source_has_a_row() {
    let known: BTreeSet<&str> = ROWS.iter().map(|row: &Row| row.id).collect();
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/zone/check");
    let mut seen = 0;
    for file in std::fs::read_dir(directory).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for word in source.split('"').skip(1).step_by(2) {
            let is_id = word.contains('-')
                && word.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()));
            if is_id {
                seen += 1;
                assert!(known.contains(word), "no row shows {word}");
            }
        }
    }
    assert!(seen >= 30, "the ids are not written as this test reads them");
}

#[test]
fn the_limits_are_the_callers() {
    let zone = zone(&table::zone_text("a 600 A 192.0.2.9"));
    let limits = |ttl| Limits::within(Ttl::new(ttl), Ttl::new(ttl));
    assert_eq!(ids(&check(&zone, &limits(600))), BTreeSet::new());
    assert_eq!(ids(&check(&zone, &limits(599))), BTreeSet::from(["ttl-too-long"]));
    let found = check(&zone, &limits(299));
    assert_eq!(ids(&found), BTreeSet::from(["negative-ttl-too-long", "ttl-too-long"]));
    // A cap of the zone's own is named by its key and its value, and what is advised keeps to it.
    for (id, key) in [("negative-ttl-too-long", "negative_ttl"), ("ttl-too-long", "max_ttl")] {
        let finding = found.iter().find(|finding| finding.id == id).unwrap();
        assert!(
            finding.message.contains(&format!("above `zone.{key}`, 299"))
                || finding.message.contains(&format!("more than `zone.{key}`, 299")),
            "{finding}"
        );
        assert!(finding.advice.contains("299") && finding.advice.contains(&format!("raise `{key}`")), "{finding}");
        assert!(!finding.advice.contains("10800"), "{finding}");
    }
}

/// The case of 2009: one forgotten dot is a slip, three are a broken generator.
#[test]
fn the_origin_twice_is_an_error_from_three_records_on() {
    for (count, severity) in
        [(1, Severity::Warning), (2, Severity::Warning), (3, Severity::Error), (9, Severity::Error)]
    {
        for line in ["h# CNAME ns1.wiki.example", "h#.wiki.example A 192.0.2.9", "@ MX # ns1.wiki.example"] {
            let lines: Vec<String> = (1..=count).map(|n| line.replace('#', &n.to_string())).collect();
            let found = findings(&table::zone_text(&lines.join("\n")));
            assert_eq!(found.len(), count, "{}", told(&found));
            assert!(found.iter().all(|f| (f.id, f.severity) == ("origin-twice", severity)), "{}", told(&found));
        }
    }
}

/// Reading refuses what is out of the zone; zones that come from elsewhere are checked for it too.
#[test]
fn what_is_out_of_the_zone_is_found_without_a_reader() {
    let mut text = reading(&table::zone_text("a TXT x")).into_text().unwrap();
    text.origin = Name::absolute("other.example").unwrap();
    let found = check(&Zone::new(Some(&text), None).unwrap(), &Limits::default());
    assert_eq!(ids(&found), BTreeSet::from(["no-ns", "no-soa", "out-of-zone"]), "{}", told(&found));
}

/// Neither the order of the lines nor the case of names makes a difference.
#[test]
fn order_and_case_do_not_count() {
    for text in table::all() {
        let severities = |text: &str| -> BTreeSet<_> { findings(text).iter().map(|f| (f.id, f.severity)).collect() };
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].reverse();
        assert_eq!(severities(&lines.join("\n")), severities(&text), "reversed:\n{text}");
        // Quoted strings, parameters and units are no names.
        let is_name = |word: &str| !word.contains(['"', '=']) && !word.starts_with(|c: char| c.is_ascii_digit());
        let upper = |word: &str| if is_name(word) { word.to_uppercase() } else { word.to_owned() };
        let shouted: Vec<String> =
            text.lines().map(|line| line.split(' ').map(upper).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(severities(&shouted.join("\n")), severities(&text), "shouted:\n{text}");
    }
}

/// A generator that went wrong makes the same fault a million times.
#[test]
fn many_findings_of_a_kind_are_counted_and_not_all_listed() {
    let lines: Vec<String> = (0..1000).map(|n| format!("h{n} CNAME nix")).collect();
    let found = findings(&table::zone_text(&lines.join("\n")));
    assert_eq!(found.len(), 200);
    assert!(found[199].message.ends_with("800 more records have the same fault"), "{}", found[199]);
}

proptest! {
    /// Whatever stands in a zone, data that fits no grammar too, checking it neither panics nor tells nonsense places.
    #[test]
    fn no_zone_is_too_odd(records in prop::collection::vec(odd_record(), 0..30)) {
        let mut text = ZoneText {
            origin: Name::absolute("wiki.example").unwrap(),
            records: Records::default(),
            files: vec!["wiki.zone".into()],
        };
        for (line, (owner, rtype, ttl, rdata)) in records.iter().enumerate() {
            let place = Place { file: 0, line: line as u32 + 1, column: 1 };
            let (owner, ttl) = (owner.as_ref(), Ttl::from_wire(*ttl));
            let fits = text.records.push(Record { owner, rtype: *rtype, ttl, rdata, place });
            prop_assert!(fits);
        }
        for finding in check(&Zone::new(Some(&text), None).unwrap(), &Limits::default()) {
            prop_assert!(finding.line as usize <= records.len(), "{finding}");
        }
    }
}

/// A record of a few names and types that are apt to meet, its data whole, cut, or noise.
fn odd_record() -> impl Strategy<Value = (Name, RrType, u32, Vec<u8>)> {
    let label = prop::sample::select(vec!["a", "*", "sub", "_x", "wiki.example", "192.0.2.1", "\\000"]);
    let end = prop::sample::select(vec!["wiki.example", "WIKI.example.wiki.example", "other", ""]);
    let name = (prop::collection::vec(label, 0..4), end).prop_map(|(labels, end)| {
        Name::absolute(&[labels.join("."), end.into()].join(".")).unwrap_or_else(|_| Name::root())
    });
    let rtype = prop::sample::select(
        "A AAAA NS SOA CNAME DNAME MX SRV TXT SPF CAA DS HTTPS PTR NAPTR RRSIG NSEC NSEC3 TYPE65000"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    let noise = prop::collection::vec(any::<u8>(), 0..40);
    (name.clone(), rtype, any::<u32>(), 0..8usize, name, noise).prop_map(|(owner, rtype, ttl, front, target, noise)| {
        let named = [&[0, 3, 0, 0, 0, 1, 0][..front.min(7)], target.as_ref().as_wire(), &noise].concat();
        let rdata = if ttl % 3 == 0 { noise } else { named[..named.len() - noise.len() * (ttl as usize % 2)].to_vec() };
        (owner, RrType::parse(rtype).unwrap(), ttl, rdata)
    })
}

/// A large zone is checked in a moment (run it with `--run-ignored all --no-capture` for the figure).
#[test]
#[ignore = "a measurement"]
fn how_long_half_a_million_names_take() {
    let lines: Vec<String> = (0..500_000)
        .map(|n| match n % 5 {
            0 => format!("h{n} A 192.0.2.9"),
            1 => format!("h{n} CNAME h{}", n - 1),
            2 => format!("h{n} MX 10 h{}", n - 2),
            3 => format!("h{n} NS ns.h{n}\nns.h{n} A 192.0.2.9"),
            _ => format!("h{n} TXT \"v=spf1 -all\""),
        })
        .collect();
    let zone = zone(&table::zone_text(&lines.join("\n")));
    let begin = std::time::Instant::now();
    let found = check(&zone, &Limits::default());
    println!("{} records, {} findings, {:?}", zone.record_count(), found.len(), begin.elapsed());
}

/// One finding tells all lines of a set, and the TTL that is served.
#[test]
fn unequal_ttls_are_told_once() {
    let found =
        findings(&table::zone_text("a 900 A 192.0.2.9\na 300 A 192.0.2.8\na 600 A 192.0.2.7\na 600 AAAA 2001:db8::1"));
    assert_eq!(found.len(), 1, "{}", told(&found));
    assert!(found[0].message.contains("lines 7, 8 and 9") && found[0].message.contains("lowest, 300"), "{}", found[0]);
}
