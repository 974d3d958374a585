//! Where snapshots get their memory from.

/// Gives memory for the large pieces of a snapshot. Whoever runs the compiler may get it in large pages: over a million
/// names, most of what a query waits for is the address translation of small ones.
pub trait Memory {
    /// An empty vector with room for `count`.
    fn reserve<T>(&self, count: usize) -> Vec<T>;
}

/// The usual memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usual;

impl Memory for Usual {
    fn reserve<T>(&self, count: usize) -> Vec<T> {
        Vec::with_capacity(count)
    }
}
