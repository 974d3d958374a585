//! dnstap, as `fstrm_capture` collects and BIND's `dnstap-read` reads it, and that nobody who is asked waits for it.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::daemon::Home;
use crate::support::dns::{Client, PATIENCE, listeners, query, udp_client};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use understudy::rr::RrType;
use understudy::serve::dnstap::{Settings, Tap, Target};
use understudy::serve::tcp::TcpLimits;
use understudy::serve::{Running, Stage};

/// Answers by one worker on these addresses, and shows it.
fn show(addresses: &[&str], to: Target, sample: u32) -> (Running, Arc<Tap>) {
    let tap = Tap::start(&Settings { to, sample: NonZeroU32::new(sample).unwrap(), identity: None }).unwrap();
    let stage = Stage::new(Arc::default()).unwrap();
    stage.show_by(Arc::clone(&tap));
    (listeners(addresses, 1, TcpLimits::default()).run(&stage).unwrap(), tap)
}

fn file(path: PathBuf) -> Target {
    Target::File { path, most: 1 << 30 }
}

/// What `dnstap-read` makes of a file: with `-y` in full, else a line for each message. Without the times.
fn read(path: &Path, full: bool) -> String {
    let mut command = Command::new("dnstap-read");
    command.args(full.then_some("-y")).arg(path);
    let output = command.output().expect("dnstap-read is missing: ./scripts/test installs it (package bind9-dnsutils)");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The lines of a file without their times.
fn lines(path: &Path) -> Vec<String> {
    let cut = |line: &str| line.splitn(3, ' ').nth(2).unwrap().to_owned();
    read(path, false).lines().map(cut).collect()
}

/// A collector. It is killed when it is dropped.
struct Collector(Child);

impl Collector {
    /// Takes connections when this returns.
    fn start(socket: &Path, file: &Path) -> Collector {
        let mut command = Command::new("fstrm_capture");
        command.args(["-t", "protobuf:dnstap.Dnstap", "-u"]).arg(socket).arg("-w").arg(file);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let collector =
            Collector(child.expect("fstrm_capture is missing: ./scripts/test installs it (package fstrm-bin)"));
        until("the collector listens", || socket.exists());
        collector
    }

    /// Lets it write what it has; it is gone when this returns.
    fn stop(mut self) {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Asks over UDP; the address that it was asked from.
fn ask(server: SocketAddr, count: u16) -> SocketAddr {
    let client = udp_client(if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" });
    for id in 0..count {
        client.send_to(&query(id), server).unwrap();
        assert!(client.recv(&mut [0; 512]).unwrap() >= 12);
    }
    client.local_addr().unwrap()
}

#[test]
fn queries_and_answers_are_read_by_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("queries.dnstap");
    let (running, tap) = show(&["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"], file(path.clone()), 1);
    let mut wanted = Vec::new();
    let mut want = |client: SocketAddr, server: SocketAddr, transport: &str| {
        let [client, server] = [client, server].map(|end| format!("{}:{}", end.ip(), end.port()));
        wanted.push(format!("AQ {client} -> {server} {transport} 29b www.example/IN/A"));
        wanted.push(format!("AR {client} <- {server} {transport} 29b www.example/IN/A"));
    };
    for &address in running.addresses() {
        let mut asked = address;
        if address.ip().is_unspecified() {
            // Not the address that the socket has, but the one that was asked.
            asked.set_ip([127, 7, 8, 9].into());
        }
        want(ask(asked, 1), asked, "UDP");
    }
    let server = running.addresses()[0];
    let mut client = Client::connect(server);
    for id in 0..2 {
        client.ask(&query(id)).unwrap();
        want(client.0.local_addr().unwrap(), server, "TCP");
    }
    running.stop();
    tap.finish();
    let mut shown = lines(&path);
    shown.sort();
    wanted.sort();
    assert_eq!(shown, wanted);
    assert_eq!(tap.lost(), 0);
    let full = read(&path, true);
    for wanted in ["version: understudy", "status: REFUSED", "www.example. IN A", "query_time: !!timestamp 20"] {
        assert!(full.contains(wanted), "no {wanted}\n{full}");
    }
}

#[test]
fn one_of_so_many_is_shown_and_silence_has_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("queries.dnstap");
    let (running, tap) = show(&["127.0.0.1:0"], file(path.clone()), 10);
    let server = running.addresses()[0];
    ask(server, 100);
    // No query, no answer: it is not shown, and none is passed over for it.
    let client = udp_client("127.0.0.1:0");
    let mut response = query(7);
    response[2] |= 0x80;
    for packet in [&response[..], b"short"] {
        client.send_to(packet, server).unwrap();
    }
    // As many again: ten are shown.
    ask(server, 100);
    running.stop();
    tap.finish();
    let shown = lines(&path);
    let count = |kind: &str| shown.iter().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("AQ"), count("AR")), (20, 20), "{shown:#?}");
}

