//! From a packet to a canary's answer.

use std::net::{IpAddr, Ipv6Addr};

use super::{ASKED, Arrival, Canary, CanaryZone, Content, Part, Replied};
use crate::name::NameRef;
use crate::rr::{Class, RrType};
use crate::serving::query::{Query, Question, opcode};
use crate::serving::respond::{Asker, Transport};
use crate::snapshot::answer::Rcode;
use crate::snapshot::emit::HEADER;
use crate::time::{Timestamp, Ttl};

/// The most octets of an answer over UDP (RFC 9715); canaries' answers are a few hundred octets long.
const PAYLOAD: u16 = 1232;
/// What a client without EDNS takes over UDP (RFC 1035 §4.2.1).
const CLASSIC_PAYLOAD: usize = 512;
/// Flags of an answer: it is one, it is authoritative, it was cut.
const QR: u8 = 0x80;
const AA: u8 = 0x04;
const TC: u8 = 0x02;
/// What an answer takes over from its query: the operation code and RD, and in the fourth octet CD.
const KEPT: [u8; 2] = [0x79, 0x10];
/// REFRESH, RETRY and EXPIRE of the SOA records; nobody transfers these zones.
const SOA_TIMES: [u32; 3] = [3600, 600, 86_400];
/// What the addresses of canaries begin with: those for documentation (RFC 5737, RFC 3849). IPv4 ones end in the version;
/// in IPv6 ones the version stands in the second half of what identifies a network, and the time in milliseconds behind it.
const V4: [u8; 3] = [192, 0, 2];
const V6: [u16; 2] = [0x2001, 0xdb8];

impl CanaryZone {
    /// The answer to a packet.
    pub fn reply(&self, packet: &[u8], asker: &Asker) -> Replied {
        if packet.len() < HEADER || packet[2] & QR != 0 {
            return Replied::default();
        }
        let query = Query::read(packet);
        let mut message = Message::of(packet, &query, asker.transport);
        let question = match (&query.question, &query.edns) {
            _ if query.malformed => return message.only(Rcode::FORMERR),
            _ if opcode(packet) != 0 => return message.only(Rcode::NOTIMP),
            (_, Some(edns)) if edns.version > 0 => return message.only(Rcode::BADVERS),
            (None, _) => return message.only(Rcode::FORMERR),
            (Some(question), _) => question,
        };
        let transfer = matches!(question.rtype(), RrType::AXFR | RrType::IXFR);
        let Some(front) = question.name.strip(self.origin()).filter(|_| question.class() == Class::IN && !transfer)
        else {
            return message.only(Rcode::REFUSED);
        };
        let found = self.canary(question.name, front, asker.now);
        let arrival = found.map(|(canary, part, _)| arrival(canary, part, question, &query, asker));
        let answer = match found {
            Some((canary, part, apex)) => self.of_canary(&mut message, &canary, part, apex, question, asker),
            None => self.of_zone(&mut message, question, front.is_empty(), asker.now),
        };
        Replied { answer: answer.map(|()| message.finish()), arrival }
    }

