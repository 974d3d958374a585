//! A zone as sets of records in canonical order: what one site answers, before it is compiled.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::digest::{Digest, Parts};
use crate::name::{MAX_NAME, Name, NameRef};
use crate::rr::RrType;
use crate::serial::Serial;
use crate::time::Ttl;
use crate::zone::diagnostic::Place;
use crate::zone::layers::Layers;
use crate::zone::order::{for_each_rrset, in_order};
use crate::zone::outward::{Outward, outward};
use crate::zone::overlay::Overlay;
use crate::zone::packed::{Detail, Packed, Rdatas, Sets};
use crate::zone::samples::Samples;
use crate::zone::text::{Record, Records, ZoneText};

/// The RRsets of a zone at one site, sorted by owner in canonical order (RFC 4034 §6.1), then by type.
///
/// Records that are the same but for their TTL count once; an RRset has the lowest TTL among its records (RFC 2181
/// §5.2).
#[derive(Clone, Debug)]
pub struct Zone {
    origin: Name,
    packed: Layers,
    files: Arc<[String]>,
    digest: OnceLock<Digest>,
    outward: OnceLock<Option<Vec<Outward>>>,
    samples: OnceLock<Samples>,
}

/// The records of one owner and type.
#[derive(Clone, Copy)]
pub struct Rrset<'a> {
    rdatas: Rdatas<'a>,
    details: &'a [Detail],
    /// The owner name.
    pub owner: NameRef<'a>,
    /// The type.
    pub rtype: RrType,
    /// The time to live: one for the whole set.
    pub ttl: Ttl,
}

impl<'a> Rrset<'a> {
    /// The records, sorted by their data. Until the zone [settles](Zone::settle) each has a place and a TTL of its own,
    /// which may be higher than the set's.
    pub fn records(self) -> impl ExactSizeIterator<Item = Record<'a>> + Clone {
        self.rdatas.enumerate().map(move |(index, rdata)| {
            let detail = self.details.get(index).copied().unwrap_or(Detail { ttl: self.ttl, place: Place::default() });
            Record { owner: self.owner, rtype: self.rtype, ttl: detail.ttl, rdata, place: detail.place }
        })
    }

    /// The data of each record, in wire form without compression, sorted.
    pub fn rdatas(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        self.rdatas
    }

    /// A digest of owner (case aside), type, TTL and data.
    pub fn digest(self) -> Digest {
        // A zone has millions of them: nothing is allocated.
        let mut front = [0; 6];
        front[..2].copy_from_slice(&self.rtype.0.to_be_bytes());
        front[2..].copy_from_slice(&self.ttl.seconds().to_be_bytes());
        let mut owner = [0; MAX_NAME];
        let owner = &mut owner[..self.owner.len()];
        owner.copy_from_slice(self.owner.as_wire());
        owner.make_ascii_lowercase();
        Digest::of_parts([owner, &front[..]].into_iter().chain(self.rdatas()))
    }

    /// Whether both are the same set with the same TTL and data; the case of the owner does not count.
    pub fn same_as(self, other: Rrset<'_>) -> bool {
        self.owner == other.owner
            && self.rtype == other.rtype
            && self.ttl == other.ttl
            && self.rdatas().eq(other.rdatas())
    }
}

impl fmt::Debug for Rrset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ({} records)", self.owner, self.ttl, self.rtype, self.rdatas.len())
    }
}

impl Zone {
    /// The zone of a site: the records of `common` with those of `site` laid over them.
    ///
    /// A site text with a SOA is the whole zone. Without one, each of its RRsets replaces the common one of the same
    /// owner and type, and a CNAME replaces all that stands at its owner; nothing can be removed by it.
    pub fn new(common: Option<&ZoneText>, site: Option<&ZoneText>) -> Option<Zone> {
        let origin = &common.or(site)?.origin;
        let overlay = Overlay::new(common, site);
        let mut packed = Packed::with_details();
        for_each_rrset(origin.as_ref(), &overlay.picked(), |number| overlay.record(number), |set| packed.push(set));
        let (files, digest, outward, samples) = (overlay.files(), OnceLock::new(), OnceLock::new(), OnceLock::new());
        Some(Zone { origin: origin.clone(), packed: Layers::of(packed), files, digest, outward, samples })
    }

    /// Forgets where in its files each record stands, and the TTLs that are not those of their sets: nobody wants to
    /// know them of a zone that was checked, and in a large one they take a fifth of its memory.
    pub fn settle(&mut self) {
        self.packed.settle();
    }

    /// Gives up what `other` has in memory, too, and uses that. Both have to have [settled](Zone::settle); a zone that
    /// has little in common stays as it is.
    pub fn share(&mut self, other: &Zone) {
        if let Some(packed) = self.packed.sharing(&other.packed) {
            self.packed = packed;
        }
    }

