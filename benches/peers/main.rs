//! What a query costs here, at other servers, and at least: `scripts/bench`, or `cargo bench --bench peers -- --help`.
//!
//! All servers of a zone run at once on loopback, pinned to the last processor, and one at a time is asked. A *burst* is
//! queued while the server cannot run, since this program has that processor at real-time priority; then it works through it:
//! what is measured is the cost of queries alone, without contention and without a wake-up for each packet. CPU time is the
//! scheduler's own, of the whole process tree. Each round visits every server; ratios are taken within a round, where the
//! machine's noise hits all alike.
//!
//! The floor is a server that sends packets back with the QR bit set: the price of the system calls.

mod echo;
mod failover;
mod hold;
mod load;
mod mixture;
mod process;
mod servers;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hold::Hold;
use mixture::Mixture;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use process::Process;
use servers::Server;

#[path = "../../tests/support/mix.rs"]
mod mix;

/// Queries in a burst.
const BURST: usize = 150;
/// Bursts in a round that count, and others in front that warm up.
const BURSTS: (usize, usize) = (200, 40);
/// How long a burst is left alone, how long it is before it is looked at again, and when it is given up.
const AT_LEAST: Duration = Duration::from_micros(200);
const MORE: Duration = Duration::from_micros(100);
const GIVEN_UP: Duration = Duration::from_millis(200);
/// Sockets that queries come from, as a rule.
const SOCKETS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(120);

const HELP: &str = "\
scripts/bench [--names 1000,100000,1000000] [--rounds 7] [--servers understudy,floor,gdnsd,nsd,knot]
    [--mixtures plain,edns,do,cookies] [--networks 1] [--no-reload]
    What a query costs, a load and a reload. Mixtures are what goes along with queries; they are compared with the first.
    Networks are what they come from: loopback /24s, up to 60,000.
scripts/bench failover [--names 1000,100000,1000000] [--rounds 7]
    How long a failover takes, verified in advance and not; and what two sites cost that differ in one name of a hundred.
scripts/bench load [--names 100000] [--rounds 7] [--rate 50000]
    Reloads and failovers under so many queries a second: the worst delay, beside that of an echo server, and what is lost.
Servers that are not installed are left out. Needs two processors, better idle ones, and for the first the right to run at
real-time priority (root, or CAP_SYS_NICE).";

struct Order {
    names: Vec<usize>,
    rounds: usize,
    servers: Vec<String>,
    mixtures: Vec<Mixture>,
    reload: bool,
    /// Networks that queries come from.
    networks: usize,
    /// Queries a second.
    rate: u32,
    what: What,
}

#[derive(PartialEq)]
enum What {
    Compare,
    Failover,
    Load,
}

impl Order {
    fn from_words(mut words: std::iter::Peekable<impl Iterator<Item = String>>) -> Order {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let what = match words.next_if(|word| matches!(word.as_str(), "failover" | "load")).as_deref() {
            Some("failover") => What::Failover,
            Some(_) => What::Load,
            None => What::Compare,
        };
        let mut order = Order {
            names: vec![1000, 100_000],
            rounds: 7,
            servers: list("understudy,floor,gdnsd,nsd,knot"),
            mixtures: vec![Mixture::Plain],
            reload: true,
            networks: 1,
            rate: 50_000,
            what,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
            match word.as_str() {
                "--names" => order.names = list(&value()).iter().map(|n| n.parse().expect("a number")).collect(),
                "--rounds" => order.rounds = value().parse().expect("a number"),
                "--servers" => order.servers = list(&value()),
                "--mixtures" => order.mixtures = list(&value()).iter().map(|name| Mixture::named(name)).collect(),
                "--rate" => order.rate = value().parse().expect("a number"),
                "--networks" => order.networks = value().parse().expect("a number"),
                "--no-reload" => order.reload = false,
                // Cargo's own.
                "--bench" => {}
                _ => {
                    println!("{HELP}");
                    std::process::exit(2);
                }
            }
        }
        order
    }
}

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "--echo").is_some() {
        echo::serve(words.next().and_then(|address| address.parse().ok()).expect("an address"));
    }
    let order = Order::from_words(words);
    // Each network is a socket of its own.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
    for names in &order.names {
        match order.what {
            What::Failover => failover::measure(*names, order.rounds),
            What::Load => load::measure(*names, order.rounds, order.rate),
            What::Compare => compare(*names, &order),
        }
    }
}

