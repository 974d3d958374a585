//! From a dry run to the end, and back.

use understudy::rr::RrType;

use crate::{KNAMS, PMTPA, follow, home, led, renames, stages, until_stage, wait_for};

const FRESH: &str = "edge-r1.a.example";

#[test]
fn a_dry_run_says_all_and_changes_nothing() {
    let home = home(&[]);
    let daemon = home.serve();
    let before = home.expect(0, "status");
    let report = home.expect(6, "rename a.example www --dry-run");
    assert_eq!((&report["lever"], &report["fresh"]), (&"edge.a.example.".into(), &"edge-r1.a.example.".into()));
    let references: Vec<String> = report["references"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| format!("{} {}", found["name"].as_str().unwrap(), found["rtype"].as_str().unwrap()))
        .collect();
    assert_eq!(
        references,
        ["shop.a.example. CNAME", "svc.a.example. HTTPS", "www.a.example. CNAME", "www.b.example. CNAME"]
    );
    let diff = report["diff"].as_array().unwrap();
    let names: Vec<&str> = diff.iter().map(|set| set["name"].as_str().unwrap()).collect();
    for name in
        ["edge-r1.a.example.", "_443._tcp.edge-r1.a.example.", "www.a.example.", "svc.a.example.", "www.b.example."]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"edge.a.example."), "the old lever stays: {names:?}");
    // The second time it is the same plan, and nothing was published for it.
    assert_eq!(home.expect(6, "rename a.example edge --dry-run")["plan"], report["plan"]);
    let after = home.expect(0, "status");
    assert_eq!((&before["generation"], &before["zones"]), (&after["generation"], &after["zones"]));
    assert_eq!(daemon.ask(FRESH, RrType::A).rcode(), 3);
}

#[test]
fn the_fronts_are_led_to_the_fresh_name_and_back() {
    let home = home(&[]);
    let daemon = home.serve();
    let serial = daemon.serial("a.example");
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge.a.example".into()], Some(KNAMS)));
    let plan = home.expect(6, "rename a.example www --dry-run")["plan"].as_str().unwrap().to_owned();
    let lines = follow(&home, 0, &format!("rename a.example www --plan {plan} --reason resolvers"));
    assert_eq!(lines[0]["outcome"], "begun", "{lines:#?}");
    assert_eq!(lines.last().unwrap()["stage"], "referenced");

    for front in ["www.a.example", "shop.a.example", "www.b.example"] {
        assert_eq!(led(&daemon, front), (vec![FRESH.into()], Some(KNAMS)), "{front}");
    }
    assert_eq!(led(&daemon, "edge.a.example"), (Vec::new(), Some(KNAMS)), "the old lever stays");
    assert_eq!(daemon.data("_443._tcp.edge-r1.a.example", RrType::TLSA).len(), 1);
    assert!(daemon.data("svc.a.example", RrType::HTTPS)[0].windows(7).any(|part| part == b"edge-r1"));
    assert!(daemon.serial("a.example") > serial);
    assert_eq!(daemon.serial("b.example"), 8, "the other zone is published anew, too");

    // It outlives a restart and a move.
    drop(daemon);
    let daemon = home.serve();
    assert_eq!(led(&daemon, "www.b.example"), (vec![FRESH.into()], Some(KNAMS)));
    follow(&home, 0, "failover a.example --to pmtpa --until moved");
    assert_eq!(led(&daemon, "www.a.example"), (vec![FRESH.into()], Some(PMTPA)));

    // A fresh name that is stuck in its turn is renamed as its lever is.
    follow(&home, 0, "rename a.example edge-r1");
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r2.a.example".into()], Some(PMTPA)));
    assert_eq!(led(&daemon, FRESH).1, Some(PMTPA));

    // Back by the same ways, and every name stays for who holds it.
    assert_eq!(home.expect(0, "rename a.example www --undo")["outcome"], "done");
    assert_eq!(led(&daemon, "www.a.example").0, [FRESH]);
    home.expect(0, "rename a.example edge --undo");
    for front in ["www.a.example", "www.b.example"] {
        assert_eq!(led(&daemon, front).0, ["edge.a.example"], "{front}");
    }
    for name in [FRESH, "edge-r2.a.example"] {
        assert_eq!(led(&daemon, name).1, Some(PMTPA), "{name}");
    }
    let stage = |fresh: &str| (format!("{fresh}.a.example."), "returned".to_owned());
    assert_eq!(stages(&home), [stage("edge-r1"), stage("edge-r2")]);
    assert_eq!(home.cli("rename a.example edge --undo").code, 1);

    let history = home.expect(0, "history");
    let told: Vec<&str> =
        history["entries"].as_array().unwrap().iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    for part in [
        "are published as edge-r1",
        "every name server of the zone gives edge-r1",
        "leads to edge-r1",
        "leads to edge.a.example. again",
    ] {
        assert!(told.iter().any(|line| line.contains(part)), "{part}: {told:#?}");
    }
}

