//! What resolvers are asked once old answers should have run out, and what follows from what they give.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use super::engine::By;
use super::setup::ResolverSpec;
use super::{Driver, now};
use crate::exposure::Exposures;
use crate::exposure::known::Known;
use crate::failover::effect::EffectId;
use crate::failover::event::Event;
use crate::failover::moves::{Direction, Move, MoveId};
use crate::failover::sample::{Evidence, Sample};
use crate::failover::state::State;
use crate::name::{Name, NameRef};
use crate::observation::sight::{Expected, Heard, Said, Sight};
use crate::probe::ask::query;
use crate::probe::findings::Findings;
use crate::probe::look::read;
use crate::probe::prober::{Looked, Question, Questions, Target};
use crate::rename::Turn;
use crate::rename::refer::Reference;
use crate::rr::RrType;
use crate::serving::content::SiteContent;
use crate::serving::respond::{Asker, Transport};
use crate::serving::told::Rule;
use crate::snapshot::sought::HashKey;
use crate::store::resolvers::Found;
use crate::zone::diff::diff;
use crate::zone::rrsets::Zone;

/// The most names that a resolver is asked for.
const MOST_NAMES: usize = 3;
/// The most RRsets that are looked at for them.
const MOST_CANDIDATES: usize = 10_000;
/// How often one is asked for the same where several caches stand behind its address, at most.
const MOST_TIMES: u32 = 8;
/// The most addresses that a resolver asks from that are looked at.
const MOST_SOURCES: usize = 16;
/// The types that users find a service by, and what leads to them.
const TYPES: [RrType; 3] = [RrType::A, RrType::AAAA, RrType::HTTPS];

/// What resolvers are to be asked, and which effects are under way.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    /// Whether somebody takes orders.
    by_somebody: bool,
    orders: VecDeque<SampleOrder>,
    under_way: BTreeSet<(Name, EffectId)>,
}

/// Resolvers to ask for names that a move moved.
#[derive(Debug)]
pub struct SampleOrder {
    /// The zone.
    pub origin: Name,
    /// The effect that asked for it.
    pub effect: EffectId,
    /// Each resolver, with what it is asked.
    pub questions: Vec<Questions>,
    /// What our zone gives to each, for each of its questions.
    expected: Vec<Vec<Expected>>,
}

impl SampleOrder {
    /// What follows from what each resolver gave to its questions, in the order of `questions`.
    pub fn sample(&self, heard: &[Vec<(usize, Looked)>]) -> Sample {
        let mut evidence = Vec::new();
        for ((questions, expected), heard) in self.questions.iter().zip(&self.expected).zip(heard) {
            let resolver = &questions.target.name;
            if heard.is_empty() {
                evidence.push(unasked(resolver));
            }
            for (at, looked) in heard {
                let (Some(question), Some(expected)) = (questions.questions.get(*at), expected.get(*at)) else {
                    continue;
                };
                let sight = Sight::of(&looked.heard, expected, looked.at);
                let (said, ttl) = match &looked.heard {
                    Heard::Said(said, _) if said.is_positive() => {
                        ([&said.aliases[..], &said.data].concat().join(" "), said.ttl)
                    }
                    Heard::Said(..) => ("NODATA".into(), None),
                    Heard::NoName => ("NXDOMAIN".into(), None),
                    Heard::Failure => ("SERVFAIL".into(), None),
                    Heard::Refused => ("refuses, or gives what can't be understood".into(), None),
                    Heard::Nothing => ("does not answer".into(), None),
                };
                let question = format!("{} {}", question.name, question.rtype);
                evidence.push(Evidence { resolver: resolver.clone(), question, sight, said, ttl, at: looked.at });
            }
        }
        Sample::of(evidence)
    }
}

/// What is said of a resolver that may not be asked any more today.
fn unasked(resolver: &str) -> Evidence {
    let said = "not asked: the day's budget of questions is used up".to_owned();
    let (resolver, question) = (resolver.to_owned(), "names that moved".to_owned());
    Evidence { resolver, question, sight: Sight::Unknown, said, ttl: None, at: now() }
}

