//! What resolvers give for a name that users ask for, held against what our zone gives each of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tokio::sync::oneshot;

use super::probe::chosen;
use super::{Daemon, moves};
use crate::config::{Config, ResolverConfig};
use crate::control::Answer;
use crate::control::api::moves::ProposedRename;
use crate::control::api::probe::{LookReport, LookRequest, LookedReport};
use crate::control::api::{Failure, Response};
use crate::driver;
use crate::name::Name;
use crate::observation::sight::{Expected, Heard, Said, Sight};
use crate::probe::findings::Findings;
use crate::probe::prober::{Looked, Target};
use crate::rr::RrType;
use crate::store::resolvers::Found;
use crate::time::Ttl;

/// A resolver that is asked, or is not, and what our zone gives it.
struct Watched {
    name: String,
    expected: Expected,
    /// Why it is not asked.
    kept_from: Option<&'static str>,
}

impl Daemon {
    /// Asks resolvers for a name; the answer is sent when they have said what they do.
    pub(super) fn look(&self, request: LookRequest, answer: oneshot::Sender<Answer>) {
        // Whoever asked may be gone.
        let (watched, targets) = match self.watched(&request) {
            Ok(watched) => watched,
            Err(failure) => return drop(answer.send(Err(failure))),
        };
        let probing = match self.probing() {
            Ok(probing) => probing,
            Err(failure) => return drop(answer.send(Err(failure))),
        };
        let LookRequest { name, rtype } = request;
        let renames = self.proposed_for(&name);
        let named = name.clone();
        let (store, asked) = (self.store.clone(), targets.clone());
        probing.prober.look(targets, name, rtype, move |looked| {
            let names = asked.iter().map(|target| target.name.as_str());
            if let Err(error) = store.resolvers().count(names, driver::now()) {
                tracing::error!("how much resolvers were asked can't be written down: {error}");
            }
            let _ = answer
                .send(Ok(Response::Look(Box::new(LookReport { renames, ..report(named, rtype, watched, looked) }))));
        });
    }

    /// What is proposed to moves of the zone that a name is in.
    fn proposed_for(&self, name: &Name) -> Vec<ProposedRename> {
        let zone = name.as_ref().ancestors().find_map(|origin| self.driver.serving().zone(origin));
        let state = zone.and_then(|zone| self.driver.traffic(&zone.content.origin));
        state.into_iter().flat_map(|state| state.moves.values()).flat_map(moves::proposed).collect()
    }

