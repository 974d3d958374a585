//! DNS messages as simulated resolvers write and read them (RFC 1035 §4.1): as much of them as caching takes.
//!
//! Written apart from the server's own code, so that a fault of one is not shared by the other.

use crate::name::Name;
use crate::rr::{Class, RrType};

/// The header's length.
const HEADER: usize = 12;
/// What we say that we take over UDP, as resolvers do.
const PAYLOAD: u16 = 1232;
/// The flags of an answer, and the mask of its response code.
const QR: u8 = 0x80;
const TC: u8 = 0x02;
const RCODE: u8 = 0x0F;
/// The flag DO in an OPT record (RFC 3225).
const DO: u8 = 0x80;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The number of the query that it answers.
    pub id: u16,
    /// The response code of the header.
    pub rcode: u8,
    /// The answer section.
    pub answers: Vec<Record>,
    /// The authority section.
    pub authorities: Vec<Record>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its owner.
    pub owner: Name,
    /// Its type.
    pub rtype: RrType,
    /// Its TTL in seconds; 0 where the highest bit is set (RFC 2181 §8).
    pub ttl: u32,
    /// Its data.
    pub data: Data,
}

/// The data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// The target of a CNAME.
    Alias(Name),
    /// Of a SOA only what negative answers take: its MINIMUM.
    Soa(u32),
    /// An NSEC record: the next name, and the types of its owner.
    Nsec(Name, Vec<RrType>),
    /// Any other as it stands in the message. Names in it may be compressed.
    Other(Box<[u8]>),
}

/// Writes a query for `name` and `rtype` into `out`, which is emptied first.
pub fn write_query(out: &mut Vec<u8>, id: u16, name: &Name, rtype: RrType, dnssec: bool) {
    out.clear();
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    out.extend_from_slice(name.as_ref().as_wire());
    out.extend_from_slice(&rtype.0.to_be_bytes());
    out.extend_from_slice(&Class::IN.0.to_be_bytes());
    out.push(0);
    out.extend_from_slice(&RrType::OPT.0.to_be_bytes());
    out.extend_from_slice(&PAYLOAD.to_be_bytes());
    out.extend_from_slice(&[0, 0, if dnssec { DO } else { 0 }, 0, 0, 0]);
}

/// Reads an answer; none where it is malformed, cut, or no answer at all.
pub fn read(octets: &[u8]) -> Option<Message> {
    let head = octets.get(..HEADER)?;
    if head[2] & QR == 0 || head[2] & TC != 0 {
        return None;
    }
    let count = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let mut reader = Reader { octets, at: HEADER };
    for _ in 0..count(4) {
        reader.skip_name()?;
        reader.take(4)?;
    }
    let answers = reader.records(count(6))?;
    let authorities = reader.records(count(8))?;
    Some(Message { id: count(0), rcode: head[3] & RCODE, answers, authorities })
}

struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.octets.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|octets| u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]))
    }

    fn skip_name(&mut self) -> Option<()> {
        loop {
            match self.take(1)?[0] {
                0 => return Some(()),
                0xC0.. => return self.take(1).map(|_| ()),
                len => self.take(len.into())?,
            };
        }
    }

    /// A name. Every pointer has to lead further towards the beginning, so that there is an end to them.
    fn name(&mut self) -> Option<Name> {
        let mut wire = Vec::with_capacity(64);
        let mut behind = None;
        loop {
            let start = self.at;
            match self.take(1)?[0] {
                0 => break,
                high @ 0xC0.. => {
                    let target = usize::from(high & 0x3F) << 8 | usize::from(self.take(1)?[0]);
                    behind.get_or_insert(self.at);
                    if target >= start {
                        return None;
                    }
                    self.at = target;
                }
                len => {
                    wire.push(len);
                    wire.extend_from_slice(self.take(len.into())?);
                }
            }
            if wire.len() > crate::name::MAX_NAME {
                return None;
            }
        }
        wire.push(0);
        self.at = behind.unwrap_or(self.at);
        crate::name::NameRef::read(&wire).ok().map(crate::name::NameRef::to_name)
    }

    fn records(&mut self, count: u16) -> Option<Vec<Record>> {
        (0..count).map(|_| self.record()).collect()
    }

    fn record(&mut self) -> Option<Record> {
        let owner = self.name()?;
        let rtype = RrType(self.u16()?);
        self.u16()?;
        let field = self.u32()?;
        let ttl = if field > i32::MAX as u32 { 0 } else { field };
        let len = usize::from(self.u16()?);
        let end = self.at.checked_add(len).filter(|end| *end <= self.octets.len())?;
        let data = self.data(rtype, end)?;
        self.at = end;
        Some(Record { owner, rtype, ttl, data })
    }

    fn data(&mut self, rtype: RrType, end: usize) -> Option<Data> {
        Some(match rtype {
            RrType::CNAME => Data::Alias(self.name()?),
            RrType::SOA => {
                self.skip_name()?;
                self.skip_name()?;
                self.take(16)?;
                Data::Soa(self.u32()?)
            }
            RrType::NSEC => {
                let next = self.name()?;
                let types = bitmap(self.octets.get(self.at..end)?);
                Data::Nsec(next, types)
            }
            _ => Data::Other(self.octets[self.at..end].into()),
        })
    }
}

