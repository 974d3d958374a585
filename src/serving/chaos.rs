//! What the server says about itself, in class CH (RFC 4892).

use super::Settings;
use super::edns::ExtendedError;
use super::query::Question;
use crate::rr::{Class, RrType};
use crate::snapshot::emit::HEADER;

/// Names about the version, and names about the server's identity.
const VERSION: [&[u8]; 2] = [b"\x07version\x04bind\0", b"\x07version\x06server\0"];
const IDENTITY: [&[u8]; 2] = [b"\x08hostname\x04bind\0", b"\x02id\x06server\0"];

/// The text that a question in class CH is answered with, or why with none.
pub fn answer<'s>(settings: &'s Settings, question: &Question<'_>) -> Result<&'s str, ExtendedError> {
    let is_in = |names: [&[u8]; 2]| names.iter().any(|known| known.eq_ignore_ascii_case(question.name.as_wire()));
    let text = match () {
        () if !matches!(question.rtype, RrType::TXT | RrType::ANY) => return Err(ExtendedError::NOT_AUTHORITATIVE),
        () if is_in(VERSION) => &settings.version,
        () if is_in(IDENTITY) => &settings.identity,
        () => return Err(ExtendedError::NOT_AUTHORITATIVE),
    };
    text.as_deref().ok_or(ExtendedError::PROHIBITED)
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
