//! How caches drain: the share of demand that gets the new answer, over time, in closed form.
//!
//! What is said of each holder follows from three things: how long its caches hold an answer (its profile), how often they
//! are asked (its demand), and when it was last told the old answer. Where the last is known, what is left of the hold is
//! known too; where it is not, caches are taken for filled at no time in particular. Demand comes by chance and steadily
//! (a Poisson process), and does not depend on what was answered.
//!
//! *What a forecast claims:* the expected share of queries by users, at each time, that are answered with the new content.
//! *What it leaves out* it names in [`Forecast::left_out`]; and it says nothing of those who never ask.

mod curve;
pub mod dark;
pub mod holders;
mod law;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::profile::{Kind, Origin, Population, Profile};
use crate::rr::RrType;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};
pub use curve::{Point, Quantiles};
use law::{Law, Part};

/// One who may hold the old answer of one type: a resolver, or a network of which no more is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// The type that is asked for: each is cached by itself, its absence too.
    pub family: RrType,
    /// How much its users count: their measured demand, in any unit. What is no positive number is left out, and named.
    pub weight: f64,
    /// How often its caches are asked.
    pub demand: Demand,
    /// When it was last told the old answer.
    pub told: Told,
    /// The TTL that the old answer was told with of late; a negative one's negative TTL.
    pub ttl: Ttl,
    /// What the old answer was.
    pub kind: Kind,
    /// What was measured of it; none: it is anybody of the population.
    pub profile: Option<Arc<Profile>>,
    /// When it changes sides, where that is known; none: by the steps of the move.
    pub moves: Option<Timestamp>,
}

/// How often a resolver's caches are asked by its users, in queries a second.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// So many of its queries reach us; how many it gets follows from how long it holds an answer.
    Seen(f64),
    /// It gets so many.
    Known(f64),
    /// It is not known: taken for as many as there can be, of which the most find an old answer.
    Unknown,
}

/// When a holder was last told the old answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is not known.
    Unknown,
    /// Never, and that is certain: it holds nothing.
    Never,
    /// Last then, and with this TTL.
    At {
        /// When.
        at: Timestamp,
        /// With which TTL.
        ttl: Ttl,
    },
}

/// A step of a move: from when on, which share is on the new answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it was, or will be, taken by the last server of the zone.
    pub at: Timestamp,
    /// The share of units that are answered anew.
    pub share: Share,
}

/// What is to be forecast.
#[derive(Clone, Copy, Debug)]
pub struct Outlook<'a> {
    /// Those who may hold the old answer.
    pub holders: &'a [Holder],
    /// What is taken for granted of those that were not measured.
    pub population: &'a Population,
    /// The steps by rising time. Without any, nobody ever gets the new answer.
    pub steps: &'a [Step],
    /// Up to when it is known who was told what. Steps behind that find caches that may have been filled again.
    pub known_until: Timestamp,
    /// When no cache that keeps TTLs holds the old answer any more, where that is known.
    pub bound: Option<Timestamp>,
}

/// How caches will drain.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Forecast {
    /// When the first step is taken: times are counted from here.
    pub begin: Timestamp,
    /// Each type by itself, by its number.
    pub courses: Vec<Course>,
    /// The share of the weight whose profile is assumed, not measured: from 0 to 1.
    pub assumed: f64,
    /// What the claim does not cover.
    pub left_out: Vec<LeftOut>,
}

/// The course of one type.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Course {
    /// The type.
    #[serde(with = "mnemonic")]
    pub family: RrType,
    /// What its holders weigh together.
    pub weight: f64,
    /// The share on the new answer over time; at most [`MOST_POINTS`] points, between which it is nearly straight.
    pub curve: Vec<Point>,
    /// When half, nine tenths and 99 % of the demand are on the new answer, to stay.
    pub quantiles: Quantiles,
    /// The share that still gets the old answer at the bound: those that keep no TTL, and what applications keep.
    pub old_at_bound: Option<f64>,
}

