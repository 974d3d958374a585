//! Resolvers that were measured to keep old answers beyond the bound of all who obey TTLs.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::Driver;
use crate::drain::holders::{Holders, Scope, ToldOld};
use crate::exposure::bound::SKEW;
use crate::failover::moves::{Move, PhaseKind};
use crate::failover::renames::Turned;
use crate::failover::sample::{Longer, MOST_NAMED};
use crate::name::{Name, NameRef};
use crate::net::Network;
use crate::probe::findings::Findings;
use crate::profile::{Kind, Profile};
use crate::rr::RrType;
use crate::serial::Serial;
use crate::store::resolvers::Found;
use crate::time::{Timestamp, Ttl};
use crate::zone::diff::diff;

/// Old answers that are waited for.
pub(super) struct Old<'a> {
    /// When nobody who obeys TTLs holds one.
    pub(super) bound: Timestamp,
    /// The greatest TTL that one was given with.
    pub(super) ttl: Ttl,
    /// Whether it is noted who was told one.
    pub(super) is_noted: bool,
    /// The negative TTL that was given where something is there now that was not, once it was found: with the serial of the
    /// zone in which it was.
    pub(super) negative: &'a mut Option<(Serial, Option<Ttl>)>,
}

/// A resolver that was measured.
pub struct MeasuredResolver {
    /// What operators call it.
    pub name: String,
    /// Where it asks from.
    pub sources: Vec<Network>,
    /// What it was found to do.
    pub profile: Profile,
}

impl Driver {
    /// The resolvers that are configured with an address and of which it is known, and can still be believed, what they do.
    pub fn measured_resolvers(&self, at: Timestamp) -> Vec<MeasuredResolver> {
        let specs = self.setup.resolvers.iter().filter(|spec| spec.asking.is_some());
        if specs.clone().next().is_none() {
            return Vec::new();
        }
        let found: Vec<Found<Findings>> = self.store.resolvers().all().unwrap_or_else(|error| {
            tracing::error!("what was found of resolvers can't be read: {error}");
            Vec::new()
        });
        let measured = |spec: &super::setup::ResolverSpec| {
            let found = found.iter().find(|found| found.name == spec.name && found.expires > at)?;
            let profile = found.findings.measured.as_ref()?.profile(found.at);
            let sources = self.sources_of(spec, Some(&found.findings)).into_iter().map(Network::host);
            let sources = sources.chain(spec.networks.iter().copied()).collect();
            Some(MeasuredResolver { name: spec.name.clone(), sources, profile })
        };
        specs.filter_map(measured).collect()
    }

    /// Where a resolver asks from: as it was seen to, or as is configured.
    pub(super) fn sources_of(&self, spec: &super::setup::ResolverSpec, findings: Option<&Findings>) -> Vec<IpAddr> {
        let seen = findings.map_or(&[][..], Findings::egress).to_vec();
        let configured = || spec.networks.iter().map(|network| network.address()).collect::<Vec<_>>();
        let own = || {
            let addresses = spec.asking.iter().flat_map(|asking| &asking.addresses);
            addresses.map(|address| address.ip()).collect::<Vec<_>>()
        };
        [seen, configured(), own()].into_iter().find(|sources| !sources.is_empty()).unwrap_or_default()
    }

    /// Those who may give old answers behind the bound, by what was measured of them: of those that were told one, or,
    /// where that is not known, of all. The longest first.
    pub(super) fn longer(&self, origin: &Name, moving: &Move, old: &mut Old<'_>, at: Timestamp) -> Vec<Longer> {
        if moving.phase.kind() != PhaseKind::Draining {
            return Vec::new();
        }
        let resolvers = self.measured_resolvers(at);
        if resolvers.is_empty() {
            return Vec::new();
        }
        let turned = self.levers_led_past(origin, moving);
        let told = old.is_noted.then(|| self.told_old(origin, moving, &resolvers, at)).flatten();
        // What was told of renamed levers, and by way of them, does not matter any more.
        let past = self.led_past(origin, &turned);
        let told = told.map(|told| told.into_iter().filter(|told| !past.contains(&told.name)).collect::<Vec<_>>());
        let is_all_past = told.is_none() && !turned.is_empty() && !self.moves_more(origin, moving, &turned);
        let negative = told.is_none().then(|| self.negative_before(origin, moving, old.negative)).flatten();
        let until_old = |resolver: &MeasuredResolver| match &told {
            None if is_all_past => None,
            Some(told) => {
                let own = told.iter().filter(|told| resolver.asks_from(told.network));
                own.map(|told| held_until(&resolver.profile, told.last, told.ttl, told.kind)).max()
            }
            None => {
                // Given last when the bound begins to run.
                let last = Timestamp(old.bound.0 - i64::from(old.ttl.seconds()) * 1000);
                let data = held_until(&resolver.profile, last, old.ttl, Kind::Positive);
                let absence = negative.map(|ttl| held_until(&resolver.profile, last, ttl.min(old.ttl), Kind::Negative));
                Some(data).max(absence)
            }
        };
        let until = |resolver: &MeasuredResolver| {
            let fronts =
                turned.iter().map(|turned| held_until(&resolver.profile, turned.at, turned.ttl, Kind::Positive));
            until_old(resolver).max(fronts.max())
        };
        let longer = |resolver: MeasuredResolver| {
            let until = until(&resolver).filter(|until| *until > old.bound)?;
            Some(Longer { resolver: resolver.name, until })
        };
        let mut all: Vec<Longer> = resolvers.into_iter().filter_map(longer).collect();
        all.sort_by_key(|longer| Reverse(longer.until));
        all.truncate(MOST_NAMED);
        all
    }

