//! Configurations that are right, that are wrong, and that nobody would write.

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"version = 1
state_dir = "var"
include_outside = true

[server]
listen = ["127.0.0.1:5300", "[::1]:0"]
workers = 2
user = "understudy"
group = "dns"
udp_payload = 1400
tcp = { connections = 10, per_client = 3, idle = "5s", write = 7 }
identity = "ams1"
show_version = true
trusted_ecs = ["198.51.100.0/24", "2001:db8:9::53"]

[server.cookies]
required = true
rollover = "12h"
secrets = ["00112233445566778899aabbccddeeff", "FFEEDDCCBBAA99887766554433221100"]

[server.encrypted]
dot = ["127.0.0.1:853"]
doq = ["127.0.0.1:853"]
doh_path = "/q"
certificate = "tls/ns1.pem"
key = "/etc/tls/ns1.key"
per_client = 5

[dnstap]
socket = "/run/dnstap.sock"
sample = 100

[control]
group = "dnsops"

[[region]]
name = "europe"
networks = ["192.0.2.0/24", "2001:db8:e::/48"]

[[region]]
name = "lab"
networks = ["192.0.2.128/25"]

[[resolver]]
name = "quad9"
networks = ["198.51.100.0/24", "2001:db8:9::/48"]
address = "198.51.100.9"

[[resolver]]
name = "campus"
networks = ["198.51.100.128/25"]

[[resolver]]
name = "upstream"
address = ["192.0.2.8", "[2001:db8::8]:8853"]
transport = "dot"
rate = 5

[canary]
zone = "_canary.wiki.example"
listen = ["127.0.0.2:53"]
addresses = ["192.0.2.54"]
contact = "noc@wiki.example"

[probe]
ttls = ["5m", "30s"]
watch = "10m"
daily_questions = 900
expires = "3d"
background = true

[[zone]]
name = "wiki.example"
file = "wiki.example.zone"
negative_ttl = "20s"
max_ttl = 300
may_vanish = ["*.lab.wiki.example", "old", "*.x.wiki.example."]
blast_radius = { percent = 5, names = 3 }

  [[zone.site]]
  name = "knams"
  file = "wiki.example.knams.zone"

  [[zone.site]]
  name = "pmtpa"
  file = "/etc/zones/pmtpa.zone"

  [zone.routing]
  europe = ["knams", "pmtpa"]
  default = ["pmtpa", "knams"]

[[zone]]
name = "plain.example."
file = "plain.example.zone"
"#;

fn read_text(text: &str) -> Result<Config, Problems> {
    read(Path::new("etc/understudy.toml"), text)
}

#[test]
fn a_time_that_is_too_long_is_one_all_the_same() {
    let said = |time: &str| {
        let text = format!("version = 1\n[exposures]\nretention = \"{time}\"\n");
        read(Path::new("understudy.toml"), &text).unwrap_err().to_string()
    };
    for long in ["100000d", "9999999999", "1w99999d"] {
        assert!(said(long).contains(&format!("`{long}` is longer than any time can be")), "{}", said(long));
    }
    assert!(said("1 day").contains("`1 day` is not a time"), "{}", said("1 day"));
}

#[test]
fn everything_is_resolved() {
    insta::assert_debug_snapshot!("good", read_text(GOOD).unwrap());
    let least = "version = 1\n[[zone]]\nname = \"a.example\"\nfile = \"a\"";
    assert_eq!(
        read_text(least).unwrap(),
        Config {
            file: Some("etc/understudy.toml".into()),
            dir: "etc".into(),
            state_dir: Some("etc/var".into()),
            zones: vec![ZoneConfig::bare("a.example".parse().unwrap(), "a".into())],
            ..Config::bare()
        }
    );
    assert_eq!(read_text(&least.replace('\n', "\r\n")).unwrap(), read_text(least).unwrap());
}

#[test]
fn what_is_wrong_about_the_protocol_is_named() {
    for (server, said) in [
        ("[server.cookies]\nrollover = 60", "shorter than an hour"),
        ("[server.cookies]\nsecrets = []", "one or two keys"),
        ("[server.cookies]\nsecrets = [\"00112233445566778899aabbccddeef\"]", "no key"),
        ("[server.cookies]\nsecrets = [\"00112233445566778899aabbccddeefé\"]", "no key"),
        ("[server.encrypted]\ncertificate = \"a\"\nkey = \"b\"", "`doh` and `doq`"),
        ("[server.encrypted]\ndot = [\"127.0.0.1:853\"]\nkey = \"b\"", "is missing"),
        ("[server.encrypted]\ndot = [\"127.0.0.1\"]\ncertificate = \"a\"\nkey = \"b\"", "not an address and port"),
        (
            "[server]\nidentity = \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789x\"",
            "has 101 octets",
        ),
    ] {
        let wrong = read_text(&format!("version = 1\n{server}\n")).unwrap_err().to_string();
        assert!(wrong.contains(said), "{server}: {wrong}");
    }
    assert!(!format!("{:?}", read_text(GOOD).unwrap()).contains("0x11"), "no secret is shown");
}

