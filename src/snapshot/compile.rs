//! From a zone's RRsets to its snapshot.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::denial::{Denial, Hashed};
use super::encode::{LINKED, signatures_over};
use super::node::{Arena, Flags, Link, SetParts};
use super::sought::{HashKey, Sought};
use super::{Layer, Snapshot};
use crate::name::{MAX_NAME, Name, NameRef};
use crate::rr::RrType;
use crate::table::Table;
use crate::time::Ttl;
use crate::zone::nsec3::{Hash, Parameters, hash_of_owner};
use crate::zone::rrsets::{Owner, Rrset, Zone};

/// The most octets that the records of an RRset and its signatures may have together: a message has 65,535, and a header, a
/// question and an OPT record stand beside them.
pub const MAX_SET: usize = 65_000;

/// What a compiled zone is given beside its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The key of the hash over names.
    pub key: HashKey,
    /// Caps the TTL of negative answers, which is the lesser of the SOA's TTL and MINIMUM (RFC 2308 §5).
    pub negative_ttl: Option<Ttl>,
    /// Caps every TTL.
    pub max_ttl: Option<Ttl>,
}

/// Why a zone cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// There is no SOA at the origin.
    #[error("{origin} has no SOA record at its origin, so it is no zone: add one")]
    NoSoa {
        /// The zone.
        origin: Name,
    },
    /// No message can hold the RRset.
    #[error(
        "the {rtype} records of {owner} and their signatures take {octets} octets, more than a DNS message can hold \
         ({MAX_SET}): split them over several names"
    )]
    Oversize {
        /// The owner.
        owner: Name,
        /// The type.
        rtype: RrType,
        /// How many octets the records and their signatures take.
        octets: usize,
    },
}

impl Snapshot {
    /// Compiles a zone.
    pub fn compile(zone: &Zone, shape: Shape) -> Result<Snapshot, CompileError> {
        let Some(soa) = zone.soa() else { return Err(CompileError::NoSoa { origin: zone.origin().to_name() }) };
        let mut compiler = Compiler::new(zone, shape);
        let mut hidden_by: Option<NameRef<'_>> = None;
        for owner in zone.owners() {
            if hidden_by.is_some_and(|top| owner.name.is_below(top)) {
                // Not even a DNAME at the origin hides the proofs that stand below it.
                compiler.add_nsec3(owner)?;
                continue;
            }
            let flags = compiler.own_flags(owner);
            hidden_by = (flags.has(Flags::CUT) || flags.has(Flags::DNAME)).then_some(owner.name);
            compiler.add_owner(owner, flags)?;
        }
        compiler.resolve_links()?;
        let negative = soa.negative_ttl().min(shape.negative_ttl.unwrap_or(Ttl::MAX));
        let negative_soa = compiler.arena.begin_lone_set();
        if let Some(set) = zone.rrset(zone.origin(), RrType::SOA) {
            let signatures = signatures_over(zone.owner(zone.origin()), RrType::SOA);
            compiler.parts.encode(compiler.origin.as_ref(), set, signatures)?;
            compiler.arena.push_set(RrType::SOA, negative, &compiler.parts);
        }
        let (denial, signed_serial) = (compiler.take_denial(), zone.is_signed().then_some(soa.serial));
        compiler.arena.shrink();
        Ok(Snapshot {
            origin: compiler.origin,
            shape,
            names: compiler.table.len(),
            base: Arc::new(Layer { table: compiler.table, arena: compiler.arena }),
            over: None,
            negative_soa,
            most_labels: compiler.most_labels,
            denial,
            signed_serial,
        })
    }
}

