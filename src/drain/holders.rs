//! Those who may hold old answers, by who was told what.
//!
//! A holder is a client network and a question of a type that users go by. How much it counts is how often it asked of late;
//! when it moves follows from the hash that decides it. Holders that are nearly alike are taken together, so that a forecast
//! takes a bounded time whatever was noted.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Demand, Holder, Step, Told};
use crate::exposure::bound::{SKEW, changed_ttl};
use crate::exposure::known::Known;
use crate::exposure::networks::Told as Noted;
use crate::exposure::note::{Level, NotedNetwork};
use crate::exposure::points::{Point, PointId};
use crate::exposure::{EditionInfo, Exposures};
use crate::name::{Name, NameRef};
use crate::net::{ClientNet, Network};
use crate::profile::{Kind, Profile};
use crate::rr::RrType;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Rule};
use crate::serving::{Serving, ZoneServing};
use crate::share::Share;
use crate::snapshot::capped::Capped;
use crate::time::{Timestamp, Ttl};

/// The types that users find a service by.
pub const FAMILIES: [RrType; 3] = [RrType::A, RrType::AAAA, RrType::HTTPS];
/// The most entries that are looked at one by one, the heaviest; of others only the sum counts.
pub const MOST_ENTRIES: usize = 10_000;
/// The most holders that a forecast is made of.
const MOST_HOLDERS: usize = 256;
/// How often the rounding is doubled before holders are summed up instead.
const MOST_ROUNDINGS: i32 = 7;
/// The most suspects that are listed.
const MOST_SUSPECTS: usize = 20;
/// How long counts must have been made for a habit to show, and how often somebody must have asked.
const HABIT: Duration = Duration::from_secs(3600);
const HABIT_COUNT: f64 = 20.0;
/// How many times its usual pause somebody has to be silent for.
const SILENT: f64 = 5.0;

/// Whose answers are looked at, and what becomes of them.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// What is answered by now.
    pub serving: &'a Serving,
    /// The zone.
    pub zone: &'a ZoneServing,
    /// The only name that is asked for; none: all of them.
    pub only: Option<&'a Name>,
    /// The regions in question.
    pub regions: &'a BTreeMap<RegionId, Turn>,
    /// The RRsets that differ between the sites of the move; none: all are taken for different.
    pub capped: Option<&'a Capped>,
    /// The TTL that old answers are given with at most before they are given no more, if they are lowered.
    pub low: Option<Ttl>,
    /// What was measured of resolvers, by where they ask from.
    pub profiles: &'a [(Network, Arc<Profile>)],
}

/// How the clients of a region change sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The sites whose answers are the new ones. Those of all others are old.
    pub new: Vec<String>,
    /// What goes into the hash that tells who moves when; none: that is not known.
    pub salt: Option<u64>,
    /// Whether the move goes back: the last that came are the first to go.
    pub is_back: bool,
    /// The steps by rising time.
    pub steps: Vec<Step>,
}

/// Those who may hold old answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holders {
    /// For the forecast: nearly alike ones together.
    pub holders: Vec<Holder>,
    /// What each type's weigh together, and what those that may hold an old answer now.
    pub weights: BTreeMap<RrType, Weight>,
    /// Entries of networks and questions that they were made of.
    pub entries: usize,
    /// Answers whose holders were summed up, and of which it is taken for unknown when they were told.
    pub summed: f64,
    /// Answers of which it is not known what was asked for: they are left out.
    pub unplaced: u64,
    /// Networks that ought to have asked again.
    pub suspects: Vec<Suspect>,
    /// Until when an old answer may be held that was told up to now; none if nobody was told one.
    pub until: Option<Timestamp>,
    /// The same for each region that was told anything, and how much it counts.
    pub regions: BTreeMap<RegionId, OfRegion>,
    /// Over how long it was counted how often is asked.
    pub window: Duration,
    /// Whether all is known that may still be held.
    pub is_whole: bool,
}

/// How much holders count: in answers of late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weight {
    /// All.
    pub all: f64,
    /// Those that may hold an old answer, if they obey TTLs.
    pub held: f64,
}

impl Weight {
    fn add(&mut self, all: f64, held: f64) {
        (self.all, self.held) = (self.all + all, self.held + held);
    }
}

