//! How long one canary was held.

use super::{Absence, Ask, Reply, Series};
use crate::canary::{Arrival, Content, Part};
use crate::time::Timestamp;

/// What a question showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The content from before the turn; when its server gave it, if the reply says so.
    Old(Option<Timestamp>),
    /// That from behind it.
    New,
    /// Neither.
    Neither,
}

/// How long a canary was held: at least to its greatest hit, and at most to its least miss, in milliseconds from when its
/// server gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The greatest age at which the old content was given out.
    pub hit: i64,
    /// The least age at which the new one was; none: it never was.
    pub miss: Option<i64>,
    /// The age at which it was fetched again although the old content was given out, and still would be.
    pub refreshed: Option<i64>,
    /// How many questions were asked before the turn, to put the old content into all caches.
    pub fills: u32,
    /// By how much the ages may be wrong, for the time that a reply takes.
    pub slack: i64,
}

impl Series {
    pub(super) fn seen(&self, ask: &Ask) -> Seen {
        let absent = |absence: Absence| absence.given;
        match (self.canary.before, ask.reply) {
            (Content::Data | Content::Stream, Reply::Data { version: 1, given, .. }) => Seen::Old(Some(given)),
            (Content::NoName, Reply::NoName(absence)) | (Content::NoData, Reply::NoData(absence)) => {
                Seen::Old(absent(absence))
            }
            (Content::Failure, Reply::Failure) => Seen::Old(None),
            (_, Reply::Data { version: 2, .. }) => Seen::New,
            (_, Reply::NoName(_)) if self.canary.after == Content::NoName => Seen::New,
            (_, Reply::NoData(_)) if self.canary.after == Content::NoData => Seen::New,
            _ => Seen::Neither,
        }
    }

    /// The queries for the canary itself that came between a question and the next.
    pub(super) fn fetches(&self, index: usize) -> impl Iterator<Item = &Arrival> {
        let from = self.asks[index].sent;
        let to = self.asks.get(index + 1).map_or(Timestamp(i64::MAX), |next| next.sent);
        self.asked().filter(move |arrival| (from..to).contains(&arrival.at))
    }

    /// The queries for the canary itself.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter().filter(|arrival| arrival.part == Part::Asked)
    }

    /// Those that were answered with its first content.
    pub(super) fn seeds(&self) -> impl Iterator<Item = &Arrival> {
        self.asked().filter(|arrival| arrival.at < self.canary.turn)
    }

    /// The median time that a reply from a cache takes, halved; in milliseconds.
    pub(super) fn slack(&self) -> i64 {
        let mut took: Vec<i64> = self.asks.iter().map(|ask| ask.ended.0 - ask.sent.0).collect();
        took.sort_unstable();
        took.get(took.len() / 2).map_or(0, |median| median / 2)
    }

    /// How long it was held; none where nobody was given its first content.
    pub(super) fn span(&self) -> Option<Span> {
        let first = self.seeds().next()?.at;
        let last_seed =
            |at: Timestamp| self.seeds().take_while(|seed| seed.at <= at).last().map_or(first, |seed| seed.at);
        let (mut hit, mut miss, mut refreshed) = (None::<i64>, None::<i64>, None::<i64>);
        for (index, ask) in self.asks.iter().enumerate() {
            match self.seen(ask) {
                Seen::Old(given) => {
                    // A serial tells no more than tenths of seconds.
                    let from = given.unwrap_or_else(|| last_seed(ask.sent));
                    hit = hit.max(Some((ask.sent.0 - from.0).max(0)));
                    let fetch = self.fetches(index).find(|fetch| fetch.at >= self.canary.turn);
                    // A failure is asked about more than once.
                    if let Some(fetch) = fetch.filter(|_| self.canary.before != Content::Failure) {
                        refreshed = refreshed.or(Some(fetch.at.0 - from.0));
                    }
                }
                Seen::New => miss = miss.or(Some(ask.ended.0 - first.0)),
                Seen::Neither => {}
            }
        }
        let fills = self.asks.iter().filter(|ask| ask.sent < self.canary.turn).count() as u32;
        Some(Span { hit: hit?, miss, refreshed, fills, slack: self.slack() })
    }
}
