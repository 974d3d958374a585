//! Probing resolvers: the canaries' own server, and a prober that asks resolvers for canaries and sees at both ends what
//! they make of it.
//!
//! Production names are only looked at; whatever is asked, is asked at a bounded rate for each resolver.

pub mod ask;
pub mod calibrate;
mod chance;
pub mod findings;
pub mod listener;
pub mod look;
pub mod pace;
pub mod prober;
pub mod register;
mod series;

pub use listener::{CanaryListeners, CanaryRunning};
pub use prober::Prober;
pub use register::Register;
