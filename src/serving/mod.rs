//! What queries are answered from, and the one way to change it.

pub mod respond;

/// All that queries are answered from: routing and verified content.
#[derive(Debug, Default)]
pub struct Serving {
    /// Counts every publication; it only grows.
    pub generation: u64,
}
