//! Counts as they stand in sentences.

/// `count` and the noun, in the plural unless it is one: `1 name`, `2 names`, `3 entries`.
pub fn counted(count: usize, noun: &str) -> String {
    let vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !vowel(stem) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

/// A length of time in its greatest unit, rounded down: `2 days`, `1 hour`, `40 seconds`.
pub fn span(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds >= *length).unwrap_or((1, "second"));
    counted(usize::try_from(seconds / length).unwrap_or(usize::MAX), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        for (count, noun, text) in [(0, "name", "0 names"), (1, "name", "1 name"), (2, "entry", "2 entries")] {
            assert_eq!(counted(count, noun), text);
        }
        assert_eq!(counted(2, "key"), "2 keys");
    }

    #[test]
    fn spans_are_told_in_their_greatest_unit() {
        for (seconds, text) in
            [(0, "0 seconds"), (59, "59 seconds"), (60, "1 minute"), (7199, "1 hour"), (215_482_521, "2494 days")]
        {
            assert_eq!(span(seconds), text);
        }
    }
}