/// One server and what was measured of it.
struct Subject {
    server: Server,
    process: Process,
    load: Duration,
    load_cpu: Duration,
    megabytes: f64,
    /// Microseconds of CPU a query, by mixture and round.
    costs: Vec<Vec<f64>>,
    /// Of all queries.
    lost: usize,
}

fn compare(names: usize, order: &Order) {
    let mix = mix::Mix::of(names);
    let dir = tempfile::tempdir().expect("a directory");
    let queries = mix.queries(50_000.min(names * 50).max(5000));
    let zone = dir.path().join("zone");
    std::fs::write(&zone, mix.text(1)).expect("the zone is written");
    let mut subjects: Vec<Subject> = order.servers.iter().filter_map(|name| start(name, dir.path(), &zone)).collect();
    let mixed: Vec<Vec<Vec<Vec<u8>>>> = subjects
        .iter()
        .map(|subject| order.mixtures.iter().map(|with| with.mixed(&queries, subject.server.address)).collect())
        .collect();
    for round in 0..order.rounds {
        for (subject, mixed) in subjects.iter_mut().zip(&mixed) {
            subject.costs.resize(mixed.len(), Vec::new());
            mixed
                .iter()
                .enumerate()
                .for_each(|(number, queries)| subject.measure(queries, number, round, order.networks));
        }
    }
    drop(mixed);
    println!(
        "\n{names} names, {} rounds, queries {}; medians, and of ratios what half of the rounds lie between",
        order.rounds,
        order.mixtures[0].name()
    );
    println!(
        "{:12}{:>9}  {:18}{:18}{:>6}{:>9}{:>9}{:>8}",
        "server", "us/query", "x floor", "x gdnsd", "lost", "load s", "CPU s", "MB"
    );
    for subject in &subjects {
        let against = |name: &str| {
            let other = subjects.iter().find(|other| other.server.name == name)?;
            Some(ratio(&subject.costs[0], &other.costs[0]))
        };
        let shown = |ratio: Option<String>| ratio.unwrap_or("-".into());
        println!(
            "{:12}{:9.2}  {:18}{:18}{:6}{:9.2}{:9.2}{:8.1}",
            subject.server.name,
            median(subject.costs[0].clone()),
            shown(against("floor")),
            shown(against("gdnsd")),
            subject.lost,
            subject.load.as_secs_f64(),
            subject.load_cpu.as_secs_f64(),
            subject.megabytes
        );
    }
    for (number, with) in order.mixtures.iter().enumerate().skip(1) {
        println!("{:12}{:>9}  x {}", with.name(), "us/query", order.mixtures[0].name());
        for subject in &subjects {
            let (costs, first) = (&subject.costs[number], &subject.costs[0]);
            println!("{:12}{:9.2}  {}", subject.server.name, median(costs.clone()), ratio(costs, first));
        }
    }
    if order.reload {
        println!("{:12}{:>9}{:>9}{:>9}", "reload", "s", "CPU s", "peak MB");
        let text = mix.text(2);
        subjects.iter_mut().filter(|subject| subject.server.reload.is_some()).for_each(|subject| subject.reload(&text));
    }
}

fn start(name: &str, dir: &Path, zone: &Path) -> Option<Subject> {
    let own: PathBuf = dir.join(name);
    let server = Server::prepare(name, &own, zone)?;
    let begun = Instant::now();
    let process = Process::start(&server.command, &own);
    while serial(server.address).is_none() {
        assert!(begun.elapsed() < PATIENCE && process.is_running(), "{name} does not answer: see {}", own.display());
        std::thread::sleep(Duration::from_millis(2));
    }
    let (load, load_cpu) = (begun.elapsed(), process.cpu_with_ended());
    std::thread::sleep(Duration::from_millis(300));
    let megabytes = process.megabytes();
    Some(Subject { server, process, load, load_cpu, megabytes, costs: Vec::new(), lost: 0 })
}

