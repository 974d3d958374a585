//! What a resolver gives for a name that users ask for, held against what our zone gives: never against what most
//! resolvers say.

use crate::time::{Timestamp, Ttl};

/// What was said to a question for a name of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Said {
    /// The data of the type that was asked for, sorted.
    pub data: Vec<String>,
    /// The aliases on the way there, sorted.
    pub aliases: Vec<String>,
    /// The least TTL of them, in seconds; none where there is no record.
    pub ttl: Option<Ttl>,
}

impl Said {
    /// Whether `other`, which a resolver gave, is this answer of ours. Where ours leads out of our zones, others say how it
    /// goes on.
    pub fn is_in(&self, other: &Said) -> bool {
        if self.data.is_empty() {
            !self.aliases.is_empty() && self.aliases.iter().all(|alias| other.aliases.contains(alias))
        } else {
            self.data == other.data
        }
    }

    /// Whether there is anything in it.
    pub fn is_positive(&self) -> bool {
        !self.data.is_empty() || !self.aliases.is_empty()
    }
}

/// What a resolver replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// NOERROR; with nothing in it, NODATA. And whether the resolver calls it stale (RFC 8914, codes 3 and 19).
    Said(Said, bool),
    /// NXDOMAIN.
    NoName,
    /// SERVFAIL.
    Failure,
    /// REFUSED, or something that can't be understood.
    Refused,
    /// Nothing, for as long as was waited.
    Nothing,
}

/// What our zone gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// To this resolver, by its region and its side of a move.
    pub own: Said,
    /// To others.
    pub others: Vec<Said>,
    /// Until when caches may hold what this resolver was given before; none where that is nothing.
    pub old_until: Option<Timestamp>,
}

/// How a resolver stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// It gives what our zone gives it.
    New,
    /// It gives what our zone gives others, on purpose: of another region, or by a client's network.
    Policy,
    /// It gives something else, and may still: it was told so.
    Old,
    /// It gives something else although no cache that keeps TTLs would, or says itself that it is stale.
    Stale,
    /// It says that there is nothing.
    Negative,
    /// It fails (SERVFAIL): its users can't resolve the name.
    Failing,
    /// It refuses or is silent: nobody knows what its users get.
    Unknown,
}

impl Sight {
    /// All of them, the best first.
    pub const ALL: [Sight; 7] =
        [Sight::New, Sight::Policy, Sight::Old, Sight::Stale, Sight::Negative, Sight::Failing, Sight::Unknown];

    /// As operators read it.
    pub fn word(self) -> &'static str {
        match self {
            Sight::New => "new",
            Sight::Policy => "policy",
            Sight::Old => "old",
            Sight::Stale => "stale",
            Sight::Negative => "negative",
            Sight::Failing => "failing",
            Sight::Unknown => "unknown",
        }
    }

    /// How a resolver stands that said this, at that time.
    pub fn of(heard: &Heard, expected: &Expected, now: Timestamp) -> Sight {
        let (said, calls_it_stale) = match heard {
            Heard::Said(said, stale) => (said, *stale),
            Heard::NoName => return Sight::Negative,
            Heard::Failure => return Sight::Failing,
            Heard::Refused | Heard::Nothing => return Sight::Unknown,
        };
        let may_be_old = expected.old_until.is_some_and(|until| now < until);
        match () {
            () if expected.own.is_in(said) => Sight::New,
            () if !said.is_positive() => Sight::Negative,
            () if calls_it_stale => Sight::Stale,
            () if may_be_old => Sight::Old,
            // While it may be old, what others get is no excuse.
            () if expected.others.iter().any(|other| other.is_in(said)) => Sight::Policy,
            () => Sight::Stale,
        }
    }

    /// Whether nothing is left to wait for.
    pub fn is_done(self) -> bool {
        matches!(self, Sight::New | Sight::Policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(data: &str) -> Said {
        Said { data: vec![data.into()], aliases: Vec::new(), ttl: Ttl::new(60) }
    }

    #[test]
    fn a_resolver_is_held_against_our_zone_and_nobody_else() {
        let now = Timestamp(1000);
        let calm = Expected { own: said("b"), others: vec![said("a")], old_until: None };
        let moving = Expected { old_until: Some(Timestamp(2000)), ..calm.clone() };
        let past = Expected { old_until: Some(Timestamp(500)), ..calm.clone() };
        let fresh = |data| Heard::Said(said(data), false);
        for (heard, expected, sight) in [
            (fresh("b"), &calm, Sight::New),
            (fresh("b"), &moving, Sight::New),
            // What others get is given on purpose, unless this one was given it, too, a moment ago.
            (fresh("a"), &calm, Sight::Policy),
            (fresh("a"), &moving, Sight::Old),
            (fresh("x"), &moving, Sight::Old),
            (fresh("x"), &past, Sight::Stale),
            (fresh("x"), &calm, Sight::Stale),
            (Heard::Said(said("x"), true), &moving, Sight::Stale),
            (Heard::Said(Said::default(), false), &moving, Sight::Negative),
            (Heard::NoName, &moving, Sight::Negative),
            (Heard::Failure, &moving, Sight::Failing),
            (Heard::Refused, &moving, Sight::Unknown),
            (Heard::Nothing, &moving, Sight::Unknown),
        ] {
            assert_eq!(Sight::of(&heard, expected, now), sight, "{heard:?} {expected:?}");
        }
    }

    #[test]
    fn an_alias_that_leaves_our_zones_is_followed_by_others() {
        let own = Said { aliases: vec!["cdn.example.".into()], ..Said::default() };
        let expected = Expected { own, ..Expected::default() };
        let followed = Said { aliases: vec!["cdn.example.".into(), "x.cdn.example.".into()], ..said("a") };
        assert_eq!(Sight::of(&Heard::Said(followed, false), &expected, Timestamp(0)), Sight::New);
        assert_eq!(Sight::of(&Heard::Said(said("a"), false), &expected, Timestamp(0)), Sight::Stale);
    }
}
