//! Between what the driver says and what operators are told.

use super::Daemon;
use crate::config::dotless;
use crate::config::nearest::UnknownName;
use crate::control::api::{
    ContentStatus, FailoverOutcome, FailoverReport, FailoverRequest, Failure, Finding, RecordDiff, ReloadOutcome,
    ReloadReport, Route, StatusReport, ZoneReload, ZoneStatus,
};
use crate::door::{Idle, Override};
use crate::driver::Health;
use crate::driver::failover::{FailedOver, FailoverOutcome as Done, Order};
use crate::driver::reload::{ReloadOutcome as Outcome, Reloaded};
use crate::driver::setup::Setup;
use crate::failover::plan::{Impossible, MoveRequest};
use crate::gate::{self, id};
use crate::name::Name;

/// How many items of a finding are told: the log and the status are no place for thousands.
const SHOWN: usize = 20;

impl Daemon {
    /// How things stand.
    pub(super) fn status(&self) -> StatusReport {
        StatusReport {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            generation: self.driver.serving().generation,
            listeners: self.addresses.clone(),
            zones: self.driver.setup().zones.iter().map(|spec| self.zone_status(&spec.origin)).collect(),
            last_reload: self.last_reload.clone(),
            last_failover: self.last_failover.clone(),
        }
    }

    fn zone_status(&self, origin: &Name) -> ZoneStatus {
        let serving = self.driver.serving();
        let zone = serving.zone(origin.as_ref());
        let route = |zone: &crate::serving::ZoneServing, region, name: &str| Route {
            region: name.to_owned(),
            site: zone.content.site(zone.routing.site(region)).name.clone(),
        };
        let diagnostics = match self.driver.health(origin) {
            None | Some(Health::Good) => Vec::new(),
            Some(Health::Broken(diagnostics)) => diagnostics.iter().map(ToString::to_string).collect(),
            Some(Health::Refused(findings)) => refusals(findings),
            Some(Health::NotPublished(why)) => vec![why.clone()],
        };
        let content = match zone {
            Some(_) if diagnostics.is_empty() => ContentStatus::Loaded,
            Some(_) if matches!(self.driver.health(origin), Some(Health::Refused(_))) => {
                ContentStatus::RefusedEdit { diagnostics }
            }
            Some(_) => ContentStatus::LastGood { diagnostics },
            None => ContentStatus::Broken { diagnostics },
        };
        ZoneStatus {
            name: origin.clone(),
            serial: zone.map(|zone| zone.serial.0),
            epoch: zone.map_or(0, |zone| zone.content.epoch),
            routes: zone
                .map(|zone| serving.regions.iter().map(|(region, name)| route(zone, region, name)).collect())
                .unwrap_or_default(),
            content,
        }
    }
}

/// The zone that an operator names.
pub(super) fn zone_name(given: &str, setup: &Setup) -> Result<Name, Failure> {
    let known = || setup.zones.iter().map(|zone| dotless(zone.origin.as_ref()));
    let unknown = || Failure::from(UnknownName::new("zone", given, known()));
    let name = Name::absolute(given).map_err(|_| unknown())?;
    if setup.zone(&name).is_none() {
        return Err(unknown());
    }
    Ok(name)
}

/// What an operator asks for, in the words of the core.
pub(super) fn order(request: &FailoverRequest) -> Result<Order, Failure> {
    let overrides = request.overrides.iter().map(|word| {
        format!("{word}").parse::<Override>().map_err(|error| Failure::new(error, "nothing was changed", ""))
    });
    let given = request.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    Ok(Order {
        request: MoveRequest { to: request.to.clone(), from: request.from.clone(), region: request.region.clone() },
        dry_run: request.dry_run,
        plan: request.plan.clone(),
        reason: given.unwrap_or("no reason given").to_owned(),
        overrides: overrides.collect::<Result<_, _>>()?,
    })
}

/// What became of a failover.
pub(super) fn failover(report: Result<FailedOver, Impossible>, order: &Order) -> Result<FailoverReport, Failure> {
    let report = report.map_err(|impossible| match impossible {
        Impossible::NoSite { given, known } => Failure::from(UnknownName::new("site", &given, known)),
        Impossible::NoRegion { given, known } => Failure::from(UnknownName::new("region", &given, known)),
        Impossible::Idle(word) => idle(&word),
        other => Failure::new(other.to_string(), "nothing was changed", "understudy status"),
    })?;
    let outcome = match report.outcome {
        Done::NothingToDo if order.dry_run => FailoverOutcome::DryRunClean,
        Done::NothingToDo => FailoverOutcome::NothingToDo,
        Done::WouldChange => FailoverOutcome::WouldChange,
        Done::Blocked => FailoverOutcome::Blocked,
        Done::Done { generation, serial, confirmed } => {
            FailoverOutcome::Done { generation, serial: serial.0, confirmed }
        }
    };
    Ok(FailoverReport {
        zone: report.origin,
        to: order.request.to.clone(),
        dry_run: order.dry_run,
        moves: report.moves.into_iter().map(|(region, site)| Route { region, site }).collect(),
        plan: report.plan,
        findings: report.findings.iter().map(|found| finding(found, &order.overrides)).collect(),
        diff: report
            .changes
            .into_iter()
            .map(|change| RecordDiff {
                name: change.owner,
                rtype: change.rtype,
                before: change.before,
                after: change.after,
            })
            .collect(),
        unlisted: report.unlisted,
        warnings: report.warnings,
        outcome,
    })
}

