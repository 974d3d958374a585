//! One question to a resolver.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RData;
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, crypto};

use super::listener::{read_message, write_message};
use crate::canary;
use crate::name::NameRef;
use crate::observation::{Absence, Ask, Reply};
use crate::rr::{Class, RrType};
use crate::serve;
use crate::time::{Timestamp, Ttl};

/// The most octets of a reply over UDP (RFC 9715).
const PAYLOAD: u16 = 1232;

/// How a resolver is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Datagrams.
    #[default]
    Udp,
    /// TCP, a connection for each question.
    Tcp,
    /// DNS over TLS (RFC 7858), a connection for each question. Whose certificate it is does not count: what is asked for
    /// is no secret, and answers are canaries' own.
    Dot,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Carrier::Udp => "udp",
            Carrier::Tcp => "tcp",
            Carrier::Dot => "dot",
        })
    }
}

/// Where and how fast a resolver is asked.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Asking {
    /// Where; of several addresses, each question goes to one.
    pub addresses: Vec<SocketAddr>,
    /// By what.
    pub carrier: Carrier,
    /// The most questions in a second.
    pub rate: u32,
}

/// Asks for the data of a canary's name. The name and the id make a reply the one to this question.
pub async fn ask(resolver: SocketAddr, carrier: Carrier, name: NameRef<'_>, id: u16, patience: Duration) -> Ask {
    let sent = serve::now();
    let message = exchange(resolver, carrier, &query(name, canary::ASKED_TYPE, id), patience).await;
    let reply = message.map_or(Reply::Nothing, |message| read(&message, sent));
    Ask { sent, ended: serve::now(), reply }
}

/// The reply to a query, if one comes in time. A port that nobody listens on says so at once.
pub(super) async fn exchange(
    resolver: SocketAddr,
    carrier: Carrier,
    query: &[u8],
    patience: Duration,
) -> Option<Vec<u8>> {
    let asked = async {
        match carrier {
            Carrier::Udp => by_datagram(resolver, query).await,
            Carrier::Tcp => over(TcpStream::connect(resolver).await?, query).await,
            Carrier::Dot => {
                let stream = TcpStream::connect(resolver).await?;
                let name = ServerName::from(resolver.ip());
                over(tls()?.connect(name, stream).await?, query).await
            }
        }
    };
    timeout(patience, asked).await.ok()?.ok()
}

/// A query as clients send it, with EDNS.
pub fn query(name: NameRef<'_>, rtype: RrType, id: u16) -> Vec<u8> {
    let mut query = id.to_be_bytes().to_vec();
    // RD; one question, one additional record.
    query.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    query.extend_from_slice(name.as_wire());
    query.extend_from_slice(&rtype.0.to_be_bytes());
    query.extend_from_slice(&Class::IN.0.to_be_bytes());
    query.push(0);
    query.extend_from_slice(&RrType::OPT.0.to_be_bytes());
    query.extend_from_slice(&PAYLOAD.to_be_bytes());
    query.extend_from_slice(&[0; 6]);
    query
}

async fn by_datagram(resolver: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    // Another port each time: caches behind one address may be chosen by it.
    let own: SocketAddr = match resolver {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own).await?;
    socket.connect(resolver).await?;
    socket.send(query).await?;
    let mut buffer = vec![0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if is_reply(&buffer[..length], query) {
            return Ok(buffer[..length].to_vec());
        }
    }
}

async fn over(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    query: &[u8],
) -> io::Result<Vec<u8>> {
    write_message(&mut stream, query).await?;
    loop {
        let message = read_message(&mut stream).await?;
        if is_reply(&message, query) {
            return Ok(message);
        }
    }
}

/// Whether a message has the id and the question of the query.
fn is_reply(message: &[u8], query: &[u8]) -> bool {
    // The query's OPT record has eleven octets.
    let end = query.len() - 11;
    message.len() >= end
        && message[2] & 0x80 != 0
        && message[..2] == query[..2]
        && message[4..6] == [0, 1]
        && message[12..end].eq_ignore_ascii_case(&query[12..end])
}

/// What a reply says about a canary.
fn read(message: &[u8], near: Timestamp) -> Reply {
    let Ok(message) = Message::from_vec(message) else { return Reply::Other };
    match message.metadata.response_code {
        ResponseCode::NoError => data(&message).unwrap_or_else(|| {
            let empty = message.answers.is_empty() && !message.metadata.truncation;
            if empty { Reply::NoData(absence(&message, near)) } else { Reply::Other }
        }),
        ResponseCode::NXDomain => Reply::NoName(absence(&message, near)),
        ResponseCode::ServFail => Reply::Failure,
        ResponseCode::Refused => Reply::Refused,
        _ => Reply::Other,
    }
}

/// A canary's own address.
fn data(message: &Message) -> Option<Reply> {
    message.answers.iter().find_map(|record| {
        let RData::AAAA(address) = &record.data else { return None };
        let (version, given) = canary::version(address.0)?;
        Some(Reply::Data { version, given, ttl: Ttl::from_wire(record.ttl) })
    })
}

fn absence(message: &Message, near: Timestamp) -> Absence {
    let soa = message.authorities.iter().find_map(|record| match &record.data {
        RData::SOA(soa) => Some((soa.serial, record.ttl)),
        _ => None,
    });
    match soa {
        Some((serial, ttl)) => Absence { given: Some(canary::given(serial, near)), ttl: Some(Ttl::from_wire(ttl)) },
        None => Absence::default(),
    }
}

fn tls() -> io::Result<TlsConnector> {
    Ok(TlsConnector::from(Arc::new(any_certificate()?)))
}

/// How a client asks by TLS that takes whatever certificate it is shown.
pub fn any_certificate() -> io::Result<ClientConfig> {
    let provider = Arc::new(crypto::ring::default_provider());
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(schemes)))
        .with_no_client_auth();
    Ok(config)
}

/// Takes every certificate (the opportunistic profile of RFC 7858 §4.1).
#[derive(Debug)]
struct Anybody(Vec<SignatureScheme>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
