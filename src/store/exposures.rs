//! Exposures over a restart, and whether they are all that was told.

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError};
use crate::exposure::kept::{Head, Kept};

/// Under this name stands what kept exposures are about.
const HEAD: &str = "exposures";
/// The number that points are kept under; parts of the table of networks have numbers from 0.
const POINTS: i64 = -1;

impl Store {
    /// Keeps exposures. What was kept before is replaced.
    pub fn keep_exposures(&self, kept: &Kept) -> Result<(), StoreError> {
        let head = serde_json::to_string(&kept.head).unwrap_or_default();
        self.write(|tx| {
            tx.execute("DELETE FROM exposure", [])?;
            let mut insert = tx.prepare("INSERT INTO exposure (part, octets) VALUES (?1, ?2)")?;
            insert.execute(params![POINTS, kept.points])?;
            for (part, octets) in (0i64..).zip(&kept.networks).filter(|(_, octets)| !octets.is_empty()) {
                insert.execute(params![part, octets])?;
            }
            tx.execute("INSERT OR REPLACE INTO fact (name, value) VALUES (?1, ?2)", [HEAD, &head])?;
            Ok(())
        })
    }

    /// Takes out what was kept by a server that ended in order. After that it is not kept any more: if this server does not end
    /// in order, what it told is not known.
    pub fn take_exposures(&self) -> Result<Option<Kept>, StoreError> {
        self.write(|tx| {
            let head: Option<String> =
                tx.query_row("SELECT value FROM fact WHERE name = ?1", [HEAD], |row| row.get(0)).optional()?;
            // What another version wrote is as good as nothing.
            let Some(head) = head.and_then(|head| serde_json::from_str::<Head>(&head).ok()) else {
                tx.execute("DELETE FROM exposure", [])?;
                return Ok(None);
            };
            let mut kept = Kept { networks: vec![Vec::new(); head.levels.len()], head, ..Kept::default() };
            let mut select = tx.prepare("SELECT part, octets FROM exposure")?;
            let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
            for row in rows {
                let (part, octets) = row?;
                match usize::try_from(part) {
                    Err(_) => kept.points = octets,
                    Ok(part) => kept.networks.get_mut(part).into_iter().for_each(|place| place.clone_from(&octets)),
                }
            }
            tx.execute("DELETE FROM fact WHERE name = ?1", [HEAD])?;
            tx.execute("DELETE FROM exposure", [])?;
            Ok(Some(kept))
        })
    }
}
