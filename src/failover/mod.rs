//! Moving a zone's traffic from one site to another.

pub mod plan;
