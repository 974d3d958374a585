//! Zones and queries from a seed: the same seed gives the same for ever, on every machine.
//!
//! The zones are such that every server loads them, and as odd as that allows: empty non-terminals, wildcards at several
//! depths and in the middle of names, delegations with every kind of glue and with data hidden below them, DNAMEs,
//! CNAMEs to all of these, labels with dots, spaces, zeros and capitals in them, parents and children both served.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;

/// Random numbers (SplitMix64).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Whether something of `percent` per cent happens.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A zone with all that is needed to ask about it.
#[derive(Clone, Debug)]
pub struct Zone {
    pub origin: Name,
    /// The master file.
    pub text: String,
    /// Owner names, empty non-terminals and names that records refer to.
    pub names: Vec<Name>,
    /// The types at each owner.
    pub types: BTreeMap<Name, Vec<RrType>>,
    /// Whether data stands below a DNAME, which NSD and Knot refuse to load.
    pub below_dname: bool,
}

/// A question, and how it is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub name: Name,
    pub qtype: RrType,
    pub recursion_desired: bool,
    /// The payload size that the client offers; none without EDNS.
    pub payload: Option<u16>,
}

/// Few labels, so that names meet.
const LABELS: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"d",
    b"www",
    b"mail",
    b"Mixed",
    b"_tcp",
    b"*",
    b"x*y",
    b"a.b",
    b"sp ace",
    b"\x00\xff",
    b"0",
    b"a-label-that-is-as-long-as-a-label-may-be-and-not-one-octet-more",
];

const TYPES: &[RrType] = &[
    RrType::A,
    RrType::AAAA,
    RrType::NS,
    RrType::SOA,
    RrType::CNAME,
    RrType::DNAME,
    RrType::MX,
    RrType::TXT,
    RrType::SRV,
    RrType::SVCB,
    RrType::HTTPS,
    RrType::DS,
    RrType::PTR,
    RrType::CAA,
    RrType(65_280),
];

const TTLS: &[u32] = &[0, 1, 20, 60, 300, 3600, 86_400];

/// The zones of a seed: one, or a parent and a child that is delegated in it.
pub fn zones(seed: u64, seeds: u64) -> Vec<Zone> {
    let origin = match seed % 4 {
        0 => format!("Deep.er.z{seed}.test."),
        _ => format!("z{seed}.test."),
    };
    let origin = Name::absolute(&origin).unwrap();
    let child = (seed % 3 == 1 && seed % 8 != 3).then(|| origin.as_ref().child(b"kid").unwrap());
    let mut zones = vec![Builder::new(origin, seed, seeds).build(child.as_ref())];
    if let Some(child) = child {
        zones.push(Builder::new(child, seed + 1000, seeds).build(None));
    }
    zones
}

/// What will stand at an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Address,
    Service,
    Text,
    Alias,
    Cut,
    Subtree,
}

struct Builder {
    rng: Rng,
    seed: u64,
    /// How many seeds there are: aliases lead to other zones.
    seeds: u64,
    origin: Name,
    sets: BTreeMap<Name, BTreeMap<RrType, (u32, Vec<String>)>>,
    /// Names that records refer to.
    targets: BTreeSet<Name>,
    below_dname: bool,
}

impl Builder {
    fn new(origin: Name, seed: u64, seeds: u64) -> Builder {
        let (sets, targets) = (BTreeMap::new(), BTreeSet::new());
        let rng = Rng::new(seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ 0xD15C);
        Builder { rng, seed, seeds, origin, sets, targets, below_dname: seed < 1000 && seed % 6 == 5 }
    }

