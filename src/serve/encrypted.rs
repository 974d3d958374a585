//! Encrypted transports (RFC 7858, 8484, 9250): hickory-server carries TLS and QUIC, [`super::https`] HTTPS; the engine
//! answers.
//!
//! In front of DNS over TLS and HTTPS stand the same bounds as on TCP ([`super::front`]). hickory's DNS over QUIC has no
//! place to put them: what that means is told in `docs/protocol.md`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use hickory_server::Server;
use nix::sys::socket::{SockType, SockaddrStorage, bind};
use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::certificates::Certificates;
use super::connections::Connections;
use super::counters::{Counters, Tally};
use super::front::{self, Behind, Clients, Front};
use super::handler::Handler;
use super::https::Https;
use super::listen::{ServeError, bind_tcp, new_socket};
use super::stage::Stage;
use super::tcp::TcpLimits;
use super::threads::{self, Threads};

/// Descriptors that a connection takes by DNS over TLS or HTTPS: the client's, and both ends of the line behind it.
pub const DESCRIPTORS: usize = 3;
/// How long a stopping server lets answers under way go out.
const DRAIN: Duration = Duration::from_secs(2);

/// An encrypted transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// DNS over TLS.
    Tls,
    /// DNS over HTTPS.
    Https,
    /// DNS over QUIC.
    Quic,
}

impl Scheme {
    /// What its users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Tls => "DoT",
            Scheme::Https => "DoH",
            Scheme::Quic => "DoQ",
        }
    }

    /// What a client and a server call it in their handshake.
    const fn alpn(self) -> &'static [u8] {
        match self {
            Scheme::Tls => b"dot",
            Scheme::Https => b"h2",
            Scheme::Quic => b"doq",
        }
    }
}

/// Where to listen, and how.
#[derive(Clone, Debug)]
pub struct EncryptedSettings {
    /// The addresses, each for one transport. Port 0 picks one that is free.
    pub addresses: Vec<(Scheme, SocketAddr)>,
    /// The path of DNS over HTTPS.
    pub path: String,
    /// Bounds on DNS over TLS and HTTPS; for DNS over QUIC the time of silence alone.
    pub limits: TcpLimits,
}

/// Bound sockets that nobody answers on yet.
#[derive(Debug)]
pub struct EncryptedListeners {
    bound: Vec<(Scheme, SocketAddr, Socket)>,
    settings: EncryptedSettings,
}

#[derive(Debug)]
enum Socket {
    Stream(std::net::TcpListener),
    Datagram(std::net::UdpSocket),
}

impl EncryptedListeners {
    /// Binds all addresses, or none.
    pub fn bind(settings: &EncryptedSettings) -> Result<EncryptedListeners, ServeError> {
        let bind = |&(scheme, address): &(Scheme, SocketAddr)| {
            let bound = match scheme {
                Scheme::Quic => bind_udp(address).map(|(socket, bound)| (scheme, bound, Socket::Datagram(socket))),
                _ => bind_tcp(address).map(|(listener, bound)| (scheme, bound, Socket::Stream(listener))),
            };
            bound.map_err(|source| ServeError::Bind { address, transport: scheme.name(), source })
        };
        let bound = settings.addresses.iter().map(bind).collect::<Result<_, _>>()?;
        Ok(EncryptedListeners { bound, settings: settings.clone() })
    }

    /// The addresses as they are, with the ports that were picked.
    pub fn addresses(&self) -> Vec<(Scheme, SocketAddr)> {
        self.bound.iter().map(|(scheme, address, _)| (*scheme, *address)).collect()
    }

    /// Starts to answer from `stage`.
    pub fn run(self, stage: &Arc<Stage>, certificates: &Arc<Certificates>) -> Result<EncryptedRunning, ServeError> {
        let counters = Counters::shared();
        let limits = self.settings.limits;
        let connections = Connections::new(limits.connections, limits.for_client);
        let clients = Arc::<Clients>::default();
        let handler = Handler::new(Arc::clone(stage), Arc::clone(&counters)).behind(Arc::clone(&clients));
        let front =
            Arc::new(Front { clients, connections: Arc::clone(&connections), counters: Arc::clone(&counters), limits });
        let (stop, stopped) = watch::channel(false);
        let runtime = threads::runtime("encrypted", 1)?;
        let (server, fronts) =
            self.register(&runtime, stage, handler, certificates, &front, &stopped).map_err(ServeError::Threads)?;
        let mut threads = Threads::default();
        threads.start("encrypted-main".into(), move || runtime.block_on(finish(server, fronts, stopped)))?;
        Ok(EncryptedRunning { stop, threads, counters, connections })
    }

