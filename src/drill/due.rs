//! When drills begin by themselves, and in which order: one zone in turn after another.

use std::time::Duration;

use super::{Outcome, Policy};
use crate::time::Timestamp;

/// How soon one is tried again that was broken off, at most.
const AGAIN: Duration = Duration::from_secs(3600);

/// The last drill of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// When it began.
    pub began: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
}

/// The first moment from `now` on at which a zone may be drilled by itself; none if it never is.
pub fn next(policy: &Policy, last: Option<Last>, now: Timestamp) -> Option<Timestamp> {
    let every = policy.every?;
    let wait = |last: Last| if last.outcome == Outcome::Interrupted { every.min(AGAIN) } else { every };
    let at = last.map_or(now, |last| last.began.after(wait(last))).max(now);
    Some(policy.quiet.iter().map(|window| window.next(at)).min().unwrap_or(at))
}

/// Whose turn it is at `now`, if it is anybody's: the one that was drilled longest ago, the first one of several.
pub fn turn<'a, K>(zones: impl IntoIterator<Item = (K, &'a Policy, Option<Last>)>, now: Timestamp) -> Option<K> {
    let due = zones.into_iter().filter(|(_, policy, last)| next(policy, *last, now) == Some(now));
    due.min_by_key(|(_, _, last)| last.map(|last| last.began)).map(|(zone, ..)| zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;

    fn policy(every: Option<i64>, quiet: &[&str]) -> Policy {
        Policy {
            every: every.map(|every| Duration::from_millis(every as u64)),
            quiet: quiet.iter().map(|window| window.parse().unwrap()).collect(),
            ..Policy::default()
        }
    }

    fn last(began: i64, outcome: Outcome) -> Option<Last> {
        Some(Last { began: Timestamp(began), outcome })
    }

    #[test]
    fn drills_are_due_by_the_clock_and_only_in_quiet_hours() {
        use Outcome::{Failed, Interrupted, Succeeded};
        let night: &[&str] = &["02:00-05:00", "23:00-24:00"];
        for (every, quiet, last, now, due) in [
            // Never by itself.
            (None, night, None, 0, None),
            // At once, where there was none; and every so often after that.
            (Some(DAY), &[][..], None, 5, Some(5)),
            (Some(DAY), &[], last(0, Succeeded), 5, Some(DAY)),
            (Some(DAY), &[], last(0, Failed), 5, Some(DAY)),
            (Some(DAY), &[], last(0, Succeeded), 3 * DAY, Some(3 * DAY)),
            // What was broken off taught nothing, and is tried again soon.
            (Some(DAY), &[], last(0, Interrupted), 5, Some(HOUR)),
            (Some(1000), &[], last(0, Interrupted), 5, Some(1000)),
            // In the next window from when it is due; in the one that is open, if one is.
            (Some(DAY), night, None, 0, Some(2 * HOUR)),
            (Some(DAY), night, None, 3 * HOUR, Some(3 * HOUR)),
            (Some(DAY), night, None, 5 * HOUR, Some(23 * HOUR)),
            (Some(DAY), night, last(4 * HOUR, Succeeded), 5 * HOUR, Some(28 * HOUR)),
            (Some(DAY), night, last(6 * HOUR, Succeeded), 7 * HOUR, Some(47 * HOUR)),
            (Some(DAY), night, last(4 * HOUR, Interrupted), 4 * HOUR, Some(23 * HOUR)),
        ] {
            assert_eq!(next(&policy(every, quiet), last, Timestamp(now)), due.map(Timestamp), "{last:?} at {now}");
        }
    }

    #[test]
    fn the_zone_that_was_drilled_longest_ago_comes_first() {
        let (hourly, never) = (policy(Some(HOUR), &[]), policy(None, &[]));
        let at = |now: i64, lasts: [Option<Last>; 3]| {
            let zones = lasts.into_iter().zip(["a", "b", "c"]).map(|(last, zone)| (zone, &hourly, last));
            turn(zones.chain([("never", &never, None)]), Timestamp(now))
        };
        let done = |began| last(began, Outcome::Succeeded);
        assert_eq!(at(0, [None, None, None]), Some("a"));
        assert_eq!(at(9, [done(0), None, None]), Some("b"));
        assert_eq!(at(9, [done(0), done(8), None]), Some("c"));
        assert_eq!(at(9, [done(0), done(8), done(9)]), None);
        assert_eq!(at(HOUR + 8, [done(0), done(8), done(9)]), Some("a"));
        assert_eq!(at(HOUR + 8, [done(HOUR), done(8), done(9)]), Some("b"));
    }
}
