//! What is configured of the protocol: cookies, what the server says about itself, encrypted transports.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::read::{read_addresses, read_limits};
use super::table::{At, Table};
use super::{Server, TcpLimits};
use crate::net::Network;
use crate::serve::rrl::RateLimit;

/// The longest identity: with it an OPT record and a question fit into 512 octets, whatever else is asked for.
const MAX_IDENTITY: usize = 100;

/// DNS cookies (RFC 7873, RFC 9018).
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
pub struct Cookies {
    /// Whether cookies are answered at all.
    pub enabled: bool,
    /// Whether a client that knows cookies must show a good one before it is answered over UDP.
    pub required: bool,
    /// How long a key is used, if they are made from the kept secret.
    pub rollover: Duration,
    /// Keys that are shared with other servers, instead: the first makes cookies, the second is still taken.
    #[serde(skip)]
    pub secrets: Vec<[u8; 16]>,
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Cookies { enabled, required, rollover, secrets } = self;
        let secrets = secrets.len();
        f.debug_struct("Cookies")
            .field("enabled", enabled)
            .field("required", required)
            .field("rollover", rollover)
            .field("secrets", &secrets)
            .finish()
    }
}

impl Default for Cookies {
    fn default() -> Cookies {
        Cookies { enabled: true, required: false, rollover: Duration::from_secs(86_400), secrets: Vec::new() }
    }
}

/// Encrypted transports.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Encrypted {
    /// The addresses of DNS over TLS (RFC 7858).
    pub dot: Vec<SocketAddr>,
    /// The addresses of DNS over HTTPS (RFC 8484).
    pub doh: Vec<SocketAddr>,
    /// The addresses of DNS over QUIC (RFC 9250).
    pub doq: Vec<SocketAddr>,
    /// The path of DNS over HTTPS.
    pub doh_path: String,
    /// The certificate and those that it was signed by (PEM).
    pub certificate: PathBuf,
    /// The certificate's key (PEM).
    pub key: PathBuf,
    /// The limits of their connections.
    pub limits: TcpLimits,
}

impl Encrypted {
    /// All but the certificate, which a reload reads again: it takes a restart to change.
    pub fn listeners(&self) -> (&[SocketAddr], &[SocketAddr], &[SocketAddr], &str, &TcpLimits) {
        (&self.dot, &self.doh, &self.doq, &self.doh_path, &self.limits)
    }
}

/// Reads what `[server]` says of the protocol; paths are relative to `dir`.
pub(super) fn read_protocol(table: &Table<'_>, dir: &Path, server: &mut Server) {
    if let Some(At { value, span }) = table.string("identity", "ams1") {
        if value.len() > MAX_IDENTITY {
            let what = format!("has {} octets, and may have {MAX_IDENTITY}", value.len());
            table.wrong(&span, "identity", what, "it goes into small answers", "a short name, such as `ams1`");
        }
        server.identity = Some(value.into());
    }
    server.show_version = table.boolean("show_version").unwrap_or(false);
    if let Some(cookies) = table.table("server.cookies") {
        server.cookies = read_cookies(&cookies);
    }
    server.trusted_ecs = read_trusted(table);
    server.rate_limit = table.table("server.rate_limit").map(|limit| read_rate_limit(&limit));
    server.encrypted = table.table("server.encrypted").map(|encrypted| read_encrypted(&encrypted, dir));
}

fn read_cookies(table: &Table<'_>) -> Cookies {
    let usual = Cookies::default();
    let mut cookies = Cookies {
        enabled: table.boolean("enabled").unwrap_or(usual.enabled),
        required: table.boolean("required").unwrap_or(usual.required),
        ..usual
    };
    if let Some(At { value, span }) = table.time("rollover", "1d") {
        if value.seconds() < 3600 {
            let meaning = "cookies are good for an hour, and two keys are kept";
            table.wrong(&span, "rollover", "is shorter than an hour", meaning, "`rollover = \"1d\"`");
        }
        cookies.rollover = Duration::from_secs(value.seconds().into());
    }
    let example = "[\"00112233445566778899aabbccddeeff\"]";
    let Some(found) = table.strings("secrets", example) else { return cookies };
    for At { value, span } in &found.value {
        match secret(value) {
            Some(secret) => cookies.secrets.push(secret),
            None => {
                let remedy = "a key of 128 bits in 32 hexadecimal digits: `openssl rand -hex 16` makes one";
                table.wrong(span, "secrets", "holds something that is no key", "", remedy);
            }
        }
    }
    if !(1..=2).contains(&found.value.len()) {
        let meaning = "the first key makes cookies, a second one is still or already taken (RFC 9018 section 5)";
        table.wrong(&found.span, "secrets", "has to hold one or two keys", meaning, format!("`secrets = {example}`"));
    }
    cookies
}

