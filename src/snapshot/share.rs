//! Two sites of a zone mostly answer alike: what is the same lies in memory once, below a small layer of what is not.

use std::sync::Arc;

use foldhash::HashMap;

use super::denial::Denial;
use super::node::{Arena, Flags, Link, Node, SetParts, WireSet};
use super::{Layer, OVER, Snapshot};
use crate::name::NameRef;
use crate::rr::RrType;
use crate::table::Table;

/// A snapshot that shares less than three quarters of its octets had better stand alone: looking into two layers is
/// dearer than into one.
const WORTH_IT: usize = 4;
/// In a larger arena than this the places of the two layers could not be told apart.
const MOST: usize = OVER as usize;

impl Snapshot {
    /// Gives up what lies in the base of `other`, too, and answers from there. A snapshot that has little in common, or is
    /// signed, stays as it is.
    pub fn share(&mut self, other: &Snapshot) {
        let alike = self.shape == other.shape && self.origin == other.origin && self.over.is_none();
        if !alike || !matches!((&self.denial, &other.denial), (Denial::None, Denial::None)) {
            return;
        }
        let Some(over) = Over::of(&self.base, other) else { return };
        let (over, negative_soa) = over.finish(self.base.arena.wire_set(self.negative_soa));
        (self.base, self.over, self.negative_soa) = (Arc::clone(&other.base), Some(Box::new(over)), negative_soa);
    }
}

/// The upper layer in the making.
struct Over<'a> {
    full: &'a Layer,
    base: &'a Layer,
    key: super::HashKey,
    layer: Layer,
    /// From places in the full snapshot to places here, for what is not shared.
    moved: HashMap<u32, u32>,
    /// Links to be filled in once all nodes have their places.
    open_links: Vec<(usize, usize, Link)>,
}

impl<'a> Over<'a> {
    fn of(full: &'a Layer, other: &'a Snapshot) -> Option<Over<'a>> {
        let (base, key) = (&*other.base, other.key());
        if full.arena.len().max(base.arena.len()) > MOST {
            return None;
        }
        let twin = |layer: &'a Layer, node: Node<'_>| {
            layer.find(key.of(NameRef::trusted(node.name())), |name| name == node.name())
        };
        let (mut own, mut octets, mut known) = (Vec::new(), 0, 0);
        // The nodes have no order in a table. In the arenas they have that of their names, in both the same: what is looked at
        // one after the other lies side by side.
        let mut nodes: Vec<u32> = full.table.numbers().collect();
        nodes.sort_unstable();
        for at in nodes {
            let node = full.arena.node(at);
            let twin = twin(base, node);
            known += usize::from(twin.is_some());
            if twin.is_none_or(|twin| !same(&full.arena, node, &base.arena, twin)) {
                octets += node.len();
                own.push(at);
                if octets * WORTH_IT > full.arena.len() {
                    return None;
                }
            }
        }
        let mut gone = Vec::new();
        if known < base.table.len() {
            let strangers = base.table.numbers().map(|at| base.arena.node(at));
            gone.extend(strangers.filter(|node| twin(full, *node).is_none()));
        }
        let table = Table::with_room_for(own.len() + gone.len());
        let layer = Layer { table, arena: Arena::default() };
        let mut over = Over { full, base, key, layer, moved: HashMap::default(), open_links: Vec::new() };
        own.into_iter().for_each(|at| over.lay(at));
        for node in gone {
            let at = over.layer.arena.begin_node(node.name(), Flags::GONE, 0);
            over.layer.table.insert(key.of(NameRef::trusted(node.name())), at);
        }
        Some(over)
    }

    /// Lays down a node that is not shared.
    fn lay(&mut self, at: u32) {
        let node = self.full.arena.node(at);
        let own = self.copy(at, node);
        self.layer.table.insert(self.key.of(NameRef::trusted(node.name())), own);
    }

    /// Copies a node, its links yet to be filled in.
    fn copy(&mut self, at: u32, node: Node<'a>) -> u32 {
        let own = self.layer.arena.begin_node(node.name(), node.flags(), node.sets().count() as u16);
        for set in node.sets() {
            let links_at = self.push(set);
            let open = set.links().enumerate().filter(|(_, link)| link.node != 0);
            self.open_links.extend(open.map(|(index, link)| (links_at, index, link)));
        }
        self.moved.insert(at, own);
        own
    }

    fn push(&mut self, set: WireSet<'_>) -> usize {
        let parts = SetParts {
            records: set.record_count(),
            signature_count: set.signature_count(),
            pointers: set.pointers().map(|at| at as u16).collect(),
            links: set.links().map(|link| Link { node: 0, ..link }).collect(),
            body: set.body().to_vec(),
            signatures: set.signatures().to_vec(),
        };
        self.layer.arena.push_set(set.rtype(), set.ttl(), &parts)
    }

    /// Fills in the links; the layer, and where in it the SOA of negative answers is.
    fn finish(mut self, negative_soa: WireSet<'_>) -> (Layer, u32) {
        for (links_at, index, link) in std::mem::take(&mut self.open_links) {
            let node = self.target(link.node);
            self.layer.arena.set_link(links_at, index, Link { node, ..link });
        }
        let at = self.layer.arena.begin_lone_set();
        self.push(negative_soa);
        self.layer.arena.shrink();
        (self.layer, at | OVER)
    }

    /// Where the addresses are that were at `at` in the full snapshot.
    fn target(&mut self, at: u32) -> u32 {
        if let Some(own) = self.moved.get(&at) {
            return own | OVER;
        }
        let node = self.full.arena.node(at);
        let hash = self.key.of(NameRef::trusted(node.name()));
        // What is in the table and was not moved is shared. Glue is in no table.
        match self.base.table.find(hash, |base| self.base.arena.node(base).name() == node.name()) {
            Some(base) if same_addresses(node, self.base.arena.node(base)) => base,
            // It has no links: none is opened any more.
            _ => self.copy(at, node) | OVER,
        }
    }
}

/// Whether two nodes of one name answer alike, with the addresses that their links lead to.
fn same(own: &Arena, node: Node<'_>, base: &Arena, twin: Node<'_>) -> bool {
    let same_links = |set: WireSet<'_>, other: WireSet<'_>| {
        let mut pairs = set.links().zip(other.links());
        set.links().count() == other.links().count()
            && pairs.all(|(link, other)| {
                link.name_at == other.name_at
                    && link.required == other.required
                    && (link.node == 0) == (other.node == 0)
                    && (link.node == 0 || same_addresses(own.node(link.node), base.node(other.node)))
            })
    };
    node.flags() == twin.flags()
        && node.sets().count() == twin.sets().count()
        && node.sets().zip(twin.sets()).all(|(set, other)| set.same_records(other) && same_links(set, other))
}

/// Whether links to either lead to the same addresses: all that is told of a link's target.
fn same_addresses(one: Node<'_>, other: Node<'_>) -> bool {
    fn addresses(node: Node<'_>) -> impl Iterator<Item = WireSet<'_>> {
        node.sets().filter(|set| matches!(set.rtype(), RrType::A | RrType::AAAA))
    }
    addresses(one).count() == addresses(other).count()
        && addresses(one).zip(addresses(other)).all(|(set, other)| set.same_records(other))
}

#[cfg(test)]
mod tests;
