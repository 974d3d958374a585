//! How the RRsets of a zone lie in memory: octets, in canonical order, a dozen to the RRset beside names and data.
//!
//! ```text
//! owner   length (1)  name  RRsets…
//! RRset   type (2)  TTL (4)  records (varint)  records…
//! record  length (varint)  data
//! ```
//! Where each record stands in its file, and its own TTL, is kept beside them as long as somebody may want to tell an
//! operator: while the zone is checked.

use crate::name::NameRef;
use crate::rr::RrType;
use crate::time::Ttl;
use crate::zone::diagnostic::Place;
use crate::zone::text::Record;

/// From an RRset's start to the number of its records.
const SET_HEAD: usize = 6;

/// All RRsets of a zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    octets: Vec<u8>,
    /// Where each owner lies.
    owners: Vec<u32>,
    sets: usize,
    records: usize,
    longest: Ttl,
    details: Option<Details>,
}

#[derive(Clone, Debug, Default)]
struct Details {
    /// The number of each owner's first record.
    firsts: Vec<u32>,
    records: Vec<Detail>,
}

/// What a record has beside what all of its RRset have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    pub ttl: Ttl,
    pub place: Place,
}

/// An RRset as it lies there.
#[derive(Clone, Copy)]
pub(super) struct Set<'a> {
    pub rtype: RrType,
    pub ttl: Ttl,
    pub rdatas: Rdatas<'a>,
    /// Of each record, if they are still known.
    pub details: &'a [Detail],
}

/// RRsets of one owner, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Sets<'a> {
    octets: &'a [u8],
    details: &'a [Detail],
}

impl Packed {
    /// Nothing yet; of what is added it is known where it stands.
    pub fn with_details() -> Packed {
        Packed { details: Some(Details::default()), ..Packed::default() }
    }

    /// Adds an RRset behind all others: records of one owner and type, sorted. Those that say the same count once.
    pub fn push(&mut self, records: &[Record<'_>]) {
        let [first, ..] = records else { return };
        if self.owners.last().is_none_or(|last| self.name_at(*last) != first.owner) {
            self.begin_owner(first.owner);
        }
        let distinct = || records.chunk_by(|a, b| a.rdata == b.rdata).map(|same| same[0]);
        let ttl = records.iter().map(|record| record.ttl).min().unwrap_or_default();
        self.octets.extend_from_slice(&first.rtype.0.to_le_bytes());
        self.longest = self.longest.max(ttl);
        self.octets.extend_from_slice(&ttl.seconds().to_le_bytes());
        push_varint(&mut self.octets, distinct().count());
        for record in distinct() {
            push_varint(&mut self.octets, record.rdata.len());
            self.octets.extend_from_slice(record.rdata);
            if let Some(details) = &mut self.details {
                details.records.push(Detail { ttl: record.ttl, place: record.place });
            }
            self.records += 1;
        }
        self.sets += 1;
    }

    fn begin_owner(&mut self, name: NameRef<'_>) {
        // The records were in arenas of 4 GiB before, and take less room here.
        let Ok(at) = u32::try_from(self.octets.len()) else { unreachable!("the RRsets of a zone fit in 4 GiB") };
        self.owners.push(at);
        self.octets.push(name.len() as u8);
        self.octets.extend_from_slice(name.as_wire());
        if let Some(details) = &mut self.details {
            details.firsts.push(details.records.len() as u32);
        }
    }

    /// Forgets where the records stand, and gives back what was reserved and not used.
    pub fn settle(&mut self) {
        self.details = None;
        self.octets.shrink_to_fit();
        self.owners.shrink_to_fit();
    }

    /// How many octets names and data take.
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// How many owners there are.
    pub fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// How many RRsets there are.
    pub fn set_count(&self) -> usize {
        self.sets
    }

    /// The longest TTL of an RRset.
    pub fn longest_ttl(&self) -> Ttl {
        self.longest
    }

    /// How many records there are.
    pub fn record_count(&self) -> usize {
        self.records
    }

    /// The name of owner number `index`.
    pub fn name(&self, index: usize) -> NameRef<'_> {
        self.name_at(self.owners[index])
    }

    /// The RRsets of owner number `index`, by type.
    pub fn sets(&self, index: usize) -> Sets<'_> {
        let octets = self.sets_entry(index);
        let details =
            self.details.as_ref().map_or(&[][..], |details| &details.records[details.firsts[index] as usize..]);
        Sets { octets, details }
    }

    /// Whether it is known where the records stand.
    pub fn has_details(&self) -> bool {
        self.details.is_some()
    }

    /// Owner number `index` and its RRsets as they lie here.
    pub fn entry(&self, index: usize) -> &[u8] {
        let end = self.owners.get(index + 1).map_or(self.octets.len(), |next| *next as usize);
        &self.octets[self.owners[index] as usize..end]
    }

    /// The RRsets of owner number `index` as they lie here: for the same RRsets the same octets.
    pub fn sets_entry(&self, index: usize) -> &[u8] {
        let entry = self.entry(index);
        &entry[1 + entry[0] as usize..]
    }

    /// Adds an owner and its RRsets as they lie in another one, behind all others. They are not counted.
    pub fn push_entry(&mut self, entry: &[u8]) {
        self.owners.push(self.octets.len() as u32);
        self.octets.extend_from_slice(entry);
    }

    fn name_at(&self, at: u32) -> NameRef<'_> {
        let (len, rest) = (self.octets[at as usize], &self.octets[at as usize + 1..]);
        NameRef::trusted(&rest[..len as usize])
    }
}

