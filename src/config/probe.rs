//! How resolvers are probed: the canary zone, the resolvers to ask, and how much.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::ZoneConfig;
use super::read::read_addresses;
use super::table::{At, Table};
use crate::canary::{CanaryKey, CanaryZone, MAX_TTL};
use crate::name::Name;
use crate::probe::ask::{Asking, Carrier};
use crate::time::Ttl;

/// The canary zone and its server.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CanaryConfig {
    /// The zone: delegated to this server, unsigned, and of no other use.
    pub zone: Name,
    /// The addresses to listen on; none of them serves another zone.
    pub listen: Vec<SocketAddr>,
    /// The addresses of the zone's server, as its parent has them.
    pub addresses: Vec<IpAddr>,
    /// Whom to write to about these queries: the TXT record at the zone's apex.
    pub contact: String,
}

/// What is measured of resolvers, and how much they are asked for it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProbeConfig {
    /// The TTLs that holds are measured at.
    pub ttls: Vec<Ttl>,
    /// How long a hold is watched for at most.
    pub watch: Duration,
    /// The most questions to one resolver in a day.
    pub daily_questions: u64,
    /// How long what was found is believed.
    pub expires: Duration,
    /// Whether resolvers are measured without being told to, when what was found is too old or there is nothing.
    pub background: bool,
}

impl Default for ProbeConfig {
    fn default() -> ProbeConfig {
        ProbeConfig {
            ttls: [30, 300].into_iter().filter_map(Ttl::new).collect(),
            watch: Duration::from_secs(900),
            daily_questions: 5000,
            expires: Duration::from_secs(7 * 86_400),
            background: false,
        }
    }
}

/// The canary zone of the file. `serving` are the addresses that zones are served from, and `zones` are those zones.
pub(super) fn read_canary(top: &Table<'_>, serving: &[SocketAddr], zones: &[ZoneConfig]) -> Option<CanaryConfig> {
    let table = top.table("canary")?;
    let zone = read_zone(&table, zones);
    let example = "[\"192.0.2.54:53\"]";
    if table.get("listen").is_none() {
        table.missing("listen", "nobody could ask for a canary", format!("`listen = {example}`"));
    }
    let listen = read_addresses(&table, "listen", example).unwrap_or_default();
    let span = table.get("listen").map_or(table.span.clone(), |found| found.span());
    if table.get("listen").and_then(|found| found.get_ref().as_array()).is_some_and(|list| list.is_empty()) {
        let meaning = "nobody could ask for a canary, so that no resolver could be measured";
        let remedy =
            format!("an address that serves no other zone: `listen = {example}`; or remove the `[canary]` table");
        table.wrong(&span, "listen", "is empty", meaning, remedy);
    }
    for address in &listen {
        if address.ip().is_unspecified() {
            let meaning =
                "canaries have an address of their own: some resolvers ask a server that fails nothing for minutes";
            table.wrong(
                &span,
                "listen",
                format!("`{address}` is no single address"),
                meaning,
                format!("`listen = {example}`"),
            );
        }
        let is_shared = |other: &SocketAddr| {
            other.port() == address.port() && (other.ip() == address.ip() || other.ip().is_unspecified())
        };
        if let Some(other) = serving.iter().find(|other| address.port() != 0 && is_shared(other)) {
            let what = format!("`{address}` is within `{other}` of `server.listen`");
            let meaning = "canaries fail on purpose, and resolvers would remember it of the server of your zones";
            table.wrong(&span, "listen", what, meaning, "another address, which `server.listen` does not have");
        }
    }
    let own = || listen.iter().map(|address| address.ip()).collect();
    let addresses = read_ips(&table, "addresses").unwrap_or_else(own);
    // Behind a translation of addresses they may be others than those that are listened on.
    let of_zones = |address: &&IpAddr| serving.iter().any(|other| other.ip() == **address && other.port() == 53);
    if let (Some(found), Some(address)) = (table.get("addresses"), addresses.iter().find(of_zones)) {
        let what = format!("`{address}` is in `server.listen`");
        let meaning = "canaries fail on purpose, and resolvers would remember it of the server of your zones";
        table.wrong(
            &found.span(),
            "addresses",
            what,
            meaning,
            "the address that the parent's glue has for canaries alone",
        );
    }
    let contact = table.string("contact", "noc@wiki.example").map(|found| found.value.to_owned());
    Some(CanaryConfig {
        zone: zone?,
        listen,
        addresses,
        contact: contact.unwrap_or_else(|| "understudy canaries".into()),
    })
}

