//! The name servers of a zone, as its NS records and the configuration give them: what serial they tell, and whether they
//! answer from our state.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::setup::ZoneSpec;
use super::{Driver, now};
use crate::evidence::{Evidence, Verdict};
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::rr::{Class, RrType};
use crate::serial::Serial;
use crate::serving::Serving;
use crate::serving::chaos::INSTANCE;
use crate::serving::content::SiteContent;
use crate::zone::rdata;

/// The port of DNS.
const PORT: u16 = 53;
/// How long all name servers of a zone together may take to tell their serial.
pub(super) const SERIAL_PATIENCE: Duration = Duration::from_secs(5);
/// How long they may take to prove that they answer from our state.
const PROOF_PATIENCE: Duration = Duration::from_secs(2);
/// The most name servers that are asked.
const MOST: usize = 32;

/// Where a zone's name servers can be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NameServers {
    pub(super) addresses: Vec<SocketAddr>,
    /// Those whose addresses are not known here: their names lie in somebody else's zones.
    pub(super) elsewhere: Vec<Name>,
}

impl NameServers {
    /// Where those are asked that do not answer from here.
    pub(super) fn others<'a>(&'a self, own: &'a [SocketAddr]) -> impl Iterator<Item = SocketAddr> + 'a {
        self.addresses.iter().copied().filter(|address| !own.contains(address))
    }

    /// Whether all of them are known to answer from here.
    pub(super) fn are_all_ours(&self, own: &[SocketAddr]) -> bool {
        self.elsewhere.is_empty() && self.others(own).next().is_none()
    }

    /// As the configuration has them, or else as the zone has.
    pub(super) fn of(spec: &ZoneSpec, site: &SiteContent) -> NameServers {
        if let Some(addresses) = &spec.name_servers {
            return NameServers { addresses: addresses.iter().copied().take(MOST).collect(), elsewhere: Vec::new() };
        }
        let zone = &site.zone;
        let mut found = NameServers::default();
        let servers = zone.rrset(zone.origin(), RrType::NS);
        let names = servers.iter().flat_map(|set| set.rdatas().flat_map(|rdata| rdata::names(RrType::NS, rdata)));
        for (_, name) in names {
            let addresses = [RrType::A, RrType::AAAA].into_iter().filter_map(|rtype| zone.rrset(name, rtype));
            let before = found.addresses.len();
            found.addresses.extend(addresses.flat_map(|set| set.rdatas()).filter_map(address));
            if found.addresses.len() == before {
                found.elsewhere.push(name.to_name());
            }
        }
        found.addresses.truncate(MOST);
        found
    }
}

/// The address in an A or AAAA record's data, at the port of DNS.
fn address(rdata: &[u8]) -> Option<SocketAddr> {
    let v4 = <[u8; 4]>::try_from(rdata).ok().map(|octets| SocketAddr::from((octets, PORT)));
    v4.or_else(|| <[u8; 16]>::try_from(rdata).ok().map(|octets| SocketAddr::from((octets, PORT))))
}

impl Driver {
    /// `plan.ramp-possible` of what is served.
    pub(super) fn ramp_possible(&self, spec: &ZoneSpec, wanted: bool) -> Finding {
        ramp_possible(&self.serving, &self.own, spec, wanted)
    }
}

