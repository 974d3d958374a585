//! A drill from its beginning to its end, on a thread of its own: there, and back.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::super::load::Laid;
use super::super::name_servers::ramp_possible;
use super::super::now;
use super::super::plan::{Merged, merge};
use super::super::readings::Readings;
use super::super::rename::{laid_over, led_to_from_elsewhere};
use super::super::setup::{DrillListen, ZoneSpec};
use super::super::standby::stand_back;
use super::halt::Halt;
use super::sample::Samples;
use super::shadow::Shadow;
use super::{Drills, stream};
use crate::count::{counted, span};
use crate::digest::Digest;
use crate::door::{Candidate, Proposal};
use crate::drill::{Drill, End, Leg, Outcome, PhaseTime};
use crate::evidence::Verdict;
use crate::failover::actor::Actor;
use crate::failover::effect::{Effect, Severity};
use crate::failover::event::Event;
use crate::failover::moves::Outcome as MoveOutcome;
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::plan::{Kind, MoveRequest, Plan};
use crate::failover::policy::{Approval, Policy};
use crate::failover::state::State;
use crate::failover::steps::Steps;
use crate::failover::story;
use crate::gate::memo::Memo;
use crate::gate::{Finding, id};
use crate::name::{Name, NameRef};
use crate::net::Region;
use crate::serving::Serving;
use crate::snapshot::compile::Shape;
use crate::store::Store;
use crate::store::journal::{Entry, Journal, Sequence, SqliteJournal};
use crate::time::{Timestamp, Ttl};
use crate::world::held::Held;
use crate::world::turns::Engine;
use crate::world::{By, Prepared, World, planning};

/// How many lines of findings are kept of a drill that gates stopped.
const TOLD: usize = 20;

/// What a drill goes by: as it was when it began.
pub(super) struct Given {
    pub(super) origin: Name,
    pub(super) spec: ZoneSpec,
    pub(super) include_outside: bool,
    /// Where its listeners are to be.
    pub(super) listen: DrillListen,
    /// The regions as they are configured.
    pub(super) known: Vec<Region>,
    /// What is served.
    pub(super) live: Arc<Serving>,
    /// What is decided on its traffic: no move is under way.
    pub(super) state: State,
    /// The regions that it moves, each with the site that it leaves.
    pub(super) regions: BTreeMap<RegionName, SiteName>,
    /// Our own public sockets.
    pub(super) own: Vec<SocketAddr>,
    pub(super) held: Held,
    pub(super) memo: Arc<Memo>,
    pub(super) readings: Readings,
    pub(super) actor: Actor,
}

/// A drill under way.
pub(super) struct Course {
    given: Given,
    drill: Drill,
    drills: Drills,
    store: Store,
    journal: SqliteJournal,
    engine: Engine,
    halt: Arc<Halt>,
    deadline: Timestamp,
}

/// Why a drill did not come to its end.
enum Broken {
    /// It was told to stop.
    Stopped(String),
    /// Something did not go as it should.
    Failed(String),
    /// The gates stop it: what they found, a line each.
    Blocked(Vec<String>),
}

impl Course {
    /// A drill that is about to begin, and is taken down as one under way.
    pub(super) fn new(given: Given, drill: Drill, drills: Drills, store: Store, halt: Arc<Halt>) -> Course {
        let journal = store.journal();
        let wanted = given.spec.drill.clone().unwrap_or_default();
        let deadline = drill.began.after(wanted.deadline);
        let engine = Engine::new(given.state.clone(), None);
        Course { given, drill, drills, store, journal, engine, halt, deadline }
    }

    /// Goes the whole way, and takes down how it ended.
    pub(super) fn run(mut self) {
        // The log tells what it moves from what is moved for real.
        let _span = tracing::info_span!("drill", number = self.drill.drill).entered();
        // Whatever becomes of it, the next one can begin.
        let gone = catch_unwind(AssertUnwindSafe(|| self.there_and_back()));
        let gone = gone.unwrap_or_else(|_| Err(Broken::Failed("it panicked; the log says where".into())));
        self.drill.end = Some(self.end_of(gone));
        self.take_down();
        self.drills.over(&self.given.origin, self.drill);
    }