#[test]
fn what_is_wrong_about_dnstap_is_named() {
    for (keys, said) in [
        ("", "`socket = \"/run/dnstap.sock\"`, or `file"),
        ("socket = 'a'\nfile = 'b'", "is set beside `socket`"),
        ("socket = 'a'\nfile_mib = 5", "is set without `file`"),
        ("socket = 'a'\nsample = 0", "from 1 to 1000000"),
        ("sokcet = 'a'", "`socket`"),
        ("socket = ''", "is an empty string"),
    ] {
        let wrong = read_text(&format!("version = 1\n[dnstap]\n{keys}\n")).unwrap_err().to_string();
        assert!(wrong.contains(said), "{keys}: {wrong}");
    }
}

#[test]
fn names_are_looked_up_with_advice() {
    let config = read_text(GOOD).unwrap();
    assert_eq!(config.zone("PLAIN.example").unwrap().name, config.zones[1].name);
    assert_eq!(config.zone("wiki.exmaple").unwrap_err().advice(), "did you mean `wiki.example`?");
    assert_eq!(config.region("default"), Ok("default"));
    assert_eq!(config.region("eurpoe").unwrap_err().advice(), "did you mean `europe`?");
    let zone = &config.zones[0];
    assert_eq!(zone.site("pmpta").unwrap_err().advice(), "did you mean `pmtpa`?");
    assert_eq!(zone.site("x").unwrap_err().to_string(), "there is no site `x`; the sites here are: `knams`, `pmtpa`");
    assert_eq!(zone.preference("europe"), ["knams", "pmtpa"]);
    assert_eq!(zone.preference("lab"), ["pmtpa", "knams"]);
}

