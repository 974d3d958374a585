//! Simulated resolvers: they ask a server in wire form, read what it answers, and keep that by habits of their own.
//!
//! They share no code with the forecast of how caches drain, so that each can prove the other wrong. Time is handed in.
//! Answers come at once; there is no network in between but what an [`Ask`] makes of it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::chance::Chance;
use super::message::{self, Data, Message, Record};
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::time::Timestamp;

/// A server that can be asked: a packet from an address at a time, and its whole answer, as over TCP. What leaves `out`
/// empty was silent.
pub trait Ask {
    /// Puts the answer into `out`, which is empty.
    fn ask(&mut self, packet: &[u8], from: IpAddr, at: Timestamp, out: &mut Vec<u8>);
}

impl<F: FnMut(&[u8], IpAddr, Timestamp, &mut Vec<u8>)> Ask for F {
    fn ask(&mut self, packet: &[u8], from: IpAddr, at: Timestamp, out: &mut Vec<u8>) {
        self(packet, from, at, out);
    }
}

/// How a resolver keeps answers. All times are in seconds. The default keeps TTLs exactly, in one cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Data is kept for at least so long.
    pub floor: u32,
    /// Data is kept for at most so long.
    pub cap: u32,
    /// Negative answers are kept for at least so long.
    pub negative_floor: u32,
    /// Negative answers are kept for at most so long.
    pub negative_cap: u32,
    /// Everything is kept for so much longer.
    pub late: u32,
    /// When data is fetched before its end.
    pub prefetch: Prefetch,
    /// When what has ended is given out.
    pub stale: Stale,
    /// A server that failed is not asked the same again for so long (RFC 9520).
    pub failure: u32,
    /// How many caches there are; each query goes to any of them.
    pub caches: u16,
    /// Below a name that does not exist, no name exists (RFC 8020).
    pub nxdomain_cut: bool,
    /// Names between those of a cached NSEC record do not exist (RFC 8198).
    pub nsec: bool,
}

/// When data is fetched before its end, by whoever asks then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// Never.
    Never,
    /// In the last so many seconds, if it is kept for at least so long.
    Last(u32, u32),
    /// In the last tenth.
    LastTenth,
}

/// When an answer is given out that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Never.
    Never,
    /// At once, for so long behind its end; it is fetched again only then.
    AtOnce(u32),
    /// When the server fails, for so long behind its end (RFC 8767).
    OnFailure(u32),
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            floor: 0,
            cap: u32::MAX,
            negative_floor: 0,
            negative_cap: u32::MAX,
            late: 0,
            prefetch: Prefetch::Never,
            stale: Stale::Never,
            failure: 5,
            caches: 1,
            nxdomain_cut: false,
            nsec: false,
        }
    }
}

impl Habits {
    /// How long an answer is kept that was told with this TTL, in milliseconds.
    fn kept(&self, ttl: u32, negative: bool) -> i64 {
        let (least, most) = if negative { (self.negative_floor, self.negative_cap) } else { (self.floor, self.cap) };
        (i64::from(ttl.max(least).min(most)) + i64::from(self.late)) * 1000
    }

    /// How long before the end of what is kept for so many milliseconds it is fetched again.
    fn early(&self, kept: i64, negative: bool) -> i64 {
        match self.prefetch {
            Prefetch::Last(last, from) if !negative && kept >= i64::from(from) * 1000 => i64::from(last) * 1000,
            Prefetch::LastTenth if !negative => kept / 10,
            _ => 0,
        }
    }

    /// The least time between two fetches of an answer that is told with a TTL of so many seconds.
    pub fn cycle(&self, ttl: u32, negative: bool) -> std::time::Duration {
        let kept = self.kept(ttl, negative);
        std::time::Duration::from_millis((kept - self.early(kept, negative)).unsigned_abs())
    }
}

/// What a client was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub outcome: Outcome,
    /// Whether any part of it had ended already.
    pub stale: bool,
    /// Whether the server was asked first.
    pub fetched: bool,
    /// Until when the same cache answers the same, whoever asks: nothing can happen to it before.
    pub until: Timestamp,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is data: that of each record.
    Data(Arc<[Box<[u8]>]>),
    /// The name exists, and has no data of this type.
    NoData,
    /// The name does not exist.
    NoName,
    /// It could not be found out.
    Failed,
}

/// A resolver: an address, its habits, and its caches.
#[derive(Clone, Debug)]
pub struct Resolver {
    address: IpAddr,
    habits: Habits,
    caches: Vec<Cache>,
    chance: Chance,
    packet: Vec<u8>,
    answer: Vec<u8>,
    asked: u64,
}

