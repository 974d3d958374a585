//! Starting: what was verified before a restart is served first, whatever the files say by then.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::bounds::{Bounds, start_folding};
use super::drills::Drills;
use super::engine::{By, EndedStream, Engine};
use super::load::{SiteTexts, from_kept};
use super::publish::{HOLDER, Last};
use super::readings::Readings;
use super::rename::Renames;
use super::sampling::Sampling;
use super::setup::{Setup, ZoneSpec};
use super::sharing::share;
use super::standby::Standby;
use super::{Driver, DriverError, STREAM};
use crate::door::{Proposal, Verified};
use crate::failover::event::Event;
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::state::State;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::pages::give_back_large_memory;
use crate::serve::stage::Stage;
use crate::serving::Serving;
use crate::serving::content::{Content, SiteId};
use crate::serving::regions::{DEFAULT, Regions};
use crate::serving::routing::Routing;
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::{Journal, Row};
use crate::store::texts::Bundle;
use crate::world::routing::{from_view, routing_of, view_of};

impl Driver {
    /// Opens the journal and publishes what it says was last published. Zones that it knows nothing of come with the
    /// first reload.
    pub fn start(setup: Setup, store: Store, key: HashKey) -> Result<Driver, DriverError> {
        give_back_large_memory();
        let journal = store.journal();
        // A crash may have left texts that were never published.
        if let Err(error) = store.texts().release(HOLDER) {
            tracing::warn!(%error, "texts that nothing refers to could not be let go of");
        }
        let latest = journal.latest(STREAM)?;
        // Moves are in streams of their own.
        let published = journal.published()?.into_iter().map(|row| row.generation).max();
        let generation = latest.as_ref().map(|row| row.generation).max(published).unwrap_or(0);
        let regions = Regions::new(&setup.regions);
        let serving =
            Arc::new(Serving::empty(generation, key, setup.settings.clone(), regions).with_units(setup.units.clone()));
        let readings = Readings::default();
        let folding = setup.exposures.map(|limits| start_folding(limits, &store)).transpose()?;
        let mut driver = Driver {
            standby: Standby::start(readings.clone())?,
            readings,
            drills: Drills::open(&store)?,
            put_off: HashMap::new(),
            stage: Stage::noted(Arc::clone(&serving), folding.clone())?,
            folding,
            bounds: Bounds::default(),
            serving,
            last: latest.map(|row| row.sequence),
            setup,
            store,
            journal,
            published: HashMap::new(),
            health: HashMap::new(),
            lost: None,
            engines: HashMap::new(),
            ended_streams: HashMap::new(),
            alerts: VecDeque::new(),
            cleared: None,
            queued: BTreeSet::new(),
            own: Vec::new(),
            listeners: Vec::new(),
            sampling: Sampling::default(),
            renames: Renames::default(),
        };
        driver.refuse_other_zones()?;
        driver.restore(generation)?;
        driver.restore_exposures()?;
        if !driver.store.has_begun()? {
            driver.lost = Some("the state directory was found empty, and `understudy init` was never typed".into());
        }
        Ok(driver)
    }

    /// A state that shares no zone with the configuration is not this one's: what is in it would be served, and lost.
    fn refuse_other_zones(&self) -> Result<(), DriverError> {
        let published = self.journal.published()?;
        let zones: Vec<&Name> =
            published.iter().filter(|row| !Last::of(row).is_withdrawn()).map(|row| &row.zone).collect();
        if zones.is_empty() || self.setup.zones.is_empty() || zones.iter().any(|zone| self.setup.zone(zone).is_some()) {
            return Ok(());
        }
        Err(DriverError::OtherZones { zones: zones.iter().take(5).map(ToString::to_string).collect() })
    }

