//! The journal: what happened, the state after it, and what is to be done, written before any of it is done.
//!
//! A *stream* is a line of entries each of which was decided on the state of the one before: a zone's public stage, or
//! a drill's. A commit names the entry that it was decided on, and each publication in it the generation it was decided
//! on; if either has moved on, nothing is written (a delayed writer never overwrites a newer one).

mod memory;
mod sqlite;

use serde_json::Value;

use super::StoreError;
use super::texts::BundleId;
use crate::name::Name;
use crate::serial::Serial;
use crate::time::Timestamp;

pub use crate::failover::actor::Actor;
pub use memory::MemoryJournal;
pub use sqlite::SqliteJournal;

/// The number of a journal entry: from 1, over all streams, each one above the last and never given twice. There are gaps where
/// entries were given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

/// What is to be written in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The stream.
    pub stream: String,
    /// The stream's last entry when this was decided; none if it has none.
    pub after: Option<Sequence>,
    /// When it happened.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// Why, in the actor's words.
    pub reason: String,
    /// What happened.
    pub event: Value,
    /// The state after it.
    pub state: Value,
    /// What is to be done, each with its id.
    pub effects: Value,
    /// The generation of what is served after it.
    pub generation: u64,
    /// The zones that it publishes.
    pub publications: Vec<Publication>,
}

/// A new content or routing of a zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// The zone.
    pub zone: Name,
    /// The generation of the zone's last publication when this was decided; none if there was none.
    pub expected: Option<u64>,
    /// The generation of this one; above the last.
    pub generation: u64,
    /// The serial that it is answered with; not below the last one published (RFC 1982).
    pub serial: Serial,
    /// The routing.
    pub routing: Value,
    /// The texts it was made of.
    pub live: BundleId,
}

/// What a zone was last published as.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The zone.
    pub zone: Name,
    /// The generation of the publication.
    pub generation: u64,
    /// The serial that was published.
    pub serial: Serial,
    /// The routing.
    pub routing: Value,
    /// The texts it was made of.
    pub live: BundleId,
    /// The texts before they last changed: the way back.
    pub previous: Option<BundleId>,
}

/// An entry as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number.
    pub sequence: Sequence,
    /// When it happened.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// What happened.
    pub event: Value,
    /// The state after it.
    pub state: Value,
    /// What was to be done.
    pub effects: Value,
    /// The generation of what was served after it.
    pub generation: u64,
}

/// Where entries are written before they take effect.
pub trait Journal: Send {
    /// Writes entries of one stream with their publications, all or nothing. On the disk, if there is one, when this
    /// returns: the number of the last one. The first one names the entry that it was decided on; each other one was
    /// decided on the one in front of it.
    fn commit_all(&mut self, entries: &[Entry]) -> Result<Option<Sequence>, StoreError>;

    /// Writes an entry with its publications, all or nothing. On the disk, if there is one, when this returns.
    fn commit(&mut self, entry: &Entry) -> Result<Sequence, StoreError> {
        Ok(self.commit_all(std::slice::from_ref(entry))?.unwrap_or(Sequence(0)))
    }

    /// The last entries of a stream, newest first, at most so many.
    fn rows(&self, stream: &str, limit: u32) -> Result<Vec<Row>, StoreError>;

    /// The entries of a stream behind `after`, oldest first, at most so many.
    fn since(&self, stream: &str, after: Sequence, limit: u32) -> Result<Vec<Row>, StoreError>;

    /// The last entry of each stream whose name begins so.
    fn latest_of(&self, prefix: &str) -> Result<Vec<(String, Row)>, StoreError>;

    /// What each zone was last published as, in the order of the names in lower case.
    fn published(&self) -> Result<Vec<Published>, StoreError>;

    /// The last entry of a stream.
    fn latest(&self, stream: &str) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(stream, 1)?.pop())
    }
}

impl Entry {
    /// Whether the stream still stands where this was decided.
    fn check_stream(&self, last: Option<Sequence>) -> Result<(), StoreError> {
        if self.after == last {
            return Ok(());
        }
        let number = |sequence: Option<Sequence>| sequence.map_or(0, |sequence| sequence.0);
        let what = format!("the journal of {}", self.stream);
        Err(StoreError::MovedOn { what, expected: number(self.after), found: number(last) })
    }
}

impl Publication {
    /// What the zone is published as after this, if it still stands where this was decided.
    fn onto(&self, last: Option<&Published>) -> Result<Published, StoreError> {
        let found = last.map(|last| last.generation);
        if self.expected != found {
            let what = format!("the zone {}", self.zone);
            let (expected, found) = (self.expected.unwrap_or(0), found.unwrap_or(0));
            return Err(StoreError::MovedOn { what, expected, found });
        }
        if let Some(last) = last {
            if self.generation <= last.generation {
                let (given, last) = (self.generation, last.generation);
                return Err(StoreError::GenerationBack { zone: self.zone.clone(), given, last });
            }
            if self.serial != last.serial && !self.serial.is_above(last.serial) {
                let (given, last) = (self.serial, last.serial);
                return Err(StoreError::SerialBack { zone: self.zone.clone(), given, last });
            }
        }
        let previous = last.and_then(|last| if last.live == self.live { last.previous } else { Some(last.live) });
        Ok(Published {
            zone: self.zone.clone(),
            generation: self.generation,
            serial: self.serial,
            routing: self.routing.clone(),
            live: self.live,
            previous,
        })
    }
}

#[cfg(test)]
mod tests;
