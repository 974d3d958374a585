//! Who gets what and why, and what is asked most.

use std::fmt::Write as _;

use hickory_proto::op::Message;

use super::{Report, counted, dig};
use crate::cli::Exit;
use crate::control::api::told::{ExplainReport, ToldBefore, TopQuestion, TopReport};
use crate::time::Timestamp;

impl Report for ExplainReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} asks for {} {}\n  zone     {}\n  region   {}\n  unit     {}\n",
            self.client,
            self.name.as_ref().dotless(),
            self.rtype,
            self.zone.as_ref().dotless(),
            self.region,
            self.unit
        );
        if let Some(moving) = &self.moving {
            let _ = writeln!(
                text,
                "  moving   from {} to {}, {} so far; this unit moves at {}",
                moving.from, moving.to, moving.share, moving.moves_at
            );
        }
        let _ = writeln!(text, "  site     {}: {}", self.site, self.because);
        if let Some(low) = self.low_ttl {
            let _ = writeln!(text, "  TTLs     {low} s at most, for what the move changes");
        }
        match octets(&self.answer).map(|octets| Message::from_vec(&octets)) {
            Some(Ok(message)) => _ = write!(text, "\n{}", dig::text(&message)),
            _ => text += "\nThere is no answer.\n",
        }
        text += "\nWhat its network was told of this before:\n";
        if self.told.is_empty() {
            text += "  nothing that is still known\n";
        }
        self.told.iter().for_each(|told| text += &told_line(told, self.at));
        if let Some(blind) = self.blind_until {
            let _ = writeln!(text, "  (what was told before {blind} is not known in full)");
        }
        text
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

fn told_line(told: &ToldBefore, at: Timestamp) -> String {
    let state = if told.current { "as now" } else { "by earlier content" };
    let held = if told.held_until > at { "may be held until" } else { "ran out" };
    let source = if told.proven { "proven" } else { "unproven" };
    format!(
        "  {} by {} ({state}): last {}, {held} {}; {} of late, {source}\n",
        told.network,
        told.site,
        told.last,
        told.held_until,
        counted(usize::try_from(told.count).unwrap_or(usize::MAX), "answer"),
    )
}

/// From hexadecimal digits.
fn octets(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl Report for TopReport {
    fn text(&self) -> String {
        let minutes = counted(usize::try_from(self.window_seconds / 60).unwrap_or(usize::MAX).max(1), "minute");
        let mut text = format!("Answers of the last {minutes}, about:\n");
        for zone in &self.zones {
            let rate = zone.count as f64 / self.window_seconds.max(1) as f64;
            let name = zone.zone.as_ref().dotless();
            let _ = writeln!(
                text,
                "{:>12}  {name}: {rate:.1} a second, {} for names that there are not",
                zone.count, zone.absent
            );
        }
        section(&mut text, "Questions", &self.questions);
        section(&mut text, "Questions for names that there are not", &self.absent);
        if !self.networks.is_empty() {
            text += "\nNetworks:\n";
        }
        for network in &self.networks {
            let source = if network.proven { "proven" } else { "unproven" };
            let _ = writeln!(text, "{:>12}  {} ({source}, last {})", network.count, network.network, network.last);
        }
        let [shorter, none] = self.coarse;
        if shorter + none > 0 {
            let _ = writeln!(
                text,
                "\nThere is more than there is room for: of a thousand parts, {shorter} count networks by shorter prefixes and \
                 {none} count none.\n    try: a greater `memory_mib` in `[exposures]`"
            );
        }
        text
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

fn section(text: &mut String, title: &str, questions: &[TopQuestion]) {
    if !questions.is_empty() {
        let _ = writeln!(text, "\n{title}:");
    }
    for question in questions {
        let _ = writeln!(text, "{:>12}  {} {}", question.count, question.name, question.rtype);
    }
}
