//! From a packet to the octets of its answer.

use std::net::IpAddr;

use super::Serving;
use crate::time::Timestamp;

/// How a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// A datagram; answers are cut to what the client takes.
    Udp,
    /// TCP (RFC 7766).
    Tcp,
    /// An encrypted transport: DNS over TLS, QUIC or HTTPS.
    Encrypted,
}

/// Who asks, how and when.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The address that the packet came from.
    pub source: IpAddr,
    /// The transport.
    pub transport: Transport,
    /// When the packet was taken in.
    pub now: Timestamp,
}

impl Serving {
    /// Writes the answer to `packet` into `out` and returns its length, or `None` where silence is right (a packet
    /// without a whole header, or one that is itself an answer).
    ///
    /// `out` holds at least 65,535 octets for stream transports and 4,096 for datagrams. No allocation, no lock.
    pub fn respond(&self, packet: &[u8], asker: &Asker, out: &mut [u8]) -> Option<usize> {
        let _ = asker;
        if packet.len() < 12 || packet[2] & 0x80 != 0 {
            return None;
        }
        out[..12].copy_from_slice(&packet[..12]);
        out[2] |= 0x80;
        out[3] = 5;
        Some(12)
    }
}
