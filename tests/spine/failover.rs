//! A failover is done and verified, or refused and nothing changed.

use std::ffi::CString;

use understudy::rr::RrType;

use crate::support::client;
use crate::support::daemon::{Daemon, Home, digest_of, query};
use crate::{KNAMS, PMTPA, finding, home, home_with, hosts, items, site};

/// All that a client could ask a zone of [`home`] for.
fn answers(daemon: &Daemon, hosts: usize) -> Vec<Vec<u8>> {
    let names = ["", "www.", "lever.", "mx.", "ns0.", "note.", "text.knams.", "text.pmtpa.", "none."];
    let names = names.map(str::to_owned).into_iter().chain((0..hosts).map(|n| format!("h{n}.")));
    let types = [RrType::A, RrType::AAAA, RrType::SOA, RrType::MX, RrType::TXT];
    let queries: Vec<_> = names.flat_map(|name| types.map(|rtype| query(&format!("{name}a.example"), rtype))).collect();
    client::ask(daemon.address, &queries)
}

#[test]
fn a_target_that_lost_one_name_of_a_thousand_is_refused_until_it_is_put_right() {
    let all = hosts(1000, PMTPA);
    let lost = "h617 IN A 198.0.2.117\n";
    let home = home_with(&hosts(1000, KNAMS), &all.replace(lost, ""));
    let daemon = home.serve();
    let before = (home.zone("a.example"), home.expect(0, "status")["generation"].clone(), answers(&daemon, 1000));

    let report = home.expect(3, "failover a.example --to pmtpa");
    let vanished = finding(&report, "zone.nothing-vanishes");
    assert_eq!(items(vanished), ["h617.a.example. A would become NXDOMAIN at pmtpa"]);
    assert_eq!((&vanished["overridden"], &vanished["overridable"]), (&false.into(), &true.into()));
    assert_eq!(report["outcome"], "blocked");
    let after = (home.zone("a.example"), home.expect(0, "status")["generation"].clone(), answers(&daemon, 1000));
    assert!(before == after, "nothing has changed");

    home.write("pmtpa.zone", &site("pmtpa", PMTPA, &all));
    let report = home.expect(0, "failover a.example --to pmtpa");
    assert_eq!((&report["outcome"], &report["confirmed"]), (&"done".into(), &true.into()));
    assert_eq!(daemon.data("h617.a.example", RrType::A), [[198, 0, 2, 117]]);
    let zone = home.zone("a.example");
    assert!(zone["routes"].as_array().unwrap().iter().all(|route| route["site"] == "pmtpa"), "{zone:#}");
    assert_eq!(zone["serial"], 101);
    assert_eq!(daemon.serial("a.example"), 101);
    assert_eq!(home.expect(0, "failover a.example --to pmtpa")["outcome"], "nothing_to_do");

    // What blocks, blocks where there is nothing to move, too.
    let stale = home.expect(3, "failover a.example --to pmtpa --plan 0123456789abcdef");
    assert_eq!(
        (finding(&stale, "plan.fresh")["verdict"].as_str(), &stale["outcome"]),
        (Some("block"), &"blocked".into())
    );
    let failover = home.expect(0, "status")["last_failover"].clone();
    assert_eq!(failover["ok"], false);
    assert!(failover["summary"].as_str().unwrap().contains("blocked by plan.fresh"), "{failover:#}");
    std::fs::remove_file(home.path("pmtpa.zone")).unwrap();
    home.expect(3, "failover a.example --to pmtpa");
}

/// Only addresses differ between the sites; what stands beside them at the apex stays as it is to the last octet.
#[test]
fn what_does_not_differ_at_the_apex_stays_as_it_is() {
    let home = home();
    let daemon = home.serve();
    let all = || {
        let types = [RrType::TXT, RrType::MX, RrType::CAA, RrType::NS];
        types.map(|rtype| (daemon.ask("a.example", rtype), daemon.ask_tcp("a.example", rtype)))
    };
    let (before, address) = (all(), daemon.data("a.example", RrType::A));
    home.expect(0, "failover a.example --to pmtpa");
    assert_ne!(daemon.data("a.example", RrType::A), address);
    assert_eq!(all(), before);
}

