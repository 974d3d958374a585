//! Moving a zone's traffic from one site to another: a state, events, effects, and the step that leads from one to the next.

pub mod actor;
mod alert;
mod deadline;
pub mod effect;
pub mod event;
pub mod health;
pub mod invariants;
pub mod ledger;
pub mod moves;
pub mod names;
pub mod plan;
pub mod policy;
pub mod refusal;
pub mod renames;
pub mod sample;
pub mod state;
pub mod step;
pub mod steps;
pub mod story;
pub mod view;
pub mod ways;

#[cfg(test)]
mod tests;
