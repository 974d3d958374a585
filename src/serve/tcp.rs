//! DNS over TCP (RFC 7766): the engine's octets with a length before them, pipelined, in order.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::connections::{Admission, Connections, Ticket};
use super::conversation::{Conversation, Turn};
use super::counters::Counters;
use super::dnstap::Ends;
use super::stage::Stage;

/// First and longest pause after a lack of resources made an accept fail.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// How often to look for newcomers while there is no descriptor for one.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long a stopping server lets clients take their last answers.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a stopping server waits for a client that was just answered to close as well: closing first with something
/// unread would reset the connection and could cost the client its answers.
const LINGER: Duration = Duration::from_millis(250);

/// Bounds on TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// Connections in all. When there are as many, the longest idle one makes room for a newcomer.
    pub connections: usize,
    /// Connections of one client: an IPv4 address or an IPv6 /56.
    pub for_client: usize,
    /// How long a connection may be without a query.
    pub idle: Duration,
    /// How long a query may take from its first octet to its last.
    pub read: Duration,
    /// How long a client may take to take answers that are ready.
    pub write: Duration,
}

impl Default for TcpLimits {
    fn default() -> TcpLimits {
        TcpLimits {
            connections: 10_000,
            for_client: 100,
            idle: Duration::from_secs(10),
            read: Duration::from_secs(5),
            write: Duration::from_secs(10),
        }
    }
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub stage: Arc<Stage>,
    pub counters: Arc<Counters>,
    pub limits: TcpLimits,
    pub connections: Arc<Connections>,
}

/// Takes connections in until told to stop; then those still in the backlog, and ends when all were answered.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut talks = JoinSet::new();
    let mut pause = BACK_OFF.0;
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|&stop| stop) => break,
            Some(_) = talks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, source)) => {
                pause = BACK_OFF.0;
                welcome(&mut talks, stream, source, &shared, &stop);
            }
            Err(error) if lacks_resources(&error) && !anybody_waits(&listener) => sleep(LOOK_AGAIN).await,
            Err(error) => {
                shared.counters.add(|t| &t.accept_errors, 1);
                if !lacks_resources(&error) {
                    // It concerns one connection, which is gone (ECONNABORTED, EPERM, a network error).
                    continue;
                }
                // The descriptor of an idle connection serves a newcomer better.
                if shared.connections.evict_idlest() {
                    shared.counters.add(|t| &t.evicted, 1);
                }
                tokio::select! {
                    _ = stop.wait_for(|&stop| stop) => break,
                    () = sleep(pause) => pause = (pause * 2).min(BACK_OFF.1),
                }
            }
        }
    }
    if let Ok(listener) = listener.into_std() {
        while let Ok((stream, source)) = listener.accept() {
            if let Ok(stream) = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
                welcome(&mut talks, stream, source, &shared, &stop);
            }
        }
    }
    let _ = timeout(DRAIN + LINGER, async { while talks.join_next().await.is_some() {} }).await;
}

/// Whether there is a connection to take in. Without a descriptor for one the call fails also when there is none, and
/// nobody must make room then.
fn anybody_waits(listener: &TcpListener) -> bool {
    let mut asked = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn lacks_resources(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw),
        Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM)
    )
}

fn welcome(
    talks: &mut JoinSet<()>,
    stream: TcpStream,
    source: SocketAddr,
    shared: &Arc<Shared>,
    stop: &watch::Receiver<bool>,
) {
    let ticket = match shared.connections.admit(source.ip()) {
        Admission::Admitted(ticket) => ticket,
        Admission::InsteadOfIdlest(ticket) => {
            shared.counters.add(|t| &t.evicted, 1);
            ticket
        }
        Admission::TooManyOfClient => return shared.counters.add(|t| &t.refused, 1),
    };
    shared.counters.add(|t| &t.accepted, 1);
    // Answers are written as they are ready, so there is nothing to gain from the kernel's waiting for more.
    let _ = stream.set_nodelay(true);
    let (shared, stop) = (Arc::clone(shared), stop.clone());
    talks.spawn(async move { talk(stream, source, &ticket, &shared, stop).await });
}

