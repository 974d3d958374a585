//! Record data in wire form: where each field ends, whether it is well-formed, which names it holds.

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::grammar::{Empty, Field, Kind, fields};

use super::{RdataError, apl, bitmap, gateway, legacy, loc, mnemonics, svcb, text};

/// Whether `rdata` is well-formed data of its type; any data is, if the type is unknown (RFC 3597 §3).
pub fn validate(rtype: RrType, rdata: &[u8]) -> Result<(), RdataError> {
    let Some(fields) = fields(rtype) else {
        return Ok(());
    };
    let mut at = 0;
    for field in fields {
        at = end(field.kind, rdata, at).map_err(|error| error.of(field.name))?;
    }
    if at < rdata.len() {
        let why = format!("{} more octets than the type {rtype} has", rdata.len() - at);
        return Err(RdataError::new("extra-data", why));
    }
    Ok(())
}

/// The domain names in `rdata`, each with where it begins; stops at malformed data.
pub fn names(rtype: RrType, rdata: &[u8]) -> impl Iterator<Item = (usize, NameRef<'_>)> {
    let mut fields: std::slice::Iter<'static, Field> = fields(rtype).unwrap_or_default().iter();
    let mut at = 0;
    let mut many = false;
    std::iter::from_fn(move || {
        loop {
            if many {
                let name = NameRef::read(rdata.get(at..)?).ok()?;
                at += name.len();
                return Some((at - name.len(), name));
            }
            let kind = fields.next()?.kind;
            if kind == Kind::Names {
                many = true;
                continue;
            }
            let first = at;
            at = end(kind, rdata, at).ok()?;
            let name_at = match kind {
                Kind::Name { .. } | Kind::Signer => Some(first),
                Kind::IpsecGateway => gateway::ipsec_name(rdata),
                Kind::AmtRelay => gateway::amt_name(rdata),
                Kind::A6 => legacy::a6_name(rdata),
                _ => None,
            };
            if let Some(name_at) = name_at {
                return NameRef::read(rdata.get(name_at..)?).ok().map(|name| (name_at, name));
            }
        }
    })
}

/// Where the field that begins at `at` ends, if it is well-formed.
pub(super) fn end(kind: Kind, data: &[u8], at: usize) -> Result<usize, RdataError> {
    let rest = data.len().saturating_sub(at);
    match kind {
        Kind::Name { .. } => name(data, at),
        Kind::Signer => {
            let end = name(data, at)?;
            check_signer(data, at)?;
            Ok(end)
        }
        Kind::Names => {
            let mut at = at;
            while at < data.len() {
                at = name(data, at)?;
            }
            Ok(at)
        }
        Kind::U8 | Kind::Algorithm | Kind::HashAlgorithm | Kind::DigestType | Kind::KeyProtocol => fixed(data, at, 1),
        Kind::U16 | Kind::Type | Kind::KeyFlags | Kind::CertType => fixed(data, at, 2),
        Kind::U32 | Kind::Seconds | Kind::Time | Kind::Ipv4 => fixed(data, at, 4),
        Kind::Zero => match data.get(at..at + 2) {
            Some([0, 0]) => Ok(at + 2),
            Some(_) => Err(RdataError::new("bad-number", "they must be 0")),
            None => Err(cut()),
        },
        Kind::NodeId => fixed(data, at, 8),
        Kind::Ipv6 => fixed(data, at, 16),
        Kind::Eui(len) => fixed(data, at, len),
        Kind::CharString | Kind::PsdnAddress | Kind::Regexp | Kind::Tag => {
            let string = counted(data, at)?;
            text::check_string(kind, string)?;
            Ok(at + 1 + string.len())
        }
        Kind::OptionalCharString if rest == 0 => Ok(at),
        Kind::OptionalCharString | Kind::Salt => Ok(at + 1 + counted(data, at)?.len()),
        Kind::HashedName => {
            let octets = counted(data, at)?;
            check_hash(data, octets)?;
            Ok(at + 1 + octets.len())
        }
        Kind::CharStrings => {
            let mut end = at + 1 + counted(data, at)?.len();
            while end < data.len() {
                end += 1 + counted(data, end)?.len();
            }
            Ok(end)
        }
        Kind::Text { .. } => Ok(data.len()),
        Kind::Hex => not_empty(rest, false).map(|()| data.len()),
        Kind::Base64 { empty } => not_empty(rest, empty != Empty::Never).map(|()| data.len()),
        Kind::PublicKey if mnemonics::has_no_key(data) => Ok(at),
        Kind::PublicKey => not_empty(rest, false).map(|()| data.len()),
        Kind::Digest { at: kind_at, least, lengths } => digest(data, at, kind_at, least, lengths),
        Kind::Bitmap { empty } => bitmap::check(data, at, empty),
        Kind::NxtBitmap => bitmap::check_nxt(data, at),
        Kind::SvcParams => svcb::check(data, at),
        Kind::Loc => loc::check(data, at),
        Kind::Apl => apl::check(data, at),
        Kind::IpsecGateway => gateway::check_ipsec(data),
        Kind::AmtRelay => gateway::check_amt(data),
        Kind::HostIdentity => gateway::check_hip(data),
        Kind::Wks => legacy::check_wks(data, at),
        Kind::Nsap => not_empty(rest, false).map(|()| data.len()),
        Kind::Atma => legacy::check_atma(data, at),
        Kind::A6 => legacy::check_a6(data, at),
    }
}

