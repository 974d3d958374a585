//! What outlives the process: the journal, the zone texts, the audit trail, keys. SQLite, in one file of the state
//! directory.
//!
//! Everything goes through [`Store::read`] and [`Store::write`], so that whatever is written is written in one
//! transaction, and every fault of the database becomes a [`StoreError`] that names the file.

pub mod audit;
mod beginning;
mod copy;
pub mod drills;
mod error;
mod exposures;
pub mod files;
pub mod journal;
mod open;
pub mod resolvers;
mod schema;
pub mod secret;
pub mod stamps;
pub mod texts;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use copy::Copied;
pub use error::StoreError;

/// The state that is kept. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Mutex<Connection>,
    /// The database's path; none in memory.
    path: Option<PathBuf>,
    /// Where the files of the state were when they were opened.
    opened: Vec<(PathBuf, open::Identity)>,
    /// Held as long as the store is open; the system lets go of it whichever way the process ends.
    _lock: Option<File>,
}

impl Store {
    /// Opens the state in `dir`, which is made (0700) if need be; without `dir`, a fresh one in memory.
    ///
    /// Refused are a directory that others can write to, one that another process has open, and a database that is
    /// damaged, somebody else's, or of a later version. None of these is changed or removed.
    pub fn open(dir: Option<&Path>) -> Result<Store, StoreError> {
        let Some(dir) = dir else {
            let connection = Connection::open_in_memory().map_err(StoreError::Sql)?;
            let store = Store::of(connection, None, None)?;
            // There is nothing that it could have lost.
            store.initialise()?;
            return Ok(store);
        };
        open::secure(dir)?;
        let lock = open::lock(dir)?;
        let path = dir.join(open::DATABASE);
        if open::has_database(&lock, &path)? {
            open::sign(&lock);
        }
        let connection = open::connect(&path)?;
        Store::of(connection, Some(path), Some(lock))
    }

    /// Makes the state directory `dir` if need be and gives it and the state in it to the user that this process is about
    /// to become. Refused is a directory that holds something else; nothing in it is changed.
    pub fn give(dir: &Path, uid: u32, gid: u32) -> Result<(), StoreError> {
        open::give(dir, uid, gid)
    }

    fn of(mut connection: Connection, path: Option<PathBuf>, lock: Option<File>) -> Result<Store, StoreError> {
        schema::prepare(&mut connection).map_err(|error| error.at(path.as_deref()))?;
        let mut opened = Vec::new();
        if let Some((path, lock)) = path.as_ref().zip(lock.as_ref()) {
            open::sign(lock);
            let lock_path = path.with_file_name(open::LOCK);
            for (path, meta) in [(lock_path, lock.metadata()), (path.clone(), path.metadata())] {
                let meta = meta.map_err(|source| StoreError::Directory { path: path.clone(), source })?;
                let identity = open::Identity::of(&meta).ok_or_else(|| StoreError::Replaced { path: path.clone() })?;
                opened.push((path, identity));
            }
        }
        Ok(Store(Arc::new(Inner { connection: Mutex::new(connection), path, opened, _lock: lock })))
    }

    /// The database's path; none in memory.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Runs `work` on one consistent view of the database.
    fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, work)
    }

    /// Runs `work` in one transaction: when this returns `Ok`, all of it is on the disk; otherwise none of it is.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Immediate, |transaction| {
            let made = work(transaction)?;
            self.0.opened.iter().try_for_each(|(path, opened)| open::in_place(path, *opened))?;
            Ok(made)
        })
    }

    fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outcome = (|| {
            let mut connection = self.connection();
            let transaction = connection.transaction_with_behavior(behavior)?;
            let made = work(&transaction)?;
            transaction.commit()?;
            Ok(made)
        })();
        outcome.map_err(|error: StoreError| error.at(self.path()))
    }

    /// A panic of another thread has rolled its transaction back: what it leaves behind is whole.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
