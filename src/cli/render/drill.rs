//! Drills, as operators read them.

use std::fmt::Write as _;

use super::Report;
use crate::cli::Exit;
use crate::control::api::drill::{DrillBegun, DrillReport, DrillsReport};
use crate::count::span;
use crate::drill::{Drill, Leg, Outcome};
use crate::time::Timestamp;

/// That a drill has begun.
pub(in crate::cli) fn begun(begun: &DrillBegun) -> String {
    format!(
        "drill {} of {}: {} -> {} and back; users are answered as before\n",
        begun.drill,
        begun.zone.as_ref().dotless(),
        begun.from.join(", "),
        begun.to
    )
}

/// How a drill has ended: times, what the gates found, what it means.
pub(in crate::cli) fn ended(report: &DrillReport) -> String {
    let DrillReport { zone, drill } = report;
    let told = drill.told().unwrap_or_else(|| "under way".into());
    let mut text = format!("drill {} of {}: {told}\n", drill.drill, zone.as_ref().dotless());
    text += &legs(drill);
    let Some(end) = &drill.end else { return text };
    end.findings.iter().for_each(|line| _ = writeln!(text, "    {line}"));
    text += match (end.outcome, end.blocked) {
        (Outcome::Succeeded, _) => "",
        (Outcome::Failed, true) => "    means: a move would be stopped by these gates; users are answered as before\n",
        (Outcome::Failed, false) => {
            "    means: a move might not come to its end either; users are answered as before\n"
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::{End, PhaseTime};
    use crate::name::Name;

    fn report(outcome: Option<Outcome>, blocked: bool) -> DrillReport {
        let phases = [("lowering", 2040), ("shifting", 960)];
        let phases = phases.map(|(phase, millis)| PhaseTime { phase: phase.into(), millis }).into();
        let findings =
            if blocked { vec!["zone.loads [3f9c21aa]: the texts of b have 1 errors".into()] } else { Vec::new() };
        let why = if outcome == Some(Outcome::Succeeded) { String::new() } else { "it was cold".into() };
        let end = outcome.map(|outcome| End { at: Timestamp(9000), outcome, why, blocked, findings });
        let drill = Drill {
            drill: 3,
            from: vec!["a".into()],
            to: "b".into(),
            region: None,
            actor: "ann".into(),
            reason: String::new(),
            began: Timestamp(5000),
            there: Some(Leg { millis: 3001, phases }),
            back: None,
            end,
        };
        DrillReport { zone: Name::absolute("a.example").unwrap(), drill }
    }

    #[test]
    fn ends_are_told_with_what_they_mean() {
        use Outcome::{Failed, Interrupted, Succeeded};
        for (outcome, blocked, code, front, means) in [
            (
                Succeeded,
                false,
                Exit::Done,
                "drill 3 of a.example: SUCCEEDED: there 4 s\n    there: lowering 2.0 s, shifting 1.0 s\n",
                "",
            ),
            (
                Failed,
                false,
                Exit::Error,
                "drill 3 of a.example: FAILED: it was cold, there 4 s\n",
                "might not come to its end",
            ),
            (
                Failed,
                true,
                Exit::Blocked,
                "drill 3 of a.example: FAILED: it was cold, there 4 s\n",
                "stopped by these gates",
            ),
            (Interrupted, false, Exit::Held, "drill 3 of a.example: INTERRUPTED: it was cold", "nothing was learnt"),
        ] {
            let report = report(Some(outcome), blocked);
            let text = ended(&report);
            assert!(text.starts_with(front) && text.contains(means), "{text}");
            assert_eq!(text.contains("zone.loads"), blocked, "{text}");
            assert_eq!(exit(&report.drill), code);
        }
        let drills = vec![report(Some(Succeeded), false), report(None, false)];
        let text = DrillsReport { drills }.text();
        assert!(text.contains("1970-01-01 00:00:05 UTC  drill 3 of a.example: under way"), "{text}");
    }

    #[test]
    fn the_last_one_is_told_in_a_line() {
        let last = |outcome, now| last(&report(outcome, false).drill, Timestamp(now));
        assert_eq!(
            last(Some(Outcome::Succeeded), 9000 + 3 * 86_400_000),
            "last drill, to b: succeeded 3 days ago, there 4 s"
        );
        assert_eq!(
            last(Some(Outcome::Failed), 69_000),
            "last drill, to b: failed 1 minute ago, there 4 s: it was cold"
        );
        assert_eq!(last(None, 9000), "drill 3 to b is under way since 1970-01-01 00:00:05 UTC");
    }
}
