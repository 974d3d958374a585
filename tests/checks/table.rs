//! Zones, good and each wrong in one way: what a base zone is changed by.
//!
//! A line is added to the base, or removed from it with `~` in front; `{a|b}` stands for each of its parts in turn; so
//! does `<a|b>`, once in a change, and `#` for the part that was taken.

use std::collections::BTreeSet;

use understudy::zone::diagnostic::Severity::{self, Error, Warning};

/// A zone without a finding.
const BASE: &str = "$TTL 300
@ SOA ns1 hostmaster 1 3600 900 604800 300
@ NS ns1
@ NS ns2
ns1 A 192.0.2.1
ns2 A 198.51.100.1
";

/// A kind of finding, zones that have it, and siblings that have none.
pub struct Row {
    pub id: &'static str,
    pub severity: Severity,
    /// What is found beside it.
    pub also: &'static [&'static str],
    pub bad: &'static [&'static str],
    pub good: &'static [&'static str],
}

const fn row(severity: Severity, id: &'static str, bad: &'static [&'static str], good: &'static [&'static str]) -> Row {
    Row { id, severity, also: &[], bad, good }
}

/// The zone that `change` makes of the base.
pub fn zone_text(change: &str) -> String {
    let mut text = BASE.to_owned();
    for line in change.lines() {
        match line.strip_prefix('~') {
            Some(gone) => {
                assert!(text.contains(&format!("{gone}\n")), "the base has no `{gone}`");
                text = text.replace(&format!("{gone}\n"), "");
            }
            None => text.extend([line, "\n"]),
        }
    }
    text
}

/// All zones of the tables, each once.
pub fn all() -> BTreeSet<String> {
    ROWS.iter().flat_map(|row| [row.bad, row.good]).chain([ODD]).flat_map(cases).collect()
}

/// The zones of these changes, `{a|b}` expanded.
pub fn cases(changes: &[&str]) -> Vec<String> {
    let changes = changes.iter().flat_map(|change| bind(change)).flat_map(|change| expand(&change));
    changes.map(|change| zone_text(&change)).collect()
}

fn bind(text: &str) -> Vec<String> {
    let Some((front, rest)) = text.split_once('<') else { return vec![text.to_owned()] };
    let (parts, behind) = rest.split_once('>').expect("a bracket is closed");
    parts.split('|').map(|part| format!("{front}{part}{}", behind.replace('#', part))).collect()
}

fn expand(text: &str) -> Vec<String> {
    let Some((front, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let (parts, behind) = rest.split_once('}').expect("a brace is closed");
    parts.split('|').flat_map(|part| expand(&format!("{front}{part}{behind}"))).collect()
}

/// Odd, and nothing wrong with it.
pub const ODD: &[&str] = &[
    "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z TXT x",
    "*.*.a TXT x\na.*.a TXT x",
    "* A 192.0.2.9\n* AAAA 2001:db8::9\na.* TXT x",
    "a\\.b TXT x\na.b TXT y",
    "\\000\\255 TXT x\n\\* TXT x",
    "{a|*|a.b} TYPE{65280|65000} \\# {0|4 01020304}",
    "{a|@} {HINFO \"a\" \"b\"|LOC 52 N 4 E 0m|RP ns1 a|SSHFP 1 1 0000000000000000000000000000000000000000|URI 0 0 \"https://x\"}",
    "_25._tcp.mail TLSA 3 1 1 0000000000000000000000000000000000000000000000000000000000000000",
    "a {0|1|604800} A 192.0.2.9",
    "c1 CNAME c2\nc2 CNAME c3\nc3 CNAME c4\nc4 CNAME c5\nc5 CNAME c6\nc6 CNAME c7\nc7 CNAME c8\nc8 CNAME c9\nc9 CNAME ns1",
    "a DNAME b\nb A 192.0.2.9",
    "a DNAME a.other.\na A 192.0.2.9\na MX 10 ns1\na TXT x",
    "a.b NS ns1\nb TXT x",
    "a NS ns1\na NS ns2\na NS ns.a\nns.a A 192.0.2.9\nns.a AAAA 2001:db8::9",
    "a NS ns.b\nb NS ns.a\nns.a A 192.0.2.9\nns.b A 192.0.2.9",
    "@ A 192.0.2.9\n@ AAAA 2001:db8::9\n@ MX 10 @\n@ TXT x\n@ CAA 0 issue \";\"\n@ HTTPS 1 . alpn=h2",
    "@ MX 10 ns1\n@ MX 10 ns2\n@ MX 20 ns1",
    "a TXT \"\"\na TXT \"x\" \"y\"\na TXT \"\\000\\255\"",
    "0 A 192.0.2.9\n1.2.3.4 A 192.0.2.9\n4.3.2.1.in-addr.arpa PTR ns1",
    "xn--mnchen-3ya A 192.0.2.9\nXN--MNCHEN-3YA AAAA 2001:db8::9",
    "selector._domainkey TXT \"v=DKIM1; k=rsa; p=AAAA\"\n_dmarc TXT \"v=DMARC1; p=none\"",
    "a PTR {b|x.y|_a._tcp}\n_services._dns-sd._udp PTR _http._tcp",
    "_acme-challenge CNAME x.other.\n_acme-challenge.a TXT x\n_acme-challenge.a TXT y",
    "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ SOA {. .|ns.other. h.other.|ns1 hostmaster} {0|1|2147483648|4294967295} 3600 900 604800 300",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa TXT x",
    "a A {0.0.0.0|127.0.0.1|255.255.255.255|224.0.0.1}\nb AAAA {::|::1|ff02::1|::ffff:192.0.2.1}",
];

pub const ROWS: &[Row] = &[
    // The origin.
    row(Error, "no-soa", &["~@ SOA ns1 hostmaster 1 3600 900 604800 300"], &[""]),
    row(
        Error,
        "several-soas",
        &["@ SOA ns1 hostmaster {2|3} 3600 900 604800 300", "@ SOA ns2 hostmaster 1 3600 900 604800 300"],
        &[
            "@ SOA ns1 hostmaster 1 3600 900 604800 300",
            "@ SOA NS1 HOSTMASTER 1 3600 900 604800 300\n~@ SOA ns1 hostmaster 1 3600 900 604800 300",
        ],
    ),
    row(Error, "soa-not-at-origin", &["{a|*|a.b|ns1} SOA ns1 hostmaster 1 3600 900 604800 300"], &[]),
    row(
        Error,
        "no-ns",
        &["~@ NS ns1\n~@ NS ns2", "~@ NS ns1\n~@ NS ns2\nsub NS ns1"],
        &["~@ NS ns1\n~@ NS ns2\n@ NS ns1.other.\n@ NS ns2.other."],
    ),
    row(
        Warning,
        "lone-ns",
        &["~@ NS ns2", "~@ NS ns1", "~@ NS ns1\n~@ NS ns2\n@ NS ns.other."],
        &["~@ NS ns2\n@ NS ns.other."],
    ),
    row(
        Warning,
        "ns-one-network",
        &[
            "~ns2 A 198.51.100.1\nns2 A {192.0.2.1|192.0.2.254}",
            "~ns2 A 198.51.100.1\nns2 A 192.0.2.2\nns{1|2} AAAA 2001:db8::1",
            "~ns1 A 192.0.2.1\n~ns2 A 198.51.100.1\nns1 AAAA 2001:db8::1\nns2 AAAA 2001:db8:0:9::1",
            "~ns2 A 198.51.100.1\nns2 A 192.0.2.2\n@ NS ns3\nns3 A 192.0.2.3",
        ],
        &[
            "~ns2 A 198.51.100.1\nns2 A 192.0.3.1",
            "~ns2 A 198.51.100.1\nns2 A 192.0.2.2\n@ NS ns.other.",
            "~ns1 A 192.0.2.1\n~ns2 A 198.51.100.1\nns1 AAAA 2001:db8::1\nns2 AAAA 2001:db8:1::1",
            "~ns2 A 198.51.100.1\nns2 A 192.0.2.2\nns2 A 203.0.113.2",
        ],
    ),
    row(
        Warning,
        "ds-at-origin",
        &["@ DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000"],
        &[],
    ),
    row(
        Warning,
        "soa-ttl-above-minimum",
        &["~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ {301|9000|86400} SOA ns1 hostmaster 1 3600 900 604800 300"],
        &["~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ {0|60|299|300} SOA ns1 hostmaster 1 3600 900 604800 300"],
    ),
    row(
        Warning,
        "negative-ttl-too-long",
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ {86401|172800} SOA ns1 hostmaster 1 3600 900 604800 {172800|200000}",
        ],
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ {300|86400} SOA ns1 hostmaster 1 3600 900 604800 {86400|200000}",
        ],
    ),
    row(
        Warning,
        "soa-timers",
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ SOA ns1 hostmaster 1 {3600 7200 604800|3600 900 3600|3600 900 4499|3600 3601 604800|4294967295 1 4294967295} 300",
        ],
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ SOA ns1 hostmaster 1 {3600 900 4500|3600 3600 7200|1 1 2} 300",
        ],
    ),
    row(
        Warning,
        "rname-with-at",
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ SOA ns1 {host\\@wiki|host\\@wiki.example.} 1 3600 900 604800 300",
        ],
        &[
            "~@ SOA ns1 hostmaster 1 3600 900 604800 300\n@ SOA ns1 {host.wiki.example.|first\\.last.wiki.example.|.} 1 3600 900 604800 300",
        ],
    ),
    // What stands together.
    row(
        Error,
        "cname-and-other-data",
        &[
            "a CNAME b.other.\na {A 192.0.2.9|AAAA 2001:db8::1|TXT \"x\"|MX 10 ns1|SRV 0 0 1 ns1|CAA 0 issue \"ca.example\"|PTR ns1|HINFO \"a\" \"b\"|HTTPS 1 .|DNAME c.other.}",
            "a CNAME b.other.\na TYPE65000 \\# 1 00",
            "a TXT \"x\"\na CNAME {ns1|b.other.}",
            "@ CNAME {ns1|b.other.}",
            "<*|a.b.c|A> CNAME b.other.\n# AAAA 2001:db8::1",
        ],
        &[
            "a CNAME {b.other.|ns1}\nb TXT \"x\"",
            "a CNAME b.other.\na NSEC ns1 CNAME RRSIG NSEC",
            "a CNAME b.other.\na RRSIG CNAME 13 3 300 20300101000000 20200101000000 1 wiki.example. AAAA",
            "a CNAME b.other.\nx.a A 192.0.2.9",
            "* CNAME b.other.\na TXT \"x\"",
        ],
    ),
    row(
        Error,
        "several-cnames",
        &[
            "a CNAME b.other.\na CNAME {c.other.|ns1|B.b.other.}",
            "* CNAME b.other.\n* CNAME c.other.",
            "a CNAME b.other.\nA CNAME c.other.\na CNAME d.other.",
        ],
        &["a CNAME b.other.\na CNAME b.other.", "a CNAME b.other.\nb CNAME b.other."],
    ),
    row(
        Error,
        "several-dnames",
        &["a DNAME b.other.\na DNAME {c.other.|ns1|d.other.}"],
        &["a DNAME b.other.\na DNAME b.other.", "a DNAME b.other.\nb DNAME b.other."],
    ),
    row(
        Error,
        "out-of-zone",
        &["{a.other.|example.|awiki.example.|.|wiki.examples.|wiki.example.com.} {A 192.0.2.9|TXT \"x\"}"],
        &["{a.wiki.example.|WIKI.EXAMPLE.|a.b.Wiki.Example.} TXT \"x\""],
    ),
    row(Warning, "wildcard-ns", &["* NS ns1", "*.a NS {ns1|ns.other.}"], &["a.* NS ns1", "*a NS ns1"]),
    row(Warning, "wildcard-dname", &["* DNAME b.other.", "*.a DNAME b.other."], &["a DNAME b.other.", "x.a DNAME ns1"]),
    row(
        Warning,
        "unequal-ttls",
        &[
            "a 300 A 192.0.2.9\na {600|299|0} A 192.0.2.8",
            "a 600 <TXT|CAA 0 issue> \"x.example\"\na 300 # \"y.example\"",
            "a {300|600} A 192.0.2.9\na 450 A 192.0.2.9",
            "a 600 <MX 10|SRV 0 0 1|NS> ns1\na 300 # ns2",
        ],
        &[
            "a 300 A 192.0.2.9\na 600 AAAA 2001:db8::1",
            "a 300 A 192.0.2.9\na 300 A 192.0.2.8",
            "a 300 A 192.0.2.9\na 600 TXT x\na 300 RRSIG A 13 3 300 20300101000000 20200101000000 1 wiki.example. AAAA\na 600 RRSIG TXT 13 3 600 20300101000000 20200101000000 1 wiki.example. AAAA",
        ],
    ),
    row(
        Warning,
        "ttl-too-long",
        &["a {604801|9999999|2147483647} {A 192.0.2.9|TXT \"x\"}", "a 604801 A 192.0.2.9\nb 604802 A 192.0.2.9"],
        &["a {604800|0} A 192.0.2.9"],
    ),
    row(
        Warning,
        "not-a-host-name",
        &["{a_b|-b|b-|a\\032b|_a|x.-y|*.a_b|a\\@b|a\\195\\188} {A 192.0.2.9|MX 10 ns1|AAAA 2001:db8::1}"],
        &[
            "{a-b|1|a.1|*|A|xn--bcher-kva|*.a|gc._msdcs} {A 192.0.2.9|MX 10 ns1}",
            "{_a|a_b|_dmarc|x.-y|*.a_b} {TXT \"x\"|SRV 0 0 1 ns1|CNAME ns1}",
        ],
    ),
    // Cuts.
    row(
        Error,
        "below-dname",
        &[
            "a DNAME b.other.\n{b.a|*.a|c.b.a|B.A} {A 192.0.2.9|TXT \"x\"|CNAME ns1}",
            "@ DNAME b.other.\n~@ NS ns1\n~@ NS ns2\n@ NS n.other.\n@ NS m.other.",
        ],
        &[
            "a DNAME b.other.\n{a|ba|b} {A 192.0.2.9|TXT \"x\"}",
            "@ DNAME b.other.\n~@ NS ns1\n~@ NS ns2\n~ns1 A 192.0.2.1\n~ns2 A 198.51.100.1\n@ NS n.other.\n@ NS m.other.",
        ],
    ),
    row(Error, "dname-and-ns", &["a DNAME b.other.\na NS {ns1|n.other.}"], &["a NS ns1\nb DNAME b.other."]),
    row(
        Warning,
        "ds-without-ns",
        &["{a|ns1|x.y} DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000"],
        &["a NS ns1\na DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000"],
    ),
    row(
        Warning,
        "occluded",
        &[
            "sub NS ns1\n{sub|a.sub|a.b.sub|*.sub} {A 192.0.2.9|TXT \"x\"|MX 10 ns1}",
            "sub NS ns.sub\nns.sub A 192.0.2.9\n{ns.sub TXT \"x\"|ns2.sub A 192.0.2.9|ns.sub MX 10 ns1}",
            "sub NS ns1\na.sub {CNAME ns1|NS ns1|DNAME b.other.}",
        ],
        &[
            "sub NS {ns.sub|sub|a.b.sub}\n{ns.sub|sub|a.b.sub} A 192.0.2.9\nns.sub A 192.0.2.9\nsub A 192.0.2.9\na.b.sub A 192.0.2.9\nsub NS ns.sub\nsub NS sub\nsub NS a.b.sub",
            "sub NS ns1\nsubs TXT \"x\"\nsub NSEC subs NS RRSIG NSEC",
        ],
    ),
    row(
        Error,
        "unreachable-delegation",
        &[
            "sub NS {ns.sub|a.b.sub|sub|nix|NS.Sub}",
            "sub NS n1.sub\nsub NS {n2.sub|nix}",
            "sub NS ns.a\nns.a TXT \"x\"",
            "sub NS a\nns.a TXT \"x\"",
        ],
        &[
            "sub NS {ns1|ns.other.|NS1}",
            "sub NS ns.sub\nns.sub {A 192.0.2.9|AAAA 2001:db8::1}",
            "sub NS ns.w\n*.w A 192.0.2.9",
            "sub NS ns.bus\nbus NS ns1",
        ],
    ),
    row(
        Warning,
        "missing-glue",
        &["sub NS n1.sub\nsub NS {ns1|ns.other.}", "sub NS n1.sub\nsub NS n2.sub\nn{1|2}.sub A 192.0.2.9"],
        &["sub NS n1.sub\nsub NS n2.sub\nn1.sub A 192.0.2.9\nn2.sub AAAA 2001:db8::1"],
    ),
    row(
        Warning,
        "delegation-to-no-address",
        &["sub NS nix\nsub NS {ns1|ns.other.}", "sub NS t\nt TXT \"x\"\nsub NS ns1"],
        &["sub NS t\nt AAAA 2001:db8::1\nsub NS ns1"],
    ),
    row(
        Warning,
        "delegation-to-alias",
        &["sub NS c\nc CNAME {ns1|x.other.}", "sub NS x.d\nd DNAME b.other."],
        &["sub NS c\nc A 192.0.2.9"],
    ),
    // Targets.
    row(
        Error,
        "ns-without-address",
        &["@ NS {ns3|x.y.z}", "@ NS ns3\nns3 {TXT \"x\"|MX 10 ns1}", "@ NS ns3\nx.ns3 A 192.0.2.9"],
        &[
            "@ NS ns3\nns3 {A 203.0.113.9|AAAA 2001:db8::1}",
            "@ NS ns3.w\n*.w A 203.0.113.9",
            "@ NS ns3.other.",
            "@ NS ns.sub\nsub NS ns.sub\nns.sub A 203.0.113.9",
            "@ NS ns.sub\nsub NS ns.other.",
        ],
    ),
    row(
        Error,
        "ns-is-alias",
        &["@ NS ns3\nns3 CNAME {ns1|x.other.}", "@ NS ns3.w\n*.w CNAME ns1", "@ NS x.d\nd DNAME b.other."],
        &["c CNAME ns1"],
    ),
    row(Warning, "ns-is-root", &["{@|sub} NS ."], &[]),
    row(
        Warning,
        "target-is-address",
        &[
            "@ MX 10 {192.0.2.1|192.0.2.1.|10.0.0.1}",
            "_a._tcp SRV 0 0 1 {192.0.2.1|2001:db8::1|192.0.2.1.}",
            "a CNAME {192.0.2.1|192.0.2.1.|2001:db8::1}",
            "@ NS 192.0.2.1.",
        ],
        &["@ MX 10 {1.2.3.other.|256.0.2.1.other.|1.other.}"],
    ),
    Row { severity: Error, ..row(Error, "target-is-address", &["@ NS 192.0.2.1"], &[]) },
    row(
        Warning,
        "target-not-a-host-name",
        &[
            "@ {NS|MX 10} {a_b.other.|-a.other.|a-.other.|a\\032b.other.}",
            "_a._tcp SRV 0 0 1 {a_b.other.|_x._tcp.other.}",
            "sub NS a_b.other.",
        ],
        &["@ {NS|MX 10} {a-b.other.|1a.other.|xn--bcher-kva.other.}"],
    ),
    row(
        Warning,
        "target-is-alias",
        &[
            "{@ MX 10|_a._tcp SRV 0 0 1} m\nm CNAME {ns1|x.other.}",
            "{@ MX 10|_a._tcp SRV 0 0 1} m.w\n*.w CNAME ns1",
            "{@ MX 10|_a._tcp SRV 0 0 1} m.d\nd DNAME b.other.",
        ],
        &["{@ MX 10|_a._tcp SRV 0 0 1} {ns1|x.other.}", "a HTTPS 0 c\nc CNAME ns1"],
    ),
    row(
        Warning,
        "target-without-address",
        &[
            "{@ MX 10|_a._tcp SRV 0 0 1|a HTTPS 1|a SVCB 1} {m|x.y}",
            "{@ MX 10|_a._tcp SRV 0 0 1|a HTTPS 1} m\n{m TXT \"x\"|x.m A 192.0.2.9}",
        ],
        &[
            "{@ MX 10|_a._tcp SRV 0 0 1|a HTTPS 1} m\nm {A 192.0.2.9|AAAA 2001:db8::1}",
            "{@ MX 10|_a._tcp SRV 0 0 1} m.w\n*.w A 192.0.2.9",
            "_a._tcp SRV 0 0 1 .",
            "a {HTTPS|SVCB} 1 .",
            "@ MX 0 .",
            "sub NS ns1\n@ MX 10 mail.sub",
        ],
    ),
    row(Warning, "null-mx-not-alone", &["@ MX 0 .\n@ MX 10 {ns1|mail.other.}"], &["{@|a} MX 0 ."]),
    row(
        Warning,
        "cname-to-nowhere",
        &["a CNAME {b|x.y|ns3}", "* CNAME nix.ns1", "a CNAME b\nb CNAME c"],
        &[
            "a CNAME {ns1|b.other.|@}",
            "a CNAME b\nx.b TXT \"x\"",
            "a CNAME b.w\n*.w TXT \"x\"",
            "a CNAME x.sub\nsub NS ns1",
            "a CNAME x.d\nd DNAME b.other.",
            "c1 CNAME c2\nc2 CNAME c3\nc3 CNAME ns1",
        ],
    ),
    row(
        Warning,
        "cname-loop",
        &[
            "a CNAME a",
            "a CNAME b\nb CNAME a",
            "a CNAME b\nb CNAME c\nc CNAME {a|b|c}",
            "* CNAME proxy",
            "*.w CNAME {a.w|x.y.w}",
        ],
        &["* CNAME proxy\nproxy A 192.0.2.9", "a CNAME b\nb CNAME c\nc CNAME ns1", "*.w CNAME ns1\na CNAME x.w"],
    ),
    row(
        Warning,
        "origin-twice",
        &[
            "{a CNAME|@ MX 10|_a._tcp SRV 0 0 1|a PTR|a DNAME} ns1.wiki.example",
            "{a|A.b|*}.wiki.example {A 192.0.2.9|TXT \"x\"}",
            "a CNAME WIKI.Example",
            "sub NS ns.wiki.example\nsub NS ns1\nns.wiki.example A 192.0.2.9",
        ],
        &[
            "{a CNAME|@ MX 10|_a._tcp SRV 0 0 1|a PTR|a DNAME} ns1.wiki.example.",
            "a CNAME ns1.wiki.example.other.",
            "wiki A 192.0.2.9\na CNAME wiki",
            "example TXT \"x\"",
        ],
    ),
    Row { also: &["ns-without-address"], ..row(Warning, "origin-twice", &["@ NS ns1.wiki.example"], &[]) },
    // Texts.
    row(
        Warning,
        "several-spf",
        &[
            "{@|a} TXT \"v=spf1 -all\"\n{@|a} TXT \"v=spf1 {+all|mx -all}\"\n@ TXT \"v=spf1 a -all\"\na TXT \"v=spf1 a -all\"",
            "a TXT \"v=spf1\"\na TXT \"V=SPF1 a\"",
            "a TXT \"v=sp\" \"f1 -all\"\na TXT \"v=spf1 a\"",
        ],
        &[
            "a TXT \"v=spf1 -all\"\na TXT \"x\"",
            "a TXT \"v=spf1 -all\"\na TXT \"v=spf10 -all\"",
            "a TXT \"v=spf1 -all\"\nb TXT \"v=spf1 a\"",
        ],
    ),
    row(
        Warning,
        "spf-without-txt",
        &["{@|a} SPF \"v=spf1 -all\""],
        &["{@|a} SPF \"v=spf1 -all\"\n@ TXT \"v=spf1 -all\"\na TXT \"v=spf1 -all\""],
    ),
    row(
        Warning,
        "caa-unknown-tag",
        &["@ CAA {0|128} {isue|tbs|issueall} \"ca.example\""],
        &["@ CAA {0|128} {issue|ISSUE|issuewild|issuemail|issuevmc} \"ca.example\""],
    ),
    row(
        Warning,
        "caa-value",
        &[
            "@ CAA 0 {issue|issuewild|issuemail} {\"c_a.example\"|\"https://ca.example\"|\"ca example\"|\"-\"}",
            "@ CAA 0 iodef {\"security@wiki.example\"|\"\"|\"ftp://wiki.example\"}",
            "@ CAA 0 contactemail \"nobody\"",
        ],
        &[
            "@ CAA 0 issue {\"\"|\";\"|\"ca.example; account=230123\"|\"ca.example\"|\"; policy=ev\"}",
            "@ CAA 0 iodef {\"mailto:security@wiki.example\"|\"https://wiki.example/\"}",
            "@ CAA 0 contactphone \"+1\"",
            "@ CAA 0 contactemail \"security@wiki.example\"",
        ],
    ),
    // DNSSEC, signatures aside.
    row(
        Warning,
        "nsec3-iterations-not-0",
        &[
            "@ NSEC3PARAM 1 0 <1|5|2500> -\nCK0POJMG874LJREF7EFN8430QVIT8BSM NSEC3 1 0 # - CK0POJMG874LJREF7EFN8430QVIT8BSM A",
        ],
        &[
            "@ NSEC3PARAM 1 0 0 -\nCK0POJMG874LJREF7EFN8430QVIT8BSM NSEC3 1 {0|1} 0 - CK0POJMG874LJREF7EFN8430QVIT8BSM A",
        ],
    ),
    row(
        Error,
        "nsec3-iterations",
        &[
            "@ NSEC3PARAM 1 0 <2501|65535> -\nCK0POJMG874LJREF7EFN8430QVIT8BSM NSEC3 1 0 # - CK0POJMG874LJREF7EFN8430QVIT8BSM A",
        ],
        &[],
    ),
    row(
        Warning,
        "nsec3param-without-chain",
        &[
            "@ NSEC3PARAM 1 0 0 -",
            "@ NSEC3PARAM 1 0 0 -\nCK0POJMG874LJREF7EFN8430QVIT8BSM NSEC3 1 0 {1 -|0 AABB} CK0POJMG874LJREF7EFN8430QVIT8BSM A",
        ],
        &[],
    ),
    row(
        Warning,
        "nsec3-salt",
        &[
            "@ NSEC3PARAM 1 0 0 <AABB|00>\nCK0POJMG874LJREF7EFN8430QVIT8BSM NSEC3 1 0 0 # CK0POJMG874LJREF7EFN8430QVIT8BSM A",
        ],
        &[],
    ),
    row(
        Warning,
        "rrsig-covers-nothing",
        &[
            "a A 192.0.2.9\na RRSIG AAAA 13 3 300 20300101000000 20200101000000 1 wiki.example. AAAA",
            "a RRSIG {A|NSEC} 13 3 300 20300101000000 20200101000000 1 wiki.example. AAAA",
        ],
        &["a A 192.0.2.9\na RRSIG A 13 3 300 20300101000000 20200101000000 1 wiki.example. AAAA"],
    ),
    row(
        Warning,
        "dnskey-without-sep",
        &["@ DNSKEY {256|0} 3 15 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="],
        &[
            "@ DNSKEY 257 3 15 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "@ DNSKEY 257 3 15 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n@ DNSKEY 256 3 15 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=",
        ],
    ),
    row(
        Warning,
        "ds-digest",
        &["a NS ns1\na DS 1 13 {3|5|9} 0000000000000000000000000000000000000000000000000000000000000000"],
        &[
            "a NS ns1\na DS 1 13 4 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
        ],
    ),
    row(
        Warning,
        "ds-sha1",
        &["a NS ns1\na DS 1 13 1 0000000000000000000000000000000000000000"],
        &[
            "a NS ns1\na DS 1 13 1 0000000000000000000000000000000000000000\na DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000",
        ],
    ),
    row(Warning, "caa-flags", &["@ CAA {1|64|129|255} issue \"ca.example\""], &["@ CAA {0|128} issue \"ca.example\""]),
];
