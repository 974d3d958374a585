//! Our answers beside those of BIND, NSD and Knot, over generated zones and more than 100,000 generated questions: where
//! the three agree we agree with them.
//!
//! What is overlooked stands in `NORMALISATIONS`, with the reason. The agreed answers to a part of the questions are
//! recorded in the repository; `recorded.rs` holds the engine to them without the three.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::support::compare::{NORMALISATIONS, Origins, View};
use crate::support::corpus::{Case, RECORDED, Recording, cases};
use crate::support::generate::Question;
use crate::support::lab::{Server, ZoneFile, isolated};
use crate::support::{client, engine, message};
use understudy::name::Name;
use understudy::serving::respond::Transport;

/// Questions that the test is not worth its name without.
const AT_LEAST: usize = 100_000;
/// How many differences of each kind are shown in full.
const SHOWN: usize = 3;

#[test]
fn peer_answers_are_ours() {
    isolated("unsigned::peer_answers_are_ours", compare_all);
}

fn compare_all() {
    let cases = cases();
    let dir = tempfile::tempdir().unwrap();
    let write = |case: &Case| ZoneFile::write(dir.path(), &case.zone.origin, case.zone.text.as_bytes());
    let files: Vec<ZoneFile> = cases.iter().map(write).collect();
    // NSD, Knot and we refuse data below a DNAME. There BIND is the only judge, and our engine is asked without its checks.
    let strict: Vec<ZoneFile> =
        files.iter().zip(&cases).filter(|(_, case)| !case.zone.below_dname).map(|(file, _)| file.clone()).collect();
    let servers = [Server::bind(&files), Server::nsd(&strict), Server::knot(&strict), Server::understudy(&strict)];
    let engine = engine::serve(cases.iter().map(|case| (&case.zone.origin, &*case.zone.text)));

    let origins = Origins(cases.iter().map(|case| case.zone.origin.clone()).collect());
    let mut tally = Tally::default();
    let mut agreed: Vec<Option<View>> = Vec::new();
    for case in &cases {
        let mut answers = ask_all(&servers, &case.questions);
        if case.zone.below_dname {
            answers[3] = case.questions.iter().map(|q| engine::ask(&engine, &query(q), Transport::Udp)).collect();
        }
        for (index, question) in case.questions.iter().enumerate() {
            let [bind, nsd, knot, ours] = [0, 1, 2, 3].map(|server: usize| {
                view(&answers[server][index], question, servers[server].name).normalised(
                    &question.name,
                    &origins,
                    &mut tally.normalised,
                )
            });
            let peers = if case.zone.below_dname { &[bind][..] } else { &[bind, nsd, knot] };
            let agreement = agreement(peers);
            let fits =
                agreement == Some(&ours.cut()) && engine::is_whole(&engine, &query(question), &answers[3][index]);
            tally.fitted += usize::from(fits);
            tally.note(&case.zone.origin, question, peers, agreement, if fits { agreement.unwrap() } else { &ours });
            if index < RECORDED {
                agreed.push(agreement.cloned());
            }
        }
    }
    tally.print();
    let recording = Recording::of(&cases, agreed.iter().map(Option::as_ref));
    if std::env::var_os("UNDERSTUDY_RECORD").is_some() {
        recording.write();
    }
    assert_eq!(
        recording.differences(&Recording::read(&cases)),
        0,
        "the recorded answers are not those of today's peers"
    );
    assert!(tally.asked >= AT_LEAST, "only {} questions", tally.asked);
    assert!(tally.agreed * 10 > tally.asked * 9, "the peers agree on {} answers only: is one broken?", tally.agreed);
    assert!(
        tally.wrong.is_empty(),
        "{} answers differ from what all peers say (above)",
        tally.wrong.values().sum::<usize>()
    );
}

fn query(question: &Question) -> Vec<u8> {
    message::query(0, question.name.as_ref(), question.qtype, question.recursion_desired, question.payload)
}

/// The answers of all four to all questions, asked at the same time.
fn ask_all(servers: &[Server; 4], questions: &[Question]) -> [Vec<Vec<u8>>; 4] {
    let queries: Vec<Vec<u8>> = questions.iter().map(query).collect();
    let addresses: [SocketAddr; 4] = servers.each_ref().map(|server| server.address);
    std::thread::scope(|scope| {
        let asking = addresses.map(|address| {
            scope.spawn({
                let queries = &queries;
                move || client::ask(address, queries)
            })
        });
        asking.map(|thread| thread.join().unwrap())
    })
}

