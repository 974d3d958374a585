//! Servers that SRV and MX records lead to are asked whether the fresh name is in their certificates.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use serde_json::Value;

use crate::support::daemon::free_port;
use crate::support::lab::{is_isolated, isolated};
use crate::{COMMON, beside, home, lines_of, wait_for};

/// A server with a certificate of these names. Its threads end with the test's process.
fn serve(listener: TcpListener, names: &[&str], starttls: bool) {
    let made = rcgen::generate_simple_self_signed(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let chain = vec![CertificateDer::from(made.cert)];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, config) = (stream.unwrap(), Arc::clone(&config));
            std::thread::spawn(move || {
                if starttls && !mail(&mut stream) {
                    return;
                }
                let mut connection = ServerConnection::new(config).unwrap();
                while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
                let _ = stream.read(&mut [0; 16]);
            });
        }
    });
}

/// Speaks as a mail server up to where TLS begins.
fn mail(stream: &mut TcpStream) -> bool {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut say = |text: &str| stream.write_all(text.as_bytes()).is_ok();
    say("220-mail ready\r\n220 at your service\r\n")
        && lines.next().is_some_and(|line| line.is_ok_and(|line| line.starts_with("EHLO ")))
        && say("250-mail\r\n250-SIZE 1000\r\n250 STARTTLS\r\n")
        && lines.next().is_some_and(|line| line.is_ok_and(|line| line == "STARTTLS"))
        && say("220 go ahead\r\n")
}

/// What the gate finds about a rename of `name`, once the common file has `more`.
fn found(more: &str, name: &str) -> Value {
    let home = home(&[]);
    home.write("common.zone", &format!("{COMMON}{more}"));
    let _daemon = home.serve();
    let report = home.cli(&format!("rename a.example {name} --dry-run")).json;
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    findings.iter().find(|found| found["gate"] == "rename.certificate").unwrap().clone()
}

fn service(port: u16) -> String {
    format!("_chat._tcp SRV 0 0 {port} chat\n_chat._udp SRV 0 0 9 chat\nchat A 127.0.0.1\nchat AAAA ::1\n")
}

/// Both addresses of the service have this certificate.
fn of_service(names: &[&str]) -> Value {
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = first.local_addr().unwrap().port();
    serve(first, names, false);
    serve(TcpListener::bind(("::1", port)).unwrap(), names, false);
    found(&service(port), "chat")
}

#[test]
fn a_certificate_that_has_the_fresh_name_passes() {
    let found = of_service(&["*.a.example"]);
    assert_eq!(found["verdict"], "pass", "{found:#}");
    assert_eq!(found["reason"], "chat-r1.a.example. is in the certificate of 2 servers");
}

#[test]
fn one_that_has_only_the_lever_stops_it() {
    let found = of_service(&["chat.a.example", "a.example"]);
    assert_eq!(found["verdict"], "block", "{found:#}");
    let items = found["items"].to_string();
    assert!(items.contains("127.0.0.1:") && items.contains("[::1]:") && items.contains("(SRV)"), "{items}");
}

#[test]
fn a_server_that_does_not_answer_or_speaks_no_tls_leaves_it_unknown() {
    let closed = found(&service(free_port()), "chat");
    assert_eq!(closed["verdict"], "unknown", "{closed:#}");
    assert!(closed["remedy"].as_str().unwrap().contains("openssl s_client -connect"), "{closed:#}");
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    std::thread::spawn(move || {
        plain.incoming().for_each(|stream| _ = stream.unwrap().write_all(b"* OK this is something else\r\n"));
    });
    let spoken = found(&service(port), "chat");
    assert_eq!(spoken["verdict"], "unknown", "{spoken:#}");
}

/// A server that says nothing is not waited for.
#[test]
fn a_silent_server_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let begun = std::time::Instant::now();
    let found = found(&service(silent.local_addr().unwrap().port()), "chat");
    assert_eq!(found["verdict"], "unknown", "{found:#}");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

/// Whoever wants something else of the daemon is answered while a server is asked: it is on the line still behind that.
#[test]
fn nobody_waits_for_a_server_that_is_asked() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home(&[]);
    home.write("common.zone", &format!("{COMMON}{}", service(silent.local_addr().unwrap().port())));
    let _daemon = home.serve();
    // A busy machine may take longer for it than the server is given.
    wait_for("an answer while a server is asked", || {
        let rename = beside(&home, "rename a.example chat --dry-run");
        let (mut asked, _) = silent.accept().unwrap();
        let zone = home.zone("a.example");
        assert_eq!(zone["renames"], Value::Array(Vec::new()), "{zone:#}");
        let is_asked = is_open(&mut asked);
        let (code, lines) = lines_of(rename);
        if is_asked { Ok(()) } else { Err(format!("it was given up before; code {code}: {lines:?}")) }
    });
}

/// Whether the other end has not closed a connection by now.
fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test]
fn a_mail_server_is_asked_by_starttls() {
    isolated("certificate::a_mail_server_is_asked_by_starttls", || {
        if !is_isolated() {
            eprintln!("no namespaces here: mail needs port 25");
            return;
        }
        serve(TcpListener::bind("127.0.0.1:25").unwrap(), &["*.a.example"], true);
        let found = found("", "mail");
        assert_eq!(found["verdict"], "pass", "{found:#}");
    });
}