    /// How many octets of memory it takes that no other zone shares.
    pub fn own_octets(&self) -> usize {
        self.packed.own_octets()
    }

    /// The zone's origin.
    pub fn origin(&self) -> NameRef<'_> {
        self.origin.as_ref()
    }

    /// The paths of the files that the records stand in; a record's place counts into it.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// How many RRsets there are.
    pub fn len(&self) -> usize {
        self.packed.set_count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many records there are.
    pub fn record_count(&self) -> usize {
        self.packed.record_count()
    }

    /// How many octets the names and data take, as they lie here.
    pub fn octets(&self) -> usize {
        self.packed.octets()
    }

    /// The longest TTL of its records.
    pub fn longest_ttl(&self) -> Ttl {
        self.packed.longest_ttl()
    }

    /// All RRsets in order.
    pub fn rrsets(&self) -> impl Iterator<Item = Rrset<'_>> + Clone {
        self.owners().flat_map(Owner::rrsets)
    }

    /// The owners in order, but for those whose RRsets lie in memory where `other` has them from, too: these are the same
    /// there.
    pub fn owners_beside<'a>(&'a self, other: &Zone) -> impl Iterator<Item = Owner<'a>> {
        self.packed.beside(&other.packed).into_iter().flat_map(|numbers| self.owners_within(numbers))
    }

    /// The RRsets of one owner after the other, each a non-empty run.
    pub fn owners(&self) -> impl ExactSizeIterator<Item = Owner<'_>> + Clone {
        self.owners_within(0..self.packed.owner_count())
    }

    /// The same of those owners alone that have these numbers, in order from 0.
    pub fn owners_within(&self, numbers: Range<usize>) -> impl ExactSizeIterator<Item = Owner<'_>> + Clone {
        self.packed.owners(numbers).map(|(name, sets)| Owner { name, sets })
    }

    /// The RRsets of `owner`, if it has any.
    pub fn owner(&self, owner: NameRef<'_>) -> Option<Owner<'_>> {
        let index = self.first_at_or_behind(owner);
        (index < self.packed.owner_count()).then(|| self.owner_number(index)).filter(|found| found.name == owner)
    }

    /// The RRsets of `name` and of what is below it, one owner after the other.
    pub fn owners_at_or_below<'a>(&'a self, name: NameRef<'a>) -> impl Iterator<Item = Owner<'a>> {
        let owners = self.owners_within(self.first_at_or_behind(name)..self.packed.owner_count());
        owners.take_while(move |owner| owner.name.is_at_or_below(name))
    }

    /// Names, each once, in the order that their owners lie in: what is looked up one after the other then lies side by
    /// side in memory, here and where the zone is compiled to.
    pub fn in_order<'a>(&self, names: impl Iterator<Item = NameRef<'a>>) -> Vec<NameRef<'a>> {
        in_order(self.origin(), names)
    }

    /// The same zone with other records at some owners: of each in `replaced`, those that `records` has of it and no other,
    /// or none.
    pub fn with_owners(&self, replaced: &BTreeSet<Name>, records: &Records) -> Zone {
        let mut edited = Packed::default();
        let numbers: Vec<u32> = (0..records.len() as u32).collect();
        for_each_rrset(self.origin(), &numbers, |number| records.get(number as usize), |set| edited.push(set));
        let mut packed = Packed::default();
        let edited_owners = (0..edited.owner_count()).map(|at| Owner { name: edited.name(at), sets: edited.sets(at) });
        let mut edited_owners = edited_owners.peekable();
        // Both are in order, and a zone may have millions of owners: nothing is looked up.
        let mut replaced = replaced.iter().peekable();
        let kept = self.owners().filter(|owner| {
            while replaced.next_if(|name| name.as_ref() < owner.name).is_some() {}
            replaced.peek().is_none_or(|name| name.as_ref() != owner.name)
        });
        for owner in kept {
            while let Some(before) = edited_owners.next_if(|edited| edited.name < owner.name) {
                push_owner(&mut packed, before);
            }
            push_owner(&mut packed, owner);
        }
        edited_owners.for_each(|owner| push_owner(&mut packed, owner));
        packed.settle();
        let (digest, outward, samples) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let (origin, files) = (self.origin.clone(), Arc::clone(&self.files));
        Zone { origin, packed: Layers::of(packed), files, digest, outward, samples }
    }

    /// The RRset of `owner` and `rtype`, if there is one.
    pub fn rrset(&self, owner: NameRef<'_>, rtype: RrType) -> Option<Rrset<'_>> {
        self.owner(owner)?.rrset(rtype)
    }

    /// What `name` is in the zone.
    pub fn standing(&self, name: NameRef<'_>) -> Standing<'_> {
        let at = self.first_at_or_behind(name);
        if at == self.packed.owner_count() {
            return Standing::Nothing;
        }
        match self.owner_number(at) {
            owner if owner.name == name => Standing::Owner(owner),
            owner if owner.name.is_below(name) => Standing::Between,
            _ => Standing::Nothing,
        }
    }

    /// Whether `name` exists: it owns records, or a name below it does (RFC 4592 §2.2.2).
    pub fn exists(&self, name: NameRef<'_>) -> bool {
        let at = self.first_at_or_behind(name);
        at < self.packed.owner_count() && self.packed.name(at).is_at_or_below(name)
    }

    /// The SOA RRset's first record, if there is one.
    pub fn soa(&self) -> Option<Soa> {
        let set = self.rrset(self.origin(), RrType::SOA)?;
        let rdata = set.rdatas().next()?;
        let numbers = rdata.len().checked_sub(20).map(|at| &rdata[at..])?;
        let number = |i: usize| u32::from_be_bytes([numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]]);
        Some(Soa { ttl: set.ttl, serial: Serial(number(0)), minimum: Ttl::from_wire(number(16)) })
    }

    /// Whether the zone is signed: it has a DNSKEY RRset at its origin, or any RRSIG there.
    pub fn is_signed(&self) -> bool {
        [RrType::DNSKEY, RrType::RRSIG].iter().any(|rtype| self.rrset(self.origin(), *rtype).is_some())
    }

    /// A digest of all that the zone says: the same for the same RRsets, wherever they were written and whatever the case of
    /// their owners.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            let (mut parts, mut lower) = (Parts::default(), [0; MAX_NAME]);
            let mut owners = self.packed.owners(0..self.packed.owner_count());
            while let Some((name, sets)) = owners.next_entry() {
                let lower = &mut lower[..name.len()];
                lower.copy_from_slice(name.as_wire());
                lower.make_ascii_lowercase();
                parts.add(lower);
                parts.add(sets);
            }
            parts.digest()
        })
    }

    /// Whether both say the same, as their digests would tell: at once where those are known or the zones are alike at
    /// hardly any name.
    pub fn same_as(&self, other: &Zone) -> bool {
        match (self.digest.get(), other.digest.get()) {
            (Some(own), Some(other)) => own == other,
            _ => {
                std::ptr::eq(self, other)
                    || self.len() == other.len()
                        && self.rrsets().zip(other.rrsets()).all(|(own, other)| own.same_as(other))
            }
        }
    }

    /// The names outside of the zone that its records lead clients to; none if they are too many to be kept. Found out
    /// once.
    pub fn outward(&self) -> Option<&[Outward]> {
        self.outward.get_or_init(|| outward(self)).as_deref()
    }

    /// The RRsets of owner number `index` in order, from 0.
    pub(super) fn owner_number(&self, index: usize) -> Owner<'_> {
        let (name, sets) = self.packed.owner(index);
        Owner { name, sets }
    }

    /// The number of the first owner that is not in front of `name`.
    fn first_at_or_behind(&self, name: NameRef<'_>) -> usize {
        let samples = self
            .samples
            .get_or_init(|| Samples::of(self.packed.owner_count(), self.origin(), |index| self.packed.name(index)));
        let around = samples.around(name, self.origin(), self.packed.owner_count());
        self.packed.partition_point(around, |other| other < name)
    }
}

