//! Between what operators ask of moves and what the driver does: orders, reports, history.

use super::{Daemon, drains, failed, translate};
use crate::config::nearest::UnknownName;
use crate::control::api::moves::{
    Action, Ending, ForcedHealth, HistoryEntry, HistoryReport, HistoryRequest, MoveKind, MoveOutcome, MoveReport,
    MoveRequest, MoveStatus, ProposedRename, RunEvent, RunKey, RunReport, RunRequest, SampledResolver, SiteRequest,
    SteerReport, SteerRequest, WeighedStep,
};
use crate::control::api::{AcceptRequest, Failure, RecordDiff, Route};
use crate::driver::Driver;
use crate::driver::drills;
use crate::driver::engine::By;
use crate::driver::moves::{MoveOutcome as Done, Moved, Order, Steering};
use crate::failover::effect::{Effect, Issued};
use crate::failover::health::Health;
use crate::failover::moves::{Clock, Direction, Move, MoveId, Phase, PhaseKind};
use crate::failover::plan::{Impossible, Kind, MoveRequest as Wanted};
use crate::failover::refusal::Refusal;
use crate::failover::renames::Proposed;
use crate::failover::sample::{Evidence, is_late};
use crate::failover::steps::Steps;
use crate::failover::story;
use crate::name::Name;
use crate::observation::sight::Sight;
use crate::share::Share;
use crate::store::journal::{Actor, Row, Sequence};
use crate::time::Timestamp;

/// How many entries of the journal are told at a time.
const ROWS: u32 = 500;

/// What an operator asks for, in the words of the core.
pub(super) fn order(request: &MoveRequest) -> Result<Order, Failure> {
    let nothing = |what: String| Failure::new(what, "nothing was changed", "");
    Ok(Order {
        kind: match request.kind {
            MoveKind::Failover => Kind::Failover,
            MoveKind::Switchover => Kind::Switchover,
            MoveKind::Rollback => Kind::Rollback,
        },
        request: Wanted {
            to: request.to.clone().unwrap_or_default(),
            from: request.from.clone(),
            region: request.region.clone(),
        },
        steps: steps(&request.steps).map_err(nothing)?,
        dry_run: request.dry_run,
        plan: request.plan.clone(),
        reason: given(request.reason.as_deref()),
        overrides: request.overrides.clone(),
    })
}

/// A step by what was asked of late.
fn weighed(step: &crate::exposure::weights::WeighedStep) -> WeighedStep {
    WeighedStep {
        wanted: step.wanted.to_string(),
        units: step.units.to_string(),
        measured: step.measured.to_string(),
        great: step.great.iter().map(|(unit, share)| format!("{unit}: {share}")).collect(),
    }
}

/// The steps that were typed; the whole is always the last one.
fn steps(typed: &[String]) -> Result<Option<Steps>, String> {
    if typed.is_empty() {
        return Ok(None);
    }
    let shares = typed.iter().map(|share| share.parse::<Share>()).collect::<Result<Vec<_>, _>>()?;
    Steps::up_to_all(shares).map(Some)
}

/// The reason that was given, if it says anything.
pub(super) fn given(reason: Option<&str>) -> String {
    reason.filter(|reason| !reason.trim().is_empty()).unwrap_or("no reason given").to_owned()
}