impl<'a> Iterator for Sets<'a> {
    type Item = Set<'a>;

    fn next(&mut self) -> Option<Set<'a>> {
        let (head, mut rest) = self.octets.split_first_chunk::<SET_HEAD>()?;
        let left = take_varint(&mut rest);
        let rdatas = Rdatas { octets: rest, left };
        self.octets = rdatas.behind();
        let (details, others) = self.details.split_at(left.min(self.details.len()));
        self.details = others;
        Some(Set {
            rtype: RrType(u16::from_le_bytes([head[0], head[1]])),
            ttl: Ttl::from_wire(u32::from_le_bytes([head[2], head[3], head[4], head[5]])),
            rdatas,
            details,
        })
    }
}

/// The data of an RRset's records, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rdatas<'a> {
    octets: &'a [u8],
    left: usize,
}

impl<'a> Rdatas<'a> {
    /// What lies behind the last of them.
    fn behind(mut self) -> &'a [u8] {
        while self.next().is_some() {}
        self.octets
    }
}

impl<'a> Iterator for Rdatas<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let len = take_varint(&mut self.octets);
        let (rdata, rest) = self.octets.split_at(len);
        self.octets = rest;
        Some(rdata)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Rdatas<'_> {}

/// Seven bits an octet, the lowest first; the highest bit says that there are more.
fn push_varint(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_varint(octets: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    while let Some((&octet, rest)) = octets.split_first() {
        *octets = rest;
        number |= usize::from(octet & 0x7F) << shift;
        shift += 7;
        if octet < 0x80 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn numbers_of_any_size_come_back() {
        let numbers = [0, 1, 127, 128, 300, 65_535, 1 << 21, u32::MAX as usize];
        let mut octets = Vec::new();
        numbers.iter().for_each(|number| push_varint(&mut octets, *number));
        let mut rest = &octets[..];
        assert_eq!(numbers.map(|_| take_varint(&mut rest)), numbers);
        assert!(rest.is_empty());
    }

    #[test]
    fn rrsets_come_back_as_they_were_added() {
        let (owner, other) = (Name::absolute("WWW.x.").unwrap(), Name::absolute("z.x.").unwrap());
        let at = |line| Place { file: 1, line, column: 3 };
        let record = |owner, rtype, rdata, line| Record { owner, rtype, ttl: Ttl::ZERO, rdata, place: at(line) };
        let (a, long) = (record(owner.as_ref(), RrType::A, &[1; 4][..], 1), [9; 300]);
        let with_ttl = |ttl, record| Record { ttl: Ttl::from_wire(ttl), ..record };
        let mut packed = Packed::with_details();
        packed.push(&[with_ttl(60, a), with_ttl(30, a), with_ttl(60, Record { rdata: &[2; 4], place: at(2), ..a })]);
        packed.push(&[record(owner.as_ref(), RrType::TXT, &long, 3)]);
        packed.push(&[record(other.as_ref(), RrType::TXT, &[], 4)]);
        assert_eq!((packed.owner_count(), packed.set_count(), packed.record_count()), (2, 3, 4));
        for detailed in [true, false] {
            assert_eq!(packed.name(0).as_wire(), owner.as_ref().as_wire(), "its case is kept");
            assert_eq!(packed.name(1), other.as_ref());
            let said = |set: Set<'_>| {
                let lines: Vec<_> =
                    set.details.iter().map(|detail| (detail.place.line, detail.ttl.seconds())).collect();
                (set.rtype, set.ttl.seconds(), set.rdatas.map(<[u8]>::to_vec).collect::<Vec<_>>(), lines)
            };
            let known = |lines: &[(u32, u32)]| if detailed { lines.to_vec() } else { Vec::new() };
            let first: Vec<_> = packed.sets(0).map(said).collect();
            assert_eq!(first[0], (RrType::A, 30, vec![vec![1; 4], vec![2; 4]], known(&[(1, 60), (2, 60)])));
            assert_eq!(first[1..], [(RrType::TXT, 0, vec![long.to_vec()], known(&[(3, 0)]))]);
            let second: Vec<_> = packed.sets(1).map(said).collect();
            assert_eq!(second, [(RrType::TXT, 0, vec![vec![]], known(&[(4, 0)]))]);
            packed.settle();
        }
    }
}
