//! Datagrams: a plain thread and a socket for each worker and address, batch in, batch out.

use std::hint::black_box;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::counters::Counters;
use super::mmsg::{BATCH, Batch, Exchange, Wait};
use super::noted::{Note, Noted, NotedNetwork, Notes};
use super::peek;
use super::rrl::{Limiter, Verdict};
use super::stage::Stage;
use super::zones::ZoneCounter;
use crate::rr::RrType;
use crate::serving::Serving;
use crate::serving::ahead::Ahead;
use crate::serving::respond::{Asker, Transport};
use crate::snapshot::sought::Sought;
use crate::time::{Timestamp, Ttl};

/// How long a stopping worker answers what is queued, at most: under load the queue never empties.
const DRAIN: Duration = Duration::from_secs(1);
/// How long to leave the socket alone after an error of the receiving call, which would only repeat itself.
const BACK_OFF: Duration = Duration::from_millis(10);

/// A socket and all that its thread needs.
///
/// The socket lives as long as the server: were one of a `SO_REUSEPORT` group closed earlier, the queries queued in it
/// would be lost.
#[derive(Debug)]
pub(super) struct Worker {
    pub socket: Arc<OwnedFd>,
    pub stage: Arc<Stage>,
    pub counters: Arc<Counters>,
    pub zones: ZoneCounter,
    pub limiter: Option<Limiter>,
    /// Where it is noted who was told what.
    pub noted: Option<Box<dyn Noted>>,
    pub stop: Arc<AtomicBool>,
}

impl Worker {
    /// Answers until told to stop (the flag, then a shutdown of the socket, which wakes the thread), then answers what
    /// is still queued.
    pub(super) fn run(mut self) {
        let (mut batch, mut notes) = (Batch::default(), Notes::default());
        let mut names = (0..BATCH).map(|_| Sought::default()).collect();
        while !self.stop.load(Ordering::Acquire) {
            self.turn(&mut batch, &mut names, &mut notes, Wait::ForOne);
        }
        let deadline = Instant::now() + DRAIN;
        while self.turn(&mut batch, &mut names, &mut notes, Wait::Not) && Instant::now() < deadline {}
    }

    /// One batch in and out; whether there was any.
    fn turn(&mut self, batch: &mut Batch, names: &mut Box<[Sought]>, notes: &mut Notes, wait: Wait) -> bool {
        let before = batch.overflowed();
        let received = match batch.receive(self.socket.as_fd(), wait) {
            Ok(received) => received,
            Err(_) => {
                self.counters.add(|t| &t.receive_errors, 1);
                thread::sleep(BACK_OFF);
                return false;
            }
        };
        if received == 0 {
            return false;
        }
        if batch.overflowed() != before {
            self.counters.add(|t| &t.overflowed, batch.overflowed().wrapping_sub(before).into());
        }
        let (serving, now) = (self.stage.load(), super::now());
        let taken = answer(&serving, batch, names, now, &self.counters, &mut self.zones, |note| {
            if self.noted.is_some() {
                notes.add(note());
            }
        });
        if let Some(noted) = &mut self.noted {
            notes.hand_to(&mut **noted);
        }
        if taken < received {
            self.counters.add(|t| &t.discarded, (received - taken) as u64);
        }
        if let Some(limiter) = &mut self.limiter {
            limit(limiter, &serving, batch, now, &self.counters);
        }
        drop(serving);
        let sent = batch.send(self.socket.as_fd());
        if sent.failed > 0 {
            self.counters.add(|t| &t.unsent, sent.failed as u64);
        }
        true
    }
}

/// Answers a whole batch from one `Serving`, with `names` as room for what is asked for; returns how many datagrams were
/// looked at.
fn answer(
    serving: &Serving,
    batch: &mut Batch,
    names: &mut [Sought],
    now: Timestamp,
    counters: &Counters,
    zones: &mut ZoneCounter,
    mut note: impl FnMut(&dyn Fn() -> Note),
) -> usize {
    zones.begin(serving);
    let mut ahead = Ahead::of(serving);
    for (exchange, sought) in batch.exchanges().zip(&mut *names) {
        if let Some(zone) = ahead.add(exchange.packet, exchange.source.ip(), sought) {
            zones.add(zone);
        }
    }
    black_box(ahead.look(names));
    let mut taken = 0;
    for (exchange, sought) in batch.exchanges().zip(names) {
        taken += 1;
        let asker = Asker { source: exchange.source.ip(), transport: Transport::Udp, now };
        // Behind an alias something else is sought.
        let (name, name_len) = (sought.hash_above(0), sought.len());
        let length = serving.respond_to(exchange.packet, sought, &asker, exchange.out);
        *exchange.answered = length.unwrap_or(0);
        if let Some(length) = length {
            let told = &exchange.out[..length];
            note(&|| Note {
                network: NotedNetwork::of(exchange.source.ip()),
                name,
                rtype: peek::question_type(exchange.packet).unwrap_or(RrType(0)),
                ttl: peek::first_ttl(told, name_len).map(Ttl::from_wire),
                generation: serving.generation,
                at: now,
            });
        }
        counters.answered(Transport::Udp, exchange.packet, length.map(|length| &exchange.out[..length]));
    }
    taken
}

/// Holds back or cuts the answers of a batch that are over their network's limit.
fn limit(limiter: &mut Limiter, serving: &Serving, batch: &mut Batch, now: Timestamp, counters: &Counters) {
    let tick = limiter.now();
    for Exchange { packet, source, out, answered } in batch.exchanges().filter(|exchange| *exchange.answered > 0) {
        let asker = Asker { source: source.ip(), transport: Transport::Udp, now };
        match limiter.judge(tick, source.ip(), &out[..*answered], || serving.is_proven(packet, &asker)) {
            Verdict::Send => continue,
            Verdict::Cut => *answered = peek::cut(out, *answered),
            Verdict::Drop => *answered = 0,
        }
        counters.add(|t| &t.limited, 1);
    }
}
