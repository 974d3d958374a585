//! One battery for two worlds: what an operator does ends alike in simulation and on the real program. Drills have one of their
//! own (`drills.rs`).

use std::time::{Duration, Instant};

use serde_json::Value;
use understudy::failover::actor::Actor;
use understudy::failover::effect::Ended;
use understudy::failover::event::{Event, Target};
use understudy::failover::health::Health;
use understudy::failover::moves::{MoveId, Outcome};
use understudy::failover::plan::{Kind, MoveRequest};
use understudy::failover::policy::Policy;
use understudy::failover::state::State;
use understudy::failover::steps::Steps;
use understudy::share::Share;
use understudy::store::Store;
use understudy::store::journal::{Journal, MemoryJournal, Row, Sequence};
use understudy::time::{Timestamp, Ttl};
use understudy::world::sim::{Clock, Edited, Kept, Order, Simulated};
use understudy::world::turns::Engine;
use understudy::world::{By, World};

use crate::case::{Change, Steering};
use crate::content::{SHARED, SITES, Variant, content, origin};
use crate::support::daemon::{Daemon, Home, free_port};
use crate::support::sites::{nothing, sets};

pub const AMBER: usize = 0;
pub const BLUE: usize = 1;
pub const CORAL: usize = 2;
/// Reached only when a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an operator does, or waits for.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// It begins.
    Begin(Kind, usize),
    /// It does not, and this is why.
    Refused(Kind, usize, &'static str),
    /// Until the newest move is in this phase, and this share is published.
    Until(&'static str, &'static str),
    Steer(Steering),
    /// It is refused, for this reason.
    InVain(Steering, &'static str),
    Site(usize, Health),
    Edit(usize, Change),
    /// Until nothing moves that is not held.
    Rest,
    /// The process is killed and started again.
    Killed,
}

use Health::{Down, Up};
use Kind::{Failover, Rollback, Switchover};
use Steering::{Abort, Hold, Resume};
use Step::{Begin, Edit, InVain, Killed, Refused, Rest, Site, Steer, Until};

/// What lasts until somebody ends it, as far as a test can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    Nothing,
    /// The old TTL.
    Lowering,
    /// A share of clients, and the time for which the new site is watched.
    Steps,
}

use Lasting::{Lowering, Nothing, Steps as Shares};

/// A name, what lasts, what is done, how each move ends, and where all are then.
type Scenario = (&'static str, Lasting, &'static [Step], &'static [&'static str], usize);

#[rustfmt::skip]
const BATTERY: &[Scenario] = &[
    ("to its end", Nothing, &[Begin(Switchover, BLUE)], &["done"], BLUE),
    ("at once", Nothing, &[Begin(Failover, BLUE)], &["done"], BLUE),
    ("killed on the way", Nothing, &[Begin(Switchover, BLUE), Killed, Killed], &["done"], BLUE),
    ("given up with some over", Shares, &[Begin(Switchover, BLUE), Until("shifting", "50%"), Steer(Abort)], &["reversed"], AMBER),
    ("given up on hold", Lowering, &[Begin(Switchover, BLUE), Steer(Hold), Steer(Abort)], &["aborted"], AMBER),
    ("held, killed and gone on with", Lowering, &[Begin(Switchover, BLUE), Steer(Hold), Killed, Steer(Resume)], &["done"], BLUE),
    ("left on hold", Shares, &[Begin(Switchover, BLUE), Until("shifting", "50%"), Steer(Hold), Killed], &["held"], AMBER),
    ("the target dies", Shares, &[Begin(Switchover, BLUE), Until("shifting", "50%"), Site(BLUE, Down)], &["held"], AMBER),
    ("the target dies and another takes over", Lowering,
        &[Begin(Switchover, BLUE), Site(BLUE, Down), Begin(Failover, CORAL)], &["replaced", "done"], CORAL),
    ("too late to give up", Shares,
        &[Begin(Failover, BLUE), Until("baking", "100%"), InVain(Abort, "rollback"), Begin(Rollback, AMBER),
          Until("baking", "100%"), Steer(Hold)],
        &["replaced", "held"], AMBER),
    ("a target that is down", Nothing, &[Site(BLUE, Down), Refused(Failover, BLUE, "is down"), Site(BLUE, Up)], &[], AMBER),
    ("a second one", Lowering, &[Begin(Switchover, BLUE), Refused(Switchover, CORAL, "is moving the region"), Steer(Abort)],
        &["aborted"], AMBER),
    ("a lever that one site has", Nothing,
        &[Edit(BLUE, Change::Front(1)), Refused(Switchover, BLUE, "zone.cross-closure")], &[], AMBER),
];

