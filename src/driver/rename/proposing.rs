//! While a move waits for old answers to run out: renames that lead users round them are found, and proposed or begun, as the
//! zone's policy says; and what was led past a lever is told to the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::asking::{next, reasons};
use super::gains::{Gains, Old, Resolver};
use super::{Deed, Impossible, Order, Outcome};
use crate::driver::stretch::MeasuredResolver;
use crate::driver::{Driver, now};
use crate::failover::effect::{Effect, EffectId};
use crate::failover::event::Event;
use crate::failover::moves::{Move, MoveId, PhaseKind};
use crate::failover::renames::{Initiative, MOST_PROPOSED, MOST_TURNED, Proposed, Turned};
use crate::failover::sample::Evidence;
use crate::name::{Name, NameRef};
use crate::observation::sight::Sight;
use crate::profile::Kind;
use crate::rename::apply::along;
use crate::rename::refer::{Reference, references};
use crate::rename::{Rename, Stage};
use crate::rr::RrType;
use crate::serving::content::{Content, SiteContent};
use crate::store::journal::Actor;
use crate::time::{Timestamp, Ttl};
use crate::world::By;
use crate::zone::rrsets::Zone;

/// How soon after the last client has moved renames are looked for: until then it is not known yet who was told what.
const FIRST: Duration = Duration::from_secs(3);
/// How often they are looked for at most, and the longer a move has waited, the less: all that leads to levers is read for it.
const AGAIN: Duration = Duration::from_secs(30);
/// With more RRsets, at all sites of all zones together, it is not looked for fronts and levers unasked.
pub const LOOKED_THROUGH: usize = 200_000;
/// What is gained for less than that is not worth a rename.
const WORTH: Duration = Duration::from_secs(5);

/// What is looked for, and was asked for, while moves wait for old answers.
#[derive(Debug, Default)]
pub(super) struct Proposing {
    /// When renames are looked for next, and how often resolvers had been asked when it was decided.
    looks: BTreeMap<(Name, MoveId), (Timestamp, u16)>,
    /// Renames that an engine asked for.
    wanted: VecDeque<(Name, EffectId)>,
}

/// A rename that gains something for certain.
pub struct Way {
    /// The lever.
    pub lever: Name,
    /// What is gained: the least, of what may be stuck there.
    pub gains: Gains,
    /// What to type.
    pub command: String,
}

