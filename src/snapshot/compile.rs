//! From a zone's RRsets to its snapshot.

use std::collections::{HashMap, HashSet};

use super::denial::{Denial, Hashed};
use super::node::{Arena, Flags, Link, SetParts};
use super::sought::{HashKey, Sought};
use super::{Snapshot, Table};
use crate::name::{Name, NameRef};
use crate::rr::{Class, RrType};
use crate::time::Ttl;
use crate::zone::nsec3::{Hash, Parameters, hash_of_owner};
use crate::zone::rrsets::{Owner, Rrset, Zone};

/// Types whose data hold names that may be compressed (RFC 3597 §4): octets in front of the first, number of names.
const COMPRESSIBLE: [(RrType, usize, usize); 11] = [
    (RrType::NS, 0, 1),
    (RrType::CNAME, 0, 1),
    (RrType::SOA, 0, 2),
    (RrType::PTR, 0, 1),
    (RrType::MX, 2, 1),
    (RrType::MB, 0, 1),
    (RrType::MD, 0, 1),
    (RrType::MF, 0, 1),
    (RrType::MG, 0, 1),
    (RrType::MR, 0, 1),
    (RrType::MINFO, 0, 2),
];

/// Types whose data hold a name whose addresses a client wants next: octets in front of it.
const LINKED: [(RrType, usize); 5] =
    [(RrType::NS, 0), (RrType::MX, 2), (RrType::SRV, 6), (RrType::SVCB, 2), (RrType::HTTPS, 2)];

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
            let parts = compiler.encode(set, signatures_over(zone.owner(zone.origin()), RrType::SOA))?;
            compiler.arena.push_set(RrType::SOA, negative, &parts);
        }
        let (denial, signed_serial) = (compiler.take_denial(), zone.is_signed().then_some(soa.serial));
        compiler.arena.shrink();
        Ok(Snapshot {
            origin: compiler.origin,
            shape,
            table: compiler.table,
            arena: compiler.arena,
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
        Compiler {
            zone,
            shape,
            origin: zone.origin().to_lowercase(),
            arena: Arena::default(),
            table: Table::with_room_for(count_names(zone)),
            most_labels: 0,
            open_links: Vec::new(),
            glue: HashMap::new(),
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
        let sets: Vec<_> = owner.rrsets().filter(kept).collect();
        if sets.is_empty() {
            return Ok(());
        }
        self.add_missing_ancestors(owner.name);
        let lower = owner.name.to_lowercase();
        let node = self.arena.begin_node(lower.as_ref().as_wire(), flags, sets.len() as u16);
        for set in sets {
            if set.rtype == RrType::NSEC {
                self.nsec.push(node);
            }
            let parts = self.encode(set, signatures_over(Some(owner), set.rtype))?;
            let ttl = set.ttl.min(self.shape.max_ttl.unwrap_or(Ttl::MAX));
            let links_at = self.arena.push_set(set.rtype, ttl, &parts);
            self.note_links(set, links_at, &parts);
        }
        self.add_to_table(lower.as_ref(), node);
        Ok(())
    }

    /// Lays down an NSEC3 record in a node that no lookup finds.
    fn add_nsec3(&mut self, owner: Owner<'z>) -> Result<(), CompileError> {
        let hash = hash_of_owner(owner.name).filter(|_| owner.name.parent() == Some(self.origin.as_ref()));
        let Some((set, hash)) = owner.rrset(RrType::NSEC3).zip(hash) else { return Ok(()) };
        let lower = owner.name.to_lowercase();
        let node = self.arena.begin_node(lower.as_ref().as_wire(), Flags::NONE, 1);
        let parts = self.encode(set, signatures_over(Some(owner), set.rtype))?;
        self.arena.push_set(set.rtype, set.ttl.min(self.shape.max_ttl.unwrap_or(Ttl::MAX)), &parts);
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

    /// Gives nodes to the empty non-terminals above `name`.
    fn add_missing_ancestors(&mut self, name: NameRef<'_>) {
        let mut missing = Vec::new();
        let mut above = name.parent();
        while let Some(ancestor) = above.filter(|ancestor| ancestor.is_at_or_below(self.origin.as_ref())) {
            if self.node_of(ancestor).is_some() {
                break;
            }
            missing.push(ancestor.to_lowercase());
            above = ancestor.parent();
        }
        for ancestor in missing.iter().rev() {
            let node = self.arena.begin_node(ancestor.as_ref().as_wire(), Flags::NONE, 0);
            self.add_to_table(ancestor.as_ref(), node);
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

    fn encode(&self, set: Rrset<'_>, signatures: Option<Signatures<'_>>) -> Result<SetParts, CompileError> {
        let mut parts = SetParts { records: set.rdatas().len() as u16, ..SetParts::default() };
        let layout = COMPRESSIBLE.iter().find(|(rtype, ..)| *rtype == set.rtype);
        let linked = LINKED.iter().find(|(rtype, _)| *rtype == set.rtype);
        for rdata in set.rdatas() {
            let start = begin_record(&mut parts.body, set.rtype);
            if let Some((_, front)) = linked {
                parts.links.push(Link { name_at: (start + front) as u16, node: 0, required: false });
            }
            match layout {
                Some(&(_, front, names)) => self.push_compressed(rdata, front, names, &mut parts),
                None => parts.body.extend_from_slice(rdata),
            }
            end_record(&mut parts.body, start);
            // Checked for each record: places in the body are kept in 16 bits.
            if parts.body.len() > MAX_SET {
                return Err(oversize(set, set.rdatas().map(|rdata| rdata.len() + 12).sum()));
            }
        }
        for rdata in signatures.into_iter().flat_map(Signatures::rdatas) {
            let start = begin_record(&mut parts.signatures, RrType::RRSIG);
            parts.signatures.extend_from_slice(rdata);
            end_record(&mut parts.signatures, start);
            parts.signature_count += 1;
            // They go out together: no message that validates could hold the one without the other.
            if parts.body.len() + parts.signatures.len() > MAX_SET {
                return Err(oversize(set, parts.body.len() + parts.signatures.len()));
            }
        }
        Ok(parts)
    }

    /// Lays down data with `names` names behind `front` octets, each that lies in the zone ending in a pointer to be
    /// filled in.
    fn push_compressed(&self, rdata: &[u8], front: usize, names: usize, parts: &mut SetParts) {
        let mut at = front.min(rdata.len());
        parts.body.extend_from_slice(&rdata[..at]);
        for _ in 0..names {
            let Ok(name) = NameRef::read(&rdata[at..]) else { break };
            match name.strip(self.origin.as_ref()) {
                Some(labels) if !self.origin.as_ref().is_root() => {
                    parts.body.extend_from_slice(labels);
                    parts.pointers.push(parts.body.len() as u16);
                    parts.body.extend_from_slice(&[0xC0, 0]);
                }
                _ => parts.body.extend_from_slice(name.as_wire()),
            }
            at += name.len();
        }
        parts.body.extend_from_slice(&rdata[at..]);
    }

    fn note_links(&mut self, set: Rrset<'z>, links_at: usize, parts: &SetParts) {
        let Some((_, front)) = LINKED.iter().find(|(rtype, _)| *rtype == set.rtype) else { return };
        let mut known = HashSet::new();
        for (index, (rdata, link)) in set.rdatas().zip(&parts.links).enumerate() {
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
                let parts = self.encode(set, None)?;
                self.arena.push_set(set.rtype, set.ttl.min(self.shape.max_ttl.unwrap_or(Ttl::MAX)), &parts);
            }
        }
        self.glue.insert(target, node);
        Ok(node)
    }
}

fn oversize(set: Rrset<'_>, octets: usize) -> CompileError {
    CompileError::Oversize { owner: set.owner.to_name(), rtype: set.rtype, octets }
}

fn is_address(rtype: RrType) -> bool {
    matches!(rtype, RrType::A | RrType::AAAA)
}

/// Writes what stands in front of a record's data; returns where the data begin.
fn begin_record(out: &mut Vec<u8>, rtype: RrType) -> usize {
    out.extend_from_slice(&[0xC0, 0]);
    out.extend_from_slice(&rtype.0.to_be_bytes());
    out.extend_from_slice(&Class::IN.0.to_be_bytes());
    // The TTL is the set's and written on the way out, the length when the data are known.
    out.extend_from_slice(&[0; 6]);
    out.len()
}

fn end_record(out: &mut [u8], start: usize) {
    let len = (out.len() - start) as u16;
    out[start - 2..start].copy_from_slice(&len.to_be_bytes());
}

/// The RRSIG records at one owner that cover one type (RFC 4034 §3.1.1).
#[derive(Clone, Copy)]
struct Signatures<'a> {
    all: Rrset<'a>,
    covered: RrType,
}

fn signatures_over(owner: Option<Owner<'_>>, covered: RrType) -> Option<Signatures<'_>> {
    Some(Signatures { all: owner?.rrset(RrType::RRSIG)?, covered })
}

impl<'a> Signatures<'a> {
    fn rdatas(self) -> impl Iterator<Item = &'a [u8]> {
        let covered = self.covered.0.to_be_bytes();
        self.all.rdatas().filter(move |rdata| rdata.starts_with(&covered))
    }
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
    use crate::zone::reader::{Source, Sources, read};

    struct NoSources;

    impl Sources for NoSources {
        fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
            Err(format!("{path}: there are no other files here"))
        }
    }

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
