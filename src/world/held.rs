//! What caches may still hold of a zone that was edited: a move of the same RRsets has to wait that out, too.

use crate::door::Candidate;
use crate::gate::Pair;
use crate::name::Name;
use crate::rr::RrType;
use crate::serving::content::{Content, SiteContent};
use crate::time::{Timestamp, Ttl};
use crate::zone::diff::diff;

/// How many RRsets are told apart; with more, all count as held for as long as any of them.
const MOST: usize = 1000;

/// RRsets that were edited, each until when caches may hold what they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Until when what any RRset was may be held, where they are not told apart.
    all: Option<Timestamp>,
    sets: Vec<HeldRrset>,
    /// The greatest TTL that any of them was told with.
    #[serde(default)]
    longest_ttl: Ttl,
}

/// An RRset of one site that was edited.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HeldRrset {
    site: String,
    owner: Name,
    rtype: u16,
    until: Timestamp,
}

impl Held {
    /// What may be held once `new` is answered instead of `old`.
    pub fn after_edit(&self, old: &Content, new: &Content, now: Timestamp) -> Held {
        let mut held = Held { all: self.all.filter(|until| *until > now), ..self.clone() };
        held.sets.retain(|set| set.until > now);
        if held.all.is_none() && held.sets.is_empty() {
            held.longest_ttl = Ttl::ZERO;
        }
        for site in &old.sites {
            held.edit(site, new.site_named(&site.name).map(|id| new.site(id)), now);
        }
        if held.sets.len() > MOST {
            let longest = held.sets.drain(..).map(|set| set.until).max();
            held.all = held.all.max(longest);
        }
        held
    }

    fn edit(&mut self, old: &SiteContent, new: Option<&SiteContent>, now: Timestamp) {
        let cap = old.snapshot.shape().max_ttl.unwrap_or(Ttl::MAX);
        let negative = negative_ttl(old);
        let longest = old.zone.longest_ttl().min(cap).max(negative);
        let until = |ttl: Ttl| now.after(ttl.duration());
        let Some(new) = new.filter(|new| new.snapshot.shape() == old.snapshot.shape()) else {
            // A site that goes, or whose TTLs are capped otherwise: every answer of it is another one.
            self.all = self.all.max(Some(until(longest)));
            self.longest_ttl = self.longest_ttl.max(longest);
            return;
        };
        let edited = diff(&old.zone, &new.zone).take(MOST + 1).map(|difference| {
            let set = difference.either();
            let ttl = difference.before.map_or(negative, |before| before.ttl.min(cap));
            let (owner, rtype) = (set.owner.to_lowercase(), set.rtype.0);
            HeldRrset { site: old.name.clone(), owner, rtype, until: until(ttl) }
        });
        let edited: Vec<HeldRrset> = edited.collect();
        if !edited.is_empty() {
            self.longest_ttl = self.longest_ttl.max(longest);
        }
        if edited.len() > MOST {
            self.all = self.all.max(Some(until(longest)));
            return;
        }
        self.sets.extend(edited);
    }

    /// The greatest TTL that anything of it was told with.
    pub fn longest_ttl(&self) -> Ttl {
        self.longest_ttl
    }

    /// For how long what a move moves may be held as it was before an edit.
    pub fn longest(&self, candidate: &Candidate, now: Timestamp) -> Ttl {
        let pairs: Vec<Pair<'_>> = candidate.changes().flat_map(|change| change.pairs()).collect();
        let moves = |set: &&HeldRrset| pairs.iter().any(|pair| set.is_moved_by(pair));
        let until = self.sets.iter().filter(moves).map(|set| set.until).chain(self.all).max();
        let left = until.map_or(0, |until| until.since(now).as_millis().div_ceil(1000));
        u32::try_from(left).ok().and_then(Ttl::new).unwrap_or(Ttl::MAX)
    }
}

