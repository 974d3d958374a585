//! What is said about renames: asked for, under way, done.

use serde::{Deserialize, Serialize};

use super::{Finding, Override, RecordDiff};
use crate::digest::Digest;
use crate::name::Name;
use crate::profile::Kind;
use crate::rr::RrType;

/// What is to be done about a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenameAction {
    /// Lead what refers to it to a fresh name with the same records.
    #[default]
    Begin,
    /// Keep a fresh name ready, seen on every name server, and lead nothing there.
    Spare,
    /// Lead what refers to it back.
    Undo,
    /// Stop answering what nothing leads to any more.
    Retire,
}

/// Rename a lever, or take that back (`POST /v1/rename`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameRequest {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The lever, or a front that has one; relative to the zone.
    pub name: String,
    /// What is to be done.
    #[serde(default)]
    pub action: RenameAction,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// The digest, or the beginning of it, of the plan that a dry run showed: any other plan is refused.
    #[serde(default)]
    pub plan: Option<String>,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
    /// Verdicts that were shown and are overridden.
    #[serde(default)]
    pub overrides: Vec<Override>,
}

/// What became of it, or would.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenameReport {
    /// The zone.
    pub zone: Name,
    /// What is done.
    pub action: RenameAction,
    /// The lever.
    pub lever: Name,
    /// The fresh name.
    pub fresh: Name,
    /// Whether it was only to say what would happen.
    pub dry_run: bool,
    /// The plan's digest: pass it to `--plan` to run this plan and no other.
    pub plan: Digest,
    /// Whether what led to the lever leads to the fresh name, once this is done.
    #[serde(default)]
    pub leads_to_fresh: bool,
    /// What leads to the lever, in all zones of this server.
    pub references: Vec<Reference>,
    /// The greatest TTL of these, in seconds: for so long caches may go on leading to the old name.
    pub reference_ttl: u32,
    /// What the gates said; those that passed, too.
    pub findings: Vec<Finding>,
    /// How the answers differ in the end.
    pub diff: Vec<RecordDiff>,
    /// What it gains, for each kind of answer that may be stuck at the lever; none where nobody asked, or that is not noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<GainReport>,
    /// What went wrong beside it, and undoes nothing.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: RenameOutcome,
}

/// By how much sooner users arrive by a rename.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainReport {
    /// What is stuck at the lever, if anything is: old data, or that there is nothing.
    pub stuck: Kind,
    /// For which part of what was asked of late it gains something for certain; of 1.
    pub certain: f64,
    /// For which part it may; of 1.
    pub possible: f64,
    /// By how many seconds at least users arrive sooner for whom it gains something, by weight.
    pub sooner_seconds: f64,
    /// By resolver, and for all others by what is assumed of them.
    pub by: Vec<GainRow>,
}

/// What a rename gains with a resolver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainRow {
    /// The resolver, or a class of others.
    pub resolver: String,
    /// Its part of what was asked of late; of 1.
    pub share: f64,
    /// At least so many seconds.
    pub least_seconds: f64,
    /// At most so many; none: nobody knows an end.
    pub most_seconds: Option<f64>,
    /// Why there is no gain, where there is none.
    pub why_not: Option<String>,
}

/// A rename that would help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The lever.
    pub lever: Name,
    /// What it gains.
    pub gain: GainReport,
    /// What to type.
    pub command: String,
}

/// A record set that leads to a lever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Its owner.
    pub name: Name,
    /// Its type.
    pub rtype: RrType,
}

/// What came of a request to rename.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RenameOutcome {
    /// A dry run: the gates let it through.
    WouldChange,
    /// A gate stops it; nothing was changed.
    Blocked,
    /// The fresh name is published; it goes on by itself as soon as every name server of the zone has it.
    Begun {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: u32,
    },
    /// It is done.
    Done {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: u32,
    },
}

/// What is known of the levers of a zone (`POST /v1/renames`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenamesRequest {
    /// The zone, as the operator typed it.
    pub zone: String,
    /// Whether the front names are wanted, too.
    #[serde(default)]
    pub fronts: bool,
    /// Whether the lines are wanted that write the renames into the zone's files.
    #[serde(default)]
    pub print: bool,
}

/// What is known of the levers of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamesReport {
    /// The zone.
    pub zone: Name,
    /// The renames that lie over its files.
    pub renames: Vec<RenameStatus>,
    /// The front names, if they were asked for.
    #[serde(default)]
    pub fronts: Vec<FrontStatus>,
    /// The lines that write the renames into the files, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
}

/// How a rename stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameStatus {
    /// The lever.
    pub lever: Name,
    /// The fresh name.
    pub fresh: Name,
    /// `staged`, `confirmed`, `referenced`, `superseded` (a later rename of the lever is referenced), `returned` or `retired`.
    pub stage: String,
    /// Whether it is kept ready, and nothing leads there until an operator wants it.
    pub spare: bool,
    /// Why the next step is not taken yet, a line each.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub try_next: Option<String>,
}

/// A name that users hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontStatus {
    /// The name.
    pub name: Name,
    /// The names that it leads to and that can be renamed.
    pub levers: Vec<Name>,
    /// Whether all that it has can be renamed.
    pub has_lever: bool,
    /// Its lever, or how to give it one.
    pub advice: String,
}

impl From<crate::rename::levers::Front> for FrontStatus {
    fn from(front: crate::rename::levers::Front) -> FrontStatus {
        let (has_lever, advice) = (front.has_lever(), front.advice());
        let mut levers: Vec<Name> = front.levers.into_iter().map(|(_, name)| name).collect();
        levers.dedup();
        FrontStatus { name: front.name, levers, has_lever, advice }
    }
}

/// How many front names have levers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeverCount {
    /// How many names users hold.
    pub fronts: usize,
    /// How many of them have a lever for all that they have.
    pub with_lever: usize,
}
