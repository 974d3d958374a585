//! Odd packets to BIND, NSD, Knot and ours: where the three agree we do as they do, but for what is listed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use understudy::name::Name;
use understudy::rr::RrType;
use understudy::serving::respond::Transport;

use crate::packet::{Packet, WWW, labels, opt, option, record, tsig, tsig_rdata};
use crate::support::dns::Client;
use crate::support::lab::{Server, ZoneFile, isolated};
use crate::support::{engine, message};

/// Why an answer is what it is: only ours has it.
const EDE: u16 = 15;

/// Where we differ from all that answer, by the beginning of the case's name, and why.
///
/// NSD leaves the question out of its answer to this one, so that the three agree only while NSD is too slow to be heard.
const DIFFERENCES: &[(&str, &str)] = &[(
    "an A of 3 octets in section",
    "records of a query that are neither OPT nor TSIG mean nothing: their data is stepped over, not judged",
)];

/// What of an answer is compared.
#[derive(Clone, PartialEq, Eq)]
struct View {
    rcode: u16,
    flags: u16,
    counts: [usize; 4],
    /// Version, flags, and the options' codes.
    opt: Option<(u8, u16, Vec<u16>)>,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rcode {} flags {:04x} counts {:?}", self.rcode, self.flags, self.counts)?;
        match &self.opt {
            None => Ok(()),
            Some((version, flags, options)) => write!(f, " EDNS {version} {flags:04x} {options:?}"),
        }
    }
}

fn view(answer: &[u8], who: &str, name: &str) -> Option<View> {
    if answer.is_empty() {
        return None;
    }
    let read = message::read(answer).unwrap_or_else(|error| panic!("{who}, {name}: {error}\n{answer:02x?}"));
    let edns = read.edns.as_ref();
    let opt = edns.map(|edns| {
        (edns.version, edns.flags, edns.options.iter().map(|(code, _)| *code).filter(|code| *code != EDE).collect())
    });
    let counts = [read.questions.len(), read.answers.len(), read.authorities.len(), read.additionals.len()];
    // What goes with an answer, of servers and their addresses, is everybody's own; that it fits is the other test's.
    let counts = if counts[1] > 0 { [counts[0], counts[1], 0, 0] } else { counts };
    Some(View { rcode: read.rcode(), flags: read.flags.0 & !0x000F, counts, opt })
}

fn show(view: &Option<View>) -> String {
    view.as_ref().map_or("silence".into(), View::to_string)
}

/// The answer over UDP, empty if there is none: a server of one worker has then answered what was asked next.
fn ask_udp(server: SocketAddr, packet: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let next = message::query(0xFFFF, Name::absolute("example").unwrap().as_ref(), RrType::SOA, false, None);
    socket.send(packet).unwrap();
    socket.send(&next).unwrap();
    let (found, mut answered) = (Vec::new(), false);
    let mut buffer = [0; 65_535];
    loop {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if answered => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
                return found;
            }
            Err(error) => panic!("{server} is silent: {error}"),
        };
        if buffer[..2] != [0xFF, 0xFF] {
            return buffer[..length].to_vec();
        }
        // A server of several workers may answer the second query first: it is silent only if nothing follows.
        answered = true;
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    }
}

fn ask_tcp(server: SocketAddr, packet: &[u8]) -> Vec<u8> {
    Client::connect(server).ask(packet).unwrap_or_default()
}