#[test]
fn what_was_asked_for_of_late_is_not_retired_but_by_an_operators_word() {
    let home = home(&[]);
    let daemon = home.serve();
    follow(&home, 0, "rename a.example edge");
    assert_eq!(led(&daemon, "edge.a.example").1, Some(KNAMS));
    let quiet = wait_for("that it is noted", || {
        let report = home.expect(3, "rename a.example edge --retire --dry-run");
        let gates = report["findings"].as_array().unwrap();
        let quiet = gates.iter().find(|found| found["gate"] == "rename.quiet").unwrap().clone();
        if quiet["verdict"] == "block" { Ok(quiet) } else { Err(format!("{quiet:#}")) }
    });
    assert!(quiet["reason"].as_str().unwrap().contains("was asked for at"), "{quiet:#}");
    let word = format!("rename.quiet@{}", &quiet["digest"].as_str().unwrap()[..8]);
    home.expect(0, &format!("rename a.example edge --retire --override {word}"));
    assert_eq!(daemon.ask("edge.a.example", RrType::A).rcode(), 3);
    assert_eq!(daemon.ask("_443._tcp.edge.a.example", RrType::TLSA).rcode(), 3);
    assert_eq!(led(&daemon, "www.a.example").0, [FRESH]);
    assert_eq!(until_stage(&home, "retired")["lever"], "edge.a.example.");
    home.expect(0, "rename a.example edge --undo");
    assert_eq!(led(&daemon, "edge.a.example").1, Some(KNAMS), "it is answered again");
}

#[test]
fn a_spare_lever_is_ready_on_all_servers_and_the_worst_day_needs_one_step() {
    let home = home(&[]);
    let daemon = home.serve();
    let lines = follow(&home, 0, "rename a.example edge --spare");
    assert_eq!(lines.last().unwrap()["stage"], "confirmed");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"], "nothing leads there");
    assert_eq!(led(&daemon, FRESH).1, Some(KNAMS));
    let report = home.expect(0, "rename a.example www");
    assert_eq!((&report["outcome"], &report["fresh"]), (&"done".into(), &format!("{FRESH}.").into()));
    assert_eq!(led(&daemon, "www.a.example").0, [FRESH]);
    assert_eq!(renames(&home)[0]["spare"], false);
    // One that nothing ever led to goes at once, and its number is not given again.
    follow(&home, 0, "rename a.example edge --spare");
    home.expect(0, "rename a.example edge-r2 --undo");
    assert_eq!(daemon.ask("edge-r2.a.example", RrType::A).rcode(), 3);
    assert_eq!(home.expect(6, "rename a.example edge --dry-run")["fresh"], "edge-r3.a.example.");
}

