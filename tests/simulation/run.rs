//! One run: the loop of the product around a simulated world, what happens in it, and who asks.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use understudy::failover::actor::Actor;
use understudy::failover::event::{Event, Target};
use understudy::failover::health::Health;
use understudy::failover::moves::{Direction, Phase};
use understudy::failover::names::{Frozen, RegionName, SiteName};
use understudy::failover::plan::MoveRequest;
use understudy::failover::refusal::Refusal;
use understudy::failover::state::State;
use understudy::serving::{Serving, Settings};
use understudy::store::journal::Journal;
use understudy::store::{Store, StoreError};
use understudy::time::Timestamp;
use understudy::world::sim::faulty::{Faulty, FaultyJournal, Process};
use understudy::world::sim::{Clock, Draft, Edited, Kept, Order, Simulated};
use understudy::world::turns::Engine;
use understudy::world::{By, Outcome, World};

use crate::case::{Act, Case, Change, REGIONS, Steering};
use crate::clients::{Odd, Resolver};
use crate::content::{SITES, Variant, all_kept, content, origin, parts, variants_of};
use crate::support::sites::{nothing, sets};
use crate::watch::{Watch, last_held};
use crate::wrong::{Weakened, Without};

/// When every run begins.
const START: Timestamp = Timestamp(1_800_000_000_000);
/// How often the engine may be due once nothing happens any more.
const MOST_TURNS: usize = 2000;
/// How soon checks have seen the sites again after a start.
const CHECKED: Duration = Duration::from_secs(5);

/// What does not hold, and what happened until then.
#[derive(Debug)]
pub struct Violation {
    pub what: String,
    pub trace: Vec<String>,
}

/// What came of a run that holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many moves ended how.
    pub endings: BTreeMap<&'static str, usize>,
    /// How many questions of users were answered.
    pub asked: usize,
    /// How many rows were written.
    pub rows: usize,
    /// How often the process was started again.
    pub restarts: usize,
}

/// What comes later by itself.
enum Later {
    /// A plan that was shown is carried out.
    CarryOut(Box<(Order, Draft)>),
    /// Checks have seen a site.
    Seen(usize),
}

pub struct Run<J> {
    clock: Clock,
    process: Process,
    empty: Arc<Serving>,
    world: Faulty<Weakened>,
    journal: FaultyJournal<J>,
    pub engine: Engine,
    policy: understudy::failover::policy::Policy,
    resolvers: Vec<Resolver>,
    odd: Vec<Odd>,
    variants: Vec<Variant>,
    epoch: u64,
    waiting_edits: Vec<(usize, Change)>,
    measured: Vec<Option<Health>>,
    acts: VecDeque<(Timestamp, Act)>,
    later: Vec<(Timestamp, Later)>,
    watch: Watch,
    trace: Vec<String>,
    summary: Summary,
    /// Where the texts are kept, if not only in memory.
    store: Option<Store>,
    /// Whether it goes on with what a journal says.
    resumed: bool,
}

/// Runs a case to its end.
pub fn run<J: Journal>(case: &Case, journal: J, without: Option<Without>) -> Result<Summary, Violation> {
    finish(Run::new(case, journal, without, None))
}

/// Runs a case to its end, and keeps the texts in a store.
pub fn run_kept<J: Journal>(case: &Case, journal: J, store: &Store) -> Result<Summary, Violation> {
    finish(Run::new(case, journal, None, Some(store.clone())))
}

/// Goes on with what a journal says of a case that was interrupted: nothing more happens but what follows from it.
pub fn go_on<J: Journal>(case: &Case, journal: J, store: &Store) -> Result<Summary, Violation> {
    let run = Run::new(&case.only(|_| false), journal, None, Some(store.clone()));
    finish(run.and_then(|mut run| {
        if let Some(last) = run.journal.latest(&run.sim().stream())? {
            run.clock.set(last.at.after(CHECKED));
        }
        run.resumed = true;
        Ok(run)
    }))
}