    /// The canary that a name belongs to, which part of it the name is, and its own zone's apex. Octets of labels in front of
    /// the origin are `front`.
    fn canary<'n>(&self, name: NameRef<'n>, front: &[u8], now: Timestamp) -> Option<(Canary, Part, NameRef<'n>)> {
        if front.is_empty() {
            return None;
        }
        let above = self.origin().len();
        let apex = name.ancestors().find(|name| name.parent().is_some_and(|parent| parent.len() == above))?;
        let canary = self.key.read(apex.first_label()?).filter(|canary| canary.is_current(now))?;
        let is_asked = |name: NameRef<'_>| name.first_label().is_some_and(|label| label.eq_ignore_ascii_case(ASKED));
        let part = match name.label_count() - apex.label_count() {
            1 if is_asked(name) => Part::Asked,
            2.. if name.ancestors().any(|name| is_asked(name) && name.parent() == Some(apex)) => Part::Below,
            _ => Part::Other,
        };
        Some((canary, part, apex))
    }

    /// None: silence.
    fn of_canary(
        &self,
        message: &mut Message<'_>,
        canary: &Canary,
        part: Part,
        apex: NameRef<'_>,
        question: &Question<'_>,
        asker: &Asker,
    ) -> Option<()> {
        let (content, version) = canary.at(asker.now);
        let at_apex = question.name == apex;
        match content {
            // The zone as a whole stays answerable: resolvers ask for its apex on their way.
            _ if at_apex => {}
            Content::Silence => return None,
            Content::Failure => {
                message.rcode = Rcode::SERVFAIL;
                return Some(());
            }
            Content::Stream if asker.transport == Transport::Udp => {
                message.cut = true;
                return Some(());
            }
            _ => {}
        }
        message.authoritative = true;
        let has_data = at_apex || part == Part::Asked && matches!(content, Content::Data | Content::Stream);
        let given = match question.rtype() {
            RrType::A if has_data => {
                let [a, b, c] = V4;
                message.record(Section::Answer, question.name, RrType::A, canary.ttl, |out| {
                    out.octets(&[a, b, c, version]);
                });
                true
            }
            RrType::AAAA if has_data => {
                let address = address(version, asker.now);
                message.record(Section::Answer, question.name, RrType::AAAA, canary.ttl, |out| {
                    out.octets(&address.octets());
                });
                true
            }
            RrType::TXT | RrType::ANY if has_data => {
                let text = format!("canary version={version} given={}", asker.now.0);
                message.record(Section::Answer, question.name, RrType::TXT, canary.ttl, |out| out.text(&text));
                true
            }
            RrType::SOA if at_apex => {
                self.soa(message, Section::Answer, apex, canary.ttl, asker.now);
                true
            }
            RrType::NS if at_apex => {
                self.ns(message, apex, canary.ttl);
                true
            }
            _ => false,
        };
        if !given {
            let exists = at_apex || part == Part::Asked && content != Content::NoName;
            message.rcode = if exists { Rcode::NOERROR } else { Rcode::NXDOMAIN };
            self.soa(message, Section::Authority, apex, canary.ttl, asker.now);
        }
        Some(())
    }

    /// The zone's own records, and that there is nothing else.
    fn of_zone(&self, message: &mut Message<'_>, question: &Question<'_>, at_apex: bool, now: Timestamp) -> Option<()> {
        message.authoritative = true;
        let server = self.server();
        let at_server = server.as_ref().is_some_and(|server| server.as_ref() == question.name);
        let before = message.counts[0];
        match question.rtype() {
            RrType::SOA if at_apex => self.soa(message, Section::Answer, question.name, CanaryZone::TTL, now),
            RrType::NS if at_apex => self.ns(message, question.name, CanaryZone::TTL),
            RrType::TXT | RrType::ANY if at_apex => {
                message.record(Section::Answer, question.name, RrType::TXT, CanaryZone::TTL, |out| {
                    out.text(&self.contact);
                });
            }
            RrType::A | RrType::AAAA if at_server => {
                self.addresses(message, Section::Answer, question.name, Some(question.rtype()));
            }
            _ => {}
        }
        if message.counts[0] == before {
            message.rcode = if at_apex || at_server { Rcode::NOERROR } else { Rcode::NXDOMAIN };
            self.soa(message, Section::Authority, self.origin(), CanaryZone::TTL, now);
        }
        Some(())
    }

    /// The name of the zone's server.
    fn server(&self) -> Option<crate::name::Name> {
        self.origin().child(b"ns").ok()
    }

    fn ns(&self, message: &mut Message<'_>, owner: NameRef<'_>, ttl: Ttl) {
        let Some(server) = self.server() else { return };
        message.record(Section::Answer, owner, RrType::NS, ttl, |out| out.name(server.as_ref()));
        self.addresses(message, Section::Additional, server.as_ref(), None);
    }

    fn addresses(&self, message: &mut Message<'_>, section: Section, owner: NameRef<'_>, only: Option<RrType>) {
        for address in &self.addresses {
            let rtype = if address.is_ipv4() { RrType::A } else { RrType::AAAA };
            if only.is_none_or(|only| only == rtype) {
                message.record(section, owner, rtype, CanaryZone::TTL, |out| match address {
                    IpAddr::V4(v4) => out.octets(&v4.octets()),
                    IpAddr::V6(v6) => out.octets(&v6.octets()),
                });
            }
        }
    }

    /// A SOA record whose serial is the time in tenths of seconds, modulo 2³²: so negative answers say when they were given.
    fn soa(&self, message: &mut Message<'_>, section: Section, apex: NameRef<'_>, ttl: Ttl, now: Timestamp) {
        let (Some(server), Ok(contact)) = (self.server(), self.origin().child(b"hostmaster")) else { return };
        message.record(section, apex, RrType::SOA, ttl, |out| {
            out.name(server.as_ref());
            out.name(contact.as_ref());
            out.octets(&serial(now).to_be_bytes());
            SOA_TIMES.iter().for_each(|time| out.octets(&time.to_be_bytes()));
            out.octets(&ttl.seconds().to_be_bytes());
        });
    }
}

