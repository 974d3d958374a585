//! From a packet to the octets of its answer.

use std::net::IpAddr;

use super::Serving;
use super::query::{Edns, Fault, Query, opcode};
use super::resolve::{AnyPolicy, Heading};
use crate::net::ClientNet;
use crate::rr::{Class, RrType};
use crate::snapshot::answer::Rcode;
use crate::snapshot::emit::{HEADER, Writer};
use crate::snapshot::sought::Sought;
use crate::time::Timestamp;

/// How a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// A datagram; answers are cut to what the client takes.
    Udp,
    /// TCP (RFC 7766).
    Tcp,
    /// An encrypted transport: DNS over TLS, QUIC or HTTPS.
    Encrypted,
}

/// Who asks, how and when.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The address that the packet came from.
    pub source: IpAddr,
    /// The transport.
    pub transport: Transport,
    /// When the packet was taken in.
    pub now: Timestamp,
}

/// What a client without EDNS takes over UDP (RFC 1035 §4.2.1).
const CLASSIC_PAYLOAD: u16 = 512;
/// An OPT record without options.
const OPT_LEN: usize = 11;
/// The flag of an answer (RFC 1035 §4.1.1), in the header's third octet.
const QR: u8 = 0x80;
const AA: u8 = 0x04;
const TC: u8 = 0x02;
/// What an answer takes over from its query: the operation code and RD, and in the fourth octet CD (RFC 4035 §3.2.2).
const KEPT: [u8; 2] = [0x79, 0x10];

impl Serving {
    /// Writes the answer to `packet` into `out` and returns its length, or `None` where silence is right (a packet
    /// without a whole header, or one that is itself an answer).
    ///
    /// `out` holds at least 65,535 octets for stream transports and 4,096 for datagrams. No allocation, no lock.
    pub fn respond(&self, packet: &[u8], asker: &Asker, out: &mut [u8]) -> Option<usize> {
        let mut sought = Sought::default();
        sought.set(self.key, packet.get(HEADER..).unwrap_or_default());
        self.respond_to(packet, &mut sought, asker, out)
    }

    /// The same where `sought` was [set](Sought::set) to the packet's octets behind the header already.
    pub fn respond_to(&self, packet: &[u8], sought: &mut Sought, asker: &Asker, out: &mut [u8]) -> Option<usize> {
        if packet.len() < HEADER || packet[2] & QR != 0 {
            return None;
        }
        Some(match Query::read(packet) {
            Ok(query) => self.answer(packet, &query, sought, asker, out),
            Err(fault) => self.refuse(packet, &fault, out),
        })
    }

    fn answer(&self, packet: &[u8], query: &Query<'_>, sought: &mut Sought, asker: &Asker, out: &mut [u8]) -> usize {
        let refuse = |rcode, out: &mut [u8]| {
            let fault = Fault { rcode, question_end: Some(query.question_end), edns: query.edns };
            self.refuse(packet, &fault, out)
        };
        match (query.edns, query.rtype, query.class) {
            (Some(Edns { version: 1.., .. }), ..) => return refuse(Rcode::BADVERS, out),
            (_, RrType::OPT | RrType::TSIG | RrType(0), _) => return refuse(Rcode::FORMERR, out),
            (_, RrType::AXFR | RrType::IXFR, _) => return refuse(Rcode::REFUSED, out),
            (_, RrType(128..=254), _) => return refuse(Rcode::NOTIMP, out),
            (_, _, Class::IN | Class::ANY) => {}
            _ => return refuse(Rcode::REFUSED, out),
        }
        debug_assert_eq!(sought.name(), query.name);
        let limit = self.limit(query.edns, asker.transport);
        let any = if asker.transport == Transport::Udp { AnyPolicy::One } else { AnyPolicy::All };
        out[..query.question_end].copy_from_slice(&packet[..query.question_end]);
        let dnssec = query.edns.is_some_and(|edns| edns.dnssec_ok);
        let reserved = if query.edns.is_some() { OPT_LEN } else { 0 };
        let mut writer = Writer::new(out, query.question_end, limit - reserved, dnssec);
        let heading = self.view(ClientNet::from_source(asker.source)).resolve(sought, query.rtype, any, &mut writer);
        let (end, truncated, counts) = (writer.end(), writer.is_truncated(), writer.counts());
        write_header(packet, heading, truncated, counts, true, out);
        self.write_opt(query.edns, heading.rcode, end, out)
    }

    /// How long an answer may be.
    fn limit(&self, edns: Option<Edns<'_>>, transport: Transport) -> usize {
        if transport != Transport::Udp {
            return usize::from(u16::MAX);
        }
        let taken = edns.map_or(CLASSIC_PAYLOAD, |edns| edns.payload.min(self.settings.udp_payload));
        // Less than 512 means 512 (RFC 6891 §6.2.3).
        taken.max(CLASSIC_PAYLOAD).into()
    }

    fn refuse(&self, packet: &[u8], fault: &Fault<'_>, out: &mut [u8]) -> usize {
        let end = fault.question_end.unwrap_or(HEADER);
        out[..end].copy_from_slice(&packet[..end]);
        let heading = Heading { rcode: fault.rcode, authoritative: false };
        write_header(packet, heading, false, [0; 3], fault.question_end.is_some(), out);
        self.write_opt(fault.edns, fault.rcode, end, out)
    }

    /// Writes the OPT record, if the query had one (RFC 6891 §6.1.1), at `end`; returns where the message ends then.
    fn write_opt(&self, edns: Option<Edns<'_>>, rcode: Rcode, end: usize, out: &mut [u8]) -> usize {
        let Some(edns) = edns else { return end };
        let mut opt = [0; OPT_LEN];
        opt[1..3].copy_from_slice(&RrType::OPT.0.to_be_bytes());
        opt[3..5].copy_from_slice(&self.settings.udp_payload.to_be_bytes());
        opt[5] = (rcode.0 >> 4) as u8;
        // DO comes back as it was (RFC 3225 §3): Knot Resolver reads the lifetime of negative answers off this field.
        opt[7] = if edns.dnssec_ok { 0x80 } else { 0 };
        out[end..end + OPT_LEN].copy_from_slice(&opt);
        let additional = u16::from_be_bytes([out[10], out[11]]) + 1;
        out[10..12].copy_from_slice(&additional.to_be_bytes());
        end + OPT_LEN
    }
}

fn write_header(packet: &[u8], heading: Heading, truncated: bool, counts: [u16; 3], question: bool, out: &mut [u8]) {
    let aa = if heading.authoritative { AA } else { 0 };
    let tc = if truncated { TC } else { 0 };
    out[..2].copy_from_slice(&packet[..2]);
    out[2] = QR | aa | tc | packet[2] & KEPT[0];
    out[3] = packet[3] & KEPT[1] | (heading.rcode.0 & 0x0F) as u8;
    debug_assert_eq!(opcode(out), opcode(packet));
    out[4..6].copy_from_slice(&u16::from(question).to_be_bytes());
    for (at, count) in [6, 8, 10].into_iter().zip(counts) {
        out[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }
}
