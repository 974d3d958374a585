//! What was typed, resolved: every value checked, every default filled in.

use std::path::PathBuf;

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::args::{Args, Sub, zone_origin};
use crate::config::{Origin, Source};
use crate::control::api::{FailoverRequest, ReloadRequest};
use crate::name::Name;
use crate::net::Network;
use crate::rr::RrType;

/// A command, and how its report is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) json: bool,
    pub(super) command: Command,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Serve(Source),
    Check(Subject),
    Reload(Source, ReloadRequest),
    Status(Source),
    Query(Source, Question),
    Failover(Source, FailoverRequest),
    Completions(clap_complete::Shell),
}

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A configuration and all its zones.
    Config(Source),
    /// One file as this zone.
    Zone(Name, PathBuf),
}

/// A query to the zones on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) name: Name,
    pub(super) rtype: RrType,
    pub(super) asked_of: AskedOf,
}

/// Whose answer is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AskedOf {
    /// This site's.
    Site(String),
    /// The one that a client in this network gets.
    Client(Network),
    /// The one that a client in no region's networks gets.
    Anybody,
}

/// Resolves what was typed.
pub(super) fn resolve(args: Args) -> Result<Invocation, clap::Error> {
    let file = Origin::File(args.config.clone());
    let source = Source { origin: file, state_dir: args.state_dir, ..Source::default() };
    let command = match args.command {
        Sub::Serve { listen, zones, workers } => {
            let origin = if zones.is_empty() { source.origin } else { Origin::Bare(distinct(zones)?) };
            Command::Serve(Source { origin, listen, workers, ..source })
        }
        Sub::Check { subject } => Command::Check(subject_of(source, args.config.is_some(), subject)?),
        Sub::Reload { accept } => Command::Reload(source, ReloadRequest { accept }),
        Sub::Status => Command::Status(source),
        Sub::Query { name, rtype, site, client } => {
            let asked_of = site.map(AskedOf::Site).or(client.map(AskedOf::Client)).unwrap_or(AskedOf::Anybody);
            Command::Query(source, Question { name, rtype, asked_of })
        }
        Sub::Failover { zone, to, from, region, dry_run, plan, reason, overrides } => {
            Command::Failover(source, FailoverRequest { zone, to, from, region, dry_run, plan, reason, overrides })
        }
        Sub::Completions { shell } => Command::Completions(shell),
    };
    Ok(Invocation { json: args.json, command })
}

fn distinct(zones: Vec<(Name, PathBuf)>) -> Result<Vec<(Name, PathBuf)>, clap::Error> {
    let twice = zones.iter().enumerate().find(|(at, (name, _))| zones[..*at].iter().any(|(other, _)| other == name));
    match twice {
        Some((_, (name, _))) => {
            Err(usage("serve", ErrorKind::ValueValidation, format!("the zone `{name}` is given twice to --zone")))
        }
        None => Ok(zones),
    }
}

fn subject_of(source: Source, config_given: bool, mut subject: Vec<PathBuf>) -> Result<Subject, clap::Error> {
    let wrong = |kind, text: String| Err(usage("check", kind, text));
    match (subject.pop(), subject.pop()) {
        (None, _) => Ok(Subject::Config(source)),
        (Some(_), _) if config_given => {
            wrong(ErrorKind::ArgumentConflict, "a file is given, and --config too: one of them is enough".into())
        }
        (Some(path), None) => Ok(Subject::Config(Source { origin: Origin::File(Some(path)), ..source })),
        (Some(file), Some(origin)) => match zone_origin(&origin.to_string_lossy()) {
            Ok(origin) => Ok(Subject::Zone(origin, file)),
            Err(error) => {
                wrong(ErrorKind::ValueValidation, format!("`{}` can't be an origin: {error}", origin.display()))
            }
        },
    }
}

fn usage(command: &str, kind: ErrorKind, text: String) -> clap::Error {
    let mut all = Args::command();
    all.build();
    match all.find_subcommand_mut(command) {
        Some(command) => command.error(kind, text),
        None => all.error(kind, text),
    }
}
