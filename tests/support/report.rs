//! What commands write: reports, and the lines of those that follow something.

use std::process::{Child, Stdio};

use serde_json::Value;

use super::daemon::Home;

/// A command that runs beside the test, with its lines to be read.
pub fn beside(home: &Home, line: &str) -> Child {
    let mut command = home.command(&line.split_whitespace().collect::<Vec<_>>());
    command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How a command ended, and the JSON values that it wrote, one a line.
pub fn lines_of(child: Child) -> (i32, Vec<Value>) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // A command that has nothing to follow writes one report.
    if let Ok(report) = serde_json::from_str(&text) {
        return (output.status.code().unwrap_or(-1), vec![report]);
    }
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    (output.status.code().unwrap_or(-1), text.lines().map(parse).collect())
}

/// The finding of a gate in a report.
pub fn finding<'a>(report: &'a Value, gate: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    findings.iter().find(|finding| finding["gate"] == gate).unwrap_or_else(|| panic!("no {gate} in {report:#}"))
}

/// What a command that failed says.
pub fn failed(report: &Value) -> &str {
    report["failure"]["what"].as_str().unwrap_or_else(|| panic!("{report:#}"))
}
