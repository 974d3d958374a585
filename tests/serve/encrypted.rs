//! DNS over TLS, HTTPS and QUIC, asked by kdig and by hickory's clients.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::support::dns::{Client, PATIENCE};
use crate::support::engine;
use hickory_proto::op::{DnsRequest, DnsRequestOptions, Message, Query};
use hickory_proto::rr::{Name as HickoryName, RecordType};
use hickory_server::net::runtime::TokioRuntimeProvider;
use hickory_server::net::tls::tls_exchange;
use hickory_server::net::xfer::{DnsHandle, FirstAnswer};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use understudy::name::Name;
use understudy::serve::Stage;
use understudy::serve::certificates::{CertificateFiles, Certificates};
use understudy::serve::encrypted::{EncryptedListeners, EncryptedRunning, EncryptedSettings, Scheme};
use understudy::serve::tcp::TcpLimits;
use understudy::serving::Settings;

const ZONE: &str = "$TTL 300\n@ SOA ns hostmaster 7 3600 900 604800 20\n NS ns\nns A 192.0.2.53\nwww A 192.0.2.1\n";

/// A server on all three transports, and what it was made of.
struct Secure {
    running: EncryptedRunning,
    addresses: Vec<(Scheme, SocketAddr)>,
    certificates: Arc<Certificates>,
    files: CertificateFiles,
    _dir: tempfile::TempDir,
}

impl Secure {
    fn start(limits: TcpLimits) -> Secure {
        let dir = tempfile::tempdir().unwrap();
        let files = CertificateFiles { certificate: dir.path().join("cert.pem"), key: dir.path().join("key.pem") };
        certify(&files);
        let certificates = Certificates::load(&files).unwrap();
        let settings = Settings { identity: Some("ams1".into()), ..Settings::default() };
        let stage = Stage::new(engine::serve_with(
            settings,
            [(&Name::absolute("example").unwrap(), ZONE)],
            understudy::time::Timestamp::default(),
        ))
        .unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let addresses = [Scheme::Tls, Scheme::Https, Scheme::Quic].map(|scheme| (scheme, any)).into();
        let settings = EncryptedSettings { addresses, path: "/dns-query".into(), limits };
        let listeners = EncryptedListeners::bind(&settings).unwrap();
        let addresses = listeners.addresses();
        let running = listeners.run(&stage, &certificates).unwrap();
        Secure { running, addresses, certificates, files, _dir: dir }
    }

    fn address(&self, wanted: Scheme) -> SocketAddr {
        self.addresses.iter().find(|(scheme, _)| *scheme == wanted).unwrap().1
    }
}

/// Writes a new certificate and returns it.
fn certify(files: &CertificateFiles) -> rustls::pki_types::CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec!["ns1.example".into()]).unwrap();
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

