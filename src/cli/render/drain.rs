//! How caches drain, as tables and a curve.

use std::fmt::Write as _;
use std::time::Duration;

use super::Report;
use super::curve::{Canvas, curve, seconds};
use crate::cli::Exit;
use crate::control::api::drain::{DrainReport, FamilyReport, ForecastReport, SuspectReport};
use crate::count::counted;
use crate::time::Timestamp;

/// How wide a line may be before it is broken.
const LINE: usize = 80;

impl Report for DrainReport {
    fn text(&self) -> String {
        self.drawn(Canvas::of_environment())
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl DrainReport {
    fn drawn(&self, canvas: Canvas) -> String {
        let of = self.name.as_ref().unwrap_or(&self.zone);
        let runs: Vec<String> = self.runs.iter().map(|run| format!("run {run}")).collect();
        let what = match runs.is_empty() {
            true => "no move is under way; this is how it would be if everybody were moved now".to_owned(),
            false => runs.join(", "),
        };
        let mut text = format!("{}: {what}\n", of.as_ref().dotless());
        for held in &self.held {
            let _ = writeln!(
                text,
                "HELD: {held}. Nothing goes on until it is resumed; times below are as if it were resumed now."
            );
        }
        text += &self.forecast.drawn(canvas);
        for proposal in &self.proposals {
            text += &super::rename::gained(&proposal.gain);
            let _ = writeln!(text, "    try: {} --dry-run", proposal.command);
        }
        if !self.forecast.suspicious.is_empty() {
            text += "\nSuspicious, not guilty: these asked steadily, and did not come back when their answers had run out\n";
            self.forecast.suspicious.iter().for_each(|suspect| text += &suspicious(suspect));
        }
        text
    }
}

impl ForecastReport {
    /// Steps, figures, curve, bound, and what is not known.
    pub(super) fn drawn(&self, canvas: Canvas) -> String {
        let mut text = String::new();
        if self.phases.is_empty() {
            for step in &self.steps {
                let _ = writeln!(text, "  {:>7}  {}", step.share, when(self.at, step.at));
            }
        }
        self.phases.iter().for_each(|phase| {
            let lasts = seconds(phase.until.since(phase.from).as_secs_f64());
            let lasts = if phase.until > phase.from { format!(", for {lasts}") } else { String::new() };
            let head = format!("  {:10} {}{lasts}:", phase.phase, when(self.at, phase.from));
            let gap = if head.len() + phase.what.len() < LINE { " " } else { "\n             " };
            let _ = writeln!(text, "{head}{gap}{}", phase.what);
        });
        let Some(worst) = self.families.iter().find(|family| Some(family.course.family) == self.worst) else {
            text += "\nOf nobody it is known that they asked for an address of late.\n";
            return text + &self.bounds();
        };
        let _ = writeln!(
            text,
            "\n{:6}{:>8}{:>14}{:>17}{:>17}{:>17}",
            "", "NEW NOW", "MAY HOLD OLD", "50% NEW", "90% NEW", "99% NEW"
        );
        self.families.iter().for_each(|family| text += &self.line(family));
        let last = if self.families.len() > 1 { " (*: the last to come over)" } else { "" };
        let _ = writeln!(
            text,
            "\nthe share of users' queries for {} that get the new answer{last}:\n",
            worst.course.family
        );
        let end = worst.course.curve.last().map_or(1.0, |point| point.seconds);
        let found = &worst.course.quantiles;
        // What comes behind the last mark is nearly straight.
        let end = found.ninety_nine.map_or(end, |most| end.min(most * 1.25));
        let marks = [("50%", found.half), ("90%", found.ninety), ("99%", found.ninety_nine)];
        let new_at = |time: f64| worst.course.new_at(Duration::try_from_secs_f64(time).unwrap_or_default());
        text += &curve(new_at, end, &marks, canvas);
        let _ = writeln!(text, "(0 s is the first step: {})", when(self.at, self.begin));
        text + &self.bounds()
    }

    fn line(&self, family: &FamilyReport) -> String {
        let reached = |at: Option<f64>| match at.map(Duration::try_from_secs_f64) {
            Some(Ok(span)) => when(self.at, self.begin.after(span)),
            _ => "not seen".into(),
        };
        let (found, percent) = (&family.course.quantiles, |share: f64| format!("{:.1}%", share * 100.0));
        format!(
            "{:6}{:>8}{:>14}{:>17}{:>17}{:>17}{}\n",
            family.course.family.to_string(),
            percent(family.new_now),
            percent(family.held_now),
            reached(found.half),
            reached(found.ninety),
            reached(found.ninety_nine),
            if Some(family.course.family) == self.worst && self.families.len() > 1 { " *" } else { "" },
        )
    }

    fn bounds(&self) -> String {
        let mut text = format!(
            "\nno cache that obeys TTLs holds an old answer from {} on ({}):\n  by {}\n",
            self.bound,
            when(self.at, self.bound),
            self.basis
        );
        for region in &self.regions {
            let until = match region.held_until.filter(|until| *until > self.at) {
                Some(until) => format!("the last is held until {until} ({})", when(self.at, until)),
                None => "none is held".into(),
            };
            let _ = writeln!(
                text,
                "  {}: {:.1}% of what is asked, {:.1}% of it by those who may hold an old answer; {until}",
                region.region,
                region.weight * 100.0,
                region.held_now * 100.0,
            );
        }
        for family in &self.families {
            if let Some(old) = family.course.old_at_bound {
                let _ = writeln!(
                    text,
                    "  then {:.1}% of the queries for {} still get it",
                    old * 100.0,
                    family.course.family
                );
            }
        }
        let _ = writeln!(
            text,
            "made of {} of the last {}; of {:.0}% it is assumed how they keep answers",
            counted(self.holders, "network and question").replace("network and questions", "networks and questions"),
            seconds(self.window_seconds as f64),
            self.assumed * 100.0
        );
        text += "not known:\n";
        self.left_out.iter().for_each(|what| {
            let _ = writeln!(text, "  {what}");
        });
        text
    }
}

/// A time as seen from another one.
fn when(now: Timestamp, at: Timestamp) -> String {
    match at.0.cmp(&now.0) {
        std::cmp::Ordering::Less => format!("{} ago", seconds(now.since(at).as_secs_f64())),
        std::cmp::Ordering::Equal => "now".into(),
        std::cmp::Ordering::Greater => format!("in {}", seconds(at.since(now).as_secs_f64())),
    }
}

fn suspicious(suspect: &SuspectReport) -> String {
    format!(
        "  {} asked for {} once in {}: told last {}, held until {}\n",
        suspect.network,
        suspect.question,
        seconds(suspect.usual_seconds),
        suspect.last,
        suspect.held_until
    )
}
