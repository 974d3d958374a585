//! What is said over the control socket. The same types are what `--json` prints: fields are added, never renamed or
//! removed, within a version of the paths (`/v1/…`).

pub mod drain;
pub mod drill;
pub mod moves;
pub mod probe;
pub mod rename;
pub mod told;

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
pub use crate::door::Override;
use crate::drill::Drill;
use crate::evidence::Verdict;
use crate::name::Name;
use crate::rr::RrType;
use crate::time::Timestamp;
use drain::{DrainReport, DrainRequest};
use drill::{DrillAbort, DrillBegun, DrillRequest, DrillRunReport, DrillRunRequest, DrillsReport, DrillsRequest};
use moves::{
    HistoryReport, HistoryRequest, MoveReport, MoveRequest, MoveStatus, RunReport, RunRequest, SiteRequest,
    SteerReport, SteerRequest,
};
use probe::{CalibrateRequest, CalibrationReport, LookReport, LookRequest, ProfilesReport, ProfilesRequest};
use rename::{LeverCount, RenameReport, RenameRequest, RenameStatus, RenamesReport, RenamesRequest};
use told::{ExplainReport, ExplainRequest, TopReport, TopRequest};

/// What an operator asks of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// How things stand (`GET /v1/status`).
    Status,
    /// Read configuration and zones again (`POST /v1/reload`).
    Reload(ReloadRequest),
    /// Answer a zone from another site (`POST /v1/move`).
    Move(MoveRequest),
    /// Hold, resume, abort or approve a move (`POST /v1/steer`).
    Steer(SteerRequest),
    /// Hold a site for up or down (`POST /v1/site`).
    Site(SiteRequest),
    /// How a run stands (`POST /v1/run`).
    Run(RunRequest),
    /// What was done (`POST /v1/history`).
    History(HistoryRequest),
    /// Which answer a client gets, and why (`POST /v1/explain`).
    Explain(ExplainRequest),
    /// What caches may still hold, and how that drains (`POST /v1/drain`).
    Drain(DrainRequest),
    /// What is asked most, and by whom (`POST /v1/top`).
    Top(TopRequest),
    /// Move a zone there and back where nobody is sent to (`POST /v1/drill`).
    Drill(DrillRequest),
    /// End a drill (`POST /v1/drill/abort`).
    AbortDrill(DrillAbort),
    /// How a drill stands (`POST /v1/drill/run`).
    DrillRun(DrillRunRequest),
    /// What drills there were (`POST /v1/drill/list`).
    Drills(DrillsRequest),
    /// Go on although it is not known what a lost state directory knew (`POST /v1/state/accept`).
    AcceptState(AcceptRequest),
    /// Measure resolvers (`POST /v1/probe/calibrate`).
    Calibrate(CalibrateRequest),
    /// How measuring them stands (`GET /v1/probe/calibration`).
    Calibration,
    /// What is known of resolvers (`POST /v1/probe/profiles`).
    Profiles(ProfilesRequest),
    /// Ask resolvers for a name that our zone has (`POST /v1/probe/look`).
    Look(LookRequest),
    /// Rename a lever, or take that back (`POST /v1/rename`).
    Rename(RenameRequest),
    /// What is known of levers (`POST /v1/renames`).
    Renames(RenamesRequest),
}

/// What the daemon answers; of the same kind as the request.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// How things stand.
    Status(StatusReport),
    /// What a reload did.
    Reload(ReloadReport),
    /// What a move did so far, or would do.
    Move(Box<MoveReport>),
    /// What was taken down.
    Steer(SteerReport),
    /// How a run stands.
    Run(Box<RunReport>),
    /// What was done.
    History(HistoryReport),
    /// Which answer a client gets, and why.
    Explain(Box<ExplainReport>),
    /// What caches may still hold, and how that drains.
    Drain(Box<DrainReport>),
    /// What is asked most, and by whom.
    Top(Box<TopReport>),
    /// A drill that has begun.
    Drill(DrillBegun),
    /// How a drill stands.
    DrillRun(Box<DrillRunReport>),
    /// What drills there were.
    Drills(DrillsReport),
    /// How measuring resolvers stands.
    Calibration(Box<CalibrationReport>),
    /// What is known of resolvers.
    Profiles(Box<ProfilesReport>),
    /// What resolvers give for a name.
    Look(Box<LookReport>),
    /// What became of a rename, or would.
    Rename(Box<RenameReport>),
    /// What is known of levers.
    Renames(Box<RenamesReport>),
}

