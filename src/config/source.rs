//! Where a configuration comes from: a file, or the command line alone.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::{Config, Problems, ZoneConfig, read};
use crate::name::Name;

/// The file that is read where none is named.
pub const USUAL_FILE: &str = "understudy.toml";

/// Where a configuration comes from, and what the command line puts in its place. It is loaded anew at each reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Where zones and all else are configured.
    pub origin: Origin,
    /// Addresses to listen on instead of the configured ones; none: the configured ones.
    pub listen: Vec<SocketAddr>,
    /// The number of UDP workers instead of the configured one.
    pub workers: Option<NonZeroUsize>,
    /// The state directory instead of the configured one.
    pub state_dir: Option<PathBuf>,
}

/// Where zones are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In this file, or in the usual one here.
    File(Option<PathBuf>),
    /// On the command line: origins and their files.
    Bare(Vec<(Name, PathBuf)>),
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::File(None)
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No file was named, and the usual one is not here.
    #[error("there is no {USUAL_FILE} in this directory")]
    NotHere,
    /// The file can't be read.
    #[error("{} can't be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is in another encoding, or no text at all.
    #[error("{}:{line}: this line is not UTF-8, as a TOML file has to be", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first such line, from 1.
        line: usize,
    },
    /// The file has errors.
    #[error("{0}")]
    Wrong(Problems),
}

impl Source {
    /// The configuration as it stands now.
    pub fn load(&self) -> Result<Config, SourceError> {
        let mut config = match &self.origin {
            Origin::File(path) => {
                let (path, text) = text_of(path.as_deref())?;
                read(&path, &text).map_err(SourceError::Wrong)?
            }
            Origin::Bare(zones) => Config {
                zones: zones.iter().map(|(name, file)| ZoneConfig::bare(name.clone(), file.clone())).collect(),
                ..Config::bare()
            },
        };
        if !self.listen.is_empty() {
            config.server.listen.clone_from(&self.listen);
        }
        config.server.workers = self.workers.or(config.server.workers);
        config.state_dir = self.state_dir.clone().or(config.state_dir);
        Ok(config)
    }

    /// The state directory alone. A file with errors elsewhere does not hide it: who has to move traffic now must not
    /// have to correct the configuration first.
    pub fn state_dir(&self) -> Result<Option<PathBuf>, SourceError> {
        let Origin::File(path) = &self.origin else { return Ok(self.state_dir.clone()) };
        if self.state_dir.is_some() {
            return Ok(self.state_dir.clone());
        }
        let (path, text) = text_of(path.as_deref())?;
        let (parsed, _) = toml::de::DeTable::parse_recoverable(&text);
        let named = parsed.get_ref().get("state_dir").and_then(|found| found.get_ref().as_str());
        Ok(Some(path.parent().unwrap_or(Path::new("")).join(named.unwrap_or("var"))))
    }
}

fn text_of(path: Option<&Path>) -> Result<(PathBuf, String), SourceError> {
    let given = path.unwrap_or(Path::new(USUAL_FILE));
    match std::fs::read(given) {
        Ok(octets) => match String::from_utf8(octets) {
            Ok(text) => Ok((given.into(), text)),
            Err(error) => {
                let front = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + front.iter().filter(|octet| **octet == b'\n').count();
                Err(SourceError::NotUtf8 { path: given.into(), line })
            }
        },
        Err(error) if path.is_none() && error.kind() == std::io::ErrorKind::NotFound => Err(SourceError::NotHere),
        Err(error) => Err(SourceError::Unreadable { path: given.into(), error }),
    }
}
