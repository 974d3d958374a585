//! The grammar of record data: for each type its fields, in order. One table for reading, writing, validating, and for
//! finding the names in data.

use crate::rr::RrType;

/// One field of a type's data.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// What the RFC calls it; errors name it.
    pub name: &'static str,
    /// What it is made of.
    pub kind: Kind,
}

/// What a field is made of, in text and on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A domain name; whether other servers may compress it (RFC 3597 §4).
    Name {
        /// Only the types of RFC 1035 may.
        compress: bool,
    },
    /// The name of a signer, which has no more labels than the signature says the owner has, in the fourth octet (RFC
    /// 4034 §3.1.3).
    Signer,
    /// Domain names up to the end, or none.
    Names,
    /// An 8-bit number.
    U8,
    /// A 16-bit number.
    U16,
    /// 16 bits that must be 0.
    Zero,
    /// A 32-bit number.
    U32,
    /// A 32-bit number of seconds; text may use the units of TTLs.
    Seconds,
    /// A point in time: `YYYYMMDDHHMMSS` or seconds since 1970 modulo 2³² (RFC 4034 §3.2).
    Time,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A character-string (RFC 1035 §3.3).
    CharString,
    /// A character-string, or nothing.
    OptionalCharString,
    /// Character-strings up to the end, one at least.
    CharStrings,
    /// A character-string of four digits or more (RFC 1183 §3.1).
    PsdnAddress,
    /// A character-string that is empty or a substitution expression (RFC 3403 §4.1).
    Regexp,
    /// A property tag: a character-string of letters and digits, never empty (RFC 8659 §4.1).
    Tag,
    /// One string up to the end, without a length octet.
    Text {
        /// Whether it must stand in quotes.
        quoted: bool,
    },
    /// A record type.
    Type,
    /// A DNSSEC algorithm: a number or its mnemonic.
    Algorithm,
    /// A hash algorithm of NSEC3: a number or its mnemonic.
    HashAlgorithm,
    /// A DS digest algorithm: a number or its mnemonic.
    DigestType,
    /// The flags of a key: a number, or the mnemonics of RFC 2535 joined by `|`.
    KeyFlags,
    /// The protocol of a key: a number or a mnemonic.
    KeyProtocol,
    /// A certificate type: a number or its mnemonic (RFC 4398 §2.1).
    CertType,
    /// Octets in hexadecimal up to the end, one at least.
    Hex,
    /// A digest in hexadecimal up to the end.
    Digest {
        /// Where in the data the octet stands that tells its kind.
        at: usize,
        /// The least octets that a digest of an unknown kind has.
        least: usize,
        /// The octets that a digest of each known kind has.
        lengths: &'static [(u8, usize)],
    },
    /// A salt: a length octet and octets in hexadecimal; `-` is an empty one (RFC 5155 §3.3).
    Salt,
    /// A hashed owner name: a length octet and octets in Base 32 with extended hex alphabet (RFC 5155 §3.3); 20 of them
    /// if the first octet of the data says SHA-1.
    HashedName,
    /// Octets in Base 64 up to the end.
    Base64 {
        /// What stands for no octets, if there may be none.
        empty: Empty,
    },
    /// A public key in Base 64 up to the end; there is none if the flags, the first 16 bits, say so (RFC 2535 §3.1.2).
    PublicKey,
    /// A type bitmap (RFC 4034 §4.1.2).
    Bitmap {
        /// Whether it may name no type.
        empty: bool,
    },
    /// A type bitmap of one window (RFC 2535 §5.2).
    NxtBitmap,
    /// Service parameters up to the end, or none (RFC 9460 §2.2).
    SvcParams,
    /// A location (RFC 1876).
    Loc,
    /// Address prefixes up to the end, or none (RFC 3123).
    Apl,
    /// Precedence, gateway type, algorithm and gateway (RFC 4025 §2.1).
    IpsecGateway,
    /// Precedence, discovery bit, relay type and relay (RFC 8777 §4.2).
    AmtRelay,
    /// HIT, algorithm and public key with their lengths (RFC 8005 §5).
    HostIdentity,
    /// Address, protocol and services (RFC 1035 §3.4.2).
    Wks,
    /// An NSAP address: `0x` and hexadecimal digits with dots between (RFC 1706).
    Nsap,
    /// An ATM address: digits in E.164 after `+`, else hexadecimal.
    Atma,
    /// Prefix length, address suffix and prefix name (RFC 2874).
    A6,
    /// So many octets in hexadecimal with hyphens between (RFC 7043).
    Eui(usize),
    /// 64 bits as four groups of hexadecimal digits (RFC 6742).
    NodeId,
}

/// How a field of Base 64 says that it has no octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// It cannot: one octet at least.
    Never,
    /// By having no word.
    Nothing,
    /// By a hyphen.
    Hyphen,
}

const NAME: Kind = Kind::Name { compress: false };
const OLD_NAME: Kind = Kind::Name { compress: true };
const BASE64: Kind = Kind::Base64 { empty: Empty::Never };
const DS_DIGEST: Kind = Kind::Digest { at: 3, least: 1, lengths: &[(1, 20), (2, 32), (4, 48)] };
const SSHFP_DIGEST: Kind = Kind::Digest { at: 1, least: 0, lengths: &[(1, 20), (2, 32)] };
const ZONEMD_DIGEST: Kind = Kind::Digest { at: 5, least: 12, lengths: &[(1, 48), (2, 64)] };

