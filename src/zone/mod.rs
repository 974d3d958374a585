//! Zone texts: reading master files, checking what they say, laying a site's text over the common one.
//!
//! `text` is what reading makes; everything after it works on that.

pub mod chain;
pub mod check;
pub mod diagnostic;
pub mod diff;
pub mod grammar;
mod index;
mod layers;
mod lexer;
pub mod nsec3;
mod order;
pub mod outward;
mod overlay;
mod packed;
pub mod rdata;
pub mod reader;
pub mod rrsets;
mod samples;
pub mod signatures;
pub mod text;
pub mod write;
