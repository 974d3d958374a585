//! Renames: what operators ask of them, and getting each step of one published.

mod asking;
pub mod certificates;
mod draft;
pub mod gains;
pub mod proposing;
mod resolve;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::load::{SiteTexts, from_kept};
use super::plan::{RrsetChange, changes};
use super::publish::{Cause, Texts};
use super::sharing::share;
use super::{Driver, DriverError, now};
use crate::digest::Digest;
use crate::door::{Candidate, Idle, Override, Proposal, Verified, stops};
use crate::gate::{Finding, id};
use crate::name::{Name, NameRef};
use crate::rename::fresh::NoFresh;
use crate::rename::refer::{Reference, references, refers};
use crate::rename::{MOST, Overlays, Stage, Turn};
use crate::serial::Serial;
use crate::serving::Serving;
use crate::serving::content::Content;
use crate::store::audit::{Deed as Audited, Override as Overridden};
use crate::store::journal::Actor;
use crate::world::judging::freshness;

pub(super) use asking::Renames;
pub use asking::next;

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct Order {
    /// The lever, a front that has one, or a fresh name; as it was typed.
    pub name: Name,
    /// What is to be done with it.
    pub deed: Deed,
    /// Only say what would happen.
    pub dry_run: bool,
    /// How the digest of the plan begins that was shown; any other is refused.
    pub plan: Option<String>,
    /// Why, for the audit trail.
    pub reason: String,
    /// Findings that were seen and shall not stop it.
    pub overrides: Vec<Override>,
    /// Whether it counts what is in servers' certificates: they are asked before, see [`Driver::certificates_to_ask`].
    pub asks: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Lead the fronts to a fresh name.
    Begin,
    /// Keep a fresh name ready.
    Spare,
    /// Lead them back.
    Undo,
    /// Stop answering what nothing leads to any more: the old lever, or the fresh name of one that was undone.
    Retire,
}

/// What becomes of it.
#[derive(Clone, Debug)]
pub struct Renamed {
    /// The zone.
    pub origin: Name,
    /// What is done.
    pub deed: Deed,
    /// The lever.
    pub lever: Name,
    /// The fresh name.
    pub fresh: Name,
    /// What tells this plan from any other.
    pub plan: Digest,
    /// Whether what led to the lever leads to the fresh name in the end.
    pub leads_to_fresh: bool,
    /// What leads to the lever, in all zones of ours.
    pub references: Vec<Reference>,
    /// What the gates found.
    pub findings: Vec<Finding>,
    /// How answers change, in the end.
    pub changes: Vec<RrsetChange>,
    /// The greatest TTL of what leads there: for so long caches may go on leading to the old name.
    pub reference_ttl: u32,
    /// What went wrong beside it, and does not undo it.
    pub warnings: Vec<String>,
    /// In short.
    pub outcome: Outcome,
}

/// What becomes of it, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A dry run that nothing would stop.
    WouldChange,
    /// A gate stops it; nothing was changed.
    Blocked,
    /// It has begun, and goes on by itself.
    Begun {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: Serial,
    },
    /// It is done.
    Done {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: Serial,
    },
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::WouldChange => f.write_str("a dry run"),
            Outcome::Blocked => f.write_str("a gate blocks it"),
            Outcome::Begun { generation, serial } => write!(f, "begun: generation {generation}, serial {serial}"),
            Outcome::Done { generation, serial } => write!(f, "done: generation {generation}, serial {serial}"),
        }
    }
}

/// Why something can't be renamed, whatever is overridden.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Impossible {
    /// The zone is not served.
    #[error("the zone {0} is not served")]
    NotServed(Name),
    /// The name has no lever; why, and what to do.
    #[error("{name} can't be renamed: {why}")]
    NoLever {
        /// The name.
        name: Name,
        /// Why.
        why: String,
    },
    /// The front leads to several names.
    #[error("{name} leads to several names, each of which can be renamed: {}", .levers.join(", "))]
    Several {
        /// The front.
        name: Name,
        /// Where it leads.
        levers: Vec<String>,
    },
    /// There is no fresh name.
    #[error("there is no fresh name for {lever}: {why}")]
    NoFresh {
        /// The lever.
        lever: Name,
        /// Why.
        why: NoFresh,
    },
    /// There are too many.
    #[error("{MOST} renames lie over the zone {0} already: write them into its files, or retire some")]
    TooMany(Name),
    /// One is under way.
    #[error("{lever} is being renamed to {fresh} already")]
    UnderWay {
        /// The lever.
        lever: Name,
        /// The fresh name.
        fresh: Name,
    },
    /// There is nothing to undo or retire.
    #[error("{0}")]
    Nothing(String),
    /// A move under way moves what it would change.
    #[error("a move under way moves what this changes ({}): wait until everybody has moved", .0.join(", "))]
    Moving(Vec<String>),
    /// An override that covers nothing.
    #[error(transparent)]
    Idle(#[from] Idle),
}

