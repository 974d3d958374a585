//! Renames that lead users round what caches hold of a lever, as far as a move that waits for them knows of such.

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::time::{Timestamp, Ttl};

/// The most that are proposed to one move.
pub const MOST_PROPOSED: usize = 8;
/// The most levers of one move that it is known of that fronts are led past them.
pub const MOST_TURNED: usize = crate::rename::MOST;

/// What the daemon does about a rename that gains something while a move waits for old answers to run out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initiative {
    /// It is silent.
    Never,
    /// It says what to type.
    #[default]
    Propose,
    /// It begins the rename, as long as no gate has anything against it; else it says what to type.
    Do,
}

/// A rename that gains something for certain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// The lever.
    pub lever: Name,
    /// What is gained, in a sentence.
    pub gain: String,
    /// What to type.
    pub command: String,
    /// Why the daemon would not do it by itself, whatever the policy says; none if nothing is known that speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Whether the daemon was told to do it, and has not found out that it can't.
    #[serde(default)]
    pub by_policy: bool,
}

/// A lever that a move moved and that nothing leads to any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turned {
    /// The lever.
    pub lever: Name,
    /// Where what led to it leads now.
    pub fresh: Name,
    /// Since when: from when on it is known to be published.
    pub at: Timestamp,
    /// The greatest TTL of what led there: so long caches may go on leading to the lever.
    pub ttl: Ttl,
}

impl Turned {
    /// From when on no cache that obeys TTLs leads to the lever.
    pub fn until(&self) -> Timestamp {
        self.at.after(self.ttl.duration()).after(crate::exposure::bound::SKEW)
    }
}