/// What became of a move that was asked of `driver`.
pub(super) fn report(
    report: Result<Moved, Impossible>,
    order: &Order,
    origin: &Name,
    driver: &Driver,
) -> Result<MoveReport, Failure> {
    let serving = driver.serving();
    let region = order.request.region.as_deref();
    let report = report.map_err(|impossible| impossible_because(impossible, &Asked::of(driver, origin, region)))?;
    let outcome = match report.outcome {
        Done::NothingToDo if order.dry_run => MoveOutcome::DryRunClean,
        Done::NothingToDo => MoveOutcome::NothingToDo,
        Done::WouldChange => MoveOutcome::WouldChange,
        Done::Blocked => MoveOutcome::Blocked,
        Done::Begun { run } => MoveOutcome::Begun { run: run.0 },
        Done::Done { run, generation, serial, confirmed } => {
            MoveOutcome::Done { generation, serial: serial.0, confirmed, run: run.0 }
        }
    };
    let diff = report.changes.into_iter().map(|change| RecordDiff {
        name: change.owner,
        rtype: change.rtype,
        before: change.before,
        after: change.after,
    });
    let forecast = report.prospect.as_ref().map(|prospect| drains::prospect(prospect, serving, &report.origin));
    Ok(MoveReport {
        kind: kind(report.kind),
        zone: report.origin,
        to: report.to.to_string(),
        dry_run: order.dry_run,
        moves: report.moves.into_iter().map(|(region, site)| Route { region, site }).collect(),
        plan: report.plan,
        findings: report.findings.iter().map(|found| translate::finding(found, &order.overrides)).collect(),
        diff: diff.collect(),
        unlisted: report.unlisted,
        steps: report.steps.iter().map(ToString::to_string).collect(),
        weighed: report.weighed.iter().map(weighed).collect(),
        old_ttl: report.old_ttl.seconds(),
        old_until: report.old_until,
        old_share: report.old_share.map(|share| share.to_string()),
        offline: None,
        forecast,
        dark: report.dark.as_deref().map(drains::dark),
        proposals: Vec::new(),
        warnings: report.warnings,
        outcome,
    })
}

/// What became of a move, in a few words, and whether it was done.
pub(super) fn in_short(request: &MoveRequest, result: &Result<MoveReport, Failure>) -> (bool, String) {
    let (ok, how) = match result {
        Err(failure) => (false, failure.what.clone()),
        Ok(report) => match &report.outcome {
            MoveOutcome::Done { generation, confirmed: true, .. } => {
                (true, format!("published as generation {generation}"))
            }
            MoveOutcome::Done { generation, confirmed: false, .. } => {
                (false, format!("published as generation {generation}, NOT confirmed by our own sockets"))
            }
            MoveOutcome::Begun { run } => (true, format!("run {run} has begun")),
            MoveOutcome::Blocked => {
                let gates = report.findings.iter().filter(|found| found.stops()).map(|found| found.gate.as_str());
                (false, format!("blocked by {}", gates.collect::<Vec<_>>().join(", ")))
            }
            MoveOutcome::NothingToDo | MoveOutcome::DryRunClean | MoveOutcome::WouldChange => {
                (true, "nothing to do".to_owned())
            }
        },
    };
    let to = request.to.as_deref().map(|to| format!(" to {to}")).unwrap_or_default();
    (ok, format!("{} of {}{to}: {how}", request.kind, request.zone))
}

fn kind(kind: Kind) -> MoveKind {
    match kind {
        Kind::Failover => MoveKind::Failover,
        Kind::Switchover => MoveKind::Switchover,
        Kind::Rollback => MoveKind::Rollback,
    }
}

/// What of a zone was asked for, to be named in what can be typed instead.
struct Asked {
    zone: String,
    /// ` --region REGION`, if it was about one.
    only: String,
    /// The zone's moves.
    under_way: Vec<MoveStatus>,
}

impl Asked {
    fn of(driver: &Driver, origin: &Name, region: Option<&str>) -> Asked {
        Asked {
            zone: origin.as_ref().dotless(),
            only: region.map(|region| format!(" --region {region}")).unwrap_or_default(),
            under_way: under_way(driver, origin),
        }
    }

    /// How this move is meant on a command line: by its region where the zone has several.
    fn which(&self, id: MoveId) -> String {
        let several = self.under_way.len() > 1;
        let run = self.under_way.iter().find(|run| several && run.run == id.0);
        run.and_then(|run| run.from.first()).map(|route| format!(" --region {}", route.region)).unwrap_or_default()
    }

