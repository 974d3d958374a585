//! Canaries: names that are asked for to find out what resolvers keep, and for nothing else.
//!
//! A canary's label says all that its server has to know: what it answers before its turn and behind it, with which TTL,
//! and when the turn is. So the server keeps no state for it, and gives the same answers after a restart. The label ends
//! in a code that only the holder of the key can make; whatever else is asked for does not exist.
//!
//! The zone's own records aside, `q.LABEL.ZONE` is what is asked for. Each label is a zone of its own, with its own SOA:
//! Unbound keeps one SOA for all negative answers of a zone, and its age would be that of others.

mod answer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use siphasher::sip::SipHasher24;

use crate::name::{Name, NameError, NameRef};
use crate::net::Network;
use crate::rr::RrType;
use crate::serving::respond::Transport;
use crate::time::{Timestamp, Ttl};

pub use answer::{given, version};

/// How long before its turn and behind it a canary is answered for: older ones are names that somebody kept.
pub const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// The label, in front of a canary's own, that is asked for.
pub const ASKED: &[u8] = b"q";
/// The type that is asked for: its data have room for the time.
pub const ASKED_TYPE: RrType = RrType::AAAA;
/// The longest TTL that a canary has.
pub const MAX_TTL: Ttl = Ttl::new(7 * 24 * 3600).unwrap();

/// What a canary answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Addresses (A and AAAA) and a text (TXT), which say which version this is and when it was given. Resolvers that keep
    /// but a few types keep addresses.
    Data,
    /// There is no such name (NXDOMAIN).
    NoName,
    /// There is no data of this type (NODATA).
    NoData,
    /// The server failed (SERVFAIL).
    Failure,
    /// Nothing at all.
    Silence,
    /// Data, over TCP only: over UDP there is but the hint to ask so.
    Stream,
}

impl Content {
    const ALL: [(Content, u8); 6] = [
        (Content::Data, b'd'),
        (Content::NoName, b'x'),
        (Content::NoData, b'n'),
        (Content::Failure, b'f'),
        (Content::Silence, b's'),
        (Content::Stream, b't'),
    ];

    fn letter(self) -> u8 {
        Content::ALL.iter().find(|(content, _)| *content == self).map_or(b'd', |(_, letter)| *letter)
    }

    fn of(letter: u8) -> Option<Content> {
        let letter = letter.to_ascii_lowercase();
        Content::ALL.iter().find(|(_, known)| *known == letter).map(|(content, _)| *content)
    }
}

/// A canary: what it answers, and when that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Canary {
    /// Before its turn.
    pub before: Content,
    /// From its turn on.
    pub after: Content,
    /// The TTL of all its records, the negative TTL too.
    pub ttl: Ttl,
    /// When it changes; in whole tenths of seconds.
    pub turn: Timestamp,
    /// Tells it from others of its kind; at most [`Canary::NONCES`].
    pub nonce: u32,
}

impl Canary {
    /// The greatest nonce.
    pub const NONCES: u32 = (1 << NONCE_BITS) - 1;

    /// A canary whose turn is at that time or up to a tenth of a second before it. Of a nonce, the lower bits count.
    pub fn new(before: Content, after: Content, ttl: Ttl, turn: Timestamp, nonce: u32) -> Canary {
        let turn = Timestamp(turn.0.clamp(0, LATEST).div_euclid(TENTH) * TENTH);
        Canary { before, after, ttl: ttl.min(MAX_TTL), turn, nonce: nonce & Canary::NONCES }
    }

    /// What it answers then, and which version that is: 1 before the turn, 2 behind it.
    pub fn at(&self, now: Timestamp) -> (Content, u8) {
        if now < self.turn { (self.before, 1) } else { (self.after, 2) }
    }

    fn is_current(&self, now: Timestamp) -> bool {
        now <= self.turn.after(LIFETIME) && self.turn <= now.after(LIFETIME)
    }
}

/// The latest turn, in the year 2187: what there are digits for.
const LATEST: i64 = (1 << 36) * TENTH - TENTH;
/// Milliseconds of a tenth of a second.
const TENTH: i64 = 100;

/// The key that canaries' labels are made with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CanaryKey(pub [u8; 16]);

// No log may tell keys.
impl fmt::Debug for CanaryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CanaryKey")
    }
}

impl CanaryKey {
    /// The canary's label, such as `xd30-8kq1n3v0c2m5e7a1r4t6`: the first letters of what it answers before its turn and
    /// behind it, the TTL; turn and nonce; the code. It is short: dnsmasq keeps only a few names of fifty octets or more.
    pub fn label(&self, canary: &Canary) -> String {
        let open = open_label(canary);
        let code = self.code(open.as_bytes());
        open + &code
    }