/// The packets.
fn cases() -> Vec<(String, Packet)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, packet: Packet| cases.push((name.to_owned(), packet));
    add("plain", Packet::www());
    for bit in 0..7 {
        add(&format!("header flag {:04x}", 1 << (4 + bit)), Packet::www().flags(1 << (4 + bit)));
    }
    add("all flags", Packet::www().flags(0x07F0));
    add("rcode in the query", Packet::www().flags(0x000F));
    for flags in [0x0200, 0x0100, 0x0010, 0x0020, 0x0040] {
        add(&format!("header flag {flags:04x}, EDNS"), Packet::www().flags(flags).options(&[]));
    }
    for opcode in 1..16 {
        add(&format!("opcode {opcode}"), Packet::www().opcode(opcode));
        add(&format!("opcode {opcode} EDNS"), Packet::www().opcode(opcode).options(&[]));
        add(&format!("opcode {opcode} header only"), Packet::empty().opcode(opcode));
        add(&format!("opcode {opcode} EDNS 1"), Packet::www().opcode(opcode).opt(1232, 1, 0, &[]));
        add(&format!("opcode {opcode} malformed"), Packet::www().opcode(opcode).claim(3, 1));
        add(&format!("opcode {opcode} SOA"), Packet::ask(b"\x07example\0", 6).opcode(opcode));
    }
    for qtype in [0, 10, 24, 25, 41, 103, 128, 248, 249, 250, 251, 252, 253, 254, 255, 256, 1000, 65280, 65535] {
        add(&format!("type {qtype}"), Packet::ask(WWW, qtype));
        add(&format!("type {qtype} of the apex"), Packet::ask(b"\x07example\0", qtype));
        add(&format!("type {qtype} EDNS"), Packet::ask(WWW, qtype).options(&[]));
        add(&format!("type {qtype} elsewhere"), Packet::ask(b"\x05other\0", qtype));
    }
    for class in [0, 2, 3, 4, 5, 254, 255, 256, 65535] {
        add(&format!("class {class}"), Packet::empty().question(WWW, 1, class));
        add(&format!("class {class} EDNS"), Packet::empty().question(WWW, 1, class).options(&[]));
        add(&format!("class {class} elsewhere"), Packet::empty().question(b"\x05other\0", 1, class));
    }
    for name in [
        &b"\x07version\x04bind\0"[..],
        b"\x02id\x06server\0",
        b"\x08hostname\x04bind\0",
        b"\x07authors\x04bind\0",
        b"\0",
    ] {
        for qtype in [1, 16, 255] {
            add(&format!("CH {} {qtype}", String::from_utf8_lossy(name)), Packet::empty().question(name, qtype, 3));
        }
    }
    add("no question", Packet::empty());
    add("no question, EDNS", Packet::empty().options(&[]));
    add("two questions", Packet::www().question(WWW, 28, 1));
    add("two equal questions", Packet::www().question(WWW, 1, 1));
    add("two questions, EDNS", Packet::www().question(WWW, 28, 1).options(&[]));
    add("a question too few", Packet::empty().claim(0, 1));
    add("a question too few, EDNS", Packet::empty().claim(0, 1).options(&[]));
    add("a question too many", Packet::www().claim(0, 0));
    add("half a question", Packet::empty().claim(0, 1).tail(b"\x03www\x07example\0\0"));
    add("half a name", Packet::empty().claim(0, 1).tail(b"\x03www\x07exam"));
    for section in 1..4 {
        add(&format!("a record too few in section {section}"), Packet::www().claim(section, 1));
        add(&format!("65535 records in section {section}"), Packet::www().claim(section, 65535));
    }
    add("one octet behind the end", Packet::www().tail(&[0]));
    add("octets behind the end", Packet::www().tail(&[1, 2, 3, 4, 5, 6, 7]));
    add("octets behind the OPT", Packet::www().options(&[]).tail(&[1, 2, 3]));
    add("a whole OPT not counted", Packet::www().tail(&opt(1232, 0, 0, &[])));
    let a = record(WWW, 1, 1, 5, &[192, 0, 2, 1]);
    for section in 0..3 {
        add(&format!("an A in section {section}"), Packet::www().record(section, &a));
        add(&format!("an A in section {section}, EDNS"), Packet::www().record(section, &a).options(&[]));
        add(
            &format!("an A of 3 octets in section {section}"),
            Packet::www().record(section, &record(WWW, 1, 1, 5, &[192, 0, 2])),
        );
        add(&format!("OPT in section {section}"), Packet::www().record(section, &opt(1232, 0, 0, &[])));
        add(&format!("TSIG in section {section}"), Packet::www().record(section, &tsig()));
        add(
            &format!("an unknown type in section {section}"),
            Packet::www().record(section, &record(b"\0", 65280, 1, 0, b"x")),
        );
    }
    // Pointers.
    add("question points at itself", Packet::ask(b"\xC0\x0C", 1));
    add("question points at the header", Packet::ask(b"\xC0\x04", 1));
    add("question points forward", Packet::ask(b"\xC0\x12", 1).record(2, &a));
    add("question ends in a pointer to itself", Packet::ask(b"\x03www\xC0\x0C", 1));
    add("question ends in a pointer to the header's zeroes", Packet::ask(b"\x03www\xC0\x08", 1));
    add("reserved label type 01", Packet::ask(b"\x41a\0", 1));
    add("reserved label type 10", Packet::ask(b"\x81a\0", 1));
    add("owner points at the question", Packet::www().record(2, &record(b"\xC0\x0C", 1, 1, 5, &[192, 0, 2, 1])));
    add("owner points at itself", Packet::www().record(2, &record(b"\xC0\x1D", 1, 1, 5, &[192, 0, 2, 1])));
    add("owner points behind the end", Packet::www().record(2, &record(b"\xC1\x00", 1, 1, 5, &[192, 0, 2, 1])));
    // Names.
    add("the root", Packet::ask(b"\0", 1));
    add("127 labels below the zone", Packet::ask(&labels(b"\x07example\0", 123), 1));
    add("127 labels elsewhere", Packet::ask(&labels(b"\0", 127), 1));
    add("128 labels", Packet::ask(&labels(b"\0", 128), 1));
    let label = |length: u8| [&[length][..], &vec![b'x'; length.into()]].concat();
    let long = |last: u8| [label(63), label(63), label(63), label(last), b"\x07example\0".to_vec()].concat();
    add("255 octets", Packet::ask(&long(53), 1));
    add("255 octets, EDNS", Packet::ask(&long(53), 1).options(&[]));
    add("256 octets", Packet::ask(&long(54), 1));
    add("octets of every kind", Packet::ask(b"\x05\x00.\xFF\x1B \x07example\0", 1));
    add("upper case", Packet::ask(b"\x03WwW\x07eXaMpLe\0", 1));
    add("no such name", Packet::ask(b"\x04none\x07example\0", 1));
    add("no such name, EDNS", Packet::ask(b"\x04none\x07example\0", 1).options(&[]));
    add("no such zone", Packet::ask(b"\x04none\x07exampl2\0", 1));
    add("no such zone, EDNS", Packet::ask(b"\x04none\x07exampl2\0", 1).options(&[]));
    // EDNS.
    for payload in [0, 1, 511, 512, 1232, 65535] {
        add(&format!("EDNS payload {payload}"), Packet::www().opt(payload, 0, 0, &[]));
        add(
            &format!("EDNS payload {payload}, long answer"),
            Packet::ask(b"\x04many\x07example\0", 16).opt(payload, 0, 0, &[]),
        );
    }
    add("long answer", Packet::ask(b"\x04many\x07example\0", 16));
    for version in [1, 2, 100, 255] {
        add(&format!("EDNS version {version}"), Packet::www().opt(1232, version, 0, &[]));
    }
    add("EDNS version 1, unknown option", Packet::www().opt(1232, 1, 0, &option(100, b"x")));
    add("EDNS version 1, DO", Packet::www().opt(1232, 1, 0x8000, &[]));
    add("EDNS version 1, no such zone", Packet::ask(b"\x05other\0", 1).opt(1232, 1, 0, &[]));
    add("EDNS version 1, type 0", Packet::ask(WWW, 0).opt(1232, 1, 0, &[]));
    add("EDNS version 1, CH", Packet::empty().question(WWW, 16, 3).opt(1232, 1, 0, &[]));
    add("EDNS version 1, no question", Packet::empty().opt(1232, 1, 0, &[]));
    add("EDNS version 1, half an option", Packet::www().opt(1232, 1, 0, &[0, 100, 0, 5]));
    add("EDNS version 1, two OPT", Packet::www().opt(1232, 1, 0, &[]).opt(1232, 1, 0, &[]));
    for bit in 0..16 {
        add(&format!("EDNS flag {:04x}", 1 << bit), Packet::www().opt(1232, 0, 1 << bit, &[]));
    }
    add("EDNS all flags", Packet::www().opt(1232, 0, 0xFFFF, &[]));
    add("EDNS extended rcode in the query", Packet::www().record(2, b"\0\0\x29\x04\xD0\xFF\0\0\0\0\0"));
    for code in [0, 1, 2, 4, 5, 6, 7, 9, 13, 14, 16, 18, 20, 26946, 65001, 65535] {
        add(&format!("EDNS option {code}, empty"), Packet::www().options(&option(code, &[])));
        add(&format!("EDNS option {code}, 8 octets"), Packet::www().options(&option(code, &[0; 8])));
    }
    add("EDNS option 3 (NSID)", Packet::www().options(&option(3, &[])));
    add("EDNS option 3 (NSID) with data", Packet::www().options(&option(3, b"x")));
    add("EDNS option 10 (COOKIE), 7 octets", Packet::www().options(&option(10, &[0; 7])));
    add("EDNS option 12 (padding)", Packet::www().options(&option(12, &[0; 20])));
    add("EDNS option 15 (EDE)", Packet::www().options(&option(15, &[0, 3])));
    add("EDNS option 11 (keepalive)", Packet::www().options(&option(11, &[])));
    add("EDNS option 8 (ECS)", Packet::www().options(&option(8, &[0, 1, 24, 0, 192, 0, 2])));
    add("EDNS option 8 (ECS), malformed", Packet::www().options(&option(8, &[0, 1, 24, 0, 192])));
    add("EDNS many options", Packet::www().options(&option(65001, b"x").repeat(100)));
    add("EDNS cut head of an option", Packet::www().options(&[0, 100, 0]));
    add("EDNS cut option", Packet::www().options(&[0, 100, 0, 2, 1]));
    add("EDNS option over the end of the packet", Packet::www().options(&[0, 100, 0xFF, 0xFF]));
    add(
        "EDNS cut option behind a whole one",
        Packet::www().options(&[&option(65001, b"x")[..], &[0, 100, 0, 2, 1]].concat()),
    );
    add("OPT cut in its head", Packet::www().claim(3, 1).tail(&opt(1232, 0, 0, &[])[..9]));
    add("OPT cut in its data", Packet::www().claim(3, 1).tail(&opt(1232, 0, 0, &option(100, b"xyz"))[..14]));
    add("OPT not of the root", Packet::www().record(2, &[&b"\x01a"[..], &opt(1232, 0, 0, &[])].concat()));
    add("two OPT", Packet::www().options(&[]).options(&[]));
    add("A behind the OPT", Packet::www().options(&[]).record(2, &a));
    // TSIG.
    add("TSIG, unknown key", Packet::www().record(2, &tsig()));
    add("TSIG, unknown key, EDNS", Packet::www().options(&[]).record(2, &tsig()));
    add("TSIG, unknown key, no such zone", Packet::ask(b"\x05other\0", 1).record(2, &tsig()));
    add("TSIG, unknown key, type 0", Packet::ask(WWW, 0).record(2, &tsig()));
    add("TSIG, unknown key, EDNS 1", Packet::www().opt(1232, 1, 0, &[]).record(2, &tsig()));
    add("TSIG, unknown key, SOA", Packet::ask(b"\x07example\0", 6).record(2, &tsig()));
    add("TSIG, unknown key, NOTIFY", Packet::ask(b"\x07example\0", 6).opcode(4).record(2, &tsig()));
    add("TSIG, unknown key, UPDATE", Packet::ask(b"\x07example\0", 6).opcode(5).record(2, &tsig()));
    add("TSIG, unknown key, opcode 9", Packet::ask(b"\x07example\0", 6).opcode(9).record(2, &tsig()));
    add("TSIG, unknown key, AXFR", Packet::ask(b"\x07example\0", 252).record(2, &tsig()));
    add("TSIG, unknown key, header only", Packet::empty().record(2, &tsig()));
    add("TSIG, owner compressed", Packet::www().record(2, &record(b"\xC0\x0C", 250, 255, 0, &tsig_rdata(0))));
    add(
        "TSIG, no MAC",
        Packet::www()
            .record(2, &record(b"\x01k\0", 250, 255, 0, b"\x0bhmac-sha256\0\0\0\x65\0\0\0\x01\x2c\0\0\0\0\0\0\0\0")),
    );
    add("TSIG, class IN", Packet::www().record(2, &record(b"\x01k\0", 250, 1, 0, &tsig_rdata(0))));
    add("TSIG, TTL 1", Packet::www().record(2, &record(b"\x01k\0", 250, 255, 1, &tsig_rdata(0))));
    add(
        "TSIG, unknown algorithm",
        Packet::www()
            .record(2, &record(b"\x01k\0", 250, 255, 0, b"\x03abc\0\0\0\x65\0\0\0\x01\x2c\0\x01x\0\0\0\0\0\0")),
    );
    add("TSIG not last", Packet::www().record(2, &tsig()).options(&[]));
    add("TSIG twice", Packet::www().record(2, &tsig()).record(2, &tsig()));
    add("TSIG, data cut", Packet::www().record(2, &record(b"\x01k\0", 250, 255, 0, &tsig_rdata(0)[..30])));
    add(
        "TSIG, data too long",
        Packet::www().record(2, &record(b"\x01k\0", 250, 255, 0, &[tsig_rdata(0), vec![0]].concat())),
    );
    add("TSIG, empty", Packet::www().record(2, &record(b"\x01k\0", 250, 255, 0, &[])));
    cases
}

