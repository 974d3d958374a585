//! What a move did so far, or would do.

use std::fmt::Write as _;

use super::{Report, counted, finding};
use crate::cli::Exit;
use crate::control::api::RecordDiff;
use crate::control::api::moves::{MoveOutcome, MoveReport};

impl Report for MoveReport {
    fn text(&self) -> String {
        let mut text = self.offline.as_ref().map(|offline| offline.told()).unwrap_or_default();
        text += &self.head();
        // What is at the bottom is read first: the verdicts come behind what they judge.
        // Where nothing moves, what differs is an edit that a reload would take.
        if !self.diff.is_empty() && self.outcome != MoveOutcome::NothingToDo {
            text += match self.outcome {
                MoveOutcome::Done { .. } => "\nRecords that go (-) and come (+):\n",
                _ => "\nRecords that would go (-) and come (+):\n",
            };
            self.diff.iter().for_each(|set| text += &diff(set));
            if self.unlisted > 0 {
                let _ = writeln!(text, " and those of {} more", counted(self.unlisted, "RRset"));
            }
            text.push('\n');
        }
        for finding in &self.findings {
            text +=
                &finding::text(finding, |finding| format!("--override {}@{}", finding.gate, finding.digest.short()));
        }
        text += &self.foreseen();
        text += &self.end();
        self.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
        text
    }

    fn exit(&self) -> Exit {
        match self.outcome {
            MoveOutcome::DryRunClean | MoveOutcome::NothingToDo => Exit::Done,
            MoveOutcome::Done { confirmed: true, .. } => Exit::Done,
            MoveOutcome::Done { confirmed: false, .. } => Exit::Error,
            MoveOutcome::Begun { .. } => Exit::Done,
            MoveOutcome::WouldChange => Exit::Pending,
            MoveOutcome::Blocked => Exit::Blocked,
        }
    }
}

impl MoveReport {
    fn head(&self) -> String {
        let mut text = format!("{} of {} to {}\n", self.kind, self.zone.as_ref().dotless(), self.to);
        for route in &self.moves {
            let _ = writeln!(text, "        {}: {} -> {}", route.region, route.site, self.to);
        }
        if !self.moves.is_empty() && self.steps.len() > 1 {
            let _ = writeln!(text, "        by steps: {}", self.steps.join(", "));
            for step in &self.weighed {
                let great =
                    if step.great.is_empty() { String::new() } else { format!("; whole: {}", step.great.join(", ")) };
                let _ = writeln!(
                    text,
                    "            {} wanted: {} of the units, which asked {} of late{great}",
                    step.wanted, step.units, step.measured
                );
            }
        }
        text
    }

    fn end(&self) -> String {
        let (zone, to, plan) = (self.zone.as_ref().dotless(), &self.to, self.plan.short());
        match &self.outcome {
            MoveOutcome::DryRunClean | MoveOutcome::NothingToDo => {
                format!("\n{zone} is answered from {to} already: there is nothing to do.\n")
            }
            MoveOutcome::WouldChange => format!(
                "\nPlan {plan}: {} would change. This was a dry run: nothing was changed.\n    try: {}the same without \
                 --dry-run, and with --plan {plan} to run this plan and no other\n",
                counted(self.diff.len() + self.unlisted, "RRset"),
                if self.offline.is_some() { "start the daemon; then " } else { "" }
            ),
            MoveOutcome::Blocked => {
                let gates = self.findings.iter().filter(|finding| finding.stops()).count();
                let verb = if gates == 1 { "blocks" } else { "block" };
                let gates = counted(gates, "gate");
                format!("\nPlan {plan}: {gates} {verb}. Nothing was changed; users are answered as before.\n")
            }
            MoveOutcome::Done { generation, serial, confirmed: true, run } => {
                let mut text = format!(
                    "\n{zone} is answered from {to}: generation {generation}, serial {serial}, confirmed by asking our \
                     own sockets.\n"
                );
                if let Some(until) = self.old_until {
                    let _ = writeln!(
                        text,
                        "Caches may hold the old answers until {}; run {run} goes on until then and sees whether {to} \
                         proves itself: understudy follow {zone}",
                        until
                    );
                }
                if let Some(share) = &self.old_share {
                    let _ = writeln!(
                        text,
                        "Those who may hold one asked {share} of what was asked of late: understudy drain {zone}"
                    );
                }
                text
            }
            MoveOutcome::Begun { run } => format!("\nPlan {plan}: run {run} has begun.\n"),
            MoveOutcome::Done { generation, serial, confirmed: false, .. } => format!(
                "\nPUBLISHED, NOT CONFIRMED: {zone} is to be answered from {to}: generation {generation}, serial {serial}; \
                 but our own sockets did not give the new answers.\n    means: users may not get them either; the move \
                 was not taken back\n    try: `understudy status`; the daemon's log names the sockets; then ask one: dig \
                 @ADDRESS {zone} SOA\n"
            ),
        }
    }
}

/// The lines of an RRset as in a zone file: `-` for those that go, `+` for those that come, a blank for those that stay.
pub(super) fn diff(set: &RecordDiff) -> String {
    let (owner, rtype) = (&set.name, set.rtype);
    let mut text = String::new();
    let mut line = |sign: char, record: &String| {
        let _ = writeln!(text, "{sign}{owner} {record}");
    };
    debug_assert!(set.before != set.after, "{owner} {rtype} is in the diff and does not differ");
    for record in &set.before {
        line(if set.after.contains(record) { ' ' } else { '-' }, record);
    }
    set.after.iter().filter(|record| !set.before.contains(record)).for_each(|record| line('+', record));
    text
}