/// A rename as it would be now.
struct Draft {
    lever: Name,
    fresh: Name,
    /// What is to lie over the zone's texts next, and what in the end.
    next: Overlays,
    end: Overlays,
    findings: Vec<Finding>,
    references: Vec<Reference>,
}

/// A change of what lies over texts, ready to be judged.
struct Staged {
    candidate: Candidate,
    origins: Vec<Name>,
    /// What it changes of what moves under way move, a line each.
    touched: Vec<String>,
}

impl Driver {
    /// Renames a lever, or takes that back.
    pub fn rename(
        &mut self,
        origin: &Name,
        order: &Order,
        actor: &Actor,
    ) -> Result<Result<Renamed, Impossible>, DriverError> {
        let draft = match self.draft_rename(origin, order) {
            Ok(draft) => draft,
            Err(impossible) => return Ok(Err(impossible)),
        };
        let (next, end) = (self.staged(origin, &draft.next)?, self.staged(origin, &draft.end)?);
        if !end.touched.is_empty() {
            return Ok(Err(Impossible::Moving(end.touched)));
        }
        let mut findings = draft.findings.clone();
        findings.extend(end.candidate.judge().iter().cloned());
        let unlike = |found: &&Finding| !findings.iter().any(|known| known.digest() == found.digest());
        let more: Vec<Finding> =
            next.candidate.judge().iter().filter(|found| found.verdict.stops()).filter(unlike).cloned().collect();
        findings.extend(more);
        let how = format!("{:?} {} {}", order.deed, draft.lever, draft.fresh);
        let plan = Digest::of_parts([end.candidate.digest(0).as_bytes(), how.as_bytes()]);
        findings.extend(freshness(origin, plan, order.plan.as_deref()));
        if let Some(idle) = Idle::among(&order.overrides, &findings) {
            return Ok(Err(idle.into()));
        }
        let mut report = Renamed {
            origin: origin.clone(),
            deed: order.deed,
            lever: draft.lever.clone(),
            fresh: draft.fresh.clone(),
            plan,
            leads_to_fresh: draft.end.own_turns().iter().any(|turn| turn.fresh == draft.fresh),
            reference_ttl: self.reference_ttl(&draft.references),
            references: draft.references.clone(),
            changes: changes(&end.candidate),
            outcome: Outcome::Blocked,
            warnings: Vec::new(),
            findings,
        };
        if !report.findings.iter().any(|found| stops(found, &order.overrides)) {
            report.outcome = Outcome::WouldChange;
            if !order.dry_run {
                self.begin_rename(origin, next, &draft, &mut report, order, actor)?;
            }
        }
        if !order.dry_run {
            self.remember_rename(&mut report, order, actor);
        }
        Ok(Ok(report))
    }

    fn begin_rename(
        &mut self,
        origin: &Name,
        next: Staged,
        draft: &Draft,
        report: &mut Renamed,
        order: &Order,
        actor: &Actor,
    ) -> Result<(), DriverError> {
        // What stands in the way of it was judged above, and so was what an operator overrode.
        let Ok(verified) = next.candidate.verify(&order.overrides) else {
            report.outcome = Outcome::Blocked;
            return Ok(());
        };
        let told = told(&draft.next, &draft.lever, &draft.fresh, order.deed);
        let cause = cause(actor, &order.reason, &draft.lever, &draft.fresh, &draft.next, told);
        let generation = self.publish_overlays(&verified, &next.origins, cause)?;
        let serial = self.serial_of(origin);
        report.outcome = match draft.next == draft.end {
            true => Outcome::Done { generation, serial },
            false => Outcome::Begun { generation, serial },
        };
        self.renames.look_now(origin);
        if order.deed == Deed::Begin {
            self.renames.count_spares(origin);
        }
        Ok(())
    }

    /// Publishes what lies over texts otherwise from now on.
    fn publish_overlays(&mut self, verified: &Verified, origins: &[Name], cause: Cause) -> Result<u64, DriverError> {
        let texts = origins.iter().map(|origin| (origin.clone(), Texts::new())).collect();
        let generation = self.publish(verified, texts, cause)?;
        self.standby.look_into(&self.serving);
        Ok(generation)
    }