fn finish<J: Journal>(run: Result<Run<J>, StoreError>) -> Result<Summary, Violation> {
    let mut run = run.map_err(|error| Violation { what: error.to_string(), trace: Vec::new() })?;
    let ended = if run.resumed { run.start().and_then(|()| run.go()) } else { run.go() };
    match ended {
        Ok(()) => Ok(run.summary),
        Err(what) => Err(Violation { what, trace: run.trace }),
    }
}

fn actor(name: &str, uid: u32) -> Actor {
    Actor { uid: Some(uid), name: name.into() }
}

impl Summary {
    /// Adds another run's.
    pub fn add(&mut self, other: &Summary) {
        for (ending, count) in &other.endings {
            *self.endings.entry(ending).or_default() += count;
        }
        self.asked += other.asked;
        self.rows += other.rows;
        self.restarts += other.restarts;
    }
}

impl<J: Journal> Run<J> {
    fn new(case: &Case, journal: J, without: Option<Without>, store: Option<Store>) -> Result<Run<J>, StoreError> {
        let (clock, process) = (Clock::default(), Process::default());
        clock.set(START);
        let empty = nothing(&sets(&[("europe", &["100.0.0.0/8"])]), &[], Settings::default());
        let mut journal = FaultyJournal::new(journal, BTreeMap::new(), process.clone());
        let kept = if store.is_some() { all_kept() } else { Kept::new() };
        let mut sim = Simulated::start(&origin(), &empty, kept, clock.clone(), &journal)?;
        if journal.published()?.is_empty() {
            let first = content(&case.variants, 1);
            keep(store.as_ref(), &case.variants)?;
            if let Edited::Refused(findings) = sim.edit(&mut journal, None, first, &By::daemon())? {
                panic!("the first content is refused: {findings:#?}");
            }
        }
        let engine = sim.engine(&case.policy, &journal)?;
        let journal = FaultyJournal::new(journal.journal, case.commits.clone(), process.clone());
        let resolvers = case.resolvers.iter().zip(0..).take(3);
        let resolvers: Vec<Resolver> =
            resolvers.map(|(spec, at)| Resolver::new(spec, case.seed << 8 | at, START)).collect();
        // The last of them have habits of their own.
        let odd = case.resolvers.iter().zip(0..).skip(2);
        let odd = odd.map(|(spec, at)| Odd::new(spec, case.seed << 8 | 128 | at, START)).collect();
        let measured = vec![case.watched.then_some(Health::Up); case.variants.len()];
        let later = (0..measured.len()).filter(|_| case.watched).map(|site| (START, Later::Seen(site)));
        let watch = Watch::new(&first_state(case));
        Ok(Run {
            later: later.collect(),
            acts: case.acts.iter().map(|(at, act)| (START.after(*at), act.clone())).collect(),
            world: Faulty::new(Weakened { sim, without }, case.effects.clone(), process.clone()),
            clock,
            process,
            empty,
            journal,
            engine,
            policy: case.policy.clone(),
            resolvers,
            odd,
            variants: case.variants.clone(),
            epoch: 1,
            waiting_edits: Vec::new(),
            measured,
            watch,
            trace: Vec::new(),
            summary: Summary::default(),
            store,
            resumed: false,
        })
    }

    fn sim(&self) -> &Simulated {
        &self.world.world.sim
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        let at = self.clock.now().since(START);
        self.trace.push(format!("{at:>10.1?} {}", line()));
    }

