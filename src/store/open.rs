//! The state directory: made, closed to others, held by one process; and the connection to its database.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::StoreError;

/// The lock's name in the state directory. The file stays when a daemon ends; the kernel lifts the lock then, however it
/// ended.
const LOCK: &str = "understudy.lock";
/// How long a statement waits for a program that has the database locked, a backup for one.
const BUSY: Duration = Duration::from_secs(5);

/// Makes `dir` for us alone, or sees that nobody else can write to it.
pub(super) fn secure(dir: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Directory { path: dir.to_owned(), source };
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::metadata(dir).map_err(failed)?;
    if !found.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    let exposed = |why: String, remedy: String| StoreError::Exposed { path: dir.to_owned(), why, remedy };
    let me = nix::unistd::geteuid().as_raw();
    if ![me, 0].contains(&found.uid()) && me != 0 {
        let (uid, dir) = (found.uid(), dir.display());
        return Err(exposed(format!("belongs to another user (uid {uid})"), format!("chown {me} {dir}")));
    }
    if found.mode() & 0o022 != 0 {
        let why = format!("can be written by other users (mode {:04o})", found.mode() & 0o7777);
        return Err(exposed(why, format!("chmod 700 {}", dir.display())));
    }
    close(dir, &found).map_err(failed)?.then_some(()).ok_or_else(|| {
        let why =
            format!("can be entered by other users (mode {:04o}) and holds more than state", found.mode() & 0o7777);
        exposed(why, format!("chmod 700 {}", dir.display()))
    })
}

/// Takes the rights of others on a directory away that is used for nothing else: `--state-dir /tmp` is a slip.
fn close(dir: &Path, found: &fs::Metadata) -> io::Result<bool> {
    if found.mode() & 0o077 == 0 {
        return Ok(true);
    }
    if !dir.join(LOCK).exists() && dir.read_dir()?.next().is_some() {
        return Ok(false);
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map(|()| true)
}

/// Takes the directory's lock for as long as the file returned stays open.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let failed = |source| StoreError::File { path: path.clone(), source };
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let holder = match text.trim().parse::<u32>() {
                Ok(pid) => format!("process {pid}"),
                Err(_) => "another process".to_owned(),
            };
            return Err(StoreError::InUse { path: dir.to_owned(), holder });
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The number only helps people; that it can't be written on a full disk must not stop us from serving.
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Opens the database, making it (0600; its WAL gets the same mode) if need be.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| StoreError::File { path: path.to_owned(), source })?;
    let located = |error| StoreError::Sql(error).at(Some(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(located)?;
    connection.busy_timeout(BUSY).map_err(located)?;
    Ok(connection)
}
