//! Resolvers that ask the simulated zone: they keep what they are told for as long as they may, and follow aliases by
//! themselves. All by packets; nothing here is shared with what answers.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;
use understudy::serving::Serving;
use understudy::serving::content::Content;
use understudy::serving::respond::{Asker, Transport};
use understudy::time::Timestamp;
use understudy::world::sim::resolver::{Habits, Outcome, Prefetch, Resolver as Model, Stale};

use crate::case::ResolverSpec;
use crate::content::origin;
use crate::support::generate::Rng;
use crate::support::message::{self, Message, Record};

/// What is kept of one name and type.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The data; none: there is nothing.
    pub rdatas: Vec<Vec<u8>>,
    /// Until when it may be used.
    pub until: Timestamp,
    /// The site that it was answered from.
    pub site: Arc<str>,
    /// Who was answered.
    pub egress: IpAddr,
    /// What the zone said then.
    pub content: Arc<Content>,
}

/// Few names have anything to be kept.
pub type Cache = Vec<((Name, RrType), Entry)>;

/// What users ask for.
static FRONTS: LazyLock<[Name; 3]> = LazyLock::new(|| ["www", "api", "mx"].map(below_origin));
/// The name by which a site tells its own.
static SITE: LazyLock<Name> = LazyLock::new(|| below_origin("site"));

fn below_origin(label: &str) -> Name {
    Name::absolute(&format!("{label}.{}", origin())).unwrap()
}

fn front(label: &str) -> &'static Name {
    let [www, api, mx] = &*FRONTS;
    match label {
        "www" => www,
        "api" => api,
        _ => mx,
    }
}

/// A resolver with one or more addresses that it asks from.
pub struct Resolver {
    egresses: Vec<IpAddr>,
    caches: Vec<Cache>,
    pause: u64,
    rng: Rng,
    sites: Sites,
    /// When its users ask next.
    pub next: Timestamp,
}

/// The sites that addresses are answered from, as long as the same is served.
#[derive(Default)]
struct Sites {
    serving: Option<Arc<Serving>>,
    told: Vec<(IpAddr, Arc<str>)>,
}

impl Sites {
    fn of(&mut self, serving: &Arc<Serving>, source: IpAddr, now: Timestamp) -> Result<Arc<str>, String> {
        if !self.serving.as_ref().is_some_and(|known| Arc::ptr_eq(known, serving)) {
            *self = Sites { serving: Some(Arc::clone(serving)), told: Vec::new() };
        }
        if let Some((_, site)) = self.told.iter().find(|(address, _)| *address == source) {
            return Ok(Arc::clone(site));
        }
        let site: Arc<str> = site_of(serving, source, now)?.into();
        self.told.push((source, Arc::clone(&site)));
        Ok(site)
    }
}

impl Resolver {
    pub fn new(spec: &ResolverSpec, seed: u64, now: Timestamp) -> Resolver {
        let egresses: Vec<IpAddr> = spec.egresses.iter().map(|octets| IpAddr::V4(Ipv4Addr::from(*octets))).collect();
        let caches = vec![Cache::new(); if spec.shared { 1 } else { egresses.len() }];
        Resolver { egresses, caches, pause: spec.pause, rng: Rng::new(seed), sites: Sites::default(), next: now }
    }

    pub fn caches(&self) -> impl Iterator<Item = &((Name, RrType), Entry)> {
        self.caches.iter().flatten()
    }

    /// Has its users ask soon.
    pub fn hurry(&mut self, now: Timestamp) {
        self.next = self.next.min(Timestamp(now.0 + self.rng.below(3000) as i64));
    }