    /// Whether everybody has moved with it.
    fn has_moved(&self, id: MoveId) -> bool {
        self.under_way.iter().any(|run| run.run == id.0 && !run.back && matches!(&*run.phase, "draining" | "baking"))
    }

    fn is_back(&self, id: MoveId) -> bool {
        self.under_way.iter().any(|run| run.run == id.0 && run.back)
    }
}

/// Why a move can't be, and what can be done instead.
fn impossible_because(impossible: Impossible, asked: &Asked) -> Failure {
    let zone = &asked.zone;
    let what = impossible.to_string();
    let next = match impossible {
        Impossible::NoSite { given, known } => return UnknownName::new("site", &given, known).into(),
        Impossible::NoRegion { given, known } => return UnknownName::new("region", &given, known).into(),
        Impossible::Idle(word) => return translate::idle(&word),
        Impossible::Refused(refusal) => return refused(&refusal, asked),
        Impossible::Leaving { by, .. } => {
            let next = format!("`understudy abort {zone}{}`, which takes it back", asked.which(by));
            return Failure::new(what, "nothing was changed, and the move goes on", next);
        }
        Impossible::NotServed { .. } => "`understudy check` says what is wrong with its files".to_owned(),
        Impossible::NoWayBack => format!("`understudy failover {zone} --to SITE`, which says where to go"),
        Impossible::SeveralWaysBack { .. } => {
            format!("`understudy rollback {zone} --region REGION`, one after another")
        }
        Impossible::NotThere { .. } => "leave --from out, or name the site that answers now".to_owned(),
    };
    Failure::new(what, "nothing was changed", next)
}

/// Why the engine did not take something, and what can be done instead.
fn refused(refusal: &Refusal, asked: &Asked) -> Failure {
    let Asked { zone, only, under_way } = asked;
    let elsewhere = format!("`understudy failover {zone}{only} --to SITE` takes its place");
    let next = match refusal {
        Refusal::Doubted { .. } => {
            "`understudy state accept`, once you have compared it with what is served".to_owned()
        }
        Refusal::TooLate { id, .. } => format!("`understudy rollback {zone}{}`", asked.which(*id)),
        Refusal::Busy { by, .. } => {
            let which = asked.which(*by);
            let back = if asked.has_moved(*by) { "rollback" } else { "abort" };
            format!(
                "`understudy follow {zone}{which}` waits for its end, `understudy {back} {zone}{which}` takes it back; or at \
                 once, `understudy failover {zone} --to SITE` for everybody"
            )
        }
        Refusal::Stale { .. } => "the same with --dry-run, which shows the plan as it is now".to_owned(),
        Refusal::TargetDown { site } | Refusal::Unseen { site } | Refusal::CutOff { site } => {
            format!("another site; or, if {site} works, `understudy site up {site}`, and the same again")
        }
        Refusal::Held { id } if asked.is_back(*id) => {
            format!("`understudy resume {zone}{only}` lets it go on back; {elsewhere}")
        }
        Refusal::Held { .. } => format!(
            "`understudy resume {zone}{only}`; to go back, `understudy abort {zone}{only}`, or `understudy rollback \
             {zone}{only}` once all have moved"
        ),
        Refusal::Reversing { .. } => format!("`understudy hold {zone}{only}` stops it where it is; {elsewhere}"),
        Refusal::WhichMove => under_way.iter().map(MoveStatus::in_short).collect::<Vec<_>>().join("; "),
        Refusal::NoMove if under_way.is_empty() => format!("`understudy history {zone}` shows what was done"),
        Refusal::NoMove => under_way.iter().map(MoveStatus::in_short).collect::<Vec<_>>().join("; "),
        Refusal::SamePerson { id, .. } => {
            format!("have another user type `understudy approve {zone}{}`", asked.which(*id))
        }
        Refusal::NotHeld { id } | Refusal::NotAwaited { id, .. } => {
            format!("`understudy follow {zone}{}` shows how it goes on", asked.which(*id))
        }
        _ => "understudy status".to_owned(),
    };
    Failure::new(refusal.to_string(), "nothing was changed", next)
}

