//! The move played through: each resolver with its clients by itself, on all processors.

use std::num::NonZeroUsize;

use super::{BEGIN, WhatIf};
use crate::drain::Step;
use crate::name::Name;
use crate::profile::{Keeping, Kind, Population, Prefetch as Advance, Profile, Stale as Late};
use crate::rr::RrType;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};
use crate::world::sim::authority::Authority;
use crate::world::sim::chance::Chance;
use crate::world::sim::crowd::{Count, Told, Watch, watch};
use crate::world::sim::population::{Egress, Kind as Likes, Minds, Mixture, Size};
use crate::world::sim::resolver::{Habits, Outcome, Prefetch, Resolver, Stale};

/// Clients use a name no more often than so, in seconds.
pub(super) const LEAST_PAUSE: f64 = 1.0;
/// As many uses take as long as a query: 40 ns and a microsecond.
const COST: f64 = 25.0;
/// The address of the new site.
const NEW: [u8; 4] = [192, 0, 2, 2];

/// The population as the simulation takes it, and what it can't take as it is.
pub(super) fn mixture(population: &Population, what_if: &WhatIf) -> (Mixture, Vec<String>) {
    let mut unlike = Vec::new();
    let kinds = population.classes.iter().map(|class| {
        let profile = &class.profile;
        if profile.positive.stale != profile.negative.stale || profile.positive.prefetch != profile.negative.prefetch {
            unlike.push(format!("`{}` treats negative answers as others, but for how long it keeps them", class.name));
        }
        Likes { part: class.counted(), habits: habits(profile, what_if) }
    });
    let kinds = kinds.collect();
    let pause = what_if.pause.as_secs_f64().max(LEAST_PAUSE);
    let minds = population.applications.as_ref().map_or(Minds { part: 0.0, least: 0.0, most: 0.0, pause }, |kept| {
        let (least, most) = (kept.least.as_secs_f64(), kept.greatest.max(kept.least).as_secs_f64());
        Minds { part: kept.share, least, most, pause }
    });
    (Mixture { kinds, sizes: Size::proposed(), minds }, unlike)
}

/// Only settings are handed over. What was measured becomes a floor that is also a cap, for the TTL in question.
fn habits(profile: &Profile, what_if: &WhatIf) -> Habits {
    let limits = |keeping: &Keeping, told: Ttl, kind| {
        if keeping.measured.is_empty() {
            (keeping.floor.map_or(0, Ttl::seconds), keeping.cap.map_or(u32::MAX, Ttl::seconds))
        } else {
            let plain = Profile::alike(Keeping { prefetch: None, ..keeping.clone() });
            let held = u32::try_from(plain.hold(told, kind).refreshed.as_secs()).unwrap_or(u32::MAX);
            (held, held)
        }
    };
    let (floor, cap) = limits(&profile.positive, what_if.ttl, Kind::Positive);
    let (negative_floor, negative_cap) = limits(&profile.negative, what_if.negative_ttl, Kind::Negative);
    Habits {
        floor,
        cap,
        negative_floor,
        negative_cap,
        late: u32::try_from(profile.positive.rounding.as_secs()).unwrap_or(0),
        prefetch: match profile.positive.prefetch {
            None => Prefetch::Never,
            Some(Advance::Seconds { last, from }) => Prefetch::Last(last.seconds(), from.seconds()),
            Some(Advance::Percent(_)) => Prefetch::LastTenth,
        },
        stale: match profile.positive.stale {
            None => Stale::Never,
            Some(Late::For(most)) => Stale::AtOnce(most.seconds()),
            Some(Late::ForEver) => Stale::AtOnce(u32::MAX),
        },
        ..Habits::default()
    }
}

/// A move of a zone whose clients held one kind of answer.
pub(super) struct Scene {
    authority: Authority,
    name: Name,
    /// The TTL of the old answer.
    ttl: Ttl,
    kind: Kind,
    minds: Minds,
    /// When each step is taken.
    steps: Vec<Timestamp>,
}

