//! What a simulation says, as tables and curves.

use std::fmt::Write as _;

use super::curve::{Canvas, curve, seconds};
use super::{Report, wrapped};
use crate::cli::Exit;
use crate::cli::simulate::report::{CourseReport, PointReport, SimulateReport};
use crate::drain::Quantiles;

impl Report for SimulateReport {
    fn text(&self) -> String {
        self.drawn(Canvas::of_environment())
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl SimulateReport {
    fn drawn(&self, canvas: Canvas) -> String {
        let mut text = format!("{}\n\n", self.size());
        let columns = ["STEP", "AT", "REACHES", "USES/S", "NEW CLIENTS/S", "QUERIES/S"];
        let rows = self.steps.iter().map(|step| {
            [
                step.share.clone(),
                seconds(step.seconds),
                percent(step.reached),
                format!("{:.0}", step.uses_per_second),
                format!("{:.0}", step.arrivals_per_second),
                format!("{:.0}", step.queries_per_second),
            ]
        });
        for row in std::iter::once(columns.map(str::to_owned)).chain(rows) {
            let [step, at, reaches, uses, arrivals, queries] = row;
            let _ = writeln!(text, "{step:>7}  {at:>12}  {reaches:>8}  {uses:>9}  {arrivals:>13}  {queries:>10}");
        }
        text += if self.warnings.is_empty() { "" } else { "\n" };
        self.warnings.iter().for_each(|warning| {
            text += &wrapped("WARNING: ", warning);
        });
        self.advice.iter().for_each(|advice| text += &wrapped("    try: ", advice));
        self.courses.iter().for_each(|course| text += &course.drawn(canvas));
        text += "\nnot covered:\n";
        self.left_out.iter().for_each(|what| {
            let _ = writeln!(text, "  {what}");
        });
        text
    }
}

impl CourseReport {
    fn drawn(&self, canvas: Canvas) -> String {
        let held = match self.held.as_str() {
            "negative" => "told before that there is nothing",
            _ => "told the old data",
        };
        let mut text = format!("\n{held}, TTL {} s: the share of uses that get the new answer\n\n", self.ttl);
        let end = self.curve.last().map_or(1.0, |point| point.seconds);
        text += &curve(|time| at(&self.curve, time), end, &marks(&self.simulated), canvas);
        let _ = writeln!(text, "\n{:14}{:>14}{:>14}{:>14}", "", "50%", "90%", "99%");
        for (what, found) in [("simulated", &self.simulated), ("closed form", &self.forecast)] {
            let [half, ninety, most] = marks(found).map(|(_, at)| at.map_or_else(|| "not seen".into(), seconds));
            let _ = writeln!(text, "{what:14}{half:>14}{ninety:>14}{most:>14}");
        }
        let _ = writeln!(text, "the two are at most {} apart", points(self.apart));
        if let Some(old) = self.old_at_bound {
            let _ = writeln!(text, "when every TTL has run out, {} still use the old answer", percent(old));
        }
        text
    }
}

fn marks(of: &Quantiles) -> [(&'static str, Option<f64>); 3] {
    [("50%", of.half), ("90%", of.ninety), ("99%", of.ninety_nine)]
}

/// The counted share in the span around this time.
fn at(points: &[PointReport], time: f64) -> f64 {
    let behind = points.partition_point(|point| point.seconds < time).min(points.len().saturating_sub(1));
    points.get(behind).map_or(0.0, |point| point.simulated)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn points(share: f64) -> String {
    format!("{:.1} points", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::simulate::report::StepReport;

    #[test]
    fn a_simulation_is_a_table_and_curves() {
        let quantiles = |half, ninety| Quantiles { half: Some(half), ninety, ninety_nine: None };
        let report = SimulateReport {
            clients: 1000,
            resolvers: 1,
            seed: 7,
            steps: vec![StepReport {
                seconds: 300.0,
                share: "100%".into(),
                reached: 0.987,
                uses_per_second: 33.3,
                arrivals_per_second: 12.0,
                queries_per_second: 1.4,
            }],
            courses: vec![CourseReport {
                held: "data".into(),
                ttl: 60,
                simulated: quantiles(41.0, Some(180.0)),
                forecast: quantiles(40.0, None),
                apart: 0.012,
                old_at_bound: Some(0.031),
                curve: vec![
                    PointReport { seconds: 50.0, simulated: 0.5, forecast: 0.5 },
                    PointReport { seconds: 200.0, simulated: 1.0, forecast: 1.0 },
                ],
            }],
            left_out: vec!["what nobody knows".into()],
            overloads: Vec::new(),
            warnings: vec!["too much".into()],
            advice: vec!["smaller steps".into()],
        };
        let text = report.drawn(Canvas { width: 60, blocks: false });
        for line in [
            "1000 clients behind 1 resolver, drawn from seed 7",
            "   STEP            AT   REACHES     USES/S  NEW CLIENTS/S   QUERIES/S",
            "   100%         5 min     98.7%         33             12           1",
            "WARNING: too much",
            "    try: smaller steps",
            "told the old data, TTL 60 s: the share of uses that get the new answer",
            "simulated               41 s         3 min      not seen",
            "closed form             40 s      not seen      not seen",
            "the two are at most 1.2 points apart",
            "when every TTL has run out, 3.1% still use the old answer",
            "  what nobody knows",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
