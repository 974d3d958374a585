//! Odd packets: what the authors of the protocol want of a server, and what BIND, NSD and Knot do.

#[path = "../support/mod.rs"]
mod support;

mod cookies;
mod packet;
mod peers;
mod probes;
mod reasons;

use std::time::Duration;

use understudy::name::Name;
use understudy::serving::cookie::CookieSecret;
use understudy::serving::{Cookies, Serving, Settings};

/// The zone that all packets ask about.
const ZONE: &str = "\
$TTL 300
@ SOA ns hostmaster 7 3600 900 604800 20
  NS ns
  TXT \"apex\"
ns A 192.0.2.53
www A 192.0.2.1
    AAAA 2001:db8::1
    TXT \"one\" \"two\"
many A 192.0.2.1
many TXT \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
many TXT \"1123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
many TXT \"2123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
many TXT \"3123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
many TXT \"4123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
many TXT \"5123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
";

/// What the zone is served with.
fn settings() -> Settings {
    let secret = CookieSecret::Rolled { root: [5; 16], every: Duration::from_secs(86_400) };
    Settings {
        cookies: Some(Cookies { secret, required: false }),
        identity: Some("ams1".into()),
        version: Some("understudy of tests".into()),
        ..Settings::default()
    }
}

/// The zone, served.
fn serving(settings: Settings) -> std::sync::Arc<Serving> {
    support::engine::serve_with(
        settings,
        [(&Name::absolute("example").unwrap(), ZONE)],
        understudy::time::Timestamp::default(),
    )
}
