//! Master files on disk, and the ones that were kept in the state: where the zone reader gets its sources from.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::stamps::Stamps;
use crate::zone::reader::{Source, Sources};

/// The most octets that a master file may have: more than any zone needs, and what record places can count.
const MAX_FILE: u64 = 4 << 30;
/// How often a file is read that changes meanwhile, before it is given up.
const READINGS: usize = 5;

/// Why a master file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It does not exist, or the system refuses it.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The path as it was asked for.
        path: String,
        /// What the system says.
        why: io::Error,
    },
    /// It is a directory, a device, a pipe or a socket.
    #[error("{path} is {what}, not a file: nothing was read, and it does not count as an empty zone")]
    NotAFile {
        /// The path as it was asked for.
        path: String,
        /// What it is instead.
        what: &'static str,
    },
    /// It is absurdly large.
    #[error("{path} has more than 4 GiB: is it the right file?")]
    TooLarge {
        /// The path as it was asked for.
        path: String,
    },
    /// Somebody wrote to it while it was read, each time.
    #[error(
        "{path} changed while it was read: what it says is unknown; try again once it is written, and write a new file \
         beside it that is renamed into its place"
    )]
    Changing {
        /// The path as it was asked for.
        path: String,
    },
    /// It lies outside the directory of the configuration.
    #[error("{path} lies outside {root}, links resolved: move the file there, or allow includes from outside")]
    Outside {
        /// The path with links resolved.
        path: String,
        /// The directory that files may lie in.
        root: String,
    },
    /// The path is not UTF-8.
    #[error("{path} is not UTF-8: rename the file")]
    BadPath {
        /// The path, as well as it can be shown.
        path: String,
    },
}

/// All that was opened while a zone was read: enough to read it again when the files are broken or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The path of the zone's own master file.
    pub root: String,
    /// The content of each file by its path.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Which file each inclusion led to: (path of the including file, path as it is written there) → path.
    pub included: BTreeMap<(String, String), String>,
}

/// Master files of the file system below one directory.
///
/// Files inside it are known by their path from there, others by their absolute path, links resolved.
#[derive(Debug)]
pub struct FileSources {
    /// The directory of the configuration.
    home: PathBuf,
    /// The directory that inclusions may not leave.
    root: PathBuf,
    allow_outside: bool,
    kept: Kept,
    stamps: Stamps,
}

impl FileSources {
    /// Files below `root_dir`, the directory of the configuration; anywhere if `allow_outside`. A zone whose own file lies
    /// elsewhere includes files from below that file's directory instead.
    pub fn new(root_dir: impl AsRef<Path>, allow_outside: bool) -> Result<FileSources, FilesError> {
        let root_dir = root_dir.as_ref();
        let root = root_dir.canonicalize().map_err(|why| unreadable(root_dir, why))?;
        Ok(FileSources { home: root.clone(), root, allow_outside, kept: Kept::default(), stamps: Stamps::default() })
    }

    /// A zone's own master file: `path` counts from the root directory. What was opened before is forgotten.
    pub fn root(&mut self, path: impl AsRef<Path>) -> Result<Source, FilesError> {
        let path = self.home.join(path);
        let real = path.canonicalize().map_err(|why| unreadable(&path, why))?;
        // Operators name a zone's own file; what that includes is named by whoever may write to it.
        self.root = match real.parent() {
            Some(parent) if !real.starts_with(&self.home) => parent.into(),
            _ => self.home.clone(),
        };
        self.stamps = Stamps::default();
        let source = self.load(&path)?;
        self.kept = Kept { root: source.path.clone(), ..Kept::default() };
        self.kept.files.insert(source.path.clone(), source.octets.clone());
        Ok(source)
    }

    /// What was opened since the call of [`FileSources::root`].
    pub fn into_kept(self) -> Kept {
        self.kept
    }

