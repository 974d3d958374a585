//! Many queries looked up side by side, so that they wait for memory together and not one after the other.
//!
//! Over a million names every look into table or arena misses the cache, and within one lookup each look needs the one
//! before. Those of different queries do not: taken in turns, in loops so short that the processor has many of them
//! under way, all take about as long as one. The answers are then put together one by one, as ever; nothing that is
//! found here decides about them.

use std::net::IpAddr;

use super::Serving;
use super::asked::Asked;
use crate::net::ClientNet;
use crate::snapshot::Snapshot;

/// How many queries are looked up together at the most.
pub const TOGETHER: usize = 32;
/// A name, what it leads to (the target of an alias, or the name above it) and what that leads to (a wildcard): further
/// looks are rare.
const TURNS: usize = 3;

/// The lookups of a batch under way.
pub struct Ahead<'s> {
    serving: &'s Serving,
    walks: [Option<Walk<'s>>; TOGETHER],
    count: usize,
}

/// A lookup under way.
#[derive(Clone, Copy)]
struct Walk<'s> {
    snapshot: &'s Snapshot,
    /// Of the name to look at next; none when there is nothing more to look at.
    hash: Option<u64>,
    node: Option<u32>,
    /// How many labels above the query's name the name to look at is.
    skip: usize,
}

impl<'s> Ahead<'s> {
    /// For a batch that is answered from `serving`.
    pub fn of(serving: &'s Serving) -> Ahead<'s> {
        Ahead { serving, walks: [None; TOGETHER], count: 0 }
    }

    /// Adds a query; `asked` becomes what it asks for, for [`Serving::respond_to`] to go on with. Returns the number of the
    /// zone that holds the name, if any.
    pub fn add(&mut self, packet: &[u8], source: IpAddr, asked: &mut Asked) -> Option<usize> {
        asked.set(self.serving, packet);
        let walk = self.walks.get_mut(self.count)?;
        self.count += 1;
        let far = asked.zone.filter(|_| self.serving.is_far);
        *walk = far.map(|number| {
            let zone = &self.serving.zones[number];
            let snapshot = zone.snapshot(self.serving.view(ClientNet::from_source(source)).site(zone));
            Walk { snapshot, hash: Some(asked.sought.hash_above(0)), node: None, skip: 0 }
        });
        asked.zone
    }

    /// Looks at what the answers will need; `all` are those of [`Ahead::add`], in the same order. Returns a number of
    /// no meaning, which the looks are made for: whoever throws it away unseen may save them, too.
    pub fn look(mut self, all: &[Asked]) -> u32 {
        let mut seen = 0u32;
        for _ in 0..TURNS {
            for walk in self.walks[..self.count].iter().flatten() {
                seen ^= walk.hash.map_or(0, |hash| walk.snapshot.touch_slot(hash));
            }
            for walk in self.walks[..self.count].iter_mut().flatten() {
                walk.node = walk.hash.and_then(|hash| walk.snapshot.node_under(hash));
            }
            for walk in self.walks[..self.count].iter().flatten() {
                seen ^= walk.node.map_or(0, |node| walk.snapshot.touch_node(node).into());
            }
            let mut is_over = true;
            for (walk, asked) in self.walks[..self.count].iter_mut().zip(all) {
                let Some(walk) = walk.as_mut().filter(|walk| walk.hash.is_some()) else { continue };
                walk.hash = walk.snapshot.hash_after(walk.node, &asked.sought, walk.skip);
                walk.skip += usize::from(walk.node.is_none());
                is_over &= walk.hash.is_none();
            }
            if is_over {
                break;
            }
        }
        seen
    }
}
