//! Asks many questions of a server over one UDP socket, many at a time.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Questions under way at once.
const WINDOW: usize = 64;
/// How long an answer may take until the question is asked again, and how often it is asked in all.
const PATIENCE: Duration = Duration::from_millis(1500);
const ATTEMPTS: usize = 4;

/// The answers to `queries`, in their order; an empty one where there was none. The ids of the queries are replaced.
pub fn ask(server: SocketAddr, queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    ask_while_there(server, queries).unwrap_or_else(|gone| panic!("{gone}"))
}

/// The same of a server that may end by itself, as peers do now and then: why there are no answers then.
pub fn ask_while_there(server: SocketAddr, queries: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect(server).unwrap();
    let mut answers = vec![Vec::new(); queries.len()];
    let mut buffer = [0; 65_535];
    let mut next = 0;
    // By id: which query, asked when, how often.
    let mut waiting: HashMap<u16, (usize, Instant, usize)> = HashMap::new();
    let send = |index: usize| {
        let mut query = queries[index].clone();
        query[..2].copy_from_slice(&(index as u16).to_be_bytes());
        let _ = socket.send(&query);
    };
    while next < queries.len() || !waiting.is_empty() {
        while next < queries.len() && waiting.len() < WINDOW && !waiting.contains_key(&(next as u16)) {
            send(next);
            waiting.insert(next as u16, (next, Instant::now(), 1));
            next += 1;
        }
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        match socket.recv(&mut buffer) {
            Ok(length) if length >= 2 => {
                if let Some((index, ..)) = waiting.remove(&u16::from_be_bytes([buffer[0], buffer[1]])) {
                    answers[index] = buffer[..length].to_vec();
                }
            }
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(format!("{server}: {error}: the server is gone"));
            }
            _ => {
                waiting.retain(|_, (index, asked, attempts)| {
                    if asked.elapsed() > PATIENCE && *attempts < ATTEMPTS {
                        send(*index);
                        (*asked, *attempts) = (Instant::now(), *attempts + 1);
                    }
                    asked.elapsed() <= PATIENCE
                });
            }
        }
    }
    Ok(answers)
}
