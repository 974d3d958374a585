//! What may be typed.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::not_a_listener;
use crate::control::api::{Override, digest_prefix};
use crate::name::{Name, NameRef};
use crate::net::Network;
use crate::rr::RrType;

/// What every command takes stands behind what it alone takes.
const GLOBAL: &str = "Global options";

const EXIT_CODES: &str = "\
Exit codes:
  0  done and verified, or nothing to do
  1  an error; or a move that was published and not confirmed
  2  the command line is wrong
  3  a gate blocks; nothing was changed
  4  a move is held
  5  a move was reversed
  6  a dry run: there are changes to make";

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
      Serves what ./understudy.toml says. SIGHUP reloads it; SIGTERM answers what is in flight first.
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
      Checks one file as the zone wiki.example."
    )]
    Check {
        /// A configuration file; or a zone's origin and its file
        #[arg(value_name = "CONFIG | ORIGIN FILE", num_args = 0..=2)]
        subject: Vec<PathBuf>,
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
        #[arg(long, value_name = "DIGEST", value_parser = digest_prefix)]
        accept: Vec<String>,
    },
    /// Show what the daemon serves, and from which site
    #[command(after_help = "\
Examples:
  understudy status
  understudy status --json | jq '.zones[] | {name, serial, routes}'")]
    Status,
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
    /// Answer a zone from another site, at once
    #[command(after_help = "\
The gates judge the very content that would be published: every name that is answered now has to
be answered then. Exit code 0 means that it was published, and that our own sockets were asked and
gave the new answers.

Examples:
  understudy failover wiki.example --to pmtpa --dry-run
      Says what the gates say and what would change, and changes nothing.
  understudy failover wiki.example --to pmtpa --plan 5d0c9e11 --reason 'cooling failed in knams'
      Runs the plan that a dry run showed, and no other.
  understudy failover wiki.example --to pmtpa --region europe
      Moves one region only.
  understudy failover wiki.example --to pmtpa --override zone.nothing-vanishes@3f9c21aa
      Accepts the findings that were shown under this digest. Others would block still.")]
    Failover {
        /// The zone
        zone: String,
        /// The site to answer from
        #[arg(long, value_name = "SITE")]
        to: String,
        /// Only where this site is answered from now
        #[arg(long, value_name = "SITE")]
        from: Option<String>,
        /// Only this region [default: all]
        #[arg(long, value_name = "REGION")]
        region: Option<String>,
        /// Say what would happen, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// The digest of the plan that a dry run showed; any other is refused
        #[arg(long, value_name = "DIGEST", value_parser = digest_prefix)]
        plan: Option<String>,
        /// Why; kept in the audit trail
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Override a gate's verdict, named by the digest that was shown (repeatable)
        #[arg(long = "override", value_name = "GATE@DIGEST")]
        overrides: Vec<Override>,
    },
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
