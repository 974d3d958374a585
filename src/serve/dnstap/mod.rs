//! Queries and answers shown to a collector, as dnstap (<https://dnstap.info>) has them.
//!
//! Whoever answers copies both into a ring (`ring`); a thread of its own writes them out (`output`, `wire`). Nobody waits
//! for the collector: what has no room is counted and left out.
//!
//! Written here, since the crates there are for it bring an event loop that is no longer maintained and a compiler of
//! protocol buffers, for two messages of a dozen fields.

mod output;
mod ring;
mod wire;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::net::TcpStream;

use ring::Ring;

/// How long a stop waits for the collector to take what is left.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is shown, and to whom.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Settings {
    /// Where it goes.
    pub to: Target,
    /// One of so many queries is shown.
    pub sample: NonZeroU32,
    /// Which server of several this is; none: it is not said.
    pub identity: Option<String>,
}

/// Where it goes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Target {
    /// The Unix socket of a collector, which says that it is ready before anything is sent.
    Socket(PathBuf),
    /// A file. What stands there already is moved to the same name with `.1` behind it.
    File {
        /// The file.
        path: PathBuf,
        /// Octets after which a new one is begun, in the same way.
        most: u64,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Socket(path) | Target::File { path, .. } => path.display().fmt(f),
        }
    }
}

/// How a message came, by its number in dnstap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Udp = 1,
    Tcp = 2,
    Tls = 3,
    Https = 4,
    Quic = 7,
}

/// Who talks. Where it is not known, an address is the unspecified one and a port is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

/// A query and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange<'a> {
    pub protocol: Protocol,
    pub ends: Ends,
    pub query: &'a [u8],
    /// Empty where silence was the answer.
    pub answer: &'a [u8],
}

/// Shows what is asked and answered on a set of listeners.
#[derive(Debug)]
pub struct Tap {
    rings: Arc<Rings>,
    /// For all who have no spout of their own.
    shared: Mutex<Spout>,
    ended: Mutex<Receiver<()>>,
}

/// What those who answer and the thread that writes have in common.
#[derive(Debug)]
struct Rings {
    sample: NonZeroU32,
    rings: Mutex<Vec<Arc<Ring>>>,
    /// Exchanges that were taken out of a ring and reached nobody.
    unsent: AtomicU64,
    stop: AtomicBool,
}

/// What one worker shows its exchanges by.
#[derive(Debug)]
pub(super) struct Spout {
    ring: Arc<Ring>,
    sample: u32,
    /// How many more are passed over.
    left: u32,
}

impl Ends {
    /// Of a client that talks to nobody in particular.
    pub(super) fn of(client: SocketAddr) -> Ends {
        Ends { client, server: (Ipv4Addr::UNSPECIFIED, 0).into() }
    }

    /// Of a connection.
    pub(super) fn of_connection(stream: &TcpStream, client: SocketAddr) -> Ends {
        stream.local_addr().map_or(Ends::of(client), |server| Ends { client, server })
    }
}

impl Tap {
    /// Starts the thread that writes. That nobody collects is no error: it tries again until somebody does.
    pub fn start(settings: &Settings) -> io::Result<Arc<Tap>> {
        let rings = Arc::new(Rings {
            sample: settings.sample,
            rings: Mutex::default(),
            unsent: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let (end, ended) = mpsc::channel();
        let (read, settings) = (Arc::clone(&rings), settings.clone());
        thread::Builder::new().name("dnstap".into()).spawn(move || {
            output::run(&read, &settings);
            drop(end);
        })?;
        let shared = Mutex::new(rings.spout());
        Ok(Arc::new(Tap { rings, shared, ended: Mutex::new(ended) }))
    }

    /// For a worker of its own.
    pub(super) fn spout(&self) -> Spout {
        self.rings.spout()
    }

    /// Shows an exchange of somebody without a spout.
    pub(super) fn show(&self, exchange: &Exchange<'_>) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).show(exchange, now());
    }

    /// How many exchanges could not be shown so far.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }

    /// Writes what is left, says goodbye and ends the thread. Returns a few seconds later at most.
    pub fn finish(&self) {
        self.rings.stop.store(true, Ordering::Release);
        let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.rings.stop.store(true, Ordering::Release);
    }
}

impl Rings {
    fn spout(&self) -> Spout {
        let ring = Arc::new(Ring::default());
        self.all().push(Arc::clone(&ring));
        Spout { ring, sample: self.sample.get(), left: 0 }
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Ring>>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self) -> u64 {
        self.unsent.load(Ordering::Relaxed) + self.all().iter().map(|ring| ring.lost()).sum::<u64>()
    }
}

impl Spout {
    /// Shows an exchange, if it is one that is shown and there is room.
    #[inline]
    pub(super) fn show(&mut self, exchange: &Exchange<'_>, at: Nanoseconds) {
        if self.left > 0 {
            self.left -= 1;
        } else if is_query(exchange.query) {
            self.left = self.sample - 1;
            self.ring.write(exchange, at);
        }
    }
}

/// A time: nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nanoseconds(u64);

/// The time now. A clock before 1970 counts as 1970.
pub(super) fn now() -> Nanoseconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanoseconds(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Whether there is a header, and it says that this is no response.
fn is_query(packet: &[u8]) -> bool {
    packet.len() >= 12 && packet[2] & 0x80 == 0
}