impl Driver {
    /// From now on somebody takes the orders of [`Driver::sample_order`]. Without, no resolver is asked for anything.
    pub fn set_sampled(&mut self) {
        self.sampling.by_somebody = true;
    }

    /// The next resolvers to ask. What comes of it is told to [`Driver::sampled`].
    pub fn sample_order(&mut self) -> Option<SampleOrder> {
        self.sampling.orders.pop_front()
    }

    /// Takes in what resolvers gave.
    pub fn sampled(&mut self, origin: &Name, effect: EffectId, sample: Sample) {
        self.sampling.under_way.remove(&(origin.clone(), effect));
        // The log says what could not be written; then they are asked again.
        let _ = self.drive(origin, Event::DrainSampled { effect, sample }, &By::daemon());
    }

    /// What resolvers give for names that a move moved; none: they are being asked.
    pub(super) fn sample(&mut self, origin: &Name, state: &State, id: MoveId, effect: EffectId) -> Option<Sample> {
        let key = (origin.clone(), effect);
        if self.sampling.under_way.contains(&key) {
            return None;
        }
        let order = state.find(id).and_then(|moving| self.order(origin, moving, effect));
        let order = order.filter(|order| self.sampling.by_somebody && !order.questions.is_empty());
        let Some(order) = order else { return Some(Sample::default()) };
        self.sampling.under_way.insert(key);
        self.sampling.orders.push_back(order);
        None
    }

    /// None: there is nobody to ask, or nothing to ask for.
    fn order(&self, origin: &Name, moving: &Move, effect: EffectId) -> Option<SampleOrder> {
        let resolvers = self.setup.resolvers.iter().filter(|spec| spec.asking.is_some());
        resolvers.clone().next()?;
        let names = self.names_that_moved(origin, moving);
        if names.is_empty() {
            return None;
        }
        let found: Vec<Found<Findings>> = self.store.resolvers().all().unwrap_or_default();
        let at = now();
        let mut order = SampleOrder { origin: origin.clone(), effect, questions: Vec::new(), expected: Vec::new() };
        for spec in resolvers {
            let found = found.iter().find(|found| found.name == spec.name && found.expires > at);
            let findings = found.map(|found| &found.findings);
            let asked = self.store.resolvers().asked(&spec.name, at).unwrap_or_default();
            let budget = self.setup.daily_questions.saturating_sub(asked);
            let caches =
                findings.and_then(|findings| findings.measured.as_ref()?.caches).map_or(1, |caches| caches.likely);
            let times = if caches <= 1 { 1 } else { (caches * 2).min(MOST_TIMES) };
            // What our zone does not have for it is not asked for: it would remember that it was not there.
            let asked: Vec<(Question, Expected)> = names
                .iter()
                .map(|(name, rtype)| {
                    let question = Question { name: name.clone(), rtype: *rtype, times };
                    (question, self.expected(spec, findings, name, *rtype))
                })
                .filter(|(_, expected)| expected.own.is_positive())
                .collect();
            let (questions, expected): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
            let Some(asking) = spec.asking.as_ref().filter(|_| !questions.is_empty()) else { continue };
            let target = Target {
                name: spec.name.clone(),
                addresses: asking.addresses.clone(),
                carrier: asking.carrier,
                rate: asking.rate,
                budget,
            };
            order.questions.push(Questions { target, questions });
            order.expected.push(expected);
        }
        Some(order)
    }

    /// What our zone gives a resolver, wherever it may ask from. What it gives others is no excuse for it.
    fn expected(&self, spec: &ResolverSpec, findings: Option<&Findings>, name: &Name, rtype: RrType) -> Expected {
        let names_clients =
            findings.and_then(|findings| findings.measured.as_ref()).is_some_and(|found| found.client_subnet);
        let mut sources = self.sources_of(spec, findings);
        sources.truncate(MOST_SOURCES);
        if names_clients {
            sources
                .extend(self.setup.regions.iter().flat_map(|region| &region.networks).map(|network| network.address()));
        }
        let mut said = sources.into_iter().map(|source| self.said_to(source, name, rtype));
        let own = said.next().unwrap_or_else(|| self.said_to(IpAddr::V4(Ipv4Addr::UNSPECIFIED), name, rtype));
        let others = said.filter(|other| *other != own && other.is_positive()).collect();
        Expected { own, others, old_until: None }
    }

