//! What a collector reads: Frame Streams, with protocol buffers of the kind `dnstap.Dnstap` in them.
//!
//! Numbers of fields and kinds are those of `dnstap.proto`. Of the two messages only what an authoritative server has to
//! say is written.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use super::ring::Record;

/// What the frames hold.
const CONTENT: &[u8] = b"protobuf:dnstap.Dnstap";
/// The longest control frame of Frame Streams.
const LONGEST_CONTROL: usize = 512;

/// Kinds of control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Accept = 1,
    Start = 2,
    Stop = 3,
    Ready = 4,
    Finish = 5,
}

/// A control frame. Those that open a stream say what it holds.
pub(super) fn control(kind: Control) -> Vec<u8> {
    let mut body = (kind as u32).to_be_bytes().to_vec();
    if matches!(kind, Control::Ready | Control::Accept | Control::Start) {
        // Field 1 is the content type.
        body.extend_from_slice(&1u32.to_be_bytes());
        body.extend_from_slice(&(CONTENT.len() as u32).to_be_bytes());
        body.extend_from_slice(CONTENT);
    }
    // A frame of no length is the mark of a control frame.
    [&0u32.to_be_bytes(), &(body.len() as u32).to_be_bytes(), &*body].concat()
}

/// Reads a control frame, which has to be of this kind.
pub(super) fn expect(from: &mut impl Read, kind: Control) -> io::Result<()> {
    let mut number = || {
        let mut octets = [0; 4];
        from.read_exact(&mut octets).map(|()| u32::from_be_bytes(octets))
    };
    let (mark, length) = (number()?, number()? as usize);
    if mark != 0 || !(4..=LONGEST_CONTROL).contains(&length) {
        return Err(io::Error::other("what it says is no control frame of Frame Streams"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    if body[..4] != (kind as u32).to_be_bytes() {
        return Err(io::Error::other(format!("it was to say {kind:?}, and says something else")));
    }
    // Without a content type it takes whatever comes.
    let takes_it = body.len() == 4 || body.windows(CONTENT.len()).any(|part| part == CONTENT);
    if kind == Control::Accept && !takes_it {
        return Err(io::Error::other("it collects something else than dnstap"));
    }
    Ok(())
}

/// Writes frames, with buffers that are kept.
#[derive(Debug)]
pub(super) struct Encoder {
    /// What every frame begins with: who says so.
    who: Vec<u8>,
    message: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(identity: Option<&str>) -> Encoder {
        let mut who = Vec::new();
        if let Some(identity) = identity {
            octets(&mut who, 1, identity.as_bytes());
        }
        octets(&mut who, 2, concat!("understudy ", env!("CARGO_PKG_VERSION")).as_bytes());
        Encoder { who, message: Vec::new() }
    }

    /// Adds the frames of an exchange to `frames`: one for the query (AUTH_QUERY), one for the answer (AUTH_RESPONSE).
    pub(super) fn exchange(&mut self, record: &Record, frames: &mut Vec<u8>) {
        self.begin(1, record);
        time(&mut self.message, 8, record.at.0);
        octets(&mut self.message, 10, &record.query);
        self.end(frames);
        if !record.answer.is_empty() {
            self.begin(2, record);
            time(&mut self.message, 8, record.at.0);
            time(&mut self.message, 12, record.at.0);
            octets(&mut self.message, 14, &record.answer);
            self.end(frames);
        }
    }

    /// What a query and an answer both have.
    fn begin(&mut self, kind: u64, record: &Record) {
        let message = &mut self.message;
        message.clear();
        let (client, server) = (record.ends.client, record.ends.server);
        number(message, 1, kind);
        number(message, 2, if client.is_ipv4() { 1 } else { 2 });
        number(message, 3, record.protocol.into());
        let ends: [(u8, u8, SocketAddr); 2] = [(4, 6, client), (5, 7, server)];
        for (address, _, end) in ends.iter().filter(|(.., end)| !end.ip().is_unspecified()) {
            match end.ip() {
                IpAddr::V4(ip) => octets(message, *address, &ip.octets()),
                IpAddr::V6(ip) => octets(message, *address, &ip.octets()),
            }
        }
        for (_, port, end) in ends.iter().filter(|(.., end)| end.port() != 0) {
            number(message, *port, end.port().into());
        }
    }

    fn end(&mut self, frames: &mut Vec<u8>) {
        let start = frames.len();
        frames.extend_from_slice(&[0; 4]);
        frames.extend_from_slice(&self.who);
        octets(frames, 14, &self.message);
        // Of the kinds of dnstap there is one: a message.
        number(frames, 15, 1);
        let length = (frames.len() - start - 4) as u32;
        frames[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// A time in two fields, of whole seconds and of the nanoseconds beside them.
fn time(to: &mut Vec<u8>, field: u8, nanoseconds: u64) {
    const SECOND: u64 = 1_000_000_000;
    number(to, field, nanoseconds / SECOND);
    to.push((field + 1) << 3 | 5);
    to.extend_from_slice(&((nanoseconds % SECOND) as u32).to_le_bytes());
}

fn octets(to: &mut Vec<u8>, field: u8, value: &[u8]) {
    to.push(field << 3 | 2);
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

fn number(to: &mut Vec<u8>, field: u8, value: u64) {
    to.push(field << 3);
    varint(to, value);
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
