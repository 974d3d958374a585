//! A copy of the state, to be thought about: in memory, while no daemon runs on the state itself.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::{Store, StoreError, open};
use crate::time::Timestamp;

/// What belongs to a database beside its own file: what was written and is not in there yet. The index of the WAL is not
/// copied: SQLite makes it anew of what is whole.
const BESIDE: [&str; 2] = ["-wal", "-journal"];
/// What the names of private directories begin with; the process that made one and a number follow.
const NAMED: &str = "understudy-";
/// How many names are tried for the private directory.
const NAMES: u32 = 100;

/// A copy of a state, in memory.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The copy. What is written to it is gone with it.
    pub store: Store,
    /// When the state was last written.
    pub written: Timestamp,
}

impl Store {
    /// A copy in memory of the state in `dir`, which nobody has open: one who has is named in the error. Nothing in `dir` is
    /// made, changed or removed. The files are copied to a private directory in `scratch` for as long as it takes to read
    /// them; with the state's keys among them, they are gone when this returns.
    ///
    /// No daemon can start meanwhile: it waits for the end of this. So what is copied is what the last one wrote.
    pub fn copy(dir: &Path, scratch: &Path) -> Result<Copied, StoreError> {
        let lock = open::lock_shared(dir)?;
        let path = dir.join(open::DATABASE);
        if !open::has_database(&lock, &path)? {
            return Err(StoreError::Nothing { path: dir.to_owned() });
        }
        let private = Private::make(scratch, dir)?;
        let copy = private.0.join(open::DATABASE);
        let mut written = take(&path, &copy)?;
        for part in BESIDE {
            match take(&beside(&path, part), &beside(&copy, part)) {
                Err(StoreError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                taken => written = written.max(taken?),
            }
        }
        drop(lock);
        let located = |error: rusqlite::Error| StoreError::Sql(error).at(Some(&path));
        let mut memory = Connection::open_in_memory().map_err(StoreError::Sql)?;
        // Opened, it is made whole: what a daemon that was killed had committed is in it, and nothing else.
        let whole = open::connect(&copy)?;
        Backup::new(&whole, &mut memory).and_then(|backup| backup.step(-1)).map_err(located)?;
        drop(whole);
        Ok(Copied { store: Store::of(memory, None, None)?, written })
    }
}

/// A directory of ours alone, gone with this.
struct Private(PathBuf);

impl Private {
    /// Makes one in `scratch`, which may not be in the state directory.
    fn make(scratch: &Path, dir: &Path) -> Result<Private, StoreError> {
        let failed = |source| StoreError::Scratch { path: scratch.to_owned(), source };
        let real = |path: &Path| fs::canonicalize(path).map_err(failed);
        if real(scratch)?.starts_with(real(dir)?) {
            return Err(failed(io::Error::other("it is in the state directory")));
        }
        sweep(scratch);
        for number in 0..NAMES {
            let path = scratch.join(format!("{NAMED}{}-{number}", std::process::id()));
            // One that is there is not ours, whatever it is.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Private(path)).map_err(failed),
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::error!(%error, "the copy of the state in {} can't be removed: remove it", self.0.display());
        }
    }
}

/// Removes what processes of ours left in `scratch` that were ended before they could: the state's keys are in it.
fn sweep(scratch: &Path) {
    let left = scratch.read_dir().into_iter().flatten().flatten().filter(|entry| {
        let is_left = entry.file_name().to_str().is_some_and(is_of_a_dead_process);
        is_left && fs::symlink_metadata(entry.path()).is_ok_and(|meta| is_private(&meta))
    });
    for path in left.map(|entry| entry.path()) {
        match fs::remove_dir_all(&path) {
            // Somebody else may be sweeping, too.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, "a copy of the state that was left in {} can't be removed", path.display());
            }
            _ => {}
        }
    }
}