    /// What our zone gives to those who ask from there.
    pub fn said_to(&self, source: IpAddr, name: &Name, rtype: RrType) -> Said {
        let mut out = vec![0; usize::from(u16::MAX)];
        let asker = Asker { source, transport: Transport::Tcp, now: now() };
        let length = self.serving.respond(&query(name.as_ref(), rtype, 0), &asker, &mut out);
        match length.map(|length| read(&out[..length], rtype)) {
            Some(Heard::Said(said, _)) => said,
            _ => Said::default(),
        }
    }

    /// The sites that regions of a move leave, each with the one that they go to.
    pub(super) fn ends_of(&self, origin: &Name, moving: &Move) -> Vec<[&SiteContent; 2]> {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return Vec::new() };
        let site = |name: &str| zone.content.sites.iter().find(|site| site.name == name);
        let from: BTreeSet<&str> = moving.base.values().map(|origin| origin.site.as_str()).collect();
        let to = moving.plan.to.as_str();
        let ends = from.into_iter().filter_map(|from| match moving.direction {
            Direction::Forward => Some([site(from)?, site(to)?]),
            Direction::Back => Some([site(to)?, site(from)?]),
        });
        ends.collect()
    }

    /// Names that were answered otherwise before a move, and are answered with data now: those that are asked for most.
    fn names_that_moved(&self, origin: &Name, moving: &Move) -> Vec<(Name, RrType)> {
        let mut candidates = BTreeMap::new();
        for [before, after] in self.ends_of(origin, moving) {
            candidates.extend(names_that_differ(&before.zone, &after.zone, self.serving.key));
        }
        let asked = self.folding.as_ref().map(|folding| folding.look(|exposures| counts(exposures, origin)));
        let mut asked = asked.unwrap_or_default();
        self.lead_past_levers(origin, &mut candidates, &mut asked);
        let count = |key: &(u64, RrType)| asked.get(key).copied().unwrap_or(0);
        let mut names: Vec<((u64, RrType), Name)> = candidates.into_iter().collect();
        names.sort_by(|(a, one), (b, other)| count(b).cmp(&count(a)).then_with(|| (one, a.1).cmp(&(other, b.1))));
        names.into_iter().take(MOST_NAMES).map(|((_, rtype), name)| (name, rtype)).collect()
    }
}

/// Names and types that moved, by the hash of the name.
type Candidates = BTreeMap<(u64, RrType), Name>;

impl Driver {
    /// Who leads past a lever to a fresh name is asked for instead of both: what caches hold of the lever does not matter, and users
    /// arrive only where the whole way there is new. It counts as much as what it stands for.
    fn lead_past_levers(&self, origin: &Name, candidates: &mut Candidates, asked: &mut BTreeMap<(u64, RrType), u64>) {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return };
        let (overlays, key) = (&zone.content.overlays, self.serving.key);
        let hash = |name: &Name| key.of(name.as_ref().to_lowercase().as_ref());
        for Turn { lever, fresh, .. } in overlays.own_turns() {
            let references = self.leading_to(&zone.content, &lever);
            taken(candidates, &lever);
            for ((own, rtype), name) in taken(candidates, &fresh) {
                let former =
                    name.as_ref().replace_suffix(fresh.as_ref(), lever.as_ref()).map(|name| (hash(&name), rtype));
                let counts = [Some((own, rtype)), former.ok()].into_iter().flatten();
                let count = counts.filter_map(|at| asked.get(&at).copied()).max().unwrap_or(0);
                for (front, rtype) in
                    references.iter().filter_map(|reference| front_of(reference, &name, &fresh, rtype))
                {
                    let at = (hash(&front), rtype);
                    asked.entry(at).and_modify(|known| *known = count.max(*known)).or_insert(count);
                    candidates.insert(at, front);
                }
            }
        }
        // Nothing leads to what is kept ready, or was led back from.
        candidates.retain(|_, name| {
            let mut renames = overlays.renames.iter();
            !renames.any(|rename| name.as_ref().is_at_or_below(rename.fresh.as_ref()) && !rename.stage.is_referenced())
        });
    }
}