    /// What this driver changes.
    pub fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    fn restore(&mut self, generation: u64) -> Result<(), DriverError> {
        let mut proposals = Vec::new();
        let mut rows: HashMap<String, Row> = self.journal.latest_of(&format!("{STREAM}/"))?.into_iter().collect();
        for row in self.journal.published()? {
            let last = Last::of(&row);
            if let Some(decided) = rows.remove(&Driver::stream(&row.zone)) {
                self.take_up(&row.zone, &last, decided)?;
            }
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
        let verified = Verified::restored(Arc::clone(&self.serving), generation, proposals, super::now());
        for finding in verified.findings().iter().filter(|finding| finding.verdict.stops()) {
            tracing::warn!(zone = %finding.zone, "served as before the restart, though {}: {}", finding.gate, finding.reason);
        }
        self.put_in_front(&verified);
        self.found_engines();
        Ok(())
    }

    /// Takes up what was decided on a zone's traffic.
    fn take_up(&mut self, zone: &Name, last: &Last, row: Row) -> Result<(), DriverError> {
        let state: State = serde_json::from_value(row.state)
            .map_err(|error| DriverError::Row { zone: zone.clone(), why: error.to_string() })?;
        if last.is_withdrawn() || last.began_after(row.sequence) {
            self.ended_streams.insert(zone.clone(), EndedStream::of(row.sequence, &state));
            return Ok(());
        }
        self.engines.insert(zone.clone(), Engine::new(state, Some(row.sequence)));
        Ok(())
    }

    /// Gives each zone that is served an engine, and takes those away that are served no more.
    pub(super) fn found_engines(&mut self) {
        let serving = Arc::clone(&self.serving);
        let gone: Vec<Name> =
            self.engines.keys().filter(|origin| serving.zone(origin.as_ref()).is_none()).cloned().collect();
        for origin in gone {
            // One that cannot be restored just now is not withdrawn.
            if self.published.get(&origin).is_none_or(Last::is_withdrawn)
                && let Some(Engine { state, last: Some(last), .. }) = self.engines.remove(&origin)
            {
                self.ended_streams.insert(origin, EndedStream::of(last, &state));
            }
        }
        for zone in serving.zones() {
            let origin = &zone.content.origin;
            if self.engines.contains_key(origin) {
                continue;
            }
            let policy = self.setup.zone(origin).map(|spec| spec.moves.clone()).unwrap_or_default();
            let sites = zone.content.sites.iter().map(|site| SiteName::from(site.name.as_str()));
            let base = view_of(zone, &serving.regions).routes.into_iter().map(|(region, route)| (region, route.site));
            let state = State::new(origin.clone(), Frozen::new(policy), sites, base.collect(), super::now());
            let (state, last) = match self.ended_streams.remove(origin) {
                Some(EndedStream { last, next_move, revision }) => (state.going_on(next_move, revision), Some(last)),
                None => (state, None),
            };
            self.engines.insert(origin.clone(), Engine::new(state, last));
        }
    }

    /// Goes on with what was under way before a restart, once there are sockets to ask.
    pub fn resume(&mut self) {
        let decided = self.engines.iter().filter(|(_, engine)| engine.last.is_some());
        let decided: Vec<Name> = decided.map(|(origin, _)| origin.clone()).collect();
        for origin in decided {
            let resumed = self.with_engine(&origin, |engine, world, journal| engine.resume(world, journal));
            if let Some(Err(error)) = resumed {
                tracing::error!(zone = %origin, %error, "what was under way does not go on yet; it is tried again");
            }
        }
    }

    /// Notes that the state has begun. What had to be guessed keeps moves back until somebody has looked at it.
    pub(super) fn begin_state(&mut self, guessed: &[(Name, String)]) -> Result<(), DriverError> {
        for (origin, why) in guessed {
            tracing::error!(
                zone = %origin,
                "{why}: the serial of the file is served, though secondaries and caches may have seen a greater one; no \
                 move begins until `understudy state accept`"
            );
            self.drive(origin, Event::StateDoubted { why: why.clone() }, &By::daemon())?;
        }
        // A zone that could not be published yet is asked about when it is.
        let missing = self.setup.zones.iter().any(|spec| !self.published.contains_key(&spec.origin));
        if self.lost.is_some() && !missing {
            self.store.begin("found")?;
            self.lost = None;
        }
        Ok(())
    }

    /// Tells the engine of a zone what the configuration says of its moves, its sites and the regions.
    pub(super) fn configured(&mut self, spec: &ZoneSpec) -> Result<(), DriverError> {
        let Some(engine) = self.engines.get(&spec.origin) else { return Ok(()) };
        let sites: BTreeSet<SiteName> = spec.sites.iter().map(|site| SiteName::from(site.name.as_str())).collect();
        let route = |name: &str| spec.routes.get(name).or_else(|| spec.routes.get(DEFAULT));
        let first = spec.sites.first().map(|site| &site.name);
        let regions: BTreeMap<RegionName, SiteName> = self
            .serving
            .regions
            .iter()
            .filter_map(|(_, name)| Some((RegionName::from(name), SiteName::from(route(name).or(first)?.as_str()))))
            .collect();
        let state = &engine.state;
        let same =
            *state.policy == spec.moves && state.health.keys().eq(sites.iter()) && state.base.keys().eq(regions.keys());
        if same {
            return Ok(());
        }
        let event = Event::Configured { policy: Frozen::new(spec.moves.clone()), sites, regions };
        if let Some(refusal) = self.drive(&spec.origin, event, &By::daemon())? {
            tracing::warn!(zone = %spec.origin, "the configuration of moves stays as it was: {refusal}");
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
        let Some(overlays) = last.overlays() else {
            tracing::error!(zone = %origin, "what lay over its texts cannot be understood: it was written by another version");
            return None;
        };
        let mut sites = Vec::new();
        for name in bundle.sites() {
            let (texts, shape) = (SiteTexts::of_bundle(name, bundle), self.shape(&policy));
            let loading = from_kept(&origin, name, texts, shape, &overlays, None);
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
        share(sites.iter_mut(), None);
        let content = Arc::new(Content { origin, sites, policy, epoch: last.epoch(), overlays });
        let routing = self.routing_from(last, spec, &content);
        let loads =
            Finding::pass(id::LOADS, content.origin.as_ref(), "restored from the texts that were verified".to_owned());
        Some(Proposal { content, routing, loads, restored: Some(last.serial) })
    }

    /// Routing as it was published, for the regions and sites there are now: a region that is new was part of everybody
    /// else.
    pub(super) fn routing_from(&self, last: &Last, spec: Option<&ZoneSpec>, content: &Content) -> Routing {
        let Some(view) = last.view() else {
            return spec.map_or_else(|| self.nowhere(), |spec| self.first_routing(spec, content));
        };
        let regions = &self.serving.regions;
        for (region, route) in view.routes.iter().filter(|(_, route)| content.site_named(route.site.as_str()).is_none())
        {
            tracing::warn!(
                zone = %content.origin, %region, site = %route.site,
                "the region was answered from a site that there is no more; it is answered from {}",
                content.site(SiteId::default()).name
            );
        }
        match self.engines.get(&content.origin) {
            Some(engine) => routing_of(&engine.state, &view, content, regions),
            None => from_view(&view, content, regions, Vec::new(), 0),
        }
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
