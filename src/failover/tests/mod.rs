//! Tests of the engine.

mod bounds;
mod diagram;
mod faults;
mod play;
mod renames;
mod sampled;
mod scenarios;
mod table;
