//! What operators do to a move under way: hold, resume, abort, another failover, rollback.

use crate::support::daemon::Home;
use crate::{
    ESAMS, KNAMS, PMTPA, QUICK, SLOW, TTL, at_site, beside, client, count, european, failed, follow, home, lines_of,
    moves, routes, seen_by, short, slow, until_over, until_phase, wait_for,
};

const CLIENTS: u16 = 200;

/// Waits until the first move is held, or no longer.
fn until_held(home: &Home, held: bool) {
    wait_for("the hold", || {
        let moves = moves(home);
        if moves[0]["held"].is_string() == held { Ok(()) } else { Err(format!("{moves:#?}")) }
    });
}

/// A tenth has moved to a site that then dies: everybody goes to a third one, at once, and the move to the dead one ends
/// by that.
#[test]
fn a_site_that_dies_in_mid_move_is_left_for_a_third_one() {
    let home = slow();
    let daemon = home.serve();
    let first = beside(&home, "switchover a.example --to pmtpa");
    until_phase(&home, "shifting", "10%");
    assert!(count(&at_site(&daemon, PMTPA, CLIENTS)) > 0);
    home.expect(0, "site down pmtpa --reason fire");
    until_held(&home, true);
    let (code, lines) = lines_of(first);
    assert_eq!(code, 4, "the one who follows is told that it is held: {lines:#?}");
    let done = home.expect(0, "failover a.example --to esams --reason fire");
    assert_eq!(done["outcome"], "done", "{done:#}");
    assert_eq!(count(&at_site(&daemon, ESAMS, CLIENTS)), usize::from(CLIENTS));
    assert_eq!(seen_by(&daemon, european(5)).0, ESAMS);
    let moves = moves(&home);
    assert_eq!((moves.len(), &moves[0]["to"]), (1, &"esams".into()));
    // Nothing is sent to a site that is known not to work.
    let refused = home.expect(1, "failover a.example --to pmtpa");
    assert!(failed(&refused).contains("pmtpa is down"), "{refused:#}");
}

/// Before anybody has moved it is given up at once, and TTLs are what they were.
#[test]
fn given_up_while_ttls_are_lowered() {
    let home = home(QUICK);
    let daemon = home.serve();
    let run = beside(&home, "switchover a.example --to pmtpa");
    until_phase(&home, "lowering", "0%");
    assert_eq!(seen_by(&daemon, client(0)), (KNAMS, 1));
    home.expect(0, "abort a.example --reason changed");
    until_over(&home);
    assert_eq!(seen_by(&daemon, client(0)), (KNAMS, TTL));
    let (code, lines) = lines_of(run);
    let end = lines.last().unwrap();
    assert_eq!((code, &end["outcome"]), (5, &"aborted".into()), "{lines:#?}");
    assert!(end["text"].as_str().unwrap().contains("changed"), "{end:#}");
    assert_eq!(routes(&home), ["knams", "knams"]);
}

/// After some have moved they go back the way they came, and whoever follows is told so. A hold on the way is told with
/// a code of its own, and lasts until somebody lifts it.
#[test]
fn held_resumed_and_reversed_while_clients_move() {
    let home = home(SLOW);
    let daemon = home.serve();
    let run = beside(&home, "switchover a.example --to pmtpa --step 30%");
    until_phase(&home, "lowering", "0%");
    home.expect(0, "hold a.example --reason wait");
    until_held(&home, true);
    let (code, lines) = lines_of(run);
    assert_eq!((code, &lines[0]["steps"]), (4, &serde_json::json!(["30%", "100%"])), "{lines:#?}");
    let again = home.expect(1, "hold a.example");
    assert!(failed(&again).contains("on hold already"), "{again:#}");
    home.expect(0, "resume a.example");
    until_phase(&home, "shifting", "30%");
    let moved = at_site(&daemon, PMTPA, CLIENTS);
    assert!((25..=95).contains(&count(&moved)), "{}", count(&moved));

    let run = beside(&home, "follow a.example");
    home.expect(0, "hold a.example");
    assert_eq!(lines_of(run).0, 4);
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), moved, "a hold leaves everybody where he is");
    home.expect(0, "resume a.example");
    let not_held = home.expect(1, "resume a.example");
    assert!(failed(&not_held).contains("not on hold"), "{not_held:#}");
    assert_eq!(not_held["failure"]["try_next"], "`understudy follow a.example` shows how it goes on", "{not_held:#}");
    let run = beside(&home, "follow a.example");
    home.expect(0, "abort a.example");
    let (code, lines) = lines_of(run);
    assert_eq!((code, &lines.last().unwrap()["outcome"]), (5, &"reversed".into()), "{lines:#?}");
    assert_eq!(seen_by(&daemon, client(0)), (KNAMS, TTL));
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), 0);
    assert_eq!(routes(&home), ["knams", "knams"]);
}

