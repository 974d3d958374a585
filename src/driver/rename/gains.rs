//! What a rename would gain, by who was told what and by what resolvers are known to do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::driver::{Driver, now};
use crate::exposure::known::Known as _;
use crate::exposure::points::What;
use crate::gain::{Gain, Held, Overall, Stuck};
use crate::name::Name;
use crate::net::Network;
use crate::profile::{Kind, Population, Profile};
use crate::rename::refer::Reference;
use crate::rr::RrType;
use crate::serving::content::{Content, SiteId};
use crate::serving::regions::RegionId;
use crate::serving::told::Edition;
use crate::time::{Timestamp, Ttl};

/// A resolver that something is known of.
#[derive(Clone, Debug)]
pub struct Resolver {
    /// What operators call it.
    pub name: String,
    /// Where it asks from.
    pub networks: Vec<Network>,
    /// What it was measured to do.
    pub profile: Profile,
}

/// What a rename would gain, if what is stuck at the lever is of one kind.
#[derive(Clone, Debug)]
pub struct Gains {
    /// Of which kind.
    pub kind: Kind,
    /// By resolver, and for all others by what is assumed of them: what each is called, how much it asked of late, and the gain.
    pub by: Vec<(String, f64, Gain)>,
    /// In all.
    pub overall: Overall,
}

impl Gains {
    /// How much it counts.
    pub fn weight(&self) -> f64 {
        self.overall.certain * self.overall.sooner
    }
}

impl std::fmt::Display for Gains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.kind.of_lever();
        let Overall { certain, sooner, .. } = self.overall;
        write!(
            f,
            "where resolvers hold {what}, users of {:.1} % of what was asked of late arrive sooner for certain, by {sooner:.0} s on average",
            certain * 100.0
        )
    }
}

/// What is an old answer.
#[derive(Clone, Debug)]
pub enum Old<'a> {
    /// What is not answered any more where these sites are answered from.
    AllBut(Vec<SiteId>),
    /// What a move leaves. Others may be told that still.
    OfMove {
        /// The sites that it leaves.
        sites: BTreeSet<&'a str>,
        /// The regions that it moves.
        regions: BTreeSet<RegionId>,
    },
}

/// What a resolver, or all others, asked for and were told.
#[derive(Clone, Copy, Default)]
struct Asked {
    weight: f64,
    /// When they were told last what is not answered any more, and with which TTL at most.
    old: Option<(Timestamp, Ttl)>,
    /// When they were told last of a front, in whatever content.
    last: Option<Timestamp>,
}

impl Driver {
    /// What a rename of a lever would gain, for each kind of answer that may be stuck there; nothing if it is not noted who is
    /// told what, or nobody asked.
    pub fn gains(
        &self,
        content: &Content,
        lever: &Name,
        references: &[Reference],
        resolvers: &[Resolver],
        old: &Old<'_>,
    ) -> Vec<Gains> {
        let at = now();
        let Some((asked, is_whole)) = self.asked_for(content, lever, references, resolvers, old, at) else {
            return Vec::new();
        };
        let longest = |ttls: &mut dyn Iterator<Item = Ttl>| {
            ttls.max().unwrap_or_default().min(content.policy.max_ttl.unwrap_or(Ttl::MAX))
        };
        let sites = || content.sites.iter().map(|site| &site.zone);
        let lever_ttl = longest(
            &mut sites()
                .filter_map(|zone| zone.owner(lever.as_ref()))
                .flat_map(|owner| owner.rrsets().map(|set| set.ttl)),
        );
        let negative = longest(&mut sites().filter_map(|zone| Some(zone.soa()?.negative_ttl())));
        let negative = negative.min(content.policy.negative_ttl.unwrap_or(Ttl::MAX));
        // Users go by aliases where there are any: other references are asked for by others.
        let alias = |found: &&Reference| found.rtype == RrType::CNAME;
        let by_alias = references.iter().any(|found| alias(&found));
        let front_ttl = longest(
            &mut references
                .iter()
                .filter(|found| !by_alias || alias(found))
                .flat_map(|found| sites().filter_map(|zone| Some(zone.rrset(found.owner.as_ref(), found.rtype)?.ttl))),
        );
        let population = Population::proposed();
        let kinds = [(Kind::Negative, negative), (Kind::Positive, lever_ttl)];
        let gains = kinds.map(|(kind, ttl)| {
            let mut by = Vec::new();
            for (place, asked) in &asked {
                if asked.old.is_none() && is_whole {
                    continue;
                }
                let mut add = |name: String, part: f64, profile: &Profile, last: Option<Timestamp>| {
                    // What was lowered, as before a move, was told with no more.
                    let ttl = asked.old.map_or(ttl, |(_, most)| ttl.min(most));
                    let lever = Held { kind, ttl, told: asked.old.map(|(at, _)| at) };
                    let front = Held { kind: Kind::Positive, ttl: front_ttl, told: last };
                    let weight = asked.weight * part;
                    let gain = Gain::of(&Stuck { weight, profile, lever, front, block: Duration::ZERO }, at);
                    by.push((name, weight, gain));
                };
                match resolvers.get(*place) {
                    Some(resolver) => add(resolver.name.clone(), 1.0, &resolver.profile, asked.last),
                    // Each of many asked at some other time.
                    None => {
                        let all: f64 = population.classes.iter().map(|class| class.weight).sum();
                        for class in &population.classes {
                            add(format!("others: {}", class.name), class.weight / all, &class.profile, None);
                        }
                    }
                }
            }
            let overall = Overall::of(by.iter().map(|(_, weight, gain)| (*weight, gain)));
            Gains { kind, by, overall }
        });
        gains.into_iter().filter(|gains| !gains.by.is_empty()).collect()
    }