    fn go(&mut self) -> Result<(), String> {
        let mut turns = 0;
        let mut recovered = false;
        loop {
            let act = self.acts.front().map(|(at, _)| *at);
            let later = self.later.iter().map(|(at, _)| *at).min();
            let late = self.world.next();
            // The daemon goes by its own clock.
            let engine = self.engine.deadline().map(|at| Timestamp(at.0 - self.world.skew()));
            let user = self.resolvers.iter().map(|resolver| resolver.next);
            let user = user.chain(self.odd.iter().map(|resolver| resolver.next)).min();
            let is_over = act.is_none() && later.is_none() && late.is_none();
            if is_over && !recovered {
                recovered = true;
                self.recover()?;
                continue;
            }
            if is_over && self.is_at_rest() {
                return self.end();
            }
            let Some(next) = [act, later, late, engine, user].into_iter().flatten().min() else {
                return Err("nothing is due, and it is not at rest".into());
            };
            self.clock.set(self.clock.now().max(next));
            if late == Some(next) {
                if let Some(outcome) = self.world.due(&self.engine.state) {
                    self.drive(outcome, &By::daemon())?;
                }
            } else if engine == Some(next) {
                turns += usize::from(recovered);
                if turns > MOST_TURNS {
                    return Err(format!("it comes to no end: {:#?}", self.engine.state));
                }
                self.tick()?;
            } else if act == Some(next) {
                if let Some((_, act)) = self.acts.pop_front() {
                    self.act(act)?;
                }
            } else if later == Some(next) {
                let place = self.later.iter().position(|(at, _)| *at == next).unwrap_or(0);
                match self.later.remove(place).1 {
                    Later::CarryOut(shown) => self.carry_out(&shown.0, Some(&shown.1))?,
                    Later::Seen(site) => self.seen(site)?,
                }
            } else {
                self.user(next)?;
            }
        }
    }

    /// A user asks.
    fn user(&mut self, now: Timestamp) -> Result<(), String> {
        let serving = Arc::clone(self.sim().serving());
        for resolver in self.resolvers.iter_mut().filter(|resolver| resolver.next <= now) {
            self.summary.asked += 1;
            resolver.ask(&serving, now)?;
        }
        for resolver in self.odd.iter_mut().filter(|resolver| resolver.next <= now) {
            self.summary.asked += 1;
            resolver.ask(&serving, now)?;
        }
        Ok(())
    }

    /// Whether nothing goes on any more by itself but saying that something is held.
    fn is_at_rest(&self) -> bool {
        let state = &self.engine.state;
        self.engine.again.is_none()
            && state.pending.is_empty()
            && state.moves.values().chain(state.challengers.values()).all(|moving| moving.hold.is_some())
    }

    /// From now on all goes well.
    fn recover(&mut self) -> Result<(), String> {
        self.note(|| "from now on all goes well".into());
        self.world.faults.clear();
        self.journal.recover();
        for site in 0..self.variants.len() {
            self.act(Act::Force(site, Some(Health::Up)))?;
        }
        Ok(())
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        self.note(|| format!("{act:?}"));
        let by = By { actor: actor("ann", 1001), reason: "chance".into() };
        let (ann, reason) = (by.actor.clone(), by.reason.clone());
        match act {
            Act::Move { kind, to, region, shown } => {
                let region = region.map(|region| REGIONS[region].to_owned());
                let request = MoveRequest { to: SITES[to].into(), from: None, region };
                let order = Order { kind, request, actor: ann, reason, policy: self.policy.clone() };
                match shown {
                    None => self.carry_out(&order, None),
                    Some(wait) => {
                        if let Ok(draft) = self.world.world.carry_out(&self.engine.state, &order, None) {
                            self.later.push((self.clock.now().after(wait), Later::CarryOut(Box::new((order, draft)))));
                        }
                        Ok(())
                    }
                }
            }
            Act::Steer(steering, region) => {
                let target = Target::Region(RegionName::from(REGIONS[region]));
                let event = match steering {
                    Steering::Hold => Event::Hold { target, actor: ann, reason },
                    Steering::Resume => Event::Resume { target, actor: ann, reason },
                    Steering::Abort => Event::Abort { target, actor: ann, reason },
                    Steering::Approve => Event::Approved { target, actor: actor("bob", 1002) },
                };
                self.drive(event, &by)
            }
            Act::Health(site, health) => {
                if self.measured[site].is_some() {
                    self.measured[site] = Some(health);
                    self.seen(site)?;
                }
                Ok(())
            }
            Act::Force(site, health) => {
                let event = Event::SiteForced { site: SITES[site].into(), health, actor: ann, reason };
                self.drive(event, &by)
            }
            Act::Edit(site, change) => self.edit(site, change),
            Act::Clock(milliseconds) => {
                self.world.step_clock(milliseconds);
                self.watch.clock_stepped(milliseconds);
                Ok(())
            }
            Act::Bound(region) => self.bound(REGIONS[region]),
            Act::Restart => {
                self.process.end();
                self.after()
            }
        }
    }

