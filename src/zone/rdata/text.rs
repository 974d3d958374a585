//! Record data from text: the words of a record into wire form, field by field.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::grammar::{Empty, Kind, fields};
use crate::zone::lexer::Lexer;

use super::words::{char_string, decode, number};
use super::{RdataError, Words, apl, bitmap, codes, gateway, legacy, loc, mnemonics, seconds, svcb, wire};

/// Reads the data of a record into `out`, which is emptied first: in the grammar of its type, or as `\# length hex`
/// (RFC 3597 §5), which is checked too if the type is known.
///
/// After an error, [`Words::last`] is the word at fault.
pub(crate) fn parse(
    rtype: RrType,
    words: &mut Words<'_>,
    origin: NameRef<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RdataError> {
    out.clear();
    if is_generic(rtype, words) {
        parse_generic(words, out)?;
        return wire::validate(rtype, out);
    }
    let Some(fields) = fields(rtype) else {
        let _ = words.take();
        return Err(RdataError::new("unknown-syntax", format!("data of type {rtype} has no text form of its own"))
            .advise("write \\# LENGTH HEXADECIMAL (RFC 3597)"));
    };
    for field in fields {
        parse_field(field.kind, words, origin, out).map_err(|error| error.of(field.name))?;
    }
    if words.take().is_some() {
        return Err(RdataError::new("extra-field", format!("a record of type {rtype} has ended before this"))
            .advise("remove it; a comment begins with `;`, and text with blanks stands in quotes"));
    }
    if out.len() > usize::from(u16::MAX) {
        return Err(RdataError::new("long-data", "the data has more than 65535 octets"));
    }
    Ok(())
}

/// The data that `text` stands for, as a master file would have it; names without a final dot are relative to `origin`.
pub fn read(rtype: RrType, text: &str, origin: NameRef<'_>) -> Result<Vec<u8>, RdataError> {
    // A blank in front keeps the start of the text from being taken for that of a file.
    let line = format!("  {text}");
    let (mut tokens, mut rdata) = (Vec::new(), Vec::new());
    let mut lexer = Lexer::new(line.as_bytes());
    match lexer.line(&mut tokens) {
        Some(Err(error)) => return Err(RdataError::new(error.id, error.message).advise(error.advice)),
        _ if lexer.line(&mut Vec::new()).is_some() => {
            return Err(RdataError::new("extra-field", "the data goes on in another line"));
        }
        _ => {}
    }
    parse(rtype, &mut Words::new(line.as_bytes(), &tokens), origin, &mut rdata)?;
    Ok(rdata)
}

fn is_generic(rtype: RrType, words: &Words<'_>) -> bool {
    if words.peek().is_none_or(|token| token.quoted) || words.peek_text() != Some(b"\\#") {
        return false;
    }
    // In text, `\#` may be a string of one `#`.
    let mut ahead = words.clone();
    ahead.take();
    rtype != RrType::TXT || ahead.number(u32::MAX).is_ok()
}

fn parse_generic(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    words.take();
    let len = words.number(u16::MAX.into())? as usize;
    hex(words, out)?;
    if out.len() != len {
        return Err(RdataError::new("bad-length", format!("\\# {len} is followed by {} octets", out.len())));
    }
    Ok(())
}

fn parse_field(kind: Kind, words: &mut Words<'_>, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    match kind {
        Kind::Name { .. } => words.name(origin, out)?,
        Kind::Signer => {
            let at = out.len();
            words.name(origin, out)?;
            wire::check_signer(out, at)?;
        }
        Kind::Names => {
            while !words.at_end() {
                words.name(origin, out)?;
            }
        }
        Kind::U8 => out.push(words.number(u8::MAX.into())? as u8),
        Kind::U16 => push16(out, words.number(u16::MAX.into())? as u16),
        Kind::Zero => push16(out, words.number(0)? as u16),
        Kind::U32 => push32(out, words.number(u32::MAX)?),
        Kind::Seconds => push32(
            out,
            seconds(words.word()?).ok_or_else(|| {
                RdataError::new("bad-number", "not a number of seconds up to 4294967295").advise("write 3600, or 1h30m")
            })?,
        ),
        Kind::Time => push32(out, time(words.word()?)?),
        Kind::Ipv4 => out.extend_from_slice(&ipv4(words.word()?)?.octets()),
        Kind::Ipv6 => out.extend_from_slice(&ipv6(words.word()?)?.octets()),
        Kind::CharString | Kind::PsdnAddress | Kind::Regexp | Kind::Tag => {
            let at = out.len();
            let string = if kind == Kind::Tag { words.word()? } else { words.string()? };
            char_string(string, out)?;
            check_string(kind, &out[at + 1..])?;
        }
        Kind::OptionalCharString if words.at_end() => {}
        Kind::OptionalCharString => char_string(words.string()?, out)?,
        Kind::CharStrings => {
            char_string(words.string()?, out)?;
            while !words.at_end() {
                char_string(words.string()?, out)?;
            }
        }
        Kind::Text { quoted } => {
            let token = words.peek();
            let string = words.string()?;
            if quoted && token.is_some_and(|token| !token.quoted) {
                return Err(RdataError::new("unquoted-text", "it must stand in quotes").advise("put `\"` around it"));
            }
            decode(string, out)?;
        }
        Kind::Type => push16(out, mnemonics::covered(words.word()?)?),
        Kind::Algorithm => out.push(mnemonics::algorithm(words.word()?)?),
        Kind::HashAlgorithm => out.push(mnemonics::hash_algorithm(words.word()?)?),
        Kind::DigestType => out.push(mnemonics::digest_type(words.word()?)?),
        Kind::KeyFlags => push16(out, mnemonics::key_flags(words.word()?)?),
        Kind::KeyProtocol => out.push(mnemonics::key_protocol(words.word()?)?),
        Kind::CertType => push16(out, mnemonics::cert_type(words.word()?)?),
        Kind::Hex => {
            words.peek().ok_or_else(wire_missing)?;
            hex(words, out)?;
        }
        Kind::Digest { at: kind_at, least, lengths } => {
            let at = out.len();
            hex(words, out)?;
            wire::digest(out, at, kind_at, least, lengths)?;
        }
        Kind::Salt => counted(out, |out| match words.word()? {
            b"-" => Ok(()),
            salt => codes::hex(salt, out),
        })?,
        Kind::HashedName => {
            let at = out.len();
            counted(out, |out| codes::base32(words.word()?, out))?;
            wire::check_hash(out, &out[at + 1..])?;
        }
        Kind::Base64 { empty: Empty::Hyphen } => match words.peek_text() {
            Some(b"-") => drop(words.take()),
            _ => base64(words, false, out)?,
        },
        Kind::Base64 { empty } => base64(words, empty != Empty::Never, out)?,
        Kind::PublicKey if mnemonics::has_no_key(out) => {}
        Kind::PublicKey => base64(words, false, out)?,
        Kind::Bitmap { empty } => bitmap::parse(words, empty, out)?,
        Kind::NxtBitmap => bitmap::parse_nxt(words, out)?,
        Kind::SvcParams => svcb::parse(words, out)?,
        Kind::Loc => loc::parse(words, out)?,
        Kind::Apl => apl::parse(words, out)?,
        Kind::IpsecGateway => gateway::parse_ipsec(words, origin, out)?,
        Kind::AmtRelay => gateway::parse_amt(words, origin, out)?,
        Kind::HostIdentity => gateway::parse_hip(words, out)?,
        Kind::Wks => legacy::parse_wks(words, out)?,
        Kind::Nsap => legacy::parse_nsap(words, out)?,
        Kind::Atma => legacy::parse_atma(words, out)?,
        Kind::A6 => legacy::parse_a6(words, origin, out)?,
        Kind::Eui(len) => eui(words.word()?, len, out)?,
        Kind::NodeId => node_id(words.word()?, out)?,
    }
    Ok(())
}