struct Compiler<'z> {
    zone: &'z Zone,
    shape: Shape,
    origin: Name,
    arena: Arena,
    table: Table,
    /// The RRset at hand, in buffers that are used again.
    parts: SetParts,
    /// The last name that was given a node.
    last: Option<NameRef<'z>>,
    most_labels: usize,
    /// Links whose node may not be laid down yet.
    open_links: Vec<OpenLink<'z>>,
    glue: HashMap<NameRef<'z>, u32>,
    /// Nodes with an NSEC record, in canonical order.
    nsec: Vec<u32>,
    /// Nodes with an NSEC3 record, by the hash that their owners tell.
    nsec3: Vec<(Hash, u32)>,
}

struct OpenLink<'z> {
    links_at: usize,
    index: usize,
    link: Link,
    target: NameRef<'z>,
}

impl<'z> Compiler<'z> {
    fn new(zone: &'z Zone, shape: Shape) -> Compiler<'z> {
        let names = count_names(zone);
        Compiler {
            zone,
            shape,
            origin: zone.origin().to_lowercase(),
            arena: Arena::within(Vec::with_capacity(octets_needed(zone, names))),
            table: Table::with_room_for(names),
            parts: SetParts::default(),
            last: None,
            most_labels: 0,
            open_links: Vec::new(),
            glue: HashMap::default(),
            nsec: Vec::new(),
            nsec3: Vec::new(),
        }
    }

    fn own_flags(&self, owner: Owner<'z>) -> Flags {
        let mut flags = Flags::NONE;
        for set in owner.rrsets() {
            flags = flags.with(match set.rtype {
                RrType::NS if owner.name != self.origin.as_ref() => Flags::CUT,
                RrType::DNAME => Flags::DNAME,
                RrType::CNAME => Flags::CNAME,
                _ => Flags::NONE,
            });
        }
        flags
    }

    fn add_owner(&mut self, owner: Owner<'z>, flags: Flags) -> Result<(), CompileError> {
        let kept = |set: &Rrset<'_>| match set.rtype {
            // Signatures go with what they cover; hashed names are no names that anybody asks for (RFC 5155 §7.2.8).
            RrType::RRSIG | RrType::NSEC3 => false,
            // Above a cut the parent has its own records only; addresses there are glue.
            rtype => !flags.has(Flags::CUT) || matches!(rtype, RrType::NS | RrType::DS | RrType::NSEC),
        };
        self.add_nsec3(owner)?;
        let count = owner.rrsets().filter(kept).count();
        if count == 0 {
            return Ok(());
        }
        self.add_missing_ancestors(owner.name);
        let mut buffer = [0; MAX_NAME];
        let lower = lowered(owner.name, &mut buffer);
        let node = self.arena.begin_node(lower.as_wire(), flags, count as u16);
        for set in owner.rrsets().filter(kept) {
            if set.rtype == RrType::NSEC {
                self.nsec.push(node);
            }
            self.parts.encode(self.origin.as_ref(), set, signatures_over(Some(owner), set.rtype))?;
            let links_at = self.arena.push_set(set.rtype, self.capped(set), &self.parts);
            self.note_links(set, links_at);
        }
        self.add_to_table(lower, node);
        self.last = Some(owner.name);
        Ok(())
    }

    /// The TTL of an RRset. Proofs live no longer than the negative answers that they are for (RFC 9077 §3).
    fn capped(&self, set: Rrset<'_>) -> Ttl {
        let proves = matches!(set.rtype, RrType::NSEC | RrType::NSEC3);
        let negative = self.shape.negative_ttl.filter(|_| proves);
        [self.shape.max_ttl, negative].into_iter().flatten().fold(set.ttl, Ttl::min)
    }

    /// Lays down an NSEC3 record in a node that no lookup finds.
    fn add_nsec3(&mut self, owner: Owner<'z>) -> Result<(), CompileError> {
        let hash = hash_of_owner(owner.name).filter(|_| owner.name.parent() == Some(self.origin.as_ref()));
        let Some((set, hash)) = owner.rrset(RrType::NSEC3).zip(hash) else { return Ok(()) };
        let mut buffer = [0; MAX_NAME];
        let node = self.arena.begin_node(lowered(owner.name, &mut buffer).as_wire(), Flags::NONE, 1);
        self.parts.encode(self.origin.as_ref(), set, signatures_over(Some(owner), set.rtype))?;
        self.arena.push_set(set.rtype, self.capped(set), &self.parts);
        self.nsec3.push((hash, node));
        Ok(())
    }