impl HeldRrset {
    /// Whether a move leaves its site or goes there, and the two ends answer it differently.
    fn is_moved_by(&self, pair: &Pair<'_>) -> bool {
        let sites = [pair.before.site, pair.after.site];
        let [before, after] = sites.map(|site| site.zone.rrset(self.owner.as_ref(), RrType(self.rtype)));
        let differs = match (before, after) {
            (Some(before), Some(after)) => !before.same_as(after),
            (before, after) => before.is_some() || after.is_some(),
        };
        differs && sites.iter().any(|site| site.name == self.site)
    }
}

/// How long caches keep that a site has nothing (RFC 2308 §5).
pub(super) fn negative_ttl(site: &SiteContent) -> Ttl {
    let shape = site.snapshot.shape();
    let own = site.zone.soa().map_or(Ttl::ZERO, |soa| soa.negative_ttl());
    [shape.negative_ttl, shape.max_ttl].into_iter().flatten().fold(own, Ttl::min)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gate::tests::{served, zone};
    use crate::world::planning;

    const START: Timestamp = Timestamp(1_000_000);

    fn content(a: &str, b: &str) -> Arc<Content> {
        zone("x.example", &[("a", a), ("b", b)], &[0, 0, 0], &[]).content
    }

    fn seconds(seconds: u64) -> Timestamp {
        START.after(std::time::Duration::from_secs(seconds))
    }

    /// For how long it is waited when everybody moves from `a` to `b` so many seconds after an edit.
    fn waited(before: [&str; 2], after: [&str; 2], passed: u64) -> u32 {
        let held = Held::default().after_edit(&content(before[0], before[1]), &content(after[0], after[1]), START);
        let text = serde_json::to_string(&held).unwrap();
        assert_eq!(serde_json::from_str::<Held>(&text).unwrap(), held);
        let [a, b] = after;
        let serving = served(vec![zone("x.example", &[("a", a), ("b", b)], &[0, 0, 0], &[])]);
        let served = serving.zone(serving.zones()[0].content.origin.as_ref()).unwrap();
        let regions = ["default".into(), "one".into(), "two".into()];
        let to = served.content.site_named("b").unwrap();
        let routing = planning::routing_at_end(served, &serving.regions, regions.iter(), to);
        let candidate = planning::rerouted(&serving, served, routing, seconds(passed));
        held.longest(&candidate, seconds(passed)).seconds()
    }

    #[test]
    fn a_move_waits_for_what_was_edited_before_it() {
        let (long, short, other) = ("w 900 A 192.0.2.1", "w 60 A 192.0.2.1", "w 60 A 192.0.2.2");
        assert_eq!(waited([long, other], [short, other], 10), 890);
        assert_eq!(waited([long, other], [short, other], 900), 0);
        // Of either end, and that there was nothing, too (RFC 2308): 20 seconds here.
        assert_eq!(waited([short, long], [short, other], 10), 890);
        assert_eq!(waited(["v A 192.0.2.9", other], [short, other], 10), 10);
        // What both ends answer alike does not move, whatever it was.
        assert_eq!(waited([long, long], [short, short], 10), 0);
        assert_eq!(waited([long, other], [long, other], 10), 0);
    }

    #[test]
    fn very_many_edits_count_as_one() {
        let text = |ttl: u32| (0..=MOST).map(|number| format!("n{number} {ttl} A 192.0.2.1\n")).collect::<String>();
        let (long, short) = (text(900), text(60));
        assert_eq!(waited([&long, "w A 192.0.2.1"], [&short, "w A 192.0.2.1"], 10), 890);
        let held =
            Held::default().after_edit(&content(&long, "w A 192.0.2.1"), &content(&short, "w A 192.0.2.1"), START);
        assert!(held.sets.is_empty() && held.all.is_some());
        // What is over is forgotten.
        let same = content(&short, "w A 192.0.2.1");
        assert_eq!(held.after_edit(&same, &same, seconds(900)), Held::default());
    }
}