fn wire_missing() -> RdataError {
    RdataError::new("missing-field", "the record ends before it")
}

pub(super) fn push16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn push32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Runs `fill`, and puts a length octet in front of what it appended.
fn counted(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), RdataError>) -> Result<(), RdataError> {
    let at = out.len();
    out.push(0);
    fill(out)?;
    out[at] = u8::try_from(out.len() - at - 1)
        .map_err(|_| RdataError::new("bad-length", "it has more than 255 octets, which are the most"))?;
    Ok(())
}

/// All that is left, as hexadecimal digits.
pub(super) fn hex(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut hex = codes::Hex::default();
    while !words.at_end() {
        hex.push(words.word()?, out)?;
    }
    hex.finish()
}

/// All that is left, as Base 64.
fn base64(words: &mut Words<'_>, may_be_empty: bool, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let at = out.len();
    let mut base64 = codes::Base64::default();
    if words.at_end() && !may_be_empty {
        return Err(wire_missing());
    }
    while !words.at_end() {
        base64.push(words.word()?, out)?;
    }
    base64.finish()?;
    if out.len() == at && !may_be_empty { Err(wire_missing()) } else { Ok(()) }
}

pub(super) fn ipv4(word: &[u8]) -> Result<Ipv4Addr, RdataError> {
    let address = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    address.ok_or_else(|| {
        RdataError::new("bad-address", "not an IPv4 address")
            .advise("write four decimal numbers from 0 to 255 without leading zeros, such as 192.0.2.1")
    })
}

