//! How caches drain: what may be held, and what is foreseen.

use serde::{Deserialize, Serialize};

use super::rename::Proposal;
use crate::drain::Course;
use crate::drain::dark::Darkness;
use crate::name::Name;
use crate::net::Network;
use crate::rr::RrType;
use crate::time::Timestamp;

/// What caches may still hold, and how that drains (`POST /v1/drain`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainRequest {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The only name that counts; none: all of the zone.
    #[serde(default)]
    pub name: Option<Name>,
}

/// What caches may still hold, and how that drains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrainReport {
    /// The zone.
    pub zone: Name,
    /// The only name that counts; none: all of the zone.
    pub name: Option<Name>,
    /// The runs that it is about; none: it is as if everybody were moved now.
    pub runs: Vec<u64>,
    /// Why those are held that are.
    #[serde(default)]
    pub held: Vec<String>,
    /// Renames that lead users round what caches do not let go of; none where they gain nothing, or no move is under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<Proposal>,
    /// What is foreseen.
    #[serde(flatten)]
    pub forecast: ForecastReport,
}

/// How caches are foreseen to drain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastReport {
    /// When that was said.
    pub at: Timestamp,
    /// When the first step was, or would be, taken: the seconds in curves and quantiles are counted from here.
    pub begin: Timestamp,
    /// The phases of a move that is only thought of; none of one that is under way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseReport>,
    /// The steps.
    pub steps: Vec<StepReport>,
    /// Each type by itself.
    pub families: Vec<FamilyReport>,
    /// The type that takes longest; none if nobody asked of late.
    pub worst: Option<RrType>,
    /// Each region by itself, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionReport>,
    /// When no cache that obeys TTLs holds an old answer any more.
    pub bound: Timestamp,
    /// What that rests on.
    pub basis: String,
    /// Over how many seconds it was counted how often is asked, about.
    pub window_seconds: u64,
    /// How many networks and questions it was made of.
    pub holders: usize,
    /// The share of the weight whose profile is assumed, not measured: from 0 to 1.
    pub assumed: f64,
    /// What is not known: not in the figures, or as it is assumed.
    pub left_out: Vec<String>,
    /// Networks that asked steadily, and did not come back once what they had been told had run out.
    pub suspicious: Vec<SuspectReport>,
}

/// A phase of a move that is only thought of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// Which.
    pub phase: String,
    /// When it begins.
    pub from: Timestamp,
    /// When it ends, if nothing holds it up.
    pub until: Timestamp,
    /// What it does, and what its end rests on.
    pub what: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// When it was, or would be, taken.
    pub at: Timestamp,
    /// The share of units that is on the new answer then.
    pub share: String,
}

/// What a region's caches may hold now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionReport {
    /// The region.
    pub region: String,
    /// The share of what was asked of late that was asked from there, from 0 to 1.
    pub weight: f64,
    /// How much of that was asked by those who may hold an old answer now, from 0 to 1.
    pub held_now: f64,
    /// Until when an old answer may be held there that was told up to now; none if nobody was told one.
    pub held_until: Option<Timestamp>,
}

/// What is foreseen of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FamilyReport {
    /// The share of queries by users that get the new answer now, from 0 to 1.
    pub new_now: f64,
    /// The share of what was asked of late that was asked by those who may hold an old answer now, from 0 to 1.
    pub held_now: f64,
    /// The course.
    #[serde(flatten)]
    pub course: Course,
}

/// What a move would take away, and for how long users would be denied it once it is back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DarkReport {
    /// How many questions that are answered now would be denied.
    pub questions: usize,
    /// The share of what was asked of late that was for these, from 0 to 1; none if that is not known.
    pub asked: Option<f64>,
    /// What follows from what is told while the run goes on.
    pub during: Darkness,
    /// What follows from what is told once it has ended.
    pub afterwards: Darkness,
    /// What resolvers that were measured do.
    pub measured: Vec<KeeperReport>,
}

/// A resolver that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeeperReport {
    /// What operators call it.
    pub name: String,
    /// The share of what was asked of late that it asked; none if that is not known: it is not in the figures.
    pub share: Option<String>,
    /// For how many seconds it denies a name that it was denied while the run went on.
    pub during: u64,
    /// For how many once it has ended.
    pub afterwards: u64,
    /// Whether it may be longer.
    pub at_least: bool,
}

/// A network that ought to have asked again: suspicious, not guilty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuspectReport {
    /// The network.
    pub network: Network,
    /// What it asked for.
    pub question: String,
    /// When it was given the old answer last.
    pub last: Timestamp,
    /// Until when it might keep that.
    pub held_until: Timestamp,
    /// Once in how many seconds it used to ask.
    pub usual_seconds: f64,
}
