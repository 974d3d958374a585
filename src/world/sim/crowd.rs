//! Clients behind a simulated resolver, each of which uses one name again and again.

use std::time::Duration;

use super::chance::Chance;
use super::population::{Egress, Minds};
use super::resolver::{Ask, Outcome, Resolver};
use crate::name::Name;
use crate::rr::RrType;
use crate::time::Timestamp;

/// What is watched: how clients use a name from some time on.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
    /// The TTL, in seconds, that the old answer is told with: before the beginning, caches are filled with it.
    pub ttl: u32,
    /// Whether the old answer is a negative one.
    pub negative: bool,
    /// From when uses are counted.
    pub begin: Timestamp,
    /// The ends of the spans that they are counted in, in milliseconds behind the beginning, rising.
    pub ends: Vec<i64>,
    /// What clients keep themselves, and how often they use the name.
    pub minds: Minds,
}

/// What a client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The old answer.
    Old,
    /// The new one.
    New,
    /// Neither: it failed, or was something else.
    Neither,
}

/// What was counted in one span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Uses of the old answer.
    pub old: u64,
    /// Uses of the new one.
    pub new: u64,
    /// Uses of neither.
    pub neither: u64,
    /// Clients that used the new one for the first time.
    pub arrived: u64,
    /// Queries that resolvers sent.
    pub queries: u64,
}

impl Count {
    /// The share of uses that had the new answer; none where there was no use.
    pub fn share(&self) -> Option<f64> {
        let all = self.old + self.new + self.neither;
        (all > 0).then(|| self.new as f64 / all as f64)
    }

    /// Both together.
    pub fn and(self, other: Count) -> Count {
        Count {
            old: self.old + other.old,
            new: self.new + other.new,
            neither: self.neither + other.neither,
            arrived: self.arrived + other.arrived,
            queries: self.queries + other.queries,
        }
    }
}

struct Client {
    /// Until when it keeps the answer that it has, in milliseconds behind the beginning.
    until: f64,
    /// How long it keeps one, in milliseconds.
    keeps: f32,
    told: Told,
    arrived: bool,
}

/// Clients use a name at least so seldom, in seconds, lest there be no end.
const LEAST_PAUSE: f64 = 0.01;

/// Counts what the clients of one resolver are told, span by span. Each of them uses the name by chance and independently of
/// the others, so that all together are one stream in which each use is anybody's.
///
/// At the beginning caches were filled with the old answer, at no time in particular, and so were clients.
pub fn watch(egress: &Egress, watch: &Watch, server: &mut dyn Ask, told: impl Fn(&Outcome) -> Told) -> Vec<Count> {
    let mut counts = vec![Count::default(); watch.ends.len()];
    let end = watch.ends.last().map_or(0.0, |end| *end as f64);
    let mut chance = Chance::new(egress.seed);
    let mut resolver = Resolver::new(egress.address, egress.habits.clone(), chance.draw());
    let caches = egress.habits.caches.max(1);
    let pause = watch.minds.pause.max(LEAST_PAUSE) * 1000.0;
    let mut clients = clients(egress.clients, &watch.minds, pause, &mut chance);
    if clients.is_empty() {
        return counts;
    }
    // From one time that a cache is filled to the next: what it holds, and until somebody asks.
    let fetches: f64 = clients.iter().map(|client| 1.0 / (f64::from(client.keeps) + pause)).sum();
    let wait = f64::from(caches) / fetches;
    let cycle = millis(egress.habits.cycle(watch.ttl, watch.negative)) + wait;
    // Long enough that hardly any was not asked yet: one that gives out stale answers has an old one, however old.
    let mut now = -2.0 * cycle - 7.0 * wait;
    clients.iter_mut().for_each(|client| client.until += now);
    // Each cache begins anywhere within a cycle, and is at any point of it at any time from there on.
    let mut begins: Vec<(f64, u16)> = (0..caches).map(|cache| (now + chance.share() * cycle, cache)).collect();
    begins.sort_by(|one, other| other.0.total_cmp(&one.0));
    // What each cache says, and until when it is sure to: asked again and again, most queries find that.
    let mut says = vec![(Told::Neither, f64::MIN); usize::from(caches)];
    let mut span = 0;
    loop {
        now += chance.wait(pause / f64::from(egress.clients));
        if now >= end {
            return counts;
        }
        while let Some((_, cache)) = begins.pop_if(|(begin, _)| *begin <= now) {
            resolver.forget(cache);
            says[usize::from(cache)].1 = f64::MIN;
        }
        let client = &mut clients[chance.below(egress.clients) as usize];
        let asked = resolver.asked();
        if now >= client.until {
            let cache = resolver.pick();
            let says = &mut says[cache];
            if now >= says.1 {
                let at = |time: f64| Timestamp(watch.begin.0.saturating_add(time.floor() as i64));
                let reply = resolver.resolve_by(cache, &watch.name, watch.rtype, at(now), server);
                *says = (told(&reply.outcome), reply.until.0.saturating_sub(watch.begin.0) as f64);
            }
            client.told = says.0;
            client.until = now + f64::from(client.keeps);
        }
        if now < 0.0 {
            continue;
        }
        while watch.ends[span] as f64 <= now {
            span += 1;
        }
        let count = &mut counts[span];
        count.queries += resolver.asked() - asked;
        match client.told {
            Told::Old => count.old += 1,
            Told::New => count.new += 1,
            Told::Neither => count.neither += 1,
        }
        if client.told == Told::New && !client.arrived {
            client.arrived = true;
            count.arrived += 1;
        }
    }
}

/// So many clients, each somewhere between two fetches: the time until which it keeps the old answer is counted from now.
fn clients(count: u32, minds: &Minds, pause: f64, chance: &mut Chance) -> Vec<Client> {
    let mut client = || {
        let keeps = if chance.share() < minds.part { chance.between(minds.least, minds.most) * 1000.0 } else { 0.0 };
        let holds = chance.share() * (keeps + pause) < keeps;
        let until = if holds { chance.share() * keeps } else { 0.0 };
        Client { until, keeps: keeps as f32, told: Told::Old, arrived: false }
    };
    (0..count).map(|_| client()).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}