/// An override, or a digest that was accepted, that covers nothing.
pub(super) fn idle(idle: &Idle) -> Failure {
    let gate = &idle.word.gate;
    let known = id::SOFT.contains(&gate.as_str());
    let what = if known { idle.to_string() } else { format!("{idle}: there is no gate `{gate}` to override") };
    let gates = format!("gates that can be overridden are {}", id::SOFT.join(", "));
    let now = match idle.stopping.as_slice() {
        [] => "leave it out: nothing stops this now".to_owned(),
        stopping => format!("look at what stops it now: {}", stopping.join("; ")),
    };
    Failure::new(what, "nothing was changed", format!("{now}; {gates}"))
}

/// What became of a failover, in a few words, and whether it was done.
pub(super) fn in_short(request: &FailoverRequest, result: &Result<FailoverReport, Failure>) -> (bool, String) {
    let (ok, how) = match result {
        Err(failure) => (false, failure.what.clone()),
        Ok(report) => match &report.outcome {
            FailoverOutcome::Done { generation, confirmed: true, .. } => {
                (true, format!("published as generation {generation}"))
            }
            FailoverOutcome::Done { generation, confirmed: false, .. } => {
                (false, format!("published as generation {generation}, NOT confirmed by our own sockets"))
            }
            FailoverOutcome::Blocked => {
                let gates = report.findings.iter().filter(|found| found.stops()).map(|found| found.gate.as_str());
                (false, format!("blocked by {}", gates.collect::<Vec<_>>().join(", ")))
            }
            FailoverOutcome::NothingToDo | FailoverOutcome::DryRunClean | FailoverOutcome::WouldChange => {
                (true, "nothing to do".to_owned())
            }
        },
    };
    (ok, format!("{} to {}: {how}", request.zone, request.to))
}

fn finding(found: &gate::Finding, overrides: &[Override]) -> Finding {
    Finding {
        gate: found.gate.into(),
        verdict: found.verdict,
        reason: found.reason.clone(),
        remedy: found.remedy.clone(),
        digest: found.digest(),
        items: found.items.clone(),
        overridden: found.verdict.stops() && overrides.iter().any(|word| word.covers(found)),
        overridable: !id::FIRM.contains(&found.gate),
    }
}

/// What became of a reload.
pub(super) fn reload(zones: Vec<Reloaded>, needs_restart: Vec<String>, warnings: Vec<String>) -> ReloadReport {
    let outcome = |outcome| match outcome {
        Outcome::Unchanged => ReloadOutcome::Unchanged,
        Outcome::Published { generation, serial, tally, findings } => ReloadOutcome::Published {
            generation,
            serial: serial.0,
            added: tally.added,
            removed: tally.removed,
            changed: tally.changed,
            // What would have stopped it and did not was accepted.
            findings: shown(&findings)
                .into_iter()
                .map(|found| Finding { overridden: found.verdict.stops(), ..found })
                .collect(),
        },
        Outcome::Refused(findings) => ReloadOutcome::Refused { findings: shown(&findings) },
        Outcome::KeptLastGood(diagnostics) => {
            ReloadOutcome::KeptLastGood { diagnostics: diagnostics.iter().map(ToString::to_string).collect() }
        }
        Outcome::NotPublished(why) => ReloadOutcome::NotPublished { why },
    };
    let zone = |zone: Reloaded| ZoneReload { name: zone.origin, outcome: outcome(zone.outcome) };
    ReloadReport { zones: zones.into_iter().map(zone).collect(), needs_restart, warnings }
}

/// Findings worth an operator's time.
fn shown(findings: &[gate::Finding]) -> Vec<Finding> {
    let worth = findings.iter().filter(|found| found.verdict != crate::evidence::Verdict::Pass);
    // A reload accepts what an edit removes, and nothing else.
    let acceptable = |found: &gate::Finding| found.gate == id::BLAST_RADIUS;
    worth.map(|found| Finding { overridable: acceptable(found), ..finding(found, &[]) }).collect()
}

/// What kept a zone's files from being taken over, in lines.
pub(super) fn problems(zone: &Reloaded) -> Vec<String> {
    match &zone.outcome {
        Outcome::Refused(findings) => refusals(findings),
        Outcome::KeptLastGood(diagnostics) => diagnostics.iter().map(ToString::to_string).collect(),
        Outcome::NotPublished(why) => vec![why.clone()],
        Outcome::Unchanged | Outcome::Published { .. } => Vec::new(),
    }
}

/// What gates stopped, each with what to type to go on in spite of it.
fn refusals(findings: &[gate::Finding]) -> Vec<String> {
    findings.iter().filter(|found| found.verdict.stops()).map(told).collect()
}

/// What gates let through and is worth knowing: the names that are gone, above all.
pub(super) fn warnings(findings: &[gate::Finding]) -> Vec<String> {
    findings.iter().filter(|found| !found.items.is_empty()).map(told).collect()
}

/// A finding in lines.
fn told(found: &gate::Finding) -> String {
    let mut text = format!("{} [{}]: {}", found.gate, found.digest().short(), found.reason);
    for item in found.items.iter().take(SHOWN) {
        text += &format!("\n      {item}");
    }
    if let Some(more) = found.items.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("\n      and {more} more");
    }
    if !found.remedy.is_empty() {
        text += &format!("\n    try: {}", found.remedy);
    }
    text
}
