//! An attacker's load on the real program: random names from forged sources, TCP clients that trickle, and as many idle
//! TCP connections as the server takes. Honest clients are answered throughout, and all is as before soon afterwards.
//!
//! `UNDERSTUDY_ATTACK_SECONDS=60 cargo nextest run --locked --no-capture --test serve attack` attacks for longer.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::daemon::{Daemon, Home};
use crate::support::dns::Client;
use crate::support::generate::Rng;
use crate::support::message::{self, Message};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use understudy::name::Name;
use understudy::rr::RrType;

/// Idle connections; they are more than the server takes.
const IDLE: usize = 10_000;
/// Connections that the server takes in all, and of each client.
const TAKEN: usize = 9_000;
const TAKEN_OF_CLIENT: usize = 64;
/// Connections that send a query octet by octet.
const TRICKLING: usize = 300;
/// Sources of the flood, each in a network of its own; honest clients' among them.
const SOURCES: usize = 250;

/// How long an honest client asks again until it gives up: it must be answered before.
const AT_LAST: Duration = Duration::from_secs(5);
/// How long it waits for one answer.
const AT_ONCE: Duration = Duration::from_millis(500);
/// How soon all must be as before.
const BACK_TO_NORMAL: Duration = Duration::from_secs(10);
/// How long the server lets a connection be silent.
const SILENCE: Duration = Duration::from_secs(10);
/// The most memory that an attack may take of the server.
const MOST_MEMORY: u64 = 64 << 20;

const COOKIE: u16 = 10;
const ZONE: &str = "$TTL 60\n@ IN SOA ns h 1 1h 10m 2w 60\n@ IN NS ns\nns IN A 192.0.2.1\nwww IN A 192.0.2.80\n";

/// What the attack's threads share.
struct Attack {
    target: SocketAddr,
    over: AtomicBool,
    /// Idle connections to hold.
    idle: usize,
    flooded: AtomicUsize,
    opened: AtomicUsize,
    /// Connections that outlast the attack: nobody closes them but the server.
    left: Mutex<Vec<Client>>,
}

/// What honest clients saw.
#[derive(Debug, Default)]
struct Seen {
    asked: usize,
    again: usize,
    /// Cut answers over UDP, after which it asked over TCP.
    cut: usize,
    worst: Duration,
}

