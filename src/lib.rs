//! Understudy: an authoritative DNS server with a failover controller that knows about caches.
//!
//! The map of the house. Layers, top to bottom; a file uses only what stands above it. `ARCHITECTURE.md` says why,
//! `tests/layers.rs` holds every file to it.

// The one instruction that a processor is given by name.
pub mod prefetch;

// 0. Vocabulary: the words everything else is said in.

pub mod count;
pub mod digest;
pub mod evidence;
pub mod name;
pub mod net;
pub mod rr;
pub mod serial;
pub mod share;
pub mod table;
pub mod time;

// 1. The core: pure. No clock, no randomness, no input or output.

// Zone texts: read, checked, laid over one another.
pub mod zone;

// Levers, and their records under fresh names: what lies over the texts.
pub mod rename;

// A zone at one site, compiled; looking up; writing answers.
pub mod snapshot;

// Routing and content; from a packet to its answer.
pub mod serving;

// Names that are asked for to find out what resolvers keep.
pub mod canary;

// How a zone is drilled, what came of it, whose turn it is.
pub mod drill;

// What may speak against a change.
pub mod gate;

// The one door: candidate, verified, published.
pub mod door;

// Who was told what, and until when it may be kept.
pub mod exposure;

// What resolvers do with answers, measured or assumed.
pub mod profile;

// What was seen of a resolver from both ends, and what follows from it.
pub mod observation;

// The share on the new answer over time, in closed form.
pub mod drain;

// By how much sooner a rename leads users round what is stuck.
pub mod gain;

// Moving a zone's traffic: plans, and later their phases.
pub mod failover;

// 2. The shell: sockets, disk, time.

// Memory in large pages.
pub mod pages;

// SQLite and files: the journal, the texts, the audit trail.
pub mod store;

// Sockets around the engine.
pub mod serve;

// Resolvers, asked for canaries.
pub mod probe;

// One loop for every world: step, journal, perform; and the simulated world, with resolvers and clients of its own.
pub mod world;

// The only loop: reads, proposes, publishes, restores.
pub mod driver;

// 3. The edge: what operators see.

// TOML to what the core and the shell work with.
pub mod config;

// The control socket.
pub mod control;

// What operators type, and what they read.
pub mod cli;

// The wiring; the only place that sees everything.
pub mod daemon;
