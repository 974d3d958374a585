//! For whom an answer is good: whether it varies by client, and how large a network is that gets the same (RFC 7871
//! §7.2.1). Only asked where a trusted resolver names a client's network.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use super::Serving;
use super::query::Question;
use super::regions::RegionId;
use super::resolve::AnyPolicy;
use crate::name::NameRef;
use crate::net::{ClientNet, Network};
use crate::snapshot::answer::{Owner, Scope, Section, Sink, Spot};
use crate::snapshot::denial::Proof;
use crate::snapshot::node::WireSet;
use crate::snapshot::sought::Sought;

impl Serving {
    /// The largest network around `client` whose clients are all answered alike; none if everybody is. `sought` is
    /// whatever name was looked for last afterwards.
    ///
    /// Each zone that the answer comes from is asked at each of its sites. Where that makes no difference, no mixture of
    /// sites does: each part of a chain of aliases follows from the part in front of it.
    pub(super) fn reach(
        &self,
        client: ClientNet,
        question: &Question<'_>,
        any: AnyPolicy,
        dnssec: bool,
        sought: &mut Sought,
    ) -> Option<Network> {
        let (region, mut span) = self.regions.around(client);
        let mut told = Told { serving: self, region, dnssec, hasher: SipHasher24::new(), sites: 1, split: false };
        let (mut first, mut varies, mut number) = (None, false, 0);
        while number < told.sites {
            told.hasher = SipHasher24::new();
            sought.set(self.key, question.name.as_wire());
            let heading = self.view_nth(number).resolve(sought, question.rtype(), any, &mut told);
            told.hasher.write_u16(heading.rcode.0);
            let print = told.hasher.finish128().as_u128();
            varies |= *first.get_or_insert(print) != print;
            number += 1;
        }
        if !varies {
            return None;
        }
        if told.split {
            span = span.and(self.units.around(client));
        }
        Some(span.largest_around(client.0.address()))
    }
}

/// What is told, in a hash, and what there is to know of the zones that it comes from.
struct Told<'s> {
    serving: &'s Serving,
    region: RegionId,
    dnssec: bool,
    hasher: SipHasher24,
    /// The most sites that one of the zones is answered from.
    sites: usize,
    /// Whether one of the zones answers some of the region from another site than others.
    split: bool,
}

impl Told<'_> {
    fn note(&mut self, kind: u8, set: WireSet<'_>) {
        self.hasher.write_u8(kind);
        self.hasher.write_u16(set.rtype().0);
        self.hasher.write_u32(set.ttl().seconds());
        self.hasher.write_usize(set.body().len());
        self.hasher.write(set.body());
        if self.dnssec {
            self.note_signatures(set);
        }
    }

    fn note_signatures(&mut self, set: WireSet<'_>) {
        self.hasher.write_usize(set.signatures().len());
        self.hasher.write(set.signatures());
    }
}

impl<'s> Sink<'s> for Told<'s> {
    fn enter(&mut self, scope: Scope<'s>, sought: &Sought) {
        let skip = (0..=sought.label_count()).find(|skip| sought.wire_above(*skip).len() == scope.origin_len);
        let zone = skip.and_then(|skip| self.serving.directory.find(&self.serving.zones, sought, skip));
        if let Some(zone) = zone {
            self.sites = self.sites.max(zone.sites_in_use().len());
            self.split |= zone.routing.split(self.region).is_some();
        }
    }

    fn put(&mut self, section: Section, _: Owner, set: WireSet<'s>) -> Option<Spot> {
        // All that is put in goes by the order in which it is, and an owner by what led there.
        self.note(if matches!(section, Section::Additional { .. }) { 1 } else { 0 }, set);
        Some(Spot::default())
    }

    fn wants_proofs(&self) -> bool {
        self.dnssec
    }

    fn put_proof(&mut self, proof: Proof<'s>, _: &Sought) {
        self.hasher.write(proof.owner.as_wire());
        self.note(2, proof.set);
    }

    fn put_signatures(&mut self, _: Owner, set: WireSet<'s>) -> Option<Spot> {
        self.hasher.write_u8(3);
        self.note_signatures(set);
        Some(Spot::default())
    }

    fn put_synthesized(&mut self, target: NameRef<'_>, dname: WireSet<'s>) -> Option<Spot> {
        self.hasher.write(target.as_wire());
        self.note(4, dname);
        Some(Spot::default())
    }

    fn follow(&mut self, _: Spot, _: &Sought) -> bool {
        true
    }
}