    fn end_of(&self, gone: Result<(), Broken>) -> End {
        let (outcome, why, findings) = match gone.map_err(|broken| self.halt.why().map_or(broken, Broken::Stopped)) {
            Ok(()) => (Outcome::Succeeded, String::new(), Vec::new()),
            Err(Broken::Stopped(why)) => (Outcome::Interrupted, why, Vec::new()),
            Err(Broken::Failed(why)) => (Outcome::Failed, why, Vec::new()),
            Err(Broken::Blocked(findings)) => {
                let gates = findings.iter().filter_map(|line| line.split(' ').next()).filter(|gate| !gate.is_empty());
                let gates: Vec<&str> = gates.collect();
                (Outcome::Failed, format!("the gates would stop it: {}", gates.join(", ")), findings)
            }
        };
        End { at: now(), outcome, why, blocked: !findings.is_empty(), findings }
    }

    /// Takes down how it ended: in the log, the journal and the store.
    fn take_down(&mut self) {
        let told = self.drill.told().unwrap_or_default();
        match &self.drill.end {
            Some(End { outcome: Outcome::Failed, findings, .. }) => {
                let findings: String = findings.iter().map(|line| format!("\n{line}")).collect();
                tracing::warn!(zone = %self.given.origin, "{told}{findings}");
            }
            _ => tracing::info!(zone = %self.given.origin, "{told}"),
        }
        let told = format!("drill {}: {told}", self.drill.drill);
        let generation = self.given.live.generation;
        if let Err(error) = self.write(vec![told], generation) {
            tracing::error!(zone = %self.given.origin, %error, "how the drill ended could not be written to the journal");
        }
        if let Err(error) = self.store.drills().keep(&self.given.origin, &self.drill) {
            tracing::error!(
                zone = %self.given.origin, %error,
                "how the drill ended could not be kept: after a restart it counts as interrupted"
            );
        }
    }

    fn there_and_back(&mut self) -> Result<(), Broken> {
        self.take_up()?;
        let mut world = self.raise()?;
        // A drill is never in the way of what is served. Its listeners, which do next to nothing, are to be in time.
        stand_back();
        let nobody_in = world.samples.nobody_in.join(", ");
        if world.samples.len() == 0 {
            return Err(Broken::Failed(format!("no address is in {nobody_in}: there is nobody to ask for")));
        }
        let unasked = if nobody_in.is_empty() { nobody_in } else { format!("; no address is in {nobody_in}") };
        let begun = format!(
            "drill {} to {}: it answers on {}, and is asked {} after each publication{unasked}",
            self.drill.drill,
            self.drill.to,
            world.listeners().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            counted(world.samples.len(), "question")
        );
        self.tell(begun, &world)?;
        self.drills.show(world.listeners(), &self.engine.state);
        self.take_over_edit(&mut world)?;
        world.confirm().map_err(Broken::Failed)?;
        let before = world.zone().map(|zone| zone.routing.sites.clone());
        let to = self.drill.to.clone();
        let there = vec![MoveRequest { to, from: None, region: self.drill.region.clone() }];
        self.drill.there = Some(self.leg(&mut world, Kind::Switchover, &there)?);
        let back = self.ways_back();
        self.drill.back = Some(self.leg(&mut world, Kind::Rollback, &back)?);
        if world.zone().map(|zone| zone.routing.sites.clone()) != before {
            return Err(Broken::Failed("it did not come back to where it was".into()));
        }
        Ok(())
    }

