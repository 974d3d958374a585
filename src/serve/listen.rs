//! Binding addresses, starting the workers on them, and stopping them without losing a query.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, Shutdown, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, shutdown, socket,
    sockopt,
};
use tokio::sync::watch;

use super::connections::Connections;
use super::counters::{Counters, Tally};
use super::folding::Folding;
use super::rrl::{Limiter, RateLimit};
use super::stage::Stage;
use super::tcp::{self, TcpLimits};
use super::threads::{self, Threads};
use super::zones::ZoneCounter;
use super::{mmsg, udp};
use crate::name::Name;

/// Octets of answers that the kernel is to keep for each worker.
const SEND_BUFFER: usize = 1 << 20;
/// How often to look for a port that is free for both UDP and TCP.
const PORT_ATTEMPTS: u32 = 64;

/// Where to listen, and how.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// The addresses, each for UDP and TCP. Port 0 picks one that is free for both.
    pub addresses: Vec<SocketAddr>,
    /// Threads for each address over UDP, and for TCP in all.
    pub workers: NonZeroUsize,
    /// Octets of queries that the kernel is to keep for each worker while it is busy. The system may allow less.
    pub receive_buffer: usize,
    /// Bounds on TCP.
    pub tcp: TcpLimits,
    /// Whether answers over UDP may leave in fragments: those may be longer than what passes everywhere.
    pub in_fragments: bool,
    /// Bounds on answers over UDP, if any.
    pub rate_limit: Option<RateLimit>,
}

impl Default for ListenSettings {
    fn default() -> ListenSettings {
        ListenSettings {
            addresses: Vec::new(),
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            receive_buffer: 4 << 20,
            tcp: TcpLimits::default(),
            in_fragments: false,
            rate_limit: None,
        }
    }
}

/// Why there are no listeners.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address can't be had.
    #[error("cannot listen on {address} ({transport}): {source}. {}", advice(source))]
    Bind {
        /// The address wanted.
        address: SocketAddr,
        /// `UDP`, `TCP`, `DoT`, `DoH` or `DoQ`.
        transport: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// No port could be found that is free for both transports.
    #[error(
        "cannot listen on {0}: none of {PORT_ATTEMPTS} ports that were free for TCP was free for UDP. Name a port \
         instead of 0."
    )]
    NoCommonPort(SocketAddr),
    /// The threads can't be started.
    #[error(
        "cannot start the threads that answer queries: {0}. Allow more threads (`ulimit -u`, `TasksMax=`) or lower \
         the number of workers."
    )]
    Threads(io::Error),
}

fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EADDRINUSE) => {
            "Another program answers there: another name server, systemd-resolved, dnsmasq, or an understudy that \
             still runs. `ss -lunpt` shows which; stop it, or listen on another address or port."
        }
        Some(Errno::EACCES) => {
            "Ports below 1024 are privileged: start as root with a user to change to, grant CAP_NET_BIND_SERVICE, or \
             listen on a higher port."
        }
        Some(Errno::EADDRNOTAVAIL) => {
            "No interface of this machine has that address (yet): `ip address` lists those there are."
        }
        Some(Errno::EAFNOSUPPORT) => "This system has no IPv6: leave that address out.",
        Some(Errno::EMFILE | Errno::ENFILE) => "No file descriptor is left: raise the limit (`ulimit -n`).",
        _ => "Check the address.",
    }
}

/// Bound sockets that nobody answers on yet. No thread has been started: root can still be dropped.
#[derive(Debug)]
pub struct Listeners {
    bound: Vec<Bound>,
    settings: ListenSettings,
}

#[derive(Debug)]
struct Bound {
    address: SocketAddr,
    udp: Vec<OwnedFd>,
    tcp: TcpListener,
}

impl Listeners {
    /// Binds all addresses, or none.
    pub fn bind(settings: &ListenSettings) -> Result<Listeners, ServeError> {
        let bound =
            settings.addresses.iter().map(|&address| Bound::new(address, settings)).collect::<Result<_, _>>()?;
        Ok(Listeners { bound, settings: settings.clone() })
    }

    /// The addresses as they are, with the ports that were picked.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.bound.iter().map(|bound| bound.address).collect()
    }

    /// Starts to answer from `stage`.
    pub fn run(self, stage: &Arc<Stage>) -> Result<Running, ServeError> {
        let limits = self.settings.tcp;
        let mut running = Running {
            addresses: self.addresses(),
            stop: Arc::default(),
            stop_tcp: watch::channel(false).0,
            sockets: Vec::new(),
            threads: Threads::default(),
            counters: Vec::new(),
            connections: Connections::new(limits.connections, limits.for_client),
        };
        let mut listeners = Vec::new();
        for bound in self.bound {
            listeners.push(bound.tcp);
            for socket in bound.udp {
                running.start_udp(socket, bound.address, stage, &self.settings)?;
            }
        }
        if !listeners.is_empty() {
            running.start_tcp(listeners, stage, &self.settings)?;
        }
        Ok(running)
    }
}

impl Bound {
    fn new(wanted: SocketAddr, settings: &ListenSettings) -> Result<Bound, ServeError> {
        for _ in 0..PORT_ATTEMPTS {
            let failed = |transport| move |source: io::Error| ServeError::Bind { address: wanted, transport, source };
            let (tcp, address) = bind_tcp(wanted).map_err(failed("TCP"))?;
            match bind_udp(address, settings) {
                Ok(udp) => return Ok(Bound { address, udp, tcp }),
                Err(Errno::EADDRINUSE) if wanted.port() == 0 => {}
                Err(errno) => return Err(failed("UDP")(errno.into())),
            }
        }
        Err(ServeError::NoCommonPort(wanted))
    }
}

