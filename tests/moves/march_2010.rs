//! The failover of 24 March 2010, as a dry run: the site to go to lacks names. It is refused; and who insists is told who stays
//! dark, and for how long.

use serde_json::Value;
use understudy::rr::RrType;

use crate::support::daemon::{Daemon, Home, TWO_SITES};
use crate::{client, finding, follow, free_port, wait_for};

/// How long it is kept that a name does not exist, as then: an hour.
const NEGATIVE: u32 = 3600;
/// The same while a run goes on.
const LOW: u32 = 7;

/// An encyclopaedia whose servers in Florida have no names: `www` leads to `rr`, which leads to a site's text servers.
fn encyclopaedia() -> Home {
    let port = free_port();
    let config = format!(
        "
[server]
listen = ['127.0.0.1:{port}']
workers = 1

[[zone]]
name = 'wiki.example'
file = 'common.zone'
name_servers = ['127.0.0.1:{port}']
{TWO_SITES}  [zone.policy]
  low_ttl = '{LOW}s'
  bake = '1s'
"
    );
    let common = format!(
        "$TTL 60\n@ {NEGATIVE} IN SOA ns0 host 2010032401 1h 10m 2w {NEGATIVE}\n@ IN NS ns0\nns0 IN A 127.0.0.1\n\
         www IN CNAME rr\nmeta IN CNAME rr\nmx IN A 192.0.2.25\n"
    );
    let knams = "$TTL 60\nrr IN CNAME text.knams\ntext.knams IN A 192.0.2.1\nupload IN A 192.0.2.2\n";
    // As it was meant: the names of both sites at both.
    let pmtpa = "$TTL 60\nrr IN CNAME text.pmtpa\n";
    Home::new(&config, &[("common.zone", &common), ("knams.zone", knams), ("pmtpa.zone", pmtpa)])
}

/// Overrides for everything that stops this.
fn overrides(report: &Value) -> String {
    let findings = report["findings"].as_array().unwrap().iter();
    let stopping = findings.filter(|found| found["verdict"] == "block" || found["verdict"] == "unknown");
    stopping
        .map(|found| format!(" --override {}@{}", found["gate"].as_str().unwrap(), found["digest"].as_str().unwrap()))
        .collect()
}

/// The TTL that a name is denied with.
fn denied(daemon: &Daemon, name: &str) -> u32 {
    let answer = daemon.ask(name, RrType::A);
    let soa = answer.authorities.iter().find(|record| record.rtype == RrType::SOA);
    soa.unwrap_or_else(|| panic!("{name} is not denied: {answer:?}")).ttl
}

fn seconds(report: &Value, span: &str, part: &str) -> f64 {
    let found = &report["dark"][span]["course"]["quantiles"][part];
    found.as_f64().unwrap_or_else(|| panic!("no {part} of {span}: {report:#}"))
}

#[test]
fn a_broken_target_is_refused_and_who_insists_is_told_who_stays_dark() {
    let home = encyclopaedia();
    let daemon = home.serve();
    // Three quarters of what is asked is for names that are not in Florida.
    for number in 0..20 {
        for name in ["www.wiki.example", "upload.wiki.example", "meta.wiki.example", "mx.wiki.example"] {
            assert_eq!(daemon.ask_from(client(number), name, RrType::A).answers.last().unwrap().rtype, RrType::A);
        }
    }
    wait_for("all that was told", || {
        let noted = home.expect(0, "drain wiki.example")["holders"].clone();
        if noted == 80 { Ok(()) } else { Err(noted.to_string()) }
    });

    let line = "failover wiki.example --to pmtpa --dry-run";
    let refused = home.expect(3, line);
    let vanishing = finding(&refused, "zone.nothing-vanishes");
    let items: Vec<&str> = vanishing["items"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["www", "meta", "rr", "upload"] {
        let line = format!("{name}.wiki.example. A would become ");
        assert!(items.iter().any(|item| item.starts_with(&line)), "{name}: {items:#?}");
    }
    assert!(!items.iter().any(|item| item.starts_with("mx.")), "{items:#?}");
    assert_eq!(refused["forecast"], Value::Null);
    assert!(refused["dark"]["questions"].as_u64() >= Some(4), "{refused:#}");

    let insisted = home.expect(6, &format!("{line}{}", overrides(&refused)));
    let dark = &insisted["dark"];
    assert!(insisted["forecast"]["phases"].is_array(), "{insisted:#}");
    assert!((dark["asked"].as_f64().unwrap() - 0.75).abs() < 0.01, "{dark:#}");
    assert_eq!((&dark["during"]["ttl"], &dark["afterwards"]["ttl"]), (&LOW.into(), &NEGATIVE.into()));
    // Caches that obey were filled at any time within the hour; one in a hundred keeps it for up to three.
    assert!((seconds(&insisted, "afterwards", "half") - 1800.0).abs() < 200.0, "{dark:#}");
    assert!(seconds(&insisted, "afterwards", "ninety") < 3600.0, "{dark:#}");
    let held = |span: &str| -> Vec<(u64, f64)> {
        let holds = dark[span]["holds"].as_array().unwrap().iter().filter(|hold| hold["stale"] == false);
        holds.map(|hold| (hold["seconds"].as_u64().unwrap(), hold["share"].as_f64().unwrap())).collect()
    };
    let near = |found: f64, share: f64| (found - share).abs() < 1e-6;
    let [obedient, longest] = held("afterwards").try_into().unwrap();
    assert!(obedient.0 == 3600 && near(obedient.1, 0.977), "{obedient:?}");
    assert!(longest.0 == 10_800 && near(longest.1, 0.003), "{longest:?}");
    // While the run goes on it is the floors that count: a minute at least, and what is kept of negative answers alone.
    let floors: Vec<u64> = held("during").iter().map(|hold| hold.0).collect();
    assert_eq!(floors, [7, 60, 300, 600, 900, 3600, 10_800]);

    // As an operator reads it.
    let words: Vec<String> = format!("{line}{}", overrides(&refused)).split_whitespace().map(str::to_owned).collect();
    let shown = home.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for part in [
        "WHO STAYS DARK: ",
        "75.0% of what was asked of late was for these",
        "0.3% up to 3 h",
        "type:  understudy rollback",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }

    // What was foretold is what caches are told.
    assert_eq!(denied(&daemon, "nobody.wiki.example"), NEGATIVE);
    let plan = insisted["plan"].as_str().unwrap();
    follow(&home, 0, &format!("failover wiki.example --to pmtpa --plan {plan}{}", overrides(&refused)));
    assert_eq!(denied(&daemon, "upload.wiki.example"), LOW);
}
