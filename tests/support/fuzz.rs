//! Fuzz bodies: what must be true whatever octets come in. Stable tests run them over a corpus and seeded mutations of
//! it; `examples/fuzz.rs` runs as many as wanted; `fuzz/` has a fuzzer call them with what it makes up.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use hickory_proto::op::Message as HickoryMessage;
use understudy::name::{Name, NameRef};
use understudy::rr::RrType;
use understudy::serving::Serving;
use understudy::serving::respond::{Asker, Transport};
use understudy::time::Timestamp;
use understudy::zone::check::{Limits, check};
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::{Rrset, Zone};

use super::generate::{self, Rng};
use super::message;
use super::sign::{METHODS, Signer};

#[allow(dead_code, reason = "the good rows alone are wanted")]
#[path = "../reader/rows.rs"]
mod rows;

/// Nothing is included.
struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path}: there are no other files here"))
    }
}

/// The zone that texts are read as, where they do not name another one.
pub fn origin() -> Name {
    Name::absolute("fuzz.test.").unwrap()
}

/// Zone text in: it is read to an end, and checked to an end where there is a zone.
pub fn zone_text(octets: &[u8]) {
    let origin = origin();
    let reading = reader::read(&origin, Source { path: "fuzz".into(), octets: octets.into() }, &mut NoSources);
    if let Ok(text) = reading.into_text()
        && let Some(zone) = Zone::new(Some(&text), None)
    {
        let _ = check(&zone, &Limits::default());
    }
}

/// How many names of a zone are asked about.
const MOST_NAMES: usize = 64;

/// Zone text in, answers out: where it can be served, whatever is asked about its names is answered as [`packet`] wants.
pub fn served_text(octets: &[u8], out: &mut [u8]) -> Result<(), String> {
    const TYPES: [RrType; 5] = [RrType::A, RrType::ANY, RrType::DS, RrType::NSEC, RrType::TXT];
    let origin = origin();
    let Some((zone, serving)) = super::engine::try_serve(&origin, octets) else { return Ok(()) };
    // Data that is taken from a zone as it stands, and that readers of its type refuse, is no fault of the answer.
    let plain = |set: Rrset<'_>| set.rdatas().all(|rdata| is_taken(&plain_answer(set, rdata)));
    if !zone.rrsets().all(plain) {
        return Ok(());
    }
    let mut asked = None;
    let owners = zone.rrsets().filter(|set| asked.replace(set.owner) != Some(set.owner)).take(MOST_NAMES);
    for set in owners {
        for name in [set.owner.to_name()].into_iter().chain(set.owner.child(b"nx").ok()) {
            for (number, qtype) in TYPES.into_iter().chain([set.rtype]).enumerate() {
                let payload = [None, Some(512), Some(4096)][number % 3];
                let mut query = message::query(7, name.as_ref(), qtype, false, payload);
                if payload.is_some() {
                    let flags = query.len() - 4;
                    query[flags] |= 0x80;
                }
                packet(&serving, &query, out).map_err(|why| format!("{name} {qtype}: {why}"))?;
            }
        }
    }
    Ok(())
}

