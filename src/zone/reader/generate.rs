//! `$GENERATE range owner [ttl] [class] type data`, as BIND has it: in owner and data each `$` stands for the number,
//! `${offset,width,base}` for it with an offset, padded, and in base d, o, x, X, or n or N (hexadecimal nibbles,
//! last first, dots between).

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::zone::diagnostic::Place;
use crate::zone::lexer::{Lexer, Token};
use crate::zone::rdata::Words;

use super::record::Head;
use super::{Owner, Reader, Scope};

/// The most records that a zone's `$GENERATE` lines make in all; one counts once more for each 256 octets of its text.
const MAX_GENERATED: u32 = 1 << 22;
/// The most octets of text that one `$` may become, and one template.
const MAX_EXPANDED: usize = 64 * 1024;
/// The widest padding; more would not fit in a label or string.
const MAX_WIDTH: usize = 255;

impl Reader<'_> {
    pub(super) fn generate(&mut self, scope: &Scope<'_>, first: Token, words: &mut Words<'_>) {
        let advice = "write $GENERATE 1-9 host$ A 192.0.2.$, data of several words in quotes";
        let (Some(range), Some(owner)) = (words.take(), words.take()) else {
            return self.missing(scope, first, "$GENERATE is not followed by a range and an owner", advice);
        };
        let Some((numbers, step)) = parse_range(range.text(scope.octets)) else {
            let message = "not a range: START-STOP or START-STOP/STEP, from 0 to 2147483647, STEP at least 1";
            return self.error(scope, "bad-range", range, message, advice);
        };
        let Some(head) = self.head(scope, words, first) else {
            return;
        };
        let Some(data) = words.take() else {
            return self.missing(scope, head.token, "$GENERATE has no data behind the type", advice);
        };
        if !self.nothing_more(scope, words) {
            return;
        }
        let count = (numbers.end() - numbers.start()) / step + 1;
        let weight = 1 + (owner.end - owner.start + data.end - data.start) / 256;
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        self.generated = self.generated.saturating_add(count.saturating_mul(weight));
        if self.generated > MAX_GENERATED {
            let message = format!("$GENERATE would make more than {MAX_GENERATED} records in this zone");
            return self.error(scope, "generate-limit", range, &message, "make the range smaller");
        }
        let templates = [(owner, owner.text(scope.octets).to_vec()), (data, unquoted(data, scope.octets))];
        let pinned = scope.pinned.unwrap_or_else(|| scope.place(&owner));
        let errors = self.errors;
        for number in numbers.step_by(step as usize) {
            self.generate_one(scope, pinned, &templates, &head, number);
            if self.errors > errors || self.full {
                return; // What is wrong with one is wrong with most.
            }
        }
    }

    fn generate_one(
        &mut self,
        scope: &Scope<'_>,
        pinned: Place,
        templates: &[(Token, Vec<u8>); 2],
        head: &Head,
        number: u32,
    ) {
        // One line, as if it stood in the file: the owner, then the data.
        let mut line = Vec::new();
        let mut ends = [0; 2];
        for ((token, template), end) in templates.iter().zip(&mut ends) {
            if let Err(why) = expand(template, i64::from(number), &mut line) {
                return self.error(
                    scope,
                    "bad-template",
                    *token,
                    why,
                    "write ${OFFSET,WIDTH,BASE}, BASE one of doxXnN",
                );
            }
            *end = line.len();
            line.push(b' ');
        }
        let mut made = Scope {
            file: scope.file,
            octets: &line,
            origin: scope.origin.clone(),
            owner: Owner::None,
            pinned: Some(pinned),
        };
        let owner = Token { start: 0, end: ends[0], line: 1, line_start: 0, quoted: false, glued: false };
        if !self.take_owner(&mut made, owner) {
            return;
        }
        // The lexer starts at the blank in front of the data.
        let data = &line[ends[0]..];
        let mut lexer = Lexer::new(data);
        let mut tokens = Vec::new();
        made.octets = data;
        match lexer.line(&mut tokens) {
            Some(Err(error)) => self.error(&made, error.id, error.at, error.message, error.advice),
            _ => {
                let nothing = Token { start: 0, end: 0, ..owner };
                let head = Head { token: nothing, ..*head };
                self.data(&made, nothing, &head, &mut Words::new(data, &tokens));
            }
        }
    }
}

