//! Starting: what was verified before a restart is served first, whatever the files say by then.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::load::{SiteTexts, from_kept};
use super::publish::{HOLDER, Last};
use super::readings::Readings;
use super::setup::{Setup, ZoneSpec};
use super::standby::Standby;
use super::{Driver, DriverError, STREAM};
use crate::door::{Candidate, Proposal};
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serve::stage::Stage;
use crate::serving::content::{Content, SiteId};
use crate::serving::regions::{DEFAULT, Regions};
use crate::serving::{Routing, Serving};
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::Journal;
use crate::store::texts::Bundle;

impl Driver {
    /// Opens the journal and publishes what it says was last published. Zones that it knows nothing of come with the
    /// first reload.
    pub fn start(setup: Setup, store: Store, key: HashKey) -> Result<Driver, DriverError> {
        let journal = store.journal();
        // A crash may have left texts that were never published.
        if let Err(error) = store.texts().release(HOLDER) {
            tracing::warn!(%error, "texts that nothing refers to could not be let go of");
        }
        let latest = journal.latest(STREAM)?;
        let generation = latest.as_ref().map_or(0, |row| row.generation);
        let regions = Regions::new(&setup.regions);
        let serving =
            Arc::new(Serving::empty(generation, key, setup.settings.clone(), regions).with_units(setup.units.clone()));
        let readings = Readings::default();
        let mut driver = Driver {
            standby: Standby::start(readings.clone())?,
            readings,
            stage: Stage::new(Arc::clone(&serving))?,
            serving,
            last: latest.map(|row| row.sequence),
            setup,
            store,
            journal,
            published: HashMap::new(),
            health: HashMap::new(),
            listeners: Vec::new(),
        };
        driver.restore(generation)?;
        Ok(driver)
    }

    /// What this driver changes.
    pub fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    fn restore(&mut self, generation: u64) -> Result<(), DriverError> {
        let mut proposals = Vec::new();
        for row in self.journal.published()? {
            let last = Last::of(&row);
            if !last.is_withdrawn() {
                let Some(bundle) = self.store.texts().bundle(row.live)? else {
                    return Err(DriverError::Row { zone: row.zone, why: "its texts are missing".into() });
                };
                match self.restored(&row.zone, &last, &bundle) {
                    Some(proposal) => proposals.push(proposal),
                    None => tracing::error!(zone = %row.zone, "what was last published cannot be restored"),
                }
            }
            self.published.insert(row.zone, last);
        }
        let candidate = Candidate::restored(Arc::clone(&self.serving), generation, proposals, super::now());
        match candidate.verify(&[]) {
            Ok(verified) => {
                self.stage.publish(&verified);
                self.serving = Arc::clone(verified.serving());
            }
            Err(refused) => tracing::error!(?refused, "what was last published does not pass the gates"),
        }
        Ok(())
    }

    /// What the journal says of a zone, made anew from the texts that were kept for it: all sites that it was published
    /// with, whatever the configuration says by then. What the configuration says comes with the first reload, and with
    /// the gates of a reload.
    fn restored(&self, zone: &Name, last: &Last, bundle: &Bundle) -> Option<Proposal> {
        let spec = self.setup.zone(zone);
        let origin = spec.map_or(zone, |spec| &spec.origin).clone();
        let policy = last.policy(&spec.map(|spec| spec.policy.clone()).unwrap_or_default());
        let mut sites = Vec::new();
        for name in bundle.sites() {
            let loading = from_kept(&origin, name, SiteTexts::of_bundle(name, bundle), self.shape(&policy));
            match loading.content {
                Some(content) => sites.push(content),
                None => tracing::error!(
                    zone = %origin, site = name, findings = ?loading.diagnostics,
                    "the kept texts of this site can no longer be served"
                ),
            }
        }
        if sites.is_empty() {
            return None;
        }
        let content = Arc::new(Content { origin, sites, policy, epoch: last.epoch() });
        let routing = self.routing_from(&last.record, spec, &content);
        let loads =
            Finding::pass(id::LOADS, content.origin.as_ref(), "restored from the texts that were verified".to_owned());
        Some(Proposal { content, routing, loads, restored: Some(last.serial) })
    }

    /// Routing as the journal keeps it, for the regions and sites there are now.
    pub(super) fn routing_from(&self, record: &Value, spec: Option<&ZoneSpec>, content: &Content) -> Routing {
        let mut routing = spec.map_or_else(|| self.nowhere(), |spec| self.first_routing(spec, content));
        let regions = &record["regions"];
        for (region, name) in self.serving.regions.iter() {
            // A region that is new was part of everybody else.
            let kept = regions.get(name).or_else(|| regions.get(DEFAULT)).and_then(Value::as_str);
            match kept.and_then(|site| content.site_named(site)) {
                Some(site) => routing.set(region, site, record["moved"][name].as_u64().unwrap_or(0)),
                None => tracing::warn!(
                    zone = %content.origin, region = name, site = kept,
                    "the region was answered from a site that there is no more; it is answered from {}",
                    content.site(routing.site(region)).name
                ),
            }
        }
        routing.revision = record["revision"].as_u64().unwrap_or(0);
        routing
    }

    /// The routing of a zone that was never published: each region's first choice.
    pub(super) fn first_routing(&self, spec: &ZoneSpec, content: &Content) -> Routing {
        let site_of = |name: &str| {
            let route = spec.routes.get(name).or_else(|| spec.routes.get(DEFAULT));
            route.and_then(|site| content.site_named(site)).unwrap_or_default()
        };
        Routing::at(self.serving.regions.iter().map(|(_, name)| site_of(name)).collect())
    }

    /// All regions at the first site.
    fn nowhere(&self) -> Routing {
        Routing::at(self.serving.regions.iter().map(|_| SiteId::default()).collect())
    }
}