/// What a region's holders come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfRegion {
    /// How much they count.
    pub weight: Weight,
    /// Until when an old answer may be held there that was told up to now; none if nobody was told one.
    pub until: Option<Timestamp>,
}

/// A network that asked steadily, and did not come back when what it was told had run out. Suspicious, not guilty: its users
/// may have gone to bed.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The network.
    pub network: Network,
    /// What it asked for.
    pub decided: Decided,
    /// The type.
    pub rtype: RrType,
    /// When it was given the old answer last.
    pub last: Timestamp,
    /// Until when it might keep that.
    pub until: Timestamp,
    /// How often it used to ask: once in so long.
    pub usual: Duration,
}

/// What is asked, by a network.
type Key = (NotedNetwork, Level, (u64, u8, u16));

/// What is left of each type beside the heaviest: its weight, and its greatest TTL.
type Rest = BTreeMap<RrType, (Weight, Ttl)>;

/// What is known of a point that counts.
struct Fact {
    question: (Decided, RrType),
    region: RegionId,
    ttl: Ttl,
    is_old: bool,
}

impl Fact {
    fn kind(&self) -> Kind {
        if self.question.0.rule == Rule::Absent { Kind::Negative } else { Kind::Positive }
    }
}

/// A network that was told an old answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldOld {
    /// The network, or a greater one that it is counted with.
    pub network: Network,
    /// The hash of the name of the rule that answered.
    pub name: u64,
    /// The type that it asked for.
    pub family: RrType,
    /// When it was told it last.
    pub last: Timestamp,
    /// With which TTL.
    pub ttl: Ttl,
    /// What it was told.
    pub kind: Kind,
    /// How often it was told it of late.
    pub count: u64,
}

/// A network and a question, over all editions.
#[derive(Default)]
struct Asked {
    weight: f64,
    proven: bool,
    /// When an old answer was told, and with which TTL: the one that may be held longest.
    old: Option<(Timestamp, Ttl)>,
    new: Option<Timestamp>,
    greatest: Ttl,
}

/// Until when an old answer of a scope may be held that was told up to `now`, as [`Holders::until`]; and whether all is known
/// that may still be held.
pub fn told_until(known: &impl Known, scope: &Scope<'_>, now: Timestamp) -> (Option<Timestamp>, bool) {
    let mut found = Holders::default();
    let (facts, blind_until) = known.look(|exposures| (found.facts(exposures, scope), exposures.blind_until()));
    (found.until, is_whole(blind_until, &facts, now))
}

/// Whether all is known that may still be held.
fn is_whole(blind_until: Timestamp, facts: &BTreeMap<PointId, Fact>, now: Timestamp) -> bool {
    let longest = facts.values().map(|fact| fact.ttl).max().unwrap_or_default();
    blind_until.after(longest.duration()).after(SKEW) <= now
}

impl Holders {
    /// Those of a scope, by what is known at `now`.
    pub fn of(known: &impl Known, scope: &Scope<'_>, now: Timestamp) -> Holders {
        let mut found = Holders::default();
        let (facts, blind_until) = known.look(|exposures| {
            found.window = exposures.window(now);
            (found.facts(exposures, scope), exposures.blind_until())
        });
        let (entries, rest) = found.heaviest(known, &facts, now);
        let window = found.window.as_secs_f64().max(1.0);
        let mut asked: BTreeMap<Key, (Asked, &Fact)> = BTreeMap::new();
        for (noted, fact) in &entries {
            let (decided, rtype) = fact.question;
            let key = (noted.network, noted.level, (decided.name, decided.rule as u8, rtype.0));
            asked.entry(key).or_insert_with(|| (Asked::default(), fact)).0.take(noted, fact);
        }
        found.is_whole = is_whole(blind_until, &facts, now);
        let mut each = Vec::new();
        for ((network, level, _), (asked, fact)) in &asked {
            let moves = moves(scope, fact, *network, *level);
            let told = match asked.old {
                Some((at, ttl)) => Told::At { at, ttl },
                None if found.is_whole => Told::Never,
                None => Told::Unknown,
            };
            let held = if asked.is_held(now) { asked.weight } else { 0.0 };
            found.weights.entry(fact.question.1).or_default().add(asked.weight, held);
            found.regions.entry(fact.region).or_default().weight.add(asked.weight, held);
            if rest.is_empty() && moves.is_some_and(|at| asked.is_suspect(at, window, now)) {
                found.suspects.extend(asked.suspect(*network, *level, fact, window));
            }
            let holder = Holder {
                family: fact.question.1,
                weight: asked.weight,
                demand: Demand::Seen(asked.weight / window),
                told,
                ttl: asked.old.map_or(asked.greatest, |(_, ttl)| ttl),
                kind: fact.kind(),
                profile: scope.profile_of(*network, *level),
                moves,
            };
            each.push(holder.lowered(scope.low));
        }
        found.suspects.sort_by_key(|suspect| (suspect.usual, suspect.network));
        found.suspects.truncate(MOST_SUSPECTS);
        for (family, (weight, ttl)) in rest {
            found.summed += weight.all;
            found.weights.entry(family).or_default().add(weight.all, weight.held);
            each.push(unknown(family, weight.all, ttl).lowered(scope.low));
        }
        found.holders = found.together(each, now);
        found
    }

