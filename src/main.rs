//! The `understudy` command.

use std::process::ExitCode;

use understudy::control::api::Failure;

fn main() -> ExitCode {
    understudy::cli::run(std::env::args_os(), |_| Err(Failure::new("`serve` is not wired yet", "", "")))
}