/// A message with one record of a zone, nothing in it compressed.
fn plain_answer(set: Rrset<'_>, rdata: &[u8]) -> Vec<u8> {
    let mut octets = vec![0, 7, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    octets.extend_from_slice(set.owner.as_wire());
    octets.extend([set.rtype.0, 1, 0, 300, rdata.len() as u16].map(u16::to_be_bytes).as_flattened());
    octets.extend_from_slice(rdata);
    octets
}

fn is_taken(octets: &[u8]) -> bool {
    message::read(octets).is_ok() && HickoryMessage::from_vec(octets).is_ok()
}

/// A packet in, over each transport: an answer, if there is one, is a message that a strict reader takes, to this very
/// question, and no longer than the client takes.
pub fn packet(serving: &Serving, octets: &[u8], out: &mut [u8]) -> Result<(), String> {
    for transport in [Transport::Udp, Transport::Tcp] {
        let asker = Asker { source: IpAddr::V4(Ipv4Addr::LOCALHOST), transport, now: Timestamp(0) };
        match serving.respond(octets, &asker, out) {
            Some(length) => {
                answer(octets, &out[..length], transport)
                    .map_err(|why| format!("{transport:?}: {why}: {:?}", &out[..length]))?;
            }
            None if octets.len() < 12 || octets[2] & 0x80 != 0 => {}
            None => return Err(format!("{transport:?}: silence")),
        }
    }
    Ok(())
}

/// An answer out.
pub fn answer(query: &[u8], octets: &[u8], transport: Transport) -> Result<(), String> {
    let read = message::read(octets).map_err(|error| error.to_string())?;
    HickoryMessage::from_vec(octets).map_err(|error| format!("hickory-proto: {error}"))?;
    let wrong = |what: &str| Err(what.to_owned());
    if octets[..2] != query[..2] {
        return wrong("another id");
    }
    if octets[2] & 0x79 | 0x80 != query[2] & 0x79 | 0x80 || octets[2] & 0x80 == 0 {
        return wrong("another opcode or RD, or no answer");
    }
    if let [question] = &read.questions[..] {
        let end = 12 + question.name.as_ref().len() + 4;
        if octets[..end.min(octets.len())][12..] != query[12..end.min(query.len())] {
            return wrong("another question");
        }
    } else if !read.questions.is_empty() {
        return wrong("more than one question");
    }
    // What the client takes is told by its OPT record; the greatest such number bounds any answer.
    let limit = if transport == Transport::Udp { 1232 } else { 65_535 };
    if octets.len() > limit {
        return wrong("too long");
    }
    if transport == Transport::Udp && read.edns.is_none() && octets.len() > 512 {
        return wrong("more than 512 octets without EDNS");
    }
    if read.flags.tc() && transport != Transport::Udp {
        return wrong("TC over a stream");
    }
    let records = read.answers.len() + read.authorities.len() + read.additionals.len();
    if records > 0 && read.questions.is_empty() {
        return wrong("records without a question");
    }
    Ok(())
}

/// Zones to ask about and queries to begin with, from a seed.
pub struct Corpus {
    pub serving: Arc<Serving>,
    pub packets: Vec<Vec<u8>>,
    pub texts: Vec<Vec<u8>>,
}

impl Corpus {
    /// Some generated zones, most of them signed, each in another way.
    pub fn new() -> Corpus {
        let zones: Vec<generate::Zone> =
            (0..8).flat_map(|seed| generate::zones(seed, 24)).filter(|zone| !zone.below_dname).collect();
        let signer = Signer::new();
        let sign = |(number, zone): (usize, &generate::Zone)| match number % 4 {
            3 => zone.text.clone(),
            _ => signer.sign(&zone.origin, &zone.text, METHODS[number % METHODS.len()]),
        };
        let served: Vec<String> = zones.iter().enumerate().map(sign).collect();
        let mut packets = Vec::new();
        for (number, zone) in zones.iter().enumerate() {
            for (index, question) in generate::questions(zone, number as u64 + 5, 60).into_iter().enumerate() {
                let mut query = message::query(7, question.name.as_ref(), question.qtype, false, question.payload);
                if question.payload.is_some() && index % 2 == 0 {
                    let flags = query.len() - 4;
                    query[flags] |= 0x80;
                }
                packets.push(query);
            }
        }
        packets.extend(odd_packets(zones[0].origin.as_ref()));
        let texts = zone_texts(&zones);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let all = zones.iter().zip(&served).map(|(zone, text)| (&zone.origin, &**text));
        Corpus { serving: super::engine::serve_at(all, Timestamp(now as i64)), packets, texts }
    }

    /// A packet of the corpus, changed in some places.
    pub fn mutated_packet(&self, rng: &mut Rng) -> Vec<u8> {
        let mut octets = rng.pick(&self.packets).clone();
        mutate(rng, &mut octets, &self.packets);
        octets
    }

    /// A zone text of the corpus, changed in some lines, or in some places and then seldom fit to be served.
    pub fn mutated_text(&self, rng: &mut Rng) -> Vec<u8> {
        let mut octets = rng.pick(&self.texts).clone();
        if rng.chance(50) {
            return mutate_lines(rng, &octets, &self.texts);
        }
        mutate(rng, &mut octets, &self.texts);
        octets
    }
}

/// Zone texts with all that zones are made of: delegations, wildcards and aliases, and every type in every form.
fn zone_texts(zones: &[generate::Zone]) -> Vec<Vec<u8>> {
    const ODD: &str = include_str!("odd.zone");
    const APEX: &str = "$TTL 300\n@ SOA ns1 h 1 3600 900 604800 300\n@ NS ns1\nns1 A 192.0.2.1\n";
    let origin = origin().to_string();
    let generated = zones.iter().map(|zone| {
        let text = zone.text.replace(&zone.origin.to_string(), &origin);
        // Short ones are changed in more of their parts.
        let end = text.char_indices().rfind(|(at, c)| *c == '\n' && *at < 2048).map_or(0, |(at, _)| at + 1);
        text[..end].to_owned()
    });
    let rows = rows::GOOD.chunks(4).enumerate().map(|(chunk, rows)| {
        let lines = rows.iter().enumerate().map(|(number, row)| format!("r{chunk}-{number} {row}\n"));
        APEX.to_owned() + &lines.collect::<String>()
    });
    let odd = ODD.replace("@ORIGIN@", &origin).replace("@SIGNED@", &format!("1 13 2 {}", "AB".repeat(32)));
    generated.chain(rows).chain([odd]).map(String::into_bytes).collect()
}

/// Packets that no client sends by accident.
fn odd_packets(origin: NameRef<'_>) -> Vec<Vec<u8>> {
    let query = |qtype| message::query(7, origin, qtype, true, Some(512));
    let mut packets: Vec<Vec<u8>> = (0..=260).map(|qtype| query(RrType(qtype))).collect();
    for opcode in 0..16 {
        let mut packet = query(RrType::SOA);
        packet[2] = opcode << 3;
        packets.push(packet);
    }
    for count in 0..8 {
        let mut packet = query(RrType::SOA);
        packet[4 + count] ^= 1;
        packets.push(packet);
    }
    let mut options = query(RrType::SOA);
    let length = options.len();
    options[length - 1] = 12;
    options.extend_from_slice(&[0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    packets.push(options);
    let labels: Vec<u8> = [1, b'a'].repeat(127).into_iter().chain([0, 0, 1, 0, 1]).collect();
    packets.push([&[0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &labels].concat());
    packets
}

/// Changes some octets: other ones, bits, cuts, repeats, pieces of others.
pub fn mutate(rng: &mut Rng, octets: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..1 + rng.below(4) {
        if octets.is_empty() {
            octets.push(rng.next() as u8);
        }
        let at = rng.below(octets.len());
        match rng.below(10) {
            0..3 => octets[at] = rng.next() as u8,
            3..5 => octets[at] ^= 1 << rng.below(8),
            5 => octets[at] = *rng.pick(&[0, 1, 63, 64, 127, 128, 192, 255, b'*', b'.', b'\\', b'"', b'(']),
            6 => octets.truncate(at),
            7 => octets.insert(at, rng.next() as u8),
            8 => {
                let end = (at + 1 + rng.below(16)).min(octets.len());
                let piece = octets[at..end].to_vec();
                octets.splice(at..at, piece);
            }
            _ => {
                let other = rng.pick(others);
                let from = rng.below(other.len());
                let end = (from + 1 + rng.below(24)).min(other.len());
                octets.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
}

/// Changes some lines: gone, twice, elsewhere, from other texts, or with another's owner.
fn mutate_lines(rng: &mut Rng, octets: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = octets.split_inclusive(|octet| *octet == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..1 + rng.below(6) {
        let (at, to) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(5) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(to, lines[at].clone()),
            2 => lines.swap(at, to),
            3 => {
                let owner = |line: &[u8]| line.iter().take_while(|octet| **octet != b' ').copied().collect::<Vec<_>>();
                let data = lines[to][owner(&lines[to]).len()..].to_vec();
                lines[to] = [owner(&lines[at]), data].concat();
            }
            _ => {
                let other: Vec<&[u8]> = rng.pick(others).split_inclusive(|octet| *octet == b'\n').collect();
                lines.insert(at, rng.pick(&other).to_vec());
            }
        }
    }
    lines.concat()
}
