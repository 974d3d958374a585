//! Drills: a zone moved there and back where nobody is sent to.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use serde_json::Value;
use understudy::rr::RrType;

use crate::support::daemon::{Home, try_ask};
use crate::{
    ESAMS, KNAMS, PMTPA, SLOW, ZONE, beside, client, european, failed, finding, home, lines_of, seen_by, short, site,
    wait_for,
};

/// A policy whose drills are over as soon as can be.
const AT_ONCE: &str = "steps = ['100%']\nstep_wait = '0s'\nlow_ttl = '0s'\nbake = '0s'\n";

/// The site that somebody is answered from in a drill, and the TTL; none where nobody answers.
fn in_drill(listener: SocketAddr, client: IpAddr) -> Option<(u8, u32)> {
    let answer = try_ask(listener, client, "www.a.example", RrType::A)?;
    answer.answers.first().map(|record| (record.rdata[0], record.ttl))
}

/// Where the drill under way is answered.
fn listener(zone: &Value) -> Option<SocketAddr> {
    zone["drill_listeners"][0].as_str()?.parse().ok()
}

/// Waits until a drill answers: where.
fn until_answered(home: &Home) -> SocketAddr {
    wait_for("a drill that answers", || {
        let found = listener(&home.zone(ZONE)).filter(|listener| in_drill(*listener, client(0)).is_some());
        found.ok_or("nothing".into())
    })
}

/// The last drill, once it is over.
fn over(home: &Home) -> Value {
    wait_for("the end of the drill", || {
        let last = home.zone(ZONE)["last_drill"].clone();
        if last["end"].is_object() { Ok(last) } else { Err(format!("{last:#}")) }
    })
}

fn generation(home: &Home) -> Value {
    home.expect(0, "status")["generation"].clone()
}

fn history(home: &Home) -> String {
    home.expect(0, "history a.example").to_string()
}