/// The types of a bitmap (RFC 4034 §4.1.2).
fn bitmap(mut octets: &[u8]) -> Vec<RrType> {
    let mut types = Vec::new();
    while let [window, len, rest @ ..] = octets {
        let Some((bits, rest)) = rest.split_at_checked(usize::from(*len)) else { break };
        for (at, octet) in bits.iter().enumerate() {
            let set = (0..8u8).filter(|bit| octet & (0x80 >> bit) != 0);
            types.extend(
                set.map(|bit| RrType(u16::from_be_bytes([*window, (at as u8).wrapping_mul(8).wrapping_add(bit)]))),
            );
        }
        octets = rest;
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `www.example CNAME a.example`, `a.example A`, and a SOA; names compressed.
    fn answer() -> Vec<u8> {
        let mut octets = vec![0, 9, 0x84, 0, 0, 1, 0, 2, 0, 1, 0, 0];
        octets.extend_from_slice(b"\x03www\x07example\0\0\x01\0\x01");
        octets.extend_from_slice(b"\xC0\x0C\0\x05\0\x01\0\0\0\x1E\0\x04\x01a\xC0\x10");
        octets.extend_from_slice(b"\xC0\x29\0\x01\0\x01\0\0\0\x3C\0\x04\xC0\0\x02\x01");
        octets.extend_from_slice(
            b"\xC0\x10\0\x06\0\x01\x80\0\0\x1E\0\x18\xC0\x10\xC0\x10\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05",
        );
        octets
    }

    #[test]
    fn answers_are_read() {
        let name = |text| Name::absolute(text).unwrap();
        let message = read(&answer()).unwrap();
        let alias =
            Record { owner: name("www.example"), rtype: RrType::CNAME, ttl: 30, data: Data::Alias(name("a.example")) };
        let address =
            Record { owner: name("a.example"), rtype: RrType::A, ttl: 60, data: Data::Other([192, 0, 2, 1].into()) };
        let soa = Record { owner: name("example"), rtype: RrType::SOA, ttl: 0, data: Data::Soa(5) };
        let (answers, authorities) = (vec![alias, address], vec![soa]);
        assert_eq!(message, Message { id: 9, rcode: 0, answers, authorities });
        let mut query = vec![7; 3];
        write_query(&mut query, 9, &name("www.example"), RrType::A, true);
        assert_eq!((&query[12..29], query[2], read(&query)), (&answer()[12..29], 0, None));
    }

    #[test]
    fn no_octets_are_a_trouble() {
        let good = answer();
        (0..good.len()).for_each(|len| assert_eq!(read(&good[..len]), None, "{len}"));
        for at in 0..good.len() {
            for octet in [0, 1, 0x3F, 0x40, 0xC0, 0xFF] {
                let mut bad = good.clone();
                bad[at] = octet;
                read(&bad);
            }
        }
        assert_eq!(bitmap(&[0, 2, 0x40, 0x01, 1, 1, 0x40]), [1, 15, 257].map(RrType));
        assert_eq!(bitmap(&[0, 9, 1]), []);
    }
}
