//! The shortest failover: judged, journaled, published, confirmed; or nothing at all.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::load::{Loading, SiteLoading, UNREADABLE};
use super::publish::{Cause, Texts};
use super::reload::renumbered;
use super::{Driver, DriverError};
use crate::digest::Digest;
use crate::door::{Candidate, Idle, Override, Proposal, stops};
use crate::evidence::Verdict;
use crate::failover::plan::{Impossible, MoveRequest, Moved, reroute};
use crate::gate::{Finding, Side, id};
use crate::name::Name;
use crate::rr::RrType;
use crate::serial::Serial;
use crate::serving::ZoneServing;
use crate::serving::content::{Content, SiteContent};
use crate::store::audit::{Deed, Override as Overridden};
use crate::store::journal::Actor;
use crate::time::Ttl;
use crate::zone::diagnostic::{Diagnostic, Severity};
use crate::zone::rdata;
use crate::zone::rrsets::Rrset;

/// What an operator asks for.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Which regions go where.
    pub request: MoveRequest,
    /// Only say what would happen.
    pub dry_run: bool,
    /// How the digest of the plan begins that was shown; any other is refused.
    pub plan: Option<String>,
    /// Why, for the audit trail.
    pub reason: String,
    /// Findings that were seen and shall not stop it.
    pub overrides: Vec<Override>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct FailedOver {
    /// The zone.
    pub origin: Name,
    /// What tells this plan from any other.
    pub plan: Digest,
    /// The regions that move, each with the site that it leaves.
    pub moves: Vec<(String, String)>,
    /// What the gates found.
    pub findings: Vec<Finding>,
    /// How answers change.
    pub changes: Vec<RrsetChange>,
    /// How many more RRsets change than are listed; where regions leave different sites, counted for each.
    pub unlisted: usize,
    /// What went wrong beside it, and does not undo it.
    pub warnings: Vec<String>,
    /// In short.
    pub outcome: FailoverOutcome,
}

/// An RRset that is answered otherwise, as an operator reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RrsetChange {
    /// The owner.
    pub owner: Name,
    /// The type.
    pub rtype: RrType,
    /// Before: TTL and data of each record.
    pub before: Vec<String>,
    /// After.
    pub after: Vec<String>,
}

/// What became of it, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverOutcome {
    /// All regions are there already, and would be after a restart.
    NothingToDo,
    /// A dry run that nothing would stop.
    WouldChange,
    /// A gate stops it; nothing was changed.
    Blocked,
    /// It is published.
    Done {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: Serial,
        /// Whether our own sockets gave the new answers when they were asked.
        confirmed: bool,
    },
}

impl Driver {
    /// Answers a zone from another site.
    pub fn fail_over(
        &mut self,
        origin: &Name,
        order: &Order,
        actor: &Actor,
    ) -> Result<Result<FailedOver, Impossible>, DriverError> {
        let Some((former, spec)) = self.serving.zone(origin.as_ref()).cloned().zip(self.setup.zone(origin).cloned())
        else {
            return Ok(Err(Impossible::NotServed { zone: origin.clone() }));
        };
        let (routing, moved) = match reroute(&former, &self.serving.regions, &order.request) {
            Ok(found) => found,
            Err(impossible) => return Ok(Err(impossible)),
        };
        // Only the target is taken over: edits of other sites come with a reload, and a new policy does, too.
        let shape = self.shape(&former.content.policy);
        let loading = self.load(&spec, self.setup.include_outside, shape, Some(&former.content));
        let (content, loads, texts) = merge(&former, loading, &order.request.to, origin);
        let routing = renumbered(&routing, &former.content, &content);
        let content = Arc::new(content);
        let proposal = Proposal { content, routing, loads, restored: None };
        let candidate = Candidate::new(Arc::clone(&self.serving), vec![proposal], super::now());
        let candidate = candidate.remembering(self.standby.memo(origin));
        let plan = candidate.digest();
        let mut findings = candidate.judge().to_vec();
        findings.extend(freshness(origin, plan, order.plan.as_deref()));
        let mut report = FailedOver {
            origin: origin.clone(),
            plan,
            moves: moved.iter().map(|moved| self.named(&former, *moved)).collect(),
            changes: changes(&candidate),
            unlisted: candidate.differing().iter().flatten().map(|differing| differing.unlisted()).sum(),
            warnings: Vec::new(),
            outcome: FailoverOutcome::NothingToDo,
            findings,
        };
        if moved.is_empty() {
            // What a plan rests on, and whether the texts can be read, counts even so; an edit of them is a reload's.
            let firm = |finding: &Finding| finding.verdict.stops() && [id::LOADS, id::FRESH].contains(&finding.gate);
            if report.findings.iter().any(firm) {
                report.outcome = FailoverOutcome::Blocked;
            }
            return Ok(Ok(report));
        }
        if let Some(idle) = Idle::among(&order.overrides, &report.findings) {
            return Ok(Err(idle.into()));
        }
        report.outcome = if report.findings.iter().any(|finding| stops(finding, &order.overrides)) {
            FailoverOutcome::Blocked
        } else if order.dry_run {
            FailoverOutcome::WouldChange
        } else {
            self.carry_out(&report, candidate, texts, order, actor)?
        };
        // What was published is published, and the journal says so: the audit trail must not make a failure of it.
        if !order.dry_run
            && let Err(error) = self.remember(&report, order, actor)
        {
            tracing::error!(%error, zone = %origin, "the audit trail could not be written");
            report.warnings.push(format!("this is not in the audit trail, which could not be written: {error}"));
        }
        Ok(Ok(report))
    }