impl Subject {
    fn measure(&mut self, queries: &[Vec<u8>], mixture: usize, round: usize, networks: usize) {
        let sockets: Vec<UdpSocket> = match networks {
            0 | 1 => (0..SOCKETS).map(|_| connected(self.server.address)).collect(),
            _ => (0..networks).map(|number| connected_from(network(number), self.server.address)).collect(),
        };
        let mut next = (round * 7919 * BURST) % queries.len();
        let mut take = || {
            next = (next + 1) % queries.len();
            &queries[next][..]
        };
        let (counted, warming) = BURSTS;
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).expect("a socket can be so"));
        let hold =
            Hold::take().unwrap_or_else(|error| panic!("the servers' processor can't be had for oneself: {error}"));
        let mut first = 0;
        let mut burst = |subject: &Subject| {
            first += BURST;
            subject.burst(&hold, &sockets, first, &mut take)
        };
        for _ in 0..warming {
            burst(self);
        }
        let before = self.process.cpu();
        let answered: usize = (0..counted).map(|_| burst(self)).sum();
        let spent = self.process.cpu() - before;
        self.lost += (counted * BURST).saturating_sub(answered);
        self.costs[mixture].push(spent.as_secs_f64() * 1e6 / answered.max(1) as f64);
    }

    /// Queues queries while the server cannot run, lets it, and waits for the answers; how many came.
    fn burst<'q>(
        &self,
        hold: &Hold,
        sockets: &[UdpSocket],
        first: usize,
        take: &mut impl FnMut() -> &'q [u8],
    ) -> usize {
        for number in 0..BURST {
            let _ = sockets[(first + number) % sockets.len()].send(take());
        }
        let (mut answered, mut buffer, begun) = (0, [0; 4096], Instant::now());
        // As long as the work takes at the least; more often than need be would take it from the server.
        hold.let_go(AT_LEAST);
        while answered < BURST && begun.elapsed() < GIVEN_UP {
            let mut take_in = |socket: &UdpSocket| {
                std::iter::repeat_with(|| socket.recv(&mut buffer)).take_while(Result::is_ok).count()
            };
            let of_burst = (first..first + sockets.len().min(BURST)).map(|number| &sockets[number % sockets.len()]);
            answered += of_burst.map(&mut take_in).sum::<usize>();
            hold.let_go(MORE);
        }
        answered
    }

    /// Gives the server another zone; how long until it is served, and how much memory that took.
    fn reload(&mut self, text: &str) {
        let zone = &self.server.zone;
        let beside = zone.with_extension("new");
        std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, zone)).expect("the zone is written");
        let (begun, cpu) = (Instant::now(), self.process.cpu_with_ended());
        self.server.ask_to_reload(&self.process);
        let mut peak: f64 = 0.0;
        while serial(self.server.address) != Some(2) {
            peak = peak.max(self.process.megabytes());
            assert!(begun.elapsed() < PATIENCE, "{} does not reload", self.server.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        println!(
            "{:12}{:9.2}{:9.2}{:9.1}",
            self.server.name,
            begun.elapsed().as_secs_f64(),
            self.process.cpu_with_ended().saturating_sub(cpu).as_secs_f64(),
            peak
        );
    }
}

/// An address in the loopback network of this number.
fn network(number: usize) -> IpAddr {
    Ipv4Addr::new(127, 1 + (number >> 8) as u8, number as u8, 7).into()
}

fn connected(address: SocketAddr) -> UdpSocket {
    connected_from(Ipv4Addr::LOCALHOST.into(), address)
}

fn connected_from(source: IpAddr, address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((source, 0)).expect("a socket");
    socket.connect(address).expect("loopback is there");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out is set");
    socket
}

/// The serial that the server tells; 0 if it echoes.
fn serial(address: SocketAddr) -> Option<u32> {
    let socket = connected(address);
    let query = mix::query(1, mix::ORIGIN, 6);
    socket.send(&query).ok()?;
    let mut answer = [0; 4096];
    let len = socket.recv(&mut answer).ok()?;
    let answer = &answer[..len];
    match (answer[3] & 0x0F, answer[7]) {
        _ if len == query.len() => Some(0),
        // The answer's first record, its owner a pointer: the numbers end the data.
        (0, 1..) => {
            let record = &answer[query.len()..];
            let data_len = usize::from(u16::from_be_bytes([record[10], record[11]]));
            let numbers = &record[12..12 + data_len][data_len - 20..];
            Some(u32::from_be_bytes([numbers[0], numbers[1], numbers[2], numbers[3]]))
        }
        _ => None,
    }
}

/// The median of the ratios within rounds, and what half of them lie between: the wider that is, the less the median says.
fn ratio(costs: &[f64], others: &[f64]) -> String {
    let ratios: Vec<f64> = costs.iter().zip(others).map(|(own, other)| own / other).collect();
    let [least, median, most] = [1, 2, 3].map(|quarter| quantile(ratios.clone(), quarter));
    format!("{median:.2} ({least:.2}..{most:.2})")
}

fn median(numbers: Vec<f64>) -> f64 {
    quantile(numbers, 2)
}

/// The number that so many quarters of all are not above.
fn quantile(mut numbers: Vec<f64>, quarters: usize) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() * quarters / 4).copied().unwrap_or(f64::NAN)
}
