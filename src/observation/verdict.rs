//! What is worth an operator's attention in what a resolver was found to do.

use std::fmt;

use super::estimate::is_unlike;
use super::span::Seen;
use super::{Habit, Hold, Kind, Measured, Observations, Reply, Series};

/// Failures may be kept for so many seconds (RFC 9520 §3.2).
const FAILURES: f64 = 300.0;
/// Holds that are alike to this part are of one floor or cap, and to this part in proportion to TTLs, of a multiplier.
const ALIKE: f64 = 0.1;
/// By how many seconds a shown TTL has to be wrong to mislead.
const MISLEADING: i64 = 3;

/// Something that a resolver does otherwise than TTLs ask for, seen three times at least. Times are in seconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It keeps answers for so long at least, whatever their TTL.
    Floor {
        /// Of which kind.
        kind: Kind,
        /// How long.
        seconds: f64,
        /// It may be longer: the measurement ended before the hold did.
        at_least: bool,
    },
    /// It keeps answers for so long at most.
    Cap {
        /// Of which kind.
        kind: Kind,
        /// How long.
        seconds: f64,
    },
    /// It keeps answers for so many times their TTL.
    Multiplier {
        /// Of which kind.
        kind: Kind,
        /// How many times.
        factor: f64,
    },
    /// Caches behind the address keep answers for different times.
    Unlike {
        /// Of which kind.
        kind: Kind,
        /// The shortest time seen.
        least: f64,
        /// The longest.
        most: f64,
    },
    /// Every question was answered afresh: it keeps nothing, or has more caches than were told apart.
    Afresh {
        /// How many questions that were.
        questions: u32,
    },
    /// It keeps failures for longer than five minutes (RFC 9520).
    LongFailures {
        /// How long at least.
        seconds: f64,
    },
    /// It fetches answers again before their end, if somebody asks then.
    Prefetch {
        /// How long before the end at most.
        left: f64,
    },
    /// It gives the first to ask behind an answer's end the old one, however late that is.
    StaleAtOnce,
    /// It gives old answers while their server is silent (RFC 8767).
    StaleOnFailure,
    /// The TTLs that it shows are not how long it keeps the answers.
    MisleadingTtl,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Floor { kind, seconds, at_least } => {
                let word = if *at_least { " or more" } else { "" };
                write!(f, "{} is kept for {seconds} s{word}, however low its TTL", kind.word())
            }
            Verdict::Cap { kind, seconds } => write!(f, "{} is kept for {seconds} s at most", kind.word()),
            Verdict::Multiplier { kind, factor } => write!(f, "{} is kept for {factor} times its TTL", kind.word()),
            Verdict::Unlike { kind, least, most } => {
                write!(f, "{} is kept for {least} s by one cache and for {most} s by another", kind.word())
            }
            Verdict::Afresh { questions } => {
                write!(f, "{questions} questions were all answered afresh: it keeps nothing, or has very many caches")
            }
            Verdict::LongFailures { seconds } => {
                write!(f, "failures are kept for {seconds} s or more, and RFC 9520 allows 300 s")
            }
            Verdict::Prefetch { left } => write!(f, "answers are fetched again up to {left} s before their end"),
            Verdict::StaleAtOnce => f.write_str("the first to ask behind an answer's end is given the old one"),
            Verdict::StaleOnFailure => f.write_str("old answers are given while their server is silent"),
            Verdict::MisleadingTtl => f.write_str("the TTLs that it shows are not how long it keeps answers"),
        }
    }
}

/// The verdicts on what was measured.
pub(super) fn of(measured: &Measured, observations: &Observations) -> Vec<Verdict> {
    let uncounted = measured.caches.filter(|caches| caches.most.is_none());
    let mut verdicts: Vec<Verdict> =
        uncounted.map(|caches| Verdict::Afresh { questions: caches.least }).into_iter().collect();
    for kind in Kind::ALL {
        let holds: Vec<&Hold> = measured.holds.iter().filter(|hold| hold.kind == kind).collect();
        verdicts.extend(unlike(kind, &holds));
        verdicts.extend(too_long(kind, &holds));
        verdicts.extend(too_short(kind, &holds));
    }
    let failures = measured.holds.iter().filter(|hold| hold.kind == Kind::Failure && hold.series >= Habit::ENOUGH);
    let longest = failures.map(|hold| hold.hold).fold(0.0, f64::max);
    verdicts.extend((longest > FAILURES).then_some(Verdict::LongFailures { seconds: longest }));
    verdicts.extend(measured.prefetch_left.map(|left| Verdict::Prefetch { left }));
    verdicts.extend(measured.stale_at_once.is_seen().then_some(Verdict::StaleAtOnce));
    verdicts.extend(measured.stale_on_failure.is_seen().then_some(Verdict::StaleOnFailure));
    let misled = observations.holds.iter().filter(|series| misleads(series)).count();
    verdicts.extend((misled >= Habit::ENOUGH).then_some(Verdict::MisleadingTtl));
    verdicts
}

