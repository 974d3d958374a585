//! A zone as sets of records in canonical order: what one site answers, before it is compiled.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use crate::digest::Digest;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serial::Serial;
use crate::time::Ttl;
use crate::zone::text::{Record, Records, ZoneText};

/// The RRsets of a zone at one site, sorted by owner in canonical order (RFC 4034 §6.1), then by type.
///
/// Records that are the same but for their TTL count once; an RRset has the lowest TTL among its records (RFC 2181
/// §5.2).
#[derive(Clone, Debug)]
pub struct Zone {
    origin: Name,
    records: Records,
    sets: Vec<Set>,
    files: Arc<[String]>,
    digest: OnceLock<Digest>,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    first: u32,
    end: u32,
    ttl: Ttl,
}

/// The records of one owner and type.
#[derive(Clone, Copy, Debug)]
pub struct Rrset<'a> {
    records: &'a Records,
    first: u32,
    end: u32,
    /// The owner name.
    pub owner: NameRef<'a>,
    /// The type.
    pub rtype: RrType,
    /// The time to live: one for the whole set.
    pub ttl: Ttl,
}

impl<'a> Rrset<'a> {
    /// The records, sorted by their data; their own TTLs may be higher than the set's.
    pub fn records(self) -> impl ExactSizeIterator<Item = Record<'a>> + Clone {
        (self.first as usize..self.end as usize).map(move |index| self.records.get(index))
    }

    /// The data of each record, in wire form without compression, sorted.
    pub fn rdatas(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        self.records().map(|record| record.rdata)
    }

    /// A digest of owner (case aside), type, TTL and data.
    pub fn digest(self) -> Digest {
        let front = [&self.rtype.0.to_be_bytes()[..], &self.ttl.seconds().to_be_bytes()].concat();
        let owner = self.owner.as_wire().to_ascii_lowercase();
        Digest::of_parts([&owner[..], &front].into_iter().chain(self.rdatas()))
    }

    /// Whether both are the same set with the same TTL and data; the case of the owner does not count.
    pub fn same_as(self, other: Rrset<'_>) -> bool {
        self.owner == other.owner
            && self.rtype == other.rtype
            && self.ttl == other.ttl
            && self.rdatas().eq(other.rdatas())
    }
}

impl Zone {
    /// The zone of a site: the records of `common` with those of `site` laid over them.
    ///
    /// A site text with a SOA is the whole zone. Without one, each of its RRsets replaces the common one of the same
    /// owner and type, and a CNAME replaces all that stands at its owner; nothing can be removed by it.
    pub fn new(common: Option<&ZoneText>, site: Option<&ZoneText>) -> Option<Zone> {
        let origin = &common.or(site)?.origin;
        let replaced = site.map(Replaced::of).unwrap_or_default();
        let mut files = Vec::new();
        let mut picked: Vec<Record<'_>> = Vec::new();
        for (text, below) in common.map(|text| (text, true)).into_iter().chain(site.map(|text| (text, false))) {
            if below && replaced.everything {
                continue;
            }
            let first_file = files.len() as u16;
            files.extend(text.files.iter().cloned());
            picked.extend(text.records.iter().filter(|record| !below || !replaced.hides(record)).map(|mut record| {
                record.place.file += first_file;
                record
            }));
        }
        picked.sort_by(order);
        Some(Zone::of_sorted(origin.clone(), picked, files.into()))
    }

    fn of_sorted(origin: Name, picked: Vec<Record<'_>>, files: Arc<[String]>) -> Zone {
        let mut records = Records::default();
        let mut sets: Vec<Set> = Vec::new();
        for record in picked {
            let same_set = sets.last_mut().filter(|set| {
                let first = records.get(set.first as usize);
                (first.owner, first.rtype) == (record.owner, record.rtype)
            });
            match same_set {
                Some(set) => {
                    set.ttl = set.ttl.min(record.ttl);
                    if records.get(records.len() - 1).rdata == record.rdata {
                        continue;
                    }
                    set.end += 1;
                }
                None => {
                    let at = records.len() as u32;
                    sets.push(Set { first: at, end: at + 1, ttl: record.ttl });
                }
            }
            // A zone's records were in such arenas before: they fit.
            let fits = records.push(record);
            assert!(fits, "the records of one zone fit in an arena");
        }
        Zone { origin, records, sets, files, digest: OnceLock::new() }
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
        self.sets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// How many records there are.
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// The longest TTL of its records.
    pub fn longest_ttl(&self) -> Ttl {
        self.rrsets().map(|set| set.ttl).max().unwrap_or_default()
    }

    /// All RRsets in order.
    pub fn rrsets(&self) -> impl ExactSizeIterator<Item = Rrset<'_>> + Clone {
        self.sets.iter().map(|set| self.view(set))
    }

