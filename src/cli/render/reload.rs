//! What a reload did.

use std::fmt::Write as _;

use super::{Report, finding, indented};
use crate::cli::Exit;
use crate::control::api::{ReloadOutcome, ReloadReport};

impl Report for ReloadReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for zone in &self.zones {
            let name = zone.name.as_ref().dotless();
            match &zone.outcome {
                ReloadOutcome::Unchanged => {
                    let _ = writeln!(text, "{name}: unchanged");
                }
                ReloadOutcome::Published { generation, serial, added, removed, changed, findings } => {
                    let _ = writeln!(
                        text,
                        "{name}: published as generation {generation}, serial {serial}; RRsets: {added} added, {removed} \
                         removed, {changed} changed"
                    );
                    for finding in findings {
                        text += &indented(&finding::text(finding, |_| String::new()), "  ");
                    }
                }
                ReloadOutcome::Refused { findings } => {
                    let _ = writeln!(text, "{name}: refused; what was served before is served on");
                    for finding in findings {
                        let shown =
                            finding::text(finding, |f| format!("understudy reload --accept {}", f.digest.short()));
                        text += &indented(&shown, "  ");
                    }
                }
                ReloadOutcome::KeptLastGood { diagnostics } => {
                    let _ = writeln!(text, "{name}: its files can't be served; the last good content is served on");
                    for diagnostic in diagnostics {
                        text += &indented(diagnostic, "  ");
                    }
                }
                ReloadOutcome::Queued { touched } => {
                    let _ = writeln!(
                        text,
                        "{name}: waits for the end of a move under way, since it touches what that moves; what was served \
                         before is served on"
                    );
                    touched.iter().for_each(|set| text += &format!("  {set}\n"));
                }
                ReloadOutcome::NotPublished { why } => {
                    let _ = writeln!(text, "{name}: could not be published; what was served before is served on");
                    text += &indented(why, "  ");
                }
            }
        }
        for what in &self.needs_restart {
            let _ = writeln!(text, "{what} has changed in the configuration: that takes a restart");
        }
        self.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
        text
    }

    fn exit(&self) -> Exit {
        let any = |test: fn(&ReloadOutcome) -> bool| self.zones.iter().any(|zone| test(&zone.outcome));
        if any(|outcome| matches!(outcome, ReloadOutcome::KeptLastGood { .. } | ReloadOutcome::NotPublished { .. })) {
            Exit::Error
        } else if any(|outcome| matches!(outcome, ReloadOutcome::Queued { .. })) {
            Exit::Held
        } else if any(|outcome| matches!(outcome, ReloadOutcome::Refused { .. })) {
            Exit::Blocked
        } else {
            Exit::Done
        }
    }
}
