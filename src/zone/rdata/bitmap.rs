//! Type bitmaps (RFC 4034 §4.1.2), and the older ones of NXT (RFC 2535 §5.2).

use std::fmt::Write as _;

use crate::rr::RrType;

use super::words::Words;
use super::{RdataError, wire};

pub(super) fn rtype(word: &[u8]) -> Result<RrType, RdataError> {
    std::str::from_utf8(word).ok().and_then(RrType::parse).ok_or_else(|| {
        RdataError::new("bad-type", "not a record type").advise("write a mnemonic such as AAAA, or TYPE28")
    })
}

pub(super) fn parse(words: &mut Words<'_>, empty: bool, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut types = Vec::new();
    while !words.at_end() {
        types.push(rtype(words.word()?)?.0);
    }
    if types.is_empty() && !empty {
        return Err(RdataError::new("missing-field", "no type is named"));
    }
    types.sort_unstable();
    let mut types = types.as_slice();
    while let [first, ..] = *types {
        let window = first >> 8;
        let count = types.partition_point(|rtype| rtype >> 8 == window);
        let last = (types[count - 1] & 0xFF) as usize;
        out.extend([window as u8, (last / 8 + 1) as u8]);
        let at = out.len();
        out.resize(at + last / 8 + 1, 0);
        set(&mut out[at..], &types[..count]);
        types = &types[count..];
    }
    Ok(())
}

fn set(bits: &mut [u8], types: &[u16]) {
    for rtype in types {
        let low = usize::from(rtype & 0xFF);
        bits[low / 8] |= 0x80 >> (low % 8);
    }
}

pub(super) fn check(data: &[u8], mut at: usize, empty: bool) -> Result<usize, RdataError> {
    let first = at;
    let mut previous = None;
    while at < data.len() {
        let window = data[at];
        let bits = wire::counted(data, at + 1)?;
        if previous.is_some_and(|previous| previous >= window) {
            return Err(RdataError::new("bad-bitmap", "the windows of the type bitmap are not in order"));
        }
        if !(1..=32).contains(&bits.len()) || bits.last() == Some(&0) {
            return Err(RdataError::new("bad-bitmap", "a window of the type bitmap has a wrong length"));
        }
        previous = Some(window);
        at += 2 + bits.len();
    }
    if at == first && !empty {
        return Err(RdataError::new("bad-bitmap", "the type bitmap names no type"));
    }
    Ok(at)
}

/// Writes the types of a bitmap that passed [`check`].
pub(super) fn write(mut data: &[u8], out: &mut String) {
    while let [window, len, rest @ ..] = data {
        let (bits, rest) = rest.split_at_checked((*len).into()).unwrap_or((rest, &[]));
        write_bits(*window, bits, out);
        data = rest;
    }
}

fn write_bits(window: u8, bits: &[u8], out: &mut String) {
    for (i, octet) in bits.iter().enumerate() {
        for bit in (0..8).filter(|bit| octet & (0x80 >> bit) != 0) {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
            let _ = write!(out, "{}", RrType(u16::from(window) << 8 | (i * 8 + bit) as u16));
        }
    }
}

pub(super) fn parse_nxt(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut types = Vec::new();
    while !words.at_end() {
        let number = rtype(words.word()?)?.0;
        if !(1..=127).contains(&number) {
            return Err(RdataError::new("bad-type", "an NXT record names types from 1 to 127 only"));
        }
        types.push(number);
    }
    let Some(last) = types.iter().max() else {
        return Ok(());
    };
    let at = out.len();
    out.resize(at + usize::from(*last) / 8 + 1, 0);
    set(&mut out[at..], &types);
    Ok(())
}

pub(super) fn check_nxt(data: &[u8], at: usize) -> Result<usize, RdataError> {
    let bits = &data[at..];
    if bits.len() > 16 || bits.last() == Some(&0) || bits.first().is_some_and(|octet| octet & 0x80 != 0) {
        return Err(RdataError::new("bad-bitmap", "the type bitmap is too long, or names type 0"));
    }
    Ok(data.len())
}

pub(super) fn write_nxt(bits: &[u8], out: &mut String) {
    write_bits(0, bits, out);
}