    /// The RRsets of one owner after the other, each a non-empty run.
    pub fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        let mut at = 0;
        std::iter::from_fn(move || {
            let name = self.view(self.sets.get(at)?).owner;
            let first = at;
            while at < self.sets.len() && self.view(&self.sets[at]).owner == name {
                at += 1;
            }
            Some(Owner { zone: self, first, end: at, name })
        })
    }

    /// The RRsets of `owner`, if it has any.
    pub fn owner(&self, owner: NameRef<'_>) -> Option<Owner<'_>> {
        let first = self.sets.partition_point(|set| self.records.get(set.first as usize).owner < owner);
        let count = self.sets[first..].iter().take_while(|set| self.view(set).owner == owner).count();
        (count > 0).then(|| Owner { zone: self, first, end: first + count, name: self.view(&self.sets[first]).owner })
    }

    /// The RRset of `owner` and `rtype`, if there is one.
    pub fn rrset(&self, owner: NameRef<'_>, rtype: RrType) -> Option<Rrset<'_>> {
        self.owner(owner)?.rrset(rtype)
    }

    /// Whether `name` exists: it owns records, or a name below it does (RFC 4592 §2.2.2).
    pub fn exists(&self, name: NameRef<'_>) -> bool {
        let at = self.sets.partition_point(|set| self.records.get(set.first as usize).owner < name);
        self.sets.get(at).is_some_and(|set| self.view(set).owner.is_at_or_below(name))
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

    /// A digest of all that the zone says: the same for the same RRsets, wherever they were written.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of_parts(self.rrsets().map(|set| *set.digest().as_bytes())))
    }

    fn view(&self, set: &Set) -> Rrset<'_> {
        let first = self.records.get(set.first as usize);
        Rrset {
            records: &self.records,
            first: set.first,
            end: set.end,
            owner: first.owner,
            rtype: first.rtype,
            ttl: set.ttl,
        }
    }
}

/// All RRsets of one owner.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    zone: &'a Zone,
    first: usize,
    end: usize,
    /// The owner name.
    pub name: NameRef<'a>,
}

impl<'a> Owner<'a> {
    /// Its RRsets, by type.
    pub fn rrsets(self) -> impl ExactSizeIterator<Item = Rrset<'a>> + Clone {
        self.zone.sets[self.first..self.end].iter().map(move |set| self.zone.view(set))
    }

    /// Its RRset of this type, if it has one.
    pub fn rrset(self, rtype: RrType) -> Option<Rrset<'a>> {
        self.rrsets().find(|set| set.rtype == rtype)
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

/// What a site's text takes the place of.
#[derive(Default)]
struct Replaced<'a> {
    everything: bool,
    sets: HashSet<(NameRef<'a>, RrType)>,
    owners: HashSet<NameRef<'a>>,
    owners_of_cname: HashSet<NameRef<'a>>,
}

impl<'a> Replaced<'a> {
    fn of(site: &'a ZoneText) -> Replaced<'a> {
        let mut replaced = Replaced::default();
        for record in site.records.iter() {
            replaced.everything |= record.rtype == RrType::SOA;
            replaced.sets.insert((record.owner, record.rtype));
            replaced.owners.insert(record.owner);
            if record.rtype == RrType::CNAME {
                replaced.owners_of_cname.insert(record.owner);
            }
        }
        replaced
    }

    fn hides(&self, record: &Record<'_>) -> bool {
        self.sets.contains(&(record.owner, record.rtype))
            || self.owners_of_cname.contains(&record.owner)
            // A CNAME stands alone: where the site has other data, they stand instead of the common CNAME.
            || record.rtype == RrType::CNAME && self.owners.contains(&record.owner)
    }
}

/// Of records that differ in nothing but their TTL the one with the highest comes first and is kept, so that the check
/// sees that it is not the set's.
fn order(a: &Record<'_>, b: &Record<'_>) -> Ordering {
    let same_set = a.owner.cmp(&b.owner).then(a.rtype.cmp(&b.rtype));
    same_set.then_with(|| a.rdata.cmp(b.rdata)).then(b.ttl.cmp(&a.ttl))
}
