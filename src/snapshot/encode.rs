//! An RRset as wire data: everything that does not depend on the message is laid down once.

use super::compile::{CompileError, MAX_SET};
use super::node::{Link, SetParts};
use crate::name::NameRef;
use crate::rr::{Class, RrType};
use crate::zone::rrsets::{Owner, Rrset};

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
pub(super) const LINKED: [(RrType, usize); 5] =
    [(RrType::NS, 0), (RrType::MX, 2), (RrType::SRV, 6), (RrType::SVCB, 2), (RrType::HTTPS, 2)];

impl SetParts {
    /// Becomes what is laid down of `set` and its signatures, in the zone `origin`.
    pub(super) fn encode(
        &mut self,
        origin: NameRef<'_>,
        set: Rrset<'_>,
        signatures: Option<Signatures<'_>>,
    ) -> Result<(), CompileError> {
        self.clear();
        self.records = set.rdatas().len() as u16;
        let layout = COMPRESSIBLE.iter().find(|(rtype, ..)| *rtype == set.rtype);
        let linked = LINKED.iter().find(|(rtype, _)| *rtype == set.rtype);
        for rdata in set.rdatas() {
            let start = begin_record(&mut self.body, set.rtype);
            if let Some((_, front)) = linked {
                self.links.push(Link { name_at: (start + front) as u16, node: 0, required: false });
            }
            match layout {
                Some(&(_, front, names)) => self.push_compressed(origin, rdata, front, names),
                None => self.body.extend_from_slice(rdata),
            }
            end_record(&mut self.body, start);
            // Checked for each record: places in the body are kept in 16 bits.
            if self.body.len() > MAX_SET {
                return Err(oversize(set, set.rdatas().map(|rdata| rdata.len() + 12).sum()));
            }
        }
        for rdata in signatures.into_iter().flat_map(Signatures::rdatas) {
            let start = begin_record(&mut self.signatures, RrType::RRSIG);
            self.signatures.extend_from_slice(rdata);
            end_record(&mut self.signatures, start);
            self.signature_count += 1;
            // They go out together: no message that validates could hold the one without the other.
            if self.body.len() + self.signatures.len() > MAX_SET {
                return Err(oversize(set, self.body.len() + self.signatures.len()));
            }
        }
        Ok(())
    }

    /// Lays down data with `names` names behind `front` octets, each that lies in the zone ending in a pointer to be
    /// filled in.
    fn push_compressed(&mut self, origin: NameRef<'_>, rdata: &[u8], front: usize, names: usize) {
        let mut at = front.min(rdata.len());
        self.body.extend_from_slice(&rdata[..at]);
        for _ in 0..names {
            let Ok(name) = NameRef::read(&rdata[at..]) else { break };
            match name.strip(origin) {
                Some(labels) if !origin.is_root() => {
                    self.body.extend_from_slice(labels);
                    self.pointers.push(self.body.len() as u16);
                    self.body.extend_from_slice(&[0xC0, 0]);
                }
                _ => self.body.extend_from_slice(name.as_wire()),
            }
            at += name.len();
        }
        self.body.extend_from_slice(&rdata[at..]);
    }
}

fn oversize(set: Rrset<'_>, octets: usize) -> CompileError {
    CompileError::Oversize { owner: set.owner.to_name(), rtype: set.rtype, octets }
}

/// Writes what stands in front of a record's data; returns where the data begin.
fn begin_record(out: &mut Vec<u8>, rtype: RrType) -> usize {
    out.extend_from_slice(&[0xC0, 0]);
    out.extend_from_slice(&rtype.0.to_be_bytes());
    out.extend_from_slice(&Class::IN.0.to_be_bytes());
    // Owner and TTL are filled in when all is laid down, the length when the data are known.
    out.extend_from_slice(&[0; 6]);
    out.len()
}

fn end_record(out: &mut [u8], start: usize) {
    let len = (out.len() - start) as u16;
    out[start - 2..start].copy_from_slice(&len.to_be_bytes());
}

/// The RRSIG records at one owner that cover one type (RFC 4034 §3.1.1).
#[derive(Clone, Copy)]
pub(super) struct Signatures<'a> {
    all: Rrset<'a>,
    covered: RrType,
}

pub(super) fn signatures_over(owner: Option<Owner<'_>>, covered: RrType) -> Option<Signatures<'_>> {
    Some(Signatures { all: owner?.rrset(RrType::RRSIG)?, covered })
}

impl<'a> Signatures<'a> {
    fn rdatas(self) -> impl Iterator<Item = &'a [u8]> {
        let covered = self.covered.0.to_be_bytes();
        self.all.rdatas().filter(move |rdata| rdata.starts_with(&covered))
    }
}