/// So many octets.
pub(super) fn fixed(data: &[u8], at: usize, len: usize) -> Result<usize, RdataError> {
    if data.len() < at + len { Err(cut()) } else { Ok(at + len) }
}

/// The octets behind the length octet at `at`.
pub(super) fn counted(data: &[u8], at: usize) -> Result<&[u8], RdataError> {
    let len = usize::from(*data.get(at).ok_or_else(cut)?);
    data.get(at + 1..at + 1 + len).ok_or_else(cut)
}

pub(super) fn name(data: &[u8], at: usize) -> Result<usize, RdataError> {
    let octets = data.get(at..).ok_or_else(cut)?;
    match NameRef::read(octets) {
        Ok(name) => Ok(at + name.len()),
        Err(error) => Err(RdataError::new("bad-name", error.to_string())),
    }
}

pub(super) fn cut() -> RdataError {
    RdataError::new("bad-length", "the data ends inside it")
}

fn not_empty(len: usize, empty: bool) -> Result<(), RdataError> {
    if len == 0 && !empty { Err(RdataError::new("missing-field", "it has no octets")) } else { Ok(()) }
}

/// The signer at `at` beside the number of labels that the signature says the owner has.
pub(super) fn check_signer(data: &[u8], at: usize) -> Result<(), RdataError> {
    let signer = NameRef::read(data.get(at..).unwrap_or_default()).map_or(0, NameRef::label_count);
    let labels = data.get(3).copied().unwrap_or_default();
    if signer > labels.into() {
        let why = format!("the signer has {signer} labels, and the owner only {labels}: it is not below its signer");
        return Err(RdataError::new("bad-signer", why));
    }
    Ok(())
}

/// The hash of a name beside the algorithm in the first octet of the data.
pub(super) fn check_hash(data: &[u8], hash: &[u8]) -> Result<(), RdataError> {
    match (data.first(), hash.len()) {
        (Some(1), 20) => Ok(()),
        (Some(1), len) => Err(RdataError::new("bad-length", format!("it has {len} octets; one of SHA-1 has 20"))),
        (_, 0) => Err(RdataError::new("bad-length", "it has no octets")),
        _ => Ok(()),
    }
}