/// Something that a forecast does not cover.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// What applications keep for themselves.
    Applications,
    /// Caches between a resolver and its users, each of which may add a TTL.
    Forwarders,
    /// Holders whose weight is not known, and how many they are.
    Unweighed(usize),
    /// Holders that were seen to hold longer than their measurement took; their share of the weight. They are counted with
    /// what was seen.
    AtLeast(f64),
    /// More steps than are counted.
    Steps(usize),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Applications => f.write_str("what applications keep for themselves, whatever the TTL"),
            LeftOut::Forwarders => f.write_str("caches between a resolver and its users, each of which may add a TTL"),
            LeftOut::Unweighed(count) => write!(f, "{count} holders whose demand was not measured"),
            LeftOut::AtLeast(share) => {
                write!(f, "{:.1}% of the demand: its resolvers hold for longer than was measured", share * 100.0)
            }
            LeftOut::Steps(count) => write!(f, "{count} steps behind the first {MOST_STEPS}"),
        }
    }
}

/// The most points of a curve.
pub const MOST_POINTS: usize = 256;
/// The most steps that are counted; more are named as left out.
pub const MOST_STEPS: usize = 256;

impl Forecast {
    /// The course that takes longest.
    pub fn worst(&self) -> Option<&Course> {
        self.courses.iter().max_by(|one, other| one.quantiles.lateness().cmp(&other.quantiles.lateness()))
    }
}

impl Course {
    /// The share on the new answer so long behind the beginning.
    pub fn new_at(&self, time: Duration) -> f64 {
        curve::value_at(&self.curve, time.as_secs_f64())
    }
}

/// Forecasts how the caches of `outlook` drain. Numbers that are none count as not known; there is no input that it fails on.
pub fn forecast(outlook: &Outlook<'_>) -> Forecast {
    let steps = &outlook.steps[..outlook.steps.len().min(MOST_STEPS)];
    let begin = steps.first().map_or(outlook.known_until, |step| step.at);
    let view = View { outlook, steps, begin };
    let mut families: BTreeMap<RrType, Vec<&Holder>> = BTreeMap::new();
    for holder in outlook.holders.iter().filter(|holder| counts(holder.weight)) {
        families.entry(holder.family).or_default().push(holder);
    }
    let all: f64 = families.values().flatten().map(|holder| holder.weight).sum();
    let share = |of: &dyn Fn(&Holder) -> bool| {
        let held: f64 = families.values().flatten().filter(|holder| of(holder)).map(|holder| holder.weight).sum();
        if all > 0.0 { (held / all).clamp(0.0, 1.0) } else { 0.0 }
    };
    let assumed = share(&|holder| holder.profile.as_ref().is_none_or(|profile| profile.source == Origin::Assumed));
    let at_least = share(&|holder| {
        holder.profile.as_ref().is_some_and(|profile| profile.hold(holder.told_ttl(), holder.kind).at_least)
    });
    let mut left_out = vec![LeftOut::Forwarders];
    let counted = outlook.population.applications.is_some_and(|kept| kept.share > 0.0);
    left_out.extend((!counted).then_some(LeftOut::Applications));
    let unweighed = outlook.holders.iter().filter(|holder| !counts(holder.weight)).count();
    left_out.extend((unweighed > 0).then_some(LeftOut::Unweighed(unweighed)));
    left_out.extend((at_least > 0.0).then_some(LeftOut::AtLeast(at_least)));
    let more = outlook.steps.len() - steps.len();
    left_out.extend((more > 0).then_some(LeftOut::Steps(more)));
    let courses = families.into_iter().map(|(family, holders)| view.course(family, &holders)).collect();
    Forecast { begin, courses, assumed, left_out }
}

fn counts(weight: f64) -> bool {
    weight.is_finite() && weight > 0.0
}

impl Holder {
    /// The TTL of the old answer that it may still hold.
    fn told_ttl(&self) -> Ttl {
        if let Told::At { ttl, .. } = self.told { ttl } else { self.ttl }
    }
}

/// An outlook whose times are counted in seconds from the first step.
struct View<'a> {
    outlook: &'a Outlook<'a>,
    steps: &'a [Step],
    begin: Timestamp,
}

