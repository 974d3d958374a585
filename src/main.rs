//! The `understudy` command.

fn main() {}