#[test]
fn one_region_moves_alone() {
    let home = home();
    let daemon = home.serve();
    let europe = "127.0.0.2".parse().unwrap();
    let first = |message: crate::support::message::Message| message.answers.last().unwrap().rdata[0];
    let report = home.expect(0, "failover a.example --to pmtpa --region europe");
    assert_eq!(report["moves"].as_array().unwrap().len(), 1);
    assert_eq!(first(daemon.ask_from(europe, "www.a.example", RrType::A)), PMTPA);
    assert_eq!(first(daemon.ask("www.a.example", RrType::A)), KNAMS);
    // An edit of a site that this failover does not go to comes with a reload, not with it, and that is said.
    home.edit("pmtpa.zone", "198.0.2.1\n", "198.0.2.2\n");
    let report = home.expect(0, "failover a.example --to knams --region europe");
    let edits = finding(&report, "zone.unrelated-edits");
    assert_eq!(edits["verdict"], "warn");
    assert_eq!(items(edits), ["pmtpa: edited since it was loaded, not published: reload"]);
    home.edit("common.zone", "note IN TXT one", "note IN TXXT one");
    let report = home.expect(3, "failover a.example --to pmtpa");
    assert_eq!(finding(&report, "zone.loads")["verdict"], "block");
    home.edit("common.zone", "note IN TXXT one", "note IN TXT one");
    home.expect(0, "failover a.example --to pmtpa --from knams");
    assert_eq!(first(daemon.ask("direct.a.example", RrType::A)), PMTPA);
    assert_eq!(
        home.expect(1, "failover a.example --to pmtpa --from knams")["failure"]["meaning"],
        "nothing was changed"
    );
    assert!(home.expect(1, "failover a.example --to pmpta")["failure"]["try_next"].as_str().unwrap().contains("pmtpa"));
    assert!(
        home.expect(1, "failover a.exmaple --to pmtpa")["failure"]["try_next"].as_str().unwrap().contains("a.example")
    );
}

/// A dry run says what the real one would do, and does nothing.
#[test]
fn a_dry_run_changes_nothing() {
    let home = home();
    let daemon = home.serve();
    let state = || (digest_of(&home.path("var")), answers(&daemon, 0), home.expect(0, "status")["zones"].clone());
    let before = state();

    let would = home.expect(6, "failover a.example --to pmtpa --dry-run");
    assert_eq!(would["outcome"], "would_change");
    let names: Vec<_> = would["diff"].as_array().unwrap().iter().map(|set| (&set["name"], &set["rtype"])).collect();
    let named = |name: &str, rtype: &str| (format!("{name}a.example."), rtype.to_owned());
    let expected =
        [named("", "SOA"), named("", "A"), named("", "AAAA"), named("direct.", "A"), named("lever.", "CNAME")];
    assert_eq!(names.len(), expected.len(), "{would:#}");
    assert!(names.iter().zip(&expected).all(|(a, b)| *a.0 == b.0.as_str() && *a.1 == b.1.as_str()), "{would:#}");
    assert_eq!(would["diff"][1]["before"][0], "60 IN A 192.0.2.10");
    assert_eq!(would["diff"][1]["after"][0], "60 IN A 198.0.2.10");
    assert!(would["forecast"]["phases"][0]["phase"] == "checking", "{would:#}");
    // The serial that would be published.
    assert!(would["diff"][0]["after"][0].as_str().unwrap().contains(" 101 "), "{would:#}");
    home.expect(0, "failover a.example --to knams --dry-run");

    home.edit("pmtpa.zone", "direct", "direkt");
    let blocked = home.expect(3, "failover a.example --to pmtpa --dry-run");
    home.edit("pmtpa.zone", "direkt", "direct");
    assert!(state() == before, "a dry run changes nothing");

    // The verdicts of the real runs are the same.
    home.edit("pmtpa.zone", "direct", "direkt");
    assert_eq!(home.expect(3, "failover a.example --to pmtpa")["findings"], blocked["findings"]);
    home.edit("pmtpa.zone", "direkt", "direct");
    let done = home.expect(0, "failover a.example --to pmtpa");
    assert_eq!((&done["findings"], &done["plan"], &done["diff"]), (&would["findings"], &would["plan"], &would["diff"]));
}

