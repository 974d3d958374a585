//! What a simulation says.

use super::overload::{self, OverloadReport, Overloads};
use super::{BEGIN, Course, WhatIf, held};
use crate::count::counted;
use crate::drain::{Quantiles, Step};
use crate::profile::Kind;
use crate::world::sim::crowd::Count;

/// What came of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::cli) struct SimulateReport {
    /// How many clients there were.
    pub(in crate::cli) clients: u32,
    /// How many resolvers.
    pub(in crate::cli) resolvers: usize,
    /// What everything that was drawn follows from.
    pub(in crate::cli) seed: u64,
    /// The steps.
    pub(in crate::cli) steps: Vec<StepReport>,
    /// One for each kind of old answer: data, and that there is none.
    pub(in crate::cli) courses: Vec<CourseReport>,
    /// What is not covered.
    pub(in crate::cli) left_out: Vec<String>,
    /// Steps with which more comes to a site than it carries.
    pub(in crate::cli) overloads: Vec<OverloadReport>,
    /// The same in sentences.
    pub(in crate::cli) warnings: Vec<String>,
    /// What would not be too much.
    pub(in crate::cli) advice: Vec<String>,
}

/// A step, by what was counted of those who held data.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::cli) struct StepReport {
    /// When it is taken, in seconds behind the first.
    pub(in crate::cli) seconds: f64,
    /// The share of units that it moves, in percent.
    pub(in crate::cli) share: String,
    /// The share of uses on the new answer when the next is taken, or at the end.
    pub(in crate::cli) reached: f64,
    /// The greatest number of uses of the new answer in a second.
    pub(in crate::cli) uses_per_second: f64,
    /// The greatest number of clients in a second that come for the first time.
    pub(in crate::cli) arrivals_per_second: f64,
    /// The greatest number of DNS queries in a second, from all resolvers.
    pub(in crate::cli) queries_per_second: f64,
}

/// How those who held one kind of old answer came over.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::cli) struct CourseReport {
    /// What they held: `data` or `negative`.
    pub(in crate::cli) held: String,
    /// The TTL that it was told with.
    pub(in crate::cli) ttl: u32,
    /// When which share was there, as counted.
    pub(in crate::cli) simulated: Quantiles,
    /// The same in closed form.
    pub(in crate::cli) forecast: Quantiles,
    /// How far apart the two curves are at most, from 0 to 1.
    pub(in crate::cli) apart: f64,
    /// The share that still used the old answer when no cache that keeps TTLs can hold it any more, in closed form.
    pub(in crate::cli) old_at_bound: Option<f64>,
    /// Both curves.
    pub(in crate::cli) curve: Vec<PointReport>,
}

/// A span of time in which uses were counted.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(in crate::cli) struct PointReport {
    /// Its middle, in seconds behind the first step.
    pub(in crate::cli) seconds: f64,
    /// The share of uses on the new answer, as counted.
    pub(in crate::cli) simulated: f64,
    /// The same in closed form.
    pub(in crate::cli) forecast: f64,
}

pub(super) fn of(
    what_if: &WhatIf,
    moves: &[Step],
    resolvers: usize,
    courses: &[Course],
    more_left_out: Vec<String>,
) -> SimulateReport {
    let steps: Vec<StepReport> = courses
        .first()
        .map(|course| (0..moves.len()).map(|step| step_of(moves, step, course)).collect())
        .unwrap_or_default();
    let mut left_out: Vec<String> = Vec::new();
    for course in courses {
        left_out.extend(course.forecast.left_out.iter().map(ToString::to_string));
    }
    left_out.dedup();
    left_out.sort();
    left_out.dedup();
    left_out.extend(more_left_out);
    let Overloads { found, advice } =
        courses.first().map(|course| overload::of(what_if, moves, course)).unwrap_or_default();
    let warnings = found.iter().map(OverloadReport::told).collect();
    let courses = courses.iter().map(|course| course_of(what_if, course)).collect();
    SimulateReport {
        clients: what_if.clients,
        resolvers,
        seed: what_if.seed,
        steps,
        courses,
        left_out,
        overloads: found,
        warnings,
        advice,
    }
}

/// The spans with their beginning and end in seconds.
fn spans(course: &Course) -> impl Iterator<Item = (f64, f64, &Count)> {
    let begins = std::iter::once(0).chain(course.ends.iter().copied());
    begins
        .zip(&course.ends)
        .zip(&course.counts)
        .map(|((begin, end), count)| (begin as f64 / 1000.0, *end as f64 / 1000.0, count))
}

fn step_of(steps: &[Step], number: usize, course: &Course) -> StepReport {
    let time = |step: &Step| step.at.since(BEGIN).as_secs_f64();
    let begin = time(&steps[number]);
    let end = steps.get(number + 1).map_or(f64::INFINITY, time);
    let within = || spans(course).filter(|(from, to, _)| *to > begin && *from < end);
    let most = |of: &dyn Fn(&Count) -> u64| {
        within().map(|(from, to, count)| of(count) as f64 / (to - from).max(1e-3)).fold(0.0, f64::max)
    };
    StepReport {
        seconds: begin,
        share: steps[number].share.to_string(),
        reached: within().filter(|(_, to, _)| *to <= end).last().and_then(|(.., count)| count.share()).unwrap_or(0.0),
        uses_per_second: most(&|count| count.new),
        arrivals_per_second: most(&|count| count.arrived),
        queries_per_second: most(&|count| count.queries),
    }
}

fn course_of(what_if: &WhatIf, course: &Course) -> CourseReport {
    let foretold = course.forecast.worst();
    let curve: Vec<PointReport> = spans(course)
        .map(|(begin, end, count)| {
            // The curve over the span, as uses in it are counted.
            let at = |part: f64| std::time::Duration::from_secs_f64(begin + (end - begin) * part);
            let new = |part| foretold.map_or(0.0, |course| course.new_at(at(part)));
            let forecast = [0.1, 0.3, 0.5, 0.7, 0.9].into_iter().map(new).sum::<f64>() / 5.0;
            let simulated = count.share().unwrap_or(forecast);
            PointReport { seconds: f64::midpoint(begin, end), simulated, forecast }
        })
        .collect();
    let apart = curve.iter().map(|point| (point.simulated - point.forecast).abs()).fold(0.0, f64::max);
    let ttl = match course.kind {
        Kind::Positive => what_if.ttl,
        Kind::Negative => what_if.negative_ttl,
    };
    CourseReport {
        held: held(course.kind).into(),
        ttl: ttl.seconds(),
        simulated: quantiles(&curve),
        forecast: foretold.map(|course| course.quantiles).unwrap_or_default(),
        apart,
        old_at_bound: foretold.and_then(|course| course.old_at_bound),
        curve,
    }
}

/// From which span on so many were there, to stay.
fn quantiles(curve: &[PointReport]) -> Quantiles {
    let from = |share: f64| match curve.iter().rposition(|point| point.simulated < share) {
        None => curve.first().map(|point| point.seconds),
        Some(below) => curve.get(below + 1).map(|point| point.seconds),
    };
    Quantiles { half: from(0.5), ninety: from(0.9), ninety_nine: from(0.99) }
}

impl SimulateReport {
    /// In a line: how much was played through.
    pub(in crate::cli) fn size(&self) -> String {
        format!(
            "{} behind {}, drawn from seed {}",
            counted(self.clients as usize, "client"),
            counted(self.resolvers, "resolver"),
            self.seed
        )
    }
}