    fn carry_out(&mut self, order: &Order, shown: Option<&Draft>) -> Result<(), String> {
        match self.world.world.carry_out(&self.engine.state, order, shown) {
            Err(why) => {
                self.note(|| format!("not begun: {why}"));
                Ok(())
            }
            Ok(draft) => {
                let by = By { actor: order.actor.clone(), reason: order.reason.clone() };
                self.drive(draft.begin(), &by)
            }
        }
    }

    /// When old answers are gone is told as it is, by the daemon's clock.
    fn bound(&mut self, region: &str) -> Result<(), String> {
        let state = &self.engine.state;
        let Some((id, moving)) = state.move_of(&RegionName::from(region)) else { return Ok(()) };
        let Some(zone) = self.sim().serving().zone(origin().as_ref()) else { return Ok(()) };
        if moving.direction != Direction::Forward || !matches!(moving.phase, Phase::Draining { .. }) {
            return Ok(());
        }
        let now = self.clock.now();
        let held = last_held(moving, zone, self.watch.contents_since(id), &self.resolvers)
            .map_or(now, |(held, _)| held.max(now));
        let until = Timestamp(held.0 + self.world.skew());
        self.drive(
            Event::DrainBound { id, until, basis: "what resolvers hold".into(), longer: Vec::new() },
            &By::daemon(),
        )
    }

    /// Checks tell what they see of a site.
    fn seen(&mut self, site: usize) -> Result<(), String> {
        let Some(health) = self.measured[site] else { return Ok(()) };
        self.drive(Event::SiteHealthChanged { site: SITES[site].into(), health }, &By::daemon())
    }

    fn edit(&mut self, site: usize, change: Change) -> Result<(), String> {
        let mut variants = self.variants.clone();
        variants[site] = change.apply(variants[site]);
        if variants == self.variants {
            return Ok(());
        }
        let next = content(&variants, self.epoch + 1);
        keep(self.store.as_ref(), &variants).map_err(|error| error.to_string())?;
        let state = self.engine.state.clone();
        let world = &mut self.world.world.sim;
        let edited = world.edit(&mut self.journal, Some(&state), next, &By::daemon());
        let outcome = match edited {
            Ok(Edited::Published) => {
                (self.variants, self.epoch) = (variants, self.epoch + 1);
                "published".to_owned()
            }
            Ok(Edited::Queued(touched)) => {
                self.waiting_edits.push((site, change));
                format!("waits: {touched:?}")
            }
            Ok(Edited::Refused(findings)) => {
                let stopping = findings.iter().filter(|found| found.verdict.stops());
                format!("refused: {:?}", stopping.map(|found| (found.gate, &found.items)).collect::<Vec<_>>())
            }
            Err(error) => error.to_string(),
        };
        self.note(|| format!("the edit: {outcome}"));
        self.after()
    }

    fn drive(&mut self, event: impl Into<Outcome>, by: &By) -> Result<(), String> {
        let outcome = event.into();
        let told = self.note_event(&outcome.event);
        let driven = self.engine.drive(&mut self.world, &mut self.journal, outcome, by);
        match driven {
            Ok(None) => {}
            Ok(Some(Refusal::Broken { what })) => return Err(format!("the engine stopped itself: {what}")),
            Ok(Some(refusal)) => self.note(|| format!("{told} is refused: {refusal}")),
            Err(error) => self.note(|| format!("not written: {error}")),
        }
        self.after()
    }

    fn note_event(&mut self, event: &Event) -> String {
        let mut told = Beginning { text: String::with_capacity(80), left: 60 };
        // It says no more than that it is cut short.
        let _ = write!(told, "{event:?}");
        self.note(|| told.text.clone());
        told.text
    }