    /// Who of these networks was told an old answer, and when last.
    pub fn told_old(known: &impl Known, scope: &Scope<'_>, wanted: impl Fn(Network) -> bool) -> Vec<ToldOld> {
        let facts = known.look(|exposures| Holders::default().facts(exposures, scope));
        let told = |noted: Noted| {
            let fact = facts.get(&noted.point).filter(|fact| fact.is_old)?;
            let network = noted.network.network(noted.level).filter(|network| wanted(*network))?;
            let ((by, family), count) = (fact.question, noted.count.value());
            Some(ToldOld { network, name: by.name, family, last: noted.last, ttl: fact.ttl, kind: fact.kind(), count })
        };
        let mut all = Vec::new();
        known.each_part(|_, part| all.extend(part.filter_map(told)));
        all
    }

    /// What counts of the points.
    fn facts(&mut self, exposures: &Exposures, scope: &Scope<'_>) -> BTreeMap<PointId, Fact> {
        let mut facts = BTreeMap::new();
        for (id, point) in exposures.points().iter() {
            let Some(turn) = scope.regions.get(&point.what.region) else { continue };
            let Some(info) =
                exposures.edition(point.what.edition).filter(|info| info.zone == scope.zone.content.origin)
            else {
                continue;
            };
            let Some(question) = point.what.question else {
                self.unplaced += point.count;
                continue;
            };
            if !FAMILIES.contains(&question.1) || !scope.is_named(&point, info) {
                continue;
            }
            let ttl = match scope.capped {
                Some(capped) => changed_ttl(scope.serving, scope.zone, capped, info, &point),
                None => Some(point.ttl),
            };
            let Some(ttl) = ttl.map(|ttl| ttl.min(point.ttl)) else { continue };
            let is_old = !turn.new.contains(&info.site);
            if is_old {
                let until = Some(point.last.after(ttl.duration()).after(SKEW));
                let region = self.regions.entry(point.what.region).or_default();
                (self.until, region.until) = (self.until.max(until), region.until.max(until));
            }
            facts.insert(id, Fact { question, region: point.what.region, ttl, is_old });
        }
        facts
    }

