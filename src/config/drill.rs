//! Drills: `[drill]` and `[zone.drill]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::nearest::UnknownName;
use super::read::read_addresses;
use super::table::{At, Table};
use crate::drill::window::Window;
use crate::drill::{Policy, Required};

/// What becomes of a move that was not drilled, as it is written.
const REQUIRED: [(&str, Required); 2] = [("warn", Required::Warn), ("block", Required::Block)];

/// Where drills are answered if nobody says so: a free port that only this host reaches.
pub(super) fn usual_listen() -> Vec<SocketAddr> {
    vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]
}

/// Where drills are answered. `serving` are the addresses that zones are served from.
pub(super) fn read_listen(top: &Table<'_>, serving: &[SocketAddr]) -> Vec<SocketAddr> {
    let example = "[\"127.0.0.1:5301\"]";
    let Some(table) = top.table("drill") else { return usual_listen() };
    let Some(listen) = read_addresses(&table, "listen", example) else { return usual_listen() };
    let span = table.get("listen").map_or(table.span.clone(), |found| found.span());
    if listen.is_empty() {
        let remedy = "list an address and port, or remove the key for a free port of 127.0.0.1";
        table.wrong(&span, "listen", "is empty", "no drill could be asked anything", remedy);
    }
    let is_shared = |address: &SocketAddr, other: &SocketAddr| {
        address.port() != 0
            && other.port() == address.port()
            && (other.ip() == address.ip() || other.ip().is_unspecified() || address.ip().is_unspecified())
    };
    for address in &listen {
        if let Some(other) = serving.iter().find(|other| is_shared(address, other)) {
            let what = format!("`{address}` is within `{other}` of `server.listen`");
            let meaning = "a drill is answered beside the public, and never to it";
            table.wrong(&span, "listen", what, meaning, "another address or port");
        }
    }
    listen
}

/// How a zone is drilled; none where nobody has asked for that.
pub(super) fn read_policy(zone: &Table<'_>) -> Option<Policy> {
    let table = zone.table("zone.drill")?;
    let usual = Policy::default();
    let time = |name, example| {
        let found = table.time(name, example)?;
        if found.value.seconds() == 0 {
            let remedy = format!("`{name} = {example:?}`");
            table.wrong(&found.span, name, "is 0", "there would be nothing but drills, or none would do", remedy);
        }
        Some(Duration::from_secs(found.value.seconds().into()))
    };
    let every = time("every", "7d");
    if let (None, None, Some(found)) = (&every, table.get("every"), table.get("quiet")) {
        let meaning = "it says when drills may begin by themselves, and none does";
        table.wrong(&found.span(), "quiet", "is set without `every`", meaning, "`every = \"7d\"`, or remove `quiet`");
    }
    Some(Policy {
        every,
        quiet: read_quiet(&table),
        max_age: time("max_age", "30d").unwrap_or(usual.max_age),
        required: read_required(&table).unwrap_or(usual.required),
        deadline: time("deadline", "1d").unwrap_or(usual.deadline),
    })
}

fn read_quiet(table: &Table<'_>) -> Vec<Window> {
    const EXAMPLE: &str = "[\"02:00-05:00\"]";
    let Some(found) = table.strings("quiet", EXAMPLE) else { return Vec::new() };
    let mut windows = Vec::new();
    for At { value, span } in &found.value {
        match value.parse() {
            Ok(window) => windows.push(window),
            Err(what) => {
                let what: String = what;
                table.wrong(span, "quiet", what, "", format!("`quiet = {EXAMPLE}`, by UTC"));
            }
        }
    }
    windows
}

fn read_required(table: &Table<'_>) -> Option<Required> {
    const KEY: &str = "required";
    let found = table.string(KEY, "warn")?;
    let known = REQUIRED.iter().find(|(word, _)| *word == found.value);
    if known.is_none() {
        let unknown = UnknownName::new("word", found.value, REQUIRED.iter().map(|(word, _)| *word));
        let what = format!("`{}` does not say what becomes of a move that was not drilled", found.value);
        table.wrong(&found.span, KEY, what, "", unknown.advice());
    }
    known.map(|(_, required)| *required)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Config, Problems, read};

    fn read_text(top: &str, zone: &str) -> Result<Config, Problems> {
        let text = format!(
            "version = 1\n[server]\nlisten = ['0.0.0.0:5300']\n{top}\n[[zone]]\nname = 'a'\nfile = 'a'\n{zone}\n"
        );
        read(Path::new("understudy.toml"), &text)
    }

    #[test]
    fn drills_are_configured_or_not() {
        let config = read_text("", "").unwrap();
        assert_eq!((&config.zones[0].drill, config.drill_listen), (&None, usual_listen()));
        let config = read_text("[drill]\nlisten = ['127.0.0.1:5301']", "[zone.drill]").unwrap();
        assert_eq!(config.zones[0].drill, Some(Policy::default()));
        assert_eq!(config.drill_listen, ["127.0.0.1:5301".parse().unwrap()]);
        let keys = "every = '7d'\nquiet = ['02:00-05:00', '23:00-00:30']\nmax_age = '14d'\nrequired = 'block'\ndeadline = '2h'";
        let day = Duration::from_secs(86_400);
        let wanted = Policy {
            every: Some(7 * day),
            quiet: vec!["02:00-05:00".parse().unwrap(), "23:00-00:30".parse().unwrap()],
            max_age: 14 * day,
            required: Required::Block,
            deadline: day / 12,
        };
        assert_eq!(read_text("", &format!("[zone.drill]\n{keys}")).unwrap().zones[0].drill, Some(wanted));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (top, zone, said) in [
            ("[drill]\nlisten = []", "", "is empty"),
            ("[drill]\nlisten = ['127.0.0.1:5300']", "", "is within `0.0.0.0:5300` of `server.listen`"),
            ("[drill]\nlisten = ['127.0.0.1']", "", "`127.0.0.1:53`"),
            ("", "[zone.drill]\nevery = 0", "is 0"),
            ("", "[zone.drill]\nquiet = ['02:00-05:00']", "is set without `every`"),
            ("", "[zone.drill]\nevery = '7d'\nquiet = ['at night']", "no stretch of the day"),
            ("", "[zone.drill]\nrequired = 'blok'", "did you mean `block`?"),
            ("", "[zone.drill]\nmax_ago = '7d'", "`max_age`"),
        ] {
            let wrong = read_text(top, zone).unwrap_err().to_string();
            assert!(wrong.contains(said), "{top}{zone}: {wrong}");
        }
    }
}
