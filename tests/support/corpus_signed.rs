//! Signed zones that servers are compared over, and what is asked about them.

use std::collections::HashSet;

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;

use super::generate::{self, Question, Rng, Zone};
use super::message;
use super::sign::{METHODS, Method, Signer};

/// How many seeds zones are made from.
const SEEDS: u64 = 24;
/// Questions about each zone.
const QUESTIONS: usize = 3_600;
/// What a child is delegated with by the generator: a digest of no key.
const NO_KEY: &str = "12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF";

/// The types that only signed zones have.
const TYPES: &[RrType] = &[
    RrType::RRSIG,
    RrType::NSEC,
    RrType::NSEC3,
    RrType::NSEC3PARAM,
    RrType::DNSKEY,
    RrType::DS,
    RrType::DS,
    RrType::CDS,
    RrType::CDNSKEY,
    RrType::ANY,
];

/// A signed zone and what is asked about it.
pub struct Case {
    pub zone: Zone,
    pub method: Method,
    /// The master file, signed.
    pub signed: String,
    pub asks: Vec<Ask>,
}

/// A question, and how it is put.
#[derive(Clone, Debug)]
pub struct Ask {
    pub question: Question,
    pub dnssec_ok: bool,
    pub tcp: bool,
}

impl Ask {
    pub fn query(&self) -> Vec<u8> {
        let Question { name, qtype, recursion_desired, payload } = &self.question;
        let mut query = message::query(0, name.as_ref(), *qtype, *recursion_desired, *payload);
        if self.dnssec_ok {
            let flags = query.len() - 4;
            query[flags] |= 0x80;
        }
        query
    }
}

/// The zones of a round, each signed in another way than in the other rounds; there are as many rounds as methods.
pub fn cases(signer: &Signer, round: usize) -> Vec<Case> {
    // Data below a DNAME are loaded by BIND only.
    let zones = (0..SEEDS).flat_map(|seed| generate::zones(seed, SEEDS)).filter(|zone| !zone.below_dname);
    let case = |(number, zone): (usize, Zone)| {
        let method = METHODS[(number + round) % METHODS.len()];
        let signed = signer.sign(&zone.origin, &text(signer, number, round, &zone), method);
        let asks = asks(&zone, &signed, (number + 1000 * round) as u64);
        Case { zone, method, signed, asks }
    };
    zones.enumerate().map(case).collect()
}

/// The zone before it is signed; a child that is served as well is delegated with its key's digest.
fn text(signer: &Signer, number: usize, round: usize, zone: &Zone) -> String {
    let Some(kid) = zone.text.lines().find(|line| line.ends_with(NO_KEY)) else { return zone.text.clone() };
    let child = Name::absolute(kid.split(' ').next().unwrap()).unwrap();
    // The child is the next case.
    let algorithm = METHODS[(number + 1 + round) % METHODS.len()].algorithm;
    zone.text.replace(NO_KEY, &signer.ds(&child, algorithm))
}

fn asks(zone: &Zone, signed: &str, seed: u64) -> Vec<Ask> {
    let mut rng = Rng::new(seed ^ 0x000D_A5E5);
    let hashed: Vec<Name> = signed
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let owner = fields.next()?;
            (fields.nth(2)? == "NSEC3").then(|| Name::absolute(owner).ok())?
        })
        .collect();
    let mut known = HashSet::new();
    let mut asks = Vec::new();
    for mut question in generate::questions(zone, seed, QUESTIONS) {
        if rng.chance(35) {
            question.qtype = *rng.pick(TYPES);
        }
        if rng.chance(2) && !hashed.is_empty() {
            let owner = rng.pick(&hashed).as_ref();
            question.name = match rng.below(3) {
                0 => owner.child(b"below").unwrap(),
                _ => owner.to_name(),
            };
        }
        if question.payload.is_none() && rng.chance(60) {
            question.payload = Some(*rng.pick(&[512, 1232, 4096]));
        }
        let dnssec_ok = question.payload.is_some() && rng.chance(70);
        let tcp = rng.chance(20);
        let Question { name, qtype, payload, .. } = &question;
        if known.insert((wire(name.as_ref()), *qtype, *payload, dnssec_ok, tcp)) {
            asks.push(Ask { question, dnssec_ok, tcp });
        }
    }
    asks
}

fn wire(name: NameRef<'_>) -> Vec<u8> {
    name.as_wire().to_vec()
}