#[test]
fn peer_odd_packets() {
    isolated("peers::peer_odd_packets", compare);
}

fn compare() {
    let dir = tempfile::tempdir().unwrap();
    let origin = Name::absolute("example").unwrap();
    let zones = [ZoneFile::write(dir.path(), &origin, crate::ZONE.as_bytes())];
    let servers = [Server::bind(&zones), Server::nsd(&zones), Server::knot(&zones)];
    let engine = crate::serving(crate::settings());
    let mut tally = Tally::default();
    for (name, packet) in cases() {
        let octets = packet.octets(0x1234);
        for transport in [Transport::Udp, Transport::Tcp] {
            let ask = |server: &Server| match transport {
                Transport::Udp => ask_udp(server.address, &octets),
                _ => ask_tcp(server.address, &octets),
            };
            let peers = servers.each_ref().map(|server| view(&ask(server), server.name, &name));
            let ours = view(&engine::ask(&engine, &octets, transport), "ours", &name);
            tally.note(&format!("{name}, {transport:?}"), &peers, &ours);
        }
    }
    tally.judge();
}

#[derive(Default)]
struct Tally {
    asked: usize,
    agreed: usize,
    /// The cases that they disagree on, by which of them we are with.
    disagreed: BTreeMap<String, Vec<String>>,
    /// How often each of the differences was seen.
    known: [usize; DIFFERENCES.len()],
    wrong: Vec<String>,
}

