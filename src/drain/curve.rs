//! Curves: a function sampled where it bends, what applications keep laid over it, and what is read off it.

use std::time::Duration;

use super::law::Law;
use crate::profile::Applications;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Seconds behind the first step.
    pub seconds: f64,
    /// The share on the new answer, from 0 to 1.
    pub new: f64,
}

/// From when on which part of the demand is on the new answer, to stay; none where it never is, or not within a week.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Quantiles {
    /// Half, in seconds behind the first step.
    pub half: Option<f64>,
    /// Nine tenths.
    pub ninety: Option<f64>,
    /// 99 %.
    pub ninety_nine: Option<f64>,
}

/// The most points that the law itself is sampled at; applications are laid over these.
const FINE: usize = 2048;
/// Between two points the curve may be so far from straight.
const FINE_ERROR: f64 = 5e-5;
const ERROR: f64 = 1e-3;
/// Points are at least so many seconds apart.
const APART: f64 = 0.02;
/// Holds of applications are spread evenly; so many of them stand for all.
const HOLDS: usize = 16;
/// Points that there are in any case, evenly and by growing distance.
const EVEN: usize = 24;

/// The curve of a law with what applications keep laid over it.
pub(super) fn of(law: &Law, applications: Option<&Applications>, most: usize) -> Vec<Point> {
    let end = law.end().max(1.0);
    let bends = law.bends(most);
    let fine = sample(&|time| law.old(time), &bends, end, FINE, FINE_ERROR);
    let smooth = Smooth::new(fine, applications);
    let late = applications.map_or(0.0, |kept| kept.greatest.as_secs_f64().clamp(0.0, end.max(86_400.0)));
    let old = sample(&|time| smooth.old(time), &bends[..bends.len().min(most / 4)], end + late, most, ERROR);
    old.into_iter().map(|(seconds, old)| Point { seconds, new: (1.0 - old).clamp(0.0, 1.0) }).collect()
}

/// The value of a function from 0 to `end`, at more points where it bends more, and at most `most` (more than 2 · `EVEN`).
fn sample(value: &dyn Fn(f64) -> f64, bends: &[f64], end: f64, most: usize, error: f64) -> Vec<(f64, f64)> {
    let even = (0..=EVEN).map(|at| end * at as f64 / EVEN as f64);
    let growing = (1..=EVEN).map(|at| end * 0.5f64.powi(at as i32));
    let bends = bends.iter().copied().filter(|bend| *bend > 0.0 && *bend < end).take(most / 2);
    let mut times: Vec<f64> = even.chain(growing).chain(bends).collect();
    times.sort_by(f64::total_cmp);
    times.dedup_by(|one, other| *one - *other < APART);
    times.truncate(most);
    if let Some(last) = times.last_mut() {
        *last = end;
    }
    let mut points: Vec<(f64, f64)> = times.into_iter().map(|time| (time, value(time))).collect();
    loop {
        // Each round halves what is too far from straight; the worst first, when there is no room for all.
        let mut found: Vec<(f64, f64, f64)> = points
            .windows(2)
            .filter(|pair| pair[1].0 - pair[0].0 > 2.0 * APART && (pair[1].1 - pair[0].1).abs() > error)
            .map(|pair| {
                let middle = f64::midpoint(pair[0].0, pair[1].0);
                let value = value(middle);
                ((value - f64::midpoint(pair[0].1, pair[1].1)).abs(), middle, value)
            })
            .filter(|(off, ..)| *off > error)
            .collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(most.saturating_sub(points.len()));
        if found.is_empty() {
            return points;
        }
        points.extend(found.into_iter().map(|(_, time, value)| (time, value)));
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
}

/// The old share as users have it: what resolvers answer, and what applications answered themselves.
///
/// An application that keeps an answer for `A` and uses it by chance, has fetched what it uses within the last `A` in
/// `A / (A + pause)` of cases, at any time within that alike, and fetches it now in the others.
struct Smooth {
    /// Time, old share, and the sum of it from the beginning.
    points: Vec<(f64, f64, f64)>,
    share: f64,
    /// Each hold and how often applications with it fetch in a second.
    holds: Vec<(f64, f64)>,
}

impl Smooth {
    fn new(points: Vec<(f64, f64)>, applications: Option<&Applications>) -> Smooth {
        let (mut last, mut sum) = ((0.0, 1.0), 0.0);
        let points = points
            .into_iter()
            .map(|(time, old)| {
                sum += (time - last.0) * f64::midpoint(old, last.1);
                last = (time, old);
                (time, old, sum)
            })
            .collect();
        let Some(kept) = applications else { return Smooth { points, share: 0.0, holds: Vec::new() } };
        let (least, greatest) = (kept.least.as_secs_f64(), kept.greatest.max(kept.least).as_secs_f64());
        let holds: Vec<(f64, f64)> = (0..HOLDS)
            .map(|at| least + (greatest - least) * (at as f64 + 0.5) / HOLDS as f64)
            .filter_map(|hold| kept.fetches(hold).map(|fetches| (hold, fetches)))
            .collect();
        let share = if kept.share.is_finite() && !holds.is_empty() { kept.share.clamp(0.0, 1.0) } else { 0.0 };
        Smooth { points, share, holds }
    }

    fn old(&self, time: f64) -> f64 {
        let (now, sum) = self.at(time);
        let kept: f64 = self
            .holds
            .iter()
            .map(|(hold, fetches)| fetches * (sum - self.at(time - hold).1) + (1.0 - fetches * hold).max(0.0) * now)
            .sum();
        let kept = kept / self.holds.len().max(1) as f64;
        (1.0 - self.share) * now + self.share * kept
    }

    /// The old share at a time, and its sum up to there. Before the beginning all is old.
    fn at(&self, time: f64) -> (f64, f64) {
        let behind = self.points.partition_point(|(at, ..)| *at <= time);
        let Some(&(start, old, sum)) = behind.checked_sub(1).and_then(|at| self.points.get(at)) else {
            return (1.0, time);
        };
        let now = match self.points.get(behind) {
            Some(&(end, next, _)) => old + (next - old) * (time - start) / (end - start),
            None => old,
        };
        (now, sum + (time - start) * f64::midpoint(old, now))
    }
}

/// The share on the new answer at a time: 0 before the beginning, and as at the end behind it.
pub(super) fn value_at(curve: &[Point], seconds: f64) -> f64 {
    let behind = curve.partition_point(|point| point.seconds <= seconds);
    let Some(last) = behind.checked_sub(1).map(|at| curve[at]) else { return 0.0 };
    match curve.get(behind) {
        Some(next) => last.new + (next.new - last.new) * (seconds - last.seconds) / (next.seconds - last.seconds),
        None => last.new,
    }
}

impl Quantiles {
    /// As the curve says.
    pub(super) fn of(curve: &[Point]) -> Quantiles {
        let from = |share: f64| {
            // The last point below; behind it the curve stays above.
            let Some(below) = curve.iter().rposition(|point| point.new < share) else {
                return curve.first().map(|_| 0.0);
            };
            let (low, high) = (curve[below], curve.get(below + 1)?);
            Some(low.seconds + (high.seconds - low.seconds) * (share - low.new) / (high.new - low.new))
        };
        Quantiles { half: from(0.5), ninety: from(0.9), ninety_nine: from(0.99) }
    }

    /// What orders courses by how late they are: never is latest.
    pub(super) fn lateness(&self) -> [Duration; 3] {
        let late = |quantile: Option<f64>| {
            quantile.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(Duration::MAX)
        };
        [late(self.ninety_nine), late(self.ninety), late(self.half)]
    }
}
