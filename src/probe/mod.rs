//! Probing resolvers: the canaries' own server, and a prober that asks resolvers for canaries and sees at both ends what
//! they make of it.
//!
//! Only names of the canary zone are asked for here, at a bounded rate for each resolver.

pub mod ask;
pub mod calibrate;
mod chance;
pub mod listener;
pub mod pace;
pub mod prober;
pub mod register;
mod series;

pub use listener::{CanaryListeners, CanaryRunning};
pub use prober::Prober;
pub use register::Register;
