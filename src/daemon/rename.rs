//! Between what operators ask of renames and what the driver does.

use std::sync::mpsc::{SendError, Sender};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{Daemon, failed, moves, translate};
use crate::control::Call;
use crate::control::api::rename::{
    GainReport, GainRow, LeverCount, Proposal, Reference, RenameAction, RenameOutcome, RenameReport, RenameRequest,
    RenameStatus, RenamesReport, RenamesRequest,
};
use crate::control::api::{Failure, RecordDiff, Request};
use crate::driver::rename::certificates::{Asking, Certificates};
use crate::driver::rename::gains::{Gains, Old};
use crate::driver::rename::proposing::Way;
use crate::driver::rename::{Deed, Impossible, Order, Outcome};
use crate::failover::moves::PhaseKind;
use crate::gain::Gain;
use crate::name::Name;
use crate::rename::Stage;
use crate::rename::fold::print;
use crate::store::journal::Actor;

/// The stage of a rename that a later one of the same lever has overtaken.
const SUPERSEDED: &str = "superseded";

/// Where calls wait until servers were asked for their certificates.
pub(super) type Asker = Sender<(Call, Asking)>;

/// Starts a thread that asks servers, for one call after the other; and where the calls come back, with what servers showed.
/// Without a thread nobody is asked, and that is what the gate says.
pub(super) fn start_asker() -> (Asker, UnboundedReceiver<(Call, Certificates)>) {
    let (asker, calls) = std::sync::mpsc::channel::<(Call, Asking)>();
    let (sender, asked) = unbounded_channel();
    let ask = move || {
        for (call, asking) in calls {
            // Nobody is answered any more if nobody takes it.
            let _ = sender.send((call, asking.ask()));
        }
    };
    if let Err(error) = std::thread::Builder::new().name("certificates".into()).spawn(ask) {
        tracing::error!(%error, "the system gave no thread to ask servers for their certificates");
    }
    (asker, asked)
}

impl Daemon {
    pub(super) fn rename(&mut self, request: &RenameRequest, actor: &Actor) -> Result<RenameReport, Failure> {
        let (origin, order) = self.rename_order(request)?;
        let renamed =
            self.driver.rename(&origin, &order, actor).map_err(failed)?.map_err(|why| impossible(&why, &origin))?;
        let diff = renamed.changes.into_iter().map(|change| RecordDiff {
            name: change.owner,
            rtype: change.rtype,
            before: change.before,
            after: change.after,
        });
        let gains = match request.action {
            RenameAction::Begin => self.gains(&origin, &renamed.lever, &renamed.references),
            _ => Vec::new(),
        };
        let mut references: Vec<Reference> = Vec::new();
        for found in renamed.references {
            let reference = Reference { name: found.owner, rtype: found.rtype };
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        Ok(RenameReport {
            zone: origin,
            action: request.action,
            lever: renamed.lever,
            fresh: renamed.fresh,
            dry_run: request.dry_run,
            plan: renamed.plan,
            leads_to_fresh: renamed.leads_to_fresh,
            references,
            reference_ttl: renamed.reference_ttl,
            findings: renamed.findings.iter().map(|found| translate::finding(found, &order.overrides)).collect(),
            diff: diff.collect(),
            gains,
            warnings: renamed.warnings,
            outcome: match renamed.outcome {
                Outcome::WouldChange => RenameOutcome::WouldChange,
                Outcome::Blocked => RenameOutcome::Blocked,
                Outcome::Begun { generation, serial } => RenameOutcome::Begun { generation, serial: serial.0 },
                Outcome::Done { generation, serial } => RenameOutcome::Done { generation, serial: serial.0 },
            },
        })
    }

    /// What is asked for, in the words of the driver.
    fn rename_order(&self, request: &RenameRequest) -> Result<(Name, Order), Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let order = Order {
            name: name_in(&request.name, &origin)?,
            deed: match request.action {
                RenameAction::Begin => Deed::Begin,
                RenameAction::Spare => Deed::Spare,
                RenameAction::Undo => Deed::Undo,
                RenameAction::Retire => Deed::Retire,
            },
            dry_run: request.dry_run,
            plan: request.plan.clone(),
            reason: moves::given(request.reason.as_deref()),
            overrides: request.overrides.clone(),
            asks: true,
        };
        Ok((origin, order))
    }

    /// Has the servers asked that a rename depends on, if there are any; otherwise the call comes back.
    pub(super) fn ask_certificates(&mut self, call: Call, asker: &Asker) -> Option<Call> {
        let Request::Rename(request) = &call.request else { return Some(call) };
        let order = self.rename_order(request).ok();
        let Some(asking) = order.and_then(|(origin, order)| self.driver.certificates_to_ask(&origin, &order)) else {
            return Some(call);
        };
        let SendError((call, _)) = asker.send((call, asking)).err()?;
        self.driver.set_certificates(Certificates::default());
        Some(call)
    }

    /// What a rename of a lever would gain now.
    fn gains(&self, origin: &Name, lever: &Name, references: &[crate::rename::refer::Reference]) -> Vec<GainReport> {
        let Some(zone) = self.driver.serving().zone(origin.as_ref()) else { return Vec::new() };
        let old = Old::AllBut(zone.sites_in_use().to_vec());
        let gains = self.driver.gains(&zone.content, lever, references, &self.driver.known_resolvers(), &old);
        gains.iter().map(gain_report).collect()
    }

