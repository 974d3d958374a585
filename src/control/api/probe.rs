//! What is said of resolvers: that they are to be measured, how far that is, and what was found.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::moves::ProposedRename;
use crate::name::Name;
use crate::observation::Measured;
use crate::observation::sight::Sight;
use crate::rr::RrType;
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
    /// When and why measuring it again failed; what was found before stands.
    #[serde(default)]
    pub failed: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub measured: Option<Measured>,
}

/// Ask resolvers for a name that our zone has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookRequest {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
}

/// What resolvers give for a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookReport {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
    /// When they were asked.
    pub at: Timestamp,
    /// Whether all of them give what our zone gives them.
    pub complete: bool,
    /// How many stand how; all of them together are all that are configured with an address.
    pub counts: BTreeMap<Sight, usize>,
    /// The TTL that our zone tells now.
    pub ttl: Option<Ttl>,
    /// Until when caches that keep TTLs may give what our zone does not give any more; none where there is nothing such.
    pub old_until: Option<Timestamp>,
    /// Each of them, the worst first.
    pub resolvers: Vec<LookedReport>,
    /// Renames that would lead users round what these hold, while the zone is moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<ProposedRename>,
}

/// What a resolver gives for a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookedReport {
    /// What operators call it.
    pub name: String,
    /// How it stands.
    pub sight: Sight,
    /// What it gives.
    pub given: Vec<String>,
    /// What our zone gives it.
    pub expected: Vec<String>,
    /// For how many seconds more it says that it keeps that.
    pub ttl: Option<Ttl>,
    /// Whether that is longer than our zone tells anybody.
    pub ttl_too_long: bool,
    /// What else there is to say of it; empty where there is nothing.
    pub note: String,
}