/// Where a scenario has come to.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    /// How each move ended, the first first.
    pub moves: Vec<String>,
    /// The site that each region is answered from, moves aside.
    sites: Vec<String>,
}

fn end_of(rows: &[Row]) -> End {
    let read = |row: &Row| serde_json::from_value::<State>(row.state.clone()).unwrap();
    let Some(state) = rows.last().map(read) else {
        return End { moves: Vec::new(), sites: vec![SITES[AMBER].into(); 2] };
    };
    let issued = rows.iter().flat_map(|row| row.effects.as_array().cloned().unwrap_or_default());
    let ended = issued.filter_map(|issued| issued["effect"].get("ended").cloned());
    let ended: Vec<Ended> = ended.map(|ended| serde_json::from_value(ended).unwrap()).collect();
    let how = |id: u64| match ended.iter().find(|ended| ended.id == MoveId(id)).map(|ended| &ended.outcome) {
        Some(Outcome::Done) => "done",
        Some(Outcome::Reversed) => "reversed",
        Some(Outcome::Aborted { .. }) => "aborted",
        Some(Outcome::Refused { .. }) => "refused",
        Some(Outcome::Replaced { .. }) => "replaced",
        None if state.find(MoveId(id)).is_some_and(|moving| moving.hold.is_some()) => "held",
        None => "under way",
    };
    let sites = state.routes().into_values().map(|route| route.site.to_string());
    End { moves: (1..state.next_move).map(|id| how(id).to_owned()).collect(), sites: sites.collect() }
}

fn variants() -> Vec<Variant> {
    (0..3).map(|site| Variant { site, lever: SHARED, levers: 0, ttl: 20, edition: 1 }).collect()
}

/// The simulated world.
pub struct InSimulation {
    clock: Clock,
    world: Simulated,
    journal: MemoryJournal,
    engine: Engine,
    policy: Policy,
    variants: Vec<Variant>,
}

impl InSimulation {
    pub fn new(lasting: Lasting) -> InSimulation {
        let clock = Clock::default();
        clock.set(Timestamp(1_800_000_000_000));
        let mut journal = MemoryJournal::default();
        let empty = nothing(&sets(&[("europe", &["127.128.0.0/9"])]), &[], Default::default());
        let mut world = Simulated::start(&origin(), &empty, Kept::new(), clock.clone(), &journal).unwrap();
        let first = world.edit(&mut journal, None, content(&variants(), 1), &By::daemon()).unwrap();
        assert!(matches!(first, Edited::Published));
        let wait = Duration::from_secs(if lasting == Shares { 3600 } else { 1 });
        let steps = Steps::try_from(vec![Share::new(5000).unwrap(), Share::ALL]).unwrap();
        let low_ttl = Ttl::new(1).unwrap();
        let policy = Policy { steps, step_wait: wait, bake: wait, low_ttl, ..Policy::default() };
        let engine = world.engine(&policy, &journal).unwrap();
        InSimulation { clock, world, journal, engine, policy, variants: variants() }
    }

    fn by() -> By {
        By { actor: Actor { uid: Some(1001), name: "ann".into() }, reason: "a test".into() }
    }

    fn drive(&mut self, event: Event) -> Result<(), String> {
        match self.engine.drive(&mut self.world, &mut self.journal, event, &InSimulation::by()).unwrap() {
            None => Ok(()),
            Some(refusal) => Err(refusal.to_string()),
        }
    }

    fn begin(&mut self, kind: Kind, to: usize) -> Result<(), String> {
        let request = MoveRequest { to: SITES[to].into(), from: None, region: None };
        let By { actor, reason } = InSimulation::by();
        let order = Order { kind, request, actor, reason, policy: self.policy.clone() };
        let draft = self.world.draft(&self.engine.state, &order).map_err(|error| error.to_string())?;
        let draft = draft.ok_or("nothing to do")?;
        if let Some(finding) = draft.stopping().next() {
            return Err(format!("{}: {}", finding.gate, finding.reason));
        }
        self.drive(draft.begin())
    }

    /// Lets time pass up to the next deadline.
    fn pass(&mut self) {
        let deadline = self.engine.deadline().expect("something is due");
        self.clock.set(self.clock.now().max(deadline));
        self.engine.tick(&mut self.world, &mut self.journal);
    }

