//! What is said about drills: asked for, under way, over.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::moves::{MoveStatus, RunEvent};
use crate::drill::Drill;
use crate::name::Name;

/// Move a zone there and back where nobody is sent to (`POST /v1/drill`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillRequest {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The site to go to; none: the one that was gone to longest ago.
    #[serde(default)]
    pub to: Option<String>,
    /// The region that is moved; none: all that are not there.
    #[serde(default)]
    pub region: Option<String>,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A drill that has begun, and goes on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillBegun {
    /// The zone.
    pub zone: Name,
    /// The drill's number.
    pub drill: u64,
    /// The sites that it leaves and comes back to.
    pub from: Vec<String>,
    /// The site that it goes to.
    pub to: String,
    /// Where its stream of the journal ended before: what happens in it is behind that.
    pub after: u64,
}

/// End a drill (`POST /v1/drill/abort`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillAbort {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
}

/// How a drill stands, and what happened in it (`POST /v1/drill/run`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillRunRequest {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The drill's number; none: the last one.
    #[serde(default)]
    pub drill: Option<u64>,
    /// Only what happened after this number in the journal.
    #[serde(default)]
    pub after: u64,
}

/// How a drill stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillRunReport {
    /// The zone.
    pub zone: Name,
    /// The drill.
    #[serde(flatten)]
    pub drill: Drill,
    /// Where it is answered; empty once it is over.
    pub listeners: Vec<SocketAddr>,
    /// How its moves stand.
    pub now: Vec<MoveStatus>,
    /// What happened since.
    pub events: Vec<RunEvent>,
    /// Up to where in the journal was looked: where to go on from.
    pub looked_at: u64,
    /// Whether there is more behind that.
    pub more: bool,
}

/// What drills there were (`POST /v1/drill/list`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrillsRequest {
    /// Only of this zone; none: of all.
    #[serde(default)]
    pub zone: Option<String>,
}

/// What drills there were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillsReport {
    /// By when they began, the oldest first.
    pub drills: Vec<DrillReport>,
}

/// A drill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillReport {
    /// The zone.
    pub zone: Name,
    /// The drill.
    #[serde(flatten)]
    pub drill: Drill,
}
