//! What an operator has to see first of how things stand: what is wrong, and what to type.

use super::{indented, run, within};
use crate::control::api::moves::MoveStatus;
use crate::control::api::rename::RenameStatus;
use crate::control::api::{ContentStatus, Route, SiteStatus, StatusReport, ZoneStatus};
use crate::count::counted;
use crate::failover::story::LAG;

/// How wide a sentence is; commands stand on lines of their own, whole.
const WIDTH: usize = 80;
/// What to type where files are wrong.
const MEND: &str = "understudy check   # all that is wrong; mend it, then understudy reload";
/// How many matters are shown; the rest stands below, with its zones.
const SHOWN: usize = 10;

/// Something that somebody has to look at. The most urgent ones come first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Matter {
    urgency: Urgency,
    /// What is wrong, in a sentence.
    what: String,
    /// What to type, the likeliest first, each with what it does where that is not plain.
    typed: Vec<String>,
}

/// How soon something has to be looked at, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Users are not answered.
    Unanswered,
    /// Users are sent to a site that is down.
    SentAstray,
    /// Nothing goes on until somebody decides.
    Stopped,
    /// What is served is not what somebody wanted served.
    NotTakenOver,
    /// Others are slow.
    Late,
}

impl StatusReport {
    /// What is wrong and what to type, or that nothing is.
    pub(super) fn attention(&self) -> String {
        let mut matters: Vec<Matter> = self.zones.iter().flat_map(of_zone).collect();
        matters.extend(self.of_reload());
        matters.sort();
        let mut text = self.caution.as_ref().map_or(String::new(), |caution| caution_of(caution));
        matters.iter().take(SHOWN).for_each(|matter| text += &matter.told());
        if let Some(more) = matters.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            text += &format!("ATTENTION: {more} more of the kind: see below\n");
        }
        if text.is_empty() { self.calm() } else { text + "\n" }
    }

    /// A reload that was not taken over for another reason than a zone, such as an error in the configuration.
    fn of_reload(&self) -> Option<Matter> {
        let last = self.last_reload.as_ref().filter(|last| !last.ok)?;
        let is_fine =
            |zone: &ZoneStatus| matches!(zone.content, ContentStatus::Loaded | ContentStatus::QueuedEdit { .. });
        let summary = last.summary.lines().next().filter(|_| self.zones.iter().all(is_fine))?;
        let what = format!("the reload of {} was not taken over, or not in full: {summary}", last.at);
        Some(Matter { urgency: Urgency::NotTakenOver, what, typed: vec![MEND.into()] })
    }

    /// That nobody has to do anything.
    fn calm(&self) -> String {
        let moves = self.zones.iter().map(|zone| zone.moves.len()).sum();
        let moving = match moves {
            0 => "no traffic is being moved".to_owned(),
            1 => "1 move is under way and goes on by itself".to_owned(),
            _ => format!("{moves} moves are under way and go on by themselves"),
        };
        let zones = counted(self.zones.len(), "zone");
        format!("Nothing needs attention: {zones} answered, and {moving}.\n")
    }
}

/// A caution, which has what to do about it in lines of its own.
fn caution_of(caution: &str) -> String {
    let (what, rest) = caution.split_once('\n').unwrap_or((caution, ""));
    within(WIDTH, "ATTENTION: ", what) + &indented(rest.trim_start_matches(' '), "    ")
}

impl Matter {
    fn told(&self) -> String {
        within(WIDTH, "ATTENTION: ", &self.what) + &run::typed(&self.typed)
    }
}

fn of_zone(zone: &ZoneStatus) -> Vec<Matter> {
    let name = zone.name.as_ref().dotless();
    let mut matters: Vec<Matter> = of_content(zone, &name).into_iter().collect();
    matters.extend(zone.sites.iter().filter_map(|site| of_site(zone, &name, site)));
    matters.extend(zone.moves.iter().flat_map(|now| of_move(zone, &name, now)));
    matters.extend(zone.renames.iter().filter_map(|rename| of_rename(&name, rename)));
    matters
}

fn of_content(zone: &ZoneStatus, name: &str) -> Option<Matter> {
    let (urgency, what, why, typed) = match &zone.content {
        ContentStatus::Loaded | ContentStatus::QueuedEdit { .. } => return None,
        ContentStatus::Broken { diagnostics } => (
            Urgency::Unanswered,
            "queries for it FAIL: its files can't be served, and nothing was before",
            diagnostics.first(),
            MEND,
        ),
        ContentStatus::LastGood { diagnostics } => (
            Urgency::NotTakenOver,
            "its files can't be taken over; users are answered from the last good content",
            diagnostics.first(),
            MEND,
        ),
        ContentStatus::RefusedEdit { .. } => (
            Urgency::NotTakenOver,
            "a gate refused an edit; users are answered as before it",
            None,
            "understudy reload   # says what the gate found, and how to accept it",
        ),
    };
    let why = why.and_then(|why| why.lines().next()).map(|why| format!(" ({why})")).unwrap_or_default();
    Some(Matter { urgency, what: format!("{name}: {what}{why}"), typed: vec![typed.to_owned()] })
}