/// All phases there and back, as a client of the drill sees them; the public sees nothing of it.
#[test]
fn a_drill_goes_there_and_back_and_nobody_else_notices() {
    let home = short("steps = ['50%']\nstep_wait = '1s'\nlow_ttl = '0s'\nbake = '1s'\n");
    let daemon = home.serve();
    let before = (daemon.serial(ZONE), generation(&home));
    let mut child = beside(&home, "drill a.example --to pmtpa --reason quarterly");
    let (mut seen, mut ttls, mut at) = (Vec::new(), Vec::new(), None);
    while child.try_wait().unwrap().is_none() {
        assert_eq!(seen_by(&daemon, client(0)), (KNAMS, 1), "the public is where it was");
        assert_eq!((daemon.serial(ZONE), generation(&home)), before);
        at = listener(&home.zone(ZONE)).or(at);
        let ask = |number| in_drill(at?, client(number));
        let sides: Vec<_> = (0..30).filter_map(ask).collect();
        ttls.extend(sides.iter().map(|(_, ttl)| *ttl));
        let moved = sides.iter().filter(|(site, _)| *site == PMTPA).count();
        // A publication in between may show both.
        if sides.len() == 30 && seen.last() != Some(&moved) {
            seen.push(moved);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (code, lines) = lines_of(child);
    assert_eq!(code, 0, "{lines:#?}");
    assert_eq!((seen.first(), seen.last()), (Some(&0), Some(&0)), "there and back: {seen:?}");
    assert!(seen.contains(&30) && seen.iter().any(|moved| (3..=27).contains(moved)), "{seen:?}");
    assert!(ttls.contains(&0), "TTLs were lowered, from the one second that the public is told: {ttls:?}");
    assert_eq!((daemon.serial(ZONE), generation(&home)), before);
    assert_eq!(in_drill(at.unwrap(), client(0)), None, "nobody answers there any more");

    let (end, events) = lines[1..].split_last().unwrap();
    assert_eq!((&lines[0]["drill"], &end["end"]["outcome"]), (&1.into(), &"succeeded".into()), "{end:#}");
    let phases = |way: &str| -> Vec<String> {
        let phases = end[way]["phases"].as_array().unwrap_or_else(|| panic!("{end:#}")).iter();
        phases.map(|phase| phase["phase"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(phases("there"), ["checking", "lowering", "shifting", "draining", "baking"]);
    assert_eq!(phases("back"), ["checking", "shifting", "draining", "baking"]);
    assert!(end["there"]["millis"].as_u64().unwrap() >= 3000, "one second to lower, one step, one to bake: {end:#}");
    let told: String = events.iter().map(|event| event["text"].as_str().unwrap().to_owned() + "\n").collect();
    let order = ["drill 1 to pmtpa: it answers on", "lowering", "50% of the clients", "baking", "rollback 2 to knams"];
    let places: Vec<_> =
        order.iter().map(|text| told.find(text).unwrap_or_else(|| panic!("{text}:\n{told}"))).collect();
    assert!(places.is_sorted(), "{told}");

    let zone = home.zone(ZONE);
    assert_eq!((&zone["last_drill"]["end"]["outcome"], &zone["moves"]), (&"succeeded".into(), &Value::Array(vec![])));
    let listed = home.expect(0, "drill --list");
    assert_eq!((listed["drills"].as_array().unwrap().len(), &listed["drills"][0]["to"]), (1, &"pmtpa".into()));
    let told = history(&home);
    assert!(told.contains("in a drill: switchover 1 to pmtpa") && told.contains("drill 1: SUCCEEDED: there"), "{told}");
    let text = home.command(&["status"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("last drill, to pmtpa: succeeded"), "{text}");
    // What is known of it outlives a crash.
    daemon.kill();
    let _daemon = home.serve();
    assert_eq!(home.zone(ZONE)["last_drill"], zone["last_drill"]);
}

/// Listeners that can't be had: the key, its file, the address and what to do are named, of drills as of the server.
#[test]
fn a_listener_that_cannot_be_had_is_named_by_its_key() {
    let home = short(AT_ONCE);
    home.edit("understudy.toml", "\n[[region]]", "\n[drill]\nlisten = ['192.0.2.77:5301']\n\n[[region]]");
    let _daemon = home.serve();
    let (code, lines) = lines_of(beside(&home, "drill a.example --to pmtpa"));
    let why = lines.last().unwrap()["end"]["why"].as_str().unwrap_or_else(|| panic!("{lines:#?}")).to_owned();
    assert_eq!(code, 1, "{why}");
    for said in ["`drill.listen` in understudy.toml: ", "192.0.2.77:5301", "`ip address`", "free port of 127.0.0.1"] {
        assert!(why.contains(said), "{why}");
    }

    let canary = "[canary]\nzone = '_canary.a.example'\nlisten = ['192.0.2.78:53']\n";
    for (key, line, table) in [
        ("`server.listen` in understudy.toml", "serve", "[server]\nlisten = ['192.0.2.79:53']\n".to_owned()),
        ("--listen", "serve --listen 192.0.2.79:53", String::new()),
        ("`canary.listen` in understudy.toml", "serve", format!("[server]\nlisten = ['127.0.0.1:0']\n{canary}")),
    ] {
        let zone = "[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n";
        let other = Home::new(&format!("{table}{zone}"), &[]);
        let failed = other.expect(1, line);
        let what = failed["failure"]["what"].as_str().unwrap();
        assert!(what.starts_with(&format!("{key}: ")) && what.contains("192.0.2.7"), "{failed:#}");
    }
}

/// The target's files are read anew, and judged as they would be for real; what is served is not touched.
#[test]
fn a_drill_to_a_site_that_lacks_a_name_fails_and_says_which() {
    let home = short(AT_ONCE);
    let daemon = home.serve();
    let serial = daemon.serial(ZONE);
    let drill = |code: i32| {
        let (ended, lines) = lines_of(beside(&home, "drill a.example --to pmtpa"));
        let end = lines.last().unwrap()["end"].clone();
        assert_eq!((ended, &end["outcome"]), (code, &"failed".into()), "{lines:#?}");
        end
    };
    home.write("pmtpa.zone", &site(PMTPA, "").replace("www IN A", "wwx IN A"));
    let end = drill(3);
    assert_eq!(end["why"], "the gates would stop it: zone.nothing-vanishes", "{end:#}");
    assert!(end["findings"].to_string().contains("www.a.example. A would become NXDOMAIN at pmtpa"), "{end:#}");
    home.write("pmtpa.zone", &site(PMTPA, "oops\n"));
    let end = drill(3);
    assert!(end["findings"].to_string().contains("zone.loads"), "{end:#}");
    // Somebody listens there already: it can't be drilled, and that is no gate's word.
    home.write("pmtpa.zone", &site(PMTPA, ""));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = home.read("understudy.toml");
    home.write("understudy.toml", &format!("{config}\n[drill]\nlisten = ['{}']\n", taken.local_addr().unwrap()));
    home.expect(0, "reload");
    let end = drill(1);
    assert!(end["why"].to_string().contains("cannot listen on"), "{end:#}");
    // Nor is it a gate's word that the site is known not to work.
    home.write("understudy.toml", &config);
    home.expect(0, "reload");
    home.expect(0, "site down pmtpa");
    let end = drill(1);
    assert!(end["why"].to_string().contains("pmtpa is down"), "{end:#}");
    assert_eq!((daemon.serial(ZONE), seen_by(&daemon, client(0)).0), (serial, KNAMS));
}

/// Regions that are answered from different sites go back to where each was.
#[test]
fn a_drill_of_regions_at_several_sites_takes_each_back_to_its_own() {
    let home = short(AT_ONCE);
    let daemon = home.serve();
    home.expect(0, "failover a.example --to esams --region europe --until done");
    let public = || [client(0), european(0)].map(|client| seen_by(&daemon, client).0);
    assert_eq!(public(), [KNAMS, ESAMS]);
    let (code, lines) = lines_of(beside(&home, "drill a.example --to pmtpa"));
    assert_eq!((code, &lines[0]["from"]), (0, &serde_json::json!(["esams", "knams"])), "{lines:#?}");
    let told = format!("{lines:#?}");
    for text in ["rollback 2 to", "rollback 3 to", "europe from pmtpa", "default from pmtpa"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(public(), [KNAMS, ESAMS]);
}

/// A region that was at the target before is where it was afterwards, though it has a way back of its own.
#[test]
fn a_drill_takes_back_only_what_it_moved() {
    let home = short(AT_ONCE);
    let daemon = home.serve();
    home.expect(0, "failover a.example --to pmtpa --region europe --until done");
    let public = || [client(0), european(0)].map(|client| seen_by(&daemon, client).0);
    assert_eq!(public(), [KNAMS, PMTPA]);
    let (code, lines) = lines_of(beside(&home, "drill a.example --to pmtpa"));
    assert_eq!((code, &lines[0]["from"]), (0, &serde_json::json!(["knams"])), "{lines:#?}");
    assert!(!format!("{lines:#?}").contains("europe from"), "{lines:#?}");
    assert_eq!(public(), [KNAMS, PMTPA]);
}

/// A drill that hangs comes to an end nevertheless.
#[test]
fn a_drill_has_a_deadline() {
    let home = short(&format!("{SLOW}[zone.drill]\ndeadline = '1s'\n"));
    let _daemon = home.serve();
    let (code, lines) = lines_of(beside(&home, "drill a.example --to pmtpa"));
    let end = &lines.last().unwrap()["end"];
    assert_eq!((code, &end["outcome"]), (1, &"failed".into()), "{lines:#?}");
    assert_eq!(end["why"], "it did not come to its end within 1 second");
}

/// A failover ends a drill at once, and takes no longer for it.
#[test]
fn a_real_failover_interrupts_a_drill_and_waits_for_nothing() {
    let home = short(SLOW);
    let daemon = home.serve();
    let follower = beside(&home, "drill a.example --to pmtpa");
    until_answered(&home);
    let begun = Instant::now();
    home.expect(0, "failover a.example --to esams");
    let length = begun.elapsed();
    assert_eq!(seen_by(&daemon, client(0)).0, ESAMS);
    let (code, lines) = lines_of(follower);
    let end = &lines.last().unwrap()["end"];
    assert_eq!((code, &end["outcome"]), (4, &"interrupted".into()), "{lines:#?}");
    assert_eq!(end["why"], "a failover to esams has begun");
    assert_eq!(listener(&home.zone(ZONE)), None);
    // As long as one that nothing is in the way of, but for what a busy machine makes of it.
    let begun = Instant::now();
    home.expect(0, "failover a.example --to knams");
    let usual = begun.elapsed();
    assert!(length < usual + Duration::from_secs(1), "{length:?}, where {usual:?} is usual");
    let told = history(&home);
    assert!(told.contains("drill 1: INTERRUPTED: a failover to esams has begun"), "{told}");
}

/// What a crash broke off is told so, and not gone on with; an operator's word ends one, and so does an edit.
#[test]
fn a_drill_that_was_broken_off_is_told_so() {
    let home = short(SLOW);
    let daemon = home.serve();
    let serial = daemon.serial(ZONE);
    let begun = home.expect(0, "drill a.example --to pmtpa --detach");
    assert_eq!((&begun["drill"], &begun["from"]), (&1.into(), &serde_json::json!(["knams"])));
    until_answered(&home);
    daemon.kill();
    let daemon = home.serve();
    let last = over(&home);
    let ended = |last: &Value| (last["end"]["outcome"].clone(), last["end"]["why"].clone());
    assert_eq!(ended(&last), ("interrupted".into(), "the daemon ended".into()));
    assert_eq!((daemon.serial(ZONE), listener(&home.zone(ZONE))), (serial, None));
    assert!(history(&home).contains("drill 1: INTERRUPTED: the daemon ended"));

    assert_eq!(home.expect(0, "drill a.example --detach")["to"], "esams", "the one of longest ago");
    until_answered(&home);
    let attached = beside(&home, "drill a.example --attach");
    home.expect(0, "drill a.example --abort --reason lunch");
    let (code, lines) = lines_of(attached);
    // It may have ended before there was anything to follow.
    assert!([1, 4].contains(&code), "{lines:#?}");
    let last = over(&home);
    assert_eq!(last["drill"], 2);
    assert!(ended(&last).1.as_str().unwrap().ends_with(" ended it: lunch"), "{last:#}");

    home.expect(0, "drill a.example --to pmtpa --detach");
    until_answered(&home);
    home.edit("common.zone", "note IN TXT one", "note IN TXT two");
    home.expect(0, "reload");
    assert_eq!(ended(&over(&home)).1, "what is served of the zone has changed");
    assert_eq!(home.expect(0, "drill a.example --list")["drills"].as_array().unwrap().len(), 3);

    // A server that ends in order does not wait for one.
    home.expect(0, "drill a.example --detach");
    until_answered(&home);
    let stopping = Instant::now();
    assert!(daemon.stop().success());
    assert!(stopping.elapsed() < Duration::from_secs(10), "{:?}", stopping.elapsed());
    let _daemon = home.serve();
    assert_eq!(ended(&over(&home)), ("interrupted".into(), "the daemon ended".into()));
}

/// Each refusal says what to do.
#[test]
fn what_cannot_be_drilled_is_refused_with_what_to_do() {
    let home = short(SLOW);
    let config = home.read("understudy.toml");
    home.write("b.zone", "$TTL 60\n@ IN SOA ns0.a.example. host.a.example. 1 1h 10m 2w 20\n@ IN NS ns0.a.example.\n");
    home.write("understudy.toml", &format!("{config}\n[[zone]]\nname = 'b.example'\nfile = 'b.zone'\n"));
    let _daemon = home.serve();
    let refused = |line: &str, what: &str, next: &str| {
        let done = home.expect(1, line);
        assert!(failed(&done).contains(what), "{line}: {done:#}");
        assert!(done["failure"]["try_next"].as_str().unwrap().contains(next), "{line}: {done:#}");
    };
    refused("drill c.example", "no zone `c.example`", "");
    refused("drill b.example", "has one site", "[[zone.site]]");
    refused("drill a.example --to knams", "answered from knams already", "--to");
    refused("drill a.example --to pmpta", "no site `pmpta`", "pmtpa");
    refused("drill a.example --region eurpoe", "no region `eurpoe`", "europe");
    refused("drill a.example --abort", "no drill of a.example", "--list");
    refused("drill a.example --attach", "no drill of a.example", "");
    home.expect(0, "drill a.example --region europe --to esams --detach");
    until_answered(&home);
    refused("drill a.example", "drill 1 of a.example", "--attach");
    home.expect(0, "switchover a.example --to pmtpa --until begun");
    assert_eq!(over(&home)["end"]["why"], "a switchover to pmtpa has begun");
    refused("drill a.example", "is under way", "follow");
    assert_eq!(home.cli("drill").code, 2, "the zone is missing");
}

/// Nobody is bothered who has not asked for drills; who has is warned, or stopped, and may go on by name.
#[test]
fn a_move_that_was_not_drilled_of_late_is_warned_of_or_stopped() {
    let home = &short(AT_ONCE);
    let _daemon = home.serve();
    let dry_run = "failover a.example --to pmtpa --dry-run";
    assert!(!home.expect(6, dry_run).to_string().contains("drill.recent"));
    let check = home.expect(0, "check");
    assert!(check["advice"].to_string().contains("nobody has asked for drills of a.example:"), "{check:#}");
    home.write("understudy.toml", &(home.read("understudy.toml") + "\n[zone.drill]\nmax_age = '1h'\n"));
    assert_eq!(home.expect(0, "check")["advice"], serde_json::json!([]));
    home.expect(0, "reload");
    let verdict = |report: &Value| finding(report, "drill.recent")["verdict"].clone();
    assert_eq!(verdict(&home.expect(6, dry_run)), "warn");

    home.edit("understudy.toml", "max_age = '1h'", "max_age = '1h'\nrequired = 'block'");
    home.expect(0, "reload");
    let blocked = home.expect(3, "failover a.example --to pmtpa");
    let found = finding(&blocked, "drill.recent").clone();
    assert_eq!((&found["verdict"], &found["overridable"]), (&"block".into(), &true.into()));
    assert_eq!(found["items"], serde_json::json!(["knams and pmtpa: none ever succeeded"]));
    let word = format!("--override drill.recent@{}", &found["digest"].as_str().unwrap()[..8]);
    assert_eq!(home.expect(6, &format!("{dry_run} {word}"))["outcome"], "would_change");

    let (code, lines) = lines_of(beside(home, "drill a.example --to pmtpa"));
    assert_eq!(code, 0, "{lines:#?}");
    assert_eq!(verdict(&home.expect(6, dry_run)), "pass");
    assert_eq!(verdict(&home.expect(3, "failover a.example --to esams --dry-run")), "block", "another pair");
    home.expect(0, "failover a.example --to pmtpa --until done");
    // The way back is no new move; and what was drilled was drilled both ways.
    assert_eq!(verdict(&home.expect(6, "switchover a.example --to knams --dry-run")), "pass");
    assert!(!home.expect(6, "rollback a.example --dry-run").to_string().contains("drill.recent"));
    home.edit("understudy.toml", "max_age = '1h'", "max_age = '1s'");
    home.expect(0, "reload");
    wait_for("its age", || {
        let found = verdict(&home.cli("switchover a.example --to knams --dry-run").json);
        if found == "block" { Ok(()) } else { Err(found.to_string()) }
    });
}

/// One zone in turn after another, never two at a time.
#[test]
fn drills_that_are_due_begin_by_themselves_in_turn() {
    let home = home(AT_ONCE);
    home.edit("understudy.toml", "_ttl = '2s'", "_ttl = '0s'");
    let config = home.read("understudy.toml");
    let (top, zone) = config.split_once("[[zone]]").unwrap();
    let every = |text: &str| format!("[[zone]]{text}\n[zone.drill]\nevery = '1s'\n");
    home.write(
        "understudy.toml",
        &format!("{top}{}{}", every(zone), every(&zone.replace("'a.example'", "'b.example'"))),
    );
    let _daemon = home.serve();
    let drills = wait_for("four drills", || {
        let drills = home.expect(0, "drill --list")["drills"].as_array().unwrap().clone();
        let over = drills.iter().filter(|drill| drill["end"].is_object()).count();
        if over >= 4 { Ok(drills) } else { Err(format!("{drills:#?}")) }
    });
    let over: Vec<&Value> = drills.iter().filter(|drill| drill["end"].is_object()).take(4).collect();
    let zones: Vec<_> = over.iter().map(|drill| drill["zone"].as_str().unwrap()).collect();
    assert_eq!(zones, ["a.example.", "b.example.", "a.example.", "b.example."]);
    let sites: Vec<_> = over.iter().map(|drill| drill["to"].as_str().unwrap()).collect();
    assert_eq!(sites, ["pmtpa", "pmtpa", "esams", "esams"]);
    for pair in over.windows(2) {
        assert!(pair[0]["end"]["at"].as_i64() <= pair[1]["began"].as_i64(), "{pair:#?}");
    }
    for drill in over {
        assert_eq!(
            (&drill["end"]["outcome"], &drill["actor"]),
            (&"succeeded".into(), &"understudy".into()),
            "{drill:#}"
        );
    }
}
