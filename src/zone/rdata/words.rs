//! The words of one record, handed out in order; numbers and strings in them.

use crate::name::{NameRef, push_presentation, unescape};
use crate::zone::lexer::Token;

use super::RdataError;

/// The tokens of a line, and how many of them were taken.
#[derive(Clone)]
pub(crate) struct Words<'a> {
    octets: &'a [u8],
    tokens: &'a [Token],
    next: usize,
}

impl<'a> Words<'a> {
    pub fn new(octets: &'a [u8], tokens: &'a [Token]) -> Words<'a> {
        Words { octets, tokens, next: 0 }
    }

    /// The next token; it stays.
    pub fn peek(&self) -> Option<Token> {
        self.tokens.get(self.next).copied()
    }

    /// The text of the next token; it stays.
    pub fn peek_text(&self) -> Option<&'a [u8]> {
        self.peek().map(|token| token.text(self.octets))
    }

    /// Takes the next token.
    pub fn take(&mut self) -> Option<Token> {
        let token = self.peek()?;
        self.next += 1;
        Some(token)
    }

    /// The token that was taken last, where an error is most likely about.
    pub fn last(&self) -> Option<Token> {
        self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).copied()
    }

    pub fn at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    /// The next word, which must not stand in quotes.
    pub fn word(&mut self) -> Result<&'a [u8], RdataError> {
        let token = self.take().ok_or_else(missing)?;
        if token.quoted {
            return Err(RdataError::new("quoted-value", "the value stands in quotes, which only text may")
                .advise("remove the quotes"));
        }
        Ok(token.text(self.octets))
    }

    /// The next word or quoted string, not decoded.
    pub fn string(&mut self) -> Result<&'a [u8], RdataError> {
        self.take().map(|token| token.text(self.octets)).ok_or_else(missing)
    }

    /// A string glued to the word before it, as the value in `alpn="h2"`.
    pub fn glued(&mut self) -> Option<&'a [u8]> {
        let token = self.peek().filter(|token| token.glued && token.quoted)?;
        self.next += 1;
        Some(token.text(self.octets))
    }

    /// The next word as a decimal number of at most `max`.
    pub fn number(&mut self, max: u32) -> Result<u32, RdataError> {
        let word = self.word()?;
        number(word, max).ok_or_else(|| not_a_number(max))
    }

    /// The next word as a domain name, put behind `out`.
    pub fn name(&mut self, origin: NameRef<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
        let word = self.word()?;
        push_presentation(out, word, Some(origin)).map_err(|error| RdataError::new("bad-name", error.to_string()))
    }
}

fn missing() -> RdataError {
    RdataError::new("missing-field", "the record ends before it")
}

pub(super) fn not_a_number(max: u32) -> RdataError {
    RdataError::new("bad-number", format!("not a decimal number from 0 to {max}"))
}

/// Decimal digits of a value of at most `max`.
pub(super) fn number(word: &[u8], max: u32) -> Option<u32> {
    if word.is_empty() {
        return None;
    }
    let value = word.iter().try_fold(0u32, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    (value <= max).then_some(value)
}

/// Seconds as BIND reads them: a number, or numbers with units; a unit may come twice, and they add up.
pub(crate) fn seconds(word: &[u8]) -> Option<u32> {
    if !word.first()?.is_ascii_digit() {
        return None;
    }
    let (mut total, mut number, mut digits, mut units) = (0u64, 0u64, false, false);
    for &octet in word {
        if octet.is_ascii_digit() {
            number = number * 10 + u64::from(octet - b'0');
            if number > u64::from(u32::MAX) {
                return None;
            }
            digits = true;
            continue;
        }
        let unit = match octet.to_ascii_lowercase() {
            b'w' => 604_800,
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        if !digits {
            return None;
        }
        total = total.saturating_add(number * unit);
        (number, digits, units) = (0, false, true);
    }
    match (digits, units) {
        (true, true) => None, // Digits behind a unit have none of their own.
        (true, false) => Some(number as u32),
        _ => u32::try_from(total).ok(),
    }
}

/// Puts the octets of a string behind `out`, `\X` and `\DDD` decoded.
pub(crate) fn decode(string: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut at = 0;
    while let Some(&octet) = string.get(at) {
        at += 1;
        out.push(match octet {
            b'\\' => unescape(string, &mut at).ok_or_else(|| {
                RdataError::new("bad-escape", "a backslash is followed neither by a character nor by three digits")
                    .advise("write \\\\ for a backslash, \\DDD with DDD from 000 to 255 for an octet")
            })?,
            _ => octet,
        });
    }
    Ok(())
}

/// Puts a string behind `out` as a character-string: a length octet in front.
pub(super) fn char_string(string: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let at = out.len();
    out.push(0);
    decode(string, out)?;
    let len = out.len() - at - 1;
    out[at] = u8::try_from(len).map_err(|_| {
        RdataError::new("long-string", format!("a string has {len} octets, and 255 are the most"))
            .advise("split it into several strings")
    })?;
    Ok(())
}