fn push_owner(packed: &mut Packed, owner: Owner<'_>) {
    for set in owner.rrsets() {
        let records: Vec<Record<'_>> = set.records().map(|record| Record { ttl: set.ttl, ..record }).collect();
        packed.push(&records);
    }
}

/// What a name is in a zone.
#[derive(Clone, Copy)]
pub enum Standing<'a> {
    /// It owns records.
    Owner(Owner<'a>),
    /// It owns none, but a name below it does.
    Between,
    /// It does not exist.
    Nothing,
}

/// All RRsets of one owner.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    sets: Sets<'a>,
    /// The owner name.
    pub name: NameRef<'a>,
}

impl<'a> Owner<'a> {
    /// Its RRsets, by type.
    pub fn rrsets(self) -> impl Iterator<Item = Rrset<'a>> + Clone {
        self.sets.map(move |set| Rrset {
            rdatas: set.rdatas,
            details: set.details,
            owner: self.name,
            rtype: set.rtype,
            ttl: set.ttl,
        })
    }

    /// Its RRset of this type, if it has one.
    pub fn rrset(self, rtype: RrType) -> Option<Rrset<'a>> {
        self.rrsets().find(|set| set.rtype == rtype)
    }
}

impl fmt::Debug for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rrsets()).finish()
    }
}

/// What a SOA record says that answers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soa {
    /// The record's TTL.
    pub ttl: Ttl,
    /// The serial.
    pub serial: Serial,
    /// The MINIMUM field.
    pub minimum: Ttl,
}

impl Soa {
    /// The negative TTL: the lesser of the SOA's TTL and MINIMUM (RFC 2308 §5).
    pub fn negative_ttl(self) -> Ttl {
        self.ttl.min(self.minimum)
    }
}