/// What the target would answer is not known while its file can't be read: that is not the same as nothing.
#[test]
fn a_target_that_cannot_be_read_is_unknown_and_never_empty() {
    let home = home();
    let daemon = home.serve();
    let good = home.read("pmtpa.zone");
    let path = home.path("pmtpa.zone");
    let remove = || {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir(&path);
    };
    let make: [(&str, &dyn Fn()); 4] = [
        ("unknown", &|| ()),
        ("unknown", &|| std::fs::create_dir(&path).unwrap()),
        ("unknown", &|| {
            let path = CString::new(path.to_str().unwrap()).unwrap();
            nix::unistd::mkfifo(path.as_c_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }),
        ("block", &|| std::fs::write(&path, "direct IN AAAAA 1.2.3.4\n").unwrap()),
    ];
    for (verdict, make) in make {
        remove();
        make();
        for line in ["failover a.example --to pmtpa", "failover a.example --to pmtpa --dry-run"] {
            let report = home.expect(3, line);
            assert_eq!(finding(&report, "zone.loads")["verdict"], verdict, "{report:#}");
            assert_eq!(finding(&report, "zone.loads")["overridable"], false);
        }
        home.expect(1, "reload");
        assert_eq!(home.zone("a.example")["content"]["state"], "last_good");
        assert_eq!(daemon.data("direct.a.example", RrType::A), [[KNAMS, 0, 2, 1]]);
    }
    remove();
    std::fs::write(&path, good).unwrap();
    home.expect(0, "failover a.example --to pmtpa");
}

/// A failover changes all addresses of half the sites and is no mass removal; an edit that drops two names in five is.
#[test]
fn how_much_changes_is_no_reason_and_how_much_goes_is() {
    let home = Home::new(&crate::config(), &[("common.zone", crate::COMMON)]);
    home.write("knams.zone", &site("knams", KNAMS, &hosts(200, KNAMS)));
    home.write("pmtpa.zone", &site("pmtpa", PMTPA, &hosts(200, PMTPA)));
    let _daemon = home.serve();
    home.expect(0, "failover a.example --to pmtpa");
    home.write("pmtpa.zone", &site("pmtpa", PMTPA, &hosts(120, PMTPA)));
    let refused = home.expect(3, "reload");
    let blast = finding(&refused["zones"][0], "zone.blast-radius");
    assert_eq!(items(blast).len(), 80);
    assert_eq!(home.zone("a.example")["content"]["state"], "refused_edit", "the files are not what is served");
    assert_eq!(home.expect(0, "status")["last_reload"]["ok"], false);
    // Another edit is another finding: the word for the first does not cover it.
    let digest = blast["digest"].as_str().unwrap().to_owned();
    home.write("pmtpa.zone", &site("pmtpa", PMTPA, &hosts(119, PMTPA)));
    let before = home.expect(0, "status")["generation"].clone();
    let failure = home.expect(1, &format!("reload --accept {digest}"));
    let failure = &failure["failure"];
    assert!(failure["what"].as_str().unwrap().contains(&digest), "{failure:#}");
    assert!(failure["try_next"].as_str().unwrap().contains("zone.blast-radius@"), "{failure:#}");
    assert_eq!(home.expect(0, "status")["generation"], before);
    home.write("pmtpa.zone", &site("pmtpa", PMTPA, &hosts(120, PMTPA)));
    let taken = home.expect(0, &format!("reload --accept {}", &digest[..8]));
    assert_eq!(taken["zones"][0]["removed"], 80);
    assert_eq!(finding(&taken["zones"][0], "zone.blast-radius")["overridden"], true);
    assert_eq!(home.zone("a.example")["content"]["state"], "loaded");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "unchanged");
}
