//! From a packet to the octets of its answer.

use std::net::IpAddr;

use super::Serving;
use super::asked::Asked;
use super::chaos;
use super::cookie::Standing;
use super::edns::{BADCOOKIE, ExtendedError, Opt};
use super::query::{Query, Question, opcode};
use super::resolve::{AnyPolicy, Heading};
use super::told::{Told, Trail};
use super::tsig::{NOTAUTH, Tsig};
use crate::net::{ClientNet, Network};
use crate::rr::{Class, RrType};
use crate::snapshot::answer::Rcode;
use crate::snapshot::emit::{HEADER, Proofs, Writer};
use crate::time::{Timestamp, Ttl};

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
/// The flag of an answer (RFC 1035 §4.1.1), in the header's third octet.
const QR: u8 = 0x80;
const AA: u8 = 0x04;
const TC: u8 = 0x02;
/// What an answer takes over from its query: the operation code and RD, and in the fourth octet CD (RFC 4035 §3.2.2).
const KEPT: [u8; 2] = [0x79, 0x10];

/// Operation codes (RFC 1035 §4.1.1, RFC 1996, RFC 2136).
const QUERY: u8 = 0;
const NOTIFY: u8 = 4;
const UPDATE: u8 = 5;

/// An answer in the making: what is known of it before anything is looked up.
struct Reply<'q> {
    serving: &'q Serving,
    packet: &'q [u8],
    query: &'q Query<'q>,
    asker: &'q Asker,
    opt: Option<Opt<'q>>,
    /// Whether the source is not forged.
    proven: bool,
    /// The most octets that it may have.
    limit: usize,
}

/// Why there is nothing but a response code.
struct Refusal(Rcode, Option<ExtendedError>);

impl Serving {
    /// Writes the answer to `packet` into `out` and returns its length, or `None` where silence is right (a packet
    /// without a whole header, or one that is itself an answer).
    ///
    /// `out` holds at least 65,535 octets for stream transports and 4,096 for datagrams. No allocation, no lock.
    pub fn respond(&self, packet: &[u8], asker: &Asker, out: &mut [u8]) -> Option<usize> {
        self.respond_to(packet, &mut Asked::of(self, packet), asker, out)
    }

    /// The same as [`Serving::respond`] where `asked` was [read](Asked::read) from the packet and [found](Asked::find) in
    /// this very serving; it knows what was told afterwards.
    pub fn respond_to(&self, packet: &[u8], asked: &mut Asked, asker: &Asker, out: &mut [u8]) -> Option<usize> {
        if packet.len() < HEADER || packet[2] & QR != 0 {
            return None;
        }
        let mut query = Query::default();
        query.malformed = query.take_in(packet, asked.name(packet)).is_none();
        let mut reply = Reply {
            serving: self,
            packet,
            query: &query,
            asker,
            opt: query.edns.as_ref().map(|edns| Opt::plain(&self.settings, edns)),
            proven: asker.transport != Transport::Udp,
            limit: self.limit(query.edns.as_ref().map(|edns| edns.payload), asker.transport),
        };
        Some(match reply.judge() {
            Ok(question) => reply.answer(question, asked, out),
            Err(refusal) => reply.refuse(&refusal, out),
        })
    }

    /// Whether `packet` proves by a server cookie that its source is not forged (RFC 7873).
    pub fn is_proven(&self, packet: &[u8], asker: &Asker) -> bool {
        let edns = if packet.len() < HEADER { None } else { Query::read(packet).edns };
        edns.is_some_and(|edns| {
            let standing = Opt::plain(&self.settings, &edns).take_up(&self.settings, &edns, asker);
            standing == Ok(Some(Standing::Proven))
        })
    }

    /// How long an answer may be.
    fn limit(&self, payload: Option<u16>, transport: Transport) -> usize {
        if transport != Transport::Udp {
            return usize::from(u16::MAX);
        }
        let taken = payload.map_or(CLASSIC_PAYLOAD, |payload| payload.min(self.settings.udp_payload));
        // Less than 512 means 512 (RFC 6891 §6.2.3).
        taken.max(CLASSIC_PAYLOAD).into()
    }
}

