//! What goes wrong with the state, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

use crate::digest::Digest;
use crate::name::Name;
use crate::serial::Serial;

/// Why the state could not be opened, read or written. Nothing was half-written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory can't be made or looked at.
    #[error("the state directory {path} can't be used: {source}; make it, owned by the user of the daemon, mode 0700")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file in the state directory can't be opened or locked.
    #[error("the file {path} can't be used: {source}; give it, and its directory, to the user of the daemon")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others could change the state, and with it what is answered.
    #[error("the state directory {path} {why}, who could change what is answered; run `{remedy}`")]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// In what way.
        why: String,
        /// The command that closes it.
        remedy: String,
    },
    /// Something else is kept there.
    #[error(
        "{path} is no state directory: it holds `{found}` and no lock of ours; it was left as it is; name an empty or \
         new directory as `state_dir`"
    )]
    NotState {
        /// The directory.
        path: PathBuf,
        /// Something that is in it.
        found: String,
    },
    /// The state directory is not the one that was opened.
    #[error(
        "{path} was removed or replaced since it was opened: what is written would be lost, so nothing was changed; put \
         the state directory back as it was, or restart the daemon to go on with what is there now"
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// Another process has the state open.
    #[error(
        "the state directory {path} is in use by {holder}; stop that one first, or give this one another `state_dir`"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// `process 4711`, or `another process` while that is just starting.
        holder: String,
    },
    /// There is no state to be copied.
    #[error("there is no state in {path}: no daemon ever ran on it")]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
    /// The state can't be copied to where it is looked at.
    #[error("the state can't be copied to {path}: {source}; nothing was changed; make room there, or set TMPDIR")]
    Scratch {
        /// Where it was to be copied to.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A later version of the program wrote the database.
    #[error(
        "the database {path} has schema version {found} and this program knows {known} at most: a later version wrote \
         it; run that version, or give this one another `state_dir`"
    )]
    Later {
        /// The database.
        path: PathBuf,
        /// The version of the database.
        found: i64,
        /// The latest one that this program knows.
        known: i64,
    },
    /// The database is damaged, or not ours. It was left as it is.
    #[error(
        "the database {path} is damaged or not Understudy's ({detail}); it was left as it is: put a backup in its \
         place, or move the state directory away to start with empty state (serials must then be raised in the files)"
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// No room on the disk.
    #[error("no room left to write {path}: nothing was changed and the last state holds; free space on its disk")]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// The database can't be written.
    #[error(
        "{path} can't be written (read-only file, directory or file system): nothing was changed; \
         give the daemon's user write access to the state directory"
    )]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// Another program keeps the database locked.
    #[error(
        "another program keeps {path} locked: nothing was changed; end it (a `sqlite3` shell? a backup?) and try again"
    )]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// The writer decided on a state that is no longer the last one.
    #[error(
        "{what} has moved on: this was decided at {expected} and it stands at {found}; nothing was changed; \
         look at the present state and decide again"
    )]
    MovedOn {
        /// `the journal of …` or `the zone …`.
        what: String,
        /// What the writer knew; 0 for nothing yet.
        expected: u64,
        /// What is there; 0 for nothing yet.
        found: u64,
    },
    /// The generation of a publication is not above the zone's last one.
    #[error("generation {given} of {zone} is not above {last}, the last one published; nothing was changed")]
    GenerationBack {
        /// The zone.
        zone: Name,
        /// The one given.
        given: u64,
        /// The last one.
        last: u64,
    },
    /// Secondaries would take the zone for older than what they have (RFC 1982).
    #[error(
        "serial {given} of {zone} is below {last}, which was published already: secondaries would never take it; \
         nothing was changed; publish {} or above", last.next()
    )]
    SerialBack {
        /// The zone.
        zone: Name,
        /// The one given.
        given: Serial,
        /// The last one published.
        last: Serial,
    },
    /// What was referred to is not kept.
    #[error("no text or bundle {digest} is kept: keep it before it is referred to; nothing was changed")]
    NotKept {
        /// Its digest.
        digest: Digest,
    },
    /// The system gives no randomness to make a key of.
    #[error("the system gives no randomness to make the key `{name}` of: {source}; without it nothing is kept secret")]
    NoRandomness {
        /// The key.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// Any other fault of the database.
    #[error("the database of the state failed: {0}; nothing was changed; the disk and the system's log may say more")]
    Sql(#[from] rusqlite::Error),
}

impl StoreError {
    /// The same error, told apart and with the database's path.
    pub(super) fn at(self, path: Option<&Path>) -> StoreError {
        let StoreError::Sql(error) = self else { return self };
        let path = path.unwrap_or(Path::new(":memory:")).to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            // SQLite says so where the index of its log finds no room.
            _ if error.sqlite_error().is_some_and(|told| told.extended_code == ffi::SQLITE_IOERR_SHMSIZE) => {
                StoreError::Full { path }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, detail: error.to_string() }
            }
            _ => match error {
                // Ours alone write these rows: one that can't be read was not written by us.
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..) => StoreError::Damaged { path, detail: error.to_string() },
                error => StoreError::Sql(error),
            },
        }
    }

    /// A row that is not as it was written.
    pub(super) fn unreadable(detail: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError::Sql(unreadable(detail))
    }
}

/// A value of a row that is not as it was written.
pub(super) fn unreadable(detail: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Null, detail.into())
}
