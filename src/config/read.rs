//! From the text of a configuration to its meaning: the top, the server, the regions.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use super::page::Page;
use super::probe::{read_canary, read_probe};
use super::problem::Problems;
use super::protocol::read_protocol;
use super::table::{At, Table};
use super::{Config, Control, Server, TcpLimits, drill, networks, zone};
use crate::exposure::Limits;
use crate::serve::dnstap;

/// Reads `text`, the configuration file at `path`. Opens no file; all that is wrong comes back at once.
pub fn read(path: &Path, text: &str) -> Result<Config, Problems> {
    let page = Page::new(path.display().to_string(), text);
    let (parsed, errors) = DeTable::parse_recoverable(text);
    // What stands behind a slip in the syntax may have been taken for something else: no judgement on keys then.
    for error in &errors {
        let remedy = "correct the syntax (https://toml.io); the rest of the file is checked after that";
        page.wrong(&error.span().unwrap_or(0..0), "", error.message().replace('\n', "; "), "", remedy);
    }
    let mut config = Config::bare();
    if errors.is_empty() {
        let top = Table::open(&page, "", 0..0, parsed.get_ref());
        config = Config { file: Some(path.into()), ..read_top(&top, path.parent().unwrap_or(Path::new(""))) };
    }
    let problems = page.into_problems();
    if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
}

fn read_top(top: &Table<'_>, dir: &Path) -> Config {
    match top.get("version").map(|found| (found, found.get_ref().as_integer())) {
        None => top.missing(
            "version",
            "without it, understudy can't tell what the keys of this file mean",
            "`version = 1` as the first line",
        ),
        Some((_, Some(number))) if number.as_str() == "1" && number.radix() == 10 => {}
        Some((found, _)) => top.wrong(
            &found.span(),
            "version",
            "is not 1",
            "this understudy reads version 1 and no other",
            "`version = 1`, or the understudy that the file was written for",
        ),
    }
    let state_dir = top.string("state_dir", "var").map_or("var", |found| found.value);
    let regions = networks::read_regions(top);
    let server = read_server(top, dir);
    let zones = zone::read_zones(top, &regions);
    Config {
        file: None,
        dir: if dir.as_os_str().is_empty() { ".".into() } else { dir.into() },
        state_dir: Some(dir.join(state_dir)),
        include_outside: top.boolean("include_outside").unwrap_or(false),
        exposures: read_exposures(top),
        dnstap: read_dnstap(top, dir, server.identity.as_deref()),
        canary: read_canary(top, &server.listen, &zones),
        probe: read_probe(top),
        drill_listen: drill::read_listen(top, &server.listen),
        server,
        control: read_control(top),
        resolvers: networks::read_resolvers(top),
        zones,
        regions,
    }
}

fn read_server(top: &Table<'_>, dir: &Path) -> Server {
    let mut server = Server::default();
    let Some(table) = top.table("server") else { return server };
    if let Some(listen) = read_listen(&table) {
        server.listen = listen;
    }
    let workers = table.integer("workers", 1..=1024, 4).and_then(|count| usize::try_from(count).ok());
    server.workers = workers.and_then(NonZeroUsize::new);
    server.user = table.string("user", "understudy").map(|found| found.value.into());
    if let Some(group) = table.string("group", "understudy") {
        if table.get("user").is_none() {
            table.wrong(
                &group.span,
                "group",
                "is set without `user`",
                "root is given up for a user and a group, never for a group alone",
                "add `user = \"…\"`, or remove `group`",
            );
        }
        server.group = Some(group.value.into());
    }
    if let Some(octets) = table.integer("udp_payload", 512..=4096, 1232).and_then(|octets| u16::try_from(octets).ok()) {
        server.udp_payload = octets;
    }
    if let Some(tcp) = table.table("server.tcp") {
        server.tcp = read_limits(&tcp);
    }
    read_protocol(&table, dir, &mut server);
    server
}

fn read_listen(table: &Table<'_>) -> Option<Vec<SocketAddr>> {
    let listen = read_addresses(table, "listen", "[\"192.0.2.1:53\", \"[2001:db8::1]:53\"]")?;
    if let Some(found) = table.get("listen").filter(|found| found.get_ref().as_array().is_some_and(|a| a.is_empty())) {
        table.wrong(
            &found.span(),
            "listen",
            "is empty",
            "nobody could ask this server anything",
            "list an address and port, or remove the key for 127.0.0.1:5300 and [::1]:5300",
        );
    }
    Some(listen)
}

/// The addresses of a key, no two alike.
pub(super) fn read_addresses(table: &Table<'_>, name: &str, example: &str) -> Option<Vec<SocketAddr>> {
    let found = table.strings(name, example)?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for At { value, span } in &found.value {
        match value.parse::<SocketAddr>() {
            Ok(address) if address.port() != 0 && addresses.contains(&address) => {
                table.wrong(span, name, format!("`{address}` is listed twice"), "", "remove one of the two");
            }
            Ok(address) => addresses.push(address),
            Err(_) => {
                let (what, remedy) = not_a_listener(value);
                table.wrong(span, name, what, "", remedy);
            }
        }
    }
    Some(addresses)
}