    fn build(mut self, child: Option<&Name>) -> Zone {
        self.apex();
        if let Some(child) = child {
            self.cut(child);
            self.add(child, RrType::DS, "12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF");
        }
        let wanted = match self.seed % 8 {
            3 => 0, // a DNAME at the apex, nothing below it
            7 => 5,
            _ => 30 + self.rng.below(40),
        };
        let mut kinds: Vec<(Name, Kind)> = Vec::new();
        for _ in 0..wanted {
            let owner = self.fresh_name(&kinds);
            let kind = match self.rng.below(100) {
                0..30 => Kind::Address,
                30..45 => Kind::Service,
                45..55 => Kind::Text,
                55..80 => Kind::Alias,
                80..92 => Kind::Cut,
                _ => Kind::Subtree,
            };
            let wildcard = owner.as_ref().is_wildcard();
            let taken = kinds.iter().any(|(name, _)| *name == owner) || Some(&owner) == child;
            if !(taken || wildcard && matches!(kind, Kind::Cut | Kind::Subtree)) {
                kinds.push((owner, kind));
            }
        }
        // Names below a DNAME are wanted only in some zones: not all servers load them.
        let dnames: Vec<Name> =
            kinds.iter().filter(|(_, kind)| *kind == Kind::Subtree).map(|(n, _)| n.clone()).collect();
        let hidden = |name: &Name| dnames.iter().any(|dname| name.as_ref().is_below(dname.as_ref()));
        if !self.below_dname {
            kinds.retain(|(name, _)| !hidden(name));
        }
        for (owner, kind) in &kinds {
            self.fill(owner, *kind, &kinds);
        }
        if self.seed % 8 == 3 {
            let target = format!("z{}.test.", (self.seed + 1) % self.seeds);
            self.sets.retain(|owner, _| *owner == self.origin);
            let apex = self.origin.clone();
            self.sets.get_mut(&apex).unwrap().insert(RrType::NS, (300, vec!["ns.elsewhere.invalid.".into()]));
            self.add(&apex, RrType::DNAME, &target);
        }
        self.finish()
    }

    fn apex(&mut self) {
        let origin = self.origin.clone();
        let (soa_ttl, minimum) = (*self.rng.pick(TTLS), *self.rng.pick(TTLS));
        let soa = format!("ns1.{origin} Host.Master.{origin} {} 3600 600 604800 {minimum}", 2_026_000_000 + self.seed);
        self.sets.entry(origin.clone()).or_default().insert(RrType::SOA, (soa_ttl, vec![soa]));
        let ns1 = self.under(&origin, b"ns1");
        self.add(&origin, RrType::NS, &ns1.to_string());
        self.add(&ns1, RrType::A, "192.0.2.53");
        if self.rng.chance(70) {
            self.add(&ns1, RrType::AAAA, "2001:db8::53");
        }
        if self.rng.chance(60) {
            self.add(&origin, RrType::NS, "ns.elsewhere.invalid.");
        }
        if self.rng.chance(40) {
            let ns2 = self.under(&ns1, b"ns2");
            self.add(&origin, RrType::NS, &ns2.to_string());
            self.add(&ns2, RrType::A, "192.0.2.54");
        }
        if self.rng.chance(60) {
            self.address(&origin);
        }
        if self.rng.chance(50) {
            self.add(&origin, RrType::MX, &format!("10 mail.{origin}"));
            self.targets.insert(self.under(&origin, b"mail"));
            self.add(&origin, RrType::TXT, "\"v=spf1 -all\" \"two; strings\"");
        }
        if self.rng.chance(50) {
            let wildcard = self.under(&origin, b"*");
            self.address(&wildcard);
        }
    }

    fn under(&self, name: &Name, label: &[u8]) -> Name {
        name.as_ref().child(label).unwrap_or_else(|_| name.clone())
    }

    /// A name one to three labels below a name that is there; now and then a wildcard.
    fn fresh_name(&mut self, kinds: &[(Name, Kind)]) -> Name {
        let mut name = match kinds.is_empty() || self.rng.chance(35) {
            true => self.origin.clone(),
            false => self.rng.pick(kinds).0.clone(),
        };
        for _ in 0..1 + self.rng.below(3) {
            let label = *self.rng.pick(LABELS);
            name = self.under(&name, label);
        }
        if self.rng.chance(20) { self.under(&name, b"*") } else { name }
    }

    fn fill(&mut self, owner: &Name, kind: Kind, kinds: &[(Name, Kind)]) {
        match kind {
            Kind::Address => self.address(owner),
            Kind::Text => {
                self.add(owner, RrType::TXT, "\"text\"");
                if self.rng.chance(25) {
                    // More than fits into a small datagram, or into any.
                    for number in 0..*self.rng.pick(&[4, 8, 20]) {
                        self.add(owner, RrType::TXT, &format!("\"{number} {}\"", "x".repeat(100)));
                    }
                }
                if self.rng.chance(30) {
                    self.add(owner, RrType::CAA, "0 issue \"ca.example\"");
                }
            }
            Kind::Service => {
                for _ in 0..1 + self.rng.below(3) {
                    let target = self.target(kinds);
                    let preference = self.rng.below(20);
                    match self.rng.below(4) {
                        0 | 1 => self.add(owner, RrType::MX, &format!("{preference} {target}")),
                        2 => self.add(owner, RrType::SRV, &format!("{preference} 5 443 {target}")),
                        _ => self.add(owner, RrType::SVCB, &format!("{} {target} port=8443", preference + 1)),
                    }
                }
                if self.rng.chance(30) {
                    self.address(owner);
                }
            }
            Kind::Alias => {
                let target = self.target(kinds);
                self.add(owner, RrType::CNAME, &target.to_string());
            }
            Kind::Cut => self.cut(owner),
            Kind::Subtree => {
                let target = match self.rng.below(10) {
                    0 => self.under(owner, b"down"), // each step makes the name longer
                    1 if !self.below_dname => {
                        let long = [b'l'; 60];
                        (0..3).fold(self.origin.clone(), |name, _| self.under(&name, &long))
                    }
                    _ => self.target(kinds),
                };
                self.add(owner, RrType::DNAME, &target.to_string());
                if self.rng.chance(50) {
                    self.address(owner);
                }
            }
        }
    }

