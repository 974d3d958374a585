//! The bodies and what they need, of which the tests have the one copy.

#![allow(dead_code, reason = "tests need more of it")]

#[path = "../../tests/support/compare.rs"]
pub mod compare;
#[path = "../../tests/support/engine.rs"]
pub mod engine;
#[path = "../../tests/support/fuzz.rs"]
pub mod fuzz;
#[path = "../../tests/support/generate.rs"]
pub mod generate;
#[path = "../../tests/support/message.rs"]
pub mod message;
#[path = "../../tests/support/sign.rs"]
pub mod sign;