/// The address of a canary: which version it is and when it was given.
fn address(version: u8, now: Timestamp) -> Ipv6Addr {
    let [first, second] = V6;
    let front = Ipv6Addr::new(first, second, 0, version.into(), 0, 0, 0, 0);
    Ipv6Addr::from_bits(front.to_bits() | u128::from(now.0.unsigned_abs()))
}

/// The version of the canary whose address this is, and when it was given; none if it is not a canary's.
pub fn version(address: Ipv6Addr) -> Option<(u8, Timestamp)> {
    let [first, second, 0, version, ..] = address.segments() else { return None };
    let given = i64::try_from(address.to_bits() & u128::from(u64::MAX)).ok()?;
    let version = u8::try_from(version).ok().filter(|version| (1..=2).contains(version))?;
    ([first, second] == V6).then_some((version, Timestamp(given)))
}

/// The serial at a time.
fn serial(now: Timestamp) -> u32 {
    (now.0 / super::TENTH) as u32
}

/// When a negative answer was given whose SOA record has this serial: the time with it that is nearest to `near`.
pub fn given(serial: u32, near: Timestamp) -> Timestamp {
    let now = near.0 / super::TENTH;
    let off = i64::from(serial.wrapping_sub(now as u32) as i32);
    Timestamp((now + off) * super::TENTH)
}

fn arrival(canary: Canary, part: Part, question: &Question<'_>, query: &Query<'_>, asker: &Asker) -> Arrival {
    let octets = question.name.as_wire();
    let has = |wanted: fn(&u8) -> bool| octets.iter().any(wanted);
    let subnet = query.edns.and_then(|edns| edns.subnet(|| true).ok().flatten());
    Arrival {
        canary,
        part,
        rtype: question.rtype(),
        at: asker.now,
        source: asker.source.to_canonical(),
        transport: asker.transport,
        subnet: subnet.and_then(|subnet| subnet.client()).map(|client| client.0),
        edns: query.edns.is_some(),
        dnssec_ok: query.edns.is_some_and(|edns| edns.dnssec_ok),
        mixed_case: has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase),
    }
}

/// The sections behind the question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Answer = 0,
    Authority = 1,
    Additional = 2,
}

/// An answer in the making. Records are put in by rising section.
struct Message<'p> {
    packet: &'p [u8],
    /// The name that others are compressed against.
    question: Option<NameRef<'p>>,
    out: Vec<u8>,
    counts: [u16; 3],
    rcode: Rcode,
    authoritative: bool,
    cut: bool,
    /// Whether the query asks for DNSSEC records; none if it has no OPT record.
    dnssec_ok: Option<bool>,
    limit: usize,
}

/// Where a record's data go.
struct Data<'m, 'p>(&'m mut Message<'p>);

