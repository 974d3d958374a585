//! Which rule answers a name (RFC 1034 §4.3.2, as RFC 4592 and RFC 6672 amend it).

use super::Snapshot;
use super::node::{Flags, Node, WireSet};
use super::sought::Sought;
use crate::rr::RrType;

/// What a zone has to say of a name and a type.
#[derive(Clone, Copy)]
pub enum Found<'s> {
    /// Records of the type that was asked for.
    Data(Match<'s>, WireSet<'s>),
    /// The name is an alias: go on with the target.
    Alias(Match<'s>, WireSet<'s>),
    /// A name `skip` labels up has a DNAME: go on with the substitute.
    Redirection {
        /// How many labels the DNAME's owner is shorter.
        skip: usize,
        /// The DNAME.
        set: WireSet<'s>,
    },
    /// The zone delegates the name, or one above it.
    Referral {
        /// How many labels the cut's name is shorter.
        skip: usize,
        /// The node of the cut.
        cut: Node<'s>,
        /// Its NS RRset.
        servers: WireSet<'s>,
    },
    /// The name exists, and has nothing of this type.
    NoData(Match<'s>),
    /// The name does not exist; the one `skip` labels up does (the closest encloser).
    NameError {
        /// How many labels the closest encloser is shorter.
        skip: usize,
    },
    /// The name exists, and all types were asked for (ANY), or the signatures of all (RRSIG).
    All(Match<'s>),
}

/// The node that answers a name.
#[derive(Clone, Copy)]
pub struct Match<'s> {
    /// The node.
    pub node: Node<'s>,
    /// Whether the node is a wildcard that stands in for the name, and then how many labels its parent, the closest
    /// encloser, is shorter than the name.
    pub wildcard: Option<usize>,
}

/// The node that decides about a name, and how.
enum Decider<'s> {
    Match(Match<'s>),
    Cut(Node<'s>, usize),
    Dname(Node<'s>, usize),
    None(usize),
}

impl Snapshot {
    /// What the zone has to say of `sought`, a name at or below its origin.
    #[inline]
    pub fn lookup(&self, sought: &Sought, rtype: RrType) -> Found<'_> {
        let found = match self.decider(sought, rtype) {
            Decider::None(skip) => return Found::NameError { skip },
            Decider::Match(found) => found,
            Decider::Cut(cut, skip) => match cut.set(RrType::NS) {
                Some(servers) => return Found::Referral { skip, cut, servers },
                None => Match { node: cut, wildcard: None },
            },
            Decider::Dname(node, skip) => match node.set(RrType::DNAME) {
                Some(set) => return Found::Redirection { skip, set },
                None => return Found::NameError { skip },
            },
        };
        if matches!(rtype, RrType::ANY | RrType::RRSIG) {
            return Found::All(found);
        }
        let mut alias = None;
        for set in found.node.sets() {
            if set.rtype() == rtype {
                return Found::Data(found, set);
            }
            if set.rtype() == RrType::CNAME {
                alias = Some(set);
            }
        }
        match alias {
            // What stands beside a CNAME in a signed zone is its own (RFC 4035 §2.5), and a CNAME is no alias of these.
            Some(set) if !matches!(rtype, RrType::NSEC | RrType::KEY) => Found::Alias(found, set),
            _ => Found::NoData(found),
        }
    }

    #[inline(always)]
    fn decider(&self, sought: &Sought, rtype: RrType) -> Decider<'_> {
        if let Some(node) = self.node_of(sought) {
            // A DS RRset is the parent's, though it stands at the child's name (RFC 4035 §3.1.4.1).
            return if node.flags().has(Flags::CUT) && rtype != RrType::DS {
                Decider::Cut(node, 0)
            } else {
                Decider::Match(Match { node, wildcard: None })
            };
        }
        let below_origin = sought.label_count() - self.origin().label_count();
        for skip in 1..=below_origin {
            let Some(encloser) = self.node_above(sought, skip) else { continue };
            let flags = encloser.flags();
            if flags.has(Flags::CUT) {
                return Decider::Cut(encloser, skip);
            }
            if flags.has(Flags::DNAME) {
                return Decider::Dname(encloser, skip);
            }
            if flags.has(Flags::WILDCARD_CHILD)
                && let Some(node) = self.wildcard_above(sought, skip)
            {
                return Decider::Match(Match { node, wildcard: Some(skip) });
            }
            return Decider::None(skip);
        }
        Decider::None(below_origin)
    }
}