pub(super) fn new_socket(address: SocketAddr, kind: SockType) -> nix::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?;
    if address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    Ok(socket)
}

pub(super) fn bind_tcp(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = new_socket(address, SockType::Stream)?;
    // Connections of a server that has just ended don't keep the next one from its port.
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::MAXCONN)?;
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    // With the port that the system picked, and the scope that was asked for.
    let mut bound = address;
    bound.set_port(listener.local_addr()?.port());
    Ok((listener, bound))
}

fn bind_udp(address: SocketAddr, settings: &ListenSettings) -> nix::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    for number in 0..settings.workers.get() {
        let socket = new_socket(address, SockType::Datagram)?;
        if number > 0 {
            setsockopt(&socket, sockopt::ReusePort, &true)?;
        }
        bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
        // The first one is bound without, so that a port is not shared with another program that would allow it.
        setsockopt(&socket, sockopt::ReusePort, &true)?;
        if address.ip().is_unspecified() {
            if address.is_ipv4() {
                setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
            } else {
                setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
            }
        }
        // What can't be had of these is not worth refusing to serve for. The first goes beyond the system's limit, if
        // we are privileged.
        if setsockopt(&socket, sockopt::RcvBufForce, &settings.receive_buffer).is_err() {
            let _ = setsockopt(&socket, sockopt::RcvBuf, &settings.receive_buffer);
        }
        let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER);
        let _ = mmsg::ignore_path_mtu(socket.as_fd(), address.is_ipv6(), settings.in_fragments);
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Listeners that answer. Stops when dropped.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    stop_tcp: watch::Sender<bool>,
    sockets: Vec<Arc<OwnedFd>>,
    threads: Threads,
    counters: Vec<Arc<Counters>>,
    connections: Arc<Connections>,
}

impl Running {
    fn start_udp(
        &mut self,
        socket: OwnedFd,
        address: SocketAddr,
        stage: &Arc<Stage>,
        settings: &ListenSettings,
    ) -> Result<(), ServeError> {
        let (socket, counters) = (Arc::new(socket), Counters::owned());
        self.sockets.push(Arc::clone(&socket));
        self.counters.push(Arc::clone(&counters));
        let worker = udp::Worker {
            socket,
            stage: Arc::clone(stage),
            zones: ZoneCounter::new(Arc::clone(counters.zones())),
            counters,
            limiter: settings.rate_limit.as_ref().map(Limiter::new),
            pen: stage.folding().map(Folding::pen),
            spout: stage.tap().map(|tap| tap.spout()),
            address,
            stop: Arc::clone(&self.stop),
        };
        self.threads.start(format!("udp-{}", self.sockets.len()), move || worker.run())
    }

    fn start_tcp(
        &mut self,
        listeners: Vec<TcpListener>,
        stage: &Arc<Stage>,
        settings: &ListenSettings,
    ) -> Result<(), ServeError> {
        let counters = Counters::shared();
        self.counters.push(Arc::clone(&counters));
        let shared = Arc::new(tcp::Shared {
            stage: Arc::clone(stage),
            counters,
            limits: settings.tcp,
            connections: Arc::clone(&self.connections),
        });
        let runtime = threads::runtime("tcp", settings.workers.get())?;
        let listeners = {
            let _inside = runtime.enter();
            listeners.into_iter().map(tokio::net::TcpListener::from_std).collect::<Result<Vec<_>, _>>()
        };
        let listeners = listeners.map_err(ServeError::Threads)?;
        let stop = self.stop_tcp.subscribe();
        self.threads.start("tcp-main".into(), move || {
            runtime.block_on(async {
                let mut all = tokio::task::JoinSet::new();
                for listener in listeners {
                    all.spawn(tcp::serve(listener, Arc::clone(&shared), stop.clone()));
                }
                all.join_all().await;
            });
        })
    }

    /// The addresses that are answered on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What was counted so far.
    pub fn tally(&self) -> Tally<u64> {
        let mut total = Tally::default();
        self.counters.iter().for_each(|counters| counters.add_to(&mut total));
        let overflowed = self.sockets.iter().filter_map(|socket| mmsg::overflowed(socket.as_fd()).ok());
        total.overflowed = overflowed.map(u64::from).sum();
        total
    }

    /// How many queries each zone got so far.
    pub fn zone_counts(&self) -> BTreeMap<Name, u64> {
        let mut total = BTreeMap::new();
        self.counters.iter().for_each(|counters| counters.zones().add_to(&mut total));
        total
    }

    /// TCP connections open now.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Stops: takes in nothing new, answers what has arrived, and returns when all is answered, a few seconds later at
    /// most. Blocks: not for async code.
    pub fn stop(mut self) -> Tally<u64> {
        self.halt();
        self.tally()
    }

    fn halt(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.stop_tcp.send_replace(true);
        for socket in &self.sockets {
            // Wakes the thread that waits for a datagram. Says ENOTCONN, and does it; what is queued stays readable.
            let _ = shutdown(socket.as_raw_fd(), Shutdown::Read);
        }
        self.threads.join();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt();
    }
}
