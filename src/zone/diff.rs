//! How two zones differ, RRset by RRset.

use std::cmp::Ordering;

use crate::digest::Digest;
use crate::name::Name;
use crate::rr::RrType;
use crate::time::Ttl;
use crate::zone::rrsets::{Owner, Rrset, Zone};

/// An RRset that is not the same in both zones; at least one side is there.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// What it was.
    pub before: Option<Rrset<'a>>,
    /// What it is.
    pub after: Option<Rrset<'a>>,
}

impl<'a> Difference<'a> {
    /// The RRset on whichever side there is one.
    pub fn either(self) -> Rrset<'a> {
        match self.after.or(self.before) {
            Some(set) => set,
            None => unreachable!("a difference has a side"),
        }
    }
}

/// The differences in canonical order. A SOA that differs in nothing but its serial is none: the serial that is
/// published is not the text's.
pub fn diff<'a>(before: &'a Zone, after: &'a Zone) -> impl Iterator<Item = Difference<'a>> {
    let mut old = before.owners_beside(after).flat_map(Owner::rrsets).peekable();
    let mut new = after.owners_beside(before).flat_map(Owner::rrsets).peekable();
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.owner.cmp(&b.owner).then(a.rtype.cmp(&b.rtype)),
        };
        let before = order.is_le().then(|| old.next()).flatten();
        let after = order.is_ge().then(|| new.next()).flatten();
        Some(Difference { before, after })
    })
    .filter(|difference| !matches!(difference, Difference { before: Some(a), after: Some(b) } if alike(*a, *b)))
}

/// More RRsets that differ than this are counted, and not listed.
pub const LISTED: usize = 1000;

/// How two zones differ, in bounded room whatever their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Of all the RRsets that differ, before and after.
    pub digest: Digest,
    /// How many there are.
    pub total: usize,
    /// The greatest TTL among them, before and after.
    pub ttls: [Ttl; 2],
    /// Owner and type of the first [`LISTED`] of them, in canonical order.
    pub first: Vec<(Name, RrType)>,
}

impl Differing {
    /// Looks for all differences.
    pub fn of(before: &Zone, after: &Zone) -> Differing {
        let (mut total, mut ttls, mut first) = (0, [Ttl::ZERO; 2], Vec::new());
        let digests = diff(before, after).flat_map(|difference| {
            total += 1;
            for (greatest, set) in ttls.iter_mut().zip([difference.before, difference.after]) {
                *greatest = set.map_or(*greatest, |set| set.ttl.max(*greatest));
            }
            if first.len() < LISTED {
                let set = difference.either();
                first.push((set.owner.to_name(), set.rtype));
            }
            let digests = [difference.before, difference.after].map(|set| set.map(Rrset::digest));
            digests.map(|digest| digest.map_or(Vec::new(), |digest| digest.as_bytes().to_vec()))
        });
        let digest = Digest::of_parts(digests);
        Differing { digest, total, ttls, first }
    }

    /// How many are not listed.
    pub fn unlisted(&self) -> usize {
        self.total - self.first.len()
    }
}

fn alike(a: Rrset<'_>, b: Rrset<'_>) -> bool {
    a.same_as(b) || a.rtype == RrType::SOA && a.ttl == b.ttl && without_serials(a) == without_serials(b)
}

/// The data of SOA records without the four octets of the serial, which is the first of five numbers at the end.
fn without_serials(set: Rrset<'_>) -> Vec<(&[u8], &[u8])> {
    set.rdatas()
        .map(|rdata| {
            let (front, numbers) = rdata.split_at(rdata.len().saturating_sub(20));
            (front, numbers.get(4..).unwrap_or_default())
        })
        .collect()
}
