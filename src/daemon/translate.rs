//! Between what the driver says and what operators are told.

use super::Daemon;
use crate::config::nearest::UnknownName;
use crate::control::api::{
    ContentStatus, Failure, Finding, ReloadOutcome, ReloadReport, Route, SiteStatus, StatusReport, ZoneReload,
    ZoneStatus,
};
use crate::door::{Idle, Override};
use crate::driver::Health;
use crate::driver::reload::{ReloadOutcome as Outcome, Reloaded};
use crate::driver::rename::proposing::LOOKED_THROUGH;
use crate::driver::setup::Setup;
use crate::gate::{self, id};
use crate::name::Name;

/// How many items of a finding are told: the log and the status are no place for thousands.
const SHOWN: usize = 20;

impl Daemon {
    /// How things stand.
    pub(super) fn status(&self) -> StatusReport {
        let mut room = LOOKED_THROUGH;
        StatusReport {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            uptime_seconds: self.started.elapsed().as_secs(),
            generation: self.driver.serving().generation,
            listeners: self.addresses.clone(),
            encrypted: self.encrypted.clone(),
            zones: self.driver.setup().zones.iter().map(|spec| self.zone_status(&spec.origin, &mut room)).collect(),
            caution: self.caution(),
            last_reload: self.last_reload.clone(),
            last_failover: self.last_failover.clone(),
        }
    }

    fn zone_status(&self, origin: &Name, room: &mut usize) -> ZoneStatus {
        let serving = self.driver.serving();
        let zone = serving.zone(origin.as_ref());
        let diagnostics = match self.driver.health(origin) {
            None | Some(Health::Good) => Vec::new(),
            Some(Health::Broken(diagnostics)) => diagnostics.iter().map(ToString::to_string).collect(),
            Some(Health::Refused(findings)) => refusals(findings),
            Some(Health::NotPublished(why)) => vec![why.clone()],
            Some(Health::Queued(touched)) => touched.clone(),
        };
        let content = match zone {
            Some(_) if diagnostics.is_empty() => ContentStatus::Loaded,
            Some(_) if matches!(self.driver.health(origin), Some(Health::Refused(_))) => {
                ContentStatus::RefusedEdit { diagnostics }
            }
            Some(_) if matches!(self.driver.health(origin), Some(Health::Queued(_))) => {
                ContentStatus::QueuedEdit { diagnostics }
            }
            Some(_) => ContentStatus::LastGood { diagnostics },
            None => ContentStatus::Broken { diagnostics },
        };
        ZoneStatus {
            name: origin.clone(),
            serial: zone.map(|zone| zone.serial.0),
            epoch: zone.map_or(0, |zone| zone.content.epoch),
            routes: self.routes_of(origin),
            moves: self.moves_of(origin),
            sites: self.sites_of(origin),
            old_until: self.old_until(origin),
            last_drill: self.driver.drills().last(origin),
            drill_listeners: self.drill_listeners(origin),
            renames: self.renames_of(origin),
            levers: self.levers_of(origin, room),
            content,
        }
    }

    /// Where each region of a zone is answered from; while it moves, the site that it leaves.
    pub(super) fn routes_of(&self, origin: &Name) -> Vec<Route> {
        let serving = self.driver.serving();
        let Some(zone) = serving.zone(origin.as_ref()) else { return Vec::new() };
        let site = |region| zone.content.site(zone.routing.site(region)).name.clone();
        serving.regions.iter().map(|(region, name)| Route { region: name.to_owned(), site: site(region) }).collect()
    }

    pub(super) fn sites_of(&self, origin: &Name) -> Vec<SiteStatus> {
        let known = self.driver.traffic(origin).into_iter().flat_map(|state| state.health.iter());
        let status = |(site, health): (
            &crate::failover::names::SiteName,
            &crate::failover::names::Frozen<crate::failover::health::SiteHealth>,
        )| SiteStatus {
            site: site.to_string(),
            health: health.effective().to_string(),
            measured: health.measured.to_string(),
            forced: health.forced.as_ref().map(|forced| match forced.reason.as_str() {
                "" => forced.actor.name.clone(),
                reason => format!("{} ({reason})", forced.actor.name),
            }),
        };
        known.map(status).collect()
    }
}

/// The zone that an operator names.
pub(super) fn zone_name(given: &str, setup: &Setup) -> Result<Name, Failure> {
    let known = || setup.zones.iter().map(|zone| zone.origin.as_ref().dotless());
    let unknown = || Failure::from(UnknownName::new("zone", given, known()));
    let name = Name::absolute(given).map_err(|_| unknown())?;
    if setup.zone(&name).is_none() {
        return Err(unknown());
    }
    Ok(name)
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

pub(super) fn finding(found: &gate::Finding, overrides: &[Override]) -> Finding {
    Finding {
        gate: found.gate.into(),
        verdict: found.verdict,
        reason: found.reason.clone(),
        remedy: found.remedy.clone(),
        digest: found.digest(),
        items: found.items.clone(),
        asked: Vec::new(),
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
        Outcome::Queued(touched) => ReloadOutcome::Queued { touched },
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
        Outcome::Unchanged | Outcome::Published { .. } | Outcome::Queued(_) => Vec::new(),
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
