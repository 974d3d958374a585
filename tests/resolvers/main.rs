//! What the prober says of real resolvers, honest ones and others, is what they do: beside it, every answer is asked for
//! once in a second, by hand.
//!
//! The long run takes TTLs of 30 s (negative ones of 20) and about five minutes:
//!
//!     UNDERSTUDY_LONG=1 cargo nextest run --test resolvers

#[path = "../support/mod.rs"]
mod support;

mod brute;
mod calibrate;
mod command;
