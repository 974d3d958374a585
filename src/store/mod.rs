//! What outlives the process, and where zone texts come from.

pub mod files;
