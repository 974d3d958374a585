//! Record data to text, so that reading it gives the same octets.

use std::fmt::Write as _;

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::grammar::{Empty, Kind, fields};

use super::{apl, bitmap, codes, gateway, legacy, loc, read, svcb, wire};

/// The data of a record as a master file writes it, names relative to `origin` if there is one.
///
/// Data of a type without a grammar, or that does not fit its grammar, is written as `\# length hex` (RFC 3597 §5).
pub fn write(rtype: RrType, rdata: &[u8], origin: Option<NameRef<'_>>) -> String {
    fields_of(rtype, rdata, origin).unwrap_or_else(|| {
        let mut out = format!("\\# {}", rdata.len());
        if !rdata.is_empty() {
            out.push(' ');
            codes::write_hex(rdata, &mut out);
        }
        out
    })
}

fn fields_of(rtype: RrType, rdata: &[u8], origin: Option<NameRef<'_>>) -> Option<String> {
    let mut out = String::new();
    let mut unsure = false;
    let mut at = 0;
    for field in fields(rtype)? {
        let end = wire::end(field.kind, rdata, at).ok()?;
        let mut text = String::new();
        write_field(field.kind, &rdata[at..end], origin, &mut text);
        if !text.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&text);
        }
        // These have wire forms that no text stands for, such as a size of no metres and ten to the power of five.
        unsure |= matches!(
            field.kind,
            Kind::Loc | Kind::NxtBitmap | Kind::Atma | Kind::Apl | Kind::AmtRelay | Kind::SvcParams
        );
        at = end;
    }
    let reads_back = |text: &str| read(rtype, text, origin.unwrap_or(NameRef::ROOT)).is_ok_and(|read| read == rdata);
    (at == rdata.len() && (!unsure || reads_back(&out))).then_some(out)
}

fn write_field(kind: Kind, data: &[u8], origin: Option<NameRef<'_>>, out: &mut String) {
    let name = |octets: &[u8]| match (NameRef::read(octets), origin) {
        (Ok(name), Some(origin)) => relative(name, origin),
        (Ok(name), None) => name.to_string(),
        (Err(_), _) => String::new(),
    };
    let number = data.iter().take(4).fold(0u32, |number, octet| number << 8 | u32::from(*octet));
    match kind {
        Kind::Name { .. } | Kind::Signer => out.push_str(&name(data)),
        Kind::Names => {
            let mut rest = data;
            while let Ok(one) = NameRef::read(rest) {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(&name(rest));
                rest = &rest[one.len()..];
            }
        }
        Kind::Type => drop(write!(out, "{}", RrType(number as u16))),
        Kind::U8
        | Kind::U16
        | Kind::Zero
        | Kind::U32
        | Kind::Seconds
        | Kind::Algorithm
        | Kind::HashAlgorithm
        | Kind::DigestType
        | Kind::KeyFlags
        | Kind::KeyProtocol
        | Kind::CertType => drop(write!(out, "{number}")),
        Kind::Time => time(number, out),
        Kind::Ipv4 => drop(write!(out, "{}", gateway::ip4(data))),
        Kind::Ipv6 => drop(write!(out, "{}", gateway::ip6(data))),
        Kind::Tag => out.push_str(&String::from_utf8_lossy(data.get(1..).unwrap_or_default())),
        Kind::CharString | Kind::OptionalCharString | Kind::CharStrings | Kind::PsdnAddress | Kind::Regexp => {
            strings(data, out);
        }
        Kind::Text { .. } => quoted(data, out),
        Kind::Hex | Kind::Digest { .. } => codes::write_hex(data, out),
        Kind::Salt if data.len() < 2 => out.push('-'),
        Kind::Salt => codes::write_hex(&data[1..], out),
        Kind::HashedName => codes::write_base32(data.get(1..).unwrap_or_default(), out),
        Kind::Base64 { empty: Empty::Hyphen } if data.is_empty() => out.push('-'),
        Kind::Base64 { .. } | Kind::PublicKey => codes::write_base64(data, out),
        Kind::Bitmap { .. } => bitmap::write(data, out),
        Kind::NxtBitmap => bitmap::write_nxt(data, out),
        Kind::SvcParams => svcb::write(data, out),
        Kind::Loc => loc::write(data, out),
        Kind::Apl => apl::write(data, out),
        Kind::IpsecGateway => gateway::write_ipsec(data, name, out),
        Kind::AmtRelay => gateway::write_amt(data, name, out),
        Kind::HostIdentity => gateway::write_hip(data, out),
        Kind::Wks => legacy::write_wks(data, out),
        Kind::Nsap => {
            out.push_str("0x");
            codes::write_hex(data, out);
        }
        Kind::Atma => legacy::write_atma(data, out),
        Kind::A6 => legacy::write_a6(data, name, out),
        Kind::Eui(_) => groups(data, 1, '-', out),
        Kind::NodeId => groups(data, 2, ':', out),
    }
}

/// A name relative to the origin if the origin's part has the very same case: reading would not bring another back.
pub(crate) fn relative(name: NameRef<'_>, origin: NameRef<'_>) -> String {
    if name.as_wire().ends_with(origin.as_wire()) { name.relative_to(origin) } else { name.to_string() }
}

fn strings(mut data: &[u8], out: &mut String) {
    while let Ok(string) = wire::counted(data, 0) {
        if !out.is_empty() {
            out.push(' ');
        }
        quoted(string, out);
        data = &data[1 + string.len()..];
    }
}

/// Writes a string in quotes.
pub(super) fn quoted(octets: &[u8], out: &mut String) {
    out.push('"');
    for &octet in octets {
        match octet {
            b'"' | b'\\' => out.extend(['\\', octet as char]),
            b' '..=b'~' => out.push(octet as char),
            _ => drop(write!(out, "\\{octet:03}")),
        }
    }
    out.push('"');
}

/// Writes groups of so many octets in lower-case hexadecimal.
fn groups(data: &[u8], octets: usize, between: char, out: &mut String) {
    for (i, group) in data.chunks(octets).enumerate() {
        if i > 0 {
            out.push(between);
        }
        group.iter().for_each(|octet| out.push_str(&format!("{octet:02x}")));
    }
}

/// Writes seconds since 1970 as `YYYYMMDDHHMMSS`.
pub(crate) fn time(seconds: u32, out: &mut String) {
    let (days, second) = (i64::from(seconds / 86_400), seconds % 86_400);
    // Years of 365.2425 days that begin in March, so that the leap day comes last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year_of_era + i64::from(month > 9), if month > 9 { month - 9 } else { month + 3 });
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(out, "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}");
}