    fn take_denial(&mut self) -> Denial {
        match Parameters::of(self.zone) {
            Some(parameters) if !self.nsec3.is_empty() => {
                Denial::Nsec3(Hashed::new(parameters, std::mem::take(&mut self.nsec3)))
            }
            _ if !self.nsec.is_empty() => Denial::Nsec(std::mem::take(&mut self.nsec).into()),
            _ => Denial::None,
        }
    }

    /// Gives nodes to the empty non-terminals above `name`. In canonical order an ancestor has a node already if it is one
    /// of the last name, too.
    fn add_missing_ancestors(&mut self, name: NameRef<'_>) {
        let known = self.last.map_or(0, |last| shared_labels(last, name)).max(self.origin.as_ref().label_count());
        let missing = name.label_count().saturating_sub(known + 1);
        for up in (1..=missing).rev() {
            let Some(ancestor) = name.ancestors().nth(up) else { continue };
            let mut buffer = [0; MAX_NAME];
            let lower = lowered(ancestor, &mut buffer);
            let node = self.arena.begin_node(lower.as_wire(), Flags::NONE, 0);
            self.add_to_table(lower, node);
        }
    }

    fn add_to_table(&mut self, lower: NameRef<'_>, node: u32) {
        self.most_labels = self.most_labels.max(lower.label_count());
        self.table.insert(self.shape.key.of(lower), node);
        if lower.is_wildcard()
            && let Some(parent) = lower.parent().and_then(|parent| self.node_of(parent))
        {
            self.arena.add_flags(parent, Flags::WILDCARD_CHILD);
        }
    }

    fn node_of(&self, name: NameRef<'_>) -> Option<u32> {
        let sought = Sought::new(self.shape.key, name);
        self.table.find(sought.hash_above(0), |at| self.arena.node(at).name() == sought.wire_above(0))
    }

    fn note_links(&mut self, set: Rrset<'z>, links_at: usize) {
        let Some((_, front)) = LINKED.iter().find(|(rtype, _)| *rtype == set.rtype) else { return };
        let mut known = HashSet::default();
        for (index, (rdata, link)) in set.rdatas().zip(&self.parts.links).enumerate() {
            // A target that several records name has its addresses told once.
            if let Ok(target) = NameRef::read(rdata.get(*front..).unwrap_or_default())
                && known.insert(target)
            {
                let required = set.rtype == RrType::NS && target.is_at_or_below(set.owner);
                self.open_links.push(OpenLink { links_at, index, link: Link { required, ..*link }, target });
            }
        }
    }

    fn resolve_links(&mut self) -> Result<(), CompileError> {
        for open in std::mem::take(&mut self.open_links) {
            let node = self.address_node(open.target)?;
            self.arena.set_link(open.links_at, open.index, Link { node, ..open.link });
        }
        Ok(())
    }

    /// The node with the addresses of `target`, glue included; 0 if the zone has none.
    fn address_node(&mut self, target: NameRef<'z>) -> Result<u32, CompileError> {
        if !target.is_at_or_below(self.origin.as_ref()) {
            return Ok(0);
        }
        for (skip, name) in target.ancestors().enumerate() {
            let Some(found) = self.node_of(name) else { continue };
            let flags = self.arena.node(found).flags();
            if flags.has(Flags::CUT) {
                return self.glue_node(target);
            }
            let answers = if skip == 0 {
                Some(found)
            } else if flags.has(Flags::DNAME) || !flags.has(Flags::WILDCARD_CHILD) {
                None
            } else {
                name.child(b"*").ok().and_then(|wildcard| self.node_of(wildcard.as_ref()))
            };
            let addressed = |at: &u32| self.arena.node(*at).sets().any(|set| is_address(set.rtype()));
            return Ok(answers.filter(addressed).unwrap_or(0));
        }
        Ok(0)
    }

