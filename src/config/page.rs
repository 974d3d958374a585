//! The text of a configuration, and what was found wrong in it.

use std::cell::RefCell;
use std::ops::Range;

use super::problem::Problem;

/// The text of a configuration, and what was found wrong in it so far.
pub(super) struct Page<'t> {
    file: String,
    text: &'t str,
    line_starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
}

impl<'t> Page<'t> {
    pub(super) fn new(file: String, text: &'t str) -> Page<'t> {
        let starts =
            std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        Page { file, text, line_starts: starts.collect(), problems: RefCell::default() }
    }

    /// The line and column, both from 1, of the octet `at`.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= at).max(1);
        let start = self.line_starts[line - 1];
        let before = self.text.as_bytes()[start..at].iter().filter(|octet| *octet & 0xC0 != 0x80).count();
        (line, before + 1)
    }

    /// Notes what is wrong with `key`, which stands at `span`.
    pub(super) fn wrong(
        &self,
        span: &Range<usize>,
        key: &str,
        what: impl Into<String>,
        meaning: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (line, column) = self.place(span.start);
        self.problems.borrow_mut().push(Problem {
            file: self.file.clone(),
            line,
            column,
            key: key.into(),
            what: what.into(),
            meaning: meaning.into(),
            remedy: remedy.into(),
        });
    }

    /// What was found wrong, in the order of the text.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }
}
