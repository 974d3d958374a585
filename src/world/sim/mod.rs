//! A simulated world: a clock that is set, content that is given, and no socket in front of it.
//!
//! All that decides is real: content, gates, the door, and the function that answers clients. [`faulty`] lays over it what
//! may go wrong.

pub mod authority;
pub mod chance;
pub mod crowd;
pub mod faulty;
pub mod message;
mod orders;
pub mod population;
pub mod resolver;
pub mod site;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;

pub use orders::{Draft, Order};

use super::edits::touched_by_moves;
use super::held::Held;
use super::judging::{judgement, let_through, wanted, words_of};
use super::planning::end_of;
use super::routing::{from_view, routing_of, view_of};
use super::turns::Engine;
use super::{By, Outcome, Prepared, World};
use crate::door::{Candidate, Override, Proposal, Verified};
use crate::failover::effect::{Effect, Issued};
use crate::failover::event::{Event, Judgement};
use crate::failover::moves::MoveId;
use crate::failover::names::{Frozen, SiteName};
use crate::failover::policy::Policy;
use crate::failover::sample::Sample;
use crate::failover::state::State;
use crate::failover::view::View;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serial::Serial;
use crate::serving::content::Content;
use crate::serving::{Routing, Serving};
use crate::store::StoreError;
use crate::store::journal::{Entry, Journal, Publication, Sequence};
use crate::store::texts::BundleId;
use crate::time::Timestamp;

/// The stream of what a simulated zone's content does; that of its traffic is below it.
const STREAM: &str = "simulated";

/// A clock that shows what it is set to. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// What it shows.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// Has it show something else.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::Relaxed);
    }
}

/// The contents that a zone ever had, as the store would keep their texts.
pub type Kept = BTreeMap<BundleId, Arc<Content>>;

/// A simulated world of one zone.
#[derive(Clone, Debug)]
pub struct Simulated {
    origin: Name,
    clock: Clock,
    kept: Kept,
    serving: Arc<Serving>,
    /// The last row of the content's stream.
    last: Option<Sequence>,
    /// The generation that the zone was last published as, and its content.
    published: Option<(u64, BundleId)>,
    /// What caches may hold from before it was edited.
    held: Held,
}

/// What the journal keeps of a publication beside its texts.
#[derive(serde::Serialize, serde::Deserialize)]
struct Record {
    view: View,
    epoch: u64,
    held: Held,
}

/// What became of an edit.
#[derive(Clone, Debug)]
pub enum Edited {
    /// It is served.
    Published,
    /// The gates have something against it.
    Refused(Vec<Finding>),
    /// It touches what moves: a line for each RRset.
    Queued(Vec<String>),
}

impl Simulated {
    /// A world in which what the journal says of the zone is served; nothing if it says nothing. `empty` has the clients'
    /// regions and units.
    ///
    /// # Errors
    /// The journal could not be read.
    pub fn start(
        origin: &Name,
        empty: &Arc<Serving>,
        kept: Kept,
        clock: Clock,
        journal: &dyn Journal,
    ) -> Result<Simulated, StoreError> {
        let last = journal.latest(STREAM)?.map(|row| row.sequence);
        let (origin, serving) = (origin.clone(), Arc::clone(empty));
        let mut world = Simulated { origin, clock, kept, serving, last, published: None, held: Held::default() };
        let row = journal.published()?.into_iter().find(|row| row.zone == world.origin);
        let Some(row) = row else { return Ok(world) };
        let state = world.decided(journal)?.map(|(state, _)| state);
        world.published = Some((row.generation, row.live));
        let record: Option<Record> = serde_json::from_value(row.routing).ok();
        if let Some((content, Record { view, epoch, held })) = world.kept.get(&row.live).zip(record) {
            let content = &Arc::new(Content { epoch, ..(**content).clone() });
            world.held = held;
            let regions = &world.serving.regions;
            let routing = match &state {
                Some(state) => routing_of(state, &view, content, regions),
                None => from_view(&view, content, regions, Vec::new(), 0),
            };
            let proposal = proposal(content, routing, Some(row.serial));
            let verified =
                Verified::restored(Arc::clone(&world.serving), row.generation, vec![proposal], world.clock.now());
            world.serving = Arc::clone(verified.serving());
        }
        Ok(world)
    }

    /// The zone's engine as the journal has it; a new one if it has nothing.
    ///
    /// # Errors
    /// The journal could not be read.
    pub fn engine(&self, policy: &Policy, journal: &dyn Journal) -> Result<Engine, StoreError> {
        if let Some((state, last)) = self.decided(journal)? {
            return Ok(Engine::new(state, Some(last)));
        }
        let zone = self.serving.zone(self.origin.as_ref());
        let sites = zone.iter().flat_map(|zone| &zone.content.sites).map(|site| SiteName::from(site.name.as_str()));
        let base = zone.map(|zone| view_of(zone, &self.serving.regions).routes).unwrap_or_default();
        let base = base.into_iter().map(|(region, route)| (region, route.site)).collect();
        let policy = Frozen::new(policy.clone());
        Ok(Engine::new(State::new(self.origin.clone(), policy, sites, base, self.clock.now()), None))
    }

    fn decided(&self, journal: &dyn Journal) -> Result<Option<(State, Sequence)>, StoreError> {
        let row = journal.latest(&self.stream())?;
        Ok(row.and_then(|row| Some((serde_json::from_value(row.state).ok()?, row.sequence))))
    }

    /// What queries are answered from.
    pub fn serving(&self) -> &Arc<Serving> {
        &self.serving
    }

