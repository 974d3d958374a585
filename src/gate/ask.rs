//! Asking a view, as a resolver would: what would become of a question?

use std::fmt;

use crate::evidence::Verdict;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serving::View;
use crate::serving::content::SiteContent;
use crate::serving::resolve::AnyPolicy;
use crate::snapshot::answer::{Owner, Rcode, Scope, Section, Sink, Spot};
use crate::snapshot::denial::Proof;
use crate::snapshot::node::WireSet;
use crate::snapshot::sought::{HashKey, Sought};
use crate::zone::rrsets::{Owner as ZoneOwner, Standing, Zone};

/// What becomes of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// In short.
    pub kind: Kind,
    /// The name that a chain of aliases ends at where it does not end with an answer.
    pub end: Option<Name>,
    /// How many aliases were followed.
    pub aliases: usize,
}

/// What becomes of a question, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There are records.
    Answer,
    /// The chain leaves our zones: somebody else answers.
    Elsewhere,
    /// Somebody else is responsible for the name.
    Referral,
    /// The name has nothing of the type.
    NoData,
    /// The name does not exist.
    NameError,
    /// The chain does not end.
    Loop,
    /// Something else went wrong.
    Failure(Rcode),
}

impl Told {
    /// Whether a client gets on with it.
    pub fn is_positive(&self) -> bool {
        matches!(self.kind, Kind::Answer | Kind::Elsewhere | Kind::Referral)
    }

    /// What becomes of a client that got on with `self` and is told `other` from then on. Records that other servers
    /// are to tell in our place are not proved to be told at all.
    pub fn kept_by(&self, other: &Told) -> Verdict {
        let kept = match self.kind {
            Kind::Answer if other.kind == Kind::Elsewhere => return Verdict::Unknown,
            Kind::Answer => other.kind == Kind::Answer,
            Kind::Elsewhere | Kind::Referral => other.is_positive(),
            _ => true,
        };
        if kept { Verdict::Pass } else { Verdict::Block }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(end) = &self.end {
            let between = if self.kind == Kind::Elsewhere { ", " } else { ": " };
            write!(f, "an alias of {end}{between}")?;
        }
        match self.kind {
            Kind::Answer => f.write_str("answered"),
            Kind::Elsewhere => f.write_str("which other servers answer"),
            Kind::Referral => f.write_str("a referral"),
            Kind::NoData => f.write_str("NODATA"),
            Kind::NameError => f.write_str("NXDOMAIN"),
            Kind::Loop => f.write_str("a loop of aliases"),
            Kind::Failure(rcode) => write!(f, "{rcode}"),
        }
    }
}

/// Asks `view` for `name` and `rtype`.
pub fn ask(view: View<'_>, name: NameRef<'_>, rtype: RrType) -> Told {
    Asker::default().ask(view, name, rtype)
}

/// Who asks for many names, one after the other: mostly several times for each.
#[derive(Default)]
pub struct Asker {
    sought: Sought,
    /// The key that the name is hashed under; none before there is one.
    key: Option<HashKey>,
}

impl Asker {
    /// Asks as [`ask`] does.
    pub fn ask(&mut self, view: View<'_>, name: NameRef<'_>, rtype: RrType) -> Told {
        told(view, self.seek(view, name), rtype)
    }

    /// What the client gets of the zone that holds the name.
    pub fn content_of<'s>(&mut self, view: View<'s>, name: NameRef<'_>) -> Option<&'s SiteContent> {
        view.content_holding(self.seek(view, name))
    }

    fn seek(&mut self, view: View<'_>, name: NameRef<'_>) -> &mut Sought {
        // Unless an alias was followed since, it may be the very name.
        let is_set = self.key == Some(view.key()) && self.sought.name().as_wire() == name.as_wire();
        if !is_set && !self.sought.set(view.key(), name.as_wire()) {
            unreachable!("a name is a name");
        }
        self.key = Some(view.key());
        &mut self.sought
    }
}

fn told(view: View<'_>, sought: &mut Sought, rtype: RrType) -> Told {
    let mut summary = Summary { rtype, aliases: 0, data: false, referral: false, denied: false };
    let heading = view.resolve(sought, rtype, AnyPolicy::One, &mut summary);
    let kind = match heading.rcode {
        Rcode::NXDOMAIN => Kind::NameError,
        Rcode::REFUSED if summary.aliases == 0 => Kind::Failure(Rcode::REFUSED),
        Rcode::NOERROR if summary.data => Kind::Answer,
        // An alias into a delegated part leads to other servers, as one out of the zone does.
        Rcode::NOERROR if summary.referral && summary.aliases > 0 => Kind::Elsewhere,
        Rcode::NOERROR if summary.referral => Kind::Referral,
        Rcode::NOERROR if summary.denied => Kind::NoData,
        Rcode::NOERROR if view.serves(sought) => Kind::Loop,
        Rcode::NOERROR => Kind::Elsewhere,
        other => Kind::Failure(other),
    };
    let leads_on = summary.aliases > 0 && kind != Kind::Answer;
    Told { kind, end: leads_on.then(|| sought.name().to_name()), aliases: summary.aliases }
}

/// The types that `name` has in `zone`: its own, or those of the wildcard that stands in for it.
pub fn types_at(zone: &Zone, name: NameRef<'_>) -> Vec<RrType> {
    match zone.standing(name) {
        Standing::Owner(owner) => return types_of(owner),
        Standing::Between => return Vec::new(),
        Standing::Nothing => {}
    }
    let encloser = name.ancestors().find(|ancestor| zone.exists(*ancestor));
    let wildcard = encloser.and_then(|encloser| encloser.child(b"*").ok());
    let wildcard = wildcard.as_ref().and_then(|wildcard| zone.owner(wildcard.as_ref()));
    wildcard.map(types_of).unwrap_or_default()
}

fn types_of(owner: ZoneOwner<'_>) -> Vec<RrType> {
    owner.rrsets().map(|set| set.rtype).collect()
}

struct Summary {
    rtype: RrType,
    aliases: usize,
    data: bool,
    referral: bool,
    denied: bool,
}

impl<'s> Sink<'s> for Summary {
    fn enter(&mut self, _: Scope<'s>, _: &Sought) {}

    fn put(&mut self, section: Section, _: Owner, set: WireSet<'s>) -> Option<Spot> {
        match section {
            Section::Answer => self.data |= set.rtype() == self.rtype,
            Section::Authority => {
                self.referral |= set.rtype() == RrType::NS;
                self.denied |= set.rtype() == RrType::SOA;
            }
            Section::Additional { .. } => {}
        }
        Some(Spot::default())
    }

    fn wants_proofs(&self) -> bool {
        false
    }

    fn put_proof(&mut self, _: Proof<'s>, _: &Sought) {}

    fn put_signatures(&mut self, _: Owner, _: WireSet<'s>) -> Option<Spot> {
        self.data |= self.rtype == RrType::RRSIG;
        Some(Spot::default())
    }

    fn put_synthesized(&mut self, _: NameRef<'_>, _: WireSet<'s>) -> Option<Spot> {
        self.data |= self.rtype == RrType::CNAME;
        Some(Spot::default())
    }

    fn follow(&mut self, _: Spot, _: &Sought) -> bool {
        self.aliases += 1;
        true
    }
}
