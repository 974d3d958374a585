//! Reads the tables' zones: one record a line, `owner [TTL] TYPE data`, names relative to `wiki.example`.

use std::net::{Ipv4Addr, Ipv6Addr};

use understudy::name::Name;
use understudy::rr::RrType;
use understudy::time::Ttl;
use understudy::zone::diagnostic::Place;
use understudy::zone::rrsets::Zone;
use understudy::zone::text::{Record, Records, ZoneText};

pub fn origin() -> Name {
    Name::absolute("wiki.example").unwrap()
}

/// The zone, from one file called `wiki.zone`.
pub fn zone(text: &str) -> Zone {
    let mut records = Records::default();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('$') {
            continue;
        }
        let (owner, mut rest) = line.split_once(' ').unwrap_or_else(|| panic!("`{line}`"));
        let mut ttl = 300;
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let (number, behind) = rest.split_once(' ').unwrap();
            (ttl, rest) = (number.parse().unwrap(), behind);
        }
        let (rtype, data) = rest.split_once(' ').unwrap();
        let rtype = RrType::parse(rtype).unwrap_or_else(|| panic!("`{line}`"));
        let owner = name(owner);
        let record = Record {
            owner: owner.as_ref(),
            rtype,
            ttl: Ttl::new(ttl).unwrap(),
            rdata: &rdata(rtype, data),
            place: Place { file: 0, line: at as u32 + 1, column: 0 },
        };
        assert!(records.push(record));
    }
    let text = ZoneText { origin: origin(), records, files: vec!["wiki.zone".into()] };
    Zone::new(Some(&text), None).unwrap()
}

fn name(text: &str) -> Name {
    Name::from_presentation(text.as_bytes(), Some(origin().as_ref()))
        .unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

fn rdata(rtype: RrType, data: &str) -> Vec<u8> {
    let words: Vec<&str> = data.split_whitespace().collect();
    let wire = |word: &str| name(word).as_ref().as_wire().to_vec();
    let short = |word: &str| word.parse::<u16>().unwrap().to_be_bytes();
    match rtype {
        RrType::A => data.parse::<Ipv4Addr>().unwrap().octets().to_vec(),
        RrType::AAAA => data.parse::<Ipv6Addr>().unwrap().octets().to_vec(),
        RrType::NS | RrType::CNAME | RrType::DNAME | RrType::PTR => wire(data),
        RrType::MX | RrType::SVCB | RrType::HTTPS | RrType::AFSDB | RrType::KX => {
            [&short(words[0])[..], &wire(words[1])].concat()
        }
        RrType::SRV => [&words[..3].iter().flat_map(|w| short(w)).collect::<Vec<_>>()[..], &wire(words[3])].concat(),
        RrType::SOA => {
            let numbers = words[2..].iter().flat_map(|word| word.parse::<u32>().unwrap().to_be_bytes());
            [wire(words[0]), wire(words[1]), numbers.collect()].concat()
        }
        RrType::TXT | RrType::SPF => {
            strings(data).into_iter().flat_map(|s| [vec![s.len() as u8], s].concat()).collect()
        }
        RrType::CAA => {
            let value = strings(data.splitn(3, ' ').nth(2).unwrap()).remove(0);
            [vec![words[0].parse().unwrap(), words[1].len() as u8], words[1].into(), value].concat()
        }
        // The checks don't look into the others.
        _ => data.into(),
    }
}

/// What stands in quotes, or the words where nothing does.
fn strings(data: &str) -> Vec<Vec<u8>> {
    match data.contains('"') {
        true => data.split('"').skip(1).step_by(2).map(Vec::from).collect(),
        false => data.split_whitespace().map(Vec::from).collect(),
    }
}
