//! A resolver that asks from many addresses, of which some are answered from the old site and some from the new one. It
//! follows aliases by itself: what one address was told, the next one asks about. That is how an encyclopaedia's names
//! were lost in 2010.

use std::collections::HashMap;

use understudy::door::Refused;
use understudy::evidence::Verdict;
use understudy::serving::Settings;

use super::*;

const EGRESSES: usize = 8;

/// What a question led to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Alias(Name),
    Address(u8),
    NameError,
}

/// A resolver with a cache that obeys TTLs.
struct Farm {
    /// The addresses that it asks from, and which one is next.
    egresses: Vec<String>,
    next: usize,
    cache: HashMap<Name, (u32, Held)>,
    now: u32,
}

impl Farm {
    /// A farm some of whose addresses go over early and some late.
    fn over(serving: &Serving) -> Farm {
        let site = |client: &String| address(&ask(serving, client, "v.x.example", RrType::A));
        let networks = || (0..1000).map(|n| format!("10.{}.{}.53", n / 200, n % 200));
        let of = |wanted| networks().filter(move |client| site(client) == wanted).take(EGRESSES / 2);
        let egresses: Vec<String> = of(1).zip(of(2)).flat_map(|(old, new)| [old, new]).collect();
        assert_eq!(egresses.len(), EGRESSES);
        Farm { egresses, next: 0, cache: HashMap::new(), now: 0 }
    }

    /// Asks for one name, or remembers. Of an answer it takes what is said of this name alone.
    fn look_up(&mut self, serving: &Serving, wanted: &Name) -> Held {
        if let Some((until, held)) = self.cache.get(wanted)
            && *until > self.now
        {
            return held.clone();
        }
        let egress = self.egresses[self.next % EGRESSES].clone();
        // Never in step with the length of a chain.
        self.next += 3;
        let message = ask(serving, &egress, &wanted.to_string(), RrType::A);
        let record = message.answers.iter().find(|record| record.owner == *wanted);
        let (ttl, held) = match record {
            None => (of_type(&message.authorities, RrType::SOA)[0].0, Held::NameError),
            Some(record) if record.rtype == RrType::CNAME => {
                (record.ttl, Held::Alias(understudy::name::NameRef::read(&record.canonical).unwrap().to_name()))
            }
            Some(record) => (record.ttl, Held::Address(*record.rdata.last().unwrap())),
        };
        self.cache.insert(wanted.clone(), (self.now + ttl, held.clone()));
        held
    }

    /// What a client of the farm is told of `www`.
    fn resolve(&mut self, serving: &Serving) -> Held {
        let mut wanted = name("www.x.example");
        for _ in 0..8 {
            match self.look_up(serving, &wanted) {
                Held::Alias(target) => wanted = target,
                held => return held,
            }
        }
        panic!("a loop")
    }
}

fn site(text: &str) -> String {
    format!("$TTL 40\n@ SOA ns.else. h 1 1h 10m 2w 20\n@ NS ns.else.\n{text}")
}

const A: &str = "v A 192.0.2.1\nwww CNAME text\ntext 15 CNAME lever.a\nlever.a 25 A 192.0.2.1\n";
const B: &str = "v A 192.0.2.2\nwww CNAME text\ntext 15 CNAME lever.b\nlever.b 25 A 192.0.2.2\n";
const STEPS: [&str; 5] = ["1%", "10%", "30%", "60%", "100%"];

/// How many clients are told that there is no such name, while everybody goes from the first site to the second one in
/// steps of two minutes; each step goes through `door`.
fn denied(
    texts: [&str; 2],
    door: impl Fn(Candidate) -> Result<Arc<Serving>, Refused>,
) -> Result<(usize, Held), Refused> {
    let content = content("x.example", &texts);
    let none = nothing(&[], &[], Settings::default());
    let mut farm = Farm::over(&unjudged(&none, &content, ramp("50%", None)));
    let mut serving = unjudged(&none, &content, Routing::at(vec![SiteId(0)]));
    let mut denied = 0;
    for step in STEPS {
        serving = door(candidate(&serving, &content, ramp(step, Some(10))))?;
        for _ in 0..120 {
            farm.now += 1;
            denied += usize::from(farm.resolve(&serving) == Held::NameError);
        }
    }
    Ok((denied, farm.resolve(&serving)))
}

#[test]
fn a_ramp_that_is_closed_never_denies_a_name() {
    let verify = |candidate: Candidate| candidate.verify(&[]).map(|verified| Arc::clone(verified.serving()));
    let whole = [site(&format!("{A}lever.b 25 A 192.0.2.2\n")), site(&format!("{B}lever.a 25 A 192.0.2.1\n"))];
    let (count, end) = denied(whole.each_ref().map(String::as_str), verify).unwrap();
    assert_eq!((count, end), (0, Held::Address(2)));
}

#[test]
fn without_the_gate_names_are_denied() {
    let apart = [site(A), site(B)];
    let texts = || apart.each_ref().map(String::as_str);
    let refused =
        denied(texts(), |candidate| candidate.verify(&[]).map(|verified| Arc::clone(verified.serving()))).unwrap_err();
    let stopping: Vec<_> = refused.findings.iter().filter(|finding| finding.verdict == Verdict::Block).collect();
    assert!(stopping.iter().any(|finding| finding.gate == id::CROSS_CLOSURE), "{stopping:#?}");
    let (count, _) = denied(texts(), |candidate| Ok(Arc::new(candidate.ends().1.clone()))).unwrap();
    assert!(count > 0, "the farm would have noticed");
}
