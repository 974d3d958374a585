//! From what was seen to what a resolver does.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use super::span::{Seen, Span};
use super::{CacheCount, Habit, Hold, Kind, Measured, Observations, Reply, Series, Tally, caches, verdict};
use crate::canary::{Arrival, Content, Part};
use crate::serving::respond::Transport;
use crate::time::Ttl;

/// How far from the TTL a hold may be and still keep it: resolvers count in whole seconds, some of them one more.
pub(super) const EXACT: i64 = 2000;
/// How long before its end an answer has to be fetched again to be called fetched in advance; and where stale answers are
/// given at once, which some begin with a second early since they count in whole ones.
const IN_ADVANCE: i64 = 500;
const IN_ADVANCE_OF_STALE: i64 = 1200;
/// The part of its TTL, and the least time, before which an answer that is fetched again was not held for that TTL at all:
/// it is fetched in advance of the end of a shorter hold.
const MUCH_TOO_EARLY: (i64, i64) = (4, 3000);
/// No more addresses than this are listed.
const MOST_EGRESSES: usize = 256;

impl Observations {
    /// What follows from them.
    pub fn measure(&self) -> Measured {
        let caches = caches::count(&self.counts);
        let holds = self.holds(caches);
        let stale_at_once = late(&self.cold, &holds, "no answer was asked for behind the end of its hold");
        let (prefetch, prefetch_left) = self.prefetch(&stale_at_once);
        let arrivals = || self.all().flat_map(|series| &series.arrivals);
        let has = |what: fn(&Arrival) -> bool| arrivals().any(what);
        let egress: BTreeSet<IpAddr> = arrivals().map(|arrival| arrival.source).take(MOST_EGRESSES * 64).collect();
        let mut measured = Measured {
            caches,
            egress: egress.into_iter().take(MOST_EGRESSES).collect(),
            prefetch,
            prefetch_left,
            stale_at_once,
            stale_on_failure: late(&self.failing, &holds, "no answer was asked for while its server was silent"),
            absence_below: self.absence_below(),
            asks_over_tcp: self.asks_over_tcp(),
            replies_over_tcp: self.over_tcp.map(|reply| reply != Reply::Nothing),
            client_subnet: has(|arrival| arrival.subnet.is_some()),
            dnssec_ok: has(|arrival| arrival.dnssec_ok),
            mixed_case: has(|arrival| arrival.mixed_case),
            verdicts: Vec::new(),
            tally: self.tally(),
            holds,
        };
        measured.verdicts = verdict::of(&measured, self);
        measured
    }

    /// The series that measure a kind and a TTL, for all of them that there are.
    pub(super) fn groups(&self) -> Vec<(Kind, u32, Vec<&Series>)> {
        let key = |series: &Series| Some((Kind::of(series.canary.before)?, series.canary.ttl.seconds()));
        let keys: BTreeSet<(Kind, u32)> = self.holds.iter().filter_map(key).collect();
        let of = |wanted| self.holds.iter().filter(move |series| key(series) == Some(wanted)).collect();
        keys.into_iter().map(|(kind, ttl)| (kind, ttl, of((kind, ttl)))).collect()
    }

    fn holds(&self, caches: Option<CacheCount>) -> Vec<Hold> {
        // Where a cache never had the old answer, that it gives the new one says nothing of its hold.
        let proven = |span: Span| Span { miss: span.miss.filter(|_| caches::fill(caches, span.fills)), ..span };
        let hold = |(kind, ttl, series): (Kind, u32, Vec<&Series>)| {
            let spans: Vec<Span> = series.iter().filter_map(|series| series.span()).map(proven).collect();
            hold(kind, ttl, &spans)
        };
        self.groups().into_iter().filter_map(hold).collect()
    }

    /// Whether answers are fetched again before their end, and how long before it at most, in seconds.
    fn prefetch(&self, stale_at_once: &Habit) -> (Habit, Option<f64>) {
        let least = if stale_at_once.is_seen() { IN_ADVANCE_OF_STALE } else { IN_ADVANCE };
        let mut lefts = Vec::new();
        let mut of = 0;
        for series in self.holds.iter().filter(|series| series.canary.before == Content::Data) {
            let Some(span) = series.span() else { continue };
            of += 1;
            lefts.extend(span.in_advance(ttl(series)).filter(|left| *left > least));
        }
        let habit = Habit::of(lefts.len(), of, "no data were asked for until they were fetched again");
        let most = lefts.into_iter().max().filter(|_| habit.is_seen());
        (habit, most.map(seconds))
    }

    fn absence_below(&self) -> Habit {
        let why = "no name was asked for below one that does not exist";
        let mut of = 0;
        let mut times = 0;
        for series in &self.below {
            let (Some(last), Some(first)) = (series.asks.last(), series.asks.first()) else { continue };
            if series.asks.len() < 2 || !matches!((first.reply, last.reply), (Reply::NoName(_), Reply::NoName(_))) {
                continue;
            }
            of += 1;
            times += usize::from(!series.arrivals.iter().any(|arrival| arrival.part == Part::Below));
        }
        Habit::of(times, of, why)
    }

