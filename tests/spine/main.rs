//! The spine from end to end, on the real program: files, reload, failover, crash, and what clients are told meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod crash;
mod failover;
mod load;
mod overrides;
mod reload;
mod serials;
mod signed;
mod start;
mod state;

use support::daemon::{Home, TWO_SITES};
pub(crate) use support::report::finding;

/// A zone with two sites on loopback; 127.0.0.2 is Europe.
pub(crate) fn config() -> String {
    format!(
        "
[server]
listen = ['127.0.0.1:0']
workers = 1

[[region]]
name = 'europe'
networks = ['127.0.0.2/32']

[[zone]]
name = 'a.example'
file = 'common.zone'
may_vanish = ['*.lab']
{TWO_SITES}"
    )
}

pub(crate) const COMMON: &str = "$TTL 60
@ IN SOA ns0 host 100 1h 10m 2w 20
@ IN NS ns0
@ IN NS ns.b.example.
@ IN MX 10 mx
@ IN TXT \"v=spf1 mx -all\"
@ IN CAA 0 issue \"ca.example\"
ns0 IN A 192.0.2.53
mx IN A 192.0.2.25
www IN CNAME lever
text.knams IN A 192.0.2.10
text.knams IN AAAA 2001:db8:1::10
text.pmtpa IN A 198.51.100.10
text.pmtpa IN AAAA 2001:db8:2::10
note IN TXT one
";

/// What differs at a site of this name: its first octet tells which.
pub(crate) fn site(name: &str, octet: u8, more: &str) -> String {
    format!(
        "$TTL 60\n@ IN A {octet}.0.2.10\n@ IN AAAA 2001:db8:{octet}::10\nlever IN CNAME text.{name}\n\
         direct IN A {octet}.0.2.1\n{more}"
    )
}

pub(crate) const KNAMS: u8 = 192;
pub(crate) const PMTPA: u8 = 198;

/// [`config`] with its files, and more in each site's.
pub(crate) fn home_with(knams: &str, pmtpa: &str) -> Home {
    let (knams, pmtpa) = (site("knams", KNAMS, knams), site("pmtpa", PMTPA, pmtpa));
    Home::new(&config(), &[("common.zone", COMMON), ("knams.zone", &knams), ("pmtpa.zone", &pmtpa)])
}

pub(crate) fn home() -> Home {
    home_with("", "")
}

/// Names of hosts, each with an address.
pub(crate) fn hosts(count: usize, octet: u8) -> String {
    (0..count).map(|n| format!("h{n} IN A {octet}.0.{}.{}\n", n / 250, n % 250)).collect()
}

pub(crate) fn items(finding: &serde_json::Value) -> Vec<&str> {
    finding["items"].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}
