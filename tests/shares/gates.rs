//! Gates look at both sides of a move.

use understudy::evidence::Verdict;
use understudy::serving::Settings;

use super::*;

fn site(text: &str) -> String {
    format!("$TTL 60\n@ SOA ns.else. h 1 1h 10m 2w 20\n@ NS ns.else.\n{text}")
}

/// What a gate names of a change of routing, or of content, in a zone with these sites.
fn named(gate: &str, texts: &[&str], from: Routing, to: (Option<&[&str]>, Routing)) -> Vec<String> {
    let built = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| site(text)).collect();
        content("x.example", &texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let old = built(texts);
    let new = to.0.map_or(Arc::clone(&old), built);
    let before = unjudged(&nothing(&[], &[], Settings::default()), &old, from);
    let candidate = candidate(&before, &new, to.1);
    let finding = candidate.judge().iter().find(|finding| finding.gate == gate).unwrap().clone();
    assert_eq!(finding.verdict == Verdict::Block, !finding.items.is_empty(), "{finding:?}");
    finding.items.iter().map(|item| item.replace(".x.example.", "").replace(" would become", ":")).collect()
}

fn to_third(share: &str) -> Routing {
    let mut routing = Routing::at(vec![SiteId(0)]);
    routing.shift(DEFAULT, moving(2, share, None), 2);
    routing
}

#[test]
fn nothing_vanishes_for_whoever_is_at_either_side() {
    let vanish = |texts: &[&str], from, to| named(id::NOTHING_VANISHES, texts, from, (None, to));
    let (both, b_more) = ("v A 192.0.2.1", "v A 192.0.2.2\nnew A 192.0.2.2");
    // The first step of a ramp is judged as all of it would be.
    assert_eq!(vanish(&[b_more, both], Routing::at(vec![SiteId(0)]), ramp("1%", None)), ["new A: NXDOMAIN at b"]);
    // Who is over stays over while the share grows: what only b has is no loss to who comes from a.
    assert_eq!(vanish(&[both, b_more], ramp("30%", None), ramp("60%", None)), [""; 0]);
    assert_eq!(vanish(&[both, b_more], ramp("30%", None), ramp("100%", None)), [""; 0]);
    // On the way back it is; and with another salt everybody may go anywhere.
    assert_eq!(vanish(&[both, b_more], ramp("60%", None), ramp("30%", None)), ["new A: NXDOMAIN at a"]);
    assert_eq!(vanish(&[both, b_more], ramp("60%", None), ramp("0%", None)), ["new A: NXDOMAIN at a"]);
    let mut salted = Routing::at(vec![SiteId(0)]);
    salted.shift(DEFAULT, Moving { salt: 8, ..moving(1, "90%", None) }, 2);
    assert_eq!(vanish(&[both, b_more], ramp("60%", None), salted), ["new A: NXDOMAIN at a"]);
    // A third site takes over from both.
    assert_eq!(vanish(&[both, b_more, both], ramp("30%", None), to_third("100%")), ["new A: NXDOMAIN at c"]);
    // Lower TTLs move nobody.
    assert_eq!(vanish(&[b_more, both], Routing::at(vec![SiteId(0)]), ramp("0%", Some(30))), [""; 0]);
}

#[test]
fn what_both_sides_refer_to_resolves_at_both() {
    let (a, b) = ("w CNAME l.a\nl.a A 192.0.2.1", "w CNAME l.b\nl.b A 192.0.2.2");
    let (a_whole, b_whole) = (format!("{a}\nl.b A 192.0.2.2"), format!("{b}\nl.a A 192.0.2.1"));
    let closure = |texts: &[&str], from, to| named(id::CROSS_CLOSURE, texts, from, (None, to));
    let at_a = Routing::at(vec![SiteId(0)]);
    let broken = ["l.a A, which a refers to, is NXDOMAIN at b", "l.b A, which b refers to, is NXDOMAIN at a"];
    assert_eq!(closure(&[a, b], at_a.clone(), ramp("1%", None)), broken);
    assert_eq!(closure(&[a, b], ramp("1%", None), ramp("2%", None)), broken);
    assert_eq!(closure(&[&a_whole, &b_whole], at_a.clone(), ramp("1%", None)), [""; 0]);
    // An edit while a region is split is judged against the other side; while it is not, it is not.
    let edited = |from: Routing| {
        let to = from.clone();
        named(id::CROSS_CLOSURE, &[&a_whole, &b_whole], from, (Some(&[&a_whole, b]), to))
    };
    assert_eq!(edited(ramp("50%", None)), broken[..1]);
    assert_eq!(edited(at_a), [""; 0]);
}

/// Chains lead into another zone, some of whose clients are over.
#[test]
fn both_sides_of_other_zones_are_asked() {
    let none = nothing(&[], &[], Settings::default());
    let y = content("y.example", &[&site("h A 192.0.2.1\ng A 192.0.2.1"), &site("h A 192.0.2.1")]);
    let with_y = unjudged(&none, &y, ramp("50%", None));
    let x = content("x.example", &[&site("w CNAME h.y.example."), &site("w CNAME g.y.example.")]);
    let before = unjudged(&with_y, &x, Routing::at(vec![SiteId(0)]));
    let candidate = candidate(&before, &x, ramp("50%", None));
    let finding = candidate.judge().iter().find(|finding| finding.gate == id::NOTHING_VANISHES).unwrap();
    assert_eq!(finding.items, ["w.x.example. A would become an alias of g.y.example.: NXDOMAIN at b"]);
}