#[test]
fn blast_honest_clients_are_answered_throughout_an_attack() {
    let seconds = std::env::var("UNDERSTUDY_ATTACK_SECONDS").map_or(6, |text| text.parse().unwrap());
    let home = Home::new(
        &format!(
            "[server]\nlisten = ['127.0.0.1:0']\nworkers = 2\n[server.rate_limit]\nper_second = 50\n\
             [server.tcp]\nconnections = {TAKEN}\nper_client = {TAKEN_OF_CLIENT}\nidle = {}\n\
             [[zone]]\nname = 'a.example'\nfile = 'a.zone'\n",
            SILENCE.as_secs()
        ),
        &[("a.zone", ZONE)],
    );
    // What shells and service managers commonly give; the server is to ask for more by itself.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(1024), hard).unwrap();
    let daemon = home.serve();
    let room = descriptors();
    let idle = IDLE.min(room.saturating_sub(TRICKLING + SOURCES + 200));
    if idle < IDLE {
        eprintln!("ONLY {idle} OF {IDLE} IDLE CONNECTIONS: this system allows {room} open files (`ulimit -Hn`)");
    }
    let before = (open_files(&daemon), resident(&daemon));
    let quiet = KINDS.map(|kind| honest(kind, daemon.address, || false, 40));
    assert!(quiet.iter().all(|seen| seen.again + seen.cut == 0), "{quiet:?}");

    let attack = Attack {
        target: daemon.address,
        over: AtomicBool::new(false),
        idle,
        flooded: AtomicUsize::new(0),
        opened: AtomicUsize::new(0),
        left: Mutex::default(),
    };
    let (throughout, during) = thread::scope(|scope| {
        scope.spawn(|| attack.flood());
        scope.spawn(|| attack.hold_idle());
        scope.spawn(|| attack.trickle());
        let _end = End(&attack.over);
        let is_over = || attack.over.load(Relaxed);
        let clients = KINDS.map(|kind| scope.spawn(move || honest(kind, attack.target, is_over, usize::MAX)));
        let mut most = (0, 0);
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(100));
            most = (most.0.max(open_files(&daemon)), most.1.max(resident(&daemon)));
        }
        // Operators are served as well.
        home.expect(0, "status");
        home.expect(0, "reload");
        attack.over.store(true, Relaxed);
        (clients.map(|client| client.join().unwrap()), most)
    });
    let over = Instant::now();
    println!(
        "{} queries of the flood, {} connections; the server had {} files open and {} MiB more",
        attack.flooded.load(Relaxed),
        attack.opened.load(Relaxed),
        during.0,
        during.1.saturating_sub(before.1) >> 20
    );
    println!("in quiet: {quiet:?}\nmeanwhile: {throughout:?}");
    assert!(throughout.iter().all(|seen| seen.asked > 20), "{throughout:?}");
    assert!(attack.flooded.load(Relaxed) > 50_000 && attack.opened.load(Relaxed) > idle, "that was no attack");
    let files = TAKEN.min(idle) * 9 / 10..TAKEN + 1000;
    assert!(files.contains(&during.0), "{} files open", during.0);
    assert!(during.1 < before.1 + MOST_MEMORY, "the server takes {} MiB", during.1 >> 20);

    // Nobody closes what the attack left behind but the server.
    let normal = loop {
        let seen = KINDS.map(|kind| honest(kind, daemon.address, || false, 20));
        if seen.iter().all(|seen| seen.again + seen.cut == 0 && seen.worst < Duration::from_millis(100)) {
            break over.elapsed();
        }
        assert!(over.elapsed() < BACK_TO_NORMAL, "not as before: {seen:?}");
    };
    println!("clients are served as before after {normal:?}");
    // Silent connections are closed when their time is over, which for the last ones began at the end.
    while open_files(&daemon) > before.0 + 5 {
        assert!(over.elapsed() < BACK_TO_NORMAL + SILENCE, "{} files are still open", open_files(&daemon));
        thread::sleep(Duration::from_millis(50));
    }
    println!(
        "all connections are closed after {:?}; {} MiB more",
        over.elapsed(),
        resident(&daemon).saturating_sub(before.1) >> 20
    );
    drop(attack);
}

