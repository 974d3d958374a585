//! Starting: what was verified before a restart is served first, whatever the files say by then.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::load::{SiteTexts, from_kept};
use super::publish::HOLDER;
use super::setup::{Setup, ZoneSpec};
use super::{Driver, DriverError, STREAM};
use crate::door::{Candidate, Proposal};
use crate::gate::{Finding, id};
use crate::serve::stage::Stage;
use crate::serving::content::Content;
use crate::serving::regions::Regions;
use crate::serving::{Routing, Serving};
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::{Journal, Published};
use crate::store::texts::Bundle;

impl Driver {
    /// Opens the journal and publishes what it says was last published. Zones that it knows nothing of come with the
    /// first reload.
    pub fn start(setup: Setup, store: Store, key: HashKey) -> Result<Driver, DriverError> {
        let journal = store.journal();
        // A crash may have left texts that were never published.
        store.texts().release(HOLDER)?;
        let latest = journal.latest(STREAM)?;
        let generation = latest.as_ref().map_or(0, |row| row.generation);
        let regions = Regions::new(&setup.regions);
        let serving = Arc::new(Serving::empty(generation, key, setup.settings.clone(), regions));
        let mut driver = Driver {
            stage: Stage::new(Arc::clone(&serving))?,
            serving,
            last: latest.map(|row| row.sequence),
            setup,
            store,
            journal,
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
            let Some(spec) = self.setup.zone(&row.zone) else { continue };
            let Some(bundle) = self.store.texts().bundle(row.live)? else {
                return Err(DriverError::Row { zone: row.zone, why: "its texts are missing".into() });
            };
            match self.restored(spec, &row, &bundle) {
                Some(proposal) => proposals.push(proposal),
                None => tracing::error!(zone = %row.zone, "what was last published cannot be restored"),
            }
        }
        let candidate = Candidate::restored(Arc::clone(&self.serving), generation, proposals);
        match candidate.verify(&[]) {
            Ok(verified) => {
                self.stage.publish(&verified);
                self.serving = Arc::clone(verified.serving());
            }
            Err(refused) => tracing::error!(?refused, "what was last published does not pass the gates"),
        }
        Ok(())
    }

    /// What a row of the journal says of a zone, made anew from the texts that were kept for it.
    fn restored(&self, spec: &ZoneSpec, row: &Published, bundle: &Bundle) -> Option<Proposal> {
        let mut sites = Vec::new();
        for site in &spec.sites {
            let texts = SiteTexts::of_bundle(&site.name, bundle);
            if texts.is_empty() {
                continue; // The site is new in the configuration: it comes with the first reload.
            }
            let loading = from_kept(spec, site, texts, self.shape(spec));
            match loading.content {
                Some(content) => sites.push(content),
                None => tracing::error!(
                    zone = %spec.origin, site = site.name, findings = ?loading.diagnostics,
                    "the kept texts of this site can no longer be served"
                ),
            }
        }
        if sites.is_empty() {
            return None;
        }
        let epoch = row.routing["epoch"].as_u64().unwrap_or(0);
        let content = Arc::new(Content { origin: spec.origin.clone(), sites, policy: spec.policy.clone(), epoch });
        let routing = self.routing_from(&row.routing, spec, &content);
        let loads = Finding::pass(id::LOADS, spec.origin.as_ref(), "restored from the texts that were verified");
        Some(Proposal { content, routing, loads, restored: Some(row.serial) })
    }

    /// Routing as the journal keeps it, for the regions and sites there are now.
    fn routing_from(&self, value: &Value, spec: &ZoneSpec, content: &Content) -> Routing {
        let revision = value["revision"].as_u64().unwrap_or(0);
        let mut routing = self.first_routing(spec, content);
        routing.revision = revision;
        for (region, name) in self.serving.regions.iter() {
            // A region that is new was part of everybody else.
            let kept = value["regions"].get(name).or_else(|| value["regions"].get("default")).and_then(Value::as_str);
            match kept.and_then(|site| content.site_named(site)) {
                Some(site) => routing.sites[region.0 as usize] = site,
                None => tracing::warn!(
                    zone = %spec.origin, region = name, site = kept,
                    "the region was answered from a site that there is no more; it is answered from {}",
                    content.site(routing.site(region)).name
                ),
            }
        }
        routing
    }

    /// The routing of a zone that was never published: each region's first choice.
    pub(super) fn first_routing(&self, spec: &ZoneSpec, content: &Content) -> Routing {
        let site_of = |name: &str| {
            let route = spec.routes.get(name).or_else(|| spec.routes.get("default"));
            route.and_then(|site| content.site_named(site)).unwrap_or_default()
        };
        Routing { sites: self.serving.regions.iter().map(|(_, name)| site_of(name)).collect(), revision: 0 }
    }
}
