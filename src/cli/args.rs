//! What may be typed.

mod probe;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::simulate::{Limit, Side};
use crate::config::not_a_listener;
use crate::control::api::Override;
use crate::digest::Digest;
use crate::name::{Name, NameRef};
use crate::net::Network;
use crate::rr::RrType;
use crate::share::Share;
use crate::time::Ttl;
pub(super) use probe::ProbeSub;

/// The seconds of a day.
const DAY: u32 = 86_400;
/// What every command takes stands behind what it alone takes.
const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes:
    0  done and verified, or nothing to do
    1  an error; or a move that was published and not confirmed
    2  the command line is wrong
    3  a gate blocks; nothing was changed
    4  a move is held, or a drill was interrupted
    5  a move was reversed
    6  a dry run: there are changes to make
    7  the daemon ended while a command followed something of it
  130  Ctrl-C while a command followed something, which goes on";

/// An authoritative DNS server that moves a zone's traffic from one site to another without breaking resolution.
#[derive(Debug, Parser)]
#[command(name = "understudy", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(super) struct Args {
    /// The configuration file [default: understudy.toml in this directory]
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub(super) config: Option<PathBuf>,
    /// The state directory, instead of the configured one
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(super) state_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Sub,
}

#[derive(Debug, Subcommand)]
pub(super) enum Sub {
    /// Answer queries for the configured zones, until SIGTERM
    #[command(after_help = "\
Examples:
  understudy serve
      Serves what ./understudy.toml says. SIGHUP reloads it; SIGTERM answers what is in flight.
  understudy serve --listen 127.0.0.1:5300 --zone wiki.example=wiki.example.zone
      Serves one bare file without a configuration. Without --state-dir, state is kept in memory:
      there is no control socket, and after a restart the serial is the file's again.

The log goes to standard error. UNDERSTUDY_LOG sets how much of it: error, warn, info (the default)
or debug; also by part, as in `info,understudy::serve=debug`.")]
    Serve {
        /// An address to listen on, UDP and TCP, instead of the configured ones (repeatable; port 0: any free one)
        #[arg(long, value_name = "ADDR:PORT", value_parser = listener)]
        listen: Vec<SocketAddr>,
        /// A zone and its file, without a configuration (repeatable)
        #[arg(long = "zone", value_name = "ORIGIN=FILE", value_parser = bare_zone, conflicts_with = "config")]
        zones: Vec<(Name, PathBuf)>,
        /// This server never ran before: make its state directory if there is none
        #[arg(long)]
        init: bool,
        /// How many UDP workers there are for each address [default: one for each processor]
        #[arg(long, value_name = "N")]
        workers: Option<NonZeroUsize>,
    },
    /// Read configuration and zones, and say all that is wrong with them
    #[command(
        override_usage = "understudy check [OPTIONS] [CONFIG]\n       understudy check [OPTIONS] ORIGIN FILE",
        after_help = "\
Nothing is served and no daemon is asked. Exit code 0: all of it can be served, perhaps with
warnings; 1: it can't.

Examples:
  understudy check
      Checks ./understudy.toml and every zone and site in it.
  understudy check wiki.example wiki.example.zone
      Checks one file as the zone wiki.example.
  understudy check --levers
      Says of each front name how `understudy rename` can help it."
    )]
    Check {
        /// A configuration file; or a zone's origin and its file
        #[arg(value_name = "CONFIG | ORIGIN FILE", num_args = 0..=2)]
        subject: Vec<PathBuf>,
        /// List each name that users hold with its lever, or how to give it one
        #[arg(long)]
        levers: bool,
    },
    /// Have the daemon read its configuration and zones again
    #[command(after_help = "\
A zone is taken over whole or not at all; if not, its last good content is served on. An edit that
removes more names than the zone's blast radius is refused with the list of them and a digest,
until it is accepted by that digest.

Examples:
  understudy reload
  understudy reload --accept 3f9c21aa")]
    Reload {
        /// Accept the findings with this digest, as a reload showed it (repeatable)
        #[arg(long, value_name = "DIGEST", value_parser = Digest::beginning)]
        accept: Vec<String>,
    },
    /// Show what needs attention and what to type; what the daemon serves, and from which site
    #[command(after_help = "\