    /// The canary whose label this is; none if it is not one that was made with this key. Case does not count.
    pub fn read(&self, label: &[u8]) -> Option<Canary> {
        let label = str::from_utf8(label).ok()?.to_ascii_lowercase();
        let (open, code) = label.split_at_checked(label.len().checked_sub(CODE)?)?;
        if self.code(open.as_bytes()) != code {
            return None;
        }
        let (front, body) = open.split_once('-')?;
        let &[before, after, ref ttl @ ..] = front.as_bytes() else { return None };
        let ttl = Ttl::new(u32::from_str(str::from_utf8(ttl).ok()?).ok()?)?;
        let body = number(body)?;
        let turn = i64::try_from(body >> NONCE_BITS).ok()?.checked_mul(TENTH)?;
        let nonce = (body & u64::from(Canary::NONCES)) as u32;
        let canary =
            Canary { before: Content::of(before)?, after: Content::of(after)?, ttl, turn: Timestamp(turn), nonce };
        // One canary has one label.
        (open_label(&canary) == open).then_some(canary)
    }

    fn code(&self, open: &[u8]) -> String {
        digits(SipHasher24::new_with_key(&self.0).hash(open), CODE)
    }
}

/// How many digits a label's code has.
const CODE: usize = 8;
/// How many digits its turn and nonce have.
const BODY: usize = 12;
/// How many bits of them are the nonce.
const NONCE_BITS: u32 = 24;
/// Digits of five bits each (RFC 4648 §7).
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// A canary's label without its code.
fn open_label(canary: &Canary) -> String {
    let [before, after] = [canary.before, canary.after].map(|content| char::from(content.letter()));
    let turn = (canary.turn.0 / TENTH).unsigned_abs();
    let body = digits(turn << NONCE_BITS | u64::from(canary.nonce & Canary::NONCES), BODY);
    format!("{before}{after}{}-{body}", canary.ttl)
}

/// The last `count` digits of a number.
fn digits(number: u64, count: usize) -> String {
    (0..count).rev().map(|at| char::from(DIGITS[(number >> (5 * at)) as usize & 31])).collect()
}

/// The number of so many digits.
fn number(digits: &str) -> Option<u64> {
    let value = |digit: u8| DIGITS.iter().position(|known| *known == digit);
    (digits.len() == BODY).then_some(())?;
    digits.bytes().try_fold(0, |number, digit| Some(number << 5 | value(digit)? as u64))
}

/// A zone of canaries, delegated to a server that serves no other.
#[derive(Clone, Debug)]
pub struct CanaryZone {
    origin: Name,
    key: CanaryKey,
    addresses: Vec<IpAddr>,
    contact: String,
}

impl CanaryZone {
    /// The TTL of the zone's own records.
    pub const TTL: Ttl = Ttl::new(300).unwrap();
    /// The most octets of the contact: one character string (RFC 1035 §3.3).
    pub const MAX_CONTACT: usize = 255;

    /// A zone whose name server is found at these addresses. What is longer of the contact is cut off.
    ///
    /// # Errors
    ///
    /// [`NameError::LongName`]: below this origin there is no room for canaries.
    pub fn new(origin: Name, key: CanaryKey, addresses: Vec<IpAddr>, contact: &str) -> Result<CanaryZone, NameError> {
        let longest = Canary::new(Content::Data, Content::Data, MAX_TTL, Timestamp(i64::MAX), u32::MAX);
        let mut contact = contact.to_owned();
        while contact.len() > CanaryZone::MAX_CONTACT {
            contact.pop();
        }
        let zone = CanaryZone { origin: origin.as_ref().to_lowercase(), key, addresses, contact };
        zone.name(&longest)?.as_ref().child(b"below")?;
        Ok(zone)
    }

    /// The zone's name.
    pub fn origin(&self) -> NameRef<'_> {
        self.origin.as_ref()
    }

    /// The name to ask for.
    ///
    /// # Errors
    ///
    /// [`NameError`]: there is no room for it; [`CanaryZone::new`] has seen that there is.
    pub fn name(&self, canary: &Canary) -> Result<Name, NameError> {
        self.origin().child(self.key.label(canary).as_bytes())?.as_ref().child(ASKED)
    }
}

/// Which name of a canary was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The one that is meant to be.
    Asked,
    /// A name below that one.
    Below,
    /// Another one: its zone's apex, which resolvers ask for that minimise names (RFC 9156), or one that is not there.
    Other,
}

/// A query for a canary, as it reached its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The canary.
    pub canary: Canary,
    /// Which name of it.
    pub part: Part,
    /// The type that was asked for.
    pub rtype: RrType,
    /// When.
    pub at: Timestamp,
    /// From where.
    pub source: IpAddr,
    /// By which transport.
    pub transport: Transport,
    /// Whose question it is, if the resolver says so (RFC 7871).
    pub subnet: Option<Network>,
    /// Whether it came with an OPT record (RFC 6891).
    pub edns: bool,
    /// Whether it asks for DNSSEC records (RFC 3225).
    pub dnssec_ok: bool,
    /// Whether the name came in mixed case, which makes answers hard to forge.
    pub mixed_case: bool,
}

/// What came of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replied {
    /// The answer; none where silence is right, or what the canary says.
    pub answer: Option<Vec<u8>>,
    /// What is worth noting.
    pub arrival: Option<Arrival>,
}
