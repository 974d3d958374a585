//! What was seen of a resolver from both ends, and what follows from it: how long it keeps what, and its habits.
//!
//! What a resolver says of its TTLs is not believed: some show one and keep another. What counts is which version of a
//! canary it gave out when, and when it came to ask for it.

mod caches;
mod estimate;
mod profile;
pub mod sight;
mod span;
#[cfg(test)]
mod tests;
mod verdict;

use std::net::IpAddr;

use crate::canary::{Arrival, Canary, Content};
use crate::time::{Timestamp, Ttl};

pub use verdict::Verdict;

/// What a resolver said to a question for a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Data.
    Data {
        /// Its version: 1 from before the canary's turn, 2 from behind it.
        version: u8,
        /// When the canary's server gave it.
        given: Timestamp,
        /// The TTL that the resolver shows.
        ttl: Ttl,
    },
    /// NXDOMAIN.
    NoName(Absence),
    /// NODATA.
    NoData(Absence),
    /// SERVFAIL.
    Failure,
    /// REFUSED.
    Refused,
    /// Something that no canary answers.
    Other,
    /// Nothing, for as long as was waited.
    Nothing,
}

/// What the SOA record of a negative answer says; nothing where the resolver sent none along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absence {
    /// When the canary's server gave it.
    pub given: Option<Timestamp>,
    /// The TTL that the resolver shows.
    pub ttl: Option<Ttl>,
}

/// A question that a resolver was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it was sent.
    pub sent: Timestamp,
    /// When the reply came, or nobody waited for it any longer.
    pub ended: Timestamp,
    /// The reply.
    pub reply: Reply,
}

/// Questions for one canary, one at a time, and what its server saw meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The canary.
    pub canary: Canary,
    /// The questions, in the order in which they were asked.
    pub asks: Vec<Ask>,
    /// The queries that reached the canary's server, in the order in which they came.
    pub arrivals: Vec<Arrival>,
}

/// All that was seen of a resolver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Canaries that were asked for many times at once: how many caches are there?
    pub counts: Vec<Series>,
    /// Canaries that were asked for again and again, until their second content came.
    pub holds: Vec<Series>,
    /// Canaries that nobody asked for until long behind the end of their hold.
    pub cold: Vec<Series>,
    /// The same, whose server was silent by then.
    pub failing: Vec<Series>,
    /// Names below one that was said not to exist (RFC 8020).
    pub below: Vec<Series>,
    /// Canaries that are given over TCP only.
    pub streams: Vec<Series>,
    /// What the resolver itself replied over TCP; none: it wasn't asked.
    pub over_tcp: Option<Reply>,
}

impl Observations {
    fn all(&self) -> impl Iterator<Item = &Series> {
        [&self.counts, &self.holds, &self.cold, &self.failing, &self.below, &self.streams].into_iter().flatten()
    }
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Data.
    Positive,
    /// That a name does not exist.
    NoName,
    /// That a name has no data of a type.
    NoData,
    /// That the server failed.
    Failure,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Positive, Kind::NoName, Kind::NoData, Kind::Failure];

    /// The kind of a canary's first content; none where it is not one that is kept.
    pub fn of(content: Content) -> Option<Kind> {
        match content {
            Content::Data | Content::Stream => Some(Kind::Positive),
            Content::NoName => Some(Kind::NoName),
            Content::NoData => Some(Kind::NoData),
            Content::Failure => Some(Kind::Failure),
            Content::Silence => None,
        }
    }

    /// As operators call it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Positive => "data",
            Kind::NoName => "NXDOMAIN",
            Kind::NoData => "NODATA",
            Kind::Failure => "SERVFAIL",
        }
    }
}

/// How long one kind of answer was kept that was told with one TTL. All times are in seconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Hold {
    /// The kind.
    pub kind: Kind,
    /// The TTL that was told; of a failure, which has none, the TTL of what came behind it.
    pub ttl: u32,
    /// How long it was kept.
    pub hold: f64,
    /// By how much that may be wrong, either way.
    pub uncertainty: f64,
    /// The measurement ended before the hold did.
    pub at_least: bool,
    /// How long another cache behind the address kept it at least, where they are unlike; then `hold` is of the one that
    /// kept it shortest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest: Option<f64>,
    /// In how many series it was seen.
    pub series: usize,
    /// In how many of them it was kept too long.
    pub too_long: usize,
    /// In how many of them it was kept too short.
    pub too_short: usize,
    /// In how many of them it was fetched again before its end.
    #[serde(default)]
    pub in_advance: usize,
}

/// Whether a resolver has a habit.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Habit {
    /// It was seen so often that it is no accident.
    Yes {
        /// How often.
        times: usize,
        /// Of how many.
        of: usize,
    },
    /// It was not seen, or too rarely to be sure.
    No {
        /// How often.
        times: usize,
        /// Of how many; with 0 of n, it happens in at most 3/n of all cases, with a confidence of 95 %.
        of: usize,
    },
    /// It could not be found out.
    Unknown {
        /// Why not.
        why: String,
    },
}

impl Habit {
    /// How often something has to be seen before it is said of a resolver.
    pub const ENOUGH: usize = 3;

    fn of(times: usize, of: usize, why: &str) -> Habit {
        match times {
            _ if of == 0 => Habit::Unknown { why: why.to_owned() },
            _ if times >= Habit::ENOUGH => Habit::Yes { times, of },
            _ => Habit::No { times, of },
        }
    }

    /// Whether it has it.
    pub fn is_seen(&self) -> bool {
        matches!(self, Habit::Yes { .. })
    }
}

/// How many caches stand behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CacheCount {
    /// So many were told apart.
    pub least: u32,
    /// Most likely so many.
    pub likely: u32,
    /// At most so many, with a confidence of 95 %; none: no limit can be told.
    pub most: Option<u32>,
}

/// What came of the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// How many were asked.
    pub asked: usize,
    /// How many were refused.
    pub refused: usize,
    /// How many were not answered although the canary's server would have.
    pub unanswered: usize,
    /// How many failed (SERVFAIL) although the canary's server would have answered.
    pub failed: usize,
}

/// What a resolver was found to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// How many caches there are; none if that could not be told.
    pub caches: Option<CacheCount>,
    /// Where its queries came from.
    pub egress: Vec<IpAddr>,
    /// How long it keeps what: by kind, then by TTL.
    pub holds: Vec<Hold>,
    /// Whether it fetches answers again before their end.
    pub prefetch: Habit,
    /// How many seconds before their end at most; none where it does not.
    pub prefetch_left: Option<f64>,
    /// Whether the first to ask behind their end is given the old answer.
    pub stale_at_once: Habit,
    /// Whether old answers are given while their server is silent (RFC 8767).
    pub stale_on_failure: Habit,
    /// Whether the absence of a name is taken for that of all below it (RFC 8020).
    pub absence_below: Habit,
    /// Whether it asks over TCP where it is told to.
    pub asks_over_tcp: Habit,
    /// Whether it replies over TCP; none: it wasn't asked.
    pub replies_over_tcp: Option<bool>,
    /// Whether it tells which networks its clients are in (RFC 7871).
    pub client_subnet: bool,
    /// Whether it asks for DNSSEC records.
    pub dnssec_ok: bool,
    /// Whether it mixes the case of names.
    pub mixed_case: bool,
    /// What is worth an operator's attention.
    pub verdicts: Vec<Verdict>,
    /// What came of the questions.
    pub tally: Tally,
}