#[test]
fn every_front_is_listed_with_its_lever_or_how_to_give_it_one() {
    let home = home(&[]);
    let _daemon = home.serve();
    let report = home.expect(0, "rename a.example");
    let fronts = report["fronts"].as_array().unwrap();
    let advice = |name: &str| {
        let front = fronts.iter().find(|front| front["name"] == format!("{name}.").as_str());
        front.unwrap_or_else(|| panic!("{name}: {fronts:#?}"))["advice"].as_str().unwrap()
    };
    assert_eq!(advice("www.a.example"), "lever edge.a.example. (by CNAME)");
    assert_eq!(advice("in.a.example"), "lever mail.a.example. (by MX)");
    assert!(advice("a.example").contains("an apex can't be an alias"));
    assert!(advice("plain.a.example").contains("let it be a CNAME"));
    assert!(advice("far.a.example").contains("in nobody's zone here"));
    let zone = home.zone("a.example");
    assert_eq!((&zone["levers"]["fronts"], &zone["levers"]["with_lever"]), (&7.into(), &4.into()));
    let checked = home.expect(0, "check --levers");
    let listed = checked["zones"][0]["levers"].as_array().unwrap();
    assert_eq!(listed.len(), 7, "{listed:#?}");
    for (name, why) in [
        ("a.example", "apex"),
        ("plain", "its addresses are its own"),
        ("far", "nobody's zone"),
        ("nothing", "leads to nothing here"),
    ] {
        let done = home.cli(&format!("rename a.example {name}"));
        let what = done.json["failure"]["what"].as_str().unwrap_or_else(|| panic!("{done:?}"));
        assert!(done.code == 1 && what.contains(why), "{name}: {what}");
    }
}

/// What each row of a gain says, in seconds, by the resolver's name.
fn least_gain(gain: &serde_json::Value, resolver: &str) -> f64 {
    let row = gain["by"].as_array().unwrap().iter().find(|row| row["resolver"] == resolver);
    row.unwrap_or_else(|| panic!("{resolver}: {gain:#}"))["least_seconds"].as_f64().unwrap()
}

#[test]
fn what_a_rename_gains_is_said_by_who_was_told_what() {
    let home = home(&[]);
    let daemon = home.serve();
    assert_eq!(led(&daemon, "www.a.example").1, Some(KNAMS));
    // Nobody was told anything else than what is answered now; what was before the start nobody knows.
    let certain = home.expect(6, "rename a.example www --dry-run")["gains"].as_array().unwrap().clone();
    assert!(certain.iter().all(|gain| gain["certain"] == 0.0), "{certain:#?}");
    home.edit("knams.zone", "192.0.2.1", "203.0.113.5");
    home.expect(0, "reload");
    let gains = wait_for("that it is noted", || {
        let report = home.expect(6, "rename a.example www --dry-run");
        let gains = report["gains"].as_array().unwrap().clone();
        if gains.iter().any(|gain| gain["certain"].as_f64() > Some(0.0)) {
            Ok(gains)
        } else {
            Err(format!("{gains:#?}"))
        }
    });
    let negative = gains.iter().find(|gain| gain["stuck"] == "negative").unwrap();
    // Less what is left of the front, whose TTL is 5 s, and of the time that this took.
    let least = least_gain(negative, "others: negative floor 600 s");
    assert!((560.0..=595.0).contains(&least), "{negative:#}");
    assert_eq!(least_gain(negative, "others: floor 300 s"), 0.0, "where all is held, the front is, too");
    let why = negative["by"].as_array().unwrap().iter().filter_map(|row| row["why_not"].as_str()).collect::<Vec<_>>();
    assert!(why.iter().any(|why| why.contains("one question of type CNAME")), "{why:#?}");
}

