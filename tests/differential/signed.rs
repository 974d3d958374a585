//! Our answers from signed zones beside those of BIND, NSD and Knot: NSEC, NSEC3 and opt-out, with and without the DO
//! bit, over UDP and TCP. Where the three agree we agree with them.
//!
//! What is overlooked stands in `NORMALISATIONS` here and in `support/compare.rs`, with the reason.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::support::compare::{Item, NORMALISATIONS as COMMON, Origins, View};
use crate::support::corpus_signed::{Ask, Case, cases};
use crate::support::lab::{Server, ZoneFile, isolated};
use crate::support::sign::Signer;
use crate::support::{client, message, stream};
use understudy::name::Name;
use understudy::rr::RrType;

/// How often all zones are signed, each time in another way.
const ROUNDS: usize = 2;
/// Questions that the test is not worth its name without.
const AT_LEAST: usize = 180_000;
/// How many differences of each kind are shown in full.
const SHOWN: usize = 3;

#[test]
fn peer_answers_from_signed_zones_are_ours() {
    isolated("signed::peer_answers_from_signed_zones_are_ours", || {
        let signer = Signer::new();
        let mut tally = Tally::default();
        for round in 0..ROUNDS {
            compare(&cases(&signer, round), &mut tally);
        }
        tally.print();
        assert!(tally.asked >= AT_LEAST, "only {} questions", tally.asked);
        assert!(tally.agreed * 10 > tally.asked * 8, "the peers agree on {} answers only", tally.agreed);
        let wrong: usize = tally.wrong.values().sum();
        assert_eq!(wrong, 0, "answers differ from what all peers say (above)");
    });
}

fn compare(cases: &[Case], tally: &mut Tally) {
    let dir = tempfile::tempdir().unwrap();
    let write = |case: &Case| ZoneFile::write(dir.path(), &case.zone.origin, case.signed.as_bytes());
    let files: Vec<ZoneFile> = cases.iter().map(write).collect();
    let servers = [Server::bind(&files), Server::nsd(&files), Server::knot(&files), Server::understudy(&files)];
    let origins = Origins(cases.iter().map(|case| case.zone.origin.clone()).collect());
    for case in cases {
        for tcp in [false, true] {
            let asks: Vec<&Ask> = case.asks.iter().filter(|ask| ask.tcp == tcp).collect();
            let answers = ask_all(&servers, &asks, tcp);
            for (index, ask) in asks.iter().enumerate() {
                let [bind, nsd, knot, ours] = [0, 1, 2, 3].map(|server: usize| {
                    let view = view(&answers[server][index], ask, servers[server].name);
                    tally.normalised(view, &ask.question.name, &origins)
                });
                tally.note(case, ask, &[bind, nsd, knot], &ours, || whole(&servers[3], ask, &origins));
            }
        }
    }
}

/// Our answer over TCP.
fn whole(server: &Server, ask: &Ask, origins: &Origins) -> View {
    let answers = stream::ask(server.address, &[ask.query()]);
    let tcp = Ask { tcp: true, ..ask.clone() };
    Tally::default().normalised(view(&answers[0], &tcp, server.name), &ask.question.name, origins)
}

/// The answers of all four to all questions, asked at the same time.
fn ask_all(servers: &[Server; 4], asks: &[&Ask], tcp: bool) -> [Vec<Vec<u8>>; 4] {
    let queries: Vec<Vec<u8>> = asks.iter().map(|ask| ask.query()).collect();
    let addresses: [SocketAddr; 4] = servers.each_ref().map(|server| server.address);
    std::thread::scope(|scope| {
        let asking = addresses.map(|address| {
            let queries = &queries;
            scope.spawn(move || if tcp { stream::ask(address, queries) } else { client::ask(address, queries) })
        });
        asking.map(|thread| thread.join().unwrap())
    })
}