fn secret(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    let octets: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 32 { octets.try_into().ok() } else { None }
}

/// Resolvers whose word is taken for where a client is: one who is not to be trusted could have itself told what any
/// client is told, and no more; but its caches would be filled with it.
fn read_trusted(table: &Table<'_>) -> Vec<Network> {
    let example = "[\"192.0.2.53\", \"2001:db8::/48\"]";
    let mut trusted: Vec<Network> = Vec::new();
    for At { value, span } in table.strings("trusted_ecs", example).map(|found| found.value).unwrap_or_default() {
        match value.parse() {
            Ok(network) if trusted.contains(&network) => {
                table.wrong(&span, "trusted_ecs", format!("`{network}` is listed twice"), "", "remove one of the two");
            }
            Ok(network) => trusted.push(network),
            Err::<Network, _>(what) => {
                table.wrong(&span, "trusted_ecs", what, "", format!("`trusted_ecs = {example}`"));
            }
        }
    }
    trusted
}

/// The table turns the limit on; what it leaves out is as usual.
fn read_rate_limit(table: &Table<'_>) -> RateLimit {
    let mut limit = RateLimit::default();
    let number = |name, range, example| table.integer(name, range, example).and_then(|found| u32::try_from(found).ok());
    let prefix = |name, bits, example| number(name, 1..=bits, example).and_then(|found| u8::try_from(found).ok());
    let per_second = number("per_second", 1..=1_000_000, 200).and_then(NonZeroU32::new);
    limit.per_second = per_second.unwrap_or(limit.per_second);
    if let Some(At { value, span }) = table.time("window", "1s") {
        if !(1..=3600).contains(&value.seconds()) {
            let meaning = "it is how much of the rate may come at once";
            table.wrong(&span, "window", "is not from 1 second to an hour", meaning, "`window = \"1s\"`");
        }
        limit.window = Duration::from_secs(value.seconds().into());
    }
    limit.slip = number("slip", 0..=100, 2).unwrap_or(limit.slip);
    limit.prefix_v4 = prefix("prefix_v4", 32, 24).unwrap_or(limit.prefix_v4);
    limit.prefix_v6 = prefix("prefix_v6", 128, 56).unwrap_or(limit.prefix_v6);
    let example = "[\"192.0.2.0/24\", \"2001:db8::/48\"]";
    for At { value, span } in table.strings("exempt", example).map(|found| found.value).unwrap_or_default() {
        match value.parse() {
            Ok(network) => limit.exempt.push(network),
            Err::<Network, _>(what) => table.wrong(&span, "exempt", what, "", format!("`exempt = {example}`")),
        }
    }
    limit
}

fn read_encrypted(table: &Table<'_>, dir: &Path) -> Encrypted {
    let addresses = |name, port: u16| {
        read_addresses(table, name, &format!("[\"192.0.2.1:{port}\", \"[2001:db8::1]:{port}\"]")).unwrap_or_default()
    };
    let file = |name: &str, example: &str| {
        if table.get(name).is_none() {
            table.missing(name, "without it no client could be spoken to", format!("`{name} = {example:?}`"));
        }
        table.string(name, example).map(|found| dir.join(found.value)).unwrap_or_default()
    };
    let encrypted = Encrypted {
        dot: addresses("dot", 853),
        doh: addresses("doh", 443),
        doq: addresses("doq", 853),
        doh_path: table.string("doh_path", "/dns-query").map_or("/dns-query", |found| found.value).into(),
        certificate: file("certificate", "ns1.pem"),
        key: file("key", "ns1.key"),
        limits: read_limits(table),
    };
    if encrypted.dot.is_empty() && encrypted.doh.is_empty() && encrypted.doq.is_empty() {
        let remedy = "`dot = [\"192.0.2.1:853\"]`, or remove the table";
        table.wrong(&table.span, "dot", "is missing, and so are `doh` and `doq`", "nothing would be encrypted", remedy);
    }
    encrypted
}