impl Daemon {
    pub(super) fn steer(&mut self, request: &SteerRequest, actor: Actor) -> Result<SteerReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let (steering, done) = match request.action {
            Action::Hold => (Steering::Hold, "is held"),
            Action::Resume => (Steering::Resume, "goes on"),
            Action::Abort => (Steering::Abort, "is given up"),
            Action::Approve => (Steering::Approve, "is approved"),
        };
        let region = request.region.as_deref();
        let regions: Vec<String> = self.routes_of(&origin).into_iter().map(|route| route.region).collect();
        if let Some(given) = region.filter(|given| !regions.iter().any(|known| known == given)) {
            return Err(UnknownName::new("region", given, regions).into());
        }
        let meant = |run: &MoveStatus| region.is_none_or(|region| run.from.iter().any(|route| route.region == region));
        let runs =
            |daemon: &Daemon| daemon.moves_of(&origin).into_iter().filter(meant).map(|run| run.run).collect::<Vec<_>>();
        let before = runs(self).first().copied();
        let by = By { actor, reason: given(request.reason.as_deref()) };
        match self.driver.steer(&origin, steering, region, &by).map_err(failed)? {
            Some(refusal) => Err(refused(&refusal, &Asked::of(&self.driver, &origin, region))),
            None => {
                let run = before.filter(|run| runs(self).contains(run)).map(|run| RunKey { zone: origin.clone(), run });
                let which = before.map(|run| format!("move {run} of ")).unwrap_or_default();
                Ok(SteerReport { done: vec![format!("{which}{} {done}", request.zone)], run })
            }
        }
    }

    pub(super) fn force_site(&mut self, request: &SiteRequest, actor: Actor) -> Result<SteerReport, Failure> {
        let only = request.zone.as_deref().map(|zone| translate::zone_name(zone, self.driver.setup())).transpose()?;
        let zones =
            self.driver.setup().zones.iter().filter(|zone| only.as_ref().is_none_or(|only| *only == zone.origin));
        let having = |zone: &&crate::driver::setup::ZoneSpec| zone.sites.iter().any(|site| site.name == request.site);
        let origins: Vec<Name> = zones.clone().filter(having).map(|zone| zone.origin.clone()).collect();
        if origins.is_empty() {
            let known: std::collections::BTreeSet<String> =
                zones.flat_map(|zone| zone.sites.iter().map(|site| site.name.clone())).collect();
            return Err(UnknownName::new("site", &request.site, known).into());
        }
        let (health, word) = match request.health {
            ForcedHealth::Up => (Some(Health::Up), "counts as up"),
            ForcedHealth::Down => (Some(Health::Down), "counts as down"),
            ForcedHealth::Auto => (None, "counts as it is measured"),
        };
        let by = By { actor, reason: given(request.reason.as_deref()) };
        let mut done = Vec::new();
        for origin in origins {
            let zone = origin.as_ref().dotless();
            let refusal = self.driver.force_site(&origin, &request.site, health, &by).map_err(failed)?;
            done.push(match refusal {
                None => format!("{zone}: {} {word}", request.site),
                Some(refusal) => format!("{zone}: {refusal}"),
            });
            if request.health == ForcedHealth::Down {
                done.extend(self.stays_there(&origin, &request.site));
            }
            let held = |run: &MoveStatus| {
                let why = run.held.as_ref().filter(|_| run.to == request.site)?;
                let (kind, run) = (run.kind, run.run);
                Some(format!("{zone}: {kind} {run} is HELD: {why}; `understudy status` says what to type"))
            };
            done.extend(self.moves_of(&origin).iter().filter_map(held));
        }
        Ok(SteerReport { done, run: None })
    }

    /// That nobody is moved away from a site by its being held for down, and what moves whoever is answered from it.
    fn stays_there(&self, origin: &Name, site: &str) -> Option<String> {
        let zone = origin.as_ref().dotless();
        let routes = self.routes_of(origin);
        let there = routes.iter().filter(|route| route.site == site);
        let regions: Vec<&str> = there.map(|route| route.region.as_str()).collect();
        if regions.is_empty() {
            return None;
        }
        let from = if regions.len() == routes.len() { String::new() } else { format!(" --from {site}") };
        let others = self.sites_of(origin).into_iter().filter(|other| other.site != site && other.health != "down");
        let others: Vec<String> = others.map(|other| other.site).collect();
        let next = match others.as_slice() {
            [] => "and no other site is left to move them to that is not down".to_owned(),
            [only] => format!("`understudy failover {zone}{from} --to {only}` moves them"),
            several => format!("`understudy failover {zone}{from} --to SITE` moves them ({})", several.join(", ")),
        };
        Some(format!(
            "{zone}: no traffic moves by that: {} go on being answered from {site}; {next}",
            regions.join(", ")
        ))
    }

    pub(super) fn accept_state(&mut self, request: &AcceptRequest, actor: Actor) -> Result<SteerReport, Failure> {
        let by = By { actor, reason: given(request.reason.as_deref()) };
        let accepted = self.driver.accept_state(&by).map_err(failed)?;
        if accepted.is_empty() {
            return Err(Failure::new("the state is not in doubt", "nothing was changed", ""));
        }
        let line = |origin: &Name| format!("{}: moves may begin", origin.as_ref().dotless());
        Ok(SteerReport { done: accepted.iter().map(line).collect(), run: None })
    }

    /// The moves of a zone that are under way.
    pub(super) fn moves_of(&self, origin: &Name) -> Vec<MoveStatus> {
        under_way(&self.driver, origin)
    }

    /// Until when caches may hold what a zone does not answer any more.
    pub(super) fn old_until(&self, origin: &Name) -> Option<Timestamp> {
        let state = self.driver.traffic(origin)?;
        state.old_ttl_until(state.base.keys(), crate::driver::now())
    }

    /// What it is not known to be safe to go on with.
    pub(super) fn caution(&self) -> Option<String> {
        if let Some((origin, again)) = self.driver.stuck() {
            return Some(format!(
                "what was decided on {origin} could not be written to the state: it is not done, and tried again at {again}\n    \
                 try: make room, or see to the rights of the state directory; the log says what is wrong"
            ));
        }
        let zones = self.driver.setup().zones.iter();
        let doubt = zones.filter_map(|zone| self.driver.traffic(&zone.origin)?.doubt.clone()).next()?;
        Some(format!(
            "no move begins: {doubt}\n    try: compare what is served with what you know, then `understudy state accept`"
        ))
    }

    /// How a run stands, and what happened in it.
    pub(super) fn run_report(&self, request: &RunRequest) -> Result<RunReport, Failure> {
        let origin = &request.zone;
        let rows = self.driver.rows_since(origin, Sequence(request.after), ROWS).map_err(failed)?;
        let now = self.driver.traffic(origin).and_then(|state| {
            let id = MoveId(request.run);
            state.find(id).map(|moving| status(id, moving))
        });
        let mut ended = None;
        let mut events = Vec::new();
        for row in &rows {
            ended = ending(row, request.run).or(ended);
            let lines = told(row).into_iter().filter(|line| story::is_about(line, request.run));
            events.extend(lines.map(|text| RunEvent { sequence: row.sequence.0, at: row.at, text }));
        }
        let looked_at = rows.last().map_or(request.after, |row| row.sequence.0);
        let more = rows.len() == ROWS as usize;
        // What was shown before tells how it ended, if it has.
        if now.is_none() && ended.is_none() && !more {
            let all = self.driver.rows_since(origin, Sequence(0), u32::MAX).map_err(failed)?;
            ended = all.iter().rev().find_map(|row| ending(row, request.run));
            let known = || all.iter().flat_map(told).any(|line| story::is_about(&line, request.run));
            if ended.is_none() && known() {
                let text =
                    format!("move {}: ended with the zone, which was taken out of the configuration", request.run);
                ended = Some(Ending { outcome: "withdrawn".into(), text });
            } else if ended.is_none() {
                let what = format!("there was never a run {} of {origin}", request.run);
                let next = format!("understudy history {}", origin.as_ref().dotless());
                return Err(Failure::new(what, "", next));
            }
        }
        Ok(RunReport { zone: origin.clone(), run: request.run, now, ended, events, looked_at, more })
    }

    pub(super) fn history(&self, request: &HistoryRequest) -> Result<HistoryReport, Failure> {
        // A zone that is served no more has a history, too.
        let name = |zone: &str| Name::absolute(zone).or_else(|_| translate::zone_name(zone, self.driver.setup()));
        let only = request.zone.as_deref().map(name).transpose()?;
        // Not every row has something to tell.
        let rows_wanted = request.limit.saturating_mul(8).saturating_add(100);
        let mut entries = Vec::new();
        let store = self.driver.store();
        let rows = match &only {
            Some(origin) => self.driver.rows_of(origin, rows_wanted).map_err(failed)?,
            None => store.journal().recent(rows_wanted).map_err(Failure::from)?,
        };
        for (stream, row) in rows {
            let zone = stream.split_once('/').and_then(|(_, zone)| Name::absolute(zone).ok());
            // What is moved in a drill is not moved for real.
            let of_drill = |text: &str| stream.starts_with(drills::STREAM) && !text.starts_with(drills::STREAM);
            let front = |text: &str| if of_drill(text) { "in a drill: " } else { "" };
            for text in told(&row).into_iter().map(|text| format!("{}{text}", front(&text))) {
                entries.push(HistoryEntry {
                    at: row.at,
                    actor: row.actor.name.clone(),
                    uid: row.actor.uid,
                    zone: zone.clone(),
                    what: text,
                    reason: row.reason.clone(),
                    overridden: Vec::new(),
                    outcome: String::new(),
                    sequence: Some(row.sequence.0),
                    generation: Some(row.generation),
                });
            }
        }
        for deed in store.audit().latest(request.limit).map_err(Failure::from)? {
            let names =
                |origin: &Name| deed.command.split_whitespace().any(|word| Name::absolute(word).as_ref() == Ok(origin));
            if only.as_ref().is_some_and(|origin| !names(origin)) {
                continue;
            }
            entries.push(HistoryEntry {
                at: deed.at,
                actor: deed.actor.name,
                uid: deed.actor.uid,
                zone: None,
                what: deed.command,
                reason: deed.reason,
                overridden: deed
                    .overrides
                    .iter()
                    .map(|word| format!("{}@{}", word.gate, word.digest.short()))
                    .collect(),
                outcome: deed.outcome,
                sequence: None,
                generation: None,
            });
        }
        if let (Some(given), true) = (&request.zone, entries.is_empty()) {
            // Of a zone that is served nothing may have been done yet; of a slip nothing is known.
            translate::zone_name(given, self.driver.setup())?;
        }
        entries.sort_by_key(|entry| (entry.at, entry.sequence));
        let surplus = entries.len().saturating_sub(request.limit as usize);
        entries.drain(..surplus);
        Ok(HistoryReport { entries })
    }
}