/// An answer, which must be a well-formed one to this very question.
fn view(octets: &[u8], ask: &Ask, server: &str) -> View {
    assert!(!octets.is_empty(), "{server} does not answer {ask:?}");
    let message = message::read(octets).unwrap_or_else(|error| panic!("{server}, {ask:?}: {error}\n{octets:?}"));
    let question = &ask.question;
    let [asked] = &message.questions[..] else { panic!("{server}, {ask:?}: the question is not there") };
    assert_eq!(asked.name.as_ref().as_wire(), question.name.as_ref().as_wire(), "{server}: the case of the question");
    assert_eq!(asked.qtype, question.qtype, "{server}, {ask:?}");
    assert!(message.flags.qr() && message.flags.opcode() == 0 && !message.flags.ra(), "{server}, {ask:?}");
    assert_eq!(message.flags.rd(), question.recursion_desired, "{server}, {ask:?}");
    assert_eq!(message.edns.is_some(), question.payload.is_some(), "{server}, {ask:?}");
    if let Some(edns) = &message.edns {
        assert_eq!(edns.flags & 0x8000 != 0, ask.dnssec_ok, "{server}, {ask:?}: the DO bit");
    }
    // NSD 4.6 goes over what the client takes by up to an OPT record now and then.
    let limit = if ask.tcp { u16::MAX } else { question.payload.unwrap_or(512).clamp(512, 1232) };
    let spare = if server == "NSD" { 16 } else { 0 };
    assert!(octets.len() <= usize::from(limit) + spare, "{server}, {ask:?}: {} octets", octets.len());
    View::of(&message)
}

/// What is taken out of every answer before those of `support/compare.rs`, and why.
struct Normalisation {
    name: &'static str,
    reason: &'static str,
    apply: fn(&mut View),
}

const NORMALISATIONS: &[Normalisation] = &[Normalisation {
    name: "signatures of name servers beside an answer",
    reason: "they go with the NS RRset that NSD adds to positive answers",
    apply: |view| {
        if view.aa && !view.answer.is_empty() {
            view.authority.retain(|item| covered(item) != Some(RrType::NS));
        }
    },
}];

/// The type that a signature covers.
fn covered(item: &Item) -> Option<RrType> {
    (item.rtype == RrType::RRSIG).then(|| RrType(u16::from_be_bytes([item.data[0], item.data[1]])))
}

/// Why peers differ, from the question and their answers.
fn reason(ask: &Ask, peers: &[View; 3]) -> &'static str {
    let [bind, nsd, knot] = peers;
    let aliased = |view: &View| view.answer.iter().any(|item| matches!(item.rtype, RrType::CNAME | RrType::DNAME));
    match ask.question.qtype {
        RrType::ANY | RrType::RRSIG => "ANY and RRSIG are answered with one RRset or with all (RFC 8482)",
        _ if peers.iter().any(|view| view.tc) => {
            "what fits: names are compressed and optional records left out differently"
        }
        RrType::NSEC if bind != nsd && nsd == knot => "BIND alone answers a question for NSEC at a cut",
        RrType::NSEC3 if nsd != bind => "NSD alone does not follow aliases for NSEC3",
        _ if peers.iter().any(aliased) => "chains of aliases end after a number of steps of each one's own",
        _ if nsd.rcode != bind.rcode && bind.rcode == knot.rcode => {
            "NSD alone takes names that only lie in another zone or are hashes for names of the zone"
        }
        _ if nsd.answer == bind.answer && nsd.authority != bind.authority => {
            "proofs: NSD adds those that are not needed, and all leave out different ones for wildcards"
        }
        _ if bind.authority == nsd.authority && bind.additional != nsd.additional => {
            "glue: BIND leaves out what does not fit"
        }
        _ => "others",
    }
}

/// Whether an answer is another one with one more proof.
fn proves_more(ours: &View, theirs: &View) -> bool {
    let extra: Vec<&Item> = ours.authority.iter().filter(|item| !theirs.authority.contains(item)).collect();
    let mut less = ours.clone();
    less.authority.retain(|item| theirs.authority.contains(item));
    let [proof, signature] = extra[..] else { return false };
    let pair = [proof.rtype, signature.rtype];
    less == *theirs && (pair == [RrType::RRSIG, RrType::NSEC] || pair == [RrType::NSEC, RrType::RRSIG])
}

#[derive(Default)]
struct Tally {
    asked: usize,
    agreed: usize,
    with_dnssec: usize,
    over_tcp: usize,
    /// Where only two agree: how often we are with them.
    with_two: usize,
    /// Where all of them cut the answer, and ours fits in whole.
    fitted: usize,
    /// Where ours is cut, and theirs fit: they compress names in the data of NS records better.
    tighter: usize,
    /// Where ours also proves that the wildcard is an empty non-terminal.
    proved_more: usize,
    normalised: [usize; NORMALISATIONS.len()],
    common: [usize; COMMON.len()],
    /// In what the peers differ among one another, and why: how often, how often we are with two of them, and an
    /// example.
    disagreed: BTreeMap<(&'static str, String), (usize, usize, String)>,
    /// In what we differ from all of them, and how often.
    wrong: BTreeMap<String, usize>,
}

impl Tally {
    fn normalised(&mut self, mut view: View, name: &Name, origins: &Origins) -> View {
        for (normalisation, used) in NORMALISATIONS.iter().zip(&mut self.normalised) {
            let before = view.clone();
            (normalisation.apply)(&mut view);
            *used += usize::from(before != view);
        }
        view.normalised(name, origins, &mut self.common)
    }

