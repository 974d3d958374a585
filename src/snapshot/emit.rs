//! Answers as wire data, written straight into the buffer that is sent.

use super::answer::{Owner, Scope, Section, Sink, Spot};
use super::denial::Proof;
use super::node::{OWNER_ASKED, RECORD_HEAD, WireSet, fill_in};
use super::sought::Sought;
use crate::name::{MAX_NAME, NameRef};
use crate::rr::{Class, RrType};
use crate::time::Ttl;

/// The length of a message's header (RFC 1035 §4.1.1).
pub const HEADER: usize = 12;
/// How many proofs an answer has at the most: one for each alias, and four for the name at the end of the chain.
const MAX_PROOFS: usize = 20;
/// A compression pointer reaches only so far (RFC 1035 §4.1.4).
const POINTER_REACH: usize = 0x4000;

/// Writes an answer behind the header and the question, which stand in the buffer already.
///
/// Owners are pointers to names that stand in the message. Whole RRsets are left out where they do not fit: in the
/// answer, in the authority section and for required glue that makes the answer truncated, elsewhere it does not.
pub struct Writer<'o, 's> {
    out: &'o mut [u8],
    at: usize,
    limit: usize,
    counts: [u16; 3],
    /// The greatest TTL in the answer and the authority section.
    greatest: Ttl,
    truncated: bool,
    /// Where the name that is sought stands.
    sought_at: usize,
    sought_len: usize,
    /// Where the origin of the current zone stands.
    origin_at: usize,
    /// Where the target of the last DNAME stands, and how long it is.
    redirection: Option<(usize, usize)>,
    /// Room for proofs; none where the client wants neither them nor signatures.
    proofs: Option<&'o mut Proofs<'s>>,
    scope: Scope<'s>,
}

/// Room for the proofs of an answer: first those that are in, then those that wait for the end of the answer section.
#[derive(Default)]
pub struct Proofs<'s> {
    queued: [Option<QueuedProof<'s>>; MAX_PROOFS],
    count: usize,
    written: usize,
}

/// A proof, and how its owner is told.
#[derive(Clone, Copy)]
struct QueuedProof<'s> {
    proof: Proof<'s>,
    /// How many octets of the owner stand in front of a pointer.
    front: usize,
    /// What the pointer leads to.
    base: usize,
    /// Where the owner stands, once it does.
    at: usize,
    ttl: Ttl,
}

impl<'s> Proofs<'s> {
    /// The first of those that wait.
    fn next(&self) -> Option<QueuedProof<'s>> {
        self.queued[..self.count].get(self.written).copied().flatten()
    }

    /// Adds one to those that wait; none if there is no room.
    fn add(&mut self, queued: QueuedProof<'s>) -> Option<()> {
        *self.queued.get_mut(self.count)? = Some(queued);
        self.count += 1;
        Some(())
    }
}

impl<'o, 's> Writer<'o, 's> {
    /// A writer that goes on at `at`, behind a question that begins right behind the header, and stops at `limit`.
    /// With room for `proofs`, these are put in, and signatures go with what they cover.
    pub fn new(out: &'o mut [u8], at: usize, limit: usize, proofs: Option<&'o mut Proofs<'s>>) -> Writer<'o, 's> {
        let scope = Scope { origin_len: 1, serial: None, capped: None };
        let limit = limit.min(out.len());
        Writer {
            out,
            at,
            limit,
            counts: [0; 3],
            greatest: Ttl::ZERO,
            truncated: false,
            sought_at: HEADER,
            sought_len: 0,
            origin_at: HEADER,
            redirection: None,
            proofs,
            scope,
        }
    }