/// What a configuration says, besides a first line with its version.
const BROKEN: &[(&str, &str)] = &[
    ("no zone", ""),
    (
        "slips of the pen",
        "statedir = 'var'\nlisten = ['[::1]:53']\n[[zone]]\nnaem = 'a.example'\nfiel = 'a'\nmax-ttl = 5",
    ),
    (
        "features that do not exist yet",
        "[[zone]]\nname = 'a'\nfile = 'a'\n[zone.policy]\nbake = '15m'\n[[zone.check]]\nname = 'www'",
    ),
    (
        "wrong types",
        "state_dir = 5\ninclude_outside = 'yes'\nserver = 7\ncontrol = ['dnsops']\nregion = 'europe'\n[zone]\nname = 'a'",
    ),
    (
        "wrong types in tables",
        "[server]\nlisten = '127.0.0.1:53'\nworkers = '4'\nuser = true\nudp_payload = 1.5\n[server.tcp]\nidle = 1979-05-27\n\
         [[zone]]\nname = 5\nfile = ['a']\nsite = ['knams', {name = 'b'}]\nmay_vanish = ['x', 5]\nblast_radius = 10\nrouting = 'b'",
    ),
    (
        "values out of range",
        "[server]\nworkers = 0\nudp_payload = 65535\nlisten = []\n[server.tcp]\nconnections = -1\nidle = 0\nwrite = '10x'\n\
         [[zone]]\nname = 'a'\nfile = ''\nmax_ttl = 2147483648\nnegative_ttl = '1h1h'\nblast_radius = { percent = 101, names = -1 }",
    ),
    (
        "addresses",
        "[server]\nlisten = ['192.0.2.1', '::1', '5300', 'localhost:53', '127.0.0.1:53', '127.0.0.1:53']\ngroup = 'dns'\n\
         [[zone]]\nname = 'a'\nfile = 'a'",
    ),
    (
        "regions",
        "[[region]]\nname = 'europe'\nnetworks = ['192.0.2.0/24', '192.0.2.1/24', 'everywhere']\n\
         [[region]]\nname = 'europe'\n[[region]]\nname = 'default'\nnetworks = []\n\
         [[region]]\nname = 'asia'\nnetworks = ['192.0.2.0/24', '198.51.100.0/24', '198.51.100.0/24']\n\
         [[region]]\nnetworks = ['203.0.113.0/24']\n[[zone]]\nname = 'a'\nfile = 'a'",
    ),
    (
        "resolvers",
        "[server]\ntrusted_ecs = ['192.0.2.53', '192.0.2.53', '192.0.2.1/24', 5]\n\
         [[resolver]]\nname = 'quad9'\nnetworks = ['192.0.2.0/24']\naddress = '9.9.9.9:x'\n[[resolver]]\nname = 'quad9'\n\
         [[resolver]]\nname = 'default'\nnetworks = ['192.0.2.0/24', '192.0.2.0/25']\nadress = '::1'\n\
         [[zone]]\nname = 'a'\nfile = 'a'",
    ),
    (
        "probing",
        "[server]\nlisten = ['192.0.2.1:53']\n[canary]\nzone = 'a..b'\nlisten = ['192.0.2.1:53', '0.0.0.0:53', '192.0.2.2']\n\
         addresses = ['192.0.2.1:53']\n[probe]\nttls = ['0', '8d', 'soon']\nwatch = 'long'\n\
         [[resolver]]\nname = 'a'\naddress = ['::1', 'b']\ntransport = 'doh'\nrate = 0\n[[zone]]\nname = 'a'\nfile = 'a'",
    ),
    (
        "probing where zones are served",
        "[server]\nlisten = ['192.0.2.1:53']\n[canary]\nzone = 'Wiki.example'\nlisten = []\naddresses = ['192.0.2.1']\n\
         [[zone]]\nname = 'wiki.example'\nfile = 'a'",
    ),
    ("probing without a place", "[canary]\n[probe]\nttls = []\n[[zone]]\nname = 'a'\nfile = 'a'"),
    (
        "zones twice, without a file, without a name, with wrong names",
        "[[zone]]\nname = 'wiki.example'\n[[zone]]\nname = 'WIKI.example.'\nfile = 'a'\n[[zone]]\nfile = 'b'\n\
         [[zone]]\nname = 'a..b'\nfile = 'c'\n[[zone]]\nname = '*.c.example'\nfile = 'd'\n[[zone]]\nname = 'wïki.example'\nfile = 'e'",
    ),
    (
        "names that are not in the zone",
        "[[zone]]\nname = 'wiki.example'\nfile = 'a'\nmay_vanish = ['www.other.example.', 'a b', 'fine', '*.lab.wiki.example', '\\999']",
    ),
    (
        "sites",
        "[[zone]]\nname = 'a'\n[[zone.site]]\nname = 'knams'\nfile = 'x'\n[[zone.site]]\nname = 'knams'\nfile = 'y'\n\
         [[zone.site]]\nname = 'St. Petersburg'\nfile = 'z'\n[[zone.site]]\nname = 'pmtpa'\n[[zone]]\nname = 'b'\nsite = []",
    ),
    (
        "routing",
        "[[region]]\nname = 'europe'\nnetworks = ['192.0.2.0/24']\n\
         [[zone]]\nname = 'a'\nfile = 'a'\nsite = [{ name = 'knams' }, { name = 'pmtpa' }]\n\
         [zone.routing]\neurpoe = ['knams']\neurope = ['knasm', 'eqiad', 'pmtpa', 'pmtpa']\ndefault = []\nasia = 'knams'",
    ),
    ("columns count characters", "[[zone]]\nname = 'a'\nfile = 'a'\nblast_radius = { 'ä' = 1, x = 5 }"),
    ("syntax", "[[zone]\nname = 'a'\nfile = \n[server\n"),
];

#[test]
fn broken_configurations_are_explained() {
    let mut shown = String::new();
    for (title, text) in BROKEN {
        let problems = read_text(&format!("version = 1\n{text}")).unwrap_err();
        let _ = writeln!(shown, "# {title}\n{problems}\n");
    }
    for text in ["", "version = 2", "version = '1'"] {
        let problems = read_text(&format!("{text}\n[[zone]]\nname = 'a'\nfile = 'a'")).unwrap_err();
        let _ = writeln!(shown, "# {text:?}\n{problems}\n");
    }
    insta::assert_snapshot!("broken", shown);
}

/// A table that were read twice would say so by each of its slips twice.
#[test]
fn a_slip_is_told_once_in_whichever_table_it_is() {
    let tables = super::table::SCHEMA.iter().map(|(path, _)| *path).filter(|path| !path.is_empty());
    let mut text = "version = 1\nodd = 1\n".to_owned();
    for path in tables {
        let is_array = matches!(path, "region" | "resolver" | "zone" | "zone.site");
        let head = if is_array { format!("[[{path}]]") } else { format!("[{path}]") };
        let _ = writeln!(text, "{head}\nodd = 1");
    }
    // A second zone does not make it twice as many of the first one's.
    let again = "[[zone]]\nodd = 1\n[zone.policy]\nodd = 1\nspare_levers = 9\n[zone.drill]\nodd = 1\n";
    let problems = read_text(&(text + again)).unwrap_err().0;
    let told = problems.iter().map(|problem| (problem.line, problem.column, &problem.key, &problem.what));
    let mut told: Vec<_> = told.collect();
    let odd = told.iter().filter(|(.., what)| *what == "there is no such key").count();
    assert_eq!(odd, super::table::SCHEMA.len() + 3, "{problems:#?}");
    let all = told.len();
    told.dedup();
    assert_eq!(told.len(), all, "{problems:#?}");
}

