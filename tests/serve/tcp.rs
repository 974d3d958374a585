//! TCP: the same answers as over UDP, in order, within bounds, and all of them.

use std::io::Write;
use std::net::{Shutdown, TcpListener, UdpSocket};
use std::time::Duration;

use crate::support::dns::{Client, REFUSED, frame, listeners, query, serve, udp_client};
use understudy::serve::tcp::TcpLimits;
use understudy::serve::{ListenSettings, Listeners, Stage};

const LOOPBACK: &[&str] = &["127.0.0.1:0"];

#[test]
fn a_thousand_queries_in_one_write_are_answered_in_order_as_over_udp() {
    let (running, _stage) = serve(LOOPBACK, 2, TcpLimits::default());
    let address = running.addresses()[0];
    let (mut client, datagrams) = (Client::connect(address), udp_client("127.0.0.1:0"));
    let all: Vec<u8> = (0..1000).flat_map(|id| frame(&query(id))).collect();
    client.0.write_all(&all).unwrap();
    for id in 0..1000 {
        datagrams.send_to(&query(id), address).unwrap();
        let mut expected = [0; 4096];
        let length = datagrams.recv(&mut expected).unwrap();
        assert_eq!(client.answer().unwrap(), &expected[..length]);
    }
    assert_eq!(running.stop().queries, [1000, 1000, 0]);
}

#[test]
fn queries_may_come_in_any_pieces_and_the_client_may_close_its_half() {
    let (running, _stage) = serve(LOOPBACK, 1, TcpLimits::default());
    let mut client = Client::connect(running.addresses()[0]);
    client.0.set_nodelay(true).unwrap();
    // A frame without content and one too short to have an id are passed over.
    let all = [frame(b""), frame(&query(1)), frame(b"short"), frame(&query(2)), vec![0, 99, 1]].concat();
    for octet in all {
        client.0.write_all(&[octet]).unwrap();
    }
    client.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().unwrap()[..2], [0, 1]);
    assert_eq!(client.answer().unwrap()[..2], [0, 2]);
    assert!(client.closed());
    assert_eq!(running.stop().silent, 2);
}

#[test]
fn a_client_has_its_share_and_others_have_theirs() {
    let (running, _stage) = serve(LOOPBACK, 2, TcpLimits { for_client: 3, ..TcpLimits::default() });
    let address = running.addresses()[0];
    let mut held: Vec<Client> = (0..3).map(|_| Client::connect(address)).collect();
    assert!(held.iter_mut().all(|client| client.ask(&query(1)).is_ok()));
    assert!(Client::connect(address).closed());
    assert!(Client::connect_from("127.0.0.2", address).ask(&query(2)).is_ok());
    // A place given back is a place to be had, as soon as the server has seen it.
    held.pop();
    while Client::connect(address).ask(&query(3)).is_err() {}
    assert!(running.stop().refused >= 1);
}

#[test]
fn the_longest_idle_connection_makes_room() {
    let (running, _stage) = serve(LOOPBACK, 2, TcpLimits { connections: 3, ..TcpLimits::default() });
    let address = running.addresses()[0];
    let mut sluggard = Client::connect(address);
    sluggard.0.write_all(&[0]).unwrap();
    let [mut one, mut two] = [1, 2].map(|id| {
        let mut client = Client::connect(address);
        assert!(client.ask(&query(id)).is_ok());
        client
    });
    let mut three = Client::connect(address);
    assert!(three.ask(&query(3)).is_ok());
    assert!(sluggard.closed());
    assert!(one.ask(&query(4)).is_ok());
    let mut four = Client::connect(address);
    assert!(four.ask(&query(5)).is_ok());
    assert!(two.closed());
    let mut kept = [one, three, four];
    assert!(kept.iter_mut().all(|client| client.ask(&query(6)).is_ok()));
    assert_eq!((running.connections(), running.stop().evicted), (3, 2));
}

#[test]
fn deadlines_end_connections_that_only_hold_a_place() {
    let (short, long) = (Duration::from_millis(150), Duration::from_secs(3600));
    let none = TcpLimits { idle: long, read: long, write: long, ..TcpLimits::default() };
    // What the client does before it falls silent, and which deadline is to end it.
    for (sends, limits) in [
        (vec![], TcpLimits { idle: short, ..none }),
        (frame(&query(1)), TcpLimits { idle: short, ..none }),
        (vec![0], TcpLimits { read: short, ..none }),
        ([frame(&query(1)), frame(&query(2))[..9].to_vec()].concat(), TcpLimits { read: short, ..none }),
        (frame(b"short"), TcpLimits { idle: short, ..none }),
    ] {
        let (running, _stage) = serve(LOOPBACK, 1, limits);
        let mut client = Client::connect(running.addresses()[0]);
        client.0.write_all(&sends).unwrap();
        if sends.len() > 12 {
            assert!(client.answer().is_ok());
        }
        assert!(client.closed());
        while running.connections() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(running.stop().expired, 1, "{sends:?}");
    }
}

