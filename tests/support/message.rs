//! A strict reader of DNS messages, independent of the code under test (RFC 1035 §4, 3597, 6891).
//!
//! What a lenient reader would overlook is refused with the reason: a pointer that does not lead back to the beginning
//! of a label, compression where RFC 3597 §4 forbids it, data that does not fill its length or goes over it, a second
//! OPT, octets behind the end.

use std::fmt;

use understudy::name::{Name, NameRef};
use understudy::rr::{Class, RrType};

/// A message, read whole. Names in data are uncompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u16,
    pub flags: Flags,
    pub questions: Vec<Question>,
    pub answers: Vec<Record>,
    pub authorities: Vec<Record>,
    /// Without the OPT record.
    pub additionals: Vec<Record>,
    pub edns: Option<Edns>,
}

/// The third and fourth octet of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    pub fn qr(self) -> bool {
        self.0 & 0x8000 != 0
    }
    pub fn opcode(self) -> u8 {
        (self.0 >> 11) as u8 & 15
    }
    pub fn aa(self) -> bool {
        self.0 & 0x0400 != 0
    }
    pub fn tc(self) -> bool {
        self.0 & 0x0200 != 0
    }
    pub fn rd(self) -> bool {
        self.0 & 0x0100 != 0
    }
    pub fn ra(self) -> bool {
        self.0 & 0x0080 != 0
    }
    /// The lower four bits of the response code.
    pub fn rcode(self) -> u8 {
        self.0 as u8 & 15
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub name: Name,
    pub qtype: RrType,
    pub class: Class,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    pub owner: Name,
    pub rtype: RrType,
    pub class: Class,
    pub ttl: u32,
    pub rdata: Vec<u8>,
    /// The data with the names in it in lower case (RFC 4034 §6.2).
    pub canonical: Vec<u8>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} ", self.owner, self.ttl, self.class, self.rtype)?;
        self.rdata.iter().try_for_each(|octet| match octet {
            0x21..=0x7e => write!(f, "{}", *octet as char),
            _ => write!(f, "\\{octet:03}"),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edns {
    pub payload: u16,
    pub extended_rcode: u8,
    pub version: u8,
    pub flags: u16,
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Message {
    /// The whole response code (RFC 6891 §6.1.3).
    pub fn rcode(&self) -> u16 {
        u16::from(self.flags.rcode()) | self.edns.as_ref().map_or(0, |edns| u16::from(edns.extended_rcode) << 4)
    }
}

/// Why octets are not a DNS message, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub at: usize,
    pub why: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at octet {}: {}", self.at, self.why)
    }
}

/// Reads a message of which every octet must be accounted for.
pub fn read(octets: &[u8]) -> Result<Message, Malformed> {
    let mut reader = Reader { octets, at: 0, end: octets.len(), label_starts: Vec::new() };
    let id = reader.u16()?;
    let flags = Flags(reader.u16()?);
    let counts = [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
    let mut questions = Vec::new();
    for _ in 0..counts[0] {
        let name = reader.name(true)?;
        questions.push(Question { name, qtype: RrType(reader.u16()?), class: Class(reader.u16()?) });
    }
    let mut sections = [Vec::new(), Vec::new(), Vec::new()];
    let mut edns = None;
    for (section, records) in sections.iter_mut().enumerate() {
        for _ in 0..counts[section + 1] {
            let start = reader.at;
            let record = reader.record()?;
            if record.rtype != RrType::OPT {
                records.push(record);
            } else if section != 2 {
                return Err(Malformed { at: start, why: "an OPT record outside the additional section" });
            } else if edns.replace(read_edns(&record, start)?).is_some() {
                return Err(Malformed { at: start, why: "a second OPT record" });
            }
        }
    }
    if reader.at < octets.len() {
        return reader.fail("octets behind the last record");
    }
    let [answers, authorities, additionals] = sections;
    Ok(Message { id, flags, questions, answers, authorities, additionals, edns })
}

fn read_edns(record: &Record, at: usize) -> Result<Edns, Malformed> {
    if !record.owner.as_ref().is_root() {
        return Err(Malformed { at, why: "an OPT record whose owner is not the root" });
    }
    let mut options = Vec::new();
    let mut rest = &record.rdata[..];
    while !rest.is_empty() {
        let cut = Malformed { at, why: "an EDNS option goes over the end of its OPT record" };
        let (head, tail) = rest.split_at_checked(4).ok_or(cut.clone())?;
        let (data, tail) = tail.split_at_checked(u16::from_be_bytes([head[2], head[3]]).into()).ok_or(cut)?;
        options.push((u16::from_be_bytes([head[0], head[1]]), data.to_vec()));
        rest = tail;
    }
    let [extended_rcode, version, high, low] = record.ttl.to_be_bytes();
    let flags = u16::from_be_bytes([high, low]);
    Ok(Edns { payload: record.class.0, extended_rcode, version, flags, options })
}

/// A field of a record's data.
#[derive(Clone, Copy)]
enum Field {
    /// So many octets.
    Octets(usize),
    /// A name that may be compressed: only those of RFC 1035 (RFC 3597 §4).
    Name,
    /// A name that may not.
    PlainName,
    /// A character-string.
    Text,
    /// One octet of length, that may be 0, and as many octets.
    Counted,
    /// At least one character-string, up to the end.
    Texts,
    /// Type bitmaps (RFC 4034 §4.1.2), up to the end.
    Bitmap,
    /// SvcParams in ascending order (RFC 9460 §2.2), up to the end.
    SvcParams,
    /// At least one octet, up to the end.
    Some,
    /// What is left, be it nothing.
    Rest,
}

/// The fields of the types whose data we look into.
const FIELDS: &[(RrType, &[Field])] = {
    use Field::*;
    &[
        (RrType::A, &[Octets(4)]),
        (RrType::AAAA, &[Octets(16)]),
        (RrType::NS, &[Name]),
        (RrType::MD, &[Name]),
        (RrType::MF, &[Name]),
        (RrType::CNAME, &[Name]),
        (RrType::MB, &[Name]),
        (RrType::MG, &[Name]),
        (RrType::MR, &[Name]),
        (RrType::PTR, &[Name]),
        (RrType::MINFO, &[Name, Name]),
        (RrType::SOA, &[Name, Name, Octets(20)]),
        (RrType::MX, &[Octets(2), Name]),
        (RrType::TXT, &[Texts]),
        (RrType::SPF, &[Texts]),
        (RrType::HINFO, &[Text, Text]),
        (RrType::RP, &[PlainName, PlainName]),
        (RrType::AFSDB, &[Octets(2), PlainName]),
        (RrType::RT, &[Octets(2), PlainName]),
        (RrType::KX, &[Octets(2), PlainName]),
        (RrType::PX, &[Octets(2), PlainName, PlainName]),
        (RrType::LP, &[Octets(2), PlainName]),
        (RrType::SRV, &[Octets(6), PlainName]),
        (RrType::NAPTR, &[Octets(4), Text, Text, Text, PlainName]),
        (RrType::DNAME, &[PlainName]),
        (RrType::SVCB, &[Octets(2), PlainName, SvcParams]),
        (RrType::HTTPS, &[Octets(2), PlainName, SvcParams]),
        (RrType::CAA, &[Octets(1), Text, Rest]),
        (RrType::LOC, &[Octets(16)]),
        (RrType::DS, &[Octets(4), Some]),
        (RrType::CDS, &[Octets(4), Some]),
        (RrType::DNSKEY, &[Octets(4), Some]),
        (RrType::CDNSKEY, &[Octets(4), Some]),
        (RrType::RRSIG, &[Octets(18), PlainName, Some]),
        (RrType::NSEC, &[PlainName, Bitmap]),
        (RrType::NSEC3, &[Octets(4), Counted, Counted, Bitmap]),
        (RrType::NSEC3PARAM, &[Octets(4), Counted]),
        (RrType::CSYNC, &[Octets(6), Bitmap]),
        (RrType::TLSA, &[Octets(3), Some]),
        (RrType::SMIMEA, &[Octets(3), Some]),
        (RrType::SSHFP, &[Octets(2), Some]),
        (RrType::ZONEMD, &[Octets(6), Some]),
        (RrType::EUI48, &[Octets(6)]),
        (RrType::EUI64, &[Octets(8)]),
        (RrType::URI, &[Octets(4), Some]),
    ]
};

struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
    /// Where the data being read must end: that of a record, or of the message.
    end: usize,
    /// Where the labels of the names read so far begin; pointers may lead nowhere else. They rise.
    label_starts: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, why: &'static str) -> Result<T, Malformed> {
        Err(Malformed { at: self.at, why })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.end - self.at {
            return self.fail("cut short");
        }
        self.at += count;
        Ok(&self.octets[self.at - count..self.at])
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take(4).map(|octets| u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]))
    }

    /// A name; `compressible` says whether pointers may stand in it.
    fn name(&mut self, compressible: bool) -> Result<Name, Malformed> {
        let mut wire = Vec::with_capacity(64);
        let mut own = Vec::with_capacity(8);
        // Labels are taken in here until the first pointer, then wherever pointers lead.
        let mut resume = None;
        loop {
            let start = self.at;
            let octet = self.take(1)?[0];
            match octet {
                0..=63 => {
                    if resume.is_none() {
                        own.push(start);
                    }
                    wire.push(octet);
                    wire.extend_from_slice(self.take(octet.into())?);
                    if wire.len() > 255 {
                        return self.fail("a name of more than 255 octets");
                    }
                    if octet == 0 {
                        break;
                    }
                }
                0xC0.. => {
                    if !compressible {
                        return self.fail("a compressed name where RFC 3597 section 4 forbids it");
                    }
                    let target = usize::from(octet & 0x3F) << 8 | usize::from(self.take(1)?[0]);
                    // Those of the name itself are not in the set yet, so each step leads to an earlier name.
                    if target >= start || self.label_starts.binary_search(&target).is_err() {
                        return self.fail("a pointer that does not lead back to the beginning of a label");
                    }
                    if resume.is_none() {
                        own.push(start);
                        resume = Some((self.at, self.end));
                    }
                    self.at = target;
                    self.end = self.octets.len();
                }
                _ => return self.fail("a label of an unknown kind"),
            }
        }
        if let Some((at, end)) = resume {
            (self.at, self.end) = (at, end);
        }
        self.label_starts.extend(own);
        match NameRef::read(&wire) {
            Ok(name) => Ok(name.to_name()),
            Err(_) => self.fail("a name that the library does not take"),
        }
    }

    fn record(&mut self) -> Result<Record, Malformed> {
        let owner = self.name(true)?;
        let (rtype, class) = (RrType(self.u16()?), Class(self.u16()?));
        let ttl = self.u32()?;
        if ttl > i32::MAX as u32 && rtype != RrType::OPT {
            return self.fail("a TTL of more than 31 bits");
        }
        let length = self.u16()?.into();
        if length > self.end - self.at {
            return self.fail("data that goes over the end of the message");
        }
        let message_end = std::mem::replace(&mut self.end, self.at + length);
        let (mut rdata, mut canonical) = (Vec::with_capacity(length), Vec::with_capacity(length));
        let fields = FIELDS.iter().find(|(known, _)| *known == rtype && class == Class::IN);
        for field in fields.map_or(&[Field::Rest][..], |(_, fields)| fields) {
            let start = rdata.len();
            self.field(*field, &mut rdata)?;
            canonical.extend_from_slice(&rdata[start..]);
            if matches!(field, Field::Name | Field::PlainName) {
                canonical[start..].make_ascii_lowercase();
            }
        }
        if self.at != self.end {
            return self.fail("data that goes on behind its last field");
        }
        self.end = message_end;
        Ok(Record { owner, rtype, class, ttl, rdata, canonical })
    }

    fn field(&mut self, field: Field, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let left = self.end - self.at;
        match field {
            Field::Octets(count) => out.extend_from_slice(self.take(count)?),
            Field::Name => out.extend_from_slice(self.name(true)?.as_ref().as_wire()),
            Field::PlainName => out.extend_from_slice(self.name(false)?.as_ref().as_wire()),
            Field::Text | Field::Counted => {
                let length = self.take(1)?[0];
                out.push(length);
                out.extend_from_slice(self.take(length.into())?);
            }
            Field::Texts if left == 0 => return self.fail("no character-string"),
            Field::Texts => {
                while self.at < self.end {
                    self.field(Field::Text, out)?;
                }
            }
            Field::Some if left == 0 => return self.fail("an empty last field"),
            Field::Some | Field::Rest => out.extend_from_slice(self.take(left)?),
            Field::Bitmap => {
                let mut last = None;
                while self.at < self.end {
                    let head = self.take(2)?;
                    let map = self.take(head[1].into())?;
                    if last.replace(head[0]).is_some_and(|last| last >= head[0]) {
                        return self.fail("type bitmap windows out of order");
                    }
                    if !(1..=32).contains(&map.len()) || map.last() == Some(&0) {
                        return self.fail("a type bitmap of a wrong length");
                    }
                    out.extend_from_slice(head);
                    out.extend_from_slice(map);
                }
            }
            Field::SvcParams => {
                let mut last = None;
                while self.at < self.end {
                    let key = self.u16()?;
                    if last.replace(key).is_some_and(|last| last >= key) {
                        return self.fail("SvcParams out of order");
                    }
                    let length = self.u16()?;
                    out.extend_from_slice(&key.to_be_bytes());
                    out.extend_from_slice(&length.to_be_bytes());
                    out.extend_from_slice(self.take(length.into())?);
                }
            }
        }
        Ok(())
    }
}

/// A query as a client would send it: `payload` makes it one with EDNS.
pub fn query(id: u16, name: NameRef<'_>, qtype: RrType, recursion_desired: bool, payload: Option<u16>) -> Vec<u8> {
    let mut octets = Vec::with_capacity(64);
    octets.extend_from_slice(&id.to_be_bytes());
    octets.extend_from_slice(&[u8::from(recursion_desired), 0, 0, 1, 0, 0, 0, 0, 0, u8::from(payload.is_some())]);
    octets.extend_from_slice(name.as_wire());
    octets.extend_from_slice(&qtype.0.to_be_bytes());
    octets.extend_from_slice(&Class::IN.0.to_be_bytes());
    if let Some(payload) = payload {
        octets.extend_from_slice(&[0, 0, 41]);
        octets.extend_from_slice(&payload.to_be_bytes());
        octets.extend_from_slice(&[0; 6]);
    }
    octets
}