/// Aliases are followed so far (as BIND does).
const LONGEST_CHAIN: usize = 16;
/// A cache with so many names begins anew.
const MOST_NAMES: usize = 4096;
/// So many NSEC records are kept.
const MOST_DENIALS: usize = 256;
/// The response codes of success and of a name that does not exist.
const NOERROR: u8 = 0;
const NXDOMAIN: u8 = 3;
/// The type under which a name is kept that does not exist: it has none of any.
const ANY_TYPE: RrType = RrType(0);

impl Resolver {
    /// A resolver with empty caches that asks from this address. Which cache a query meets follows from the seed.
    pub fn new(address: IpAddr, habits: Habits, seed: u64) -> Resolver {
        let caches = vec![Cache::default(); usize::from(habits.caches.max(1))];
        let chance = Chance::new(seed);
        Resolver { address, habits, caches, chance, packet: Vec::new(), answer: Vec::new(), asked: 0 }
    }

    /// The address that it asks from.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Empties one of its caches, as a restart of one machine does.
    pub fn forget(&mut self, cache: u16) {
        if let Some(cache) = self.caches.get_mut(usize::from(cache)) {
            *cache = Cache::default();
        }
    }

    /// How many queries it has sent.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Answers a client. Time must not go back between two calls.
    pub fn resolve(&mut self, name: &Name, rtype: RrType, at: Timestamp, server: &mut dyn Ask) -> Reply {
        let cache = self.pick();
        self.resolve_by(cache, name, rtype, at, server)
    }

    /// The cache that the next query meets.
    pub fn pick(&mut self) -> usize {
        let count = self.caches.len() as u32;
        if count > 1 { self.chance.below(count) as usize } else { 0 }
    }

    /// Answers a client that meets this cache, which was [picked](Resolver::pick).
    pub fn resolve_by(
        &mut self,
        cache: usize,
        name: &Name,
        rtype: RrType,
        at: Timestamp,
        server: &mut dyn Ask,
    ) -> Reply {
        let before = self.asked;
        let (mut alias, mut stale, mut until): (Option<Arc<Name>>, bool, i64) = (None, false, i64::MAX);
        for _ in 0..LONGEST_CHAIN {
            let found = self.look_up(cache, alias.as_deref().unwrap_or(name), rtype, at, server);
            stale |= found.stale;
            until = until.min(found.until);
            let outcome = match found.what {
                What::Alias(target) => {
                    alias = Some(target);
                    continue;
                }
                What::Data(data) => Outcome::Data(data),
                What::NoData => Outcome::NoData,
                What::NoName => Outcome::NoName,
                What::Failed => Outcome::Failed,
            };
            return Reply { outcome, stale, fetched: self.asked > before, until: Timestamp(until) };
        }
        Reply { outcome: Outcome::Failed, stale, fetched: self.asked > before, until: at }
    }

    /// What is known of one name, asked for where nothing is.
    fn look_up(&mut self, cache: usize, name: &Name, rtype: RrType, at: Timestamp, server: &mut dyn Ask) -> Found {
        let now = at.0;
        let kept = self.caches[cache].find(name, rtype);
        let kept = kept.map(|entry| (entry.what.clone(), entry.refresh, entry.ends));
        if let Some((what, refresh, ends)) = &kept {
            if now < *ends {
                if now >= *refresh {
                    self.fetch(cache, name, rtype, at, server);
                }
                return Found { what: what.clone(), stale: false, until: (*refresh).max(now) };
            }
            if let Stale::AtOnce(most) = self.habits.stale
                && now < ends.saturating_add(i64::from(most) * 1000)
                && !matches!(what, What::Failed)
            {
                self.fetch(cache, name, rtype, at, server);
                return Found { what: what.clone(), stale: true, until: now };
            }
        }
        if let Some(what) = self.denied(cache, name, rtype, now) {
            return Found { what, stale: false, until: now };
        }
        if self.caches[cache].is_failing(name, rtype, now) {
            return self.instead(kept, now);
        }
        match self.fetch(cache, name, rtype, at, server) {
            Some((what, until)) => Found { what, stale: false, until },
            None => {
                self.caches[cache].note_failure(name, rtype, now + i64::from(self.habits.failure) * 1000);
                self.instead(kept, now)
            }
        }
    }

    /// What is answered when the server fails.
    fn instead(&self, kept: Option<(What, i64, i64)>, now: i64) -> Found {
        match (kept, self.habits.stale) {
            (Some((what, _, ends)), Stale::OnFailure(most) | Stale::AtOnce(most))
                if now < ends.saturating_add(i64::from(most) * 1000) =>
            {
                Found { what, stale: true, until: now }
            }
            _ => Found { what: What::Failed, stale: false, until: now },
        }
    }