#[test]
fn trickling_octets_do_not_prolong_a_query() {
    let limits = TcpLimits { read: Duration::from_millis(200), ..TcpLimits::default() };
    let (running, _stage) = serve(LOOPBACK, 1, limits);
    let mut client = Client::connect(running.addresses()[0]);
    // The length says 65,535, so that no query is ever whole; one octet at a time would take the better part of an hour.
    client.0.write_all(&[255, 255]).unwrap();
    while client.0.write_all(&[0]).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(running.stop().expired, 1);
}

#[test]
fn a_client_that_takes_no_answers_is_let_go_and_delays_nobody() {
    let limits = TcpLimits { write: Duration::from_millis(300), ..TcpLimits::default() };
    let (running, _stage) = serve(LOOPBACK, 1, limits);
    let address = running.addresses()[0];
    let mut greedy = Client::unconnected("127.0.0.1", Some(4096)).connect_to(address).0;
    let mut honest = Client::connect(address);
    let flood = std::thread::spawn(move || {
        let some: Vec<u8> = (0..1000).flat_map(|id| frame(&query(id))).collect();
        while greedy.write_all(&some).is_ok() {}
    });
    while !flood.is_finished() {
        assert!(honest.ask(&query(7)).is_ok());
    }
    flood.join().unwrap();
    assert_eq!(running.stop().expired, 1);
}

#[test]
fn a_stop_answers_what_was_asked() {
    let stage = Stage::new(Default::default()).unwrap();
    let listeners = listeners(LOOPBACK, 1, TcpLimits::default());
    // Connected in the kernel's backlog, asked, and nobody there yet to answer.
    let mut clients: Vec<Client> = (0..5).map(|_| Client::connect(listeners.addresses()[0])).collect();
    let all: Vec<u8> = (0..500).flat_map(|id| frame(&query(id))).collect();
    for client in &mut clients {
        client.0.write_all(&all).unwrap();
    }
    let idle = Client::connect(listeners.addresses()[0]);
    listeners.run(&stage).unwrap().stop();
    for client in &mut clients {
        for id in 0..500u16 {
            let answer = client.answer().unwrap();
            assert_eq!((&answer[..2], answer[3] & 15), (&id.to_be_bytes()[..], REFUSED));
        }
        assert!(client.closed());
    }
    assert!({ idle }.closed());
}

#[test]
fn ten_thousand_connections_are_bounded() {
    let (_, hard) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    // Both ends are in this process.
    let many = 10_000.min(usize::try_from(hard).unwrap_or(usize::MAX) - 1500);
    let limits = TcpLimits { connections: 1000, for_client: 1000, ..TcpLimits::default() };
    let (running, _stage) = serve(LOOPBACK, 2, limits);
    let address = running.addresses()[0];
    let mut held = Vec::new();
    for number in 0..many {
        held.push(Client::connect_from(&format!("127.0.1.{}", number % 16 + 1), address));
        assert!(running.connections() <= 1000);
    }
    // Whoever comes last is answered, and the first were closed for it.
    assert!(Client::connect(address).ask(&query(1)).is_ok());
    assert!(held[0].closed());
    assert!(running.connections() <= 1000);
    assert!(running.stop().evicted > 0);
}

#[test]
fn an_address_that_is_taken_is_named_with_what_to_do() {
    let settings = |address| ListenSettings { addresses: vec![address], ..ListenSettings::default() };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    // It would share its port with us; we don't with it.
    nix::sys::socket::setsockopt(&udp, nix::sys::socket::sockopt::ReusePort, &true).unwrap();
    for (address, transport) in [(tcp.local_addr().unwrap(), "TCP"), (udp.local_addr().unwrap(), "UDP")] {
        let error = Listeners::bind(&settings(address)).unwrap_err().to_string();
        for part in [address.to_string().as_str(), transport, "in use", "ss -lunpt"] {
            assert!(error.contains(part), "{error}");
        }
    }
    let error = Listeners::bind(&settings("192.0.2.1:0".parse().unwrap())).unwrap_err().to_string();
    assert!(error.contains("192.0.2.1:0") && error.contains("ip address"), "{error}");
}
