//! What is said about moves: asked for, under way, done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::drain::{DarkReport, ForecastReport};
use super::rename::Proposal;
use super::{Finding, Override, RecordDiff, Route};
use crate::digest::Digest;
use crate::name::Name;
use crate::observation::sight::Sight;
use crate::time::Timestamp;

/// What sort of move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// Unplanned: everybody at once.
    Failover,
    /// Planned: TTLs are lowered first, then clients move by steps.
    Switchover,
    /// Back to where the regions were before their last move.
    Rollback,
}

impl std::fmt::Display for MoveKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            MoveKind::Failover => "failover",
            MoveKind::Switchover => "switchover",
            MoveKind::Rollback => "rollback",
        })
    }
}

/// Answer a zone from another site (`POST /v1/move`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// What sort of move.
    pub kind: MoveKind,
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The site to answer from; none in a rollback.
    #[serde(default)]
    pub to: Option<String>,
    /// The site that is left; none: whichever it is.
    #[serde(default)]
    pub from: Option<String>,
    /// The region that is moved; none: all of them.
    #[serde(default)]
    pub region: Option<String>,
    /// The shares of the clients that it goes by (`1%`, `30%`), instead of those of the zone's policy. The whole is always
    /// the last one.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// The digest, or the beginning of it, of the plan that a dry run showed: any other plan is refused.
    #[serde(default)]
    pub plan: Option<String>,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
    /// Verdicts that were shown and are overridden.
    #[serde(default)]
    pub overrides: Vec<Override>,
}

/// What a move did so far, or would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoveReport {
    /// What sort of move.
    pub kind: MoveKind,
    /// The zone.
    pub zone: Name,
    /// The site that it is to be answered from.
    pub to: String,
    /// Whether it was only to say what would happen.
    pub dry_run: bool,
    /// The regions that move, each with the site that it is answered from before.
    pub moves: Vec<Route>,
    /// The plan's digest: pass it to `--plan` to run this plan and no other.
    pub plan: Digest,
    /// What the gates said; those that passed, too.
    pub findings: Vec<Finding>,
    /// How the answers differ.
    pub diff: Vec<RecordDiff>,
    /// How many more RRsets differ than are in `diff`; where regions leave different sites, counted for each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted: usize,
    /// The shares of the clients that it goes by, the whole last.
    #[serde(default)]
    pub steps: Vec<String>,
    /// The same by what was asked of late; empty if too little is known of that.
    #[serde(default)]
    pub weighed: Vec<WeighedStep>,
    /// The greatest TTL, in seconds, that what moves is answered with now.
    #[serde(default)]
    pub old_ttl: u32,
    /// Until when caches that obey TTLs may hold what was answered before; none where nothing was published.
    #[serde(default)]
    pub old_until: Option<Timestamp>,
    /// How much of what its regions asked of late was asked by those who may hold an answer now, such as
    /// `38.5%`; none if that is not known.
    #[serde(default)]
    pub old_share: Option<String>,
    /// What a dry run rests on where no daemon runs; none where it was asked for through the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<Offline>,
    /// What a dry run foresees: the timeline, and how caches drain; none if nothing would change, or it is not noted who is
    /// told what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastReport>,
    /// What would no longer be answered, by a dry run, be it stopped for that; none if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<DarkReport>,
    /// Of a dry run: renames that would lead users round caches that hold on to old answers, or to none, for longer than they should.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<Proposal>,
    /// What went wrong beside it, and undoes nothing.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: MoveOutcome,
}

/// What a dry run rests on while no daemon runs: a copy of the state, and the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offline {
    /// The state directory that was copied.
    pub state_dir: PathBuf,
    /// When it was last written.
    pub written: Timestamp,
    /// When this was said.
    pub at: Timestamp,
    /// The moves under way, by the state: they go on when the daemon is started.
    pub under_way: Vec<MoveStatus>,
    /// What is not known because no daemon runs.
    pub unknown: Vec<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What came of a request to move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum MoveOutcome {
    /// A dry run: there is nothing to do.
    DryRunClean,
    /// A dry run: the gates let it through and it would change what is served.
    WouldChange,
    /// A gate stops it; nothing was changed.
    Blocked,
    /// Everybody that it moves is answered from the target.
    Done {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: u32,
        /// Whether our own sockets were asked and gave the new answers.
        confirmed: bool,
        /// The number of the run, which goes on until caches have let go of the old answers and the target has proved
        /// itself.
        #[serde(default)]
        run: u64,
    },
    /// It has begun and goes on by itself.
    Begun {
        /// The number of the run.
        run: u64,
    },
    /// All regions are answered from that site already.
    NothingToDo,
}

/// What an operator does to a move under way (`POST /v1/steer`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteerRequest {
    /// What.
    pub action: Action,
    /// The zone, as the operator typed it.
    pub zone: String,
    /// The move of this region; none: the zone's only one.
    #[serde(default)]
    pub region: Option<String>,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What an operator does to a move under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Leave it where it is.
    Hold,
    /// Go on after a hold.
    Resume,
    /// Give it up: clients go back the way they came.
    Abort,
    /// Let it begin, as the second person that the policy asks for.
    Approve,
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Action::Hold => "hold",
            Action::Resume => "resume",
            Action::Abort => "abort",
            Action::Approve => "approve",
        })
    }
}

/// What an operator says of a site (`POST /v1/site`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRequest {
    /// The site.
    pub site: String,
    /// What it is held for from now on.
    pub health: ForcedHealth,
    /// Only in this zone; none: in all that have it.
    #[serde(default)]
    pub zone: Option<String>,
    /// Why, for the audit trail.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What an operator holds a site for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForcedHealth {
    /// It can serve, whatever is measured.
    Up,
    /// It can't, whatever is measured.
    Down,
    /// What is measured counts.
    Auto,
}

