//! Zones whose files and answers are not in step: what is said about it in answers (RFC 8914), and no more.

use crate::name::{Name, NameRef};

/// Zones of which more has to be said than their content says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    stale: Vec<Name>,
    missing: Vec<Name>,
}

impl Notes {
    /// Notes on zones that are answered from the last good content, as their files cannot be, and on zones that are
    /// configured and were never fit to be answered.
    pub fn new(mut stale: Vec<Name>, mut missing: Vec<Name>) -> Notes {
        stale.sort_unstable();
        missing.sort_unstable();
        Notes { stale, missing }
    }

    /// Whether `name` is in a zone that is answered from its last good content.
    #[inline]
    pub fn is_stale(&self, name: NameRef<'_>) -> bool {
        !self.stale.is_empty() && holds(&self.stale, name)
    }

    /// Whether `name` is in a zone that is configured and not answered.
    pub fn is_missing(&self, name: NameRef<'_>) -> bool {
        holds(&self.missing, name)
    }
}

fn holds(zones: &[Name], name: NameRef<'_>) -> bool {
    name.ancestors().any(|name| zones.binary_search_by(|zone| zone.as_ref().cmp(&name)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_about_a_zone_and_all_below_it() {
        let name = |text| Name::absolute(text).unwrap();
        let notes = Notes::new(vec![name("b.example"), name("a.example")], vec![name("lost.example")]);
        for (asked, stale, missing) in [
            ("a.example", true, false),
            ("x.y.B.example", true, false),
            ("example", false, false),
            ("www.Lost.Example", false, true),
            ("c.example", false, false),
        ] {
            let name = name(asked);
            assert_eq!((notes.is_stale(name.as_ref()), notes.is_missing(name.as_ref())), (stale, missing), "{asked}");
        }
        assert!(!Notes::default().is_stale(name("a.example").as_ref()));
    }
}
