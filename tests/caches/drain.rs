//! The forecast against simulated resolvers: within two points everywhere.

use std::time::Duration;

use understudy::drain::{Course, Demand, Holder, Outlook, Step, Told, forecast};
use understudy::profile::{
    Applications, Class, Keeping, Kind, Population, Prefetch as Advance, Profile, Stale as Late,
};
use understudy::rr::RrType;
use understudy::share::Share;
use understudy::time::{Timestamp, Ttl};
use understudy::world::sim::authority::Authority;
use understudy::world::sim::chance::Chance;
use understudy::world::sim::crowd::{self, Count, Watch};
use understudy::world::sim::population::{self, Egress, Minds, Mixture, Size};
use understudy::world::sim::resolver::{Habits, Outcome, Prefetch, Stale};

use super::name;

const BEGIN: Timestamp = Timestamp(1_000_000_000_000);
/// How far apart the two may be.
const POINTS: f64 = 0.02;
/// Uses are counted in spans of so many seconds.
const SPAN: i64 = 15;

/// So many clients, and how often they use the name in seconds. At any time a cache is filled anew or it is not: of 10,000 of
/// them the mean is off by half a point.
const CLIENTS: u32 = 100_000;
const PAUSE: u64 = 60;

/// Many small resolvers, so that chance has little to say. Who is asked how often is a matter of clients and caches.
fn sizes() -> Vec<Size> {
    [(0.1, 40, 8), (0.3, 15, 2), (0.6, 8, 1)]
        .map(|(part, clients, most)| Size { part, clients, caches: (1, most) })
        .to_vec()
}

fn told(outcome: &Outcome) -> crowd::Told {
    match outcome {
        Outcome::Data(data) if *data[0] == [192, 0, 2, 2] => crowd::Told::New,
        Outcome::Data(_) | Outcome::NoData | Outcome::NoName => crowd::Told::Old,
        Outcome::Failed => crowd::Told::Neither,
    }
}

/// Counts what the clients of all resolvers use, span by span.
fn counted(egresses: &[Egress], minds: Minds, ttl: u32, kind: Kind, steps: &[Step], end: i64) -> Vec<Count> {
    let head = format!("$TTL {ttl}\n@ IN SOA ns h 1 1h 10m 2w {ttl}\n@ IN NS ns\nns IN A 192.0.2.53\n");
    let new = format!("{head}www IN A 192.0.2.2\n");
    let old = if kind == Kind::Positive { format!("{head}www IN A 192.0.2.1\n") } else { head };
    let moves: Vec<_> = steps.iter().map(|step| (step.at, step.share)).collect();
    let mut authority = Authority::of_move(&name("wiki.example"), [&old, &new], &moves, [5; 16]).unwrap();
    let ends = (1..=end / SPAN).map(|span| span * SPAN * 1000).collect();
    let watch = Watch {
        name: name("www.wiki.example"),
        rtype: RrType::A,
        ttl,
        negative: kind == Kind::Negative,
        begin: BEGIN,
        ends,
        minds,
    };
    let each = egresses.iter().map(|egress| crowd::watch(egress, &watch, &mut authority, told));
    each.reduce(|all, counts| all.into_iter().zip(counts).map(|(one, other)| one.and(other)).collect()).unwrap()
}

/// The closed form for the same resolvers, of whose habits nothing is known.
fn foretold(egresses: &[Egress], population: &Population, ttl: u32, kind: Kind, steps: &[Step]) -> Course {
    let kept = population.applications.unwrap();
    let pause = kept.between_uses.as_secs_f64();
    // By simulation, lest it be the formula that is under test: how often a client asks in a second.
    let mut chance = Chance::new(1);
    let asks: f64 = (0..10_000)
        .map(|_| {
            let keeps = chance.share() < kept.share;
            let hold = chance.between(kept.least.as_secs_f64(), kept.greatest.as_secs_f64());
            if keeps { 1.0 / (hold + pause) } else { 1.0 / pause }
        })
        .sum::<f64>()
        / 10_000.0;
    let holders: Vec<Holder> = egresses
        .iter()
        .map(|egress| Holder {
            family: RrType::A,
            weight: egress.clients.into(),
            demand: Demand::Known(f64::from(egress.clients) * asks / f64::from(egress.habits.caches)),
            told: Told::Unknown,
            ttl: Ttl::new(ttl).unwrap(),
            kind,
            profile: None,
            moves: None,
        })
        .collect();
    let outlook = Outlook { holders: &holders, population, steps, known_until: BEGIN, bound: None };
    forecast(&outlook).courses.remove(0)
}

/// The greatest distance, and where it is.
fn apart(counts: &[Count], course: &Course) -> (f64, i64) {
    let spans = (0..).map(|span| span * SPAN).zip(counts);
    let distance = |(begin, count): (i64, &Count)| {
        assert!(count.neither == 0);
        let tenths = (0..10).map(|tenth| begin as f64 + SPAN as f64 * (f64::from(tenth) + 0.5) / 10.0);
        let said = tenths.map(|time| course.new_at(Duration::from_secs_f64(time))).sum::<f64>() / 10.0;
        ((count.share().unwrap() - said).abs(), begin)
    };
    spans.map(distance).max_by(|one, other| one.0.total_cmp(&other.0)).unwrap()
}

fn minds(kept: &Applications) -> Minds {
    let pause = kept.between_uses.as_secs_f64();
    Minds { part: kept.share, least: kept.least.as_secs_f64(), most: kept.greatest.as_secs_f64(), pause }
}

