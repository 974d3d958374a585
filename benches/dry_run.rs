//! What a dry run costs: `cargo bench --bench dry_run [-- NAMES [RESOLVERS]]`.
//!
//! A switchover of a zone (100,000 names unless told otherwise) to a site of which one address in a hundred differs, by all that
//! a daemon does for it: it reads the target's files, asks the gates, lists what changes and forecasts how the caches of so many
//! resolvers (10,000) drain that were told something of late. Time by the clock, as an operator waits.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use understudy::config::{Keys, read};
use understudy::driver::moves::{MoveOutcome, Moved, Order};
use understudy::driver::{self, Driver};
use understudy::exposure::note::Note;
use understudy::failover::plan::{Kind, MoveRequest};
use understudy::name::Name;
use understudy::serving::asked::Asked;
use understudy::serving::respond::{Asker, Transport};
use understudy::snapshot::sought::HashKey;
use understudy::store::Store;
use understudy::time::Timestamp;

#[path = "../tests/support/mix.rs"]
mod mix;

/// How often it is done.
const ROUNDS: usize = 5;
/// How much each resolver asked for of late.
const QUERIES: usize = 20;
/// What it may take.
const LIMIT: Duration = Duration::from_secs(2);

fn main() {
    // `cargo bench` hands on options of its own.
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let (names, resolvers) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(10_000));
    let dir = tempfile::tempdir().unwrap();
    let mix = mix::Mix::of(names);
    let mut driver = driver(dir.path(), &mix);
    note(&driver, &mix, resolvers);
    println!("{names} names, {resolvers} resolvers; {ROUNDS} dry runs of a switchover, by the clock");
    let mut times: Vec<Duration> = (0..ROUNDS).map(|round| dry_run(&mut driver, round)).collect();
    times.sort_unstable();
    println!("median {:.3} s, longest {:.3} s", times[ROUNDS / 2].as_secs_f64(), times[ROUNDS - 1].as_secs_f64());
    assert!(times[ROUNDS - 1] < LIMIT, "a dry run takes more than {} s", LIMIT.as_secs());
}

/// A driver that serves the zone from the first of two sites, all of whose text is their own.
fn driver(dir: &Path, mix: &mix::Mix) -> Driver {
    let origin = mix::ORIGIN;
    for site in ["1", "2"] {
        std::fs::write(dir.join(site), mix.text(site.parse().unwrap())).unwrap();
    }
    let text = format!(
        "version = 1\n[[zone]]\nname = '{origin}'\nname_servers = ['127.0.0.1:53']\n\
         [[zone.site]]\nname = 'one'\nfile = '1'\n[[zone.site]]\nname = 'two'\nfile = '2'\n\
         [zone.routing]\ndefault = ['one', 'two']\n"
    );
    let config = read(&dir.join("understudy.toml"), &text).unwrap();
    let setup = config.setup(Keys::default());
    let store = Store::open(None).unwrap();
    let mut driver = Driver::start(setup.clone(), store, HashKey::new(*b"a key for bench!")).unwrap();
    driver.set_own(vec!["127.0.0.1:53".parse().unwrap()]);
    driver.reload(setup, &[], &driver::daemon());
    assert_eq!(driver.serving().zones().len(), 1, "the zone is served");
    driver
}

/// What so many resolvers were told of late, each in a network of its own.
fn note(driver: &Driver, mix: &mix::Mix, resolvers: usize) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let queries = mix.queries(resolvers * QUERIES);
    let mut out = vec![0; 4096];
    let notes: Vec<Note> = queries
        .iter()
        .enumerate()
        .filter_map(|(number, query)| {
            let source = Ipv4Addr::from_bits((1 << 24) + (((number / QUERIES) as u32) << 8) + 7).into();
            let asker = Asker { source, transport: Transport::Udp, now: Timestamp(now) };
            let mut asked = Asked::of(driver.serving(), query);
            driver.serving().respond_to(query, &mut asked, &asker, &mut out)?;
            Note::of(asked.told()?, Timestamp(now)).next()
        })
        .collect();
    driver.exposures().unwrap().change(|known| {
        for notes in notes.chunks(64) {
            known.fold(notes);
        }
    });
}

fn dry_run(driver: &mut Driver, round: usize) -> Duration {
    let order = Order {
        kind: Kind::Switchover,
        request: MoveRequest { to: "two".into(), from: None, region: None },
        steps: None,
        dry_run: true,
        plan: None,
        reason: String::new(),
        overrides: Vec::new(),
    };
    let origin = Name::absolute(mix::ORIGIN).unwrap();
    let begun = Instant::now();
    let moved: Moved = driver.move_traffic(&origin, &order, &driver::daemon()).unwrap().unwrap();
    let took = begun.elapsed();
    let stopped: Vec<_> = moved.findings.iter().filter(|finding| finding.verdict.stops()).collect();
    assert!(moved.outcome == MoveOutcome::WouldChange, "{stopped:#?}");
    let drain = &moved.prospect.as_ref().expect("a forecast").drain;
    let weights: BTreeMap<_, _> =
        drain.holders.weights.iter().map(|(family, weight)| (family.to_string(), weight.all)).collect();
    println!(
        "  {:.3} s: {} records change, {} networks and questions, {} steps, answers of late {weights:?}",
        took.as_secs_f64(),
        moved.changes.len() + moved.unlisted,
        drain.holders.entries,
        drain.steps.len(),
    );
    assert!(round > 0 || drain.holders.entries > 0);
    took
}
