//! The share on the old answer as a function of time: a sum of terms that each have a closed form.
//!
//! A cache is filled, held until the age `B`, and fetched again by the first to ask behind that; what is older than
//! `E >= B` is not given out. With demand `λ` a cycle takes `B + 1/λ`, and it lasts beyond the age `u` with the probability
//! `S(u) = 1` up to `B`, `e^(-λ(u-B))` behind it. A query so long behind the switch finds an old answer if the cache was last
//! filled before it and is no older than `E`:
//!
//! `O(x) = ∫ₓᴱ S(u) du / (B + 1/λ)`, for keepers of TTLs `λ(B - x) / (1 + λB)`.
//!
//! Where it is known that the cache was not filled for `a` before the switch, `x` becomes `x + a` and the whole is
//! divided by the chance of that. Where it is known that it *was*, `O` is `S`, seen from the age that it had.

use std::collections::BTreeMap;

/// Caches that change sides together. Times are in seconds behind the first step; demand is in queries a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its part of the weight; below zero for those who go back.
    pub(super) weight: f64,
    /// When it changes sides.
    pub(super) at: f64,
    /// The age from which on an answer is fetched again by whoever asks.
    pub(super) refreshed: f64,
    /// The age from which on it is not given out.
    pub(super) dropped: f64,
    /// How often each cache is asked; infinitely often where it always is.
    pub(super) demand: f64,
    /// For how long before the change it is known that none was filled.
    pub(super) silent: f64,
}

/// The sum.
#[derive(Debug, Default)]
pub(super) struct Law {
    /// What never leaves the old answer.
    staying: f64,
    /// What leaves at once, by time.
    leaving: Vec<(f64, f64)>,
    /// The sums of `leaving` from each one on; filled by [`Law::settle`].
    left: Vec<f64>,
    /// What falls on a straight line, by the bits of its beginning and its length (neither is below zero or no number).
    straight: BTreeMap<(u64, u64), Straight>,
    /// What decays by who asks.
    decays: Vec<Decay>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Straight {
    at: f64,
    length: f64,
    weight: f64,
    slope: f64,
}

#[derive(Clone, Copy, Debug)]
enum Decay {
    /// Filled at no time in particular.
    Steady(Part),
    /// Filled last at this time.
    Told(Part, f64),
}

/// No curve goes on for longer, in seconds: a week.
const LONGEST: f64 = 604_800.0;
/// What so small a share does is not drawn.
const NEGLIGIBLE: f64 = 2e-4;

impl Law {
    /// A part that never changes sides.
    pub(super) fn stay(&mut self, weight: f64) {
        self.staying += weight;
    }

    /// A part that holds nothing: it leaves when it changes sides.
    pub(super) fn leave(&mut self, weight: f64, at: f64) {
        self.leaving.push((at, weight));
    }

    /// Caches that were filled at no time in particular, but for what is known to be silent.
    pub(super) fn steady(&mut self, part: Part) {
        let left = (part.refreshed - part.silent).max(0.0);
        if part.demand == f64::INFINITY || part.dropped <= part.refreshed {
            let chance = if part.demand == f64::INFINITY { 1.0 / left } else { part.demand / part.fraction_of() };
            if left <= 0.0 || !chance.is_finite() {
                return self.leave(part.weight, part.at);
            }
            let term = self.straight.entry((part.at.to_bits(), left.to_bits())).or_default();
            (term.at, term.length) = (part.at, left);
            term.weight += part.weight;
            term.slope += part.weight * chance;
        } else {
            self.decays.push(Decay::Steady(part));
        }
    }

    /// A cache that was filled last at the time `last`, which is not behind the change.
    pub(super) fn told(&mut self, part: Part, last: f64) {
        let age = part.at - last;
        if part.demand == f64::INFINITY || part.dropped <= part.refreshed {
            let end = if part.demand == f64::INFINITY { part.refreshed } else { part.dropped };
            self.leave(part.weight, if age < end { last + end } else { part.at });
        } else {
            self.decays.push(Decay::Told(part, last));
        }
    }