    /// The resolvers, those that are asked first, and how these are asked.
    fn watched(&self, LookRequest { name, rtype }: &LookRequest) -> Result<(Vec<Watched>, Vec<Target>), Failure> {
        let config = self.source.load().map_err(Failure::from)?;
        let serving = self.driver.serving();
        let zone = serving.zones().iter().map(|zone| &zone.content.origin);
        let origin = zone
            .filter(|origin| name.as_ref().is_at_or_below(origin.as_ref()))
            .max_by_key(|origin| origin.as_ref().len());
        let Some(origin) = origin else {
            let what = format!("`{name}` is in no zone that is served here");
            return Err(Failure::new(
                what,
                "nothing was asked: there is nothing to hold answers against",
                "understudy status",
            ));
        };
        let old_until = self.old_until(origin);
        let found: Vec<Found<Findings>> = self.store.resolvers().all()?;
        let others = self.said_to_others(&config, name, *rtype);
        let (mut asked, mut kept, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        // Whether there is anything to ask for.
        let mut any = false;
        for (resolver, asking) in chosen(&config, &[])? {
            let own = self.driver.said_to(source(resolver, &found), name, *rtype);
            let others = others.iter().filter(|other| **other != own).cloned().collect();
            let today = self.store.resolvers().asked(&resolver.name, driver::now())?;
            let kept_from = match () {
                () if !own.is_positive() => {
                    Some("not asked: our zone has nothing for it there, and it would remember that")
                }
                () if today >= config.probe.daily_questions => {
                    Some("not asked: the day's budget of questions is used up")
                }
                () => None,
            };
            any |= own.is_positive();
            let expected = Expected { own, others, old_until };
            if kept_from.is_some() {
                kept.push(Watched { name: resolver.name.clone(), expected, kept_from });
                continue;
            }
            asked.push(Watched { name: resolver.name.clone(), expected, kept_from: None });
            targets.push(Target {
                name: resolver.name.clone(),
                addresses: asking.addresses.clone(),
                carrier: asking.carrier,
                rate: asking.rate,
                budget: config.probe.daily_questions,
            });
        }
        if !any {
            let what = format!("our zone has no {rtype} at `{name}`");
            let meaning = "no resolver was asked: it would remember that there is nothing";
            return Err(Failure::new(what, meaning, "`understudy query` shows what is there"));
        }
        asked.append(&mut kept);
        Ok((asked, targets))
    }

    /// What it gives in each region.
    fn said_to_others(&self, config: &Config, name: &Name, rtype: RrType) -> Vec<Said> {
        let networks = config.regions.iter().flat_map(|region| &region.networks);
        let everybody_else = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let sources = networks.map(|network| network.address()).chain([everybody_else]);
        sources.map(|source| self.driver.said_to(source, name, rtype)).collect()
    }
}

/// Where a resolver asks from: as it was seen to, or as is configured.
fn source(resolver: &ResolverConfig, found: &[Found<Findings>]) -> IpAddr {
    let found = found.iter().find(|found| found.name == resolver.name && found.expires > driver::now());
    let seen = found.and_then(|found| found.findings.egress().first().copied());
    let configured = || resolver.networks.first().map(|network| network.address());
    let own = || resolver.asking.as_ref()?.addresses.first().map(|address| address.ip());
    seen.or_else(configured).or_else(own).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

fn report(name: Name, rtype: RrType, watched: Vec<Watched>, looked: Vec<Looked>) -> LookReport {
    let now = driver::now();
    let ttl = watched.iter().filter_map(|watched| watched.expected.own.ttl).max();
    let old_until = watched.first().and_then(|watched| watched.expected.old_until);
    let mut looked = looked.into_iter();
    let mut resolvers: Vec<LookedReport> = Vec::new();
    for watched in watched {
        let heard = if watched.kept_from.is_some() { None } else { looked.next().map(|looked| looked.heard) };
        resolvers.push(one(watched, heard, ttl, now));
    }
    let mut counts: BTreeMap<Sight, usize> = Sight::ALL.into_iter().map(|sight| (sight, 0)).collect();
    for resolver in &resolvers {
        *counts.entry(resolver.sight).or_default() += 1;
    }
    resolvers.sort_by_key(|resolver| std::cmp::Reverse(resolver.sight));
    let complete = resolvers.iter().all(|resolver| resolver.sight.is_done());
    LookReport { name, rtype, at: now, complete, counts, ttl, old_until, resolvers, renames: Vec::new() }
}

fn one(watched: Watched, heard: Option<Heard>, ttl: Option<Ttl>, now: crate::time::Timestamp) -> LookedReport {
    let words = |said: &Said| [&said.aliases[..], &said.data].concat();
    let sight = heard.as_ref().map_or(Sight::Unknown, |heard| Sight::of(heard, &watched.expected, now));
    let (given, shown) = match &heard {
        Some(Heard::Said(said, _)) => (words(said), said.ttl),
        _ => (Vec::new(), None),
    };
    let note = match (watched.kept_from, &heard) {
        (Some(why), _) => why,
        (None, Some(Heard::NoName)) => "NXDOMAIN",
        (None, Some(Heard::Failure)) => "SERVFAIL",
        (None, Some(Heard::Refused)) => "refuses, or gives what can't be understood",
        (None, Some(Heard::Nothing) | None) => "does not answer",
        (None, Some(Heard::Said(said, _))) if !said.is_positive() => "NODATA",
        (None, Some(Heard::Said(_, true))) => "says itself that it is stale",
        _ => "",
    };
    LookedReport {
        name: watched.name,
        sight,
        given,
        expected: words(&watched.expected.own),
        ttl: shown,
        ttl_too_long: shown > ttl && ttl.is_some(),
        note: note.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(data: &str, ttl: u32) -> Said {
        Said { data: vec![data.into()], aliases: Vec::new(), ttl: Ttl::new(ttl) }
    }

    /// What is made of what resolvers give, where our zone gives `new` with a TTL of 300 s.
    fn looked(heard: Vec<Heard>) -> LookReport {
        let watched = |number: usize| {
            let expected = Expected { own: said("new", 300), others: Vec::new(), old_until: None };
            Watched { name: format!("r{number:02}"), expected, kept_from: None }
        };
        let watched = (0..heard.len()).map(watched).collect();
        let looked = heard.into_iter().map(|heard| Looked { at: driver::now(), heard }).collect();
        report(Name::absolute("www.wiki.example").unwrap(), RrType::A, watched, looked)
    }

    /// D8: the TTL is what our zone tells. A resolver that shows 8423 s stands apart, and changes nothing for the others.
    #[test]
    fn d8_an_odd_ttl_is_shown_apart() {
        let heard = (0..32).map(|number| Heard::Said(said("new", 300 - number), false));
        let found = looked(heard.chain([Heard::Said(said("new", 8423), false)]).collect());
        assert_eq!((found.ttl, found.complete), (Ttl::new(300), true));
        let odd: Vec<&LookedReport> = found.resolvers.iter().filter(|found| found.ttl_too_long).collect();
        assert!(odd.len() == 1 && odd[0].ttl == Ttl::new(8423), "{odd:?}");
    }

    /// D9: who fails, is silent or refuses has not got the new answer, and is not left out.
    #[test]
    fn d9_failing_and_unknown_resolvers_are_counted() {
        let new = (0..20).map(|_| Heard::Said(said("new", 300), false));
        let others = [vec![Heard::Failure; 5], vec![Heard::Nothing; 2], vec![Heard::Refused]].concat();
        let found = looked(new.chain(others).collect());
        let count = |sight| found.counts[&sight];
        assert_eq!([count(Sight::New), count(Sight::Failing), count(Sight::Unknown)], [20, 5, 3]);
        assert!(!found.complete && found.resolvers.len() == 28);
    }
}