    /// What was asked of fronts that lead to a lever, by the number of the resolver, all others under the number behind; and
    /// whether it is known of all that may be held.
    fn asked_for(
        &self,
        content: &Content,
        lever: &Name,
        references: &[Reference],
        resolvers: &[Resolver],
        old: &Old<'_>,
        at: Timestamp,
    ) -> Option<(BTreeMap<usize, Asked>, bool)> {
        let zone = self.serving.zone(content.origin.as_ref())?;
        let folding = self.folding.as_ref()?;
        let fronts = references.iter().filter(|found| found.rtype == RrType::CNAME).map(|found| &found.owner);
        let hash = |name: &Name| self.serving.key.of(name.as_ref().to_lowercase().as_ref());
        let hashes: BTreeSet<u64> = fronts.chain([lever]).map(hash).collect();
        let current: BTreeSet<Edition> = match old {
            Old::AllBut(answered) => answered.iter().map(|site| zone.edition(*site)).collect(),
            Old::OfMove { .. } => BTreeSet::new(),
        };
        let is_old = |what: &What, site: &str| match old {
            Old::AllBut(_) => !current.contains(&what.edition),
            Old::OfMove { sites, regions } => sites.contains(site) && regions.contains(&what.region),
        };
        let mut asked: BTreeMap<usize, Asked> = BTreeMap::new();
        folding.each_part(|known, part| {
            for told in part {
                let Some(point) = known.points().get(told.point) else { continue };
                let info = known.edition(point.what.edition).filter(|info| info.zone == content.origin);
                let Some(info) = info else { continue };
                if !point.what.question.is_some_and(|(decided, _)| hashes.contains(&decided.name)) {
                    continue;
                }
                let network = told.network.network(told.level);
                let place = network.and_then(|network| place_of(resolvers, network)).unwrap_or(resolvers.len());
                let entry = asked.entry(place).or_default();
                entry.weight += told.count.value() as f64;
                entry.last = entry.last.max(Some(told.last));
                if is_old(&point.what, &info.site) {
                    entry.old = entry.old.max(Some((told.last, point.ttl)));
                }
            }
        });
        let longest = self.longest_of(&content.origin).duration();
        let is_whole = folding.look(|known| known.blind_until_of(&content.origin).after(longest) <= at);
        Some((asked, is_whole))
    }
}

/// The resolver that asks from a network, if it is a single one that may.
fn place_of(resolvers: &[Resolver], network: Network) -> Option<usize> {
    let asks = |resolver: &Resolver| resolver.networks.iter().any(|own| own.covers(network) || network.covers(*own));
    let mut places = resolvers.iter().enumerate().filter(|(_, resolver)| asks(resolver)).map(|(place, _)| place);
    places.next().filter(|_| places.next().is_none())
}