/// `plan.ramp-possible`: clients can move by steps only if every name server of the zone answers from our state; any
/// other one would answer all of them from one site. `wanted` says that an operator asked for steps, `own` are sockets of
/// ours.
pub(super) fn ramp_possible(serving: &Serving, own: &[SocketAddr], spec: &ZoneSpec, wanted: bool) -> Finding {
    let origin = spec.origin.as_ref();
    let Some(zone) = serving.zone(origin) else {
        return Finding::pass(id::RAMP_POSSIBLE, origin, "the zone is not served");
    };
    let servers = NameServers::of(spec, &zone.content.sites[0]);
    let nonce = format!("{:016x}", now().0 as u64 ^ u64::from(std::process::id()) << 48);
    let expected = serving.units.proof(nonce.as_bytes());
    let ours = |address: &SocketAddr| own.contains(address);
    let (own, others): (Vec<_>, Vec<_>) = servers.addresses.iter().copied().partition(ours);
    let query = query(&[&[nonce.len() as u8], nonce.as_bytes(), INSTANCE].concat(), RrType::TXT, Class::CH);
    let proved = ask_all(&others, &query, PROOF_PATIENCE);
    let mut items: Vec<String> =
        servers.elsewhere.iter().map(|name| format!("{name}: its address is not known here")).collect();
    let mut foreign = false;
    for (address, answer) in others.iter().zip(proved) {
        match answer {
            Ok(answer) if answer.windows(expected.len()).any(|part| part == expected) => {}
            Ok(_) => {
                foreign = true;
                items.push(format!("{address}: answers, and not from our state"));
            }
            Err(error) => items.push(format!("{address}: {error}")),
        }
    }
    if items.is_empty() && !(own.is_empty() && others.is_empty()) {
        let reason = format!("all {} name servers answer from our state", own.len() + others.len());
        return Finding::pass(id::RAMP_POSSIBLE, origin, reason);
    }
    let verdict = match (wanted, foreign) {
        (false, _) => Verdict::Warn,
        (true, true) => Verdict::Block,
        (true, false) => Verdict::Unknown,
    };
    let reason = match wanted {
        true => {
            "not all name servers of the zone are known to answer from our state: they would answer everybody from one site"
        }
        false => "not all name servers of the zone are known to answer from our state, so everybody moves in one step",
    };
    Finding {
        gate: id::RAMP_POSSIBLE,
        zone: spec.origin.clone(),
        verdict,
        reason: reason.into(),
        remedy: "set `name_servers` of the zone to where they are asked; or move in one step".into(),
        items,
    }
}

/// How many zones' name servers are asked at a time.
const AT_A_TIME: usize = 16;

/// The greatest serial that the name servers of each zone tell: what secondaries and caches have seen may not be gone
/// below. `own` are sockets of ours, which do not answer yet.
pub(super) fn told_serials(zones: &[(Name, NameServers)], own: &[SocketAddr]) -> Vec<Evidence<Serial>> {
    let unknown = || Evidence::Unknown { why: "the system gave no thread to ask with".into() };
    let chunks = zones.chunks(AT_A_TIME);
    let told = chunks.flat_map(|chunk| {
        thread::scope(|scope| {
            let ask = |(origin, servers)| scope.spawn(move || told_serial(origin, servers, own));
            let asking: Vec<_> = chunk.iter().map(|(origin, servers)| ask((origin, servers))).collect();
            asking.into_iter().map(|thread| thread.join().unwrap_or_else(|_| unknown())).collect::<Vec<_>>()
        })
    });
    told.collect()
}

fn told_serial(origin: &Name, servers: &NameServers, own: &[SocketAddr]) -> Evidence<Serial> {
    let others: Vec<_> = servers.addresses.iter().copied().filter(|address| !own.contains(address)).collect();
    if others.is_empty() {
        return Evidence::Unknown { why: "no other name server of the zone is known here".into() };
    }
    let mut told: Option<Serial> = None;
    let mut wrong = Vec::new();
    for (_, answer) in ask_serials(origin, &others) {
        match answer {
            Ok(serial) => told = Some(told.filter(|greatest| !serial.is_above(*greatest)).unwrap_or(serial)),
            Err(why) => wrong.push(why),
        }
    }
    match told {
        Some(value) => Evidence::Known { value, at: now() },
        None => Evidence::Unknown { why: wrong.join("; ") },
    }
}

/// The serial of a zone that each name server tells, or why it is not known, with the address.
pub(super) fn ask_serials(origin: &Name, servers: &[SocketAddr]) -> Vec<(SocketAddr, Result<Serial, String>)> {
    let answers = ask_all(servers, &query(origin.as_ref().as_wire(), RrType::SOA, Class::IN), SERIAL_PATIENCE);
    let told = servers.iter().zip(answers).map(|(address, answer)| {
        let serial = match answer.as_deref().map(serial_in) {
            Ok(Some(serial)) => Ok(serial),
            Ok(None) => Err(format!("{address} does not tell the zone's SOA")),
            Err(error) => Err(format!("{address}: {error}")),
        };
        (*address, serial)
    });
    told.collect()
}

