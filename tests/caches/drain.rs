//! The forecast against simulated resolvers: within two points everywhere.

use std::time::Duration;

use understudy::drain::{Course, Demand, Holder, Outlook, Step, Told, forecast};
use understudy::profile::{Applications, Kind, Population};
use understudy::rr::RrType;
use understudy::share::Share;
use understudy::time::{Timestamp, Ttl};
use understudy::world::sim::authority::Authority;
use understudy::world::sim::chance::Chance;
use understudy::world::sim::crowd::{self, Count, Watch};
use understudy::world::sim::population::{Egress, Minds, Mixture, Size};
use understudy::world::sim::resolver::{Habits, Outcome, Prefetch, Stale};

use super::name;

const BEGIN: Timestamp = Timestamp(1_000_000_000_000);
/// How far apart the two may be.
const POINTS: f64 = 0.02;
/// In seconds.
const SPAN: i64 = 5;

/// Many resolvers of middling size, so that none counts for more than a fraction of a point.
fn sizes() -> Vec<Size> {
    [(0.2, 60, 8), (0.4, 40, 3), (0.4, 20, 1)]
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

/// Counts what the clients of all resolvers use, in spans of five seconds.
fn counted(egresses: &[Egress], minds: Minds, ttl: u32, kind: Kind, steps: &[Step], end: i64) -> Vec<Count> {
    let head = format!("$TTL {ttl}\n@ IN SOA ns h 1 1h 10m 2w {ttl}\n@ IN NS ns\nns IN A 192.0.2.53\n");
    let new = format!("{head}www IN A 192.0.2.2\n");
    let old = if kind == Kind::Positive { format!("{head}www IN A 192.0.2.1\n") } else { head };
    let moves: Vec<_> = steps.iter().map(|step| (step.at, step.share)).collect();
    let mut authority = Authority::of_move(&name("wiki.example"), [&old, &new], &moves, [5; 16]).unwrap();
    let ends = (1..=end / SPAN).map(|span| span * SPAN * 1000).collect();
    let watch = Watch { name: name("www.wiki.example"), rtype: RrType::A, ttl, begin: BEGIN, ends, minds };
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

/// The proposed population, which either side has its own numbers of.
#[test]
fn the_forecast_is_within_two_points_of_resolvers_that_were_not_looked_into() {
    let (mixture, population) = (Mixture { sizes: sizes(), ..Mixture::proposed() }, Population::proposed());
    for (seed, ttl, kind) in [
        (1, 30, Kind::Positive),
        (2, 60, Kind::Positive),
        (3, 300, Kind::Positive),
        (4, 30, Kind::Negative),
        (5, 60, Kind::Negative),
        (6, 300, Kind::Negative),
    ] {
        let egresses = mixture.draw(60_000, seed);
        let counts = counted(&egresses, mixture.minds, ttl, kind, &at_once(), 900);
        let course = foretold(&egresses, &population, ttl, kind, &at_once());
        let (apart, when) = apart(&counts, &course);
        println!("TTL {ttl}, {kind:?}: {:.2} points at {when} s", apart * 100.0);
        assert!(apart < POINTS, "TTL {ttl}, {kind:?}: {:.2} points at {when} s", apart * 100.0);
    }
}

/// By steps: some hundred units a step, so that their number is nearly what it should be.
#[test]
fn a_ramp_is_foretold_too() {
    let (mixture, population) = (Mixture { sizes: sizes(), ..Mixture::proposed() }, Population::proposed());
    let step = |seconds: u64, points| Step {
        at: BEGIN.after(Duration::from_secs(seconds)),
        share: Share::new(points).unwrap(),
    };
    let steps = [step(0, 1000), step(120, 4000), step(240, 10_000)];
    let egresses = mixture.draw(60_000, 9);
    let counts = counted(&egresses, mixture.minds, 60, Kind::Positive, &steps, 600);
    let (apart, when) = apart(&counts, &foretold(&egresses, &population, 60, Kind::Positive, &steps));
    println!("by steps: {:.2} points at {when} s", apart * 100.0);
    // A share of units by hash is that of clients but for chance: five times the deviation of a share of 2300 units.
    assert!(apart < POINTS + 0.03, "{:.2} points at {when} s", apart * 100.0);
}

/// Each habit by itself, for everybody, where a fault would not be lost among others.
#[test]
fn every_habit_is_foretold() {
    use understudy::profile::{Class, Keeping, Prefetch as Advance, Profile, Stale as Late};
    let ttl = |seconds| Ttl::new(seconds);
    let usual = Habits::default();
    let cases = [
        (usual.clone(), Keeping::default()),
        (Habits { floor: 200, ..usual.clone() }, Keeping { floor: ttl(200), ..Keeping::default() }),
        (Habits { cap: 20, ..usual.clone() }, Keeping { cap: ttl(20), ..Keeping::default() }),
        (
            Habits { stale: Stale::AtOnce(1_000_000), ..usual.clone() },
            Keeping { stale: Some(Late::ForEver), ..Keeping::default() },
        ),
        (
            Habits { stale: Stale::AtOnce(20), ..usual.clone() },
            Keeping { stale: Some(Late::For(Ttl::new(20).unwrap())), ..Keeping::default() },
        ),
        (
            Habits { prefetch: Prefetch::LastTenth, ..usual.clone() },
            Keeping { prefetch: Some(Advance::Percent(10)), ..Keeping::default() },
        ),
        (Habits { late: 6, ..usual }, Keeping { rounding: Duration::from_secs(6), ..Keeping::default() }),
    ];
    for (pause, applications) in [(30, 0.0), (600, 0.0), (30, 0.7)] {
        let kept =
            Applications { share: applications, between_uses: Duration::from_secs(pause), ..Applications::default() };
        for (habits, keeping) in &cases {
            let mut mixture = Mixture { sizes: sizes(), ..Mixture::proposed() };
            mixture.kinds.truncate(1);
            mixture.kinds[0].habits = habits.clone();
            let class = Class { name: "all".into(), weight: 1.0, profile: Profile::alike(keeping.clone()) };
            let population = Population { classes: vec![class], applications: Some(kept) };
            let egresses = mixture.draw(if pause > 30 { 100_000 } else { 20_000 }, 11);
            let counts = counted(&egresses, minds(&kept), 60, Kind::Positive, &at_once(), 300);
            let (apart, when) = apart(&counts, &foretold(&egresses, &population, 60, Kind::Positive, &at_once()));
            println!("{keeping:?}, every {pause} s, {applications}: {:.2} points at {when} s", apart * 100.0);
            assert!(
                apart < POINTS,
                "{keeping:?}, every {pause} s, {applications}: {:.2} points at {when} s",
                apart * 100.0
            );
        }
    }
}
