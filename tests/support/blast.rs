//! An open-loop UDP load with a count of its own, and an echo server beside the server under test.
//!
//! Queries leave at a steady rate whether or not answers come back. The echo server gets as many from the same
//! generator at the same time: when it loses any, the machine was too busy to judge by, and the round is void.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};

/// Sockets that queries leave from, for each target: as many as to reach all workers.
const SOCKETS: usize = 16;
/// Queries sent without a look at the answers, at most.
const BURST: u64 = 64;
/// How long to wait for the last answers.
const PATIENCE: Duration = Duration::from_secs(2);

/// A load to put on a server.
#[derive(Clone, Debug)]
pub struct Blast {
    /// The server under test; loopback only.
    pub target: SocketAddr,
    /// Queries a second; the echo server gets as many again.
    pub rate: u32,
    /// The queries, taken in turn. Their id is overwritten.
    pub queries: Vec<Vec<u8>>,
    /// Rounds to try until one is not void.
    pub rounds: u32,
}

/// What became of the queries of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Sent.
    pub sent: u64,
    /// Answered with the right id, and accepted by the caller's check.
    pub answered: u64,
    /// Answered with an answer that the caller's check did not accept; the first of them.
    pub strange: u64,
    pub first_strange: Option<Vec<u8>>,
    /// Answered by nobody.
    pub lost: u64,
    /// The longest wait for an answer.
    pub worst: Duration,
}

impl Blast {
    /// Keeps the load up while `during` runs (again in each round, told its number) and returns what became of the
    /// first round that counts. `accept` is given the number of a query and its answer.
    ///
    /// Panics when every round was void: the machine is too busy for this test.
    pub fn run(&self, accept: impl Fn(usize, &[u8]) -> bool + Sync, mut during: impl FnMut(u32)) -> Outcome {
        assert!(self.target.ip().is_loopback(), "loads are for loopback only");
        let mut void = Vec::new();
        for round in 0..self.rounds {
            let (outcome, echoed) = self.round(&accept, || during(round));
            if echoed.lost == 0 {
                return outcome;
            }
            void.push(echoed);
        }
        panic!("the echo server lost queries in every round, so nothing can be said: {void:?}");
    }

    /// One round, whether it counts or not: what became of the queries, and of those that the echo server got.
    pub fn round(&self, accept: &(impl Fn(usize, &[u8]) -> bool + Sync), during: impl FnOnce()) -> (Outcome, Outcome) {
        let echo = Echo::start();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut lanes = [Lane::new(self.target), Lane::new(echo.address)];
                let start = Instant::now();
                let mut sent = 0;
                while !over.load(Ordering::Acquire) {
                    let due = (start.elapsed().as_secs_f64() * f64::from(self.rate)) as u64;
                    let until = due.min(sent + BURST);
                    for number in sent..until {
                        let query = number as usize % self.queries.len();
                        lanes.iter_mut().for_each(|lane| lane.send(query, &self.queries[query]));
                    }
                    sent = until;
                    lanes[0].receive(accept);
                    lanes[1].receive(&|_, _| true);
                    if sent == due {
                        thread::sleep(Duration::from_micros(500));
                    }
                }
                let deadline = Instant::now() + PATIENCE;
                while lanes.iter().any(|lane| lane.waiting > 0) && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                    lanes[0].receive(accept);
                    lanes[1].receive(&|_, _| true);
                }
                lanes.map(Lane::close)
            });
            // Also when `during` panics, else the scope would never end.
            struct Over<'a>(&'a AtomicBool);
            impl Drop for Over<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Release);
                }
            }
            let end = Over(&over);
            during();
            drop(end);
            let [outcome, echoed] = load.join().expect("the load generator doesn't panic");
            (outcome, echoed)
        })
    }
}

/// A socket, its next id, and when which query left under which id.
type Port = (UdpSocket, u16, HashMap<u16, (Instant, usize)>);

/// The sockets to one target.
struct Lane {
    sockets: Vec<Port>,
    next: usize,
    waiting: u64,
    outcome: Outcome,
}

impl Lane {
    fn new(target: SocketAddr) -> Lane {
        let local: SocketAddr = if target.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" }.parse().unwrap();
        let socket = || {
            let socket = UdpSocket::bind(local).unwrap();
            socket.connect(target).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
            (socket, 0, HashMap::new())
        };
        Lane { sockets: (0..SOCKETS).map(|_| socket()).collect(), next: 0, waiting: 0, outcome: Outcome::default() }
    }

    fn send(&mut self, number: usize, query: &[u8]) {
        let (socket, id, under_way) = &mut self.sockets[self.next];
        self.next = (self.next + 1) % SOCKETS;
        let mut packet = [0; 512];
        packet[..query.len()].copy_from_slice(query);
        packet[..2].copy_from_slice(&id.to_be_bytes());
        let own = *id;
        *id = id.wrapping_add(1);
        // What the sender's own machine refuses was never asked.
        if socket.send(&packet[..query.len()]).is_err() {
            return;
        }
        self.outcome.sent += 1;
        self.waiting += 1;
        if under_way.insert(own, (Instant::now(), number)).is_some() {
            self.waiting -= 1;
            self.outcome.lost += 1;
        }
    }

    fn receive(&mut self, accept: &(impl Fn(usize, &[u8]) -> bool + ?Sized)) {
        let mut buffer = [0; 4096];
        for (socket, _, under_way) in &mut self.sockets {
            while let Ok(length) = socket.recv(&mut buffer) {
                let answer = &buffer[..length];
                let Some(id) = answer.first_chunk::<2>() else { continue };
                let Some((sent, number)) = under_way.remove(&u16::from_be_bytes(*id)) else { continue };
                self.waiting -= 1;
                self.outcome.worst = self.outcome.worst.max(sent.elapsed());
                if accept(number, answer) {
                    self.outcome.answered += 1;
                } else {
                    self.outcome.strange += 1;
                    self.outcome.first_strange.get_or_insert_with(|| answer.to_vec());
                }
            }
        }
    }

    fn close(mut self) -> Outcome {
        self.outcome.lost += self.waiting;
        self.outcome
    }
}

/// A server that sends everything back.
pub struct Echo {
    pub address: SocketAddr,
    /// Datagrams taken in.
    pub seen: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    pub fn start() -> Echo {
        Echo::start_lossy(u64::MAX)
    }

    /// Keeps one datagram to itself: the one with this number.
    pub fn start_lossy(lost: u64) -> Echo {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
        let (address, stop) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let (stopping, seen) = (Arc::clone(&stop), Arc::<AtomicU64>::default());
        let number = Arc::clone(&seen);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !stopping.load(Ordering::Acquire) {
                let Ok((length, client)) = socket.recv_from(&mut buffer) else { continue };
                if number.fetch_add(1, Ordering::AcqRel) + 1 != lost {
                    let _ = socket.send_to(&buffer[..length], client);
                }
            }
        });
        Echo { address, seen, stop, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // One more datagram wakes it.
        let _ = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b".", self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