/// A site that is down while users are answered from it: all of them, or those that a move has not taken away yet.
fn of_site(zone: &ZoneStatus, name: &str, site: &SiteStatus) -> Option<Matter> {
    let there: Vec<&Route> = zone.routes.iter().filter(|route| route.site == site.site).collect();
    if site.health != "down" || there.is_empty() {
        return None;
    }
    let regions: Vec<&str> = there.iter().map(|route| route.region.as_str()).collect();
    let verb = if regions.len() == 1 { "is" } else { "are" };
    let goes_on = |now: &MoveStatus| !now.back && now.held.is_none() && now.phase != "awaiting approval";
    let leaving = zone.moves.iter().find(|now| now.to != site.site && goes_on(now) && takes_all(now, &regions));
    let moved = match leaving {
        Some(now) => format!("{} {} takes them to {} by and by", now.kind, now.run, now.to),
        None => "nobody is moved away from it unless somebody says so".to_owned(),
    };
    let what = format!("{name}: {} {verb} answered from {}, which is down; {moved}", regions.join(", "), site.site);
    let from = if regions.len() == zone.routes.len() { String::new() } else { format!(" --from {}", site.site) };
    let others = zone.sites.iter().filter(|other| other.site != site.site && other.health != "down");
    let mut others: Vec<&str> = others.map(|other| other.site.as_str()).collect();
    others.sort_by_key(|other| leaving.is_none_or(|now| now.to != **other));
    let mut typed: Vec<String> =
        others.iter().map(|other| format!("understudy failover {name}{from} --to {other}   # at once")).collect();
    if typed.is_empty() {
        typed.push("understudy site up SITE   # one that works: by what is known here, none does".into());
    }
    Some(Matter { urgency: Urgency::SentAstray, what, typed })
}

/// Whether a move goes about all of these regions.
fn takes_all(now: &MoveStatus, regions: &[&str]) -> bool {
    regions.iter().all(|region| now.from.iter().any(|route| route.region == *region))
}

fn of_move(zone: &ZoneStatus, name: &str, now: &MoveStatus) -> Vec<Matter> {
    let (kind, run, to, share) = (now.kind, now.run, &now.to, &now.share);
    let stopped = |what: String, typed| Matter { urgency: Urgency::Stopped, what, typed };
    let mut matters = Vec::new();
    if let Some(why) = &now.held {
        let is_down = |site: &str| zone.sites.iter().any(|known| known.site == site && known.health == "down");
        let back = if now.back { ", on its way back," } else { "" };
        let what = format!("{name}: {kind} {run}{back} is HELD at {share} on {to}: {why}");
        matters.push(stopped(what, run::ways_on(name, now, zone.moves.len() > 1, is_down)));
    }
    if now.phase == "awaiting approval" {
        let until = now.until.map(|until| format!(", until {until}")).unwrap_or_default();
        let what = format!("{name}: {kind} {run} to {to} waits for another user than {} to approve it{until}", now.by);
        let only = run::only_region(now, zone.moves.len() > 1);
        let typed = vec![
            format!("understudy approve {name}{only}"),
            format!("understudy abort {name}{only}   # it does not begin"),
        ];
        matters.push(stopped(what, typed));
    }
    if let Some(who) = now.basis.as_ref().and_then(|basis| basis.strip_prefix(LAG)) {
        let what = format!("{name}: {kind} {run} waits for other name servers of the zone{who}");
        let typed =
            vec![format!("dig @SERVER {name} SOA   # have that server transfer the zone; the run goes on by itself")];
        matters.push(Matter { urgency: Urgency::Late, what, typed });
    }
    // What resolvers said stays known when nobody waits for them any more.
    if now.phase == "draining" && !now.late.is_empty() {
        let late = now.late.iter().map(|found| found.name.as_str()).collect::<Vec<_>>().join(", ");
        let what = format!("{name}: {kind} {run} waits for resolvers that still give old answers: {late}");
        let typed = vec![
            format!("understudy drain {name}   # how many users are behind them"),
            format!("understudy rename {name}   # by which names users can be led round them"),
        ];
        matters.push(Matter { urgency: Urgency::Late, what, typed });
    }
    matters
}

/// A rename that waits for somebody.
fn of_rename(name: &str, rename: &RenameStatus) -> Option<Matter> {
    let first = rename.waits_for.first()?;
    let RenameStatus { lever, fresh, .. } = rename;
    Some(Matter {
        urgency: Urgency::Late,
        what: format!("{name}: the rename of {lever} to {fresh} waits: {first}"),
        typed: vec![format!("understudy rename {name}   # all that it waits for; it goes on by itself behind that")],
    })
}
