//! `simulate`: what a move would do, played through with simulated resolvers and clients. No server is asked.

mod overload;
mod play;
pub(super) mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::control::api::Failure;
use crate::drain::{Demand, Forecast, Holder, Outlook, Step, Told, forecast};
use crate::profile::{Kind, Population};
use crate::rr::RrType;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};
use crate::world::sim::crowd::Count;
use crate::world::sim::population::Egress;
use play::Scene;
use report::SimulateReport;

/// What is to be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WhatIf {
    /// How many clients there are.
    pub(super) clients: u32,
    /// The TTL of what moves.
    pub(super) ttl: Ttl,
    /// The TTL of negative answers.
    pub(super) negative_ttl: Ttl,
    /// The shares that it moves by before the whole.
    pub(super) steps: Vec<Share>,
    /// How long it stays at each.
    pub(super) wait: Duration,
    /// A file with a population instead of the proposed one.
    pub(super) population: Option<PathBuf>,
    /// The share of clients behind resolvers that do not keep TTLs.
    pub(super) violators: Option<Share>,
    /// The share of clients whose applications keep answers themselves.
    pub(super) applications: Option<Share>,
    /// How long it is from one use of the name to a client's next.
    pub(super) pause: Duration,
    /// How many uses a second sites can carry.
    pub(super) capacity: Vec<Limit>,
    /// How many clients that it has not seen before the target can take in a second.
    pub(super) arrivals: Option<u32>,
    /// How long clients wait before they try again what has failed.
    pub(super) retry: Duration,
    /// How often they try again.
    pub(super) retries: u32,
    /// What everything that is drawn follows from.
    pub(super) seed: u64,
}

/// An end of the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    /// The site that is left.
    Old,
    /// The site that is gone to.
    New,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Side::Old => "old",
            Side::New => "new",
        })
    }
}

/// What a site carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// The site.
    pub(super) side: Side,
    /// At most so many a second.
    pub(super) most: u32,
}

/// When the first step is taken, in virtual time. Any time would do.
const BEGIN: Timestamp = Timestamp(1_000_000_000_000);
/// For so many hours behind the last step it is watched where no end is foreseen.
const ENDLESS: f64 = 6.0;
/// The most work that is begun, and how long that takes on two processors.
const MOST_WORK: f64 = 3e8;
const MOST_SECONDS: f64 = 40.0;
/// Spans that uses are counted in.
const SPANS: usize = 240;

/// Plays it through, and works it out beside that.
pub(super) fn run(what_if: &WhatIf) -> Result<SimulateReport, Failure> {
    let population = population_of(what_if)?;
    let steps = steps_of(what_if);
    within_reason(
        what_if,
        f64::from(what_if.clients) / what_if.pause.as_secs_f64().max(play::LEAST_PAUSE) * least(&steps),
    )?;
    let (mixture, mut left_out) = play::mixture(&population, what_if);
    let egresses = mixture.draw(what_if.clients, what_if.seed);
    let mut courses = Vec::new();
    for (kind, ttl) in [(Kind::Positive, what_if.ttl), (Kind::Negative, what_if.negative_ttl)] {
        let failed = |why| Failure::new(why, "nothing was simulated", "report this as a fault");
        let scene = Scene::new(what_if, &steps, mixture.minds, kind).map_err(failed)?;
        let holders = holders(&population, &egresses, &scene.moves(&egresses), kind, ttl);
        let bound = steps.last().map(|step| step.at.after(ttl.duration()));
        let outlook = Outlook { holders: &holders, population: &population, steps: &steps, known_until: BEGIN, bound };
        let forecast = forecast(&outlook);
        let there = forecast.worst().and_then(|course| course.quantiles.ninety_nine);
        if there.is_none() {
            let told = format!("those who held {}: what comes later than {ENDLESS} h behind the last step", held(kind));
            left_out.push(format!("{told}; that 99% of uses are there is not foreseen within a week"));
        }
        let ends = spans(there, &steps);
        within_reason(what_if, scene.work(&egresses, &ends))?;
        let counts = scene.counts(&egresses, &ends).map_err(failed)?;
        courses.push(Course { kind, forecast, ends, counts });
    }
    Ok(report::of(what_if, &steps, egresses.len(), &courses, left_out))
}

