//! Many queries looked up side by side, so that they wait for memory together and not one after the other.
//!
//! Over a million names every look into table or arena misses the cache, and within one lookup each look needs the one
//! before. Those of different queries do not: taken in turns, each asks for what the next turn needs, and goes on with the other
//! queries while it comes. The answers are then put together one by one, as ever; where the nodes are is known by then, and
//! whether they are the right ones is looked at there.

use super::Serving;
use super::asked::Asked;
use crate::snapshot::Snapshot;

/// How many queries are looked up together at the most.
pub const TOGETHER: usize = 32;
/// A name, what it leads to (the target of an alias, or the name above it) and what that leads to (a wildcard): further
/// looks are rare.
const TURNS: usize = 3;

/// A lookup under way.
#[derive(Clone, Copy, Default)]
struct Walk<'s> {
    /// What answers; none where there is nothing more to look at.
    snapshot: Option<&'s Snapshot>,
    /// Of the name to look at next.
    hash: u64,
    node: Option<u32>,
    /// How many labels above the query's name the name to look at is.
    skip: u32,
}

/// Finds what each of a batch of queries asks `serving` for, all of them [read](Asked::read), and has at hand what the answers
/// will need.
pub fn find_together(serving: &Serving, all: &mut [Asked]) {
    all.chunks_mut(TOGETHER).for_each(|all| find_some(serving, all));
}

fn find_some(serving: &Serving, all: &mut [Asked]) {
    let mut walks = [Walk::default(); TOGETHER];
    let walks = &mut walks[..all.len()];
    for (walk, asked) in walks.iter_mut().zip(&mut *all) {
        asked.find(serving);
        let Some(zone) = asked.zone.map(|zone| &serving.zones[zone]) else { continue };
        // What clients at other sites are answered from lies in the same place, for the most part.
        let (snapshot, hash) = (&**zone.snapshot(zone.sites_in_use()[0]), asked.sought.hash_above(0));
        snapshot.prefetch_slot(hash);
        (walk.snapshot, walk.hash) = (Some(snapshot), hash);
    }
    for (walk, asked) in walks.iter_mut().zip(&mut *all) {
        if let Some((snapshot, node)) = walk.step() {
            asked.sought.see(snapshot, node);
        }
    }
    // Where zones are in the cache, this is dearer than what it would save.
    for _ in 1..if serving.is_far { TURNS } else { 1 } {
        let mut is_over = true;
        for (walk, asked) in walks.iter_mut().zip(&*all) {
            let Some(snapshot) = walk.snapshot else { continue };
            match snapshot.hash_after(walk.node, &asked.sought, walk.skip as usize) {
                Some(hash) => {
                    snapshot.prefetch_slot(hash);
                    (walk.hash, is_over) = (hash, false);
                    walk.skip += u32::from(walk.node.is_none());
                }
                None => walk.snapshot = None,
            }
        }
        if is_over {
            break;
        }
        walks.iter_mut().for_each(|walk| _ = walk.step());
    }
}

impl<'s> Walk<'s> {
    /// Finds the node, and has it at hand.
    #[inline]
    fn step(&mut self) -> Option<(&'s Snapshot, u32)> {
        let snapshot = self.snapshot?;
        self.node = snapshot.node_under(self.hash);
        snapshot.prefetch_node(self.node?);
        self.snapshot.zip(self.node)
    }
}