    /// A user asks for one of the names that always resolve.
    pub fn ask(&mut self, serving: &Arc<Serving>, now: Timestamp) -> Result<(), String> {
        let told = *self.rng.pick(&["www", "www", "www", "api", "mail"]);
        self.next = Timestamp(now.0 + 1 + self.rng.below(2 * self.pause as usize) as i64);
        // A farm hands each question of a user to one of its machines.
        let machine = self.rng.below(self.egresses.len());
        let answer = match told {
            "mail" => self.resolve(serving, now, machine, origin(), RrType::MX).and_then(|exchanges| {
                let exchange = name_in(&exchanges[0][2..])?;
                self.resolve(serving, now, machine, exchange, RrType::A)
            }),
            label => self.resolve(serving, now, machine, front(label).clone(), RrType::A),
        };
        answer.map(drop).map_err(|why| format!("{told} does not resolve for {}: {why}", self.egresses[machine]))
    }

    fn resolve(
        &mut self,
        serving: &Arc<Serving>,
        now: Timestamp,
        machine: usize,
        mut name: Name,
        rtype: RrType,
    ) -> Result<Vec<Vec<u8>>, String> {
        // One cache may be filled from any address.
        let (cache, shared) = if self.caches.len() == 1 { (0, true) } else { (machine, false) };
        let mut asked = 0;
        for _ in 0..12 {
            let held = |rtype| {
                let mut kept = self.caches[cache].iter().filter(|((owner, of), _)| *of == rtype && *owner == name);
                kept.next().map(|(_, entry)| entry).filter(|entry| entry.until > now)
            };
            if let Some(held) = held(rtype) {
                if held.rdatas.is_empty() {
                    return Err(format!(
                        "it is held that {name} has no {rtype}, as {} told {}",
                        held.site, held.egress
                    ));
                }
                return Ok(held.rdatas.clone());
            }
            if let Some(alias) = held(RrType::CNAME).filter(|alias| !alias.rdatas.is_empty()) {
                name = name_in(&alias.rdatas[0])?;
                continue;
            }
            if asked > 4 {
                break;
            }
            asked += 1;
            let egress = if shared { *self.rng.pick(&self.egresses) } else { self.egresses[machine] };
            let answer = ask(serving, egress, &name, rtype, now)?;
            let site = self.sites.of(serving, egress, now)?;
            let zone = serving.zone(origin().as_ref()).ok_or("the zone is not served")?;
            let source = Source { now, site, egress, content: Arc::clone(&zone.content) };
            learn(&mut self.caches[cache], &answer, &name, rtype, &source)?;
        }
        Err(format!("it goes round in circles at {name}"))
    }
}

/// A resolver with habits of its own, which may keep what it is told for longer than it should.
pub struct Odd {
    egresses: Vec<IpAddr>,
    model: Model,
    pause: u64,
    rng: Rng,
    /// Where answers are written.
    out: Box<[u8]>,
    pub next: Timestamp,
}

impl Odd {
    pub fn new(spec: &ResolverSpec, seed: u64, now: Timestamp) -> Odd {
        let egresses: Vec<IpAddr> = spec.egresses.iter().map(|octets| IpAddr::V4(Ipv4Addr::from(*octets))).collect();
        let mut rng = Rng::new(seed);
        let habits = Habits {
            floor: *rng.pick(&[0, 0, 30, 300]),
            cap: *rng.pick(&[u32::MAX, 60]),
            negative_floor: *rng.pick(&[0, 60]),
            late: *rng.pick(&[0, 0, 30]),
            prefetch: *rng.pick(&[Prefetch::Never, Prefetch::LastTenth, Prefetch::Last(10, 60)]),
            stale: *rng.pick(&[Stale::Never, Stale::OnFailure(3600), Stale::AtOnce(3600)]),
            caches: *rng.pick(&[1, 3, 8]),
            nxdomain_cut: rng.chance(50),
            ..Habits::default()
        };
        let model = Model::new(egresses[0], habits, seed);
        Odd { egresses, model, pause: spec.pause, rng, out: vec![0; 65_535].into(), next: now }
    }

