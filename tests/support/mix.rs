//! A zone of any size and the queries that go with it, always the same: hosts, aliases, mail, text, delegations and
//! wildcards in the proportions of a large company's zone.

use std::fmt::Write as _;

/// The origin of the zone.
pub const ORIGIN: &str = "bench.test";

/// A zone of so many names.
pub struct Mix {
    names: Vec<(Kind, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Host,
    DualHost,
    Alias,
    Mail,
    Text,
    Cut,
    Wildcard,
}

/// Of each hundred names.
const SHARES: [(Kind, usize); 7] = [
    (Kind::Host, 54),
    (Kind::DualHost, 21),
    (Kind::Alias, 12),
    (Kind::Mail, 6),
    (Kind::Text, 2),
    (Kind::Cut, 3),
    (Kind::Wildcard, 2),
];

/// Numbers that look random, the same every time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % bound as u64) as usize
    }

    fn word(&mut self, letters: usize) -> String {
        (0..letters).map(|_| (b'a' + self.below(26) as u8) as char).collect()
    }
}

impl Mix {
    /// A zone of `count` names.
    pub fn of(count: usize) -> Mix {
        let mut numbers = Numbers(count as u64);
        let kinds: Vec<Kind> = SHARES.iter().flat_map(|(kind, share)| vec![*kind; *share]).collect();
        let names = (0..count).map(|number| {
            let kind = kinds[numbers.below(kinds.len())];
            let letters = 3 + numbers.below(8);
            let name = match number % 5 {
                0 if !matches!(kind, Kind::Cut | Kind::Wildcard) => {
                    format!("{}.{}{number}", numbers.word(3), numbers.word(letters))
                }
                1 => format!("static-{number}"),
                _ => format!("{}{number}", numbers.word(letters)),
            };
            (kind, name)
        });
        Mix { names: names.collect() }
    }

    /// The master file; of two versions each address of a hundred differs.
    pub fn text(&self, version: u32) -> String {
        let mut text = format!(
            "$ORIGIN {ORIGIN}.\n$TTL 60\n@ 300 IN SOA ns1 hostmaster {version} 3600 600 604800 30\n@ NS ns1\n@ NS ns2\n\
             ns1 A 192.0.2.1\nns2 A 192.0.2.2\nmx1 A 192.0.2.25\n"
        );
        for (number, (kind, name)) in self.names.iter().enumerate() {
            let last = if number % 100 == 0 { version as usize } else { 7 };
            let (a, b) = (number >> 8 & 0xFF, number & 0xFF);
            let name = format!("{name}.{ORIGIN}.");
            let _ = match kind {
                Kind::Host => writeln!(text, "{name} 60 IN A 10.{a}.{b}.{last}"),
                Kind::DualHost => {
                    writeln!(text, "{name} 120 IN A 10.{a}.{b}.{last}\n{name} 120 IN AAAA 2001:db8::{a:x}:{b:x}")
                }
                Kind::Alias => writeln!(text, "{name} 30 IN CNAME {}.{ORIGIN}.", self.target(number)),
                Kind::Mail => writeln!(
                    text,
                    "{name} 60 IN A 10.{a}.{b}.{last}\n{name} 300 IN MX 10 mx1.{ORIGIN}.\n{name} 60 IN TXT \"v=spf1 ip4:10.{a}.{b}.0/24 -all\""
                ),
                Kind::Text => writeln!(text, "{name} 60 IN TXT \"site-verification={number:043}\""),
                Kind::Cut => writeln!(
                    text,
                    "{name} 300 IN NS ns1.{name}\n{name} 300 IN NS ns2.{name}\nns1.{name} 300 IN A 10.{a}.{b}.1\nns2.{name} 300 IN A 10.{a}.{b}.2"
                ),
                Kind::Wildcard => writeln!(text, "*.{name} 60 IN A 10.{a}.{b}.{last}"),
            };
        }
        text
    }

    /// The host that the alias at a number leads to: the nearest one behind it, or the name server.
    fn target(&self, number: usize) -> &str {
        let far = (number * 7919) % self.names.len();
        self.names[far..].iter().find(|(kind, _)| *kind == Kind::Host).map_or("ns1", |(_, name)| name)
    }

    /// Queries: of a hundred 60 for hosts, 15 for aliases, 5 for mail and text, 5 below delegations and 15 for names
    /// that do not exist.
    pub fn queries(&self, count: usize) -> Vec<Vec<u8>> {
        let mut numbers = Numbers(7);
        let pick = |numbers: &mut Numbers, kinds: &[Kind]| {
            let far = numbers.below(self.names.len());
            self.names[far..]
                .iter()
                .chain(&self.names)
                .find(|(kind, _)| kinds.contains(kind))
                .map_or("ns1", |(_, name)| name)
        };
        (0..count)
            .map(|id| {
                let (name, rtype) = match numbers.below(100) {
                    0..57 => (pick(&mut numbers, &[Kind::Host, Kind::DualHost]).to_owned(), 1),
                    57..60 => (format!("{}.{}", numbers.word(6), pick(&mut numbers, &[Kind::Wildcard])), 1),
                    60..75 => (pick(&mut numbers, &[Kind::Alias]).to_owned(), 1),
                    75..80 => (pick(&mut numbers, &[Kind::Mail]).to_owned(), 15),
                    80..85 => (format!("www.{}", pick(&mut numbers, &[Kind::Cut])), 1),
                    _ => (numbers.word(12), 28),
                };
                query(id as u16, &format!("{name}.{ORIGIN}"), rtype)
            })
            .collect()
    }
}

/// A query without EDNS.
pub fn query(id: u16, name: &str, rtype: u16) -> Vec<u8> {
    let mut query = vec![(id >> 8) as u8, id as u8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.push(0);
    query.extend_from_slice(&rtype.to_be_bytes());
    query.extend_from_slice(&[0, 1]);
    query
}
