//! DNS over HTTPS (RFC 8484): HTTP/2, GET and POST, the engine's octets as they are.
//!
//! hickory-server answers POST alone, and says nothing to a request that is not right. RFC 8484 §4.1 wants both methods,
//! and HTTP clients an HTTP status.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::connections::Ticket;
use super::dnstap::{Ends, Protocol};
use super::front::Front;
use super::stage::{Came, Stage};
use crate::serving::respond::Transport;

/// The media type of DNS messages (RFC 8484 §6).
const MEDIA_TYPE: &str = "application/dns-message";
/// Octets of the longest message.
const LONGEST: usize = 65_535;
/// Requests of a connection that are under way at once.
const STREAMS: u32 = 100;
/// Octets of all header fields of a request, its path included: queries by GET are short.
const HEADERS: u32 = 8 << 10;
/// Octets of answers that a connection may hold for each request while its client takes none.
const UNSENT: usize = 64 << 10;

thread_local! {
    static ANSWER: RefCell<Box<[u8]>> = RefCell::new(vec![0; LONGEST].into());
}

/// What all connections by HTTPS share.
pub(super) struct Https {
    stage: Arc<Stage>,
    tls: TlsAcceptor,
    path: String,
}

/// Why there is no DNS message in a request, as HTTP says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wrong(StatusCode);

impl Https {
    pub(super) fn new(stage: Arc<Stage>, tls: Arc<ServerConfig>, path: String) -> Https {
        Https { stage, tls: TlsAcceptor::from(tls), path }
    }

    /// One connection, until it ends or falls silent for too long.
    pub(super) async fn talk(
        self: Arc<Https>,
        stream: TcpStream,
        source: SocketAddr,
        ticket: Arc<Ticket>,
        front: Arc<Front>,
    ) -> io::Result<()> {
        let (limits, ends) = (front.limits, Ends::of_connection(&stream, source));
        let Ok(accepted) = timeout(limits.read, self.tls.accept(stream)).await else {
            front.counters.add(|t| &t.expired, 1);
            return Ok(());
        };
        let last = Arc::new(Mutex::new(Instant::now()));
        let (asked, shared) = (Arc::clone(&last), Arc::clone(&front));
        let service = service_fn(move |request: Request<Incoming>| {
            let (https, ticket, front, last) =
                (Arc::clone(&self), Arc::clone(&ticket), Arc::clone(&shared), Arc::clone(&asked));
            async move {
                ticket.active();
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                Ok::<_, Infallible>(https.respond(request, ends, &front).await)
            }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEADERS)
            .max_send_buf_size(UNSENT)
            .serve_connection(TokioIo::new(accepted?), service);
        tokio::pin!(connection);
        tokio::select! {
            // Whatever ended it, there is nobody to tell.
            _ = connection.as_mut() => {}
            () = silence(&last, limits.idle) => {
                front.counters.add(|t| &t.expired, 1);
                connection.as_mut().graceful_shutdown();
                let _ = timeout(limits.write, connection).await;
            }
        }
        Ok(())
    }

    async fn respond(&self, request: Request<Incoming>, ends: Ends, front: &Front) -> Response<Full<Bytes>> {
        let packet = match self.query(request, front.limits.read).await {
            Ok(packet) => packet,
            Err(wrong) => return refusal(wrong),
        };
        let came = Came { packet: &packet, transport: Transport::Encrypted, protocol: Protocol::Https, ends };
        let answer = ANSWER.with_borrow_mut(|out| {
            self.stage.answer(&self.stage.load(), came, &front.counters, out).map(Bytes::copy_from_slice)
        });
        // Where other transports are silent.
        let Some(answer) = answer else { return refusal(Wrong(StatusCode::BAD_REQUEST)) };
        let age = format!("max-age={}", freshness(&answer));
        let mut response = Response::new(Full::new(answer));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Ok(age) = HeaderValue::try_from(age) {
            response.headers_mut().insert(CACHE_CONTROL, age);
        }
        response
    }

    /// The DNS message in a request.
    async fn query(&self, request: Request<Incoming>, patience: Duration) -> Result<Bytes, Wrong> {
        let wrong = |status| Err(Wrong(status));
        if request.uri().path() != self.path {
            return wrong(StatusCode::NOT_FOUND);
        }
        if request.method() == Method::GET {
            return message_in(request.uri().query().unwrap_or_default()).ok_or(Wrong(StatusCode::BAD_REQUEST));
        }
        if request.method() != Method::POST {
            return wrong(StatusCode::METHOD_NOT_ALLOWED);
        }
        let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next()).map(str::trim);
        if media_type.is_none_or(|media_type| !media_type.eq_ignore_ascii_case(MEDIA_TYPE)) {
            return wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        match timeout(patience, Limited::new(request.into_body(), LONGEST).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(_)) => wrong(StatusCode::PAYLOAD_TOO_LARGE),
            Err(_) => wrong(StatusCode::REQUEST_TIMEOUT),
        }
    }
}

/// Ends when nothing was asked for so long.
async fn silence(last: &Mutex<Instant>, idle: Duration) {
    loop {
        let deadline = *last.lock().unwrap_or_else(PoisonError::into_inner) + idle;
        if Instant::now() >= deadline {
            return;
        }
        sleep_until(deadline).await;
    }
}

fn refusal(Wrong(status): Wrong) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
    }
    response
}

/// The message in the query of a URI: `dns=` and base64url without padding (RFC 8484 §4.1.1).
fn message_in(query: &str) -> Option<Bytes> {
    let text = query.split('&').find_map(|part| part.strip_prefix("dns="))?;
    let mut octets = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in text.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        (bits, count) = ((bits << 6 | u32::from(value)) & 0xFFFF, count + 6);
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
        }
    }
    // One digit too many, or bits of none of the octets.
    let whole = count < 6 && bits & ((1 << count) - 1) == 0;
    (whole && octets.len() <= LONGEST).then(|| octets.into())
}

/// How long an answer may be kept, in seconds: as long as each of its records, or as what does not exist (RFC 8484 §5.1).
fn freshness(answer: &[u8]) -> u32 {
    let Ok(message) = Message::from_vec(answer) else { return 0 };
    if !matches!(message.metadata.response_code, ResponseCode::NoError | ResponseCode::NXDomain) {
        return 0;
    }
    let soa = message.authorities.iter().filter(|record| record.record_type() == RecordType::SOA);
    let records = message.answers.iter().chain(soa);
    records.map(|record| record.ttl).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_in_a_query() {
        for (query, message) in [
            ("dns=AAAB", Some(&[0, 0, 1][..])),
            ("dns=AAE", Some(&[0, 1])),
            ("x=1&dns=_-8&y", Some(&[0xFF, 0xEF])),
            ("dns=", Some(&[])),
            ("dns=AAE=", None),
            ("dns=AAF", None),
            ("dns=A", None),
            ("dns=AA+A", None),
            ("DNS=AAAB", None),
            ("", None),
        ] {
            assert_eq!(message_in(query).as_deref(), message, "{query}");
        }
    }
}