    /// Begins where the live engine stands, with numbers that go on from the last drill.
    fn take_up(&mut self) -> Result<(), Broken> {
        let last = self.journal.latest(&stream(&self.given.origin)).map_err(unwritten)?;
        let former = last.as_ref().and_then(|row| serde_json::from_value::<State>(row.state.clone()).ok());
        let (next_move, revision) = former.map_or((1, 0), |state| (state.next_move, state.revision));
        let state = &self.given.state;
        let policy = Policy { approval: Approval::Nothing, ..self.given.spec.moves.clone() };
        let state = State { pending: BTreeMap::new(), refusal: None, policy: Frozen::new(policy), ..state.clone() };
        let revision = revision.max(state.revision);
        self.engine = Engine::new(state.going_on(next_move, revision), last.map(|row| row.sequence));
        Ok(())
    }

    /// Sets up its stage and its listeners.
    fn raise(&self) -> Result<Shadow, Broken> {
        let Given { origin, listen, live, memo, .. } = &self.given;
        let samples = self.samples(live);
        Shadow::raise(origin, live, listen, Arc::clone(memo), samples, Arc::clone(&self.halt)).map_err(Broken::Failed)
    }

    /// What is asked of the listeners: for names of all sites that it is about, by clients of the regions that it moves.
    fn samples(&self, serving: &Serving) -> Samples {
        let Given { origin, known, regions, .. } = &self.given;
        let zone = serving.zone(origin.as_ref());
        let ends = self.drill.from.iter().chain([&self.drill.to]);
        let sites = zone
            .iter()
            .flat_map(|zone| ends.clone().filter_map(|site| Some(zone.content.site(zone.content.site_named(site)?))));
        let moved = regions.keys().filter_map(|region| serving.regions.named(region.as_str()));
        Samples::of(&sites.collect::<Vec<_>>(), serving, known, &moved.collect::<Vec<_>>())
    }

    /// Reads the target's texts anew, as a switchover does, and publishes on the stage what they say by now.
    fn take_over_edit(&mut self, world: &mut Shadow) -> Result<(), Broken> {
        let Given { origin, include_outside, spec, readings, .. } = &self.given;
        let Some(former) = world.zone().cloned() else { return Err(not_served(origin)) };
        let policy = &former.content.policy;
        let shape = Shape { key: world.serving().key, negative_ttl: policy.negative_ttl, max_ttl: policy.max_ttl };
        let serving = Arc::clone(world.serving());
        let elsewhere = |lever: NameRef<'_>| led_to_from_elsewhere(&serving, origin, lever);
        let overlays = laid_over(&serving, origin, former.content.overlays.clone());
        let laid = Laid { overlays, elsewhere: &elsewhere };
        let loading = readings.load(spec, *include_outside, shape, Some(&former.content), &laid);
        let Merged { content, changed, loads, .. } = merge(&former, loading, &self.drill.to, origin);
        if loads.verdict.stops() {
            return Err(blocked(&[loads]));
        }
        if !changed {
            return Ok(());
        }
        let content = Arc::new(content);
        self.given.held = self.given.held.after_edit(&former.content, &content, now());
        let proposal = Proposal { content, routing: former.routing.clone(), loads, restored: None };
        let candidate = world.remembering(Candidate::new(Arc::clone(world.serving()), vec![proposal], now()));
        let verified = candidate.verify(&[]).map_err(|refused| blocked(&refused.findings))?;
        let told = format!("drill {}: the files of {} were taken over", self.drill.drill, self.drill.to);
        self.tell(told, world)?;
        world.bring_out(Prepared { verified, publications: Vec::new() });
        world.samples = self.samples(&Arc::clone(world.serving()));
        Ok(())
    }

    /// A rollback of what was moved; one for each region where it came from several sites, or where one of all regions would
    /// take back a region that was moved before the drill.
    fn ways_back(&self) -> Vec<MoveRequest> {
        let request = |region| MoveRequest { to: String::new(), from: None, region };
        let state = &self.engine.state;
        let is_foreign = |region| !self.given.regions.contains_key(region) && state.way_back(region).is_some();
        let takes_others = self.drill.region.is_none() && state.base.keys().any(is_foreign);
        if self.drill.from.len() == 1 && !takes_others {
            return vec![request(self.drill.region.clone())];
        }
        self.given.regions.keys().map(|region| request(Some(region.to_string()))).collect()
    }

