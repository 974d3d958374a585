//! Moving a zone's traffic from one site to another: a state, events, effects, and the step that leads from one to the next.

pub mod actor;
pub mod effect;
pub mod event;
pub mod health;
pub mod ledger;
pub mod moves;
pub mod names;
pub mod plan;
pub mod policy;
pub mod refusal;
pub mod share;
pub mod state;
pub mod view;
