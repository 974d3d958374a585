//! Where to look for a name among many in canonical order: keys of a few of them, which fit in a processor's cache as the
//! names themselves do not.

use std::ops::Range;

use super::order::Key;
use crate::name::NameRef;

/// The distance of those whose keys are kept.
const EVERY: usize = 64;

/// The keys of every sixty-fourth of the owners of a zone.
#[derive(Clone, Debug)]
pub(super) struct Samples(Box<[Key]>);

impl Samples {
    /// Looks at `count` names in canonical order, all at or below `origin`.
    pub fn of<'a>(count: usize, origin: NameRef<'_>, name: impl Fn(usize) -> NameRef<'a>) -> Samples {
        Samples((0..count).step_by(EVERY).map(|index| Key::of(name(index), origin)).collect())
    }

    /// Among which of the `count` names the first one is that is not in front of `name`; where they end if none of them is.
    pub fn around(&self, name: NameRef<'_>, origin: NameRef<'_>, count: usize) -> Range<usize> {
        // Keys tell nothing of other names.
        if !name.is_at_or_below(origin) {
            return 0..count;
        }
        let key = Key::of(name, origin);
        let in_front = self.0.partition_point(|sample| *sample < key);
        // As a rule no sample has the very key.
        let others = &self.0[in_front..];
        let has_key = others.first().is_some_and(|sample| *sample == key);
        let behind = if has_key { in_front + others.partition_point(|sample| *sample == key) } else { in_front };
        let start = in_front.checked_sub(1).map_or(0, |last| last * EVERY + 1);
        start..count.min(behind * EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn every_name_is_where_it_is_looked_for() {
        let origin = Name::absolute("x.example").unwrap();
        let mut names: Vec<Name> = (0..500)
            .flat_map(|number| {
                // Half of them have the same key as many others.
                let label =
                    if number % 2 == 0 { format!("w{number}") } else { format!("a-label-beyond-keys-{number}") };
                [format!("{label}.x.example"), format!("b.{label}.x.example")]
            })
            .map(|text| Name::absolute(&text).unwrap())
            .collect();
        names.push(origin.clone());
        names.sort();
        // Of all names every other one is there.
        let known: Vec<&Name> = names.iter().step_by(2).collect();
        let samples = Samples::of(known.len(), origin.as_ref(), |index| known[index].as_ref());
        let mut narrow = 0;
        for name in &names {
            let wanted = known.partition_point(|known| *known < name);
            let found = samples.around(name.as_ref(), origin.as_ref(), known.len());
            assert!(found.start <= wanted && wanted <= found.end, "{name}: {wanted} is not within {found:?}");
            narrow += usize::from(found.len() <= EVERY);
        }
        assert!(narrow > names.len() / 3);
        for outside in ["example", "a.example", "z", "."] {
            let outside = Name::absolute(outside).unwrap();
            assert_eq!(samples.around(outside.as_ref(), origin.as_ref(), known.len()), 0..known.len());
        }
    }
}
