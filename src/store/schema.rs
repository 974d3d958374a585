//! The tables, how they came about, and that the database is one of ours.

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;
use super::error::unreadable;

/// Marks a SQLite file as ours: `uSdy`.
const APPLICATION: i64 = 0x7553_6479;

/// Each step leads from the schema version that is its index to the next one. Once released, a step stays as it is.
const STEPS: &[&str] = &[
    "
    -- The foreign keys are what keeps a text that something refers to: SQLite itself refuses to remove it.
    CREATE TABLE text (
        digest  BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
        octets  BLOB NOT NULL
    ) STRICT;

    CREATE TABLE bundle (
        digest  BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
        zone    TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE part (
        bundle    BLOB NOT NULL REFERENCES bundle (digest) ON DELETE CASCADE,
        position  INTEGER NOT NULL,
        common    INTEGER NOT NULL,  -- 1: what all sites share, as this one was published with it
        site      TEXT NOT NULL,
        root      TEXT NOT NULL,
        included  TEXT NOT NULL,
        PRIMARY KEY (bundle, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE part_text (
        bundle    BLOB NOT NULL,
        position  INTEGER NOT NULL,
        path      TEXT NOT NULL,
        text      BLOB NOT NULL REFERENCES text (digest),
        PRIMARY KEY (bundle, position, path),
        FOREIGN KEY (bundle, position) REFERENCES part (bundle, position) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX part_text_text ON part_text (text);

    -- Bundles that a plan or a candidate needs, before they are published.
    CREATE TABLE planned (
        bundle  BLOB NOT NULL REFERENCES bundle (digest),
        holder  TEXT NOT NULL,
        PRIMARY KEY (bundle, holder)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX planned_holder ON planned (holder);

    CREATE TABLE zone (
        name        TEXT NOT NULL PRIMARY KEY,
        generation  INTEGER NOT NULL,
        serial      INTEGER NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
        routing     TEXT NOT NULL,
        live        BLOB NOT NULL REFERENCES bundle (digest),
        previous    BLOB REFERENCES bundle (digest)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX zone_live ON zone (live);
    CREATE INDEX zone_previous ON zone (previous);

    CREATE TABLE journal (
        sequence    INTEGER PRIMARY KEY,
        stream      TEXT NOT NULL,
        at          INTEGER NOT NULL,
        uid         INTEGER,
        actor       TEXT NOT NULL,
        reason      TEXT NOT NULL,
        event       TEXT NOT NULL,
        state       TEXT NOT NULL,
        effects     TEXT NOT NULL,
        generation  INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX journal_stream ON journal (stream, sequence);

    CREATE TABLE audit (
        id         INTEGER PRIMARY KEY,
        at         INTEGER NOT NULL,
        uid        INTEGER,
        actor      TEXT NOT NULL,
        command    TEXT NOT NULL,
        reason     TEXT NOT NULL,
        overrides  TEXT NOT NULL,
        outcome    TEXT NOT NULL
    ) STRICT;

    CREATE TABLE secret (
        name    TEXT NOT NULL PRIMARY KEY,
        octets  BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    "
    -- What is true of the state as a whole.
    CREATE TABLE fact (
        name   TEXT NOT NULL PRIMARY KEY,
        value  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- A state that was written to before is no first start.
    INSERT INTO fact (name, value) SELECT 'beginning', 'older' WHERE EXISTS (SELECT 1 FROM journal);
",
    "
    -- Who was told what, by a server that ended in order: points under -1, else parts of the table of networks.
    CREATE TABLE exposure (
        part    INTEGER NOT NULL PRIMARY KEY,
        octets  BLOB NOT NULL
    ) STRICT;
",
    "
    -- What was last found of each resolver, and how much it was asked.
    CREATE TABLE resolver (
        name      TEXT NOT NULL PRIMARY KEY,
        at        INTEGER NOT NULL,
        expires   INTEGER NOT NULL,
        findings  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE asked (
        day        INTEGER NOT NULL,  -- since 1970
        resolver   TEXT NOT NULL,
        questions  INTEGER NOT NULL,
        PRIMARY KEY (day, resolver)
    ) STRICT, WITHOUT ROWID;
",
    "
    -- Drills, under way and over.
    CREATE TABLE drill (
        zone    TEXT NOT NULL,
        number  INTEGER NOT NULL,
        told    TEXT NOT NULL,
        PRIMARY KEY (zone, number)
    ) STRICT, WITHOUT ROWID;
",
    "
    -- Names have another hash from here on: what was kept under the old one says nothing any more.
    DELETE FROM exposure;
    DELETE FROM fact WHERE name = 'exposures';
",
];

/// Sees that the database is whole and ours, sets how it is written, and brings its tables up to date.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let number = |connection: &Connection, pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
    let application: i64 = number(connection, "application_id")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (tables > 0 || application != 0) {
        return Err(unreadable("its application_id is not Understudy's").into());
    }
    let verdict: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if verdict != "ok" {
        return Err(unreadable(verdict).into());
    }
    let found: i64 = number(connection, "user_version")?;
    let known = STEPS.len() as i64;
    if found > known {
        let path = connection.path().unwrap_or_default().into();
        return Err(StoreError::Later { path, found, known });
    }

    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Who was told what is personal data: what is deleted is gone.
    connection.pragma_update(None, "secure_delete", true)?;
    for (version, step) in STEPS.iter().enumerate().skip(found.max(0) as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