    fn glue_node(&mut self, target: NameRef<'z>) -> Result<u32, CompileError> {
        if let Some(&known) = self.glue.get(&target) {
            return Ok(known);
        }
        let sets: Vec<_> =
            self.zone.owner(target).into_iter().flat_map(Owner::rrsets).filter(|set| is_address(set.rtype)).collect();
        let mut node = 0;
        if !sets.is_empty() {
            let lower = target.to_lowercase();
            node = self.arena.begin_node(lower.as_ref().as_wire(), Flags::NONE, sets.len() as u16);
            for set in sets {
                // Glue is not the parent's data and is never signed by it.
                self.parts.encode(self.origin.as_ref(), set, None)?;
                self.arena.push_set(set.rtype, self.capped(set), &self.parts);
            }
        }
        self.glue.insert(target, node);
        Ok(node)
    }
}

fn is_address(rtype: RrType) -> bool {
    matches!(rtype, RrType::A | RrType::AAAA)
}

/// The name in lower case.
fn lowered<'b>(name: NameRef<'_>, buffer: &'b mut [u8; MAX_NAME]) -> NameRef<'b> {
    let lower = &mut buffer[..name.len()];
    lower.copy_from_slice(name.as_wire());
    lower.make_ascii_lowercase();
    NameRef::trusted(lower)
}

/// How many octets the nodes will take, about: rather too many than too few.
fn octets_needed(zone: &Zone, names: usize) -> usize {
    zone.octets() + names * 12 + zone.len() * 16 + zone.record_count() * 14
}

/// How many nodes the zone has at the most: owners, and the empty non-terminals above them.
fn count_names(zone: &Zone) -> usize {
    let origin_labels = zone.origin().label_count();
    let mut count = 0;
    let mut last: Option<NameRef<'_>> = None;
    for owner in zone.owners() {
        // In canonical order a name shares its longest known ancestor with the name in front of it.
        let shared = last.map_or(0, |last| shared_labels(last, owner.name));
        count += owner.name.label_count().saturating_sub(shared.max(origin_labels)).max(1);
        last = Some(owner.name);
    }
    count
}

fn shared_labels(a: NameRef<'_>, b: NameRef<'_>) -> usize {
    b.ancestors().position(|ancestor| a.is_at_or_below(ancestor)).map_or(0, |skipped| b.label_count() - skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::reader::{NoSources, Source, read};

    /// A resolver that validates is given both or nothing.
    #[test]
    fn records_and_their_signatures_fit_one_message_together() {
        let origin = Name::absolute("x.example").unwrap();
        let compiled = |records: usize, signatures: usize| {
            let mut text = "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.elsewhere.\n".to_owned();
            (0..records).for_each(|n| text += &format!("a TXT \"{}\" \"{n}\"\n", "x".repeat(250)));
            for n in 0..signatures {
                let signature = "A".repeat(336);
                text += &format!("a RRSIG TXT 13 3 60 20300101000000 20200101000000 {n} x.example. {signature}\n");
            }
            let source = Source { path: "x".into(), octets: text.into_bytes().into() };
            let text = read(&origin, source, &mut NoSources).into_text().unwrap();
            let shape = Shape { key: HashKey::new([7; 16]), negative_ttl: None, max_ttl: None };
            Snapshot::compile(&Zone::new(Some(&text), None).unwrap(), shape)
        };
        for (records, signatures, fit) in
            [(1, 0, true), (150, 0, true), (1, 150, true), (150, 150, false), (260, 0, false)]
        {
            let result = compiled(records, signatures);
            let refused = matches!(&result, Err(CompileError::Oversize { octets, .. }) if *octets > MAX_SET);
            assert_eq!((result.is_ok(), refused), (fit, !fit), "{records} records, {signatures} signatures");
        }
    }
}
