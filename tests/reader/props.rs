//! What holds for the zone reader whatever it reads: it ends, it never panics, and what it writes it reads back.

use std::sync::Arc;

use proptest::prelude::*;
use understudy::name::Name;
use understudy::rr::RrType;
use understudy::time::Ttl;
use understudy::zone::diagnostic::{Place, Severity};
use understudy::zone::grammar;
use understudy::zone::rdata;
use understudy::zone::reader::{Reading, Source, Sources, read};
use understudy::zone::text::{Record, Records, ZoneText};
use understudy::zone::write;

use crate::rows;

/// Every inclusion is of the zone's own file, or of one more.
struct Again(Arc<[u8]>, u32);

impl Sources for Again {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        self.1 += 1;
        match path.len() % 3 {
            0 => Err("no".to_owned()),
            1 => Ok(Source { path: "root".to_owned(), octets: self.0.clone() }),
            _ => Ok(Source { path: format!("file{}", self.1 % 100), octets: b"i TXT included\n".as_slice().into() }),
        }
    }
}

fn read_octets(octets: &[u8]) -> Reading {
    let octets: Arc<[u8]> = octets.into();
    let source = Source { path: "root".to_owned(), octets: octets.clone() };
    read(&Name::absolute("x.test").unwrap(), source, &mut Again(octets, 0))
}

/// All good and bad rows of the table beside BIND, as one file.
fn table() -> Vec<u8> {
    let lines = rows::GOOD.iter().chain(rows::BAD).enumerate().map(|(i, row)| format!("r{i} {row}\n"));
    let directives =
        "$TTL 1h\n$ORIGIN a\n$INCLUDE aa b\n$GENERATE 1-9/2 h${1,3,x} TXT \"a $\"\n@ SOA a b ( 1\n 2 3 4 5 )\n";
    (directives.to_owned() + &lines.collect::<String>()).into_bytes()
}

fn types() -> impl Strategy<Value = RrType> {
    let known: Vec<RrType> = (0..=u16::MAX).map(RrType).filter(|rtype| grammar::fields(*rtype).is_some()).collect();
    assert!(known.len() > 70, "only {} types have a grammar", known.len());
    prop_oneof![9 => prop::sample::select(known), 1 => (256u16..).prop_map(RrType)]
}

fn labels() -> impl Strategy<Value = Vec<u8>> {
    let octet =
        prop_oneof![4 => b'a'..=b'z', 1 => any::<u8>(), 1 => prop::sample::select(b".\\\"();@$# \t\n*A".to_vec())];
    prop::collection::vec(octet, 1..12)
}

fn names() -> impl Strategy<Value = Name> {
    prop::collection::vec(labels(), 0..4).prop_map(|labels| {
        labels.iter().fold(Name::absolute("x.test").unwrap(), |name, label| name.as_ref().child(label).unwrap())
    })
}

