//! `query`: what the zones on disk answer, without a server.

use std::net::Ipv4Addr;

use super::command::{AskedOf, Question};
use super::render::dig::Decoded;
use crate::config::nearest::UnknownName;
use crate::config::{Config, DEFAULT_REGION, Keys, Source, ZoneConfig};
use crate::control::api::Failure;
use crate::driver::reload::ReloadOutcome;
use crate::driver::setup::Setup;
use crate::driver::{self, Driver};
use crate::name::Name;
use crate::rr::{Class, RrType};
use crate::serving::Serving;
use crate::serving::respond::{Asker, Transport};
use crate::snapshot::sought::HashKey;
use crate::store::Store;

/// The flag of an answer that was cut, in the header's third octet.
const TC: u8 = 0x02;
/// What resolvers take over UDP.
const EDNS_PAYLOAD: u16 = 4096;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct QueryReport {
    /// The zone that it is from.
    pub(super) zone: String,
    /// The site whose answer it is.
    pub(super) site: String,
    /// The whole message as on the wire; in JSON, in hexadecimal.
    #[serde(serialize_with = "hexadecimal")]
    pub(super) octets: Vec<u8>,
    /// The same decoded; none if it is malformed.
    pub(super) message: Option<Decoded>,
}

impl QueryReport {
    pub(super) fn new(zone: String, site: String, octets: Vec<u8>) -> QueryReport {
        QueryReport { message: Decoded::of(&octets), zone, site, octets }
    }
}

/// Answers `question` from the zones of `source`, on the path that a server takes, with the state in memory.
pub(super) fn run(source: &Source, question: &Question) -> Result<QueryReport, Failure> {
    let config = source.load()?;
    let zone = zone_of(&config, question)?;
    let site = site_of(&config, zone, &question.asked_of)?;
    let driver = loaded(setup_for(&config, zone, question), &zone.name)?;
    Ok(QueryReport::new(zone.name.as_ref().dotless(), site, answer(driver.serving(), question)?))
}

/// The zone that holds the name: the deepest one.
fn zone_of<'a>(config: &'a Config, question: &Question) -> Result<&'a ZoneConfig, Failure> {
    let name = question.name.as_ref();
    let holding = config.zones.iter().filter(|zone| name.is_at_or_below(zone.name.as_ref()));
    holding.max_by_key(|zone| zone.name.as_ref().label_count()).ok_or_else(|| {
        let known = config.zones.iter().map(|zone| zone.name.as_ref().dotless());
        let unknown = UnknownName::new("zone", &name.dotless(), known);
        Failure::new(
            format!("`{name}` is in none of the configured zones"),
            "a server with this configuration refuses the query",
            unknown.advice(),
        )
    })
}

/// The site whose answer is wanted: the first in the order of preference, unless one is named.
fn site_of(config: &Config, zone: &ZoneConfig, asked_of: &AskedOf) -> Result<String, Failure> {
    let region = match asked_of {
        AskedOf::Site(name) => return Ok(zone.site(name)?.name.clone()),
        AskedOf::Anybody => DEFAULT_REGION,
        AskedOf::Client(network) => {
            let all = config.regions.iter().flat_map(|region| region.networks.iter().map(move |held| (held, region)));
            let holding = all.filter(|(held, _)| held.contains(network.address()));
            let longest = holding.max_by_key(|(held, _)| held.prefix());
            longest.map_or(DEFAULT_REGION, |(_, region)| region.name.as_str())
        }
    };
    let preferred = zone.preference(region).first().cloned();
    preferred.ok_or_else(|| Failure::new(format!("the region `{region}` has no site in this zone"), "", "--site SITE"))
}

/// The configuration, with one region for everybody unless a client's is asked for, and the zone at the site that is.
fn setup_for(config: &Config, zone: &ZoneConfig, question: &Question) -> Setup {
    let mut setup = config.setup(Keys::default());
    if matches!(question.asked_of, AskedOf::Client(_)) {
        return setup;
    }
    setup.regions.clear();
    for spec in &mut setup.zones {
        spec.routes.retain(|region, _| region == DEFAULT_REGION);
        if let (AskedOf::Site(site), true) = (&question.asked_of, spec.origin == zone.name) {
            spec.routes.insert(DEFAULT_REGION.into(), site.clone());
        }
    }
    setup
}

/// A driver that has read all zones; `wanted` has no errors.
fn loaded(setup: Setup, wanted: &Name) -> Result<Driver, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string(), "the query has no answer", "");
    // Nobody but the one who asks chooses the names: the key need not be secret.
    let key = HashKey::new([0; 16]);
    let store = Store::open(None).map_err(|error| failed(&error))?;
    let mut driver = Driver::start(setup.clone(), store, key).map_err(|error| failed(&error))?;
    let reloaded = driver.reload(setup, &[], &driver::daemon());
    if driver.serving().zone(wanted.as_ref()).is_some() {
        return Ok(driver);
    }
    let outcome = reloaded.into_iter().find(|zone| zone.origin == *wanted).map(|zone| zone.outcome);
    let findings: Vec<String> = match outcome {
        Some(ReloadOutcome::KeptLastGood(diagnostics)) => diagnostics.iter().map(ToString::to_string).collect(),
        Some(ReloadOutcome::Refused(findings)) => findings.into_iter().map(|finding| finding.reason).collect(),
        _ => Vec::new(),
    };
    Err(Failure::new(
        format!("the zone `{}` can't be served\n{}", wanted.as_ref().dotless(), findings.join("\n")),
        "a server that starts with these files does not answer for it",
        "correct the files; `understudy check` shows all that is wrong",
    ))
}

/// The answer as it goes over the wire: over UDP, or over TCP if it is too long for that.
fn answer(serving: &Serving, question: &Question) -> Result<Vec<u8>, Failure> {
    let source = match question.asked_of {
        AskedOf::Client(network) => network.address(),
        AskedOf::Site(_) | AskedOf::Anybody => Ipv4Addr::LOCALHOST.into(),
    };
    let packet = packet(question);
    let mut out = vec![0; usize::from(u16::MAX)];
    for transport in [Transport::Udp, Transport::Tcp] {
        let asker = Asker { source, transport, now: driver::now() };
        let len = serving.respond(&packet, &asker, &mut out);
        let len = len.ok_or_else(|| Failure::new("the server keeps silent on this query", "", ""))?;
        if transport == Transport::Tcp || out[2] & TC == 0 {
            out.truncate(len);
            break;
        }
    }
    Ok(out)
}

/// The query, with EDNS (RFC 6891) as resolvers send it.
fn packet(question: &Question) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    packet.extend_from_slice(question.name.as_ref().as_wire());
    packet.extend_from_slice(&question.rtype.0.to_be_bytes());
    packet.extend_from_slice(&Class::IN.0.to_be_bytes());
    packet.push(0);
    packet.extend_from_slice(&RrType::OPT.0.to_be_bytes());
    packet.extend_from_slice(&EDNS_PAYLOAD.to_be_bytes());
    packet.extend_from_slice(&[0; 6]);
    packet
}

fn hexadecimal<S: serde::Serializer>(octets: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>())
}