/// The grammar of a type's data; nothing for types that are only written as `\#` (RFC 3597 §5).
pub fn fields(rtype: RrType) -> Option<&'static [Field]> {
    use Kind::*;
    macro_rules! table {
        ($($($rtype:ident)|+ = $($name:literal $kind:expr),+;)*) => {
            match rtype {
                $($(RrType::$rtype)|+ => Some(const { &[$(Field { name: $name, kind: $kind }),+] }),)*
                _ => None,
            }
        };
    }
    table! {
        A = "address" Ipv4;
        AAAA = "address" Ipv6;
        NS | CNAME | MB | MG | MR | PTR = "name" OLD_NAME;
        DNAME | NSAP_PTR = "name" NAME;
        SOA = "primary server" OLD_NAME, "mailbox" OLD_NAME, "serial" U32, "refresh" Seconds, "retry" Seconds,
            "expire" Seconds, "minimum" Seconds;
        WKS = "services" Wks;
        HINFO = "CPU" CharString, "OS" CharString;
        MINFO = "responsible mailbox" OLD_NAME, "error mailbox" OLD_NAME;
        MX = "preference" U16, "exchange" OLD_NAME;
        TXT | SPF | AVC | NINFO | RESINFO | WALLET = "text" CharStrings;
        RP = "mailbox" NAME, "text name" NAME;
        AFSDB = "subtype" U16, "host" NAME;
        X25 = "PSDN address" PsdnAddress;
        ISDN = "ISDN address" CharString, "subaddress" OptionalCharString;
        RT | KX | LP = "preference" U16, "host" NAME;
        NSAP = "address" Nsap;
        SIG = "type covered" Type, "algorithm" Algorithm, "labels" U8, "original TTL" U32,
            "expiration" Time, "inception" Time, "key tag" U16, "signer" NAME, "signature" BASE64;
        RRSIG = "type covered" Type, "algorithm" Algorithm, "labels" U8, "original TTL" U32,
            "expiration" Time, "inception" Time, "key tag" U16, "signer" Signer, "signature" BASE64;
        KEY = "flags" KeyFlags, "protocol" KeyProtocol, "algorithm" Algorithm, "public key" PublicKey;
        DNSKEY | CDNSKEY = "flags" KeyFlags, "protocol" KeyProtocol, "algorithm" Algorithm, "public key" BASE64;
        RKEY = "flags" Zero, "protocol" KeyProtocol, "algorithm" Algorithm, "public key" BASE64;
        PX = "preference" U16, "MAP822" NAME, "MAPX400" NAME;
        GPOS = "longitude" CharString, "latitude" CharString, "altitude" CharString;
        LOC = "location" Loc;
        NXT = "next name" NAME, "types" NxtBitmap;
        EID | NIMLOC = "octets" Hex;
        SRV = "priority" U16, "weight" U16, "port" U16, "target" NAME;
        ATMA = "address" Atma;
        NAPTR = "order" U16, "preference" U16, "flags" CharString, "services" CharString, "regular expression" Regexp,
            "replacement" NAME;
        CERT = "type" CertType, "key tag" U16, "algorithm" Algorithm, "certificate" BASE64;
        A6 = "address" A6;
        SINK = "meaning" U8, "coding" U8, "subcoding" U8, "data" Base64 { empty: Empty::Nothing };
        APL = "prefixes" Apl;
        DS | CDS | TA | DLV = "key tag" U16, "algorithm" Algorithm, "digest type" DigestType, "digest" DS_DIGEST;
        SSHFP = "algorithm" U8, "fingerprint type" U8, "fingerprint" SSHFP_DIGEST;
        IPSECKEY = "gateway" IpsecGateway, "public key" BASE64;
        NSEC = "next name" NAME, "types" Bitmap { empty: false };
        DHCID = "identifier" BASE64;
        NSEC3 = "hash algorithm" HashAlgorithm, "flags" U8, "iterations" U16, "salt" Salt, "next hashed owner" HashedName,
            "types" Bitmap { empty: true };
        NSEC3PARAM = "hash algorithm" HashAlgorithm, "flags" U8, "iterations" U16, "salt" Salt;
        TLSA | SMIMEA = "usage" U8, "selector" U8, "matching type" U8, "association data" Hex;
        HIP = "host identity" HostIdentity, "rendezvous servers" Names;
        TALINK = "previous name" NAME, "next name" NAME;
        OPENPGPKEY = "key" BASE64;
        CSYNC = "serial" U32, "flags" U16, "types" Bitmap { empty: true };
        ZONEMD = "serial" U32, "scheme" U8, "hash algorithm" U8, "digest" ZONEMD_DIGEST;
        SVCB | HTTPS = "priority" U16, "target" NAME, "parameters" SvcParams;
        NID | L64 = "preference" U16, "identifier" NodeId;
        L32 = "preference" U16, "locator" Ipv4;
        EUI48 = "address" Eui(6);
        EUI64 = "address" Eui(8);
        URI = "priority" U16, "weight" U16, "target" Text { quoted: true };
        CAA = "flags" U8, "tag" Tag, "value" Text { quoted: false };
        DOA = "enterprise" U32, "type" U32, "location" U8, "media type" CharString,
            "data" Base64 { empty: Empty::Hyphen };
        AMTRELAY = "relay" AmtRelay;
    }
}
