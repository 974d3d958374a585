//! The journal in the state's database.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;

use super::{Actor, Entry, Journal, Publication, Published, Row, Sequence};
use crate::digest::Digest;
use crate::name::Name;
use crate::serial::Serial;
use crate::store::error::unreadable;
use crate::store::texts::{BundleId, zone_key};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

/// The journal of a [`Store`].
#[derive(Clone, Debug)]
pub struct SqliteJournal(Store);

impl Store {
    /// The journal.
    pub fn journal(&self) -> SqliteJournal {
        SqliteJournal(self.clone())
    }
}

impl Journal for SqliteJournal {
    fn commit_all(&mut self, entries: &[Entry]) -> Result<Option<Sequence>, StoreError> {
        let Some(first) = entries.first() else { return Ok(None) };
        self.0.write(|tx| {
            let last: Option<u64> = tx
                .prepare_cached("SELECT max(sequence) FROM journal WHERE stream = ?1")?
                .query_row([&first.stream], |row| row.get(0))?;
            first.check_stream(last.map(Sequence))?;
            let mut written = None;
            for entry in entries {
                for publication in &entry.publications {
                    publish(tx, publication)?;
                }
                written = Some(append(tx, entry)?);
            }
            Ok(written)
        })
    }

    fn rows(&self, stream: &str, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM journal WHERE stream = ?1 ORDER BY sequence DESC LIMIT ?2"
            ))?;
            Ok(rows.query_map(params![stream, limit], row)?.collect::<Result<_, _>>()?)
        })
    }

    fn since(&self, stream: &str, after: Sequence, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM journal WHERE stream = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
            ))?;
            Ok(rows.query_map(params![stream, after.0, limit], row)?.collect::<Result<_, _>>()?)
        })
    }

    fn latest_of(&self, prefix: &str) -> Result<Vec<(String, Row)>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare(&format!(
                "SELECT {COLUMNS}, stream FROM journal WHERE sequence IN
                 (SELECT max(sequence) FROM journal WHERE substr(stream, 1, length(?1)) = ?1 GROUP BY stream)"
            ))?;
            let rows = rows.query_map([prefix], |columns| Ok((columns.get(9)?, row(columns)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn published(&self) -> Result<Vec<Published>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare(&format!("{SELECT_ZONE} ORDER BY name"))?;
            Ok(rows.query_map([], published)?.collect::<Result<_, _>>()?)
        })
    }
}

impl SqliteJournal {
    /// The last entries of all streams, newest first, at most so many, each with its stream.
    pub fn recent(&self, limit: u32) -> Result<Vec<(String, Row)>, StoreError> {
        self.0.read(|tx| {
            let mut rows =
                tx.prepare(&format!("SELECT {COLUMNS}, stream FROM journal ORDER BY sequence DESC LIMIT ?1"))?;
            let rows = rows.query_map([limit], |columns| Ok((columns.get(9)?, row(columns)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// What a row is read from, in the order in which [`row`] takes it.
const COLUMNS: &str = "sequence, at, uid, actor, reason, event, state, effects, generation";
const SELECT_ZONE: &str = "SELECT name, generation, serial, routing, live, previous FROM zone";

fn append(tx: &Transaction<'_>, entry: &Entry) -> Result<Sequence, StoreError> {
    let sequence: u64 = tx.query_row("SELECT coalesce(max(sequence), 0) + 1 FROM journal", [], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO journal (sequence, stream, at, uid, actor, reason, event, state, effects, generation)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        sequence,
        entry.stream,
        entry.at.0,
        entry.actor.uid,
        entry.actor.name,
        entry.reason,
        entry.event.to_string(),
        entry.state.to_string(),
        entry.effects.to_string(),
        entry.generation,
    ])?;
    Ok(Sequence(sequence))
}

fn publish(tx: &Transaction<'_>, publication: &Publication) -> Result<(), StoreError> {
    let key = zone_key(publication.zone.as_ref());
    let last = tx.prepare_cached(&format!("{SELECT_ZONE} WHERE name = ?1"))?.query_row([&key], published).optional()?;
    let next = publication.onto(last.as_ref())?;
    let live = next.live.0.as_bytes();
    // The foreign key would refuse it too, without saying which one.
    let kept = tx.query_row("SELECT 1 FROM bundle WHERE digest = ?1 AND zone = ?2", params![live, key], |_| Ok(()));
    kept.optional()?.ok_or(StoreError::NotKept { digest: next.live.0 })?;
    tx.prepare_cached(
        "INSERT INTO zone (name, generation, serial, routing, live, previous) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (name) DO UPDATE SET generation = excluded.generation, serial = excluded.serial,
             routing = excluded.routing, live = excluded.live, previous = excluded.previous",
    )?
    .execute(params![
        key,
        next.generation,
        next.serial.0,
        next.routing.to_string(),
        live,
        next.previous.map(|previous| *previous.0.as_bytes()),
    ])?;
    Ok(())
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        sequence: Sequence(row.get(0)?),
        at: Timestamp(row.get(1)?),
        actor: Actor { uid: row.get(2)?, name: row.get(3)? },
        reason: row.get(4)?,
        event: json(row.get(5)?)?,
        state: json(row.get(6)?)?,
        effects: json(row.get(7)?)?,
        generation: row.get(8)?,
    })
}

fn published(row: &rusqlite::Row<'_>) -> rusqlite::Result<Published> {
    Ok(Published {
        zone: Name::absolute(&row.get::<_, String>(0)?).map_err(unreadable)?,
        generation: row.get(1)?,
        serial: Serial(row.get(2)?),
        routing: json(row.get(3)?)?,
        live: BundleId(Digest::from_bytes(row.get(4)?)),
        previous: row.get::<_, Option<[u8; 32]>>(5)?.map(|octets| BundleId(Digest::from_bytes(octets))),
    })
}

fn json(text: String) -> rusqlite::Result<Value> {
    serde_json::from_str(&text).map_err(unreadable)
}
