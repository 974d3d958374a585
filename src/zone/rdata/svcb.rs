//! Service parameters of SVCB and HTTPS (RFC 9460 §2, §7; RFC 9461 §5).

use std::fmt::Write as _;

use crate::name::unescape;

use super::text::{ipv4, ipv6, push16};
use super::words::{Words, decode, number};
use super::{RdataError, codes, gateway, print, wire};

const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6HINT: u16 = 6;
const DOHPATH: u16 = 7;

const KEYS: &[(&str, u16)] = &[
    ("mandatory", MANDATORY),
    ("alpn", ALPN),
    ("no-default-alpn", NO_DEFAULT_ALPN),
    ("port", PORT),
    ("ipv4hint", IPV4HINT),
    ("ech", ECH),
    ("ipv6hint", IPV6HINT),
    ("dohpath", DOHPATH),
];

fn wrong(why: impl Into<std::borrow::Cow<'static, str>>) -> RdataError {
    RdataError::new("bad-parameter", why)
}

/// Reads parameters in any order and puts them in ascending order of their keys.
pub(super) fn parse(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut values = Vec::new();
    let mut parameters: Vec<(u16, std::ops::Range<usize>)> = Vec::new();
    while !words.at_end() {
        let word = words.word()?;
        let (key, value) = match word.iter().position(|octet| *octet == b'=') {
            None => (word, None),
            Some(equals) if equals + 1 == word.len() => (&word[..equals], Some(words.glued().unwrap_or_default())),
            Some(equals) => (&word[..equals], Some(&word[equals + 1..])),
        };
        let at = values.len();
        let (key, named) = self::key(key)?;
        match named {
            true => parse_value(key, value, &mut values)?,
            false => decode(value.unwrap_or_default(), &mut values)?,
        }
        parameters.push((key, at..values.len()));
    }
    parameters.sort_unstable_by_key(|(key, _)| *key);
    if let Some(pair) = parameters.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(wrong(format!("the parameter {} stands twice", name(pair[0].0))));
    }
    let at = out.len();
    for (key, range) in parameters {
        let len = u16::try_from(range.len()).map_err(|_| wrong("a value has more than 65535 octets"))?;
        push16(out, key);
        push16(out, len);
        out.extend_from_slice(&values[range]);
    }
    check(out, at).map(drop)
}

/// The number of a key, and whether it was written by name; else it is `key` and a number without leading zeros.
fn key(text: &[u8]) -> Result<(u16, bool), RdataError> {
    if let Some((_, key)) = KEYS.iter().find(|(known, _)| known.as_bytes() == text) {
        return Ok((*key, true));
    }
    let digits = text.strip_prefix(b"key").unwrap_or_default();
    match number(digits, 65_535) {
        Some(key) if digits == b"0" || digits.first() != Some(&b'0') => Ok((key as u16, false)),
        _ => Err(wrong(format!("`{}` is no parameter that we know", String::from_utf8_lossy(text)))
            .advise("write keyNNNNN for a parameter without a name; names are in lower case")),
    }
}

fn name(key: u16) -> String {
    match KEYS.iter().find(|(_, known)| *known == key) {
        Some((name, _)) => (*name).into(),
        None => format!("key{key}"),
    }
}

/// Reads the value of a known key in its own form.
fn parse_value(key: u16, value: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let raw = value.unwrap_or_default();
    let items = || raw.split(|octet| *octet == b',');
    match key {
        MANDATORY => {
            let mut keys = items().map(|item| self::key(item).map(|(key, _)| key)).collect::<Result<Vec<_>, _>>()?;
            keys.sort_unstable();
            keys.into_iter().for_each(|key| push16(out, key));
        }
        ALPN => parse_alpn(raw, out)?,
        NO_DEFAULT_ALPN if !raw.is_empty() => return Err(wrong("no-default-alpn has no value")),
        PORT => push16(out, number(raw, 65_535).ok_or_else(|| wrong("port is not from 0 to 65535"))? as u16),
        IPV4HINT => {
            for item in items() {
                out.extend_from_slice(&ipv4(item)?.octets());
            }
        }
        IPV6HINT => {
            for item in items() {
                out.extend_from_slice(&ipv6(item)?.octets());
            }
        }
        ECH => codes::base64(raw, out)?,
        _ => decode(raw, out)?,
    }
    Ok(())
}

/// Protocol names with commas between, which are decoded twice: as a string, then as a list in which `\,` is no
/// separator (RFC 9460 appendix A.1).
fn parse_alpn(raw: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut list = Vec::new();
    decode(raw, &mut list)?;
    let mut start = out.len();
    out.push(0);
    let mut at = 0;
    while let Some(&octet) = list.get(at) {
        at += 1;
        match octet {
            b',' => {
                close(start, out)?;
                start = out.len();
                out.push(0);
            }
            b'\\' => {
                let escaped = unescape(&list, &mut at).filter(|octet| matches!(octet, b',' | b'\\'));
                out.push(escaped.ok_or_else(|| wrong("in alpn, `\\` stands only before `,` and `\\`"))?);
            }
            _ => out.push(octet),
        }
    }
    close(start, out)
}

