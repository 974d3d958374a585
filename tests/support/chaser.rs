//! A small caching resolver that follows aliases by itself, as real ones do, and keeps each record set and each denial apart:
//! aliases and data as they say, denials for as long as a test says. No real one can be told to extend these alone.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;

use super::message;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest chain of aliases.
const LONGEST: usize = 8;
const NXDOMAIN: u8 = 3;

/// What is held of a name: nothing but an alias, addresses, or a denial.
#[derive(Clone)]
enum Kept {
    Alias(Name, Vec<u8>),
    Addresses(Vec<Vec<u8>>),
    Denied,
}

type Cache = HashMap<Name, (Kept, Instant)>;

/// A running resolver. Its thread ends with the test's process.
pub struct Chaser {
    pub address: SocketAddr,
}

impl Chaser {
    /// One that asks `server` for addresses, and keeps denials for `denied`.
    pub fn start(address: SocketAddr, server: SocketAddr, denied: Duration) -> Chaser {
        let socket = UdpSocket::bind(address).unwrap();
        std::thread::spawn(move || {
            let (mut buffer, mut cache) = ([0; 4096], Cache::new());
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                let query = buffer[..length].to_vec();
                if let Some(answer) = answer(&query, address, server, denied, &mut cache) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        Chaser { address }
    }
}

fn answer(query: &[u8], own: SocketAddr, server: SocketAddr, denied: Duration, cache: &mut Cache) -> Option<Vec<u8>> {
    let mut name = NameRef::read(&query[12..]).ok()?.to_name();
    let mut answer = query.to_vec();
    answer[2] |= 0x80;
    for _ in 0..LONGEST {
        let kept = cache.get(&name).filter(|(_, until)| *until > Instant::now()).map(|(kept, _)| kept.clone());
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let (kept, ttl) = fetch(&name, own, server, denied)?;
                cache.insert(name.clone(), (kept.clone(), Instant::now() + ttl));
                kept
            }
        };
        match kept {
            Kept::Alias(target, data) => {
                push(&mut answer, &name, RrType::CNAME, &data);
                name = target;
            }
            Kept::Addresses(all) => {
                all.iter().for_each(|data| push(&mut answer, &name, RrType::A, data));
                return Some(answer);
            }
            Kept::Denied => {
                answer[3] |= NXDOMAIN;
                return Some(answer);
            }
        }
    }
    None
}

/// Asks the server for a name's addresses; of the answer only what is of this very name is taken.
fn fetch(name: &Name, own: SocketAddr, server: SocketAddr, denied: Duration) -> Option<(Kept, Duration)> {
    let socket = UdpSocket::bind((own.ip(), 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.send_to(&message::query(7, name.as_ref(), RrType::A, false, None), server).ok()?;
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).ok()?;
    let read = message::read(&buffer[..length]).ok()?;
    let own: Vec<_> = read.answers.iter().filter(|record| record.owner == *name).collect();
    let ttl = own.iter().map(|record| Duration::from_secs(record.ttl.into())).min().unwrap_or(denied);
    let alias = own.iter().find(|record| record.rtype == RrType::CNAME);
    let kept = match alias {
        Some(alias) => Kept::Alias(NameRef::read(&alias.rdata).ok()?.to_name(), alias.rdata.clone()),
        None if own.is_empty() => Kept::Denied,
        None => Kept::Addresses(own.iter().map(|record| record.rdata.clone()).collect()),
    };
    Some((kept, ttl))
}

fn push(answer: &mut Vec<u8>, owner: &Name, rtype: RrType, data: &[u8]) {
    answer[7] += 1;
    answer.extend_from_slice(owner.as_ref().as_wire());
    answer.extend_from_slice(&rtype.0.to_be_bytes());
    answer.extend_from_slice(&[0, 1, 0, 0, 0, 1]);
    answer.extend_from_slice(&(data.len() as u16).to_be_bytes());
    answer.extend_from_slice(data);
}
