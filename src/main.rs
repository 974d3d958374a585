//! The `understudy` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    understudy::cli::run(std::env::args_os(), understudy::daemon::serve)
}