    /// Moves as these requests say, to the end.
    fn leg(&mut self, world: &mut Shadow, kind: Kind, requests: &[MoveRequest]) -> Result<Leg, Broken> {
        let began = now();
        world.ended.clear();
        for request in requests {
            self.begin(world, kind, request)?;
        }
        loop {
            self.drills.show(world.listeners(), &self.engine.state);
            self.look_at(world)?;
            if self.is_at_rest() {
                break;
            }
            self.wait()?;
            let mut journal = self.journal.clone();
            self.engine.tick(world, &mut journal);
        }
        let phases = world.ended.iter().take(1).flat_map(|ended| {
            let times = &ended.last.times;
            let until = times.iter().skip(1).map(|(_, at)| *at).chain([ended.at]);
            times
                .iter()
                .zip(until)
                .map(|((phase, at), until)| PhaseTime { phase: phase.to_string(), millis: millis(until.since(*at)) })
        });
        Ok(Leg { millis: millis(now().since(began)), phases: phases.collect() })
    }

    /// Plans a move as it would be planned for real, and has the engine begin it.
    fn begin(&mut self, world: &mut Shadow, kind: Kind, request: &MoveRequest) -> Result<(), Broken> {
        let impossible = |error: crate::failover::plan::Impossible| Broken::Failed(error.to_string());
        let state = &self.engine.state;
        let to = planning::target(state, kind, request).map_err(impossible)?;
        let request = MoveRequest { to, ..request.clone() };
        let zone = world.zone().ok_or_else(|| not_served(&self.given.origin))?;
        let regions = planning::regions_of(zone, state, kind, &request).map_err(impossible)?;
        let steps = self.steps(world, kind);
        let draft = Plan {
            digest: Digest::of(b""),
            shown: None,
            kind,
            revision: state.revision_of(regions.keys()),
            regions,
            to: SiteName::from(request.to.as_str()),
            old_ttl: Ttl::ZERO,
            ramp_possible: steps.as_slice().len() > 1,
            stepped: steps.as_slice().len() > 1,
            automatic: false,
            actor: self.given.actor.clone(),
            reason: format!("drill {}", self.drill.drill),
            overrides: Vec::new(),
            at: now(),
            forecast: None,
        };
        let candidate = world.end_of(&draft).ok_or_else(|| not_served(&self.given.origin))?;
        // What was verified and served is gone back to, as in any rollback.
        let counts = |found: &Finding| kind != Kind::Rollback || id::FIRM.contains(&found.gate);
        let findings: Vec<Finding> = candidate.judge().iter().filter(|found| counts(found)).cloned().collect();
        if findings.iter().any(|found| found.verdict.stops()) {
            return Err(blocked(&findings));
        }
        let old_ttl = planning::old_ttl(&candidate, &self.given.held, now());
        let plan = Plan { digest: candidate.digest(draft.revision), old_ttl, ..draft };
        let policy = Policy { steps, ..(*self.engine.state.policy).clone() };
        let event = Event::Begin { plan: Frozen::new(plan), policy: Frozen::new(policy) };
        let by = By { actor: self.given.actor.clone(), reason: self.drill.reason.clone() };
        let mut journal = self.journal.clone();
        match self.engine.drive(world, &mut journal, event, &by) {
            Ok(None) => Ok(()),
            Ok(Some(refusal)) => Err(Broken::Failed(refusal.to_string())),
            Err(error) => Err(unwritten(error)),
        }
    }

