//! Datagrams: a plain thread and a socket for each worker and address, batch in, batch out.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::counters::Counters;
use super::dnstap::{self, Ends, Protocol, Spout};
use super::folding::Pen;
use super::mmsg::{BATCH, Batch, Query, Wait};
use super::peek;
use super::rrl::{Limiter, Verdict};
use super::stage::Stage;
use super::zones::ZoneCounter;
use crate::serving::Serving;
use crate::serving::ahead::find_together;
use crate::serving::asked::Asked;
use crate::serving::respond::{Asker, Transport};
use crate::time::Timestamp;

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
    /// What notes who was told what.
    pub pen: Option<Pen>,
    /// What shows exchanges.
    pub spout: Option<Spout>,
    /// Where it listens.
    pub address: SocketAddr,
    pub stop: Arc<AtomicBool>,
}

impl Worker {
    /// Answers until told to stop (the flag, then a shutdown of the socket, which wakes the thread), then answers what
    /// is still queued.
    pub(super) fn run(mut self) {
        let mut batch = Batch::default();
        let mut asked: Box<[Asked]> = (0..BATCH).map(|_| Asked::default()).collect();
        while !self.stop.load(Ordering::Acquire) {
            self.turn(&mut batch, &mut asked, Wait::ForOne);
        }
        let deadline = Instant::now() + DRAIN;
        while self.turn(&mut batch, &mut asked, Wait::Not) && Instant::now() < deadline {}
    }

    /// One batch in and out; whether there was any.
    fn turn(&mut self, batch: &mut Batch, asked: &mut [Asked], wait: Wait) -> bool {
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
        let (serving, now) = (self.stage.load(), super::now());
        let taken = answer(&serving, batch, asked, now, &self.counters, &mut self.zones, self.pen.as_ref());
        if taken < received {
            self.counters.add(|t| &t.discarded, (received - taken) as u64);
        }
        if let Some(limiter) = &mut self.limiter {
            limit(limiter, &serving, batch, now, &self.counters);
        }
        drop(serving);
        if let Some(spout) = &mut self.spout {
            show(spout, batch, self.address);
        }
        let sent = batch.send(self.socket.as_fd());
        if sent.failed > 0 {
            self.counters.add(|t| &t.unsent, sent.failed as u64);
        }
        if let Some(pen) = &self.pen {
            pen.fold(now);
        }
        true
    }
}

/// Answers a whole batch from one `Serving`, with `all` as room for what is asked for; returns how many datagrams were
/// looked at.
fn answer(
    serving: &Serving,
    batch: &mut Batch,
    all: &mut [Asked],
    now: Timestamp,
    counters: &Counters,
    zones: &mut ZoneCounter,
    pen: Option<&Pen>,
) -> usize {
    zones.begin(serving);
    let mut taken = 0;
    for (query, asked) in batch.queries().zip(&mut *all) {
        asked.read(query.packet);
        taken += 1;
    }
    let all = &mut all[..taken];
    find_together(serving, all);
    let mut all = all.iter_mut();
    batch.answer(|query, room| {
        let asked = all.next().expect("as many as there are queries");
        if let Some(zone) = asked.zone() {
            zones.add(zone);
        }
        let asker = Asker { source: query.source.ip(), transport: Transport::Udp, now };
        let answered = serving.respond_to(query.packet, asked, &asker, room);
        if let (Some(pen), Some(told)) = (pen, asked.told()) {
            pen.note(told, now);
        }
        counters.answered(Transport::Udp, query.packet, asked, answered.map(|length| &room[..length]));
        answered.unwrap_or_default()
    });
    taken
}

/// Holds back or cuts the answers of a batch that are over their network's limit.
fn limit(limiter: &mut Limiter, serving: &Serving, batch: &mut Batch, now: Timestamp, counters: &Counters) {
    let tick = limiter.now();
    batch.look_over(|Query { packet, source, .. }, answer| {
        if answer.is_empty() {
            return 0;
        }
        let asker = Asker { source: source.ip(), transport: Transport::Udp, now };
        let left = match limiter.judge(tick, source.ip(), answer, || serving.is_proven(packet, &asker)) {
            Verdict::Send => return answer.len(),
            Verdict::Cut => peek::cut(answer),
            Verdict::Drop => 0,
        };
        counters.add(|t| &t.limited, 1);
        left
    });
}

/// Shows a batch as it will be sent.
fn show(spout: &mut Spout, batch: &mut Batch, address: SocketAddr) {
    let now = dnstap::now();
    batch.look_over(|Query { packet, source, asked }, answer| {
        let server = asked.map_or(address, |asked| SocketAddr::new(asked, address.port()));
        let ends = Ends { client: *source, server };
        spout.show(&dnstap::Exchange { protocol: Protocol::Udp, ends, query: packet, answer }, now);
        answer.len()
    });
}
