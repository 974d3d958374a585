//! Datagrams: whence answers leave, and that none is lost while content is swapped or the server stops.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::blast::{Blast, Echo};
use crate::support::dns::{Client, REFUSED, listeners, query, udp_client};
use understudy::door::Candidate;
use understudy::serve::rrl::RateLimit;
use understudy::serve::tcp::TcpLimits;
use understudy::serve::{ListenSettings, Listeners, Running, Stage};
use understudy::time::Timestamp;

fn serve(addresses: &[&str], workers: usize) -> (Running, Arc<Stage>) {
    crate::support::dns::serve(addresses, workers, TcpLimits::default())
}

#[test]
fn answers_leave_from_the_address_that_was_asked() {
    for (listen, asked) in [
        ("0.0.0.0:0", &["127.0.0.1", "127.0.0.2", "127.77.8.9"][..]),
        ("127.0.0.3:0", &["127.0.0.3"]),
        ("[::]:0", &["::1"]),
        ("[::1]:0", &["::1"]),
    ] {
        let (running, _stage) = serve(&[listen], 2);
        let port = running.addresses()[0].port();
        for asked in asked {
            let asked = SocketAddr::new(asked.parse::<IpAddr>().unwrap(), port);
            let client = udp_client(if asked.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" });
            client.send_to(&query(77), asked).unwrap();
            let mut answer = [0; 512];
            let (length, from) = client.recv_from(&mut answer).unwrap();
            assert_eq!((from, &answer[..2], answer[3] & 15), (asked, &[0, 77][..], REFUSED), "{listen}");
            assert!(length >= 12);
        }
        let tally = running.stop();
        assert_eq!((tally.queries[0], tally.rcodes[5]), (asked.len() as u64, asked.len() as u64));
    }
}

#[test]
fn ipv4_and_ipv6_wildcards_share_a_port() {
    let (running, _stage) = serve(&["0.0.0.0:0"], 1);
    let port = running.addresses()[0].port();
    let (six, _stage) = serve(&[&format!("[::]:{port}")], 1);
    assert_eq!(six.addresses()[0].port(), port);
}

#[test]
fn silence_for_packets_that_are_no_query() {
    let (running, _stage) = serve(&["127.0.0.1:0"], 1);
    let client = udp_client("127.0.0.1:0");
    let mut answer = query(1);
    answer[2] |= 0x80;
    for silent in [&b""[..], b"short", &answer, &[0; 5000], &query(2)] {
        client.send_to(silent, running.addresses()[0]).unwrap();
    }
    let mut buffer = [0; 512];
    let length = client.recv(&mut buffer).unwrap();
    // Datagrams of one socket come in order: nothing before it was answered.
    assert_eq!((&buffer[..2], length >= 12), (&[0, 2][..], true));
    let tally = running.stop();
    assert_eq!((tally.queries[0], tally.silent, tally.discarded), (4, 3, 1));
}

#[test]
fn a_stop_answers_what_is_queued() {
    const QUERIES: u16 = 3000;
    let stage = Stage::new(Arc::default()).unwrap();
    let listeners = listeners(&["127.0.0.1:0"], 2, TcpLimits::default());
    let client = udp_client("127.0.0.1:0");
    client.connect(listeners.addresses()[0]).unwrap();
    // All are queued before there is anybody to answer, and the stop comes before most of them are.
    for id in 0..QUERIES {
        client.send(&query(id)).unwrap();
    }
    let tally = listeners.run(&stage).unwrap().stop();
    let mut buffer = [0; 512];
    client.set_nonblocking(true).unwrap();
    let answered = std::iter::from_fn(|| client.recv(&mut buffer).ok()).count();
    assert_eq!((answered, tally.overflowed), (usize::from(QUERIES), 0));
}

#[test]
fn an_idle_server_stops_at_once() {
    let (running, _stage) = serve(&["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"], 2);
    assert_eq!(running.stop().queries, [0; 3]);
}

#[test]
fn no_query_is_lost_while_content_is_swapped() {
    let (running, stage) = serve(&["127.0.0.1:0"], 2);
    let blast = Blast { target: running.addresses()[0], rate: 20_000, queries: vec![query(0)], rounds: 10 };
    let outcome = blast.run(
        |_, answer| answer.len() >= 12 && answer[3] & 15 == REFUSED,
        |_| {
            for _ in 0..400 {
                let nothing = Candidate::new(Arc::clone(&stage.load()), Vec::new(), Timestamp::default());
                stage.publish(&nothing.verify(&[]).unwrap());
                std::thread::sleep(Duration::from_millis(5));
            }
        },
    );
    println!("{outcome:?}");
    assert_eq!((outcome.lost, outcome.strange, running.stop().overflowed), (0, 0, 0));
    assert!(outcome.sent > 1000, "{outcome:?}");
}

#[test]
fn answers_over_the_rate_limit_are_held_back_and_tcp_is_not_limited() {
    const QUERIES: u16 = 500;
    let stage = Stage::new(Arc::default()).unwrap();
    let settings = ListenSettings {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        // So long that what time gives back doesn't count.
        rate_limit: Some(RateLimit {
            per_second: NonZeroU32::MIN,
            window: Duration::from_secs(100),
            ..RateLimit::default()
        }),
        ..ListenSettings::default()
    };
    let running = Listeners::bind(&settings).unwrap().run(&stage).unwrap();
    let client = udp_client("127.0.0.1:0");
    client.connect(running.addresses()[0]).unwrap();
    let mut tcp = Client::connect(running.addresses()[0]);
    for id in 0..QUERIES {
        client.send(&query(id)).unwrap();
        assert!(tcp.ask(&query(id)).is_ok());
    }
    let tally = running.stop();
    client.set_nonblocking(true).unwrap();
    let mut buffer = [0; 512];
    let answers: Vec<u8> = std::iter::from_fn(|| client.recv(&mut buffer).ok().map(|_| buffer[2])).collect();
    let (cut, whole): (Vec<u8>, Vec<u8>) = answers.iter().partition(|flags| **flags & 2 != 0);
    assert!((100..150).contains(&whole.len()), "{}", whole.len());
    assert_eq!(tally.limited as usize, usize::from(QUERIES) - whole.len());
    assert_eq!(cut.len(), tally.limited as usize / 2);
}

#[test]
fn the_load_sees_a_single_answer_lost() {
    let server = Echo::start_lossy(50);
    let blast = Blast { target: server.address, rate: 5_000, queries: vec![query(0)], rounds: 1 };
    let busy = || server.seen.load(Ordering::Acquire) < 100;
    let outcome = blast.run(
        |_, _| true,
        |_| {
            while busy() {
                std::thread::sleep(Duration::from_millis(1));
            }
        },
    );
    assert_eq!((outcome.lost, outcome.answered + 1), (1, outcome.sent));
}