/// Once everybody has moved, the way back is a rollback: a move of its own, in place of the one under way or after it.
#[test]
fn everybody_has_moved_and_the_way_back_is_a_rollback() {
    let home = home("low_ttl = '1s'\nbake = '1h'\n");
    let daemon = home.serve();
    home.expect(0, "failover a.example --to pmtpa");
    let phase = moves(&home)[0]["phase"].clone();
    let refused = home.expect(1, "abort a.example");
    assert!(failed(&refused).contains("rollback"), "{phase}: {refused:#}");
    assert_eq!(refused["failure"]["try_next"], "`understudy rollback a.example`");
    let busy = home.expect(1, "switchover a.example --to esams");
    let next = busy["failure"]["try_next"].as_str().unwrap();
    assert!(next.contains("`understudy rollback a.example` takes it back") && !next.contains("abort"), "{busy:#}");
    for line in ["hold a.example --region europ", "follow a.example --region europ"] {
        assert_eq!(home.expect(1, line)["failure"]["try_next"], "did you mean `europe`?", "{line}");
    }
    let made = home.expect(0, "init");
    assert!(made["done"][0].as_str().unwrap().contains("a daemon runs on it"), "{made:#}");
    let slip = home.expect(1, "explain 127.0.0.1 www.a.exmaple");
    assert_eq!(slip["failure"]["try_next"], "the zones here are: `a.example`", "{slip:#}");
    // While old answers run out it can be held: they run out, and it stays where it is.
    assert_eq!(phase, "draining");
    home.expect(0, "hold a.example --reason look");
    until_held(&home, true);
    let run = beside(&home, "follow a.example");
    assert_eq!(lines_of(run).0, 4);
    home.expect(0, "resume a.example");
    until_phase(&home, "baking", "100%");
    assert!(failed(&home.expect(1, "abort a.example")).contains("rollback"));
    // While it is watched it can be held, and goes on.
    home.expect(0, "hold a.example");
    until_held(&home, true);
    home.expect(0, "resume a.example");
    until_held(&home, false);
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);

    let back = follow(&home, 0, "rollback a.example --reason back");
    assert_eq!((&back["kind"], &back["to"]), (&"rollback".into(), &"knams".into()));
    wait_for("the way back", || {
        let seen = seen_by(&daemon, client(0)).0;
        if seen == KNAMS { Ok(()) } else { Err(seen.to_string()) }
    });
    assert_eq!(routes(&home), ["knams", "knams"], "{:#?}", moves(&home));
}

/// A rollback after a move has ended.
#[test]
fn what_is_done_is_taken_back() {
    let home = short("low_ttl = '0s'\nbake = '0s'\nstep_wait = '0s'\n");
    let daemon = home.serve();
    assert!(failed(&home.expect(1, "rollback a.example")).contains("nowhere to go back to"));
    // A slip is told as one, also where nothing was moved yet.
    let slip = home.expect(1, "rollback a.example --region europ");
    assert_eq!(slip["failure"]["try_next"], "did you mean `europe`?", "{slip:#}");
    home.expect(0, "failover a.example --to pmtpa --region europe --until done");
    home.expect(6, "rollback a.example --dry-run");
    home.expect(0, "rollback a.example --until done");
    assert_eq!(seen_by(&daemon, european(0)), (KNAMS, 1));
    assert_eq!(routes(&home), ["knams", "knams"]);
}

/// While TTLs are lowered the site that is to be left dies: a failover to where the move goes anyway takes it over, and
/// everybody goes there at once.
#[test]
fn a_failover_while_ttls_are_lowered_takes_the_move_over() {
    let home = home(SLOW);
    let daemon = home.serve();
    let run = beside(&home, "switchover a.example --to pmtpa");
    until_phase(&home, "lowering", "0%");
    // That nobody moves by it is said, and what moves them.
    let down = home.expect(0, "site down knams");
    let told = down["done"][1].as_str().unwrap_or_else(|| panic!("{down:#}"));
    assert!(told.contains("no traffic moves by that: default, europe go on being answered from knams"), "{told}");
    assert!(told.contains("`understudy failover a.example --to SITE` moves them (esams, pmtpa)"), "{told}");
    assert_eq!(home.expect(0, "site down esams")["done"].as_array().unwrap().len(), 1, "nobody is answered from there");
    home.expect(0, "failover a.example --to pmtpa --reason fire");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), usize::from(CLIENTS));
    assert_eq!(moves(&home).len(), 1);
    let (code, lines) = lines_of(run);
    let end = lines.last().unwrap();
    assert_eq!((code, &end["outcome"]), (1, &"replaced".into()), "{lines:#?}");
    // The way back leads to a site that is down.
    assert!(failed(&home.expect(1, "rollback a.example")).contains("knams is down"));
    assert_eq!(routes(&home), ["pmtpa", "pmtpa"]);
}

