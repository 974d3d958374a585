//! How a state began: by an operator's word, or found empty, which may mean that it was lost.

use rusqlite::OptionalExtension;

use super::{Store, StoreError};

impl Store {
    /// Takes an operator's word that there is nothing that this state could have lost. Whether it was taken: a state that
    /// has begun already is left as it is.
    pub fn initialise(&self) -> Result<bool, StoreError> {
        self.begin("initialised")
    }

    /// Whether the state has begun: one that has not is new, or what was in it is lost.
    pub fn has_begun(&self) -> Result<bool, StoreError> {
        self.read(|tx| {
            let found = tx.query_row("SELECT 1 FROM fact WHERE name = 'beginning'", [], |_| Ok(())).optional()?;
            Ok(found.is_some())
        })
    }

    /// Notes how the state begins, unless it has.
    pub fn begin(&self, how: &str) -> Result<bool, StoreError> {
        self.write(
            |tx| Ok(tx.execute("INSERT OR IGNORE INTO fact (name, value) VALUES ('beginning', ?1)", [how])? == 1),
        )
    }
}
