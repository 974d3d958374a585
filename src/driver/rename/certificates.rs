//! Whether the servers at a lever's addresses have the fresh name in their certificates. They are asked, by TLS with that name,
//! where MX or SRV records lead clients to it by name: these look for it.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::ParsedCertificate;
use rustls::{AlertDescription, ClientConnection, Error};

use super::{Deed, Order};
use crate::driver::Driver;
use crate::gate::rename::{Shown, Shows, goes_by_name};
use crate::name::{Name, NameRef};
use crate::probe::ask::any_certificate;
use crate::rename::refer::Reference;
use crate::rr::RrType;
use crate::serving::content::Content;

/// For how long servers are waited for, all together.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most servers that are asked.
const MOST: usize = 16;
/// Where mail servers take mail from each other (RFC 5321 §4.5.4.2).
const SMTP: u16 = 25;
/// The most octets that a mail server may say before it is encrypted.
const MOST_SAID: u64 = 16_384;

/// Servers that are to be asked whether a fresh name is in their certificates. That takes seconds, and no driver: it goes on
/// meanwhile.
#[derive(Debug)]
pub struct Asking {
    fresh: Name,
    servers: Vec<Server>,
}

/// Where a server is, and the type of what leads clients there.
type Server = (RrType, SocketAddr);

impl Asking {
    /// Asks all of them at once.
    pub fn ask(self) -> Certificates {
        let shown = ask_all(self.servers, &self.fresh);
        Certificates { fresh: Some(self.fresh), shown }
    }
}

/// What servers showed to who asked for a fresh name; nothing as long as none was asked.
#[derive(Debug, Default)]
pub struct Certificates {
    fresh: Option<Name>,
    shown: Vec<Shown>,
}

impl Driver {
    /// The servers that are to be asked before an order is seen to; none if there are none. What they show is to be told by
    /// [`Driver::set_certificates`].
    pub fn certificates_to_ask(&self, origin: &Name, order: &Order) -> Option<Asking> {
        if !order.asks || !matches!(order.deed, Deed::Begin | Deed::Spare) {
            return None;
        }
        let content = &self.serving.zone(origin.as_ref())?.content;
        let draft = self.draft_rename(origin, order).ok()?;
        let servers = self.servers_at(content, &draft.lever, &draft.references);
        (!servers.is_empty()).then_some(Asking { fresh: draft.fresh, servers })
    }

    /// What servers showed, for the order that is seen to next.
    pub fn set_certificates(&mut self, certificates: Certificates) {
        self.renames.certificates = certificates;
    }

    /// What the servers at a lever showed to who asked for the fresh name, where clients are led to it by name.
    pub(super) fn certificates_at(
        &self,
        content: &Content,
        lever: &Name,
        fresh: &Name,
        references: &[Reference],
    ) -> Vec<Shown> {
        let Certificates { fresh: asked, shown } = &self.renames.certificates;
        let known = |by, address| {
            let mut of_fresh = shown.iter().filter(|_| asked.as_ref() == Some(fresh));
            of_fresh.find(|shown| shown.by == by && shown.address == address).cloned()
        };
        let servers = self.servers_at(content, lever, references).into_iter();
        let shown = servers.map(|(by, address)| {
            known(by, address).unwrap_or_else(|| {
                let why =
                    "it was not asked: what leads to it has changed meanwhile, or the system gave no thread; try again";
                Shown { address, by, shows: Shows::Unknown(why.into()) }
            })
        });
        shown.collect()
    }

    /// The servers at a lever that clients are led to by name.
    fn servers_at(&self, content: &Content, lever: &Name, references: &[Reference]) -> Vec<Server> {
        let ports = self.ports(references);
        let sites = content.sites.iter().map(|site| &site.zone);
        let addresses: BTreeSet<IpAddr> = sites
            .flat_map(|zone| {
                let of = |rtype| zone.rrset(lever.as_ref(), rtype);
                let sets = [of(RrType::A), of(RrType::AAAA)].into_iter().flatten();
                sets.flat_map(|set| set.rdatas().filter_map(address)).collect::<Vec<_>>()
            })
            .collect();
        let servers = ports
            .iter()
            .flat_map(|(by, port)| addresses.iter().map(move |address| (*by, SocketAddr::new(*address, *port))));
        servers.collect()
    }