/// One slip each: what to replace in `GOOD`, by what, and the key that has to be complained about.
const SLIPS: &[(&str, &str, &str)] = &[
    ("version = 1", "version = 9", "version"),
    ("include_outside = true", "include_outsiide = true", "include_outsiide"),
    ("workers = 2", "workers = -2", "server.workers"),
    ("udp_payload = 1400", "udp_paylod = 1400", "server.udp_paylod"),
    ("per_client = 3", "per_client = []", "server.tcp.per_client"),
    ("\"192.0.2.0/24\"", "\"192.0.2.0/34\"", "region.networks"),
    ("\"198.51.100.128/25\"", "\"198.51.100.128/24\"", "resolver.networks"),
    ("address = \"198", "address = \"999", "resolver.address"),
    ("transport = \"dot\"", "transport = \"dto\"", "resolver.transport"),
    ("listen = [\"127.0.0.2:53\"]", "listen = [\"127.0.0.2\"]", "canary.listen"),
    ("daily_questions = 900", "daily_questions = -1", "probe.daily_questions"),
    ("trusted_ecs = [", "trusted_ecs = [9, ", "server.trusted_ecs"),
    ("group = \"dnsops\"", "grupo = \"dnsops\"", "control.grupo"),
    ("negative_ttl = \"20s\"", "negative_ttl = \"20q\"", "zone.negative_ttl"),
    ("max_ttl = 300", "max_ttl = -300", "zone.max_ttl"),
    ("\"old\"", "555", "zone.may_vanish"),
    ("percent = 5", "percentage = 5", "zone.blast_radius.percentage"),
    ("name = \"pmtpa\"", "name = \"pm tpa\"", "zone.site.name"),
    ("europe = [", "eruope = [", "zone.routing.eruope"),
    ("name = \"plain.example.\"", "name = \"plain..example.\"", "zone.name"),
];

proptest! {
    /// However many slips there are, one run names them all.
    #[test]
    fn one_run_finds_all(chosen in proptest::sample::subsequence(SLIPS, 1..=SLIPS.len())) {
        let text = chosen.iter().fold(GOOD.to_owned(), |text, (right, wrong, _)| text.replacen(right, wrong, 1));
        let problems = read_text(&text).unwrap_err().0;
        for (_, wrong, key) in &chosen {
            let line = text[..text.find(wrong).unwrap()].lines().count().max(1);
            prop_assert!(
                problems.iter().any(|problem| problem.key == *key && problem.line.abs_diff(line) <= 1),
                "{key} near line {line} is not in {problems:#?}"
            );
        }
        prop_assert!(problems.is_sorted_by_key(|problem| (problem.line, problem.column)));
    }

    /// No text makes reading panic, and every problem has a place in it.
    #[test]
    fn no_text_is_too_odd(cuts in proptest::collection::vec((0..GOOD.len(), 0..GOOD.len(), 0..40usize, ".{0,6}"), 0..6)) {
        let mut text: Vec<u8> = GOOD.into();
        for (at, from, len, noise) in cuts {
            let at = at.min(text.len());
            let piece = GOOD.as_bytes()[from..(from + len).min(GOOD.len())].to_vec();
            text.splice(at..(at + len / 2).min(text.len()), piece.into_iter().chain(noise.bytes()));
        }
        let text = String::from_utf8_lossy(&text);
        if let Err(problems) = read_text(&text) {
            prop_assert!(!problems.0.is_empty());
            for problem in &problems.0 {
                prop_assert!(problem.line >= 1 && problem.line <= text.split('\n').count() && problem.column >= 1);
            }
        }
    }
}

#[test]
fn the_source_is_a_file_or_the_command_line() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("u.toml");
    let missing = Source { origin: Origin::File(Some(path.clone())), ..Source::default() };
    assert!(matches!(missing.load(), Err(SourceError::Unreadable { .. })));
    std::fs::write(&path, "version = 1\nstate_dir = 'elsewhere'\n[server]\nworkers = 0\n").unwrap();
    assert!(matches!(missing.load(), Err(SourceError::Wrong(problems)) if problems.0.len() == 2));
    assert_eq!(missing.state_dir().unwrap(), Some(here.path().join("elsewhere")), "it is found in a broken file, too");

    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let zone = ("a.example".parse().unwrap(), PathBuf::from("a.zone"));
    let bare = Source { origin: Origin::Bare(vec![zone]), listen: vec![listen], ..Source::default() };
    let config = bare.load().unwrap();
    assert_eq!((config.state_dir, config.server.listen, config.zones.len()), (None, vec![listen], 1));
}
