//! Between what operators ask of renames and what the driver does.

use super::{Daemon, failed, moves, translate};
use crate::config::dotless;
use crate::control::api::rename::{
    LeverCount, Reference, RenameAction, RenameOutcome, RenameReport, RenameRequest, RenameStatus, RenamesReport,
    RenamesRequest,
};
use crate::control::api::{Failure, RecordDiff};
use crate::driver::rename::{Deed, Impossible, Order, Outcome};
use crate::name::Name;
use crate::rename::fold::print;
use crate::store::journal::Actor;

/// Zones with more RRsets, all together, are not looked through for a status.
pub(super) const LOOKED_THROUGH: usize = 200_000;

impl Daemon {
    pub(super) fn rename(&mut self, request: &RenameRequest, actor: &Actor) -> Result<RenameReport, Failure> {
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
        };
        let renamed =
            self.driver.rename(&origin, &order, actor).map_err(failed)?.map_err(|why| impossible(&why, &origin))?;
        let diff = renamed.changes.into_iter().map(|change| RecordDiff {
            name: change.owner,
            rtype: change.rtype,
            before: change.before,
            after: change.after,
        });
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
            references,
            reference_ttl: renamed.reference_ttl,
            findings: renamed.findings.iter().map(|found| translate::finding(found, &order.overrides)).collect(),
            diff: diff.collect(),
            warnings: renamed.warnings,
            outcome: match renamed.outcome {
                Outcome::WouldChange => RenameOutcome::WouldChange,
                Outcome::Blocked => RenameOutcome::Blocked,
                Outcome::Begun { generation, serial } => RenameOutcome::Begun { generation, serial: serial.0 },
                Outcome::Done { generation, serial } => RenameOutcome::Done { generation, serial: serial.0 },
            },
        })
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
        let status = |rename: &crate::rename::Rename| RenameStatus {
            lever: rename.lever.clone(),
            fresh: rename.fresh.clone(),
            stage: rename.stage.to_string(),
            spare: rename.spare,
            waits_for: match next == Some(&rename.fresh) {
                true => self.driver.rename_waits_for(origin).to_vec(),
                false => Vec::new(),
            },
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

/// A name as it is typed: with the zone's name behind it, or relative to it.
fn name_in(given: &str, origin: &Name) -> Result<Name, Failure> {
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
    let zone = dotless(origin.as_ref());
    let next = match why {
        Impossible::NoLever { .. } => format!("`understudy rename {zone}` lists all fronts and their levers"),
        Impossible::Several { .. } => format!("understudy rename {zone} with one of them"),
        Impossible::Moving(_) => format!("understudy follow {zone}"),
        Impossible::TooMany(_) => format!("understudy rename {zone} --print"),
        _ => format!("understudy rename {zone}"),
    };
    Failure::new(why.to_string(), "nothing was changed", next)
}
