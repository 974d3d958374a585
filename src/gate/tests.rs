//! Gates on small zones: what they let through, and what they name.

use std::sync::Arc;

use super::id;
use crate::door::{Candidate, Proposal};
use crate::evidence::Verdict;
use crate::gate::Finding;
use crate::name::Name;
use crate::net::Region;
use crate::serving::content::{Content, Policy, SiteContent, SiteId};
use crate::serving::regions::Regions;
use crate::serving::{Routing, Serving, Settings};
use crate::snapshot::Snapshot;
use crate::snapshot::compile::Shape;
use crate::snapshot::sought::HashKey;
use crate::time::Timestamp;
use crate::zone::reader::{NoSources, Source, read};
use crate::zone::rrsets::Zone;

const FRONT: &str = "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.elsewhere.\n";

fn site(origin: &Name, name: &str, text: &str) -> SiteContent {
    site_of(origin, name, &format!("{FRONT}{text}"))
}

/// A site with a text of its own from the front on.
fn site_of(origin: &Name, name: &str, text: &str) -> SiteContent {
    let source = Source { path: name.into(), octets: text.as_bytes().into() };
    let text = read(origin, source, &mut NoSources).into_text().unwrap_or_else(|wrong| panic!("{name}: {wrong:#?}"));
    let zone = Zone::new(Some(&text), None).unwrap();
    let shape = Shape { key: HashKey::new([7; 16]), negative_ttl: None, max_ttl: None };
    let snapshot = Snapshot::compile(&zone, shape).unwrap();
    SiteContent { name: name.into(), zone: Arc::new(zone), snapshot: Arc::new(snapshot), signatures: None }
}

/// A zone with these sites, routed so.
pub(crate) fn zone(origin: &str, sites: &[(&str, &str)], routed: &[u16], may_vanish: &[&str]) -> Proposal {
    let origin = Name::absolute(origin).unwrap();
    let sites = sites.iter().map(|(name, text)| site(&origin, name, text)).collect();
    let names = may_vanish.iter().map(|name| Name::absolute(name).unwrap());
    let policy = Policy { may_vanish: names.collect(), ..Policy::default() };
    Proposal {
        loads: Finding::pass(id::LOADS, origin.as_ref(), ""),
        content: Arc::new(Content { origin, sites, policy, epoch: 1, overlays: Default::default() }),
        routing: Routing::at(routed.iter().map(|site| SiteId(*site)).collect()),
        restored: None,
    }
}

fn empty() -> Arc<Serving> {
    let regions = Regions::new(&["one", "two"].map(|name| Region { name: name.into(), networks: Vec::new() }));
    Arc::new(Serving::empty(0, HashKey::new([7; 16]), Settings::default(), regions))
}

pub(crate) fn served(zones: Vec<Proposal>) -> Arc<Serving> {
    Candidate::new(empty(), zones, Timestamp::default()).verify(&[]).unwrap().serving().clone()
}

/// What the gates find when the zone is routed otherwise.
fn moved(before: &Arc<Serving>, origin: &str, routed: &[u16]) -> Vec<Finding> {
    let origin = Name::absolute(origin).unwrap();
    let zone = before.zone(origin.as_ref()).unwrap();
    let mut routing = zone.routing.clone();
    routing.sites = routed.iter().map(|site| SiteId(*site)).collect();
    let loads = Finding::pass(id::LOADS, origin.as_ref(), "");
    let proposal = Proposal { content: Arc::clone(&zone.content), routing, loads, restored: None };
    Candidate::new(Arc::clone(before), vec![proposal], Timestamp::default()).judge().to_vec()
}

/// What one gate named, without the zone's name and the site's; nothing if it passes.
fn named(findings: &[Finding], gate: &str) -> Vec<String> {
    let finding = findings.iter().find(|finding| finding.gate == gate).unwrap();
    assert_eq!(finding.verdict == Verdict::Pass, finding.items.is_empty(), "{finding:#?}");
    let short = |item: &String| item.replace(".x.example.", "").replace(" at b", "").replace(" would become", ":");
    finding.items.iter().map(short).collect()
}

