//! Whether files are still those that were read, without reading them again.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::digest::Digest;

/// A file that was written this shortly before it was read may be written again without looking any different: the
/// clocks of file systems are coarse.
const RACY: Duration = Duration::from_secs(2);

/// What tells a version of a file from all others, once it has lain still for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds, as of all times here.
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Clone, Debug)]
struct Stamp {
    path: PathBuf,
    mark: Mark,
    /// What it said, as long as the mark alone cannot be trusted.
    racy: Option<Digest>,
}

/// The files that something was made of, as they were when they were read.
#[derive(Clone, Debug, Default)]
pub struct Stamps(Vec<Stamp>);

impl Mark {
    fn of(meta: &Metadata) -> Mark {
        Mark {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether it lay still for long before `now`.
    fn is_settled(&self, now: SystemTime) -> bool {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let last = self.modified.max(self.changed);
        let last = Duration::new(u64::try_from(last.0).unwrap_or(0), u32::try_from(last.1).unwrap_or(0));
        // A file from the future is not settled before that.
        since.checked_sub(last).is_some_and(|age| age >= RACY)
    }
}

impl Stamps {
    /// Notes a file that was found at `path`, read at `now`.
    pub(super) fn note(&mut self, path: &Path, meta: &Metadata, octets: &[u8], now: SystemTime) {
        let mark = Mark::of(meta);
        let racy = (!mark.is_settled(now)).then(|| Digest::of(octets));
        self.0.push(Stamp { path: path.into(), mark, racy });
    }

    /// Takes over those of other files.
    pub fn join(&mut self, other: &Stamps) {
        self.0.extend_from_slice(&other.0);
    }

    /// Whether all files are for certain as they were, and there are any.
    pub fn hold(&self) -> bool {
        let holds = |stamp: &Stamp| stamp.racy.is_none() && stamp.is_there();
        !self.0.is_empty() && self.0.iter().all(holds)
    }

    /// Whether some were written so shortly before they were read that they are not trusted yet.
    pub fn are_racy(&self) -> bool {
        self.0.iter().any(|stamp| stamp.racy.is_some())
    }

    /// Reads those files again that were written shortly before they were read and have lain still since: who says what
    /// it said then is trusted from now on. If one says something else, none of them will ever [hold](Stamps::hold).
    pub fn settle(&mut self) {
        let now = SystemTime::now();
        for stamp in self.0.iter_mut().filter(|stamp| stamp.racy.is_some() && stamp.mark.is_settled(now)) {
            if stamp.says() != stamp.racy {
                return self.0.clear();
            }
            stamp.racy = None;
        }
    }
}

impl Stamp {
    fn is_there(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|meta| Mark::of(&meta) == self.mark)
    }

    /// What the file says, if it is the one that was read and stays so meanwhile.
    fn says(&self) -> Option<Digest> {
        // Before it is opened: a pipe that has taken its place would keep us waiting.
        if !self.is_there() {
            return None;
        }
        let mut octets = Vec::new();
        File::open(&self.path).ok()?.take(self.mark.size + 1).read_to_end(&mut octets).ok()?;
        self.is_there().then(|| Digest::of(&octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(path: &Path, read_at: SystemTime) -> Stamps {
        let mut stamps = Stamps::default();
        stamps.note(path, &fs::metadata(path).unwrap(), &fs::read(path).unwrap(), read_at);
        stamps
    }

    fn written(path: &Path, text: &str, at: SystemTime) {
        fs::write(path, text).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    #[test]
    fn a_file_that_lay_still_is_known_by_its_marks_and_any_edit_shows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("zone");
        let now = SystemTime::now();
        let (then, later) = (now - Duration::from_secs(60), now + Duration::from_secs(60));
        written(&path, "one", then);
        let held = stamps(&path, later);
        assert!(held.hold() && !held.are_racy());
        assert!(!Stamps::default().hold(), "nothing that was read is nothing known");
        let beside = dir.path().join("beside");
        let edits: [(&str, &dyn Fn()); 4] = [
            ("another size", &|| written(&path, "three", then)),
            ("the same size and time of writing", &|| written(&path, "two", then)),
            ("another file in its place", &|| {
                written(&beside, "one", then);
                fs::rename(&beside, &path).unwrap();
            }),
            ("none", &|| fs::remove_file(&path).unwrap()),
        ];
        for (what, edit) in edits {
            written(&path, "one", then);
            let held = stamps(&path, later);
            assert!(held.hold(), "{what}");
            edit();
            assert!(!held.hold(), "{what}");
        }
    }

    #[test]
    fn a_file_just_written_is_trusted_once_it_lay_still_and_says_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("zone");
        fs::write(&path, "one").unwrap();
        let written_at = fs::metadata(&path).unwrap().modified().unwrap();
        for (read_after, racy) in [(0, true), (1999, true), (2500, false)] {
            assert_eq!(
                stamps(&path, written_at + Duration::from_millis(read_after)).are_racy(),
                racy,
                "{read_after} ms"
            );
        }
        assert!(stamps(&path, written_at - Duration::from_secs(9)).are_racy(), "read before it was written");
        let mut same = stamps(&path, written_at);
        same.settle();
        assert!(same.are_racy() && !same.hold(), "it has not lain still");
        // An edit that no mark shows: what was read then was something else.
        let mut other = same.clone();
        other.0[0].racy = Some(Digest::of(b"two"));
        while !same.0[0].mark.is_settled(SystemTime::now()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        same.settle();
        assert!(same.hold());
        other.settle();
        assert!(!other.hold());
    }
}