fn unlike(kind: Kind, holds: &[&Hold]) -> Option<Verdict> {
    let apart = |hold: &&&Hold| hold.longest.map(|most| most - hold.hold);
    let widest = holds
        .iter()
        .filter(|hold| hold.longest.is_some())
        .max_by(|a, b| apart(a).unwrap_or(0.0).total_cmp(&apart(b).unwrap_or(0.0)))?;
    Some(Verdict::Unlike { kind, least: widest.hold, most: widest.longest? })
}

/// A floor, or a multiplier where holds grow with TTLs.
fn too_long(kind: Kind, holds: &[&Hold]) -> Option<Verdict> {
    let long: Vec<&&Hold> = holds.iter().filter(|hold| hold.too_long >= Habit::ENOUGH).collect();
    let kept = |hold: &Hold| hold.longest.unwrap_or(hold.hold);
    let most = long
        .iter()
        .map(|hold| kept(hold))
        .fold(None, |most: Option<f64>, kept| Some(most.map_or(kept, |most| most.max(kept))))?;
    // Of unlike caches, the slower one may not have been asked for a while before its hold ended.
    let ended: Vec<&&&Hold> =
        long.iter().filter(|hold| !hold.at_least && hold.longest.is_none() && hold.ttl > 0).collect();
    let factors: Vec<f64> = ended.iter().map(|hold| kept(hold) / f64::from(hold.ttl)).collect();
    let times: Vec<f64> = ended.iter().map(|hold| kept(hold)).collect();
    if ended.len() > 1 && are_alike(&factors) && !are_alike(&times) {
        let factor = factors.iter().sum::<f64>() / factors.len() as f64;
        return Some(Verdict::Multiplier { kind, factor: (factor * 10.0).round() / 10.0 });
    }
    Some(Verdict::Floor { kind, seconds: most, at_least: long.iter().any(|hold| hold.at_least) })
}

fn too_short(kind: Kind, holds: &[&Hold]) -> Option<Verdict> {
    let short = holds.iter().filter(|hold| hold.too_short >= Habit::ENOUGH);
    short.max_by_key(|hold| hold.ttl).map(|hold| Verdict::Cap { kind, seconds: hold.hold })
}

/// Whether no value is further from their mean than a part of it.
fn are_alike(values: &[f64]) -> bool {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().all(|value| (value - mean).abs() <= ALIKE * mean)
}

/// Whether the TTL shown with old content was wrong about how long it was kept yet.
fn misleads(series: &Series) -> bool {
    let Some(span) = series.span() else { return false };
    let Some(miss) = span.miss.filter(|_| span.refreshed.is_none() && !is_unlike(&span)) else { return false };
    let Some(first) = series.seeds().next() else { return false };
    let off = |ask: &super::Ask| {
        let shown = match ask.reply {
            Reply::Data { ttl, .. } => Some(ttl),
            Reply::NoName(absence) | Reply::NoData(absence) => absence.ttl,
            _ => None,
        };
        // What it is told at first is passed on by many, whatever they make of it.
        let age = ask.sent.0 - first.at.0;
        let shown = shown.filter(|_| age > 1000 && matches!(series.seen(ask), Seen::Old(_)));
        shown.is_some_and(|shown| {
            let (earliest, latest) = (span.hit.min(miss) - age, span.hit.max(miss) - age);
            let shown = i64::from(shown.seconds()) * 1000;
            shown < earliest - MISLEADING * 1000 || shown > latest + MISLEADING * 1000
        })
    };
    series.asks.iter().any(off)
}
