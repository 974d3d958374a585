//! The last step of every change: journal, then stage.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::SiteTexts;
use super::{Driver, DriverError, STREAM, now};
use crate::door::Verified;
use crate::name::Name;
use crate::serving::ZoneServing;
use crate::store::journal::{Actor, Entry, Journal, Publication};
use crate::store::texts::BundleId;

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

impl Driver {
    /// Writes a change to the journal and then publishes it: all of it or nothing. Returns its generation.
    pub(super) fn publish(
        &mut self,
        verified: &Verified,
        texts: Vec<(Name, Texts)>,
        cause: Cause,
    ) -> Result<u64, DriverError> {
        let generation = verified.serving().generation;
        let published: BTreeMap<Name, _> =
            self.journal.published()?.into_iter().map(|row| (row.zone.clone(), row)).collect();
        let mut publications = Vec::with_capacity(texts.len());
        for (origin, texts) in texts {
            let Some(zone) = verified.serving().zone(origin.as_ref()) else { continue };
            let last = published.get(&origin);
            let live = self.keep(&origin, zone, texts, last.map(|row| row.live))?;
            publications.push(Publication {
                zone: origin,
                expected: last.map(|row| row.generation),
                generation,
                serial: zone.serial,
                routing: routing_value(verified, zone),
                live,
            });
        }
        let state = json!({ "generation": generation, "zones": publications.iter().map(|p| {
            json!({ "zone": p.zone, "serial": p.serial, "routing": p.routing })
        }).collect::<Vec<_>>() });
        let effects = json!([{ "id": generation, "publish": generation }]);
        self.last = Some(self.journal.commit(&Entry {
            stream: STREAM.into(),
            after: self.last,
            at: now(),
            actor: cause.actor,
            reason: cause.reason,
            event: cause.event,
            state,
            effects,
            generation,
            publications,
        })?);
        self.stage.publish(verified);
        self.serving = Arc::clone(verified.serving());
        // What is not referred to any more only takes room: that it could not be removed now is no reason to fail.
        let texts = self.store.texts();
        if let Err(error) = texts.release(HOLDER).and_then(|()| texts.prune()) {
            tracing::warn!(%error, "texts that nothing refers to any more could not be removed");
        }
        Ok(generation)
    }

    /// Keeps the texts of a zone; sites that bring none keep those that they were last published with.
    fn keep(
        &self,
        origin: &Name,
        zone: &ZoneServing,
        mut texts: Texts,
        last: Option<BundleId>,
    ) -> Result<BundleId, DriverError> {
        let store = self.store.texts();
        // A large zone's texts are not read back for nothing.
        let all_new = zone.content.sites.iter().all(|site| texts.contains_key(&site.name));
        let last = last.filter(|_| !all_new).map(|id| store.bundle(id)).transpose()?.flatten();
        let mut parts = Vec::new();
        for site in &zone.content.sites {
            let kept = texts.remove(&site.name);
            let kept = kept.or_else(|| last.as_ref().map(|bundle| SiteTexts::of_bundle(&site.name, bundle)));
            parts.extend(kept.into_iter().flat_map(|kept| kept.into_parts(&site.name)));
        }
        Ok(store.keep(HOLDER, origin.as_ref(), &parts)?)
    }
}

/// Routing as the journal keeps it: by the names of regions and sites, which outlive their numbers.
fn routing_value(verified: &Verified, zone: &ZoneServing) -> Value {
    let regions: Map<String, Value> = verified
        .serving()
        .regions
        .iter()
        .map(|(region, name)| (name.to_owned(), zone.content.site(zone.routing.site(region)).name.clone().into()))
        .collect();
    json!({ "regions": regions, "revision": zone.routing.revision, "epoch": zone.content.epoch })
}
