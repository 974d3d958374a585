//! What goes with an answer from a signed zone when DNSSEC records are wanted: proofs that nothing else exists
//! (RFC 4035 §3.1.3, RFC 5155 §7.2).

use crate::rr::RrType;
use crate::snapshot::Snapshot;
use crate::snapshot::answer::{Owner, Section, Sink};
use crate::snapshot::denial::Proof;
use crate::snapshot::lookup::Match;
use crate::snapshot::node::Node;
use crate::snapshot::sought::Sought;

/// Where proofs go. That none is put in twice, or before the answer is complete, is the sink's care.
struct Proofs<'p, 's, S> {
    snapshot: &'s Snapshot,
    sought: &'p Sought,
    sink: &'p mut S,
}

/// Nothing where DNSSEC records are not wanted, or there are none.
fn proofs<'p, 's, S: Sink<'s>>(
    snapshot: &'s Snapshot,
    sought: &'p Sought,
    sink: &'p mut S,
) -> Option<Proofs<'p, 's, S>> {
    (sink.wants_proofs() && snapshot.is_signed()).then_some(Proofs { snapshot, sought, sink })
}

impl<'s, S: Sink<'s>> Proofs<'_, 's, S> {
    fn put(&mut self, proof: Option<Proof<'s>>) -> bool {
        let Some(proof) = proof else { return false };
        self.sink.put_proof(proof, self.sought);
        true
    }

    fn own(&mut self, skip: usize) -> bool {
        self.put(self.snapshot.proof(self.sought, skip, true))
    }

    fn covering(&mut self, skip: usize) {
        self.put(self.snapshot.proof(self.sought, skip, false));
    }

    fn wildcard(&mut self, skip: usize, own: bool) {
        self.put(self.snapshot.wildcard_proof(self.sought, skip, own));
    }

    /// That the name `skip` labels up is the closest one that exists (RFC 5155 §7.2.1): its own record, and one that
    /// covers the next closer name. Below an opt-out span names may exist without a record: then it is the closest one
    /// that can be proved.
    fn closest_encloser(&mut self, skip: usize) -> usize {
        let last = self.sought.label_count() - self.snapshot.origin().label_count();
        let provable =
            (skip..=last).find(|skip| self.snapshot.proof(self.sought, *skip, true).is_some()).unwrap_or(last);
        self.own(provable);
        if let Some(next_closer) = provable.checked_sub(1) {
            self.covering(next_closer);
        }
        provable
    }
}

/// That the name does not exist, and that no wildcard stands in for it.
pub(super) fn of_name_error<'s>(snapshot: &'s Snapshot, sought: &Sought, skip: usize, sink: &mut impl Sink<'s>) {
    let Some(mut proofs) = proofs(snapshot, sought, sink) else { return };
    let encloser = if snapshot.denies_by_hash() {
        proofs.closest_encloser(skip)
    } else {
        proofs.covering(0);
        skip
    };
    proofs.wildcard(encloser, false);
}

/// That the name has nothing of the type.
pub(super) fn of_no_data<'s>(snapshot: &'s Snapshot, sought: &Sought, found: Match<'s>, sink: &mut impl Sink<'s>) {
    let Some(mut proofs) = proofs(snapshot, sought, sink) else { return };
    match (found.wildcard, snapshot.denies_by_hash()) {
        (None, true) => {
            // An unsigned delegation in an opt-out span has no record of its own (RFC 5155 §7.2.4).
            if !proofs.own(0) {
                proofs.closest_encloser(1);
            }
        }
        (None, false) => {
            proofs.own(0);
        }
        (Some(skip), true) => {
            let encloser = proofs.closest_encloser(skip);
            proofs.wildcard(encloser, true);
        }
        (Some(skip), false) => {
            proofs.wildcard(skip, true);
            proofs.covering(0);
        }
    }
}

/// That nothing closer than the wildcard that stands in for the name exists.
pub(super) fn of_expansion<'s>(snapshot: &'s Snapshot, sought: &Sought, found: Match<'s>, sink: &mut impl Sink<'s>) {
    let Some(skip) = found.wildcard else { return };
    let Some(mut proofs) = proofs(snapshot, sought, sink) else { return };
    // Under NSEC any record that covers the name will do, under NSEC3 it is the next closer name (RFC 5155 §7.2.6).
    proofs.covering(if snapshot.denies_by_hash() { skip - 1 } else { 0 });
}

/// The delegation's DS, or that it has none.
pub(super) fn of_referral<'s>(
    snapshot: &'s Snapshot,
    sought: &Sought,
    skip: usize,
    cut: Node<'s>,
    sink: &mut impl Sink<'s>,
) {
    let Some(mut proofs) = proofs(snapshot, sought, sink) else { return };
    if let Some(set) = cut.set(RrType::DS) {
        proofs.sink.put(Section::Authority, Owner::Ancestor(sought.wire_above(skip).len()), set);
    } else if !proofs.own(skip) {
        proofs.closest_encloser(skip + 1);
    }
}
