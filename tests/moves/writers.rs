//! Several who want to change the same: one wins, and what the others were shown is not carried out over it.

use serde_json::Value;
use understudy::rr::RrType;

use crate::support::daemon::Home;
use crate::{
    ESAMS, KNAMS, PMTPA, QUICK, ZONE, beside, client, failed, finding, home, moves, routes, seen_by, site, slow,
    until_over, until_phase,
};

/// The plan that a dry run shows.
fn plan(home: &Home, line: &str) -> String {
    home.expect(6, &format!("{line} --dry-run"))["plan"].as_str().unwrap().to_owned()
}

/// Of two commands that come at once, one is carried out. The other one changes nothing, ends as an error, and says on
/// which revision it was made and at which one the region is.
#[test]
fn of_two_commands_at_once_one_wins_and_the_other_changes_nothing() {
    let home = slow();
    let daemon = home.serve();
    let both = ["pmtpa", "esams"].map(|to| beside(&home, &format!("switchover a.example --to {to} --until begun")));
    let ends = both.map(|child| {
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    });
    let winner = ends.iter().position(|(code, _)| *code == 0).unwrap_or_else(|| panic!("{ends:#?}"));
    let (code, loser) = &ends[1 - winner];
    assert_eq!(*code, 1, "{loser:#}");
    assert!(failed(loser).contains("is moving the region `default`: wait for it"), "{loser:#}");
    assert_eq!(loser["failure"]["meaning"], "nothing was changed");
    let moves = moves(&home);
    assert_eq!((moves.len(), &moves[0]["to"]), (1, &["pmtpa", "esams"][winner].into()), "{moves:#?}");

    // Once clients have moved the revisions are others.
    until_phase(&home, "shifting", "10%");
    let serial = daemon.serial(ZONE);
    let late = home.expect(1, &format!("switchover a.example --to {}", ["esams", "pmtpa"][winner]));
    assert!(failed(&late).contains("is moving the region"), "{late:#}");
    assert!(!failed(&late).contains("revision 1,"), "{late:#}");
    assert_eq!(daemon.serial(ZONE), serial);
}

/// A plan was shown; then another one was carried out, and even taken back, so that everything looks as it did. The first
/// is refused when it comes to be carried out, whatever was checked before; nothing is ever without an answer; and a new
/// plan works. In 2025 a delayed worker wrote an old plan over a newer one, and the clean-up removed what was live.
#[test]
fn a_plan_that_another_move_came_before_is_refused_when_it_is_carried_out() {
    let home = home("bake = '0s'\nlow_ttl = '1s'\n");
    let daemon = home.serve();
    let old = plan(&home, "failover a.example --to pmtpa");
    home.expect(0, "failover a.example --to esams --until done");
    let stale = |line: &str| {
        let (serial, before) = (daemon.serial(ZONE), seen_by(&daemon, client(0)).0);
        let refused = home.expect(3, line);
        let fresh = finding(&refused, "plan.fresh");
        assert_eq!((&fresh["verdict"], &fresh["overridable"]), (&"block".into(), &false.into()), "{refused:#}");
        assert_eq!(refused["outcome"], "blocked");
        assert_eq!((daemon.serial(ZONE), seen_by(&daemon, client(0)).0), (serial, before), "nothing was changed");
    };
    stale(&format!("failover a.example --to pmtpa --plan {old}"));
    home.expect(0, "failover a.example --to knams --until done");
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
    stale(&format!("failover a.example --to pmtpa --plan {old}"));
    // What the clean-up after it left is whole: the zone comes back as it was, and a plan that is new works.
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
    let new = plan(&home, "failover a.example --to pmtpa");
    home.expect(0, &format!("failover a.example --to pmtpa --plan {new}"));
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);
}