impl Driver {
    /// Renames that would lead users round what caches hold of a zone: while it is moved, or once everybody is answered from a
    /// site; the one that gains most first.
    pub fn ways_round(&self, origin: &Name, site: Option<&str>, moving: Option<&Move>) -> Vec<Way> {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return Vec::new() };
        let content = &zone.content;
        let ends = moving.map(|moving| self.ends_of(origin, moving)).unwrap_or_default();
        let of_zone = |lever: &Name| lever.as_ref().is_at_or_below(origin.as_ref());
        let moves = |lever: &Name| moving.is_none() || is_moved(&ends, lever.as_ref(), false);
        let levers = self.fronts(content).into_iter().flat_map(|front| front.levers).map(|(_, lever)| lever);
        // Many fronts may lead to one lever.
        let levers: BTreeSet<Name> = levers.filter(of_zone).collect();
        let levers: BTreeSet<Name> = levers.into_iter().filter(moves).take(MOST_PROPOSED).collect();
        if levers.is_empty() {
            return Vec::new();
        }
        let old = match moving {
            Some(moving) => {
                let regions = self.traffic(origin).and_then(|state| self.regions_of(state, moving));
                // What is not known to be old gains nothing for certain.
                let Some(regions) = regions else { return Vec::new() };
                Old::OfMove { sites: ends.iter().map(|[before, _]| before.name.as_str()).collect(), regions }
            }
            None => {
                let only = site.and_then(|site| content.site_named(site)).map(|site| vec![site]);
                Old::AllBut(only.unwrap_or_else(|| zone.sites_in_use().to_vec()))
            }
        };
        let resolvers = self.known_resolvers();
        let mut found = self.leading_to_each(&levers);
        let mut ways: Vec<Way> = levers
            .into_iter()
            .filter_map(|lever| {
                let references = found.remove(&lever).unwrap_or_default();
                let gains = self.gains(content, &lever, &references, &resolvers, &old);
                let seen = moving.and_then(|moving| seen_stuck(moving, &lever, &references));
                let stuck = seen.or_else(|| moving.map(|_| kinds_at(&ends, lever.as_ref())));
                let gains = gains.into_iter().filter(|gains| stuck.as_ref().is_none_or(|at| at.contains(&gains.kind)));
                // What gains least is promised. Where it is known what is stuck, all of that has to gain something.
                let least = match stuck {
                    Some(_) => gains.min_by(|a, b| a.weight().total_cmp(&b.weight())),
                    None => gains.filter(|gains| gains.weight() > 0.0).min_by(|a, b| a.weight().total_cmp(&b.weight())),
                };
                let gains = least.filter(|least| least.weight() > 0.0)?;
                let command = format!("understudy rename {} {}", origin.as_ref().dotless(), lever.as_ref().dotless());
                Some(Way { lever, gains, command })
            })
            .collect();
        ways.sort_by(|a, b| b.gains.weight().total_cmp(&a.gains.weight()));
        ways
    }

    /// The resolvers of which it is known what they do, and from where they ask.
    pub fn known_resolvers(&self) -> Vec<Resolver> {
        let known = |MeasuredResolver { name, sources, profile }| Resolver { name, networks: sources, profile };
        self.measured_resolvers(now()).into_iter().map(known).collect()
    }

    /// What leads to each of some names, in all zones of ours.
    fn leading_to_each(&self, levers: &BTreeSet<Name>) -> BTreeMap<Name, Vec<Reference>> {
        let mut found: BTreeMap<Name, BTreeSet<Reference>> = BTreeMap::new();
        for site in self.serving.zones().iter().flat_map(|zone| &zone.content.sites) {
            for reference in references(&site.zone, |target| levers.contains(&target.to_lowercase())) {
                found.entry(reference.target.clone()).or_default().insert(reference);
            }
        }
        found.into_iter().map(|(lever, found)| (lever, found.into_iter().collect())).collect()
    }

    /// When [`Driver::look_for_renames`] and the like have something to do next.
    pub(super) fn proposals_due(&mut self) -> Option<Timestamp> {
        let mut looks = BTreeMap::new();
        for (origin, id, moving) in self.waiting_moves() {
            if moving.policy.rename == Initiative::Never || moving.hold.is_some() {
                continue;
            }
            let key = (origin.clone(), id);
            let samples = moving.watched.samples;
            let due = match self.renames.proposing.looks.get(&key) {
                Some((due, before)) if *before == samples => *due,
                // Who gives an old answer behind the end of the wait is stuck.
                Some(_) => now(),
                None => moving.phase_since().after(FIRST),
            };
            looks.insert(key, (due, samples));
        }
        self.renames.proposing.looks = looks;
        let at_once = !self.renames.proposing.wanted.is_empty() || !self.turned_meanwhile().is_empty();
        self.renames.proposing.looks.values().map(|(due, _)| *due).chain(at_once.then(now)).min()
    }

    /// The moves that wait for old answers to run out, and whose engine can be told something.
    fn waiting_moves(&self) -> impl Iterator<Item = (&Name, MoveId, &Move)> {
        let engines = self.engines.iter().filter(|(_, engine)| engine.again.is_none());
        let moves =
            engines.flat_map(|(origin, engine)| engine.state.moves.iter().map(move |(id, to)| (origin, *id, to)));
        moves.filter(|(_, _, moving)| moving.phase.kind() == PhaseKind::Draining)
    }

    /// Looks for renames that gain something, where that is due. What is found is for the engine to decide on.
    pub(super) fn look_for_renames(&mut self) {
        let at = now();
        let due = self.renames.proposing.looks.iter().filter(|(_, (due, _))| *due <= at);
        for (origin, id) in due.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            let Some(moving) = self.traffic(&origin).and_then(|state| state.moves.get(&id)).cloned() else { continue };
            if let Some((due, _)) = self.renames.proposing.looks.get_mut(&(origin.clone(), id)) {
                *due = at.after(AGAIN.max(at.since(moving.phase_since()) / 4));
            }
            let renames = self.proposed(&origin, &moving);
            if !renames.is_empty() {
                // The log says what could not be written; then they are found again.
                let _ = self.drive(&origin, Event::RenamesFound { id, renames }, &By::daemon());
            }
        }
    }

    /// What is gained by renaming, of what was not told to the move yet.
    fn proposed(&self, origin: &Name, moving: &Move) -> Vec<Proposed> {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return Vec::new() };
        let overlays = &zone.content.overlays;
        // One after the other: what is gained by the next one is seen once this one is through. All sites of all zones are looked
        // through for it, while everything else waits.
        let sites = self.serving.zones().iter().flat_map(|zone| &zone.content.sites);
        let rrsets: usize = sites.map(|site| site.zone.len()).sum();
        if next(overlays).is_some() || rrsets > LOOKED_THROUGH {
            return Vec::new();
        }
        let is_known = |lever: &Name| moving.watched.renames.iter().any(|known| known.lever == *lever);
        let is_worth = |way: &Way| way.gains.overall.sooner >= WORTH.as_secs_f64();
        let ways = self.ways_round(origin, None, Some(moving)).into_iter().filter(is_worth);
        let ways = ways.filter(|way| !is_known(&way.lever));
        let since = moving.phase_since();
        let told = |way: Way| {
            let lever =
                overlays.get(way.lever.as_ref()).map_or_else(|| way.lever.clone(), |rename| rename.lever.clone());
            let renames: Vec<&Rename> = overlays.of(lever.as_ref()).filter(|rename| !rename.spare).collect();
            // What was renamed for this move was decided on, also where it was taken back.
            let is_decided = renames.iter().any(|rename| rename.turned.is_some_and(|at| at >= since));
            if is_decided {
                return None;
            }
            Some(Proposed {
                against: match renames.last() {
                    Some(Rename { fresh, stage: Stage::Returned, .. }) => {
                        Some(format!("{lever} was renamed to {fresh}, and that was taken back"))
                    }
                    Some(Rename { fresh, .. }) => Some(format!("{lever} was renamed before, to {fresh}")),
                    None => self.stops(origin, &way.lever)?,
                },
                gain: way.gains.to_string(),
                lever: way.lever,
                command: way.command,
                by_policy: false,
            })
        };
        ways.filter_map(told).collect()
    }

    /// What would stop a rename of a lever, as far as it is found without making the change. None while another move is in its
    /// way, which will be over some time.
    fn stops(&self, origin: &Name, lever: &Name) -> Option<Option<String>> {
        match self.draft_rename(origin, &order(lever.clone(), String::new())) {
            Ok(draft) => Some(Some(reasons(&draft.findings)).filter(|reasons| !reasons.is_empty())),
            Err(Impossible::Moving(_)) => None,
            Err(impossible) => Some(Some(impossible.to_string())),
        }
    }

    /// An engine wants a rename that its policy wants.
    pub(in crate::driver) fn want_rename(&mut self, origin: &Name, effect: EffectId) {
        let wanted = (origin.clone(), effect);
        if !self.renames.proposing.wanted.contains(&wanted) {
            self.renames.proposing.wanted.push_back(wanted);
        }
    }

    /// Begins the renames that engines want, by the same door as an operator's.
    pub(super) fn do_wanted_renames(&mut self) {
        while let Some((origin, effect)) = self.renames.proposing.wanted.pop_front() {
            let Some(state) = self.traffic(&origin) else { continue };
            let Some(Effect::Rename { id, lever }) = state.pending.get(&effect).map(|pending| &pending.effect) else {
                continue;
            };
            let known = state.moves.get(id).and_then(|moving| {
                moving.watched.renames.iter().find(|rename| rename.lever == *lever).map(|rename| rename.gain.clone())
            });
            let reason =
                format!("the zone's policy, as move {} waits for old answers: {}", id.0, known.unwrap_or_default());
            let by = By { actor: policy(), reason };
            let event = self.do_wanted(&origin, effect, lever.clone(), &by);
            // The log says what could not be written; then it is asked for again.
            let _ = self.drive(&origin, event, &by);
        }
    }

    fn do_wanted(&mut self, origin: &Name, effect: EffectId, lever: Name, by: &By) -> Event {
        // It may have begun before it was known that it had.
        let overlays = self.serving.zone(origin.as_ref()).map(|zone| zone.content.overlays.clone()).unwrap_or_default();
        let begun = |rename: &&Rename| !rename.spare && rename.stage != Stage::Returned;
        if let Some(rename) = overlays.of(lever.as_ref()).find(begun) {
            return Event::RenameBegun { effect, fresh: rename.fresh.clone() };
        }
        match self.rename(origin, &order(lever, by.reason.clone()), &by.actor) {
            Ok(Ok(renamed)) if renamed.outcome == Outcome::Blocked => {
                Event::RenameStopped { effect, why: reasons(&renamed.findings) }
            }
            Ok(Ok(renamed)) => Event::RenameBegun { effect, fresh: renamed.fresh },
            // Another move of the zone will be over some time.
            Ok(Err(moving @ Impossible::Moving(_))) => Event::EffectFailed { effect, why: moving.to_string() },
            Ok(Err(impossible)) => Event::RenameStopped { effect, why: impossible.to_string() },
            Err(error) => Event::EffectFailed { effect, why: error.to_string() },
        }
    }

    /// Tells engines which levers nothing leads to any more, whoever led it past them.
    pub(super) fn take_renames_that_turned(&mut self) {
        for (origin, id, levers) in self.turned_meanwhile() {
            // The log says what could not be written; then it is told again.
            let _ = self.drive(&origin, Event::FrontsTurned { id, levers }, &By::daemon());
        }
    }

    fn turned_meanwhile(&self) -> Vec<(Name, MoveId, Vec<Turned>)> {
        let news = self.waiting_moves().filter_map(|(origin, id, moving)| {
            let known = &moving.watched.turned;
            if known.len() >= MOST_TURNED {
                return None;
            }
            let content = &self.serving.zone(origin.as_ref())?.content;
            let is_known = |rename: &Rename| {
                known.iter().any(|turned| turned.lever == rename.lever && turned.fresh == rename.fresh)
            };
            let renames = self.renames_during(content, moving).filter(|rename| !is_known(rename));
            let turned = renames.map(|rename| self.turned(content, rename)).collect::<Vec<_>>();
            (!turned.is_empty()).then(|| (origin.clone(), id, turned))
        });
        news.collect()
    }

    /// Renames that led past levers of a move while it waits for old answers.
    fn renames_during<'c>(&self, content: &'c Content, moving: &Move) -> impl Iterator<Item = &'c Rename> {
        let (ends, since) = (self.ends_of(&content.origin, moving), moving.phase_since());
        let during = move |rename: &&Rename| {
            rename.stage.is_referenced()
                && rename.turned.is_some_and(|at| at >= since)
                && is_moved(&ends, rename.fresh.as_ref(), rename.whole)
        };
        let found: Vec<&Rename> = content.overlays.renames.iter().filter(during).collect();
        found.into_iter()
    }

    /// What the engine is told of a rename that is published.
    fn turned(&self, content: &Content, rename: &Rename) -> Turned {
        let ttl = Ttl::from_wire(self.reference_ttl(&self.leading_to(content, &rename.lever)));
        let Rename { lever, fresh, .. } = rename.clone();
        Turned { lever, fresh, at: now(), ttl }
    }

    /// The levers that a move moved and that nothing leads to any more since it waits for old answers.
    pub(in crate::driver) fn levers_led_past(&self, origin: &Name, moving: &Move) -> Vec<Turned> {
        let Some(zone) = self.serving.zone(origin.as_ref()) else { return Vec::new() };
        let content = &zone.content;
        let known = |rename: &Rename| {
            let mut turned = moving.watched.turned.iter();
            turned.find(|turned| turned.lever == rename.lever && turned.fresh == rename.fresh).cloned()
        };
        let renames = self.renames_during(content, moving);
        renames.map(|rename| known(rename).unwrap_or_else(|| self.turned(content, rename))).collect()
    }
}

