//! Zone texts, kept under their digests: what was verified is what a restart publishes, whatever the files say by then.

use rusqlite::{OptionalExtension, Transaction, params};

use super::error::unreadable;
use super::{Store, StoreError};
use crate::digest::Digest;
use crate::name::{Name, NameRef};

/// For whom of a zone's sites a text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What all sites share.
    Common,
    /// What one site has, by the site's name.
    Site(String),
}

/// A file as it was read: a zone's main one, or one that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// For which sites.
    pub role: Role,
    /// The path, as the configuration or the including file names it.
    pub path: String,
    /// What was in it.
    pub octets: Vec<u8>,
}

/// What identifies a bundle: the digest of its zone and of the role, path and text of each of its sources, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct BundleId(pub Digest);

impl BundleId {
    /// The id of the bundle of these sources.
    pub fn of(zone: NameRef<'_>, sources: &[Source]) -> BundleId {
        let mut parts = vec![zone_key(zone).into_bytes()];
        for source in sources {
            parts.push(match &source.role {
                Role::Common => vec![0],
                Role::Site(site) => [&[1], site.as_bytes()].concat(),
            });
            parts.push(source.path.clone().into_bytes());
            parts.push(Digest::of(&source.octets).as_bytes().to_vec());
        }
        BundleId(Digest::of_parts(parts))
    }
}

/// All texts of a zone at one time, in the order they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The zone.
    pub zone: Name,
    /// Its sources.
    pub sources: Vec<Source>,
}

/// What [`Texts::prune`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many bundles.
    pub bundles: usize,
    /// How many texts.
    pub texts: usize,
}

/// The texts of a store.
#[derive(Clone, Debug)]
pub struct Texts(Store);

impl Store {
    /// The zone texts.
    pub fn texts(&self) -> Texts {
        Texts(self.clone())
    }
}

impl Texts {
    /// Keeps the texts of a zone for `holder` (a plan's digest, say) until it is let go of by [`Texts::release`] or
    /// the bundle is published. Keeping the same texts again changes nothing.
    pub fn keep(&self, holder: &str, zone: NameRef<'_>, sources: &[Source]) -> Result<BundleId, StoreError> {
        let id = BundleId::of(zone, sources);
        self.0.write(|tx| {
            let bundle = id.0.as_bytes();
            let new = tx.execute(
                "INSERT INTO bundle (digest, zone) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![bundle, zone_key(zone)],
            )?;
            if new > 0 {
                insert_sources(tx, id, sources)?;
            }
            tx.execute(
                "INSERT INTO planned (bundle, holder) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (bundle, holder),
            )?;
            Ok(id)
        })
    }

    /// Lets go of all that `holder` kept. What is live, previous or kept for another stays.
    pub fn release(&self, holder: &str) -> Result<(), StoreError> {
        self.0.write(|tx| {
            tx.execute("DELETE FROM planned WHERE holder = ?1", [holder])?;
            Ok(())
        })
    }

    /// Who keeps bundles that may not be published yet, sorted.
    pub fn holders(&self) -> Result<Vec<String>, StoreError> {
        self.0.read(|tx| {
            let mut rows = tx.prepare("SELECT DISTINCT holder FROM planned ORDER BY holder")?;
            Ok(rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
        })
    }

    /// The bundle, if it is kept; each text is held against its digest.
    pub fn bundle(&self, id: BundleId) -> Result<Option<Bundle>, StoreError> {
        self.0.read(|tx| {
            let zone = tx
                .query_row("SELECT zone FROM bundle WHERE digest = ?1", [id.0.as_bytes()], |row| {
                    row.get::<_, String>(0)
                })
                .optional()?;
            let Some(zone) = zone else { return Ok(None) };
            let zone = Name::absolute(&zone).map_err(unreadable)?;
            let sources = tx
                .prepare(
                    "SELECT site, path, octets FROM bundle_text JOIN text ON text.digest = bundle_text.text
                     WHERE bundle = ?1 ORDER BY position",
                )?
                .query_map([id.0.as_bytes()], |row| {
                    let role = row.get::<_, Option<String>>(0)?.map_or(Role::Common, Role::Site);
                    Ok(Source { role, path: row.get(1)?, octets: row.get(2)? })
                })?
                .collect::<Result<Vec<_>, _>>()?;
            if BundleId::of(zone.as_ref(), &sources) != id {
                return Err(StoreError::unreadable(format!("bundle {} holds other texts than it did", id.0.short())));
            }
            Ok(Some(Bundle { zone, sources }))
        })
    }

    /// Removes bundles that are neither live nor previous nor kept for a holder, and the texts that no bundle has then.
    pub fn prune(&self) -> Result<Pruned, StoreError> {
        self.0.write(|tx| {
            let bundles = tx.execute(
                "DELETE FROM bundle
                 WHERE NOT EXISTS (SELECT 1 FROM zone WHERE live = bundle.digest)
                   AND NOT EXISTS (SELECT 1 FROM zone WHERE previous = bundle.digest)
                   AND NOT EXISTS (SELECT 1 FROM planned WHERE bundle = bundle.digest)",
                [],
            )?;
            let texts = tx.execute(
                "DELETE FROM text WHERE NOT EXISTS (SELECT 1 FROM bundle_text WHERE text = text.digest)",
                [],
            )?;
            Ok(Pruned { bundles, texts })
        })
    }
}

fn insert_sources(tx: &Transaction<'_>, id: BundleId, sources: &[Source]) -> Result<(), StoreError> {
    let mut text = tx.prepare("INSERT INTO text (digest, octets) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    let mut place =
        tx.prepare("INSERT INTO bundle_text (bundle, position, site, path, text) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (position, source) in sources.iter().enumerate() {
        let digest = Digest::of(&source.octets);
        text.execute(params![digest.as_bytes(), source.octets])?;
        let site = match &source.role {
            Role::Common => None,
            Role::Site(site) => Some(site),
        };
        place.execute(params![id.0.as_bytes(), position, site, source.path, digest.as_bytes()])?;
    }
    Ok(())
}

/// What a zone is called in the tables: its name in lower case, absolute.
pub(super) fn zone_key(zone: NameRef<'_>) -> String {
    zone.to_lowercase().to_string()
}