#[test]
fn nothing_vanishes() {
    // What is answered now; what the target would answer; what is lost by it.
    let table: &[(&str, &str, &[&str])] = &[
        // Plain names and types.
        ("a A 192.0.2.1", "a A 192.0.2.2", &[]),
        ("a A 192.0.2.1\nb A 192.0.2.1", "a A 192.0.2.2", &["b A: NXDOMAIN"]),
        ("a A 192.0.2.1\na AAAA ::1", "a A 192.0.2.2", &["a AAAA: NODATA"]),
        ("A A 192.0.2.1", "a A 192.0.2.2", &[]),
        ("a A 192.0.2.1", "b.a A 192.0.2.2", &["a A: NODATA"]),
        ("@ MX 10 m\n@ TXT t\nm A 192.0.2.1", "m A 192.0.2.1", &["x.example. MX: NODATA", "x.example. TXT: NODATA"]),
        // Wildcards: gone; cut off by a name, by one below it, by an empty non-terminal.
        ("*.m A 192.0.2.1", "*.m A 192.0.2.2", &[]),
        ("*.m A 192.0.2.1", "m A 192.0.2.2", &["*.m A: NXDOMAIN"]),
        ("*.m A 192.0.2.1", "*.m A 192.0.2.1\nf.m TXT t", &["*.f.m A: NXDOMAIN", "f.m A: NODATA"]),
        ("*.m A 192.0.2.1", "*.m A 192.0.2.1\nf.m A 192.0.2.3", &["*.f.m A: NXDOMAIN"]),
        ("*.m A 192.0.2.1", "*.m A 192.0.2.1\nf.m A 192.0.2.3\n*.f.m A 192.0.2.3", &[]),
        (
            "*.m A 192.0.2.1",
            "*.m A 192.0.2.1\ng.f.m A 192.0.2.3",
            &["*.f.m A: NXDOMAIN", "*.g.f.m A: NXDOMAIN", "f.m A: NODATA"],
        ),
        ("*.m CNAME t\nt A 192.0.2.1", "*.m CNAME t\nt A 192.0.2.1\nf.m A 192.0.2.1\n*.f.m CNAME t", &[]),
        ("* A 192.0.2.1\na A 192.0.2.1", "* A 192.0.2.1", &[]),
        ("*.lab A 192.0.2.1", "a A 192.0.2.1", &[]), // it may vanish
        // Delegations: lost, new over data, new under a wildcard, without the glue there was.
        ("d NS ns.else.", "d NS ns.other.", &[]),
        ("d NS ns.else.", "a A 192.0.2.1", &["*.d A: NXDOMAIN", "d NS: NXDOMAIN"]),
        ("d NS ns.else.", "d A 192.0.2.1", &["*.d A: NXDOMAIN", "d NS: NODATA"]),
        ("d A 192.0.2.1\na.d A 192.0.2.1", "d NS ns.else.", &["a.d A: a referral", "d A: a referral"]),
        ("*.m A 192.0.2.1", "*.m A 192.0.2.1\nf.m NS ns.else.", &["*.f.m A: a referral", "f.m A: a referral"]),
        (
            "d NS ns.d\nd NS ns2.d\nns.d A 192.0.2.1\nns2.d A 192.0.2.1",
            "d NS ns.d\nd NS ns2.d\nns.d A 192.0.2.1",
            &["ns2.d A would be missing from referrals to d"],
        ),
        ("d NS ns.d\nns.d A 192.0.2.1", "d NS ns2.d\nns2.d A 192.0.2.1", &[]),
        ("d NS ns.else.\nd DS 1 8 1 2BB183AF5F22588179A53B0A98631FAD1A292118", "d NS ns.else.", &["d DS: NODATA"]),
        // Aliases are what they lead to.
        ("w CNAME t\nt A 192.0.2.1", "w CNAME u\nu A 192.0.2.2\nt A 192.0.2.1", &[]),
        ("w CNAME t\nt A 192.0.2.1", "w A 192.0.2.2\nt A 192.0.2.1", &[]),
        ("w A 192.0.2.1", "w CNAME cdn.else.", &["w A: an alias of cdn.else., which other servers answer"]),
        ("w CNAME cdn.else.", "w CNAME cdn2.else.", &[]),
        ("w CNAME cdn.else.", "w A 192.0.2.1", &["w AAAA: NODATA"]),
        ("w A 192.0.2.1", "w CNAME gone", &["w A: an alias of gone: NXDOMAIN"]),
        ("w A 192.0.2.1", "w CNAME t\nt TXT t", &["w A: an alias of t: NODATA"]),
        (
            "w CNAME t\nt A 192.0.2.1",
            "w CNAME w2\nw2 CNAME w\nt A 192.0.2.1",
            &["w A: an alias of w: a loop of aliases"],
        ),
        ("w A 192.0.2.1", "w CNAME f.d\nd NS ns.else.", &["w A: an alias of f.d, which other servers answer"]),
        ("w CNAME gone", "a A 192.0.2.1", &["w CNAME: NXDOMAIN"]),
        ("w CNAME t\nt A 192.0.2.1", "w CNAME t\nT A 192.0.2.1", &[]),
        // DNAMEs.
        ("d DNAME t\na.t A 192.0.2.1", "d DNAME t\na.t A 192.0.2.2", &[]),
        (
            "d DNAME t\na.t A 192.0.2.1",
            "d DNAME u\na.t A 192.0.2.1\nu A 192.0.2.1",
            &["a.d A: an alias of a.u: NXDOMAIN"],
        ),
        (
            "d DNAME t\n*.t A 192.0.2.1",
            "d DNAME u\n*.t A 192.0.2.1\nu A 192.0.2.1",
            &["*.d A: an alias of _understudy-nobody-has-this-name.u: NXDOMAIN"],
        ),
        (
            "d DNAME else.",
            "d DNAME u\nu A 192.0.2.1",
            &[
                "*.d A: an alias of _understudy-nobody-has-this-name.u: NXDOMAIN",
                "*.d AAAA: an alias of _understudy-nobody-has-this-name.u: NXDOMAIN",
            ],
        ),
    ];
    for (now, target, lost) in table {
        let before = served(vec![zone("x.example", &[("a", now), ("b", target)], &[0, 0, 0], &["*.lab.x.example"])]);
        let findings = moved(&before, "x.example", &[1, 1, 1]);
        assert_eq!(named(&findings, id::NOTHING_VANISHES), *lost, "{now}\n→\n{target}");
    }
}