/// The text of a word; in quotes, `\"` stands for `"`, since quotes in the data are read once more.
fn unquoted(token: Token, octets: &[u8]) -> Vec<u8> {
    let text = token.text(octets);
    if !token.quoted {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&octet) = text.get(at) {
        match text.get(at + 1) {
            Some(b'"') if octet == b'\\' => at += 1,
            Some(&next) if octet == b'\\' => {
                out.extend([octet, next]);
                at += 2;
            }
            _ => {
                out.push(octet);
                at += 1;
            }
        }
    }
    out
}

fn parse_range(word: &[u8]) -> Option<(RangeInclusive<u32>, u32)> {
    let text = std::str::from_utf8(word).ok()?;
    let (range, step) = text.split_once('/').unwrap_or((text, "1"));
    let (start, stop) = range.split_once('-')?;
    let number = |text: &str| -> Option<u32> {
        if !text.bytes().all(|octet| octet.is_ascii_digit()) {
            return None;
        }
        text.parse().ok().filter(|number| *number <= i32::MAX as u32)
    };
    let (start, stop, step) = (number(start)?, number(stop)?, number(step)?);
    (start <= stop && step > 0).then_some((start..=stop, step))
}

/// Puts `template` behind `out` with each `$` replaced.
fn expand(template: &[u8], number: i64, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut rest = template;
    while let [octet, tail @ ..] = rest {
        rest = tail;
        match (octet, tail) {
            (b'$', [b'$', tail @ ..]) => {
                out.push(b'$');
                rest = tail;
            }
            (b'$', [b'{', tail @ ..]) => {
                let close = tail.iter().position(|octet| *octet == b'}').ok_or("`${` is not closed by `}`")?;
                modified(&tail[..close], number, out)?;
                rest = &tail[close + 1..];
            }
            (b'$', _) => out.extend_from_slice(number.to_string().as_bytes()),
            (b'\\', [next, tail @ ..]) => {
                out.extend([b'\\', *next]);
                rest = tail;
            }
            _ => out.push(*octet),
        }
        if out.len() > MAX_EXPANDED {
            return Err("the text grows beyond 65536 octets");
        }
    }
    Ok(())
}

/// Writes the number as `offset,width,base` say.
fn modified(modifier: &[u8], number: i64, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let text = std::str::from_utf8(modifier).map_err(|_| "the modifier is not ASCII")?;
    let mut parts = text.split(',');
    let (offset, width, base, more) = (parts.next(), parts.next(), parts.next(), parts.next());
    let offset: i32 = offset.and_then(|text| text.parse().ok()).ok_or("the offset of `${...}` is not a number")?;
    let width: usize = width.unwrap_or("0").parse().map_err(|_| "the width of `${...}` is not a number")?;
    if width > MAX_WIDTH {
        return Err("the width of `${...}` is above 255");
    }
    let value = i32::try_from(number + i64::from(offset)).map_err(|_| "number and offset are out of range together")?;
    let mut text = String::new();
    let _ = match (base.unwrap_or("d"), more) {
        ("d", None) => write!(text, "{value:0width$}"),
        ("o", None) => write!(text, "{value:0width$o}"),
        ("x", None) => write!(text, "{value:0width$x}"),
        ("X", None) => write!(text, "{value:0width$X}"),
        ("n", None) => write!(text, "{}", nibbles(value as u32, width)),
        ("N", None) => write!(text, "{}", nibbles(value as u32, width).to_ascii_uppercase()),
        _ => return Err("the base of `${...}` is none of d, o, x, X, n, N"),
    };
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The hexadecimal digits, last first, dots between; `width` counts digits and dots.
fn nibbles(mut value: u32, width: usize) -> String {
    let mut text = String::new();
    let mut left = width;
    loop {
        let _ = write!(text, "{:x}", value & 15);
        value >>= 4;
        left = left.saturating_sub(1);
        if left == 0 && value == 0 {
            return text;
        }
        text.push('.');
        left = left.saturating_sub(1);
        // A width that ends in a dot, as 4 does, leaves it there.
        if left == 0 && value == 0 {
            return text;
        }
    }
}
