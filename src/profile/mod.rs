//! Profiles: what a resolver does with an answer, and how long its caches hold it.
//!
//! A profile was measured, or it is assumed for a class of resolvers; it says which. What it is good for is [`Profile::hold`]:
//! from which age on an answer that was told with this TTL is asked for again, and until which age it may be given out.

mod odd;
mod population;

pub use odd::Odd;
pub use population::{Applications, Class, Population};

use std::time::Duration;

use crate::time::{Timestamp, Ttl};

/// What kind of answer is kept: resolvers treat the two differently (RFC 2308).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Data, or an alias.
    Positive,
    /// NXDOMAIN or NODATA.
    Negative,
}

impl Kind {
    /// What a resolver holds that was told an answer of this kind about a lever.
    pub fn of_lever(self) -> &'static str {
        match self {
            Kind::Negative => "that the lever is not there",
            Kind::Positive => "an old answer of the lever",
        }
    }
}

/// What one resolver, or each of a class, does with answers.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// How data is kept.
    #[serde(default)]
    pub positive: Keeping,
    /// How negative answers are kept.
    #[serde(default)]
    pub negative: Keeping,
    /// How many caches stand behind the address, each asked by chance.
    #[serde(default)]
    pub caches: Caches,
    /// How this is known.
    #[serde(default)]
    pub source: Origin,
}

/// How one kind of answer is kept. The default keeps TTLs exactly.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keeping {
    /// Holds as they were measured, by rising TTL. Where there are any, they stand for `floor`, `cap` and `rounding`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measured>,
    /// The least time that an answer is held, whatever its TTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Ttl>,
    /// The greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Ttl>,
    /// How much longer than the TTL it is held by the way the resolver counts: one second by Unbound.
    #[serde(with = "seconds", skip_serializing_if = "Duration::is_zero")]
    pub rounding: Duration,
    /// Whether it is fetched again before its end by whoever asks then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch: Option<Prefetch>,
    /// For how long behind its end the first one to ask is still given it, and it is fetched again only then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Stale>,
}

/// A hold that was measured at one TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What was told.
    pub ttl: Ttl,
    /// How long it was held.
    #[serde(with = "seconds")]
    pub hold: Duration,
    /// By how much that may be wrong, either way.
    #[serde(with = "seconds", default)]
    pub uncertainty: Duration,
    /// The measurement ended before the hold did.
    #[serde(default)]
    pub at_least: bool,
}

/// How long before its end an answer is fetched again when somebody asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefetch {
    /// The last seconds, of answers that are held for at least so long: BIND has 2 and 9.
    Seconds {
        /// The last seconds.
        last: Ttl,
        /// Shorter holds are not fetched in advance.
        from: Ttl,
    },
    /// The last hundredths of the hold: Unbound has 10.
    Percent(u8),
}

/// For how long behind its end an answer is given out at once, to be fetched again behind it (what RFC 8767 §4 advises
/// against, and resolvers offer). It may be for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// So long.
    For(Ttl),
    /// Without a limit.
    ForEver,
}

/// How many caches stand behind one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// At least so many.
    pub least: u32,
    /// Most likely so many.
    pub likely: u32,
    /// At most so many; more can't be told apart.
    pub most: u32,
}

impl Caches {
    /// The most likely number, and never none.
    pub fn count(self) -> u32 {
        self.likely.max(1)
    }
}

impl Default for Caches {
    /// One.
    fn default() -> Caches {
        Caches { least: 1, likely: 1, most: 1 }
    }
}

/// How a profile is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was not measured.
    #[default]
    Assumed,
    /// It was measured.
    Measured {
        /// When.
        at: Timestamp,
    },
}

/// How long a cache holds an answer, counted from when it was told. `refreshed <= dropped`.
///
/// Of a resolver that keeps TTLs both are the TTL. With prefetching, the first to ask behind `refreshed` has the answer
/// fetched again; so it is where stale answers are given at once, and both times are later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The age from which on the next one to ask has it fetched again.
    pub refreshed: Duration,
    /// The age from which on it is not given out any more; none: there is no such age.
    pub dropped: Option<Duration>,
    /// The measurement ended before the hold did, or reached no TTL like this one.
    pub at_least: bool,
}

impl Profile {
    /// One that keeps every TTL exactly, and was not measured.
    pub fn exact() -> Profile {
        Profile::alike(Keeping::default())
    }

    /// One that keeps both kinds of answer in this way, and was not measured.
    pub fn alike(keeping: Keeping) -> Profile {
        let negative = keeping.clone();
        Profile { positive: keeping, negative, caches: Caches::default(), source: Origin::Assumed }
    }

    /// How long an answer of this kind is held that was told with `ttl`.
    pub fn hold(&self, ttl: Ttl, kind: Kind) -> Hold {
        match kind {
            Kind::Positive => self.positive.hold(ttl),
            Kind::Negative => self.negative.hold(ttl),
        }
    }
}

impl Keeping {
    fn hold(&self, ttl: Ttl) -> Hold {
        let (end, at_least) = self.measured_end(ttl).unwrap_or_else(|| (self.lawful_end(ttl), false));
        let refreshed = match self.prefetch {
            Some(Prefetch::Seconds { last, from }) if end >= from.duration() => end.saturating_sub(last.duration()),
            Some(Prefetch::Percent(part)) => end.saturating_sub(end / 100 * u32::from(part.min(100))),
            _ => end,
        };
        let dropped = match self.stale {
            None => Some(end),
            Some(Stale::For(more)) => end.checked_add(more.duration()),
            Some(Stale::ForEver) => None,
        };
        Hold { refreshed, dropped, at_least }
    }

    /// By floor, cap and rounding. A cap below the floor counts: no answer is held longer than the longest.
    fn lawful_end(&self, ttl: Ttl) -> Duration {
        let floored = self.floor.map_or(ttl, |floor| ttl.max(floor));
        let capped = self.cap.map_or(floored, |cap| floored.min(cap));
        capped.duration().saturating_add(self.rounding)
    }

    /// By what was measured: on straight lines between two TTLs. Below the least TTL the hold is at most what it was there;
    /// above the greatest, what was held too long is so much too long, and what was held too short was capped.
    fn measured_end(&self, ttl: Ttl) -> Option<(Duration, bool)> {
        let below = self.measured.iter().filter(|point| point.ttl <= ttl).max_by_key(|point| point.ttl);
        let above = self.measured.iter().filter(|point| point.ttl >= ttl).min_by_key(|point| point.ttl);
        Some(match (below, above) {
            (None, None) => return None,
            (Some(low), Some(high)) if low.ttl < high.ttl => {
                let part =
                    f64::from(ttl.seconds() - low.ttl.seconds()) / f64::from(high.ttl.seconds() - low.ttl.seconds());
                let end = low.hold.as_secs_f64() * (1.0 - part) + high.hold.as_secs_f64() * part;
                let end = Duration::try_from_secs_f64(end).unwrap_or(low.hold.max(high.hold));
                (end, low.at_least || high.at_least)
            }
            (Some(point), Some(_)) => (point.hold, point.at_least),
            (None, Some(high)) => (high.hold, high.at_least),
            (Some(low), None) if low.hold < low.ttl.duration() => (low.hold, low.at_least),
            (Some(low), None) => {
                let more = low.hold.saturating_sub(low.ttl.duration());
                (ttl.duration().saturating_add(more), true)
            }
        })
    }
}

/// Spans of time as seconds, with decimals where it takes them.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(span.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| D::Error::custom(format!("{seconds} is no span of time: write seconds, 0 or more")))
    }
}

#[cfg(test)]
mod tests;
