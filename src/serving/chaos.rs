//! What the server says about itself, in class CH (RFC 4892).

use super::Serving;
use super::edns::ExtendedError;
use super::query::Question;
use crate::rr::{Class, RrType};
use crate::snapshot::emit::HEADER;

/// Names about the version, and names about the server's identity.
const VERSION: [&[u8]; 2] = [b"\x07version\x04bind\0", b"\x07version\x06server\0"];
const IDENTITY: [&[u8]; 2] = [b"\x08hostname\x04bind\0", b"\x02id\x06server\0"];

/// Below this name we prove which state we answer from: the first label is what the proof is made of.
pub const INSTANCE: &[u8] = b"\x08instance\x0aunderstudy\0";

/// A text about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'s> {
    /// As it is configured.
    Known(&'s str),
    /// That we have the key of the units ([`super::units::Units::proof`]).
    Proof([u8; 16]),
}

impl Text<'_> {
    fn octets(&self) -> &[u8] {
        match self {
            Text::Known(text) => text.as_bytes(),
            Text::Proof(digits) => digits,
        }
    }
}

/// The text that a question in class CH is answered with, or why with none.
pub fn answer<'s>(serving: &'s Serving, question: &Question<'_>) -> Result<Text<'s>, ExtendedError> {
    let settings = &serving.settings;
    let is_in = |names: [&[u8]; 2]| names.iter().any(|known| known.eq_ignore_ascii_case(question.name.as_wire()));
    let text = match () {
        () if !matches!(question.rtype(), RrType::TXT | RrType::ANY) => return Err(ExtendedError::NOT_AUTHORITATIVE),
        () if is_in(VERSION) => &settings.version,
        () if is_in(IDENTITY) => &settings.identity,
        () => match question.name.as_wire().split_first() {
            Some((&length, rest))
                if rest.get(usize::from(length)..).is_some_and(|name| INSTANCE.eq_ignore_ascii_case(name)) =>
            {
                return Ok(Text::Proof(serving.units.proof(&rest[..usize::from(length)])));
            }
            _ => return Err(ExtendedError::NOT_AUTHORITATIVE),
        },
    };
    text.as_deref().map(Text::Known).ok_or(ExtendedError::PROHIBITED)
}

/// Writes a TXT record about the name in question, at `end`; returns where it ends. The text has 255 octets at most.
pub fn write(text: &Text<'_>, end: usize, out: &mut [u8]) -> usize {
    let text = text.octets();
    let text = &text[..text.len().min(255)];
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