/// That something was taken down, in a sentence for each zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteerReport {
    /// What is so now.
    pub done: Vec<String>,
    /// The run that goes on; none where there is none.
    #[serde(default)]
    pub run: Option<RunKey>,
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// The zone.
    pub zone: Name,
    /// The number of the run.
    pub run: u64,
}

/// How a run stands, and what happened in it (`POST /v1/run`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The zone.
    pub zone: Name,
    /// The number of the run.
    pub run: u64,
    /// Only what happened after this number in the journal.
    #[serde(default)]
    pub after: u64,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// The zone.
    pub zone: Name,
    /// The number of the run.
    pub run: u64,
    /// How it stands; none once it has ended.
    pub now: Option<MoveStatus>,
    /// How it ended; none while it goes on.
    pub ended: Option<Ending>,
    /// What happened since.
    pub events: Vec<RunEvent>,
    /// Up to where in the journal was looked: where to go on from.
    pub looked_at: u64,
    /// Whether there is more behind that.
    pub more: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// In a word: `done`, `reversed`, `aborted`, `refused`, `replaced`, `withdrawn`.
    pub outcome: String,
    /// In a sentence.
    pub text: String,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Its number in the journal.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub text: String,
}

/// A step by what was asked of late: great resolvers count as much as they ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedStep {
    /// The share of what is asked that is wanted.
    pub wanted: String,
    /// The share of units that comes closest to it.
    pub units: String,
    /// The share of what was asked of late that these asked.
    pub measured: String,
    /// Units that move whole with this step, and the share that each asked.
    pub great: Vec<String>,
}

/// How a move stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveStatus {
    /// The number of the run.
    pub run: u64,
    /// What sort of move.
    pub kind: MoveKind,
    /// Who asked for it.
    #[serde(default)]
    pub by: String,
    /// The regions, each with the site that it leaves.
    pub from: Vec<Route>,
    /// The site that it goes to.
    pub to: String,
    /// The phase, such as `lowering`.
    pub phase: String,
    /// The share of the clients that are answered from the target.
    pub share: String,
    /// Whether clients go back.
    #[serde(default)]
    pub back: bool,
    /// When it goes on by itself; none where it waits for something else.
    pub until: Option<Timestamp>,
    /// What that rests on, where it waits for old answers to run out.
    #[serde(default)]
    pub basis: Option<String>,
    /// When no cache that obeys TTLs holds an old answer, where it is waited for others, too.
    #[serde(default)]
    pub bound: Option<Timestamp>,
    /// How many resolvers gave what when they were asked last, behind that; empty where none were.
    #[serde(default)]
    pub sample: BTreeMap<Sight, u32>,
    /// Those that still gave old answers.
    #[serde(default)]
    pub late: Vec<SampledResolver>,
    /// Those of which it is not known what their users get, or that they get nothing.
    #[serde(default)]
    pub unsure: Vec<SampledResolver>,
    /// Renames that would lead users round what caches hold, and such that the policy has begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<ProposedRename>,
    /// Why it is held; none if it is not.
    pub held: Option<String>,
    /// Since when it has been in this phase.
    pub since: Timestamp,
    /// When it began.
    pub began: Timestamp,
}

/// A rename that gains something while old answers are waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedRename {
    /// The lever.
    pub lever: Name,
    /// What to type.
    pub command: String,
    /// What it gains.
    pub gain: String,
    /// What stands against it; none if nothing is known that does.
    pub against: Option<String>,
    /// Whether the zone's policy has it done.
    pub by_policy: bool,
    /// The same in a sentence.
    pub text: String,
}

/// What a resolver gave behind the bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledResolver {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub sight: Sight,
    /// The name and type that it was asked for.
    pub question: String,
    /// What it said.
    pub said: String,
    /// The TTL that it showed, in seconds.
    pub ttl: Option<u32>,
    /// When.
    pub at: Timestamp,
    /// How long behind the bound that was, in seconds.
    pub past_seconds: u64,
    /// The same in a sentence.
    pub text: String,
}

impl MoveStatus {
    /// What tells it from others, with what is typed to mean it.
    pub fn in_short(&self) -> String {
        let region = self.from.first().map_or("", |route| route.region.as_str());
        let (kind, run, to, phase, by) = (self.kind, self.run, &self.to, &self.phase, &self.by);
        format!("--region {region} ({kind} {run} to {to}, {phase}, asked for by {by})")
    }
}

/// What was done, newest last (`POST /v1/history`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryRequest {
    /// Only this zone; none: all of them.
    #[serde(default)]
    pub zone: Option<String>,
    /// The most entries, the newest ones.
    pub limit: u32,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryReport {
    /// Oldest first.
    pub entries: Vec<HistoryEntry>,
}

/// Something that was done or that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: String,
    /// The user id; none for the daemon's own decisions.
    pub uid: Option<u32>,
    /// The zone; none where it is about several.
    pub zone: Option<Name>,
    /// The command, or what happened.
    pub what: String,
    /// Why, in the actor's words.
    #[serde(default)]
    pub reason: String,
    /// Verdicts that were overridden, as `GATE@DIGEST`.
    #[serde(default)]
    pub overridden: Vec<String>,
    /// What came of it.
    #[serde(default)]
    pub outcome: String,
    /// Its number in the journal; none for an entry of the audit trail.
    #[serde(default)]
    pub sequence: Option<u64>,
    /// The generation of what was served after it; none for an entry of the audit trail.
    #[serde(default)]
    pub generation: Option<u64>,
}