/// Whether that much work is begun.
fn within_reason(what_if: &WhatIf, work: f64) -> Result<(), Failure> {
    if work <= MOST_WORK {
        return Ok(());
    }
    let seconds = work / MOST_WORK * MOST_SECONDS;
    let why = match what_if.ttl.min(what_if.negative_ttl).seconds() {
        low @ 0..=5 => format!(": with a TTL of {low} s, nearly each use takes a query"),
        _ => String::new(),
    };
    Err(Failure::new(
        format!("this would take about {seconds:.0} s{why}; what takes more than {MOST_SECONDS:.0} s is not begun"),
        "nothing was simulated",
        "fewer --clients (shares stay the same), a longer --pause, a higher --ttl or --negative-ttl, or a shorter --wait",
    ))
}

/// One kind of old answer: as it is worked out, and as it was counted.
struct Course {
    kind: Kind,
    forecast: Forecast,
    /// The ends of the spans, in milliseconds behind the first step.
    ends: Vec<i64>,
    counts: Vec<Count>,
}

fn population_of(what_if: &WhatIf) -> Result<Population, Failure> {
    let mut population = match &what_if.population {
        None => Population::proposed(),
        Some(path) => {
            let failed = |why: String| {
                let try_next = "write [[classes]] with name, weight and profile, as docs/simulate.md says";
                Failure::new(format!("{}: {why}", path.display()), "nothing was simulated", try_next)
            };
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            let population: Population =
                toml::from_str(&text).map_err(|error| failed(error.to_string().trim_end().to_owned()))?;
            population.check().map_err(|odd| failed(odd.to_string()))?;
            population
        }
    };
    if let Some(share) = what_if.violators {
        population = population.with_violators(part(share));
    }
    let kept = population
        .applications
        .get_or_insert_with(|| crate::profile::Applications { share: 0.0, ..crate::profile::Applications::default() });
    kept.between_uses = what_if.pause;
    if let Some(share) = what_if.applications {
        kept.share = part(share);
    }
    Ok(population)
}

fn steps_of(what_if: &WhatIf) -> Vec<Step> {
    let shares = what_if.steps.iter().copied().filter(|share| *share != Share::ALL).chain([Share::ALL]);
    let mut at = BEGIN;
    shares
        .map(|share| {
            let step = Step { at, share };
            at = at.after(what_if.wait);
            step
        })
        .collect()
}

fn part(share: Share) -> f64 {
    f64::from(share.basis_points()) / f64::from(Share::ALL.basis_points())
}

/// What the closed form knows of resolvers: how many clients each has, how many caches, and when it changes sides. What it
/// does with answers is a matter of the population.
fn holders(
    population: &Population,
    egresses: &[Egress],
    moves: &[Option<Timestamp>],
    kind: Kind,
    ttl: Ttl,
) -> Vec<Holder> {
    let each = fetches(population);
    // Those that are alike in this are one holder.
    let mut alike: BTreeMap<(u32, u16, Option<Timestamp>), f64> = BTreeMap::new();
    for (egress, moves) in egresses.iter().zip(moves) {
        *alike.entry((egress.clients, egress.habits.caches, *moves)).or_default() += f64::from(egress.clients);
    }
    let holder = |((clients, caches, moves), weight)| Holder {
        family: RrType::A,
        weight,
        demand: Demand::Known(f64::from(clients) * each / f64::from(u16::max(caches, 1))),
        told: Told::Unknown,
        ttl,
        kind,
        profile: None,
        moves,
    };
    alike.into_iter().map(holder).collect()
}

/// How often a client asks its resolver in a second, on average: always when it uses the name, or less where it keeps
/// answers.
fn fetches(population: &Population) -> f64 {
    let Some(kept) = &population.applications else { return 1.0 };
    let pause = kept.between_uses.as_secs_f64().max(play::LEAST_PAUSE);
    let (least, most) = (kept.least.as_secs_f64(), kept.greatest.max(kept.least).as_secs_f64());
    let share = if kept.share.is_finite() { kept.share.clamp(0.0, 1.0) } else { 0.0 };
    // The mean of 1 / (hold + pause) over holds that are spread evenly.
    let keeping = if most - least < 1e-3 {
        1.0 / (least + pause)
    } else {
        ((most + pause) / (least + pause)).ln() / (most - least)
    };
    (1.0 - share) / pause + share * keeping
}

