//! What a lookup would wait for, to be had at hand for many names at once.

use super::emit::target_of;
use super::node::{Flags, Node};
use super::sought::Sought;
use super::{OVER, Snapshot};
use crate::name::{MAX_NAME, NameRef};
use crate::rr::RrType;

impl Snapshot {
    /// Has at hand where in the table a search for `hash` begins.
    #[inline]
    pub(crate) fn prefetch_slot(&self, hash: u64) {
        self.base.table.prefetch(hash);
        if let Some(over) = &self.over {
            over.table.prefetch(hash);
        }
    }

    /// Has a node at hand.
    #[inline]
    pub(crate) fn prefetch_node(&self, node: u32) {
        let (arena, at) = self.place(node);
        arena.prefetch(at);
    }

    /// The node that the table has under this hash, whatever its name.
    pub(crate) fn node_under(&self, hash: u64) -> Option<u32> {
        let over = self.over.as_ref().and_then(|over| over.table.find(hash, |_| true));
        over.map(|at| at | OVER).or_else(|| self.base.table.find(hash, |_| true))
    }

    /// The node whose name has this hash.
    pub(crate) fn node_named(&self, hash: u64) -> Option<Node<'_>> {
        let has = |at: u32| self.shape.key.of(NameRef::trusted(self.node_at(at).name())) == hash;
        let over = self.over.as_ref().and_then(|over| over.table.find(hash, |at| has(at | OVER)));
        let at = over.map(|at| at | OVER).or_else(|| self.base.table.find(hash, has))?;
        Some(self.node_at(at)).filter(|node| !node.flags().has(Flags::GONE))
    }

    /// What the lookup of a name goes on with after `node`, which stands `skip` labels above it: the hash of the target
    /// of an alias or of a wildcard; after no node that of the next name above.
    pub(crate) fn hash_after(&self, node: Option<u32>, sought: &Sought, skip: usize) -> Option<u64> {
        let Some(node) = node.map(|at| self.node_at(at)) else {
            // The origin is there, and needs no look.
            return (sought.label_count() > self.origin().label_count() + skip + 1)
                .then(|| sought.hash_above(skip + 1));
        };
        if skip > 0 {
            let has_wildcard = node.flags().has(Flags::WILDCARD_CHILD);
            return has_wildcard.then(|| self.shape.key.of_wildcard(sought.hash_above(skip)));
        }
        if !node.flags().has(Flags::CNAME) {
            return None;
        }
        let mut buffer = [0; 2 * MAX_NAME];
        let len = target_of(node.set(RrType::CNAME)?, self.origin(), &mut buffer)?.len();
        buffer[..len].make_ascii_lowercase();
        Some(self.shape.key.of(NameRef::trusted(&buffer[..len])))
    }
}
