//! Answers as wire data, written straight into the buffer that is sent.

use super::answer::{Owner, Scope, Section, Sink, Spot};
use super::node::WireSet;
use super::sought::Sought;
use crate::name::{MAX_NAME, NameRef};
use crate::rr::{Class, RrType};
use crate::time::Ttl;

/// The length of a message's header (RFC 1035 §4.1.1).
pub const HEADER: usize = 12;
/// From a record's start to its data, its owner being a pointer.
const RECORD_HEAD: usize = 12;
/// How many proofs are told apart in one answer: three are needed for one name.
const MAX_PROOFS: usize = 8;
/// A compression pointer reaches only so far (RFC 1035 §4.1.4).
const POINTER_REACH: usize = 0x4000;

/// Writes an answer behind the header and the question, which stand in the buffer already.
///
/// Owners are pointers to names that stand in the message. Whole RRsets are left out where they do not fit: in the
/// answer, in the authority section and for required glue that makes the answer truncated, elsewhere it does not.
pub struct Writer<'o> {
    out: &'o mut [u8],
    at: usize,
    limit: usize,
    counts: [u16; 3],
    truncated: bool,
    dnssec: bool,
    /// Where the name that is sought stands.
    sought_at: usize,
    sought_len: usize,
    /// Where the origin of the current zone stands.
    origin_at: usize,
    /// Where the target of the last DNAME stands, and how long it is.
    redirection: Option<(usize, usize)>,
    /// Which RRsets of proofs are in: where their bodies lie in memory. More are not told apart, and may come twice.
    proofs: [usize; MAX_PROOFS],
    proof_count: usize,
    scope: Scope,
}

