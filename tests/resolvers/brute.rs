//! Holds by hand: a canary is asked for once in a second until its other content comes.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use understudy::canary::{Canary, CanaryZone, Content};
use understudy::rr::RrType;
use understudy::time::{Timestamp, Ttl};

use super::support::message::{self, Message};

/// How long a hold is watched.
pub struct Brute {
    pub content: Content,
    pub ttl: Ttl,
    pub nonce: u32,
    pub watch: Duration,
}

/// For how many seconds the old content was given out: none if it was for as long as anybody looked.
pub fn hold(zone: &CanaryZone, resolver: SocketAddr, brute: &Brute) -> Option<f64> {
    let now = || Timestamp(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64);
    let turn = now().after(Duration::from_millis(900));
    let canary = Canary::new(brute.content, Content::Data, brute.ttl, turn, brute.nonce);
    let name = zone.name(&canary).unwrap();
    let ask = |id: u16| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.send_to(&message::query(id, name.as_ref(), RrType::A, true, Some(1232)), resolver).ok()?;
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).ok()?;
        message::read(&buffer[..length]).ok()
    };
    let is_new = |message: &Message| message.answers.iter().any(|record| record.rdata == [192, 0, 2, 2]);
    let began = Instant::now();
    ask(0)?;
    let mut at = Duration::from_secs(1);
    while at < brute.watch {
        std::thread::sleep(at.saturating_sub(began.elapsed()));
        if ask(at.as_secs() as u16).is_some_and(|message| is_new(&message)) {
            return Some(at.as_secs_f64());
        }
        at += Duration::from_secs(1);
    }
    None
}