/// What others would have to answer is not known; what is lost beside it is what blocks.
#[test]
fn what_leads_elsewhere_is_unknown() {
    for (now, target, verdict) in [
        ("w A 192.0.2.1", "w CNAME cdn.else.", Verdict::Unknown),
        ("w A 192.0.2.1\nb A 192.0.2.1", "w CNAME cdn.else.", Verdict::Block),
        ("lab A 192.0.2.1\na.lab A 192.0.2.1", "lab A 192.0.2.1\na.lab CNAME cdn.else.", Verdict::Pass),
    ] {
        let before = served(vec![zone("x.example", &[("a", now), ("b", target)], &[0, 0, 0], &["*.lab.x.example"])]);
        let findings = moved(&before, "x.example", &[1, 1, 1]);
        let finding = findings.iter().find(|finding| finding.gate == id::NOTHING_VANISHES).unwrap();
        assert_eq!(finding.verdict, verdict, "{finding:#?}");
        assert_eq!(finding.reason.contains("servers that are not ours"), verdict != Verdict::Pass, "{finding:#?}");
    }
}

#[test]
fn both_ends_resolve_while_both_are_out_there() {
    let table: &[(&str, &str, &[&str])] = &[
        ("w CNAME t.a\nt.a A 192.0.2.1\nt.b A 192.0.2.2", "w CNAME t.b\nt.a A 192.0.2.1\nt.b A 192.0.2.2", &[]),
        // The target lacks what caches of the old site lead to, and the other way round.
        (
            "w CNAME t.a\nt.a A 192.0.2.1\nt.b A 192.0.2.2",
            "w CNAME t.b\nt.b A 192.0.2.2",
            &["t.a A, which a refers to, is NXDOMAIN"],
        ),
        (
            "w CNAME t.a\nt.a A 192.0.2.1",
            "w CNAME t.b\nt.a A 192.0.2.1\nt.b A 192.0.2.2",
            &["t.b A, which b refers to, is NXDOMAIN at a"],
        ),
        (
            "@ MX 1 m1\nm1 A 192.0.2.1\nm1 AAAA ::1\nm2 A 192.0.2.1",
            "@ MX 1 m2\nm1 A 192.0.2.1\nm2 A 192.0.2.1",
            &["m1 AAAA, which a refers to, is NODATA"],
        ),
        (
            "w CNAME t\nt A 192.0.2.1",
            "w CNAME u\nu A 192.0.2.1\nt CNAME u",
            &["u A, which b refers to, is NXDOMAIN at a"],
        ),
        // Below a cut.
        (
            "w CNAME f.d\nd NS ns.else.",
            "w CNAME cdn.else.",
            &["f.d A, which a refers to, is NXDOMAIN", "f.d AAAA, which a refers to, is NXDOMAIN"],
        ),
        // Somebody else's names are not ours to prove.
        ("w CNAME one.else.", "w CNAME two.else.", &[]),
        (
            "_s._tcp SRV 1 1 1 h\nh A 192.0.2.1",
            "_s._tcp SRV 1 1 1 h\nh AAAA ::1",
            &["h A, which a refers to, is NODATA", "h AAAA, which b refers to, is NODATA at a"],
        ),
    ];
    for (now, target, broken) in table {
        let before = served(vec![zone("x.example", &[("a", now), ("b", target)], &[0, 0, 0], &[])]);
        assert_eq!(named(&moved(&before, "x.example", &[1, 1, 1]), id::CROSS_CLOSURE), *broken, "{now}\n→\n{target}");
    }
}

