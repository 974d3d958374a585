//! Locations (RFC 1876).

use std::fmt::Write as _;

use super::text::push32;
use super::words::{Words, number};
use super::{RdataError, wire};

const EQUATOR: u32 = 1 << 31;
/// 100 km in centimetres: how far below the ellipsoid altitudes begin.
const BELOW: i64 = 10_000_000;

fn wrong(why: &'static str) -> RdataError {
    RdataError::new("bad-location", why).advise("write 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m")
}

pub(super) fn parse(words: &mut Words<'_>, out: &mut Vec<u8>) -> Result<(), RdataError> {
    let latitude = angle(words, 90, *b"NS")?;
    let longitude = angle(words, 180, *b"EW")?;
    let altitude = centimetres(words.word()?, true)?;
    if !(-BELOW..=i64::from(u32::MAX) - BELOW).contains(&altitude) {
        return Err(wrong("the altitude is not from -100000.00m to 42849672.95m"));
    }
    // The defaults of §3: a metre, ten kilometres, ten metres.
    let mut sizes = [0x12, 0x16, 0x13];
    for size in &mut sizes {
        if words.at_end() {
            break;
        }
        *size = precision(centimetres(words.word()?, false)?)?;
    }
    out.push(0);
    out.extend(sizes);
    push32(out, latitude);
    push32(out, longitude);
    push32(out, (altitude + BELOW) as u32);
    Ok(())
}

/// Degrees, minutes and seconds, as many as are there, and a letter of the compass.
fn angle(words: &mut Words<'_>, most: u32, letters: [u8; 2]) -> Result<u32, RdataError> {
    let degrees = number(words.word()?, most).ok_or_else(|| wrong("the degrees are out of range"))?;
    let mut thousandths = degrees * 3_600_000;
    for part in 0.. {
        let word = words.word()?;
        if let [letter] = word
            && letters.contains(letter)
        {
            if thousandths > most * 3_600_000 {
                break;
            }
            let positive = *letter == letters[0];
            return Ok(if positive { EQUATOR + thousandths } else { EQUATOR - thousandths });
        }
        thousandths += match part {
            0 => number(word, 59).ok_or_else(|| wrong("the minutes are not from 0 to 59"))? * 60_000,
            1 => match decimal(word, 3) {
                Some(value @ 0..60_000) => value as u32,
                _ => return Err(wrong("the seconds are not from 0 to 59.999")),
            },
            _ => return Err(wrong("N, S, E or W is missing behind an angle")),
        };
    }
    Err(wrong("the angle is beyond the pole, or beyond 180 degrees"))
}

/// Metres with at most two decimals, `m` behind them or not.
fn centimetres(word: &[u8], signed: bool) -> Result<i64, RdataError> {
    let digits = word.strip_suffix(b"m").unwrap_or(word);
    let (sign, digits) = match digits {
        [b'-', digits @ ..] if signed => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    Ok(sign * decimal(digits, 2).ok_or_else(|| wrong("not a number of metres with two decimals at most"))?)
}

/// A decimal number times ten to the power of `decimals`, which it has at most.
fn decimal(digits: &[u8], decimals: usize) -> Option<i64> {
    let dot = digits.iter().position(|octet| *octet == b'.');
    let (whole, fraction) = dot.map_or((digits, &[][..]), |dot| (&digits[..dot], &digits[dot + 1..]));
    if fraction.len() > decimals {
        return None;
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = if whole.is_empty() { 0 } else { i64::from(number(whole, u32::MAX)?) };
    for place in 0..decimals {
        let digit = fraction.get(place).copied().unwrap_or(b'0');
        value = value * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(value)
}

/// Centimetres as one decimal digit and a power of ten.
fn precision(centimetres: i64) -> Result<u8, RdataError> {
    if centimetres > 9_000_000_000 {
        return Err(wrong("a size or precision is above 90000000.00m"));
    }
    let (mut mantissa, mut exponent) = (centimetres, 0);
    while mantissa > 9 {
        mantissa /= 10;
        exponent += 1;
    }
    Ok((mantissa as u8) << 4 | exponent)
}

pub(super) fn check(data: &[u8], at: usize) -> Result<usize, RdataError> {
    if data.get(at).is_some_and(|version| *version != 0) {
        return Ok(data.len()); // What other versions hold is not known (§2).
    }
    let end = wire::fixed(data, at, 16)?;
    if data[at + 1..at + 4].iter().any(|size| size >> 4 > 9 || size & 15 > 9) {
        return Err(wrong("a size or precision is not a decimal digit and a power of ten"));
    }
    for (from, degrees) in [(at + 4, 90), (at + 8, 180)] {
        if field(data, from).abs_diff(EQUATOR) > degrees * 3_600_000 {
            return Err(wrong("the angle is beyond the pole, or beyond 180 degrees"));
        }
    }
    Ok(end)
}

fn field(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u32::from_be_bytes(*octets))
}

/// Writes a location that passed [`check`].
pub(super) fn write(data: &[u8], out: &mut String) {
    for (at, letters) in [(4, ['N', 'S']), (8, ['E', 'W'])] {
        let angle = field(data, at);
        let (value, letter) = (angle.abs_diff(EQUATOR), letters[usize::from(angle < EQUATOR)]);
        let (degrees, minutes) = (value / 3_600_000, value / 60_000 % 60);
        let _ = write!(out, "{degrees} {minutes} {}.{:03} {letter} ", value / 1000 % 60, value % 1000);
    }
    let altitude = i64::from(field(data, 12)) - BELOW;
    let sign = if altitude < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{}.{:02}m", altitude.abs() / 100, altitude.abs() % 100);
    for size in data.iter().skip(1).take(3) {
        let value = u64::from(size >> 4) * 10u64.pow(u32::from(size & 15));
        let _ = match value % 100 {
            0 => write!(out, " {}m", value / 100),
            part => write!(out, " {}.{part:02}m", value / 100),
        };
    }
}