impl<'q> Reply<'q> {
    /// Whether the query can be answered, or what is said instead; in the order in which BIND looks.
    fn judge(&mut self) -> Result<&'q Question<'q>, Refusal> {
        let only = |rcode| Err(Refusal(rcode, None));
        let query = self.query;
        if query.malformed {
            return only(Rcode::FORMERR);
        }
        let mut standing = None;
        if let Some((edns, opt)) = query.edns.as_ref().zip(self.opt.as_mut()) {
            if edns.version > 0 {
                return only(Rcode::BADVERS);
            }
            match opt.take_up(&self.serving.settings, edns, self.asker) {
                Ok(stands) => standing = stands,
                Err(_) => return only(Rcode::FORMERR),
            }
            self.proven |= standing == Some(Standing::Proven);
        }
        let opcode = opcode(self.packet);
        let Some(question) = &query.question else {
            return only(match (opcode, standing) {
                // Nothing is asked but for a cookie, or whether this one is good (RFC 7873 §5.4).
                (QUERY, Some(Standing::New | Standing::Proven)) => Rcode::NOERROR,
                (QUERY, Some(Standing::Bad)) => BADCOOKIE,
                // What is not supported has no form that we know.
                (QUERY | NOTIFY | UPDATE, _) => Rcode::FORMERR,
                _ => Rcode::NOTIMP,
            });
        };
        if query.tsig.is_some() {
            return only(NOTAUTH);
        }
        if opcode != QUERY {
            return only(Rcode::NOTIMP);
        }
        let required = self.serving.settings.cookies.as_ref().is_some_and(|cookies| cookies.required);
        if required && self.asker.transport == Transport::Udp && standing.is_some_and(|s| s != Standing::Proven) {
            return only(BADCOOKIE);
        }
        match (question.rtype(), question.class()) {
            (RrType::OPT | RrType::TSIG | RrType::TKEY, _) => only(Rcode::FORMERR),
            (RrType::MAILA | RrType::MAILB, _) => only(Rcode::NOTIMP),
            (RrType::AXFR | RrType::IXFR, Class::IN) if self.serving.zone(question.name).is_none() => {
                Err(Refusal(NOTAUTH, Some(ExtendedError::NOT_AUTHORITATIVE)))
            }
            (RrType::AXFR | RrType::IXFR, _) => Err(Refusal(Rcode::REFUSED, Some(ExtendedError::PROHIBITED))),
            (_, Class::IN | Class::ANY | Class::CH) => Ok(question),
            _ => Err(Refusal(Rcode::REFUSED, Some(ExtendedError::NOT_AUTHORITATIVE))),
        }
    }

    fn answer(&mut self, question: &Question<'_>, asked: &mut Asked, out: &mut [u8]) -> usize {
        if question.class() == Class::CH {
            return self.answer_chaos(question, out);
        }
        let serving = self.serving;
        let Asked { sought, zone, told, .. } = asked;
        debug_assert_eq!(sought.name(), question.name);
        let any = if self.asker.transport == Transport::Udp { AnyPolicy::One } else { AnyPolicy::All };
        let dnssec = self.opt.is_some_and(|opt| opt.is_dnssec_ok());
        let stale = serving.notes.is_stale(question.name).then_some(ExtendedError::STALE);
        let room = self.opt.map_or(0, |opt| opt.room(stale));
        out[..question.end].copy_from_slice(&self.packet[..question.end]);
        let mut proofs = dnssec.then(Proofs::default);
        let mut writer = Writer::new(out, question.end, self.limit - room, proofs.as_mut());
        let named = self.opt.and_then(|opt| opt.client());
        let client = named.unwrap_or(ClientNet::from_source(self.asker.source));
        let view = serving.view(client);
        let (rtype, region, proven) = (question.rtype(), view.region(), self.proven);
        let what = told.insert(Told { client, region, trail: Trail::default(), rtype, ttl: Ttl::ZERO, proven });
        let heading = view.resolve_in(*zone, sought, rtype, any, &mut what.trail, &mut writer);
        let end = writer.finish();
        let (truncated, counts) = (writer.is_truncated(), writer.counts());
        what.ttl = writer.greatest_ttl();
        if heading.rcode == Rcode::REFUSED {
            // No zone holds the name, so nothing was written.
            *told = None;
            return self.refuse(&not_served(serving, question), out);
        }
        self.write_header(heading, truncated, counts, out);
        // Negative answers and referrals are for everybody, whatever they say (RFC 7871 §7.4).
        if let Some(client) = named.filter(|_| counts[0] > 0)
            && let Some(opt) = &mut self.opt
        {
            let network = serving.reach(client, question, any, dnssec, sought);
            opt.set_scope(network.map_or(0, Network::prefix));
        }
        self.write_opt(heading.rcode, stale, end, out)
    }

