//! Zone texts, kept under their digests: what was verified is what a restart publishes, whatever the files say by then.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::blob::ZeroBlob;
use rusqlite::{OptionalExtension, Transaction, params};

use super::error::unreadable;
use super::files::Kept;
use super::{Store, StoreError};
use crate::digest::Digest;
use crate::name::{Name, NameRef};

/// For whom of a zone's sites a text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What all sites share, as the site of this name was published with it. Sites may have been published with
    /// different ones: where a site's texts have errors it keeps its last good ones, the common one too.
    Common(String),
    /// What one site has, by the site's name.
    Site(String),
}

impl Role {
    /// Whether it is the common text, and of which site.
    fn parts(&self) -> (bool, &str) {
        match self {
            Role::Common(site) => (true, site),
            Role::Site(site) => (false, site),
        }
    }
}

/// The files that were read for one role of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// For which sites.
    pub role: Role,
    /// The files, and which inclusion led to which.
    pub kept: Kept,
}

/// What identifies a bundle: the digest of its zone and parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct BundleId(pub Digest);

impl BundleId {
    /// The id of the bundle of these parts, in this order.
    pub fn of(zone: NameRef<'_>, parts: &[Part]) -> BundleId {
        BundleId::of_digested(zone, parts, &digests(parts))
    }

    /// The same where the digests of all files are known, in order.
    fn of_digested(zone: NameRef<'_>, parts: &[Part], digests: &[Digest]) -> BundleId {
        let mut digests = digests.iter();
        let mut hashed = vec![zone_key(zone).into_bytes()];
        for Part { role, kept } in parts {
            let (common, site) = role.parts();
            hashed.push([&[u8::from(!common)], site.as_bytes()].concat());
            hashed.push(kept.root.clone().into_bytes());
            hashed.push(kept.files.len().to_be_bytes().into());
            for (path, digest) in kept.files.keys().zip(&mut digests) {
                hashed.extend([path.clone().into_bytes(), digest.as_bytes().to_vec()]);
            }
            hashed.push(kept.included.len().to_be_bytes().into());
            for ((including, written), path) in &kept.included {
                hashed.extend([including, written, path].map(|text| text.clone().into_bytes()));
            }
        }
        BundleId(Digest::of_parts(hashed))
    }
}

/// The digests of the files of all parts, in order.
fn digests(parts: &[Part]) -> Vec<Digest> {
    parts.iter().flat_map(|part| part.kept.files.values()).map(|octets| Digest::of(octets)).collect()
}

/// All texts of a zone at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The zone.
    pub zone: Name,
    /// The texts of its roles, in the order they were kept.
    pub parts: Vec<Part>,
}

impl Bundle {
    /// The sites that it has texts of, each once, in the order they were kept.
    pub fn sites(&self) -> Vec<&str> {
        let mut sites: Vec<&str> = self.parts.iter().map(|part| part.role.parts().1).collect();
        // The texts of a site stand together.
        sites.dedup();
        sites
    }
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
    pub fn keep(&self, holder: &str, zone: NameRef<'_>, parts: &[Part]) -> Result<BundleId, StoreError> {
        self.0.write(|tx| keep(tx, holder, zone, parts))
    }

    /// Keeps the texts of several zones, as [`Texts::keep`] does, in one transaction.
    pub fn keep_all(&self, holder: &str, bundles: &[(Name, Vec<Part>)]) -> Result<Vec<BundleId>, StoreError> {
        self.0.write(|tx| bundles.iter().map(|(zone, parts)| keep(tx, holder, zone.as_ref(), parts)).collect())
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
            let parts = select_parts(tx, id)?;
            if BundleId::of(zone.as_ref(), &parts) != id {
                return Err(StoreError::unreadable(format!("bundle {} holds other texts than it did", id.0.short())));
            }
            Ok(Some(Bundle { zone, parts }))
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
                "DELETE FROM text WHERE NOT EXISTS (SELECT 1 FROM part_text WHERE part_text.text = text.digest)",
                [],
            )?;
            Ok(Pruned { bundles, texts })
        })
    }
}

fn keep(tx: &Transaction<'_>, holder: &str, zone: NameRef<'_>, parts: &[Part]) -> Result<BundleId, StoreError> {
    // A large zone's files are digested once.
    let digests = digests(parts);
    let id = BundleId::of_digested(zone, parts, &digests);
    let bundle = id.0.as_bytes();
    let new = tx
        .prepare_cached("INSERT INTO bundle (digest, zone) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute(params![bundle, zone_key(zone)])?;
    if new > 0 {
        insert_parts(tx, id, parts, &digests)?;
    }
    tx.prepare_cached("INSERT INTO planned (bundle, holder) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((bundle, holder))?;
    Ok(id)
}

fn insert_parts(tx: &Transaction<'_>, id: BundleId, parts: &[Part], digests: &[Digest]) -> Result<(), StoreError> {
    let mut digests = digests.iter();
    let bundle = id.0.as_bytes();
    let mut text = tx.prepare_cached("INSERT INTO text (digest, octets) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    let mut part = tx.prepare_cached(
        "INSERT INTO part (bundle, position, common, site, root, included) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut place =
        tx.prepare_cached("INSERT INTO part_text (bundle, position, path, text) VALUES (?1, ?2, ?3, ?4)")?;
    for (position, Part { role, kept }) in parts.iter().enumerate() {
        let (common, site) = role.parts();
        let included: Vec<_> =
            kept.included.iter().map(|((including, written), path)| (including, written, path)).collect();
        let included = serde_json::to_string(&included).map_err(StoreError::unreadable)?;
        part.execute(params![bundle, position, common, site, kept.root, included])?;
        for ((path, octets), digest) in kept.files.iter().zip(&mut digests) {
            // Room first, then the octets straight into it: SQLite would copy them twice on their way in.
            let room = ZeroBlob(octets.len() as u64);
            if text.execute(params![digest.as_bytes(), room])? > 0 {
                let mut blob = tx.blob_open("main", "text", "octets", tx.last_insert_rowid(), false)?;
                blob.write_all_at(octets, 0)?;
            }
            place.execute(params![bundle, position, path, digest.as_bytes()])?;
        }
    }
    Ok(())
}

fn select_parts(tx: &Transaction<'_>, id: BundleId) -> Result<Vec<Part>, StoreError> {
    let bundle = id.0.as_bytes();
    let mut parts = tx
        .prepare("SELECT common, site, root, included FROM part WHERE bundle = ?1 ORDER BY position")?
        .query_map([bundle], |row| {
            let role = if row.get(0)? { Role::Common(row.get(1)?) } else { Role::Site(row.get(1)?) };
            let included: Vec<(String, String, String)> =
                serde_json::from_str(&row.get::<_, String>(3)?).map_err(unreadable)?;
            let included =
                included.into_iter().map(|(including, written, path)| ((including, written), path)).collect();
            Ok(Part { role, kept: Kept { root: row.get(2)?, files: BTreeMap::new(), included } })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let mut texts = tx.prepare(
        "SELECT path, octets FROM part_text JOIN text ON text.digest = part_text.text
         WHERE bundle = ?1 AND position = ?2",
    )?;
    for (position, part) in parts.iter_mut().enumerate() {
        let files = texts
            .query_map(params![bundle, position], |row| Ok((row.get(0)?, Arc::from(row.get_ref(1)?.as_blob()?))))?;
        part.kept.files = files.collect::<Result<_, _>>()?;
    }
    Ok(parts)
}

/// What a zone is called in the tables: its name in lower case, absolute.
pub(super) fn zone_key(zone: NameRef<'_>) -> String {
    zone.to_lowercase().to_string()
}