    /// Puts in what still waits; returns where the message ends.
    pub fn finish(&mut self) -> usize {
        self.put_queued_proofs();
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

    /// The greatest TTL in the answer and the authority section: how long anything of it may be kept. What comes along
    /// in the additional section is not counted, except addresses that a referral needs.
    pub fn greatest_ttl(&self) -> Ttl {
        self.greatest
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

    #[inline]
    fn owner_at(&self, owner: Owner) -> usize {
        match owner {
            Owner::Sought => self.sought_at,
            Owner::Ancestor(len) if len == self.scope.origin_len => self.origin_at,
            Owner::Ancestor(len) => self.skip(self.sought_at, self.sought_len - len),
            Owner::Within(spot, name_at) => spot.0 as usize + name_at as usize,
        }
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

    /// Copies records of `set` and fills in what depends on the message, if they are not told as they lie there.
    fn copy_records(&mut self, set: WireSet<'s>, records: &[u8], owner: [u8; 2], ttl: Ttl) {
        let end = self.at + records.len();
        let room = &mut self.out[self.at..end];
        room.copy_from_slice(records);
        if owner != OWNER_ASKED || ttl != set.ttl() {
            fill_in(room, owner, ttl);
        }
        self.at = end;
    }

    fn put_queued_proofs(&mut self) {
        while let Some(queued) = self.proofs.as_deref().and_then(Proofs::next) {
            let put = self.put_queued_proof(queued);
            if let Some(proofs) = &mut self.proofs {
                proofs.queued[proofs.written] = Some(put);
                proofs.written += 1;
            }
        }
    }

    /// Puts in a proof: the first record has the owner, the others point at it. Returns it with its place.
    fn put_queued_proof(&mut self, mut queued: QueuedProof<'s>) -> QueuedProof<'s> {
        self.shorten(&mut queued);
        let QueuedProof { proof: Proof { owner, set }, front, base, ttl, .. } = queued;
        let (signatures, signature_count) = self.signatures_of(set);
        let records = set.record_count() + signature_count;
        // Beyond the reach of pointers every record has the owner.
        let itself = pointer(self.at);
        let owners = if itself.is_some() { front } else { front * usize::from(records) };
        let base = pointer(base).filter(|_| self.at + owners + set.body().len() + signatures.len() <= self.limit);
        let Some(base) = base.filter(|_| !self.truncated) else {
            self.truncated = true;
            return queued;
        };
        queued.at = self.at;
        let ttl = ttl.seconds().to_be_bytes();
        for mut rest in [set.body(), signatures] {
            while let Some(len) = rest.get(10..12) {
                let len = RECORD_HEAD + usize::from(u16::from_be_bytes([len[0], len[1]]));
                match itself.filter(|_| self.at > queued.at) {
                    _ if front == 0 => self.push(&base),
                    Some(itself) => self.push(&itself),
                    None => {
                        self.push(&owner.as_wire()[..front]);
                        self.push(&base);
                    }
                }
                let start = self.at;
                self.push(&rest[2..len]);
                self.out[start + 4..start + 8].copy_from_slice(&ttl);
                rest = &rest[len..];
            }
        }
        self.count(Section::Authority, records);
        queued
    }

    /// Lets a proof's owner end in that of an earlier one, where that is shorter.
    fn shorten(&self, queued: &mut QueuedProof<'s>) {
        for earlier in self.proofs.iter().flat_map(|proofs| proofs.queued[..proofs.written].iter().flatten()) {
            let (owner, known) = (queued.proof.owner, earlier.proof.owner);
            let shared = shared_octets(known, owner);
            let skipped = known.len() - shared;
            // Only what stands in front of the earlier one's own pointer.
            if skipped < earlier.front && owner.len() - shared < queued.front && earlier.at + skipped < POINTER_REACH {
                (queued.front, queued.base) = (owner.len() - shared, earlier.at + skipped);
            }
        }
    }

    fn push(&mut self, octets: &[u8]) {
        self.out[self.at..self.at + octets.len()].copy_from_slice(octets);
        self.at += octets.len();
    }

    fn signatures_of(&self, set: WireSet<'s>) -> (&'s [u8], u16) {
        if self.proofs.is_some() { (set.signatures(), set.signature_count()) } else { (&[], 0) }
    }
}

impl<'s> Sink<'s> for Writer<'_, 's> {
    fn enter(&mut self, scope: Scope<'s>, sought: &Sought) {
        self.scope = scope;
        self.sought_len = sought.len();
        let front = sought.len() - scope.origin_len;
        // The name in the question is not compressed.
        self.origin_at = if self.sought_at == HEADER { HEADER + front } else { self.skip(self.sought_at, front) };
    }

    fn put(&mut self, section: Section, owner: Owner, set: WireSet<'s>) -> Option<Spot> {
        if self.proofs.is_some() && section != Section::Answer {
            self.put_queued_proofs();
        }
        if self.truncated {
            return None;
        }
        let owner_at = self.owner_at(owner);
        let (body, (signatures, signature_count)) = (set.body(), self.signatures_of(set));
        if self.at + body.len() + signatures.len() > self.limit {
            return self.no_room(section);
        }
        let Some((owner, origin)) = pointer(owner_at).zip(pointer(self.origin_at)) else {
            return match section {
                // Addresses behind 16 KiB of other records: a client can ask for them.
                Section::Additional { .. } => None,
                Section::Answer | Section::Authority => self.no_room(section),
            };
        };
        let (start, ttl) = (self.at, self.scope.ttl_of(set));
        if !matches!(section, Section::Additional { required: false }) {
            self.greatest = self.greatest.max(ttl);
        }
        self.copy_records(set, body, owner, ttl);
        for at in set.pointers() {
            self.out[start + at..start + at + 2].copy_from_slice(&origin);
        }
        if let (RrType::SOA, Some(serial)) = (set.rtype(), self.scope.serial) {
            // The last twenty octets are the numbers (RFC 1035 §3.3.13); the serial is the first of them.
            self.out[self.at - 20..self.at - 16].copy_from_slice(&serial.0.to_be_bytes());
        }
        if set.rtype() == RrType::DNAME {
            let (rdata, _) = set.first_rdata();
            self.redirection = Some((start + RECORD_HEAD, rdata.len()));
        }
        if !signatures.is_empty() {
            self.copy_records(set, signatures, owner, ttl);
        }
        self.count(section, set.record_count() + signature_count);
        Some(Spot(start as u16))
    }

    fn wants_proofs(&self) -> bool {
        self.proofs.is_some()
    }

    fn put_proof(&mut self, proof: Proof<'s>, sought: &Sought) {
        let same = |known: &QueuedProof<'_>| known.proof.set.body().as_ptr() == proof.set.body().as_ptr();
        if self.proofs.as_ref().is_none_or(|proofs| proofs.queued.iter().flatten().any(same)) {
            return;
        }
        let shared = shared_octets(sought.name(), proof.owner);
        let base = self.skip(self.sought_at, self.sought_len - shared);
        let front = proof.owner.len() - shared;
        let queued = QueuedProof { proof, front, base, at: 0, ttl: self.scope.ttl_of(proof.set) };
        self.truncated |= self.proofs.as_mut().is_some_and(|proofs| proofs.add(queued).is_none());
    }

    fn put_signatures(&mut self, owner: Owner, set: WireSet<'s>) -> Option<Spot> {
        let Some(owner) = pointer(self.owner_at(owner)) else { return self.no_room(Section::Answer) };
        if self.truncated || self.at + set.signatures().len() > self.limit {
            return self.no_room(Section::Answer);
        }
        let start = self.at;
        self.copy_records(set, set.signatures(), owner, self.scope.ttl_of(set));
        self.count(Section::Answer, set.signature_count());
        Some(Spot(start as u16))
    }

    fn put_synthesized(&mut self, target: NameRef<'_>, dname: WireSet<'s>) -> Option<Spot> {
        // The target ends in that of the DNAME, which stands in front of it.
        let mut data = [0; MAX_NAME + 2];
        let redirection = self.redirection.and_then(|(at, tail)| pointer(at).zip(target.len().checked_sub(tail)));
        let len = match redirection {
            Some((at, front)) if front + 2 < target.len() => {
                data[..front].copy_from_slice(&target.as_wire()[..front]);
                data[front..front + 2].copy_from_slice(&at);
                front + 2
            }
            _ => {
                data[..target.len()].copy_from_slice(target.as_wire());
                target.len()
            }
        };
        let Some(owner) = pointer(self.sought_at) else { return self.no_room(Section::Answer) };
        if self.truncated || self.at + RECORD_HEAD + len > self.limit {
            return self.no_room(Section::Answer);
        }
        let spot = Spot(self.at as u16);
        let mut head = [0; RECORD_HEAD];
        head[..2].copy_from_slice(&owner);
        head[2..4].copy_from_slice(&RrType::CNAME.0.to_be_bytes());
        head[4..6].copy_from_slice(&Class::IN.0.to_be_bytes());
        head[6..10].copy_from_slice(&self.scope.ttl_of(dname).seconds().to_be_bytes());
        head[10..].copy_from_slice(&(len as u16).to_be_bytes());
        self.out[self.at..self.at + RECORD_HEAD].copy_from_slice(&head);
        self.at += RECORD_HEAD + len;
        self.out[self.at - len..self.at].copy_from_slice(&data[..len]);
        self.count(Section::Answer, 1);
        Some(spot)
    }

    fn follow(&mut self, alias: Spot, target: &Sought) -> bool {
        let at = alias.0 as usize + RECORD_HEAD;
        if at + MAX_NAME > POINTER_REACH {
            return false;
        }
        (self.sought_at, self.sought_len) = (at, target.len());
        true
    }
}

/// How many octets two names in lower case have in common at their ends, whole labels only; the root has one.
fn shared_octets(a: NameRef<'_>, b: NameRef<'_>) -> usize {
    let (a_labels, b_labels) = (a.label_count(), b.label_count());
    let pairs = a.ancestors().skip(a_labels.saturating_sub(b_labels));
    let pairs = pairs.zip(b.ancestors().skip(b_labels.saturating_sub(a_labels)));
    pairs.map(|(a, b)| (a.as_wire(), b.as_wire())).find(|(a, b)| a == b).map_or(1, |(a, _)| a.len())
}

/// A compression pointer to `at`; none where that is out of reach.
fn pointer(at: usize) -> Option<[u8; 2]> {
    (at < POINTER_REACH).then(|| (0xC000 | at as u16).to_be_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::snapshot::Snapshot;
    use crate::snapshot::compile::Shape;
    use crate::snapshot::lookup::Found;
    use crate::snapshot::sought::HashKey;
    use crate::zone::reader::{NoSources, Source, read};
    use crate::zone::rrsets::Zone;

    /// What no pointer reaches is written in another way, or said to be missing; addresses that come along may be.
    #[test]
    fn owners_out_of_reach_are_never_left_out_silently() {
        let origin = Name::absolute("x.example").unwrap();
        let octets = b"$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.elsewhere.\na A 192.0.2.1\n".to_vec().into();
        let text = read(&origin, Source { path: "x".into(), octets }, &mut NoSources).into_text().unwrap();
        let shape = Shape { key: HashKey::new([7; 16]), negative_ttl: None, max_ttl: None };
        let snapshot = Snapshot::compile(&Zone::new(Some(&text), None).unwrap(), shape).unwrap();
        let sought = Sought::new(shape.key, Name::absolute("a.x.example").unwrap().as_ref());
        let Found::Data(_, set) = snapshot.lookup(&sought, RrType::A) else { panic!("a has an address") };
        let reach = POINTER_REACH as u16;
        for (section, owner_at, put, truncated) in [
            (Section::Answer, reach - 1, true, false),
            (Section::Answer, reach, false, true),
            (Section::Authority, reach, false, true),
            (Section::Additional { required: true }, reach, false, false),
            (Section::Additional { required: false }, reach, false, false),
        ] {
            let mut out = vec![0; usize::from(u16::MAX)];
            let mut writer = Writer::new(&mut out, 40_000, usize::MAX, None);
            let spot = writer.put(section, Owner::Within(Spot(owner_at), 0), set);
            assert_eq!((spot.is_some(), writer.is_truncated()), (put, truncated), "{section:?} {owner_at}");
        }
    }
}
