//! Drills of moves: how a zone is drilled, what came of one, and whose turn it is.

pub mod due;
pub mod window;

use std::fmt;
use std::time::Duration;

use crate::time::Timestamp;
use window::Window;

/// How a zone is drilled, as its operator wants it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Policy {
    /// How often; none: only when an operator says so.
    pub every: Option<Duration>,
    /// When a drill may begin by itself; at any time if there are none.
    pub quiet: Vec<Window>,
    /// How old the last one that succeeded may be when a move is to begin.
    pub max_age: Duration,
    /// What becomes of a move when it is older, or there is none.
    pub required: Required,
    /// How long a drill may take, there and back.
    pub deadline: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        const DAY: u64 = 86_400;
        Policy {
            every: None,
            quiet: Vec::new(),
            max_age: Duration::from_secs(30 * DAY),
            required: Required::Warn,
            deadline: Duration::from_secs(DAY),
        }
    }
}

/// What becomes of a move that was not drilled of late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Required {
    /// It may begin, and says so.
    #[default]
    Warn,
    /// It may not begin.
    Block,
}

/// A drill of a zone, under way or over.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Drill {
    /// Its number within its zone: from 1, never given twice.
    pub drill: u64,
    /// The sites that it leaves and comes back to, each once.
    pub from: Vec<String>,
    /// The site that it goes to.
    pub to: String,
    /// The only region that it moves; none: all that are not at the site.
    #[serde(default)]
    pub region: Option<String>,
    /// Who asked for it.
    pub actor: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// When it began.
    pub began: Timestamp,
    /// The way there, once it is over.
    #[serde(default)]
    pub there: Option<Leg>,
    /// The way back, once it is over.
    #[serde(default)]
    pub back: Option<Leg>,
    /// How it ended; none while it is under way.
    #[serde(default)]
    pub end: Option<End>,
}

/// A way that was gone to its end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Leg {
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// How long each phase took, in order.
    pub phases: Vec<PhaseTime>,
}

/// How long a phase took.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseTime {
    /// The phase, such as `lowering`.
    pub phase: String,
    /// In milliseconds.
    pub millis: u64,
}

/// How a drill ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// How.
    pub outcome: Outcome,
    /// Why; empty where it succeeded.
    #[serde(default)]
    pub why: String,
    /// Whether a gate stopped it.
    #[serde(default)]
    pub blocked: bool,
    /// What the gates found that stopped it, a line each.
    #[serde(default)]
    pub findings: Vec<String>,
}

/// How a drill ended, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It went there and came back, and each answer was the one that it should be.
    Succeeded,
    /// It did not, and a move would not have either.
    Failed,
    /// It was broken off: nothing was learnt.
    Interrupted,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Succeeded => "SUCCEEDED",
            Outcome::Failed => "FAILED",
            Outcome::Interrupted => "INTERRUPTED",
        })
    }
}

impl fmt::Display for Leg {
    /// `41 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.millis.div_ceil(1000))
    }
}

impl Drill {
    /// When it succeeded, if it did, and went between these two sites, in whichever order: it went both ways.
    pub fn proves(&self, one: &str, other: &str) -> Option<Timestamp> {
        let end = self.end.as_ref().filter(|end| end.outcome == Outcome::Succeeded)?;
        let between = |from: &str, to: &str| self.to == to && self.from.iter().any(|site| site == from);
        (between(one, other) || between(other, one)).then_some(end.at)
    }

    /// How it ended, in a sentence; none while it is under way.
    pub fn told(&self) -> Option<String> {
        let End { outcome, why, .. } = self.end.as_ref()?;
        let legs = [("there", &self.there), ("back", &self.back)];
        let legs = legs.into_iter().filter_map(|(way, leg)| Some(format!("{way} {}", leg.as_ref()?)));
        let all: Vec<String> = Some(why.clone()).filter(|why| !why.is_empty()).into_iter().chain(legs).collect();
        Some(format!("{outcome}: {}", all.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drill(from: &[&str], to: &str, outcome: Option<Outcome>) -> Drill {
        let leg = |millis| Some(Leg { millis, phases: Vec::new() });
        let end = outcome.map(|outcome| End {
            at: Timestamp(7),
            outcome,
            why: if outcome == Outcome::Succeeded { String::new() } else { "it was cold".into() },
            blocked: false,
            findings: Vec::new(),
        });
        Drill {
            drill: 1,
            from: from.iter().map(ToString::to_string).collect(),
            to: to.into(),
            region: None,
            actor: "ann".into(),
            reason: String::new(),
            began: Timestamp(1),
            there: leg(40_001),
            back: leg(2000).filter(|_| outcome == Some(Outcome::Succeeded)),
            end,
        }
    }

    #[test]
    fn only_one_that_succeeded_proves_a_way_and_it_proves_it_both_ways() {
        let done = drill(&["a", "b"], "c", Some(Outcome::Succeeded));
        for (one, other, proved) in [("a", "c", true), ("c", "b", true), ("a", "b", false), ("c", "c", false)] {
            assert_eq!(done.proves(one, other).is_some(), proved, "{one} {other}");
        }
        for outcome in [None, Some(Outcome::Failed), Some(Outcome::Interrupted)] {
            assert_eq!(drill(&["a"], "c", outcome).proves("a", "c"), None);
        }
    }

    #[test]
    fn the_end_is_told_in_a_sentence() {
        let told = |outcome| drill(&["a"], "c", outcome).told();
        assert_eq!(told(Some(Outcome::Succeeded)).unwrap(), "SUCCEEDED: there 41 s, back 2 s");
        assert_eq!(told(Some(Outcome::Failed)).unwrap(), "FAILED: it was cold, there 41 s");
        assert_eq!(told(None), None);
        let text = serde_json::to_string(&drill(&["a"], "c", Some(Outcome::Failed))).unwrap();
        assert_eq!(serde_json::from_str::<Drill>(&text).unwrap(), drill(&["a"], "c", Some(Outcome::Failed)));
    }
}
