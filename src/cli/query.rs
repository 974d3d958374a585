//! `query`: what the zones on disk answer, without a server.

use super::command::{AskedOf, Question};
use crate::config::nearest::UnknownName;
use crate::config::{Config, Source, ZoneConfig, dotless};
use crate::control::api::Failure;

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
}

/// Answers `question` from the zones of `source`.
pub(super) fn run(source: &Source, question: &Question) -> Result<QueryReport, Failure> {
    let config = source.load()?;
    let zone = zone_of(&config, question)?;
    let site = site_of(&config, zone, &question.asked_of)?;
    let octets = answer(&config, question, &site)?;
    Ok(QueryReport { zone: dotless(zone.name.as_ref()), site, octets })
}

/// The answer of `site` as it goes over the wire, or over TCP if it is longer than a datagram.
fn answer(_config: &Config, _question: &Question, _site: &str) -> Result<Vec<u8>, Failure> {
    Err(Failure::new("`query` is not wired to the snapshots yet", "", ""))
}

/// The zone that holds the name: the deepest one.
fn zone_of<'a>(config: &'a Config, question: &Question) -> Result<&'a ZoneConfig, Failure> {
    let name = question.name.as_ref();
    let holding = config.zones.iter().filter(|zone| name.is_at_or_below(zone.name.as_ref()));
    holding.max_by_key(|zone| zone.name.as_ref().label_count()).ok_or_else(|| {
        let known = config.zones.iter().map(|zone| dotless(zone.name.as_ref()));
        let unknown = UnknownName::new("zone", &dotless(name), known);
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
        AskedOf::Anybody => crate::config::DEFAULT_REGION,
        AskedOf::Client(network) => {
            let all = config.regions.iter().flat_map(|region| region.networks.iter().map(move |held| (held, region)));
            let holding = all.filter(|(held, _)| held.covers(*network));
            let longest = holding.max_by_key(|(held, _)| held.prefix());
            longest.map_or(crate::config::DEFAULT_REGION, |(_, region)| region.name.as_str())
        }
    };
    zone.preference(region)
        .first()
        .cloned()
        .ok_or_else(|| Failure::new(format!("the region `{region}` has no site in this zone"), "", "--site SITE"))
}

fn hexadecimal<S: serde::Serializer>(octets: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>())
}
