//! The simulated world: virtual time, and nothing but a seed to draw from.

pub mod authority;
pub mod chance;
pub mod crowd;
pub mod message;
pub mod population;
pub mod resolver;
