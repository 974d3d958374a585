//! A zone text as it was read: its records in the order of the file, in one arena.

use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::time::Ttl;
use crate::zone::diagnostic::Place;

/// A resource record of class IN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The owner name.
    pub owner: NameRef<'a>,
    /// The type.
    pub rtype: RrType,
    /// The time to live.
    pub ttl: Ttl,
    /// The data in wire form, names in it uncompressed.
    pub rdata: &'a [u8],
    /// Where it stands.
    pub place: Place,
}

/// Records in the order they were added, in one arena: a few dozen octets each, whatever their number.
#[derive(Clone, Debug, Default)]
pub struct Records {
    octets: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    owner_at: u32,
    rdata_at: u32,
    rdata_len: u16,
    owner_len: u8,
    rtype: RrType,
    ttl: Ttl,
    place: Place,
}

impl Records {
    /// Adds a record. Returns `false`, and adds nothing, if the arena is full (4 GiB) or the data is over 65,535 octets.
    #[must_use]
    pub fn push(&mut self, record: Record<'_>) -> bool {
        let owner = record.owner.as_wire();
        let (Ok(rdata_len), true) = (
            u16::try_from(record.rdata.len()),
            self.octets.len() + owner.len() + record.rdata.len() <= u32::MAX as usize,
        ) else {
            return false;
        };
        let owner_at = match self.entries.last() {
            Some(last) if self.octets_at(last.owner_at, last.owner_len.into()) == owner => last.owner_at,
            _ => {
                self.octets.extend_from_slice(owner);
                (self.octets.len() - owner.len()) as u32
            }
        };
        let rdata_at = self.octets.len() as u32;
        self.octets.extend_from_slice(record.rdata);
        self.entries.push(Entry {
            owner_at,
            rdata_at,
            rdata_len,
            owner_len: owner.len() as u8,
            rtype: record.rtype,
            ttl: record.ttl,
            place: record.place,
        });
        true
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The record that was added as number `index`, from 0.
    pub fn get(&self, index: usize) -> Record<'_> {
        let entry = &self.entries[index];
        Record {
            owner: NameRef::trusted(self.octets_at(entry.owner_at, entry.owner_len.into())),
            rtype: entry.rtype,
            ttl: entry.ttl,
            rdata: self.octets_at(entry.rdata_at, entry.rdata_len.into()),
            place: entry.place,
        }
    }

    /// The records in the order they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }

    fn octets_at(&self, at: u32, len: usize) -> &[u8] {
        &self.octets[at as usize..at as usize + len]
    }
}

/// One master file and all that it includes, read without error.
#[derive(Clone, Debug)]
pub struct ZoneText {
    /// The zone's origin.
    pub origin: Name,
    /// The records, in file order.
    pub records: Records,
    /// The paths of the files that were read; [`Place::file`] counts into it.
    pub files: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_added() {
        let (owner, other) = (Name::absolute("WWW.x.").unwrap(), Name::absolute("www.x.").unwrap());
        let record = |owner, rdata| Record { owner, rtype: RrType::A, ttl: Ttl::ZERO, rdata, place: Place::default() };
        let added =
            [record(owner.as_ref(), &[1, 2, 3, 4][..]), record(owner.as_ref(), &[]), record(other.as_ref(), &[9; 300])];
        let mut records = Records::default();
        assert!(added.iter().all(|r| records.push(*r)));
        assert_eq!(records.iter().collect::<Vec<_>>(), added);
        assert_eq!(records.get(2).owner.as_wire(), other.as_ref().as_wire(), "the case of each owner is kept");
        assert!(!records.push(record(owner.as_ref(), &[0; 65_536])));
        assert_eq!(records.len(), 3);
    }
}
