//! What an answer told, in few enough octets to be noted: which rule of which zone answered, to whom, and for how long.

use super::regions::RegionId;
use crate::net::ClientNet;
use crate::rr::RrType;
use crate::time::Ttl;

/// What a zone answers at one site, counted: it gets another number whenever that changes, be it in TTLs alone. No two
/// sites or zones ever have the same one while a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Edition(pub u32);

impl Edition {
    /// The next one. After four milliards the numbers begin anew, long after whoever noted the first has forgotten them.
    pub(super) fn next(self) -> Edition {
        Edition(self.0.checked_add(1).unwrap_or(1))
    }
}

/// Which rule answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The name itself: with records, with an alias, or with none of that type.
    #[default]
    Exact = 0,
    /// A wildcard that stands in for the name (RFC 4592): the name of the rule is the wildcard's.
    Wildcard = 1,
    /// There is no such name: the name of the rule is the closest encloser.
    Absent = 2,
    /// A DNAME or a zone cut at or above the name: the name of the rule is its owner.
    Above = 3,
}

impl Rule {
    /// All of them, each where its number says.
    pub const ALL: [Rule; 4] = [Rule::Exact, Rule::Wildcard, Rule::Absent, Rule::Above];
}

/// The rule that answered a question, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Which.
    pub rule: Rule,
    /// The hash of its name under the key of the serving.
    pub name: u64,
}

/// The rules that decided an answer: the first of each zone that its aliases led through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    steps: [Step; TRAIL],
    count: u8,
    /// Whether it led through more zones than there is room for.
    pub is_longer: bool,
}

/// A zone that was entered, and what decided in it: in an order without gaps, as it is handed on with every answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    name: u64,
    edition: Edition,
    rule: Rule,
}

/// Zones that a trail has room for: aliases that lead through more of ours are hardly ever seen.
const TRAIL: usize = 3;

impl Trail {
    /// A zone was entered, and decided so.
    pub(crate) fn enter(&mut self, edition: Edition, decided: Decided) {
        match self.steps.get_mut(usize::from(self.count)) {
            Some(free) => {
                *free = Step { name: decided.name, edition, rule: decided.rule };
                self.count += 1;
            }
            None => self.is_longer = true,
        }
    }

    /// The rules, in order.
    pub fn steps(&self) -> impl Iterator<Item = (Edition, Decided)> {
        let steps = self.steps[..usize::from(self.count)].iter();
        steps.map(|Step { name, edition, rule }| (*edition, Decided { rule: *rule, name: *name }))
    }
}

/// What an answer told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose question it was: of the source, or of the client that a trusted resolver named.
    pub client: ClientNet,
    /// The client's region.
    pub region: RegionId,
    /// The rules that decided it; there is at least one.
    pub trail: Trail,
    /// The type that was asked for.
    pub rtype: RrType,
    /// The greatest TTL in the answer and the authority section.
    pub ttl: Ttl,
    /// Whether the source is not forged: it came over a connection, or showed a cookie of ours (RFC 7873).
    pub proven: bool,
}