/// What a row tells, in sentences.
pub(super) fn told(row: &Row) -> Vec<String> {
    let lines = row.event["told"].as_array().into_iter().flatten();
    let lines: Vec<String> = lines.filter_map(|line| line.as_str().map(str::to_owned)).collect();
    match (lines.is_empty(), &row.event["reload"]) {
        (true, serde_json::Value::Object(_)) => vec!["the zone files were taken over".into()],
        _ => lines,
    }
}

/// How a run ended, if this row tells.
fn ending(row: &Row, run: u64) -> Option<Ending> {
    let effects: Vec<Issued> = serde_json::from_value(row.effects.clone()).ok()?;
    effects.into_iter().find_map(|issued| match issued.effect {
        Effect::Ended(ended) if ended.id == MoveId(run) => {
            let text = format!("{} {run}: {}", story::kind(ended.last.plan.kind), story::ended(&ended));
            Some(Ending { outcome: story::outcome(&ended.outcome).into(), text })
        }
        _ => None,
    })
}

/// The moves of a zone that are under way.
pub(super) fn under_way(driver: &Driver, origin: &Name) -> Vec<MoveStatus> {
    let Some(state) = driver.traffic(origin) else { return Vec::new() };
    state.challengers.iter().chain(&state.moves).map(|(id, moving)| status(*id, moving)).collect()
}