The first line says whether anything needs attention. If so, each matter stands there with what to
type: queries that fail, users who are answered from a site that is down, a move that is held or
waits for approval, an edit that was not taken over, resolvers that are late. Then come the zones,
and of each its moves, sites, drills and renames. The exit code is 0, whatever it says.

Examples:
  understudy status
  understudy status --watch
  understudy status --json | jq '.zones[] | {name, serial, routes}'")]
    Status {
        /// Show it once a second, until Ctrl-C
        #[arg(long)]
        watch: bool,
    },
    /// Answer a query from the zone files, without a server
    #[command(after_help = "\
Reads the configuration and the zones as they are on disk, and prints the answer as dig does. No
server is asked: the serial is the file's, which a running server may have counted on from, and the
site is the first in the order of preference, whatever was failed over.

Examples:
  understudy query www.wiki.example AAAA
  understudy query www.wiki.example A --site pmtpa
  understudy query www.wiki.example A --client 192.0.2.0/24")]
    Query {
        /// The name, with or without the final dot
        #[arg(value_parser = query_name)]
        name: Name,
        /// The type, such as AAAA or TYPE28
        #[arg(value_name = "TYPE")]
        rtype: RrType,
        /// As this site answers it [default: the site that the client is answered from]
        #[arg(long, value_name = "SITE", conflicts_with = "client")]
        site: Option<String>,
        /// As a client of this network or address is answered
        #[arg(long, value_name = "NET")]
        client: Option<Network>,
    },
    /// Answer a zone from another site, at once: the one that answers now is down
    #[command(after_help = "\
The gates judge the very content that would be published: every name that is answered now has to
be answered then. Then all clients are answered from the target at once, or by --step where it can't
take all of them at once. Exit code 0 means that it was published, and that our own sockets were
asked and gave the new answers. The run goes on behind that: it waits until caches have let go of
the old answers, and sees whether the target proves itself. `understudy follow ZONE` shows it.

Examples:
  understudy failover wiki.example --to pmtpa --dry-run
      Says what the gates say and what would change, and changes nothing; where no daemon runs, by
      a copy of its state.
  understudy failover wiki.example --to pmtpa --plan 5d0c9e11 --reason 'cooling failed in knams'
      Runs the plan that a dry run showed, and no other.
  understudy failover wiki.example --to pmtpa --region europe
      Moves one region only.
  understudy failover wiki.example --to pmtpa --override zone.nothing-vanishes@3f9c21aa
      Accepts the findings that were shown under this digest. Others would block still.")]
    Failover(MoveArgs),
    /// Move a zone to another site, as planned: lower TTLs, move by steps, see that it holds
    #[command(after_help = "\
What moves is answered with the policy's low TTL first, until no cache that obeys TTLs holds it with
the old one; then clients move by the policy's steps; then TTLs go back to normal, once the target
has proved itself. The command follows the run to its end, unless --until says otherwise; Ctrl-C
leaves the run going, and `understudy follow ZONE` shows it again.

Examples:
  understudy switchover wiki.example --to pmtpa --dry-run
  understudy switchover wiki.example --to pmtpa --plan 5d0c9e11 --reason 'new cooling in knams'
  understudy switchover wiki.example --to pmtpa --step 5% --step 50%
      By these steps and then the whole, instead of the policy's.")]
    Switchover(MoveArgs),
    /// Take a zone back to the sites it was answered from before its last move, at once
    #[command(after_help = "\
A move of its own, in the place of the one that it takes back. It goes back to what is verified and
served: what the gates have against that is told, and stops nothing.

Examples:
  understudy rollback wiki.example --reason 'knams is back'")]
    Rollback(BackArgs),
    /// Leave a move where it is, until it is resumed or aborted
    #[command(after_help = "\
Clients stay where they are, and TTLs as they are. It is said again every `hold_reminder` (30
minutes, unless configured); a move that has moved nobody is given up after `hold_deadline` (a day).