impl View<'_> {
    fn seconds(&self, at: Timestamp) -> f64 {
        at.0.saturating_sub(self.begin.0) as f64 / 1000.0
    }

    fn course(&self, family: RrType, holders: &[&Holder]) -> Course {
        let weight: f64 = holders.iter().map(|holder| holder.weight).sum();
        let mut law = Law::default();
        // Weights that add up to more than a number holds count all alike.
        let part = |holder: &Holder| {
            if weight.is_finite() { holder.weight / weight } else { 1.0 / holders.len() as f64 }
        };
        holders.iter().for_each(|holder| self.add(&mut law, holder, part(holder)));
        law.settle();
        let applications = self.outlook.population.applications.as_ref();
        let curve = curve::of(&law, applications, MOST_POINTS);
        let quantiles = Quantiles::of(&curve);
        let bound = self.outlook.bound.map(|bound| self.seconds(bound));
        let old_at_bound = bound.map(|bound| 1.0 - curve::value_at(&curve, bound));
        Course { family, weight, curve, quantiles, old_at_bound }
    }

    /// Adds what a holder of this part of the weight will answer.
    fn add(&self, law: &mut Law, holder: &Holder, part: f64) {
        match &holder.profile {
            Some(profile) => self.add_as(law, holder, profile, part),
            None => {
                let population = self.outlook.population;
                let all = population.weight();
                if all > 0.0 && all.is_finite() {
                    for class in &population.classes {
                        self.add_as(law, holder, &class.profile, part * class.counted() / all);
                    }
                } else {
                    self.add_as(law, holder, &Profile::exact(), part);
                }
            }
        }
    }

    /// Adds what it will answer if this is its profile.
    fn add_as(&self, law: &mut Law, holder: &Holder, profile: &Profile, part: f64) {
        if part <= 0.0 {
            return;
        }
        if let Some(at) = holder.moves {
            return self.add_at(law, holder, profile, part, at);
        }
        let mut before = 0.0;
        for step in self.steps {
            let share = f64::from(step.share.basis_points()) / f64::from(Share::ALL.basis_points());
            self.add_at(law, holder, profile, part * (share - before), step.at);
            before = share;
        }
        law.stay(part * (1.0 - before));
    }

    /// Adds a part of it that changes sides then.
    fn add_at(&self, law: &mut Law, holder: &Holder, profile: &Profile, part: f64, at: Timestamp) {
        if part == 0.0 {
            return;
        }
        let seconds = self.seconds(at);
        let last = match holder.told {
            Told::Never => return law.leave(part, seconds),
            Told::Unknown => None,
            Told::At { at, .. } => Some(self.seconds(at)),
        };
        let steady = profile.hold(holder.ttl, holder.kind);
        let mut caches = Part {
            weight: part,
            at: seconds,
            refreshed: steady.refreshed.as_secs_f64(),
            dropped: steady.dropped.map_or(f64::INFINITY, |dropped| dropped.as_secs_f64()),
            demand: 0.0,
            silent: 0.0,
        };
        let count = f64::from(profile.caches.count());
        caches.demand = per_cache(holder.demand, count, caches.refreshed);
        let Some(last) = last.filter(|last| *last <= seconds) else { return law.steady(caches) };
        // The cache that was told last, and those of which is known that they were not told since.
        let held = profile.hold(holder.told_ttl(), holder.kind);
        let one = Part {
            weight: part / count,
            refreshed: held.refreshed.as_secs_f64(),
            dropped: held.dropped.map_or(f64::INFINITY, |dropped| dropped.as_secs_f64()),
            ..caches
        };
        let known = at <= self.outlook.known_until;
        if known || seconds - last <= one.refreshed {
            law.told(one, last);
        } else {
            law.steady(Part { weight: part / count, ..caches });
        }
        if count > 1.0 {
            let silent = if known { seconds - last } else { 0.0 };
            law.steady(Part { weight: part * (count - 1.0) / count, silent, ..caches });
        }
    }
}

/// How often each of so many caches is asked in a second, when an answer is fetched again by the first to ask behind
/// `refreshed` seconds.
fn per_cache(demand: Demand, count: f64, refreshed: f64) -> f64 {
    match demand {
        Demand::Known(rate) if rate.is_finite() && rate >= 0.0 => rate / count,
        // One fetch a cycle: what is left of it beside the hold is the wait for somebody who asks.
        Demand::Seen(rate) if rate.is_finite() && rate >= 0.0 => {
            let wait = count / rate - refreshed;
            if wait > 0.0 { 1.0 / wait } else { f64::INFINITY }
        }
        _ => f64::INFINITY,
    }
}

/// A type as text.
mod mnemonic {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::rr::RrType;

    pub fn serialize<S: Serializer>(rtype: &RrType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rtype)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RrType, D::Error> {
        let text = String::deserialize(deserializer)?;
        RrType::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no type of record")))
    }
}