/// Data that fits a grammar often enough: octets of real records, changed a little, or none of it.
fn rdatas() -> impl Strategy<Value = (RrType, Vec<u8>)> {
    let text = read_octets(&good_rows()).into_text().unwrap();
    let seeds: Vec<(RrType, Vec<u8>)> =
        text.records.iter().map(|record| (record.rtype, record.rdata.to_vec())).collect();
    let changed = (prop::sample::select(seeds.clone()), any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    let changed = changed.prop_map(|((rtype, mut octets), at, octet, how)| {
        let at = if octets.is_empty() { 0 } else { at.index(octets.len()) };
        match how {
            0 if !octets.is_empty() => octets[at] = octet,
            1 => octets.insert(at, octet),
            2 if !octets.is_empty() => drop(octets.remove(at)),
            _ => octets.truncate(at),
        }
        (rtype, octets)
    });
    prop_oneof![
        2 => prop::sample::select(seeds),
        4 => changed,
        1 => (types(), prop::collection::vec(any::<u8>(), 0..40)),
    ]
}

fn good_rows() -> Vec<u8> {
    let lines = rows::GOOD.iter().enumerate().map(|(i, row)| format!("r{i} {row}\n"));
    ("$TTL 300\n".to_owned() + &lines.collect::<String>()).into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any octets of any type: written and read back they are the same, unless they are refused as malformed.
    #[test]
    fn data_writes_and_reads_back((rtype, octets) in rdatas()) {
        let valid = rdata::validate(rtype, &octets).is_ok();
        let names: Vec<_> = rdata::names(rtype, &octets).map(|(at, name)| (at, name.len())).collect();
        prop_assert!(names.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        prop_assert!(names.iter().all(|(at, len)| at + len <= octets.len()));
        for origin in ["x.test", ".", "test"] {
            let origin = Name::absolute(origin).unwrap();
            let text = rdata::write(rtype, &octets, Some(origin.as_ref()));
            let reading = read_octets(format!("$ORIGIN {origin}\nx.test. 1 {rtype} {text}\n").as_bytes());
            let found = format!("{rtype} {text}: {:?}", reading.diagnostics);
            match reading.into_text() {
                Ok(read) => {
                    prop_assert!(valid, "{found}");
                    prop_assert_eq!(read.records.len(), 1, "{}", found);
                    prop_assert_eq!(read.records.get(0).rdata, &octets[..], "{}", found);
                }
                Err(_) => prop_assert!(!valid || rtype.is_meta(), "{found}"),
            }
        }
    }

    /// Any text of valid records writes and reads back the same, case and order included.
    #[test]
    fn texts_write_and_read_back(
        input in prop::collection::vec((names(), 0u32..=i32::MAX as u32, rdatas()), 0..20),
        origin in names(),
    ) {
        let mut records = Records::default();
        for (owner, ttl, (rtype, octets)) in &input {
            if rdata::validate(*rtype, octets).is_ok() && !rtype.is_meta() {
                let ttl = Ttl::new(*ttl).unwrap();
                let record = Record { owner: owner.as_ref(), rtype: *rtype, ttl, rdata: octets, place: Place::default() };
                prop_assert!(records.push(record));
            }
        }
        let text = ZoneText { origin, records, files: Vec::new() };
        let written = write::text(&text);
        let reading = read_octets(written.as_bytes());
        let found = format!("{written}\n{:?}", reading.diagnostics);
        let Ok(again) = reading.into_text() else { panic!("{found}") };
        let plain = |text: &ZoneText| -> Vec<_> {
            let record = |r: Record<'_>| (r.owner.as_wire().to_vec(), r.rtype, r.ttl, r.rdata.to_vec());
            text.records.iter().map(record).collect()
        };
        prop_assert_eq!(plain(&again), plain(&text), "{}", found);
    }

    #[test]
    fn any_octets_are_read_to_an_end(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_octets(&octets).into_text();
    }

    /// Octets that mean something to the lexer are in the majority.
    #[test]
    fn any_text_is_read_to_an_end(text in "([a-z0-9.@$(){}\"\\\\;, \t\r\n\u{a0}-]|IN|TXT|SOA|\\$INCLUDE |\\$GENERATE 1-9 |\n){0,120}") {
        let reading = read_octets(text.as_bytes());
        for found in &reading.diagnostics {
            prop_assert!(found.line > 0 && found.column > 0 && !found.message.is_empty(), "{:?}", found);
            prop_assert!(text.is_empty() || found.line as usize <= text.split(['\n', '\r']).count() + 20, "{:?}", found);
        }
        let errors = reading.diagnostics.iter().any(|found| found.severity == Severity::Error);
        prop_assert_eq!(reading.into_text().is_err(), errors);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The whole table with octets changed, left out and put in.
    #[test]
    fn mutated_zones_are_read_to_an_end(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..40),
    ) {
        let mut octets = table();
        for (at, octet, how) in edits {
            let at = at.index(octets.len());
            match how {
                0 => octets[at] = octet,
                1 => octets.insert(at, b"()\"\\;\n$ \0\r"[usize::from(octet) % 10]),
                2 => drop(octets.remove(at)),
                _ => octets[at] = octets[(at * 7 + 3) % octets.len()],
            }
        }
        let _ = read_octets(&octets).into_text();
    }
}