impl Tally {
    /// Servers that keep silent have no say.
    fn note(&mut self, name: &str, peers: &[Option<View>; 3], ours: &Option<View>) {
        self.asked += 1;
        let spoken: Vec<&Option<View>> = peers.iter().filter(|view| view.is_some()).collect();
        let said = format!(
            "{name}\n    BIND {}\n    NSD  {}\n    Knot {}\n    ours {}",
            show(&peers[0]),
            show(&peers[1]),
            show(&peers[2]),
            show(ours)
        );
        if spoken.len() < 2 || spoken.iter().any(|view| *view != spoken[0]) {
            let with = ["BIND", "NSD", "Knot"].into_iter().zip(peers).filter(|(_, view)| *view == ours);
            let with: Vec<&str> = with.map(|(name, _)| name).collect();
            let key = if with.is_empty() { "nobody".into() } else { with.join(" and ") };
            self.disagreed.entry(key).or_default().push(said);
            return;
        }
        self.agreed += 1;
        if ours == spoken[0] {
            return;
        }
        match DIFFERENCES.iter().position(|(beginning, _)| name.starts_with(beginning)) {
            Some(index) => self.known[index] += 1,
            None => self.wrong.push(said),
        }
    }

    fn judge(&self) {
        println!("{} packets; the peers that answer agree on {}; of the others we are with", self.asked, self.agreed);
        for (with, said) in &self.disagreed {
            println!("{:6} {with}", said.len());
        }
        for said in self.disagreed.get("nobody").into_iter().flatten() {
            println!("with nobody: {said}");
        }
        for ((beginning, reason), count) in DIFFERENCES.iter().zip(self.known) {
            println!("{count:6} differences, {beginning}: {reason}");
        }
        assert!(self.agreed * 3 > self.asked, "the peers agree on {} answers only: is one broken?", self.agreed);
        assert!(self.wrong.is_empty(), "{} answers differ:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}
