//! Tests of the engine.

mod bounds;
mod diagram;
mod faults;
mod play;
mod scenarios;
mod table;
