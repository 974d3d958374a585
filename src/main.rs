//! The `understudy` command.

use std::process::ExitCode;

use understudy::cli::Doers;
use understudy::pages::LargePages;

#[global_allocator]
static MEMORY: LargePages = LargePages;

fn main() -> ExitCode {
    let doers = Doers { serve: understudy::daemon::serve, dry_run: understudy::daemon::dry_run };
    understudy::cli::run(std::env::args_os(), &doers)
}
