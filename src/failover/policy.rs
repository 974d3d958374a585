//! How careful a zone's moves are.

use std::time::Duration;

use super::renames::Initiative;
use super::steps::Steps;
use crate::share::Share;
use crate::time::Ttl;

/// How careful a zone's moves are. A move keeps the one that it began with. Times are written in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The shares that a move stops at.
    pub steps: Steps,
    /// How long it stops at each, from when the share is published.
    #[serde(with = "millis")]
    pub step_wait: Duration,
    /// The TTL of RRsets that change, while they change.
    pub low_ttl: Ttl,
    /// How long the new site has to be seen healthy before the old TTLs come back.
    #[serde(with = "millis")]
    pub bake: Duration,
    /// Which moves a second person has to approve.
    pub approval: Approval,
    /// How long a move waits for that.
    #[serde(with = "millis")]
    pub approval_expires: Duration,
    /// How often a move that is on hold says so again.
    #[serde(with = "millis")]
    pub hold_reminder: Duration,
    /// How long a move may be on hold: one that has moved nobody is aborted then, any other one is said louder.
    #[serde(with = "millis")]
    pub hold_deadline: Duration,
    /// How soon something that failed is tried again; each time it waits twice as long.
    #[serde(with = "millis")]
    pub retry: Duration,
    /// How many good checks in a row make a site healthy.
    pub rise: u16,
    /// How many bad checks in a row make it unhealthy.
    pub fall: u16,
    /// How long old answers may be waited for before somebody has to look into it.
    #[serde(with = "millis")]
    pub drain_deadline: Duration,
    /// Whether a failover goes by steps too, for a site that can't take everybody at once.
    pub capacity_steps: bool,
    /// What is done about renames that gain something while old answers are waited for.
    #[serde(default)]
    pub rename: Initiative,
}

/// Which moves a second person has to approve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// None.
    #[default]
    Nothing,
    /// Planned ones.
    Planned,
    /// All, failovers included.
    Everything,
}

impl Default for Policy {
    fn default() -> Policy {
        let steps = [100, 1000, 3000, 10_000].into_iter().filter_map(Share::new).collect::<Vec<_>>();
        Policy {
            steps: Steps::try_from(steps).unwrap_or_else(|_| Steps::at_once()),
            step_wait: Duration::from_secs(5 * 60),
            low_ttl: Ttl::new(30).unwrap_or_default(),
            bake: Duration::from_secs(15 * 60),
            approval: Approval::Nothing,
            approval_expires: Duration::from_secs(60 * 60),
            hold_reminder: Duration::from_secs(30 * 60),
            hold_deadline: Duration::from_secs(24 * 60 * 60),
            retry: Duration::from_secs(1),
            rise: 2,
            fall: 3,
            drain_deadline: Duration::from_secs(48 * 60 * 60),
            capacity_steps: false,
            rename: Initiative::Propose,
        }
    }
}

/// Durations in whole milliseconds, as timestamps are.
pub(super) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_goes_in_four_steps_and_reads_back() {
        let policy = Policy::default();
        let steps: Vec<String> = policy.steps.as_slice().iter().map(Share::to_string).collect();
        assert_eq!(steps, ["1%", "10%", "30%", "100%"]);
        assert_eq!(policy.low_ttl.seconds(), 30);
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        let odd = text.replace("\"rise\"", "\"raise\"");
        assert!(serde_json::from_str::<Policy>(&odd).unwrap_err().to_string().contains("raise"));
    }
}
