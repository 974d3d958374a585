//! What reading a zone and answering from it costs, step by step: `cargo bench --bench engine [-- NAMES]`.
//!
//! A plain harness: each step is run several times and the median is told, as CPU time of this thread in nanoseconds for
//! each record or query. How it compares with other servers, over sockets, is what `scripts/bench` measures.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use understudy::door::{Candidate, Proposal};
use understudy::exposure::note::Note;
use understudy::exposure::{Exposures, Limits as Room};
use understudy::gate::{Finding, id};
use understudy::name::Name;
use understudy::serving::ahead::{TOGETHER, find_together};
use understudy::serving::asked::Asked;
use understudy::serving::content::{Content, Policy, SiteContent, SiteId};
use understudy::serving::regions::Regions;
use understudy::serving::respond::{Asker, Transport};
use understudy::serving::{Routing, Serving, Settings};
use understudy::snapshot::Snapshot;
use understudy::snapshot::compile::Shape;
use understudy::snapshot::emit::HEADER;
use understudy::snapshot::sought::{HashKey, Sought};
use understudy::time::Timestamp;
use understudy::zone::check::{Limits, check};
use understudy::zone::diff::diff;
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::Zone;
use understudy::zone::text::ZoneText;

/// As in the program itself.
#[global_allocator]
static MEMORY: understudy::pages::LargePages = understudy::pages::LargePages;

#[path = "../tests/support/mix.rs"]
mod mix;

/// How often each step is run.
const ROUNDS: usize = 5;
/// Queries in a round.
const QUERIES: usize = 100_000;

fn main() {
    // `cargo bench` hands on options of its own.
    let names = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let mix = mix::Mix::of(names);
    let origin = Name::absolute(mix::ORIGIN).unwrap();
    let text = read(&origin, &mix.text(1));
    let records = text.records.len();
    println!("{names} names, {records} records, {} octets of text; median of {ROUNDS}", mix.text(1).len());

    let octets: Arc<[u8]> = mix.text(1).into_bytes().into();
    step("parse", records, || read_octets(&origin, Arc::clone(&octets)));
    step("sort and pack", records, || Zone::new(Some(&text), None));
    let mut zone = Zone::new(Some(&text), None).unwrap();
    step("check", records, || check(&zone, &Limits::default()));
    zone.settle();
    let shape = Shape { key: HashKey::new(*b"a key for bench!"), negative_ttl: None, max_ttl: None };
    step("compile", records, || Snapshot::compile(&zone, shape).unwrap());
    step("digest", records, || zone.clone().digest());
    let mut other = Zone::new(Some(&read(&origin, &mix.text(2))), None).unwrap();
    other.settle();
    step("diff", records, || diff(&zone, &other).count());

    let empty = Arc::new(Serving::empty(0, shape.key, Settings::default(), Regions::default()));
    let serving = publish(&empty, &zone, shape);
    let next = content(&other, shape);
    step("verify an edit", records, || candidate(&serving, &next).verify(&[]).unwrap().findings().len());

    // As it is right after a start: nothing is known of either site.
    let moved = || moved(&empty, [("one", &zone), ("other", &other)], shape);
    step_after("verify a move", records, moved, |candidate| candidate.learn());

    let queries: Vec<Vec<u8>> = mix.queries(QUERIES);
    let asker = Asker { source: IpAddr::V4(Ipv4Addr::LOCALHOST), transport: Transport::Udp, now: Timestamp(0) };
    let mut out = vec![0; 4096];
    step("answer, one by one", QUERIES, || {
        queries.iter().map(|query| serving.respond(query, &asker, &mut out).unwrap()).sum::<usize>()
    });
    let mut all: Vec<Asked> = (0..TOGETHER).map(|_| Asked::default()).collect();
    step("answer, together", QUERIES, || {
        queries.chunks(TOGETHER).map(|batch| together(&serving, batch, &mut all, &asker, &mut out)).sum::<usize>()
    });
    // So many networks are told something first; then it is measured what it takes to note more.
    for networks in [10_000, 10_000_000u32] {
        let mut exposures = Exposures::new(Room { memory: 256 << 20, ..Room::default() }, 7, Timestamp(0));
        let note = |number: u32| told(&serving, &queries[number as usize % QUERIES], number, networks);
        for first in (0..networks).step_by(TOGETHER) {
            let notes: Vec<Note> = (first..networks.min(first + TOGETHER as u32)).map(note).collect();
            exposures.fold(&notes);
        }
        let more: Vec<Note> = (0..QUERIES as u32).map(|number| note(number.wrapping_mul(97))).collect();
        step(&format!("fold, {networks} nets"), QUERIES, || exposures.fold(&more));
        let [shorter, none] = exposures.networks().coarsened();
        println!("    {} MiB; of 1000 parts {shorter} are coarse, {none} closed", exposures.octets() >> 20);
    }
    let mut sought = Sought::default();
    step("hash alone", QUERIES, || queries.iter().filter(|query| sought.set(shape.key, &query[HEADER..])).count());
}