    /// Whether what is cached of other names says that there is nothing.
    fn denied(&self, cache: usize, name: &Name, rtype: RrType, now: i64) -> Option<What> {
        let cache = &self.caches[cache];
        if self.habits.nxdomain_cut {
            let cut =
                |above: NameRef<'_>| cache.find_at(&above.to_name(), ANY_TYPE).is_some_and(|kept| now < kept.ends);
            if name.as_ref().ancestors().skip(1).any(cut) {
                return Some(What::NoName);
            }
        }
        if self.habits.nsec { cache.denial(name.as_ref(), rtype, now) } else { None }
    }

    /// Asks the server and keeps what it says, until when it is returned too; none where it fails.
    fn fetch(
        &mut self,
        cache: usize,
        name: &Name,
        rtype: RrType,
        at: Timestamp,
        server: &mut dyn Ask,
    ) -> Option<(What, i64)> {
        let id = self.chance.draw() as u16;
        message::write_query(&mut self.packet, id, name, rtype, self.habits.nsec);
        self.answer.clear();
        self.asked += 1;
        server.ask(&self.packet, self.address, at, &mut self.answer);
        let message = message::read(&self.answer).filter(|message| message.id == id)?;
        if !matches!(message.rcode, NOERROR | NXDOMAIN) {
            return None;
        }
        let Taken { what, slot, ttl, negative } = taken(&message, name, rtype);
        let kept = self.habits.kept(ttl, negative);
        let refresh = at.0 + kept - self.habits.early(kept, negative);
        let entry = Entry { what: what.clone(), refresh, ends: at.0 + kept };
        self.caches[cache].keep(name, slot, entry);
        if self.habits.nsec {
            let longest = |ttl| at.0 + self.habits.kept(ttl, true);
            self.caches[cache].deny(&message.authorities, longest);
        }
        Some((what, refresh))
    }
}

/// What a message says of the name that was asked for, and no more: where an alias leads is asked for anew.
struct Taken {
    what: What,
    slot: RrType,
    ttl: u32,
    negative: bool,
}

fn taken(message: &Message, name: &Name, rtype: RrType) -> Taken {
    let own = || message.answers.iter().filter(|record| record.owner == *name);
    let alias = own().find_map(|record| match &record.data {
        Data::Alias(target) if rtype != RrType::CNAME => Some((target, record.ttl)),
        _ => None,
    });
    if let Some((target, ttl)) = alias {
        let what = What::Alias(Arc::new(target.clone()));
        return Taken { what, slot: RrType::CNAME, ttl, negative: false };
    }
    let set = || own().filter(|record| record.rtype == rtype);
    if let Some(ttl) = set().map(|record| record.ttl).min() {
        let data = set().map(|record| match &record.data {
            Data::Other(octets) => octets.clone(),
            Data::Alias(target) => target.as_ref().as_wire().into(),
            Data::Soa(minimum) => minimum.to_be_bytes().into(),
            Data::Nsec(next, _) => next.as_ref().as_wire().into(),
        });
        return Taken { what: What::Data(data.collect()), slot: rtype, ttl, negative: false };
    }
    // Without a SOA it is not kept (RFC 2308 §5).
    let soa = message.authorities.iter().find_map(|record| match record.data {
        Data::Soa(minimum) => Some(record.ttl.min(minimum)),
        _ => None,
    });
    let (what, slot) = if message.rcode == NXDOMAIN { (What::NoName, ANY_TYPE) } else { (What::NoData, rtype) };
    Taken { what, slot, ttl: soa.unwrap_or(0), negative: true }
}

struct Found {
    what: What,
    stale: bool,
    /// Until when nothing about it changes, in milliseconds.
    until: i64,
}

#[derive(Clone, Debug)]
enum What {
    Data(Arc<[Box<[u8]>]>),
    Alias(Arc<Name>),
    NoData,
    NoName,
    Failed,
}

/// What is kept: from when on it is fetched before its end, and its end, in milliseconds.
#[derive(Clone, Debug)]
struct Entry {
    what: What,
    refresh: i64,
    ends: i64,
}

/// An NSEC record that is kept.
#[derive(Clone, Debug)]
struct Denial {
    owner: Name,
    next: Name,
    types: Vec<RrType>,
    ends: i64,
}

#[derive(Clone, Debug, Default)]
struct Cache {
    names: HashMap<Name, Vec<(RrType, Entry)>, FixedState>,
    failing: HashMap<Name, Vec<(RrType, i64)>, FixedState>,
    denials: Vec<Denial>,
}

