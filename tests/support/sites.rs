//! Zones of several sites, served by any routing.

use std::sync::Arc;

use understudy::door::{Candidate, Proposal};
use understudy::gate::{Finding, id};
use understudy::name::Name;
use understudy::net::Region;
use understudy::serving::content::{Content, Policy, SiteContent, SiteId};
use understudy::serving::regions::Regions;
use understudy::serving::routing::Moving;
use understudy::serving::units::{UnitKey, Units};
use understudy::serving::{Routing, Serving, Settings};
use understudy::share::Share;
use understudy::snapshot::Snapshot;
use understudy::snapshot::compile::Shape;
use understudy::snapshot::sought::HashKey;
use understudy::time::{Timestamp, Ttl};
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::Zone;
use understudy::zone::signatures::Signatures;

const KEY: [u8; 16] = *b"a key for tests.";

struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(path.into())
    }
}

pub fn name(text: &str) -> Name {
    Name::absolute(text).unwrap()
}

pub fn sets(sets: &[(&str, &[&str])]) -> Vec<Region> {
    let networks = |networks: &[&str]| networks.iter().map(|network| network.parse().unwrap()).collect();
    sets.iter().map(|(name, of)| Region { name: (*name).into(), networks: networks(of) }).collect()
}

/// Nothing served yet, for clients in these regions and from these operators.
pub fn nothing(regions: &[Region], operators: &[Region], settings: Settings) -> Arc<Serving> {
    let empty = Serving::empty(0, HashKey::new(KEY), settings, Regions::new(regions));
    Arc::new(empty.with_units(Units::new(UnitKey(KEY), operators)))
}

/// A site for each text, called `a`, `b` and so on.
pub fn content(origin: &str, texts: &[&str]) -> Arc<Content> {
    let origin = name(origin);
    let site = |(text, letter): (&&str, char)| {
        let source = Source { path: "zone".into(), octets: text.as_bytes().into() };
        let text =
            reader::read(&origin, source, &mut NoSources).into_text().unwrap_or_else(|wrong| panic!("{wrong:#?}"));
        let zone = Zone::new(Some(&text), None).unwrap();
        let shape = Shape { key: HashKey::new(KEY), negative_ttl: None, max_ttl: None };
        let snapshot = Snapshot::compile(&zone, shape).unwrap();
        let signatures = zone.is_signed().then(|| Arc::new(Signatures::of(&zone, None)));
        SiteContent { name: letter.into(), zone: Arc::new(zone), snapshot: Arc::new(snapshot), signatures }
    };
    let sites = texts.iter().zip('a'..).map(site).collect();
    Arc::new(Content { origin, sites, policy: Policy::default(), epoch: 1, overlays: Default::default() })
}

pub fn candidate(before: &Arc<Serving>, content: &Arc<Content>, routing: Routing) -> Candidate {
    let loads = Finding::pass(id::LOADS, content.origin.as_ref(), "");
    let proposal = Proposal { content: Arc::clone(content), routing, loads, restored: None };
    Candidate::new(Arc::clone(before), vec![proposal], Timestamp::default())
}

/// What would be served, whatever the gates say.
pub fn unjudged(before: &Arc<Serving>, content: &Arc<Content>, routing: Routing) -> Arc<Serving> {
    Arc::new(candidate(before, content, routing).ends().1.clone())
}

/// A move to a site.
pub fn moving(to: u16, share: &str, low_ttl: Option<u32>) -> Moving {
    Moving { to: SiteId(to), share: share.parse().unwrap(), salt: 7, low_ttl: low_ttl.and_then(Ttl::new) }
}

pub fn share(points: u16) -> Share {
    Share::new(points).unwrap()
}