/// What the answer to a query told a client of one of so many networks.
fn told(serving: &Serving, query: &[u8], number: u32, networks: u32) -> Note {
    let client =
        Ipv4Addr::from_bits((((u64::from(number.wrapping_mul(0x9E37_79B9)) * u64::from(networks)) >> 32) << 8) as u32);
    let asker = Asker { source: client.into(), transport: Transport::Udp, now: Timestamp(0) };
    let mut asked = Asked::of(serving, query);
    serving.respond_to(query, &mut asked, &asker, &mut [0; 4096]).unwrap();
    Note::of(asked.told().unwrap(), Timestamp(0)).next().unwrap()
}

fn together(serving: &Serving, batch: &[Vec<u8>], all: &mut [Asked], asker: &Asker, out: &mut [u8]) -> usize {
    batch.iter().zip(&mut *all).for_each(|(query, asked)| asked.read(query));
    find_together(serving, &mut all[..batch.len()]);
    batch.iter().zip(all).map(|(query, asked)| serving.respond_to(query, asked, asker, out).unwrap()).sum()
}

/// Runs a step, and says what it cost.
fn step<T>(what: &str, count: usize, mut work: impl FnMut() -> T) {
    step_after(what, count, || (), |()| work());
}

/// Runs a step that something is made for each time; what that costs does not count.
fn step_after<P, T>(what: &str, count: usize, prepare: impl Fn() -> P, mut work: impl FnMut(&P) -> T) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let prepared = prepare();
            let start = cpu_time();
            let made = black_box(work(&prepared));
            let spent = cpu_time() - start;
            drop(made);
            spent
        })
        .collect();
    times.sort_unstable();
    let median = times[ROUNDS / 2].as_secs_f64();
    println!(
        "{what:20} {:9.1} ns each {:9.3} s {:9.2} M/s",
        median * 1e9 / count as f64,
        median,
        count as f64 / median / 1e6
    );
}

/// The CPU time that this thread has used.
fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let microseconds = [usage.user_time(), usage.system_time()].map(|time| time.num_microseconds() as u64);
    Duration::from_micros(microseconds.iter().sum())
}

/// Nothing is included.
struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path}: there are no other files here"))
    }
}

fn read(origin: &Name, text: &str) -> ZoneText {
    read_octets(origin, text.as_bytes().into())
}

fn read_octets(origin: &Name, octets: Arc<[u8]>) -> ZoneText {
    let source = Source { path: "bench.zone".into(), octets };
    reader::read(origin, source, &mut NoSources).into_text().unwrap()
}

fn content(zone: &Zone, shape: Shape) -> Arc<Content> {
    content_of(vec![site("only", zone, shape)])
}

fn content_of(sites: Vec<SiteContent>) -> Arc<Content> {
    let origin = sites[0].zone.origin().to_name();
    Arc::new(Content { origin, sites, policy: Policy::default(), epoch: 0, overlays: Default::default() })
}

fn site(name: &str, zone: &Zone, shape: Shape) -> SiteContent {
    let snapshot = Arc::new(Snapshot::compile(zone, shape).unwrap());
    SiteContent { name: name.into(), zone: Arc::new(zone.clone()), snapshot, signatures: None }
}

/// A move of everybody from one site to another, as a server sees it that has just started.
fn moved(empty: &Arc<Serving>, sites: [(&str, &Zone); 2], shape: Shape) -> Candidate {
    let mut sites = sites.map(|(name, zone)| site(name, zone, shape));
    let [one, other] = &mut sites;
    Arc::get_mut(&mut other.snapshot).unwrap().share(&one.snapshot);
    Arc::get_mut(&mut other.zone).unwrap().share(&one.zone);
    let content = content_of(sites.into());
    let serving = candidate(empty, &content).verify(&[]).unwrap();
    rerouted(serving.serving(), &content, SiteId(1))
}

fn candidate(before: &Arc<Serving>, content: &Arc<Content>) -> Candidate {
    rerouted(before, content, SiteId(0))
}

fn rerouted(before: &Arc<Serving>, content: &Arc<Content>, to: SiteId) -> Candidate {
    let proposal = Proposal {
        content: Arc::clone(content),
        routing: Routing::at(vec![to]),
        loads: Finding::pass(id::LOADS, content.origin.as_ref(), "read without an error"),
        restored: None,
    };
    Candidate::new(Arc::clone(before), vec![proposal], Timestamp(0))
}

fn publish(before: &Arc<Serving>, zone: &Zone, shape: Shape) -> Arc<Serving> {
    Arc::clone(candidate(before, &content(zone, shape)).verify(&[]).unwrap().serving())
}
