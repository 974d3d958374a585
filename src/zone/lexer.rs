//! Master files cut into words (RFC 1035 §5.1): one logical line at a time, parentheses, comments and line ends gone.
//!
//! Words are not decoded here: they are ranges of the file, so that reading allocates nothing for them.

use crate::zone::diagnostic::Place;

/// A word or a quoted string, where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Where its text begins in the file, an opening quote left out.
    pub start: usize,
    /// Where its text ends, a closing quote left out.
    pub end: usize,
    /// The line, from 1.
    pub line: u32,
    /// Where that line begins in the file.
    pub line_start: usize,
    /// Whether it stood in quotes.
    pub quoted: bool,
    /// Whether it follows the token before it without a blank, as in `alpn="h2"`.
    pub glued: bool,
}

impl Token {
    /// Its place; the column counts characters.
    pub fn place(&self, octets: &[u8], file: u16) -> Place {
        let start = self.start - usize::from(self.quoted);
        // Octets inside a UTF-8 sequence are no characters of their own.
        let before = octets[self.line_start..start].iter().filter(|b| (**b as i8) >= -0x40).count();
        Place { file, line: self.line, column: u16::try_from(before + 1).unwrap_or(u16::MAX) }
    }

    /// Its text as it stands in the file, without quotes.
    pub fn text<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        octets.get(self.start..self.end).unwrap_or_default()
    }
}

/// What keeps a line from being cut into words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LexError {
    /// The stable id of the finding.
    pub id: &'static str,
    /// What is wrong.
    pub message: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// The text at fault.
    pub at: Token,
}

/// How a logical line began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Whether it began with a blank, so that its owner is the one before.
    pub blank: bool,
}

/// Cuts a master file into logical lines of tokens.
pub(crate) struct Lexer<'a> {
    octets: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
    error: Option<LexError>,
    told_of_cr: bool,
    went_back: bool,
}

const WORD: u8 = 0;
const END: u8 = 1;
const ODD: u8 = 2;

/// What each octet means inside a word: nothing, its end, or a closer look.
const CLASS: [u8; 256] = {
    let mut class = [WORD; 256];
    let ends = b" \t\r\n();\"";
    let mut i = 0;
    while i < ends.len() {
        class[ends[i] as usize] = END;
        i += 1;
    }
    class[0] = ODD;
    class[b'\\' as usize] = ODD;
    class[0xC2] = ODD;
    class
};

impl<'a> Lexer<'a> {
    /// A lexer at the start of a file.
    pub fn new(octets: &'a [u8]) -> Lexer<'a> {
        let mut lexer =
            Lexer { octets, at: 0, line: 1, line_start: 0, error: None, told_of_cr: false, went_back: false };
        match octets {
            [0xEF, 0xBB, 0xBF, ..] => {
                lexer.fail(
                    0,
                    0,
                    "byte-order-mark",
                    "the file begins with a byte-order mark, which would become part of the first owner name",
                    "save the file as UTF-8 without a byte-order mark",
                );
                (lexer.at, lexer.line_start) = (3, 3);
            }
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, ..] | [_, 0, ..] => {
                lexer.fail(
                    0,
                    0,
                    "utf-16",
                    "the file is UTF-16 (or binary): master files are made of single octets",
                    "save the file as ASCII or UTF-8 without a byte-order mark",
                );
                lexer.at = octets.len();
            }
            _ => {}
        }
        lexer
    }

