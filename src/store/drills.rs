//! Drills: what came of each, the last ones of every zone.

use std::collections::BTreeMap;

use rusqlite::params;

use super::texts::zone_key;
use super::{Store, StoreError};
use crate::drill::Drill;
use crate::name::Name;

/// How many are kept of a zone.
pub const KEPT: usize = 100;
/// What the journal's stream of a zone's drills begins with.
pub const STREAM: &str = "drill";

/// The journal's stream of a zone's drills.
pub fn stream(zone: &Name) -> String {
    format!("{STREAM}/{}", zone_key(zone.as_ref()))
}

/// The drills of a store.
#[derive(Clone, Debug)]
pub struct Drills(Store);

impl Store {
    /// The drills.
    pub fn drills(&self) -> Drills {
        Drills(self.clone())
    }
}

impl Drills {
    /// Keeps a drill as it stands, in place of what was known of it. The oldest of its zone give way, and what the journal
    /// has of them: each row has a whole state.
    pub fn keep(&self, zone: &Name, drill: &Drill) -> Result<(), StoreError> {
        let told = serde_json::to_string(drill).map_err(StoreError::unreadable)?;
        let (stream, zone) = (stream(zone), zone_key(zone.as_ref()));
        let given_up = drill.drill.saturating_sub(KEPT as u64);
        self.0.write(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO drill (zone, number, told) VALUES (?1, ?2, ?3)",
                params![zone, drill.drill, told],
            )?;
            tx.execute("DELETE FROM drill WHERE zone = ?1 AND number <= ?2", params![zone, given_up])?;
            // A drill's first row names it. Without a row of one that is kept nothing goes, and so never the last row.
            tx.execute(
                "DELETE FROM journal WHERE stream = ?1 AND ?2 > 0 AND sequence <
                 (SELECT min(sequence) FROM journal WHERE stream = ?1 AND json_extract(event, '$.drill') > ?2)",
                params![stream, given_up],
            )?;
            Ok(())
        })
    }

    /// All of each zone, oldest first. What another version wrote and this one does not understand is left out: nothing that
    /// is served rests on it.
    pub fn all(&self) -> Result<BTreeMap<Name, Vec<Drill>>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare("SELECT zone, told FROM drill ORDER BY zone, number")?;
            let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            let mut all: BTreeMap<Name, Vec<Drill>> = BTreeMap::new();
            for row in rows {
                let (zone, told) = row?;
                match (Name::absolute(&zone), serde_json::from_str::<Drill>(&told)) {
                    (Ok(zone), Ok(drill)) => all.entry(zone).or_default().push(drill),
                    (_, read) => tracing::warn!(zone, "a drill is not understood and left out: {:?}", read.err()),
                }
            }
            Ok(all)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::drill::{End, Outcome};
    use crate::store::journal::{Actor, Entry, Journal as _};
    use crate::time::Timestamp;

    #[test]
    fn the_last_ones_are_kept_as_they_stand() {
        let store = Store::open(None).unwrap();
        let (drills, zone) = (store.drills(), Name::absolute("A.example").unwrap());
        let mut drill = Drill {
            drill: 0,
            from: vec!["a".into()],
            to: "b".into(),
            region: None,
            actor: "ann".into(),
            reason: String::new(),
            began: Timestamp(1),
            there: None,
            back: None,
            end: None,
        };
        let mut journal = store.journal();
        let mut write = |stream: String, event: serde_json::Value| {
            let after = journal.latest(&stream).unwrap().map(|row| row.sequence);
            let entry = Entry {
                stream,
                after,
                at: Timestamp(1),
                actor: Actor { uid: None, name: "ann".into() },
                reason: String::new(),
                event,
                state: json!({}),
                effects: json!([]),
                generation: 1,
                publications: Vec::new(),
            };
            journal.commit(&entry).unwrap();
        };
        for number in 1..=KEPT as u64 + 3 {
            drill.drill = number;
            drills.keep(&zone, &drill).unwrap();
            for event in [json!({ "drill": number }), json!({ "told": number }), json!({ "drill": number })] {
                write(stream(&zone), event);
            }
            write("zone/a.example.".into(), json!({ "drill": number }));
        }
        // The rows of the drills that are kept, and of nothing else; what is in other streams stays.
        let rows = store.journal().rows(&stream(&zone), u32::MAX).unwrap();
        assert_eq!((rows.len(), rows.last().unwrap().event["drill"].as_u64()), (3 * KEPT, Some(4)));
        assert_eq!(store.journal().rows("zone/a.example.", u32::MAX).unwrap().len(), KEPT + 3);
        let why = "the daemon ended".to_owned();
        let findings = Vec::new();
        drill.end = Some(End { at: Timestamp(2), outcome: Outcome::Interrupted, why, blocked: false, findings });
        drills.keep(&zone, &drill).unwrap();
        let all = drills.all().unwrap();
        let known = &all[&zone];
        assert_eq!((all.len(), known.len(), known[0].drill, known.last()), (1, KEPT, 4, Some(&drill)));
        drills.0.write(|tx| Ok(tx.execute("UPDATE drill SET told = '{}' WHERE number = 4", [])?)).unwrap();
        assert_eq!(drills.all().unwrap()[&zone].len(), KEPT - 1);
    }
}