    /// A user asks for one of the names that always resolve.
    pub fn ask(&mut self, serving: &Serving, now: Timestamp) -> Result<(), String> {
        let told = *self.rng.pick(&["www", "www", "api", "mx"]);
        self.next = Timestamp(now.0 + 1 + self.rng.below(2 * self.pause as usize) as i64);
        let Odd { egresses, model, rng, out: written, .. } = self;
        let mut server = |packet: &[u8], _: IpAddr, now: Timestamp, out: &mut Vec<u8>| {
            let asker = Asker { source: *rng.pick(egresses), transport: Transport::Tcp, now };
            let length = serving.respond(packet, &asker, written).unwrap_or(0);
            out.extend_from_slice(&written[..length]);
        };
        match model.resolve(front(told), RrType::A, now, &mut server).outcome {
            Outcome::Data(_) => Ok(()),
            other => Err(format!("{told} does not resolve for an odd resolver at {}: {other:?}", egresses[0])),
        }
    }
}

/// Where an answer comes from.
struct Source {
    now: Timestamp,
    site: Arc<str>,
    egress: IpAddr,
    content: Arc<Content>,
}

/// Keeps what an answer says.
fn learn(cache: &mut Cache, answer: &Message, name: &Name, rtype: RrType, source: &Source) -> Result<(), String> {
    if ![0, 3].contains(&answer.rcode()) {
        return Err(format!("{name} {rtype} was answered with code {}", answer.rcode()));
    }
    let mut keep = |owner: &Name, rtype, rdatas: Vec<Vec<u8>>, ttl: u32| {
        let Source { now, ref site, egress, ref content } = *source;
        let until = Timestamp(now.0 + i64::from(ttl) * 1000);
        let entry = Entry { rdatas, until, site: Arc::clone(site), egress, content: Arc::clone(content) };
        match cache.iter_mut().find(|((kept, of), _)| *of == rtype && kept == owner) {
            Some((_, kept)) => *kept = entry,
            None => cache.push(((owner.as_ref().to_lowercase(), rtype), entry)),
        }
    };
    let mut end = name.clone();
    for record in &answer.answers {
        let set: Vec<&Record> = answer
            .answers
            .iter()
            .filter(|other| (&other.owner, other.rtype) == (&record.owner, record.rtype))
            .collect();
        let ttl = set.iter().map(|record| record.ttl).min().unwrap_or(0);
        keep(&record.owner, record.rtype, set.iter().map(|record| record.rdata.clone()).collect(), ttl);
        if record.rtype == RrType::CNAME {
            end = name_in(&record.rdata)?;
        }
    }
    if answer.answers.iter().all(|record| record.rtype != rtype) {
        let soa = answer.authorities.iter().find(|record| record.rtype == RrType::SOA);
        let soa = soa.ok_or_else(|| format!("{name} {rtype}: nothing, and no SOA either"))?;
        let minimum = u32::from_be_bytes(soa.rdata[soa.rdata.len() - 4..].try_into().unwrap());
        keep(&end, rtype, Vec::new(), soa.ttl.min(minimum).max(1));
    }
    Ok(())
}

fn name_in(rdata: &[u8]) -> Result<Name, String> {
    NameRef::read(rdata).map(NameRef::to_name).map_err(|why| format!("{why:?}"))
}

/// The longest answer that is asked for (RFC 6891 §6.2.3).
const PAYLOAD: usize = 1232;

/// What an address is answered.
pub fn ask(serving: &Serving, source: IpAddr, name: &Name, rtype: RrType, now: Timestamp) -> Result<Message, String> {
    let packet = message::query(7, name.as_ref(), rtype, false, Some(PAYLOAD as u16));
    let mut out = [0; PAYLOAD];
    let asker = Asker { source, transport: Transport::Udp, now };
    let length = serving.respond(&packet, &asker, &mut out).ok_or("no answer at all")?;
    message::read(&out[..length]).map_err(|wrong| wrong.to_string())
}

/// The site that an address is answered from, as the site itself says.
pub fn site_of(serving: &Serving, source: IpAddr, now: Timestamp) -> Result<String, String> {
    let answer = ask(serving, source, &SITE, RrType(16), now)?;
    let told = answer.answers.first().ok_or("no site")?;
    Ok(String::from_utf8_lossy(&told.rdata[1..]).into_owned())
}