fn read_zone(table: &Table<'_>, zones: &[ZoneConfig]) -> Option<Name> {
    let example = "_canary.wiki.example";
    if table.get("zone").is_none() {
        table.missing("zone", "canaries have to be below a name", format!("`zone = {example:?}`"));
    }
    let At { value, span } = table.string("zone", example)?;
    let name = match Name::absolute(value) {
        Ok(name) => name,
        Err(error) => {
            table.wrong(
                &span,
                "zone",
                format!("`{value}` can't be a zone: {error}"),
                "",
                format!("`zone = {example:?}`"),
            );
            return None;
        }
    };
    let is_within = |zone: &&ZoneConfig| zone.name.as_ref().is_at_or_below(name.as_ref());
    if let Some(served) = zones.iter().find(is_within) {
        let served = served.name.as_ref().dotless();
        let what = format!("`{value}` holds `{served}`, a zone that is served");
        let meaning = "canaries fail and are silent on purpose: its names would not be found below the canary zone";
        let remedy = format!("a name of its own, such as `_canary.{served}`, delegated to the addresses of `listen`");
        table.wrong(&span, "zone", what, meaning, remedy);
        return None;
    }
    if let Err(error) = CanaryZone::new(name.clone(), CanaryKey([0; 16]), Vec::new(), "") {
        let what = format!("below `{value}` there is no room for canaries: {error}");
        table.wrong(&span, "zone", what, "", "a shorter name");
        return None;
    }
    Some(name)
}

fn read_ips(table: &Table<'_>, name: &str) -> Option<Vec<IpAddr>> {
    let example = "[\"192.0.2.54\", \"2001:db8::54\"]";
    let mut addresses = Vec::new();
    for At { value, span } in table.strings(name, example)?.value {
        match value.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => {
                table.wrong(&span, name, format!("`{value}` is not an IP address"), "", format!("`{name} = {example}`"))
            }
        }
    }
    Some(addresses)
}

/// What is measured of resolvers.
pub(super) fn read_probe(top: &Table<'_>) -> ProbeConfig {
    let mut probe = ProbeConfig::default();
    let Some(table) = top.table("probe") else { return probe };
    if let Some(ttls) = read_ttls(&table) {
        probe.ttls = ttls;
    }
    let time = |name, example| table.time(name, example).map(|found| found.value.duration());
    probe.watch = time("watch", "15m").unwrap_or(probe.watch);
    probe.expires = time("expires", "7d").unwrap_or(probe.expires);
    probe.background = table.boolean("background").unwrap_or(probe.background);
    let questions = table.integer("daily_questions", 0..=10_000_000, 5000);
    probe.daily_questions = questions.and_then(|count| u64::try_from(count).ok()).unwrap_or(probe.daily_questions);
    probe
}

fn read_ttls(table: &Table<'_>) -> Option<Vec<Ttl>> {
    let example = "[\"30s\", \"5m\"]";
    let found = table.strings("ttls", example)?;
    let mut ttls = Vec::new();
    for At { value, span } in &found.value {
        match Ttl::parse(value).filter(|ttl| (Ttl::ZERO..=MAX_TTL).contains(ttl) && *ttl != Ttl::ZERO) {
            Some(ttl) => ttls.push(ttl),
            None => {
                let what = format!("`{value}` is no TTL from 1 s to 7 d");
                table.wrong(span, "ttls", what, "", format!("`ttls = {example}`"));
            }
        }
    }
    if found.value.is_empty() {
        let remedy = format!("`ttls = {example}`, or leave the key out");
        table.wrong(&found.span, "ttls", "is empty", "nothing would be measured", remedy);
    }
    ttls.sort_unstable();
    ttls.dedup();
    Some(ttls)
}

/// How a resolver is asked; none where it has no address.
pub(super) fn read_asking(table: &Table<'_>) -> Option<Asking> {
    let carrier = read_carrier(table);
    let port = if carrier == Carrier::Dot { 853 } else { 53 };
    let rate = table.integer("rate", 1..=1000, 1).and_then(|rate| u32::try_from(rate).ok()).unwrap_or(1);
    let found = table.get("address")?;
    let values = match found.get_ref().as_str() {
        Some(value) => vec![At { value, span: found.span() }],
        None => table.strings("address", "\"9.9.9.9\"")?.value,
    };
    let mut addresses = Vec::new();
    for At { value, span } in values {
        let address = value.parse().or_else(|_| value.parse().map(|ip: IpAddr| SocketAddr::new(ip, port)));
        match address {
            Ok(address) => addresses.push(address),
            Err(_) => {
                let remedy =
                    "an address such as `9.9.9.9` or `2620:fe::fe`, with a port if need be: `[2620:fe::fe]:53`";
                table.wrong(&span, "address", format!("`{value}` is not an IP address"), "", remedy);
            }
        }
    }
    (!addresses.is_empty()).then_some(Asking { addresses, carrier, rate })
}

fn read_carrier(table: &Table<'_>) -> Carrier {
    let Some(At { value, span }) = table.string("transport", "udp") else { return Carrier::Udp };
    match value {
        "udp" => Carrier::Udp,
        "tcp" => Carrier::Tcp,
        "dot" => Carrier::Dot,
        _ => {
            table.wrong(&span, "transport", format!("`{value}` is no transport"), "", "`udp`, `tcp` or `dot`");
            Carrier::Udp
        }
    }
}