    fn address(&mut self, owner: &Name) {
        for _ in 0..1 + self.rng.below(2) {
            let address = format!("192.0.2.{}", self.rng.below(256));
            self.add(owner, RrType::A, &address);
        }
        if self.rng.chance(50) {
            let address = format!("2001:db8::{:x}", self.rng.below(65_536));
            self.add(owner, RrType::AAAA, &address);
        }
        if self.rng.chance(15) {
            self.add(owner, RrType::TXT, "\"beside addresses\"");
        }
    }

    /// A delegation, its glue, and what it hides.
    fn cut(&mut self, owner: &Name) {
        for _ in 0..1 + self.rng.below(3) {
            let (target, glue) = match self.rng.below(6) {
                0 | 1 => (self.under(owner, b"ns"), true),
                2 => (self.under(&self.under(owner, b"Deep"), b"ns"), true),
                3 => (owner.clone(), true),
                4 => (self.under(&self.origin.clone(), b"ns1"), false),
                _ => (Name::absolute("ns.elsewhere.invalid.").unwrap(), false),
            };
            self.add(owner, RrType::NS, &target.to_string());
            if glue {
                self.address(&target);
            }
        }
        if self.rng.chance(30) {
            self.add(owner, RrType::DS, "1 8 2 00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF");
        }
        if self.rng.chance(40) {
            let label = *self.rng.pick(LABELS);
            let hidden = self.under(owner, label);
            self.add(&hidden, RrType::TXT, "\"hidden by the delegation\"");
            self.targets.insert(hidden);
        }
        if self.rng.chance(20) {
            self.add(owner, RrType::TXT, "\"at the cut\"");
        }
    }

    /// A name for records to refer to: there or not, in the zone or not.
    fn target(&mut self, kinds: &[(Name, Kind)]) -> Name {
        let base = self.rng.pick(kinds).0.clone();
        let label = *self.rng.pick(LABELS);
        let target = match self.rng.below(20) {
            0..9 => base,
            9..13 => self.under(&base, label),
            13 => base.as_ref().parent().map_or(base.clone(), NameRef::to_name),
            14 => self.under(&base, b"*"),
            15 => self.origin.clone(),
            16 => self.under(&self.origin.clone(), label),
            17 => Name::absolute("www.elsewhere.invalid.").unwrap(),
            18 => Name::absolute(&format!("z{}.test.", self.rng.below(self.seeds as usize))).unwrap(),
            _ => Name::absolute(&format!("a.z{}.test.", self.rng.below(self.seeds as usize))).unwrap(),
        };
        self.targets.insert(target.clone());
        target
    }

    /// Adds a record, if it can stand beside what is there.
    fn add(&mut self, owner: &Name, rtype: RrType, data: &str) {
        let ttl = *self.rng.pick(TTLS);
        let sets = self.sets.entry(owner.clone()).or_default();
        let alone = |rtype| matches!(rtype, RrType::CNAME);
        if sets.keys().any(|other| alone(*other)) || alone(rtype) && !sets.is_empty() {
            return;
        }
        let set = sets.entry(rtype).or_insert((ttl, Vec::new()));
        let known = set.1.iter().any(|known| known.eq_ignore_ascii_case(data));
        if !known && (rtype != RrType::DNAME || set.1.is_empty()) {
            set.1.push(data.into());
        }
    }

