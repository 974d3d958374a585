//! Reports as text and as JSON. The JSON is the report's own serialisation; the text is for people, 80 columns wide
//! where names allow.

mod attention;
pub(super) mod check;
pub(super) mod curve;
pub(super) mod dig;
mod drain;
pub(super) mod drill;
mod dry;
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

/// How wide what is written in sentences may be.
const COLUMNS: usize = 100;

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

/// `text` behind `head`, broken into lines between words; those behind the first begin below it.
fn wrapped(head: &str, text: &str) -> String {
    within(COLUMNS, head, text)
}

/// The same, so wide.
fn within(columns: usize, head: &str, text: &str) -> String {
    let mut lines = head.to_owned();
    let mut column = head.len();
    for (number, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if number > 0 && column + 1 + width > columns {
            lines += &format!("\n{:1$}", "", head.len());
            column = head.len();
        } else if number > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += width;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_fits_and_says_the_same() {
        let text = "word ".repeat(40) + &"long".repeat(30);
        let shown = wrapped("  head: ", &text);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[..lines.len() - 1].iter().all(|line| line.len() <= COLUMNS), "{shown}");
        assert!(lines[0].starts_with("  head: word") && lines[1].starts_with("        word"), "{shown}");
        assert_eq!(shown.split_whitespace().skip(1).collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    }
}
