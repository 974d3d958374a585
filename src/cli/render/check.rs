//! What is wrong with a configuration and its zones.

use std::fmt::Write as _;

use super::{Report, counted};
use crate::cli::Exit;
use crate::cli::check::CheckReport;
use crate::config::Problems;
use crate::control::api::rename::LeverCount;

impl Report for CheckReport {
    fn text(&self) -> String {
        let mut text = String::new();
        if !self.problems.is_empty() {
            let _ = writeln!(text, "{}", Problems(self.problems.clone()));
        }
        for zone in &self.zones {
            for diagnostic in &zone.diagnostics {
                let _ = writeln!(text, "{diagnostic}");
            }
            let _ = write!(text, "{}", zone.name.as_ref().dotless());
            for site in &zone.sites {
                let _ = write!(text, ", {}: {}", site.name, counted(site.records, "record"));
            }
            let verdict = if zone.errors == 0 { "accepted" } else { "rejected" };
            let (errors, warnings) = (counted(zone.errors, "error"), counted(zone.warnings, "warning"));
            let _ = writeln!(text, ": {verdict}, {errors}, {warnings}");
            let LeverCount { fronts, with_lever } = zone.lever_count;
            if fronts > 0 {
                let names = counted(fronts, "front name");
                let more = if zone.levers.is_empty() { "; --levers lists them, and how to give one" } else { "" };
                let _ =
                    writeln!(text, "    {with_lever} of {names} have a lever, to be renamed by on the worst day{more}");
            }
            for front in &zone.levers {
                let _ = writeln!(text, "    {}: {}", front.name, front.advice);
            }
        }
        if self.zones.len() > 1 {
            let rejected = self.zones.iter().filter(|zone| zone.errors > 0).count();
            let _ = writeln!(text, "{} checked, {rejected} rejected", counted(self.zones.len(), "zone"));
        }
        self.advice.iter().for_each(|advice| _ = writeln!(text, "note: {advice}"));
        text
    }

    fn exit(&self) -> Exit {
        if self.accepted { Exit::Done } else { Exit::Error }
    }
}
