//! A small caching forwarder that keeps answers for as long as a test says: what no resolver's settings can do.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use understudy::name::Name;

use super::message;

/// How long an answer is kept, from whether it is negative and its TTL.
pub type Keeps = fn(bool, u32) -> u32;

/// Who is asked: for names below another zone, somebody else.
pub struct Servers {
    pub server: SocketAddr,
    pub also: Option<(Name, SocketAddr)>,
}

impl Servers {
    fn of(&self, query: &[u8]) -> SocketAddr {
        // Behind the name stand its type, its class, and perhaps an OPT record of eleven octets.
        let is_below = |zone: &Name| {
            let zone = zone.as_ref().as_wire();
            query[12..].windows(zone.len()).any(|part| part.eq_ignore_ascii_case(zone))
        };
        self.also.iter().find(|(zone, _)| is_below(zone)).map_or(self.server, |(_, server)| *server)
    }
}

/// A running forwarder. Its threads end with the test's process.
pub struct Shim {
    pub name: &'static str,
    pub address: SocketAddr,
}

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(2);

type Cache = Arc<Mutex<HashMap<Vec<u8>, (Vec<u8>, Instant)>>>;

impl Shim {
    pub fn start(name: &'static str, address: SocketAddr, servers: Servers, keeps: Keeps) -> Shim {
        let servers = Arc::new(servers);
        let socket = Arc::new(UdpSocket::bind(address).unwrap());
        let cache = Cache::default();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                let query = buffer[..length].to_vec();
                let (socket, cache, servers) = (Arc::clone(&socket), Arc::clone(&cache), Arc::clone(&servers));
                std::thread::spawn(move || {
                    if let Some(answer) = answer(&query, address, &servers, keeps, &cache) {
                        let _ = socket.send_to(&answer, client);
                    }
                });
            }
        });
        Shim { name, address }
    }
}

fn answer(query: &[u8], own: SocketAddr, servers: &Servers, keeps: Keeps, cache: &Cache) -> Option<Vec<u8>> {
    let key = query[12..].to_ascii_lowercase();
    let kept = cache.lock().unwrap().get(&key).filter(|(_, until)| *until > Instant::now()).cloned();
    let mut answer = match kept {
        Some((answer, _)) => answer,
        None => {
            let fresh = forward(query, own, servers.of(query))?;
            let read = message::read(&fresh).ok()?;
            let ttl = read.answers.iter().chain(&read.authorities).map(|record| record.ttl).min();
            if let Some(ttl) = ttl.filter(|_| read.rcode() != 2) {
                let until = Instant::now() + Duration::from_secs(keeps(read.answers.is_empty(), ttl).into());
                cache.lock().unwrap().insert(key, (fresh.clone(), until));
            }
            fresh
        }
    };
    answer[..2].copy_from_slice(&query[..2]);
    Some(answer)
}

fn forward(query: &[u8], own: SocketAddr, server: SocketAddr) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind((own.ip(), 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(query, server).ok()?;
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).ok()?;
    Some(buffer[..length].to_vec())
}
