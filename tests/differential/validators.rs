//! Resolvers that validate take every answer from signed zones, positive and negative: Unbound, BIND and Knot Resolver
//! ask our server, are asked for thousands of names, and call none of it bogus.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;

use crate::support::compare::{Item, View};
use crate::support::generate::{self, Question, Rng, Zone};
use crate::support::lab::{Server, ZoneFile, is_isolated, isolated};
use crate::support::resolver::{Anchor, Resolver};
use crate::support::sign::{Denial, METHODS, Method, Signer, run};
use crate::support::{client, message, stream};
use understudy::name::{Name, NameRef};
use understudy::rr::RrType;
use understudy::zone::nsec3::{Parameters, hash_of_owner};

/// How many seeds zones are made from, and questions about each zone.
const SEEDS: u64 = 24;
const QUESTIONS: usize = 250;
/// Questions that a resolver must be asked for the test to be worth its name.
const AT_LEAST: usize = 3_000;
/// How many of them `delv` is asked.
const DELVED: usize = 150;
/// How often a resolver is asked anew for what it does not take.
const ATTEMPTS: usize = 6;
/// How much of its log is shown of a resolver that has ended.
const LAST_LINES: usize = 20;
/// How many differences are shown for each resolver.
const SHOWN: usize = 5;

/// Where the root is served, and where all else is: the address that the generated zones give their first server.
const ROOT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OURS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);
const SERVERS: [&str; 3] = ["192.0.2.53:53", "192.0.2.54:53", "127.0.0.1:53"];

/// What nothing else has: each zone is signed in all ways.
const ODD: &str = include_str!("../support/odd.zone");

#[test]
fn peer_validators_accept_all_answers() {
    isolated("validators::peer_validators_accept_all_answers", || {
        if !is_isolated() {
            eprintln!("no namespaces here: resolvers need port 53 of addresses of their own");
            return;
        }
        for address in ["192.0.2.53/32", "192.0.2.54/32", "127.0.0.11/32"] {
            run(Command::new("ip").args(["address", "add", address, "dev", "lo"]));
        }
        validate();
    });
}

/// A zone that is served.
struct Served {
    origin: Name,
    text: String,
    /// None for an unsigned zone.
    method: Option<Method>,
    /// Whether a resolver has its key; otherwise a DS record in its parent vouches for it, or nothing does.
    anchored: bool,
}

/// A question with what our server says.
struct Asked {
    question: Question,
    direct: View,
    /// Whether all that the answer is made of can be validated; none where it lies in an opt-out span perhaps.
    secure: Option<bool>,
}

fn validate() {
    let signer = Signer::new();
    let (zones, questions) = zones(&signer);
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<ZoneFile> =
        zones.iter().map(|zone| ZoneFile::write(dir.path(), &zone.origin, zone.text.as_bytes())).collect();
    let ours = Server::understudy_on(&files, &SERVERS);
    fs::write(dir.path().join("root"), root_zone(&zones)).unwrap();
    let root_file = ZoneFile { origin: Name::absolute(".").unwrap(), path: dir.path().join("root") };
    let _root = Server::understudy_on(&[root_file], &[&format!("{ROOT}:53")]);

    let (asked, unprovable): (Vec<_>, Vec<_>) =
        ask_directly(&zones, questions).into_iter().partition(|asked| unprovable(&zones, asked).is_none());
    println!("{} questions whose answers are ours to the end, and these that nobody can prove:", asked.len());
    for (at, other) in unprovable.iter().enumerate() {
        let Question { name, qtype, .. } = &other.question;
        println!("  {at}: {name} {qtype}: {}", self::unprovable(&zones, other).unwrap_or_default());
    }
    assert!(unprovable.iter().any(|asked| asked.direct.rcode == 3) && unprovable.len() < asked.len() / 100);
    assert!(asked.len() >= AT_LEAST);
    let anchors: Vec<Anchor> = zones
        .iter()
        .filter(|zone| zone.anchored)
        .filter_map(|zone| {
            let ds = signer.ds(&zone.origin, zone.method?.algorithm);
            Some(Anchor { origin: zone.origin.clone(), ds })
        })
        .collect();
    assert_eq!(delve(&signer, &zones, &asked), 0, "answers that delv does not take (above)");

    // A resolver has failings of its own, some of them now and then only (where TTLs are 0, say). What it does not take
    // from us it is asked again, anew; and what it never takes, and not from Knot or NSD either, is not our fault.
    let resolvers = [Resolver::unbound, Resolver::bind, Resolver::knot];
    let all: Vec<&Asked> = asked.iter().collect();
    let mut refused = resolvers.map(|start| {
        let mut crashes = 0;
        let refused = (0..ATTEMPTS).fold(all.clone(), |refused, _| {
            if refused.is_empty() {
                return refused;
            }
            judge(&start(ROOT, &anchors), &refused).unwrap_or_else(|gone| {
                println!("{gone}");
                crashes += 1;
                refused
            })
        });
        // One in many runs ends by an assertion of its own; what it was asked it is asked anew.
        assert!(crashes <= 1, "a resolver ended {crashes} times (above)");
        refused
    });
    drop(ours);
    let places = SERVERS.map(|address| address.replace(':', "@"));
    let places = places.each_ref().map(String::as_str);
    for control in [Server::knot_on, Server::nsd_on] {
        let control = control(&files, &places);
        for (start, refused) in resolvers.into_iter().zip(&mut refused).filter(|(_, refused)| !refused.is_empty()) {
            println!("of those, with {} as the server:", control.name);
            let as_well = judge(&start(ROOT, &anchors), refused).unwrap_or_else(|gone| panic!("{gone}"));
            refused.retain(|asked| !as_well.iter().any(|other| std::ptr::eq(*asked, *other)));
        }
    }
    for Asked { question, direct, .. } in refused.iter().flatten().take(SHOWN) {
        let Question { name, qtype, .. } = question;
        eprintln!("taken from Knot and NSD, and not from us: {name} {qtype}\n  {}\n", direct.text());
    }
    let wrong: usize = refused.iter().map(Vec::len).sum();
    assert_eq!(wrong, 0, "answers that validators do not take (above)");
}

