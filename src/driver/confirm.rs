//! Was it really published? Our own sockets are asked, as a client would.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use super::name_servers::{exchange, query};
use super::{Driver, now};
use crate::name::{Name, NameRef};
use crate::rr::{Class, RrType};
use crate::serving::Serving;
use crate::serving::respond::{Asker, Transport};

/// How long each of our own sockets may take to give the new answers.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for one answer.
const ONE_ANSWER: Duration = Duration::from_millis(300);
/// How long to wait before it is asked again: a socket that is refused says so at once.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

impl Driver {
    /// Whether every socket of ours gives the answers, over UDP and TCP, that are published: to the zone's SOA, and to one
    /// RRset that changed, if one did.
    pub(super) fn confirm(&self, origin: &Name, changed: Option<(NameRef<'_>, RrType)>) -> bool {
        confirm(&self.serving, &self.listeners, origin, changed)
    }
}

/// The same of these listeners, which are to give what is in `serving`.
pub(super) fn confirm(
    serving: &Serving,
    listeners: &[SocketAddr],
    origin: &Name,
    changed: Option<(NameRef<'_>, RrType)>,
) -> bool {
    let questions: Vec<_> = [(origin.as_ref(), RrType::SOA)].into_iter().chain(changed).collect();
    // All of them, whatever the first one says: the log is to name each that is behind.
    let confirmed = listeners.iter().map(|listener| is_confirmed_by(serving, *listener, &questions));
    confirmed.collect::<Vec<bool>>().into_iter().all(|confirmed| confirmed)
}

fn is_confirmed_by(serving: &Serving, listener: SocketAddr, questions: &[(NameRef<'_>, RrType)]) -> bool {
    let deadline = Instant::now() + PATIENCE;
    [Transport::Udp, Transport::Tcp].into_iter().all(|transport| {
        questions.iter().all(|(name, rtype)| {
            let query = query(name.as_wire(), *rtype, Class::IN);
            while !gives_published(serving, listener, transport, &query) {
                if Instant::now() >= deadline {
                    tracing::error!(%listener, ?transport, %name, %rtype, "our own socket does not give what was published");
                    return false;
                }
                std::thread::sleep(PAUSE);
            }
            true
        })
    })
}

fn gives_published(serving: &Serving, listener: SocketAddr, transport: Transport, query: &[u8]) -> bool {
    let Ok((source, answer)) = ask(listener, transport, query) else { return false };
    let mut expected = vec![0; usize::from(u16::MAX)];
    let asker = Asker { source, transport, now: now() };
    let length = serving.respond(query, &asker, &mut expected);
    length.is_some_and(|length| expected[..length] == answer[..])
}

/// Asks a listener of ours: the address that was asked from, and the answer.
pub(super) fn ask(listener: SocketAddr, transport: Transport, query: &[u8]) -> std::io::Result<(IpAddr, Vec<u8>)> {
    let target = reachable(listener);
    match transport {
        Transport::Udp => ask_udp(target, query),
        _ => ask_tcp(target, query),
    }
}

/// An address at which a listener can be asked: that of the host itself for one that takes any.
fn reachable(listener: SocketAddr) -> SocketAddr {
    let address = match listener.ip() {
        IpAddr::V4(any) if any.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(any) if any.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(address, listener.port())
}

fn ask_udp(target: SocketAddr, query: &[u8]) -> std::io::Result<(IpAddr, Vec<u8>)> {
    let any: IpAddr = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.set_read_timeout(Some(ONE_ANSWER))?;
    socket.connect(target)?;
    socket.send(query)?;
    let mut answer = vec![0; 4096];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok((socket.local_addr()?.ip(), answer))
}

/// Asks over TCP; the address that was asked from, and the answer.
fn ask_tcp(target: SocketAddr, query: &[u8]) -> std::io::Result<(IpAddr, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&target, ONE_ANSWER)?;
    let answer = exchange(&mut stream, query, ONE_ANSWER)?;
    Ok((stream.local_addr()?.ip(), answer))
}
