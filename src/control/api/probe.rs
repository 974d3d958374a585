//! What is said of resolvers: that they are to be measured, how far that is, and what was found.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::observation::Measured;
use crate::time::{Timestamp, Ttl};

pub use crate::probe::prober::Standing;

/// Measure resolvers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrateRequest {
    /// Which, by their names; none: all that have an address.
    #[serde(default)]
    pub resolvers: Vec<String>,
    /// At these TTLs; none: the configured ones.
    #[serde(default)]
    pub ttls: Vec<Ttl>,
    /// For how many seconds a hold is watched at most; none: as is configured.
    #[serde(default)]
    pub watch: Option<u32>,
}

/// What is known of resolvers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfilesRequest {
    /// Of one, by its name; none: of all.
    #[serde(default)]
    pub resolver: Option<String>,
}

/// How measuring resolvers stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationReport {
    /// Counts calibrations since the daemon's start; 0: there was none.
    pub number: u64,
    /// When it began.
    pub began: Timestamp,
    /// Whether it is under way.
    pub under_way: bool,
    /// How far it is with each resolver.
    pub standings: Vec<Standing>,
    /// What was found of those that it is done with.
    pub resolvers: Vec<ResolverReport>,
}

/// What is known of resolvers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilesReport {
    /// Whether one was asked for.
    #[serde(default)]
    pub one: bool,
    /// Each of them.
    pub resolvers: Vec<ResolverReport>,
}

/// What is known of a resolver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolverReport {
    /// What operators call it.
    pub name: String,
    /// Where it is asked.
    pub address: Vec<SocketAddr>,
    /// By what: `udp`, `tcp` or `dot`.
    pub transport: String,
    /// When it was measured; none: never.
    pub at: Option<Timestamp>,
    /// From when on that is too old to be believed.
    pub expires: Option<Timestamp>,
    /// Whether it is.
    #[serde(default)]
    pub expired: bool,
    /// Why nothing was found; none if something was.
    #[serde(default)]
    pub unknown: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub measured: Option<Measured>,
}