/// The generated zones, each signed in one way, and the odd ones, signed in all.
fn zones(signer: &Signer) -> (Vec<Served>, Vec<Question>) {
    let mut zones = Vec::new();
    let mut questions = Vec::new();
    let generated = (0..SEEDS).flat_map(|seed| generate::zones(seed, SEEDS)).filter(|zone| !zone.below_dname);
    for (number, mut zone) in generated.enumerate() {
        let is_child = zone.origin.as_ref().first_label() == Some(b"kid");
        // Every other child is an unsigned one.
        let method = |number: usize| METHODS[number % METHODS.len()];
        let signs_child = |number: usize| !number.is_multiple_of(4);
        let kid = zone.origin.as_ref().child(b"kid").unwrap();
        let line = zone.text.lines().find(|line| line.contains(" IN DS 12345 13 2 ")).map(str::to_owned);
        if let Some(line) = line {
            let ds = format!("{kid} 3600 IN DS {}", signer.ds(&kid, method(number + 1).algorithm));
            let line_instead =
                if signs_child(number + 1) { ds } else { format!("{kid} 3600 IN NS ns.elsewhere.invalid.") };
            zone.text = zone.text.replace(&line, &line_instead);
        }
        let (mut text, mut used) = (zone.text.clone(), None);
        if !is_child || signs_child(number) {
            used = Some(method(number));
            text = signer.sign(&zone.origin, &zone.text, method(number));
        }
        questions.extend(generated_questions(&zone, number as u64));
        zones.push(Served { origin: zone.origin, text, method: used, anchored: !is_child });
    }
    for (number, method) in METHODS.iter().enumerate() {
        let origin = Name::absolute(&format!("odd{number}.test.")).unwrap();
        let child = origin.as_ref().child(b"signed").unwrap();
        let text = ODD.replace("@SIGNED@", &signer.ds(&child, 13)).replace("@ORIGIN@", &origin.to_string());
        questions.extend(odd_questions(&origin, &text));
        zones.push(Served {
            text: signer.sign(&origin, &text, *method),
            origin: origin.clone(),
            method: Some(*method),
            anchored: true,
        });
        for (label, method) in [(&b"signed"[..], Some(METHODS[0])), (b"unsigned", None)] {
            let child = origin.as_ref().child(label).unwrap();
            let text = format!(
                "{child} 60 SOA ns.{child} h.{child} 1 2 3 4 60\n{child} 60 NS ns1.{origin}\nwww.{child} 60 A 192.0.2.1\n"
            );
            let served = method.map_or(text.clone(), |method| signer.sign(&child, &text, method));
            questions.extend(odd_questions(&child, &text));
            zones.push(Served { text: served, origin: child, method, anchored: false });
        }
    }
    let elsewhere = "invalid. 60 SOA ns1.invalid. h.invalid. 1 2 3 4 60\ninvalid. 60 NS ns1.invalid.\nns1.invalid. 60 A 192.0.2.53\n\
                     ns.elsewhere.invalid. 60 A 192.0.2.53\nwww.elsewhere.invalid. 60 A 192.0.2.1\n";
    zones.push(Served {
        origin: Name::absolute("invalid.").unwrap(),
        text: elsewhere.into(),
        method: None,
        anchored: false,
    });
    (zones, questions)
}

