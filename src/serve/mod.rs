//! Sockets around the engine: datagrams, TCP, and hickory-server's handler for encrypted transports.

pub mod certificates;
pub mod counters;
pub mod descriptors;
pub mod dnstap;
pub mod encrypted;
pub mod folding;
pub mod handler;
pub mod listen;
pub mod noted;
pub mod privileges;
pub mod rrl;
pub mod stage;
pub mod tcp;
pub mod zones;

mod connections;
mod conversation;
mod front;
mod https;
mod mmsg;
mod peek;
mod threads;
mod udp;

use std::time::{SystemTime, UNIX_EPOCH};

pub use listen::{ListenSettings, Listeners, Running, ServeError};
pub use stage::Stage;
pub(crate) use threads::runtime;

use crate::time::Timestamp;

/// The time now. A clock before 1970 counts as 1970.
pub(crate) fn now() -> Timestamp {
    Timestamp::default().after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
