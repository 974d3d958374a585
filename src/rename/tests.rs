//! Overlays over small zones: what they add, turn and leave, and when texts end them.

use super::apply::overlaid;
use super::fold::{End, print, settle};
use super::fresh::{NoFresh, choose};
use super::levers::fronts;
use super::{Overlays, Rename, Stage, Turn};
use crate::name::Name;
use crate::zone::reader::{NoSources, Source, read};
use crate::zone::rrsets::Zone;
use crate::zone::write;

const HEAD: &str = "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.elsewhere.\n";

const TEXT: &str = "www 30 CNAME edge\nold DNAME edge\n@ MX 5 mail\n@ MX 9 edge\n_sip._tcp SRV 0 0 5060 edge\n\
    svc HTTPS 1 EDGE alpn=h2\nnum NAPTR 1 1 \"s\" \"x\" \"\" edge\nedge A 192.0.2.1\nedge A 192.0.2.2\n\
    edge AAAA 2001:db8::1\nedge HTTPS 1 . alpn=h2\n_443._tcp.edge TLSA 3 1 1 00\nhost.edge A 192.0.2.9\nmail A 192.0.2.3\n";

fn name(text: &str) -> Name {
    Name::absolute(text).unwrap()
}

fn zone(text: &str) -> Zone {
    let source = Source { path: "z".into(), octets: format!("{HEAD}{text}").as_bytes().into() };
    let text =
        read(&name("x.example"), source, &mut NoSources).into_text().unwrap_or_else(|wrong| panic!("{wrong:#?}"));
    let mut zone = Zone::new(Some(&text), None).unwrap();
    zone.settle();
    zone
}

fn rename(stage: Stage) -> Rename {
    let (lever, fresh) = (name("edge.x.example"), name("edge-r1.x.example"));
    Rename { lever, fresh, number: 1, stage, spare: false, whole: false, words: Vec::new(), turned: None }
}

fn over(renames: &[Rename]) -> Overlays {
    renames.iter().fold(Overlays::default(), |overlays, rename| overlays.with(rename.clone()))
}

/// The lines of a zone, its head left out, with blanks for tabs and each owner written out.
fn lines(zone: &Zone) -> Vec<String> {
    let mut owner = String::new();
    let text = write::zone(zone);
    let lines = text.lines().skip(1).map(|line| {
        let (first, rest) = line.split_once('\t').unwrap();
        if !first.is_empty() {
            owner = first.to_owned();
        }
        format!("{owner} {}", rest.replace('\t', " ").replace('"', ""))
    });
    lines.filter(|line| !line.contains(" SOA ") && !line.contains(" NS ")).collect()
}

fn added_and_gone(before: &Zone, after: &Zone) -> (Vec<String>, Vec<String>) {
    let (before, after) = (lines(before), lines(after));
    let without =
        |these: &[String], those: &[String]| these.iter().filter(|line| !those.contains(line)).cloned().collect();
    (without(&after, &before), without(&before, &after))
}

#[test]
fn a_staged_lever_stands_under_both_names_and_nothing_turns() {
    let base = zone(TEXT);
    let after = overlaid(&base, &over(&[rename(Stage::Staged)])).unwrap();
    let (added, gone) = added_and_gone(&base, &after);
    let copied = [
        "edge-r1 60 A 192.0.2.1",
        "edge-r1 60 A 192.0.2.2",
        "edge-r1 60 AAAA 2001:db8::1",
        "edge-r1 60 HTTPS 1 . alpn=h2",
        "_443._tcp.edge-r1 60 TLSA 3 1 1 00",
    ];
    assert_eq!((added, gone), (copied.map(String::from).to_vec(), Vec::new()));
    assert_eq!(after.len(), base.len() + 4);
}

#[test]
fn references_of_every_kind_turn_and_the_old_lever_stays() {
    let base = zone(TEXT);
    let after = overlaid(&base, &over(&[rename(Stage::Referenced)])).unwrap();
    let (added, gone) = added_and_gone(&base, &after);
    let left = [
        "@ 60 MX 9 edge",
        "_sip._tcp 60 SRV 0 0 5060 edge",
        "num 60 NAPTR 1 1 s x  edge",
        "svc 60 HTTPS 1 EDGE alpn=h2",
        "www 30 CNAME edge",
    ];
    let mut left = left.map(|line| line.to_owned());
    left.sort();
    let mut gone = gone;
    gone.sort();
    assert_eq!(gone, left, "what is below the lever does not come along, so that a DNAME stays");
    for line in [
        "www 30 CNAME edge-r1",
        "@ 60 MX 9 edge-r1",
        "_sip._tcp 60 SRV 0 0 5060 edge-r1",
        "svc 60 HTTPS 1 edge-r1 alpn=h2",
    ] {
        assert!(added.contains(&line.to_owned()), "{line}: {added:#?}");
    }
    assert!(lines(&after).contains(&"edge 60 A 192.0.2.1".to_owned()));
}