/// What is wrong with `text`, which is no address and port, and what to write instead.
pub(crate) fn not_a_listener(text: &str) -> (String, String) {
    let what = format!("`{text}` is not an address and port");
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let remedy = match bare.parse::<std::net::IpAddr>() {
        Ok(address) => format!("`{}`", SocketAddr::new(address, 53)),
        Err(_) if text.parse::<u16>().is_ok() => format!("`127.0.0.1:{text}`"),
        Err(_) => "an IP address with its port, such as `192.0.2.1:53` or `[2001:db8::1]:53`".into(),
    };
    (what, remedy)
}

pub(super) fn read_limits(table: &Table<'_>) -> TcpLimits {
    let mut limits = TcpLimits::default();
    let count =
        |name, example| table.integer(name, 1..=1_000_000, example).and_then(|count| usize::try_from(count).ok());
    let time = |name| {
        let found = table.time(name, "10s")?;
        if found.value.seconds() == 0 {
            table.wrong(
                &found.span,
                name,
                "is 0",
                "every connection would be closed at once",
                format!("`{name} = \"10s\"`"),
            );
        }
        Some(Duration::from_secs(found.value.seconds().into()))
    };
    limits.connections = count("connections", 1024).unwrap_or(limits.connections);
    limits.per_client = count("per_client", 64).unwrap_or(limits.per_client);
    limits.idle = time("idle").unwrap_or(limits.idle);
    limits.write = time("write").unwrap_or(limits.write);
    limits
}

fn read_exposures(top: &Table<'_>) -> Option<Limits> {
    let mut limits = Limits::default();
    let Some(table) = top.table("exposures") else { return Some(limits) };
    let memory = table.integer("memory_mib", 1..=1 << 20, 128).and_then(|mib| usize::try_from(mib).ok());
    limits.memory = memory.map_or(limits.memory, |mib| mib << 20);
    let retention = table.time("retention", "1d").map(|found| Duration::from_secs(found.value.seconds().into()));
    limits.retention = retention.unwrap_or(limits.retention);
    table.boolean("enabled").unwrap_or(true).then_some(limits)
}

/// Off unless its table is there.
fn read_dnstap(top: &Table<'_>, dir: &Path, identity: Option<&str>) -> Option<dnstap::Settings> {
    let table = top.table("dnstap")?;
    let socket = table.string("socket", "/run/dnstap.sock");
    let file = table.string("file", "queries.dnstap");
    let most = table.integer("file_mib", 1..=1 << 20, 1024).and_then(|mib| u64::try_from(mib).ok());
    if let (Some(found), true) = (table.get("file_mib"), table.get("file").is_none()) {
        let meaning = "it says how long a file becomes, and there is none";
        table.wrong(&found.span(), "file_mib", "is set without `file`", meaning, "remove it");
    }
    let sample = table.integer("sample", 1..=1_000_000, 100).and_then(|count| u32::try_from(count).ok());
    let to = match (socket, file) {
        (Some(_), Some(file)) => {
            let remedy = "remove one of the two";
            table.wrong(&file.span, "file", "is set beside `socket`", "there is one stream of queries", remedy);
            return None;
        }
        (Some(socket), None) => dnstap::Target::Socket(dir.join(socket.value)),
        (None, Some(file)) => dnstap::Target::File { path: dir.join(file.value), most: most.unwrap_or(1024) << 20 },
        (None, None) => {
            if table.get("socket").is_none() && table.get("file").is_none() {
                let meaning = "it is not said where queries are to be shown";
                table.missing("socket", meaning, "`socket = \"/run/dnstap.sock\"`, or `file = \"queries.dnstap\"`");
            }
            return None;
        }
    };
    let sample = sample.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    Some(dnstap::Settings { to, sample, identity: identity.map(Into::into) })
}

fn read_control(top: &Table<'_>) -> Control {
    let Some(table) = top.table("control") else { return Control::default() };
    Control { group: table.string("group", "dnsops").map(|found| found.value.into()) }
}

/// The `name` of a region, resolver or site: a word that can be typed on a command line and as a bare key.
pub(super) fn read_label<'a>(table: &Table<'a>, example: &str) -> Option<At<&'a str>> {
    if table.get("name").is_none() {
        table.missing("name", "nothing could refer to it", format!("`name = {example:?}`"));
    }
    let found = table.string("name", example)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !found.value.chars().all(fits) || found.value.starts_with('-') {
        table.wrong(
            &found.span,
            "name",
            format!("`{}` can't be a name", found.value),
            "it is typed on command lines and stands as a key in `[zone.routing]`",
            "ASCII letters, digits, `-` and `_`, not beginning with `-`",
        );
        return None;
    }
    Some(found)
}
