//! Renames from end to end, on the real program: what clients are told at each step, who is waited for, what a crash leaves,
//! and what edits of the files make of one.

#[path = "../support/mod.rs"]
mod support;

mod certificate;
mod crash;
mod cycle;
mod drain;
mod edits;
mod lab;
mod lag;
mod load;
mod refused;
mod why;

use serde_json::Value;
use understudy::rr::RrType;

use support::daemon::{Daemon, Home, TWO_SITES, free_port};
pub(crate) use support::report::{beside, lines_of};
pub(crate) use support::wait::wait_for;

pub(crate) const KNAMS: u8 = 192;
pub(crate) const PMTPA: u8 = 198;

pub(crate) const COMMON: &str = "$TTL 60
@ SOA ns0 host 100 1h 10m 2w 20
@ NS ns0
@ A 192.0.2.80
ns0 A 127.0.0.1
www 5 CNAME edge
shop 5 CNAME edge
svc HTTPS 1 edge alpn=h2
_443._tcp.edge TLSA 3 1 1 00
far CNAME somewhere.else.
plain A 192.0.2.7
mail A 127.0.0.1
in MX 10 mail
";

pub(crate) const OTHER: &str = "$TTL 60
@ SOA ns0.a.example. host 7 1h 10m 2w 20
@ NS ns0.a.example.
www CNAME edge.a.example.
";

/// What differs at a site: the first octet of the lever's address tells which.
pub(crate) fn site(octet: u8) -> String {
    format!("$TTL 60\nedge A {octet}.0.2.1\n")
}

/// Two zones of two sites and of one, with these name servers beside the daemon itself.
pub(crate) fn home(others: &[std::net::SocketAddr]) -> Home {
    let port = free_port();
    let others: String = others.iter().map(|address| format!(", '{address}'")).collect();
    let config = format!(
        "
[server]
listen = ['127.0.0.1:{port}']
workers = 1

[[zone]]
name = 'a.example'
file = 'common.zone'
name_servers = ['127.0.0.1:{port}'{others}]
{TWO_SITES}  [zone.policy]
  low_ttl = '1s'
  bake = '1s'

[[zone]]
name = 'b.example'
file = 'other.zone'
name_servers = ['127.0.0.1:{port}']
"
    );
    let files = [("common.zone", COMMON), ("other.zone", OTHER)];
    let home = Home::new(&config, &files);
    home.write("knams.zone", &site(KNAMS));
    home.write("pmtpa.zone", &site(PMTPA));
    home
}

/// The renames of the first zone, as `status` has them.
pub(crate) fn renames(home: &Home) -> Vec<Value> {
    home.zone("a.example")["renames"].as_array().unwrap().clone()
}

/// The stage of each fresh name.
pub(crate) fn stages(home: &Home) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    renames(home).iter().map(|rename| (text(&rename["fresh"]), text(&rename["stage"]))).collect()
}

/// Waits until the last rename is at this stage.
pub(crate) fn until_stage(home: &Home, stage: &str) -> Value {
    wait_for(stage, || {
        let all = renames(home);
        all.last().filter(|last| last["stage"] == stage).cloned().ok_or_else(|| format!("{all:#?}"))
    })
}

/// Runs a command that may write several JSON values, one a line; it has to end with this code. They.
pub(crate) fn follow(home: &Home, code: i32, line: &str) -> Vec<Value> {
    let (ended, lines) = lines_of(beside(home, line));
    assert_eq!(ended, code, "understudy {line}\n{lines:#?}");
    lines
}

/// The names that an answer leads through, and the first octet of the address at its end.
pub(crate) fn led(daemon: &Daemon, name: &str) -> (Vec<String>, Option<u8>) {
    let answer = daemon.ask(name, RrType::A);
    let (mut through, mut address) = (Vec::new(), None);
    for record in &answer.answers {
        match record.rtype {
            RrType::CNAME => {
                let target = understudy::name::NameRef::read(&record.rdata).unwrap();
                through.push(target.to_string().trim_end_matches('.').to_owned());
            }
            RrType::A => address = Some(record.rdata[0]),
            other => panic!("{name}: {other}"),
        }
    }
    (through, address)
}