    /// The heaviest entries, and what is left of each type: its weight and greatest TTL.
    fn heaviest<'f>(
        &mut self,
        known: &impl Known,
        facts: &'f BTreeMap<PointId, Fact>,
        now: Timestamp,
    ) -> (Vec<(Noted, &'f Fact)>, Rest) {
        let (mut kept, mut rest) = (Vec::new(), Rest::new());
        known.each_part(|_, part| {
            for (noted, fact) in part.filter_map(|noted| Some((noted, facts.get(&noted.point)?))) {
                kept.push((noted, fact));
                self.entries += 1;
                if kept.len() >= 2 * MOST_ENTRIES {
                    self.sum_up(&mut kept, &mut rest, now);
                }
            }
        });
        if kept.len() > MOST_ENTRIES {
            self.sum_up(&mut kept, &mut rest, now);
        }
        (kept, rest)
    }

    /// Leaves the heaviest entries, and adds the others to what is left.
    fn sum_up(&mut self, kept: &mut Vec<(Noted, &Fact)>, rest: &mut Rest, now: Timestamp) {
        kept.select_nth_unstable_by_key(MOST_ENTRIES, |(noted, _)| Reverse(noted.count.value()));
        for (noted, fact) in kept.drain(MOST_ENTRIES..) {
            let (weight, ttl) = rest.entry(fact.question.1).or_default();
            let count = noted.count.value() as f64;
            let held = if fact.is_old && noted.last.after(fact.ttl.duration()) > now { count } else { 0.0 };
            weight.add(count, held);
            self.regions.entry(fact.region).or_default().weight.add(count, held);
            *ttl = (*ttl).max(fact.ttl);
        }
    }

    /// Holders that are nearly alike, as one: the less alike the more of them there are.
    fn together(&mut self, each: Vec<Holder>, now: Timestamp) -> Vec<Holder> {
        let mut rounding = 0;
        let mut alike = rounded(&each, now, rounding);
        while alike.len() > MOST_HOLDERS && rounding < MOST_ROUNDINGS {
            rounding += 1;
            alike = rounded(&each, now, rounding);
        }
        if alike.len() <= MOST_HOLDERS {
            return alike;
        }
        alike.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        let lightest = alike.split_off(MOST_HOLDERS - FAMILIES.len());
        for family in FAMILIES {
            let of = || lightest.iter().filter(|holder| holder.family == family);
            let weight: f64 = of().map(|holder| holder.weight).sum();
            self.summed += weight;
            let ttl = of().map(|holder| holder.ttl).max();
            alike.extend(ttl.map(|ttl| unknown(family, weight, ttl)));
        }
        alike
    }
}

impl Scope<'_> {
    /// What was measured of those who ask from a network.
    fn profile_of(&self, network: NotedNetwork, level: Level) -> Option<Arc<Profile>> {
        // One that is counted with others is not known.
        let network = network.network(level).filter(|_| level == Level::default() && !self.profiles.is_empty())?;
        let own = self.profiles.iter().find(|(own, _)| own.covers(network) || network.covers(*own));
        own.map(|(_, profile)| Arc::clone(profile))
    }

    /// Whether a point is about the only name, by what its edition has.
    fn is_named(&self, point: &Point, info: &EditionInfo) -> bool {
        let Some(only) = self.only else { return true };
        let Some((decided, _)) = point.what.question else { return false };
        let hash = self.serving.key.of(only.as_ref().to_lowercase().as_ref());
        if decided.rule == Rule::Exact {
            return decided.name == hash;
        }
        // What stands in for names is not for one that is there.
        let is_there = info.snapshot.upgrade().is_some_and(|snapshot| snapshot.node_named(hash).is_some());
        let above = self.zone.name_under(decided.name).filter(|_| decided.rule == Rule::Above || !is_there);
        let without = usize::from(decided.rule == Rule::Wildcard);
        above.is_some_and(|above| is_below(only.as_ref(), above.as_ref(), without))
    }
}

/// Whether a name is at or below another one, whose first labels are left away.
fn is_below(name: NameRef<'_>, above: NameRef<'_>, without: usize) -> bool {
    let above = (0..without).try_fold(above, |above, _| above.parent());
    above.is_some_and(|above| name.is_at_or_below(above))
}

/// When a network changes sides, as far as that is known.
fn moves(scope: &Scope<'_>, fact: &Fact, network: NotedNetwork, level: Level) -> Option<Timestamp> {
    let turn = scope.regions.get(&fact.region)?;
    // One that is counted with others moves with each of them.
    let salt = turn.salt.filter(|_| level == Level::default())?;
    let from = scope.serving.units.moves_at(ClientNet(network.network(level)?), salt);
    let from = if turn.is_back { Share::ALL.basis_points() + 1 - from } else { from };
    turn.steps.iter().find(|step| step.share.basis_points() >= from).map(|step| step.at)
}

/// Those of whom no more is known than how much they count.
fn unknown(family: RrType, weight: f64, ttl: Ttl) -> Holder {
    let (demand, told, kind) = (Demand::Unknown, Told::Unknown, Kind::Positive);
    Holder { family, weight, demand, told, ttl, kind, profile: None, moves: None }
}

