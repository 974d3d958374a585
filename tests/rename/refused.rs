//! What gates have against a rename, by the command.

use crate::{COMMON, follow, home};

/// The gates that stop a rename of `name` once the common file has `more`.
fn stopping(more: &str, name: &str) -> Vec<String> {
    let home = home(&[]);
    home.write("common.zone", &format!("{COMMON}{more}"));
    let _daemon = home.serve();
    let report = home.expect(3, &format!("rename a.example {name}"));
    assert_eq!(report["outcome"], "blocked");
    let stops = |found: &&serde_json::Value| found["verdict"] == "block" || found["verdict"] == "unknown";
    let found: Vec<_> = report["findings"].as_array().unwrap().iter().filter(stops).collect();
    for finding in &found {
        assert!(!finding["reason"].as_str().unwrap().is_empty() && !finding["remedy"].as_str().unwrap().is_empty());
    }
    found.iter().map(|found| found["gate"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_wildcard_in_the_way() {
    assert_eq!(stopping("* A 192.0.2.9\n", "edge"), ["rename.way-clear"]);
}

#[test]
fn a_parent_that_exists_by_the_lever_alone() {
    assert_eq!(
        stopping("lone A 192.0.2.9\nfront CNAME host.deep\nhost.deep A 192.0.2.1\n", "front"),
        ["rename.parent"]
    );
}

#[test]
fn a_certificate_that_nobody_has_seen_until_an_operator_has() {
    assert_eq!(stopping("", "mail"), ["rename.certificate"]);
    let home = home(&[]);
    let daemon = home.serve();
    let report = home.expect(3, "rename a.example mail --dry-run");
    let gate =
        report["findings"].as_array().unwrap().iter().find(|found| found["gate"] == "rename.certificate").unwrap();
    let word = format!("rename.certificate@{}", &gate["digest"].as_str().unwrap()[..8]);
    follow(&home, 0, &format!("rename a.example in --override {word}"));
    let exchange = daemon.data("in.a.example", understudy::rr::RrType::MX);
    assert!(exchange[0].windows(7).any(|part| part == b"mail-r1"), "{exchange:?}");
}

#[test]
fn a_name_server_that_nobody_can_ask() {
    let home = home(&[]);
    let config = home.read("understudy.toml");
    let without: String =
        config.lines().filter(|line| !line.starts_with("name_servers")).map(|line| format!("{line}\n")).collect();
    home.write("understudy.toml", &without);
    home.write("common.zone", &COMMON.replace("@ NS ns0\n", "@ NS ns0\n@ NS ns.elsewhere.\n"));
    let _daemon = home.serve();
    let report = home.expect(3, "rename a.example edge");
    let gate =
        report["findings"].as_array().unwrap().iter().find(|found| found["gate"] == "rename.name-servers").unwrap();
    assert_eq!(gate["verdict"], "unknown");
    assert!(gate["items"].to_string().contains("ns.elsewhere."), "{gate:#}");
}