    fn register(
        self,
        runtime: &Runtime,
        stage: &Arc<Stage>,
        handler: Handler,
        certificates: &Arc<Certificates>,
        front: &Arc<Front>,
        stopped: &watch::Receiver<bool>,
    ) -> io::Result<(Server<Handler>, JoinSet<()>)> {
        let _inside = runtime.enter();
        let mut server = Server::new(handler);
        let mut fronts = JoinSet::new();
        let silence = self.settings.limits.idle;
        for (scheme, _, socket) in self.bound {
            let config = Arc::new(tls_config(scheme, certificates).map_err(io::Error::other)?);
            let listener = match socket {
                Socket::Datagram(socket) => {
                    let socket = UdpSocket::from_std(socket)?;
                    server.register_quic_listener_and_tls_config(socket, silence, config).map_err(io::Error::other)?;
                    continue;
                }
                Socket::Stream(listener) => TcpListener::from_std(listener)?,
            };
            let behind = if scheme == Scheme::Https {
                Behind::Https(Arc::new(Https::new(Arc::clone(stage), config, self.settings.path.clone())))
            } else {
                let (inner, behind) = bind_tcp((Ipv4Addr::LOCALHOST, 0).into())?;
                server.register_tls_listener_with_tls_config(TcpListener::from_std(inner)?, silence, config)?;
                Behind::Listener(behind)
            };
            fronts.spawn(front::serve(listener, behind, Arc::clone(front), stopped.clone()));
        }
        Ok((server, fronts))
    }
}

fn bind_udp(address: SocketAddr) -> io::Result<(std::net::UdpSocket, SocketAddr)> {
    let socket = new_socket(address, SockType::Datagram)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    let socket = std::net::UdpSocket::from(socket);
    socket.set_nonblocking(true)?;
    let bound = SocketAddr::new(address.ip(), socket.local_addr()?.port());
    Ok((socket, bound))
}

fn tls_config(scheme: Scheme, certificates: &Arc<Certificates>) -> Result<ServerConfig, rustls::Error> {
    // The provider is named: were another one compiled in, the default would be neither.
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = match scheme {
        Scheme::Quic => builder.with_protocol_versions(&[&rustls::version::TLS13])?,
        _ => builder.with_safe_default_protocol_versions()?,
    };
    let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::clone(certificates) as _);
    config.alpn_protocols = vec![scheme.alpn().to_vec()];
    Ok(config)
}

/// Serves until told to stop, then lets what is under way end.
async fn finish(mut server: Server<Handler>, mut fronts: JoinSet<()>, mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|&stop| stop).await;
    let _ = timeout(DRAIN, async {
        while fronts.join_next().await.is_some() {}
        let _ = server.shutdown_gracefully().await;
    })
    .await;
}

/// Encrypted listeners that answer. Stops when dropped.
#[derive(Debug)]
pub struct EncryptedRunning {
    stop: watch::Sender<bool>,
    threads: Threads,
    counters: Arc<Counters>,
    connections: Arc<Connections>,
}

impl EncryptedRunning {
    /// What was counted so far.
    pub fn tally(&self) -> Tally<u64> {
        let mut total = Tally::default();
        self.counters.add_to(&mut total);
        total
    }

    /// Connections by DNS over TLS and HTTPS that are open now.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Stops, and returns a few seconds later at most. Blocks: not for async code.
    pub fn stop(mut self) -> Tally<u64> {
        self.halt();
        self.tally()
    }

    fn halt(&mut self) {
        self.stop.send_replace(true);
        self.threads.join();
    }
}

impl Drop for EncryptedRunning {
    fn drop(&mut self) {
        self.halt();
    }
}
