//! What was typed, resolved: every value checked, every default filled in.

use std::path::PathBuf;
use std::time::Duration;

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::args::{
    Args, BackArgs, BackArgsRest, DrillArgs, HealthArg, MoveArgs, PlannedArgs, ProbeSub, RenameArgs, SimulateArgs,
    StateSub, SteerArgs, Sub, Until, zone_origin,
};
use super::drill::Drilling;
use super::simulate::{Limit, WhatIf};
use crate::config::{Origin, Source};
use crate::control::api::drain::DrainRequest;
use crate::control::api::drill::{DrillAbort, DrillRequest, DrillsRequest};
use crate::control::api::moves::{
    Action, ForcedHealth, HistoryRequest, MoveKind, MoveRequest, SiteRequest, SteerRequest,
};
use crate::control::api::probe::{CalibrateRequest, LookRequest, ProfilesRequest};
use crate::control::api::rename::{RenameAction, RenameRequest, RenamesRequest};
use crate::control::api::told::{ExplainRequest, TopRequest};
use crate::control::api::{AcceptRequest, ReloadRequest};
use crate::name::Name;
use crate::net::Network;
use crate::rr::RrType;
use crate::share::Share;
use crate::time::Ttl;

/// A command, and how its report is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) json: bool,
    pub(super) command: Command,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// The flag: whether the server never ran before.
    Serve(Source, bool),
    /// The flag: whether all front names are listed.
    Check(Subject, bool),
    Reload(Source, ReloadRequest),
    Status(Source, Watch),
    Query(Source, Question),
    Move(Source, MoveRequest, Until),
    Steer(Source, SteerRequest),
    Follow(Source, Followed),
    Site(Source, SiteRequest),
    History(Source, HistoryRequest),
    Explain(Source, ExplainRequest),
    Drain(Source, DrainRequest),
    Top(Source, TopRequest),
    Drill(Source, Drilling),
    Init(Source),
    AcceptState(Source, AcceptRequest),
    /// Nothing to begin: one that is under way is followed.
    Calibrate(Source, Option<CalibrateRequest>),
    Profiles(Source, ProfilesRequest),
    /// How long is waited in between; none: it is done once.
    Look(Source, LookRequest, Option<Duration>),
    Rename(Source, RenameRequest),
    Renames(Source, RenamesRequest),
    Simulate(Box<WhatIf>),
    Completions(clap_complete::Shell),
}

/// Whether the status is shown again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    Once,
    UntilStopped,
}

/// The move that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Followed {
    pub(super) zone: String,
    pub(super) region: Option<String>,
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
        Sub::Serve { listen, zones, workers, init } => {
            let origin = if zones.is_empty() { source.origin } else { Origin::Bare(distinct(zones)?) };
            Command::Serve(Source { origin, listen, workers, ..source }, init)
        }
        Sub::Check { subject, levers } => Command::Check(subject_of(source, args.config.is_some(), subject)?, levers),
        Sub::Reload { accept } => Command::Reload(source, ReloadRequest { accept }),
        Sub::Status { watch } => Command::Status(source, if watch { Watch::UntilStopped } else { Watch::Once }),
        Sub::Query { name, rtype, site, client } => {
            let asked_of = site.map(AskedOf::Site).or(client.map(AskedOf::Client)).unwrap_or(AskedOf::Anybody);
            Command::Query(source, Question { name, rtype, asked_of })
        }
        Sub::Failover(args) => moved(source, MoveKind::Failover, args),
        Sub::Switchover(args) => moved(source, MoveKind::Switchover, args),
        Sub::Rollback(BackArgs { zone, rest }) => {
            let until = rest.until;
            request(source, common(MoveKind::Rollback, zone, rest), until)
        }
        Sub::Hold(args) => steer(source, Action::Hold, args),
        Sub::Resume(args) => steer(source, Action::Resume, args),
        Sub::Abort(args) => steer(source, Action::Abort, args),
        Sub::Approve(args) => steer(source, Action::Approve, args),
        Sub::Follow { zone, region } => Command::Follow(source, Followed { zone, region }),
        Sub::Site { health, site, zone, reason } => {
            let health = match health {
                HealthArg::Up => ForcedHealth::Up,
                HealthArg::Down => ForcedHealth::Down,
                HealthArg::Auto => ForcedHealth::Auto,
            };
            Command::Site(source, SiteRequest { site, health, zone, reason })
        }
        Sub::History { zone, limit } => Command::History(source, HistoryRequest { zone, limit }),
        Sub::Explain { client, name, rtype } => Command::Explain(source, ExplainRequest { client, name, rtype }),
        Sub::Drain { zone, name } => Command::Drain(source, DrainRequest { zone, name }),
        Sub::Top { zone, limit } => Command::Top(source, TopRequest { zone, limit }),
        Sub::Drill(args) => Command::Drill(source, drilling(args)),
        Sub::Init => Command::Init(source),
        Sub::State(StateSub::Accept { reason }) => Command::AcceptState(source, AcceptRequest { reason }),
        Sub::Probe(ProbeSub::Calibrate { attach: true, .. }) => Command::Calibrate(source, None),
        Sub::Probe(ProbeSub::Calibrate { resolvers, ttls, watch, .. }) => {
            let watch = watch.map(Ttl::seconds);
            Command::Calibrate(source, Some(CalibrateRequest { resolvers, ttls, watch }))
        }
        Sub::Probe(ProbeSub::Watch { name, rtype, every, once }) => {
            Command::Look(source, LookRequest { name, rtype }, (!once).then(|| every.duration()))
        }
        Sub::Probe(ProbeSub::List) => Command::Profiles(source, ProfilesRequest { resolver: None }),
        Sub::Probe(ProbeSub::Show { resolver }) => {
            Command::Profiles(source, ProfilesRequest { resolver: Some(resolver) })
        }
        Sub::Rename(args) => renamed(source, args)?,
        Sub::Simulate(args) => Command::Simulate(Box::new(what_if(args)?)),
        Sub::Completions { shell } => Command::Completions(shell),
    };
    Ok(Invocation { json: args.json, command })
}