impl<'p> Message<'p> {
    fn of(packet: &'p [u8], query: &Query<'p>, transport: Transport) -> Message<'p> {
        let payload = query.edns.map_or(CLASSIC_PAYLOAD, |edns| edns.payload.clamp(512, PAYLOAD).into());
        let mut out = packet[..HEADER].to_vec();
        if let Some(question) = &query.question {
            out.extend_from_slice(packet.get(HEADER..question.end).unwrap_or_default());
        }
        Message {
            packet,
            question: query.question.map(|question| question.name),
            out,
            counts: [0; 3],
            rcode: Rcode::NOERROR,
            authoritative: false,
            cut: false,
            dnssec_ok: query.edns.map(|edns| edns.dnssec_ok),
            limit: if transport == Transport::Udp { payload } else { usize::from(u16::MAX) },
        }
    }

    /// An answer of nothing but a response code.
    fn only(mut self, rcode: Rcode) -> Replied {
        self.rcode = rcode;
        Replied { answer: Some(self.finish()), arrival: None }
    }

    fn record(
        &mut self,
        section: Section,
        owner: NameRef<'_>,
        rtype: RrType,
        ttl: Ttl,
        data: impl FnOnce(&mut Data<'_, 'p>),
    ) {
        self.name(owner);
        self.out.extend_from_slice(&rtype.0.to_be_bytes());
        self.out.extend_from_slice(&Class::IN.0.to_be_bytes());
        self.out.extend_from_slice(&ttl.seconds().to_be_bytes());
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        data(&mut Data(self));
        let length = self.out.len() - length_at - 2;
        self.out[length_at..length_at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        self.counts[section as usize] += 1;
    }

    /// A name, compressed against the question's.
    fn name(&mut self, name: NameRef<'_>) {
        let mut rest = name;
        loop {
            let shared = self.question.and_then(|question| Some((question, question.strip(rest)?.len())));
            if let Some((_, at)) = shared.filter(|_| !rest.is_root()) {
                // The question stands behind the header, and has 255 octets at most.
                self.out.extend_from_slice(&(0xC000 | (HEADER + at) as u16).to_be_bytes());
                return;
            }
            match (rest.first_label(), rest.parent()) {
                (Some(label), Some(parent)) => {
                    self.out.push(label.len() as u8);
                    self.out.extend_from_slice(label);
                    rest = parent;
                }
                _ => return self.out.push(0),
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let opt = self.dnssec_ok.map(|dnssec_ok| {
            let mut opt = vec![0];
            opt.extend_from_slice(&RrType::OPT.0.to_be_bytes());
            opt.extend_from_slice(&PAYLOAD.to_be_bytes());
            opt.extend_from_slice(&[(self.rcode.0 >> 4) as u8, 0, if dnssec_ok { 0x80 } else { 0 }, 0, 0, 0]);
            opt
        });
        let room = opt.as_ref().map_or(0, Vec::len);
        if self.out.len() + room > self.limit {
            let question = self.question.map_or(0, |question| question.len() + 4);
            self.out.truncate(HEADER + question);
            (self.counts, self.cut) = ([0; 3], true);
        }
        if let Some(opt) = opt {
            self.out.extend_from_slice(&opt);
            self.counts[2] += 1;
        }
        let flags = |on: bool, flag: u8| if on { flag } else { 0 };
        self.out[2] = QR | self.packet[2] & KEPT[0] | flags(self.authoritative, AA) | flags(self.cut, TC);
        self.out[3] = self.packet[3] & KEPT[1] | (self.rcode.0 & 15) as u8;
        let questions = u16::from(self.question.is_some());
        for (at, count) in [questions, self.counts[0], self.counts[1], self.counts[2]].into_iter().enumerate() {
            self.out[4 + 2 * at..6 + 2 * at].copy_from_slice(&count.to_be_bytes());
        }
        self.out
    }
}

impl Data<'_, '_> {
    fn octets(&mut self, octets: &[u8]) {
        self.0.out.extend_from_slice(octets);
    }

    fn name(&mut self, name: NameRef<'_>) {
        self.0.name(name);
    }

    /// A character string (RFC 1035 §3.3); what is longer than one may be is cut off.
    fn text(&mut self, text: &str) {
        let octets = &text.as_bytes()[..text.len().min(255)];
        self.0.out.push(octets.len() as u8);
        self.0.out.extend_from_slice(octets);
    }
}
