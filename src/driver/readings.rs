//! Files that did not change are not read again: what was made of them is what is served.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Driver;
use super::load::{Laid, Loading, SiteLoading, SiteTexts, from_files};
use super::rename::{laid_over, led_to_from_elsewhere};
use super::setup::{SiteSpec, TextFile, ZoneSpec};
use crate::name::{Name, NameRef};
use crate::serving::content::Content;
use crate::snapshot::compile::Shape;
use crate::store::stamps::Stamps;
use crate::zone::diagnostic::Diagnostic;
use crate::zone::rrsets::Zone;

/// What was made of the files of each site when they were last read without an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings(Arc<Mutex<HashMap<(Name, String), Reading>>>);

#[derive(Clone, Debug)]
struct Reading {
    place: Place,
    stamps: Stamps,
    /// What was found beside: it is to be told as long as the files are as they are.
    diagnostics: Vec<Diagnostic>,
    /// What they say. Only what is served is kept alive, and not by this.
    zone: Weak<Zone>,
}

/// Where the configuration says that a site's texts lie.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    common: Option<TextFile>,
    own: Option<TextFile>,
    include_outside: bool,
}

impl Driver {
    /// What a zone's files say now. Where renames lie over them all are read: whether these are wanted still may be a matter of other
    /// zones, too.
    pub(super) fn load_to_settle(
        &self,
        spec: &ZoneSpec,
        include_outside: bool,
        shape: Shape,
        former: Option<&Content>,
    ) -> Loading {
        if former.is_none_or(|former| former.overlays.renames.is_empty()) {
            return self.load(spec, include_outside, shape, former);
        }
        let read = |laid: &Laid<'_>| from_files(spec, include_outside, shape, former, laid, |_| None);
        self.load_by(spec, include_outside, former, read)
    }

    /// What a zone's files say now; those that are as they were when what is served was made of them are not read.
    pub(super) fn load(
        &self,
        spec: &ZoneSpec,
        include_outside: bool,
        shape: Shape,
        former: Option<&Content>,
    ) -> Loading {
        let read = |laid: &Laid<'_>| self.readings.load(spec, include_outside, shape, former, laid);
        self.load_by(spec, include_outside, former, read)
    }

    /// Has files read, and takes down what was made of which.
    fn load_by(
        &self,
        spec: &ZoneSpec,
        include_outside: bool,
        former: Option<&Content>,
        read: impl FnOnce(&Laid<'_>) -> Loading,
    ) -> Loading {
        let elsewhere = |lever: NameRef<'_>| led_to_from_elsewhere(&self.serving, &spec.origin, lever);
        let overlays = laid_over(&self.serving, &spec.origin, self.overlays_of(&spec.origin, former));
        let laid = Laid { overlays, elsewhere: &elsewhere };
        let loading = read(&laid);
        let mut readings = self.readings.lock();
        for (site, loaded) in spec.sites.iter().zip(&loading.sites) {
            let key = (spec.origin.clone(), site.name.clone());
            match &loaded.content {
                Some(content) if !loaded.texts.is_empty() => {
                    let (place, zone) = (Place::of(spec, site, include_outside), Arc::downgrade(&content.zone));
                    let (stamps, diagnostics) = (loaded.stamps.clone(), loaded.diagnostics.clone());
                    readings.insert(key, Reading { place, stamps, diagnostics, zone });
                }
                Some(_) => {}
                None => drop(readings.remove(&key)),
            }
        }
        drop(readings);
        loading
    }
}

impl Place {
    fn of(spec: &ZoneSpec, site: &SiteSpec, include_outside: bool) -> Place {
        Place { common: spec.common.clone(), own: site.file.clone(), include_outside }
    }
}

impl Readings {
    /// What a zone's files say now, without taking that down: what is known of what is served stays known.
    pub fn load(
        &self,
        spec: &ZoneSpec,
        include_outside: bool,
        shape: Shape,
        former: Option<&Content>,
        laid: &Laid<'_>,
    ) -> Loading {
        let known = |site: &SiteSpec| {
            let former = former?.sites.iter().find(|former| former.name == site.name)?;
            let reading = self.lock().get(&(spec.origin.clone(), site.name.clone())).cloned()?;
            let is_same = former.snapshot.shape() == shape
                && reading.place == Place::of(spec, site, include_outside)
                && reading.zone.ptr_eq(&Arc::downgrade(&former.zone))
                && reading.stamps.hold();
            let Reading { diagnostics, stamps, .. } = reading;
            let (name, content, texts) = (site.name.clone(), Some(former.clone()), SiteTexts::default());
            is_same.then_some(SiteLoading { name, content, diagnostics, texts, stamps })
        };
        from_files(spec, include_outside, shape, former, laid, known)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Name, String), Reading>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether some files were written so shortly before they were read that they would be read again.
    pub fn are_racy(&self) -> bool {
        self.lock().values().any(|reading| reading.zone.strong_count() > 0 && reading.stamps.are_racy())
    }

    /// Forgets the files of what is not served any more.
    pub fn tidy(&self) {
        self.lock().retain(|_, reading| reading.zone.strong_count() > 0);
    }

    /// Trusts the files that have lain still since.
    pub fn settle(&self) {
        let racy: Vec<_> = self.lock().iter().filter(|(_, reading)| reading.stamps.are_racy()).map(owned).collect();
        for (key, mut reading) in racy {
            // Without the lock: nobody waits for the disk.
            reading.stamps.settle();
            if let Some(now) = self.lock().get_mut(&key).filter(|now| now.zone.ptr_eq(&reading.zone)) {
                now.stamps = reading.stamps;
            }
        }
    }
}

fn owned((key, reading): (&(Name, String), &Reading)) -> ((Name, String), Reading) {
    (key.clone(), reading.clone())
}