#[test]
fn a_dname_turns_if_all_below_the_lever_comes_along() {
    let whole = Rename { whole: true, ..rename(Stage::Referenced) };
    let after = lines(&overlaid(&zone(TEXT), &over(&[whole])).unwrap());
    for line in ["old 60 DNAME edge-r1", "host.edge-r1 60 A 192.0.2.9"] {
        assert!(after.contains(&line.to_owned()), "{line}: {after:#?}");
    }
}

#[test]
fn the_latest_of_several_names_is_led_to_and_what_is_undone_is_kept() {
    let latest = Rename { fresh: name("edge-r2.x.example"), number: 2, ..rename(Stage::Referenced) };
    let both = over(&[rename(Stage::Referenced), latest]);
    let led = |overlays: &Overlays| {
        lines(&overlaid(&zone(TEXT), overlays).unwrap()).into_iter().find(|line| line.starts_with("www "))
    };
    assert_eq!(led(&both).unwrap(), "www 30 CNAME edge-r2");
    let undone = both.at(name("edge-r2.x.example").as_ref(), Stage::Returned);
    assert_eq!(led(&undone).unwrap(), "www 30 CNAME edge-r1");
    let kept = lines(&overlaid(&zone(TEXT), &undone).unwrap());
    assert!(kept.iter().any(|line| line.starts_with("edge-r2 ")), "caches still lead there");
    assert_eq!(undone.without(name("edge-r2.x.example").as_ref()).last, 2, "no number is given twice");
}

#[test]
fn a_retired_lever_is_gone_with_its_ports_alone() {
    let after = lines(&overlaid(&zone(TEXT), &over(&[rename(Stage::Retired)])).unwrap());
    let left: Vec<&String> = after.iter().filter(|line| line.contains("edge") && !line.contains("edge-r1")).collect();
    assert_eq!(left, ["host.edge 60 A 192.0.2.9", "old 60 DNAME edge"].iter().collect::<Vec<_>>());
}

#[test]
fn references_into_other_zones_turn_by_themselves() {
    let base = zone("www CNAME edge.other.example.\n");
    let turn = Turn { lever: name("edge.other.example"), fresh: name("edge-r7.other.example"), whole: false };
    let overlays = Overlays { turns: vec![turn], ..Overlays::default() };
    assert_eq!(lines(&overlaid(&base, &overlays).unwrap()), ["www 60 CNAME edge-r7.other.example."]);
    assert!(overlaid(&zone("a A 192.0.2.1\n"), &overlays).is_none());
    assert!(settle(&[&zone("a A 192.0.2.1\n")], &overlays, |_| None).overlays.is_empty());
}

#[test]
fn records_of_the_text_stand_where_it_has_the_fresh_name() {
    let base = zone(&format!("{TEXT}edge-r1 A 192.0.2.77\n"));
    let after = lines(&overlaid(&base, &over(&[rename(Stage::Referenced)])).unwrap());
    assert_eq!(after.iter().filter(|line| line.starts_with("edge-r1 ")).count(), 1, "{after:#?}");
}

#[test]
fn fresh_names_are_siblings_that_were_never_there() {
    let base = zone("edge A 192.0.2.1\nedge-r4 A 192.0.2.1\na.edge-r5 A 192.0.2.1\n");
    let chosen = |lever: &str, last| {
        choose(&[&base], name(lever).as_ref(), last).map(|(name, number)| (name.to_string(), number))
    };
    for (lever, last, fresh) in [
        ("edge.x.example", 0, "edge-r1.x.example."),
        ("Edge.x.example", 1, "Edge-r2.x.example."),
        ("edge.x.example", 3, "edge-r6.x.example."),
        ("edge-r6.x.example", 6, "edge-r7.x.example."),
        ("edge-r.x.example", 0, "edge-r-r1.x.example."),
        ("edge9.x.example", 0, "edge9-r1.x.example."),
    ] {
        let number = fresh.split("-r").last().unwrap().split('.').next().unwrap().parse().unwrap();
        assert_eq!(chosen(lever, last), Ok((fresh.to_owned(), number)), "{lever} {last}");
    }
    let long = format!("{}.x.example", "l".repeat(63));
    assert_eq!(chosen(&long, 9).unwrap().0, format!("{}-r10.x.example.", "l".repeat(59)));
    assert_eq!(chosen("*.x.example", 0), Err(NoFresh::Nameless));
    let parent = [63, 63, 63, 57].map(|count| "p".repeat(count)).join(".");
    assert_eq!(chosen(&format!("a.{parent}"), 0), Err(NoFresh::TooLong));
}