    /// What leads to a lever, or to one of its fresh names, in all zones of ours.
    pub fn leading_to(&self, content: &Content, lever: &Name) -> Vec<Reference> {
        let wanted = |target: NameRef<'_>| {
            lever.as_ref() == target
                || content.overlays.of(lever.as_ref()).any(|rename| rename.fresh.as_ref() == target)
        };
        let zones = self.serving.zones().iter().flat_map(|zone| zone.content.sites.iter());
        let found: BTreeSet<Reference> = zones.flat_map(|site| references(&site.zone, wanted)).collect();
        found.into_iter().collect()
    }

    fn reference_ttl(&self, references: &[Reference]) -> u32 {
        let ttls = references.iter().flat_map(|reference| {
            let zones = self.serving.zones().iter().flat_map(|zone| {
                let cap = zone.content.policy.max_ttl;
                zone.content.sites.iter().map(move |site| (site, cap))
            });
            zones.filter_map(|(site, cap)| {
                let ttl = site.zone.rrset(reference.owner.as_ref(), reference.rtype)?.ttl;
                Some(cap.map_or(ttl, |cap| cap.min(ttl)).seconds())
            })
        });
        ttls.max().unwrap_or(0)
    }

    /// The zones as they would be with other overlays over the texts of one: that one, and those that lead to levers of it.
    fn staged(&self, origin: &Name, overlays: &Overlays) -> Result<Staged, DriverError> {
        let mut proposals = vec![self.laid(origin, overlays)?];
        let turns = overlays.own_turns();
        // A lever is in the zone with the longest origin, of those that are ours.
        let zone_of = |name: NameRef<'_>| name.ancestors().find_map(|origin| self.serving.zone(origin));
        let own = |turn: &Turn| zone_of(turn.lever.as_ref()).is_some_and(|zone| zone.content.origin == *origin);
        for zone in self.serving.zones().iter().filter(|zone| zone.content.origin != *origin) {
            let content = &zone.content;
            let before = content.overlays.turns.iter().filter(|turn| own(turn)).cloned().collect::<Vec<_>>();
            let leads = |turn: &&Turn| {
                before.iter().any(|known| known.lever == turn.lever)
                    || content.sites.iter().any(|site| refers(&site.zone, turn.lever.as_ref()))
            };
            let after: Vec<Turn> = turns.iter().filter(leads).cloned().collect();
            if before == after {
                continue;
            }
            let mut next = content.overlays.clone();
            next.turns.retain(|turn| !own(turn));
            next.turns.extend(after);
            next.turns.sort_by(|one, other| one.lever.cmp(&other.lever));
            proposals.push(self.laid(&content.origin, &next)?);
        }
        let mut touched = Vec::new();
        for proposal in &proposals {
            if let Some(zone) = self.serving.zone(proposal.content.origin.as_ref()) {
                touched.extend(self.touched_by_moves(&zone.content, &proposal.content));
            }
        }
        let origins = proposals.iter().map(|proposal| proposal.content.origin.clone()).collect();
        let candidate = Candidate::new(Arc::clone(&self.serving), proposals, now());
        Ok(Staged { candidate, origins, touched })
    }

    /// A zone that is served, made anew from its kept texts with these overlays upon them.
    fn laid(&self, origin: &Name, overlays: &Overlays) -> Result<Proposal, DriverError> {
        let wrong = |why: &str| DriverError::Row { zone: origin.clone(), why: why.into() };
        let former = self.serving.zone(origin.as_ref()).ok_or_else(|| wrong("it is not served"))?;
        let live = self.published.get(origin).map(|last| last.live).ok_or_else(|| wrong("it was never published"))?;
        let bundle = self.store.texts().bundle(live)?.ok_or_else(|| wrong("its texts are missing"))?;
        let content = &former.content;
        let shape = self.shape(&content.policy);
        let mut sites = Vec::with_capacity(content.sites.len());
        for site in &content.sites {
            let texts = SiteTexts::of_bundle(&site.name, &bundle);
            let loading = from_kept(origin, &site.name, texts, shape, overlays, Some(content));
            sites.push(loading.content.ok_or_else(|| wrong("its kept texts can no longer be served"))?);
        }
        share(sites.iter_mut(), Some(content));
        let count = sites.len();
        let next = Content { sites, epoch: content.epoch + 1, overlays: overlays.clone(), ..Content::clone(content) };
        Ok(Proposal {
            content: Arc::new(next),
            routing: former.routing.clone(),
            loads: Finding::pass(id::LOADS, origin.as_ref(), format!("{count} sites load")),
            restored: None,
        })
    }

    fn remember_rename(&self, report: &mut Renamed, order: &Order, actor: &Actor) {
        let how = match order.deed {
            Deed::Begin => "",
            Deed::Spare => " --spare",
            Deed::Undo => " --undo",
            Deed::Retire => " --retire",
        };
        let covered = report.findings.iter().filter(|found| found.verdict.stops());
        let overrides = covered.filter_map(|found| {
            let word = order.overrides.iter().find(|word| word.covers(found))?;
            Some(Overridden { gate: word.gate.clone(), digest: found.digest(), covered: found.items.clone() })
        });
        let deed = Audited {
            at: now(),
            actor: actor.clone(),
            command: format!("rename {} {}{how}", report.origin, order.name),
            reason: order.reason.clone(),
            overrides: overrides.collect(),
            outcome: report.outcome.to_string(),
        };
        if let Err(error) = self.store.audit().record(&deed) {
            tracing::error!(%error, "the audit trail could not be written");
            report.warnings.push(format!("this is not in the audit trail, which could not be written: {error}"));
        }
    }
}

