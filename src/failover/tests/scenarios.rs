//! What is checked after every step, and what keeps a state small.
