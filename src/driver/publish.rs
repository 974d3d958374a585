//! The last step of every change: journal, then stage.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::SiteTexts;
use super::{Driver, DriverError, STREAM, now};
use crate::door::Verified;
use crate::failover::state::State;
use crate::failover::view::View;
use crate::name::Name;
use crate::rename::Overlays;
use crate::serial::Serial;
use crate::serving::ZoneServing;
use crate::serving::content::Policy;
use crate::serving::regions::Regions;
use crate::store::journal::{Actor, Entry, Journal, Publication, Published, Sequence};
use crate::store::texts::{BundleId, Part};
use crate::time::Ttl;
use crate::world::held::Held;
use crate::world::routing::view_of;
use crate::world::{Prepared, judging};

/// The texts that the sites of a zone were made of, by site; a site that is not named keeps the texts that it was
/// published with.
pub type Texts = BTreeMap<String, SiteTexts>;

/// Under this name texts are kept between the moment they are written and the moment the journal refers to them.
pub(super) const HOLDER: &str = "publishing";

/// Who changes what is served, and why.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Who.
    pub actor: Actor,
    /// Why, in the actor's words.
    pub reason: String,
    /// What is done (`reload`, `failover`), with what belongs to it.
    pub event: Value,
}

/// What a zone was last published as.
#[derive(Clone, Debug)]
pub(super) struct Last {
    /// The generation of the publication.
    generation: u64,
    /// The serial.
    pub(super) serial: Serial,
    /// The routing and what else the journal keeps beside it.
    pub(super) record: Value,
    /// The texts.
    pub(super) live: BundleId,
}

impl Last {
    pub(super) fn of(row: &Published) -> Last {
        Last { generation: row.generation, serial: row.serial, record: row.routing.clone(), live: row.live }
    }

    /// Whether it was the zone's withdrawal. Its serial counts still: secondaries may have the zone.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.record[WITHDRAWN] == true
    }

    /// Whether it was taken into the configuration again after this row of its stream.
    pub(super) fn began_after(&self, row: Sequence) -> bool {
        self.began().is_some_and(|began| row.0 <= began)
    }

    /// The last row of its stream that is from before it was taken out of the configuration.
    fn began(&self) -> Option<u64> {
        self.record.get(BEGAN)?.as_u64()
    }

    /// What it was served as; none in a row that tells nothing of it.
    pub(super) fn view(&self) -> Option<View> {
        serde_json::from_value(self.record.get("view")?.clone()).ok()
    }

    /// What caches may hold from before it was edited.
    fn held(&self) -> Held {
        self.record.get(HELD).and_then(|held| serde_json::from_value(held.clone()).ok()).unwrap_or_default()
    }

    /// What lay over the texts; none if it can't be understood.
    pub(super) fn overlays(&self) -> Option<Overlays> {
        match self.record.get(OVERLAYS) {
            Some(kept) => serde_json::from_value(kept.clone()).ok(),
            None => Some(Overlays::default()),
        }
    }

    /// The content's epoch.
    pub(super) fn epoch(&self) -> u64 {
        self.record["epoch"].as_u64().unwrap_or(0)
    }

    /// What is wanted of the zone, with the TTLs that its answers were published with.
    pub(super) fn policy(&self, wanted: &Policy) -> Policy {
        let ttl = |key: &str, wanted: Option<Ttl>| match self.record.get("ttls").map(|ttls| &ttls[key]) {
            Some(seconds) => seconds.as_u64().and_then(|seconds| u32::try_from(seconds).ok()).map(Ttl::from_wire),
            None => wanted,
        };
        Policy {
            negative_ttl: ttl("negative", wanted.negative_ttl),
            max_ttl: ttl("max", wanted.max_ttl),
            ..wanted.clone()
        }
    }
}

/// Stands in the journal for a zone that is served no more.
const WITHDRAWN: &str = "withdrawn";
/// Stands in the journal for the last row of a zone's stream that does not count any more.
const BEGAN: &str = "began_after";
/// Stands in the journal for what caches may hold from before a zone was edited.
const HELD: &str = "held";
/// Stands in the journal for what lies over the texts of a zone.
const OVERLAYS: &str = "overlays";