/// Who asks: the peer of the socket, as the kernel names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The user id.
    pub uid: u32,
    /// The user's name, if it has one here.
    pub user: Option<String>,
    /// The process.
    pub pid: Option<i32>,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{user} (uid {})", self.uid),
            None => write!(f, "uid {}", self.uid),
        }
    }
}

/// Read configuration and zones again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadRequest {
    /// Digests, or beginnings of them, of findings that a reload showed and that are accepted.
    #[serde(default)]
    pub accept: Vec<String>,
}

/// Go on although it is not known what a lost state directory knew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptRequest {
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
}

/// How things stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The daemon's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub uptime_seconds: u64,
    /// Counts every publication.
    pub generation: u64,
    /// The addresses that it listens on.
    pub listeners: Vec<SocketAddr>,
    /// The addresses that it listens on for encrypted transports.
    #[serde(default)]
    pub encrypted: Vec<EncryptedListener>,
    /// The zones, in the order of the configuration.
    pub zones: Vec<ZoneStatus>,
    /// What it is not known to be safe to go on with, and what to do about it; none if all is well.
    #[serde(default)]
    pub caution: Option<String>,
    /// How the last reload went; none if there was none since the start.
    pub last_reload: Option<LastAct>,
    /// How the last failover went, dry runs apart; none if there was none since the start.
    #[serde(default)]
    pub last_failover: Option<LastAct>,
}

/// An address that an encrypted transport listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncryptedListener {
    /// `DoT`, `DoH` or `DoQ`.
    pub transport: String,
    /// The address.
    pub address: SocketAddr,
}

/// How a zone stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneStatus {
    /// The origin.
    pub name: Name,
    /// The serial that is published; none if nothing is.
    pub serial: Option<u32>,
    /// Counts the changes of its content.
    pub epoch: u64,
    /// Where each region is answered from; while it moves, the site that it leaves.
    pub routes: Vec<Route>,
    /// The moves under way.
    #[serde(default)]
    pub moves: Vec<MoveStatus>,
    /// What is known of its sites.
    #[serde(default)]
    pub sites: Vec<SiteStatus>,
    /// Until when caches that obey TTLs may hold answers that are not given any more; none where there are none.
    #[serde(default)]
    pub old_until: Option<Timestamp>,
    /// The last drill of it, under way or over; none if there was none.
    #[serde(default)]
    pub last_drill: Option<Drill>,
    /// Where the drill that is under way is answered; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drill_listeners: Vec<SocketAddr>,
    /// The renames that lie over its files.
    #[serde(default)]
    pub renames: Vec<RenameStatus>,
    /// How many of the names that users hold have a lever; none if it is too large to be looked through for this.
    #[serde(default)]
    pub levers: Option<LeverCount>,
    /// What became of its files.
    pub content: ContentStatus,
}

/// Where a region is answered from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The region; `default` is everybody else.
    pub region: String,
    /// The site.
    pub site: String,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteStatus {
    /// The site.
    pub site: String,
    /// `up`, `down` or `unknown`: what counts.
    pub health: String,
    /// What is measured.
    pub measured: String,
    /// By whom and why it is held for something else; none if what is measured counts.
    pub forced: Option<String>,
}

/// What became of a zone's files when they were last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ContentStatus {
    /// They are what is served.
    Loaded,
    /// They can't be served; what was served before still is.
    LastGood {
        /// What is wrong with them.
        diagnostics: Vec<String>,
    },
    /// A gate stopped them; what was served before still is.
    RefusedEdit {
        /// What the gate says.
        diagnostics: Vec<String>,
    },
    /// They touch what a move under way moves, and wait for its end; what was served before still is.
    QueuedEdit {
        /// The RRsets.
        diagnostics: Vec<String>,
    },
    /// They can't be served, and nothing was before: queries for the zone fail.
    Broken {
        /// What is wrong with them.
        diagnostics: Vec<String>,
    },
}

/// How a reload or a failover went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastAct {
    /// When it ended.
    pub at: Timestamp,
    /// Whether all of it was done, or there was nothing to do.
    pub ok: bool,
    /// The same in a few words.
    pub summary: String,
}

/// What a reload did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// The zones, in the order of the configuration.
    pub zones: Vec<ZoneReload>,
    /// What the configuration says otherwise now and only a restart takes over.
    #[serde(default)]
    pub needs_restart: Vec<String>,
    /// What went wrong beside the zones, and undoes nothing.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What a reload did to a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneReload {
    /// The origin.
    pub name: Name,
    /// What was done.
    #[serde(flatten)]
    pub outcome: ReloadOutcome,
}