/// What a step did, in a sentence.
fn told(overlays: &Overlays, lever: &Name, fresh: &Name, deed: Deed) -> String {
    match (deed, overlays.get(fresh.as_ref()).map(|rename| rename.stage)) {
        (_, Some(Stage::Staged)) => {
            format!(
                "the records of {lever} are published as {fresh}, too; every name server is asked for them before anything leads there"
            )
        }
        (_, Some(Stage::Confirmed)) => format!("every name server of the zone gives {fresh}"),
        (Deed::Undo, Some(Stage::Referenced)) => format!("{lever} is answered again"),
        (_, Some(Stage::Referenced)) => format!("what led to {lever} leads to {fresh}"),
        (_, Some(Stage::Returned)) => {
            format!("what led to {fresh} leads to {lever} again; {fresh} stays for those who hold it")
        }
        (_, Some(Stage::Retired)) => format!("{lever} is not answered any more"),
        (_, None) => format!("{fresh} is not answered any more"),
    }
}

fn cause(actor: &Actor, reason: &str, lever: &Name, fresh: &Name, overlays: &Overlays, told: String) -> Cause {
    let stage = overlays.get(fresh.as_ref()).map(|rename| rename.stage);
    let event = json!({ "rename": { "lever": lever, "fresh": fresh, "stage": stage }, "told": [told] });
    Cause { actor: actor.clone(), reason: reason.into(), event }
}

impl Driver {
    /// The renames that lie over a zone's texts.
    pub(super) fn overlays_of(&self, origin: &Name, former: Option<&Content>) -> Overlays {
        let own = former.map(|former| former.overlays.clone());
        own.or_else(|| self.published.get(origin)?.overlays()).unwrap_or_default()
    }
}

/// What is to lie over the texts of a zone: its renames, and where references to levers of other zones turn.
pub(super) fn laid_over(serving: &Serving, origin: &Name, own: Overlays) -> Overlays {
    let others = serving.zones().iter().filter(|zone| zone.content.origin != *origin);
    let mut turns: Vec<Turn> = others.flat_map(|zone| zone.content.overlays.own_turns()).collect();
    // In one order, however they came: overlays are compared.
    turns.sort_by(|one, other| one.lever.cmp(&other.lever));
    Overlays { turns, ..own }
}

/// The first of other zones whose texts lead to a name of this one: to a lever that is turned there, or to what they name still.
pub(super) fn led_to_from_elsewhere(serving: &Serving, origin: &Name, name: NameRef<'_>) -> Option<Name> {
    let mut others = serving.zones().iter().map(|zone| &zone.content).filter(|content| content.origin != *origin);
    let found = others.find(|content| {
        let mut turns = content.overlays.turns.iter();
        turns.any(|turn| turn.lever.as_ref() == name)
            // By the texts: what a turn leads there is led to its lever.
            || turns_nothing_to(content, name) && content.sites.iter().any(|site| refers(&site.zone, name))
    });
    found.map(|content| content.origin.clone())
}

/// Whether no turn of a zone leads to a name.
fn turns_nothing_to(content: &Content, name: NameRef<'_>) -> bool {
    content.overlays.turns.iter().all(|turn| turn.fresh.as_ref() != name)
}
