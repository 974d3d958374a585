//! The names that users hold, and the levers behind them.

use std::collections::{BTreeMap, BTreeSet};

use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::zone::outward::leads as turns;
use crate::zone::rdata;
use crate::zone::rrsets::Zone;

/// A name that users hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// The name.
    pub name: Name,
    /// The names in zones of ours that it leads to, each by a type: these can be renamed.
    pub levers: BTreeSet<(RrType, Name)>,
    /// The names that it leads to and that are in nobody's zone here.
    pub outside: BTreeSet<Name>,
    /// Why its own records can't be renamed, if it has any.
    pub bare: Option<Bare>,
}

/// Why a front has records that can't be renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bare {
    /// It has addresses of its own: a CNAME would give it a lever.
    Addresses,
    /// It is the apex, which can't be an alias: it never has a lever for its addresses.
    Apex,
}

impl Front {
    /// What can be done about it, in a sentence.
    pub fn advice(&self) -> String {
        let levers = || {
            let all = self.levers.iter().map(|(rtype, name)| format!("{name} (by {rtype})"));
            all.collect::<Vec<_>>().join(", ")
        };
        let also = if self.levers.is_empty() { String::new() } else { format!("; what it leads to has: {}", levers()) };
        match self.bare {
            Some(Bare::Apex) => format!(
                "no lever for its addresses: an apex can't be an alias; what users hold had better be a name below it{also}"
            ),
            Some(Bare::Addresses) => format!(
                "no lever: its addresses are its own; move them to a name beside it, and let it be a CNAME to that, with a short TTL{also}"
            ),
            None if !self.levers.is_empty() => format!("lever {}", levers()),
            None => {
                let outside: Vec<String> = self.outside.iter().map(ToString::to_string).collect();
                format!("no lever here: it leads to {}, which is in nobody's zone here", outside.join(", "))
            }
        }
    }

    /// Whether all that it has can be renamed.
    pub fn has_lever(&self) -> bool {
        self.bare.is_none() && !self.levers.is_empty()
    }
}

/// The fronts of a zone over all of its sites, in order: who has records for users and is not led to from another name of the
/// zone. `ours` says whether a name is in a zone that is served here.
pub fn fronts(sites: &[&Zone], ours: impl Fn(NameRef<'_>) -> bool) -> Vec<Front> {
    let mut led_to: BTreeSet<NameRef<'_>> = BTreeSet::new();
    for zone in sites {
        for set in zone.rrsets().filter(|set| turns(set.rtype) || set.rtype == RrType::NS) {
            let names = set.rdatas().flat_map(|data| rdata::names(set.rtype, data));
            led_to.extend(names.map(|(_, name)| name).filter(|name| *name != set.owner));
        }
    }
    let mut fronts: BTreeMap<NameRef<'_>, Front> = BTreeMap::new();
    for zone in sites {
        let mut cut: Option<NameRef<'_>> = None;
        for owner in zone.owners() {
            let is_apex = owner.name == zone.origin();
            // What is delegated is somebody else's.
            if cut.is_some_and(|cut| owner.name.is_below(cut)) {
                continue;
            }
            cut = (!is_apex && owner.rrset(RrType::NS).is_some()).then_some(owner.name).or(cut);
            if cut == Some(owner.name) || led_to.contains(&owner.name) && !is_apex {
                continue;
            }
            for set in owner.rrsets().filter(|set| turns(set.rtype) || is_bare(set.rtype)) {
                let front = fronts.entry(owner.name).or_insert_with(|| Front {
                    name: owner.name.to_name(),
                    levers: BTreeSet::new(),
                    outside: BTreeSet::new(),
                    bare: None,
                });
                if is_bare(set.rtype) {
                    front.bare = Some(if is_apex { Bare::Apex } else { Bare::Addresses });
                }
                for (_, name) in set.rdatas().flat_map(|data| rdata::names(set.rtype, data)) {
                    // The root says that there is nothing, or means the name itself.
                    if name.is_root() || name == owner.name {
                        continue;
                    }
                    match ours(name) {
                        true => drop(front.levers.insert((set.rtype, name.to_lowercase()))),
                        false => drop(front.outside.insert(name.to_lowercase())),
                    }
                }
            }
        }
    }
    let leads = |front: &Front| front.bare.is_some() || !front.levers.is_empty() || !front.outside.is_empty();
    fronts.into_values().filter(leads).collect()
}

/// Whether users arrive by a record of this type itself.
fn is_bare(rtype: RrType) -> bool {
    matches!(rtype, RrType::A | RrType::AAAA)
}