/// Ends the attack when it is dropped: also when a test has failed.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Attack {
    /// Random names from many networks, those of honest clients among them, as fast as they can be sent.
    fn flood(&self) {
        let sources = (0..SOURCES).map(|n| Ipv4Addr::new(127, 9, n as u8, 5));
        let sockets: Vec<UdpSocket> = sources.map(|source| UdpSocket::bind((source, 0)).unwrap()).collect();
        let mut rng = Rng::new(7);
        while !self.over.load(Relaxed) {
            for socket in &sockets {
                let name = Name::absolute(&format!("r{:x}.a.example", rng.next())).unwrap();
                let query = message::query(rng.next() as u16, name.as_ref(), RrType::A, false, Some(1232));
                // Nobody reads the answers: whoever gets them did not ask.
                let sent = socket.send_to(&query, self.target).is_ok();
                self.flooded.fetch_add(usize::from(sent), Relaxed);
            }
        }
    }

    /// Connections that say nothing; closed ones are opened again.
    fn hold_idle(&self) {
        let mut held: Vec<Client> = Vec::new();
        while !self.over.load(Relaxed) {
            held.retain(|client| !is_closed(client));
            for number in held.len()..self.idle {
                if self.over.load(Relaxed) {
                    break;
                }
                held.extend(self.connect(8, number));
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.left.lock().unwrap().append(&mut held);
    }

    /// Connections that promise a long query and send it octet by octet.
    fn trickle(&self) {
        let mut held: Vec<Client> = Vec::new();
        while !self.over.load(Relaxed) {
            for number in held.len()..TRICKLING {
                held.extend(self.connect(7, number));
            }
            held.retain_mut(|client| client.0.write_all(&[1]).is_ok());
            thread::sleep(Duration::from_millis(100));
        }
        self.left.lock().unwrap().append(&mut held);
    }

    fn connect(&self, network: u8, number: usize) -> Option<Client> {
        let clients = (IDLE / TAKEN_OF_CLIENT + 10) as u16;
        let [high, low] = (number as u16 % clients).to_be_bytes();
        let client = Client::unconnected(&format!("127.{network}.{high}.{low}"), None).try_connect_to(self.target)?;
        self.opened.fetch_add(1, Relaxed);
        client.0.set_nonblocking(true).unwrap();
        Some(client)
    }
}

fn is_closed(client: &Client) -> bool {
    match client.0.peek(&mut [0]) {
        Ok(octets) => octets == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// How an honest client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Over UDP, with a cookie (RFC 7873).
    Cookie,
    /// Over UDP without one, and over TCP where the answer is cut or none comes.
    Plain,
    /// Over TCP at once.
    Stream,
}

const KINDS: [Kind; 3] = [Kind::Cookie, Kind::Plain, Kind::Stream];

/// Asks from an address that the flood forges until it is over, or so many times.
fn honest(kind: Kind, server: SocketAddr, is_over: impl Fn() -> bool, times: usize) -> Seen {
    const SOURCE: Ipv4Addr = Ipv4Addr::new(127, 9, 100, 5);
    let mut seen = Seen::default();
    let mut cookie = (kind == Kind::Cookie).then(|| b"honestly".to_vec());
    while !is_over() && seen.asked < times {
        let begin = Instant::now();
        let mut again = 0;
        while !ask(kind, server, SOURCE, &mut cookie, &mut seen) {
            assert!(begin.elapsed() < AT_LAST, "{kind:?}: query {} is not answered, {again} times again", seen.asked);
            again += 1;
        }
        seen.asked += 1;
        seen.again += again;
        seen.worst = seen.worst.max(begin.elapsed());
        // No honest client asks without a pause.
        thread::sleep(Duration::from_millis(2));
    }
    seen
}

/// Asks once; whether there was a whole answer.
fn ask(kind: Kind, server: SocketAddr, source: Ipv4Addr, cookie: &mut Option<Vec<u8>>, seen: &mut Seen) -> bool {
    let mut query = message::query(77, Name::absolute("www.a.example").unwrap().as_ref(), RrType::A, false, Some(1232));
    if let Some(cookie) = cookie {
        let end = query.len() - 2;
        query.truncate(end);
        let length = cookie.len() as u16;
        query.extend([length + 4, COOKIE, length].map(u16::to_be_bytes).as_flattened());
        query.extend_from_slice(cookie);
    }
    let proven = cookie.as_ref().is_some_and(|cookie| cookie.len() > 8);
    let mut answer = if kind == Kind::Stream { None } else { over_udp(server, source, &query) };
    if answer.as_ref().is_none_or(|answer| answer.flags.tc()) && !proven {
        seen.cut += usize::from(answer.is_some());
        answer = over_tcp(server, source, &query);
    }
    let Some(answer) = answer else { return false };
    assert!(!answer.flags.tc(), "{kind:?}: cut, behind a good cookie or over TCP");
    assert!(answer.answers.len() == 1 && answer.answers[0].rdata == [192, 0, 2, 80], "{answer:?}");
    if let Some(cookie) = cookie {
        let options = &answer.edns.as_ref().expect("a query with EDNS").options;
        *cookie = options.iter().find(|(code, _)| *code == COOKIE).expect("a cookie").1.clone();
    }
    true
}

fn over_udp(server: SocketAddr, source: Ipv4Addr, query: &[u8]) -> Option<Message> {
    let socket = UdpSocket::bind((source, 0)).unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(AT_ONCE)).unwrap();
    socket.send(query).ok()?;
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).ok()?;
    Some(message::read(&buffer[..length]).unwrap())
}

fn over_tcp(server: SocketAddr, source: Ipv4Addr, query: &[u8]) -> Option<Message> {
    let mut client = Client::unconnected(&source.to_string(), None).try_connect_to(server)?;
    client.0.set_read_timeout(Some(AT_LAST)).unwrap();
    // A connection may be closed for a newcomer before it has asked.
    let answer = client.ask(query).ok()?;
    Some(message::read(&answer).unwrap())
}

/// Raises the limit on open files for this process; returns it. The server is to raise it for itself.
fn descriptors() -> usize {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    usize::try_from(hard).unwrap_or(usize::MAX)
}

fn open_files(daemon: &Daemon) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count()
}

/// Octets of memory that it has.
fn resident(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}
