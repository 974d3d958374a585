//! What ISC's compliance reports and RFC 8906 §8 ask of a server, over real sockets.
//!
//! The names of the probes are those of the reports. What is wanted is what their authors call `ok`.

use std::net::SocketAddr;

use understudy::rr::RrType;
use understudy::serve::Stage;
use understudy::serve::tcp::TcpLimits;

use crate::packet::{Packet, WWW, opt, option, record, tsig, tsig_rdata};
use crate::support::dns::{self, Client};
use crate::support::message::{self, Message};

const EXAMPLE: &[u8] = b"\x07example\0";
const MANY: &[u8] = b"\x04many\x07example\0";

const NOERROR: u16 = 0;
const FORMERR: u16 = 1;
const NXDOMAIN: u16 = 3;
const NOTIMP: u16 = 4;
const REFUSED: u16 = 5;
const NOTAUTH: u16 = 9;
const BADVERS: u16 = 16;
const BADCOOKIE: u16 = 23;

const RD: u16 = 0x0100;
const RA: u16 = 0x0080;
const Z: u16 = 0x0040;
const AD: u16 = 0x0020;
const CD: u16 = 0x0010;
const TC: u16 = 0x0200;
const AA: u16 = 0x0400;
const DO: u16 = 0x8000;

const NSID: u16 = 3;
const ECS: u16 = 8;
const EXPIRE: u16 = 9;
const COOKIE: u16 = 10;
const KEEPALIVE: u16 = 11;
const PADDING: u16 = 12;
const EDE: u16 = 15;