pub(super) fn status(id: MoveId, moving: &Move) -> MoveStatus {
    let until = match &moving.phase {
        Phase::AwaitingApproval { until } | Phase::Draining { until, .. } => Some(*until),
        Phase::Lowering { clock: Clock::Until(until), .. } | Phase::Shifting { clock: Clock::Until(until) } => {
            Some(*until)
        }
        Phase::Baking { observed, since: Some(since), .. } => {
            Some(since.after(moving.policy.bake.saturating_sub(*observed)))
        }
        _ => None,
    };
    MoveStatus {
        run: id.0,
        kind: kind(moving.plan.kind),
        by: moving.plan.actor.name.clone(),
        from: moving
            .base
            .iter()
            .map(|(region, origin)| Route { region: region.to_string(), site: origin.site.to_string() })
            .collect(),
        to: moving.plan.to.to_string(),
        phase: moving.phase.kind().to_string(),
        share: moving.published.to_string(),
        back: moving.direction == Direction::Back,
        until,
        basis: match &moving.phase {
            Phase::Lowering { clock: Clock::Until(_), basis } | Phase::Draining { basis, .. } => Some(basis.clone()),
            _ => None,
        },
        bound: moving.watched.bound,
        sample: moving.watched.sample.as_ref().map(|sample| sample.counts.clone()).unwrap_or_default(),
        late: sampled(moving, story::late, is_late),
        unsure: sampled(moving, |found, _| story::unsure(found), |sight| !is_late(sight)),
        renames: proposed(moving),
        held: moving.hold.as_ref().map(|hold| story::why(&hold.why)),
        since: moving.times.last().map_or(moving.started, |(_, at)| *at),
        began: moving.started,
    }
}