    pub fn step(&mut self, step: Step) {
        let (actor, reason) = (InSimulation::by().actor, String::from("a test"));
        let steer = |steering| {
            let target = Target::Only;
            match steering {
                Hold => Event::Hold { target, actor: actor.clone(), reason: reason.clone() },
                Resume => Event::Resume { target, actor: actor.clone(), reason: reason.clone() },
                Abort => Event::Abort { target, actor: actor.clone(), reason: reason.clone() },
                Steering::Approve => Event::Approved { target, actor: actor.clone() },
            }
        };
        match step {
            Begin(kind, to) => self.begin(kind, to).unwrap(),
            Refused(kind, to, why) => {
                let refused = self.begin(kind, to).unwrap_err();
                assert!(refused.contains(why), "{refused}");
            }
            Until(phase, share) => {
                let share: Share = share.parse().unwrap();
                for _ in 0..1000 {
                    let newest = self.engine.state.moves.values().next_back();
                    if newest.is_some_and(|run| run.phase.kind().to_string() == phase && run.published == share) {
                        return;
                    }
                    self.pass();
                }
                panic!("it never is {phase} at {share}");
            }
            Steer(steering) => self.drive(steer(steering)).unwrap(),
            InVain(steering, why) => {
                let refused = self.drive(steer(steering)).unwrap_err();
                assert!(refused.contains(why), "{refused}");
            }
            Site(site, health) => {
                let (site, health) = (SITES[site].into(), Some(health));
                self.drive(Event::SiteForced { site, health, actor, reason }).unwrap();
            }
            Edit(site, change) => {
                self.variants[site] = change.apply(self.variants[site]);
                let next = content(&self.variants, 2);
                let edited = self.world.edit(&mut self.journal, Some(&self.engine.state), next, &By::daemon()).unwrap();
                assert!(matches!(edited, Edited::Published), "{edited:?}");
            }
            Rest => self.rest(),
            Killed => {
                let empty = nothing(&sets(&[("europe", &["127.128.0.0/9"])]), &[], Default::default());
                let kept = self.world.kept().clone();
                self.world = Simulated::start(&origin(), &empty, kept, self.clock.clone(), &self.journal).unwrap();
                self.engine = self.world.engine(&self.policy, &self.journal).unwrap();
                self.engine.resume(&mut self.world, &mut self.journal).unwrap();
            }
        }
    }

    /// Lets time pass until nothing moves any more by itself.
    fn rest(&mut self) {
        for _ in 0..1000 {
            let state = &self.engine.state;
            if state.moves.values().chain(state.challengers.values()).all(|moving| moving.hold.is_some()) {
                return;
            }
            self.pass();
        }
        panic!("it comes to no end: {:#?}", self.engine.state);
    }

    /// Where it has come to.
    pub fn stands(&self) -> End {
        end_of(&self.journal.since(&self.world.stream(), Sequence(0), 1000).unwrap())
    }
}

/// The real program.
pub struct Live {
    home: Home,
    daemon: Option<Daemon>,
    variants: Vec<Variant>,
}

pub const ZONE: &str = "wiki.example";

impl Live {
    pub fn new(lasting: Lasting) -> Live {
        Live::configured(lasting, "")
    }

    /// The same with more in the configuration of the zone.
    pub fn configured(lasting: Lasting, more: &str) -> Live {
        let port = free_port();
        let wait = if lasting == Shares { "1h" } else { "1s" };
        let ttl = if lasting == Lowering { "20s" } else { "1s" };
        let sites = SITES.map(|site| format!("  [[zone.site]]\n  name = '{site}'\n  file = '{site}.zone'\n"));
        let config = format!(
            "[server]\nlisten = ['127.0.0.1:{port}']\nworkers = 1\n\
             [[region]]\nname = 'europe'\nnetworks = ['127.128.0.0/9']\n\
             [[zone]]\nname = '{ZONE}'\nmax_ttl = '{ttl}'\nnegative_ttl = '1s'\nname_servers = ['127.0.0.1:{port}']\n\
             {}  [zone.routing]\n  default = ['amber', 'blue', 'coral']\n  [zone.policy]\n  steps = ['50%', '100%']\n  \
             step_wait = '{wait}'\n  low_ttl = '1s'\n  bake = '{wait}'\n{more}",
            sites.concat()
        );
        let home = Home::new(&config, &[]);
        let live = Live { daemon: None, variants: variants(), home };
        live.write();
        Live { daemon: Some(live.home.serve()), ..live }
    }

    fn write(&self) {
        for variant in &self.variants {
            self.home.write(&format!("{}.zone", SITES[variant.site]), &variant.text());
        }
    }

