//! What edits of the files make of a rename, and a move at the same time.

use understudy::rr::RrType;

use crate::support::daemon::Home;
use crate::{COMMON, KNAMS, PMTPA, follow, home, led, stages, wait_for};

fn referenced() -> (Home, crate::Daemon) {
    let home = home(&[]);
    let daemon = home.serve();
    follow(&home, 0, "rename a.example edge");
    (home, daemon)
}

fn stage(fresh: &str, stage: &str) -> (String, String) {
    (format!("{fresh}.a.example."), stage.to_owned())
}

#[test]
fn an_edit_of_the_lever_changes_both_names() {
    let (home, daemon) = referenced();
    home.edit("knams.zone", "192.0.2.1", "203.0.113.5");
    home.write("common.zone", &format!("{COMMON}edge TXT new\nnews 5 CNAME edge\n"));
    home.expect(0, "reload");
    for name in ["edge.a.example", "edge-r1.a.example", "www.a.example", "www.b.example", "news.a.example"] {
        assert_eq!(led(&daemon, name).1, Some(203), "{name}");
    }
    assert_eq!(daemon.data("edge-r1.a.example", RrType::TXT).len(), 1);
    assert_eq!(led(&daemon, "news.a.example").0, ["edge-r1.a.example"], "a front that is new is led there, too");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "unchanged");
}

#[test]
fn a_lever_that_is_still_led_to_can_not_be_taken_away() {
    let (home, daemon) = referenced();
    home.write("common.zone", &COMMON.replace("_443._tcp.edge TLSA 3 1 1 00\n", ""));
    home.write("knams.zone", "$TTL 60\nmore A 192.0.2.1\n");
    home.write("pmtpa.zone", "$TTL 60\nmore A 198.0.2.1\n");
    let report = home.expect(3, "reload");
    let finding = &report["zones"][0]["findings"][0];
    assert_eq!((&finding["gate"], &finding["overridable"]), (&"rename.lever-kept".into(), &false.into()), "{report:#}");
    assert!(finding["items"].to_string().contains("www.a.example. CNAME leads to edge.a.example."), "{finding:#}");
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r1.a.example".into()], Some(KNAMS)));
    // Without what leads there, it may go: the rename is over, and so is the fresh name.
    let kept: String = COMMON.lines().filter(|line| !line.contains("edge")).map(|line| format!("{line}\n")).collect();
    home.write("common.zone", &kept);
    home.write("other.zone", &crate::OTHER.replace("edge.a.example.", "plain.a.example."));
    // The other zone leads there until it is reloaded, which comes behind this one.
    home.cli("reload");
    let report = home.expect(0, "reload");
    let told = report["zones"][0]["findings"].to_string();
    assert!(told.contains("is not answered any more") || stages(&home).is_empty(), "{report:#}");
    assert_eq!(stages(&home), []);
    assert_eq!(daemon.ask("edge-r1.a.example", RrType::A).rcode(), 3);
}

#[test]
fn without_its_fronts_a_rename_leads_nobody_and_its_name_stays() {
    let (home, daemon) = referenced();
    let kept = COMMON.lines().filter(|line| !line.contains("CNAME edge") && !line.contains("HTTPS 1 edge"));
    home.write("common.zone", &kept.map(|line| format!("{line}\n")).collect::<String>());
    home.write("other.zone", &crate::OTHER.replace("edge.a.example.", "plain.a.example."));
    home.cli("reload");
    home.cli("reload");
    assert_eq!(stages(&home), [stage("edge-r1", "returned")]);
    assert_eq!(led(&daemon, "edge-r1.a.example").1, Some(KNAMS), "for those who hold references to it");
    assert!(daemon.log().contains("nothing in the files leads to edge.a.example."), "{}", daemon.log());
}