    fn carry_out(
        &mut self,
        report: &FailedOver,
        candidate: Candidate,
        texts: Texts,
        order: &Order,
        actor: &Actor,
    ) -> Result<FailoverOutcome, DriverError> {
        let origin = &report.origin;
        let Ok(verified) = candidate.verify(&order.overrides) else { return Ok(FailoverOutcome::Blocked) };
        let event = json!({ "failover": {
            "zone": origin, "to": order.request.to, "from": order.request.from, "region": order.request.region,
            "plan": report.plan, "overrides": overridden(report, order),
        } });
        let cause = Cause { actor: actor.clone(), reason: order.reason.clone(), event };
        let generation = self.publish(&verified, vec![(origin.clone(), texts)], cause)?;
        self.standby.look_into(&self.serving);
        self.tidy();
        let changed = report.changes.iter().find(|change| change.rtype != RrType::SOA);
        let confirmed = self.confirm(origin, changed.map(|change| (change.owner.as_ref(), change.rtype)));
        Ok(FailoverOutcome::Done { generation, serial: self.serial_of(origin), confirmed })
    }

    fn named(&self, zone: &ZoneServing, moved: Moved) -> (String, String) {
        (self.serving.regions.name(moved.region).to_owned(), zone.content.site(moved.from).name.clone())
    }

    fn remember(&self, report: &FailedOver, order: &Order, actor: &Actor) -> Result<(), DriverError> {
        self.store.audit().record(&Deed {
            at: super::now(),
            actor: actor.clone(),
            command: format!("failover {} --to {}", report.origin, order.request.to),
            reason: order.reason.clone(),
            overrides: overridden(report, order),
            outcome: format!("{:?}", report.outcome),
        })?;
        Ok(())
    }
}

/// What was overridden.
fn overridden(report: &FailedOver, order: &Order) -> Vec<Overridden> {
    let stopping = report.findings.iter().filter(|finding| finding.verdict.stops());
    let words = stopping.filter_map(|finding| {
        let word = order.overrides.iter().find(|word| word.covers(finding))?;
        Some(Overridden { gate: word.gate.clone(), digest: finding.digest(), covered: finding.items.clone() })
    });
    words.collect()
}

/// The content that a failover proposes: what the target's files say now, which have to be good, and at all other sites
/// what is served, whatever their files say by now.
fn merge(former: &ZoneServing, loading: Loading, target: &str, origin: &Name) -> (Content, Finding, Texts) {
    let mut texts = Texts::new();
    let mut loads = unread(target, origin);
    let mut changed = false;
    let mut unpublished = Vec::new();
    let mut sites: Vec<SiteContent> = former.content.sites.clone();
    for site in loading.sites {
        let Some(place) = sites.iter_mut().find(|known| known.name == site.name) else { continue };
        if site.name != target {
            unpublished.extend(unlike(&site, place));
            continue;
        }
        loads = judge_target(&site, origin);
        if let Some(content) = site.content {
            changed |= !content.answers_like(place);
            *place = content;
            texts.insert(site.name, site.texts);
        }
    }
    if loads.verdict == Verdict::Pass && !unpublished.is_empty() {
        loads.verdict = Verdict::Warn;
        loads.reason += "; the files of other sites are not what is served";
        loads.remedy = "understudy reload, before a move to one of them".into();
        loads.items = unpublished;
    }
    let epoch = former.content.epoch + u64::from(changed);
    let policy = former.content.policy.clone();
    (Content { origin: origin.clone(), sites, policy, epoch }, loads, texts)
}

/// What is to be said of a site that a failover leaves as it is, if its files say something else by now.
fn unlike(site: &SiteLoading, served: &SiteContent) -> Option<String> {
    match &site.content {
        Some(content) if content.answers_like(served) => None,
        Some(_) => Some(format!("{}: edited since it was loaded, not published: reload", site.name)),
        None => Some(format!("{}: its files can't be served by now; what was loaded last is kept", site.name)),
    }
}

