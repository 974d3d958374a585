//! Proofs that something does not exist: what they cost.

use super::Findings;
use super::lay::Lay;
use crate::count::counted;
use crate::rr::RrType;

/// More rounds of hashing than this would let a few clients keep the server busy. No signer ever allowed more
/// (RFC 5155 §10.3).
const MOST_ITERATIONS: u16 = 2500;

pub(super) fn check<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    let Some(parameters) = lay.zone.rrset(lay.origin, RrType::NSEC3PARAM) else { return };
    for record in parameters.records() {
        let &[_, _, high, low, ..] = record.rdata else { continue };
        let iterations = u16::from_be_bytes([high, low]);
        let rounds = counted(usize::from(iterations), "more round");
        if iterations > MOST_ITERATIONS {
            findings.error(
                "nsec3-iterations",
                record,
                format!(
                    "each name that does not exist is hashed with {rounds}: a few clients would keep the server busy"
                ),
                "sign the zone anew with 0 iterations (RFC 9276 §3.1)",
            );
        } else if iterations > 0 {
            findings.warning(
                "nsec3-iterations-not-0",
                record,
                format!(
                    "names are hashed with {rounds}, which protect nothing; resolvers may take the zone for unsigned or \
                     fail (RFC 9276 §3.2)"
                ),
                "sign the zone anew with 0 iterations",
            );
        }
    }
}
