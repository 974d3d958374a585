//! How caches drain, in the words of the control socket.

use super::rename::name_in;
use super::{Daemon, translate};
use crate::control::api::Failure;
use crate::control::api::drain::{
    DarkReport, DrainReport, DrainRequest, FamilyReport, ForecastReport, KeeperReport, PhaseReport, RegionReport,
    StepReport, SuspectReport,
};
use crate::drain::holders::{Holders, MOST_ENTRIES, OfRegion, Suspect};
use crate::driver::dark::{Dark, Keeper};
use crate::driver::drains::{Drain, Foreseen, Prospect};
use crate::failover::story;
use crate::name::Name;
use crate::profile::Population;
use crate::serving::regions::RegionId;
use crate::serving::told::Rule;
use crate::serving::{Serving, ZoneServing};

impl Daemon {
    /// What caches may still hold of a zone, and how that drains.
    pub(super) fn drain(&self, request: &DrainRequest) -> Result<DrainReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        // A single label is meant as one of the zone.
        let within = |name: &Name| match name.as_ref().label_count() {
            1 if *name != origin => name_in(name.to_string().trim_end_matches('.'), &origin),
            _ => Ok(name.clone()),
        };
        let name = request.name.as_ref().map(within).transpose()?;
        if let Some(name) = name.as_ref().filter(|name| !name.as_ref().is_at_or_below(origin.as_ref())) {
            let what = format!("`{name}` is not in the zone {origin}");
            return Err(Failure::new(what, "nothing is known of it here", "a name of the zone, or none"));
        }
        let drain = self.driver.drain(&origin, name.as_ref()).ok_or_else(|| {
            Failure::new(
                "it is not noted what is asked",
                "nothing is known of who may hold what",
                "`enabled = true` in `[exposures]`, and a restart",
            )
        })?;
        let runs = drain.moves.iter().map(|id| id.0).collect();
        let forecast = report(&drain, Vec::new(), self.driver.serving(), &origin);
        let moves = self.driver.traffic(&origin).into_iter().flat_map(|state| state.moves.values());
        let held = moves.filter_map(|moving| Some(story::why(&moving.hold.as_ref()?.why))).collect();
        let proposals = if drain.moves.is_empty() { Vec::new() } else { self.proposals(&origin, None) };
        Ok(DrainReport { zone: origin, name, runs, held, proposals, forecast })
    }
}

/// What a dry run foresees.
pub(super) fn prospect(prospect: &Prospect, serving: &Serving, origin: &Name) -> ForecastReport {
    let phase = |foreseen: &Foreseen| PhaseReport {
        phase: foreseen.phase.to_string(),
        from: foreseen.from,
        until: foreseen.until,
        what: foreseen.what.clone(),
    };
    report(&prospect.drain, prospect.phases.iter().map(phase).collect(), serving, origin)
}

/// What a move would take away.
pub(super) fn dark(dark: &Dark) -> DarkReport {
    let keeper = |keeper: &Keeper| {
        let [during, afterwards] = [dark.during.ttl, dark.afterwards.ttl].map(|ttl| keeper.keeps(ttl));
        KeeperReport {
            name: keeper.name.clone(),
            share: keeper.share.map(|share| share.to_string()),
            during: during.0.as_secs(),
            afterwards: afterwards.0.as_secs(),
            at_least: during.1 || afterwards.1,
        }
    };
    DarkReport {
        questions: dark.questions.len(),
        asked: dark.asked,
        during: dark.during.clone(),
        afterwards: dark.afterwards.clone(),
        measured: dark.measured.iter().map(keeper).collect(),
    }
}

fn report(drain: &Drain, phases: Vec<PhaseReport>, serving: &Serving, origin: &Name) -> ForecastReport {
    let zone = serving.zone(origin.as_ref());
    let (forecast, holders) = (&drain.forecast, &drain.holders);
    let family = |course: &crate::drain::Course| {
        let weight = holders.weights.get(&course.family).copied().unwrap_or_default();
        FamilyReport {
            new_now: if forecast.begin > drain.at { 0.0 } else { course.new_at(drain.at.since(forecast.begin)) },
            held_now: if weight.all > 0.0 { weight.held / weight.all } else { 0.0 },
            course: course.clone(),
        }
    };
    let mut left_out: Vec<String> = forecast.left_out.iter().map(ToString::to_string).collect();
    // Nobody has measured them: they are in the figures as they are assumed.
    if let Some(kept) = Population::proposed().applications {
        left_out.push(format!(
            "what applications keep: it is assumed that {:.0}% of users have one that does, for {} s to {} s",
            kept.share * 100.0,
            kept.least.as_secs(),
            kept.greatest.as_secs()
        ));
    }
    if drain.others {
        left_out.push("what other name servers of the zone told".into());
    }
    if !holders.is_whole {
        left_out.push("who was told what before this start, or when there was no room to note it".into());
    }
    if holders.unplaced > 0 {
        left_out.push(format!("{} answers of which it was not noted what they were about", holders.unplaced));
    }
    if holders.summed > 0.0 {
        left_out.push(format!(
            "when those were told that asked least: beyond {MOST_ENTRIES} networks and questions, {:.0} answers, it counts as unknown",
            holders.summed
        ));
    }
    ForecastReport {
        at: drain.at,
        begin: forecast.begin,
        phases,
        steps: drain.steps.iter().map(|step| StepReport { at: step.at, share: step.share.to_string() }).collect(),
        families: forecast.courses.iter().map(family).collect(),
        worst: forecast.worst().map(|course| course.family),
        regions: regions(&drain.holders, serving),
        bound: drain.bound,
        basis: drain.basis.clone(),
        window_seconds: drain.holders.window.as_secs(),
        holders: holders.entries,
        assumed: forecast.assumed,
        left_out,
        suspicious: holders.suspects.iter().map(|suspect| suspicious(suspect, zone)).collect(),
    }
}

/// Each region by itself, where there are several.
fn regions(holders: &Holders, serving: &Serving) -> Vec<RegionReport> {
    let all: f64 = holders.regions.values().map(|region| region.weight.all).sum();
    let part = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let report = |(id, region): (&RegionId, &OfRegion)| RegionReport {
        region: serving.regions.name(*id).to_owned(),
        weight: part(region.weight.all, all),
        held_now: part(region.weight.held, region.weight.all),
        held_until: region.until,
    };
    let several = serving.regions.iter().count() > 1;
    holders.regions.iter().filter(|_| several).map(report).collect()
}

fn suspicious(suspect: &Suspect, zone: Option<&ZoneServing>) -> SuspectReport {
    SuspectReport {
        network: suspect.network,
        question: format!("{} {}", question(zone, suspect.decided.name, suspect.decided.rule), suspect.rtype),
        last: suspect.last,
        held_until: suspect.until,
        usual_seconds: suspect.usual.as_secs_f64(),
    }
}

/// The name of a rule, as people read it.
pub(super) fn question(zone: Option<&ZoneServing>, name: u64, rule: Rule) -> String {
    match (zone.and_then(|zone| zone.name_under(name)), rule) {
        (Some(name), Rule::Absent) => format!("something below {name}"),
        (Some(name), Rule::Above) => format!("{name}, or below"),
        (Some(name), _) => name.to_string(),
        (None, _) => "(a name that is gone)".to_owned(),
    }
}
