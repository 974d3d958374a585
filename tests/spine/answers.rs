//! What zones of operators trip other servers over, on the wire.

use understudy::rr::RrType;

use crate::support::daemon::Home;

const NXDOMAIN: u16 = 3;

fn home(text: &str) -> Home {
    let config = "[server]\nlisten = ['127.0.0.1:0']\nworkers = 1\n[[zone]]\nname = 'e.example'\nfile = 'e.zone'\n";
    let front = "$TTL 300\n@ IN SOA ns host 1 1h 10m 2w 60\n@ IN NS ns.else.\n";
    Home::new(config, &[("e.zone", &format!("{front}{text}"))])
}

/// The generator forgot the final dots: each record ends in the origin twice. From three on it is no slip.
#[test]
fn names_that_end_in_the_origin_twice_are_refused_with_their_lines() {
    let home = home("@ IN MX 10 mx.e.example\nmx.e.example IN A 192.0.2.1\nw IN CNAME h.e.example\nh IN A 192.0.2.1\n");
    let check = home.expect(1, "check");
    let found = check["zones"][0]["diagnostics"].as_array().unwrap();
    let errors = found.iter().filter(|finding| finding["severity"] == "error");
    let told: Vec<_> = errors.map(|finding| (&finding["id"], &finding["line"])).collect();
    for line in [4, 5, 6] {
        assert!(told.iter().any(|(_, at)| **at == line), "line {line} is named: {check:#}");
    }
    home.serve_in_vain();
    home.write("e.zone", &home.read("e.zone").replace("mx.e.example\n", "mx\n").replace("mx.e.example IN", "mx IN"));
    home.expect(0, "check");
    home.serve();
}

#[test]
fn an_rrset_has_one_ttl_the_lowest() {
    let home = home("a 300 IN A 192.0.2.1\na 600 IN A 192.0.2.2\nb 300 IN A 192.0.2.1\nb 600 IN AAAA ::1\n");
    let check = home.expect(0, "check");
    let found = check["zones"][0]["diagnostics"].as_array().unwrap();
    let lines: Vec<_> = found.iter().filter(|finding| finding["id"] == "unequal-ttls").map(|f| &f["line"]).collect();
    assert_eq!(lines, [5], "{check:#}");
    let daemon = home.serve();
    for message in [daemon.ask("a.e.example", RrType::A), daemon.ask_tcp("a.e.example", RrType::A)] {
        assert_eq!(message.answers.iter().map(|record| record.ttl).collect::<Vec<_>>(), [300, 300]);
    }
    assert_eq!(daemon.ask("b.e.example", RrType::AAAA).answers[0].ttl, 600);
}

#[test]
fn wildcards_stop_at_what_exists_and_what_is_empty_exists() {
    let home = home("f.*.x IN A 192.0.2.1\n*.w IN A 192.0.2.2\nreal.deeper.w IN A 192.0.2.3\n");
    let daemon = home.serve();
    for (name, rcode, answers) in [
        ("q.x.e.example", 0, 0), // `*.x` exists, and has nothing
        ("f.q.x.e.example", 0, 0),
        ("f.*.x.e.example", 0, 1),
        ("no.deeper.w.e.example", NXDOMAIN, 0),
        ("deeper.w.e.example", 0, 0),
        ("real.deeper.w.e.example", 0, 1),
        ("any.w.e.example", 0, 1),
        ("any.more.w.e.example", 0, 1),
        ("w.e.example", 0, 0),
    ] {
        let message = daemon.ask(name, RrType::A);
        assert_eq!((message.rcode(), message.answers.len()), (rcode, answers), "{name}: {message:?}");
        assert_eq!(message.authorities.is_empty(), answers > 0, "{name}: {message:?}");
    }
}

#[test]
fn a_wildcard_alias_to_a_name_that_the_wildcard_would_cover() {
    let home = home("* IN CNAME proxy\nproxy IN A 192.0.2.1\n");
    let daemon = home.serve();
    let message = daemon.ask("foo.e.example", RrType::A);
    let owners: Vec<_> = message.answers.iter().map(|record| (record.owner.to_string(), record.rtype)).collect();
    let expected = [("foo.e.example.", RrType::CNAME), ("proxy.e.example.", RrType::A)];
    assert_eq!(owners, expected.map(|(name, rtype)| (name.to_owned(), rtype)));
    let message = daemon.ask("proxy.e.example", RrType::NS);
    assert_eq!((message.rcode(), message.answers.len(), message.authorities[0].rtype), (0, 0, RrType::SOA));
}

/// A negative answer is kept as long as the SOA's TTL and its last field both allow.
#[test]
fn the_negative_ttl_is_the_lesser_of_two() {
    for (ttl, minimum, negative) in [(300, 86_400, 300), (86_400, 300, 300), (0, 60, 0)] {
        let home = home("a IN A 192.0.2.1\n");
        home.edit(
            "e.zone",
            "@ IN SOA ns host 1 1h 10m 2w 60",
            &format!("@ {ttl} IN SOA ns host 1 1h 10m 2w {minimum}"),
        );
        let daemon = home.serve();
        for message in [daemon.ask("none.e.example", RrType::A), daemon.ask_tcp("a.e.example", RrType::MX)] {
            assert_eq!(message.authorities[0].ttl, negative, "{ttl} {minimum}: {message:?}");
        }
        assert_eq!(daemon.ask("e.example", RrType::SOA).answers[0].ttl, ttl);
    }
}
