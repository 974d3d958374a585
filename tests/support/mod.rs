//! What integration tests share. Each takes what it needs of it.
#![allow(dead_code, reason = "no test uses all of it")]

pub mod blast;
pub mod both_ways;
pub mod chaser;
pub mod client;
pub mod compare;
pub mod corpus;
pub mod corpus_signed;
pub mod daemon;
pub mod dns;
pub mod engine;
pub mod fleet;
pub mod fuzz;
pub mod generate;
pub mod lab;
pub mod message;
pub mod mix;
pub mod report;
pub mod resolver;
pub mod shim;
pub mod sign;
pub mod sites;
pub mod stream;
pub mod wait;
