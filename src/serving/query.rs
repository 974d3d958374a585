//! A query as it came: header, question, OPT and TSIG record (RFC 1035 §4.1, RFC 6891, RFC 8945).

use super::edns::Edns;
use super::tsig::Tsig;
use crate::name::{MAX_NAME, NameRef};
use crate::rr::{Class, RrType};
use crate::snapshot::emit::HEADER;

/// A query, read as far as it can be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'p> {
    /// Whether something in it is not as it has to be.
    pub malformed: bool,
    /// The question, if there is one, and one only.
    pub question: Option<Question<'p>>,
    /// The OPT record, if there is one that can be read.
    pub edns: Option<Edns<'p>>,
    /// The TSIG record, if there is one.
    pub tsig: Option<Tsig<'p>>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'p> {
    /// The name, in the case it came in.
    pub name: NameRef<'p>,
    /// Type and class, in one number: they are read and looked at together.
    kind: u32,
    /// Where the question ends.
    pub end: usize,
}

impl Question<'_> {
    /// The type.
    pub fn rtype(&self) -> RrType {
        RrType((self.kind >> 16) as u16)
    }

    /// The class.
    pub fn class(&self) -> Class {
        Class(self.kind as u16)
    }
}

/// The operation code of a header.
pub fn opcode(packet: &[u8]) -> u8 {
    packet[2] >> 3 & 0x0F
}

impl<'p> Query<'p> {
    /// Reads a packet of at least a header's length.
    ///
    /// Octets behind the last record are not looked at, as BIND and NSD do it: nothing depends on them.
    pub fn read(packet: &'p [u8]) -> Query<'p> {
        let mut query = Query::default();
        query.malformed = query.take_in(packet, NameRef::read(&packet[HEADER..]).ok()).is_none();
        query
    }

    /// Takes in a packet of which it is known which name, if any, stands behind the header. None if something is not as it
    /// has to be.
    pub(super) fn take_in(&mut self, packet: &'p [u8], name: Option<NameRef<'p>>) -> Option<()> {
        let mut reader = Reader::new(packet, HEADER);
        let &[_, _, _, _, q1, q2, an1, an2, ns1, ns2, ar1, ar2] = packet.first_chunk::<HEADER>()?;
        match u16::from_be_bytes([q1, q2]) {
            0 => {}
            1 => self.question = Some(reader.question(name?)?),
            // RFC 9619: one question, or none.
            _ => return None,
        }
        let others = u32::from(u16::from_be_bytes([an1, an2])) + u32::from(u16::from_be_bytes([ns1, ns2]));
        self.read_records(&mut reader, others, others + u32::from(u16::from_be_bytes([ar1, ar2])))
    }

    /// Reads `count` records, of which the first `others` are not in the additional section.
    fn read_records(&mut self, reader: &mut Reader<'p>, others: u32, count: u32) -> Option<()> {
        for index in 0..count {
            let start = reader.at;
            let owner_len = reader.name()?;
            let &[t1, t2, c1, c2, ttl @ .., l1, l2] = reader.take(10)?.first_chunk::<10>()?;
            let rdata = reader.take(u16::from_be_bytes([l1, l2]).into())?;
            match RrType(u16::from_be_bytes([t1, t2])) {
                // One OPT record, of the root, and in the additional section only (RFC 6891 §6.1.1).
                RrType::OPT => {
                    // Which of several counts, nobody knows: the answer has none then, as BIND and Knot do it.
                    if index < others || owner_len != 1 || self.edns.take().is_some() {
                        return None;
                    }
                    let [rcode, version, flags, z] = ttl;
                    self.edns = Some(Edns::read([c1, c2, rcode, version, flags, z], rdata)?);
                }
                // One TSIG record, the last of all (RFC 8945 §5.2).
                RrType::TSIG => {
                    if index < others || index + 1 < count {
                        return None;
                    }
                    self.tsig = Some(Tsig::read(start, u16::from_be_bytes([c1, c2]), rdata)?);
                }
                _ => {}
            }
        }
        Some(())
    }
}

/// Steps through octets.
pub(super) struct Reader<'p> {
    octets: &'p [u8],
    at: usize,
}

impl<'p> Reader<'p> {
    pub(super) fn new(octets: &'p [u8], at: usize) -> Reader<'p> {
        Reader { octets, at }
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'p [u8]> {
        let octets = self.octets.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(octets)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.octets.len()
    }

    /// A name without compression.
    pub(super) fn whole_name(&mut self) -> Option<NameRef<'p>> {
        let name = NameRef::read(self.octets.get(self.at..)?).ok()?;
        self.at += name.len();
        Some(name)
    }

    /// The question. Its name is not compressed: in front of it there is nothing that a pointer could point at.
    fn question(&mut self, name: NameRef<'p>) -> Option<Question<'p>> {
        self.at += name.len();
        let kind = u32::from_be_bytes(*self.take(4)?.first_chunk()?);
        Some(Question { name, kind, end: self.at })
    }

    /// Steps over a name, a compressed one perhaps; returns its length without compression.
    fn name(&mut self) -> Option<usize> {
        // The owner of an OPT record, which nearly all records of queries are.
        if self.octets.get(self.at) == Some(&0) {
            self.at += 1;
            return Some(1);
        }
        let (len, end) = expand(self.octets, self.at, &mut [0; MAX_NAME])?;
        self.at = end;
        Some(len)
    }
}

/// Puts the name at `at`, a compressed one perhaps, into `name`; returns its length and where it ends in the packet.
/// Pointers lead back only, each further than the one before (RFC 1035 §4.1.4).
pub(super) fn expand(packet: &[u8], mut at: usize, name: &mut [u8; MAX_NAME]) -> Option<(usize, usize)> {
    let (mut len, mut end, mut start) = (0, None, at);
    loop {
        let octet = *packet.get(at)?;
        match octet {
            0..=63 => {
                let label = packet.get(at..at + 1 + usize::from(octet))?;
                name.get_mut(len..len + label.len())?.copy_from_slice(label);
                len += label.len();
                at += label.len();
                if octet == 0 {
                    return Some((len, end.unwrap_or(at)));
                }
            }
            0xC0.. => {
                let target = usize::from(octet & 0x3F) << 8 | usize::from(*packet.get(at + 1)?);
                end = end.or(Some(at + 2));
                if target >= start || target < HEADER {
                    return None;
                }
                (start, at) = (target, target);
            }
            _ => return None,
        }
    }
}
