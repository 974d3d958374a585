//! What was found of resolvers, until it is too old to be believed; and how much each was asked in a day.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::unreadable;
use super::{Store, StoreError};
use crate::time::Timestamp;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// For how many days it is kept how much resolvers were asked.
const DAYS: i64 = 7;

/// What was found of a resolver.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// What operators call it.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// From when on it is too old to be believed.
    pub expires: Timestamp,
    /// What.
    pub findings: T,
}

/// What was found of resolvers, in a store.
#[derive(Clone, Debug)]
pub struct Resolvers(Store);

impl Store {
    /// What was found of resolvers.
    pub fn resolvers(&self) -> Resolvers {
        Resolvers(self.clone())
    }
}

impl Resolvers {
    /// Keeps what was found, in place of what was found before, and takes down so many more questions.
    pub fn keep<T: Serialize>(&self, found: &Found<T>, questions: u64) -> Result<(), StoreError> {
        let findings = serde_json::to_string(&found.findings).map_err(StoreError::unreadable)?;
        self.0.write(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO resolver (name, at, expires, findings) VALUES (?1, ?2, ?3, ?4)",
                params![found.name, found.at.0, found.expires.0, findings],
            )?;
            count(tx, &found.name, found.at, questions)
        })
    }

    /// Takes down a question to each of these.
    pub fn count<'n>(&self, names: impl IntoIterator<Item = &'n str>, now: Timestamp) -> Result<(), StoreError> {
        self.0.write(|tx| names.into_iter().try_for_each(|name| count(tx, name, now, 1)))
    }

    /// What was last found of each, by name.
    pub fn all<T: DeserializeOwned>(&self) -> Result<Vec<Found<T>>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare("SELECT name, at, expires, findings FROM resolver ORDER BY name")?;
            Ok(rows.query_map([], read)?.collect::<Result<_, _>>()?)
        })
    }

    /// How many questions a resolver was asked on the day of `now`, by UTC.
    pub fn asked(&self, name: &str, now: Timestamp) -> Result<u64, StoreError> {
        self.0.read(|tx| {
            let mut row = tx.prepare("SELECT questions FROM asked WHERE day = ?1 AND resolver = ?2")?;
            let questions = row.query_row(params![now.0.div_euclid(DAY), name], |row| row.get(0)).optional()?;
            Ok(questions.unwrap_or(0))
        })
    }
}

fn count(tx: &Transaction<'_>, name: &str, now: Timestamp, questions: u64) -> Result<(), StoreError> {
    let day = now.0.div_euclid(DAY);
    tx.execute(
        "INSERT INTO asked (day, resolver, questions) VALUES (?1, ?2, ?3)
         ON CONFLICT (day, resolver) DO UPDATE SET questions = questions + excluded.questions",
        params![day, name, questions],
    )?;
    tx.execute("DELETE FROM asked WHERE day < ?1", [day - DAYS])?;
    Ok(())
}

fn read<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<Found<T>> {
    Ok(Found {
        name: row.get(0)?,
        at: Timestamp(row.get(1)?),
        expires: Timestamp(row.get(2)?),
        findings: serde_json::from_str(&row.get::<_, String>(3)?).map_err(unreadable)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_last_is_kept_and_questions_are_counted_by_day() {
        let resolvers = Store::open(None).unwrap().resolvers();
        let found = |name: &str, day: i64, findings: &str| Found {
            name: name.into(),
            at: Timestamp(day * DAY + 5),
            expires: Timestamp(day * DAY + 9),
            findings: findings.to_owned(),
        };
        resolvers.keep(&found("quad9", 20_000, "old"), 100).unwrap();
        resolvers.keep(&found("quad9", 20_000, "new"), 20).unwrap();
        resolvers.keep(&found("campus", 20_001, "one"), 7).unwrap();
        assert_eq!(resolvers.all::<String>().unwrap(), [found("campus", 20_001, "one"), found("quad9", 20_000, "new")]);
        let asked = |name, day: i64| resolvers.asked(name, Timestamp(day * DAY)).unwrap();
        assert_eq!([asked("quad9", 20_000), asked("quad9", 20_001), asked("campus", 20_001)], [120, 0, 7]);
        resolvers.count(["quad9", "campus"], Timestamp(20_001 * DAY)).unwrap();
        assert_eq!([asked("quad9", 20_000), asked("quad9", 20_001), asked("campus", 20_001)], [120, 1, 8]);
        resolvers.keep(&found("campus", 20_100, "two"), 1).unwrap();
        assert_eq!([asked("quad9", 20_000), asked("campus", 20_100)], [0, 1]);
    }
}