/// Each region has a pair of its own, and a third site that is out there already counts, too.
#[test]
fn every_region_is_judged_by_what_it_gets() {
    let sites = [
        ("a", "w CNAME t\nt A 192.0.2.1\nonly-a A 192.0.2.1"),
        ("b", "w CNAME t\nt A 192.0.2.2"),
        ("c", "w CNAME u\nu A 192.0.2.3\nt A 192.0.2.3"),
    ];
    let before = served(vec![zone("x.example", &sites, &[0, 1, 2], &[])]);
    // The region `one` is at b already: nothing is lost to it.
    let findings = moved(&before, "x.example", &[0, 1, 1]);
    assert_eq!(named(&findings, id::NOTHING_VANISHES), ["u A: NXDOMAIN"]);
    let findings = moved(&before, "x.example", &[1, 1, 2]);
    assert_eq!(named(&findings, id::NOTHING_VANISHES), ["only-a A: NXDOMAIN"]);
    // b and c were both out there: that is nothing that this change brings about. From nowhere to b it is.
    assert_eq!(named(&findings, id::CROSS_CLOSURE), [""; 0]);
    let before = served(vec![zone("x.example", &sites, &[0, 0, 2], &[])]);
    let findings = moved(&before, "x.example", &[1, 0, 2]);
    assert_eq!(named(&findings, id::CROSS_CLOSURE), ["u A, which c refers to, is NXDOMAIN"]);
}

/// Chains lead into other zones, which a region may get from another site than the next region does.
/// A cache may well ask from several regions: what one is told by an edit has to resolve where the others are.
#[test]
fn an_edit_is_judged_against_the_sites_that_other_regions_are_answered_from() {
    let edited = |[old_a, old_b]: [&str; 2], [new_a, new_b]: [&str; 2], routed: &[u16]| {
        let before = served(vec![zone("x.example", &[("a", old_a), ("b", old_b)], routed, &[])]);
        let after = zone("x.example", &[("a", new_a), ("b", new_b)], routed, &[]);
        let findings = Candidate::new(before, vec![after], Timestamp::default()).judge().to_vec();
        named(&findings, id::CROSS_CLOSURE)
    };
    let (plain, own) = ("w CNAME l\nl A 192.0.2.1", "w CNAME m\nl A 192.0.2.1\nm A 192.0.2.1");
    let broken = ["m A, which a refers to, is NXDOMAIN"];
    assert_eq!(edited([plain, plain], [own, plain], &[0, 1, 1]), broken);
    // Nobody is told the other site's answers.
    assert_eq!(edited([plain, plain], [own, plain], &[0, 0, 0]), [""; 0]);
    assert_eq!(edited([plain, plain], [own, own], &[0, 1, 1]), [""; 0]);
    // The name goes at the site that is referred to from elsewhere.
    assert_eq!(edited([own, own], [own, plain], &[0, 1, 1]), broken);
    // What was so before is not the edit's doing; what it adds is.
    assert_eq!(edited([own, plain], [own, "w CNAME l\nl A 192.0.2.9"], &[0, 1, 1]), [""; 0]);
    let more = "w CNAME m\nv CNAME n\nl A 192.0.2.1\nm A 192.0.2.1\nn A 192.0.2.1";
    assert_eq!(edited([own, plain], [more, plain], &[0, 1, 1]), ["n A, which a refers to, is NXDOMAIN"]);
}