Examples:
  understudy hold wiki.example --reason 'graphs look wrong'")]
    Hold(SteerArgs),
    /// Let a held move go on
    Resume(SteerArgs),
    /// Give a move up: clients go back the way they came, and TTLs with them
    #[command(after_help = "\
Before everybody has moved only. After that, `understudy rollback` is the way back. Clients go back
at once; the move ends once caches have let go: `understudy follow ZONE` shows it.")]
    Abort(SteerArgs),
    /// Let a move begin for which the policy wants a second person: another user than who asked for it
    Approve(SteerArgs),
    /// Show a move under way, until it ends
    #[command(after_help = "\
Ctrl-C leaves it going. Exit codes: 0: it is done; 3: the gates stopped it; 4: it is held;
5: clients went back; 7: the daemon ended. The run goes on when the daemon runs again.")]
    Follow {
        /// The zone
        zone: String,
        /// The move of this region [default: the zone's only one]
        #[arg(long, value_name = "REGION")]
        region: Option<String>,
    },
    /// Hold a site for up or down, whatever is measured
    #[command(after_help = "\
A site that is down is not gone to, and a move to it is held. Nobody is moved away from it by that:
`understudy failover ZONE --to SITE` does.

Examples:
  understudy site down knams --reason 'cooling failed'
  understudy site auto knams
      What is measured counts again.")]
    Site {
        /// What the site is held for: up, down or auto
        #[arg(value_enum, hide_possible_values = true)]
        health: HealthArg,
        /// The site
        site: String,
        /// Only in this zone [default: in all that have the site]
        #[arg(long, value_name = "ZONE")]
        zone: Option<String>,
        /// Why; kept in the audit trail
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Show what was done, by whom and why
    #[command(after_help = "\
Examples:
  understudy history wiki.example
  understudy history --limit 100000 --json > audit.json
      Exports all of it.")]
    History {
        /// Only of this zone [default: all]
        zone: Option<String>,
        /// The most entries, the newest ones
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
    },
    /// Say which answer a client gets, and why
    #[command(after_help = "\
Examples:
  understudy explain 192.0.2.7 www.wiki.example
  understudy explain 2001:db8:e::/48 wiki.example MX
      Region, unit, side, site and answer; and what its network was told before, and may still hold.")]
    Explain {
        /// The client's address, or its network
        client: Network,
        /// The name that it asks for
        #[arg(value_parser = query_name)]
        name: Name,
        /// The type
        #[arg(value_name = "TYPE", default_value = "A")]
        rtype: RrType,
    },
    /// Show what caches may still hold, and how that drains
    #[command(after_help = "\
Of a move under way: the share of users on the new answer, now and to come, for each type; when no
cache that obeys TTLs holds an old one any more; and what is not known. If none is under way: what
would be if everybody were moved now. Counted is who was told what and how often is asked of late;
resolvers are taken to be as `understudy simulate` has them (docs/exposures.md).

Examples:
  understudy drain wiki.example
  understudy drain wiki.example www.wiki.example
  understudy drain wiki.example --json | jq '.families[] | {family, new_now, quantiles}'")]
    Drain {
        /// The zone
        zone: String,
        /// Only of this name [default: all of the zone]
        #[arg(value_parser = query_name)]
        name: Option<Name>,
    },
    /// Show what is asked most, and by whom
    #[command(after_help = "\
Counted is what was answered of late: what was asked an hour ago counts half. Networks are personal
data in many places; `retention` in `[exposures]` says how long they are kept.

Examples:
  understudy top wiki.example
  understudy top --limit 100 --json | jq '.absent'")]
    Top {
        /// Only of this zone [default: all]
        zone: Option<String>,
        /// How many of each, at least one
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Move a zone there and back where nobody is sent to, to see that it would work
    #[command(after_help = "\
A drill goes the whole way of a switchover and back again: gates, steps, TTLs and times are those of
the policy, and so it takes as long. It answers on listeners of its own; what users are answered,
the serial and the generation stay as they are. There is one at a time; what is done to the zone for
real ends it. Ctrl-C leaves it going.

Exit codes: 0: it succeeded; 1: it failed; 3: a gate would stop the move; 4: it was interrupted;
7: the daemon ended.

Examples:
  understudy drill wiki.example --to pmtpa
  understudy drill wiki.example --attach
      Follows the one that is under way.
  understudy drill wiki.example --abort --reason 'not today'
  understudy drill --list
      Those there were: how they ended, and how long each phase took.")]
    Drill(DrillArgs),
    /// Make the state directory of a server that never ran before
    #[command(after_help = "\
A server that finds its state directory empty cannot know whether it is new, or has lost what it
knew. Unless this was typed, it takes the second for granted: it asks the zone's name servers for
the serial to go on from, and moves nothing where none of them answers.")]
    Init,
    /// What is known of the state directory
    #[command(subcommand)]
    State(StateSub),
    /// Find out what resolvers keep, and how long
    #[command(subcommand)]
    Probe(ProbeSub),
    /// Lead users round caches that do not let go: a lever's records under a fresh name
    #[command(after_help = "\
A front is a name that users hold (`www`), its lever the name that its CNAME, MX, SRV or HTTPS
record leads to. The lever's records, and what hangs on it, are published under a fresh name beside
it, and every name server of the zone is asked whether it has them, serial and answer; only then all
that leads to the lever turns. The old lever stays. It is no edit of the zone files: it lies over
them, outlives moves, reloads and restarts, and ends once the files say the same (docs/rename.md).
While a move waits for caches, a rename that gains something is proposed, or done by itself:
`rename` in [zone.policy].

Examples:
  understudy rename wiki.example
      Lists each front with its lever, or how to give it one; and the renames there are.
  understudy rename wiki.example www --dry-run
      Says what would change and what the gates say, and changes nothing.
  understudy rename wiki.example edge --reason 'resolvers hold that it does not exist'
  understudy rename wiki.example edge --spare
      Keeps a fresh name ready on every name server, so that the worst day needs one step only.
  understudy rename wiki.example --print
      The lines that write the renames into the zone's files.
  understudy rename wiki.example edge --undo
  understudy rename wiki.example edge --retire
      Stops answering the old lever, once it was left alone for days.")]
    Rename(RenameArgs),
    /// Play a move through with simulated resolvers and clients, to see how fast it would be
    #[command(after_help = "\
Resolvers are drawn from a population: 82 % keep TTLs, 8 % cap them, 7 % have a floor, 2 % give
out stale answers at once, 1 % keep negative answers too long; 70 % of clients keep answers
themselves for 30 s to 120 s. These follow published figures, and are no measurements of your
users. Each resolver asks this server's own code, in virtual time. Beside what is counted stands
the same in closed form (docs/simulate.md). No server is asked.

Examples:
  understudy simulate --ttl 60
      A failover: everybody at once.
  understudy simulate --ttl 30 --step 1% --step 30% --wait 5m --clients 1000000 --arrivals 4000
      A switchover by steps, for a target that takes 4000 new clients a second.
  understudy simulate --ttl 300 --violators 30% --json | jq '.courses[].simulated'")]
    Simulate(SimulateArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  understudy completions bash > /etc/bash_completion.d/understudy
  understudy completions zsh > \"${fpath[1]}/_understudy\"")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// A rename, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct RenameArgs {
    /// The zone
    pub(super) zone: String,
    /// The lever, or a front that has one [default: list them]
    pub(super) name: Option<String>,
    /// Only keep a fresh name ready, seen on every name server
    #[arg(long, conflicts_with_all = ["undo", "retire", "print"])]
    pub(super) spare: bool,
    /// Lead everything back to the lever
    #[arg(long, conflicts_with_all = ["retire", "print"])]
    pub(super) undo: bool,
    /// Stop answering what nothing leads to any more
    #[arg(long, conflicts_with = "print")]
    pub(super) retire: bool,
    /// Print the lines that write the zone's renames into its files
    #[arg(long, conflicts_with_all = ["name", "dry_run", "plan", "reason", "overrides"])]
    pub(super) print: bool,
    #[command(flatten)]
    pub(super) planned: PlannedArgs,
}

/// What everything takes that has a plan and is judged by gates.
#[derive(Debug, clap::Args)]
pub(super) struct PlannedArgs {
    /// Say what would happen, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Run the plan with this digest, as a dry run showed it, and no other
    #[arg(long, value_name = "DIGEST", value_parser = Digest::beginning)]
    pub(super) plan: Option<String>,
    /// Why; kept in the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// Accept the findings of this gate that were shown under this digest (repeatable)
    #[arg(long = "override", value_name = "GATE@DIGEST")]
    pub(super) overrides: Vec<Override>,
}

/// A move, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct MoveArgs {
    /// The zone
    pub(super) zone: String,
    /// The site to answer from
    #[arg(long, value_name = "SITE")]
    pub(super) to: String,
    /// Only where this site is answered from now
    #[arg(long, value_name = "SITE")]
    pub(super) from: Option<String>,
    /// By this share of the clients first (repeatable, rising); the whole is always the last step
    #[arg(long = "step", value_name = "SHARE", value_parser = share)]
    pub(super) steps: Vec<Share>,
    #[command(flatten)]
    pub(super) rest: BackArgsRest,
}

