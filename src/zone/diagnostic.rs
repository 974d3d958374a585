//! What is wrong with a zone text, where, and what to write instead.

use std::fmt;

/// A place in a zone's master files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Which file: an index into the list of files that were read for the zone.
    pub file: u16,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The column in characters, from 1; 0 for the line as a whole.
    pub column: u16,
}

/// Whether a zone with the finding can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is served, and somebody should look.
    Warning,
    /// It is not served, not even in part.
    Error,
}

/// One finding about a zone text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// Whether the zone can be served.
    pub severity: Severity,
    /// A stable, hyphenated word for the kind of finding (`cname-and-other-data`): for scripts, and for looking it up.
    pub id: &'static str,
    /// The file's path, as the configuration or the including file names it.
    pub file: String,
    /// The line, from 1; 0 if the finding is about the file as a whole.
    pub line: u32,
    /// The column in characters, from 1; 0 if the finding is about the line as a whole.
    pub column: u16,
    /// The text at fault, as it stands in the file; empty where nothing stands that should.
    pub text: String,
    /// What is wrong and what it means.
    pub message: String,
    /// What to write instead; empty where the message says all.
    pub advice: String,
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error: message [id]`, with the text at fault and the advice in lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, ": {severity}: {} [{}]", self.message, self.id)?;
        if !self.text.is_empty() {
            write!(f, "\n    at: {}", self.text)?;
        }
        if !self.advice.is_empty() {
            write!(f, "\n    try: {}", self.advice)?;
        }
        Ok(())
    }
}