    /// The ports that clients are led to by name, each with the type of what leads there.
    fn ports(&self, references: &[Reference]) -> BTreeSet<(RrType, u16)> {
        let mut ports = BTreeSet::new();
        if references.iter().any(|reference| reference.rtype == RrType::MX) {
            ports.insert((RrType::MX, SMTP));
        }
        let led = references.iter().filter(|reference| reference.rtype == RrType::SRV && goes_by_name(reference));
        for Reference { owner, target, .. } in led {
            for site in self.serving.zones().iter().flat_map(|zone| &zone.content.sites) {
                let sets = site.zone.rrset(owner.as_ref(), RrType::SRV).into_iter();
                for data in sets.flat_map(|set| set.rdatas().map(<[u8]>::to_vec).collect::<Vec<_>>()) {
                    // Priority, weight, port, target (RFC 2782).
                    let (Some(port), Some(name)) =
                        (data.get(4..6), data.get(6..).and_then(|name| NameRef::read(name).ok()))
                    else {
                        continue;
                    };
                    if name == target.as_ref() {
                        ports.insert((RrType::SRV, u16::from_be_bytes([port[0], port[1]])));
                    }
                }
            }
        }
        ports
    }
}

fn address(data: &[u8]) -> Option<IpAddr> {
    match data.len() {
        4 => <[u8; 4]>::try_from(data).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(data).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Asks all of them at once, each on a thread of its own.
fn ask_all(servers: Vec<Server>, fresh: &Name) -> Vec<Shown> {
    let until = Instant::now() + PATIENCE;
    let (sender, receiver) = mpsc::channel();
    let mut shown: Vec<Shown> = servers
        .iter()
        .map(|(by, address)| Shown {
            address: *address,
            by: *by,
            shows: Shows::Unknown("it does not answer in time".into()),
        })
        .collect();
    let mut waiting = 0;
    for (at, (by, address)) in servers.into_iter().enumerate() {
        if at >= MOST {
            shown[at].shows = Shows::Unknown(format!("no more than {MOST} are asked"));
            continue;
        }
        let (sender, fresh) = (sender.clone(), fresh.clone());
        let asking = move || drop(sender.send((at, ask(by, address, &fresh, until))));
        match thread::Builder::new().name("ask-certificate".into()).spawn(asking) {
            Ok(_) => waiting += 1,
            Err(error) => shown[at].shows = Shows::Unknown(error.to_string()),
        }
    }
    for _ in 0..waiting {
        let Ok((at, shows)) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) else { break };
        shown[at].shows = shows;
    }
    shown
}

/// What one server shows.
fn ask(by: RrType, address: SocketAddr, fresh: &Name, until: Instant) -> Shows {
    match try_ask(by, address, fresh, until) {
        Ok(shows) => shows,
        Err(error) => Shows::Unknown(error.to_string()),
    }
}

fn try_ask(by: RrType, address: SocketAddr, fresh: &Name, until: Instant) -> io::Result<Shows> {
    let mut stream = Timed { stream: TcpStream::connect_timeout(&address, left(until)?)?, until };
    if by == RrType::MX && !begins_tls(&mut stream)? {
        return Ok(Shows::NoTls);
    }
    let name = ServerName::try_from(fresh.to_string().trim_end_matches('.').to_owned()).map_err(io::Error::other)?;
    let mut connection = ClientConnection::new(Arc::new(any_certificate()?), name.clone()).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut stream) {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
            return match cause {
                // It has none for that name, and says so (RFC 6066 §3).
                Some(Error::AlertReceived(AlertDescription::UnrecognisedName)) => Ok(Shows::Others),
                _ => Err(error),
            };
        }
    }
    let leaf = connection.peer_certificates().and_then(|chain| chain.first());
    let leaf = leaf.ok_or_else(|| io::Error::other("it shows no certificate"))?;
    let leaf = ParsedCertificate::try_from(leaf).map_err(io::Error::other)?;
    Ok(if verify_server_name(&leaf, &name).is_ok() { Shows::Fresh } else { Shows::Others })
}

/// Has a mail server begin TLS (RFC 3207); false: it does not offer that.
fn begins_tls(stream: &mut Timed) -> io::Result<bool> {
    // What it says behind its reply is TLS's: it says nothing before it is spoken to.
    reply(stream)?;
    stream.write_all(b"EHLO [127.0.0.1]\r\n")?;
    let offers = reply(stream)?
        .iter()
        .any(|line| line.get(4..).is_some_and(|word| word.trim().eq_ignore_ascii_case("STARTTLS")));
    if !offers {
        return Ok(false);
    }
    stream.write_all(b"STARTTLS\r\n")?;
    match reply(stream)?.iter().all(|line| line.starts_with("220")) {
        true => Ok(true),
        false => Err(io::Error::other("it offers STARTTLS and does not begin it")),
    }
}

/// The lines of a reply.
fn reply(stream: &mut Timed) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(stream.take(MOST_SAID));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::Error::other("it ends the connection"));
        }
        let is_last = line.as_bytes().get(3) != Some(&b'-');
        lines.push(line);
        if is_last {
            return Ok(lines);
        }
    }
}

/// A connection that is given up at a time.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(in_words(io::ErrorKind::TimedOut.into())) } else { Ok(left) }
}

/// What a time-out of the system is called.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time")
        }
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(out).map_err(in_words)
    }
}

impl Write for Timed {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(octets).map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
