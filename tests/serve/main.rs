//! The serving side over real sockets: each transport, what bounds it, and what an attack leaves of it.

#[path = "../support/mod.rs"]
mod support;

mod attack;
mod dnstap;
mod encrypted;
mod handler;
mod memory;
mod message;
mod rate_limit;
mod tcp;
mod udp;