/// Holders by what they have in common when times and rates are rounded: a holder for each. What is rounded makes it hold longer.
fn rounded(each: &[Holder], now: Timestamp, rounding: i32) -> Vec<Holder> {
    let coarse = 2f64.powi(rounding);
    let mut alike: BTreeMap<_, Holder> = BTreeMap::new();
    for holder in each {
        let told = match holder.told {
            Told::At { at, ttl } => {
                let age = now.since(at).as_secs_f64();
                // The older, the less it matters how old.
                let width =
                    (f64::from(ttl.seconds()) / 64.0).max(2f64.powf(age.max(1.0).log2().floor()) / 8.0).max(1.0)
                        * coarse;
                let at = Timestamp(now.0.saturating_sub(((age / width).floor() * width * 1000.0) as i64));
                Told::At { at, ttl }
            }
            told => told,
        };
        // In eighths of an octave.
        let octave = match holder.demand {
            Demand::Seen(rate) | Demand::Known(rate) => (rate.max(1e-9).log2() * 8.0 / coarse).ceil(),
            Demand::Unknown => f64::MAX,
        };
        let demand = match holder.demand {
            Demand::Seen(_) => Demand::Seen(2f64.powf(octave * coarse / 8.0)),
            Demand::Known(_) => Demand::Known(2f64.powf(octave * coarse / 8.0)),
            Demand::Unknown => Demand::Unknown,
        };
        let when = match told {
            Told::Unknown => (0, 0, 0),
            Told::Never => (1, 0, 0),
            Told::At { at, ttl } => (2, at.0, ttl.seconds()),
        };
        let measured = holder.profile.as_ref().map(Arc::as_ptr);
        let key = (holder.family, holder.kind, holder.ttl, when, octave.to_bits(), holder.moves, measured);
        let known = alike.entry(key).or_insert_with(|| Holder { told, demand, weight: 0.0, ..holder.clone() });
        known.weight += holder.weight;
    }
    alike.into_values().collect()
}

impl Holder {
    /// The same once answers are given with this TTL at most. It asks more often then, as its users want.
    pub fn lowered(self, low: Option<Ttl>) -> Holder {
        let Some(low) = low.filter(|low| *low < self.ttl) else { return self };
        let demand = match self.demand {
            Demand::Seen(rate) => {
                let wait = 1.0 / rate - f64::from(self.ttl.seconds());
                if wait > 0.0 { Demand::Known(1.0 / wait) } else { Demand::Unknown }
            }
            demand => demand,
        };
        Holder { ttl: low, demand, ..self }
    }
}

impl Asked {
    fn take(&mut self, noted: &Noted, fact: &Fact) {
        self.weight += noted.count.value() as f64;
        self.proven |= noted.proven;
        self.greatest = self.greatest.max(fact.ttl);
        if fact.is_old {
            let until = |(at, ttl): (Timestamp, Ttl)| at.after(ttl.duration());
            let told = (noted.last, fact.ttl);
            self.old = self.old.filter(|known| until(*known) >= until(told)).or(Some(told));
        } else {
            self.new = self.new.max(Some(noted.last));
        }
    }

    /// Until when an old answer may be held by who obeys TTLs.
    fn held_until(&self) -> Option<Timestamp> {
        self.old.map(|(at, ttl)| at.after(ttl.duration()))
    }

    fn is_held(&self, now: Timestamp) -> bool {
        self.held_until().is_some_and(|until| until > now)
    }

    /// Once in how many seconds it asked.
    fn usual(&self, window: f64) -> f64 {
        window / self.weight.max(1.0)
    }

    /// Whether somebody who moved then asked as steadily as a cache does that is always in use, and is silent for too long.
    fn is_suspect(&self, moved: Timestamp, window: f64, now: Timestamp) -> bool {
        let (Some((last, ttl)), Some(until)) = (self.old, self.held_until()) else { return false };
        let usual = self.usual(window);
        let is_steady = self.weight >= HABIT_COUNT && usual <= 2.0 * f64::from(ttl.seconds().max(1));
        let is_back = self.new.is_some_and(|new| new >= last);
        let silent = now.since(until.max(moved)).as_secs_f64();
        self.proven && window >= HABIT.as_secs_f64() && is_steady && !is_back && silent > SILENT * usual
    }

