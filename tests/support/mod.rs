//! What several tests need.
#![allow(dead_code, reason = "no test needs all of it")]

pub mod blast;
pub mod both_ways;
pub mod dns;