/// `zone.loads`: a target whose texts have errors is no target; one whose texts cannot be read is unknown, never empty.
fn judge_target(site: &SiteLoading, origin: &Name) -> Finding {
    if site.content.is_some() {
        return Finding::pass(id::LOADS, origin.as_ref(), format!("the texts of {} load", site.name));
    }
    let errors: Vec<&Diagnostic> =
        site.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let unreadable = errors.iter().any(|finding| finding.id == UNREADABLE);
    let (verdict, reason) = if unreadable {
        (Verdict::Unknown, format!("what {} would answer is unknown: its texts cannot be read", site.name))
    } else {
        (Verdict::Block, format!("the texts of {} have {} errors", site.name, errors.len()))
    };
    Finding {
        gate: id::LOADS,
        zone: origin.clone(),
        verdict,
        reason,
        remedy: "put the files right and try again; what is served now is served on".into(),
        items: errors.iter().map(|finding| finding.to_string()).collect(),
    }
}

/// `zone.loads` of a target that the configuration has no files for.
fn unread(target: &str, origin: &Name) -> Finding {
    Finding {
        gate: id::LOADS,
        zone: origin.clone(),
        verdict: Verdict::Unknown,
        reason: format!("what {target} would answer is unknown: it is no longer configured"),
        remedy: "put the zone and its site into the configuration again, and reload".into(),
        items: Vec::new(),
    }
}

fn freshness(origin: &Name, plan: Digest, wanted: Option<&str>) -> Option<Finding> {
    let wanted = wanted?;
    if plan.matches(wanted) {
        return Some(Finding::pass(id::FRESH, origin.as_ref(), "the plan is the one that was shown"));
    }
    Some(Finding {
        gate: id::FRESH,
        zone: origin.clone(),
        verdict: Verdict::Block,
        reason: format!(
            "the plan is {} by now, not {wanted}: content or routing changed since it was shown",
            plan.short()
        ),
        remedy: "look at the new plan with --dry-run and carry out that one".into(),
        items: Vec::new(),
    })
}

/// How answers change, as a client sees it: TTLs capped, and the SOA with the serial that is published.
fn changes(candidate: &Candidate) -> Vec<RrsetChange> {
    let mut all: Vec<RrsetChange> = Vec::new();
    let mut seen = HashSet::new();
    for (change, differing) in candidate.changes().zip(candidate.differing()) {
        let (Some(before), Some(after)) = (change.zone_before(), change.zone_after()) else { continue };
        for (pair, differing) in change.pairs().into_iter().zip(differing) {
            let soa = |side: Side<'_>, zone: &ZoneServing| {
                let set = side.site.zone.rrset(change.origin, RrType::SOA);
                set.map_or(Vec::new(), |set| lines(set, side, zone.serial))
            };
            let (old, new) = (soa(pair.before, before), soa(pair.after, after));
            let soa = RrsetChange { owner: change.origin.to_name(), rtype: RrType::SOA, before: old, after: new };
            let at = |side: Side<'_>, owner: &Name, rtype, serial| {
                side.site.zone.rrset(owner.as_ref(), rtype).map_or(Vec::new(), |set| lines(set, side, serial))
            };
            let listed = differing.first.iter().filter(|(_, rtype)| *rtype != RrType::SOA);
            let others = listed.map(|(owner, rtype)| RrsetChange {
                owner: owner.clone(),
                rtype: *rtype,
                before: at(pair.before, owner, *rtype, before.serial),
                after: at(pair.after, owner, *rtype, after.serial),
            });
            let soa = Some(soa).filter(|soa| soa.before != soa.after);
            all.extend(soa.into_iter().chain(others).filter(|change| seen.insert(change.clone())));
        }
    }
    all
}

/// The records of an RRset as they would stand behind its owner in a zone file.
fn lines(set: Rrset<'_>, side: Side<'_>, serial: Serial) -> Vec<String> {
    let shape = side.site.snapshot.shape();
    let ttl = set.ttl.min(shape.max_ttl.unwrap_or(Ttl::MAX));
    let line = |rdata: &[u8]| {
        let mut rdata = rdata.to_vec();
        // The serial is the first of five numbers at the end (RFC 1035 §3.3.13).
        if let (RrType::SOA, Some(at)) = (set.rtype, rdata.len().checked_sub(20)) {
            rdata[at..at + 4].copy_from_slice(&serial.0.to_be_bytes());
        }
        format!("{ttl} IN {} {}", set.rtype, rdata::write(set.rtype, &rdata, None))
    };
    set.rdatas().map(line).collect()
}
