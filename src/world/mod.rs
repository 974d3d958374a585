//! Worlds that a run can be in.

pub mod sim;