/// An answer, which must be a well-formed one to this very question.
fn view(octets: &[u8], question: &Question, server: &str) -> View {
    assert!(!octets.is_empty(), "{server} does not answer {question:?}");
    let message = message::read(octets).unwrap_or_else(|error| panic!("{server}, {question:?}: {error}\n{octets:?}"));
    let [asked] = &message.questions[..] else { panic!("{server}, {question:?}: the question is not there") };
    assert_eq!(asked.name.as_ref().as_wire(), question.name.as_ref().as_wire(), "{server}: the case of the question");
    assert_eq!(asked.qtype, question.qtype, "{server}, {question:?}");
    assert!(message.flags.qr() && message.flags.opcode() == 0 && !message.flags.ra(), "{server}, {question:?}");
    assert_eq!(message.flags.rd(), question.recursion_desired, "{server}, {question:?}");
    assert_eq!(message.edns.is_some(), question.payload.is_some(), "{server}, {question:?}");
    let limit = question.payload.unwrap_or(512).clamp(512, 1232);
    assert!(octets.len() <= limit.into(), "{server}, {question:?}: {} octets", octets.len());
    View::of(&message)
}

/// What all judges say, if they say the same. Alone BIND is no judge of loops, where it gives up with SERVFAIL, of cut
/// answers, which others may fit in, and of records that lead to addresses, which it leaves out now and then.
fn agreement(peers: &[View]) -> Option<&View> {
    let [first, others @ ..] = peers else { return None };
    let leads = first.answer.iter().any(|item| item.service_target().is_some());
    let judged = !others.is_empty() || first.rcode != 2 && !first.tc && !leads;
    (judged && others.iter().all(|peer| peer == first)).then_some(first)
}

fn describe(who: &str, odd: &View, other: &View) -> String {
    format!("{who}: {}", odd.differences(other).join(", "))
}

#[derive(Default)]
struct Tally {
    asked: usize,
    agreed: usize,
    /// Where BIND is the only judge.
    alone: usize,
    /// Where only two agree: how often we are with them.
    with_two: usize,
    /// Where all of them cut the answer, and ours fits in whole.
    fitted: usize,
    normalised: [usize; NORMALISATIONS.len()],
    /// In what the peers differ among one another, and how often.
    disagreed: BTreeMap<String, usize>,
    /// In what we differ from all of them, and how often.
    wrong: BTreeMap<String, usize>,
}

impl Tally {
    fn note(&mut self, zone: &Name, question: &Question, peers: &[View], agreement: Option<&View>, ours: &View) {
        self.asked += 1;
        let Some(theirs) = agreement else {
            let (kind, majority) = match peers {
                [bind, nsd, knot] if bind == nsd => (describe("Knot alone", knot, bind), Some(bind)),
                [bind, nsd, knot] if bind == knot => (describe("NSD alone", nsd, bind), Some(bind)),
                [bind, nsd, knot] if nsd == knot => (describe("BIND alone", bind, nsd), Some(nsd)),
                [bind, nsd, _] => (describe("each its own", bind, nsd), None),
                _ => ("BIND, the only judge, is none here".into(), None),
            };
            *self.disagreed.entry(kind).or_default() += 1;
            self.with_two += usize::from(majority == Some(ours));
            return;
        };
        self.agreed += 1;
        self.alone += usize::from(peers.len() == 1);
        if ours != theirs {
            let kind = ours.differences(theirs).join(", ");
            let count = self.wrong.entry(kind).or_default();
            *count += 1;
            if *count <= SHOWN {
                let Question { name, qtype, payload, .. } = question;
                let (theirs, ours) = (theirs.text(), ours.text());
                eprintln!("zone {zone}: {name} {qtype}, EDNS {payload:?}\n  theirs {theirs}\n  ours   {ours}\n");
            }
        }
    }

    fn print(&self) {
        println!(
            "{} questions; the peers agree on {} (on {} BIND is the only judge)",
            self.asked, self.agreed, self.alone
        );
        println!(
            "they disagree on {}; with two of them against the third we are {} times:",
            self.asked - self.agreed,
            self.with_two
        );
        for (kind, count) in &self.disagreed {
            println!("  {count:6} {kind}");
        }
        println!("all of them cut {} answers that ours fits in whole", self.fitted);
        println!("overlooked in the answers of the four:");
        for (normalisation, count) in NORMALISATIONS.iter().zip(self.normalised) {
            println!("  {count:6} {}: {}", normalisation.name, normalisation.reason);
        }
        println!("we differ from what they agree on {} times", self.wrong.values().sum::<usize>());
        for (kind, count) in &self.wrong {
            println!("  {count:6} {kind}");
        }
    }
}
