//! Answering allocates nothing: not one by one, not in batches, whatever is asked.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use understudy::name::Name;
use understudy::net::Network;
use understudy::serving::ahead::{TOGETHER, find_together};
use understudy::serving::asked::Asked;
use understudy::serving::content::SiteId;
use understudy::serving::ranges::Ranges;
use understudy::serving::regions::RegionId;
use understudy::serving::respond::{Asker, Transport};
use understudy::serving::{Routing, Serving, Settings};
use understudy::time::Timestamp;

#[path = "support/mod.rs"]
mod support;

use support::{engine, message, mix, sites};

/// The system's allocator, counting what the thread at hand takes.
struct Counting;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is left to the system's allocator; a counter of the thread's own is all that is added, and it needs no
// memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + 1);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory is taken while `work` is done.
fn taken<T>(work: impl FnOnce() -> T) -> usize {
    let before = TAKEN.get();
    black_box(work());
    TAKEN.get() - before
}

/// Names that lead through aliases of both kinds, next to those that the mix has.
const ODD: &str = "
loop CNAME loop
chain CNAME chain2
chain2 CNAME chain3
chain3 CNAME www
www A 192.0.2.80
tree DNAME bench.test.
* TXT \"any\"
";

#[test]
fn an_answer_allocates_nothing() {
    assert_eq!(taken(|| vec![0u8; 10]), 1, "the allocator counts");
    // So many that lookups are prepared ahead.
    let mix = mix::Mix::of(10_000);
    let origin = Name::absolute(mix::ORIGIN).unwrap();
    let zone = mix.text(1) + ODD;
    let serving = engine::serve([(&origin, zone.as_str())]);
    let mut queries = mix.queries(2000);
    let odd = ["loop", "chain", "x.tree", "www.y.tree", "nothing.here", "outside"];
    for (id, name) in odd.iter().enumerate() {
        let name = if *name == "outside" { "example.net".to_owned() } else { format!("{name}.{}", mix::ORIGIN) };
        queries.extend([1, 5, 16, 43, 255].map(|rtype| mix::query(id as u16, &name, rtype)));
    }
    // With an OPT record; and what is no query at all.
    let opt = [0, 0, 41, 4, 208, 0, 0, 128, 0, 0, 0];
    let with_edns: Vec<Vec<u8>> = queries
        .iter()
        .map(|query| {
            let mut query = [&query[..], &opt].concat();
            query[11] = 1;
            query
        })
        .collect();
    queries.extend(with_edns);
    queries.extend([vec![], vec![0; 12], vec![0xFF; 100], mix::query(1, mix::ORIGIN, 251)]);

    answered_without(&serving, &queries);
}

/// Neither with clients at both sides of a move, TTLs lowered, and a resolver that names its clients' networks.
#[test]
fn an_answer_allocates_nothing_while_traffic_moves() {
    // So many that lookups are prepared ahead.
    let mix = mix::Mix::of(10_000);
    let texts = [1, 2].map(|site| mix.text(site) + ODD + &format!("moves A 192.0.2.{site}\n"));
    let content = sites::content(mix::ORIGIN, &texts.each_ref().map(String::as_str));
    let trusted = Ranges::new([("127.0.0.0/8".parse::<Network>().unwrap(), 1)]);
    let settings = Settings { trusted_subnets: Arc::new(trusted), ..Settings::default() };
    let operators = sites::sets(&[("farm", &["10.1.0.0/16"])]);
    let mut routing = Routing::at(vec![SiteId(0)]);
    routing.shift(RegionId::default(), sites::moving(1, "50%", Some(30)), 1);
    let serving = sites::unjudged(&sites::nothing(&[], &operators, settings), &content, routing);
    let mut queries = mix.queries(1000);
    queries.extend((0..50).map(|id| mix::query(id, &format!("moves.{}", mix::ORIGIN), 1)));
    // From clients of all networks; one in eight is the farm's.
    for (number, query) in queries.iter_mut().enumerate() {
        let second = if number % 8 == 0 { 1 } else { 0 };
        query.extend([0, 0, 41, 4, 208, 0, 0, 128, 0, 0, 11, 0, 8, 0, 7, 0, 1, 24, 0, 10, second, number as u8]);
        query[11] = 1;
    }
    answered_without(&serving, &queries);
    let subnet = |query: &Vec<u8>| {
        let edns = message::read(&engine::ask(&serving, query, Transport::Tcp)).unwrap().edns.unwrap();
        edns.options.iter().any(|(code, data)| *code == 8 && data[3] == 24)
    };
    assert!(queries[1000..].iter().any(subnet), "some are told for how large a network they are good");
}

/// Asks one by one and in batches; nothing is allocated.
fn answered_without(serving: &Serving, queries: &[Vec<u8>]) {
    let mut out = vec![0; 65_535];
    let mut all: Vec<Asked> = (0..TOGETHER).map(|_| Asked::default()).collect();
    for transport in [Transport::Udp, Transport::Tcp] {
        let asker = Asker { source: IpAddr::V4(Ipv4Addr::LOCALHOST), transport, now: Timestamp(0) };
        for query in queries {
            assert_eq!(taken(|| serving.respond(query, &asker, &mut out)), 0, "{query:?}");
        }
        for batch in queries.chunks(TOGETHER) {
            let look = || {
                batch.iter().zip(&mut all).for_each(|(query, asked)| asked.read(query));
                find_together(serving, &mut all[..batch.len()]);
            };
            assert_eq!(taken(look), 0);
            for (query, asked) in batch.iter().zip(&mut all) {
                let alone = serving.respond(query, &asker, &mut out).map(|length| out[..length].to_vec());
                let (mut length, mut count) = (None, 0);
                count += taken(|| length = serving.respond_to(query, asked, &asker, &mut out));
                assert_eq!((count, length.map(|length| out[..length].to_vec())), (0, alone), "{query:?}");
            }
        }
    }
}
