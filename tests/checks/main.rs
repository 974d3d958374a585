//! The zone checks: each kind of finding on zones that have it and on siblings that don't; and our verdicts beside those
//! of BIND, Knot and NSD.

mod mini;
mod peers;
mod table;

use std::collections::BTreeSet;

use understudy::time::Ttl;
use understudy::zone::check::{Limits, check};
use understudy::zone::diagnostic::{Diagnostic, Severity};

use table::{ROWS, Row, cases};

fn findings(text: &str) -> Vec<Diagnostic> {
    check(&mini::zone(text), &Limits::default())
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
                let rtype = finding.text.rsplit(' ').next().unwrap();
                assert!(line.split_whitespace().any(|word| word == rtype), "`{line}` is not where {finding} stands");
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
    let zone = mini::zone(&table::zone_text("a 600 A 192.0.2.9"));
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

/// One finding tells all lines of a set, and the TTL that is served.
#[test]
fn unequal_ttls_are_told_once() {
    let found =
        findings(&table::zone_text("a 900 A 192.0.2.9\na 300 A 192.0.2.8\na 600 A 192.0.2.7\na 600 AAAA 2001:db8::1"));
    assert_eq!(found.len(), 1, "{}", told(&found));
    assert!(found[0].message.contains("lines 7, 8 and 9") && found[0].message.contains("lowest, 300"), "{}", found[0]);
}
