//! The zone checks: each kind of finding on zones that have it and on siblings that don't; and our verdicts beside those
//! of BIND, Knot and NSD.

mod peers;
mod table;

use std::collections::BTreeSet;

use understudy::name::Name;
use understudy::time::Ttl;
use understudy::zone::check::{Limits, check};
use understudy::zone::diagnostic::{Diagnostic, Severity};
use understudy::zone::reader::{Reading, Source, Sources, read};
use understudy::zone::rrsets::Zone;

use table::{ROWS, Row, cases};

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
    let limits = |ttl| Limits { max_ttl: Ttl::new(ttl).unwrap(), max_negative_ttl: Ttl::new(ttl).unwrap() };
    assert_eq!(ids(&check(&zone, &limits(600))), BTreeSet::new());
    assert_eq!(ids(&check(&zone, &limits(599))), BTreeSet::from(["ttl-too-long"]));
    assert_eq!(ids(&check(&zone, &limits(299))), BTreeSet::from(["negative-ttl-too-long", "ttl-too-long"]));
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

/// A generator that went wrong makes the same fault a million times.
#[test]
fn many_findings_of_a_kind_are_counted_and_not_all_listed() {
    let lines: Vec<String> = (0..1000).map(|n| format!("h{n} CNAME nix")).collect();
    let found = findings(&table::zone_text(&lines.join("\n")));
    assert_eq!(found.len(), 200);
    assert!(found[199].message.ends_with("800 more records have the same fault"), "{}", found[199]);
}

/// One finding tells all lines of a set, and the TTL that is served.
#[test]
fn unequal_ttls_are_told_once() {
    let found =
        findings(&table::zone_text("a 900 A 192.0.2.9\na 300 A 192.0.2.8\na 600 A 192.0.2.7\na 600 AAAA 2001:db8::1"));
    assert_eq!(found.len(), 1, "{}", told(&found));
    assert!(found[0].message.contains("lines 7, 8 and 9") && found[0].message.contains("lowest, 300"), "{}", found[0]);
}
