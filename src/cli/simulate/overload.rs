//! What is too much for a site: how much fails, how much of it comes again, and which steps would not bring it so far.

use super::{BEGIN, Course, Limit, Side, WhatIf};
use crate::cli::render::curve::seconds;
use crate::drain::Step;
use crate::share::Share;
use crate::world::sim::crowd::Count;
use crate::world::sim::site::{Retry, Second, carried};

/// A step with which more comes to a site than it carries.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(in crate::cli) struct OverloadReport {
    /// The site: `old` or `new`.
    pub(in crate::cli) site: Side,
    /// What is too much of: `requests` or `new clients`.
    pub(in crate::cli) of: Kind,
    /// How much of it the site carries in a second.
    pub(in crate::cli) limit: u32,
    /// The step; none: before the first.
    pub(in crate::cli) share: String,
    /// The most that comes in a second, for the first time and again.
    pub(in crate::cli) offered_per_second: f64,
    /// What of that comes again.
    pub(in crate::cli) again_per_second: f64,
    /// The share of what comes until the next step that fails, from 0 to 1.
    pub(in crate::cli) failed: f64,
    /// For how many seconds something fails until the next step, or the end.
    pub(in crate::cli) seconds: usize,
    /// Whether it still does then.
    pub(in crate::cli) lasts: bool,
}

/// What a site can have too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum Kind {
    /// Uses of its answer: each is a request.
    Requests,
    /// Clients that it has not seen before: connections and handshakes.
    NewClients,
}

/// So small a share of failures is chance.
const CHANCE: f64 = 1e-3;
/// A step that is smaller than this is none: shares are said in hundredths of a percent.
const SMALLEST: f64 = 1e-4;
/// As many steps can be typed.
const MOST_STEPS: usize = 12;

/// What was found, and what to do about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Overloads {
    pub(super) found: Vec<OverloadReport>,
    pub(super) advice: Vec<String>,
}

/// Holds what was counted against what sites carry.
pub(super) fn of(what_if: &WhatIf, steps: &[Step], course: &Course) -> Overloads {
    let mut overloads = Overloads::default();
    let retry = Retry { pause: what_if.retry.as_secs_f64(), times: what_if.retries };
    let mut limits: Vec<(Limit, Kind)> = what_if.capacity.iter().map(|limit| (*limit, Kind::Requests)).collect();
    limits.extend(what_if.arrivals.map(|most| (Limit { side: Side::New, most }, Kind::NewClients)));
    for (limit, kind) in limits {
        let fresh = by_second(course, |count| match (kind, limit.side) {
            (Kind::Requests, Side::New) => count.new,
            (Kind::Requests, Side::Old) => count.old,
            (Kind::NewClients, _) => count.arrived,
        });
        let seconds = carried(&fresh, f64::from(limit.most), &retry);
        let found: Vec<OverloadReport> = (0..steps.len())
            .filter_map(|number| overload(limit, kind, &steps[number].share, within(&seconds, steps, number)))
            .collect();
        if !found.is_empty() {
            overloads.advice.extend(advice(limit, kind, steps, course, &fresh));
        }
        overloads.found.extend(found);
    }
    overloads
}

/// What was counted, second by second.
fn by_second(course: &Course, of: impl Fn(&Count) -> u64) -> Vec<f64> {
    let end = course.ends.last().map_or(0, |end| end.div_euclid(1000) + 1);
    let mut seconds = vec![0.0; usize::try_from(end).unwrap_or(0)];
    let begins = std::iter::once(0).chain(course.ends.iter().copied());
    for ((begin, end), count) in begins.zip(course.ends.iter().copied()).zip(&course.counts) {
        let (mut at, rate) = (begin, of(count) as f64 / (end - begin).max(1) as f64);
        // A span lies in one second, or over several.
        while at < end {
            let next = ((at.div_euclid(1000) + 1) * 1000).min(end);
            seconds[at.div_euclid(1000) as usize] += rate * (next - at) as f64;
            at = next;
        }
    }
    // The last second is not whole.
    seconds.pop();
    seconds
}

/// What came with a step.
fn within<'s>(seconds: &'s [Second], steps: &[Step], number: usize) -> &'s [Second] {
    let at = |step: &Step| (step.at.since(BEGIN).as_secs() as usize).min(seconds.len());
    let end = steps.get(number + 1).map_or(seconds.len(), at);
    &seconds[at(&steps[number])..end]
}

fn overload(limit: Limit, of: Kind, share: &Share, seconds: &[Second]) -> Option<OverloadReport> {
    let sum = |of: fn(&Second) -> f64| seconds.iter().map(of).sum::<f64>();
    let failed = sum(|second| second.failed) / sum(Second::offered).max(1.0);
    let most = |of: fn(&Second) -> f64| seconds.iter().map(of).fold(0.0, f64::max);
    let fails = |second: &&Second| second.failed > second.offered() * CHANCE;
    (failed > CHANCE).then(|| OverloadReport {
        site: limit.side,
        of,
        limit: limit.most,
        share: share.to_string(),
        offered_per_second: most(Second::offered),
        again_per_second: most(|second| second.again),
        failed,
        seconds: seconds.iter().filter(fails).count(),
        lasts: seconds.last().as_ref().is_some_and(fails),
    })
}

