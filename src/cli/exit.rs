//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and verified; or there was nothing to do.
    Done = 0,
    /// It failed, or a zone or configuration has errors.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// A gate blocks; nothing was changed.
    Blocked = 3,
    /// A move is held, or a drill was interrupted.
    Held = 4,
    /// A move was reversed.
    Reversed = 5,
    /// A dry run: there are changes to make.
    Pending = 6,
    /// The daemon ended while a command followed something of it.
    Gone = 7,
    /// Interrupted while it followed a run, which goes on.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