    fn note(&mut self, case: &Case, ask: &Ask, peers: &[View; 3], ours: &View, whole: impl Fn() -> View) {
        self.asked += 1;
        self.with_dnssec += usize::from(ask.dnssec_ok);
        self.over_tcp += usize::from(ask.tcp);
        let [bind, nsd, knot] = peers;
        if bind != nsd || nsd != knot {
            let (who, odd, other, majority) = match () {
                () if bind == nsd => ("Knot alone", knot, bind, Some(bind)),
                () if bind == knot => ("NSD alone", nsd, bind, Some(bind)),
                () if nsd == knot => ("BIND alone", bind, nsd, Some(nsd)),
                () => ("each its own", bind, nsd, None),
            };
            let kind = format!("{who}: {}", odd.differences(other).join(", "));
            let with_two = usize::from(majority == Some(ours));
            let text = || {
                let texts = [("BIND", bind), ("NSD", nsd), ("Knot", knot), ("ours", ours)];
                let texts: String = texts.iter().map(|(who, view)| format!("  {who} {}\n", view.text())).collect();
                format!("zone {} ({:?}): {ask:?}\n{texts}", case.zone.origin, case.method)
            };
            let entry = self.disagreed.entry((reason(ask, peers), kind)).or_insert_with(|| (0, 0, text()));
            (entry.0, entry.1) = (entry.0 + 1, entry.1 + with_two);
            self.with_two += with_two;
            return;
        }
        self.agreed += 1;
        if ours == bind {
            return;
        }
        if bind.tc && !ours.tc && whole() == *ours {
            self.fitted += 1;
            return;
        }
        if ours.tc && !bind.tc && !bind.aa && whole() == *bind {
            self.tighter += 1;
            return;
        }
        if proves_more(&if ours.tc { whole() } else { ours.clone() }, bind) {
            self.proved_more += 1;
            return;
        }
        let count = self.wrong.entry(ours.differences(bind).join(", ")).or_default();
        *count += 1;
        if *count <= SHOWN {
            let (theirs, ours) = (bind.text(), ours.text());
            eprintln!("zone {} ({:?}): {ask:?}\n  theirs {theirs}\n  ours {ours}\n", case.zone.origin, case.method);
        }
    }

    fn print(&self) {
        let disagreed = self.asked - self.agreed;
        println!("{} questions, {} with DO, {} over TCP", self.asked, self.with_dnssec, self.over_tcp);
        println!("the peers agree on {}", self.agreed);
        println!(
            "they disagree on {disagreed} ({:.2} %); with two of them against the third we are {} times:",
            disagreed as f64 * 100.0 / self.asked as f64,
            self.with_two
        );
        let mut last = "";
        for ((reason, kind), (count, with_two, example)) in &self.disagreed {
            if *reason != last {
                println!(" {reason}:");
                last = reason;
            }
            println!("  {count:6} {kind} ({with_two})");
            if std::env::var_os("UNDERSTUDY_SHOW").is_some() {
                println!("{example}");
            }
        }
        println!("all of them cut {} answers that ours fits in whole; it is the other way round with", self.fitted);
        println!("{} referrals, for they compress the names of NS records better", self.tighter);
        println!("in {} answers we also prove that the wildcard is an empty non-terminal", self.proved_more);
        println!("overlooked in the answers of the four:");
        for (normalisation, count) in NORMALISATIONS.iter().zip(self.normalised) {
            println!("  {count:6} {}: {}", normalisation.name, normalisation.reason);
        }
        for (normalisation, count) in COMMON.iter().zip(self.common) {
            println!("  {count:6} {}: {}", normalisation.name, normalisation.reason);
        }
        println!("we differ from what they agree on {} times", self.wrong.values().sum::<usize>());
        for (kind, count) in &self.wrong {
            println!("  {count:6} {kind}");
        }
    }
}