    /// How to tell whether that is still what there is to read.
    pub fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    fn load(&mut self, path: &Path) -> Result<Source, FilesError> {
        let real = path.canonicalize().map_err(|why| unreadable(path, why))?;
        let inside = real.strip_prefix(&self.root);
        if inside.is_err() && !self.allow_outside {
            return Err(FilesError::Outside { path: shown(&real), root: shown(&self.root) });
        }
        let known_as = inside.unwrap_or(&real).to_str().ok_or_else(|| FilesError::BadPath { path: shown(&real) })?;
        for _ in 0..READINGS {
            let now = SystemTime::now();
            if let Some((octets, meta)) = read_still(path, &real, |file, octets| file.read_to_end(octets))? {
                self.stamps.note(path, &meta, &octets, now);
                return Ok(Source { path: known_as.to_owned(), octets: octets.into() });
            }
        }
        Err(FilesError::Changing { path: shown(path) })
    }
}

/// The content of a file, read by `read`; none if it was written to meanwhile: half of an edit is no content.
fn read_still(
    path: &Path,
    real: &Path,
    read: impl FnOnce(&mut io::Take<&File>, &mut Vec<u8>) -> io::Result<usize>,
) -> Result<Option<(Vec<u8>, fs::Metadata)>, FilesError> {
    let unreadable = |why| unreadable(path, why);
    // Asked before it is opened, since opening a pipe waits for its other end.
    regular(path, &fs::metadata(real).map_err(unreadable)?)?;
    let file = File::open(real).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    regular(path, &meta)?;
    let too_large = || FilesError::TooLarge { path: shown(path) };
    if meta.len() > MAX_FILE {
        return Err(too_large());
    }
    let mut octets = Vec::with_capacity(usize::try_from(meta.len()).map_err(|_| too_large())?);
    read(&mut (&file).take(MAX_FILE + 1), &mut octets).map_err(unreadable)?;
    if octets.len() as u64 > MAX_FILE {
        return Err(too_large());
    }
    let state = |meta: &fs::Metadata| (meta.len(), meta.mtime(), meta.mtime_nsec());
    let after = file.metadata().map_err(unreadable)?;
    Ok((state(&meta) == state(&after) && meta.len() == octets.len() as u64).then_some((octets, after)))
}

impl Sources for FileSources {
    fn open(&mut self, including: &str, path: &str) -> Result<Source, String> {
        let from = self.root.join(including);
        let from = from.parent().unwrap_or(&self.root);
        let mut source = self.load(&from.join(path)).map_err(|error| error.to_string())?;
        // A file that changes while the zone is read counts as it was first seen.
        let first = self.kept.files.entry(source.path.clone()).or_insert_with(|| source.octets.clone());
        source.octets = first.clone();
        self.kept.included.insert((including.to_owned(), path.to_owned()), source.path.clone());
        Ok(source)
    }
}

/// The files of a zone as they were kept: reading it from here is reading it as it was then.
#[derive(Clone, Debug)]
pub struct KeptSources(pub Kept);

impl KeptSources {
    /// The zone's own master file, if it was kept.
    pub fn root(&self) -> Option<Source> {
        self.source(&self.0.root)
    }

    fn source(&self, path: &str) -> Option<Source> {
        self.0.files.get(path).map(|octets| Source { path: path.to_owned(), octets: octets.clone() })
    }
}

impl Sources for KeptSources {
    fn open(&mut self, including: &str, path: &str) -> Result<Source, String> {
        let key = (including.to_owned(), path.to_owned());
        let known_as = self.0.included.get(&key);
        known_as
            .and_then(|path| self.source(path))
            .ok_or_else(|| format!("{path}, included from {including}, is not among the kept files of this zone"))
    }
}

fn regular(path: &Path, meta: &fs::Metadata) -> Result<(), FilesError> {
    if meta.is_file() {
        return Ok(());
    }
    let what = if meta.is_dir() { "a directory" } else { "a device, pipe or socket" };
    Err(FilesError::NotAFile { path: shown(path), what })
}

