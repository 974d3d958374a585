//! Fields of types from the last century: WKS, NSAP, ATMA, A6.

use std::fmt::Write as _;

use crate::name::NameRef;

use super::text::{ipv4, ipv6};
use super::words::Words;
use super::{RdataError, codes, gateway, mnemonics, wire};

const PROTOCOLS: &[(&str, u32)] = &[("icmp", 1), ("tcp", 6), ("udp", 17)];

/// The services that a WKS record may name; others are written as port numbers.
const SERVICES: &[(&str, u32)] = &[
    ("echo", 7),
    ("discard", 9),
    ("daytime", 13),
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("time", 37),
    ("domain", 53),
    ("tftp", 69),
    ("finger", 79),
    ("http", 80),
    ("pop3", 110),
    ("sunrpc", 111),
    ("nntp", 119),
    ("ntp", 123),
    ("imap2", 143),
    ("snmp", 161),
    ("https", 443),
];

pub(super) fn parse_wks(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    out.extend_from_slice(&ipv4(words.word()?)?.octets());
    out.push(mnemonics::number_or(words.word()?, 255, PROTOCOLS)? as u8);
    let at = out.len();
    while !words.at_end() {
        let port = mnemonics::number_or(words.word()?, 65_535, SERVICES)? as usize;
        if out.len() < at + port / 8 + 1 {
            out.resize(at + port / 8 + 1, 0);
        }
        out[at + port / 8] |= 0x80 >> (port % 8);
    }
    Ok(())
}

pub(super) fn check_wks(data: &[u8], at: usize) -> Result<usize, RdataError> {
    let bits = wire::fixed(data, at, 5)?;
    if data.len() - bits > 8192 || data[bits..].last() == Some(&0) {
        return Err(RdataError::new("bad-length", "its bitmap has more than 65536 ports, or ends in an octet of 0"));
    }
    Ok(data.len())
}

pub(super) fn write_wks(data: &[u8], out: &mut String) {
    let Some((address, [protocol, bits @ ..])) = data.split_at_checked(4) else {
        return;
    };
    let _ = write!(out, "{} {protocol}", gateway::ip4(address));
    for (i, octet) in bits.iter().enumerate() {
        for bit in (0..8).filter(|bit| octet & (0x80 >> bit) != 0) {
            let _ = write!(out, " {}", i * 8 + bit);
        }
    }
}

pub(super) fn parse_nsap(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let wrong = || RdataError::new("bad-address", "an NSAP address begins with `0x`").advise("write 0x47.0005.80...");
    let word = words.word()?;
    let (front, digits) = word.split_at_checked(2).ok_or_else(wrong)?;
    if !front.eq_ignore_ascii_case(b"0x") {
        return Err(wrong());
    }
    dotted_hex(digits, out)
}

/// Hexadecimal digits and dots between them.
fn dotted_hex(digits: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut hex = codes::Hex::default();
    let at = out.len();
    for group in digits.split(|octet| *octet == b'.') {
        hex.push(group, out)?;
    }
    hex.finish()?;
    if out.len() == at { Err(RdataError::new("missing-field", "it has no digits")) } else { Ok(()) }
}

pub(super) fn parse_atma(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    match words.word()? {
        [b'+', digits @ ..] => {
            out.push(1);
            check_dots(digits)?;
            let at = out.len();
            out.extend(digits.iter().filter(|octet| **octet != b'.'));
            check_e164(&out[at..])
        }
        digits => {
            out.push(0);
            check_dots(digits)?;
            dotted_hex(digits, out)
        }
    }
}

fn check_dots(digits: &[u8]) -> Result<(), RdataError> {
    if digits.split(|octet| *octet == b'.').any(<[u8]>::is_empty) {
        return Err(RdataError::new("bad-address", "dots stand between digits only"));
    }
    Ok(())
}

fn check_e164(digits: &[u8]) -> Result<(), RdataError> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(RdataError::new("bad-address", "behind `+` stand decimal digits"));
    }
    Ok(())
}

pub(super) fn check_atma(data: &[u8], at: usize) -> Result<usize, RdataError> {
    wire::fixed(data, at, 2)?;
    if data[at] == 1 {
        check_e164(&data[at + 1..])?;
    }
    Ok(data.len())
}

pub(super) fn write_atma(data: &[u8], out: &mut String) {
    match data {
        [0, address @ ..] => codes::write_hex(address, out),
        [_, digits @ ..] => {
            out.push('+');
            out.push_str(&String::from_utf8_lossy(digits));
        }
        [] => {}
    }
}

pub(super) fn parse_a6(words: &mut Words<'_>, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let bits = words.number(128)?;
    out.push(bits as u8);
    if bits < 128 {
        let mut octets = ipv6(words.word()?)?.octets();
        let first = (bits / 8) as usize;
        octets[first] &= 0xFF >> (bits % 8);
        out.extend_from_slice(&octets[first..]);
    }
    if bits > 0 { words.name(origin, out) } else { Ok(()) }
}

pub(super) fn check_a6(data: &[u8], at: usize) -> Result<usize, RdataError> {
    let suffix = wire::fixed(data, at, 1)?;
    let bits = data[at];
    if bits > 128 {
        return Err(RdataError::new("bad-prefix", "the prefix has more than 128 bits"));
    }
    let end = wire::fixed(data, suffix, 16 - usize::from(bits / 8))?;
    if !bits.is_multiple_of(8) && data[suffix] & !(0xFF >> (bits % 8)) != 0 {
        return Err(RdataError::new("bad-prefix", "the address suffix has bits of the prefix"));
    }
    if bits > 0 { wire::name(data, end) } else { Ok(end) }
}

pub(super) fn a6_name(data: &[u8]) -> Option<usize> {
    let bits = *data.first()?;
    (bits > 0 && bits <= 128).then(|| 17 - usize::from(bits / 8))
}

pub(super) fn write_a6(data: &[u8], name: impl Fn(&[u8]) -> String, out: &mut String) {
    let Some((bits @ 0..=128, rest)) = data.split_first() else {
        return;
    };
    let len = 16 - usize::from(bits / 8);
    let _ = write!(out, "{bits}");
    if *bits < 128 {
        let mut octets = [0; 16];
        octets[16 - len..].iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let _ = write!(out, " {}", std::net::Ipv6Addr::from(octets));
    }
    if *bits > 0 {
        let _ = write!(out, " {}", name(rest.get(len..).unwrap_or_default()));
    }
}