/// A drill, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct DrillArgs {
    /// The zone
    #[arg(required_unless_present = "list")]
    pub(super) zone: Option<String>,
    /// The site to go to [default: the one that was gone to longest ago]
    #[arg(long, value_name = "SITE", conflicts_with_all = ["attach", "abort", "list"])]
    pub(super) to: Option<String>,
    /// Only this region [default: all]
    #[arg(long, value_name = "REGION", conflicts_with_all = ["attach", "abort", "list"])]
    pub(super) region: Option<String>,
    /// Why; kept in the journal
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["attach", "list"])]
    pub(super) reason: Option<String>,
    /// Do not follow it
    #[arg(long, conflicts_with_all = ["attach", "abort", "list"])]
    pub(super) detach: bool,
    /// Follow the one that is under way
    #[arg(long, conflicts_with_all = ["abort", "list"])]
    pub(super) attach: bool,
    /// End the one that is under way
    #[arg(long, conflicts_with = "list")]
    pub(super) abort: bool,
    /// Show the drills that there were
    #[arg(long)]
    pub(super) list: bool,
}

/// A rollback, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct BackArgs {
    /// The zone
    pub(super) zone: String,
    #[command(flatten)]
    pub(super) rest: BackArgsRest,
}

/// What all moves take.
#[derive(Debug, clap::Args)]
pub(super) struct BackArgsRest {
    /// Only this region [default: all]
    #[arg(long, value_name = "REGION")]
    pub(super) region: Option<String>,
    #[command(flatten)]
    pub(super) planned: PlannedArgs,
    /// How far to follow the run: begun, moved or done [default: moved; of a switchover, done]
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    pub(super) until: Option<Until>,
}

