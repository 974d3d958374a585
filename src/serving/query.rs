//! A query as it came: header, question, OPT record (RFC 1035 §4.1, RFC 6891).

use crate::name::NameRef;
use crate::rr::{Class, RrType};
use crate::snapshot::answer::Rcode;
use crate::snapshot::emit::HEADER;

/// A query that can be answered.
#[derive(Clone, Copy, Debug)]
pub struct Query<'p> {
    /// The name that is asked for, in the case it came in.
    pub name: NameRef<'p>,
    /// The type that is asked for.
    pub rtype: RrType,
    /// The class that is asked for.
    pub class: Class,
    /// Where the question ends.
    pub question_end: usize,
    /// The OPT record, if there was one.
    pub edns: Option<Edns<'p>>,
}

/// What an OPT record says (RFC 6891 §6.1).
#[derive(Clone, Copy, Debug)]
pub struct Edns<'p> {
    /// The greatest answer that the client takes over UDP, in octets.
    pub payload: u16,
    /// The EDNS version.
    pub version: u8,
    /// Whether the client wants DNSSEC records (RFC 3225).
    pub dnssec_ok: bool,
    /// The options, not looked at yet.
    pub options: &'p [u8],
}

/// A query that cannot be answered: the response code to say so with, and what was understood of it.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'p> {
    /// The response code.
    pub rcode: Rcode,
    /// Where the question ends, if it could be read.
    pub question_end: Option<usize>,
    /// The OPT record, if one could be read.
    pub edns: Option<Edns<'p>>,
}

/// The operation code of a header.
pub fn opcode(packet: &[u8]) -> u8 {
    packet[2] >> 3 & 0x0F
}

impl<'p> Query<'p> {
    /// Reads a packet of at least a header's length.
    pub fn read(packet: &'p [u8]) -> Result<Query<'p>, Fault<'p>> {
        let fault = |rcode, question_end, edns| Fault { rcode, question_end, edns };
        let count = |index: usize| u16::from_be_bytes([packet[4 + 2 * index], packet[5 + 2 * index]]);
        let wrong = if opcode(packet) == 0 { Rcode::FORMERR } else { Rcode::NOTIMP };
        if count(0) != 1 {
            return Err(fault(wrong, None, None));
        }
        let mut reader = Reader { packet, at: HEADER };
        let (Some(name), Some(rtype), Some(class)) = (reader.whole_name(), reader.u16(), reader.u16()) else {
            return Err(fault(wrong, None, None));
        };
        let question_end = reader.at;
        let others = u32::from(count(1)) + u32::from(count(2));
        let edns = match reader.opt(others, u32::from(count(3))) {
            Ok(edns) => edns,
            Err(()) => return Err(fault(wrong, Some(question_end), None)),
        };
        if opcode(packet) != 0 {
            return Err(fault(Rcode::NOTIMP, Some(question_end), edns));
        }
        Ok(Query { name, rtype: RrType(rtype), class: Class(class), question_end, edns })
    }
}

struct Reader<'p> {
    packet: &'p [u8],
    at: usize,
}

impl<'p> Reader<'p> {
    fn take(&mut self, len: usize) -> Option<&'p [u8]> {
        let octets = self.packet.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(octets)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    /// A name without compression: in the first question there is nothing that a pointer could point at.
    fn whole_name(&mut self) -> Option<NameRef<'p>> {
        let name = NameRef::read(self.packet.get(self.at..)?).ok()?;
        self.at += name.len();
        Some(name)
    }

    /// Steps over a name, a pointer perhaps; whether it was the root.
    fn skip_name(&mut self) -> Option<bool> {
        let start = self.at;
        loop {
            let len = *self.packet.get(self.at)?;
            self.at += 1;
            match len {
                0 => return Some(self.at == start + 1),
                1..=63 => {
                    self.take(len.into())?;
                }
                0xC0.. => {
                    self.take(1)?;
                    return Some(false);
                }
                _ => return None,
            }
        }
    }

    /// Steps over `others` records, then looks for the OPT record among the `additional` ones.
    fn opt(&mut self, others: u32, additional: u32) -> Result<Option<Edns<'p>>, ()> {
        let mut found = None;
        for index in 0..others + additional {
            let is_root = self.skip_name().ok_or(())?;
            let head = self.take(10).ok_or(())?;
            let rdata = self.take(u16::from_be_bytes([head[8], head[9]]).into()).ok_or(())?;
            if u16::from_be_bytes([head[0], head[1]]) != RrType::OPT.0 {
                continue;
            }
            // One OPT record, of the root, and in the additional section only (RFC 6891 §6.1.1).
            if index < others || !is_root || found.is_some() || !options_are_whole(rdata) {
                return Err(());
            }
            found = Some(Edns {
                payload: u16::from_be_bytes([head[2], head[3]]),
                version: head[5],
                dnssec_ok: head[6] & 0x80 != 0,
                options: rdata,
            });
        }
        Ok(found)
    }
}

fn options_are_whole(mut options: &[u8]) -> bool {
    while !options.is_empty() {
        let Some(len) = options.get(2..4) else { return false };
        let Some(rest) = options.get(4 + usize::from(u16::from_be_bytes([len[0], len[1]]))..) else { return false };
        options = rest;
    }
    true
}
