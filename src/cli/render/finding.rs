//! What gates say.

use std::fmt::Write as _;

use crate::control::api::{AskedItem, Finding};
use crate::count::counted;
use crate::evidence::Verdict;

/// How many items are shown; JSON has them all.
const SHOWN: usize = 50;

/// A finding: verdict and gate, and, unless it passed, reason, items and remedy. `accept` is what to type in front of
/// the digest to go on in spite of it.
pub(super) fn text(finding: &Finding, accept: impl Fn(&Finding) -> String) -> String {
    let verdict = match (finding.verdict, finding.overridden) {
        (Verdict::Pass, _) => "pass",
        (Verdict::Warn, _) => "warn",
        (_, true) => "over",
        (Verdict::Unknown, false) => "unknown",
        (Verdict::Block, false) => "block",
    };
    let mut text = format!("{verdict:<8}{}", finding.gate);
    if finding.verdict == Verdict::Pass {
        text.push('\n');
        return text;
    }
    let _ = writeln!(text, " [{}]", finding.digest.short());
    if finding.overridden {
        let _ = writeln!(text, "        overridden by the operator");
    }
    let _ = writeln!(text, "        {}", finding.reason);
    for AskedItem { item, count } in finding.asked.iter().take(SHOWN) {
        let _ = writeln!(text, "          {item} (asked for of late, about {})", counted(*count as usize, "time"));
    }
    let shown = finding.asked.len().min(SHOWN);
    let named = |item: &&String| !finding.asked[..shown].iter().any(|asked| asked.item == **item);
    for item in finding.items.iter().filter(named).take(SHOWN - shown) {
        let _ = writeln!(text, "          {item}");
    }
    if let Some(more) = finding.items.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "          and {more} more; --json lists them all");
    }
    if !finding.remedy.is_empty() {
        let _ = writeln!(text, "    try: {}", finding.remedy);
    }
    if finding.stops() {
        let _ = match finding.overridable {
            true => writeln!(text, "     or: {}  (accepts these findings and no others)", accept(finding)),
            false => writeln!(text, "        this gate can't be overridden"),
        };
    }
    text
}
