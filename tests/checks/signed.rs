//! `check` on signed zones, and on zones that read well and can't be served.

use crate::support::daemon::Home;
use crate::support::sign::{Denial, Method, Signer};
use serde_json::Value;
use understudy::name::Name;

const ZONE: &str = "$TTL 600\n@ IN SOA ns h 1 1h 10m 2w 600\n@ IN NS ns\n@ IN NS ns.b.example.\nns IN A 192.0.2.1\nwww IN A 192.0.2.2\n";

/// What `check` says of the zone: its exit code, and severity and id of each finding but those of `$TTL` and the like.
fn checked(zone: &str) -> (i32, Vec<(String, String)>, Value) {
    let home = Home::new("[[zone]]\nname = 'a.example'\nfile = 'a.zone'\n", &[("a.zone", zone)]);
    let done = home.cli("check");
    let found = done.json["zones"][0]["diagnostics"].as_array().unwrap_or_else(|| panic!("{done:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut ids: Vec<_> = found.iter().map(|one| (text(&one["severity"]), text(&one["id"]))).collect();
    ids.dedup();
    (done.code, ids, done.json)
}

#[test]
fn signatures_are_checked_as_resolvers_do() {
    let signer = Signer::new();
    let origin = Name::absolute("a.example").unwrap();
    let nsec = Method { algorithm: 13, denial: Denial::Nsec };
    let nsec3 = |iterations| Method { algorithm: 13, denial: Denial::Nsec3 { iterations, salt: "-", opt_out: false } };
    let zone = format!("$ORIGIN a.example.\n{ZONE}");
    let sign = |method, options: &[&str]| signer.sign_with(&origin, &zone, method, options);
    let good = sign(nsec, &[]);
    let edited = good.replace("192.0.2.2", "192.0.2.3");
    assert_ne!(good, edited);
    for (what, text, code, expected) in [
        ("good", good, 0, None),
        ("edited after it was signed", edited, 1, Some(("error", "bad-signature"))),
        ("ended", sign(nsec, &["-s", "now-864000", "-e", "now-259300"]), 1, Some(("error", "bad-signature"))),
        ("ends before caches let go", sign(nsec, &["-e", "now+3000"]), 1, Some(("error", "bad-signature"))),
        ("ends soon", sign(nsec, &["-e", "now+180000"]), 0, Some(("warning", "signature-ends-soon"))),
        ("not yet", sign(nsec, &["-s", "now+86400"]), 1, Some(("error", "bad-signature"))),
        ("hashed once", sign(nsec3(0), &[]), 0, None),
        ("hashed often", sign(nsec3(5), &[]), 0, Some(("warning", "nsec3-iterations-not-0"))),
    ] {
        let (found_code, found, report) = checked(&text);
        let expected: Vec<_> = expected.into_iter().map(|(severity, id)| (severity.into(), id.into())).collect();
        assert_eq!((found_code, found), (code, expected), "{what}\n{report:#}");
        if what == "ended" {
            assert!(report.to_string().contains("ended 3 days ago"), "{report:#}");
        }
    }
}

/// What `serve` refuses, `check` refuses, and says where.
#[test]
fn what_no_message_holds_is_refused() {
    let line = format!("big IN TXT {}\n", format!("\"{}\" ", "x".repeat(250)).repeat(10));
    let numbered = (0..30).map(|n| line.replacen("xx", &format!("{n:02}"), 1)).collect::<String>();
    let (code, found, report) = checked(&format!("{ZONE}{numbered}"));
    assert_eq!((code, found), (1, vec![("error".into(), "cannot-compile".into())]), "{report:#}");
    let diagnostic = &report["zones"][0]["diagnostics"][0];
    assert_eq!((diagnostic["file"].as_str(), diagnostic["line"].as_u64()), (Some("a.zone"), Some(7)), "{diagnostic:#}");
}
