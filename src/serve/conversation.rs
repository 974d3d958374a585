//! What a TCP connection has half read and half written, and the step from queries to answers.
//!
//! A connection owns no buffer while nothing is half done: reading and answering use the thread's own, and only what is
//! left over is kept, so that ten thousand idle connections cost next to nothing.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, recv, send};
use tokio::net::TcpStream;

use super::connections::Ticket;
use super::dnstap::{Ends, Protocol};
use super::stage::Came;
use super::tcp::Shared;
use crate::serving::respond::Transport;

/// Octets of the longest message with its length.
const FRAME: usize = 2 + 65_535;
/// Once so many octets of answers are ready they are sent before more queries are looked at.
const ENOUGH: usize = 64 * 1024;

/// One connection's unfinished business.
#[derive(Debug)]
pub(super) struct Conversation {
    ends: Ends,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    sent: usize,
    ended: bool,
}

/// What a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Whole queries taken.
    pub queries: usize,
    /// Whether the beginning of another one is there.
    pub partial: bool,
}

struct Buffers {
    input: Box<[u8]>,
    output: Box<[u8]>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers {
        input: vec![0; FRAME].into(),
        output: vec![0; ENOUGH + FRAME].into(),
    });
}

impl Conversation {
    pub(super) fn new(ends: Ends) -> Conversation {
        Conversation { ends, unread: Vec::new(), unsent: Vec::new(), sent: 0, ended: false }
    }

    /// Whether the client has said that nothing more will come, and all that came was looked at.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Answers that the kernel hasn't taken yet.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.unsent[self.sent..]
    }

    /// Whether there are any.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent().is_empty()
    }

    /// Notes that the kernel took so many octets of them.
    pub(super) fn written(&mut self, octets: usize) {
        self.sent += octets;
        if !self.has_unsent() {
            (self.unsent, self.sent) = (Vec::new(), 0);
        }
    }

    /// Waits for the client, and answers what it asks.
    pub(super) async fn turn(&mut self, stream: &TcpStream, shared: &Shared, ticket: &Ticket) -> io::Result<Turn> {
        if whole_frame(&self.unread).is_some() {
            // There was more than one turn's worth; others get theirs in between.
            tokio::task::yield_now().await;
            return self.exchange(stream, shared, ticket, |_| Ok(None)).map(Turn::or_none);
        }
        loop {
            stream.readable().await?;
            match self.exchange(stream, shared, ticket, |buffer| stream.try_read(buffer).map(Some)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done.map(Turn::or_none),
            }
        }
    }

    /// Answers what the client has already asked, without waiting; `None` if there is nothing (more).
    pub(super) fn turn_now(
        &mut self,
        stream: &TcpStream,
        shared: &Shared,
        ticket: &Ticket,
    ) -> io::Result<Option<Turn>> {
        if self.ended {
            return Ok(None);
        }
        let turn = if whole_frame(&self.unread).is_some() {
            self.exchange(stream, shared, ticket, |_| Ok(None))
        } else {
            // Past the runtime, which may not know yet that there is something to read.
            self.exchange(stream, shared, ticket, |buffer| {
                Ok(Some(recv(stream.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT)?))
            })
        };
        match turn {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            turn => turn,
        }
    }

    /// Reads to the end without looking.
    pub(super) async fn discard(&self, stream: &TcpStream) -> io::Result<()> {
        loop {
            stream.readable().await?;
            let read = BUFFERS.with_borrow_mut(|buffers| stream.try_read(&mut buffers.input));
            match read {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    /// Reads (nothing, if `read` gives `None`), answers, and writes what the kernel takes at once.
    fn exchange(
        &mut self,
        stream: &TcpStream,
        shared: &Shared,
        ticket: &Ticket,
        read: impl FnOnce(&mut [u8]) -> io::Result<Option<usize>>,
    ) -> io::Result<Option<Turn>> {
        BUFFERS.with_borrow_mut(|Buffers { input, output }| {
            let kept = self.unread.len();
            input[..kept].copy_from_slice(&self.unread);
            let read = read(&mut input[kept..])?;
            self.ended = read == Some(0);
            let there = &input[..kept + read.unwrap_or(0)];
            let (used, ready, queries) = self.answer(there, output, shared);
            if queries > 0 {
                // Before the answer leaves: whoever has it is not idle.
                ticket.active();
            }
            let rest = &there[used..];
            self.unread = rest.to_vec();
            let taken =
                match send(stream.as_raw_fd(), &output[..ready], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                    _ if ready == 0 => 0,
                    Ok(taken) => taken,
                    Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => 0,
                    Err(error) => return Err(error.into()),
                };
            (self.unsent, self.sent) = (output[taken..ready].to_vec(), 0);
            Ok(Some(Turn { queries, partial: !rest.is_empty() }))
        })
    }

    /// Answers the whole queries of `input`, in order, until `output` has enough; returns the octets used up, the octets
    /// written and the number of queries.
    fn answer(&self, mut input: &[u8], output: &mut [u8], shared: &Shared) -> (usize, usize, usize) {
        let (mut used, mut ready, mut queries) = (0, 0, 0);
        let Some(_) = whole_frame(input) else { return (0, 0, 0) };
        let serving = shared.stage.load();
        while ready < ENOUGH
            && let Some(packet) = whole_frame(input)
        {
            let came = Came { packet, transport: Transport::Tcp, protocol: Protocol::Tcp, ends: self.ends };
            let room = &mut output[ready + 2..ready + FRAME];
            if let Some(length) = shared.stage.answer(&serving, came, &shared.counters, room).map(<[u8]>::len) {
                output[ready..ready + 2].copy_from_slice(&(length as u16).to_be_bytes());
                ready += 2 + length;
                queries += 1;
            }
            used += 2 + packet.len();
            input = &input[2 + packet.len()..];
        }
        (used, ready, queries)
    }
}

impl Turn {
    fn or_none(turn: Option<Turn>) -> Turn {
        turn.unwrap_or(Turn { queries: 0, partial: false })
    }
}

/// The first message, if all of it is there (RFC 1035 §4.2.2).
fn whole_frame(octets: &[u8]) -> Option<&[u8]> {
    let (length, rest) = octets.split_first_chunk::<2>()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}