#[test]
fn chains_are_followed_into_other_zones_for_each_region() {
    let other = zone("y.example", &[("p", "h A 192.0.2.1\ng A 192.0.2.1"), ("q", "h A 192.0.2.1")], &[0, 1, 0], &[]);
    let own = zone("x.example", &[("a", "w CNAME h.y.example."), ("b", "w CNAME g.y.example.")], &[0, 0, 0], &[]);
    let before = served(vec![own, other]);
    let findings = moved(&before, "x.example", &[1, 1, 1]);
    assert_eq!(named(&findings, id::NOTHING_VANISHES), ["w A: an alias of g.y.example.: NXDOMAIN"]);
    assert_eq!(named(&moved(&before, "x.example", &[1, 0, 1]), id::NOTHING_VANISHES), [""; 0]);
}

/// What one end refers to in another zone of ours has to be there for whoever asks from another region; what may vanish
/// there may.
#[test]
fn references_are_followed_into_other_zones() {
    for (may_vanish, broken) in
        [(&[][..], &["g.y.example. A, which b refers to, is NXDOMAIN at c"][..]), (&["g.y.example"], &[])]
    {
        let texts = [("p", "h A 192.0.2.1\ng A 192.0.2.1"), ("q", "h A 192.0.2.1")];
        let other = zone("y.example", &texts, &[0, 0, 1], may_vanish);
        let sites = [("a", "w CNAME h.y.example."), ("b", "w CNAME g.y.example."), ("c", "w CNAME h.y.example.")];
        let own = zone("x.example", &sites, &[0, 0, 2], &[]);
        let before = served(vec![own, other]);
        // The third region stays at c, and gets the other zone from q, which has no g.
        assert_eq!(named(&moved(&before, "x.example", &[1, 1, 2]), id::CROSS_CLOSURE), broken);
    }
}

/// An override covers the findings that were shown: whatever else is in the zone, and none at another site.
#[test]
fn findings_are_known_by_what_was_found() {
    let digest = |more: &str, to: u16| {
        let (a, b) = (format!("a A 192.0.2.1\nb A 192.0.2.1\n{more}"), format!("a A 192.0.2.1\n{more}"));
        let before = served(vec![zone("x.example", &[("a", &a), ("b", &b), ("c", &b)], &[0, 0, 0], &[])]);
        let findings = moved(&before, "x.example", &[to, to, to]);
        findings.iter().find(|finding| finding.gate == id::NOTHING_VANISHES).unwrap().digest()
    };
    assert_eq!(digest("", 1), digest("unrelated A 192.0.2.9", 1));
    assert_ne!(digest("", 1), digest("", 2));
}

#[test]
fn names_that_an_edit_removes_are_counted_as_clients_see_them() {
    let many = |count: usize| (0..count).map(|n| format!("h{n} A 192.0.2.1\n")).collect::<String>();
    // Before, after, how many are named, whether that is too much.
    for (before, after, count, stops) in [
        (many(200), many(190), 10, false),
        (many(20), many(10), 10, false),
        (many(100), many(80), 20, true),
        (many(100), format!("* A 192.0.2.1\n{}", many(10)), 0, false),
        (format!("{}w CNAME gone\n", many(2)), many(2), 1, false),
        (format!("{}w CNAME gone\n", many(2)), format!("{}w CNAME also-gone\n", many(2)), 0, false),
        (format!("{}w CNAME h1\n", many(2)), format!("{}w CNAME h1\n", many(1)), 2, false),
    ] {
        let serving = served(vec![zone("x.example", &[("a", &before)], &[0, 0, 0], &[])]);
        let edited = zone("x.example", &[("a", &after)], &[0, 0, 0], &[]);
        let candidate = Candidate::new(serving, vec![edited], Timestamp::default());
        let findings = candidate.judge();
        let blast = findings.iter().find(|finding| finding.gate == id::BLAST_RADIUS).unwrap();
        assert_eq!((blast.items.len(), blast.verdict.stops()), (count, stops), "{before}\n→\n{after}{blast:#?}");
    }
}

