//! The canaries' own server: few queries, from resolvers that are probed. It shares no socket with zones that users need:
//! a server that is silent or fails is remembered for it, some resolvers ask it nothing for minutes afterwards.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::register::Register;
use crate::canary::{CanaryZone, Replied};
use crate::serve::{self, ServeError};
use crate::serving::respond::{Asker, Transport};

/// How many connections there may be at a time.
const CONNECTIONS: usize = 64;
/// How long a connection may be silent, and how long a client may take to take an answer.
const IDLE: Duration = Duration::from_secs(10);
/// How many queries a connection may bring.
const QUERIES: usize = 256;
/// How often to look for a port that is free for both UDP and TCP.
const PORT_ATTEMPTS: usize = 64;
/// How long to wait after the system could not take a packet or a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The sockets of the canaries' server.
#[derive(Debug)]
pub struct CanaryListeners(Vec<(UdpSocket, TcpListener)>);

/// The running server. It ends when this is dropped.
#[derive(Debug)]
pub struct CanaryRunning {
    runtime: Option<Runtime>,
}

impl Drop for CanaryRunning {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl CanaryListeners {
    /// Binds the addresses, each for UDP and TCP. Port 0 picks one that is free for both.
    pub fn bind(addresses: &[SocketAddr]) -> Result<CanaryListeners, ServeError> {
        addresses.iter().map(|address| bind(*address)).collect::<Result<_, _>>().map(CanaryListeners)
    }

    /// The addresses that were bound.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().filter_map(|(udp, _)| udp.local_addr().ok()).collect()
    }

    /// Answers for the zone, and takes down in `register` what arrives, until the result is dropped.
    pub fn run(self, zone: CanaryZone, register: Arc<Register>) -> Result<CanaryRunning, ServeError> {
        let runtime = serve::runtime("canary", 1)?;
        let server = Arc::new(Server { zone, register });
        let guard = runtime.enter();
        for (udp, tcp) in self.0 {
            udp.set_nonblocking(true).map_err(ServeError::Threads)?;
            tcp.set_nonblocking(true).map_err(ServeError::Threads)?;
            let udp = tokio::net::UdpSocket::from_std(udp).map_err(ServeError::Threads)?;
            let tcp = tokio::net::TcpListener::from_std(tcp).map_err(ServeError::Threads)?;
            runtime.spawn(datagrams(udp, Arc::clone(&server)));
            runtime.spawn(connections(tcp, Arc::clone(&server)));
        }
        drop(guard);
        Ok(CanaryRunning { runtime: Some(runtime) })
    }
}

fn bind(address: SocketAddr) -> Result<(UdpSocket, TcpListener), ServeError> {
    let failed = |transport| move |source| ServeError::Bind { address, transport, source };
    let attempts = if address.port() == 0 { PORT_ATTEMPTS } else { 1 };
    for attempt in 1..=attempts {
        let udp = UdpSocket::bind(address).map_err(failed("UDP"))?;
        let bound = udp.local_addr().map_err(failed("UDP"))?;
        match TcpListener::bind(bound) {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) if attempt == attempts => return Err(failed("TCP")(error)),
            Err(_) => {}
        }
    }
    Err(ServeError::NoCommonPort(address))
}

#[derive(Debug)]
struct Server {
    zone: CanaryZone,
    register: Arc<Register>,
}

impl Server {
    fn answer(&self, packet: &[u8], source: SocketAddr, transport: Transport) -> Option<Vec<u8>> {
        let asker = Asker { source: source.ip(), transport, now: serve::now() };
        let Replied { answer, arrival } = self.zone.reply(packet, &asker);
        if let Some(arrival) = arrival {
            self.register.note(arrival);
        }
        answer
    }
}

async fn datagrams(socket: tokio::net::UdpSocket, server: Arc<Server>) {
    let mut buffer = vec![0; 4096];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, source)) => {
                if let Some(answer) = server.answer(&buffer[..length], source, Transport::Udp) {
                    // What can't be sent is lost on the way, as datagrams may be.
                    let _ = socket.send_to(&answer, source).await;
                }
            }
            // Of an answer that reached nobody; or the system is short of something for a moment.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn connections(listener: tokio::net::TcpListener, server: Arc<Server>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, source)) => {
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    // A client that breaks off has what it wanted.
                    let _ = converse(stream, source, &server).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn converse(mut stream: TcpStream, source: SocketAddr, server: &Server) -> io::Result<()> {
    for _ in 0..QUERIES {
        let query = timeout(IDLE, read_message(&mut stream)).await??;
        if let Some(answer) = server.answer(&query, source, Transport::Tcp) {
            timeout(IDLE, write_message(&mut stream, &answer)).await??;
        }
    }
    Ok(())
}

/// Reads a message with its length before it (RFC 1035 §4.2.2).
pub(super) async fn read_message(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut message = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

/// Writes one so.
pub(super) async fn write_message(stream: &mut (impl tokio::io::AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    stream.write_all(&[&length.to_be_bytes(), message].concat()).await?;
    stream.flush().await
}