#[test]
fn what_is_printed_goes_into_the_files_and_ends_it() {
    let (home, daemon) = referenced();
    let output = home.command(&["rename", "a.example", "--print"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.contains("www\t5\tIN\tCNAME\tedge-r1"), "{lines}");
    // As an operator does it: the lines of each part into its file, and what they take the place of out of it.
    let mut parts = [COMMON.to_owned(), home.read("knams.zone"), home.read("pmtpa.zone")];
    let mut at = 0;
    for line in lines.lines() {
        match line {
            _ if line.contains("For all sites") => at = 0,
            _ if line.contains("the site knams") => at = 1,
            _ if line.contains("the site pmtpa") => at = 2,
            _ if line.starts_with(';') => {}
            _ => {
                let owner = line.split('\t').next().unwrap();
                let kept = |old: &&str| !(at == 0 && old.starts_with(&format!("{owner} ")));
                parts[at] =
                    parts[at].lines().filter(kept).map(|line| format!("{line}\n")).collect::<String>() + line + "\n";
            }
        }
    }
    for (file, text) in ["common.zone", "knams.zone", "pmtpa.zone"].iter().zip(&parts) {
        home.write(file, text);
    }
    let serial = daemon.serial("a.example");
    let report = home.cli("reload");
    // The other zone leads to the lever still, by its own file.
    assert_eq!(stages(&home), [stage("edge-r1", "referenced")], "{report:?}");
    home.edit("other.zone", "edge.a.example.", "edge-r1.a.example.");
    home.expect(0, "reload");
    home.expect(0, "reload");
    assert_eq!(stages(&home), []);
    for front in ["www.a.example", "www.b.example"] {
        assert_eq!(led(&daemon, front), (vec!["edge-r1.a.example".into()], Some(KNAMS)), "{front}");
    }
    assert!(daemon.serial("a.example") >= serial);
}

#[test]
fn a_move_and_a_rename_go_side_by_side() {
    let home = home(&[]);
    home.edit("understudy.toml", "low_ttl = '1s'", "low_ttl = '1s'\n  steps = ['50%']\n  step_wait = '1h'");
    let daemon = home.serve();
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    let phase = |wanted: &str| {
        wait_for(wanted, || {
            let moves = home.zone("a.example")["moves"].clone();
            if moves[0]["phase"] == wanted { Ok(()) } else { Err(format!("{moves:#}")) }
        });
    };
    // What moves is not renamed while it does, and it says so.
    let done = home.cli("rename a.example edge");
    let what = done.json["failure"]["what"].as_str().unwrap_or_else(|| panic!("{done:?}")).to_owned();
    assert!(done.code == 1 && what.contains("a move under way moves"), "{what}");
    home.expect(0, "abort a.example");
    wait_for("the end", || {
        let moves = home.zone("a.example")["moves"].clone();
        if moves.as_array().unwrap().is_empty() { Ok(()) } else { Err(format!("{moves:#}")) }
    });
    // Where everybody has moved and caches are waited for, it is what helps.
    home.edit("understudy.toml", "bake = '1s'", "bake = '1h'");
    home.expect(0, "reload");
    home.expect(0, "failover a.example --to pmtpa --until begun");
    phase("draining");
    follow(&home, 0, "rename a.example edge");
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r1.a.example".into()], Some(PMTPA)));
    let moves = home.zone("a.example")["moves"].clone();
    assert!(moves[0]["phase"] == "draining" && moves[0]["held"].is_null(), "the move goes on: {moves:#}");
    follow(&home, 0, "rollback a.example --until moved");
    assert_eq!(
        led(&daemon, "www.a.example"),
        (vec!["edge-r1.a.example".into()], Some(KNAMS)),
        "it outlives the way back"
    );
}

/// As one does it who takes half of what is to be done: nothing of it may leave a front without an answer.
#[test]
fn no_edit_leaves_a_front_leading_nowhere() {
    let (home, daemon) = referenced();
    let still = || assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r1.a.example".into()], Some(KNAMS)));
    let refused = |what: &str| {
        let report = home.expect(3, "reload");
        assert_eq!(report["zones"][0]["findings"][0]["gate"], "rename.lever-kept", "{what}: {report:#}");
        still();
    };
    // The lever goes at the site that is answered from, and stays at the other one.
    home.write("knams.zone", "$TTL 60\nmore A 192.0.2.1\n");
    refused("a lever of one site");
    // The fronts are written as they are led, the lever is taken out, and the fresh name's records are forgotten.
    let fronts = COMMON.replace("CNAME edge", "CNAME edge-r1").replace("HTTPS 1 edge", "HTTPS 1 edge-r1");
    home.write("common.zone", &fronts.replace("_443._tcp.edge TLSA 3 1 1 00\n", ""));
    home.write("pmtpa.zone", "$TTL 60\nmore A 198.0.2.1\n");
    home.write("other.zone", &crate::OTHER.replace("edge.a", "edge-r1.a"));
    refused("a fresh name that nobody wrote down");
    refused("the same once the other zone was taken over");
}

#[test]
fn what_the_files_say_by_now_is_led_to_when_a_rename_is_taken_back() {
    let (home, daemon) = referenced();
    home.write("common.zone", &COMMON.replace("www 5 CNAME edge", "www 5 CNAME edge-r1"));
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "published");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "unchanged");
    follow(&home, 0, "rename a.example edge --undo");
    assert_eq!(led(&daemon, "shop.a.example").0, ["edge.a.example"]);
    assert_eq!(led(&daemon, "www.a.example").0, ["edge-r1.a.example"], "by the file, not by the rename");
    // What is led to is not taken away; a restart comes to the same.
    let report = home.expect(3, "rename a.example edge-r1 --retire");
    assert!(report["findings"].to_string().contains("www.a.example. CNAME leads to"), "{report:#}");
    drop(daemon);
    let daemon = home.serve();
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r1.a.example".into()], Some(KNAMS)));
}

#[test]
fn a_name_that_is_kept_ready_is_not_what_is_taken_back() {
    let (home, daemon) = referenced();
    follow(&home, 0, "rename a.example edge --spare");
    follow(&home, 0, "rename a.example www --undo");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"]);
    assert_eq!(stages(&home), [stage("edge-r1", "returned"), stage("edge-r2", "confirmed")]);
    follow(&home, 0, "rename a.example edge-r2 --undo");
    assert_eq!(stages(&home), [stage("edge-r1", "returned")]);
}
