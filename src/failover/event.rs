//! What happens to a zone's traffic. One event is one row of the journal.

use std::collections::{BTreeMap, BTreeSet};

use super::actor::Actor;
use super::effect::EffectId;
use super::health::Health;
use super::moves::MoveId;
use super::names::{Frozen, RegionName, SiteName};
use super::plan::Plan;
use super::policy::Policy;
use super::renames::{Proposed, Turned};
use super::sample::{Longer, Sample};
use crate::name::Name;
use crate::time::Timestamp;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Somebody wants traffic moved.
    Begin {
        /// How.
        plan: Frozen<Plan>,
        /// How carefully; the move keeps it.
        policy: Frozen<Policy>,
    },
    /// The gates have judged a move ([`super::effect::Effect::Judge`]).
    Judged {
        /// The effect that asked for it.
        effect: EffectId,
        /// What they say.
        verdict: Judgement,
    },
    /// A second person approves a move.
    Approved {
        /// Which move.
        target: Target,
        /// Who.
        actor: Actor,
    },
    /// A move is to stand still.
    Hold {
        /// Which move.
        target: Target,
        /// Who says so.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// A move that stands still is to go on.
    Resume {
        /// Which move.
        target: Target,
        /// Who says so.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// A move is to be given up.
    Abort {
        /// Which move.
        target: Target,
        /// Who says so.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// Checks see a site otherwise than before.
    SiteHealthChanged {
        /// The site.
        site: SiteName,
        /// Its health.
        health: Health,
    },
    /// An operator says how a site is, or leaves it to the checks again.
    SiteForced {
        /// The site.
        site: SiteName,
        /// Its health; none: as measured.
        health: Option<Health>,
        /// Who says so.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// A time has come that [`super::state::State::deadline`] told.
    Tick,
    /// What the state wants served is served.
    Published {
        /// The effect that asked for it.
        effect: EffectId,
    },
    /// The gates do not let through what the state wants served; what was served before is.
    PublishRefused {
        /// The effect that asked for it.
        effect: EffectId,
        /// What they found.
        findings: Vec<String>,
    },
    /// Our own sockets give what was published.
    Confirmed {
        /// The effect that asked for it.
        effect: EffectId,
    },
    /// They do not.
    ConfirmFailed {
        /// The effect that asked for it.
        effect: EffectId,
        /// What was wrong.
        why: String,
    },
    /// An alert or an ending was told to whom it concerns.
    Told {
        /// The effect that asked for it.
        effect: EffectId,
    },
    /// Something could not be done now: it is tried again.
    EffectFailed {
        /// What.
        effect: EffectId,
        /// What was wrong.
        why: String,
    },
    /// The configuration changed. Moves that have begun go on as they began.
    Configured {
        /// How careful new moves are.
        policy: Frozen<Policy>,
        /// The zone's sites.
        sites: BTreeSet<SiteName>,
        /// The regions, each with the site that it prefers; that counts for new ones.
        regions: BTreeMap<RegionName, SiteName>,
    },
    /// When old answers or old TTLs will be gone is known better.
    DrainBound {
        /// Of which move.
        id: MoveId,
        /// Then.
        until: Timestamp,
        /// What that rests on.
        basis: String,
        /// Those who were measured to keep old answers for longer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        longer: Vec<Longer>,
    },
    /// Resolvers were asked what they give now that old answers should have run out
    /// ([`super::effect::Effect::Sample`]).
    DrainSampled {
        /// The effect that asked for it.
        effect: EffectId,
        /// What they gave; of nobody where none is configured.
        sample: Sample,
    },
    /// Renames would lead users round what caches hold of levers that a move moved.
    RenamesFound {
        /// Which move.
        id: MoveId,
        /// The renames, what gains most first.
        renames: Vec<Proposed>,
    },
    /// A rename was begun that the policy wants ([`super::effect::Effect::Rename`]).
    RenameBegun {
        /// The effect that asked for it.
        effect: EffectId,
        /// The fresh name.
        fresh: Name,
    },
    /// A rename that the policy wants is stopped.
    RenameStopped {
        /// The effect that asked for it.
        effect: EffectId,
        /// What stands against it.
        why: String,
    },
    /// What led to levers that a move moved leads elsewhere by now.
    FrontsTurned {
        /// Which move.
        id: MoveId,
        /// The levers.
        levers: Vec<Turned>,
    },
    /// RRsets that these moves move were edited.
    ContentChanged {
        /// The moves.
        moves: BTreeSet<MoveId>,
    },
    /// The daemon has started: nothing is known of any site, and what was to be done may not have been.
    Restarted,
    /// The state was lost, and what it holds now is a guess.
    StateDoubted {
        /// What happened.
        why: String,
    },
    /// An operator has looked at a state that was lost, and says that it is right.
    StateAccepted {
        /// Who.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// The autopilot may move traffic, or may not.
    Autopilot {
        /// Whether it may.
        armed: bool,
        /// Who says so.
        actor: Actor,
        /// Why.
        reason: String,
    },
}

/// What the gates say of a move.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// Nothing stops it.
    Passed,
    /// These findings stop it.
    Blocked(Vec<String>),
}

/// Which move is meant.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// That with this number.
    Id(MoveId),
    /// The one that moves this region.
    Region(RegionName),
    /// The only one that there is.
    Only,
}
