//! What a drill's listeners give for the names of a zone, held against what its texts say.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use super::super::confirm::{PATIENCE, PAUSE, ask};
use super::super::name_servers::query;
use super::halt::Halt;
use crate::gate;
use crate::gate::ask::{Kind, types_at};
use crate::gate::vanish::is_asked_for;
use crate::name::{Name, NameRef};
use crate::net::{ClientNet, Network, Region};
use crate::rr::{Class, RrType};
use crate::serving::Serving;
use crate::serving::content::SiteContent;
use crate::serving::regions::{DEFAULT, RegionId};
use crate::serving::respond::Transport;
use crate::world::sim::message::{Data, Message, read};
use crate::zone::diff::diff;
use crate::zone::rdata;
use crate::zone::rrsets::{Rrset, Zone};

/// The most questions for what differs between the sites, and for all else.
const DIFFERING: usize = 250;
const OTHERS: usize = 250;
/// The most clients of a region that questions are asked for.
const CLIENTS: usize = 4;
/// The most questions that are asked at a time, over all clients.
const MOST: usize = 2000;
/// How many wrong answers are told.
const TOLD: usize = 5;
/// Networks of which one is likely to be in no region: those of documentation and of nobody.
const ANYWHERE: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)),
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
    IpAddr::V4(Ipv4Addr::new(240, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];

/// The questions that are asked after each publication, and for whom.
pub(super) struct Samples {
    questions: Vec<(Name, RrType)>,
    clients: Vec<IpAddr>,
    /// The regions that no address is in: nothing is asked for them.
    pub(super) nobody_in: Vec<String>,
}

impl Samples {
    /// Questions for the names of a zone at some sites, those that differ first, for clients of these regions.
    pub(super) fn of(sites: &[&SiteContent], serving: &Serving, known: &[Region], moved: &[RegionId]) -> Samples {
        let (mut asking, mut nobody_in) = (Vec::new(), Vec::new());
        for region in moved {
            let own = clients(serving, known, *region);
            if own.is_empty() {
                nobody_in.push(serving.regions.name(*region).to_owned());
            }
            asking.extend(own);
        }
        let mut questions = Vec::new();
        if let Some(first) = sites.first() {
            questions.push((first.zone.origin().to_name(), RrType::SOA));
            for site in &sites[1..] {
                let differing = diff(&first.zone, &site.zone).map(|difference| difference.either().owner.to_name());
                questions.extend(differing.flat_map(|name| asked(&[&first.zone, &site.zone], name)).take(DIFFERING));
            }
        }
        for site in sites {
            let step = (site.zone.owners().len() / OTHERS).max(1);
            let names = site.zone.owners().step_by(step).map(|owner| owner.name.to_name());
            questions.extend(names.flat_map(|name| asked(&[&site.zone], name)).take(OTHERS));
        }
        let mut seen = HashSet::new();
        questions.retain(|question| seen.insert(question.clone()));
        Samples { questions, clients: asking, nobody_in }
    }

    /// How many questions are asked, over all clients.
    pub(super) fn len(&self) -> usize {
        (self.questions.len() * self.clients.len()).min(MOST)
    }

    /// What is asked, and for whom: each question once, then each for the next client, and so on.
    fn asked(&self) -> impl Iterator<Item = (&(Name, RrType), IpAddr)> {
        (0..self.len()).map(|at| {
            let (round, question) = (at / self.questions.len(), at % self.questions.len());
            (&self.questions[question], self.clients[(question + round) % self.clients.len()])
        })
    }

    /// The answers of a listener that are not what the texts say, the first few in a line each. Nothing more is asked once the
    /// drill is to stop.
    pub(super) fn wrong(&self, serving: &Serving, listener: SocketAddr, halt: &Halt) -> Vec<String> {
        let wrong = self.asked().take_while(|_| halt.why().is_none()).filter_map(|((name, rtype), client)| {
            let why = compare(serving, listener, client, name.as_ref(), *rtype).err()?;
            Some(format!("{name} {rtype} for {client}: {why}"))
        });
        wrong.take(TOLD).collect()
    }
}

/// What clients ask a name for: an alias is asked for addresses.
fn asked(zones: &[&Zone], name: Name) -> Vec<(Name, RrType)> {
    let types = zones.iter().flat_map(|zone| types_at(zone, name.as_ref()));
    let types = types.flat_map(|rtype| match rtype {
        RrType::CNAME => vec![RrType::A, RrType::AAAA],
        other => vec![other],
    });
    types.filter(|rtype| is_asked_for(*rtype)).map(|rtype| (name.clone(), rtype)).collect()
}

/// Clients of a region, where any address is in it: other regions' networks may lie in its own.
fn clients(serving: &Serving, known: &[Region], region: RegionId) -> Vec<IpAddr> {
    let name = serving.regions.name(region);
    let networks = known.iter().filter(|known| known.name == name).flat_map(|known| &known.networks);
    let first_within = |network| serving.regions.first_within(network, region);
    let anywhere = ANYWHERE.into_iter().filter(|_| name == DEFAULT);
    let families = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    let families = families.into_iter().filter(|_| name == DEFAULT).filter_map(|any| Network::new(any, 0));
    let all = networks.copied().chain(anywhere.map(Network::host)).chain(families);
    all.filter_map(first_within).take(CLIENTS).collect()
}

fn client(address: IpAddr) -> ClientNet {
    ClientNet(Network::host(address))
}

/// Asks for a client, and holds the answer against what the texts of its site say.
fn compare(
    serving: &Serving,
    listener: SocketAddr,
    address: IpAddr,
    name: NameRef<'_>,
    rtype: RrType,
) -> Result<(), String> {
    let query = query_for(address, name, rtype);
    let answer = match read(&given(listener, Transport::Udp, &query)?) {
        Some(answer) => answer,
        None => read(&given(listener, Transport::Tcp, &query)?).ok_or("the answer can't be read")?,
    };
    let told = gate::ask::ask(serving.view(client(address)), name, rtype);
    let rcode = match told.kind {
        Kind::NameError => 3,
        Kind::Failure(rcode) => rcode.0,
        _ => 0,
    };
    if u16::from(answer.rcode) != rcode & 0x0F {
        return Err(format!("response code {} and not {rcode}", answer.rcode));
    }
    // Of what the function says that answers clients, and of what the texts say that it was compiled from.
    let is_there = answer.answers.iter().any(|record| record.rtype == rtype);
    if is_there != (told.kind == Kind::Answer) {
        return Err(format!("{} instead of `{told}`", if is_there { "records" } else { "no records" }));
    }
    let Some(found) = serving.explain(client(address), name, rtype) else { return Ok(()) };
    let site = found.zone.content.site(found.site);
    match site.zone.rrset(name, rtype) {
        // The serial is not the texts'.
        Some(set) if told.aliases == 0 && is_there && rtype != RrType::SOA => {
            same(&answer, set).map_err(|why| format!("{why} at {}", site.name))
        }
        _ => Ok(()),
    }
}

/// What a listener answers. On a busy machine one may be late: it is asked again, as a client would.
fn given(listener: SocketAddr, transport: Transport, query: &[u8]) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask(listener, transport, query) {
            Ok((_, answer)) => return Ok(answer),
            Err(error) if Instant::now() >= deadline => return Err(format!("no answer: {error}")),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Whether an answer has the records of an RRset. Names in data may be compressed: of these only the number is compared.
fn same(answer: &Message, set: Rrset<'_>) -> Result<(), String> {
    let given: Vec<_> = answer.answers.iter().filter(|record| record.rtype == set.rtype).collect();
    if given.iter().any(|record| record.ttl > set.ttl.seconds()) {
        return Err(format!("a TTL above {}, which the texts have", set.ttl));
    }
    let octets = given.iter().map(|record| match &record.data {
        Data::Other(octets) => Some(&**octets),
        _ => None,
    });
    let has_names = set.rdatas().any(|data| rdata::names(set.rtype, data).next().is_some());
    let is_same = match octets.collect::<Option<HashSet<&[u8]>>>().filter(|_| !has_names) {
        Some(octets) => octets == set.rdatas().collect(),
        None => given.len() == set.rdatas().len(),
    };
    if is_same { Ok(()) } else { Err("other records than the texts have".into()) }
}

/// A query that says for whom it is asked (RFC 7871).
fn query_for(address: IpAddr, name: NameRef<'_>, rtype: RrType) -> Vec<u8> {
    let mut query = query(name.as_wire(), rtype, Class::IN);
    query[11] = 1;
    let (family, octets) = match address {
        IpAddr::V4(address) => (1u8, address.octets().to_vec()),
        IpAddr::V6(address) => (2, address.octets().to_vec()),
    };
    let length = octets.len() as u8;
    query.push(0);
    query.extend_from_slice(&RrType::OPT.0.to_be_bytes());
    query.extend_from_slice(&4096u16.to_be_bytes());
    query.extend_from_slice(&[0, 0, 0, 0, 0, 8 + length, 0, 8, 0, 4 + length, 0, family, length * 8, 0]);
    query.extend_from_slice(&octets);
    query
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::Arc;

    use super::super::shadow::shadow_of;
    use super::*;
    use crate::gate::tests::{served, zone};
    use crate::serve::stage::Stage;
    use crate::serve::{ListenSettings, Listeners};
    use crate::serving::Settings;
    use crate::serving::regions::Regions;
    use crate::snapshot::sought::HashKey;

    /// Networks of other regions lie in a region's own: it is asked for none the less, if anybody is in it.
    #[test]
    fn a_region_is_asked_for_wherever_its_clients_are() {
        let region = |name: &str, networks: &[&str]| Region {
            name: name.into(),
            networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
        };
        let known = [
            region("wide", &["10.0.0.0/8"]),
            region("first", &["10.0.0.0/16"]),
            region("hidden", &["198.18.0.0/31"]),
            region("over", &["198.18.0.0/32", "198.18.0.1/32"]),
        ];
        let serving = Serving::empty(0, HashKey::new([7; 16]), Settings::default(), Regions::new(&known));
        let all: Vec<RegionId> = serving.regions.iter().map(|(region, _)| region).collect();
        let samples = Samples::of(&[], &serving, &known, &all);
        assert_eq!(samples.nobody_in, ["hidden"]);
        for region in &all {
            let is_in = |address: &&IpAddr| serving.regions.of(client(**address)) == *region;
            let count = samples.clients.iter().filter(is_in).count();
            assert_eq!(count > 0, serving.regions.name(*region) != "hidden", "{region:?}: {:?}", samples.clients);
        }
    }

    #[test]
    fn each_answer_is_held_against_the_texts_of_the_site_that_it_comes_from() {
        let common = "w A 192.0.2.1\n*.s A 192.0.2.3\nt TXT x\nm MX 5 w\n";
        let other = "w A 198.51.100.1\nv AAAA 2001:db8::1\n*.s A 192.0.2.3\nt TXT x\nm MX 5 w\nc CNAME w\n";
        let serving = |a: &str, b: &str, routed: &[u16]| {
            shadow_of(&served(vec![zone("x.example", &[("a", a), ("b", b)], routed, &[])]))
        };
        let base = serving(common, other, &[0, 0, 0]);
        let settings = ListenSettings {
            addresses: vec!["127.0.0.1:0".parse().unwrap()],
            workers: NonZeroUsize::MIN,
            ..Default::default()
        };
        let running = Listeners::bind(&settings).unwrap().run(&Stage::new(Arc::clone(&base)).unwrap()).unwrap();
        let listener = running.addresses()[0];
        let samples = |serving: &Serving| {
            let sites: Vec<_> = serving.zones()[0].content.sites.iter().collect();
            Samples::of(&sites, serving, &[], &[RegionId::default()])
        };
        let known = samples(&base);
        assert!(known.len() > 20, "{}", known.len());
        assert_eq!(known.wrong(&base, listener, &Halt::default()), [""; 0]);
        // What is answered is the first site's: held against the other one it is wrong, and so it is against other texts.
        for (expected, what) in [
            (
                serving(common, &common.replace("192.0.2.1", "192.0.2.7"), &[1, 1, 1]),
                "w.x.example. A for 192.0.2.1: other records than the texts have at b",
            ),
            (serving(&common.replace("TXT x", "TXT y"), other, &[0, 0, 0]), "t.x.example. TXT for 192.0.2.1"),
            (
                serving(&common.replace("m MX 5 w", "m 1 MX 5 w"), other, &[0, 0, 0]),
                "m.x.example. MX for 192.0.2.1: a TTL",
            ),
            (
                serving(&format!("{common}n A 192.0.2.9"), other, &[0, 0, 0]),
                "n.x.example. A for 192.0.2.1: response code 3",
            ),
        ] {
            let wrong = samples(&expected).wrong(&expected, listener, &Halt::default());
            assert!(wrong.iter().any(|line| line.starts_with(what)), "{what}: {wrong:#?}");
        }
    }
}
