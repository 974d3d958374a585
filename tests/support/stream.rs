//! Asks many questions of a server over one TCP connection, many at a time (RFC 7766 §6.2.1.1).

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Questions under way at once.
const WINDOW: usize = 32;
/// How often a connection is opened anew, where a server ends it, without an answer in between.
const ATTEMPTS: usize = 4;

/// The answers to `queries`, in their order; an empty one where there was none. The ids of the queries are replaced.
pub fn ask(server: SocketAddr, queries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut answers = vec![Vec::new(); queries.len()];
    let mut connection = None;
    for first in (0..queries.len()).step_by(WINDOW) {
        let window = first..queries.len().min(first + WINDOW);
        let mut attempts = 0;
        while window.clone().any(|index| answers[index].is_empty()) && attempts < ATTEMPTS {
            let stream = connection.get_or_insert_with(|| connect(server));
            let open: Vec<usize> = window.clone().filter(|index| answers[*index].is_empty()).collect();
            attempts += 1;
            if exchange(stream, queries, &open, &mut answers).is_err() {
                connection = None; // A server may end a connection after so many queries.
            }
        }
    }
    answers
}

fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap_or_else(|error| panic!("{server}: {error}"));
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

fn exchange(
    stream: &mut TcpStream,
    queries: &[Vec<u8>],
    open: &[usize],
    answers: &mut [Vec<u8>],
) -> std::io::Result<()> {
    let mut frames = Vec::new();
    for index in open {
        frames.extend_from_slice(&(queries[*index].len() as u16).to_be_bytes());
        let start = frames.len();
        frames.extend_from_slice(&queries[*index]);
        frames[start..start + 2].copy_from_slice(&(*index as u16).to_be_bytes());
    }
    stream.write_all(&frames)?;
    for _ in open {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer)?;
        let id = u16::from_be_bytes([answer[0], answer[1]]);
        let index = open.iter().find(|index| **index as u16 == id).ok_or(ErrorKind::InvalidData)?;
        answers[*index] = answer;
    }
    Ok(())
}
