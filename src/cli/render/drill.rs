//! Drills, as operators read them.

use std::fmt::Write as _;

use super::Report;
use crate::cli::Exit;
use crate::config::dotless;
use crate::control::api::drill::{DrillBegun, DrillReport, DrillsReport};
use crate::count::span;
use crate::drill::{Drill, Leg, Outcome};
use crate::time::Timestamp;

/// That a drill has begun.
pub(in crate::cli) fn begun(begun: &DrillBegun) -> String {
    format!(
        "drill {} of {}: {} -> {} and back; users are answered as before\n",
        begun.drill,
        dotless(begun.zone.as_ref()),
        begun.from.join(", "),
        begun.to
    )
}

/// How a drill has ended: times, what the gates found, what it means.
pub(in crate::cli) fn ended(report: &DrillReport) -> String {
    let DrillReport { zone, drill } = report;
    let told = drill.told().unwrap_or_else(|| "under way".into());
    let mut text = format!("drill {} of {}: {told}\n", drill.drill, dotless(zone.as_ref()));
    text += &legs(drill);
    let Some(end) = &drill.end else { return text };
    end.findings.iter().for_each(|line| _ = writeln!(text, "    {line}"));
    text += match (end.outcome, end.blocked) {
        (Outcome::Succeeded, _) => "",
        (Outcome::Failed, true) => "    means: a move would be stopped by these gates; users are answered as before\n",
        (Outcome::Failed, false) => "    means: a move might not come to its end either; users are answered as before\n",
        (Outcome::Interrupted, _) => "    means: nothing was learnt of whether a move would succeed\n",
    };
    text
}

/// What the end of a drill means to a script.
pub(in crate::cli) fn exit(drill: &Drill) -> Exit {
    match &drill.end {
        Some(end) if end.outcome == Outcome::Succeeded => Exit::Done,
        Some(end) if end.outcome == Outcome::Interrupted => Exit::Held,
        Some(end) if end.blocked => Exit::Blocked,
        _ => Exit::Error,
    }
}

/// The last drill of a zone, in a line.
pub(super) fn last(drill: &Drill, now: Timestamp) -> String {
    let Some(end) = &drill.end else {
        return format!("drill {} to {} is under way since {}", drill.drill, drill.to, drill.began);
    };
    let how = format!("{}", end.outcome).to_lowercase();
    let age = span(now.since(end.at).as_secs());
    let more = [("there", &drill.there), ("back", &drill.back)];
    let more = more.into_iter().filter_map(|(way, leg)| Some(format!(", {way} {}", leg.as_ref()?)));
    let why = if end.why.is_empty() { String::new() } else { format!(": {}", end.why) };
    format!("last drill, to {}: {how} {age} ago{}{why}", drill.to, more.collect::<String>())
}

fn legs(drill: &Drill) -> String {
    let shown = |way: &str, leg: &Leg| {
        let phases: Vec<String> =
            leg.phases.iter().map(|phase| format!("{} {:.1} s", phase.phase, phase.millis as f64 / 1000.0)).collect();
        format!("    {way}: {}\n", phases.join(", "))
    };
    let legs = [("there", &drill.there), ("back", &drill.back)];
    legs.into_iter().filter_map(|(way, leg)| Some(shown(way, leg.as_ref()?))).collect()
}

impl Report for DrillsReport {
    fn text(&self) -> String {
        if self.drills.is_empty() {
            return "there was no drill yet\n".into();
        }
        let one = |report: &DrillReport| format!("{}  {}", report.drill.began, ended(report));
        self.drills.iter().map(one).collect()
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}