/// The renames that would lead users round what caches hold, as long as these are waited for.
pub(super) fn proposed(moving: &Move) -> Vec<ProposedRename> {
    let watched = &moving.watched;
    let is_done = |rename: &&Proposed| watched.turned.iter().any(|turned| turned.lever == rename.lever);
    let is_draining = moving.phase.kind() == PhaseKind::Draining;
    let renames = watched.renames.iter().filter(|rename| is_draining && !is_done(rename));
    let one = |rename: &Proposed| ProposedRename {
        lever: rename.lever.clone(),
        command: rename.command.clone(),
        gain: rename.gain.clone(),
        against: rename.against.clone(),
        by_policy: rename.by_policy,
        text: story::proposed(rename),
    };
    renames.map(one).collect()
}

/// What resolvers gave, as far as it is not what our zone gives.
fn sampled(
    moving: &Move,
    text: impl Fn(&Evidence, Timestamp) -> String,
    wanted: impl Fn(Sight) -> bool,
) -> Vec<SampledResolver> {
    let Some(sample) = &moving.watched.sample else { return Vec::new() };
    let bound = moving.watched.bound.unwrap_or(moving.phase_since());
    let found = sample.evidence.iter().filter(|found| wanted(found.sight));
    let one = |found: &Evidence| SampledResolver {
        name: found.resolver.clone(),
        sight: found.sight,
        question: found.question.clone(),
        said: found.said.clone(),
        ttl: found.ttl.map(crate::time::Ttl::seconds),
        at: found.at,
        past_seconds: found.past(bound).as_secs(),
        text: text(found, bound),
    };
    found.map(one).collect()
}