pub(super) fn ipv6(word: &[u8]) -> Result<Ipv6Addr, RdataError> {
    let address = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    address.ok_or_else(|| {
        RdataError::new("bad-address", "not an IPv6 address").advise("write one such as 2001:db8::1, without a zone")
    })
}

/// What kinds of character-string ask of their octets.
pub(super) fn check_string(kind: Kind, octets: &[u8]) -> Result<(), RdataError> {
    match kind {
        Kind::PsdnAddress if octets.len() < 4 || !octets.iter().all(u8::is_ascii_digit) => {
            Err(RdataError::new("bad-number", "it is not four decimal digits or more"))
        }
        Kind::Tag if octets.is_empty() || !octets.iter().all(u8::is_ascii_alphanumeric) => {
            Err(RdataError::new("bad-tag", "a property tag is made of ASCII letters and digits only")
                .advise("write issue, issuewild, iodef, ..."))
        }
        Kind::Regexp => mnemonics::check_regexp(octets),
        _ => Ok(()),
    }
}

/// `YYYYMMDDHHMMSS`, or seconds since 1970; modulo 2³².
fn time(word: &[u8]) -> Result<u32, RdataError> {
    let wrong = || {
        RdataError::new("bad-time", "not a point in time").advise("write YYYYMMDDHHMMSS, in UTC, or seconds since 1970")
    };
    if word.len() != 14 {
        return number(word, u32::MAX).ok_or_else(wrong);
    }
    let part = |from: usize, to: usize| number(&word[from..to], u32::MAX).map(i64::from).ok_or_else(wrong);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let valid = (1..=12).contains(&month) && (1..=days_in_month).contains(&day);
    if !valid || hour > 23 || minute > 59 || second > 60 {
        return Err(wrong());
    }
    let days = days_since_1970(year, month, day);
    Ok((((days * 24 + hour) * 60 + minute) * 60 + second) as u32)
}

/// Days from 1970-01-01 in the Gregorian calendar, counting years from March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (month * 153 + 2) / 5 + day
        - 719_469
}

fn eui(word: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let wrong = || {
        RdataError::new("bad-address", format!("not {len} pairs of hexadecimal digits with hyphens between"))
            .advise("write 00-00-5e-00-53-2a, for EUI64 two pairs more")
    };
    if word.len() != 3 * len - 1 {
        return Err(wrong());
    }
    for group in word.chunks(3) {
        codes::hex(&group[..2], out).map_err(|_| wrong())?;
        if group.get(2).is_some_and(|octet| *octet != b'-') {
            return Err(wrong());
        }
    }
    Ok(())
}

fn node_id(word: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let wrong = || {
        RdataError::new("bad-address", "not four groups of one to four hexadecimal digits with colons between")
            .advise("write 2001:db8:1140:1000")
    };
    let mut groups = 0;
    for group in word.split(|octet| *octet == b':') {
        groups += 1;
        let text = std::str::from_utf8(group).map_err(|_| wrong())?;
        if groups > 4 || !(1..=4).contains(&group.len()) || !group.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong());
        }
        push16(out, u16::from_str_radix(text, 16).map_err(|_| wrong())?);
    }
    if groups == 4 { Ok(()) } else { Err(wrong()) }
}