/// How far a command follows its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Until {
    // Until the run has begun
    Begun,
    // Until everybody that it moves is answered from the target
    Moved,
    // Until caches have let go of the old answers and the target has proved itself
    Done,
}

/// A simulation, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct SimulateArgs {
    /// The TTL of what moves, such as 60 or 5m
    #[arg(long, value_name = "TTL", default_value = "60", value_parser = ttl)]
    pub(super) ttl: Ttl,
    /// The TTL of negative answers
    #[arg(long, value_name = "TTL", default_value = "60", value_parser = ttl)]
    pub(super) negative_ttl: Ttl,
    /// By this share of the clients first (repeatable, rising); the whole is always the last step
    #[arg(long = "step", value_name = "SHARE", value_parser = share)]
    pub(super) steps: Vec<Share>,
    /// How long it stays at each step, a day at most
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = wait)]
    pub(super) wait: Ttl,
    /// How many clients there are, ten million at most
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(super) clients: u32,
    /// How often a client uses the name: the average time between two uses, from 1s to 1d
    #[arg(long, value_name = "SPAN", default_value = "30s", value_parser = pause)]
    pub(super) pause: Ttl,
    /// A TOML file with another population of resolvers
    #[arg(long, value_name = "FILE")]
    pub(super) population: Option<PathBuf>,
    /// So many clients are behind resolvers that do not keep TTLs [default: 18%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) violators: Option<Share>,
    /// So many clients keep answers themselves [default: 70%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) applications: Option<Share>,
    /// How many uses a second a site carries, `old=N` or `new=N`, or N for the new one (repeatable):
    /// what is more fails, and clients try it again; each step that brings more is warned of
    #[arg(long, value_name = "[SITE=]N", value_parser = limit)]
    pub(super) capacity: Vec<Limit>,
    /// How many clients the target takes in a second that it has not seen before
    #[arg(long, value_name = "N")]
    pub(super) arrivals: Option<u32>,
    /// How long clients wait before they try again what has failed; twice as long each time
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = pause)]
    pub(super) retry: Ttl,
    /// How often clients try again, 20 at most
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(super) retries: u32,
    /// What everything that is drawn follows from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