/// Whether a directory of this name was made by a process that is no more.
fn is_of_a_dead_process(name: &str) -> bool {
    let made_by = name.strip_prefix(NAMED).and_then(|rest| rest.split_once('-'));
    let made_by = made_by.filter(|(_, number)| number.parse::<u32>().is_ok());
    let process = made_by.and_then(|(process, _)| process.parse::<i32>().ok()).filter(|process| *process > 0);
    process.is_some_and(|process| kill(Pid::from_raw(process), None) == Err(Errno::ESRCH))
}

/// Whether it is a directory of our user that nobody else may look into.
fn is_private(meta: &fs::Metadata) -> bool {
    meta.is_dir() && meta.uid() == nix::unistd::geteuid().as_raw() && meta.mode() & 0o777 == 0o700
}

/// Copies a file; when it was last written.
fn take(from: &Path, to: &Path) -> Result<Timestamp, StoreError> {
    let read = |source| StoreError::File { path: from.to_owned(), source };
    let mut octets = File::open(from).map_err(read)?;
    let written = octets.metadata().and_then(|meta| meta.modified()).map_err(read)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let copied = made.and_then(|mut made| io::copy(&mut octets, &mut made));
    copied.map_err(|source| StoreError::Scratch { path: to.to_owned(), source })?;
    let since = written.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

fn beside(database: &Path, part: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(part);
    path.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_copy_has_what_was_written_and_is_not_the_state() {
        let (dir, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let nothing = Store::copy(dir.path(), scratch.path()).unwrap_err();
        assert!(matches!(nothing, StoreError::Nothing { .. }), "{nothing}");
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        let store = Store::open(Some(dir.path())).unwrap();
        let key: [u8; 16] = store.secret("key").unwrap();
        let held = Store::copy(dir.path(), scratch.path()).unwrap_err();
        assert!(matches!(held, StoreError::InUse { .. }), "{held}");
        drop(store);
        let within = Store::copy(dir.path(), dir.path()).unwrap_err();
        assert!(matches!(within, StoreError::Scratch { .. }), "{within}");
        let copied = Store::copy(dir.path(), scratch.path()).unwrap().store;
        assert_eq!(copied.secret::<16>("key").unwrap(), key);
        copied.secret::<16>("other").unwrap();
        copied.initialise().unwrap();
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "the keys in it are gone");
        assert!(!Store::open(Some(dir.path())).unwrap().has_begun().unwrap());
    }

    #[test]
    fn what_a_process_that_is_no_more_left_is_removed_and_nothing_else() {
        let (dir, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        drop(Store::open(Some(dir.path())).unwrap());
        let make = |name: &str, mode: u32| {
            let path = scratch.path().join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            fs::write(path.join(open::DATABASE), "keys").unwrap();
        };
        let nobody = i32::MAX;
        make(&format!("understudy-{nobody}-0"), 0o700);
        make(&format!("understudy-{nobody}-17"), 0o700);
        let kept = [
            (format!("understudy-{}-7", std::process::id()), 0o700),
            (format!("understudy-{nobody}-1"), 0o755),
            (format!("understudy-{nobody}-x"), 0o700),
            ("understudy-0-0".into(), 0o700),
            ("understudy--1-0".into(), 0o700),
        ];
        kept.iter().for_each(|(name, mode)| make(name, *mode));
        std::os::unix::fs::symlink(dir.path(), scratch.path().join(format!("understudy-{nobody}-2"))).unwrap();
        Store::copy(dir.path(), scratch.path()).unwrap();
        let left = scratch.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut kept: Vec<String> = kept.into_iter().map(|(name, _)| name).collect();
        kept.push(format!("understudy-{nobody}-2"));
        assert_eq!(left.collect::<BTreeSet<_>>(), kept.into_iter().collect());
        assert!(dir.path().join(open::DATABASE).exists());
    }

    #[test]
    fn a_daemon_that_starts_waits_for_the_end_of_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(Some(dir.path())).unwrap());
        let copying = open::lock_shared(dir.path()).unwrap();
        let waiting = {
            let dir = dir.path().to_owned();
            std::thread::spawn(move || Store::open(Some(&dir)).map(drop))
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished(), "what is copied must not change");
        drop(copying);
        waiting.join().unwrap().unwrap();
    }
}
