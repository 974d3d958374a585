//! Whether a site works: measured, or told by somebody who knows better.

use super::actor::Actor;
use crate::time::Timestamp;

/// Whether a site works. *Unknown is not up, and not down.*
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Nobody has looked, or not since the start.
    #[default]
    Unknown,
    /// It works.
    Up,
    /// It does not.
    Down,
}

impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Health::Unknown => "unknown",
            Health::Up => "up",
            Health::Down => "down",
        })
    }
}

/// What is known of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteHealth {
    /// What checks say.
    pub measured: Health,
    /// What an operator says; it counts instead.
    pub forced: Option<Forced>,
    /// Whether checks ever said anything: that they have nothing to say then means something.
    pub watched: bool,
}

/// An operator's word on a site's health.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// What it is to count as.
    pub health: Health,
    /// Who says so.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// Since when.
    pub at: Timestamp,
}

impl SiteHealth {
    /// What counts.
    pub fn effective(&self) -> Health {
        self.forced.as_ref().map_or(self.measured, |forced| forced.health)
    }

    /// Whether somebody or something looks after it. Of a site that nobody watches, unknown is no news.
    pub fn is_watched(&self) -> bool {
        self.watched || self.forced.is_some()
    }
}

/// Folds single checks into the changes that are worth an event: it takes several in a row to change what a site counts
/// as. Kept outside of the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    counts_as: Health,
    last: Health,
    length: u16,
}

impl Streak {
    /// Takes in one check, and tells the site's new health if that has changed. `rise` good ones in a row make it
    /// healthy, `fall` bad ones unhealthy, and `fall` that found nothing out unknown.
    pub fn observe(&mut self, check: Health, rise: u16, fall: u16) -> Option<Health> {
        self.length = if check == self.last { self.length.saturating_add(1) } else { 1 };
        self.last = check;
        let wanted = if check == Health::Up { rise } else { fall };
        (check != self.counts_as && self.length >= wanted.max(1)).then(|| {
            self.counts_as = check;
            check
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_several_checks_in_a_row() {
        use Health::{Down, Unknown, Up};
        let mut streak = Streak::default();
        let told: Vec<Option<Health>> =
            [Up, Down, Up, Up, Up, Down, Down, Up, Down, Down, Down, Unknown, Unknown, Unknown]
                .into_iter()
                .map(|check| streak.observe(check, 2, 3))
                .collect();
        let mut wanted = vec![None; 14];
        (wanted[3], wanted[10], wanted[13]) = (Some(Up), Some(Down), Some(Unknown));
        assert_eq!(told, wanted);
        assert_eq!(Streak::default().observe(Down, 0, 0), Some(Down), "0 is as good as 1");
    }

    #[test]
    fn an_operators_word_counts_before_what_is_measured() {
        let actor = Actor { uid: Some(1), name: "ann".into() };
        let forced = Forced { health: Health::Up, actor, reason: "the check is wrong".into(), at: Timestamp(0) };
        let site = SiteHealth { measured: Health::Down, forced: Some(forced), watched: true };
        assert_eq!(site.effective(), Health::Up);
        assert!(!SiteHealth::default().is_watched());
    }
}
