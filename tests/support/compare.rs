//! What of an answer counts when servers are compared.

use std::fmt::Write as _;

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;

use super::message::{Message, Record};

/// A record without what may rightly differ: the case of names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Item {
    pub owner: Name,
    pub rtype: RrType,
    pub ttl: u32,
    pub data: Vec<u8>,
}

impl Item {
    fn of(record: &Record) -> Item {
        let owner = record.owner.as_ref().to_lowercase();
        Item { owner, rtype: record.rtype, ttl: record.ttl, data: record.canonical.clone() }
    }
}

/// An answer, its records in an order of their own. Records that come twice stay twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub rcode: u16,
    pub aa: bool,
    pub tc: bool,
    pub edns: bool,
    pub answer: Vec<Item>,
    pub authority: Vec<Item>,
    pub additional: Vec<Item>,
}

impl View {
    pub fn of(message: &Message) -> View {
        let section = |records: &[Record]| {
            let mut items: Vec<Item> = records.iter().map(Item::of).collect();
            items.sort();
            items
        };
        View {
            rcode: message.rcode(),
            aa: message.flags.aa(),
            tc: message.flags.tc(),
            edns: message.edns.is_some(),
            answer: section(&message.answers),
            authority: section(&message.authorities),
            additional: section(&message.additionals),
        }
    }

    /// The same answer as if nothing of it had fitted into the datagram.
    pub fn cut(&self) -> View {
        let (answer, authority, additional) = Default::default();
        View { tc: true, answer, authority, additional, ..*self }
    }

    /// In which parts two answers differ.
    pub fn differences(&self, other: &View) -> Vec<&'static str> {
        [
            ("rcode", self.rcode != other.rcode),
            ("AA", self.aa != other.aa),
            ("TC", self.tc != other.tc),
            ("EDNS", self.edns != other.edns),
            ("answer", self.answer != other.answer),
            ("authority", self.authority != other.authority),
            ("additional", self.additional != other.additional),
        ]
        .into_iter()
        .filter_map(|(part, differs)| differs.then_some(part))
        .collect()
    }

    /// For people to read.
    pub fn text(&self) -> String {
        let mut text = format!("rcode {}", self.rcode);
        for (flag, set) in [("AA", self.aa), ("TC", self.tc), ("EDNS", self.edns)] {
            if set {
                text += &format!(" {flag}");
            }
        }
        for (section, items) in
            [("answer", &self.answer), ("authority", &self.authority), ("additional", &self.additional)]
        {
            for Item { owner, rtype, ttl, data } in items {
                write!(text, "\n    {section}: {owner} {ttl} {rtype} ").unwrap();
                for octet in data {
                    match octet {
                        0x21..=0x7e => text.push(*octet as char),
                        _ => write!(text, "\\{octet:03}").unwrap(),
                    }
                }
            }
        }
        text
    }
}

/// The zones that are served, by their origins.
pub struct Origins(pub Vec<Name>);

impl Origins {
    /// The origin of the zone that a name is in.
    fn of(&self, name: &Name) -> Option<&Name> {
        let holds = |origin: &&Name| name.as_ref().is_at_or_below(origin.as_ref());
        self.0.iter().filter(holds).max_by_key(|origin| origin.as_ref().len())
    }
}

/// What is taken out of every answer before it is compared, and why.
pub struct Normalisation {
    pub name: &'static str,
    pub reason: &'static str,
    apply: fn(&mut View, &Name, &Origins),
}

/// All that is overlooked. Everything else that differs is a difference.
pub const NORMALISATIONS: &[Normalisation] = &[
    Normalisation {
        name: "chains into other zones",
        reason: "only NSD goes on when an alias leads to another zone of the same server, as we do (RFC 1034 section \
                 4.3.2, step 3a): answers are compared up to the alias that leads out",
        apply: |view, name, origins| {
            let home = origins.of(name);
            let leaves = |item: &Item| item.alias_target().is_some_and(|target| origins.of(&target) != home);
            if view.answer.iter().any(leaves) {
                view.answer.retain(|item| origins.of(&item.owner) == home);
                view.authority.clear();
                view.additional.clear();
                view.rcode = 0;
                view.tc = false;
            }
        },
    },
    Normalisation {
        name: "records of cut answers",
        reason: "with TC set a client asks again over TCP; BIND leaves all records out, NSD and Knot some",
        apply: |view, _, _| {
            if view.tc {
                *view = view.cut();
            }
        },
    },
    Normalisation {
        name: "name servers beside an answer",
        reason: "RFC 1034 lets a server add the zone's NS RRset to positive answers; NSD does, the others and we don't",
        apply: |view, _, _| {
            if view.aa && !view.answer.is_empty() {
                view.authority.retain(|item| item.rtype != RrType::NS);
            }
        },
    },
    Normalisation {
        name: "addresses that the answer does not lead to",
        reason: "NSD adds those of the zone's name servers to positive answers; we those of SVCB targets (RFC 9460 \
                 section 4.1), which no peer of today does",
        apply: |view, _, _| {
            if view.aa {
                let targets: Vec<Name> = view.answer.iter().filter_map(Item::service_target).collect();
                view.additional.retain(|item| targets.contains(&item.owner));
            }
        },
    },
    Normalisation {
        name: "addresses in a referral that are no glue",
        reason: "those of name servers outside the delegated zone need not come along (RFC 9471 section 2.1); BIND \
                 leaves them out, NSD, Knot and we give them where the zone has them",
        apply: |view, _, _| {
            if let Some(cut) =
                view.authority.iter().find(|item| item.rtype == RrType::NS).map(|item| item.owner.clone())
            {
                view.additional.retain(|item| item.owner.as_ref().is_at_or_below(cut.as_ref()));
            }
        },
    },
];

impl Item {
    /// Where a CNAME leads.
    fn alias_target(&self) -> Option<Name> {
        (self.rtype == RrType::CNAME).then(|| name_at(&self.data, 0))?
    }

    /// The name whose addresses a client of the record wants next.
    pub fn service_target(&self) -> Option<Name> {
        let front = match self.rtype {
            RrType::NS => 0,
            RrType::MX => 2,
            RrType::SRV => 6,
            _ => return None,
        };
        name_at(&self.data, front)
    }
}

fn name_at(data: &[u8], front: usize) -> Option<Name> {
    NameRef::read(data.get(front..)?).ok().map(NameRef::to_name)
}

impl View {
    /// The answer to a question about `name` as it is compared. Notes in `used` which normalisations changed something.
    pub fn normalised(mut self, name: &Name, origins: &Origins, used: &mut [usize; NORMALISATIONS.len()]) -> View {
        for (normalisation, used) in NORMALISATIONS.iter().zip(used) {
            let before = self.clone();
            (normalisation.apply)(&mut self, name, origins);
            *used += usize::from(before != self);
        }
        self
    }
}