/// A failover of one region takes that region over from a move of all, which goes on with the rest.
#[test]
fn a_failover_of_one_region_leaves_the_rest_of_a_move_going() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    let sides = at_site(&daemon, PMTPA, CLIENTS);
    home.expect(0, "failover a.example --to esams --region europe");
    let europe = (0..CLIENTS).all(|number| seen_by(&daemon, european(number)).0 == ESAMS);
    assert!(europe, "all of Europe is answered from esams");
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), sides, "nobody else has moved");
    let region_of = |to: &str| {
        let moves = moves(&home);
        let run = moves.iter().find(|run| run["to"] == to).unwrap_or_else(|| panic!("{moves:#?}"));
        run["from"].as_array().unwrap().iter().map(|route| route["region"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((region_of("pmtpa"), region_of("esams")), (vec!["default".into()], vec!["europe".into()]));
    home.expect(0, "abort a.example --region default");
    wait_for("the way back", || {
        let back = count(&at_site(&daemon, KNAMS, CLIENTS));
        if back == usize::from(CLIENTS) { Ok(()) } else { Err(back.to_string()) }
    });
    assert_eq!(seen_by(&daemon, european(1)).0, ESAMS);
}

/// The site that clients would go back to is down: a move that is given up stays where it is, and says so, until everybody
/// is moved to one that works.
#[test]
fn given_up_while_there_is_nowhere_to_go_back_to() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "10%");
    home.expect(0, "site down knams");
    let sides = at_site(&daemon, PMTPA, CLIENTS);
    home.expect(0, "abort a.example");
    until_held(&home, true);
    assert!(moves(&home)[0]["held"].as_str().unwrap().contains("knams"), "{:#?}", moves(&home));
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), sides);
    home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(count(&at_site(&daemon, PMTPA, CLIENTS)), usize::from(CLIENTS));
}

/// Of two moves in one zone, the one that is meant is given up, and followed until its clients are back.
#[test]
fn of_two_moves_the_one_that_is_meant_is_given_up() {
    let home = slow();
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --region default --until begun");
    home.expect(0, "switchover a.example --to esams --region europe --until begun");
    wait_for("both first steps", || {
        let moves = moves(&home);
        if moves.iter().filter(|run| run["share"] == "10%").count() == 2 { Ok(()) } else { Err(format!("{moves:#?}")) }
    });
    let sides = at_site(&daemon, PMTPA, CLIENTS);
    let run = beside(&home, "follow a.example --region europe");
    home.expect(0, "abort a.example --region europe");
    let (code, lines) = lines_of(run);
    assert_eq!((code, &lines.last().unwrap()["outcome"]), (5, &"reversed".into()), "{lines:#?}");
    assert_eq!(seen_by(&daemon, european(0)).0, KNAMS);
    assert_eq!(at_site(&daemon, PMTPA, CLIENTS), sides);
    assert_eq!((moves(&home).len(), &moves(&home)[0]["share"]), (1, &"10%".into()));
}

/// Of a move that is on its way back other things can be said than of one that goes forward.
#[test]
fn a_move_on_its_way_back_is_told_what_can_be_done_with_it() {
    let home = home("steps = ['10%', '50%']\nstep_wait = '4s'\nlow_ttl = '0s'\nbake = '1h'\n");
    let _daemon = home.serve();
    follow(&home, 0, "switchover a.example --to pmtpa --until begun");
    until_phase(&home, "shifting", "50%");
    home.expect(0, "abort a.example");
    let next = |line: &str| home.expect(1, line)["failure"]["try_next"].as_str().unwrap().to_owned();
    assert!(next("abort a.example").starts_with("`understudy hold a.example` stops it"));
    home.expect(0, "hold a.example");
    assert!(next("hold a.example").starts_with("`understudy resume a.example` lets it go on back"));
    home.expect(0, "resume a.example");
    until_over(&home);
    assert_eq!(routes(&home), ["knams", "knams"]);
}
