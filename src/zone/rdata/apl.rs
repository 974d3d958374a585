//! Lists of address prefixes (RFC 3123).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::text::{ipv4, ipv6, push16};
use super::words::{Words, number};
use super::{RdataError, wire};

fn wrong(why: &'static str) -> RdataError {
    RdataError::new("bad-prefix", why).advise("write 1:192.0.2.0/24 or !2:2001:db8::/32")
}

pub(super) fn parse(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    while !words.at_end() {
        let word = words.word()?;
        let (negated, item) = word.strip_prefix(b"!").map_or((0, word), |item| (0x80, item));
        let colon = item.iter().position(|octet| *octet == b':').ok_or_else(|| wrong("no `:` behind the family"))?;
        let slash = item.iter().rposition(|octet| *octet == b'/').ok_or_else(|| wrong("no `/` before the length"))?;
        let address = item.get(colon + 1..slash).unwrap_or_default();
        let (family, address, bits) = match number(&item[..colon], 65_535) {
            Some(1) => (1, ipv4(address)?.octets().to_vec(), 32),
            Some(2) => (2, ipv6(address)?.octets().to_vec(), 128),
            _ => return Err(wrong("the address family is neither 1 (IPv4) nor 2 (IPv6)")),
        };
        let prefix = number(&item[slash + 1..], bits).ok_or_else(|| wrong("the prefix is longer than the address"))?;
        let len = address.iter().rposition(|octet| *octet != 0).map_or(0, |last| last + 1);
        push16(out, family);
        out.extend([prefix as u8, negated | len as u8]);
        out.extend_from_slice(&address[..len]);
    }
    Ok(())
}

pub(super) fn check(data: &[u8], mut at: usize) -> Result<usize, RdataError> {
    while at < data.len() {
        wire::fixed(data, at, 4)?;
        let (family, prefix, len) = (u16::from_be_bytes([data[at], data[at + 1]]), data[at + 2], data[at + 3] & 0x7F);
        at = wire::fixed(data, at + 4, len.into())?;
        let fits = match family {
            1 => prefix <= 32 && len <= 4,
            2 => prefix <= 128 && len <= 16,
            _ => true, // Families without a text form.
        };
        if !fits {
            return Err(wrong("the prefix is longer than the address"));
        }
        if len > 0 && data[at - 1] == 0 {
            return Err(wrong("the address has octets of value 0 at its end"));
        }
    }
    Ok(at)
}

/// Writes prefixes that passed [`check`].
pub(super) fn write(mut data: &[u8], out: &mut String) {
    while let [_, family, prefix, len, rest @ ..] = data {
        let (address, rest) = rest.split_at_checked(usize::from(len & 0x7F)).unwrap_or((rest, &[]));
        let mut octets = [0; 16];
        octets.iter_mut().zip(address).for_each(|(to, from)| *to = *from);
        if !out.is_empty() {
            out.push(' ');
        }
        if len & 0x80 != 0 {
            out.push('!');
        }
        let _ = match family {
            1 => write!(out, "1:{}/{prefix}", Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])),
            _ => write!(out, "{family}:{}/{prefix}", Ipv6Addr::from(octets)),
        };
        data = rest;
    }
}
