//! What a rename would gain: by how much sooner a resolver's users are led round an answer that is stuck.
//!
//! Of a front whose alias leads to a lever, a resolver holds two things: what it was told of the lever (R_n is what is left of
//! that), and the alias itself (R_c). Once the fronts lead to a fresh name, the first counts no more, and users arrive when the second
//! has run out, and what may keep the fresh name from them (B): the gain is max(0, R_n − R_c − B).

use std::time::Duration;

use crate::profile::{Hold, Kind, Profile};
use crate::time::{Timestamp, Ttl};

/// What a resolver, or many alike, may hold of a front and its lever.
#[derive(Clone, Debug)]
pub struct Stuck<'a> {
    /// How much it counts: answers of late.
    pub weight: f64,
    /// What it does with answers.
    pub profile: &'a Profile,
    /// What it was told of the lever, and is stuck.
    pub lever: Held,
    /// What leads there: data, always.
    pub front: Held,
    /// How long something may keep the fresh name from its users: nothing, unless somebody has asked for it already.
    pub block: Duration,
}

/// An answer that a resolver may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// What kind.
    pub kind: Kind,
    /// The TTL that it was told with.
    pub ttl: Ttl,
    /// When it was told last; none if that is not known: then it may have been just now, or long ago.
    pub told: Option<Timestamp>,
}

/// A span that is known to lie between two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// At least so long.
    pub least: Duration,
    /// At most so long; none: nobody knows an end.
    pub most: Option<Duration>,
}

/// What a rename gains with a resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain {
    /// How much sooner its users arrive.
    pub sooner: Span,
    /// What is left of the stuck answer, if nothing is done.
    pub stuck: Span,
    /// What is left of what leads to it.
    pub front: Span,
    /// Why there is none, where there is none for certain.
    pub why_not: Option<WhyNot>,
}

/// Why a rename gains nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// Nothing is stuck any more.
    RunOut,
    /// What leads to the lever is held as long as the lever, as by a floor for all TTLs.
    FrontHeld,
    /// What leads to the lever is given out stale before it is asked for anew.
    StaleFirst,
    /// The fresh name is blocked for as long.
    Blocked,
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            WhyNot::RunOut => "what is stuck runs out by itself before anything else could",
            WhyNot::FrontHeld => "the front itself is held as long as what it leads to",
            WhyNot::StaleFirst => {
                "the front is given out stale before it is asked for anew: one question of type CNAME for it, through that \
                 resolver, may heal that"
            }
            WhyNot::Blocked => "the fresh name was asked for too early there, and is denied for as long",
        })
    }
}

impl Gain {
    /// What a rename at `now` gains with a resolver.
    pub fn of(stuck: &Stuck<'_>, now: Timestamp) -> Gain {
        let (left, front) = (stuck.lever.left(stuck.profile, now), stuck.front.left(stuck.profile, now));
        let after = |span: Duration| span.saturating_add(stuck.block);
        let sooner = Span {
            // The least is gained where the stuck answer ends as soon as can be, and the front as late.
            least: front.most.map_or(Duration::ZERO, |most| left.least.saturating_sub(after(most))),
            most: left.most.map(|most| most.saturating_sub(after(front.least))),
        };
        let is_nothing = sooner.most == Some(Duration::ZERO);
        let stale = stuck.profile.hold(stuck.front.ttl, Kind::Positive).dropped.is_none();
        let why_not = match () {
            () if left.most == Some(Duration::ZERO) => Some(WhyNot::RunOut),
            () if stale => Some(WhyNot::StaleFirst),
            () if is_nothing && !stuck.block.is_zero() => Some(WhyNot::Blocked),
            () if is_nothing || front.least > Duration::ZERO && front == left => Some(WhyNot::FrontHeld),
            () => None,
        };
        let sooner =
            if why_not.is_some() { Span { least: Duration::ZERO, most: Some(Duration::ZERO) } } else { sooner };
        Gain { sooner, stuck: left, front, why_not }
    }
}

impl Held {
    /// How much of a hold is left at `now`.
    fn left(self, profile: &Profile, now: Timestamp) -> Span {
        let Hold { dropped, at_least, .. } = profile.hold(self.ttl, self.kind);
        let age = self.told.map(|told| now.since(told));
        let left = dropped.map(|dropped| dropped.saturating_sub(age.unwrap_or_default()));
        Span {
            // Who is not known to have been told may hold nothing.
            least: if age.is_some() { left.unwrap_or(Duration::MAX) } else { Duration::ZERO },
            most: left.filter(|_| !at_least),
        }
    }
}

/// What a rename gains in all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overall {
    /// Which part of what is asked it gains something for, at least; of 1.
    pub certain: f64,
    /// Which part it may gain something for; of 1.
    pub possible: f64,
    /// How much sooner users arrive for what it gains something for, at least, by weight, in seconds.
    pub sooner: f64,
}

