//! What was found out about moves before anybody asked: verdicts by the digests of what they rest on.
//!
//! A finding about a pair of sites is a function of what both answer, and of what answers lead to in other zones
//! ([`super::reach`]). A [`Memo`] keeps it under the digest of all that, so that it is right for as long as it is found.
//! With one or without one, a gate says the same; it only says it sooner.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::closure::Broken;
use super::dead_ends::DeadEnds;
use super::signed::Unlike;
use super::vanish::Vanishing;
use crate::digest::Digest;
use crate::zone::diff::Differing;

/// More findings of one kind than this are not kept of a zone.
const MOST: usize = 4096;
/// A finding with more lines than this is not kept: it stops a move, and is found anew for whoever wants to see it.
const MOST_LINES: usize = 10_000;

/// What was found out about moves of one zone. It never changes; what is learnt makes another one.
#[derive(Clone, Default)]
pub struct Memo {
    vanishing: Shelf<Vanishing>,
    broken: Shelf<Broken>,
    unlike: Shelf<Unlike>,
    dead_ends: Shelf<DeadEnds>,
    differing: Shelf<Differing>,
}

/// Findings of one kind by the digest of what they rest on.
type Shelf<T> = HashMap<Digest, Arc<T>>;

impl Memo {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many findings there are.
    pub fn len(&self) -> usize {
        self.vanishing.len() + self.broken.len() + self.unlike.len() + self.dead_ends.len() + self.differing.len()
    }

    /// Takes over what another one knows.
    pub fn learn(&mut self, other: &Memo) {
        fn join<T>(shelf: &mut Shelf<T>, other: &Shelf<T>) {
            let room = MOST.saturating_sub(shelf.len());
            shelf.extend(other.iter().take(room).map(|(key, found)| (*key, Arc::clone(found))));
        }
        join(&mut self.vanishing, &other.vanishing);
        join(&mut self.broken, &other.broken);
        join(&mut self.unlike, &other.unlike);
        join(&mut self.dead_ends, &other.dead_ends);
        join(&mut self.differing, &other.differing);
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo ({} findings)", self.len())
    }
}

/// A kind of finding that is kept.
pub(crate) trait Kept: Sized {
    /// Those of its kind.
    fn shelf(memo: &mut Memo) -> &mut Shelf<Self>;
    /// Those of its kind.
    fn of(memo: &Memo) -> &Shelf<Self>;
    /// How many lines it has.
    fn lines(&self) -> usize;
}

macro_rules! kept {
    ($kind:ty, $shelf:ident, |$found:ident| $lines:expr) => {
        impl Kept for $kind {
            fn shelf(memo: &mut Memo) -> &mut Shelf<$kind> {
                &mut memo.$shelf
            }

            fn of(memo: &Memo) -> &Shelf<$kind> {
                &memo.$shelf
            }

            fn lines(&self) -> usize {
                let $found = self;
                $lines
            }
        }
    };
}

kept!(Vanishing, vanishing, |found| found.lost.len() + found.unproven.len());
kept!(Broken, broken, |found| found.lines.len());
kept!(Unlike, unlike, |found| found.lines.len());
kept!(DeadEnds, dead_ends, |found| found.new.len() + found.old.len());
kept!(Differing, differing, |found| found.first.len());

/// What gates find, from a memo where it is in there; and, for who wants to learn, all that they found.
pub(crate) struct Recall<'m> {
    known: &'m Memo,
    learnt: Option<Memo>,
}

impl<'m> Recall<'m> {
    /// Finds what is not known.
    pub fn reading(known: &'m Memo) -> Recall<'m> {
        Recall { known, learnt: None }
    }

    /// Finds what is not known, and keeps all that was asked for.
    pub fn learning(known: &'m Memo) -> Recall<'m> {
        Recall { known, learnt: Some(Memo::default()) }
    }

    /// All that was asked for.
    pub fn into_learnt(self) -> Memo {
        self.learnt.unwrap_or_default()
    }

    /// What was found under `key`, or else what `find` finds.
    pub fn find<T: Kept>(&mut self, key: impl FnOnce() -> Digest, find: impl FnOnce() -> T) -> Arc<T> {
        if self.learnt.is_none() && T::of(self.known).is_empty() {
            // A digest of a large zone is not computed for nothing.
            return Arc::new(find());
        }
        let key = key();
        let found = T::of(self.known).get(&key).cloned().unwrap_or_else(|| Arc::new(find()));
        if let Some(learnt) = self.learnt.as_mut().filter(|_| found.lines() <= MOST_LINES) {
            let shelf = T::shelf(learnt);
            if shelf.len() < MOST {
                shelf.insert(key, Arc::clone(&found));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
