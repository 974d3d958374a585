//! What goes along with queries: nothing, EDNS, the DO bit, or a cookie.

use super::connected;
use super::mix;

use std::net::SocketAddr;

/// A client cookie (RFC 7873 §4.1).
const COOKIE: [u8; 8] = *b"a client";

/// What goes along with each query.
#[derive(Clone, Copy, PartialEq)]
pub enum Mixture {
    Plain,
    Edns,
    /// EDNS with the DO bit.
    Dnssec,
    /// EDNS with a client cookie and the server's own.
    Cookies,
}

impl Mixture {
    pub fn named(name: &str) -> Mixture {
        match name {
            "plain" => Mixture::Plain,
            "edns" => Mixture::Edns,
            "do" => Mixture::Dnssec,
            "cookies" => Mixture::Cookies,
            other => panic!("{other} is no mixture: plain, edns, do or cookies"),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Mixture::Plain => "plain",
            Mixture::Edns => "edns",
            Mixture::Dnssec => "do",
            Mixture::Cookies => "cookies",
        }
    }

    /// The queries as they go to a server, which is asked for its cookie if need be.
    pub fn mixed(self, queries: &[Vec<u8>], server: SocketAddr) -> Vec<Vec<u8>> {
        let (flags, options) = match self {
            Mixture::Plain => return queries.to_vec(),
            Mixture::Edns => (0, Vec::new()),
            Mixture::Dnssec => (0x80, Vec::new()),
            Mixture::Cookies => (0, cookie_option(&cookie_of(server))),
        };
        queries.iter().map(|query| with_opt(query, flags, &options)).collect()
    }
}

fn with_opt(query: &[u8], flags: u8, options: &[u8]) -> Vec<u8> {
    let mut query = query.to_vec();
    query[11] = 1;
    query.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, flags, 0, 0, options.len() as u8]);
    query.extend_from_slice(options);
    query
}

fn cookie_option(cookie: &[u8]) -> Vec<u8> {
    [&[0, 10, 0, cookie.len() as u8][..], cookie].concat()
}

/// The client cookie and what the server adds to it; the client cookie alone where it adds nothing.
fn cookie_of(server: SocketAddr) -> Vec<u8> {
    let socket = connected(server);
    let query = with_opt(&mix::query(1, mix::ORIGIN, 6), 0, &cookie_option(&COOKIE));
    let mut answer = [0; 4096];
    let length = socket.send(&query).and_then(|_| socket.recv(&mut answer)).unwrap_or(0);
    let answer = &answer[..length];
    let front = [&[0, 10, 0, 24][..], &COOKIE].concat();
    match answer.windows(28).find(|octets| octets.starts_with(&front)) {
        Some(option) => option[4..].to_vec(),
        None => COOKIE.to_vec(),
    }
}