impl<'o> Writer<'o> {
    /// A writer that goes on at `at`, behind a question that begins right behind the header, and stops at `limit`.
    /// With `dnssec`, signatures go with what they cover.
    pub fn new(out: &'o mut [u8], at: usize, limit: usize, dnssec: bool) -> Writer<'o> {
        let scope = Scope { origin_len: 1, serial: None, ttl_cap: Ttl::MAX };
        let limit = limit.min(out.len());
        Writer {
            out,
            at,
            limit,
            counts: [0; 3],
            truncated: false,
            dnssec,
            sought_at: HEADER,
            sought_len: 0,
            origin_at: HEADER,
            redirection: None,
            proofs: [0; MAX_PROOFS],
            proof_count: 0,
            scope,
        }
    }

    /// Where the message ends.
    pub fn end(&self) -> usize {
        self.at
    }

    /// Whether something that should be in the answer is not, for lack of room.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// How many records stand in the answer, the authority and the additional section.
    pub fn counts(&self) -> [u16; 3] {
        self.counts
    }

    /// A pointer to the place `octets` behind the start of the name at `at`, itself compressed perhaps.
    fn skip(&self, mut at: usize, octets: usize) -> usize {
        let mut left = octets;
        loop {
            let len = self.out[at] as usize;
            if len & 0xC0 == 0xC0 {
                at = (len & 0x3F) << 8 | self.out[at + 1] as usize;
            } else if left == 0 || len == 0 {
                return at;
            } else {
                at += 1 + len;
                left = left.saturating_sub(1 + len);
            }
        }
    }

    fn owner_at(&self, owner: Owner<'_>) -> Option<usize> {
        Some(match owner {
            Owner::Sought => self.sought_at,
            Owner::Ancestor(len) if len == self.scope.origin_len => self.origin_at,
            Owner::Ancestor(len) => self.skip(self.sought_at, self.sought_len - len),
            Owner::Within(spot, name_at) => spot.0 as usize + name_at as usize,
            Owner::Name(_) => return None,
        })
    }

    fn no_room(&mut self, section: Section) -> Option<Spot> {
        self.truncated |= section != Section::Additional { required: false };
        None
    }

    fn count(&mut self, section: Section, records: u16) {
        let index = match section {
            Section::Answer => 0,
            Section::Authority => 1,
            Section::Additional { .. } => 2,
        };
        self.counts[index] += records;
    }

    /// Copies records and fills in what depends on the message: owner and TTL.
    fn copy_records(&mut self, records: &[u8], owner: u16, ttl: Ttl) {
        let start = self.at;
        let end = start + records.len();
        self.out[start..end].copy_from_slice(records);
        let mut at = start;
        while at < end {
            let record = &mut self.out[at..];
            record[..2].copy_from_slice(&owner.to_be_bytes());
            record[6..10].copy_from_slice(&ttl.seconds().to_be_bytes());
            at += RECORD_HEAD + u16::from_be_bytes([record[10], record[11]]) as usize;
        }
        self.at = end;
    }

    /// The same for an owner that does not stand in the message yet.
    fn copy_named_records(&mut self, records: &[u8], owner: &[u8], ttl: Ttl) {
        let mut rest = records;
        while !rest.is_empty() {
            let len = RECORD_HEAD + u16::from_be_bytes([rest[10], rest[11]]) as usize;
            let start = self.at;
            self.at += owner.len() + len - 2;
            let out = &mut self.out[start..self.at];
            out[..owner.len()].copy_from_slice(owner);
            out[owner.len()..].copy_from_slice(&rest[2..len]);
            out[owner.len() + 4..owner.len() + 8].copy_from_slice(&ttl.seconds().to_be_bytes());
            rest = &rest[len..];
        }
    }

    /// Puts in records under a name of the zone that does not stand in the message: labels, then a pointer.
    fn put_named(&mut self, section: Section, name: NameRef<'_>, set: WireSet<'_>) -> Option<Spot> {
        debug_assert!(set.pointers().next().is_none());
        let place = set.body().as_ptr() as usize;
        if self.proofs[..self.proof_count].contains(&place) {
            return Some(Spot::default());
        }
        let front = name.len() - self.scope.origin_len;
        let mut owner = [0; MAX_NAME + 2];
        owner[..front].copy_from_slice(&name.as_wire()[..front]);
        owner[front..front + 2].copy_from_slice(&pointer(self.origin_at));
        let records = usize::from(set.record_count()) + usize::from(self.signatures_of(set).1);
        let signatures = self.signatures_of(set).0;
        if self.at + set.body().len() + signatures.len() + records * front > self.limit {
            return self.no_room(section);
        }
        let (spot, ttl) = (Spot(self.at as u16), set.ttl().min(self.scope.ttl_cap));
        self.copy_named_records(set.body(), &owner[..front + 2], ttl);
        self.copy_named_records(signatures, &owner[..front + 2], ttl);
        self.count(section, records as u16);
        if let Some(free) = self.proofs.get_mut(self.proof_count) {
            *free = place;
            self.proof_count += 1;
        }
        Some(spot)
    }

    fn signatures_of<'s>(&self, set: WireSet<'s>) -> (&'s [u8], u16) {
        if self.dnssec { (set.signatures(), set.signature_count()) } else { (&[], 0) }
    }
}