    fn answer_chaos(&self, question: &Question<'_>, out: &mut [u8]) -> usize {
        let text = match chaos::answer(self.serving, question) {
            Ok(text) => text,
            Err(why) => return self.refuse(&Refusal(Rcode::REFUSED, Some(why)), out),
        };
        out[..question.end].copy_from_slice(&self.packet[..question.end]);
        let end = chaos::write(&text, question.end, out);
        // NSD and Knot don't call this authoritative, BIND does; no client is known to care.
        let heading = Heading { rcode: Rcode::NOERROR, authoritative: false };
        self.write_header(heading, false, [1, 0, 0], out);
        self.write_opt(heading.rcode, None, end, out)
    }

    /// Writes an answer without records.
    fn refuse(&self, &Refusal(rcode, error): &Refusal, out: &mut [u8]) -> usize {
        let end = self.query.question.as_ref().map_or(HEADER, |question| question.end);
        out[..end].copy_from_slice(&self.packet[..end]);
        self.write_header(Heading { rcode, authoritative: false }, false, [0; 3], out);
        let end = self.write_opt(rcode, error, end, out);
        match &self.query.tsig {
            Some(tsig) if rcode == NOTAUTH => self.write_tsig(tsig, end, out),
            _ => end,
        }
    }

    fn write_header(&self, heading: Heading, truncated: bool, counts: [u16; 3], out: &mut [u8]) {
        let aa = if heading.authoritative { AA } else { 0 };
        let tc = if truncated { TC } else { 0 };
        let packet = self.packet;
        let kept = [packet[2] & KEPT[0], packet[3] & KEPT[1]];
        let flags = [QR | aa | tc | kept[0], kept[1] | (heading.rcode.0 & 0x0F) as u8];
        let questions = u16::from(self.query.question.is_some());
        let [an, ns, ar] = [counts[0].to_be_bytes(), counts[1].to_be_bytes(), counts[2].to_be_bytes()];
        let header = [[packet[0], packet[1]], flags, questions.to_be_bytes(), an, ns, ar];
        out[..HEADER].copy_from_slice(header.as_flattened());
        debug_assert_eq!(opcode(out), opcode(packet));
    }

    /// Writes the OPT record, if the query had one (RFC 6891 §6.1.1), at `end`; returns where the message ends then.
    fn write_opt(&self, rcode: Rcode, error: Option<ExtendedError>, end: usize, out: &mut [u8]) -> usize {
        let Some(opt) = self.opt else { return end };
        count_additional(out);
        opt.write(rcode, error, end, self.limit, out)
    }

    /// Writes a TSIG record, the last of all. Where it does not fit, the client is told that something is missing.
    fn write_tsig(&self, tsig: &Tsig<'_>, end: usize, out: &mut [u8]) -> usize {
        match tsig.write_bad_key(self.packet, end, self.limit, out) {
            Some(end) => {
                count_additional(out);
                end
            }
            None => {
                out[2] |= TC;
                end
            }
        }
    }
}

/// What is said of a name that no zone holds; of a zone that is to be served and cannot be, what BIND, NSD and Knot say.
fn not_served(serving: &Serving, question: &Question<'_>) -> Refusal {
    if serving.notes.is_missing(question.name) {
        Refusal(Rcode::SERVFAIL, Some(ExtendedError::NOT_READY))
    } else {
        Refusal(Rcode::REFUSED, Some(ExtendedError::NOT_AUTHORITATIVE))
    }
}

/// One more record in the additional section.
fn count_additional(out: &mut [u8]) {
    let count = u16::from_be_bytes([out[10], out[11]]) + 1;
    out[10..12].copy_from_slice(&count.to_be_bytes());
}