    fn tick(&mut self) -> Result<(), String> {
        self.engine.tick(&mut self.world, &mut self.journal);
        self.after()
    }

    /// Looks at what has come of it; starts the process again if it has ended.
    fn after(&mut self) -> Result<(), String> {
        let mut starts = 0;
        while self.process.has_ended() {
            starts += 1;
            if starts > 20 {
                return Err("it does not start".into());
            }
            self.summary.restarts += 1;
            self.start()?;
        }
        self.look()?;
        if self.engine.state.ways().is_empty()
            && let Some((site, change)) = self.waiting_edits.pop()
        {
            self.note(|| format!("the edit that waited: {site} {change:?}"));
            self.edit(site, change)?;
        }
        Ok(())
    }

    /// A start: what the journal says is served, and what was under way goes on.
    fn start(&mut self) -> Result<(), String> {
        self.note(|| "the process starts again".into());
        let failed = |error: StoreError| error.to_string();
        let kept = self.sim().kept().clone();
        let sim = Simulated::start(&origin(), &self.empty, kept, self.clock.clone(), &self.journal).map_err(failed)?;
        self.engine = sim.engine(&self.policy, &self.journal).map_err(failed)?;
        self.adopt(&sim);
        let without = self.world.world.without;
        self.world.restarted(Weakened { sim, without });
        self.look()?;
        if self.engine.last.is_some() {
            let resumed = self.engine.resume(&mut self.world, &mut self.journal);
            if let Err(error) = resumed {
                self.note(|| format!("not written: {error}"));
            }
        }
        let at = self.clock.now().after(CHECKED);
        let watched = self.measured.iter().enumerate().filter(|(_, measured)| measured.is_some());
        self.later.extend(watched.map(|(site, _)| (at, Later::Seen(site))));
        Ok(())
    }

    /// An edit of which nothing was heard may have been written all the same.
    fn adopt(&mut self, sim: &Simulated) {
        let Some(zone) = sim.serving().zone(origin().as_ref()) else { return };
        self.epoch = zone.content.epoch;
        self.variants = variants_of(&zone.content);
    }

    fn look(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        let stream = self.sim().stream();
        let lines = self.watch.news(&self.engine, &self.journal, &stream)?;
        lines.into_iter().for_each(|line| self.note(|| format!("- {line}")));
        let sim = &self.world.world.sim;
        let published = self.watch.look(sim, &self.engine, &self.resolvers, now)?;
        if published {
            self.resolvers.iter_mut().for_each(|resolver| resolver.hurry(now));
        }
        Ok(())
    }

    /// Nothing goes on any more.
    fn end(&mut self) -> Result<(), String> {
        self.summary.rows = self.watch.rows();
        let sim = &self.world.world.sim;
        self.watch.end(sim, &self.engine, &self.journal)?;
        for ended in self.watch.endings() {
            *self.summary.endings.entry(ended).or_default() += 1;
        }
        let held = self.engine.state.moves.len() + self.engine.state.challengers.len();
        if held > 0 {
            self.summary.endings.insert("held", held);
        }
        Ok(())
    }
}

/// The beginning of a text: so many characters.
struct Beginning {
    text: String,
    left: usize,
}

impl std::fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let before = self.text.len();
        self.text.extend(text.chars().take(self.left));
        self.left -= self.text[before..].chars().count();
        if self.left == 0 { Err(std::fmt::Error) } else { Ok(()) }
    }
}

/// What is decided before anything is.
fn first_state(case: &Case) -> State {
    let sites = case.variants.iter().map(|variant| SiteName::from(SITES[variant.site]));
    let base = REGIONS.iter().map(|region| (RegionName::from(*region), SiteName::from(SITES[0])));
    State::new(origin(), Frozen::new(case.policy.clone()), sites, base.collect(), START)
}

/// Keeps the texts of a content where the journal's publications look for them.
fn keep(store: Option<&Store>, variants: &[Variant]) -> Result<(), StoreError> {
    store.map_or(Ok(()), |store| store.texts().keep("publishing", origin().as_ref(), &parts(variants)).map(drop))
}