#[test]
fn while_caches_drain_a_rename_is_proposed_where_it_gains_something() {
    let home = home(&[]);
    home.edit("understudy.toml", "bake = '1s'", "bake = '1h'");
    let daemon = home.serve();
    assert!(home.expect(0, "drain a.example")["proposals"].is_null(), "nothing is moved");
    assert_eq!(led(&daemon, "www.a.example").1, Some(KNAMS));
    let foreseen = wait_for("a dry run that says what a rename would gain then", || {
        let report = home.expect(6, "failover a.example --to pmtpa --dry-run");
        report["proposals"].as_array().and_then(|all| all.first().cloned()).ok_or_else(|| format!("{report:#}"))
    });
    assert_eq!(foreseen["lever"], "edge.a.example.");
    follow(&home, 0, "failover a.example --to pmtpa --until moved");
    let proposal = wait_for("a proposal", || {
        let report = home.expect(0, "drain a.example");
        report["proposals"].as_array().and_then(|all| all.first().cloned()).ok_or_else(|| format!("{report:#}"))
    });
    assert_eq!(proposal["lever"], "edge.a.example.");
    assert_eq!(proposal["command"], "understudy rename a.example edge.a.example");
    assert!(proposal["gain"]["certain"].as_f64() > Some(0.0));
}

#[test]
fn spare_levers_are_kept_ready_by_themselves() {
    let home = home(&[]);
    home.edit("understudy.toml", "bake = '1s'", "bake = '1s'\n  spare_levers = 1");
    let daemon = home.serve();
    let confirmed = |count: usize| {
        wait_for("spare levers", || {
            let all = renames(&home);
            let ready = all.iter().filter(|one| one["spare"] == true && one["stage"] == "confirmed").count();
            if ready == count { Ok(()) } else { Err(format!("{all:#?}")) }
        });
    };
    confirmed(1);
    // Whether a certificate has a fresh name for the mail server nobody knows.
    daemon.wait_for_log(0, "no fresh name is kept ready for mail.a.example.");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"]);
    assert_eq!(home.expect(0, "rename a.example www")["outcome"], "done", "in one step");
    assert_eq!(led(&daemon, "www.a.example").0, [FRESH]);
    // The one that was ready is used: the next one is made ready.
    confirmed(1);
    assert_eq!(led(&daemon, "edge-r2.a.example").1, Some(KNAMS));
    assert_eq!(led(&daemon, "www.a.example").0, [FRESH]);
}

/// Renamed twice, retired, and taken back by and by.
#[test]
fn what_is_said_is_what_was_done() {
    let home = home(&[]);
    let daemon = home.serve();
    let text = |line: &str| {
        let output = home.command(&line.split_whitespace().collect::<Vec<_>>()).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [printed, why] = text("rename a.example --print");
    assert!(printed.is_empty() && why.contains("nothing of a.example is renamed"), "{printed}{why}");
    follow(&home, 0, "rename a.example edge");
    follow(&home, 0, "rename a.example edge");
    let stage = |fresh: &str, stage: &str| (format!("{fresh}.a.example."), stage.to_owned());
    assert_eq!(stages(&home), [stage("edge-r1", "superseded"), stage("edge-r2", "referenced")]);
    let [printed, _] = text("rename a.example --print");
    assert!(printed.starts_with("; edge.a.example. is renamed to edge-r2.a.example.\n"), "{printed}");
    assert!(!printed.contains("edge-r1"), "{printed}");
    // Only what users hold is a front.
    let [listed, _] = text("rename a.example");
    assert!(listed.lines().filter(|line| line.contains("no lever")).all(|line| !line.starts_with("edge")), "{listed}");

    let report = home.expect(3, "rename a.example edge --retire --dry-run");
    let findings = report["findings"].as_array().unwrap();
    let quiet = findings.iter().find(|found| found["gate"] == "rename.quiet").unwrap();
    let word = format!("rename.quiet@{}", &quiet["digest"].as_str().unwrap()[..8]);
    home.expect(0, &format!("rename a.example edge --retire --override {word}"));
    let [undone, _] = text("rename a.example edge --undo");
    assert!(undone.contains("edge.a.example. is answered again") && undone.contains("--undo, once more"), "{undone}");
    assert!(!undone.contains("taken back"), "{undone}");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge-r2.a.example"]);
    let [undone, _] = text("rename a.example edge --undo");
    assert!(undone.contains("The rename is taken back"), "{undone}");
}