    fn suspect(&self, network: NotedNetwork, level: Level, fact: &Fact, window: f64) -> Option<Suspect> {
        let ((last, _), (decided, rtype)) = (self.old?, fact.question);
        let usual = Duration::try_from_secs_f64(self.usual(window)).ok()?;
        Some(Suspect { network: network.network(level)?, decided, rtype, last, until: self.held_until()?, usual })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::{Outlook, forecast};
    use crate::driver::name_servers::query;
    use crate::exposure::Limits;
    use crate::exposure::note::Note;
    use crate::gate::tests::{served, zone};
    use crate::profile::Population;
    use crate::rr::Class;
    use crate::serving::asked::Asked;
    use crate::serving::respond::{Asker, Transport};
    use crate::snapshot::capped::End;
    use std::net::Ipv4Addr;

    const MOVED: i64 = 8000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(1_000_000_000_000 + seconds * 1000)
    }

    fn name(text: &str) -> Name {
        Name::absolute(&format!("{text}.x.example")).unwrap()
    }

    /// A zone at two sites, of which `w` differs; answered from the first.
    fn serving() -> Arc<Serving> {
        served(vec![zone(
            "x.example",
            &[("a", "w 60 A 192.0.2.1\ns 60 A 192.0.2.9"), ("b", "w 60 A 192.0.2.2\ns 60 A 192.0.2.9")],
            &[0, 0, 0],
            &[],
        )])
    }

    /// What a network of this number was told, at a time.
    fn note(serving: &Serving, network: u32, name: &Name, seconds: i64, proven: bool) -> Note {
        let source = Ipv4Addr::from_bits(network << 8 | 7).into();
        let asker = Asker { source, transport: Transport::Udp, now: at(seconds) };
        let packet = query(name.as_ref().as_wire(), RrType::A, Class::IN);
        let mut out = [0; 4096];
        let mut asked = Asked::of(serving, &packet);
        serving.respond_to(&packet, &mut asked, &asker, &mut out).unwrap();
        let note = Note::of(asked.told().unwrap(), at(seconds)).next().unwrap();
        Note { proven, ..note }
    }

    fn exposures(serving: &Serving, notes: &[Note]) -> Exposures {
        let mut exposures = Exposures::new(Limits::default(), 7, at(0));
        exposures.published(serving, at(0));
        exposures.is_whole_since(at(0), Timestamp(i64::MIN));
        exposures.fold(notes);
        exposures
    }

    /// Everybody moves to `b` at once.
    fn turns(serving: &Serving) -> BTreeMap<RegionId, Turn> {
        let steps = vec![Step { at: at(MOVED), share: Share::ALL }];
        let turn = Turn { new: vec!["b".into()], salt: Some(1), is_back: false, steps };
        serving.regions.iter().map(|(id, _)| (id, turn.clone())).collect()
    }

    fn found(
        serving: &Serving,
        exposures: &Exposures,
        only: Option<&Name>,
        capped: Option<&Capped>,
        now: i64,
    ) -> Holders {
        let zone = serving.zones().first().unwrap();
        let scope = Scope { serving, zone, only, regions: &turns(serving), capped, low: None, profiles: &[] };
        Holders::of(exposures, &scope, at(now))
    }

    /// Who was measured is counted by its own profile, and apart from those who were not.
    #[test]
    fn measured_networks_have_their_profiles() {
        let serving = serving();
        let notes = [1, 2].map(|client| note(&serving, client, &name("w"), 7990, false));
        let exposures = exposures(&serving, &notes);
        let zone = serving.zones().first().unwrap();
        let all = found(&serving, &exposures, None, None, 8000).holders;
        assert!(all.len() == 1 && all[0].profile.is_none(), "they are alike: {all:?}");
        let noted = exposures.networks().iter().next().unwrap();
        let network = noted.network.network(noted.level).unwrap();
        let profiles = [(Network::host(network.address()), Arc::new(Profile::exact()))];
        let turns = turns(&serving);
        let scope = Scope {
            serving: &serving,
            zone,
            only: None,
            regions: &turns,
            capped: None,
            low: None,
            profiles: &profiles,
        };
        let found = Holders::of(&exposures, &scope, at(8000)).holders;
        assert_eq!(found.iter().filter(|holder| holder.profile.is_some()).count(), 1, "{found:?}");
        assert_eq!(found.len(), 2);
        assert_eq!(Holders::told_old(&exposures, &scope, |_| true).len(), 2);
    }

