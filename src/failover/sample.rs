//! What resolvers are measured to keep for longer, and what they gave when they were asked behind the end of a wait: old
//! answers that are still given then hold a move up, and those who give them are named.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::renames::{Proposed, Turned};
use crate::observation::sight::Sight;
use crate::time::{Timestamp, Ttl};

/// The most resolvers that are named.
pub const MOST_NAMED: usize = 50;
/// How many are named in a sentence.
const IN_A_SENTENCE: usize = 5;

/// What is known of resolvers while a move waits for old answers to run out.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Watched {
    /// From when on no cache that obeys TTLs holds an old answer; none: as long as the wait lasts.
    pub bound: Option<Timestamp>,
    /// Those who may hold an old answer for longer, by what was measured of them.
    pub longer: Vec<Longer>,
    /// What they gave when they were asked last, behind the end of the wait.
    pub sample: Option<Sample>,
    /// How often they were.
    pub samples: u16,
    /// What they give does not count any more: an operator said that it was waited for long enough, or they could not be
    /// asked.
    pub waived: bool,
    /// Renames that lead users round what caches hold, as far as they were proposed or begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<Proposed>,
    /// Levers that nothing leads to any more since old answers are waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turned: Vec<Turned>,
}

/// A resolver that keeps answers for longer than it is told to.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Longer {
    /// What operators call it.
    pub resolver: String,
    /// Until when it may give an old answer, by how long it was measured to hold answers.
    pub until: Timestamp,
}

/// What a resolver gave for a name that moved.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What operators call it.
    pub resolver: String,
    /// What it was asked for: a name and a type.
    pub question: String,
    /// How it stands, held against what our zone gives it.
    pub sight: Sight,
    /// What it said: data, or in words why there is none.
    pub said: String,
    /// The TTL that it showed.
    pub ttl: Option<Ttl>,
    /// When.
    pub at: Timestamp,
}

/// What resolvers gave when they were asked, one after the other. Nobody is asked where none is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// How many stand how, each by the worst that it gave.
    pub counts: BTreeMap<Sight, u32>,
    /// The worst of each that does not give what our zone gives, the worst first; no more than [`MOST_NAMED`].
    pub evidence: Vec<Evidence>,
}

/// Whether it is an old answer: one that nobody should be given behind the end of the wait.
pub fn is_late(sight: Sight) -> bool {
    matches!(sight, Sight::Old | Sight::Stale | Sight::Negative)
}

/// Late ones first, then those of which nothing is known.
fn rank(sight: Sight) -> (bool, Sight) {
    (is_late(sight), sight)
}

impl Sample {
    /// What follows from all that was given: of each resolver, the worst counts.
    pub fn of(given: impl IntoIterator<Item = Evidence>) -> Sample {
        let mut worst: BTreeMap<String, Evidence> = BTreeMap::new();
        for evidence in given {
            match worst.get(&evidence.resolver) {
                Some(known) if rank(known.sight) >= rank(evidence.sight) => {}
                _ => _ = worst.insert(evidence.resolver.clone(), evidence),
            }
        }
        let mut sample = Sample::default();
        for evidence in worst.into_values() {
            *sample.counts.entry(evidence.sight).or_default() += 1;
            if !evidence.sight.is_done() {
                sample.evidence.push(evidence);
            }
        }
        sample.evidence.sort_by(|a, b| rank(b.sight).cmp(&rank(a.sight)).then_with(|| a.resolver.cmp(&b.resolver)));
        sample.evidence.truncate(MOST_NAMED);
        sample
    }

    /// How many resolvers were asked.
    pub fn asked(&self) -> u32 {
        self.counts.values().sum()
    }

    fn count(&self, wanted: impl Fn(Sight) -> bool) -> u32 {
        self.counts.iter().filter(|(sight, _)| wanted(**sight)).map(|(_, count)| count).sum()
    }

    /// How many still give old answers.
    pub fn late(&self) -> u32 {
        self.count(is_late)
    }

    /// Of how many it is not known what their users get, or that they get nothing: no success, and nothing to wait for.
    pub fn unsure(&self) -> u32 {
        self.count(|sight| !sight.is_done() && !is_late(sight))
    }

    /// Those that still give old answers, as far as they are named.
    pub fn late_ones(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(|evidence| is_late(evidence.sight))
    }

    /// Those of which it is not known what their users get, or that they get nothing, as far as they are named.
    pub fn unsure_ones(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter().filter(|evidence| !is_late(evidence.sight))
    }

