//! The command line: one file a command. `args` is what was typed, `command` what it means; each command returns a
//! report, and `render` writes it as text or JSON.

mod args;
mod check;
mod command;
mod daemon;
mod drill;
mod exit;
mod follow;
mod live;
mod probe;
mod query;
mod rename;
mod render;
mod simulate;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::config::Source;
use crate::control::api::moves::{MoveOutcome, MoveReport, MoveRequest, RunKey, SteerRequest};
use crate::control::api::{Failure, Request};
use args::Until;
use command::{Command, Invocation, Watch};
pub use exit::Exit;
use render::Report;

/// What `serve` was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Where the configuration comes from, now and at each reload.
    pub source: Source,
    /// Whether what is printed is JSON.
    pub json: bool,
    /// Whether the server never ran before, by the operator's word.
    pub init: bool,
}

/// What takes more than the command line: a daemon, or as much of one as a dry run takes.
#[derive(Clone, Copy, Debug)]
pub struct Doers {
    /// Serves until it is told to stop.
    pub serve: fn(Serve) -> Result<(), Failure>,
    /// Says what a move would do while no daemon runs.
    pub dry_run: fn(&Source, &MoveRequest) -> Result<MoveReport, Failure>,
}

/// Carries out what `args` (the program's name first) ask for.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>, doers: &Doers) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    // What can't be parsed can still say in which form it wants to hear so.
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let exit = match parse(args) {
        Ok(invocation) => carry_out(invocation, doers),
        Err(error) if !error.use_stderr() => ended(Exit::Done, print(error.render().to_string().as_bytes())),
        Err(error) if json => show_usage(&error),
        Err(error) => {
            let _ = error.print();
            Exit::Usage
        }
    };
    exit.into()
}

fn parse(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Invocation, clap::Error> {
    let matches = args::Args::command().try_get_matches_from(args)?;
    command::resolve(args::Args::from_arg_matches(&matches)?)
}

fn carry_out(Invocation { json, command }: Invocation, doers: &Doers) -> Exit {
    match command {
        Command::Serve(source, init) => match (doers.serve)(Serve { source, json, init }) {
            Ok(()) => Exit::Done,
            Err(failure) => show_failure(json, &failure),
        },
        Command::Check(subject, levers) => show(json, check::run(&subject, levers)),
        Command::Reload(source, request) => show(json, daemon::reload(&source, request)),
        Command::Status(source, Watch::Once) => show(json, daemon::at_once(&source, &Request::Status, daemon::status)),
        Command::Status(source, Watch::UntilStopped) => follow::status(&source, json),
        Command::Query(source, question) => show(json, query::run(&source, &question)),
        Command::Move(source, request, until) => begin(&source, request, until, json, doers),
        Command::Steer(source, request) => steer(&source, request, json),
        Command::Follow(source, followed) => follow::of_zone(&source, &followed, json),
        Command::Site(source, request) => show(json, daemon::steer(&source, &Request::Site(request))),
        Command::History(source, request) => show(json, daemon::history(&source, request)),
        Command::Explain(source, request) => show(json, daemon::explain(&source, request)),
        Command::Drain(source, request) => show(json, daemon::drain(&source, request)),
        Command::Top(source, request) => show(json, daemon::top(&source, request)),
        Command::Drill(source, drilling) => drill::run(&source, drilling, json),
        Command::Init(source) => show(json, daemon::init(&source)),
        Command::AcceptState(source, request) => show(json, daemon::steer(&source, &Request::AcceptState(request))),
        Command::Calibrate(source, request) => probe::calibrate(&source, request, json),
        Command::Look(source, request, every) => probe::watch(&source, request, every, json),
        Command::Profiles(source, request) => show(json, probe::profiles(&source, request)),
        Command::Rename(source, request) => rename::run(&source, request, json),
        Command::Renames(source, request) => rename::list(&source, request, json),
        Command::Simulate(what_if) => show(json, simulate::run(&what_if)),
        Command::Completions(shell) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::Args::command(), "understudy", &mut script);
            ended(Exit::Done, print(&script))
        }
    }
}

/// Has a move begin and follows it. What the gates say comes first.
fn begin(source: &Source, request: MoveRequest, until: Until, json: bool, doers: &Doers) -> Exit {
    let report = match daemon::moved(source, request, doers) {
        Ok(report) => report,
        Err(failure) => return show_failure(json, &failure),
    };
    let followed = match &report.outcome {
        MoveOutcome::Begun { run } if until != Until::Begun => Some(*run),
        // Nobody has to wait for what is done already; what comes behind it is shown to those who asked for it.
        MoveOutcome::Done { run, .. } if until == Until::Done => Some(*run),
        _ => None,
    };
    let Some(run) = followed else { return show(json, Ok(report)) };
    let text = if json { live::line(&report) } else { report.text() };
    if let Err(error) = print(text.as_bytes()) {
        return ended(Exit::Error, Err(error));
    }
    follow::run(source, &RunKey { zone: report.zone, run }, until, json)
}

/// Takes down what an operator decides about a move.
fn steer(source: &Source, request: SteerRequest, json: bool) -> Exit {
    show(json, daemon::steer(source, &Request::Steer(request)))
}

fn show<R: Report>(json: bool, result: Result<R, Failure>) -> Exit {
    match result {
        Ok(report) => {
            let text = if json { render::json(&report) } else { report.text() };
            ended(report.exit(), print(text.as_bytes()))
        }
        Err(failure) => show_failure(json, &failure),
    }
}

/// A failure: for people on standard error, for scripts as `{"failure": …}` on standard output.
fn show_failure(json: bool, failure: &Failure) -> Exit {
    if json {
        return ended(Exit::Error, print(failed_json(failure).as_bytes()));
    }
    let _ = writeln!(std::io::stderr(), "understudy: {failure}");
    Exit::Error
}

fn failed_json(failure: &Failure) -> String {
    #[derive(serde::Serialize)]
    struct Failed<'a> {
        failure: &'a Failure,
    }
    render::json(&Failed { failure })
}

/// A wrong command line, for scripts.
fn show_usage(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let what = paragraph.trim().trim_start_matches("error: ");
    let failure = Failure::new(what, "the command line is wrong, and nothing was done", "understudy COMMAND --help");
    ended(Exit::Usage, print(failed_json(&failure).as_bytes()))
}

/// How a command ends whose report was written so: one that nobody could be given is an error.
fn ended(exit: Exit, written: std::io::Result<()>) -> Exit {
    match written {
        Ok(()) => exit,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "understudy: the report can't be written: {error}");
            Exit::Error
        }
    }
}

/// Writes to standard output; whoever reads it may have gone away, and that is no error.
fn print(octets: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(octets).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