impl Cache {
    /// What answers a question about this name and type: that it does not exist, its data, or its alias.
    fn find(&self, name: &Name, rtype: RrType) -> Option<&Entry> {
        let kept = self.names.get(name)?;
        let of = |wanted: &dyn Fn(RrType) -> bool| {
            kept.iter().filter(|(slot, _)| wanted(*slot)).map(|(_, entry)| entry).max_by_key(|entry| entry.ends)
        };
        // What ends last was told last, but for floors and caps; what is over is as good as none where another is not.
        of(&|slot| slot == rtype || slot == ANY_TYPE || slot == RrType::CNAME)
    }

    fn find_at(&self, name: &Name, slot: RrType) -> Option<&Entry> {
        self.names.get(name)?.iter().find(|(held, _)| *held == slot).map(|(_, entry)| entry)
    }

    /// Keeps an entry. An alias and the absence of the name stand instead of everything else; anything else instead of them.
    fn keep(&mut self, name: &Name, slot: RrType, entry: Entry) {
        if self.names.len() >= MOST_NAMES && !self.names.contains_key(name) {
            self.names.clear();
        }
        let alone = |slot| slot == ANY_TYPE || slot == RrType::CNAME;
        match self.names.get_mut(name) {
            Some(kept) => {
                kept.retain(|(held, _)| *held != slot && !alone(*held) && !alone(slot));
                kept.push((slot, entry));
            }
            None => drop(self.names.insert(name.clone(), vec![(slot, entry)])),
        }
        self.failing.remove(name);
    }

    fn is_failing(&self, name: &Name, rtype: RrType, now: i64) -> bool {
        let failing = self.failing.get(name);
        failing.is_some_and(|types| types.iter().any(|(failed, until)| *failed == rtype && now < *until))
    }

    fn note_failure(&mut self, name: &Name, rtype: RrType, until: i64) {
        if self.failing.len() >= MOST_NAMES {
            self.failing.clear();
        }
        let types = self.failing.entry(name.clone()).or_default();
        types.retain(|(failed, _)| *failed != rtype);
        types.push((rtype, until));
    }

    fn deny(&mut self, authorities: &[Record], ends: impl Fn(u32) -> i64) {
        for record in authorities {
            let Data::Nsec(next, types) = &record.data else { continue };
            self.denials.retain(|denial| denial.owner != record.owner);
            if self.denials.len() >= MOST_DENIALS {
                self.denials.clear();
            }
            let (owner, next, types) = (record.owner.clone(), next.clone(), types.clone());
            self.denials.push(Denial { owner, next, types, ends: ends(record.ttl) });
        }
    }

    /// What cached NSEC records say of a name (RFC 8198 §5.1, 5.2): that it has no data of this type, or that neither it nor a
    /// wildcard for it exists.
    fn denial(&self, name: NameRef<'_>, rtype: RrType, now: i64) -> Option<What> {
        let valid = || self.denials.iter().filter(|denial| now < denial.ends);
        if let Some(own) = valid().find(|denial| denial.owner.as_ref() == name) {
            let has = |rtype| own.types.contains(&rtype);
            return (!has(rtype) && !has(RrType::CNAME)).then_some(What::NoData);
        }
        let covering = valid().find(|denial| denial.covers(name))?;
        // The closest encloser is the longest name above that the record's own names share.
        let exists = |above: &NameRef<'_>| {
            covering.owner.as_ref().is_at_or_below(*above) || covering.next.as_ref().is_at_or_below(*above)
        };
        // A name that exists only by names below it has no data at all.
        if covering.next.as_ref().is_below(name) {
            return Some(What::NoData);
        }
        let encloser = name.ancestors().skip(1).find(exists)?;
        let wildcard = encloser.child(b"*").ok()?;
        valid().any(|denial| denial.covers(wildcard.as_ref())).then_some(What::NoName)
    }
}

impl Denial {
    /// Whether the name stands between owner and next name in canonical order (RFC 4034 §6.1); behind the last owner comes the
    /// apex again. What stands below a delegation or an alias for a subtree is not denied by it.
    fn covers(&self, name: NameRef<'_>) -> bool {
        let (owner, next) = (self.owner.as_ref(), self.next.as_ref());
        let cut = self.types.contains(&RrType::DNAME)
            || self.types.contains(&RrType::NS) && !self.types.contains(&RrType::SOA);
        if cut && name.is_below(owner) {
            return false;
        }
        if owner < next { owner < name && name < next } else { owner < name && name.is_at_or_below(next) }
    }
}
