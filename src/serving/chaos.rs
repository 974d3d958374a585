//! What the server says about itself, in class CH (RFC 4892).

use super::Settings;
use crate::name::NameRef;
use crate::rr::{Class, RrType};
use crate::snapshot::emit::HEADER;

/// The answer to a question in class CH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaos<'s> {
    /// A TXT record of this one string.
    Text(&'s str),
    /// The name is one of those, but has no record of that type.
    NoData,
    /// The operator keeps it to himself.
    Hidden,
    /// It is none of the names that are answered.
    Unknown,
}

/// Names about the version, and names about the server's identity.
const VERSION: [&[u8]; 2] = [b"\x07version\x04bind\0", b"\x07version\x06server\0"];
const IDENTITY: [&[u8]; 2] = [b"\x08hostname\x04bind\0", b"\x02id\x06server\0"];

/// What is said to a question in class CH.
pub fn answer<'s>(settings: &'s Settings, name: NameRef<'_>, rtype: RrType) -> Chaos<'s> {
    let is_in = |names: [&[u8]; 2]| names.iter().any(|known| known.eq_ignore_ascii_case(name.as_wire()));
    let text = match () {
        () if is_in(VERSION) => settings.version.as_deref(),
        () if is_in(IDENTITY) => settings.identity.as_deref(),
        () => return Chaos::Unknown,
    };
    match text {
        None => Chaos::Hidden,
        Some(text) if matches!(rtype, RrType::TXT | RrType::ANY) => Chaos::Text(text),
        Some(_) => Chaos::NoData,
    }
}

/// Writes a TXT record about the name in question, at `end`; returns where it ends. The text has 255 octets at most.
pub fn write(text: &str, end: usize, out: &mut [u8]) -> usize {
    let text = &text.as_bytes()[..text.len().min(255)];
    let mut at = end;
    for part in [
        &(0xC000 | HEADER as u16).to_be_bytes()[..],
        &RrType::TXT.0.to_be_bytes(),
        &Class::CH.0.to_be_bytes(),
        &[0; 4],
        &(text.len() as u16 + 1).to_be_bytes(),
        &[text.len() as u8],
        text,
    ] {
        out[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    at
}