fn kdig(server: SocketAddr, args: &[&str]) -> String {
    let (host, port) = (format!("@{}", server.ip()), server.port().to_string());
    let output = Command::new("kdig").args([&host, "-p", &port, "+retry=0"]).args(args).output();
    let output = output.expect("kdig is missing: ./scripts/test installs it (package knot-dnsutils)");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn kdig_is_answered_over_all_three() {
    let secure = Secure::start(TcpLimits::default());
    for (scheme, flag) in [(Scheme::Tls, "+tls"), (Scheme::Https, "+https"), (Scheme::Quic, "+quic")] {
        let server = secure.address(scheme);
        let said = kdig(server, &[flag, "+padding=128", "+nsid", "www.example", "A"]);
        for wanted in ["status: NOERROR", "192.0.2.1", "\"ams1\"", "PADDING:", "Received 468 B"] {
            assert!(said.contains(wanted), "{scheme:?}: no {wanted}\n{said}");
        }
        let said = kdig(server, &[flag, "+nopadding", "none.example", "A"]);
        assert!(said.contains("status: NXDOMAIN") && !said.contains("PADDING:"), "{scheme:?}\n{said}");
        if scheme == Scheme::Https {
            let said = kdig(server, &["+https-get", "www.example", "A"]);
            assert!(said.contains("status: NOERROR") && said.contains("192.0.2.1"), "{said}");
        }
        let said = kdig(server, &[flag, "id.server", "CH", "TXT", "+short"]);
        assert_eq!(said.trim(), "\"ams1\"", "{scheme:?}");
        for said in [kdig(server, &[flag, "www.other", "A"]), kdig(server, &[flag, "example", "AXFR"])] {
            assert!(said.contains("REFUSED") || said.contains("NOTAUTH"), "{scheme:?}\n{said}");
            assert!(!said.contains("malformed"), "{said}");
        }
    }
    assert!(secure.running.tally().queries[2] >= 13, "{:?}", secure.running.tally());
}

/// Asks with hickory's client, which trusts this one certificate; whether it was answered.
async fn ask(server: SocketAddr, trusted: &rustls::pki_types::CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("ns1.example").unwrap();
    // It owns the task that carries the queries.
    let provider = TokioRuntimeProvider::new();
    let Ok(exchange) = tls_exchange(server, name, config, PATIENCE, None, provider.clone()).await else { return false };
    let mut message = Message::query();
    message.add_query(Query::query(HickoryName::from_ascii("www.example.").unwrap(), RecordType::A));
    let answer = exchange.send(DnsRequest::new(message, DnsRequestOptions::default())).first_answer().await.unwrap();
    answer.answers.len() == 1
}

#[tokio::test]
async fn a_new_certificate_is_taken_over_and_a_broken_one_is_not() {
    let secure = Secure::start(TcpLimits::default());
    let server = secure.address(Scheme::Tls);
    let first = certify(&secure.files);
    assert!(!ask(server, &first).await, "files alone change nothing");
    secure.certificates.reload(&secure.files).unwrap();
    assert!(ask(server, &first).await);
    let write = |path: &Path| std::fs::write(path, "nothing").unwrap();
    write(&secure.files.certificate);
    assert!(secure.certificates.reload(&secure.files).is_err());
    assert!(ask(server, &first).await, "the last good one is used on");
    let second = certify(&secure.files);
    secure.certificates.reload(&secure.files).unwrap();
    assert!(ask(server, &second).await && !ask(server, &first).await);
}

#[test]
fn a_client_holds_so_many_connections_and_silent_ones_end() {
    let idle = Duration::from_secs(2);
    let limits = TcpLimits { connections: 3, for_client: 2, idle, ..TcpLimits::default() };
    let secure = Secure::start(limits);
    let server = secure.address(Scheme::Tls);
    let mut held: Vec<Client> = (0..2).map(|_| Client::connect(server)).collect();
    while secure.running.connections() < 2 {
        std::thread::yield_now();
    }
    let mut third = Client::connect(server);
    assert!(third.closed(), "one client may hold two connections");
    assert_eq!(secure.running.tally().refused, 1);
    // Others are let in, in the place of the longest idle one if need be.
    let mut others = [2, 3].map(|last| Client::connect_from(&format!("127.0.0.{last}"), server));
    // Nobody says a word: all are gone in the end.
    assert!(held.iter_mut().chain(&mut others).all(Client::closed));
    while secure.running.connections() > 0 {
        std::thread::yield_now();
    }
    let tally = secure.running.tally();
    assert!(tally.accepted == 4 && tally.evicted <= 1, "{tally:?}");
}

#[test]
fn stopping_ends_all_and_frees_the_addresses() {
    let secure = Secure::start(TcpLimits::default());
    let (tls, quic) = (secure.address(Scheme::Tls), secure.address(Scheme::Quic));
    let mut client = Client::connect(tls);
    secure.running.stop();
    assert!(client.closed());
    assert!(std::net::TcpListener::bind(tls).is_ok() || std::net::TcpStream::connect(tls).is_err());
    assert!(std::net::UdpSocket::bind(quic).is_ok());
}

/// As operators configure it and see it.
#[test]
fn the_daemon_listens_where_it_is_told_and_says_where() {
    let home = crate::support::daemon::Home::new(
        "[server]\nlisten = ['127.0.0.1:0']\n[server.encrypted]\ndot = ['127.0.0.1:0']\ndoh = ['127.0.0.1:0']\n\
         doq = ['127.0.0.1:0']\ncertificate = 'cert.pem'\nkey = 'key.pem'\n[[zone]]\nname = 'example'\nfile = 'zone'\n",
        &[("zone", ZONE)],
    );
    certify(&CertificateFiles { certificate: home.path("cert.pem"), key: home.path("key.pem") });
    let _daemon = home.serve();
    let status = home.expect(0, "status");
    for (transport, flag) in [("DoT", "+tls"), ("DoH", "+https"), ("DoQ", "+quic")] {
        let listeners = status["encrypted"].as_array().unwrap();
        let here = listeners.iter().find(|listener| listener["transport"] == transport).unwrap();
        let address = here["address"].as_str().unwrap().parse().unwrap();
        let said = kdig(address, &[flag, "www.example", "A", "+short"]);
        assert_eq!(said.trim(), "192.0.2.1", "{transport}: {status:#}");
    }
    let text = String::from_utf8(home.command(&["status"]).output().unwrap().stdout).unwrap();
    assert!(text.contains("encrypted on DoT 127.0.0.1:"), "{text}");
}

/// A status, the value of some header fields, and the body.
struct Http {
    status: u16,
    age: String,
    media_type: String,
    body: Vec<u8>,
}

/// Asks over one HTTP/2 connection: a method, a path with its query, a media type and a body each.
async fn http(server: SocketAddr, requests: Vec<(&str, String, &str, Vec<u8>)>) -> Vec<Http> {
    use http_body_util::{BodyExt as _, Full};
    use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};

    let mut config = understudy::probe::ask::any_certificate().unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(server).await.unwrap();
    let name = ServerName::try_from("ns1.example").unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let (executor, stream) = (hyper_util::rt::TokioExecutor::new(), hyper_util::rt::TokioIo::new(stream));
    let (mut send, connection) = hyper::client::conn::http2::handshake(executor, stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut seen = Vec::new();
    for (method, path, media_type, body) in requests {
        let request = hyper::Request::builder().method(method).uri(format!("https://ns1.example{path}"));
        let request = request.header(CONTENT_TYPE, media_type).body(Full::new(bytes::Bytes::from(body))).unwrap();
        let response = send.send_request(request).await.unwrap();
        let field = |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let (status, age, media_type) = (response.status().as_u16(), field(CACHE_CONTROL), field(CONTENT_TYPE));
        let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
        seen.push(Http { status, age, media_type, body });
    }
    connection.abort();
    seen
}

/// Octets as base64url without padding.
fn base64url(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0u32, |bits, octet| bits << 8 | u32::from(*octet)) << (8 * (3 - group.len()));
        (0..=group.len()).map(|n| DIGITS[(bits >> (18 - 6 * n)) as usize & 63] as char).collect::<String>()
    };
    octets.chunks(3).map(group).collect()
}