    fn asks_over_tcp(&self) -> Habit {
        let came = |series: &&Series| series.asked().any(|arrival| arrival.transport == Transport::Tcp);
        let reached = self.streams.iter().filter(|series| series.asked().next().is_some());
        let (of, times) = (reached.clone().count(), reached.filter(came).count());
        Habit::of(times, of, "no answer was cut so that it would ask over TCP")
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for series in self.all() {
            for ask in &series.asks {
                let (content, _) = series.canary.at(ask.sent);
                let fails = [content, series.canary.before]
                    .into_iter()
                    .any(|content| matches!(content, Content::Failure | Content::Silence | Content::Stream));
                tally.asked += 1;
                tally.refused += usize::from(ask.reply == Reply::Refused);
                tally.unanswered += usize::from(ask.reply == Reply::Nothing && !fails);
                tally.failed += usize::from(ask.reply == Reply::Failure && !fails);
            }
        }
        tally
    }
}

/// What several series of one kind and TTL show together.
fn hold(kind: Kind, told: u32, spans: &[Span]) -> Option<Hold> {
    let limit = i64::from(told) * 1000;
    let hit = median(spans.iter().map(|span| span.hit).collect())?;
    let misses: Vec<i64> = spans.iter().filter_map(|span| span.miss).collect();
    // Where most series ended before the hold did, nobody knows when it does.
    let miss = if misses.len() * 2 > spans.len() { median(misses) } else { None };
    let slack = spans.iter().map(|span| span.slack).max().unwrap_or(0);
    let is_early = |span: &&Span| span.in_advance(limit).is_some_and(|left| left > IN_ADVANCE);
    let unlike = spans.iter().filter(|span| is_unlike(span)).count() >= Habit::ENOUGH;
    // A failure has no TTL that it could be held against.
    let judged = kind != Kind::Failure;
    let too_long = spans.iter().filter(|span| judged && span.hit > limit + EXACT + span.slack).count();
    let short = |span: &&Span| span.miss.is_some_and(|miss| miss < limit - EXACT - span.slack);
    let too_short = spans.iter().filter(|span| judged && !is_early(span)).filter(short).count();
    let (least, most) = match miss {
        Some(miss) if unlike => (miss, miss),
        Some(miss) => (hit.min(miss), hit.max(miss)),
        None => (hit, hit),
    };
    Some(Hold {
        kind,
        ttl: told,
        hold: tenths((least + most) as f64 / 2000.0),
        uncertainty: tenths(((most - least) as f64 / 2.0 + slack as f64) / 1000.0 + 0.05),
        at_least: miss.is_none(),
        longest: unlike.then(|| tenths(hit as f64 / 1000.0)),
        series: spans.len(),
        too_long,
        too_short,
        in_advance: spans.iter().filter(is_early).count(),
    })
}

impl Span {
    /// How long before the end of its TTL it was fetched again, if that was in advance.
    fn in_advance(&self, ttl: i64) -> Option<i64> {
        let (part, least) = MUCH_TOO_EARLY;
        self.refreshed.map(|at| ttl - at).filter(|left| *left > 0 && *left <= (ttl / part).max(least))
    }
}

/// Whether the old content was given out long after the new one: there are several caches, and they are unlike.
pub(super) fn is_unlike(span: &Span) -> bool {
    span.miss.is_some_and(|miss| span.hit > miss + EXACT + span.slack) && span.refreshed.is_none_or(|at| at > span.hit)
}

/// Whether old content was given out to the first who asked behind the end of its hold.
fn late(all: &[Series], holds: &[Hold], why: &str) -> Habit {
    let mut of = 0;
    let mut times = 0;
    for series in all {
        let Some(kind) = Kind::of(series.canary.before) else { continue };
        let (Some(seed), Some(end)) = (series.seeds().last(), end_of_hold(holds, kind, series.canary.ttl)) else {
            continue;
        };
        let Some(ask) = series.asks.iter().find(|ask| ask.sent.since(seed.at) > end) else { continue };
        of += 1;
        times += usize::from(matches!(series.seen(ask), Seen::Old(_)));
    }
    Habit::of(times, of, why)
}

/// The age from which on an answer is not held any more; none if that is not known.
fn end_of_hold(holds: &[Hold], kind: Kind, ttl: Ttl) -> Option<Duration> {
    let held = match holds.iter().find(|hold| hold.kind == kind && hold.ttl == ttl.seconds()) {
        // Of unlike caches, the slower one may not have been asked for a while before its hold ended.
        Some(hold) if hold.at_least || hold.longest.is_some() => return None,
        Some(hold) => hold.hold + hold.uncertainty,
        None => 0.0,
    };
    let held = Duration::try_from_secs_f64(held).unwrap_or_default();
    Some(ttl.duration().max(held) + Duration::from_millis(EXACT.unsigned_abs()))
}

impl Measured {
    /// The age from which on an answer of this kind and TTL is not held any more; none if that is not known.
    pub fn end_of_hold(&self, kind: Kind, ttl: Ttl) -> Option<Duration> {
        end_of_hold(&self.holds, kind, ttl)
    }
}

fn ttl(series: &Series) -> i64 {
    i64::from(series.canary.ttl.seconds()) * 1000
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn seconds(milliseconds: i64) -> f64 {
    tenths(milliseconds as f64 / 1000.0)
}

/// Rounded to tenths, which is more than is known.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
