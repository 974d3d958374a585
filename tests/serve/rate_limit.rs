//! Response rate limiting as it is configured, on the real program.

use std::net::{IpAddr, Ipv4Addr};

use crate::support::daemon::Home;
use crate::support::message::Message;
use understudy::rr::RrType;

const ZONE: &str = "$TTL 60\n@ IN SOA ns h 1 1h 10m 2w 60\n@ IN NS ns\nns IN A 192.0.2.1\n";

fn home(limit: &str) -> Home {
    let zone = "[[zone]]\nname = 'a.example'\nfile = 'a.zone'\n";
    Home::new(&format!("[server]\nlisten = ['127.0.0.1:0']\nworkers = 1\n{limit}{zone}"), &[("a.zone", ZONE)])
}

fn is_cut(message: &Message) -> bool {
    message.flags.tc() && message.answers.is_empty()
}

/// A network over its limit gets cut answers and goes on over TCP; one that is exempt, or a server without the table,
/// has no limit.
#[test]
fn answers_over_the_limit_are_cut() {
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const EXEMPT: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1));
    let limit = "[server.rate_limit]\nper_second = 1\nslip = 1\nexempt = ['127.0.1.0/24']\n";
    let limited = home(limit);
    let daemon = limited.serve();
    let ask = |source| daemon.ask_from(source, "ns.a.example", RrType::A);
    assert!(!is_cut(&ask(LOOPBACK)));
    assert!((0..100).any(|_| is_cut(&ask(LOOPBACK))), "nothing was limited");
    assert!((0..20).all(|_| !is_cut(&ask(EXEMPT))), "an exempt network was limited");
    assert_eq!(daemon.ask_tcp("ns.a.example", RrType::A).answers.len(), 1);

    let unlimited = home("");
    let daemon = unlimited.serve();
    assert!((0..300).all(|_| !is_cut(&daemon.ask("ns.a.example", RrType::A))));
}

#[test]
fn wrong_limits_are_named() {
    let here = home(
        "[server.rate_limit]\nper_second = 0\nwindow = '0s'\nslip = -1\nprefix_v4 = 33\nexempt = ['10.0.0.1/8']\n",
    );
    let report = here.expect(1, "check");
    let problems = report["problems"].as_array().unwrap();
    let keys: Vec<&str> = problems.iter().map(|problem| problem["key"].as_str().unwrap()).collect();
    let expected = ["per_second", "window", "slip", "prefix_v4", "exempt"];
    assert_eq!(keys, expected.map(|key| format!("server.rate_limit.{key}")));
}
