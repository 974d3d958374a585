//! The state directory: made, closed to others, held by one process; and the connection to its database.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::StoreError;

/// The lock's name in the state directory. The file stays when a daemon ends; the kernel lifts the lock then, however it
/// ended.
pub(super) const LOCK: &str = "understudy.lock";
/// The database's name.
pub(super) const DATABASE: &str = "understudy.db";
/// The name of the socket that operators' commands come through.
const SOCKET: &str = "control.sock";
/// How long a statement waits for a program that has the database locked, a backup for one.
const BUSY: Duration = Duration::from_secs(5);
/// How long a copy of the state may take that somebody waits for, and how often is looked whether it is made.
const COPIED: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(20);

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

/// Makes `dir` if need be and gives it, and what is ours in it, to another user: the one that the daemon becomes. A
/// directory that holds anything else and was not given before is none of ours, and is left as it is.
pub(super) fn give(dir: &Path, uid: u32, gid: u32) -> Result<(), StoreError> {
    secure(dir)?;
    let failed = |source| StoreError::Directory { path: dir.to_owned(), source };
    let given = fs::metadata(dir).map_err(failed)?.uid() == uid;
    let mut ours = Vec::new();
    let mut other = None;
    for entry in dir.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        match entry.file_name().to_str() {
            Some(name) if is_ours(name) => ours.push(entry.path()),
            _ => other = other.or(Some(entry.file_name())),
        }
    }
    if let Some(other) = other.filter(|_| !given && !dir.join(LOCK).exists()) {
        return Err(StoreError::NotState { path: dir.to_owned(), found: other.to_string_lossy().into_owned() });
    }
    std::os::unix::fs::chown(dir, Some(uid), Some(gid)).map_err(failed)?;
    ours.iter().try_for_each(|path| std::os::unix::fs::lchown(path, Some(uid), Some(gid))).map_err(failed)
}

/// Whether a file of this name in a state directory is one that we make.
fn is_ours(name: &str) -> bool {
    name == LOCK
        || name == SOCKET
        || name.strip_prefix(DATABASE).is_some_and(|rest| ["", "-wal", "-shm", "-journal"].contains(&rest))
}

/// Whether there is a database. One that was lost is not taken for one that never was: once it is made, the lock names a
/// process.
pub(super) fn has_database(lock: &File, path: &Path) -> Result<bool, StoreError> {
    let failed = |source| StoreError::Directory { path: path.to_owned(), source };
    let len = |path: &Path| match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        found => found.map(|meta| meta.len()).map_err(failed),
    };
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    if len(path)? > 0 {
        return Ok(true);
    }
    if lock.metadata().map_err(failed)?.len() > 0 || len(Path::new(&wal))? > 0 {
        let detail = "it is empty or gone, and there was one before".to_owned();
        return Err(StoreError::Damaged { path: path.to_owned(), detail });
    }
    Ok(false)
}

/// Writes into the lock who has it. It only helps people while there is a database: that it can't be written on a full
/// disk must not stop us from serving.
pub(super) fn sign(mut lock: &File) {
    let _ = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| writeln!(lock, "{}", std::process::id()));
}

/// What tells a file from any other, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    /// That of a file, if it still has a name.
    pub(super) fn of(meta: &fs::Metadata) -> Option<Identity> {
        (meta.nlink() > 0).then(|| Identity(meta.dev(), meta.ino()))
    }
}

/// Whether the state directory is the one that was opened: what is written to a file that has no name is lost, and one of
/// another process may be in its place.
pub(super) fn in_place(path: &Path, opened: Identity) -> Result<(), StoreError> {
    let found = fs::metadata(path).ok().and_then(|meta| Identity::of(&meta));
    if found == Some(opened) { Ok(()) } else { Err(StoreError::Replaced { path: path.to_owned() }) }
}

/// Takes the directory's lock for as long as the file returned stays open.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let failed = |source| StoreError::File { path: path.clone(), source };
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    let give_up = Instant::now() + COPIED;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // A dry run copies the state: a daemon that starts meanwhile waits for the end of that.
            Err(TryLockError::WouldBlock) if Instant::now() < give_up && file.try_lock_shared().is_ok() => {
                file.unlock().map_err(failed)?;
                thread::sleep(AGAIN);
            }
            Err(TryLockError::WouldBlock) => return Err(in_use(dir, &file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Takes part in the directory's lock, as one who only reads, for as long as the file returned stays open. Nothing is made.
pub(super) fn lock_shared(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let file = File::open(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Nothing { path: dir.to_owned() },
        _ => StoreError::File { path: path.clone(), source },
    })?;
    match file.try_lock_shared() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(in_use(dir, &file)),
        Err(TryLockError::Error(source)) => Err(StoreError::File { path, source }),
    }
}

fn in_use(dir: &Path, mut lock: &File) -> StoreError {
    let mut text = String::new();
    let _ = lock.read_to_string(&mut text);
    let holder = match text.trim().parse::<u32>() {
        Ok(pid) => format!("process {pid}"),
        Err(_) => "another process".to_owned(),
    };
    StoreError::InUse { path: dir.to_owned(), holder }
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
