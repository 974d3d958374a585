//! How a run stands, and what happens in it.

use crate::cli::Exit;
use crate::cli::render::Report;
use crate::control::api::moves::{Ending, HistoryEntry, HistoryReport, MoveStatus, RunEvent, RunKey, SteerReport};

/// What stands in the journal where nobody said why.
const NO_REASON: &str = "no reason given";

/// A line for something that happened.
pub(in crate::cli) fn event(event: &RunEvent) -> String {
    format!("{}  {}\n", event.at, event.text)
}

/// How a move stands, in a line.
pub(in crate::cli) fn progress(now: &MoveStatus) -> String {
    let regions: Vec<&str> = now.from.iter().map(|route| route.region.as_str()).collect();
    let from: std::collections::BTreeSet<&str> = now.from.iter().map(|route| route.site.as_str()).collect();
    let from = from.into_iter().collect::<Vec<_>>().join(", ");
    let way = if now.back { "back to" } else { "->" };
    let (from, to) = if now.back { (now.to.as_str(), from.as_str()) } else { (from.as_str(), now.to.as_str()) };
    let mut text =
        format!("{} {}: {} {from} {way} {to}, {} at {}", now.kind, now.run, regions.join(", "), now.share, now.to);
    text += &format!(", {}", now.phase);
    if now.phase == "awaiting approval" {
        text += &format!(" (asked for by {})", now.by);
    }
    if let Some(why) = &now.held {
        text += &format!(", HELD: {why}");
    } else if let Some(until) = now.until {
        text += &format!(" until {}", until);
    }
    text
}

/// What is said of a run that is held.
pub(in crate::cli) fn held(key: &RunKey, now: &MoveStatus) -> String {
    let zone = key.zone.as_ref().dotless();
    let means = match now.back {
        true => format!("{} of the clients are still answered from {} until somebody decides", now.share, now.to),
        false => format!("it stays at {} on {} until somebody decides", now.share, now.to),
    };
    // Whether the zone has other moves is not known here; to name the region of one that has one is never wrong.
    let ways = ways_on(&zone, now, now.from.len() == 1, |_| false);
    format!("\nHELD: {}\n    means: {means}\n{}", now.held.as_deref().unwrap_or_default(), typed(&ways))
}

/// What can be typed, each on a line of its own, to be copied.
pub(super) fn typed(ways: &[String]) -> String {
    let label = |at| if at == 0 { "type:" } else { "  or:" };
    ways.iter().enumerate().map(|(at, way)| format!("    {} {way}\n", label(at))).collect()
}

/// What can be typed about a move that is held, the likeliest first. `several`: whether the zone has other moves.
pub(super) fn ways_on(zone: &str, now: &MoveStatus, several: bool, is_down: impl Fn(&str) -> bool) -> Vec<String> {
    let only = only_region(now, several);
    let resume = format!("understudy resume {zone}{only}");
    let away = if now.back {
        format!("understudy failover {zone}{only} --to SITE   # takes its place")
    } else if matches!(now.phase.as_str(), "draining" | "baking") {
        format!("understudy rollback {zone}{only}   # everybody goes back")
    } else {
        format!("understudy abort {zone}{only}   # clients go back the way they came")
    };
    // It does not go on to a site that is down.
    let ahead = if now.back { now.from.first().map(|route| &route.site) } else { Some(&now.to) };
    match ahead.filter(|site| is_down(site)) {
        Some(site) => vec![away, format!("understudy site up {site}   # if it works; then {resume}")],
        None => vec![resume + "   # it goes on", away],
    }
}

/// What means this move and no other of its zone, where there are `several`.
pub(super) fn only_region(now: &MoveStatus, several: bool) -> String {
    let region = now.from.first().filter(|_| several);
    region.map(|route| format!(" --region {}", route.region)).unwrap_or_default()
}

/// What the end of a run means to a script.
pub(in crate::cli) fn exit(ending: &Ending) -> Exit {
    match ending.outcome.as_str() {
        "done" => Exit::Done,
        "reversed" | "aborted" => Exit::Reversed,
        "refused" => Exit::Blocked,
        _ => Exit::Error,
    }
}

impl Report for SteerReport {
    fn text(&self) -> String {
        self.done.iter().map(|line| format!("{line}\n")).collect()
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl Report for HistoryReport {
    fn text(&self) -> String {
        if self.entries.is_empty() {
            return "nothing was done yet\n".into();
        }
        self.entries.iter().map(entry).collect()
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

fn entry(entry: &HistoryEntry) -> String {
    let zone = entry.zone.as_ref().map(|zone| format!("{}: ", zone.as_ref().dotless())).unwrap_or_default();
    let mut text = format!("{}  {:<12} {zone}{}\n", entry.at, entry.actor, entry.what);
    let mut more = |label: &str, what: &str| {
        if !what.is_empty() {
            text += &format!("{:25}{label}{what}\n", "");
        }
    };
    more("", &entry.outcome);
    more("because: ", if entry.reason == NO_REASON { "" } else { &entry.reason });
    entry.overridden.iter().for_each(|word| more("overridden: ", word));
    text
}
