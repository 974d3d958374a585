//! What is assumed of resolvers that were not measured: a mixture of profiles.

use std::time::Duration;

use super::{Keeping, Profile, Stale};
use crate::time::Ttl;

/// Resolvers of which only the mixture is known, by the share of clients behind them, and what clients do themselves.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// The classes. Weights count in proportion to each other.
    pub classes: Vec<Class>,
    /// What clients keep themselves; none: they are left out, and every claim says so.
    #[serde(default)]
    pub applications: Option<Applications>,
}

/// Resolvers that are alike.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// What it is called in reports.
    pub name: String,
    /// Its share of the clients, in proportion to the other classes'. What is no positive number counts as none.
    pub weight: f64,
    /// What its resolvers do.
    pub profile: Profile,
}

/// Caches within applications, which see no TTL: browsers, runtimes, connection pools. Their holds are spread evenly.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applications {
    /// The share of clients that have one, from 0 to 1.
    pub share: f64,
    /// The least hold.
    #[serde(with = "super::seconds")]
    pub least: Duration,
    /// The greatest.
    #[serde(with = "super::seconds")]
    pub greatest: Duration,
    /// How long it is from one use of the name to a client's next, on average. Zero: clients use it all the time, which is
    /// when such a cache hides the most.
    #[serde(with = "super::seconds")]
    pub between_uses: Duration,
}

/// The shares of clients behind resolvers that do not keep TTLs, and how: caps, floors, stale answers at once, and negative
/// answers kept too long. All others keep TTLs exactly.
const CAPS: [(u32, f64); 4] = [(300, 0.02), (3600, 0.02), (21_600, 0.02), (43_200, 0.02)];
const FLOORS: [(u32, f64); 4] = [(60, 0.028), (300, 0.021), (900, 0.014), (3600, 0.007)];
const STALE: f64 = 0.02;
const NEGATIVE_FLOORS: [(u32, f64); 3] = [(600, 0.004), (3600, 0.003), (10_800, 0.003)];
/// The class of those that keep TTLs.
const EXACT: &str = "exact";

impl Population {
    /// The proposed one, from what has been published about resolvers: 82 % keep TTLs, 8 % cap them (300 s to 12 h), 7 % have
    /// a floor (60 s to 1 h), 2 % give out stale answers at once, 1 % keep negative answers too long (10 min to 3 h).
    pub fn proposed() -> Population {
        let ttl = |seconds| Ttl::new(seconds);
        let mut classes = Vec::new();
        let mut add = |name: String, weight, profile| classes.push(Class { name, weight, profile });
        for (seconds, weight) in CAPS {
            let keeping = Keeping { cap: ttl(seconds), ..Keeping::default() };
            add(format!("cap {seconds} s"), weight, Profile::alike(keeping));
        }
        for (seconds, weight) in FLOORS {
            let keeping = Keeping { floor: ttl(seconds), ..Keeping::default() };
            add(format!("floor {seconds} s"), weight, Profile::alike(keeping));
        }
        add(
            "stale at once".into(),
            STALE,
            Profile::alike(Keeping { stale: Some(Stale::ForEver), ..Keeping::default() }),
        );
        for (seconds, weight) in NEGATIVE_FLOORS {
            let negative = Keeping { floor: ttl(seconds), ..Keeping::default() };
            add(format!("negative floor {seconds} s"), weight, Profile { negative, ..Profile::exact() });
        }
        let rest = 1.0 - classes.iter().map(|class| class.weight).sum::<f64>();
        classes.insert(0, Class { name: EXACT.into(), weight: rest, profile: Profile::exact() });
        Population { classes, applications: Some(Applications::default()) }
    }

    /// The same with so large a share, from 0 to 1, of resolvers that do not keep TTLs; among them, each class has its part.
    pub fn with_violators(mut self, share: f64) -> Population {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { return self };
        let exact = Profile::exact();
        let sum = |classes: &[Class], honest: bool| -> f64 {
            classes.iter().filter(|class| (class.profile == exact) == honest).map(Class::counted).sum()
        };
        let (honest, violating) = (sum(&self.classes, true), sum(&self.classes, false));
        for class in &mut self.classes {
            let (part, of) = if class.profile == exact { (1.0 - share, honest) } else { (share, violating) };
            class.weight = if of > 0.0 { class.counted() / of * part } else { 0.0 };
        }
        self
    }

    /// The sum of the weights that count.
    pub fn weight(&self) -> f64 {
        self.classes.iter().map(Class::counted).sum()
    }
}

impl Default for Population {
    fn default() -> Population {
        Population::proposed()
    }
}

impl Class {
    /// The weight, where it is one.
    pub fn counted(&self) -> f64 {
        if self.weight.is_finite() { self.weight.max(0.0) } else { 0.0 }
    }
}

impl Applications {
    /// The average number of fetches in a second of a client that has such a cache with this hold; none where it has no
    /// hold and no pause, so that it fetches all the time.
    pub(crate) fn fetches(&self, hold: f64) -> Option<f64> {
        let cycle = hold + self.between_uses.as_secs_f64();
        (cycle > 0.0 && cycle.is_finite()).then(|| 1.0 / cycle)
    }
}

impl Default for Applications {
    /// The proposed ones: 70 % of clients, 30 s to 120 s, in use every 30 s.
    fn default() -> Applications {
        Applications {
            share: 0.7,
            least: Duration::from_secs(30),
            greatest: Duration::from_secs(120),
            between_uses: Duration::from_secs(30),
        }
    }
}
