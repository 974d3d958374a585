//! Why an event changed nothing.

use super::effect::EffectId;
use super::moves::{MoveId, PhaseKind};
use super::names::{RegionName, SiteName};

/// Why an event changed nothing: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Refusal {
    /// The state was lost and nobody has looked at it.
    #[error(
        "no move starts on a state that nobody has looked at ({why}): compare it with what is served, then run understudy state accept"
    )]
    Doubted {
        /// What happened to it.
        why: String,
    },
    /// The zone has no such region.
    #[error("the zone has no region `{region}`")]
    NoRegion {
        /// The name that was given.
        region: RegionName,
    },
    /// The zone has no such site.
    #[error("the zone has no site `{site}`")]
    NoSite {
        /// The name that was given.
        site: SiteName,
    },
    /// The plan moves nothing.
    #[error("the region `{region}` is answered from {to} already: make a plan without it")]
    NothingToMove {
        /// A region that needs no move.
        region: RegionName,
        /// The site of the plan.
        to: SiteName,
    },
    /// The plan rests on what is no longer so.
    #[error("plan.fresh: the plan was made for routing revision {planned}, and its regions are at revision {now}{}: make a new plan", by.map_or(String::new(), |by| format!(" since {by}")))]
    Stale {
        /// The revision of the plan.
        planned: u64,
        /// That of its regions.
        now: u64,
        /// The move that made it, if it is still under way.
        by: Option<MoveId>,
    },
    /// Another move has a region of the plan.
    #[error("{by} is moving the region `{region}`{}: wait for it, take it back, or take over with a failover of everybody at once", if planned == now { String::new() } else { format!(" (the plan was made for routing revision {planned}, the region is at {now})") })]
    Busy {
        /// The move.
        by: MoveId,
        /// The region.
        region: RegionName,
        /// The revision of the plan.
        planned: u64,
        /// That of its regions.
        now: u64,
    },
    /// The site to go to does not work.
    #[error("{site} is down: nothing is sent there. If that is wrong, run understudy site up for it, and again")]
    TargetDown {
        /// The site.
        site: SiteName,
    },
    /// Nothing is known of the site to go to.
    #[error("nothing is known of {site}: if it works, run understudy site up for it")]
    Unseen {
        /// The site.
        site: SiteName,
    },
    /// No site is known to work.
    #[error(
        "no site is known to work, {site} included: we may be the ones that are cut off. Serving goes on as it is. If {site} works, run understudy site up for it, and again"
    )]
    CutOff {
        /// The site that was to be gone to.
        site: SiteName,
    },
    /// The autopilot is not to move traffic.
    #[error("the autopilot is disarmed: {why}")]
    Disarmed {
        /// Why.
        why: String,
    },
    /// There is no such move.
    #[error("there is no such move under way: understudy status shows those that there are")]
    NoMove,
    /// There are several, and it wasn't said which one.
    #[error("several moves are under way: say which with --region")]
    WhichMove,
    /// It stands still already.
    #[error("{id} is on hold already")]
    Held {
        /// The move.
        id: MoveId,
    },
    /// It does not stand still.
    #[error("{id} is not on hold: there is nothing to resume")]
    NotHeld {
        /// The move.
        id: MoveId,
    },
    /// Everybody has moved.
    #[error(
        "{id} is {phase}: everybody is answered from the new site, and caches hold its answers. Use rollback, a new plan the other way"
    )]
    TooLate {
        /// The move.
        id: MoveId,
        /// How far it is.
        phase: PhaseKind,
    },
    /// It is on its way back.
    #[error("{id} is on its way back already")]
    Reversing {
        /// The move.
        id: MoveId,
    },
    /// It does not wait for approval.
    #[error("{id} does not wait for approval: it is {phase}")]
    NotAwaited {
        /// The move.
        id: MoveId,
        /// How far it is.
        phase: PhaseKind,
    },
    /// The one who asked for it can't approve it.
    #[error("{id} has to be approved by another user than the one who asked for it, uid {uid}")]
    SamePerson {
        /// The move.
        id: MoveId,
        /// The user.
        uid: u32,
    },
    /// Only a person approves.
    #[error("{id} has to be approved by a person: the request had no user id")]
    Nobody {
        /// The move.
        id: MoveId,
    },
    /// A site can't go while traffic is there, or on its way there or back.
    #[error(
        "the site `{site}` is in use for the region `{region}`: move its traffic away before it is taken out of the configuration"
    )]
    SiteInUse {
        /// The site.
        site: SiteName,
        /// A region that needs it.
        region: RegionName,
    },
    /// A region can't go while it moves.
    #[error("{by} is moving the region `{region}`: wait for it before the region is taken out of the configuration")]
    RegionInUse {
        /// The region.
        region: RegionName,
        /// The move.
        by: MoveId,
    },
    /// The outcome of an effect that nobody waits for: it was told before, or overtaken by another.
    #[error("nobody waits for the outcome of {effect}")]
    Late {
        /// The effect.
        effect: EffectId,
    },
    /// It is so already, or does not apply to how far things are.
    #[error("that changes nothing: {why}")]
    Idle {
        /// Why.
        why: String,
    },
    /// More than the state has room for.
    #[error("too much at once: {what}")]
    TooMany {
        /// What.
        what: String,
    },
    /// The engine found itself at fault; the state is as it was, with all moves on hold.
    #[error("the engine stopped itself: {what}. What is served is as it was; all moves are on hold. Please report it")]
    Broken {
        /// What does not hold.
        what: String,
    },
}
