//! The lay of a zone: where it ends, what its cuts cover, what a name in its data leads to.

use std::net::{Ipv4Addr, Ipv6Addr};

use foldhash::HashSet;

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::index::Index;
use crate::zone::rdata::names;
use crate::zone::rrsets::{Owner, Rrset, Zone};
use crate::zone::text::Record;

/// A zone and where its cuts are.
pub(super) struct Lay<'a> {
    pub zone: &'a Zone,
    pub origin: NameRef<'a>,
    /// Each target is looked up: in a large zone a table pays.
    owners: Index<'a>,
    delegations: HashSet<NameRef<'a>>,
    dnames: HashSet<NameRef<'a>>,
}

/// What takes a name out of the zone's own hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover<'a> {
    /// A delegation at or above the name.
    Delegation(NameRef<'a>),
    /// A DNAME above the name.
    Dname(NameRef<'a>),
}

/// What a name in the data leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// Out of the zone: not ours to know.
    Outside,
    /// To a delegation at or above it: not ours to know, but for glue.
    Delegated(NameRef<'a>),
    /// To a CNAME, or through a DNAME, that stands here.
    Alias(NameRef<'a>),
    /// To an address.
    Address,
    /// To data, but no address.
    NoAddress,
    /// Nowhere: the name does not exist.
    Missing,
}

impl<'a> Lay<'a> {
    pub fn of(zone: &'a Zone) -> Lay<'a> {
        let origin = zone.origin();
        let (mut delegations, mut dnames) = (HashSet::default(), HashSet::default());
        for set in zone.rrsets() {
            match set.rtype {
                RrType::NS if set.owner.is_below(origin) => delegations.insert(set.owner),
                RrType::DNAME if set.owner.is_at_or_below(origin) => dnames.insert(set.owner),
                _ => continue,
            };
        }
        Lay { zone, origin, owners: Index::of(zone), delegations, dnames }
    }

    /// The delegations, in order.
    pub fn delegations(&self) -> impl Iterator<Item = Rrset<'a>> {
        let origin = self.origin;
        self.zone.rrsets().filter(move |set| set.rtype == RrType::NS && set.owner.is_below(origin))
    }

    /// The RRsets of `name`, if it has any.
    pub fn owner(&self, name: NameRef<'_>) -> Option<Owner<'a>> {
        self.owners.find(name)
    }

    pub fn holds(&self, name: NameRef<'_>) -> bool {
        name.is_at_or_below(self.origin)
    }

    /// The topmost delegation or DNAME that covers `name`, which is in the zone.
    pub fn cover<'n>(&self, name: NameRef<'n>) -> Option<Cover<'n>> {
        if self.delegations.is_empty() && self.dnames.is_empty() {
            return None;
        }
        let mut cover = None;
        for (up, ancestor) in name.ancestors().enumerate() {
            if self.delegations.contains(&ancestor) {
                cover = Some(Cover::Delegation(ancestor));
            } else if up > 0 && !self.dnames.is_empty() && self.dnames.contains(&ancestor) {
                cover = Some(Cover::Dname(ancestor));
            }
            if ancestor == self.origin {
                break;
            }
        }
        cover
    }

    /// What `name` leads to, wildcards taken into account (RFC 4592).
    pub fn target<'n>(&self, name: NameRef<'n>) -> Target<'n>
    where
        'a: 'n,
    {
        if !self.holds(name) {
            return Target::Outside;
        }
        match self.cover(name) {
            Some(Cover::Delegation(at)) => return Target::Delegated(at),
            Some(Cover::Dname(at)) => return Target::Alias(at),
            None => {}
        }
        match self.answering(name) {
            Some(owner) if owner.rrset(RrType::CNAME).is_some() => Target::Alias(owner.name),
            Some(owner) if has_address(owner) => Target::Address,
            Some(_) => Target::NoAddress,
            None if self.zone.exists(name) => Target::NoAddress,
            None => Target::Missing,
        }
    }

    /// The owner whose records answer for `name`: itself, or the wildcard that covers it.
    pub fn answering(&self, name: NameRef<'_>) -> Option<Owner<'a>> {
        if let Some(owner) = self.owner(name) {
            return Some(owner);
        }
        if self.zone.exists(name) {
            return None;
        }
        let encloser = name.ancestors().skip(1).find(|ancestor| self.zone.exists(*ancestor))?;
        self.owner(encloser.child(b"*").ok()?.as_ref())
    }
}

/// What covers owner after owner, as [`Lay::cover`] says it, for who goes through all of them: in canonical order what is
/// covered comes right behind what covers it, and nothing has to be looked up.
pub(super) struct Covers<'a> {
    origin: NameRef<'a>,
    /// The topmost delegation or DNAME at or above the last owner.
    top: Option<Cover<'a>>,
}