impl Scene {
    /// A made-up zone, whose one name has another address at the new site, or none at the old one.
    pub(super) fn new(what_if: &WhatIf, steps: &[Step], minds: Minds, kind: Kind) -> Result<Scene, String> {
        let origin = Name::absolute("example").map_err(|error| error.to_string())?;
        let name = Name::absolute("www.example").map_err(|error| error.to_string())?;
        let (data_ttl, negative_ttl) = (what_if.ttl, what_if.negative_ttl);
        let head = format!(
            "$TTL {data_ttl}\n@ {negative_ttl} IN SOA ns h 1 1h 10m 2w {negative_ttl}\n@ IN NS ns\nns IN A 192.0.2.53\n"
        );
        let [a, b, c, d] = NEW;
        let new = format!("{head}www IN A {a}.{b}.{c}.{d}\n");
        let old = if kind == Kind::Positive { format!("{head}www IN A 192.0.2.1\n") } else { head };
        let moves: Vec<(Timestamp, Share)> = steps.iter().map(|step| (step.at, step.share)).collect();
        let key = u128::from(Chance::stream(what_if.seed, 1).draw()).to_be_bytes();
        let authority = Authority::of_move(&origin, [&old, &new], &moves, key)?;
        let ttl = if kind == Kind::Positive { data_ttl } else { negative_ttl };
        Ok(Scene { authority, name, ttl, kind, minds, steps: steps.iter().map(|step| step.at).collect() })
    }

    /// From which step on each resolver is answered from the new site: found out by asking from its address.
    pub(super) fn moves(&self, egresses: &[Egress]) -> Vec<Option<Timestamp>> {
        let mut authority = self.authority.clone();
        let mut is_new = |egress: &Egress, at: Timestamp| {
            let mut fresh = Resolver::new(egress.address, Habits::default(), 0);
            told(&fresh.resolve(&self.name, RrType::A, at, &mut authority).outcome) == Told::New
        };
        egresses.iter().map(|egress| self.steps.iter().copied().find(|at| is_new(egress, *at))).collect()
    }

    /// How much work that is, in uses: a query of a resolver takes as long as many uses of an answer that is there.
    pub(super) fn work(&self, egresses: &[Egress], ends: &[i64]) -> f64 {
        let end = ends.last().map_or(0.0, |end| *end as f64 / 1000.0);
        let Minds { part, least, most, pause } = self.minds;
        let keeps = f64::midpoint(least, most) * part;
        let negative = self.kind == Kind::Negative;
        let of = |egress: &Egress| {
            let uses = f64::from(egress.clients) / pause;
            let caches = f64::from(egress.habits.caches.max(1));
            let asked = f64::from(egress.clients) / (pause + keeps);
            let cycle = egress.habits.cycle(self.ttl.seconds(), negative).as_secs_f64() + caches / asked.max(1e-9);
            // Before the beginning, caches are filled for two cycles.
            uses * (end + 2.0 * cycle) + COST * caches * (end / cycle + 2.0)
        };
        egresses.iter().map(of).sum()
    }

    /// Counts what clients are told while the zone moves: span by span, those of all resolvers together.
    pub(super) fn counts(&self, egresses: &[Egress], ends: &[i64]) -> Result<Vec<Count>, String> {
        let seen = Watch {
            name: self.name.clone(),
            rtype: RrType::A,
            ttl: self.ttl.seconds(),
            negative: self.kind == Kind::Negative,
            begin: BEGIN,
            ends: ends.to_vec(),
            minds: self.minds,
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            let played: Vec<_> = (0..threads)
                .map(|first| {
                    let (mut authority, seen) = (self.authority.clone(), &seen);
                    // Each thread has every so-manieth resolver: the great ones come first.
                    let own = egresses.iter().skip(first).step_by(threads);
                    scope.spawn(move || {
                        own.map(|egress| watch(egress, seen, &mut authority, told)).fold(Vec::new(), sum)
                    })
                })
                .collect();
            let mut counts = played.into_iter().map(|counts| counts.join().map_err(|_| "a thread failed".to_owned()));
            counts.try_fold(vec![Count::default(); ends.len()], |all, counts| Ok(sum(all, counts?)))
        })
    }
}

fn sum(all: Vec<Count>, counts: Vec<Count>) -> Vec<Count> {
    if all.is_empty() {
        return counts;
    }
    if counts.is_empty() {
        return all;
    }
    all.into_iter().zip(counts).map(|(one, other)| one.and(other)).collect()
}

fn told(outcome: &Outcome) -> Told {
    match outcome {
        Outcome::Data(data) if data.iter().any(|octets| **octets == NEW) => Told::New,
        Outcome::Data(_) | Outcome::NoData | Outcome::NoName => Told::Old,
        Outcome::Failed => Told::Neither,
    }
}
