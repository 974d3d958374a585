//! The one function that answers: from a view, a name and a type to what is put into an answer.

use super::told::{Decided, Rule, Trail};
use super::view::Place;
use super::{View, proof};
use crate::name::{MAX_NAME, NameRef};
use crate::rr::RrType;
use crate::snapshot::Snapshot;
use crate::snapshot::answer::{Owner, Rcode, Section, Sink, Spot};
use crate::snapshot::emit::target_of;
use crate::snapshot::lookup::{Found, Match};
use crate::snapshot::node::WireSet;
use crate::snapshot::sought::Sought;

/// How many aliases an answer follows; the client goes on from there.
pub const MAX_ALIASES: usize = 16;

/// How ANY is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPolicy {
    /// With one RRset (RFC 8482 §4.1).
    One,
    /// With all of them.
    All,
}

/// What the header of an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The response code.
    pub rcode: Rcode,
    /// Whether the answer is authoritative.
    pub authoritative: bool,
}

impl<'s> View<'s> {
    /// Puts the answer to `sought` and `rtype` into `sink`; `sought` is the last name of the chain afterwards.
    pub fn resolve(self, sought: &mut Sought, rtype: RrType, any: AnyPolicy, sink: &mut impl Sink<'s>) -> Heading {
        self.resolve_in(self.zone_of(sought), sought, rtype, any, &mut Trail::default(), sink)
    }

    /// The same where the number of the zone that holds `sought` is known; what decides goes into `trail`.
    pub(super) fn resolve_in(
        self,
        zone: Option<usize>,
        sought: &mut Sought,
        rtype: RrType,
        any: AnyPolicy,
        trail: &mut Trail,
        sink: &mut impl Sink<'s>,
    ) -> Heading {
        let Some(mut place) = self.place_in(zone, sought, rtype) else {
            return Heading { rcode: Rcode::REFUSED, authoritative: false };
        };
        sink.enter(place.zone.scope(place.snapshot), sought);
        // Of the names that were aliases. Most are none, and need no room.
        let mut seen: Option<[u64; MAX_ALIASES]> = None;
        let mut entered = None;
        for aliases in 0.. {
            let snapshot = place.snapshot;
            let found = snapshot.lookup(sought, rtype);
            // Where aliases led within a zone follows from the first rule.
            if entered.is_none_or(|entered| !std::ptr::eq(entered, place.zone)) {
                entered = Some(place.zone);
                trail.enter(place.zone.edition(place.site), rule(snapshot, sought, found));
            }
            let name = sought.hash_above(0);
            let alias = match found {
                Found::Alias(found, set) => {
                    let spot = sink.put(Section::Answer, Owner::Sought, set);
                    proof::of_expansion(snapshot, sought, found, sink);
                    spot.map(|spot| (spot, set))
                }
                Found::Redirection { skip, set } => match redirect(snapshot, sought, skip, set, sink) {
                    Ok(spot) => spot.map(|spot| (spot, set)),
                    Err(rcode) => return Heading { rcode, authoritative: true },
                },
                found => {
                    let rcode = finish(place, sought, rtype, found, any, sink);
                    let referred = matches!(found, Found::Referral { .. });
                    return Heading { rcode, authoritative: aliases > 0 || !referred };
                }
            };
            let done = Heading { rcode: Rcode::NOERROR, authoritative: true };
            // Without room for the alias there is none for what follows.
            let Some((spot, set)) = alias else { return done };
            // The CNAME that a DNAME makes is what a question for a CNAME is about (RFC 6672 §3.2).
            if rtype == RrType::CNAME {
                return done;
            }
            if set.rtype() == RrType::CNAME && !step_to_target(self, snapshot, set, sought) {
                return done;
            }
            let seen = seen.get_or_insert([0; MAX_ALIASES]);
            seen[aliases] = name;
            if aliases + 1 == MAX_ALIASES || seen[..=aliases].contains(&sought.hash_above(0)) {
                return done;
            }
            if !sink.follow(spot, sought) {
                return done;
            }
            let Some(next) = self.place_in(self.zone_of(sought), sought, rtype) else { return done };
            // Some validators take an answer from two zones for one zone's, and miss its signatures.
            let signed = snapshot.is_signed() || next.snapshot.is_signed();
            if signed && sink.wants_proofs() && snapshot.origin() != next.snapshot.origin() {
                return done;
            }
            place = next;
            sink.enter(place.zone.scope(place.snapshot), sought);
        }
        unreachable!("the loop ends at the greatest number of aliases")
    }
}

/// Which rule answers, by name.
#[inline]
fn rule(snapshot: &Snapshot, sought: &Sought, found: Found<'_>) -> Decided {
    let (rule, name) = match found {
        Found::Data(found, _) | Found::Alias(found, _) | Found::NoData(found) | Found::All(found) => {
            match found.wildcard {
                None => (Rule::Exact, sought.hash_above(0)),
                Some(skip) => (Rule::Wildcard, snapshot.key().of_wildcard(sought.hash_above(skip))),
            }
        }
        Found::Redirection { skip, .. } | Found::Referral { skip, .. } => (Rule::Above, sought.hash_above(skip)),
        Found::NameError { skip } => (Rule::Absent, sought.hash_above(skip)),
    };
    Decided { rule, name }
}