    /// The shares that it goes by: the policy's, where they could be gone by for real.
    fn steps(&self, world: &Shadow, kind: Kind) -> Steps {
        let Given { spec, own, .. } = &self.given;
        let steps = &spec.moves.steps;
        if kind == Kind::Rollback || steps.as_slice().len() == 1 {
            return if kind == Kind::Rollback { Steps::at_once() } else { steps.clone() };
        }
        let possible = ramp_possible(world.serving(), own, spec, false);
        if possible.verdict == Verdict::Pass { steps.clone() } else { Steps::at_once() }
    }

    /// Whether anything went otherwise than it should.
    fn look_at(&self, world: &Shadow) -> Result<(), Broken> {
        for ended in &world.ended {
            match &ended.outcome {
                MoveOutcome::Done => {}
                MoveOutcome::Refused { findings } => return Err(Broken::Blocked(findings.clone())),
                _ => return Err(Broken::Failed(story::ended(ended))),
            }
        }
        let mut held = self.engine.state.moves.values().filter_map(|moving| moving.hold.as_ref());
        if let Some(hold) = held.next() {
            return Err(Broken::Failed(format!("it would be held: {}", story::why(&hold.why))));
        }
        if let Some(alert) = world.alerts.iter().find(|alert| alert.severity >= Severity::Warning) {
            return Err(Broken::Failed(alert.what.clone()));
        }
        if self.engine.again.is_some() {
            return Err(Broken::Failed("what it decided could not be written to the journal; the log says why".into()));
        }
        Ok(())
    }

    /// Whether nothing moves, and what is served is what it should be.
    fn is_at_rest(&self) -> bool {
        let state = &self.engine.state;
        let is_open = |effect: &Effect| matches!(effect, Effect::Publish | Effect::Confirm);
        let mut open = state.pending.values().filter(|pending| is_open(&pending.effect));
        state.moves.is_empty() && state.challengers.is_empty() && open.next().is_none()
    }

    /// Waits until the engine has something to do. Who stops the drill ends the wait.
    fn wait(&self) -> Result<(), Broken> {
        let at = now();
        if at >= self.deadline {
            let length = span(self.deadline.since(self.drill.began).as_secs());
            return Err(Broken::Failed(format!("it did not come to its end within {length}")));
        }
        let due = self.engine.deadline().unwrap_or(self.deadline).min(self.deadline);
        self.halt.wait(due.since(at)).map_or(Ok(()), |why| Err(Broken::Stopped(why)))
    }

    /// Takes down what is about to be done.
    fn tell(&mut self, line: String, world: &Shadow) -> Result<(), Broken> {
        self.write(vec![line], world.generation()).map_err(unwritten).map(drop)
    }

    fn write(&mut self, told: Vec<String>, generation: u64) -> Result<Sequence, crate::store::StoreError> {
        let entry = Entry {
            stream: stream(&self.given.origin),
            after: self.engine.last,
            at: now(),
            actor: self.given.actor.clone(),
            reason: self.drill.reason.clone(),
            event: json!({ "told": told, "drill": self.drill.drill }),
            state: serde_json::to_value(&self.engine.state).unwrap_or_default(),
            effects: json!([]),
            generation,
            publications: Vec::new(),
        };
        let sequence = self.journal.commit(&entry)?;
        self.engine.last = Some(sequence);
        Ok(sequence)
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

fn unwritten(error: crate::store::StoreError) -> Broken {
    Broken::Failed(format!("the journal could not be read or written: {error}"))
}

fn not_served(origin: &Name) -> Broken {
    Broken::Failed(format!("the zone {origin} is not served"))
}

/// What gates found that stops it, in lines.
fn blocked(findings: &[Finding]) -> Broken {
    let mut lines = Vec::new();
    for found in findings.iter().filter(|found| found.verdict.stops()) {
        lines.push(format!("{} [{}]: {}", found.gate, found.digest().short(), found.reason));
        lines.extend(found.items.iter().map(|item| format!("  {item}")));
    }
    lines.truncate(TOLD);
    Broken::Blocked(lines)
}