    /// What a move may say of its end: nothing where each resolver gives what our zone does, or none was asked.
    pub fn reservation(&self) -> Option<String> {
        let (asked, unsure, late) = (self.asked(), self.unsure(), self.late());
        let mut said = Vec::new();
        if late > 0 {
            said.push(format!("{late} of {asked} resolvers still give old answers: {}", names(self.late_ones(), late)));
        }
        if unsure == asked && asked > 0 {
            said.push(format!(
                "nothing is known of any resolver that was asked ({}): it went by the bound alone",
                names(self.unsure_ones(), unsure)
            ));
        } else if unsure > 0 {
            let who = names(self.unsure_ones(), unsure);
            said.push(format!("nothing is known of {unsure} of {asked} resolvers, or they fail: {who}"));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.iter().map(|(sight, count)| format!("{count} {}", sight.word()));
        f.write_str(&counts.collect::<Vec<_>>().join(", "))
    }
}

impl Evidence {
    /// How long behind the bound it was given.
    pub fn past(&self, bound: Timestamp) -> Duration {
        self.at.since(bound)
    }
}

/// The first names, and how many more there are.
fn names<'e>(of: impl Iterator<Item = &'e Evidence>, all: u32) -> String {
    let names: Vec<&str> = of.take(IN_A_SENTENCE).map(|evidence| evidence.resolver.as_str()).collect();
    match (all as usize).saturating_sub(names.len()) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

impl Watched {
    /// Until when the wait lasts that ends at `bound` for those who obey TTLs.
    pub fn stretched(&self, bound: Timestamp) -> Timestamp {
        self.longer.iter().map(|longer| longer.until).max().map_or(bound, |until| until.max(bound))
    }

    /// What a wait rests on, where measured resolvers make it longer.
    pub fn basis(&self, basis: &str, bound: Timestamp) -> String {
        let mut longest: Vec<&Longer> = self.longer.iter().filter(|longer| longer.until > bound).collect();
        longest.sort_by_key(|longer| std::cmp::Reverse(longer.until));
        let Some(first) = longest.first() else { return basis.to_owned() };
        let more = match longest.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let seconds = first.until.since(bound).as_secs();
        format!("{basis}, and up to {seconds} s more, by what was measured of {}{more}", first.resolver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(resolver: &str, sight: Sight) -> Evidence {
        let (question, said) = ("www.wiki.example. A".into(), String::new());
        Evidence { resolver: resolver.into(), question, sight, said, ttl: None, at: Timestamp(5000) }
    }

    /// D9: what fails and what is silent are not those who have the new answer, nor are they left out.
    #[test]
    fn d9_failures_are_neither_success_nor_left_out() {
        let mut given: Vec<Evidence> = (0..20).map(|at| evidence(&format!("new{at}"), Sight::New)).collect();
        given.extend((0..5).map(|at| evidence(&format!("failing{at}"), Sight::Failing)));
        given.extend((0..3).map(|at| evidence(&format!("unknown{at}"), Sight::Unknown)));
        let sample = Sample::of(given);
        assert_eq!((sample.asked(), sample.late(), sample.unsure()), (28, 0, 8));
        assert_eq!(sample.to_string(), "20 new, 5 failing, 3 unknown");
        let said = sample.reservation().unwrap();
        assert!(said.starts_with("nothing is known of 8 of 28") && said.ends_with("and 3 more"), "{said}");
    }

    #[test]
    fn of_each_resolver_the_worst_counts_and_late_ones_come_first() {
        let sights = [("a", Sight::New), ("a", Sight::Stale), ("a", Sight::Unknown), ("b", Sight::Unknown)];
        let sample = Sample::of(sights.map(|(name, sight)| evidence(name, sight)));
        assert_eq!((sample.asked(), sample.late(), sample.unsure()), (2, 1, 1));
        assert_eq!(sample.evidence.iter().map(|found| &*found.resolver).collect::<Vec<_>>(), ["a", "b"]);
        let many = Sample::of((0..200).map(|at| evidence(&format!("r{at:03}"), Sight::Old)));
        assert_eq!((many.late(), many.evidence.len()), (200, MOST_NAMED));
        assert!(Sample::of([evidence("a", Sight::New)]).reservation().is_none());
        let blind = Sample::of([evidence("a", Sight::Unknown)]);
        assert!(blind.reservation().unwrap().contains("by the bound alone"));
    }

    /// D8: one odd resolver makes the wait longer, and is named; the bound of all others stays what the zone's TTL says.
    #[test]
    fn d8_an_outlier_is_named_beside_the_bound() {
        let bound = Timestamp(300_000);
        let odd = Longer { resolver: "odd".into(), until: Timestamp(8_423_000) };
        let watched = Watched { longer: vec![odd], ..Watched::default() };
        assert_eq!(watched.stretched(bound), Timestamp(8_423_000));
        let basis = watched.basis("the zone's TTL", bound);
        assert_eq!(basis, "the zone's TTL, and up to 8123 s more, by what was measured of odd");
        assert_eq!(Watched::default().stretched(bound), bound);
        assert_eq!(Watched::default().basis("the zone's TTL", bound), "the zone's TTL");
    }
}
