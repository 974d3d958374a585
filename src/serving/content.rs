//! The content of a zone: what it answers at each site, and what its operator allows.

use std::fmt;
use std::sync::Arc;

use crate::name::{Name, NameRef};
use crate::rename::Overlays;
use crate::snapshot::Snapshot;
use crate::snapshot::capped::End;
use crate::time::Ttl;
use crate::zone::rrsets::Zone;
use crate::zone::signatures::Signatures;

/// A site's number within its zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SiteId(pub u16);

/// What a zone answers at each site.
#[derive(Clone, Debug)]
pub struct Content {
    /// The zone's origin.
    pub origin: Name,
    /// The sites, by [`SiteId`]; never none.
    pub sites: Vec<SiteContent>,
    /// What the operator wants of the zone.
    pub policy: Policy,
    /// Counts the changes of the zone's content; it only grows.
    pub epoch: u64,
    /// What lies over its texts; the sites have it in them.
    pub overlays: Overlays,
}

/// What a zone answers at one site.
#[derive(Clone)]
pub struct SiteContent {
    /// What operators call the site.
    pub name: String,
    /// The RRsets as they were read: what gates derive their questions from.
    pub zone: Arc<Zone>,
    /// The same compiled: what is answered.
    pub snapshot: Arc<Snapshot>,
    /// What its signatures are worth, if it is signed.
    pub signatures: Option<Arc<Signatures>>,
}

impl fmt::Debug for SiteContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} RRsets)", self.name, self.zone.len())
    }
}

impl SiteContent {
    /// The same as an end of a move.
    pub fn end(&self) -> End<'_> {
        End { zone: &self.zone, snapshot: &self.snapshot }
    }

    /// Whether both answer every question alike.
    pub fn answers_like(&self, other: &SiteContent) -> bool {
        self.snapshot.shape() == other.snapshot.shape() && self.zone.same_as(&other.zone)
    }
}

impl Content {
    /// A site's content.
    ///
    /// A number that no site has means the first one: routing is checked against content before it is published.
    pub fn site(&self, site: SiteId) -> &SiteContent {
        self.sites.get(site.0 as usize).unwrap_or(&self.sites[0])
    }

    /// The site of this name.
    pub fn site_named(&self, name: &str) -> Option<SiteId> {
        self.sites.iter().position(|site| site.name == name).map(|at| SiteId(at as u16))
    }
}

/// What the operator wants of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Caps the TTL of negative answers.
    pub negative_ttl: Option<Ttl>,
    /// Caps every TTL.
    pub max_ttl: Option<Ttl>,
    /// Names that may stop being answered: absolute; `*.x` means every name below `x`.
    pub may_vanish: Vec<Name>,
    /// A reload that removes more names than this is not taken without a second look.
    pub blast_radius: BlastRadius,
}

impl Policy {
    /// Whether `name` may stop being answered.
    pub fn may_vanish(&self, name: NameRef<'_>) -> bool {
        self.may_vanish.iter().any(|pattern| {
            let pattern = pattern.as_ref();
            pattern == name || pattern.is_wildcard() && pattern.parent().is_some_and(|parent| name.is_below(parent))
        })
    }
}

/// How many names a reload may remove: refused is what is over both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlastRadius {
    /// In percent of the names there were.
    pub percent: u8,
    /// In names.
    pub names: usize,
}

impl Default for BlastRadius {
    fn default() -> BlastRadius {
        BlastRadius { percent: 10, names: 10 }
    }
}

impl BlastRadius {
    /// Whether to remove `removed` of `all` names is too much.
    pub fn is_exceeded_by(self, removed: usize, all: usize) -> bool {
        removed > self.names && removed as u128 * 100 > all as u128 * u128::from(self.percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_vanish_is_the_name_or_what_is_below_the_star() {
        let name = |text| Name::absolute(text).unwrap();
        let policy = Policy { may_vanish: vec![name("*.lab.x"), name("old.x")], ..Policy::default() };
        for (asked, may) in
            [("a.lab.x", true), ("b.a.lab.x", true), ("lab.x", false), ("old.x", true), ("a.old.x", false)]
        {
            assert_eq!(policy.may_vanish(name(asked).as_ref()), may, "{asked}");
        }
    }

    #[test]
    fn the_blast_radius_is_both_a_share_and_a_number() {
        let radius = BlastRadius::default();
        for (removed, all, exceeded) in
            [(10, 10, false), (11, 110, false), (11, 109, true), (1, 1, false), (80, 200, true)]
        {
            assert_eq!(radius.is_exceeded_by(removed, all), exceeded, "{removed} of {all}");
        }
    }
}