fn moved(source: Source, kind: MoveKind, args: MoveArgs) -> Command {
    let steps = args.steps.iter().map(ToString::to_string).collect();
    let until = args.rest.until;
    let rest = common(kind, args.zone, args.rest);
    request(source, MoveRequest { to: Some(args.to), from: args.from, steps, ..rest }, until)
}

/// What all moves have.
fn common(kind: MoveKind, zone: String, rest: BackArgsRest) -> MoveRequest {
    let PlannedArgs { dry_run, plan, reason, overrides } = rest.planned;
    let region = rest.region;
    MoveRequest { kind, zone, to: None, from: None, steps: Vec::new(), region, dry_run, plan, reason, overrides }
}

/// On the worst day the next command waits for nothing that can be waited for elsewhere; what is planned is watched.
fn request(source: Source, request: MoveRequest, until: Option<Until>) -> Command {
    let usual = if request.kind == MoveKind::Switchover { Until::Done } else { Until::Moved };
    Command::Move(source, request, until.unwrap_or(usual))
}

fn drilling(args: DrillArgs) -> Drilling {
    let DrillArgs { zone, to, region, reason, detach, attach, abort, list } = args;
    match (zone, list) {
        // Without a zone there is nothing else to do: that is seen to where it is typed.
        (zone, true) => Drilling::List(DrillsRequest { zone }),
        (None, false) => Drilling::List(DrillsRequest { zone: None }),
        (Some(zone), false) if attach => Drilling::Attach(zone),
        (Some(zone), false) if abort => Drilling::Abort(DrillAbort { zone, reason }),
        (Some(zone), false) => Drilling::Begin(DrillRequest { zone, to, region, reason }, !detach),
    }
}

fn what_if(args: SimulateArgs) -> Result<WhatIf, clap::Error> {
    let refused = |text: String| Err(usage("simulate", ErrorKind::ValueValidation, text));
    if args.steps.first() == Some(&Share::NONE) {
        return refused("--step 0% moves nobody: the first step is more than that, such as 1%".into());
    }
    if !args.steps.is_sorted_by(|one, other| one < other) {
        return refused("the shares of --step must rise: each moves more than the one before".into());
    }
    if !args.steps.is_empty() && args.wait.seconds() == 0 {
        return refused("--wait 0 takes all steps at once: leave --step out, or wait between steps".into());
    }
    let is_second = |(at, limit): (usize, &Limit)| args.capacity[..at].iter().any(|other| other.side == limit.side);
    if let Some(limit) = args.capacity.iter().enumerate().find(|each| is_second(*each)).map(|(_, limit)| limit) {
        return refused(format!("--capacity is given twice for the {} site: it carries one number", limit.side));
    }
    Ok(WhatIf {
        clients: args.clients,
        ttl: args.ttl,
        negative_ttl: args.negative_ttl,
        steps: args.steps,
        wait: args.wait.duration(),
        population: args.population,
        violators: args.violators,
        applications: args.applications,
        pause: args.pause.duration(),
        capacity: args.capacity,
        arrivals: args.arrivals,
        retry: args.retry.duration(),
        retries: args.retries,
        seed: args.seed,
    })
}

fn renamed(source: Source, args: RenameArgs) -> Result<Command, clap::Error> {
    let RenameArgs { zone, name, spare, undo, retire, print, planned } = args;
    let PlannedArgs { dry_run, plan, reason, overrides } = planned;
    let Some(name) = name else {
        if spare || undo || retire || dry_run || plan.is_some() {
            let text = "a name is missing: the lever, or a front that has one".into();
            return Err(usage("rename", ErrorKind::MissingRequiredArgument, text));
        }
        return Ok(Command::Renames(source, RenamesRequest { zone, fronts: !print, print }));
    };
    let action = match (spare, undo, retire) {
        (true, ..) => RenameAction::Spare,
        (_, true, _) => RenameAction::Undo,
        (.., true) => RenameAction::Retire,
        _ => RenameAction::Begin,
    };
    Ok(Command::Rename(source, RenameRequest { zone, name, action, dry_run, plan, reason, overrides }))
}

fn steer(source: Source, action: Action, args: SteerArgs) -> Command {
    let SteerArgs { zone, region, reason } = args;
    Command::Steer(source, SteerRequest { action, zone, region, reason })
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
