//! Exposures as they are kept over a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::fold::{EditionInfo, Exposures};
use super::levers::LastTold;
use super::networks::Networks;
use super::points::{Point, PointId, What};
use crate::name::Name;
use crate::rr::RrType;
use crate::serving::Serving;
use crate::serving::regions::RegionId;
use crate::serving::told::{Decided, Edition, Rule};
use crate::time::{Timestamp, Ttl};

/// Octets of a point.
const POINT: usize = 36;
/// Stands for what is not known in detail.
const ANYTHING: u8 = 0xFF;

/// Exposures as they are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What the rest is about.
    pub head: Head,
    /// The points: 36 octets each, numbers in network byte order.
    pub points: Vec<u8>,
    /// The parts of the table of networks: 16 octets for each entry.
    pub networks: Vec<Vec<u8>>,
}

/// What kept points are about, and what is not among them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Head {
    /// Since when notes were taken.
    pub since: Timestamp,
    /// When it was kept: nothing was told after that, if the server ended in order then.
    pub at: Timestamp,
    /// Up to when something may have been told that nobody noted.
    pub blind_until: Timestamp,
    /// The regions, by their number.
    pub regions: Vec<String>,
    /// What clients are told apart by: a digest of all regions and their networks.
    pub told_apart_by: String,
    /// Since when each zone was answered from here.
    pub zones: Vec<(Name, Timestamp)>,
    /// The editions, in the order in which points name them.
    pub editions: Vec<KeptEdition>,
    /// How coarse each part of the table of networks was; none: it keeps none.
    pub levels: Vec<Option<u8>>,
    /// When levers that were renamed, and their fresh names, were told last.
    #[serde(default)]
    pub levers: Vec<(Name, u64, LastTold)>,
}

/// An edition that something was told of.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct KeptEdition {
    /// The zone.
    pub zone: Name,
    /// The site.
    pub site: String,
    /// Since when it was given.
    pub since: Timestamp,
    /// Whether it was told from what the site answered when it was kept, be it with other TTLs.
    pub current: bool,
}

impl Exposures {
    /// What is to be kept, beside what is served.
    pub fn keep(&self, serving: &Serving, told_apart_by: &str, now: Timestamp) -> Kept {
        let is_current = |info: &EditionInfo| {
            let zone = serving.zone(info.zone.as_ref());
            let site = zone.and_then(|zone| zone.content.sites.iter().find(|site| site.name == info.site));
            site.is_some_and(|site| std::ptr::eq(Weak::as_ptr(&info.snapshot), Arc::as_ptr(&site.snapshot)))
        };
        let numbers: BTreeMap<Edition, u32> = self.editions.keys().copied().zip(0..).collect();
        let editions = self.editions.values().map(|info| KeptEdition {
            zone: info.zone.clone(),
            site: info.site.clone(),
            since: info.since,
            current: is_current(info),
        });
        let (mut points, mut places) = (Vec::new(), BTreeMap::new());
        for (id, point) in self.points.iter() {
            let Some(edition) = numbers.get(&point.what.edition) else { continue };
            places.insert(id, (points.len() / POINT) as u32);
            points.extend(packed(&point, *edition));
        }
        let (levels, networks) = self.networks.keep(|id| places.get(&id).copied());
        let head = Head {
            since: self.since(),
            at: now,
            blind_until: self.blind_until,
            regions: serving.regions.iter().map(|(_, name)| name.to_owned()).collect(),
            told_apart_by: told_apart_by.to_owned(),
            zones: self.zones.iter().map(|(zone, since)| (zone.clone(), *since)).collect(),
            editions: editions.collect(),
            levels,
            levers: self.levers.kept(),
        };
        Kept { head, points, networks }
    }