    fn begin(kind: Kind, to: usize) -> String {
        let to = SITES[to];
        match kind {
            Switchover => format!("switchover {ZONE} --to {to} --until begun"),
            Failover => format!("failover {ZONE} --to {to} --until begun"),
            Rollback => format!("rollback {ZONE} --until begun"),
        }
    }

    fn steer(steering: Steering) -> String {
        format!("{} {ZONE} --reason test", format!("{steering:?}").to_lowercase())
    }

    fn refused(&self, line: &str, why: &str) {
        let done = self.home.cli(line);
        assert!([1, 3].contains(&done.code), "understudy {line}: {done:?}");
        assert!(format!("{:#}", done.json).contains(why), "understudy {line}: {:#}", done.json);
    }

    /// Waits until the zone's status is so.
    pub fn wait(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let zone = self.home.zone(ZONE);
            if is_so(&zone) {
                return zone;
            }
            assert!(Instant::now() < deadline, "{what} did not come: {zone:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether the journal's history of the zone says so.
    pub fn has_told(&self, text: &str) -> bool {
        self.home.expect(0, &format!("history {ZONE}")).to_string().contains(text)
    }

    pub fn command(&self, line: &str) {
        self.home.expect(0, line);
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Begin(kind, to) => drop(self.home.expect(0, &Live::begin(kind, to))),
            Refused(kind, to, why) => self.refused(&Live::begin(kind, to), why),
            Until(phase, share) => drop(self.wait(&format!("{phase} at {share}"), |zone| {
                let newest = moves_of(zone).last();
                newest.is_some_and(|newest| newest["phase"] == phase && newest["share"] == share)
            })),
            Rest => drop(self.wait("the end", |zone| moves_of(zone).iter().all(|run| run["held"].is_string()))),
            Steer(steering) => drop(self.home.expect(0, &Live::steer(steering))),
            InVain(steering, why) => self.refused(&Live::steer(steering), why),
            Site(site, health) => {
                drop(self.home.expect(0, &format!("site {health} {} --zone {ZONE} --reason test", SITES[site])));
            }
            Edit(site, change) => {
                self.variants[site] = change.apply(self.variants[site]);
                self.write();
                drop(self.home.expect(0, "reload"));
            }
            Killed => {
                self.daemon.take().unwrap().kill();
                self.daemon = Some(self.home.serve());
            }
        }
    }

    /// Where it has come to once nothing moves any more: what is public, and the drills.
    pub fn end(mut self) -> [End; 2] {
        self.step(Rest);
        self.daemon.take().unwrap().kill();
        let journal = Store::open(Some(&self.home.path("var"))).unwrap().journal();
        ["public/", "drill/"].map(|stage| {
            let stream = journal.latest_of(stage).unwrap().pop().map(|(stream, _)| stream);
            end_of(&stream.map_or(Vec::new(), |stream| journal.since(&stream, Sequence(0), 1000).unwrap()))
        })
    }
}

fn moves_of(zone: &Value) -> &[Value] {
    zone["moves"].as_array().unwrap()
}

/// Plays each scenario in a world of its own, all at once: they mostly wait.
pub fn all_at_once<T: Sync>(battery: &[T], world: impl Fn(&T) -> (&'static str, Live), play: impl Fn(&T, Live) + Sync) {
    // Each has its port before the next one looks for one.
    let worlds: Vec<_> = battery.iter().map(world).collect();
    std::thread::scope(|scope| {
        for (scenario, (name, live)) in battery.iter().zip(worlds) {
            let (thread, play) = (std::thread::Builder::new().name(name.into()), &play);
            thread.spawn_scoped(scope, move || play(scenario, live)).unwrap();
        }
    });
}

fn wanted(ends: &[&str], site: usize) -> End {
    End { moves: ends.iter().map(|end| (*end).to_owned()).collect(), sites: vec![SITES[site].to_owned(); 2] }
}

#[test]
fn the_simulated_world_ends_as_it_should() {
    for (name, lasting, steps, ends, site) in BATTERY {
        let mut world = InSimulation::new(*lasting);
        steps.iter().for_each(|step| world.step(*step));
        world.step(Rest);
        assert_eq!(world.stands(), wanted(ends, *site), "{name}");
    }
}

#[test]
fn the_real_world_ends_as_the_simulated_one() {
    let world = |(name, lasting, ..): &Scenario| (*name, Live::new(*lasting));
    all_at_once(BATTERY, world, |(name, _, steps, ends, site), mut live| {
        steps.iter().for_each(|step| live.step(*step));
        let [public, _] = live.end();
        assert_eq!(public, wanted(ends, *site), "{name}");
    });
}