fn close(start: usize, out: &mut [u8]) -> Result<(), RdataError> {
    match u8::try_from(out.len() - start - 1) {
        Ok(len @ 1..) => {
            out[start] = len;
            Ok(())
        }
        _ => Err(wrong("a protocol of alpn has no octets, or more than 255")),
    }
}

pub(super) fn check(data: &[u8], first: usize) -> Result<usize, RdataError> {
    let mut keys: Vec<u16> = Vec::new();
    let mut mandatory: &[u8] = &[];
    let mut at = first;
    while at < data.len() {
        let value_at = wire::fixed(data, at, 4)?;
        let key = u16::from_be_bytes([data[at], data[at + 1]]);
        let len = u16::from_be_bytes([data[at + 2], data[at + 3]]);
        at = wire::fixed(data, value_at, len.into())?;
        if keys.last().is_some_and(|last| *last >= key) {
            return Err(wrong("the parameters are not in ascending order of their keys"));
        }
        let value = &data[value_at..at];
        check_value(key, value)?;
        if key == MANDATORY {
            mandatory = value;
        }
        keys.push(key);
    }
    for pair in mandatory.chunks(2) {
        let key = u16::from_be_bytes([pair[0], pair[1]]);
        if keys.binary_search(&key).is_err() {
            return Err(wrong(format!("{} is mandatory and not there", name(key))));
        }
    }
    if keys.contains(&NO_DEFAULT_ALPN) && !keys.contains(&ALPN) {
        return Err(wrong("no-default-alpn without alpn leaves no protocol"));
    }
    Ok(at)
}

fn check_value(key: u16, value: &[u8]) -> Result<(), RdataError> {
    let good = match key {
        MANDATORY => {
            let keys: Vec<_> = value.chunks_exact(2).collect();
            value.len().is_multiple_of(2)
                && !keys.is_empty()
                && !keys.contains(&&[0, 0][..])
                && keys.is_sorted_by(|a, b| a < b)
        }
        ALPN => {
            let mut at = 0;
            while at < value.len() {
                let protocol = wire::counted(value, at)?;
                if protocol.is_empty() {
                    return Err(wrong("a protocol of alpn has no octets"));
                }
                at += 1 + protocol.len();
            }
            at > 0
        }
        NO_DEFAULT_ALPN => value.is_empty(),
        PORT => value.len() == 2,
        IPV4HINT => !value.is_empty() && value.len().is_multiple_of(4),
        IPV6HINT => !value.is_empty() && value.len().is_multiple_of(16),
        DOHPATH => check_dohpath(value),
        _ => true,
    };
    if good { Ok(()) } else { Err(wrong(format!("the value of {} is malformed", name(key)))) }
}

/// A relative URI template in UTF-8 with the variable `dns` (RFC 9461 §5).
fn check_dohpath(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        return false;
    };
    let mut has_dns = false;
    for piece in text.split('{').skip(1) {
        let Some((expression, _)) = piece.split_once('}') else {
            return false;
        };
        // An operator, then variables, each with a modifier or without (RFC 6570 §2.2).
        for variable in expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression).split(',') {
            let name = variable.strip_suffix('*').unwrap_or(variable);
            let name = name.split_once(':').map_or(name, |(name, _)| name);
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.%".contains(&b)) {
                return false;
            }
            has_dns |= name == "dns";
        }
    }
    text.starts_with('/') && has_dns
}

/// Writes parameters that passed [`check`].
pub(super) fn write(mut data: &[u8], out: &mut String) {
    while let [k1, k2, l1, l2, rest @ ..] = data {
        let key = u16::from_be_bytes([*k1, *k2]);
        let len = usize::from(u16::from_be_bytes([*l1, *l2]));
        let (value, rest) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&name(key));
        write_value(key, value, out);
        data = rest;
    }
}

fn write_value(key: u16, value: &[u8], out: &mut String) {
    let list = |out: &mut String, items: Vec<String>| {
        let _ = write!(out, "={}", items.join(","));
    };
    match key {
        MANDATORY => {
            list(out, value.chunks_exact(2).map(|pair| name(u16::from_be_bytes([pair[0], pair[1]]))).collect())
        }
        ALPN => {
            let mut plain = Vec::new();
            let mut at = 0;
            while let Ok(protocol) = wire::counted(value, at) {
                if at > 0 {
                    plain.push(b',');
                }
                for octet in protocol {
                    if matches!(octet, b',' | b'\\') {
                        plain.push(b'\\');
                    }
                    plain.push(*octet);
                }
                at += 1 + protocol.len();
            }
            out.push('=');
            print::quoted(&plain, out);
        }
        PORT => {
            let _ = write!(out, "={}", value.iter().fold(0u32, |port, octet| port << 8 | u32::from(*octet)));
        }
        IPV4HINT => list(out, value.chunks(4).map(|address| gateway::ip4(address).to_string()).collect()),
        IPV6HINT => list(out, value.chunks(16).map(|address| gateway::ip6(address).to_string()).collect()),
        ECH if !value.is_empty() => {
            out.push('=');
            codes::write_base64(value, out);
        }
        _ if value.is_empty() => {}
        _ => {
            out.push('=');
            print::quoted(value, out);
        }
    }
}