fn root_zone(zones: &[Served]) -> String {
    let mut text =
        format!(". 3600 SOA ns.root. h.root. 1 3600 600 604800 60\n. 3600 NS ns.root.\nns.root. 3600 A {ROOT}\n");
    for zone in zones.iter().filter(|zone| zone.anchored || zone.origin.as_ref().label_count() == 1) {
        let origin = &zone.origin;
        text += &format!("{origin} 3600 NS ns1.{origin}\nns1.{origin} 3600 A 192.0.2.53\n");
    }
    text
}

fn generated_questions(zone: &Zone, seed: u64) -> Vec<Question> {
    const TYPES: &[RrType] = &[RrType::DS, RrType::DNSKEY, RrType::NSEC, RrType::CDS, RrType::NSEC3PARAM, RrType::SOA];
    let mut rng = Rng::new(seed ^ 0xA11D);
    let mut questions = generate::questions(zone, seed + 77, QUESTIONS);
    for question in &mut questions {
        if rng.chance(15) {
            question.qtype = *rng.pick(TYPES);
        }
    }
    questions
}

/// All names of a text, names beside and below them, in a few types each.
fn odd_questions(origin: &Name, text: &str) -> Vec<Question> {
    let mut names: Vec<Name> = vec![origin.clone()];
    for owner in text.lines().filter_map(|line| line.split_whitespace().next()) {
        let Ok(owner) = Name::absolute(owner) else { continue };
        for ancestor in owner.as_ref().ancestors().filter(|name| name.is_at_or_below(origin.as_ref())) {
            names.push(ancestor.to_name());
            for label in [&b"nx"[..], b"*", b"-", b"zz", b"A.B"] {
                names.extend(ancestor.child(label).ok());
                names.extend(ancestor.child(label).ok().and_then(|name| name.as_ref().child(b"Deep").ok()));
            }
        }
    }
    names.sort();
    names.dedup();
    const TYPES: [RrType; 8] =
        [RrType::A, RrType::TXT, RrType::DS, RrType::NS, RrType::CNAME, RrType::NSEC, RrType::DNSKEY, RrType::MX];
    let questions = names.iter().flat_map(|name| {
        TYPES.map(|qtype| Question { name: name.clone(), qtype, recursion_desired: true, payload: Some(1232) })
    });
    questions.collect()
}

fn query(question: &Question) -> Vec<u8> {
    let mut query = message::query(0, question.name.as_ref(), question.qtype, true, Some(1232));
    let flags = query.len() - 4;
    query[flags] |= 0x80;
    query
}

/// Keeps the questions that our server answers to the end: not those that end in a loop, or with other servers.
fn ask_directly(zones: &[Served], questions: Vec<Question>) -> Vec<Asked> {
    let queries: Vec<Vec<u8>> = questions.iter().map(query).collect();
    let answers = stream::ask(OURS, &queries);
    let mut kept = Vec::new();
    for (question, answer) in questions.into_iter().zip(answers) {
        if matches!(question.qtype, RrType::ANY | RrType::RRSIG | RrType::NSEC3) {
            continue;
        }
        let direct = View::of(&message::read(&answer).unwrap_or_else(|error| panic!("{question:?}: {error}")));
        let has = |items: &[Item], rtype| items.iter().any(|item| item.rtype == rtype);
        let ends = has(&direct.answer, question.qtype) || has(&direct.authority, RrType::SOA);
        let aliases = direct.answer.iter().filter(|item| item.rtype == RrType::CNAME).count();
        if direct.aa
            && ends
            && matches!(direct.rcode, 0 | 3)
            && aliases < 6
            && zone_of(zones, question.name.as_ref()).is_some()
        {
            let secure = secure(zones, &question, &direct);
            kept.push(Asked { question, direct, secure });
        }
    }
    kept
}