    /// Takes up what was kept when the server ended in order. What is served now is what was served then; if clients are told apart
    /// by other networks, it is not known who of them was told what.
    pub fn restore(&mut self, kept: &Kept, serving: &Serving, told_apart_by: &str) {
        let mut numbers = Vec::new();
        for (number, edition) in (0..).zip(&kept.head.editions) {
            // From above: a process counts from below.
            let own = Edition(u32::MAX - number);
            let zone = serving.zones().iter().find(|zone| zone.content.origin == edition.zone && edition.current);
            let site = zone.and_then(|zone| zone.content.sites.iter().find(|site| site.name == edition.site));
            let info = EditionInfo {
                zone: edition.zone.clone(),
                site: edition.site.clone(),
                since: edition.since,
                snapshot: site.map_or_else(Weak::new, |site| Arc::downgrade(&site.snapshot)),
            };
            self.editions.insert(own, info);
            numbers.push(own);
        }
        let regions: Vec<RegionId> =
            kept.head.regions.iter().map(|name| serving.regions.named(name).unwrap_or_default()).collect();
        let mut ids: Vec<Option<PointId>> = Vec::new();
        let mut blind_until = kept.head.blind_until;
        if kept.head.told_apart_by != told_apart_by {
            blind_until = kept.head.at;
        }
        self.zones.extend(kept.head.zones.iter().cloned());
        for octets in kept.points.chunks_exact(POINT) {
            let point = unpacked(octets, &numbers, &regions);
            let id = point.and_then(|point| self.points.restore(&point));
            if id.is_none() {
                blind_until = kept.head.at;
            }
            ids.push(id);
        }
        self.networks.restore(&kept.head.levels, &kept.networks, |place| ids.get(place as usize).copied().flatten());
        self.levers.restore(&kept.head.levers);
        self.is_whole_since(kept.head.since, blind_until);
    }
}

fn packed(point: &Point, edition: u32) -> [u8; POINT] {
    let (rule, name, rtype) = match point.what.question {
        Some((decided, rtype)) => (decided.rule as u8, decided.name, rtype.0),
        None => (ANYTHING, 0, 0),
    };
    let mut octets = [0; POINT];
    octets[..4].copy_from_slice(&edition.to_be_bytes());
    octets[4..6].copy_from_slice(&point.what.region.0.to_be_bytes());
    octets[6..8].copy_from_slice(&rtype.to_be_bytes());
    octets[8..16].copy_from_slice(&name.to_be_bytes());
    octets[16..20].copy_from_slice(&point.ttl.seconds().to_be_bytes());
    octets[20..28].copy_from_slice(&point.last.0.to_be_bytes());
    octets[28..35].copy_from_slice(&point.count.to_be_bytes()[1..]);
    octets[35] = rule;
    octets
}

fn unpacked(octets: &[u8], editions: &[Edition], regions: &[RegionId]) -> Option<Point> {
    let number = |at: usize, len: usize| {
        octets.get(at..at + len).map(|octets| octets.iter().fold(0u64, |n, o| n << 8 | u64::from(*o)))
    };
    let rule = Rule::ALL.get(usize::from(*octets.get(35)?)).copied();
    let (rtype, name) = (RrType(number(6, 2)? as u16), number(8, 8)?);
    let what = What {
        edition: *editions.get(number(0, 4)? as usize)?,
        region: regions.get(number(4, 2)? as usize).copied().unwrap_or_default(),
        question: rule.map(|rule| (Decided { rule, name }, rtype)),
    };
    let (ttl, last) = (Ttl::from_wire(number(16, 4)? as u32), Timestamp(number(20, 8)? as i64));
    Some(Point { what, ttl, last, count: number(28, 7)? })
}

impl Networks {
    /// The parts as they are kept, and how coarse each is; points by the numbers that they are kept under.
    fn keep(&self, place: impl Fn(PointId) -> Option<u32>) -> (Vec<Option<u8>>, Vec<Vec<u8>>) {
        let parts = (0..Networks::parts()).map(|number| {
            let mut octets = Vec::new();
            for told in self.part(number) {
                let Some(place) = place(told.point) else { continue };
                octets.extend(told.octets(place));
            }
            (self.level(number), octets)
        });
        parts.unzip()
    }

    fn restore(&mut self, levels: &[Option<u8>], parts: &[Vec<u8>], id: impl Fn(u32) -> Option<PointId>) {
        for (number, (level, octets)) in levels.iter().zip(parts).enumerate() {
            self.restore_part(number, *level, octets, &id);
        }
    }
}