    /// Puts in order what was added; the last thing before it is asked.
    pub(super) fn settle(&mut self) {
        self.leaving.sort_by(|one, other| one.0.total_cmp(&other.0));
        let sums = self.leaving.iter().rev().scan(0.0, |sum, (_, weight)| {
            *sum += weight;
            Some(*sum)
        });
        self.left = sums.collect();
        self.left.reverse();
    }

    /// The share on the old answer at this time, behind the first step.
    pub(super) fn old(&self, time: f64) -> f64 {
        let first = self.leaving.partition_point(|(at, _)| *at <= time);
        let jumps = self.left.get(first).copied().unwrap_or(0.0);
        let straight: f64 = self.straight.values().map(|term| term.old(time)).sum();
        let decays: f64 = self.decays.iter().map(|decay| decay.old(time)).sum();
        (self.staying + jumps + straight + decays).clamp(0.0, 1.0)
    }

    /// Times at which it bends or jumps, as many as are worth it.
    pub(super) fn bends(&self, most: usize) -> Vec<f64> {
        let straight = self.straight.values().flat_map(|term| [term.at, term.at + term.length]);
        let jumps = self.leaving.iter().map(|(at, _)| *at);
        let decays = self.decays.iter().map(|decay| match decay {
            Decay::Steady(part) => part.at,
            Decay::Told(part, last) => part.at.max(last + part.refreshed),
        });
        straight.chain(jumps).chain(decays).take(most).collect()
    }

    /// When there is nothing left of what leaves, or as good as nothing; at most a week.
    pub(super) fn end(&self) -> f64 {
        let straight = self.straight.values().map(|term| term.at + term.length);
        let jumps = self.leaving.last().map(|(at, _)| *at);
        let decays = self.decays.iter().map(|decay| decay.end());
        let latest = straight.chain(jumps).chain(decays).fold(0.0, f64::max).min(LONGEST);
        let settled = self.old(latest);
        let changes = self.straight.values().map(|term| term.at).chain(self.decays.iter().map(|decay| decay.part().at));
        let last = changes.fold(0.0, f64::max).min(LONGEST);
        // The least time, to a half, from which on there is no more to see.
        let (mut low, mut high) = (last, latest);
        while high - low > 0.5 {
            let middle = f64::midpoint(low, high);
            if (self.old(middle) - settled).abs() < NEGLIGIBLE { high = middle } else { low = middle }
        }
        high
    }
}

impl Straight {
    fn old(&self, time: f64) -> f64 {
        let since = time - self.at;
        if since < 0.0 { self.weight } else { self.slope * (self.length - since).max(0.0) }
    }
}

impl Decay {
    fn part(&self) -> &Part {
        match self {
            Decay::Steady(part) | Decay::Told(part, _) => part,
        }
    }

    fn old(&self, time: f64) -> f64 {
        let part = self.part();
        if time < part.at {
            return part.weight;
        }
        part.weight
            * match *self {
                Decay::Steady(part) => part.still_held(time - part.at + part.silent) / part.fraction_of(),
                Decay::Told(part, last) => {
                    let (age, then) = (time - last, part.at - last);
                    let waited = (age - part.refreshed.max(then)).max(0.0);
                    if age < part.dropped { (-part.demand * waited).exp() } else { 0.0 }
                }
            }
    }

    /// When it is as good as over.
    fn end(&self) -> f64 {
        let part = self.part();
        let over = if part.demand > 0.0 { part.refreshed + NEGLIGIBLE.recip().ln() / part.demand } else { LONGEST };
        part.at + over.min(part.dropped)
    }
}

impl Part {
    /// `λ ∫ S` from this age to the end.
    fn still_held(&self, age: f64) -> f64 {
        if age >= self.dropped {
            return 0.0;
        }
        let waited = (age - self.refreshed).max(0.0);
        let open = self.dropped - self.refreshed - waited;
        let behind =
            (-self.demand * waited).exp() * if open == f64::INFINITY { 1.0 } else { -(-self.demand * open).exp_m1() };
        self.demand * (self.refreshed - age).max(0.0) + behind
    }

    /// `λ ∫ S` over all ages that are possible, given the silence.
    fn fraction_of(&self) -> f64 {
        let waited = (self.silent - self.refreshed).max(0.0);
        self.demand * (self.refreshed - self.silent).max(0.0) + (-self.demand * waited).exp()
    }
}
