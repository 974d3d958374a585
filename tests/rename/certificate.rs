//! Servers that SRV and MX records lead to are asked whether the fresh name is in their certificates.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use serde_json::Value;

use crate::support::daemon::{Daemon, Home, free_port};
use crate::support::lab::{is_isolated, isolated};
use crate::{COMMON, beside, home, lines_of, wait_for};

/// What a server with a certificate of these names goes by.
fn shows(names: &[&str]) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let chain = vec![CertificateDer::from(made.cert)];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// Shows the certificate to who has connected.
fn show(mut stream: TcpStream, config: Arc<ServerConfig>) {
    let mut connection = ServerConnection::new(config).unwrap();
    while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
    let _ = stream.read(&mut [0; 16]);
}

/// A server with a certificate of these names. Its threads end with the test's process.
fn serve(listener: TcpListener, names: &[&str], starttls: bool) {
    let config = shows(names);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, config) = (stream.unwrap(), Arc::clone(&config));
            std::thread::spawn(move || {
                if !starttls || mail(&mut stream) {
                    show(stream, config);
                }
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

/// What the gate finds about a rename of `name`.
fn found(home: &Home, name: &str) -> Value {
    in_report(&home.cli(&format!("rename a.example {name} --dry-run")).json)
}

/// The gate's finding in what the command writes.
fn in_report(report: &Value) -> Value {
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    findings.iter().find(|found| found["gate"] == "rename.certificate").unwrap().clone()
}

/// The same, once servers have answered: on a machine that is busy with other things they may take longer than they are given.
fn answered(home: &Home, name: &str) -> Value {
    wait_for("what servers show", || {
        let found = found(home, name);
        if found["verdict"] == "unknown" { Err(format!("{found:#}")) } else { Ok(found) }
    })
}

/// A daemon whose common file has `more`.
fn with(more: &str) -> (Home, Daemon) {
    let home = home(&[]);
    home.write("common.zone", &format!("{COMMON}{more}"));
    let daemon = home.serve();
    (home, daemon)
}

fn service(port: u16) -> String {
    format!("_chat._tcp SRV 0 0 {port} chat\n_chat._udp SRV 0 0 9 chat\nchat A 127.0.0.1\nchat AAAA ::1\n")
}

/// Both addresses of the service have this certificate.
fn of_service(names: &[&str]) -> Value {
    let listeners = on_both();
    let (home, _daemon) = with(&service(port_of(&listeners[0])));
    listeners.into_iter().for_each(|listener| serve(listener, names, false));
    answered(&home, "chat")
}

/// Listeners on both addresses of a service, on one port.
fn on_both() -> [TcpListener; 2] {
    let try_both = |_| {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let second = TcpListener::bind(("::1", port_of(&first))).ok()?;
        Some([first, second])
    };
    (0..100).find_map(try_both).expect("a port is free on both addresses")
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
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
    let (home, _daemon) = with(&service(free_port()));
    let closed = found(&home, "chat");
    assert_eq!(closed["verdict"], "unknown", "{closed:#}");
    assert!(closed["remedy"].as_str().unwrap().contains("openssl s_client -connect"), "{closed:#}");
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let (home, _daemon) = with(&service(port_of(&plain)));
    std::thread::spawn(move || {
        plain.incoming().for_each(|stream| _ = stream.unwrap().write_all(b"* OK this is something else\r\n"));
    });
    let spoken = found(&home, "chat");
    assert_eq!(spoken["verdict"], "unknown", "{spoken:#}");
}

/// A server that says nothing is not waited for: its connection is ended.
#[test]
fn a_silent_server_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (home, _daemon) = with(&service(port_of(&silent)));
    let held = std::thread::spawn(move || {
        let (mut stream, _) = silent.accept().unwrap();
        let begun = Instant::now();
        // One that is given up with something unread is reset.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        begun.elapsed()
    });
    let found = found(&home, "chat");
    assert_eq!(found["verdict"], "unknown", "{found:#}");
    let held = held.join().unwrap();
    assert!(held < Duration::from_secs(8), "{held:?}");
}

/// A server shows its certificate only once somebody else was answered: had everybody to wait for it, it would be given up.
#[test]
fn nobody_waits_for_a_server_that_is_asked() {
    let [first, second] = on_both();
    let (home, _daemon) = with(&service(port_of(&first)));
    let config = shows(&["*.a.example"]);
    serve(second, &["*.a.example"], false);
    // A busy machine may take longer for it than a server is given.
    wait_for("a verdict", || {
        let rename = beside(&home, "rename a.example chat --dry-run");
        let (asked, _) = first.accept().unwrap();
        let zone = home.zone("a.example");
        assert_eq!(zone["renames"], Value::Array(Vec::new()), "{zone:#}");
        show(asked, Arc::clone(&config));
        let (_, lines) = lines_of(rename);
        let found = in_report(lines.last().unwrap());
        if found["verdict"] == "pass" { Ok(()) } else { Err(format!("{found:#}")) }
    });
}

#[test]
fn a_mail_server_is_asked_by_starttls() {
    isolated("certificate::a_mail_server_is_asked_by_starttls", || {
        if !is_isolated() {
            eprintln!("no namespaces here: mail needs port 25");
            return;
        }
        serve(TcpListener::bind("127.0.0.1:25").unwrap(), &["*.a.example"], true);
        let (home, _daemon) = with("");
        let found = answered(&home, "mail");
        assert_eq!(found["verdict"], "pass", "{found:#}");
    });
}
