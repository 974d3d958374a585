//! Between what operators ask of drills and what the driver does.

use std::net::SocketAddr;

use super::{Daemon, failed, moves, translate};
use crate::config::nearest::UnknownName;
use crate::control::api::Failure;
use crate::control::api::drill::{
    DrillAbort, DrillBegun, DrillReport, DrillRequest, DrillRunReport, DrillRunRequest, DrillsReport, DrillsRequest,
};
use crate::control::api::moves::{RunEvent, SteerReport};
use crate::driver::drills::{CannotDrill, DrillOrder};
use crate::driver::engine::By;
use crate::failover::plan::Impossible;
use crate::name::Name;
use crate::store::journal::{Actor, Sequence};

/// How many entries of the journal are told at a time.
const ROWS: u32 = 500;

impl Daemon {
    /// Begins a drill.
    pub(super) fn begin_drill(&mut self, request: &DrillRequest, actor: &Actor) -> Result<DrillBegun, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let order = DrillOrder {
            to: request.to.clone(),
            region: request.region.clone(),
            reason: moves::given(request.reason.as_deref()),
        };
        let after = self.driver.drill_rows_end(&origin).map_err(failed)?.0;
        let drill = self.driver.order_drill(&origin, &order, actor).map_err(cannot)?;
        Ok(DrillBegun { zone: origin, drill: drill.drill, from: drill.from, to: drill.to, after })
    }

    /// Ends a drill by the word of an operator.
    pub(super) fn abort_drill(&mut self, request: &DrillAbort, actor: Actor) -> Result<SteerReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let by = By { actor, reason: moves::given(request.reason.as_deref()) };
        let Some(drill) = self.driver.abort_drill(&origin, &by) else {
            let what = format!("no drill of {} is under way", origin.as_ref().dotless());
            return Err(Failure::new(what, "nothing was changed", "understudy drill --list"));
        };
        Ok(SteerReport { done: vec![format!("drill {drill} of {} is ended", request.zone)], run: None })
    }

    /// How a drill stands, and what happened in it.
    pub(super) fn drill_run(&self, request: &DrillRunRequest) -> Result<DrillRunReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let zone = origin.as_ref().dotless();
        // How it stands is looked at first: what is told in the journal by then is all that there is of one that is over.
        let standing = self.driver.drills().under_way().filter(|standing| standing.zone == origin);
        let known = self.driver.drills().of(&origin);
        let meant = known.iter().rev().find(|drill| request.drill.is_none_or(|number| drill.drill == number));
        let Some(drill) = meant.cloned() else {
            let which = request.drill.map_or("no drill".to_owned(), |number| format!("no drill {number}"));
            return Err(Failure::new(format!("there was {which} of {zone}"), "", "understudy drill --list"));
        };
        let rows = self.driver.drill_rows_since(&origin, Sequence(request.after), ROWS).map_err(failed)?;
        let ended = drill.end.as_ref().map(|end| end.at);
        let own = rows.iter().filter(|row| row.at >= drill.began && ended.is_none_or(|ended| row.at <= ended));
        let events = own.flat_map(|row| {
            moves::told(row).into_iter().map(|text| RunEvent { sequence: row.sequence.0, at: row.at, text })
        });
        let standing = standing.filter(|standing| standing.drill == drill.drill);
        let state = standing.as_ref().and_then(|standing| standing.state.as_ref());
        let now = state.into_iter().flat_map(|state| &state.moves);
        Ok(DrillRunReport {
            zone: origin,
            now: now.map(|(id, moving)| moves::status(*id, moving)).collect(),
            listeners: standing.as_ref().map(|standing| standing.listeners.clone()).unwrap_or_default(),
            events: events.collect(),
            looked_at: rows.last().map_or(request.after, |row| row.sequence.0),
            more: rows.len() == ROWS as usize,
            drill,
        })
    }

    /// Where the drill of a zone is answered that is under way.
    pub(super) fn drill_listeners(&self, origin: &Name) -> Vec<SocketAddr> {
        let standing = self.driver.drills().under_way().filter(|standing| standing.zone == *origin);
        standing.map(|standing| standing.listeners).unwrap_or_default()
    }

    /// What drills there were.
    pub(super) fn drills(&self, request: &DrillsRequest) -> Result<DrillsReport, Failure> {
        // Of a zone that is served no more there may be some, too.
        let name = |zone: &str| translate::zone_name(zone, self.driver.setup());
        let only: Option<Name> = request.zone.as_deref().map(name).transpose()?;
        let all = self.driver.drills().all().into_iter();
        let all = all.filter(|(zone, _)| only.as_ref().is_none_or(|only| only == zone));
        let reports = all
            .flat_map(|(zone, drills)| drills.into_iter().map(move |drill| DrillReport { zone: zone.clone(), drill }));
        let mut drills: Vec<DrillReport> = reports.collect();
        drills.sort_by_key(|report| report.drill.began);
        Ok(DrillsReport { drills })
    }
}

/// Why a drill does not begin.
fn cannot(error: CannotDrill) -> Failure {
    let meaning = "nothing was changed";
    let what = error.to_string();
    let next = match error {
        CannotDrill::OneSite { .. } => "a second `[[zone.site]]` in its configuration".to_owned(),
        CannotDrill::UnderWay { zone, .. } => {
            let zone = zone.as_ref().dotless();
            format!("understudy drill {zone} --attach, which shows it, or --abort, which ends it")
        }
        CannotDrill::Moving { zone, .. } => {
            let zone = zone.as_ref().dotless();
            format!("understudy follow {zone}, and drill it once that is over")
        }
        CannotDrill::Doubted { .. } => {
            "understudy state accept, once you have compared it with what is served".to_owned()
        }
        CannotDrill::Nothing { .. } => "--to with another site".to_owned(),
        CannotDrill::Impossible(Impossible::NoSite { given, known }) => {
            return UnknownName::new("site", &given, known).into();
        }
        CannotDrill::Impossible(Impossible::NoRegion { given, known }) => {
            return UnknownName::new("region", &given, known).into();
        }
        CannotDrill::Impossible(_) => "understudy status".to_owned(),
        CannotDrill::Store(error) => return error.into(),
        CannotDrill::System(_) => "allow more threads (`ulimit -u`, `TasksMax=`)".to_owned(),
    };
    Failure::new(what, meaning, next)
}
