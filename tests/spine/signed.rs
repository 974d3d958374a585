//! A zone that is signed at each of its sites is moved between them, and whoever validates accepts it before and after.

use std::process::Command;

use understudy::name::Name;
use understudy::rr::RrType;

use crate::support::daemon::{Daemon, Home, TWO_SITES};
use crate::support::sign::{METHODS, Signer, run};
use crate::{KNAMS, PMTPA, finding, items};

fn config() -> String {
    format!(
        "
[server]
listen = ['127.0.0.1:0']
workers = 1

[[zone]]
name = 'a.example'
{TWO_SITES}"
    )
}

fn text(serial: u32, octet: u8, more: &str) -> String {
    format!(
        "$TTL 60\n$ORIGIN a.example.\n@ IN SOA ns0 host {serial} 1h 10m 2w 20\n@ IN NS ns0\n@ IN NS ns.b.example.\n\
         ns0 IN A 192.0.2.53\nwww IN A {octet}.0.2.10\n*.wild IN A {octet}.0.2.11\n{more}"
    )
}

/// What `delv`, which trusts the zone's key alone, says of an answer.
fn delve(home: &Home, daemon: &Daemon, ds: &str, name: &str) -> String {
    let (numbers, digest) = ds.rsplit_once(' ').unwrap();
    home.write("anchors", &format!("trust-anchors {{ \"a.example.\" static-ds {numbers} \"{digest}\"; }};\n"));
    let mut command = Command::new("delv");
    command.arg("@127.0.0.1").args(["-p", &daemon.address.port().to_string()]).arg("-a").arg(home.path("anchors"));
    let output = command.args(["+root=a.example.", "-q", name, "-t", "A"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn peer_a_signed_zone_is_moved_and_stays_valid() {
    let origin = Name::absolute("a.example").unwrap();
    let (signer, other) = (Signer::new(), Signer::new());
    for method in [METHODS[0], METHODS[1]] {
        let sign = |text: String| signer.sign(&origin, &text, method);
        let ds = signer.ds(&origin, method.algorithm);
        let home = Home::new(&config(), &[("knams.zone", &sign(text(10, KNAMS, "")))]);
        let there = text(11, PMTPA, "");
        let good = sign(there.clone());
        home.write("pmtpa.zone", &good);
        let daemon = home.serve();
        let accepted = |octet: u8| {
            for (name, wanted) in [
                ("www.a.example", format!("{octet}.0.2.10")),
                ("x.wild.a.example", format!("{octet}.0.2.11")),
                ("none.a.example", "ncache nxdomain".into()),
            ] {
                let said = delve(&home, &daemon, &ds, name);
                assert!(said.contains("fully validated") && said.contains(&wanted), "{name} ({method:?}): {said}");
            }
            let mut dig = Command::new("dig");
            dig.arg("@127.0.0.1").args([
                "-p",
                &daemon.address.port().to_string(),
                "+dnssec",
                "+norecurse",
                "www.a.example",
                "A",
            ]);
            let said = run(&mut dig);
            let whole = said.contains(&format!("{octet}.0.2.10")) && said.contains("RRSIG\tA ") && said.contains(" aa");
            assert!(whole && !said.to_lowercase().contains("warning"), "{said}");
        };
        accepted(KNAMS);

        let refused: [(&str, String, &str, &str); 4] = [
            (
                "expired",
                signer.sign_with(&origin, &there, method, &["-s", "now-864000", "-e", "now-86400"]),
                "zone.signatures",
                "valid until",
            ),
            ("another key", other.sign(&origin, &there, method), "zone.signed-alike", "DNSKEY"),
            ("another owner", sign(text(11, PMTPA, "more IN A 192.0.2.3\n")), "zone.signed-alike", "more.a.example. A"),
            ("edited", good.replace("198.0.2.10", "198.0.2.99"), "zone.signatures", "does not verify"),
        ];
        for (what, zone, gate, why) in refused {
            home.write("pmtpa.zone", &zone);
            for line in ["failover a.example --to pmtpa --dry-run", "failover a.example --to pmtpa"] {
                let report = home.expect(3, line);
                let found = finding(&report, gate);
                assert_eq!(found["verdict"], "block", "{what}: {found:#}");
                assert!(items(found).iter().any(|item| item.contains(why)), "{what}: {found:#}");
            }
            assert_eq!(daemon.data("www.a.example", RrType::A), [[KNAMS, 0, 2, 10]], "{what}");
        }
        accepted(KNAMS);

        home.write("pmtpa.zone", &good);
        let report = home.expect(0, "failover a.example --to pmtpa");
        assert_eq!((&report["outcome"], &report["confirmed"]), (&"done".into(), &true.into()), "{report:#}");
        accepted(PMTPA);
        assert_eq!(daemon.serial("a.example"), 11, "the signer's serial");

        // The way back: with the old file secondaries would see the serial fall.
        let back = home.expect(3, "failover a.example --to knams");
        assert_eq!(finding(&back, "zone.serial")["verdict"], "block", "{back:#}");
        home.write("knams.zone", &sign(text(12, KNAMS, "")));
        home.expect(0, "failover a.example --to knams");
        accepted(KNAMS);
        assert_eq!(daemon.serial("a.example"), 12);
    }
}
