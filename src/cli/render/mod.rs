//! Reports as text and as JSON. The JSON is the report's own serialisation; the text is for people, 80 columns wide
//! where names allow.

pub(super) mod check;
pub(super) mod curve;
pub(super) mod dig;
mod drain;
mod finding;
mod moves;
pub(super) mod probe;
mod reload;
pub(in crate::cli) mod rename;
pub(super) mod run;
mod simulate;
mod status;
mod told;

use crate::cli::Exit;
use crate::count::counted;

/// What a command found or did.
pub(super) trait Report: serde::Serialize {
    /// The report for people; ends with a line feed.
    fn text(&self) -> String;

    /// What it means to a script.
    fn exit(&self) -> Exit;
}

/// The report for scripts: one JSON value.
pub(super) fn json(report: &impl serde::Serialize) -> String {
    // Reports are plain data with string keys, which JSON has a form for.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_else(|error| format!("{{\"failure\": \"{error}\"}}"));
    text.push('\n');
    text
}

/// `text` with `indent` in front of each line.
fn indented(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{indent}{line}\n")).collect()
}