fn unreadable(path: &Path, why: io::Error) -> FilesError {
    FilesError::Unreadable { path: shown(path), why }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::name::Name;
    use crate::zone::reader::read;

    fn write(dir: &Path, path: &str, text: &str) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_zone_reads_the_same_from_disk_and_from_what_was_kept() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "zones/x", "$TTL 60\n@ TXT root\n$INCLUDE inc/a\n");
        write(dir.path(), "zones/inc/a", "@ TXT a\n$INCLUDE ../b sub\n");
        write(dir.path(), "zones/b", "@ TXT b\n");
        let mut files = FileSources::new(dir.path(), false).unwrap();
        let root = files.root("zones/x").unwrap();
        let origin = Name::absolute("x.test").unwrap();
        let text = read(&origin, root, &mut files).into_text().unwrap();
        assert_eq!(text.files, ["zones/x", "zones/inc/a", "zones/b"]);
        let kept = files.into_kept();
        drop(dir);
        let mut kept = KeptSources(kept);
        let again = read(&origin, kept.root().unwrap(), &mut kept).into_text().unwrap();
        assert_eq!(again.files, text.files);
        assert!(again.records.iter().eq(text.records.iter()));
        assert_eq!(again.records.len(), 3);
        assert!(kept.open("zones/x", "elsewhere").unwrap_err().contains("elsewhere"));
    }

    #[test]
    fn what_is_written_while_it_is_read_is_no_content() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "x", "@ TXT one\n@ TXT two\n");
        let path = dir.path().join("x");
        let still = |meddle: &dyn Fn()| {
            read_still(&path, &path, |file, octets| {
                let read = file.read_to_end(octets);
                meddle();
                read
            })
            .map(|read| read.map(|(octets, _)| octets))
        };
        assert_eq!(still(&|| ()).unwrap().unwrap(), b"@ TXT one\n@ TXT two\n");
        let hour = std::time::Duration::from_secs(3600);
        let again = std::time::SystemTime::now() + hour;
        let edits: [&dyn Fn(); 3] = [
            &|| fs::write(&path, "@ TXT one\n").unwrap(),
            // The same length, at another time.
            &|| File::options().write(true).open(&path).unwrap().set_modified(again).unwrap(),
            &|| fs::write(&path, "@ TXT one\n@ TXT two and more\n").unwrap(),
        ];
        for edit in edits {
            assert_eq!(still(edit).unwrap(), None);
        }
        assert!(still(&|| ()).unwrap().is_some());
    }

    #[test]
    fn what_is_no_file_inside_is_refused_with_its_cause() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(outside.path(), "secret", "@ TXT secret\n");
        write(dir.path(), "inside", "");
        fs::create_dir(dir.path().join("directory")).unwrap();
        symlink(outside.path().join("secret"), dir.path().join("link")).unwrap();
        symlink("inside", dir.path().join("inner-link")).unwrap();
        File::create(dir.path().join("huge")).unwrap().set_len(MAX_FILE + 1).unwrap();
        nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut files = FileSources::new(dir.path(), false).unwrap();
        for (path, why) in [
            ("directory", "is a directory"),
            ("missing", "No such file"),
            ("link", "lies outside"),
            ("../etc/passwd", ""),
            ("huge", "4 GiB"),
            ("pipe", "pipe"),
        ] {
            let error = files.open("inside", path).unwrap_err();
            assert!(error.contains(why), "{path}: {error}");
        }
        assert_eq!(files.open("inside", "inner-link").unwrap().path, "inside");
        let secret = outside.path().join("secret");
        assert!(files.open("inside", secret.to_str().unwrap()).is_err());
        let mut anywhere = FileSources::new(dir.path(), true).unwrap();
        assert_eq!(&*anywhere.open("inside", "link").unwrap().octets, b"@ TXT secret\n");

        // A zone's own file may lie anywhere, and includes what lies beside it.
        assert_eq!(files.root(&secret).unwrap().path, "secret");
        assert!(files.open("secret", "secret").is_ok());
        assert!(
            files.open("secret", dir.path().join("inside").to_str().unwrap()).unwrap_err().contains("lies outside")
        );
        assert_eq!(files.root("inside").unwrap().path, "inside");
        assert!(files.open("inside", secret.to_str().unwrap()).unwrap_err().contains("lies outside"));
    }
}