/// What would not be too much.
fn advice(limit: Limit, kind: Kind, steps: &[Step], course: &Course, fresh: &[f64]) -> Option<String> {
    let part = f64::from(limit.most);
    let all = by_second(course, |count| count.old + count.new + count.neither);
    let all = all.iter().sum::<f64>() / all.len().max(1) as f64;
    Some(match (kind, limit.side) {
        (Kind::Requests, Side::New) => format!(
            "the new site carries {} of all requests ({all:.0} a second): go no further than `--step {}` before it is larger; \
             no size of steps makes up for that",
            percent(part / all),
            floor(part / all)?
        ),
        (Kind::Requests, Side::Old) => format!(
            "the old site carries {} of all requests ({all:.0} a second): it is relieved once {} have moved",
            percent(part / all),
            percent(1.0 - part / all)
        ),
        (Kind::NewClients, _) => {
            let mut before = 0.0;
            let mut most_of = 0.0f64;
            for (number, step) in steps.iter().enumerate() {
                let share = f64::from(step.share.basis_points()) / f64::from(Share::ALL.basis_points());
                let from = (step.at.since(BEGIN).as_secs() as usize).min(fresh.len());
                let to = steps.get(number + 1).map_or(fresh.len(), |next| next.at.since(BEGIN).as_secs() as usize);
                let most = fresh[from..to.min(fresh.len()).max(from)].iter().copied().fold(0.0, f64::max);
                most_of = most_of.max(most / (share - before).max(1e-4));
                before = share;
            }
            let size = part / most_of;
            if size < SMALLEST {
                return Some("no step is small enough: what it carries is too little for anybody".into());
            }
            let count = (1.0 / size).ceil() as usize;
            let typed = match count {
                2..=MOST_STEPS => (1..count).map(|step| Some(format!("--step {}", floor(step as f64 / count as f64)?))),
                _ => return Some(format!("steps of at most {} each would do: {count} of them", percent(size))),
            };
            format!(
                "steps of at most {} each would do: {}",
                percent(size),
                typed.collect::<Option<Vec<_>>>()?.join(" ")
            )
        }
    })
}

/// A share as it can be typed, rounded down.
fn floor(part: f64) -> Option<Share> {
    Share::new((part.clamp(0.0, 1.0) * f64::from(Share::ALL.basis_points()) / 10.0).floor() as u16 * 10)
}

fn percent(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

impl OverloadReport {
    /// In a sentence.
    pub(super) fn told(&self) -> String {
        let what = match self.of {
            Kind::Requests => "requests",
            Kind::NewClients => "new clients",
        };
        let again = match self.again_per_second {
            none if none < 0.5 => String::new(),
            again => format!(", {again:.0} of them again"),
        };
        let end = if self.lasts { ", and that does not end" } else { "" };
        format!(
            "the step to {}: up to {:.0} {what} a second come to the {} site{again}, and it carries {}: {} fail, for {}{end}",
            self.share,
            self.offered_per_second,
            self.site,
            self.limit,
            percent(self.failed),
            seconds(self.seconds as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::usual;
    use super::*;
    use crate::profile;

    /// A move in two steps of a minute each: of 100 requests a second, first half come to the new site, and then all.
    fn course() -> (Vec<Step>, Course) {
        let step = |seconds: i64, share: &str| Step {
            at: crate::time::Timestamp(BEGIN.0 + seconds * 1000),
            share: share.parse().unwrap(),
        };
        let counts: Vec<Count> = (0..60)
            .map(|span| {
                let (old, new) = if span < 30 { (100, 100) } else { (0, 200) };
                let arrived = if matches!(span, 0 | 30) { 80 } else { 0 };
                Count { old, new, arrived, ..Count::default() }
            })
            .collect();
        let forecast = crate::drain::Forecast { begin: BEGIN, courses: Vec::new(), assumed: 0.0, left_out: Vec::new() };
        let ends = (1..=60).map(|span| span * 2000).collect();
        (vec![step(0, "50%"), step(60, "100%")], Course { kind: profile::Kind::Positive, forecast, ends, counts })
    }

    fn found(capacity: &[(Side, u32)], arrivals: Option<u32>) -> Overloads {
        let (steps, course) = course();
        let capacity = capacity.iter().map(|(side, most)| Limit { side: *side, most: *most }).collect();
        of(&WhatIf { capacity, arrivals, ..usual() }, &steps, &course)
    }

    #[test]
    fn what_sites_carry_is_no_overload() {
        assert_eq!(found(&[(Side::New, 100), (Side::Old, 50)], Some(40)), Overloads::default());
    }

    #[test]
    fn too_many_requests_are_told_by_step_and_how_far_to_go() {
        let overloads = found(&[(Side::New, 80)], None);
        let [only] = &overloads.found[..] else { panic!("{overloads:?}") };
        assert_eq!((only.share.as_str(), only.lasts, only.site), ("100%", true, Side::New));
        assert!(only.again_per_second > 20.0 && only.offered_per_second > 120.0, "what fails comes again: {only:?}");
        assert!(overloads.advice[0].contains("carries 80.0%") && overloads.advice[0].contains("`--step 80%`"));
        let relieved = found(&[(Side::Old, 40)], None);
        // What failed there comes again when all have moved, and finds room.
        let told: Vec<_> = relieved.found.iter().map(|found| (found.share.as_str(), found.lasts)).collect();
        assert_eq!(told, [("50%", true), ("100%", false)]);
        assert!(relieved.advice[0].contains("once 60.0% have moved"), "{relieved:?}");
    }

    #[test]
    fn too_many_new_clients_are_told_with_steps_that_would_do() {
        let overloads = found(&[], Some(10));
        assert_eq!(overloads.found.len(), 2, "{overloads:?}");
        assert!(overloads.found.iter().all(|found| !found.lasts && found.of == Kind::NewClients), "{overloads:?}");
        // Half of the clients are 40 a second: an eighth are ten.
        let wanted = "steps of at most 12.5% each would do: --step 12.5% --step 25% --step 37.5% --step 50% --step 62.5% \
                      --step 75% --step 87.5%";
        assert_eq!(overloads.advice, [wanted]);
    }
}
