//! What is to be done. It is in the journal before it is done, and doing it twice is as good as once.

use std::fmt;

use super::moves::{Move, MoveId, Outcome};
use super::names::Frozen;
use crate::name::Name;
use crate::time::Timestamp;

/// The number of an effect within its zone: from 1, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "effect {}", self.0)
    }
}

/// What is to be done. The event that answers each is told beside it; `EffectFailed` answers any.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Effect {
    /// Have the gates judge a move: `Judged`.
    Judge {
        /// Which.
        id: MoveId,
    },
    /// Serve what the state wants served, [`super::state::State::view`]: `Published`, `PublishRefused`.
    Publish,
    /// Ask our own sockets whether they give what is published: `Confirmed`, `ConfirmFailed`.
    Confirm,
    /// Ask resolvers what they give for names that a move moved, now that old answers should have run out:
    /// `DrainSampled`.
    Sample {
        /// Which move.
        id: MoveId,
    },
    /// Rename a lever that a move moved, as the policy wants it: `RenameBegun`, `RenameStopped`.
    Rename {
        /// Which move waits for what caches hold of it.
        id: MoveId,
        /// The lever.
        lever: Name,
    },
    /// Tell operators: `Told`.
    Alert(Frozen<Alert>),
    /// Tell that a move has ended: `Told`.
    Ended(Frozen<Ended>),
}

/// An effect with its number.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issued {
    /// Its number.
    pub id: EffectId,
    /// What is to be done.
    pub effect: Effect,
}

/// An effect that nobody has said is done.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// What is to be done.
    pub effect: Effect,
    /// How often it failed, or nothing was heard of it.
    pub failures: u16,
    /// When it is asked for again, if nothing is heard of it.
    pub again_at: Timestamp,
}

/// What operators are to know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// How bad it is.
    pub severity: Severity,
    /// What happened.
    pub what: String,
    /// What that means for users.
    pub meaning: String,
    /// The next command to type; empty where there is nothing to do.
    pub next: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Notice,
    /// Somebody should look into it today.
    Warning,
    /// Somebody should look into it now.
    Critical,
}

/// A move that has ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Its number.
    pub id: MoveId,
    /// How it ended.
    pub outcome: Outcome,
    /// When.
    pub at: Timestamp,
    /// As it was last.
    pub last: Move,
}