/// A plan that was let through, and waits for a second person, is judged again at the moment it is to be carried out.
#[test]
fn a_plan_that_waited_is_judged_again_before_it_is_carried_out() {
    let home = home(&format!("{QUICK}approval = 'planned'\n"));
    let daemon = home.serve();
    let waiting = home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "awaiting approval", "0%");
    home.expect(0, "failover a.example --to esams --until moved");
    assert_eq!(seen_by(&daemon, client(0)).0, ESAMS);
    let serial = daemon.serial(ZONE);
    let run = waiting["run"].as_u64().unwrap();
    let history = home.expect(0, "history a.example").to_string();
    assert!(history.contains(&format!("switchover {run}: replaced by move {}", run + 1)), "{history}");
    let late = home.expect(1, "approve a.example");
    assert!(late["failure"]["what"].is_string());
    assert_eq!((daemon.serial(ZONE), seen_by(&daemon, client(0)).0), (serial, ESAMS));
}

/// What certificate robots write comes and goes without a plan becoming stale; an edit of what moves makes it so.
#[test]
fn an_edit_elsewhere_leaves_a_plan_as_it_is_and_one_of_what_moves_does_not() {
    let home = home("bake = '0s'\nlow_ttl = '1s'\n");
    let daemon = home.serve();
    let shown = plan(&home, "failover a.example --to pmtpa");
    home.edit("common.zone", "note IN", "_acme-challenge IN TXT token\nnote IN");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "published");
    assert_eq!(daemon.data("_acme-challenge.a.example", RrType::TXT), [b"\x05token"]);
    assert_eq!(plan(&home, "failover a.example --to pmtpa"), shown);
    // Nor does a crash make it another one.
    daemon.kill();
    let daemon = home.serve();
    assert_eq!(plan(&home, "failover a.example --to pmtpa"), shown);
    home.write("pmtpa.zone", &site(PMTPA, "").replace("198.0.2.1\n", "198.0.2.2\n"));
    home.expect(0, "reload");
    let refused = home.expect(3, &format!("failover a.example --to pmtpa --plan {shown}"));
    assert_eq!(finding(&refused, "plan.fresh")["verdict"], "block");
    assert_eq!(seen_by(&daemon, client(0)).0, KNAMS);
    // The other one is gone again, and the plan is what was shown.
    home.write("pmtpa.zone", &site(PMTPA, ""));
    home.edit("common.zone", "_acme-challenge IN TXT token\n", "");
    home.expect(0, "reload");
    home.expect(0, &format!("failover a.example --to pmtpa --plan {shown}"));
    until_over(&home);
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"]);
}

/// Two commands beside each other on different regions are both carried out.
#[test]
fn two_regions_move_at_once() {
    let home = slow();
    let daemon = home.serve();
    let both = [("pmtpa", "europe"), ("esams", "default")]
        .map(|(to, region)| beside(&home, &format!("failover a.example --to {to} --region {region} --until moved")));
    for child in both {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
    }
    assert_eq!(seen_by(&daemon, client(0)).0, ESAMS);
    assert_eq!(seen_by(&daemon, crate::european(0)).0, PMTPA);
    assert_eq!(moves(&home).len(), 2);
    let which = home.expect(1, "hold a.example");
    assert!(failed(&which).contains("--region"), "{which:#}");
    home.expect(0, "hold a.example --region europe");
    assert_eq!(moves(&home).iter().filter(|run| run["held"].is_string()).count(), 1);
}

/// What was shown was a switchover by steps: neither a failover nor other steps are that plan.
#[test]
fn a_plan_is_carried_out_as_it_was_shown() {
    let home = slow();
    let _daemon = home.serve();
    let shown = home.expect(6, "switchover a.example --to pmtpa --dry-run")["plan"].as_str().unwrap().to_owned();
    for other in ["failover a.example --to pmtpa", "switchover a.example --to pmtpa --step 99%"] {
        let refused = home.expect(3, &format!("{other} --plan {shown}"));
        assert!(format!("{refused}").contains("plan.fresh"), "{refused:#}");
    }
    home.expect(0, &format!("switchover a.example --to pmtpa --plan {shown} --until begun"));
}
