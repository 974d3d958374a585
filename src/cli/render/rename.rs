//! What a rename did so far, or would do; what is known of levers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Report, counted, finding, moves};
use crate::cli::Exit;
use crate::control::api::rename::{GainReport, RenameAction, RenameOutcome, RenameReport, RenameStatus, RenamesReport};

impl Report for RenameReport {
    fn text(&self) -> String {
        let (zone, lever, fresh) = (self.zone.as_ref().dotless(), &self.lever, &self.fresh);
        let what = match self.action {
            RenameAction::Begin => format!("rename of {lever} to {fresh}"),
            RenameAction::Spare => format!("{fresh}, to be kept ready for {lever}"),
            RenameAction::Undo if self.leads_to_fresh => {
                format!("rename of {lever} to {fresh}: {lever} is answered again")
            }
            RenameAction::Undo => format!("rename of {lever} to {fresh}, taken back"),
            RenameAction::Retire => format!("rename of {lever} to {fresh}: what nothing leads to is retired"),
        };
        let mut text = format!("{what}\n");
        for reference in &self.references {
            let _ = writeln!(text, "        {} {} leads there", reference.name, reference.rtype);
        }
        if !self.diff.is_empty() {
            let is_done = matches!(self.outcome, RenameOutcome::Done { .. });
            text += if is_done {
                "\nRecords that go (-) and come (+):\n"
            } else {
                "\nRecords that would go (-) and come (+):\n"
            };
            self.diff.iter().for_each(|set| text += &moves::diff(set));
            text.push('\n');
        }
        for finding in &self.findings {
            text +=
                &finding::text(finding, |finding| format!("--override {}@{}", finding.gate, finding.digest.short()));
        }
        self.gains.iter().for_each(|gain| text += &gained(gain));
        text += &self.end(&zone);
        self.warnings.iter().for_each(|warning| text += &format!("warning: {warning}\n"));
        text
    }

    fn exit(&self) -> Exit {
        match self.outcome {
            RenameOutcome::Done { .. } | RenameOutcome::Begun { .. } => Exit::Done,
            RenameOutcome::WouldChange => Exit::Pending,
            RenameOutcome::Blocked => Exit::Blocked,
        }
    }
}

impl RenameReport {
    fn end(&self, zone: &str) -> String {
        let (plan, lever, fresh, ttl) = (self.plan.short(), &self.lever, &self.fresh, self.reference_ttl);
        match &self.outcome {
            RenameOutcome::WouldChange => format!(
                "\nPlan {plan}: this was a dry run, and nothing was changed.\n    try: the same without --dry-run, and with \
                 --plan {plan} to run this plan and no other\n"
            ),
            RenameOutcome::Blocked => {
                let gates = self.findings.iter().filter(|finding| finding.stops()).count();
                let verb = if gates == 1 { "blocks" } else { "block" };
                format!(
                    "\nPlan {plan}: {} {verb}. Nothing was changed; users are answered as before.\n",
                    counted(gates, "gate")
                )
            }
            RenameOutcome::Begun { generation, serial } => format!(
                "\n{fresh} is published: generation {generation}, serial {serial}. Every name server of the zone is asked for \
                 it before anything leads there; this goes on by itself if you leave.\n"
            ),
            RenameOutcome::Done { generation, serial } => {
                let published = format!("generation {generation}, serial {serial}");
                match self.action {
                    RenameAction::Begin | RenameAction::Spare => format!(
                        "\nWhat led to {lever} leads to {fresh}: {published}. Caches may go on leading to {lever} for {ttl} s.\n"
                    ),
                    // A lever has to be answered everywhere before anything leads there.
                    RenameAction::Undo if self.leads_to_fresh => format!(
                        "\n{lever} is answered again: {published}. What led to it leads to {fresh} still.\n    try: understudy rename \
                         {zone} {} --undo, once more, leads it back as soon as every name server has {lever} again\n",
                        lever.as_ref().dotless()
                    ),
                    RenameAction::Undo => format!(
                        "\nThe rename is taken back: {published}. Where caches hold that something leads to {fresh}, it stays for \
                         them: understudy rename {zone}\n"
                    ),
                    RenameAction::Retire => format!("\nIt is not answered any more: {published}.\n"),
                }
            }
        }
    }
}

/// By how much sooner users arrive, and where and why not.
pub(super) fn gained(gain: &GainReport) -> String {
    let what = gain.stuck.of_lever();
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut text = match gain.possible > 0.0 {
        true if gain.certain == 0.0 => format!(
            "\nWhere resolvers hold {what}, it is certain of nobody that he arrives sooner; users of up to {} of what was asked of late \
             perhaps do:\n",
            percent(gain.possible)
        ),
        true => format!(
            "\nWhere resolvers hold {what}, users of {} of what was asked of late arrive sooner for certain, by {:.0} s on average, \
             and of up to {} perhaps:\n",
            percent(gain.certain),
            gain.sooner_seconds,
            percent(gain.possible)
        ),
        false => format!("\nWhere resolvers hold {what}, nothing is gained:\n"),
    };
    let mut none: BTreeMap<&str, (f64, Vec<&str>)> = BTreeMap::new();
    for row in &gain.by {
        let Some(why) = &row.why_not else {
            let most = row.most_seconds.map_or("longer".to_owned(), |most| format!("{most:.0} s"));
            let _ =
                writeln!(text, "  {:>7}  {}: {:.0} s to {most}", percent(row.share), row.resolver, row.least_seconds);
            continue;
        };
        let entry = none.entry(why).or_default();
        entry.0 += row.share;
        entry.1.push(&row.resolver);
    }
    for (why, (share, resolvers)) in none {
        let _ = writeln!(text, "  {:>7}  none: {why} ({})", percent(share), resolvers.join(", "));
    }
    text
}

/// How a rename stands, in a line, and why it does not go on.
pub(in crate::cli) fn progress(now: &RenameStatus) -> String {
    let RenameStatus { lever, fresh, stage, spare, waits_for, try_next } = now;
    let what = match (stage.as_str(), spare) {
        ("staged", _) => "not seen on every name server yet; nothing leads there",
        ("confirmed", true) => "ready on every name server; nothing leads there",
        ("confirmed", false) => "every name server has it; the references turn next",
        ("referenced", _) => "what led to the lever leads there",
        ("superseded", _) => "what led to the lever leads to a later name; it stays for those who hold it",
        ("returned", _) => "taken back; it stays for those who hold it",
        ("retired", _) => "what led to the lever leads there; the lever is gone",
        _ => "",
    };
    let mut text = format!("rename of {lever} to {fresh}\n    {stage}: {what}\n");
    waits_for.iter().for_each(|line| text += &format!("    waits: {line}\n"));
    try_next.iter().for_each(|line| text += &format!("    try: {line}\n"));
    text
}

impl Report for RenamesReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for rename in &self.renames {
            text += &progress(rename);
        }
        if !self.renames.is_empty() && !self.fronts.is_empty() {
            text.push('\n');
        }
        for front in &self.fronts {
            let _ = writeln!(text, "{}: {}", front.name, front.advice);
        }
        if text.is_empty() {
            text = format!("{} has no front names\n", self.zone.as_ref().dotless());
        }
        text
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}