impl<'s> Sink<'s> for Writer<'_> {
    fn enter(&mut self, scope: Scope, sought: &Sought) {
        self.scope = scope;
        self.sought_len = sought.len();
        self.origin_at = self.skip(self.sought_at, sought.len() - scope.origin_len);
    }

    fn put(&mut self, section: Section, owner: Owner<'s>, set: WireSet<'s>) -> Option<Spot> {
        if self.truncated {
            return None;
        }
        let Some(owner_at) = self.owner_at(owner) else {
            let Owner::Name(name) = owner else { return None };
            return self.put_named(section, name, set);
        };
        let (signatures, signature_count) = self.signatures_of(set);
        if self.at + set.body().len() + signatures.len() > self.limit {
            return self.no_room(section);
        }
        if owner_at >= POINTER_REACH {
            // Only addresses behind 16 KiB of other records are meant by this: a client can ask for them.
            return None;
        }
        let (start, ttl) = (self.at, set.ttl().min(self.scope.ttl_cap));
        let owner = u16::from_be_bytes(pointer(owner_at));
        self.copy_records(set.body(), owner, ttl);
        for at in set.pointers() {
            self.out[start + at..start + at + 2].copy_from_slice(&pointer(self.origin_at));
        }
        if let (RrType::SOA, Some(serial)) = (set.rtype(), self.scope.serial) {
            // The last twenty octets are the numbers (RFC 1035 §3.3.13); the serial is the first of them.
            self.out[self.at - 20..self.at - 16].copy_from_slice(&serial.0.to_be_bytes());
        }
        if set.rtype() == RrType::DNAME {
            let (rdata, _) = set.first_rdata();
            self.redirection = Some((start + RECORD_HEAD, rdata.len())).filter(|(at, _)| *at < POINTER_REACH);
        }
        self.copy_records(signatures, owner, ttl);
        self.count(section, set.record_count() + signature_count);
        Some(Spot(start as u16))
    }

    fn wants_proofs(&self) -> bool {
        self.dnssec
    }

    fn put_signatures(&mut self, owner: Owner<'s>, set: WireSet<'s>) -> Option<Spot> {
        let owner_at = self.owner_at(owner)?;
        if self.truncated || self.at + set.signatures().len() > self.limit {
            return self.no_room(Section::Answer);
        }
        let start = self.at;
        self.copy_records(set.signatures(), u16::from_be_bytes(pointer(owner_at)), set.ttl().min(self.scope.ttl_cap));
        self.count(Section::Answer, set.signature_count());
        Some(Spot(start as u16))
    }

    fn put_synthesized(&mut self, target: NameRef<'_>, ttl: Ttl) -> Option<Spot> {
        // The target ends in that of the DNAME, which stands in front of it.
        let mut data = [0; MAX_NAME + 2];
        let len = match self.redirection {
            Some((at, tail)) if tail > 2 && tail <= target.len() => {
                let front = target.len() - tail;
                data[..front].copy_from_slice(&target.as_wire()[..front]);
                data[front..front + 2].copy_from_slice(&pointer(at));
                front + 2
            }
            _ => {
                data[..target.len()].copy_from_slice(target.as_wire());
                target.len()
            }
        };
        if self.truncated || self.at + RECORD_HEAD + len > self.limit {
            return self.no_room(Section::Answer);
        }
        let spot = Spot(self.at as u16);
        let mut head = [0; RECORD_HEAD];
        head[..2].copy_from_slice(&pointer(self.sought_at));
        head[2..4].copy_from_slice(&RrType::CNAME.0.to_be_bytes());
        head[4..6].copy_from_slice(&Class::IN.0.to_be_bytes());
        head[6..10].copy_from_slice(&ttl.min(self.scope.ttl_cap).seconds().to_be_bytes());
        head[10..].copy_from_slice(&(len as u16).to_be_bytes());
        self.out[self.at..self.at + RECORD_HEAD].copy_from_slice(&head);
        self.at += RECORD_HEAD + len;
        self.out[self.at - len..self.at].copy_from_slice(&data[..len]);
        self.count(Section::Answer, 1);
        Some(spot)
    }

    fn follow(&mut self, alias: Spot, target: &Sought) {
        self.sought_at = alias.0 as usize + RECORD_HEAD;
        self.sought_len = target.len();
    }
}

/// A compression pointer to `at`.
fn pointer(at: usize) -> [u8; 2] {
    debug_assert!(at < POINTER_REACH);
    (0xC000 | at as u16).to_be_bytes()
}

/// The target of a CNAME or DNAME record as a name of its own, put together in `buffer`: what stands in an RRset may
/// end in a pointer to `origin`.
pub fn target_of<'b>(set: WireSet<'_>, origin: NameRef<'_>, buffer: &'b mut [u8; 2 * MAX_NAME]) -> Option<NameRef<'b>> {
    let (rdata, compressed) = set.first_rdata();
    let (front, back) = if compressed { (&rdata[..rdata.len() - 2], origin.as_wire()) } else { (rdata, &[][..]) };
    let whole = buffer.get_mut(..front.len() + back.len())?;
    whole[..front.len()].copy_from_slice(front);
    whole[front.len()..].copy_from_slice(back);
    NameRef::read(whole).ok()
}