#[test]
fn types_that_an_edit_removes_are_told_and_do_not_count_as_names() {
    for (before, after, items, reason) in [
        ("a A 192.0.2.1\na AAAA ::1", "a A 192.0.2.1", &["a AAAA"][..], "0 of 2 names would be removed, and 1 type"),
        ("a A 192.0.2.1\nb TXT x\nb A 192.0.2.1", "b A 192.0.2.1", &["a.x.example.", "b TXT"], "1 of 3 names"),
        // An alias answers for what stood there, or does not.
        ("a A 192.0.2.1\nb A 192.0.2.1", "a A 192.0.2.1\nb CNAME a", &[], "no name and no type"),
        ("a A 192.0.2.1\nb CNAME a", "a A 192.0.2.1\nb TXT x", &["b A"], "1 type"),
        ("a A 192.0.2.1\nb CNAME a", "a A 192.0.2.1\nb A 192.0.2.1", &[], "no name and no type"),
        ("a A 192.0.2.1", "a A 192.0.2.2", &[], "no name and no type"),
    ] {
        let serving = served(vec![zone("x.example", &[("a", before)], &[0, 0, 0], &[])]);
        let edited = zone("x.example", &[("a", after)], &[0, 0, 0], &[]);
        let candidate = Candidate::new(serving, vec![edited], Timestamp::default());
        let blast = candidate.judge().iter().find(|finding| finding.gate == id::BLAST_RADIUS).unwrap();
        let told: Vec<String> = blast.items.iter().map(|item| item.replace(".x.example. ", " ")).collect();
        assert_eq!(told, items, "{before}\n→\n{after}");
        assert!(blast.reason.contains(reason) && !blast.verdict.stops(), "{blast:#?}");
        assert_eq!(blast.verdict == Verdict::Pass, items.is_empty());
    }
}

/// Each gate over what a move leads to: site a, site b, its verdict, and a piece of what it says.
#[test]
fn what_a_target_must_have_and_how_long_it_is_kept() {
    let same_a = "a A 192.0.2.1\n";
    for (gate, here, there, verdict, told) in [
        (id::NO_DEAD_ENDS, "w A 192.0.2.1", "w CNAME gone", Verdict::Block, "w CNAME leads to gone"),
        (id::NO_DEAD_ENDS, "w CNAME gone", "w CNAME gone", Verdict::Warn, "w CNAME leads to gone"),
        (id::NO_DEAD_ENDS, "w CNAME t\nt A 192.0.2.1", "w CNAME t\nt TXT x", Verdict::Pass, ""),
        (id::NO_DEAD_ENDS, "@ MX 10 m\nm A 192.0.2.1", "@ MX 10 m\nn A 192.0.2.1", Verdict::Block, "MX leads to m"),
        (id::NO_DEAD_ENDS, "a A 192.0.2.1", "a A 192.0.2.2\n@ MX 0 .", Verdict::Pass, ""),
        (id::NO_DEAD_ENDS, "a A 192.0.2.1", "a A 192.0.2.2\nw CNAME cdn.else.", Verdict::Pass, ""),
        (id::NO_DEAD_ENDS, "a A 192.0.2.1", "a A 192.0.2.2\nw CNAME x.d\nd NS ns.else.", Verdict::Pass, ""),
        (id::NO_DEAD_ENDS, "a A 192.0.2.1", "a A 192.0.2.2\nw CNAME x.l\n*.l A 192.0.2.1", Verdict::Pass, ""),
        (id::APEX_KEPT, "@ MX 10 m.else.", "a A 192.0.2.1", Verdict::Block, "MX would be missing at b"),
        (id::APEX_KEPT, "@ MX 10 m.else.", "@ MX 20 m.else.", Verdict::Pass, ""),
        (id::APEX_KEPT, "@ CAA 0 issue \"ca.else\"", "a A 192.0.2.1", Verdict::Block, "CAA would be missing"),
        (id::APEX_KEPT, "a A 192.0.2.1", "@ NS ns2.else.\na A 192.0.2.1", Verdict::Warn, "NS is another at b"),
        (id::APEX_KEPT, "@ NS n\nn A 192.0.2.1", "@ NS n\nn A 192.0.2.2", Verdict::Warn, "n A is another"),
        (id::APEX_KEPT, "@ NS n\nn A 192.0.2.1\nn AAAA ::1", "@ NS n\nn A 192.0.2.1", Verdict::Block, "n AAAA"),
        (id::APEX_KEPT, "@ NS n\nn A 192.0.2.1", "a A 192.0.2.1", Verdict::Warn, "NS is another at b"),
        (id::TTL_CEILING, "a 60 A 192.0.2.1", "a 3600 A 192.0.2.2", Verdict::Pass, ""),
        (id::TTL_CEILING, "a 60 A 192.0.2.1", "a 3601 A 192.0.2.2", Verdict::Warn, "a A would be kept for"),
        (id::TTL_CEILING, "a 60 A 192.0.2.1", "a 86401 A 192.0.2.2", Verdict::Block, "a A would be kept for"),
        (id::TTL_CEILING, "a 86401 A 192.0.2.1", "a 86401 A 192.0.2.1\nb A 192.0.2.1", Verdict::Pass, ""),
        (id::NEGATIVE_TTL, same_a, "a A 192.0.2.2", Verdict::Pass, ""),
    ] {
        let before = served(vec![zone("x.example", &[("a", here), ("b", there)], &[0, 0, 0], &["*.x.example"])]);
        let findings = moved(&before, "x.example", &[1, 1, 1]);
        let finding = findings.iter().find(|finding| finding.gate == gate).unwrap();
        let items = finding.items.join("\n").replace(".x.example.", "");
        assert!(finding.verdict == verdict && items.contains(told), "{here}\n→\n{there}\n{finding:#?}");
    }
}

