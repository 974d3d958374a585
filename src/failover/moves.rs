//! A move: a plan that is being carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::actor::Actor;
use super::names::{Frozen, RegionName, SiteName};
use super::plan::{Kind, Plan};
use super::policy::{Policy, millis};
use super::sample::Watched;
use crate::digest::Digest;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};

/// The number of a move within its zone: from 1, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct MoveId(pub u64);

impl fmt::Display for MoveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "move {}", self.0)
    }
}

/// A plan that is being carried out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// What it is to do.
    pub plan: Frozen<Plan>,
    /// How careful it is, as it was when it began.
    pub policy: Frozen<Policy>,
    /// How far it is.
    pub phase: Phase,
    /// The regions that it moves and where they come from. Fewer than in the plan once another move took some over.
    pub base: Frozen<BTreeMap<RegionName, Origin>>,
    /// The routing revision that it made last; another move may have made none of its regions since.
    pub revision: u64,
    /// The share that is, or is about to be, answered from the new site.
    pub share: Share,
    /// The share that was last known to be published.
    pub published: Share,
    /// Which way the share goes.
    pub direction: Direction,
    /// The greatest TTL that is given for RRsets that change: the old one, until the low one is published.
    pub given: Ttl,
    /// Whether our own sockets gave what was published last.
    pub confirmed: bool,
    /// Who approved it, if somebody did.
    pub approved: Option<Actor>,
    /// Why it stands still, if it does.
    pub hold: Option<Frozen<Hold>>,
    /// When it began.
    pub started: Timestamp,
    /// When each phase began, the first first.
    pub times: Vec<(PhaseKind, Timestamp)>,
    /// What is known of resolvers and of the old answers that they may hold.
    #[serde(default = "nothing_watched")]
    pub watched: Frozen<Watched>,
}

/// Where a region comes from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The site that it is answered from, and goes back to if the move is reversed.
    pub site: SiteName,
    /// Other sites whose answers may still be held, from a move that this one took over.
    pub others: BTreeSet<SiteName>,
    /// How a move that this one took over had split the region: that stays so until this one is published.
    pub split: Option<Moving>,
}

/// A region part of which is answered from another site.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moving {
    /// The other site.
    pub to: SiteName,
    /// How much of the region.
    pub share: Share,
    /// Goes into the keyed hash that tells who: the same as long as the move goes on, so that nobody goes back while the
    /// share grows.
    pub salt: u64,
}

/// How far a move is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// The gates are judging it.
    Checking,
    /// The gates let it through; a second person has to.
    AwaitingApproval {
        /// When it ends if nobody does.
        until: Timestamp,
    },
    /// RRsets that will change are given the low TTL, and the old one runs out.
    Lowering {
        /// How far that is.
        clock: Clock,
        /// What the wait rests on.
        #[serde(default = "by_the_journal")]
        basis: String,
    },
    /// The share grows, or shrinks on the way back.
    Shifting {
        /// How far the present share is.
        clock: Clock,
    },
    /// Everybody is answered from one site again; caches still hold answers of the other.
    Draining {
        /// When none does that obeys TTLs, and none that was measured to keep them for longer; behind that, when
        /// resolvers are asked again that still gave old ones.
        until: Timestamp,
        /// What that rests on.
        basis: String,
    },
    /// Did it cure? The new site is watched.
    Baking {
        /// For how long it was seen healthy, up to `since`.
        #[serde(with = "millis")]
        observed: Duration,
        /// Since when it is seen healthy without a break; none while it is not.
        since: Option<Timestamp>,
    },
}

/// What a wait for old answers rests on as long as nothing better is known.
pub(super) fn by_the_journal() -> String {
    "the greatest TTL that old answers were given with".into()
}

fn nothing_watched() -> Frozen<Watched> {
    Frozen::new(Watched::default())
}

/// How far a publication is, and the wait that it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// It is not published yet: nothing is waited out.
    Publishing,
    /// It is published, and waited for until then.
    Until(Timestamp),
}

/// A phase without what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// The gates are judging it.
    Checking,
    /// A second person has to let it through.
    AwaitingApproval,
    /// Old TTLs run out.
    Lowering,
    /// The share grows or shrinks.
    Shifting,
    /// Old answers run out.
    Draining,
    /// The new site is watched.
    Baking,
}

impl fmt::Display for PhaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhaseKind::Checking => "checking",
            PhaseKind::AwaitingApproval => "awaiting approval",
            PhaseKind::Lowering => "lowering",
            PhaseKind::Shifting => "shifting",
            PhaseKind::Draining => "draining",
            PhaseKind::Baking => "baking",
        })
    }
}

/// Which way a move's share goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the new site.
    Forward,
    /// Back to the sites that the regions came from.
    Back,
}

/// A move that stands still. What was published stays.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Why.
    pub why: Why,
    /// Since when.
    pub since: Timestamp,
    /// When to say so again.
    pub remind_at: Timestamp,
    /// When it has lasted too long; none once that was said.
    pub deadline: Option<Timestamp>,
}