/// What leads to a name at or below a fresh name, and is asked for by those who look for this type there.
fn front_of(reference: &Reference, name: &Name, fresh: &Name, rtype: RrType) -> Option<(Name, RrType)> {
    let owner = &reference.owner;
    match reference.rtype {
        _ if owner.as_ref().is_wildcard() => None,
        RrType::DNAME if name == fresh => None,
        RrType::DNAME => Some((name.as_ref().replace_suffix(fresh.as_ref(), owner.as_ref()).ok()?, rtype)),
        _ if name != fresh => None,
        RrType::CNAME => Some((owner.clone(), rtype)),
        other => Some((owner.clone(), other)),
    }
}

/// Takes out what is at or below a name.
fn taken(candidates: &mut Candidates, name: &Name) -> Candidates {
    let (taken, left) =
        std::mem::take(candidates).into_iter().partition(|(_, found)| found.as_ref().is_at_or_below(name.as_ref()));
    *candidates = left;
    taken
}

/// Names that are answered with other data at `after`, each with its hash and its type.
fn names_that_differ(before: &Zone, after: &Zone, key: HashKey) -> Candidates {
    let mut candidates = BTreeMap::new();
    let sets = diff(before, after).filter_map(|difference| difference.after);
    let sets = sets.filter(|set| !set.owner.is_wildcard() && !is_elsewhere(after, set.owner));
    for set in sets.take(MOST_CANDIDATES) {
        let types: &[RrType] = match set.rtype {
            RrType::CNAME => &TYPES[..1],
            own if TYPES.contains(&own) => &[own],
            _ => &[],
        };
        for rtype in types {
            candidates.insert((key.of(set.owner.to_lowercase().as_ref()), *rtype), set.owner.to_name());
        }
    }
    candidates
}

/// Whether the zone does not answer a name itself: it is at or below a cut, or below a DNAME. What it has there is glue.
fn is_elsewhere(zone: &Zone, name: NameRef<'_>) -> bool {
    let has = |at: NameRef<'_>, rtype| zone.rrset(at, rtype).is_some();
    let mut above = name.ancestors().take_while(|at| at.is_at_or_below(zone.origin()));
    above.any(|at| at != zone.origin() && has(at, RrType::NS) || at != name && has(at, RrType::DNAME))
}

/// How often each name and type of a zone was asked for of late.
fn counts(exposures: &Exposures, origin: &Name) -> BTreeMap<(u64, RrType), u64> {
    let mut counts = BTreeMap::new();
    for (_, point) in exposures.points().iter() {
        let of_zone = exposures.edition(point.what.edition).is_some_and(|info| info.zone == *origin);
        if let Some((decided, rtype)) =
            point.what.question.filter(|(decided, _)| of_zone && decided.rule == Rule::Exact)
        {
            *counts.entry((decided.name, rtype)).or_insert(0) += point.count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::zone;

    /// Glue is no answer, and names are counted as they are noted: in lower case.
    #[test]
    fn names_that_the_zone_does_not_answer_are_not_asked_for() {
        let text = |last: u8| {
            let glue = ["a.sub", "b.sub", "c.sub", "sub", "x.led"];
            let glue: String = glue.iter().map(|owner| format!("{owner} A 192.0.2.{last}\n")).collect();
            format!("sub NS a.sub\nled DNAME elsewhere.\nled A 192.0.2.{last}\nWWW A 192.0.2.{last}\n{glue}")
        };
        let proposal = zone("x.example", &[("a", &text(1)), ("b", &text(2))], &[0], &[]);
        let [before, after] = [0, 1].map(|site| &*proposal.content.sites[site].zone);
        let key = HashKey::new([7; 16]);
        let found = names_that_differ(before, after, key);
        let hash = |text: &str| key.of(Name::absolute(text).unwrap().as_ref());
        let expected = ["www.x.example", "led.x.example"].map(|name| (hash(name), RrType::A));
        assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), BTreeSet::from(expected), "{found:?}");
    }
}
