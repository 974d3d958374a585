//! `drill.recent`: what is about to be done for real was drilled, and not too long ago.

use super::{Finding, id};
use crate::count::span;
use crate::drill::{Policy, Required};
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::time::Timestamp;

/// A way that a move takes, and what is known of drills of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The site that is left.
    pub from: String,
    /// The site that it goes to.
    pub to: String,
    /// When a drill between the two last succeeded; none if none did.
    pub drilled: Option<Timestamp>,
}

/// Judges the ways of a move by what its zone's operator wants of drills.
pub fn recent(zone: NameRef<'_>, policy: &Policy, ways: &[Way], now: Timestamp) -> Finding {
    let age = |way: &Way| way.drilled.map(|at| now.since(at));
    let is_old = |way: &&Way| age(way).is_none_or(|age| age > policy.max_age);
    let old: Vec<&Way> = ways.iter().filter(is_old).collect();
    let wanted = span(policy.max_age.as_secs());
    if old.is_empty() {
        return Finding::pass(id::DRILL_RECENT, zone, format!("drills succeeded within {wanted}"));
    }
    // By when, and not by how long ago: it is the same finding as long as no other drill was held.
    let mut items: Vec<String> = old
        .iter()
        .map(|way| match way.drilled {
            Some(at) => format!("{} and {}: the last one that succeeded ended at {at}", way.from, way.to),
            None => format!("{} and {}: none ever succeeded", way.from, way.to),
        })
        .collect();
    items.sort();
    items.dedup();
    Finding {
        gate: id::DRILL_RECENT,
        zone: zone.to_name(),
        verdict: if policy.required == Required::Block { Verdict::Block } else { Verdict::Warn },
        reason: format!("no drill between these sites succeeded within {wanted}"),
        remedy: format!("understudy drill {zone} --to {}", old[0].to),
        items,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::name::Name;

    #[test]
    fn what_was_not_drilled_of_late_is_told_or_stopped() {
        let zone = Name::absolute("a.example").unwrap();
        let way = |from: &str, drilled: Option<i64>| Way {
            from: from.into(),
            to: "c".into(),
            drilled: drilled.map(Timestamp),
        };
        let judged = |required, ways: &[Way], now| {
            let policy = Policy { max_age: Duration::from_millis(100), required, ..Policy::default() };
            recent(zone.as_ref(), &policy, ways, Timestamp(now))
        };
        for (ways, now, old) in [
            (&[][..], 0, 0),
            (&[way("a", Some(0))], 100, 0),
            (&[way("a", Some(0))], 101, 1),
            (&[way("a", None)], 0, 1),
            (&[way("a", Some(50)), way("b", None)], 101, 1),
            (&[way("a", Some(0)), way("b", None)], 101, 2),
        ] {
            let [warned, blocked] = [Required::Warn, Required::Block].map(|required| judged(required, ways, now));
            assert_eq!(warned.items.len(), old, "{ways:?} at {now}");
            let verdicts = if old == 0 { [Verdict::Pass; 2] } else { [Verdict::Warn, Verdict::Block] };
            assert_eq!([warned.verdict, blocked.verdict], verdicts);
            assert_eq!(blocked.remedy.is_empty(), old == 0);
        }
        // An override covers it for as long as nothing else was drilled.
        let digest = |drilled, now| judged(Required::Block, &[way("a", drilled)], now).digest();
        assert_eq!(digest(Some(0), 101), digest(Some(0), 9000));
        assert_ne!(digest(Some(0), 9000), digest(Some(2000), 9000));
    }
}
