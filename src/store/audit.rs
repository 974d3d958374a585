//! Who did what, and why: kept for ever.

use rusqlite::params;

use super::error::unreadable;
use super::journal::Actor;
use super::{Store, StoreError};
use crate::digest::Digest;
use crate::time::Timestamp;

/// A gate that stopped a change and was overridden by name.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Override {
    /// The gate's id, such as `site.load`.
    pub gate: String,
    /// The digest of the findings that were shown.
    pub digest: Digest,
    /// The findings that it covered, as they were shown.
    pub covered: Vec<String>,
}

/// A command that was given, refused ones too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// The command with its arguments.
    pub command: String,
    /// The reason given.
    pub reason: String,
    /// What was overridden.
    pub overrides: Vec<Override>,
    /// What became of it.
    pub outcome: String,
}

/// The audit trail of a store.
#[derive(Clone, Debug)]
pub struct Audit(Store);

impl Store {
    /// The audit trail.
    pub fn audit(&self) -> Audit {
        Audit(self.clone())
    }
}

impl Audit {
    /// Adds a deed.
    pub fn record(&self, deed: &Deed) -> Result<(), StoreError> {
        let overrides = serde_json::to_string(&deed.overrides).map_err(StoreError::unreadable)?;
        self.0.write(|tx| {
            tx.execute(
                "INSERT INTO audit (at, uid, actor, command, reason, overrides, outcome)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![deed.at.0, deed.actor.uid, deed.actor.name, deed.command, deed.reason, overrides, deed.outcome],
            )?;
            Ok(())
        })
    }

    /// The last deeds, newest first, at most so many.
    pub fn latest(&self, limit: u32) -> Result<Vec<Deed>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare(
                "SELECT at, uid, actor, command, reason, overrides, outcome FROM audit ORDER BY id DESC LIMIT ?1",
            )?;
            let deeds = rows.query_map([limit], |row| {
                Ok(Deed {
                    at: Timestamp(row.get(0)?),
                    actor: Actor { uid: row.get(1)?, name: row.get(2)? },
                    command: row.get(3)?,
                    reason: row.get(4)?,
                    overrides: serde_json::from_str(&row.get::<_, String>(5)?).map_err(unreadable)?,
                    outcome: row.get(6)?,
                })
            })?;
            Ok(deeds.collect::<Result<_, _>>()?)
        })
    }
}