/// It is watched for at least so many seconds.
fn least(steps: &[Step]) -> f64 {
    steps.last().map_or(0.0, |step| step.at.since(BEGIN).as_secs_f64()) + 60.0
}

/// What those held that moved.
fn held(kind: Kind) -> &'static str {
    match kind {
        Kind::Positive => "data",
        Kind::Negative => "negative",
    }
}

/// How finely uses are counted: evenly until 99 % are there by the closed form, in so many seconds, and somewhat longer.
fn spans(there: Option<f64>, steps: &[Step]) -> Vec<i64> {
    let least = least(steps);
    let end = there.map_or(least + ENDLESS * 3600.0, |there| least.max(there * 1.25));
    (1..=SPANS).map(|span| (end * 1000.0 * span as f64 / SPANS as f64) as i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is when nothing is said.
    pub(super) fn usual() -> WhatIf {
        WhatIf {
            clients: 10_000,
            ttl: Ttl::new(60).unwrap(),
            negative_ttl: Ttl::new(30).unwrap(),
            steps: Vec::new(),
            wait: Duration::from_secs(300),
            population: None,
            violators: None,
            applications: None,
            pause: Duration::from_secs(30),
            capacity: Vec::new(),
            arrivals: None,
            retry: Duration::from_secs(1),
            retries: 3,
            seed: 1,
        }
    }

    #[test]
    fn what_is_counted_is_near_the_closed_form() {
        let report = run(&WhatIf { clients: 40_000, ..usual() }).unwrap();
        assert_eq!(report.courses.len(), 2);
        for course in &report.courses {
            // Few resolvers: one of a great many clients is a point or two by itself.
            assert!(course.apart < 0.1, "{}: {}", course.held, course.apart);
            assert!(course.curve.iter().all(|point| point.seconds > 0.0 && (0.0..=1.0).contains(&point.simulated)));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_figures() {
        let seeded = |seed| run(&WhatIf { clients: 2000, seed, ..usual() }).unwrap();
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1).courses, seeded(2).courses);
    }

    #[test]
    fn the_population_of_the_docs_is_read() {
        let docs = include_str!("../../docs/simulate.md");
        let text = docs.split("```toml").nth(1).and_then(|text| text.split("```").next()).unwrap();
        let population: Population = toml::from_str(text).unwrap();
        assert_eq!((population.classes.len(), population.weight()), (3, 100.0));
        assert_eq!(population.applications, Population::proposed().applications);
        let measured = &population.classes[2].profile;
        assert_eq!(measured.hold(Ttl::new(30).unwrap(), Kind::Positive).refreshed.as_secs(), 61);
    }

    #[test]
    fn what_would_take_too_long_is_not_begun() {
        let pause = Duration::from_secs(1);
        let steps = vec!["1%".parse().unwrap()];
        for long in [
            WhatIf { clients: 10_000_000, pause, ..usual() },
            WhatIf { clients: 100_000, pause, steps, wait: Duration::from_secs(86_400), ..usual() },
        ] {
            let failure = run(&long).unwrap_err();
            assert!(failure.what.starts_with("this would take about "), "{failure:?}");
        }
    }

    #[test]
    fn where_nothing_is_kept_each_use_takes_a_query() {
        let work = |ttl| {
            let what_if = WhatIf { ttl: Ttl::new(ttl).unwrap(), ..usual() };
            let steps = steps_of(&what_if);
            let (mixture, _) = play::mixture(&Population::proposed(), &what_if);
            let scene = Scene::new(&what_if, &steps, mixture.minds, Kind::Positive).unwrap();
            scene.work(&mixture.draw(1000, 1), &[600_000])
        };
        assert!(work(0) > 5.0 * work(60), "{} {}", work(0), work(60));
    }

    #[test]
    fn a_population_that_makes_no_sense_is_named_by_its_key() {
        let docs = include_str!("../../docs/simulate.md");
        let good = docs.split("```toml").nth(1).and_then(|text| text.split("```").next()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let said = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            population_of(&WhatIf { population: Some(file.path().into()), ..usual() }).map_err(|failure| failure.what)
        };
        said(good).unwrap();
        for (from, to, wanted) in [
            (
                "weight = 90",
                "weight = 80",
                "`weight` is 90 for all classes together: percentages of clients sum up to 100",
            ),
            (
                "weight = 90",
                "weight = -1",
                "`weight` of the class `exact` is -1: it is the percentage of clients behind",
            ),
            ("weight = 90", "weight = nan", "`weight` of the class `exact` is NaN"),
            ("hold = 61", "hold = 0", "`profile.positive.measured[0].hold` of the class `measured` is 0: how long"),
            ("hold = 61", "hold = -1", "-1 is no span of time"),
            ("ttl = 300, hold", "ttl = 30, hold", "`profile.positive.measured[1].ttl` of the class `measured` is 30 s"),
            ("floor = 300", "cap = 0", "`profile.positive.cap` of the class `keeps everything"),
            ("floor = 600", "floor = 600, cap = 60", "`profile.negative.floor` of the class"),
            ("floor = 300", "floor = 300, prefetch = { percent = 100 }", "`profile.positive.prefetch.percent` of the"),
            (
                "profile = {}",
                "profile = { caches = { least = 3, likely = 2, most = 4 } }",
                "`profile.caches` of the class",
            ),
            (
                "share = 0.7",
                "share = 70",
                "`applications.share` is 70: the share of clients that keep answers, from 0 to 1",
            ),
            ("least = 30", "least = 0", "`applications.least` is 0: how long clients keep answers at least"),
            ("greatest = 120", "greatest = 20", "`applications.greatest` is 20 s, less than `least`"),
            ("weight = 90", "wieght = 90", "unknown field `wieght`"),
        ] {
            assert!(good.contains(from), "{from}");
            let told = said(&good.replacen(from, to, 1)).unwrap_err();
            assert!(told.contains(wanted), "{to}: {told}");
        }
    }

    #[test]
    fn without_violators_it_is_over_with_the_ttl() {
        let exact = WhatIf { violators: Some(Share::NONE), applications: Some(Share::NONE), ..usual() };
        let report = run(&exact).unwrap();
        for (course, ttl) in report.courses.iter().zip([60.0, 30.0]) {
            assert!(course.simulated.ninety_nine.unwrap() <= ttl + 1.0, "{course:?}");
            assert!(course.old_at_bound.unwrap() < 0.001);
        }
        assert!(report.left_out.iter().any(|what| what.starts_with("what applications keep")), "{:?}", report.left_out);
    }

    #[test]
    fn long_ttls_are_watched_to_their_end_and_no_end_is_said_to_be_none() {
        let week = Ttl::new(7 * 86_400).unwrap();
        let exact = WhatIf { violators: Some(Share::NONE), applications: Some(Share::NONE), ..usual() };
        let long = WhatIf { clients: 100, ttl: week, pause: Duration::from_secs(3600), ..exact };
        let report = run(&long).unwrap();
        let there = report.courses[0].simulated.ninety_nine.unwrap();
        assert!((500_000.0..=606_000.0).contains(&there), "{there}");
        assert!(!report.left_out.iter().any(|what| what.contains("not foreseen")), "{:?}", report.left_out);
        let report = run(&WhatIf { ttl: Ttl::new(14 * 86_400).unwrap(), clients: 10, ..long }).unwrap();
        let told = "those who held data: what comes later than 6 h behind the last step";
        assert!(report.left_out.iter().any(|what| what.starts_with(told)), "{:?}", report.left_out);
    }

    #[test]
    fn steps_are_told_one_by_one() {
        let steps = vec!["10%".parse().unwrap(), "50%".parse().unwrap()];
        let report = run(&WhatIf { steps, capacity: vec![Limit { side: Side::New, most: 100 }], ..usual() }).unwrap();
        assert_eq!(report.steps.iter().map(|step| step.share.as_str()).collect::<Vec<_>>(), ["10%", "50%", "100%"]);
        assert!(report.steps.is_sorted_by(|one, other| one.reached < other.reached));
        assert!(report.steps[2].reached > 0.97, "{:?}", report.steps);
        assert!(!report.warnings.is_empty());
    }
}