impl Driver {
    /// Writes a change of content to the journal and then publishes it: all of it or nothing. Returns its generation.
    ///
    /// `texts` has all zones that change; one that is not served afterwards is withdrawn.
    pub(super) fn publish(
        &mut self,
        verified: &Verified,
        texts: Vec<(Name, Texts)>,
        cause: Cause,
    ) -> Result<u64, DriverError> {
        let generation = verified.serving().generation;
        let (mut bundles, mut withdrawn) = (Vec::with_capacity(texts.len()), Vec::new());
        let mut unchanged = Vec::new();
        for (origin, texts) in texts {
            match verified.serving().zone(origin.as_ref()) {
                Some(zone) if self.is_of_kept_texts(&origin, zone, &texts) => unchanged.push(origin),
                Some(zone) => bundles.push((origin.clone(), self.parts(&origin, zone, texts)?)),
                None => withdrawn.push(origin),
            }
        }
        // All in one transaction: a start has many zones.
        let kept = if bundles.is_empty() { Vec::new() } else { self.store.texts().keep_all(HOLDER, &bundles)? };
        let kept = bundles.into_iter().map(|(origin, _)| origin).zip(kept);
        let unchanged = unchanged.into_iter().filter_map(|origin| {
            let live = self.published.get(&origin)?.live;
            Some((origin, live))
        });
        let served = kept.chain(unchanged).filter_map(|(origin, live)| {
            let zone = verified.serving().zone(origin.as_ref())?;
            let view = self.view_after(&origin, zone, &verified.serving().regions);
            Some(self.publication(generation, zone, &view, origin, live))
        });
        let publications: Vec<Publication> =
            served.chain(withdrawn.iter().filter_map(|origin| self.withdrawal(generation, origin))).collect();
        let state = json!({ "generation": generation, "zones": publications.iter().map(|p| {
            json!({ "zone": p.zone, "serial": p.serial, "routing": p.routing })
        }).collect::<Vec<_>>() });
        let entry = Entry {
            stream: STREAM.into(),
            after: self.last,
            at: now(),
            actor: cause.actor,
            reason: cause.reason,
            event: cause.event,
            state,
            effects: json!([{ "id": generation, "publish": generation }]),
            generation,
            publications,
        };
        self.last = Some(self.journal.commit(&entry)?);
        self.bring_out(Prepared { verified: verified.clone(), publications: entry.publications });
        Ok(generation)
    }

    /// Answers from what was verified from now on. Who folds what clients were told knows before.
    pub(super) fn put_in_front(&mut self, verified: &Verified) {
        if let Some(folding) = &self.folding {
            folding.published(verified.serving());
        }
        self.stage.publish(verified);
        self.serving = Arc::clone(verified.serving());
    }

    /// Gets what is in the journal by now in front of clients.
    pub(super) fn bring_out(&mut self, Prepared { verified, publications }: Prepared) {
        self.put_in_front(&verified);
        for Publication { zone, generation, serial, routing, live, .. } in publications {
            self.drills.interrupt(&zone, "what is served of the zone has changed");
            self.published.insert(zone, Last { generation, serial, record: routing, live });
        }
        let serving = Arc::clone(&self.serving);
        let lacks = |zone: &Arc<ZoneServing>| !self.engines.contains_key(&zone.content.origin);
        if serving.zones().len() != self.engines.len() || serving.zones().iter().any(lacks) {
            self.found_engines();
        }
    }

    /// What a zone's traffic is to be served as, as far as it has to be published: nothing where it is served so already.
    /// What the gates have against it, in lines.
    pub(super) fn prepare(&mut self, origin: &Name, state: &State) -> Result<Option<Prepared>, Vec<String>> {
        let Some(candidate) = judging::wanted(&self.serving, state, now())? else { return Ok(None) };
        let Some(live) = self.published.get(origin).map(|last| last.live) else {
            return Err(vec![format!("the zone {origin} was never published")]);
        };
        let verified = judging::let_through(self.looked_into(origin, candidate), state)?;
        let view = state.view();
        let generation = verified.serving().generation;
        let zone = verified.serving().zone(origin.as_ref());
        let publication = zone.map(|zone| self.publication(generation, zone, &view, origin.clone(), live));
        Ok(Some(Prepared { publications: publication.into_iter().collect(), verified }))
    }