    /// The tokens of the next logical line, put in `tokens`; nothing at the end of the file.
    ///
    /// A line may have no tokens. After an error the next call goes on behind the line at fault.
    pub fn line(&mut self, tokens: &mut Vec<Token>) -> Option<Result<Line, LexError>> {
        tokens.clear();
        if let Some(error) = self.error.take() {
            return Some(Err(error)); // The whole file's encoding.
        }
        if self.at >= self.octets.len() {
            return None;
        }
        let blank = matches!(self.octets[self.at], b' ' | b'\t');
        let mut depth = 0u32;
        let mut opened = None;
        let mut glue = usize::MAX;
        while let Some(&octet) = self.octets.get(self.at) {
            match octet {
                b' ' | b'\t' => self.at += 1,
                b'\n' | b'\r' => {
                    self.newline();
                    if depth == 0 {
                        break;
                    }
                }
                b';' => self.at += self.octets[self.at..].iter().take_while(|b| !matches!(b, b'\n' | b'\r')).count(),
                b'(' => {
                    opened.get_or_insert(self.token(self.at, self.at + 1));
                    depth += 1;
                    self.at += 1;
                }
                b')' => {
                    self.close(depth);
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        opened = None;
                    }
                    self.at += 1;
                }
                _ => {
                    let glued = glue == self.at;
                    let mut token = if octet == b'"' { self.quoted() } else { self.word() };
                    token.glued = glued;
                    if token.quoted || token.end > token.start {
                        tokens.push(token);
                    }
                    glue = self.at;
                }
            }
        }
        if let Some(open) = opened {
            self.unclosed(open);
        }
        Some(self.error.take().map_or(Ok(Line { blank }), Err))
    }

    fn token(&self, start: usize, end: usize) -> Token {
        Token { start, end, line: self.line, line_start: self.line_start, quoted: false, glued: false }
    }

    /// Keeps the first error of a line.
    fn fail(&mut self, start: usize, end: usize, id: &'static str, message: &'static str, advice: &'static str) {
        let at = self.token(start, end.min(self.octets.len()));
        self.error.get_or_insert(LexError { id, message, advice, at });
    }

    fn newline(&mut self) {
        let crlf = self.octets[self.at..].starts_with(b"\r\n");
        if self.octets[self.at] == b'\r' && !crlf && !self.told_of_cr {
            self.told_of_cr = true; // Once a file: there may be one on each line.
            self.fail(
                self.at,
                self.at,
                "carriage-return",
                "a carriage return without a line feed: the line ends of old Macs, or a damaged file",
                "save the file with LF or CRLF line ends",
            );
        }
        self.at += if crlf { 2 } else { 1 };
        self.line = self.line.saturating_add(1);
        self.line_start = self.at;
    }

    fn close(&mut self, depth: u32) {
        if depth == 0 {
            self.fail(
                self.at,
                self.at + 1,
                "unbalanced-parentheses",
                "a `)` closes a parenthesis that was never opened",
                "remove it, or put the `(` on the line where the record begins",
            );
        }
    }

    /// A parenthesis is open at the end of the file: goes back, once, to the next line that does not look like more of
    /// the same record, so that one forgotten `)` does not hide what is wrong further down.
    fn unclosed(&mut self, open: Token) {
        self.error = Some(LexError {
            id: "unbalanced-parentheses",
            message: "this parenthesis is never closed, so that the rest of the file is part of one record",
            advice: "put a `)` where the record ends",
            at: open,
        });
        if std::mem::replace(&mut self.went_back, true) {
            return;
        }
        (self.at, self.line, self.line_start) = (open.start, open.line, open.line_start);
        while let Some(length) = self.octets[self.at..].iter().position(|b| *b == b'\n') {
            self.at += length + 1;
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
            if self.octets.get(self.at).is_some_and(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b';' | b')')) {
                return;
            }
        }
        self.at = self.octets.len();
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        loop {
            while self.octets.get(self.at).is_some_and(|b| CLASS[*b as usize] == WORD) {
                self.at += 1;
            }
            match self.octets.get(self.at) {
                Some(b'\\') => {
                    // An escape hides what follows from us, but not the end of the line.
                    let hides = self.octets.get(self.at + 1).is_some_and(|b| !matches!(b, b'\n' | b'\r' | 0));
                    self.at += 1 + usize::from(hides);
                }
                Some(0) => {
                    self.nul();
                    self.at += 1;
                }
                Some(0xC2) if self.octets.get(self.at + 1) == Some(&0xA0) => {
                    self.fail(
                        self.at,
                        self.at + 2,
                        "no-break-space",
                        "a no-break space (U+00A0) stands where a blank should: it would become part of a name or value",
                        "write an ordinary space; text copied from web pages and word processors often holds these",
                    );
                    self.at += 2;
                    return self.token(start, self.at - 2);
                }
                Some(0xC2) => self.at += 1,
                _ => return self.token(start, self.at),
            }
        }
    }

    fn quoted(&mut self) -> Token {
        let mut token = self.token(self.at + 1, self.at + 1);
        token.quoted = true;
        self.at += 1;
        loop {
            match self.octets.get(self.at) {
                Some(b'"') => {
                    token.end = self.at;
                    self.at += 1;
                    return token;
                }
                Some(b'\\') if self.octets.get(self.at + 1).is_some_and(|b| !matches!(b, b'\n' | b'\r')) => {
                    self.at += 2;
                }
                None | Some(b'\n' | b'\r') => {
                    token.end = self.at;
                    self.fail(
                        token.start - 1,
                        token.end,
                        "unclosed-quote",
                        "a quoted string is not closed on its line",
                        "close it with `\"`; a string that spans lines is written as several strings in parentheses",
                    );
                    return token;
                }
                Some(0) => {
                    self.nul();
                    self.at += 1;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn nul(&mut self) {
        self.fail(
            self.at,
            self.at + 1,
            "nul",
            "the file holds an octet of value 0: it is damaged, or not a text file",
            "restore the file; where the octet is meant, write \\000",
        );
    }
}