    /// The contents that there ever were.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Publishes a content, as a reload does. The texts that it was made of are kept as `live`.
    ///
    /// # Errors
    /// What could not be written is not published.
    pub fn edit(
        &mut self,
        journal: &mut dyn Journal,
        state: Option<&State>,
        (live, content): (BundleId, Arc<Content>),
        by: &By,
    ) -> Result<Edited, StoreError> {
        let former = self.serving.zone(self.origin.as_ref());
        let touched = match (state, former) {
            (Some(state), Some(former)) => touched_by_moves(state, &former.content, &content),
            _ => Vec::new(),
        };
        if !touched.is_empty() {
            return Ok(Edited::Queued(touched));
        }
        let regions = &self.serving.regions;
        let (view, routing) = match state {
            Some(state) => ((*state.served).clone(), routing_of(state, &state.served, &content, regions)),
            None => (View::default(), Routing::at(regions.iter().map(|_| Default::default()).collect())),
        };
        let words: Vec<Override> = state.map(words_of).unwrap_or_default();
        let proposal = proposal(&content, routing, None);
        let candidate = Candidate::new(Arc::clone(&self.serving), vec![proposal], self.clock.now());
        let verified = match candidate.verify(&words) {
            Ok(verified) => verified,
            Err(refused) => return Ok(Edited::Refused(refused.findings)),
        };
        self.kept.insert(live, content);
        let view = match (state, verified.serving().zone(self.origin.as_ref())) {
            (None, Some(zone)) => view_of(zone, &self.serving.regions),
            _ => view,
        };
        let prepared = self.prepared(verified, &view, live);
        let entry = Entry {
            stream: STREAM.into(),
            after: self.last,
            at: self.clock.now(),
            actor: by.actor.clone(),
            reason: by.reason.clone(),
            event: json!("edit"),
            state: json!({}),
            effects: json!([]),
            generation: prepared.generation(),
            publications: prepared.publications.clone(),
        };
        self.last = Some(journal.commit(&entry)?);
        self.bring_out(prepared);
        Ok(Edited::Published)
    }

    /// What the gates say of a move.
    pub fn judge(&self, state: &State, id: MoveId) -> Judgement {
        let Some(moving) = state.find(id) else { return Judgement::Passed };
        match end_of(&self.serving, &self.origin, &moving.plan, self.now()) {
            Some(candidate) => judgement(&candidate, &self.origin, &moving.plan),
            None => Judgement::Blocked(vec![format!("the zone is not served at {}", moving.plan.to)]),
        }
    }

    /// What a state wants served, as far as it is not; what the gates have against it, in lines.
    ///
    /// # Errors
    /// What the gates have against it.
    pub fn prepare(&self, state: &State) -> Result<Option<Prepared>, Vec<String>> {
        let Some(candidate) = wanted(&self.serving, state, self.now())? else { return Ok(None) };
        Ok(self.let_out(let_through(candidate, state)?, state))
    }

    /// What the journal is to say of a change of routing that was let through; none if nothing was ever published.
    pub fn let_out(&self, verified: Verified, state: &State) -> Option<Prepared> {
        Some(self.prepared(verified, &state.view(), self.published?.1))
    }

    fn prepared(&self, verified: Verified, view: &View, live: BundleId) -> Prepared {
        let generation = verified.serving().generation;
        let [former, next] = [&self.serving, verified.serving()].map(|serving| serving.zone(self.origin.as_ref()));
        let serial = next.map_or(Serial(0), |zone| zone.serial);
        let held = match (former, next) {
            (Some(former), Some(next)) if !Arc::ptr_eq(&former.content, &next.content) => {
                self.held.after_edit(&former.content, &next.content, self.now())
            }
            _ => self.held.clone(),
        };
        let record = Record { view: view.clone(), epoch: next.map_or(0, |zone| zone.content.epoch), held };
        let publication = Publication {
            zone: self.origin.clone(),
            expected: self.published.map(|(generation, _)| generation),
            generation,
            serial,
            routing: json!(record),
            live,
        };
        Prepared { verified, publications: vec![publication] }
    }
}

impl World for Simulated {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn stream(&self) -> String {
        format!("{STREAM}/{}", self.origin)
    }

    fn generation(&self) -> u64 {
        self.serving.generation
    }

    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome> {
        let effect = issued.id;
        Some(match &issued.effect {
            Effect::Judge { id } => Event::Judged { effect, verdict: self.judge(state, *id) }.into(),
            Effect::Publish => Outcome::of_publication(effect, self.prepare(state)),
            // There is no socket that could be behind.
            Effect::Confirm => Event::Confirmed { effect }.into(),
            // There is nobody who would ask resolvers: moves go by the bound.
            Effect::Sample { .. } => Event::DrainSampled { effect, sample: Sample::default() }.into(),
            // Nobody finds renames here that gain something.
            Effect::Rename { .. } => Event::RenameStopped { effect, why: "nothing is renamed here".into() }.into(),
            // The journal has them: there is nobody else to tell.
            Effect::Alert(_) | Effect::Ended(_) => Event::Told { effect }.into(),
        })
    }

    fn bring_out(&mut self, publication: Prepared) {
        let Prepared { verified, publications } = publication;
        self.serving = Arc::clone(verified.serving());
        if let Some(last) = publications.into_iter().next_back() {
            self.published = Some((last.generation, last.live));
            self.held = serde_json::from_value(last.routing).map(|record: Record| record.held).unwrap_or_default();
        }
    }
}

fn proposal(content: &Arc<Content>, routing: Routing, restored: Option<Serial>) -> Proposal {
    let loads = Finding::pass(id::LOADS, content.origin.as_ref(), "its texts were read when it was made");
    Proposal { content: Arc::clone(content), routing, loads, restored }
}