/// The names that an answer is about: what is asked for, and where its aliases lead.
fn names_in(question: &Question, direct: &View) -> impl Iterator<Item = Name> {
    let targets = direct.answer.iter().filter(|item| item.rtype == RrType::CNAME);
    let targets = targets.filter_map(|item| NameRef::read(&item.data).ok().map(NameRef::to_name));
    let names: Vec<Name> = targets.chain([question.name.clone()]).collect();
    names.into_iter()
}

fn zone_of<'z>(zones: &'z [Served], name: NameRef<'_>) -> Option<&'z Served> {
    let holds = |zone: &&Served| name.is_at_or_below(zone.origin.as_ref());
    zones.iter().filter(holds).max_by_key(|zone| zone.origin.as_ref().len())
}

/// Whether all names of an answer are in signed zones; none where an opt-out span may have a part in it.
fn secure(zones: &[Served], question: &Question, direct: &View) -> Option<bool> {
    let mut names: Vec<Name> = direct.answer.iter().map(|item| item.owner.clone()).collect();
    names.push(question.name.clone());
    names.extend(direct.authority.iter().filter(|item| item.rtype == RrType::SOA).map(|item| item.owner.clone()));
    let mut all = true;
    for name in &names {
        // A DS record is the parent's.
        let above = if question.qtype == RrType::DS && *name == question.name { 1 } else { 0 };
        let zone = zone_of(zones, name.as_ref().ancestors().nth(above)?)?;
        all &= zone.method.is_some();
        let opt_out = matches!(zone.method.map(|method| method.denial), Some(Denial::Nsec3 { opt_out: true, .. }));
        if opt_out && direct.authority.iter().any(|item| item.rtype == RrType::NSEC3) {
            return None;
        }
    }
    // The parent of an anchored zone is the unsigned root.
    let at_top = |name: &Name| zones.iter().any(|zone| zone.anchored && zone.origin == *name);
    let about_top = question.qtype == RrType::DS && names_in(question, direct).any(|name| at_top(&name));
    (!about_top).then_some(all)
}

/// Why no validator can be sure of a right answer, whoever gives it.
fn unprovable(zones: &[Served], Asked { question, direct, .. }: &Asked) -> Option<&'static str> {
    let zone = zone_of(zones, question.name.as_ref())?;
    let Some(Denial::Nsec3 { opt_out, .. }) = zone.method.map(|method| method.denial) else { return None };
    let proofs = || direct.authority.iter().filter(|item| item.rtype == RrType::NSEC3);
    if opt_out && direct.rcode == 3 {
        // The signer may leave empty non-terminals that lead to unsigned delegations only out of the chain (RFC 5155
        // §7.1, erratum 3441). Then what can be proven to enclose a name stands higher than what does, and a wildcard
        // there, which has no part in the answer, seems to.
        let is_proven = |name: NameRef<'_>| {
            proofs().any(|proof| {
                let (parameters, _) = Parameters::read(&proof.data).expect("SHA-1");
                hash_of_owner(proof.owner.as_ref()) == Some(parameters.hash(name.to_lowercase().as_ref().as_wire()))
            })
        };
        let encloser = question.name.as_ref().ancestors().skip(1).find(|name| is_proven(*name))?;
        let proven = encloser.child(b"*").is_ok_and(|wildcard| is_proven(wildcard.as_ref()));
        return proven.then_some("an empty non-terminal is not in the opt-out chain, and a wildcard above it is");
    }
    // An alias has no NSEC record in such a zone, as all servers say; and validators take no proof of that from an NSEC3
    // record that tells of a CNAME (RFC 6840 §4.3).
    let tells_of_alias = |proof: &Item| {
        let (_, rest) = Parameters::read(&proof.data).expect("SHA-1");
        let bitmap = &rest[1 + usize::from(rest[0])..];
        matches!(bitmap, [0, _, first, ..] if first & 4 != 0)
    };
    let denied = question.qtype == RrType::NSEC && direct.rcode == 0 && direct.answer.is_empty();
    (denied && proofs().any(tells_of_alias)).then_some("NSEC of an alias, which an NSEC3 record tells of")
}

