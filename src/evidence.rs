//! What is known and what is not, and what a gate makes of it.

use crate::time::Timestamp;

/// Something that was looked into. *Unknown is not up, and not down*: there is no default value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence<T> {
    /// It was found to be so, then.
    Known {
        /// What was found.
        value: T,
        /// When.
        at: Timestamp,
    },
    /// It could not be found out.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// What a gate says of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing speaks against it.
    Pass,
    /// It may go on, and somebody should know.
    Warn,
    /// What the gate would judge was not gathered. Stops a change like `Block`.
    Unknown,
    /// It would do harm.
    Block,
}

impl Verdict {
    /// Whether the change has to wait for a cure or an override.
    pub fn stops(self) -> bool {
        matches!(self, Verdict::Unknown | Verdict::Block)
    }
}