    fn finish(mut self) -> Zone {
        self.sets.retain(|_, sets| !sets.is_empty());
        let dnames: Vec<Name> =
            self.sets.iter().filter(|(_, sets)| sets.contains_key(&RrType::DNAME)).map(|(n, _)| n.clone()).collect();
        let below = |name: &Name| dnames.iter().any(|dname| name.as_ref().is_below(dname.as_ref()));
        if !self.below_dname {
            self.sets.retain(|name, _| !below(name));
        }
        let below_dname = self.sets.keys().any(below);
        let mut text = String::new();
        // The SOA comes first: readers may insist on it.
        let apex = self.sets.get_key_value(&self.origin).unwrap();
        let soa_first = std::iter::once(apex).chain(self.sets.iter().filter(|(owner, _)| **owner != self.origin));
        for (owner, sets) in soa_first {
            let mut types: Vec<_> = sets.iter().collect();
            types.sort_by_key(|(rtype, _)| **rtype != RrType::SOA);
            for (rtype, (ttl, datas)) in types {
                for data in datas {
                    writeln!(text, "{owner} {ttl} IN {rtype} {data}").unwrap();
                }
            }
        }
        let names: BTreeSet<Name> = self
            .sets
            .keys()
            .chain(&self.targets)
            .flat_map(|name| name.as_ref().ancestors())
            .filter(|name| name.is_at_or_below(self.origin.as_ref()))
            .map(NameRef::to_name)
            .collect();
        let types = self.sets.iter().map(|(owner, sets)| (owner.clone(), sets.keys().copied().collect())).collect();
        Zone { origin: self.origin, text, names: names.into_iter().collect(), types, below_dname }
    }
}

/// `count` different questions about a zone: at, above, below and beside all its names.
pub fn questions(zone: &Zone, seed: u64, count: usize) -> Vec<Question> {
    let mut rng = Rng::new(seed ^ 0x51E5_7A11);
    let mut asked = HashSet::new();
    let mut questions = Vec::with_capacity(count);
    // A small zone may not have so many.
    for _ in 0..count * 8 {
        if questions.len() == count {
            break;
        }
        let node = rng.pick(&zone.names).clone();
        let name = question_name(&mut rng, zone, &node);
        let qtype = match zone.types.get(&name) {
            Some(types) if rng.chance(50) => *rng.pick(types),
            _ if rng.chance(30) => RrType::A,
            _ => *rng.pick(TYPES),
        };
        let payload = *rng.pick(&[None, Some(512), Some(1232), Some(4096)]);
        let recursion_desired = rng.chance(20);
        let name = if rng.chance(25) { random_case(&mut rng, name.as_ref()) } else { name };
        if asked.insert((name.as_ref().as_wire().to_vec(), qtype, payload)) {
            questions.push(Question { name, qtype, recursion_desired, payload });
        }
    }
    questions
}

fn question_name(rng: &mut Rng, zone: &Zone, node: &Name) -> Name {
    let below = |name: &Name, label: &[u8]| name.as_ref().child(label).unwrap_or_else(|_| name.clone());
    let label = |rng: &mut Rng| *rng.pick::<&[u8]>(LABELS);
    match rng.below(100) {
        0..40 => node.clone(),
        40..50 => below(node, label(rng)),
        50..58 => below(node, b"nx"),
        58..64 => below(node, b"*"),
        64..70 => below(&below(node, label(rng)), label(rng)),
        70..74 => below(&below(&below(node, b"*"), b"nx"), b"nx"),
        // Beside it: the neighbours in canonical order, and another label.
        74..86 => {
            let Some(parent) = node.as_ref().parent().map(NameRef::to_name) else { return node.clone() };
            let mut label = node.as_ref().first_label().unwrap_or_default().to_vec();
            match rng.below(4) {
                0 => label.push(0),
                1 => *label.last_mut().unwrap() = label.last().unwrap().wrapping_sub(1),
                2 => drop(label.pop()),
                _ => label = rng.pick::<&[u8]>(LABELS).to_vec(),
            }
            parent.as_ref().child(&label).unwrap_or(parent)
        }
        86..92 => node.as_ref().parent().map_or(node.clone(), NameRef::to_name),
        92..95 => zone.origin.clone(),
        95..97 => zone.origin.as_ref().parent().map_or(node.clone(), NameRef::to_name),
        97..99 => Name::absolute("nowhere.invalid.").unwrap(),
        // As long as names may be.
        _ => {
            let mut name = node.clone();
            while let Ok(longer) = name.as_ref().child(&[b'q'; 40]).or_else(|_| name.as_ref().child(b"q")) {
                name = longer;
            }
            name
        }
    }
}

fn random_case(rng: &mut Rng, name: NameRef<'_>) -> Name {
    let wire: Vec<u8> =
        name.as_wire().iter().map(|octet| if rng.chance(50) { octet.to_ascii_uppercase() } else { *octet }).collect();
    // Length octets are no letters.
    NameRef::read(&wire).unwrap().to_name()
}