#[test]
fn that_there_is_nothing_must_not_be_kept_for_long() {
    for (soa, verdict) in [
        ("300 SOA ns h 1 1h 10m 2w 86400", Verdict::Pass),
        ("86400 SOA ns h 1 1h 10m 2w 301", Verdict::Warn),
        ("86400 SOA ns h 1 1h 10m 2w 3600", Verdict::Warn),
        ("86400 SOA ns h 1 1h 10m 2w 3601", Verdict::Block),
    ] {
        let mut zone = zone("x.example", &[("a", "a A 192.0.2.1"), ("b", "a A 192.0.2.2")], &[0, 0, 0], &[]);
        let content = Arc::make_mut(&mut zone.content);
        content.sites[1] = site_of(&content.origin, "b", &format!("@ {soa}\n@ 60 NS ns.else.\na 60 A 192.0.2.2\n"));
        let findings = moved(&served(vec![zone]), "x.example", &[1, 1, 1]);
        let finding = findings.iter().find(|finding| finding.gate == id::NEGATIVE_TTL).unwrap();
        assert_eq!(finding.verdict, verdict, "{soa}: {finding:#?}");
    }
}

/// Case D3: a name that an edit adds may be denied for as long as its absence was told with; the worst is said.
#[test]
fn names_that_come_may_be_denied_for_a_while() {
    let site_with = |negative: &str, text: &str| {
        let origin = Name::absolute("x.example").unwrap();
        let front = format!("$TTL 60\n@ 2d SOA ns h 1 1h 10m 2w {negative}\n@ NS ns.elsewhere.\n{text}");
        let sites = vec![site_of(&origin, "one", &front)];
        Proposal {
            loads: Finding::pass(id::LOADS, origin.as_ref(), ""),
            content: Arc::new(Content {
                origin,
                sites,
                policy: Policy::default(),
                epoch: 1,
                overlays: Default::default(),
            }),
            routing: Routing::at(vec![SiteId(0)]),
            restored: None,
        }
    };
    for (negative, text, verdict) in [
        ("86400", "www A 192.0.2.1\nnew A 192.0.2.2\n", Verdict::Warn),
        ("86400", "www A 192.0.2.9\nwww AAAA 2001:db8::1\n", Verdict::Pass),
        ("300", "www A 192.0.2.1\nnew A 192.0.2.2\n", Verdict::Pass),
    ] {
        let before = served(vec![site_with(negative, "www A 192.0.2.1\n")]);
        let after = Candidate::new(before, vec![site_with(negative, text)], Timestamp::default());
        let found = after.judge().iter().find(|finding| finding.gate == id::NEGATIVE_TTL).unwrap();
        assert_eq!(found.verdict, verdict, "{found:?}");
        if verdict == Verdict::Warn {
            assert!(found.reason.contains("1 day"), "{found:?}");
            assert_eq!(found.items, ["new.x.example."]);
        }
    }
}
