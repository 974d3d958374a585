//! Why an answer is what it is (RFC 8914): zones that are stale or missing.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use understudy::door::Verified;
use understudy::name::Name;
use understudy::serving::notes::Notes;
use understudy::serving::respond::Transport;

use crate::packet::{Packet, option};
use crate::support::dns::{PATIENCE, udp_client};
use crate::support::message::{self, Message};
use crate::support::{engine, message::read};

const EDE: u16 = 15;
const MANY: &[u8] = b"\x04many\x07example\0";

fn reason(answer: &Message) -> Option<(u16, String)> {
    let (_, data) = answer.edns.as_ref()?.options.iter().find(|(code, _)| *code == EDE)?;
    Some((u16::from_be_bytes([data[0], data[1]]), String::from_utf8(data[2..].into()).unwrap()))
}

#[test]
fn stale_and_missing_zones_are_told_of() {
    let name = |text| Name::absolute(text).unwrap();
    let serving = crate::serving(crate::settings());
    let notes = Notes::new(vec![name("example")], vec![name("lost.test")]);
    let noted = Verified::in_manner(&serving, crate::settings(), notes);
    assert_eq!(noted.serving().generation, serving.generation);
    let cookie = option(10, b"12345678");
    for (asked, packet, rcode, answers, code, text) in [
        ("stale", Packet::www().options(&[]), 0, 1, Some(3), true),
        ("stale, no EDNS", Packet::www(), 0, 1, None, false),
        ("stale, no such name", Packet::ask(b"\x01x\x07example\0", 1).options(&[]), 3, 0, Some(3), true),
        // Words are left out before records are.
        ("stale, hardly fits", Packet::ask(MANY, 16).opt(772, 0, 0, &cookie), 0, 6, Some(3), false),
        ("stale, cut", Packet::ask(MANY, 16).opt(512, 0, 0, &cookie), 0, 0, Some(3), true),
        ("missing", Packet::ask(b"\x03www\x04lost\x04test\0", 1).options(&[]), 2, 0, Some(14), true),
        ("missing, no EDNS", Packet::ask(b"\x04lost\x04test\0", 1), 2, 0, None, false),
        ("elsewhere", Packet::ask(b"\x04test\0", 1).options(&[]), 5, 0, Some(20), true),
    ] {
        let answer = read(&engine::ask(noted.serving(), &packet.octets(1), Transport::Udp)).unwrap();
        let reason = reason(&answer);
        assert_eq!((answer.rcode(), answer.answers.len()), (rcode, answers), "{asked}: {answer:?}");
        assert_eq!(reason.as_ref().map(|(code, _)| *code), code, "{asked}");
        assert_eq!(reason.is_some_and(|(_, words)| !words.is_empty()), text, "{asked}");
    }
}

#[test]
fn a_reload_of_broken_files_makes_a_zone_stale_and_one_of_good_files_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let zone = dir.path().join("example.zone");
    std::fs::write(&zone, crate::ZONE).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_understudy"))
        .args(["serve", "--listen", "127.0.0.1:0", "--zone", "example=example.zone"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let log = || std::fs::read_to_string(dir.path().join("log")).unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let address: SocketAddr = address.unwrap_or_else(|| panic!("{line:?}: {}", log()));
    let socket = udp_client("127.0.0.1:0");
    let until = |wanted: Option<u16>| {
        let deadline = Instant::now() + PATIENCE;
        kill(Pid::from_raw(server.id() as i32), Signal::SIGHUP).unwrap();
        loop {
            socket.send_to(&Packet::www().options(&[]).octets(1), address).unwrap();
            let mut buffer = [0; 4096];
            let length = socket.recv(&mut buffer).unwrap();
            let answer = message::read(&buffer[..length]).unwrap();
            assert_eq!((answer.rcode(), answer.answers.len()), (0, 1), "{}", log());
            if reason(&answer).map(|(code, _)| code) == wanted {
                return;
            }
            assert!(Instant::now() < deadline, "no {wanted:?}: {}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::fs::write(&zone, "@ SOA broken").unwrap();
    until(Some(3));
    std::fs::write(&zone, crate::ZONE).unwrap();
    until(None);
    kill(Pid::from_raw(server.id() as i32), Signal::SIGTERM).unwrap();
    assert!(server.wait().unwrap().success(), "{}", log());
}