    /// What a zone is routed as after a change of its content: as before, or each region at its first choice.
    fn view_after(&self, origin: &Name, zone: &ZoneServing, regions: &Regions) -> View {
        self.engines.get(origin).map(|engine| (*engine.state.served).clone()).unwrap_or_else(|| view_of(zone, regions))
    }

    /// Removes texts that nothing refers to any more. They only take room: that it can't be done now is no failure.
    pub(super) fn tidy(&self) {
        let texts = self.store.texts();
        if let Err(error) = texts.release(HOLDER).and_then(|()| texts.prune()) {
            tracing::warn!(%error, "texts that nothing refers to any more could not be removed");
        }
    }

    /// What the journal is to say of one zone of a change.
    fn publication(
        &self,
        generation: u64,
        zone: &ZoneServing,
        view: &View,
        origin: Name,
        live: BundleId,
    ) -> Publication {
        let expected = self.published.get(&origin).map(|last| last.generation);
        let policy = &zone.content.policy;
        let ended = self.ended_streams.get(&origin).map(|ended| ended.last.0);
        let began = ended.or_else(|| self.published.get(&origin).and_then(Last::began));
        let held = self.held(&origin);
        let held = match self.serving.zone(origin.as_ref()) {
            Some(former) if !Arc::ptr_eq(&former.content, &zone.content) => {
                held.after_edit(&former.content, &zone.content, now())
            }
            _ => held,
        };
        let routing = json!({
            BEGAN: began,
            HELD: held,
            OVERLAYS: zone.content.overlays,
            "view": view,
            "epoch": zone.content.epoch,
            "ttls": { "negative": policy.negative_ttl.map(Ttl::seconds), "max": policy.max_ttl.map(Ttl::seconds) },
        });
        Publication { zone: origin, expected, generation, serial: zone.serial, routing, live }
    }

    /// What caches may hold of a zone from before it was edited.
    pub(super) fn held(&self, origin: &Name) -> Held {
        self.published.get(origin).map(Last::held).unwrap_or_default()
    }

    /// What the journal is to say of a zone that is served no more.
    fn withdrawal(&self, generation: u64, origin: &Name) -> Option<Publication> {
        let last = self.published.get(origin)?;
        let mut routing = last.record.clone();
        routing[WITHDRAWN] = true.into();
        let (expected, serial, live) = (Some(last.generation), last.serial, last.live);
        Some(Publication { zone: origin.clone(), expected, generation, serial, routing, live })
    }

    /// Whether a zone is made of the texts that it was last published with: its sites are the same and bring no other.
    fn is_of_kept_texts(&self, origin: &Name, zone: &ZoneServing, texts: &Texts) -> bool {
        let sites = |zone: &ZoneServing| zone.content.sites.iter().map(|site| site.name.clone()).collect::<Vec<_>>();
        texts.values().all(SiteTexts::is_empty)
            && self.published.get(origin).is_some_and(|last| !last.is_withdrawn())
            && self.serving.zone(origin.as_ref()).is_some_and(|former| sites(former) == sites(zone))
    }

    /// The texts of a zone; sites that bring none have those that they were last published with.
    fn parts(&self, origin: &Name, zone: &ZoneServing, mut texts: Texts) -> Result<Vec<Part>, DriverError> {
        texts.retain(|_, texts| !texts.is_empty());
        // A large zone's texts are not read back for nothing.
        let all_new = zone.content.sites.iter().all(|site| texts.contains_key(&site.name));
        let last = self.published.get(origin).filter(|_| !all_new);
        let last = last.map(|last| self.store.texts().bundle(last.live)).transpose()?.flatten();
        let mut parts = Vec::new();
        for site in &zone.content.sites {
            let kept = texts.remove(&site.name);
            let kept = kept.or_else(|| last.as_ref().map(|bundle| SiteTexts::of_bundle(&site.name, bundle)));
            parts.extend(kept.into_iter().flat_map(|kept| kept.into_parts(&site.name)));
        }
        Ok(parts)
    }
}
