//! The state directory: made private, and claimed by one daemon at a time.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::api::Failure;

/// The lock's name in the state directory. It stays when a daemon ends; the kernel lifts the lock then, however it ended.
pub const LOCK: &str = "understudy.lock";

/// The state directory, claimed for this process until it is dropped.
#[derive(Debug)]
pub struct Claim {
    dir: PathBuf,
    _lock: File,
}

/// Why a state directory can't be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It can't be made, opened or written to.
    #[error("the state directory {} can't be used: {error}", dir.display())]
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It belongs to somebody else.
    #[error("the state directory {} belongs to uid {owner}, and this process runs as uid {uid}", dir.display())]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who we are.
        uid: u32,
    },
    /// Others may enter it, and it holds something else than our state.
    #[error("the state directory {} is open to others (mode {mode:04o}) and holds files that are not understudy's", dir.display())]
    Shared {
        /// The directory.
        dir: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A live daemon has it.
    #[error("another understudy ({}) is running on the state directory {}", pid.map_or("pid unknown".to_owned(), |pid| format!("pid {pid}")), dir.display())]
    Taken {
        /// The directory.
        dir: PathBuf,
        /// The other daemon's process, as it noted it.
        pid: Option<u32>,
    },
}

impl Claim {
    /// Makes the directory if it is not there (0700), takes everybody else's rights on it away, and locks it.
    pub fn take(dir: &Path) -> Result<Claim, ClaimError> {
        let unusable = |error| ClaimError::Unusable { dir: dir.into(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unusable)?;
        make_private(dir)?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut lock = options.open(dir.join(LOCK)).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = (&lock).take(20).read_to_string(&mut text);
                return Err(ClaimError::Taken { dir: dir.into(), pid: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let noted = lock.set_len(0).and_then(|()| lock.rewind());
        noted.and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(unusable)?;
        Ok(Claim { dir: dir.into(), _lock: lock })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Takes everybody else's rights on `dir` away, if it is ours and used for nothing else: `--state-dir /tmp` is a slip.
fn make_private(dir: &Path) -> Result<(), ClaimError> {
    let unusable = |error| ClaimError::Unusable { dir: dir.into(), error };
    let found = dir.metadata().map_err(unusable)?;
    let (owner, uid) = (found.uid(), nix::unistd::geteuid().as_raw());
    if owner != uid {
        return Err(ClaimError::Foreign { dir: dir.into(), owner, uid });
    }
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 && !dir.join(LOCK).exists() && dir.read_dir().map_err(unusable)?.next().is_some() {
        return Err(ClaimError::Shared { dir: dir.into(), mode });
    }
    std::fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(unusable)
}

impl From<ClaimError> for Failure {
    fn from(error: ClaimError) -> Failure {
        let (meaning, try_next) = match &error {
            ClaimError::Unusable { .. } => (
                "without it, nothing would be remembered over a restart",
                "correct its permissions, or name another with --state-dir",
            ),
            ClaimError::Foreign { .. } => (
                "its owner could change what this server answers",
                "start understudy as its owner, or name another with --state-dir",
            ),
            ClaimError::Shared { .. } => (
                "others could read or replace what this server answers, and taking their rights away might break what \
                 else is kept there",
                "name a directory of its own with `state_dir` or --state-dir; or `chmod 700` this one",
            ),
            ClaimError::Taken { .. } => (
                "two daemons on one state would undo each other's work, so this one has not started",
                "`understudy status` asks the one that runs; stop it first, or name another directory with --state-dir",
            ),
        };
        Failure::new(error.to_string(), meaning, try_next)
    }
}