/// A query without EDNS.
pub(crate) fn query(name: &[u8], rtype: RrType, class: Class) -> Vec<u8> {
    let id = std::process::id() as u16;
    let mut query = vec![(id >> 8) as u8, id as u8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend_from_slice(name);
    query.extend_from_slice(&rtype.0.to_be_bytes());
    query.extend_from_slice(&class.0.to_be_bytes());
    query
}

/// Asks all of them at once over TCP, and waits for so long at most.
pub(super) fn ask_all(addresses: &[SocketAddr], query: &[u8], patience: Duration) -> Vec<io::Result<Vec<u8>>> {
    let (sender, answers) = mpsc::channel();
    for (at, address) in addresses.iter().copied().enumerate() {
        let (sender, query) = (sender.clone(), query.to_vec());
        let asking = move || drop(sender.send((at, ask_tcp(address, &query, patience))));
        // Without a thread there is no answer.
        let _ = thread::Builder::new().name("ask".into()).spawn(asking);
    }
    drop(sender);
    let deadline = Instant::now() + patience;
    let mut all: Vec<io::Result<Vec<u8>>> =
        addresses.iter().map(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"))).collect();
    while let Ok((at, answer)) = answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        all[at] = answer;
    }
    all
}

/// Asks over TCP: a forged answer would have to guess more than an id.
fn ask_tcp(target: SocketAddr, query: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&target, patience)?;
    exchange(&mut stream, query, patience)
}

/// Sends a query over a stream and takes in the answer (RFC 7766 §8).
pub(super) fn exchange(stream: &mut TcpStream, query: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), query].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    if answer.get(..2) != query.get(..2) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is to another query"));
    }
    Ok(answer)
}

/// The serial in an authoritative answer to a question for a SOA record.
fn serial_in(answer: &[u8]) -> Option<Serial> {
    const AA: u8 = 0x04;
    let count = |at: usize| Some(u16::from_be_bytes([*answer.get(at)?, *answer.get(at + 1)?]));
    if answer.get(2)? & AA == 0 || answer.get(3)? & 0x0F != 0 || count(4)? != 1 || count(6)? == 0 {
        return None;
    }
    let owner = skip_name(answer, 12)? + 4;
    let record = skip_name(answer, owner)?;
    if count(record)? != RrType::SOA.0 {
        return None;
    }
    let length = usize::from(count(record + 8)?);
    // The serial is the first of five numbers at the end (RFC 1035 §3.3.13).
    let numbers = answer.get(record + 10..record + 10 + length)?.len().checked_sub(20)?;
    let serial = answer.get(record + 10 + numbers..record + 14 + numbers)?;
    Some(Serial(u32::from_be_bytes(serial.try_into().ok()?)))
}

/// Where a name ends that begins at `at`, compressed or not.
fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xC0 == 0xC0 => return Some(at + 2),
            length if length & 0xC0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_is_read_from_an_answer_and_from_nothing_else() {
        let name = b"\x01a\x07example\0";
        let mut answer = query(name, RrType::SOA, Class::IN);
        (answer[2], answer[7]) = (0x84, 1);
        answer.extend([0xC0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 24, 0xC0, 12, 0xC0, 12]);
        answer.extend(2_010_032_402u32.to_be_bytes());
        answer.extend([0; 16]);
        assert_eq!(serial_in(&answer), Some(Serial(2_010_032_402)));
        for (at, octet) in [(2, 0x80), (3, 2), (5, 0), (7, 0), (30, 1), (38, 200)] {
            let mut wrong = answer.clone();
            wrong[at] = octet;
            assert_eq!(serial_in(&wrong), None, "{at}");
        }
        for length in 0..answer.len() {
            assert_eq!(serial_in(&answer[..length]), None);
        }
    }
}