/// One connection, until it ends, falls silent for too long, or has to make room.
async fn talk(
    stream: TcpStream,
    source: SocketAddr,
    ticket: &Ticket,
    shared: &Shared,
    mut stop: watch::Receiver<bool>,
) {
    let mut talk = Conversation::new(Ends::of_connection(&stream, source));
    let limits = shared.limits;
    let (mut idle_since, mut partial_since) = (Instant::now(), None);
    loop {
        if talk.has_unsent() {
            let flushed = timeout(limits.write, flush(&stream, &mut talk));
            match tokio::select! { flushed = flushed => flushed, () = ticket.evicted() => return } {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => return shared.counters.add(|t| &t.expired, 1),
            }
            idle_since = Instant::now();
        }
        if talk.ended() {
            return;
        }
        let deadline = match partial_since {
            Some(since) => since + limits.read,
            None => idle_since + limits.idle,
        };
        let turn = tokio::select! {
            biased;
            () = ticket.evicted() => return,
            _ = stop.wait_for(|&stop| stop) => break,
            turn = timeout_at(deadline, talk.turn(&stream, shared, ticket)) => turn,
        };
        match turn {
            Ok(Ok(Turn { queries, partial })) => {
                if queries > 0 {
                    (idle_since, partial_since) = (Instant::now(), None);
                }
                partial_since = partial.then(|| partial_since.unwrap_or_else(Instant::now));
            }
            Ok(Err(_)) => return,
            Err(_) => return shared.counters.add(|t| &t.expired, 1),
        }
    }
    let _ = timeout(DRAIN, finish(&stream, &mut talk, shared, ticket)).await;
}

/// Answers what the client has already sent, and says goodbye such that the answers arrive.
async fn finish(stream: &TcpStream, talk: &mut Conversation, shared: &Shared, ticket: &Ticket) -> io::Result<()> {
    let mut answered = false;
    loop {
        flush(stream, talk).await?;
        match talk.turn_now(stream, shared, ticket)? {
            Some(turn) => answered |= turn.queries > 0,
            None => break,
        }
    }
    nix::sys::socket::shutdown(stream.as_raw_fd(), nix::sys::socket::Shutdown::Write)?;
    if answered {
        let _ = timeout(LINGER, talk.discard(stream)).await;
    }
    Ok(())
}

async fn flush(stream: &TcpStream, talk: &mut Conversation) -> io::Result<()> {
    while talk.has_unsent() {
        stream.writable().await?;
        match stream.try_write(talk.unsent()) {
            Ok(written) => talk.written(written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A header without a question, which any `Serving` answers.
    const QUERY: [u8; 14] = [0, 12, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    #[tokio::test]
    async fn what_came_before_the_stop_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(&QUERY.repeat(4_000)).unwrap();
        client.write_all(&QUERY[..5]).unwrap();
        let shared = Shared {
            stage: Stage::new(Arc::default()).unwrap(),
            counters: Counters::shared(),
            limits: TcpLimits::default(),
            connections: Connections::new(10, 10),
        };
        // Stopped before it has begun: the connection is still in the backlog, and nothing of it was read.
        let (_keep, stop) = watch::channel(true);
        let reader = std::thread::spawn(move || {
            let mut answers = Vec::new();
            client.read_to_end(&mut answers).map(|_| answers)
        });
        serve(listener, Arc::new(shared), stop).await;
        let mut answers = reader.join().unwrap().unwrap();
        let mut count = 0;
        while let [high, low, ..] = answers[..] {
            let length = 2 + usize::from(u16::from_be_bytes([high, low]));
            assert_eq!(answers[2..4], [7, 7]);
            answers.drain(..length);
            count += 1;
        }
        assert_eq!(count, 4_000);
    }
}
