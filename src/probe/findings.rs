//! What is kept of a resolver that was measured.

use std::net::{IpAddr, SocketAddr};

use super::ask::Carrier;
use crate::observation::Measured;
use crate::time::Timestamp;

/// What was found of a resolver, or why nothing was.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Findings {
    /// Where it was asked.
    pub address: Vec<SocketAddr>,
    /// By what.
    pub transport: Carrier,
    /// Why nothing was found when it was measured last; none if something was.
    pub unknown: Option<String>,
    /// When that was.
    #[serde(default)]
    pub failed_at: Option<Timestamp>,
    /// What was found, last or before.
    pub measured: Option<Measured>,
}

impl Findings {
    /// Where it was seen to ask from; nothing where it was not measured.
    pub fn egress(&self) -> &[IpAddr] {
        self.measured.as_ref().map_or(&[], |measured| &measured.egress)
    }
}
