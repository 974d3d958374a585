//! Populations that make no sense, as somebody may write them.

use std::fmt;

use super::{Applications, Caches, Keeping, Population, Prefetch};
use crate::time::Ttl;

/// By how much the weights may miss 100 for being rounded.
const ROUNDED: f64 = 0.5;

/// Why a population makes no sense: which key, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {why}")]
pub struct Odd {
    key: String,
    why: String,
}

fn odd(key: impl fmt::Display, why: impl Into<String>) -> Result<(), Odd> {
    Err(Odd { key: key.to_string(), why: why.into() })
}

impl Population {
    /// Whether it can be drawn from: one whose weights are percent of clients, and whose resolvers keep something.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    pub fn check(&self) -> Result<(), Odd> {
        for class in &self.classes {
            let of = |key: &str| format!("{key}` of the class `{}", class.name);
            if !(class.weight.is_finite() && class.weight >= 0.0) {
                let why =
                    format!("is {}: it is the percentage of clients behind such resolvers, 0 or more", class.weight);
                return odd(of("weight"), why);
            }
            class.profile.positive.check(|key| of(&format!("profile.positive{key}")))?;
            class.profile.negative.check(|key| of(&format!("profile.negative{key}")))?;
            let Caches { least, likely, most } = class.profile.caches;
            if least == 0 || least > likely || likely > most {
                let why = format!("is {least}, {likely}, {most}: how many caches there are, at least 1, rising");
                return odd(of("profile.caches"), why);
            }
        }
        let sum = self.weight();
        if (sum - 100.0).abs() > ROUNDED {
            let why = format!("is {sum} for all classes together: percentages of clients sum up to 100");
            return odd("weight", why);
        }
        self.applications.as_ref().map_or(Ok(()), Applications::check)
    }
}

impl Applications {
    fn check(&self) -> Result<(), Odd> {
        let Applications { share, least, greatest, .. } = self;
        if !(0.0..=1.0).contains(share) {
            return odd(
                "applications.share",
                format!("is {share}: the share of clients that keep answers, from 0 to 1"),
            );
        }
        if least.is_zero() {
            let why = "is 0: how long clients keep answers at least, in seconds; without `applications` they keep none";
            return odd("applications.least", why);
        }
        if least > greatest {
            let why =
                format!("is {} s, less than `least`: how long clients keep answers at most", greatest.as_secs_f64());
            return odd("applications.greatest", why);
        }
        Ok(())
    }
}

impl Keeping {
    /// `key` makes the full name of a key of these.
    fn check(&self, key: impl Fn(&str) -> String) -> Result<(), Odd> {
        if self.cap == Some(Ttl::default()) {
            let why = "is 0: how long answers are kept at most, in seconds; a resolver that keeps nothing is no cache";
            return odd(key(".cap"), why);
        }
        if let (Some(floor), Some(cap)) = (self.floor, self.cap)
            && floor > cap
        {
            let why = format!("is {floor} s, more than `cap`: how long answers are kept at least");
            return odd(key(".floor"), why);
        }
        for (number, point) in self.measured.iter().enumerate() {
            if point.hold.is_zero() {
                let why =
                    "is 0: how long an answer with that TTL was kept, in seconds; one that was not kept is left out";
                return odd(key(&format!(".measured[{number}].hold")), why);
            }
            if number > 0 && self.measured[number - 1].ttl >= point.ttl {
                let why = format!("is {} s, no more than the one before: they have to rise", point.ttl);
                return odd(key(&format!(".measured[{number}].ttl")), why);
            }
        }
        if let Some(Prefetch::Percent(percent)) = self.prefetch
            && !(1..100).contains(&percent)
        {
            let why =
                format!("is {percent}: the last hundredths of its time in which an answer is fetched again, 1 to 99");
            return odd(key(".prefetch.percent"), why);
        }
        Ok(())
    }
}