fn at_once() -> Vec<Step> {
    vec![Step { at: BEGIN, share: Share::ALL }]
}

/// The proposed population, which either side has its own numbers of, and how often clients use the name.
fn proposed() -> (Mixture, Population) {
    let mut mixture = Mixture { sizes: sizes(), ..Mixture::proposed() };
    let mut population = Population::proposed();
    mixture.minds.pause = PAUSE as f64;
    population.applications =
        population.applications.map(|kept| Applications { between_uses: Duration::from_secs(PAUSE), ..kept });
    (mixture, population)
}

/// The greatest distance for the proposed population, everybody moving at once.
fn proposed_apart(seed: u64, ttl: u32, kind: Kind) {
    let (mixture, population) = proposed();
    let egresses = mixture.draw(CLIENTS, seed);
    let end = 240 + i64::from(ttl);
    let counts = counted(&egresses, mixture.minds, ttl, kind, &at_once(), end);
    let (apart, when) = apart(&counts, &foretold(&egresses, &population, ttl, kind, &at_once()));
    println!("TTL {ttl}, {kind:?}: {:.2} points at {when} s", apart * 100.0);
    assert!(apart < POINTS, "TTL {ttl}, {kind:?}: {:.2} points at {when} s", apart * 100.0);
}

#[test]
fn data_drains_as_foretold() {
    [30, 60, 300].into_iter().zip(1..).for_each(|(ttl, seed)| proposed_apart(seed, ttl, Kind::Positive));
}

#[test]
fn negative_answers_drain_as_foretold() {
    [30, 60, 300].into_iter().zip(4..).for_each(|(ttl, seed)| proposed_apart(seed, ttl, Kind::Negative));
}

#[test]
fn a_ramp_is_foretold_too() {
    let (mixture, population) = proposed();
    let step = |seconds: u64, points| Step {
        at: BEGIN.after(Duration::from_secs(seconds)),
        share: Share::new(points).unwrap(),
    };
    let steps = [step(0, 1000), step(120, 4000), step(240, 10_000)];
    let egresses = mixture.draw(CLIENTS, 9);
    let counts = counted(&egresses, mixture.minds, 60, Kind::Positive, &steps, 480);
    let (apart, when) = apart(&counts, &foretold(&egresses, &population, 60, Kind::Positive, &steps));
    println!("by steps: {:.2} points at {when} s", apart * 100.0);
    assert!(apart < POINTS, "{:.2} points at {when} s", apart * 100.0);
}

/// Each habit by itself, for everybody, where a fault would not be lost among others.
#[test]
fn every_habit_is_foretold() {
    habits_apart(80_000, 8, 30, 0..7);
}

/// Where names are used seldom, it makes a difference that answers are fetched by who asks.
#[test]
fn habits_that_depend_on_who_asks_are_foretold() {
    habits_apart(240_000, 24, 600, 3..6);
}

/// So many clients, of which as many stand behind each resolver, and each use the name so often.
fn habits_apart(clients: u32, behind_each: u32, pause: u64, which: std::ops::Range<usize>) {
    let sizes = vec![Size { part: 1.0, clients: behind_each, caches: (1, 1) }];
    let ttl = |seconds| Ttl::new(seconds);
    let (usual, keeping) = (Habits::default(), Keeping::default());
    let tenth = Some(Advance::Percent(10));
    let for_20 = Late::For(Ttl::new(20).unwrap());
    let cases = [
        (usual.clone(), keeping.clone()),
        (Habits { floor: 200, ..usual.clone() }, Keeping { floor: ttl(200), ..keeping.clone() }),
        (Habits { cap: 20, ..usual.clone() }, Keeping { cap: ttl(20), ..keeping.clone() }),
        (
            Habits { stale: Stale::AtOnce(1_000_000), ..usual.clone() },
            Keeping { stale: Some(Late::ForEver), ..keeping.clone() },
        ),
        (Habits { stale: Stale::AtOnce(20), ..usual.clone() }, Keeping { stale: Some(for_20), ..keeping.clone() }),
        (Habits { prefetch: Prefetch::LastTenth, ..usual.clone() }, Keeping { prefetch: tenth, ..keeping.clone() }),
        (Habits { late: 6, ..usual }, Keeping { rounding: Duration::from_secs(6), ..keeping }),
    ];
    let none = Applications {
        share: 0.0,
        least: Duration::ZERO,
        greatest: Duration::ZERO,
        between_uses: Duration::from_secs(pause),
    };
    for (habits, keeping) in &cases[which] {
        let kinds = vec![population::Kind { part: 1.0, habits: habits.clone() }];
        let mixture = Mixture { kinds, sizes: sizes.clone(), minds: minds(&none) };
        let class = Class { name: "all".into(), weight: 1.0, profile: Profile::alike(keeping.clone()) };
        let population = Population { classes: vec![class], applications: Some(none) };
        let egresses = mixture.draw(clients, 11);
        let counts = counted(&egresses, mixture.minds, 60, Kind::Positive, &at_once(), 210);
        let (apart, when) = apart(&counts, &foretold(&egresses, &population, 60, Kind::Positive, &at_once()));
        println!("{habits:?}, every {pause} s: {:.2} points at {when} s", apart * 100.0);
        assert!(apart < POINTS, "{habits:?}, every {pause} s: {:.2} points at {when} s", apart * 100.0);
    }
}