/// Whether a name, or what goes with it, is answered otherwise at the ends of a move.
fn is_moved(ends: &[[&SiteContent; 2]], name: NameRef<'_>, whole: bool) -> bool {
    let records = |zone: &Zone| {
        let sets = along(zone, name, whole).flat_map(|owner| owner.rrsets().collect::<Vec<_>>());
        let records = sets.flat_map(|set| {
            let owner = set.owner.to_lowercase();
            set.rdatas().map(|data| (owner.clone(), set.rtype, data.to_vec())).collect::<Vec<_>>()
        });
        records.collect::<BTreeSet<(Name, RrType, Vec<u8>)>>()
    };
    ends.iter().any(|[before, after]| records(&before.zone) != records(&after.zone))
}

/// What resolvers were seen to hold of a lever, or of what leads there; none as long as they were not asked.
fn seen_stuck(moving: &Move, lever: &Name, references: &[Reference]) -> Option<BTreeSet<Kind>> {
    let sample = moving.watched.sample.as_ref()?;
    let asked = |name: &Name, evidence: &Evidence| evidence.question.starts_with(&format!("{name} "));
    let is_of_it = |evidence: &&Evidence| {
        asked(lever, evidence) || references.iter().any(|reference| asked(&reference.owner, evidence))
    };
    let kind = |evidence: &Evidence| match evidence.sight {
        Sight::Negative => Kind::Negative,
        _ => Kind::Positive,
    };
    Some(sample.late_ones().filter(is_of_it).map(kind).collect())
}

/// What caches may hold of a lever: old data, or that there is none.
fn kinds_at(ends: &[[&SiteContent; 2]], lever: NameRef<'_>) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::new();
    for [before, after] in ends {
        let owner = after.zone.owner(lever);
        for set in owner.into_iter().flat_map(|owner| owner.rrsets().collect::<Vec<_>>()) {
            match before.zone.rrset(lever, set.rtype) {
                None => _ = kinds.insert(Kind::Negative),
                Some(old) if !old.rdatas().eq(set.rdatas()) => _ = kinds.insert(Kind::Positive),
                Some(_) => {}
            }
        }
    }
    kinds
}

/// The actor of what is done because a zone's policy says so.
fn policy() -> Actor {
    Actor { uid: None, name: "policy".into() }
}

fn order(name: Name, reason: String) -> Order {
    Order { name, deed: Deed::Begin, dry_run: false, plan: None, reason, overrides: Vec::new(), asks: false }
}
