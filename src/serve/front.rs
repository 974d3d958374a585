//! In front of encrypted connections: who may hold one, and for how long.
//!
//! DNS over HTTPS is answered behind this at once. hickory-server's TLS listeners take in whoever comes, so they are on
//! loopback, on ports that nobody is told. Each connection that is taken in here is carried to them octet by octet; which client it is from, the handler looks up by the port that it was carried from. Whoever
//! connects to them in another way gets no answer.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connections::{Admission, Connections, Ticket};
use super::counters::Counters;
use super::https::Https;
use super::tcp::TcpLimits;

/// How long to leave a listener alone after it could not take a connection in.
const BACK_OFF: Duration = Duration::from_millis(50);
/// Octets carried at a time: more than most messages have.
const CHUNK: usize = 4096;

/// Which client each connection to the listeners behind is from, by its port.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<HashMap<u16, IpAddr>>);

impl Clients {
    /// The client that is carried from this address.
    pub(super) fn behind(&self, carried_from: SocketAddr) -> Option<IpAddr> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(&carried_from.port()).copied().filter(|_| carried_from.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    fn set(&self, port: u16, client: Option<IpAddr>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match client {
            Some(client) => table.insert(port, client),
            None => table.remove(&port),
        };
    }
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Front {
    pub clients: Arc<Clients>,
    pub connections: Arc<Connections>,
    pub counters: Arc<Counters>,
    pub limits: TcpLimits,
}

/// What is behind a front.
pub(super) enum Behind {
    /// A listener on loopback.
    Listener(SocketAddr),
    /// DNS over HTTPS.
    Https(Arc<Https>),
}

/// Takes connections in and hands them to what is `behind` until told to stop.
pub(super) async fn serve(listener: TcpListener, behind: Behind, front: Arc<Front>, mut stop: watch::Receiver<bool>) {
    let mut carried = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|&stop| stop) => return,
            Some(_) = carried.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, source)) = accepted else {
            front.counters.add(|t| &t.accept_errors, 1);
            if front.connections.evict_idlest() {
                front.counters.add(|t| &t.evicted, 1);
            }
            sleep(BACK_OFF).await;
            continue;
        };
        let ticket = match front.connections.admit(source.ip()) {
            Admission::Admitted(ticket) => ticket,
            Admission::InsteadOfIdlest(ticket) => {
                front.counters.add(|t| &t.evicted, 1);
                ticket
            }
            Admission::TooManyOfClient => {
                front.counters.add(|t| &t.refused, 1);
                continue;
            }
        };
        front.counters.add(|t| &t.accepted, 1);
        let _ = stream.set_nodelay(true);
        let (front, ticket) = (Arc::clone(&front), Arc::new(ticket));
        // Either side's end, or a lack of sockets, ends the connection: there is nobody to tell.
        match &behind {
            &Behind::Listener(behind) => carried.spawn(async move {
                tokio::select! {
                    () = ticket.evicted() => {}
                    _ = carry(stream, source.ip(), behind, &ticket, &front) => {}
                }
            }),
            Behind::Https(https) => {
                let talk = Arc::clone(https).talk(stream, source, Arc::clone(&ticket), front);
                carried.spawn(async move {
                    tokio::select! {
                        () = ticket.evicted() => {}
                        _ = talk => {}
                    }
                })
            }
        };
    }
}

async fn carry(
    mut client: TcpStream,
    source: IpAddr,
    behind: SocketAddr,
    ticket: &Ticket,
    front: &Front,
) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    // The port has to be known, and its client entered, before anything is sent from it.
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    // No port waits for late packets afterwards: there are too few of them, and loopback has none.
    socket.set_zero_linger()?;
    let entry = Entry::new(&front.clients, socket.local_addr()?.port(), source);
    let mut server = socket.connect(behind).await?;
    // From here on the line goes before the port is given up, which somebody else may have at once.
    let _entry = entry;
    let _ = server.set_nodelay(true);
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let inwards = async {
        let mut chunk = [0; CHUNK];
        loop {
            let read = timeout(front.limits.idle, from_client.read(&mut chunk));
            let Ok(read) = read.await else {
                front.counters.add(|t| &t.expired, 1);
                return io::Result::Ok(());
            };
            match read? {
                0 => return to_server.shutdown().await,
                octets => {
                    ticket.active();
                    to_server.write_all(&chunk[..octets]).await?;
                }
            }
        }
    };
    let outwards = async {
        let mut chunk = [0; CHUNK];
        loop {
            match from_server.read(&mut chunk).await? {
                0 => return to_client.shutdown().await,
                octets => timeout(front.limits.write, to_client.write_all(&chunk[..octets])).await??,
            }
        }
    };
    // A client that has asked all it wants still takes its answers; one that is silent for too long does not.
    tokio::pin!(outwards);
    tokio::select! {
        done = inwards => {
            done?;
            timeout(front.limits.write, outwards).await?
        }
        done = &mut outwards => done,
    }
}

/// A line in the table of clients, as long as its connection.
struct Entry<'c> {
    clients: &'c Clients,
    port: u16,
}

impl Entry<'_> {
    fn new(clients: &Clients, port: u16, client: IpAddr) -> Entry<'_> {
        clients.set(port, Some(client));
        Entry { clients, port }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.clients.set(self.port, None);
    }
}
