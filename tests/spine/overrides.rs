//! An operator's word covers what was shown, and no more.

use understudy::rr::RrType;

use crate::{PMTPA, finding, home, home_with, items};

#[test]
fn an_override_covers_the_findings_that_were_shown_and_no_others() {
    let home = home();
    home.edit("pmtpa.zone", "@ IN AAAA 2001:db8:198::10\n", "");
    home.edit("knams.zone", "direct", "six IN AAAA ::6\ndirect");
    let daemon = home.serve();
    let refused = home.expect(3, "failover a.example --to pmtpa");
    let shown = finding(&refused, "zone.nothing-vanishes");
    assert_eq!(
        items(shown),
        ["a.example. AAAA would become NODATA at pmtpa", "six.a.example. AAAA would become NXDOMAIN at pmtpa"]
    );
    let word = format!("zone.nothing-vanishes@{}", &shown["digest"].as_str().unwrap()[..12]);

    // One name more: other findings. Another gate's: no cover, either. A word that covers nothing is named.
    let in_vain = |word: &str| {
        let failure = home.expect(1, &format!("failover a.example --to pmtpa --override {word}"))["failure"].clone();
        assert!(failure["what"].as_str().unwrap().contains(word), "{failure:#}");
        assert_eq!(failure["meaning"], "nothing was changed");
        assert!(failure["try_next"].as_str().unwrap().contains("zone.nothing-vanishes@"), "{failure:#}");
        assert_eq!(home.zone("a.example")["routes"][0]["site"], "knams");
        failure
    };
    home.edit("pmtpa.zone", "direct", "direkt");
    in_vain(&word);
    home.edit("pmtpa.zone", "direkt", "direct");
    in_vain(&format!("zone.cross-closure@{}", &word[22..]));
    let mistyped = in_vain(&format!("zone.nothing-vanish@{}", &word[22..]));
    assert!(mistyped["what"].as_str().unwrap().contains("no gate `zone.nothing-vanish`"), "{mistyped:#}");
    home.edit("common.zone", "text.knams", "text.gone");
    home.edit("knams.zone", "direct", "text.knams IN A 192.0.2.10\ndirect");
    in_vain(&word);
    let report = home.expect(3, "failover a.example --to pmtpa");
    assert_eq!(finding(&report, "zone.cross-closure")["verdict"], "block", "{report:#}");
    home.edit("common.zone", "text.gone", "text.knams");
    home.edit("knams.zone", "text.knams IN A 192.0.2.10\n", "");

    // An edit elsewhere in the zone is none of its business.
    home.edit("common.zone", "note IN TXT one", "note IN TXT one\nnew IN A 192.0.2.77");
    home.expect(0, "reload");
    let report = home.expect(0, &format!("failover a.example --to pmtpa --override {word}"));
    assert_eq!(finding(&report, "zone.nothing-vanishes")["overridden"], true);
    assert_eq!(daemon.data("a.example", RrType::A), [[PMTPA, 0, 2, 10]]);
    assert_eq!(daemon.data("a.example", RrType::AAAA), [[0; 0]; 0]);
}

#[test]
fn what_is_wrong_for_certain_cannot_be_overridden() {
    let home = home_with("", "bad IN AAAAA 1\n");
    home.edit("pmtpa.zone", "bad IN AAAAA 1\n", "");
    let _daemon = home.serve();
    home.edit("pmtpa.zone", "direct", "bad IN AAAAA 1\ndirect");
    let refused = home.expect(3, "failover a.example --to pmtpa");
    let digest = finding(&refused, "zone.loads")["digest"].as_str().unwrap().to_owned();
    for gate in ["zone.loads", "zone.serial", "plan.fresh"] {
        let done = home.cli(&format!("failover a.example --to pmtpa --override {gate}@{digest}"));
        let told = done.json["failure"]["what"].as_str().unwrap_or_default();
        assert!(done.code == 2 && told.contains("cannot be overridden"), "{done:?}");
    }
    assert_eq!(home.zone("a.example")["routes"][0]["site"], "knams");
}

/// A plan is what it moves: a change of anything else leaves it valid, a change of that does not, nor does a move of the
/// same regions in between, back to where they were included.
#[test]
fn a_plan_is_fenced_by_what_it_moves() {
    let home = home();
    let _daemon = home.serve();
    let plan = |args: &str| {
        home.expect(6, &format!("failover a.example --to pmtpa --dry-run {args}"))["plan"].as_str().unwrap().to_owned()
    };
    let (all, europe) = (plan(""), plan("--region europe"));
    assert_ne!(all, europe);

    home.edit("common.zone", "note IN TXT one", "note IN TXT two\nextra IN A 192.0.2.3");
    home.expect(0, "reload");
    assert_eq!(plan(""), all, "an unrelated edit leaves the plan what it is");

    home.edit("pmtpa.zone", "198.0.2.1\n", "198.0.2.9\n");
    let refused = home.expect(3, &format!("failover a.example --to pmtpa --plan {all}"));
    assert_eq!(finding(&refused, "plan.fresh")["verdict"], "block");
    home.expect(0, "reload");
    home.expect(3, &format!("failover a.example --to pmtpa --plan {all}"));

    // Another region's move is unrelated; one's own there and back is not.
    let (all, europe) = (plan(""), plan("--region europe"));
    home.expect(0, "failover a.example --to pmtpa --region default");
    assert_eq!(plan("--region europe"), europe);
    home.expect(0, "failover a.example --to knams --region default");
    home.expect(3, &format!("failover a.example --to pmtpa --plan {all}"));
    home.expect(0, &format!("failover a.example --to pmtpa --region europe --plan {}", &europe[..8]));
}
