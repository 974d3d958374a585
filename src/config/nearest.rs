//! What somebody may have meant.

/// The one of `known` that `given` most likely is a slip of, if it is like any.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = given.to_lowercase();
    let allowed = 1 + given.chars().count() / 4;
    known
        .into_iter()
        .map(|known| (distance(&folded, &known.to_lowercase()), known))
        .filter(|(distance, known)| *distance <= allowed && *distance < known.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn distance(given: &str, known: &str) -> usize {
    // A beginning of at least three letters is a likely abbreviation, whatever is missing behind it.
    if given.len() >= 3 && known.starts_with(given) {
        return 1;
    }
    strsim::damerau_levenshtein(given, known)
}

/// A name that an operator gave and that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What it should be a name of: `zone`, `site`, `region`.
    pub kind: &'static str,
    /// The name as it was given.
    pub given: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
    /// All names that are known.
    pub known: Vec<String>,
}

impl UnknownName {
    /// `given` is none of `known`.
    pub fn new<S: Into<String>>(kind: &'static str, given: &str, known: impl IntoIterator<Item = S>) -> UnknownName {
        let known: Vec<String> = known.into_iter().map(Into::into).collect();
        let trimmed = given.strip_suffix('.').unwrap_or(given);
        let nearest = nearest(trimmed, known.iter().map(String::as_str)).map(str::to_owned);
        UnknownName { kind, given: given.into(), nearest, known }
    }

    /// What to write instead.
    pub fn advice(&self) -> String {
        match (&self.nearest, self.known.as_slice()) {
            (Some(nearest), _) => format!("did you mean `{nearest}`?"),
            (None, []) => format!("no {} is configured", self.kind),
            (None, known) => format!("the {}s here are: {}", self.kind, list(known)),
        }
    }
}

/// The first few of `names`, and how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no {} `{}`; {}", self.kind, self.given, self.advice())
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["listen", "workers", "user", "group", "udp_payload"];
        for (given, meant) in [
            ("lsiten", Some("listen")),
            ("Listen", Some("listen")),
            ("worker", Some("workers")),
            ("udp", Some("udp_payload")),
            ("usr", Some("user")),
            ("us", None),
            ("x", None),
            ("", None),
            ("certificate", None),
        ] {
            assert_eq!(nearest(given, known), meant, "{given}");
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let unknown = UnknownName::new("site", "q", (0..10).map(|n| format!("site-number-{n}")));
        assert!(unknown.advice().ends_with("`site-number-7` and 2 more"), "{unknown}");
        assert_eq!(
            UnknownName::new("zone", "wiki.exmaple.", ["wiki.example"]).nearest.as_deref(),
            Some("wiki.example")
        );
    }
}