/// The digest from `at` on, whose kind the octet at `kind_at` tells.
pub(super) fn digest(
    data: &[u8],
    at: usize,
    kind_at: usize,
    least: usize,
    lengths: &[(u8, usize)],
) -> Result<usize, RdataError> {
    let len = data.len().saturating_sub(at);
    not_empty(len, least == 0)?;
    let kind = data.get(kind_at).copied().unwrap_or_default();
    let wrong = |want: &str| {
        RdataError::new("bad-length", format!("it has {len} octets; a digest of type {kind} has {want}"))
            .advise("copy the digest whole; mind the digest type in front of it")
    };
    match lengths.iter().find(|(known, _)| *known == kind) {
        Some((_, want)) if *want != len => Err(wrong(&want.to_string())),
        None if len < least => Err(wrong(&format!("{least} at least"))),
        _ => Ok(data.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::rdata::read;

    fn names_of(rtype: RrType, text: &str) -> String {
        let rdata = read(rtype, text, NameRef::ROOT).unwrap();
        let found = names(rtype, &rdata).map(|(at, name)| {
            assert!(rdata[at..].starts_with(name.as_wire()));
            format!("{at}:{name}")
        });
        let found = found.collect::<Vec<_>>().join(" ");
        // Cut anywhere, it stops, and finds nothing else.
        for len in 0..rdata.len() {
            let fewer: Vec<_> = names(rtype, &rdata[..len]).map(|(at, name)| format!("{at}:{name}")).collect();
            assert!(found.starts_with(&fewer.join(" ")), "{text} cut at {len}");
        }
        found
    }

    #[test]
    fn every_name_in_data_is_found_where_it_stands() {
        for (rtype, text, expected) in [
            (RrType::A, "192.0.2.1", ""),
            (RrType::TXT, "a.b.", ""),
            (RrType::CNAME, "A.b", "0:A.b."),
            (RrType::SOA, "a b 1 2 3 4 5", "0:a. 3:b."),
            (RrType::MX, "1 .", "2:."),
            (RrType::SRV, "1 2 3 a", "6:a."),
            (RrType::NAPTR, "1 2 s x \"\" a.b", "9:a.b."),
            (RrType::RP, "a b", "0:a. 3:b."),
            (RrType::PX, "1 a b", "2:a. 5:b."),
            (RrType::SVCB, "1 a alpn=h2", "2:a."),
            (RrType::HTTPS, "0 a", "2:a."),
            (RrType::RRSIG, "A 8 2 300 1 1 1 a AQPS", "18:a."),
            (RrType::NSEC, "a A", "0:a."),
            (RrType::NXT, "a A", "0:a."),
            (RrType::HIP, "2 2001 AwEAAbdx a b", "12:a. 15:b."),
            (RrType::IPSECKEY, "1 3 2 a AQPS", "3:a."),
            (RrType::IPSECKEY, "1 1 2 192.0.2.1 AQPS", ""),
            (RrType::AMTRELAY, "1 1 3 a", "2:a."),
            (RrType::A6, "64 ::1 a", "9:a."),
            (RrType::A6, "0 ::1", ""),
            (RrType::TALINK, ". a", "0:. 1:a."),
            (RrType(65280), "\\# 3 016100", ""),
        ] {
            assert_eq!(names_of(rtype, text), expected, "{rtype} {text}");
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (rtype, rdata, expected) in [
            (RrType::A, &[1, 2, 3][..], "address: the data ends inside it"),
            (RrType::MX, &[0, 1, 1, b'a'], "exchange: the octets end inside the name"),
            (RrType::MX, &[0, 1, 0xC0, 0], "exchange: the octets end inside the name"),
            (RrType::TXT, &[], "text: the data ends inside it"),
            (RrType::A, &[1, 2, 3, 4, 5], "data: 1 more octets than the type A has"),
            (RrType::CAA, &[0, 1, b'-'], "tag: a property tag is made of ASCII letters and digits only"),
        ] {
            assert_eq!(validate(rtype, rdata).unwrap_err().to_string(), expected);
        }
        assert_eq!(validate(RrType(65280), &[1, 2]), Ok(()));
    }
}
