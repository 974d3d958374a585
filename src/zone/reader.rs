//! Reads master files (RFC 1035 §5) without touching any file: included ones are asked for, and handed in.
//!
//! `record` reads lines that are records, `directive` those that begin with `$`, `generate` the lines of `$GENERATE`.

mod directive;
mod generate;
mod record;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::name::{Name, NameRef};
use crate::time::Ttl;
use crate::zone::diagnostic::{Diagnostic, Place, Severity};
use crate::zone::lexer::{Lexer, Token};
use crate::zone::text::{Records, ZoneText};

/// The most findings of each severity that are listed; the rest are counted.
const MAX_LISTED: usize = 1000;
/// The most characters of the text at fault that a finding shows.
const MAX_SHOWN: usize = 80;

/// A master file's path and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path, the same for the same file however it was named.
    pub path: String,
    /// What the file holds.
    pub octets: Arc<[u8]>,
}

/// Where `$INCLUDE` gets its files from.
pub trait Sources {
    /// The source that `path` means in the file `including`; if there is none, why, for the operator to read.
    fn open(&mut self, including: &str, path: &str) -> Result<Source, String>;
}

/// For tests of texts that include nothing.
#[cfg(test)]
pub(crate) struct NoSources;

#[cfg(test)]
impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path}: there are no other files here"))
    }
}

/// What reading a zone gave: its text, and all that was found wrong with it.
#[derive(Clone, Debug)]
pub struct Reading {
    text: ZoneText,
    errors: usize,
    /// The findings in the order they were made, at most a thousand of each severity.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// The text, if nothing was found that keeps the zone from being served; else the findings.
    pub fn into_text(self) -> Result<ZoneText, Vec<Diagnostic>> {
        if self.errors == 0 { Ok(self.text) } else { Err(self.diagnostics) }
    }
}

/// Reads the zone `origin` from its master file and all that it includes.
///
/// One error keeps the zone from being served, yet reading goes on at the next line, so that all of them are listed.
pub fn read(origin: &Name, root: Source, sources: &mut dyn Sources) -> Reading {
    let mut reader = Reader {
        zone: origin,
        sources,
        text: ZoneText { origin: origin.clone(), records: Records::default(), files: Vec::new() },
        numbers: HashMap::new(),
        open: Vec::new(),
        included: 0,
        generated: 0,
        default_ttl: None,
        last_ttl: None,
        told_of_last_ttl: false,
        full: false,
        rdata: Vec::new(),
        diagnostics: Vec::new(),
        errors: 0,
        warnings: 0,
    };
    reader.file(root, origin.clone(), Owner::None);
    reader.finish()
}

struct Reader<'s> {
    zone: &'s Name,
    sources: &'s mut dyn Sources,
    text: ZoneText,
    /// The number of each file in the list of files.
    numbers: HashMap<String, u16>,
    /// The files being read: each includes the next.
    open: Vec<String>,
    included: usize,
    generated: u32,
    default_ttl: Option<Ttl>,
    last_ttl: Option<Ttl>,
    told_of_last_ttl: bool,
    full: bool,
    rdata: Vec<u8>,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

/// What holds for one file while it is read.
struct Scope<'o> {
    file: u16,
    octets: &'o [u8],
    origin: Name,
    owner: Owner,
    /// The place of all that is found, where the octets are no file: in lines that `$GENERATE` made.
    pinned: Option<Place>,
}

/// The owner that a line beginning with a blank has.
#[derive(Clone)]
enum Owner {
    /// No record was read yet.
    None,
    /// A name in wire form.
    Known(Vec<u8>),
    /// The last owner was malformed, and reported: records that lean on it are left out in silence.
    Wrong,
}

impl Reader<'_> {
    fn file(&mut self, source: Source, origin: Name, owner: Owner) -> Owner {
        let count = self.text.files.len();
        let number = match self.numbers.get(&source.path) {
            Some(number) => *number,
            None => {
                // There are fewer inclusions than this can count.
                let number = u16::try_from(count).unwrap_or(u16::MAX);
                self.numbers.insert(source.path.clone(), number);
                self.text.files.push(source.path.clone());
                number
            }
        };
        self.open.push(source.path);
        let mut scope = Scope { file: number, octets: &source.octets, origin, owner, pinned: None };
        let mut lexer = Lexer::new(&source.octets);
        let mut tokens = Vec::new();
        while let Some(line) = lexer.line(&mut tokens) {
            match line {
                Ok(line) if !tokens.is_empty() => self.line(&mut scope, line.blank, &tokens),
                Ok(_) => {}
                Err(error) => self.error(&scope, error.id, error.at, error.message, error.advice),
            }
            if self.full {
                break;
            }
        }
        self.open.pop();
        scope.owner
    }

    fn line(&mut self, scope: &mut Scope<'_>, blank: bool, tokens: &[Token]) {
        let first = tokens[0];
        if !blank && !first.quoted && first.text(scope.octets).starts_with(b"$") {
            self.directive(scope, tokens);
        } else {
            self.record(scope, blank, tokens);
        }
    }

    fn error(&mut self, scope: &Scope<'_>, id: &'static str, at: Token, message: &str, advice: &str) {
        self.errors += 1;
        if self.errors <= MAX_LISTED {
            self.report(scope, Severity::Error, id, at, message, advice);
        }
    }

    fn warning(&mut self, scope: &Scope<'_>, id: &'static str, at: Token, message: &str, advice: &str) {
        self.warnings += 1;
        if self.warnings <= MAX_LISTED {
            self.report(scope, Severity::Warning, id, at, message, advice);
        }
    }

    fn report(
        &mut self,
        scope: &Scope<'_>,
        severity: Severity,
        id: &'static str,
        at: Token,
        message: &str,
        advice: &str,
    ) {
        let place = scope.place(&at);
        let text = String::from_utf8_lossy(at.text(scope.octets));
        let text = match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.into_owned(),
        };
        self.diagnostics.push(Diagnostic {
            severity,
            id,
            file: self.text.files.get(usize::from(place.file)).cloned().unwrap_or_default(),
            line: place.line,
            column: place.column,
            text,
            message: message.to_owned(),
            advice: advice.to_owned(),
        });
    }

    fn finish(mut self) -> Reading {
        for (severity, count, what) in
            [(Severity::Error, self.errors, "errors"), (Severity::Warning, self.warnings, "warnings")]
        {
            if count > MAX_LISTED {
                self.diagnostics.push(Diagnostic {
                    severity,
                    id: "more-findings",
                    file: self.text.files.first().cloned().unwrap_or_default(),
                    line: 0,
                    column: 0,
                    text: String::new(),
                    message: format!("{count} {what} in all, of which the first {MAX_LISTED} are listed"),
                    advice: String::new(),
                });
            }
        }
        Reading { text: self.text, errors: self.errors, diagnostics: self.diagnostics }
    }
}

impl Scope<'_> {
    fn place(&self, token: &Token) -> Place {
        self.pinned.unwrap_or_else(|| token.place(self.octets, self.file))
    }

    fn owner(&self) -> Option<NameRef<'_>> {
        match &self.owner {
            Owner::Known(wire) => Some(NameRef::trusted(wire)),
            _ => None,
        }
    }
}
