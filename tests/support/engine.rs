//! The engine without a server around it: zones read, compiled, verified and asked within the test.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::compare::View;
use super::message;
use understudy::door::{Candidate, Proposal};
use understudy::gate::{Finding, id};
use understudy::name::Name;
use understudy::serving::content::{Content, Policy, SiteContent, SiteId};
use understudy::serving::regions::Regions;
use understudy::serving::respond::{Asker, Transport};
use understudy::serving::{Routing, Serving, Settings};
use understudy::snapshot::Snapshot;
use understudy::snapshot::compile::Shape;
use understudy::snapshot::sought::HashKey;
use understudy::time::Timestamp;
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::Zone;
use understudy::zone::signatures::Signatures;

/// Nothing is included.
struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path}: there are no other files here"))
    }
}

/// What queries about these zones, each an origin and a master file, are answered from.
pub fn serve<'a>(zones: impl IntoIterator<Item = (&'a Name, &'a str)>) -> Arc<Serving> {
    serve_with(Settings::default(), zones, Timestamp::default())
}

/// The same at a time at which the zones' signatures are valid.
pub fn serve_at<'a>(zones: impl IntoIterator<Item = (&'a Name, &'a str)>, now: Timestamp) -> Arc<Serving> {
    serve_with(Settings::default(), zones, now)
}

/// The same with these settings, at this time.
pub fn serve_with<'a>(
    settings: Settings,
    zones: impl IntoIterator<Item = (&'a Name, &'a str)>,
    now: Timestamp,
) -> Arc<Serving> {
    let key = HashKey::new(*b"a key for tests.");
    let empty = Serving::empty(0, key, settings, Regions::default());
    let proposals = zones.into_iter().map(|(origin, text)| Proposal {
        content: Arc::new(content(key, origin, text)),
        routing: Routing::at(vec![SiteId(0)]),
        loads: Finding::pass(id::LOADS, origin.as_ref(), "read without an error"),
        restored: None,
    });
    let candidate = Candidate::new(Arc::new(empty), proposals.collect(), now);
    candidate.verify(&[]).unwrap_or_else(|refused| panic!("{refused:#?}")).serving().clone()
}

/// The same of a master file that may be anything; none where it is not fit to be served.
pub fn try_serve(origin: &Name, text: &[u8]) -> Option<(Arc<Zone>, Arc<Serving>)> {
    let key = HashKey::new(*b"a key for tests.");
    let content = try_content(key, origin, text).ok()?;
    let zone = Arc::clone(&content.sites[0].zone);
    let proposal = Proposal {
        content: Arc::new(content),
        routing: Routing::at(vec![SiteId(0)]),
        loads: Finding::pass(id::LOADS, origin.as_ref(), "read without an error"),
        restored: None,
    };
    let empty = Serving::empty(0, key, Settings::default(), Regions::default());
    let verified = Candidate::new(Arc::new(empty), vec![proposal], Timestamp::default()).verify(&[]).ok()?;
    Some((zone, Arc::clone(verified.serving())))
}

fn content(key: HashKey, origin: &Name, text: &str) -> Content {
    try_content(key, origin, text.as_bytes()).unwrap_or_else(|why| panic!("{origin}: {why}"))
}

fn try_content(key: HashKey, origin: &Name, text: &[u8]) -> Result<Content, String> {
    let source = Source { path: format!("{origin}zone"), octets: text.into() };
    let reading = reader::read(origin, source, &mut NoSources);
    let text = reading.into_text().map_err(|diagnostics| format!("{diagnostics:#?}"))?;
    let zone = Zone::new(Some(&text), None).ok_or("no zone")?;
    let shape = Shape { key, negative_ttl: None, max_ttl: None };
    let snapshot = Snapshot::compile(&zone, shape).map_err(|why| format!("{why:?}"))?;
    let signatures = zone.is_signed().then(|| Arc::new(Signatures::of(&zone, None)));
    let site = SiteContent { name: "only".into(), zone: Arc::new(zone), snapshot: Arc::new(snapshot), signatures };
    Ok(Content {
        origin: origin.clone(),
        sites: vec![site],
        policy: Policy::default(),
        epoch: 0,
        overlays: Default::default(),
    })
}

/// The answer to a query.
pub fn ask(serving: &Serving, query: &[u8], transport: Transport) -> Vec<u8> {
    let asker = Asker { source: IpAddr::V4(Ipv4Addr::LOCALHOST), transport, now: Timestamp(0) };
    let mut out = vec![0; 65_535];
    let length = serving.respond(query, &asker, &mut out).unwrap_or_default();
    out.truncate(length);
    out
}

/// Whether an answer over UDP that is not cut has all that it would have over TCP. Peers may have to cut it nevertheless:
/// how well names are compressed is everybody's own.
pub fn is_whole(serving: &Serving, query: &[u8], answer: &[u8]) -> bool {
    let tcp = message::read(&ask(serving, query, Transport::Tcp)).unwrap();
    message::read(answer).is_ok_and(|udp| !udp.flags.tc() && View::of(&udp) == View::of(&tcp))
}
