//! A journal in memory: for dry runs, simulation and tests.

use std::collections::BTreeMap;

use super::{Entry, Journal, Published, Row, Sequence};
use crate::store::StoreError;
use crate::store::texts::zone_key;

/// A journal that ends with the process. It may begin as the copy of another one.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    sequence: u64,
    streams: BTreeMap<String, Vec<Row>>,
    zones: BTreeMap<String, Published>,
}

impl MemoryJournal {
    /// A journal that stands where `other` stands with one stream and all zones.
    pub fn copy_of(other: &dyn Journal, stream: &str) -> Result<MemoryJournal, StoreError> {
        let last = other.latest(stream)?;
        Ok(MemoryJournal {
            sequence: last.as_ref().map_or(0, |row| row.sequence.0),
            streams: BTreeMap::from([(stream.to_owned(), last.into_iter().collect())]),
            zones: other.published()?.into_iter().map(|zone| (zone_key(zone.zone.as_ref()), zone)).collect(),
        })
    }
}

impl Journal for MemoryJournal {
    fn commit_all(&mut self, entries: &[Entry]) -> Result<Option<Sequence>, StoreError> {
        let Some(first) = entries.first() else { return Ok(None) };
        first.check_stream(self.streams.get(&first.stream).and_then(|rows| Some(rows.last()?.sequence)))?;
        let mut zones = self.zones.clone();
        for publication in entries.iter().flat_map(|entry| &entry.publications) {
            let key = zone_key(publication.zone.as_ref());
            let published = publication.onto(zones.get(&key))?;
            zones.insert(key, published);
        }
        self.zones = zones;
        for entry in entries {
            self.sequence += 1;
            self.streams.entry(entry.stream.clone()).or_default().push(Row {
                sequence: Sequence(self.sequence),
                at: entry.at,
                actor: entry.actor.clone(),
                reason: entry.reason.clone(),
                event: entry.event.clone(),
                state: entry.state.clone(),
                effects: entry.effects.clone(),
                generation: entry.generation,
            });
        }
        Ok(Some(Sequence(self.sequence)))
    }

    fn rows(&self, stream: &str, limit: u32) -> Result<Vec<Row>, StoreError> {
        let rows = self.streams.get(stream).map(Vec::as_slice).unwrap_or_default();
        Ok(rows.iter().rev().take(limit as usize).cloned().collect())
    }

    fn since(&self, stream: &str, after: Sequence, limit: u32) -> Result<Vec<Row>, StoreError> {
        let rows = self.streams.get(stream).map(Vec::as_slice).unwrap_or_default();
        let behind = rows.partition_point(|row| row.sequence <= after);
        Ok(rows[behind..].iter().take(limit as usize).cloned().collect())
    }

    fn latest_of(&self, prefix: &str) -> Result<Vec<(String, Row)>, StoreError> {
        let streams = self.streams.iter().filter(|(stream, _)| stream.starts_with(prefix));
        Ok(streams.filter_map(|(stream, rows)| Some((stream.clone(), rows.last()?.clone()))).collect())
    }

    fn published(&self) -> Result<Vec<Published>, StoreError> {
        Ok(self.zones.values().cloned().collect())
    }
}
