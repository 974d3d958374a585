//! How a run stands, and what happens in it.

use crate::cli::Exit;
use crate::cli::render::Report;
use crate::config::dotless;
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
    let zone = dotless(key.zone.as_ref());
    let region = match now.from.as_slice() {
        [only] => format!(" --region {}", only.region),
        _ => String::new(),
    };
    if now.back {
        return format!(
            "\nHELD: {}\n    means: {} of the clients are still answered from {} until somebody decides\n    try: \
             `understudy resume {zone}{region}`, or `understudy failover {zone}{region} --to SITE`\n",
            now.held.as_deref().unwrap_or_default(),
            now.share,
            now.to
        );
    }
    let back = if matches!(now.phase.as_str(), "draining" | "baking") { "rollback" } else { "abort" };
    format!(
        "\nHELD: {}\n    means: it stays at {} on {} until somebody decides\n    try: `understudy resume {zone}{region}`, or \
         `understudy {back} {zone}{region}` to go back\n",
        now.held.as_deref().unwrap_or_default(),
        now.share,
        now.to
    )
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
    let zone = entry.zone.as_ref().map(|zone| format!("{}: ", dotless(zone.as_ref()))).unwrap_or_default();
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
