//! Placeholder.
mod support;