/// Looks for the target of a CNAME from here on.
fn step_to_target(view: View<'_>, snapshot: &Snapshot, set: WireSet<'_>, sought: &mut Sought) -> bool {
    let mut buffer = [0; 2 * MAX_NAME];
    target_of(set, snapshot.origin(), &mut buffer).is_some_and(|name| sought.set(view.serving.key, name.as_wire()))
}

/// Puts in a DNAME and the CNAME made from it, and looks for the substitute from here on (RFC 6672 §3.2).
fn redirect<'s>(
    snapshot: &Snapshot,
    sought: &mut Sought,
    skip: usize,
    set: WireSet<'s>,
    sink: &mut impl Sink<'s>,
) -> Result<Option<Spot>, Rcode> {
    let mut buffer = [0; 2 * MAX_NAME];
    let owner_len = sought.wire_above(skip).len();
    if sink.put(Section::Answer, Owner::Ancestor(owner_len), set).is_none() {
        return Ok(None);
    }
    let Some(target) = target_of(set, snapshot.origin(), &mut buffer) else { return Err(Rcode::SERVFAIL) };
    let front = sought.len() - owner_len;
    let mut octets = [0; MAX_NAME];
    let Some(whole) = octets.get_mut(..front + target.len()) else { return Err(Rcode::YXDOMAIN) };
    whole[..front].copy_from_slice(&sought.wire_above(0)[..front]);
    whole[front..].copy_from_slice(target.as_wire());
    let substitute = NameRef::trusted(whole);
    let spot = sink.put_synthesized(substitute, set);
    sought.set(snapshot.key(), substitute.as_wire());
    Ok(spot)
}

/// Puts in what ends an answer.
fn finish<'s>(
    place: Place<'s>,
    sought: &Sought,
    rtype: RrType,
    found: Found<'s>,
    any: AnyPolicy,
    sink: &mut impl Sink<'s>,
) -> Rcode {
    let snapshot = place.snapshot;
    match found {
        Found::Data(found, set) => {
            let spot = sink.put(Section::Answer, Owner::Sought, set);
            proof::of_expansion(snapshot, sought, found, sink);
            if let Some(spot) = spot {
                put_addresses(place, set, spot, false, sink);
            }
            Rcode::NOERROR
        }
        Found::All(found) => {
            if put_all(found, rtype, any, sink) {
                proof::of_expansion(snapshot, sought, found, sink);
            } else {
                put_soa(place, sink);
                proof::of_no_data(snapshot, sought, found, sink);
            }
            Rcode::NOERROR
        }
        Found::Referral { skip, cut, servers } => {
            let owner = Owner::Ancestor(sought.wire_above(skip).len());
            let spot = sink.put(Section::Authority, owner, servers);
            proof::of_referral(snapshot, sought, skip, cut, sink);
            if let Some(spot) = spot {
                put_addresses(place, servers, spot, true, sink);
            }
            Rcode::NOERROR
        }
        Found::NoData(found) => {
            put_soa(place, sink);
            proof::of_no_data(snapshot, sought, found, sink);
            Rcode::NOERROR
        }
        Found::NameError { skip } => {
            put_soa(place, sink);
            proof::of_name_error(snapshot, sought, skip, sink);
            Rcode::NXDOMAIN
        }
        Found::Alias(..) | Found::Redirection { .. } => Rcode::NOERROR,
    }
}

fn put_soa<'s>(place: Place<'s>, sink: &mut impl Sink<'s>) {
    let apex = place.zone.apex_snapshot(place.snapshot);
    sink.put(Section::Authority, Owner::Ancestor(apex.origin().len()), apex.negative_soa());
}

/// Puts in the RRsets of a name that was asked for ANY, or the signatures of all where RRSIG was asked for; whether
/// there were any.
fn put_all<'s>(found: Match<'s>, rtype: RrType, any: AnyPolicy, sink: &mut impl Sink<'s>) -> bool {
    let signatures = rtype == RrType::RRSIG;
    let mut none = true;
    for set in found.node.sets().filter(|set| !signatures || set.signature_count() > 0) {
        none = false;
        if signatures {
            sink.put_signatures(Owner::Sought, set);
        } else {
            sink.put(Section::Answer, Owner::Sought, set);
            // Somebody who asks for all types asks for RRSIG as well, whatever DO says (RFC 4035 §3.1).
            if any == AnyPolicy::All && set.signature_count() > 0 && !sink.wants_proofs() {
                sink.put_signatures(Owner::Sought, set);
            }
        }
        if any == AnyPolicy::One {
            break;
        }
    }
    !none
}

/// Puts in the addresses that an RRset's names lead to: required ones first, so that they are the last to be cut.
fn put_addresses<'s>(place: Place<'s>, set: WireSet<'s>, spot: Spot, referral: bool, sink: &mut impl Sink<'s>) {
    if !set.has_links() {
        return;
    }
    for required in [true, false] {
        for link in set.links().filter(|link| link.node != 0 && (referral && link.required) == required) {
            let node = place.snapshot.node_at(link.node);
            if !required && place.zone.withholds(node.name(), place.snapshot) {
                continue;
            }
            for address in node.sets().filter(|set| matches!(set.rtype(), RrType::A | RrType::AAAA)) {
                sink.put(Section::Additional { required }, Owner::Within(spot, link.name_at), address);
            }
        }
    }
}
