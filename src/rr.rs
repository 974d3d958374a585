//! Resource record types and classes (RFC 1035 §3.2, RFC 3597 §5, RFC 6895).

use std::fmt;

macro_rules! types {
    ($($name:ident = $number:literal $text:literal;)*) => {
        impl RrType {
            $(#[doc = concat!("`", $text, "`.")] pub const $name: RrType = RrType($number);)*

            /// The mnemonic, if the type has one that we know.
            pub fn mnemonic(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }

            /// The type with this mnemonic, case aside.
            fn from_mnemonic(text: &str) -> Option<RrType> {
                const ALL: &[(&str, RrType)] = &[$(($text, RrType($number)),)*];
                ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(text)).map(|(_, rtype)| *rtype)
            }
        }
    };
}

/// The type of a resource record, or a query type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RrType(pub u16);

types! {
    A = 1 "A"; NS = 2 "NS"; MD = 3 "MD"; MF = 4 "MF"; CNAME = 5 "CNAME"; SOA = 6 "SOA"; MB = 7 "MB"; MG = 8 "MG";
    MR = 9 "MR"; NULL = 10 "NULL"; WKS = 11 "WKS"; PTR = 12 "PTR"; HINFO = 13 "HINFO"; MINFO = 14 "MINFO"; MX = 15 "MX";
    TXT = 16 "TXT"; RP = 17 "RP"; AFSDB = 18 "AFSDB"; X25 = 19 "X25"; ISDN = 20 "ISDN"; RT = 21 "RT"; NSAP = 22 "NSAP";
    NSAP_PTR = 23 "NSAP-PTR"; SIG = 24 "SIG"; KEY = 25 "KEY"; PX = 26 "PX"; GPOS = 27 "GPOS"; AAAA = 28 "AAAA";
    LOC = 29 "LOC"; NXT = 30 "NXT"; EID = 31 "EID"; NIMLOC = 32 "NIMLOC"; SRV = 33 "SRV"; ATMA = 34 "ATMA";
    NAPTR = 35 "NAPTR"; KX = 36 "KX"; CERT = 37 "CERT"; A6 = 38 "A6"; DNAME = 39 "DNAME"; SINK = 40 "SINK"; OPT = 41 "OPT";
    APL = 42 "APL"; DS = 43 "DS"; SSHFP = 44 "SSHFP"; IPSECKEY = 45 "IPSECKEY"; RRSIG = 46 "RRSIG"; NSEC = 47 "NSEC";
    DNSKEY = 48 "DNSKEY"; DHCID = 49 "DHCID"; NSEC3 = 50 "NSEC3"; NSEC3PARAM = 51 "NSEC3PARAM"; TLSA = 52 "TLSA";
    SMIMEA = 53 "SMIMEA"; HIP = 55 "HIP"; NINFO = 56 "NINFO"; RKEY = 57 "RKEY"; TALINK = 58 "TALINK"; CDS = 59 "CDS";
    CDNSKEY = 60 "CDNSKEY"; OPENPGPKEY = 61 "OPENPGPKEY"; CSYNC = 62 "CSYNC"; ZONEMD = 63 "ZONEMD"; SVCB = 64 "SVCB";
    HTTPS = 65 "HTTPS"; SPF = 99 "SPF"; UINFO = 100 "UINFO"; UID = 101 "UID"; GID = 102 "GID"; UNSPEC = 103 "UNSPEC";
    NID = 104 "NID"; L32 = 105 "L32"; L64 = 106 "L64"; LP = 107 "LP"; EUI48 = 108 "EUI48"; EUI64 = 109 "EUI64";
    TKEY = 249 "TKEY"; TSIG = 250 "TSIG"; IXFR = 251 "IXFR"; AXFR = 252 "AXFR"; MAILB = 253 "MAILB"; MAILA = 254 "MAILA";
    ANY = 255 "ANY"; URI = 256 "URI"; CAA = 257 "CAA"; AVC = 258 "AVC"; DOA = 259 "DOA"; AMTRELAY = 260 "AMTRELAY";
    RESINFO = 261 "RESINFO"; WALLET = 262 "WALLET"; TA = 32768 "TA"; DLV = 32769 "DLV";
}

impl RrType {
    /// The type from its mnemonic or from `TYPE12345` (RFC 3597 §5), case aside.
    pub fn parse(text: &str) -> Option<RrType> {
        RrType::from_mnemonic(text).or_else(|| numbered(text, "TYPE").map(RrType))
    }

    /// Whether no record of this type can stand in a zone: query types and meta types (RFC 6895 §3.1).
    pub fn is_meta(self) -> bool {
        self.0 == 0 || self == RrType::OPT || (128..=255).contains(&self.0)
    }
}

impl fmt::Display for RrType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mnemonic() {
            Some(text) => f.pad(text),
            None => f.pad(&format!("TYPE{}", self.0)),
        }
    }
}

impl fmt::Debug for RrType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for RrType {
    type Err = String;

    fn from_str(text: &str) -> Result<RrType, String> {
        RrType::parse(text)
            .ok_or_else(|| format!("`{text}` is not a record type: write a mnemonic such as AAAA, or TYPE28"))
    }
}

impl serde::Serialize for RrType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for RrType {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RrType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The class of a resource record, or a query class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u16);

impl Class {
    /// The Internet.
    pub const IN: Class = Class(1);
    /// Chaosnet; today, where a server is asked about itself.
    pub const CH: Class = Class(3);
    /// Hesiod.
    pub const HS: Class = Class(4);
    /// No class: RFC 2136 §2.4.
    pub const NONE: Class = Class(254);
    /// Every class; a query class.
    pub const ANY: Class = Class(255);

    /// The class from its mnemonic or from `CLASS12345` (RFC 3597 §5), case aside.
    pub fn parse(text: &str) -> Option<Class> {
        [("IN", Class::IN), ("CH", Class::CH), ("CHAOS", Class::CH), ("HS", Class::HS), ("HESIOD", Class::HS)]
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(text))
            .map(|(_, class)| class)
            .or_else(|| numbered(text, "CLASS").map(Class))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Class::IN => f.pad("IN"),
            Class::CH => f.pad("CH"),
            Class::HS => f.pad("HS"),
            Class::NONE => f.pad("NONE"),
            Class::ANY => f.pad("ANY"),
            Class(number) => f.pad(&format!("CLASS{number}")),
        }
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn numbered(text: &str, prefix: &str) -> Option<u16> {
    let front = text.get(..prefix.len())?;
    let digits = &text[prefix.len()..];
    if !front.eq_ignore_ascii_case(prefix) || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_classes_read_and_write_back() {
        for number in 0..=u16::MAX {
            assert_eq!(RrType::parse(&RrType(number).to_string()), Some(RrType(number)));
            assert!(matches!(number, 254 | 255) || Class::parse(&Class(number).to_string()) == Some(Class(number)));
        }
        assert_eq!(RrType::parse("type65"), Some(RrType::HTTPS));
        for wrong in ["TYPE", "TYPE65536", "TYPE+1", "", "ÄTYPE1"] {
            assert_eq!(RrType::parse(wrong), None, "{wrong}");
        }
    }
}