    /// Which of these resolvers were told an old answer of what a move changes; none if that is not noted.
    fn told_old(
        &self,
        origin: &Name,
        moving: &Move,
        resolvers: &[MeasuredResolver],
        at: Timestamp,
    ) -> Option<Vec<ToldOld>> {
        let zone = self.serving.zone(origin.as_ref())?;
        let turns = self.turns_of(moving, at);
        let capped = zone.capped();
        let scope =
            Scope { serving: &self.serving, zone, only: None, regions: &turns, capped, low: None, profiles: &[] };
        let wanted = |network| resolvers.iter().any(|resolver| resolver.asks_from(network));
        Some(Holders::told_old(&**self.folding.as_ref()?, &scope, wanted))
    }

    /// Levers that nothing leads to any more, and what led there, by the hash of the name.
    fn led_past(&self, origin: &Name, turned: &[Turned]) -> BTreeSet<u64> {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return BTreeSet::new() };
        let hash = |name: &Name| self.serving.key.of(name.as_ref().to_lowercase().as_ref());
        let names = turned.iter().flat_map(|Turned { lever, .. }| {
            let fronts = self.leading_to(&zone.content, lever).into_iter();
            fronts.filter(|front| front.rtype == RrType::CNAME).map(|front| front.owner).chain([lever.clone()])
        });
        names.map(|name| hash(&name)).collect()
    }

    /// Whether a move moved more than levers that nothing leads to any more.
    fn moves_more(&self, origin: &Name, moving: &Move, turned: &[Turned]) -> bool {
        let is_past = |owner: NameRef<'_>| {
            turned.iter().any(|Turned { lever, fresh, .. }| {
                owner.is_at_or_below(lever.as_ref()) || owner.is_at_or_below(fresh.as_ref())
            })
        };
        self.ends_of(origin, moving)
            .into_iter()
            .any(|[before, after]| diff(&before.zone, &after.zone).any(|moved| !is_past(moved.either().owner)))
    }

    /// The negative TTL of the sites that a move leaves, where something is there now that was not. It is found once for what
    /// is served: whole zones are compared for it.
    fn negative_before(&self, origin: &Name, moving: &Move, known: &mut Option<(Serial, Option<Ttl>)>) -> Option<Ttl> {
        let zone = self.serving.zone(origin.as_ref())?;
        if let Some((_, found)) = known.filter(|(serial, _)| *serial == zone.serial) {
            return found;
        }
        let negative = self.ends_of(origin, moving).into_iter().filter_map(|[before, after]| {
            let appears = diff(&before.zone, &after.zone).any(|difference| difference.before.is_none());
            appears.then(|| before.snapshot.negative_soa().ttl())
        });
        let most = zone.content.policy.negative_ttl.unwrap_or(Ttl::MAX);
        let found = negative.max().map(|ttl| ttl.min(most));
        *known = Some((zone.serial, found));
        found
    }
}

impl MeasuredResolver {
    /// Where it asks from, each with what it does.
    pub(super) fn with_sources(self) -> impl Iterator<Item = (Network, Arc<Profile>)> {
        let profile = Arc::new(self.profile);
        self.sources.into_iter().map(move |source| (source, Arc::clone(&profile)))
    }

    /// Whether it may be one of those who ask from a network.
    pub(super) fn asks_from(&self, network: Network) -> bool {
        self.sources.iter().any(|own| own.covers(network) || network.covers(*own))
    }
}

/// Until when a resolver may give an answer that it was told last then. One that gives stale answers gives one to the first
/// who asks, however late: that is for samples to find.
fn held_until(profile: &Profile, last: Timestamp, ttl: Ttl, kind: Kind) -> Timestamp {
    let hold = profile.hold(ttl, kind);
    let end = hold.dropped.unwrap_or(hold.refreshed);
    // As exactly as holds are measured, which many keep to that obey TTLs.
    let lawful = ttl.duration() + SKEW;
    last.after(if end > lawful + SKEW { end + SKEW } else { lawful })
}