/// What is wanted of an answer.
#[derive(Clone, Debug)]
enum Want {
    /// The response code, with the OPT record's part of it.
    Rcode(u16),
    /// The question comes back as it was.
    Question,
    NoQuestion,
    /// So many records of a type in the answer section, and none else.
    Answer(RrType, usize),
    NoAnswer,
    Set(u16),
    Clear(u16),
    /// An OPT record of version 0 with no flag but DO, and with these options, in this order.
    Opt(&'static [u16]),
    NoOpt,
    DnssecOk(bool),
    /// An option's data, as far as it goes.
    Data(u16, &'static [u8]),
    Length(u16, usize),
    AtMost(usize),
    /// The last record is a TSIG record of this error.
    Tsig(u16),
    /// A TXT record of this text.
    Text(&'static str),
}

use Want::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Udp,
    Tcp,
    Both,
}

/// The probes that ask for the SOA record and want it.
fn plain() -> Vec<(&'static str, Over, Packet, Vec<Want>)> {
    let soa = || Packet::ask(EXAMPLE, 6);
    let good = || vec![Rcode(NOERROR), Question, Answer(RrType::SOA, 1), Set(AA), Clear(RA | Z | AD | TC)];
    let with = |more: &[Want]| [good(), more.to_vec()].concat();
    let client = || option(COOKIE, b"12345678");
    vec![
        ("dns", Over::Both, soa(), with(&[NoOpt, Clear(RD | CD)])),
        ("rd", Over::Both, soa().flags(RD), with(&[NoOpt, Set(RD)])),
        ("cd", Over::Both, soa().flags(CD), with(&[NoOpt, Set(CD)])),
        ("ad", Over::Both, soa().flags(AD), with(&[NoOpt, Clear(AD)])),
        ("zflag", Over::Both, soa().flags(Z), with(&[NoOpt, Clear(Z)])),
        ("ra and aa in the query", Over::Both, soa().flags(RA | AA), with(&[NoOpt])),
        ("tc in the query", Over::Both, soa().flags(TC), with(&[NoOpt, Clear(TC)])),
        ("rcode in the query", Over::Both, soa().flags(7), with(&[NoOpt])),
        ("edns", Over::Both, soa().options(&[]), with(&[Opt(&[]), DnssecOk(false)])),
        ("edns+ad", Over::Both, soa().flags(AD).options(&[]), with(&[Opt(&[])])),
        ("do", Over::Both, soa().opt(1232, 0, DO, &[]), with(&[Opt(&[]), DnssecOk(true)])),
        ("ednsflags", Over::Both, soa().opt(1232, 0, 0x7FFF, &[]), with(&[Opt(&[]), DnssecOk(false)])),
        ("ednsopt", Over::Both, soa().options(&option(100, &[])), with(&[Opt(&[])])),
        ("ednsopt with data", Over::Both, soa().options(&option(65535, b"abc")), with(&[Opt(&[])])),
        ("nsid", Over::Both, soa().options(&option(NSID, &[])), with(&[Opt(&[NSID]), Data(NSID, b"ams1")])),
        (
            "cookie",
            Over::Both,
            soa().options(&client()),
            with(&[Opt(&[COOKIE]), Data(COOKIE, b"12345678"), Length(COOKIE, 24)]),
        ),
        (
            "docookie",
            Over::Both,
            soa().opt(4096, 0, DO, &client()),
            with(&[Opt(&[COOKIE]), DnssecOk(true), Length(COOKIE, 24)]),
        ),
        (
            "bind11",
            Over::Both,
            soa().flags(AD).opt(1432, 0, DO, &client()),
            with(&[Opt(&[COOKIE]), DnssecOk(true), Length(COOKIE, 24)]),
        ),
        (
            "two cookies, the first counts",
            Over::Both,
            soa().options(&[client(), option(COOKIE, b"abcdefgh")].concat()),
            with(&[Opt(&[COOKIE]), Data(COOKIE, b"12345678")]),
        ),
        (
            "optlist",
            Over::Both,
            soa().opt(
                1232,
                0,
                DO,
                &[option(NSID, &[]), option(ECS, &[0, 1, 0, 0]), option(EXPIRE, &[]), client(), option(KEEPALIVE, &[])]
                    .concat(),
            ),
            with(&[Opt(&[COOKIE, NSID]), DnssecOk(true)]),
        ),
        // RFC 7830 §6: not in the clear.
        ("padding", Over::Both, soa().options(&option(PADDING, &[0; 50])), with(&[Opt(&[])])),
        ("edns@512", Over::Both, soa().opt(512, 0, DO, &[]), with(&[Opt(&[]), AtMost(512)])),
        ("edns@0", Over::Both, soa().opt(0, 0, 0, &[]), with(&[Opt(&[]), AtMost(512)])),
        ("edns@65535", Over::Both, soa().opt(65535, 0, 0, &[]), with(&[Opt(&[]), AtMost(1232)])),
        ("octets behind the end", Over::Both, soa().tail(b"garbage"), with(&[NoOpt])),
        ("capitals", Over::Both, Packet::ask(b"\x07eXaMpLe\0", 6), with(&[NoOpt])),
    ]
}

/// All other probes.
fn others() -> Vec<(&'static str, Over, Packet, Vec<Want>)> {
    let soa = || Packet::ask(EXAMPLE, 6);
    let none = |rcode| vec![Rcode(rcode), NoAnswer, Clear(AA | RA | Z | AD | TC)];
    let only = |rcode, more: &[Want]| [none(rcode), more.to_vec()].concat();
    let no_data = |more: &[Want]| [&[Rcode(NOERROR), Question, NoAnswer, Set(AA)], more].concat();
    let a = record(WWW, 1, 1, 5, &[192, 0, 2, 1]);
    let key = |rdata: &[u8]| record(b"\x01k\0", 250, 255, 0, rdata);
    vec![
        ("unknown type", Over::Both, Packet::ask(EXAMPLE, 1000), no_data(&[NoOpt])),
        ("unknown type, edns", Over::Both, Packet::ask(EXAMPLE, 1000).options(&[]), no_data(&[Opt(&[])])),
        ("unknown meta type", Over::Both, Packet::ask(EXAMPLE, 200), no_data(&[])),
        ("type 0", Over::Both, Packet::ask(EXAMPLE, 0), no_data(&[])),
        ("type OPT", Over::Both, Packet::ask(EXAMPLE, 41), only(FORMERR, &[Question])),
        ("type TSIG", Over::Both, Packet::ask(EXAMPLE, 250), only(FORMERR, &[Question])),
        ("type TKEY", Over::Both, Packet::ask(EXAMPLE, 249), only(FORMERR, &[Question])),
        ("type MAILA", Over::Both, Packet::ask(EXAMPLE, 254), only(NOTIMP, &[Question])),
        ("type MAILB", Over::Both, Packet::ask(EXAMPLE, 253), only(NOTIMP, &[Question])),
        (
            "axfr",
            Over::Both,
            Packet::ask(EXAMPLE, 252).options(&[]),
            only(REFUSED, &[Question, Opt(&[EDE]), Data(EDE, &[0, 18])]),
        ),
        (
            "ixfr",
            Over::Both,
            Packet::ask(EXAMPLE, 251).options(&[]),
            only(REFUSED, &[Question, Opt(&[EDE]), Data(EDE, &[0, 18])]),
        ),
        (
            "axfr of no zone",
            Over::Both,
            Packet::ask(WWW, 252).options(&[]),
            only(NOTAUTH, &[Question, Data(EDE, &[0, 20])]),
        ),
        // RFC 8482: one RRset where the source may be forged.
        ("any", Over::Udp, Packet::ask(EXAMPLE, 255), vec![Rcode(NOERROR), Set(AA), Clear(TC), Answer(RrType::NS, 1)]),
        (
            "no such name",
            Over::Both,
            Packet::ask(b"\x04none\x07example\0", 1),
            vec![Rcode(NXDOMAIN), Question, NoAnswer, Set(AA), NoOpt],
        ),
        (
            "no such zone",
            Over::Both,
            Packet::ask(b"\x03net\0", 1).options(&[]),
            only(REFUSED, &[Question, Opt(&[EDE]), Data(EDE, &[0, 20])]),
        ),
        ("no such zone, no edns", Over::Both, Packet::ask(b"\x03net\0", 1), only(REFUSED, &[Question, NoOpt])),
        ("class HS", Over::Both, Packet::empty().question(EXAMPLE, 6, 4), only(REFUSED, &[Question])),
        ("class 0", Over::Both, Packet::empty().question(EXAMPLE, 6, 0), only(REFUSED, &[Question])),
        (
            "class ANY",
            Over::Both,
            Packet::empty().question(EXAMPLE, 6, 255),
            vec![Rcode(NOERROR), Answer(RrType::SOA, 1)],
        ),
        ("class CH", Over::Both, Packet::empty().question(EXAMPLE, 6, 3), only(REFUSED, &[Question])),
        (
            "version.bind",
            Over::Both,
            Packet::empty().question(b"\x07VERSION\x04bind\0", 16, 3),
            vec![Rcode(NOERROR), Question, Text("understudy of tests")],
        ),
        (
            "version.server",
            Over::Both,
            Packet::empty().question(b"\x07version\x06server\0", 16, 3).options(&[]),
            vec![Rcode(NOERROR), Text("understudy of tests"), Opt(&[])],
        ),
        (
            "hostname.bind",
            Over::Both,
            Packet::empty().question(b"\x08hostname\x04bind\0", 255, 3),
            vec![Rcode(NOERROR), Text("ams1")],
        ),
        (
            "id.server",
            Over::Both,
            Packet::empty().question(b"\x02id\x06server\0", 16, 3),
            vec![Rcode(NOERROR), Text("ams1")],
        ),
        ("id.server A", Over::Both, Packet::empty().question(b"\x02id\x06server\0", 1, 3), only(REFUSED, &[Question])),
        // EDNS of a version that is to come: the version is all that can be said about it.
        ("edns1", Over::Both, soa().opt(1232, 1, 0, &[]), only(BADVERS, &[Question, Opt(&[])])),
        ("edns255", Over::Both, soa().opt(1232, 255, 0, &[]), only(BADVERS, &[Question, Opt(&[])])),
        ("edns1opt", Over::Both, soa().opt(1232, 1, 0, &option(100, &[])), only(BADVERS, &[Opt(&[])])),
        ("edns1flags", Over::Both, soa().opt(1232, 1, 0x80, &[]), only(BADVERS, &[Opt(&[]), DnssecOk(false)])),
        ("edns1do", Over::Both, soa().opt(1232, 1, DO, &[]), only(BADVERS, &[Opt(&[])])),
        ("edns1cookie", Over::Both, soa().opt(1232, 1, 0, &option(COOKIE, b"12345678")), only(BADVERS, &[Opt(&[])])),
        ("edns1nsid", Over::Both, soa().opt(1232, 1, 0, &option(NSID, &[])), only(BADVERS, &[Opt(&[])])),
        ("edns1 and opcode 15", Over::Both, soa().opcode(15).opt(1232, 1, 0, &[]), only(BADVERS, &[Opt(&[])])),
        ("cut option", Over::Both, soa().options(&[0, 100, 0, 9]), only(FORMERR, &[Question])),
        ("cut opt", Over::Both, soa().claim(3, 1).tail(&opt(1232, 0, 0, &[])[..8]), only(FORMERR, &[Question, NoOpt])),
        (
            "opt not of the root",
            Over::Both,
            soa().record(2, &[b"\x01a", &opt(1232, 0, 0, &[])[..]].concat()),
            only(FORMERR, &[]),
        ),
        ("opt in the answer section", Over::Both, soa().record(0, &opt(1232, 0, 0, &[])), only(FORMERR, &[])),
        ("two opts", Over::Both, soa().options(&[]).options(&[]), only(FORMERR, &[NoOpt])),
        (
            "cookie of 7 octets",
            Over::Both,
            soa().options(&option(COOKIE, b"1234567")),
            only(FORMERR, &[Question, Opt(&[])]),
        ),
        ("cookie of 9 octets", Over::Both, soa().options(&option(COOKIE, b"123456789")), only(FORMERR, &[Opt(&[])])),
        ("cookie of 41 octets", Over::Both, soa().options(&option(COOKIE, &[7; 41])), only(FORMERR, &[Opt(&[])])),
        ("empty cookie", Over::Both, soa().options(&option(COOKIE, &[])), only(FORMERR, &[Opt(&[])])),
        // RFC 7873 §5.4.
        (
            "only a cookie",
            Over::Both,
            Packet::empty().options(&option(COOKIE, b"12345678")),
            only(NOERROR, &[NoQuestion, Opt(&[COOKIE]), Length(COOKIE, 24)]),
        ),
        (
            "only a bad cookie",
            Over::Both,
            Packet::empty().options(&option(COOKIE, &[7; 24])),
            only(BADCOOKIE, &[NoQuestion, Opt(&[COOKIE]), Length(COOKIE, 24)]),
        ),
        ("no question", Over::Both, Packet::empty(), only(FORMERR, &[NoQuestion, NoOpt])),
        ("no question, edns", Over::Both, Packet::empty().options(&[]), only(FORMERR, &[NoQuestion, Opt(&[])])),
        ("two questions", Over::Both, soa().question(WWW, 1, 1), only(FORMERR, &[NoQuestion])),
        ("a question too few", Over::Both, Packet::empty().claim(0, 1), only(FORMERR, &[NoQuestion])),
        ("compressed question", Over::Both, Packet::ask(b"\xC0\x0C", 1), only(FORMERR, &[NoQuestion])),
        ("question compressed in the header", Over::Both, Packet::ask(b"\xC0\x04", 1), only(FORMERR, &[NoQuestion])),
        ("a record too few", Over::Both, soa().claim(1, 1), only(FORMERR, &[Question])),
        (
            "records of the answer",
            Over::Both,
            Packet::www().record(0, &a),
            vec![Rcode(NOERROR), Answer(RrType::A, 1), Set(AA)],
        ),
        // Cut answers keep the OPT record, with all of its options.
        ("truncation", Over::Udp, Packet::ask(MANY, 16), vec![Rcode(NOERROR), Question, Set(TC), NoOpt, AtMost(512)]),
        (
            "truncation, edns",
            Over::Udp,
            Packet::ask(MANY, 16).opt(512, 0, DO, &[option(NSID, &[]), option(COOKIE, b"12345678")].concat()),
            vec![Rcode(NOERROR), Set(TC), Opt(&[COOKIE, NSID]), DnssecOk(true), AtMost(512)],
        ),
        (
            "no truncation",
            Over::Tcp,
            Packet::ask(MANY, 16).opt(512, 0, 0, &[]),
            vec![Rcode(NOERROR), Clear(TC), Answer(RrType::TXT, 6), Opt(&[])],
        ),
        (
            "no truncation, edns@1232",
            Over::Udp,
            Packet::ask(MANY, 16).options(&[]),
            vec![Rcode(NOERROR), Clear(TC), Answer(RrType::TXT, 6), AtMost(1232)],
        ),
        // TSIG by a key that is not known (RFC 8945 §5.2.1).
        ("tsig", Over::Both, soa().record(2, &tsig()), only(NOTAUTH, &[Question, NoOpt, Tsig(17)])),
        (
            "tsig, edns",
            Over::Both,
            soa().options(&[]).record(2, &tsig()),
            only(NOTAUTH, &[Question, Opt(&[]), Tsig(17)]),
        ),
        (
            "tsig, compressed key",
            Over::Both,
            soa().record(2, &record(b"\x01k\xC0\x0C", 250, 255, 0, &tsig_rdata(0))),
            only(NOTAUTH, &[Tsig(17)]),
        ),
        ("tsig, not last", Over::Both, soa().record(2, &tsig()).options(&[]), only(FORMERR, &[Question])),
        ("two tsigs", Over::Both, soa().record(2, &tsig()).record(2, &tsig()), only(FORMERR, &[Question])),
        ("tsig, cut", Over::Both, soa().record(2, &key(&tsig_rdata(0)[..20])), only(FORMERR, &[Question])),
        ("tsig, of no data", Over::Both, soa().record(2, &key(&[])), only(FORMERR, &[Question])),
        ("tsig in the answer section", Over::Both, soa().record(0, &tsig()), only(FORMERR, &[Question])),
    ]
}

/// Every operation code, with and without a question.
fn opcodes() -> Vec<(&'static str, Over, Packet, Vec<Want>)> {
    let mut probes = Vec::new();
    for opcode in 1..16 {
        let not = |more: &[Want]| [&[Rcode(NOTIMP), NoAnswer, Clear(AA | RA | Z | AD | TC)], more].concat();
        let soa = || Packet::ask(EXAMPLE, 6).opcode(opcode);
        probes.push(("opcode", Over::Both, soa(), not(&[Question, NoOpt])));
        probes.push(("opcode, edns", Over::Both, soa().options(&[]), not(&[Question, Opt(&[])])));
        let rcode = if matches!(opcode, 4 | 5) { FORMERR } else { NOTIMP };
        let empty = Packet::empty().opcode(opcode);
        probes.push(("opcode, header only", Over::Both, empty, vec![Rcode(rcode), NoQuestion, NoAnswer]));
    }
    probes
}

#[test]
fn the_compliance_probes_are_answered_as_their_authors_want() {
    let stage = Stage::new(crate::serving(crate::settings())).unwrap();
    let running = dns::listeners(&["127.0.0.1:0"], 1, TcpLimits::default()).run(&stage).unwrap();
    let server = running.addresses()[0];
    let mut wrong = Vec::new();
    for (name, over, packet, wants) in [plain(), others(), opcodes()].concat() {
        for transport in [Over::Udp, Over::Tcp] {
            if over != Over::Both && over != transport {
                continue;
            }
            let query = packet.octets(0x4711);
            let answer = ask(server, &query, transport);
            let read = message::read(&answer).unwrap_or_else(|error| panic!("{name}: {error}: {answer:02x?}"));
            assert!(read.id == 0x4711 && read.flags.qr(), "{name}: {read:?}");
            assert_eq!(read.flags.opcode(), query[2] >> 3 & 15, "{name}");
            for want in wants.iter().filter(|want| !fulfils(&read, &query, &answer, want)) {
                wrong.push(format!("{name} ({transport:?}): wanted {want:?}, got {read:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn ask(server: SocketAddr, query: &[u8], over: Over) -> Vec<u8> {
    if over == Over::Tcp {
        return Client::connect(server).ask(query).unwrap();
    }
    let socket = dns::udp_client("127.0.0.1:0");
    socket.send_to(query, server).unwrap();
    let mut answer = vec![0; 65_535];
    let length = socket.recv(&mut answer).unwrap();
    answer.truncate(length);
    answer
}

fn fulfils(read: &Message, query: &[u8], answer: &[u8], want: &Want) -> bool {
    let edns = read.edns.as_ref();
    let data = |wanted| edns?.options.iter().find(|(code, _)| *code == wanted).map(|(_, data)| data);
    match *want {
        Rcode(rcode) => read.rcode() == rcode,
        Question => {
            let [question] = &read.questions[..] else { return false };
            let end = 12 + question.name.as_ref().len() + 4;
            answer.get(12..end) == query.get(12..end)
        }
        NoQuestion => read.questions.is_empty(),
        Answer(rtype, count) => read.answers.len() == count && read.answers.iter().all(|record| record.rtype == rtype),
        NoAnswer => read.answers.is_empty(),
        Set(flags) => read.flags.0 & flags == flags,
        Clear(flags) => read.flags.0 & flags == 0,
        Opt(options) => edns.is_some_and(|edns| {
            let codes: Vec<u16> = edns.options.iter().map(|(code, _)| *code).collect();
            edns.version == 0 && edns.payload == 1232 && edns.flags & !DO == 0 && codes == options
        }),
        NoOpt => edns.is_none(),
        DnssecOk(set) => edns.is_some_and(|edns| (edns.flags & DO != 0) == set),
        Data(code, begins) => data(code).is_some_and(|data| data.starts_with(begins)),
        Length(code, length) => data(code).is_some_and(|data| data.len() == length),
        AtMost(octets) => answer.len() <= octets,
        Tsig(error) => read.additionals.last().is_some_and(|record| {
            let rdata = &record.rdata;
            record.rtype == RrType::TSIG && rdata[rdata.len() - 4..] == [&error.to_be_bytes()[..], &[0, 0]].concat()
        }),
        Text(text) => {
            let [record] = &read.answers[..] else { return false };
            (record.class.0, record.ttl) == (3, 0) && record.rdata[1..] == *text.as_bytes()
        }
    }
}
