//! Understudy: an authoritative DNS server with a failover controller that knows about caches.
//!
//! The map of the house. Layers, top to bottom; a file uses only what stands above it. `ARCHITECTURE.md` says why,
//! `tests/layers.rs` holds every file to it.

// 0. Vocabulary: the words everything else is said in.
pub mod digest;
pub mod evidence;
pub mod name;
pub mod net;
pub mod rr;
pub mod serial;
pub mod time;

// 1. The core: pure. No clock, no randomness, no input or output.
pub mod serving;
pub mod zone;

// 2. The shell: sockets, files, clocks.
pub mod store;

// 3. The edge: what operators see.
pub mod cli;
pub mod config;
pub mod control;
