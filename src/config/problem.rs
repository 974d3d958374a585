//! What is wrong with a configuration: where, what it means, what to do.

use std::fmt;

use crate::count::counted;

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The file's path, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key at fault with its tables (`zone.site.name`); empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What it means; empty where that is plain.
    pub meaning: String,
    /// What to write.
    pub remedy: String,
}

impl fmt::Display for Problem {
    /// `file:line:column: error: key: what`, with the meaning and the remedy in lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: error: ", self.file, self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)?;
        if !self.meaning.is_empty() {
            write!(f, "\n    means: {}", self.meaning)?;
        }
        write!(f, "\n    try: {}", self.remedy)
    }
}

/// All that is wrong with a configuration, in the order of its text; never empty.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(transparent)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            writeln!(f, "{problem}")?;
        }
        write!(f, "{} in the configuration; nothing was changed", counted(self.0.len(), "error"))
    }
}
