//! RRsets whose TTLs are lowered while traffic moves: those that differ between the two ends of a move.

use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::HashSet;

use super::Snapshot;
use super::encode::LINKED;
use super::lookup::Found;
use super::node::{Node, WireSet};
use super::sought::Sought;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::time::Ttl;
use crate::zone::diff::diff;
use crate::zone::nsec3::hash_of_owner;
use crate::zone::rrsets::Zone;

/// One end of a move: its RRsets as they were read, and as they are answered.
#[derive(Clone, Copy)]
pub struct End<'a> {
    /// As they were read.
    pub zone: &'a Zone,
    /// As they are answered.
    pub snapshot: &'a Arc<Snapshot>,
}

/// RRsets that a client may be told otherwise at the other end of a move.
#[derive(Debug)]
pub struct Unlike {
    /// By where in memory the RRset lies.
    places: HashSet<usize>,
    /// How many there may be. Beyond that all RRsets count, which harms nobody.
    most: usize,
    are_all: bool,
}

/// How many RRsets are told apart: some megabytes.
const MOST: usize = 1 << 18;

/// RRsets whose TTLs are lowered for as long as this is in force.
#[derive(Debug, Default)]
pub struct Capped {
    caps: Vec<(Arc<Unlike>, Ttl)>,
    /// SOA records of denials, by where they lie.
    denials: Vec<(usize, Ttl)>,
    /// Keeps that memory what it is.
    snapshots: Vec<Arc<Snapshot>>,
}

impl Capped {
    /// Lowers to `ttl` what a client may be told otherwise at the other end.
    pub fn lower_between(&mut self, ends: [End<'_>; 2], ttl: Ttl) {
        self.lower(Arc::new(Unlike::between(ends)), ends, ttl);
    }

    /// The same where it was found out before what is not alike at these ends.
    pub fn lower(&mut self, unlike: Arc<Unlike>, ends: [End<'_>; 2], ttl: Ttl) {
        match self.caps.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &unlike)) {
            Some((_, known)) => *known = ttl.min(*known),
            None => {
                self.caps.push((unlike, ttl));
                self.snapshots.extend(ends.map(|end| Arc::clone(end.snapshot)));
            }
        }
    }

    /// Lowers denials that are told with the SOA record of this site.
    pub fn lower_denials(&mut self, end: End<'_>, ttl: Ttl) {
        let place = end.snapshot.negative_soa().place();
        match self.denials.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known = ttl.min(*known),
            None => {
                self.denials.push((place, ttl));
                self.snapshots.push(Arc::clone(end.snapshot));
            }
        }
    }

    /// The TTL of an RRset: its own, or less.
    pub fn ttl_of(&self, set: WireSet<'_>) -> Ttl {
        self.caps_of(set).fold(set.ttl(), Ttl::min)
    }

    /// Whether an RRset is one of those.
    pub fn lowers(&self, set: WireSet<'_>) -> bool {
        self.caps_of(set).next().is_some()
    }

    fn caps_of(&self, set: WireSet<'_>) -> impl Iterator<Item = Ttl> {
        let (caps, place) = (self.caps.iter(), set.place());
        let caps = caps.filter(move |(unlike, _)| unlike.has(place)).map(|(_, ttl)| *ttl);
        caps.chain(self.denials.iter().filter(move |(denial, _)| *denial == place).map(|(_, ttl)| *ttl))
    }
}