/// Asks a resolver; returns what it does not answer as it should, or why it answers nothing.
fn judge<'a>(resolver: &Resolver, asked: &[&'a Asked]) -> Result<Vec<&'a Asked>, String> {
    let queries: Vec<Vec<u8>> = asked.iter().map(|asked| query(&asked.question)).collect();
    let gone = |why| {
        let (log, name) = (resolver.log(), resolver.name);
        let last: Vec<&str> = log.lines().rev().take(LAST_LINES).collect();
        format!("{name}: {why}; the last that it said:\n{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"))
    };
    let mut answers = client::ask_while_there(resolver.address, &queries).map_err(gone)?;
    let is_cut = |answer: &Vec<u8>| answer.get(2).is_some_and(|flags| flags & 2 != 0);
    let cut: Vec<usize> = (0..answers.len()).filter(|index| is_cut(&answers[*index])).collect();
    let again: Vec<Vec<u8>> = cut.iter().map(|index| queries[*index].clone()).collect();
    for (index, answer) in cut.into_iter().zip(stream::ask(resolver.address, &again)) {
        answers[index] = answer;
    }
    let mut wrong: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused = Vec::new();
    let mut authentic = 0;
    for (asked, octets) in asked.iter().zip(&answers) {
        let Asked { question, direct, secure } = asked;
        let Ok(message) = message::read(octets) else {
            panic!("{}, {question:?}: {} octets that are no message:\n{}", resolver.name, octets.len(), resolver.log());
        };
        let (view, ad) = (View::of(&message), message.flags.0 & 0x20 != 0);
        authentic += usize::from(ad);
        // What a resolver knows of an alias it tells, whatever type beside it is asked for.
        let beside_alias = matches!(question.qtype, RrType::CNAME | RrType::DNAME | RrType::NSEC);
        let kind = match () {
            () if beside_alias && view.rcode != 2 => continue,
            () if view.rcode != direct.rcode => "rcode",
            () if answer(&view) != answer(direct) => "answer",
            () if secure.is_some_and(|secure| secure != ad) => "AD",
            () => continue,
        };
        *wrong.entry(kind).or_default() += 1;
        refused.push(*asked);
    }
    println!("{}: {} questions, AD on {authentic}; otherwise than wanted: {wrong:?}", resolver.name, asked.len());
    Ok(refused)
}

/// What an answer says, TTLs and signatures aside.
fn answer(view: &View) -> Vec<(&Name, RrType, &[u8])> {
    let items = view.answer.iter().filter(|item| item.rtype != RrType::RRSIG);
    let mut items: Vec<_> = items.map(|item| (&item.owner, item.rtype, &item.data[..])).collect();
    items.sort();
    items.dedup();
    items
}

/// Asks `delv`, which validates by itself; how many answers it does not take.
fn delve(signer: &Signer, zones: &[Served], asked: &[Asked]) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = 0;
    let fitting: Vec<(&Asked, &Served)> = asked
        .iter()
        .filter(|asked| asked.secure == Some(true) && asked.question.qtype != RrType::DS)
        .filter_map(|asked| {
            let zone = zone_of(zones, asked.question.name.as_ref()).filter(|zone| zone.anchored)?;
            // `delv` follows no chain into another island.
            let stays = asked
                .direct
                .answer
                .iter()
                .all(|item| zone_of(zones, item.owner.as_ref()).is_some_and(|other| other.origin == zone.origin));
            stays.then_some((asked, zone))
        })
        .collect();
    let step = (fitting.len() / DELVED).max(1);
    for (asked, zone) in fitting.into_iter().step_by(step) {
        let (origin, algorithm) = (&zone.origin, zone.method.unwrap().algorithm);
        let ds = signer.ds(origin, algorithm);
        let (numbers, digest) = ds.rsplit_once(' ').unwrap();
        let anchors = dir.path().join("anchors");
        fs::write(&anchors, format!("trust-anchors {{ \"{origin}\" static-ds {numbers} \"{digest}\"; }};\n")).unwrap();
        let Question { name, qtype, .. } = &asked.question;
        let mut command = Command::new("delv");
        command.arg("@127.0.0.1").arg("-a").arg(&anchors).arg(format!("+root={origin}"));
        command.args(["-q", &name.to_string(), "-t", &qtype.to_string()]);
        let output = command.output().unwrap_or_else(|error| panic!("delv: {error}; ./scripts/test installs it"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if !text.contains("fully validated") {
            wrong += 1;
            if wrong <= SHOWN {
                eprintln!("delv: {name} {qtype}: {text}\n  we say {}", asked.direct.text());
            }
        }
    }
    println!("delv does not take {wrong} of {DELVED} answers");
    wrong
}
