//! What the prober says of real resolvers, honest ones and others, is what they do: beside it, every answer is asked for
//! once in a second, by hand.
//!
//! The long run, with TTLs of 20 s and 30 s, takes about four minutes:
//!
//!     UNDERSTUDY_LONG=1 cargo nextest run --test resolvers calibrate

#[path = "../support/mod.rs"]
mod support;

mod brute;
mod calibrate;
mod command;
mod late;
mod switchover;