#[test]
fn a_file_is_begun_anew_and_the_last_one_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("queries.dnstap"), dir.path().join("queries.dnstap.1"));
    for (round, most) in [(3, 1 << 30), (5, 1 << 30), (2000, 1 << 16)] {
        let (running, tap) = show(&["127.0.0.1:0"], Target::File { path: path.clone(), most }, 1);
        ask(running.addresses()[0], round);
        running.stop();
        tap.finish();
        match round {
            3 => assert!(lines(&path).len() == 6 && !aside.exists()),
            5 => assert_eq!((lines(&path).len(), lines(&aside).len()), (10, 6)),
            _ => {
                // Both are whole, and neither is longer than what was ready at once.
                let sizes = [&path, &aside].map(|path| path.metadata().unwrap().len());
                assert!((1 << 16..1 << 18).contains(&sizes[1]) && sizes[0] < 1 << 18, "{sizes:?}");
                assert!(lines(&aside).len() > 100 && lines(&path).len() < 4000);
            }
        }
    }
}

/// One that says that it is ready and then takes nothing costs exchanges that are not shown, and no answer.
#[test]
fn a_collector_that_is_stuck_keeps_nobody_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("collector");
    let collector = UnixListener::bind(&path).unwrap();
    let (running, tap) = show(&["127.0.0.1:0"], Target::Socket(path), 1);
    let (mut stream, _) = collector.accept().unwrap();
    let mut ready = [0; 42];
    stream.read_exact(&mut ready).unwrap();
    let content = &ready[12..];
    stream.write_all(&[&[0, 0, 0, 0, 0, 0, 0, 34, 0, 0, 0, 1][..], content].concat()).unwrap();
    let server = running.addresses()[0];
    let mut asked = 0;
    until("there is no room left", || {
        ask(server, 1000);
        asked += 1000;
        tap.lost() > 0
    });
    ask(server, 1000);
    assert_eq!(running.stop().queries[0], asked + 1000);
    let began = Instant::now();
    tap.finish();
    assert!(began.elapsed() < PATIENCE / 2);
}

const CONFIG: &str = r#"
[server]
listen = ["127.0.0.1:0"]
identity = "ams1"

[server.encrypted]
dot = ["127.0.0.1:0"]
doh = ["127.0.0.1:0"]
doq = ["127.0.0.1:0"]
certificate = "cert.pem"
key = "key.pem"

[dnstap]
socket = "collector"

[[zone]]
name = "example"
file = "example.zone"
"#;
const ZONE: &str = "$TTL 300\n@ SOA ns hostmaster 7 3600 900 604800 20\n NS ns\nns A 192.0.2.53\nwww A 192.0.2.1\n";

#[test]
fn the_program_waits_for_a_collector_and_comes_back_to_it() {
    let made = rcgen::generate_simple_self_signed(vec!["ns1.example".into()]).unwrap();
    let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let home = Home::new(CONFIG, &[("example.zone", ZONE), ("cert.pem", &cert), ("key.pem", &key)]);
    let daemon = home.serve();
    // Nobody collects, which keeps nobody from being answered.
    daemon.ask("www.example", RrType::A);
    daemon.wait_for_log(0, "dnstap can't go to ");
    let first = Collector::start(&home.path("collector"), &home.path("first"));
    daemon.wait_for_log(0, "collector again");
    drop(first);
    std::fs::remove_file(home.path("collector")).unwrap();
    // It is gone. That is found out by the next who asks.
    let from = daemon.log().len();
    until("its end is noticed", || {
        daemon.ask("gone.example", RrType::A);
        daemon.log()[from..].contains("dnstap can't go to ")
    });
    // What is asked before there is another one is kept for that.
    daemon.ask("kept.example", RrType::A);
    let second = Collector::start(&home.path("collector"), &home.path("second"));
    daemon.wait_for_log(from, "collector again");
    daemon.ask("www.example", RrType::A);
    daemon.ask_tcp("www.example", RrType::A);
    let status = home.expect(0, "status");
    for listener in status["encrypted"].as_array().unwrap() {
        let address: SocketAddr = listener["address"].as_str().unwrap().parse().unwrap();
        let flag = match listener["transport"].as_str().unwrap() {
            "DoT" => "+tls",
            "DoH" => "+https",
            _ => "+quic",
        };
        let mut kdig = Command::new("kdig");
        kdig.args(["@127.0.0.1", "-p", &address.port().to_string(), flag, "+retry=0", "www.example", "A"]);
        let output = kdig.output().expect("kdig is missing: ./scripts/test installs it (package knot-dnsutils)");
        assert!(String::from_utf8_lossy(&output.stdout).contains("192.0.2.1"), "{flag}");
    }
    assert!(daemon.stop().success());
    second.stop();
    let shown = lines(&home.path("second"));
    let count = |text: &str| shown.iter().filter(|line| line.contains(text)).count();
    // Two ways in the clear, three encrypted.
    assert_eq!((count("kept.example"), count("www.example")), (2, 10), "{shown:#?}");
    let full = read(&home.path("second"), true);
    for wanted in ["identity: ams1", "status: NXDOMAIN", "www.example. 300 IN A 192.0.2.1", "PAD:"] {
        assert!(full.contains(wanted), "no {wanted}\n{full}");
    }
    // `dnstap-read` knows UDP and TCP only. Here is a message's head: its kind, IPv4, and the protocol.
    let octets = std::fs::read(home.path("second")).unwrap();
    for protocol in [2, 3, 4, 7] {
        let head = |kind| octets.windows(6).filter(|part| **part == [8, kind, 16, 1, 24, protocol]).count();
        assert_eq!((head(1), head(2)), (1, 1), "{protocol}");
    }
}
