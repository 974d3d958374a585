//! Fields whose form an octet before them tells: the gateways of IPSECKEY (RFC 4025) and AMTRELAY (RFC 8777), and the
//! host identity of HIP (RFC 8005).

use std::fmt::Write as _;

use crate::name::NameRef;

use super::text::{ipv4, ipv6, push16};
use super::words::Words;
use super::{RdataError, codes, mnemonics, wire};

/// Reads a gateway of the type 0 (none), 1 (IPv4), 2 (IPv6) or 3 (a name).
fn parse_gateway(kind: u32, words: &mut Words<'_>, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    match kind {
        0 => {
            if words.word()? != b"." {
                return Err(RdataError::new("bad-gateway", "the type 0 means no gateway").advise("write `.`"));
            }
        }
        1 => out.extend_from_slice(&ipv4(words.word()?)?.octets()),
        2 => out.extend_from_slice(&ipv6(words.word()?)?.octets()),
        _ => words.name(origin, out)?,
    }
    Ok(())
}

fn check_gateway(kind: u8, data: &[u8], at: usize) -> Result<usize, RdataError> {
    match kind {
        0 => Ok(at),
        1 => wire::fixed(data, at, 4),
        2 => wire::fixed(data, at, 16),
        3 => wire::name(data, at),
        _ => Err(RdataError::new("bad-gateway", "its type is not from 0 to 3")),
    }
}

fn write_gateway(kind: u8, data: &[u8], name: impl Fn(&[u8]) -> String, out: &mut String) {
    let _ = match kind {
        1 => write!(out, " {}", ip4(data)),
        2 => write!(out, " {}", ip6(data)),
        3 => write!(out, " {}", name(data)),
        _ => write!(out, " ."),
    };
}

pub(super) fn ip4(data: &[u8]) -> std::net::Ipv4Addr {
    data.first_chunk::<4>().map_or(std::net::Ipv4Addr::UNSPECIFIED, |octets| (*octets).into())
}

pub(super) fn ip6(data: &[u8]) -> std::net::Ipv6Addr {
    data.first_chunk::<16>().map_or(std::net::Ipv6Addr::UNSPECIFIED, |octets| (*octets).into())
}

pub(super) fn parse_ipsec(words: &mut Words<'_>, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let precedence = words.number(255)?;
    let kind = words.number(3)?;
    let algorithm = mnemonics::number_or(words.word()?, 255, &[])?;
    out.extend([precedence as u8, kind as u8, algorithm as u8]);
    parse_gateway(kind, words, origin, out)
}

pub(super) fn check_ipsec(data: &[u8]) -> Result<usize, RdataError> {
    let at = wire::fixed(data, 0, 3)?;
    check_gateway(data[1], data, at)
}

pub(super) fn ipsec_name(data: &[u8]) -> Option<usize> {
    (data.get(1) == Some(&3)).then_some(3)
}

pub(super) fn write_ipsec(data: &[u8], name: impl Fn(&[u8]) -> String, out: &mut String) {
    if let [precedence, kind, algorithm, gateway @ ..] = data {
        let _ = write!(out, "{precedence} {kind} {algorithm}");
        write_gateway(*kind, gateway, name, out);
    }
}

pub(super) fn parse_amt(words: &mut Words<'_>, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let precedence = words.number(255)?;
    let discovery = words.number(1)?;
    let kind = words.number(3)?;
    out.extend([precedence as u8, (discovery << 7 | kind) as u8]);
    parse_gateway(kind, words, origin, out)
}

pub(super) fn check_amt(data: &[u8]) -> Result<usize, RdataError> {
    let at = wire::fixed(data, 0, 2)?;
    match data[1] & 0x7F {
        kind @ 0..=3 => check_gateway(kind, data, at),
        _ => Ok(data.len()), // Relays without a text form.
    }
}

pub(super) fn amt_name(data: &[u8]) -> Option<usize> {
    data.get(1).is_some_and(|kind| kind & 0x7F == 3).then_some(2)
}

pub(super) fn write_amt(data: &[u8], name: impl Fn(&[u8]) -> String, out: &mut String) {
    if let [precedence, kind, relay @ ..] = data {
        let _ = write!(out, "{precedence} {} {}", kind >> 7, kind & 0x7F);
        write_gateway(kind & 0x7F, relay, name, out);
    }
}

pub(super) fn parse_hip(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let algorithm = words.number(255)?;
    let (mut hit, mut key) = (Vec::new(), Vec::new());
    codes::hex(words.word()?, &mut hit)?;
    codes::base64(words.word()?, &mut key)?;
    let (Ok(hit_len @ 1..), Ok(key_len @ 1..)) = (u8::try_from(hit.len()), u16::try_from(key.len())) else {
        return Err(RdataError::new("bad-length", "the HIT has 1 to 255 octets, the public key 1 to 65535"));
    };
    out.extend([hit_len, algorithm as u8]);
    push16(out, key_len);
    out.extend(hit);
    out.extend(key);
    Ok(())
}

pub(super) fn check_hip(data: &[u8]) -> Result<usize, RdataError> {
    let at = wire::fixed(data, 0, 4)?;
    let (hit, key) = (usize::from(data[0]), usize::from(u16::from_be_bytes([data[2], data[3]])));
    if hit == 0 || key == 0 {
        return Err(RdataError::new("bad-length", "the HIT or the public key is empty"));
    }
    wire::fixed(data, at, hit + key)
}

pub(super) fn write_hip(data: &[u8], out: &mut String) {
    if let [hit, algorithm, _, _, rest @ ..] = data {
        let (hit, key) = rest.split_at_checked(usize::from(*hit)).unwrap_or((rest, &[]));
        let _ = write!(out, "{algorithm} ");
        codes::write_hex(hit, out);
        out.push(' ');
        codes::write_base64(key, out);
    }
}