/// Why a move stands still.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Why {
    /// Somebody said so.
    Operator {
        /// Who.
        actor: Actor,
        /// Why.
        reason: String,
    },
    /// The site that clients go to does not work, and some are there already.
    Relapse {
        /// The site.
        site: SiteName,
        /// Whether no other site of the move is known to work: then we may be the ones that are cut off.
        alone: bool,
    },
    /// The site that clients are to go to does not work; nobody is there yet.
    TargetDown {
        /// The site.
        site: SiteName,
    },
    /// Nothing is known of the site that more clients are to go to.
    Unseen {
        /// The site.
        site: SiteName,
    },
    /// No site is known to work: we may be the ones that are cut off.
    CutOff,
    /// It is to be reversed, and the site to go back to does not work.
    SourceDown {
        /// The site.
        site: SiteName,
    },
    /// The gates refused to publish its next step.
    Refused {
        /// What they found.
        findings: Vec<String>,
    },
    /// Our own sockets do not give what was published.
    NotConfirmed {
        /// What was wrong.
        why: String,
    },
    /// Something could not be done, however often it was tried.
    Failing {
        /// What was wrong.
        why: String,
    },
    /// Old answers are still held after the longest time that they were to be waited for.
    DrainOverdue,
    /// What it moves was edited while it moved.
    ContentChanged,
    /// The engine found itself at fault, and stopped.
    Broken {
        /// What does not hold.
        what: String,
    },
}

impl Why {
    /// Whether the move goes on by itself once the reason is gone. What was seen to relapse never does.
    pub fn lifts_itself(&self) -> bool {
        matches!(self, Why::TargetDown { .. } | Why::Unseen { .. } | Why::CutOff)
    }
}

/// How a move ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// Its regions are answered from the new site, which was watched and works.
    Done,
    /// It was reversed: its regions are answered from where they came from.
    Reversed,
    /// It was given up before anybody had moved.
    Aborted {
        /// Why.
        why: String,
    },
    /// It was not let through; nobody had moved.
    Refused {
        /// What speaks against it.
        findings: Vec<String>,
    },
    /// Another move took all of its regions over.
    Replaced {
        /// Which.
        by: MoveId,
    },
}

/// What goes into the hash that tells which clients have moved, of the plan with this digest.
pub fn salt(plan: Digest) -> u64 {
    plan.as_bytes().iter().take(8).fold(0, |salt, octet| salt << 8 | u64::from(*octet))
}

impl Phase {
    /// The phase without what is in it.
    pub fn kind(&self) -> PhaseKind {
        match self {
            Phase::Checking => PhaseKind::Checking,
            Phase::AwaitingApproval { .. } => PhaseKind::AwaitingApproval,
            Phase::Lowering { .. } => PhaseKind::Lowering,
            Phase::Shifting { .. } => PhaseKind::Shifting,
            Phase::Draining { .. } => PhaseKind::Draining,
            Phase::Baking { .. } => PhaseKind::Baking,
        }
    }

    /// Whether it waits for a publication.
    pub fn is_publishing(&self) -> bool {
        matches!(self, Phase::Lowering { clock: Clock::Publishing, .. } | Phase::Shifting { clock: Clock::Publishing })
    }
}

impl Move {
    /// The share that it is on its way to.
    pub fn end(&self) -> Share {
        match self.direction {
            Direction::Forward => Share::ALL,
            Direction::Back => Share::NONE,
        }
    }

    /// The next share on its way.
    pub fn next_share(&self) -> Share {
        match (self.plan.is_stepped(), self.direction) {
            (false, _) => self.end(),
            (true, Direction::Forward) => self.policy.steps.above(self.share),
            (true, Direction::Back) => self.policy.steps.below(self.share),
        }
    }

    /// When its present phase began.
    pub fn phase_since(&self) -> Timestamp {
        self.times.last().map_or(self.started, |(_, since)| *since)
    }

    /// When old answers, or TTLs, will have been waited for too long.
    pub fn drain_overdue_at(&self) -> Timestamp {
        self.phase_since().after(self.policy.drain_deadline)
    }

    /// Whether it touches what is served: its TTLs are low, or clients have moved.
    pub fn is_under_way(&self) -> bool {
        !matches!(self.phase, Phase::Checking | Phase::AwaitingApproval { .. })
    }

    /// Whether some clients may have been answered from the new site, or are about to be.
    pub fn has_moved(&self) -> bool {
        self.share > Share::NONE || self.published > Share::NONE || self.direction == Direction::Back
    }

    /// Whether a second person has to approve it and nobody has.
    pub fn wants_approval(&self) -> bool {
        use super::policy::Approval;
        let wanted = match self.policy.approval {
            Approval::Nothing => false,
            Approval::Planned => self.plan.kind != Kind::Failover,
            Approval::Everything => true,
        };
        wanted && self.approved.is_none()
    }

    /// What goes into the hash that tells which clients have moved: different for each plan.
    pub fn salt(&self) -> u64 {
        salt(self.plan.digest)
    }
}
