//! Exchanges on their way from who answers to who writes them out: no lock, no allocation, no system call.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::{Ends, Exchange, Nanoseconds};

/// Words of eight octets in a ring: a MiB, what a busy worker fills in some 15 milliseconds.
const WORDS: usize = 1 << 17;
/// Words in front of the messages: what they are, when, and two addresses with their ports.
const HEAD: usize = 7;

/// Exchanges on their way: one writes, one reads.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// How many words were written, and how many read; both only grow.
    written: AtomicUsize,
    read: AtomicUsize,
    /// Exchanges there was no room for.
    lost: AtomicU64,
}

/// An exchange as it comes out.
#[derive(Debug)]
pub(super) struct Record {
    /// The number of its protocol in dnstap.
    pub protocol: u8,
    pub ends: Ends,
    pub at: Nanoseconds,
    pub query: Vec<u8>,
    pub answer: Vec<u8>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, read) = (self.written.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        write!(f, "Ring ({} of {WORDS} words)", written.wrapping_sub(read))
    }
}

impl Default for Ring {
    fn default() -> Ring {
        let words = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        Ring { words, written: AtomicUsize::new(0), read: AtomicUsize::new(0), lost: AtomicU64::new(0) }
    }
}

impl Ring {
    fn word(&self, number: usize) -> &AtomicU64 {
        &self.words[number & (WORDS - 1)]
    }

    /// Adds an exchange if there is room; only one thread does at a time.
    pub(super) fn write(&self, exchange: &Exchange<'_>, at: Nanoseconds) {
        let &Exchange { protocol, ends: Ends { client, server }, query, answer } = exchange;
        let written = self.written.load(Ordering::Relaxed);
        let free = WORDS - written.wrapping_sub(self.read.load(Ordering::Acquire));
        let (Ok(asked), Ok(told)) = (u16::try_from(query.len()), u16::try_from(answer.len())) else { return };
        if HEAD + query.len().div_ceil(8) + answer.len().div_ceil(8) > free {
            self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return;
        }
        let mut next = written;
        let mut put = |word: u64| {
            self.word(next).store(word, Ordering::Relaxed);
            next = next.wrapping_add(1);
        };
        put(u64::from(asked) | u64::from(told) << 16 | (protocol as u64) << 32);
        put(at.0);
        put(u64::from(client.port()) | u64::from(server.port()) << 16);
        for address in [client, server] {
            let (high, low) = halves(address.ip());
            put(high);
            put(low);
        }
        for message in [query, answer] {
            let (whole, rest) = message.as_chunks::<8>();
            whole.iter().for_each(|octets| put(u64::from_le_bytes(*octets)));
            if !rest.is_empty() {
                let mut octets = [0; 8];
                octets[..rest.len()].copy_from_slice(rest);
                put(u64::from_le_bytes(octets));
            }
        }
        self.written.store(next, Ordering::Release);
    }

    /// Takes the next exchange out, into `record`; whether there is one. Only one thread does at a time.
    pub(super) fn read(&self, record: &mut Record) -> bool {
        let mut next = self.read.load(Ordering::Relaxed);
        if next == self.written.load(Ordering::Acquire) {
            return false;
        }
        let mut take = || {
            let word = self.word(next).load(Ordering::Relaxed);
            next = next.wrapping_add(1);
            word
        };
        let [what, at, ports] = [take(), take(), take()];
        let [client, server] = [(take(), take()), (take(), take())].map(|(high, low)| address(high, low));
        record.protocol = (what >> 32) as u8;
        record.at = Nanoseconds(at);
        let ports = [ports as u16, (ports >> 16) as u16];
        record.ends = Ends { client: SocketAddr::new(client, ports[0]), server: SocketAddr::new(server, ports[1]) };
        for (message, length) in [(&mut record.query, what as u16), (&mut record.answer, (what >> 16) as u16)] {
            let length = usize::from(length);
            message.clear();
            (0..length.div_ceil(8)).for_each(|_| message.extend_from_slice(&take().to_le_bytes()));
            message.truncate(length);
        }
        self.read.store(next, Ordering::Release);
        true
    }

    /// How many exchanges there was no room for.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Default for Record {
    fn default() -> Record {
        let ends = Ends::of((Ipv6Addr::UNSPECIFIED, 0).into());
        Record { protocol: 0, ends, at: Nanoseconds(0), query: Vec::new(), answer: Vec::new() }
    }
}

/// An address in two words, IPv4 as IPv6 has it (RFC 4291 §2.5.5.2).
fn halves(address: IpAddr) -> (u64, u64) {
    let bits = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
    .to_bits();
    ((bits >> 64) as u64, bits as u64)
}

fn address(high: u64, low: u64) -> IpAddr {
    Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::super::Protocol;
    use super::*;

    /// Messages that tell by their number how long they are and what stands in them.
    fn messages(number: u64) -> (Vec<u8>, Vec<u8>) {
        let octets = |length: u64| (0..length).map(|at| (number + at) as u8).collect();
        (octets(12 + number % 500), octets(number * 7 % 4000))
    }

    fn ends(number: u64) -> Ends {
        let port = number as u16;
        if number.is_multiple_of(2) {
            Ends { client: ([192, 0, 2, port as u8], port).into(), server: ([192, 0, 2, 53], 53).into() }
        } else {
            let client = Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number));
            Ends { client: (client, port).into(), server: (Ipv6Addr::LOCALHOST, 5300).into() }
        }
    }

    fn write(ring: &Ring, number: u64) {
        let (query, answer) = messages(number);
        let exchange = Exchange { protocol: Protocol::Quic, ends: ends(number), query: &query, answer: &answer };
        ring.write(&exchange, Nanoseconds(number));
    }

    /// A writer and a reader at once, many times around: nothing is torn, told twice or out of order, and what is lost
    /// is counted.
    #[test]
    fn what_comes_out_is_what_went_in() {
        const COUNT: u64 = 20_000;
        let ring = std::sync::Arc::new(Ring::default());
        let into = std::sync::Arc::clone(&ring);
        let writer = std::thread::spawn(move || (0..COUNT).for_each(|number| write(&into, number)));
        let (mut record, mut read, mut last) = (Record::default(), 0, None);
        loop {
            let over = writer.is_finished();
            while ring.read(&mut record) {
                let number = record.at.0;
                assert!(last.is_none_or(|last| last < number));
                assert_eq!((record.protocol, record.ends), (7, ends(number)));
                assert!((&record.query, &record.answer) == (&messages(number).0, &messages(number).1), "{number}");
                (read, last) = (read + 1, Some(number));
            }
            if over {
                break;
            }
        }
        writer.join().unwrap();
        assert_eq!(read + ring.lost(), COUNT);
    }

    #[test]
    fn a_full_ring_keeps_what_it_has() {
        let ring = Ring::default();
        (0..10_000).for_each(|number| write(&ring, number));
        let lost = ring.lost();
        let (mut record, mut read) = (Record::default(), 0);
        while ring.read(&mut record) {
            read += 1;
        }
        assert!(lost > 0 && read + lost == 10_000, "{read} {lost}");
        let long = vec![0; 65_535];
        let exchange = Exchange { protocol: Protocol::Tcp, ends: ends(1), query: &long, answer: &long };
        ring.write(&exchange, Nanoseconds(1));
        assert!(ring.read(&mut record) && (record.query.len(), record.answer.len()) == (65_535, 65_535));
    }
}