    #[test]
    fn holders_are_who_was_told_what_a_move_changes() {
        let serving = serving();
        let notes = [
            note(&serving, 1, &name("w"), 7990, false),
            note(&serving, 1, &name("w"), 7995, false),
            note(&serving, 2, &name("w"), 100, false),
            note(&serving, 3, &name("s"), 7990, false),
            note(&serving, 4, &name("nobody"), 7990, false),
        ];
        let exposures = exposures(&serving, &notes);
        let everything = found(&serving, &exposures, None, None, 8000);
        assert_eq!(everything.entries, 4);
        assert_eq!(everything.weights[&RrType::A], Weight { all: 5.0, held: 4.0 });
        assert_eq!(everything.until, Some(at(8055).after(SKEW)));
        let of_default = everything.regions[&RegionId::default()];
        assert_eq!((of_default.until, of_default.weight), (everything.until, everything.weights[&RrType::A]));
        assert!(everything.is_whole && everything.suspects.is_empty() && everything.summed == 0.0);
        let negative = everything.holders.iter().filter(|holder| holder.kind == Kind::Negative);
        assert_eq!(negative.map(|holder| holder.weight).sum::<f64>(), 1.0);
        assert!(everything.holders.iter().all(|holder| holder.moves == Some(at(MOVED))));

        let only = found(&serving, &exposures, Some(&name("w")), None, 8000);
        assert_eq!((only.entries, only.weights[&RrType::A]), (2, Weight { all: 3.0, held: 2.0 }));
        assert_eq!(found(&serving, &exposures, Some(&name("W")), None, 8000).entries, 2, "in whatever case");
        let sites = &serving.zones()[0].content.sites;
        let end = |site: usize| End { zone: &sites[site].zone, snapshot: &sites[site].snapshot };
        let mut capped = Capped::default();
        capped.lower_between([end(0), end(1)], Ttl::new(30).unwrap());
        let changed = found(&serving, &exposures, None, Some(&capped), 8000);
        assert!(changed.entries == 3, "what both sites answer alike is no old answer: {changed:#?}");
        // Once all has run out nobody holds anything.
        let later = found(&serving, &exposures, None, None, 8100);
        assert_eq!(later.weights[&RrType::A], Weight { all: 5.0, held: 0.0 });
    }

    #[test]
    fn who_asked_steadily_and_is_silent_is_suspicious() {
        let serving = serving();
        let habit = |network: u32, pause: i64, proven: bool| {
            let times = (0..).map(move |turn| turn * pause).take_while(|seconds| *seconds < MOVED);
            times.map(move |seconds| (network, seconds, proven))
        };
        let told = habit(1, 61, true).chain(habit(2, 61, false)).chain(habit(3, 900, true));
        let notes: Vec<Note> =
            told.map(|(network, seconds, proven)| note(&serving, network, &name("w"), seconds, proven)).collect();
        let exposures = exposures(&serving, &notes);
        let suspects = |now| {
            let found = found(&serving, &exposures, None, None, now);
            found.suspects.iter().map(|suspect| suspect.network.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(suspects(MOVED + 120), Vec::<String>::new(), "it is too soon to say");
        assert_eq!(suspects(MOVED + 600), ["0.0.1.0/24"]);
    }

    #[test]
    fn a_forecast_is_made_of_few_holders_however_many_there_are() {
        let serving = serving();
        let notes: Vec<Note> = (0..30_000u32)
            .flat_map(|network| (0..=network % 3).map(move |turn| (network, i64::from(network % 7900 + turn))))
            .map(|(network, seconds)| note(&serving, network, &name("w"), seconds, false))
            .collect();
        let exposures = exposures(&serving, &notes);
        let found = found(&serving, &exposures, None, None, 8000);
        let weight: f64 = found.holders.iter().map(|holder| holder.weight).sum();
        assert_eq!((found.entries, weight as usize), (30_000, notes.len()));
        assert!(found.holders.len() <= MOST_HOLDERS && found.summed >= 20_000.0, "{}", found.holders.len());
        let population = Population::proposed();
        let steps = [Step { at: at(MOVED), share: Share::ALL }];
        let outlook = Outlook {
            holders: &found.holders,
            population: &population,
            steps: &steps,
            known_until: at(MOVED),
            bound: None,
        };
        let course = &forecast(&outlook).courses[0];
        assert!(course.new_at(Duration::from_secs(90)) > 0.5, "{:#?}", course.quantiles);
    }
}
