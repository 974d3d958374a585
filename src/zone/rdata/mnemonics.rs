//! Numbers that have names, and character-strings with a syntax of their own.

use super::words::{not_a_number, number};
use super::{RdataError, bitmap};

const ALGORITHMS: &[(&str, u32)] = &[
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("ECC", 4),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("NSEC3DSA", 6),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("NSEC3RSASHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECCGOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
    ("PRIVATEDNS", 253),
    ("PRIVATEOID", 254),
];

const DIGEST_TYPES: &[(&str, u32)] =
    &[("SHA-1", 1), ("SHA1", 1), ("SHA-256", 2), ("SHA256", 2), ("GOST", 3), ("SHA-384", 4), ("SHA384", 4)];

const CERT_TYPES: &[(&str, u32)] = &[
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPKIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];

const KEY_PROTOCOLS: &[(&str, u32)] =
    &[("NONE", 0), ("TLS", 1), ("EMAIL", 2), ("DNSSEC", 3), ("IPSEC", 4), ("ALL", 255)];

/// Mnemonics of key flags: the bits they set, and the bits they have a say in.
const KEY_FLAGS: &[(&str, u16, u16)] = &[
    ("NOCONF", 0x4000, 0xC000),
    ("NOAUTH", 0x8000, 0xC000),
    ("NOKEY", 0xC000, 0xC000),
    ("FLAG2", 0x2000, 0x2000),
    ("EXTEND", 0x1000, 0x1000),
    ("FLAG4", 0x0800, 0x0800),
    ("FLAG5", 0x0400, 0x0400),
    ("USER", 0x0000, 0x0300),
    ("ZONE", 0x0100, 0x0300),
    ("HOST", 0x0200, 0x0300),
    ("NTYP3", 0x0300, 0x0300),
    ("FLAG8", 0x0080, 0x0080),
    ("FLAG9", 0x0040, 0x0040),
    ("FLAG10", 0x0020, 0x0020),
    ("FLAG11", 0x0010, 0x0010),
];

/// A number of at most `max`, or one of these mnemonics.
pub(super) fn number_or(word: &[u8], max: u32, mnemonics: &[(&str, u32)]) -> Result<u32, RdataError> {
    if let Some(value) = number(word, max) {
        return Ok(value);
    }
    let known = mnemonics.iter().find(|(text, _)| word.eq_ignore_ascii_case(text.as_bytes()));
    known.map(|(_, value)| *value).ok_or_else(|| {
        let all = mnemonics.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(", ");
        not_a_number(max).advise(format!("write a number, or one of {all}"))
    })
}

pub(super) fn algorithm(word: &[u8]) -> Result<u8, RdataError> {
    number_or(word, 255, ALGORITHMS).map(|value| value as u8)
}

pub(super) fn digest_type(word: &[u8]) -> Result<u8, RdataError> {
    number_or(word, 255, DIGEST_TYPES).map(|value| value as u8)
}

pub(super) fn hash_algorithm(word: &[u8]) -> Result<u8, RdataError> {
    number_or(word, 255, &[("SHA-1", 1)]).map(|value| value as u8)
}

pub(super) fn cert_type(word: &[u8]) -> Result<u16, RdataError> {
    number_or(word, 65_535, CERT_TYPES).map(|value| value as u16)
}

pub(super) fn key_protocol(word: &[u8]) -> Result<u8, RdataError> {
    number_or(word, 255, KEY_PROTOCOLS).map(|value| value as u8)
}

pub(super) fn key_flags(word: &[u8]) -> Result<u16, RdataError> {
    if word.first().is_some_and(u8::is_ascii_digit) {
        return number(word, 65_535).map(|value| value as u16).ok_or_else(|| not_a_number(65_535));
    }
    let (mut flags, mut seen) = (0, 0);
    for part in word.split(|octet| *octet == b'|') {
        let (value, mask) = key_flag(part).ok_or_else(|| {
            RdataError::new("bad-number", "neither a number from 0 to 65535 nor names of key flags")
                .advise("write 256 for a zone key, 257 for a key signing key")
        })?;
        if seen & mask != 0 {
            return Err(RdataError::new("bad-number", "two of the key flags contradict each other"));
        }
        flags |= value;
        seen |= mask;
    }
    Ok(flags)
}

fn key_flag(part: &[u8]) -> Option<(u16, u16)> {
    if let Some((_, value, mask)) = KEY_FLAGS.iter().find(|(text, ..)| part.eq_ignore_ascii_case(text.as_bytes())) {
        return Some((*value, *mask));
    }
    let (front, digits) = part.split_at_checked(3)?;
    let value = front.eq_ignore_ascii_case(b"SIG").then(|| number(digits, 15))??;
    Some((value as u16, 0x000F))
}

/// Whether the flags in front of a key say that there is none (RFC 2535 §3.1.2).
pub(super) fn has_no_key(data: &[u8]) -> bool {
    data.first().is_some_and(|flags| flags & 0xC0 == 0xC0)
}

/// The type that a signature covers: a mnemonic, or a bare number as BIND takes it.
pub(super) fn covered(word: &[u8]) -> Result<u16, RdataError> {
    match number(word, 65_535) {
        Some(number) => Ok(number as u16),
        None => bitmap::rtype(word).map(|rtype| rtype.0),
    }
}

/// Whether a NAPTR's regular expression is empty, or `!ERE!replacement!flags` with references only to groups that are
/// there (RFC 3402 §3.2).
pub(super) fn check_regexp(octets: &[u8]) -> Result<(), RdataError> {
    let wrong = |why: &'static str| {
        Err(RdataError::new("bad-expression", why)
            .advise("write \"!^.*$!sip:info@example.com!\"; \\\\1 in a quoted string is a reference"))
    };
    let Some((&delimiter, mut rest)) = octets.split_first() else {
        return Ok(());
    };
    if delimiter.is_ascii_digit() || matches!(delimiter, b'\\' | b'i' | 0) {
        return wrong("it begins with a digit, a backslash or `i`, which cannot be its delimiter");
    }
    let (mut part, mut groups, mut length) = (0, 0u32, 0);
    while let [octet, tail @ ..] = rest {
        rest = tail;
        match (*octet, part) {
            (0, _) => return wrong("it holds an octet of value 0"),
            (b'\\', 0 | 1) => {
                let [escaped, tail @ ..] = rest else {
                    return wrong("it ends in a backslash");
                };
                rest = tail;
                let reference = escaped.is_ascii_digit().then(|| u32::from(escaped - b'0'));
                if part == 1 && reference.is_some_and(|number| number == 0 || number > groups) {
                    return wrong("its replacement refers to a group that its pattern does not have");
                }
                length += 1;
            }
            (octet, _) if octet == delimiter => {
                if part == 0 && length == 0 {
                    return wrong("its pattern is empty");
                }
                part += 1;
                if part > 2 {
                    return wrong("it has more than three parts");
                }
            }
            (b'(', 0) => {
                groups += 1;
                length += 1;
            }
            (b'i', 2) => {}
            (_, 2) => return wrong("its only flag is `i`"),
            _ => length += 1,
        }
    }
    if part == 2 { Ok(()) } else { wrong("its delimiter, the first character, must stand three times") }
}