impl Overall {
    /// Over all resolvers, by weight.
    pub fn of<'g>(gains: impl IntoIterator<Item = (f64, &'g Gain)>) -> Overall {
        let (mut all, mut found, mut seconds) = (0.0, Overall::default(), 0.0);
        for (weight, gain) in gains {
            all += weight;
            if gain.sooner.least > Duration::ZERO {
                found.certain += weight;
                seconds += weight * gain.sooner.least.as_secs_f64();
            }
            if gain.sooner.most != Some(Duration::ZERO) {
                found.possible += weight;
            }
        }
        if all > 0.0 {
            let certain = found.certain;
            (found.certain, found.possible) = (certain / all, found.possible / all);
            found.sooner = if certain > 0.0 { seconds / certain } else { 0.0 };
        }
        found
    }

    /// Whether it is worth an operator's while.
    pub fn is_worth_it(self) -> bool {
        self.possible > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Keeping, Stale};

    const NOW: Timestamp = Timestamp(1_000_000);

    fn ttl(seconds: u32) -> Ttl {
        Ttl::from_wire(seconds)
    }

    fn ago(seconds: i64) -> Option<Timestamp> {
        Some(Timestamp(NOW.0 - seconds * 1000))
    }

    fn keeping(floor: Option<u32>, stale: bool) -> Keeping {
        let stale = stale.then_some(Stale::ForEver);
        Keeping { floor: floor.map(ttl), stale, ..Keeping::default() }
    }

    fn gain(profile: &Profile, lever: Held, told: Option<Timestamp>, block: u64) -> Gain {
        let front = Held { kind: Kind::Positive, ttl: ttl(20), told };
        let block = Duration::from_secs(block);
        Gain::of(&Stuck { weight: 1.0, profile, lever, front, block }, NOW)
    }

    fn negative(seconds: u32, told: Option<Timestamp>) -> Held {
        Held { kind: Kind::Negative, ttl: ttl(seconds), told }
    }

    #[test]
    fn what_is_left_of_the_lever_less_what_is_left_of_the_front_is_gained() {
        let extender = Profile { negative: keeping(Some(600), false), ..Profile::exact() };
        // R_n, R_c and B in seconds, and what that leaves.
        let cases = [
            (&extender, negative(20, ago(30)), ago(5), 0, (555, Some(555)), None),
            (&extender, negative(20, ago(30)), ago(25), 0, (570, Some(570)), None),
            (&extender, negative(20, ago(30)), None, 0, (550, Some(570)), None),
            (&extender, negative(20, None), ago(5), 0, (0, Some(585)), None),
            (&extender, negative(20, ago(30)), ago(5), 600, (0, Some(0)), Some(WhyNot::Blocked)),
            (&extender, negative(20, ago(700)), ago(5), 0, (0, Some(0)), Some(WhyNot::RunOut)),
        ];
        for (profile, lever, front, block, (least, most), why_not) in cases {
            let found = gain(profile, lever, front, block);
            let expected = Span { least: Duration::from_secs(least), most: most.map(Duration::from_secs) };
            assert_eq!((found.sooner, found.why_not), (expected, why_not), "{lever:?} {front:?} {block}");
        }
    }

    #[test]
    fn there_is_none_where_the_front_is_stuck_too() {
        let floor = Profile::alike(keeping(Some(600), false));
        let stale = Profile { positive: keeping(None, true), negative: keeping(Some(600), false), ..Profile::exact() };
        for (profile, why) in
            [(&floor, WhyNot::FrontHeld), (&stale, WhyNot::StaleFirst), (&Profile::exact(), WhyNot::RunOut)]
        {
            let found = gain(profile, negative(20, ago(30)), ago(30), 0);
            assert_eq!((found.why_not, found.sooner.most), (Some(why), Some(Duration::ZERO)), "{found:?}");
        }
    }

    #[test]
    fn what_nobody_knows_an_end_of_may_gain_any_time() {
        let measured = crate::profile::Measured {
            ttl: ttl(20),
            hold: Duration::from_secs(300),
            uncertainty: Duration::ZERO,
            at_least: true,
        };
        let negative_keeping = Keeping { measured: vec![measured], ..Keeping::default() };
        let profile = Profile { negative: negative_keeping, ..Profile::exact() };
        let found = gain(&profile, negative(20, ago(100)), ago(100), 0);
        assert_eq!(found.sooner, Span { least: Duration::from_secs(200), most: None });
    }

    #[test]
    fn in_all_it_counts_by_weight() {
        let extender = Profile { negative: keeping(Some(600), false), ..Profile::exact() };
        let (much, none) = (
            gain(&extender, negative(20, ago(30)), ago(30), 0),
            gain(&Profile::exact(), negative(20, ago(30)), ago(30), 0),
        );
        let unknown = gain(&extender, negative(20, None), None, 0);
        let overall = Overall::of([(1.0, &much), (2.0, &none), (1.0, &unknown)]);
        assert_eq!(overall, Overall { certain: 0.25, possible: 0.5, sooner: 570.0 });
        assert!(overall.is_worth_it() && !Overall::of([(1.0, &none)]).is_worth_it());
        assert_eq!(Overall::of([]), Overall::default());
    }
}