/// What is done to a move under way, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct SteerArgs {
    /// The zone
    pub(super) zone: String,
    /// The move of this region [default: the zone's only one]
    #[arg(long, value_name = "REGION")]
    pub(super) region: Option<String>,
    /// Why; kept in the audit trail
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// What a site is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum HealthArg {
    // It can serve
    Up,
    // It can't
    Down,
    // What is measured counts
    Auto,
}

#[derive(Debug, Subcommand)]
pub(super) enum StateSub {
    /// Go on although it is not known what a lost state directory knew: moves may begin again
    Accept {
        /// Why; kept in the audit trail
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

fn ttl(text: &str) -> Result<Ttl, String> {
    Ttl::parse(text).ok_or_else(|| format!("`{text}` is no TTL: write seconds, or as in 5m and 1h30m"))
}

/// No more than a day, so that a simulation comes to an end.
fn wait(text: &str) -> Result<Ttl, String> {
    Some(ttl(text)?).filter(|span| span.seconds() <= DAY).ok_or_else(|| format!("`{text}` is more than a day"))
}

/// What a site carries: `new=4000`, or the number alone for the new one.
fn limit(text: &str) -> Result<Limit, String> {
    let (site, most) = text.split_once('=').unwrap_or(("new", text));
    let side = match site {
        "old" => Side::Old,
        "new" => Side::New,
        _ => return Err(format!("there is no site `{site}` in a simulation: write old=N or new=N")),
    };
    match most.parse() {
        Ok(most) if most > 0 => Ok(Limit { side, most }),
        _ => Err(format!("`{most}` is no number of uses a second: write a whole number above 0")),
    }
}

fn pause(text: &str) -> Result<Ttl, String> {
    let least = |span: &Ttl| span.seconds() > 0;
    Some(wait(text)?).filter(least).ok_or_else(|| format!("`{text}` is less than a second"))
}

fn share(text: &str) -> Result<Share, String> {
    text.parse()
}

fn listener(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let (what, remedy) = not_a_listener(text);
        format!("{what}; try {remedy}")
    })
}

fn bare_zone(text: &str) -> Result<(Name, PathBuf), String> {
    let (origin, file) = text.split_once('=').ok_or("it takes an origin and a file: wiki.example=wiki.example.zone")?;
    if file.is_empty() {
        return Err("the file behind the `=` is missing".into());
    }
    Ok((zone_origin(origin)?, file.into()))
}

/// A name as it is typed: absolute, with or without the final dot.
pub(super) fn zone_origin(text: &str) -> Result<Name, String> {
    let name = query_name(text)?;
    if name.as_ref().is_wildcard() {
        return Err(format!("`{text}` can't be a zone: a `*` belongs into a zone's file"));
    }
    Ok(name)
}

fn query_name(text: &str) -> Result<Name, String> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if !text.is_ascii() {
        return Err("names on the wire are ASCII: write an internationalised name in its xn-- form".into());
    }
    // No origin is in force, so `@` could only mean the root, which has a plain name.
    if text == "@" {
        return Err("`@` has no meaning here: write the name in full".into());
    }
    Name::from_presentation(text.as_bytes(), Some(NameRef::ROOT)).map_err(|error| error.to_string())
}