#[test]
fn every_front_has_its_lever_or_the_reason_why_not() {
    let base = zone(&format!(
        "{TEXT}@ A 192.0.2.1\nplain A 192.0.2.1\nfar CNAME a.far.\nsub NS ns.sub\nns.sub A 192.0.2.1\n*.w CNAME edge\n"
    ));
    let found = fronts(&[&base], |target| target.is_at_or_below(base.origin()));
    let told: Vec<String> = found
        .iter()
        .map(|front| format!("{} {}", front.name.as_ref().relative_to(base.origin()), front.advice()))
        .collect();
    let begin = |text: &str| {
        told.iter().find(|line| line.starts_with(text)).unwrap_or_else(|| panic!("{text}: {told:#?}")).clone()
    };
    assert!(begin("www ").ends_with("lever edge.x.example. (by CNAME)"));
    assert!(begin("@ no lever for its addresses: an apex").contains("mail.x.example. (by MX)"));
    assert!(begin("plain no lever: its addresses are its own").contains("CNAME"));
    assert!(begin("far ").contains("a.far., which is in nobody's zone here"));
    assert!(begin("*.w ").contains("edge.x.example."));
    for absent in ["edge", "mail", "sub", "ns.sub", "_443._tcp.edge"] {
        assert!(told.iter().all(|line| !line.starts_with(&format!("{absent} "))), "{absent}: {told:#?}");
    }
}

#[test]
fn texts_end_renames_or_are_kept_out() {
    let fresh = "edge-r1 A 192.0.2.1\n";
    // The text, the stage, how it ends, the stage after it, whether it is kept out.
    type Case = (String, Stage, Option<End>, Option<Stage>, bool);
    let cases: [Case; 9] = [
        (TEXT.into(), Stage::Referenced, None, Some(Stage::Referenced), false),
        (format!("www CNAME edge-r1\nedge A 192.0.2.1\n{fresh}"), Stage::Referenced, Some(End::Folded), None, false),
        (format!("www CNAME edge-r1\n{fresh}"), Stage::Retired, Some(End::Folded), None, false),
        ("www CNAME edge-r1\nedge A 192.0.2.1\n".into(), Stage::Referenced, None, Some(Stage::Referenced), false),
        (format!("www CNAME edge\nedge A 192.0.2.1\n{fresh}"), Stage::Referenced, None, Some(Stage::Referenced), false),
        ("edge A 192.0.2.1\n".into(), Stage::Referenced, Some(End::Unreferenced), Some(Stage::Returned), false),
        ("a A 192.0.2.1\n".into(), Stage::Referenced, Some(End::Gone), None, false),
        ("www CNAME edge\n".into(), Stage::Referenced, None, Some(Stage::Referenced), true),
        ("www CNAME edge\n".into(), Stage::Confirmed, Some(End::Gone), None, false),
    ];
    for (text, stage, end, after, blocked) in cases {
        let settled = settle(&[&zone(&text)], &over(&[rename(stage)]), |_| None);
        let case = format!("{text} {stage}: {settled:#?}");
        assert_eq!(settled.ended.first().map(|ended| ended.end), end, "{case}");
        assert_eq!(settled.overlays.renames.first().map(|rename| rename.stage), after, "{case}");
        assert_eq!(!settled.blocked.is_empty(), blocked, "{case}");
        assert_eq!(settled.overlays.last, 1, "{case}");
    }
}

#[test]
fn what_is_printed_ends_the_rename_once_it_is_in_the_files() {
    let base = zone(TEXT);
    let overlays = over(&[rename(Stage::Referenced)]);
    let served = overlaid(&base, &overlays).unwrap();
    let printed = print(base.origin(), &[("only", &served)], &overlays);
    assert!(
        printed.contains("edge-r1\t60\tIN\tA\t192.0.2.1\n") && printed.contains("www\t30\tIN\tCNAME\tedge-r1\n"),
        "{printed}"
    );
    // As an operator does it: the new lines in, the lines that they take the place of out.
    let replaced = ["www", "@ MX", "_sip", "svc", "num", "old"];
    let kept: String = TEXT
        .lines()
        .filter(|line| !replaced.iter().any(|front| line.starts_with(front)))
        .map(|line| format!("{line}\n"))
        .collect();
    let folded = zone(&format!("{kept}old DNAME mail\n{printed}"));
    let settled = settle(&[&folded], &overlays, |_| None);
    assert_eq!(settled.ended[0].end, End::Folded, "{printed}");
    assert!(settled.overlays.renames.is_empty());
}

#[test]
fn what_differs_by_site_is_printed_by_site() {
    let sites = ["192.0.2.1", "198.51.100.1"].map(|address| zone(&format!("www CNAME edge\nedge A {address}\n")));
    let overlays = over(&[rename(Stage::Referenced)]);
    let served = sites.each_ref().map(|base| overlaid(base, &overlays).unwrap());
    let printed = print(sites[0].origin(), &[("a", &served[0]), ("b", &served[1])], &overlays);
    let expected = "; edge.x.example. is renamed to edge-r1.x.example.\n\
        ; For the site a, these records are new:\nedge-r1\t60\tIN\tA\t192.0.2.1\n\
        ; For the site b, these records are new:\nedge-r1\t60\tIN\tA\t198.51.100.1\n\
        ; For all sites, these take the place of those of the same name and type:\nwww\t60\tIN\tCNAME\tedge-r1\n";
    assert_eq!(printed, expected);
}