#[tokio::test]
async fn https_has_both_methods_and_says_what_is_wrong() {
    const MESSAGE: &str = "application/dns-message";
    let secure = Secure::start(TcpLimits::default());
    let ask = |name: &str| {
        crate::support::message::query(
            0,
            Name::absolute(name).unwrap().as_ref(),
            understudy::rr::RrType::A,
            false,
            Some(4096),
        )
    };
    let get = |name: &str| format!("/dns-query?dns={}", base64url(&ask(name)));
    let here = || "/dns-query".to_owned();
    let rows = vec![
        (("GET", get("www.example"), "", vec![]), 200, "max-age=300"),
        (("POST", here(), MESSAGE, ask("www.example")), 200, "max-age=300"),
        (("POST", here(), "Application/DNS-Message; charset=x", ask("none.example")), 200, "max-age=20"),
        (("GET", get("www.other"), "", vec![]), 200, "max-age=0"),
        (("GET", get("www.example") + "=", "", vec![]), 400, ""),
        (("GET", here(), "", vec![]), 400, ""),
        (("GET", "/dns-query?dns=AAAA".into(), "", vec![]), 400, ""),
        (("GET", get("www.example").replace("dns-query", "elsewhere"), "", vec![]), 404, ""),
        (("PUT", here(), MESSAGE, ask("www.example")), 405, ""),
        (("POST", here(), "text/plain", ask("www.example")), 415, ""),
        (("POST", here(), MESSAGE, vec![0; 65_536]), 413, ""),
        (("GET", format!("/dns-query?dns={}", "A".repeat(20_000)), "", vec![]), 431, ""),
        (("GET", get("www.example"), "", vec![]), 200, "max-age=300"),
    ];
    let (requests, expected): (Vec<_>, Vec<_>) = rows.into_iter().map(|(ask, code, age)| (ask, (code, age))).unzip();
    let seen = http(secure.address(Scheme::Https), requests.clone()).await;
    for ((request, (status, age)), response) in requests.iter().zip(expected).zip(&seen) {
        let shown = format!("{} {:.60} {}", request.0, request.1, request.2);
        assert_eq!((response.status, &*response.age), (status, age), "{shown}");
        assert_eq!(
            (response.media_type == MESSAGE, response.body.is_empty()),
            (status == 200, status != 200),
            "{shown}"
        );
    }
    assert!(seen[0].body == seen[1].body, "the same answer by either method");
    let answer = crate::support::message::read(&seen[0].body).unwrap();
    assert_eq!(answer.answers[0].rdata, [192, 0, 2, 1]);
}