    /// Renames that would lead users round what caches hold of a zone that is moved, or once everybody is answered from a site;
    /// the one that gains most first.
    pub(super) fn proposals(&self, origin: &Name, site: Option<&str>) -> Vec<Proposal> {
        let moves = self.driver.traffic(origin).into_iter().flat_map(|state| state.moves.values());
        let mut draining = moves.filter(|moving| site.is_none() && moving.phase.kind() == PhaseKind::Draining);
        let ways = self.driver.ways_round(origin, site, draining.next()).into_iter();
        ways.map(|Way { lever, gains, command }| Proposal { lever, gain: gain_report(&gains), command }).collect()
    }

    pub(super) fn renames(&self, request: &RenamesRequest) -> Result<RenamesReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let zone = self.driver.serving().zone(origin.as_ref());
        let content = zone.map(|zone| &*zone.content);
        let fronts = content.filter(|_| request.fronts).map(|content| self.driver.fronts(content)).unwrap_or_default();
        let lines = content.filter(|_| request.print).map(|content| {
            let sites: Vec<_> = content.sites.iter().map(|site| (site.name.as_str(), &*site.zone)).collect();
            print(content.origin.as_ref(), &sites, &content.overlays)
        });
        let fronts = fronts.into_iter().map(Into::into).collect();
        Ok(RenamesReport { renames: self.renames_of(&origin), zone: origin, fronts, lines })
    }

    /// The renames that lie over a zone's files.
    pub(super) fn renames_of(&self, origin: &Name) -> Vec<RenameStatus> {
        let Some(zone) = self.driver.serving().zone(origin.as_ref()) else { return Vec::new() };
        let next = crate::driver::rename::next(&zone.content.overlays).map(|rename| &rename.fresh);
        let turns = zone.content.overlays.own_turns();
        let status = |rename: &crate::rename::Rename| {
            let waits_for = match next == Some(&rename.fresh) {
                true => self.driver.rename_waits_for(origin).to_vec(),
                false => Vec::new(),
            };
            let is_latest = turns.iter().any(|turn| turn.fresh == rename.fresh);
            let stage = match rename.stage {
                Stage::Referenced if !is_latest => SUPERSEDED.to_owned(),
                stage => stage.to_string(),
            };
            let (zone, fresh) = (origin.as_ref().dotless(), rename.fresh.as_ref().dotless());
            let try_next = (!waits_for.is_empty()).then(|| {
                format!(
                    "put that right, or, where a server is gone for good, take it out of `name_servers` and type `understudy \
                     reload`; `understudy rename {zone} {fresh} --undo` takes the rename back"
                )
            });
            let (lever, fresh, spare) = (rename.lever.clone(), rename.fresh.clone(), rename.spare);
            RenameStatus { lever, fresh, stage, spare, waits_for, try_next }
        };
        zone.content.overlays.renames.iter().map(status).collect()
    }

    /// How many front names of a zone have levers; none if the zone is too large to be looked through for a status.
    pub(super) fn levers_of(&self, origin: &Name, room: &mut usize) -> Option<LeverCount> {
        let content = &self.driver.serving().zone(origin.as_ref())?.content;
        let size = content.sites.iter().map(|site| site.zone.len()).sum();
        *room = room.checked_sub(size)?;
        let fronts = self.driver.fronts(content);
        let with_lever = fronts.iter().filter(|front| front.has_lever()).count();
        Some(LeverCount { fronts: fronts.len(), with_lever })
    }
}

fn gain_report(gains: &Gains) -> GainReport {
    let all: f64 = gains.by.iter().map(|(_, weight, _)| weight).sum();
    let row = |(resolver, weight, gain): &(String, f64, Gain)| GainRow {
        resolver: resolver.clone(),
        share: if all > 0.0 { weight / all } else { 0.0 },
        least_seconds: gain.sooner.least.as_secs_f64(),
        most_seconds: gain.sooner.most.map(|most| most.as_secs_f64()),
        why_not: gain.why_not.map(|why| why.to_string()),
    };
    GainReport {
        stuck: gains.kind,
        certain: gains.overall.certain,
        possible: gains.overall.possible,
        sooner_seconds: gains.overall.sooner,
        by: gains.by.iter().map(row).collect(),
    }
}

/// A name as it is typed: with the zone's name behind it, or relative to it.
pub(super) fn name_in(given: &str, origin: &Name) -> Result<Name, Failure> {
    let absolute = Name::absolute(given).ok().filter(|name| name.as_ref().is_at_or_below(origin.as_ref()));
    let relative = || Name::from_presentation(given.as_bytes(), Some(origin.as_ref()));
    absolute.map_or_else(relative, Ok).map_err(|error| {
        Failure::new(format!("`{given}` is not a domain name: {error}"), "nothing was changed", "a name such as `www`")
    })
}

fn impossible(why: &Impossible, origin: &Name) -> Failure {
    if let Impossible::Idle(word) = why {
        return translate::idle(word);
    }
    let zone = origin.as_ref().dotless();
    let next = match why {
        Impossible::NoLever { .. } => format!("`understudy rename {zone}` lists all fronts and their levers"),
        Impossible::Several { .. } => format!("understudy rename {zone} with one of them"),
        Impossible::Moving(_) => format!("understudy follow {zone}"),
        Impossible::TooMany(_) => format!("understudy rename {zone} --print"),
        _ => format!("understudy rename {zone}"),
    };
    Failure::new(why.to_string(), "nothing was changed", next)
}
