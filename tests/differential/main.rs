//! Beside other name servers, and in front of validators: the same questions to BIND, NSD, Knot and us.

#[path = "../support/mod.rs"]
mod support;

mod signed;
mod unsigned;
mod validators;
