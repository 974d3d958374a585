//! A simulated authoritative server: this product's own answers, over virtual time.

use std::net::IpAddr;
use std::sync::Arc;

use super::resolver::Ask;
use crate::door::{Candidate, Proposal};
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serving::content::{Content, Policy, SiteContent, SiteId};
use crate::serving::regions::{RegionId, Regions};
use crate::serving::respond::{Asker, Transport};
use crate::serving::routing::Moving;
use crate::serving::units::{UnitKey, Units};
use crate::serving::{Routing, Serving, Settings};
use crate::share::Share;
use crate::snapshot::Snapshot;
use crate::snapshot::compile::Shape;
use crate::snapshot::sought::HashKey;
use crate::time::Timestamp;
use crate::zone::reader::{self, Source, Sources};
use crate::zone::rrsets::Zone;

/// What is answered from when on. Cloned for each thread that asks.
#[derive(Clone, Debug)]
pub struct Authority {
    since: Vec<(Timestamp, Arc<Serving>)>,
    out: Vec<u8>,
}

/// As long as a message can be.
const LONGEST: usize = u16::MAX as usize;
/// A salt as any other.
const SALT: u64 = 7;

impl Authority {
    /// What was answered first, and what from each of these times on, which rise.
    pub fn new(first: Arc<Serving>, then: Vec<(Timestamp, Arc<Serving>)>) -> Authority {
        let since = std::iter::once((Timestamp(i64::MIN), first)).chain(then).collect();
        Authority { since, out: vec![0; LONGEST] }
    }

    /// A zone of two sites, each a master file, whose clients move from the first to the second by these steps; which of
    /// them go first follows from the key.
    ///
    /// # Errors
    /// What is wrong with a master file.
    pub fn of_move(
        origin: &Name,
        texts: [&str; 2],
        steps: &[(Timestamp, Share)],
        key: [u8; 16],
    ) -> Result<Authority, String> {
        let content = Arc::new(content(origin, texts, key)?);
        let empty = Serving::empty(0, HashKey::new(key), Settings::default(), Regions::default());
        let empty = Arc::new(empty.with_units(Units::new(UnitKey(key), &[])));
        let at = |share| {
            let mut routing = Routing::at(vec![SiteId(0)]);
            routing.shift(RegionId(0), Moving { to: SiteId(1), share, salt: SALT, low_ttl: None }, 1);
            let loads = Finding::pass(id::LOADS, origin.as_ref(), "made up");
            let proposal = Proposal { content: Arc::clone(&content), routing, loads, restored: None };
            Arc::new(Candidate::new(Arc::clone(&empty), vec![proposal], Timestamp::default()).ends().1.clone())
        };
        let then = steps.iter().map(|(time, share)| (*time, at(*share))).collect();
        Ok(Authority::new(at(Share::NONE), then))
    }
}

impl Ask for Authority {
    fn ask(&mut self, packet: &[u8], from: IpAddr, at: Timestamp, out: &mut Vec<u8>) {
        let behind = self.since.partition_point(|(since, _)| *since <= at);
        let serving = &self.since[behind.max(1) - 1].1;
        let asker = Asker { source: from, transport: Transport::Tcp, now: at };
        let len = serving.respond(packet, &asker, &mut self.out).unwrap_or(0);
        out.extend_from_slice(&self.out[..len]);
    }
}

fn content(origin: &Name, texts: [&str; 2], key: [u8; 16]) -> Result<Content, String> {
    let mut sites = Vec::new();
    for (name, text) in ["old", "new"].into_iter().zip(texts) {
        let source = Source { path: name.into(), octets: text.as_bytes().into() };
        let reading = reader::read(origin, source, &mut Alone);
        let text = reading.into_text().map_err(|found| format!("{found:?}"))?;
        let zone = Zone::new(Some(&text), None).ok_or("there is no zone in it")?;
        let shape = Shape { key: HashKey::new(key), negative_ttl: None, max_ttl: None };
        let snapshot = Snapshot::compile(&zone, shape).map_err(|why| format!("{why:?}"))?;
        let (zone, snapshot) = (Arc::new(zone), Arc::new(snapshot));
        sites.push(SiteContent { name: name.into(), zone, snapshot, signatures: None });
    }
    Ok(Content { origin: origin.clone(), sites, policy: Policy::default(), epoch: 1, overlays: Default::default() })
}

/// Nothing is included.
struct Alone;

impl Sources for Alone {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(format!("{path}: a made-up zone has one file"))
    }
}