impl<'a> Covers<'a> {
    pub fn of(lay: &Lay<'a>) -> Covers<'a> {
        Covers { origin: lay.origin, top: None }
    }

    /// What covers the next owner.
    pub fn next(&mut self, owner: Owner<'a>) -> Option<Cover<'a>> {
        if let Some(Cover::Delegation(at) | Cover::Dname(at)) = self.top
            && owner.name.is_below(at)
        {
            return self.top;
        }
        let has = |rtype| owner.rrsets().any(|set| set.rtype == rtype);
        if has(RrType::NS) && owner.name.is_below(self.origin) {
            self.top = Some(Cover::Delegation(owner.name));
            return self.top;
        }
        // A DNAME covers what is below it, and not its own name.
        self.top = has(RrType::DNAME).then_some(Cover::Dname(owner.name));
        None
    }
}

/// Whether there is an A or AAAA record.
pub(super) fn has_address(owner: Owner<'_>) -> bool {
    owner.rrsets().any(|set| is_address(set.rtype))
}

/// Whether this is A or AAAA.
pub(super) fn is_address(rtype: RrType) -> bool {
    matches!(rtype, RrType::A | RrType::AAAA)
}

/// The name that a record leads to, if its type leads anywhere.
pub(super) fn target_of(record: Record<'_>) -> Option<NameRef<'_>> {
    match record.rtype {
        RrType::NS | RrType::CNAME | RrType::DNAME | RrType::PTR => {}
        RrType::MX | RrType::SRV | RrType::SVCB | RrType::HTTPS => {}
        _ => return None,
    }
    names(record.rtype, record.rdata).map(|(_, name)| name).next()
}

/// The address that `name` was meant to be: `192.0.2.1`, with or without a final dot.
pub(super) fn address_in(name: NameRef<'_>, origin: NameRef<'_>) -> Option<String> {
    // Most names need no closer look: in an address the first label is a number, or there are colons.
    let first = name.first_label()?;
    if !first.iter().all(u8::is_ascii_digit) && !name.as_wire().contains(&b':') {
        return None;
    }
    let looks = |text: &str| text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok();
    let relative = name.relative_to(origin);
    let absolute = name.to_string();
    let absolute = absolute.trim_end_matches('.');
    [relative.as_str(), absolute].into_iter().find(|text| looks(text)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::zone::reader::{NoSources, Source, read};

    #[test]
    fn what_covers_owner_after_owner_is_what_covers_each_of_them() {
        let cuts = "@ NS ns\na A 192.0.2.1\nc NS ns.c\nns.c A 192.0.2.2\nd.c NS ns\ne.c DNAME x.\nd DNAME y.\na.d NS ns\n\
                    b.a.d A 192.0.2.3\ndd A 192.0.2.4\ne NS ns\ne DNAME z.\nf.e A 192.0.2.5\nf A 192.0.2.6\n";
        for (top, covered) in [("", 8), ("@ DNAME w.\n", 13)] {
            let origin = Name::absolute("x.example").unwrap();
            let text = format!("$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\nns A 192.0.2.1\n{top}{cuts}");
            let source = Source { path: "x".into(), octets: text.into_bytes().into() };
            let text = read(&origin, source, &mut NoSources).into_text().unwrap();
            let zone = Zone::new(Some(&text), None).unwrap();
            let lay = Lay::of(&zone);
            let mut covers = Covers::of(&lay);
            let found: Vec<_> = zone.owners().map(|owner| (owner.name, covers.next(owner))).collect();
            let expected: Vec<_> = zone.owners().map(|owner| (owner.name, lay.cover(owner.name))).collect();
            assert_eq!(found, expected);
            assert_eq!(found.iter().filter(|(_, cover)| cover.is_some()).count(), covered, "{found:?}");
        }
    }
}