/// What a reload did to a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ReloadOutcome {
    /// Its files say what they said before.
    Unchanged,
    /// The new content is served.
    Published {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: u32,
        /// How many RRsets are new.
        added: usize,
        /// How many RRsets are gone.
        removed: usize,
        /// How many RRsets differ.
        changed: usize,
        /// What the gates said that is worth knowing: the names that are gone, above all.
        #[serde(default)]
        findings: Vec<Finding>,
    },
    /// A gate stopped the new content; the former one is served on.
    Refused {
        /// What the gates said.
        findings: Vec<Finding>,
    },
    /// The files can't be served; the former content is served on, if there is any.
    KeptLastGood {
        /// What is wrong with them.
        diagnostics: Vec<String>,
    },
    /// It touches what a move under way moves, and waits for its end; the former content is served on.
    Queued {
        /// The RRsets.
        touched: Vec<String>,
    },
    /// The state could not be written; the former content is served on, if there is any.
    NotPublished {
        /// Why.
        why: String,
    },
}

/// What a gate said of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The gate, such as `zone.nothing-vanishes`.
    pub gate: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
    /// Identifies these findings: an override of it covers them and no others.
    pub digest: Digest,
    /// What was found, one line each: a name and what would become of it.
    pub items: Vec<String>,
    /// Those of them that are about names which were asked for of late: they weigh more. The most asked for first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedItem>,
    /// Whether an operator overrode it.
    pub overridden: bool,
    /// Whether an operator may: `zone.loads`, the serial and a plan's freshness can't be overridden.
    pub overridable: bool,
}

impl Finding {
    /// Whether it stops the change.
    pub fn stops(&self) -> bool {
        self.verdict.stops() && !self.overridden
    }
}

/// Something that a gate found about a name that was asked for of late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedItem {
    /// What was found, as it stands among the others.
    pub item: String,
    /// About how many answers were given for the name; what was asked an hour ago counts half.
    pub count: u64,
}

/// An RRset that is answered differently before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordDiff {
    /// The owner name.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
    /// The records before, each as it would stand behind its owner in a zone file (`300 IN A 192.0.2.1`); empty if the
    /// RRset is new.
    pub before: Vec<String>,
    /// The records after; empty if the RRset goes.
    pub after: Vec<String>,
}

/// Why a request could not be carried out. Nothing was changed, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Failure {
    /// What happened.
    pub what: String,
    /// What it means for the one who asked, or for users; empty where that is plain.
    pub meaning: String,
    /// What to type or do next; empty where there is nothing.
    pub try_next: String,
}

impl Failure {
    /// A failure of these three parts.
    pub fn new(what: impl Into<String>, meaning: impl Into<String>, try_next: impl Into<String>) -> Failure {
        Failure { what: what.into(), meaning: meaning.into(), try_next: try_next.into() }
    }
}

impl fmt::Display for Failure {
    /// What happened; its meaning and what to do next in lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for (label, text) in [("means", &self.meaning), ("try", &self.try_next)] {
            if !text.is_empty() {
                write!(f, "\n    {label}: {text}")?;
            }
        }
        Ok(())
    }
}

impl From<crate::config::nearest::UnknownName> for Failure {
    fn from(unknown: crate::config::nearest::UnknownName) -> Failure {
        let what = format!("there is no {} `{}`", unknown.kind, unknown.given);
        Failure::new(what, "nothing was changed", unknown.advice())
    }
}

impl From<crate::store::StoreError> for Failure {
    fn from(error: crate::store::StoreError) -> Failure {
        // It says by itself what it means and what to do.
        Failure::new(error.to_string(), "", "")
    }
}

impl From<crate::config::SourceError> for Failure {
    fn from(error: crate::config::SourceError) -> Failure {
        use crate::config::SourceError;
        match &error {
            SourceError::NotHere => Failure::new(
                error.to_string(),
                "understudy does not know which zones there are, nor where its state is",
                "--config FILE; or a file understudy.toml here that begins with `version = 1` and has a `[[zone]]` with \
                 `name = \"wiki.example\"` and `file = \"wiki.example.zone\"`",
            ),
            SourceError::Unreadable { .. } => Failure::new(
                error.to_string(),
                "understudy does not know which zones there are, nor where its state is",
                "correct the path or its permissions, or name another file with --config",
            ),
            SourceError::NotUtf8 { .. } => Failure::new(
                error.to_string(),
                "nothing was read from it",
                "save it as UTF-8 (`iconv -f latin1 -t utf8`), or name the right file with --config",
            ),
            SourceError::Wrong(problems) => Failure::new(problems.to_string(), "", ""),
        }
    }
}
