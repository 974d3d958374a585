//! Octets as text: hexadecimal, Base 64 (RFC 4648 §4), Base 32 with extended hex alphabet (§7). Strict: no odd digit,
//! no bits left over, no padding too few or too many.

use super::RdataError;

/// Decodes hexadecimal digits that come in pieces.
#[derive(Default)]
pub(super) struct Hex {
    high: Option<u8>,
}

impl Hex {
    pub fn push(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
        for &octet in text {
            let digit = (octet as char).to_digit(16).ok_or_else(|| {
                RdataError::new("bad-hex", format!("`{}` is no hexadecimal digit", octet.escape_ascii()))
            })? as u8;
            match self.high.take() {
                None => self.high = Some(digit << 4),
                Some(high) => out.push(high | digit),
            }
        }
        Ok(())
    }

    pub fn finish(&self) -> Result<(), RdataError> {
        match self.high {
            None => Ok(()),
            Some(_) => Err(RdataError::new("bad-hex", "the number of hexadecimal digits is odd")),
        }
    }
}

/// Decodes all of `text` as hexadecimal digits.
pub(super) fn hex(text: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut hex = Hex::default();
    hex.push(text, out)?;
    hex.finish()
}

/// Decodes Base 64 that comes in pieces.
#[derive(Default)]
pub(super) struct Base64 {
    bits: u32,
    digits: u8,
    pads: u8,
    done: bool,
}

impl Base64 {
    pub fn push(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
        for &octet in text {
            let value = match octet {
                _ if self.done => return Err(RdataError::new("bad-base64", "there is more behind the padding")),
                b'=' => {
                    self.pad(out)?;
                    continue;
                }
                _ if self.pads > 0 => return Err(RdataError::new("bad-base64", "there is a digit inside the padding")),
                b'A'..=b'Z' => octet - b'A',
                b'a'..=b'z' => octet - b'a' + 26,
                b'0'..=b'9' => octet - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => {
                    let why = format!("`{}` is no digit of Base 64", octet.escape_ascii());
                    return Err(RdataError::new("bad-base64", why));
                }
            };
            self.bits = self.bits << 6 | u32::from(value);
            self.digits += 1;
            if self.digits == 4 {
                out.extend_from_slice(&self.bits.to_be_bytes()[1..]);
                (self.bits, self.digits) = (0, 0);
            }
        }
        Ok(())
    }

    fn pad(&mut self, out: &mut Vec<u8>) -> Result<(), RdataError> {
        self.pads += 1;
        let (octets, spare) = match self.digits {
            2 => (1, 4),
            3 => (2, 2),
            _ => return Err(RdataError::new("bad-base64", "padding stands where none is due")),
        };
        if self.bits & ((1 << spare) - 1) != 0 {
            return Err(RdataError::new(
                "bad-base64",
                "the last digit before the padding has bits that belong nowhere",
            ));
        }
        if self.digits + self.pads == 4 {
            let bits = (self.bits >> spare).to_be_bytes();
            out.extend_from_slice(&bits[4 - octets..]);
            self.done = true;
        }
        Ok(())
    }

    pub fn finish(&self) -> Result<(), RdataError> {
        if self.done || (self.digits == 0 && self.pads == 0) {
            return Ok(());
        }
        Err(RdataError::new("bad-base64", "the last group has fewer than four digits")
            .advise("complete it; `=` pads the last group, and blanks may stand anywhere"))
    }
}

/// Decodes all of `text` as Base 64.
pub(super) fn base64(text: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let mut base64 = Base64::default();
    base64.push(text, out)?;
    base64.finish()
}

/// Decodes all of `text` as Base 32 with extended hex alphabet, without padding.
pub(super) fn base32(text: &[u8], out: &mut Vec<u8>) -> Result<(), RdataError> {
    let (mut bits, mut count) = (0u64, 0);
    for &octet in text {
        let value = match octet.to_ascii_lowercase() {
            digit @ b'0'..=b'9' => digit - b'0',
            letter @ b'a'..=b'v' => letter - b'a' + 10,
            _ => {
                let why = format!("`{}` is no digit of Base 32 (0-9, A-V)", octet.escape_ascii());
                return Err(RdataError::new("bad-base32", why));
            }
        };
        bits = bits << 5 | u64::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    if count >= 5 || bits != 0 {
        return Err(RdataError::new("bad-base32", "the digits of Base 32 do not make whole octets"));
    }
    Ok(())
}

pub(super) fn write_hex(octets: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for octet in octets {
        out.push(DIGITS[usize::from(octet >> 4)] as char);
        out.push(DIGITS[usize::from(octet & 15)] as char);
    }
}

pub(super) fn write_base64(octets: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in octets.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, octet| bits << 8 | u32::from(*octet)) << (8 * (3 - group.len()));
        for i in 0..4 {
            out.push(if i <= group.len() { DIGITS[(bits >> (18 - 6 * i)) as usize & 63] as char } else { '=' });
        }
    }
}

pub(super) fn write_base32(octets: &[u8], out: &mut String) {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
    let (mut bits, mut count) = (0u32, 0);
    for octet in octets {
        bits = bits << 8 | u32::from(*octet);
        count += 8;
        while count >= 5 {
            count -= 5;
            out.push(DIGITS[(bits >> count) as usize & 31] as char);
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        out.push(DIGITS[(bits << (5 - count)) as usize & 31] as char);
    }
}