impl Unlike {
    /// RRsets that are not the same at both ends, what stands in for names that only one end has, and negative answers.
    pub fn between(ends: [End<'_>; 2]) -> Unlike {
        Unlike::of_at_most(MOST, ends)
    }

    fn of_at_most(most: usize, ends: [End<'_>; 2]) -> Unlike {
        let mut unlike = Unlike { places: HashSet::default(), most, are_all: false };
        unlike.compare(ends);
        unlike
    }

    /// Whether the RRset that lies there is one of them.
    fn has(&self, place: usize) -> bool {
        self.are_all || self.places.contains(&place)
    }

    fn compare(&mut self, ends: [End<'_>; 2]) {
        let [one, other] = ends;
        for end in ends {
            self.add(end.snapshot.negative_soa());
        }
        let (mut glue, mut tops) = (BTreeSet::new(), BTreeSet::new());
        for difference in diff(one.zone, other.zone) {
            let set = difference.either();
            // That RRsets which are the same were signed at another time concerns nobody.
            if set.rtype == RrType::RRSIG {
                continue;
            }
            for end in ends {
                self.add_set(end, set.owner, set.rtype);
            }
            if matches!(set.rtype, RrType::A | RrType::AAAA) {
                glue.insert(set.owner);
            }
            if difference.before.is_none() || difference.after.is_none() {
                self.add_around(ends, set.owner, set.rtype);
                if set.rtype == RrType::DNAME || set.rtype == RrType::NS && set.owner != one.zone.origin() {
                    tops.insert(set.owner);
                }
            }
        }
        let outermost = outermost(tops);
        for end in ends {
            self.add_below(end, &outermost);
            self.add_glue(end, &glue);
        }
    }

    fn add(&mut self, set: WireSet<'_>) {
        self.are_all |= self.places.len() >= self.most && !self.places.contains(&set.place());
        if self.are_all {
            self.places = HashSet::default();
        } else {
            self.places.insert(set.place());
        }
    }

    fn add_all(&mut self, node: Node<'_>) {
        node.sets().for_each(|set| self.add(set));
    }

    /// Adds an RRset where a lookup finds it, and as a proof.
    fn add_set(&mut self, end: End<'_>, owner: NameRef<'_>, rtype: RrType) {
        let node = match rtype {
            RrType::NSEC3 => end.snapshot.nsec3_node(owner),
            _ => end.snapshot.node_above(&Sought::new(end.snapshot.key(), owner), 0),
        };
        if let Some(set) = node.and_then(|node| node.set(rtype)) {
            self.add(set);
        }
    }

    /// Adds what answers instead where only one end has an RRset: at its name, and at names above that only one end has.
    fn add_around(&mut self, [one, other]: [End<'_>; 2], owner: NameRef<'_>, rtype: RrType) {
        if matches!(rtype, RrType::NSEC | RrType::NSEC3) {
            return;
        }
        let inside = owner.ancestors().take_while(|name| name.is_at_or_below(one.zone.origin()));
        for name in inside.take_while(|name| *name == owner || one.zone.exists(*name) != other.zone.exists(*name)) {
            for end in [one, other] {
                self.add_answers(end.snapshot, name);
            }
        }
    }

    /// Adds what is below delegations and redirections that only one end has; none of them is below another.
    fn add_below(&mut self, end: End<'_>, tops: &BTreeSet<NameRef<'_>>) {
        if tops.is_empty() {
            return;
        }
        for owner in end.zone.owners() {
            // In canonical order all that is below a name comes right behind it.
            let top = tops.range(..=owner.name).next_back();
            if top.is_some_and(|top| owner.name.is_below(*top)) {
                self.add_answers(end.snapshot, owner.name);
            }
        }
    }

    /// Adds whatever the name is answered with.
    fn add_answers(&mut self, snapshot: &Snapshot, name: NameRef<'_>) {
        match snapshot.lookup(&Sought::new(snapshot.key(), name), RrType::ANY) {
            Found::All(found) => self.add_all(found.node),
            Found::Referral { cut, servers, .. } => {
                self.add_all(cut);
                for link in servers.links().filter(|link| link.node != 0) {
                    self.add_all(snapshot.node_at(link.node));
                }
            }
            Found::Redirection { set, .. } | Found::Data(_, set) | Found::Alias(_, set) => self.add(set),
            Found::NoData(_) | Found::NameError { .. } => {}
        }
    }

    /// Adds addresses that go with other records and that no lookup finds: they lie below a delegation.
    fn add_glue(&mut self, end: End<'_>, owners: &BTreeSet<NameRef<'_>>) {
        let hidden = |name: &&NameRef<'_>| {
            let found = end.snapshot.lookup(&Sought::new(end.snapshot.key(), **name), RrType::A);
            matches!(found, Found::Referral { .. })
        };
        let hidden: BTreeSet<Vec<u8>> =
            owners.iter().filter(hidden).map(|name| name.as_wire().to_ascii_lowercase()).collect();
        if hidden.is_empty() {
            return;
        }
        for set in end.zone.rrsets().filter(|set| LINKED.iter().any(|(linked, _)| *linked == set.rtype)) {
            let node = end.snapshot.node_above(&Sought::new(end.snapshot.key(), set.owner), 0);
            let links = node.and_then(|node| node.set(set.rtype)).into_iter().flat_map(WireSet::links);
            for node in links.filter(|link| link.node != 0).map(|link| end.snapshot.node_at(link.node)) {
                if hidden.contains(node.name()) {
                    self.add_all(node);
                }
            }
        }
    }
}

/// Those that are below none of the others.
fn outermost(names: BTreeSet<NameRef<'_>>) -> BTreeSet<NameRef<'_>> {
    let mut outermost = BTreeSet::new();
    for name in names {
        // In canonical order all that is below a name comes right behind it.
        if outermost.last().is_none_or(|top| !name.is_below(*top)) {
            outermost.insert(name);
        }
    }
    outermost
}

impl Snapshot {
    /// The node of an NSEC3 record: no lookup of names finds it.
    fn nsec3_node(&self, owner: NameRef<'_>) -> Option<Node<'_>> {
        self.denial.nsec3_at(hash_of_owner(owner)?).map(|at| self.node_at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::snapshot::compile::Shape;
    use crate::snapshot::sought::HashKey;
    use crate::zone::reader::{NoSources, Source, read};

    /// However much differs, what is kept of it is bounded: beyond that all TTLs are as low as the lowest.
    #[test]
    fn more_than_there_is_room_for_lowers_all() {
        let site = |last: u8| {
            let origin = Name::absolute("x.example").unwrap();
            let hosts: String = (0..20).map(|n| format!("h{n} A 192.0.2.{last}\n")).collect();
            let text = format!("$TTL 900\n@ SOA ns.else. h 1 1h 10m 2w 800\n@ NS ns.else.\nsame A 192.0.2.9\n{hosts}");
            let source = Source { path: "x".into(), octets: text.into_bytes().into() };
            let text = read(&origin, source, &mut NoSources).into_text().unwrap();
            let zone = Zone::new(Some(&text), None).unwrap();
            let shape = Shape { key: HashKey::new([7; 16]), negative_ttl: None, max_ttl: None };
            let snapshot = Arc::new(Snapshot::compile(&zone, shape).unwrap());
            (zone, snapshot)
        };
        let sites = [site(1), site(2)];
        let ends = sites.each_ref().map(|(zone, snapshot)| End { zone, snapshot });
        let ttl = |seconds| Ttl::new(seconds).unwrap();
        // Twenty names and the negative SOA at each of two ends.
        for (most, same) in [(1000, 900), (42, 900), (41, 30), (3, 30), (0, 30)] {
            let unlike = Arc::new(Unlike::of_at_most(most, ends));
            assert!(unlike.places.len() <= most);
            let mut capped = Capped::default();
            capped.lower(Arc::clone(&unlike), ends, ttl(30));
            capped.lower(unlike, ends, ttl(60));
            for (name, expected) in [("h7.x.example", 30), ("same.x.example", same)] {
                let sought = Sought::new(HashKey::new([7; 16]), Name::absolute(name).unwrap().as_ref());
                let Found::Data(_, set) = ends[0].snapshot.lookup(&sought, RrType::A) else { panic!("{name}") };
                assert_eq!(capped.ttl_of(set), ttl(expected), "{name}, {most}");
            }
            assert_eq!(capped.ttl_of(ends[1].snapshot.negative_soa()), ttl(30));
        }
    }
}
