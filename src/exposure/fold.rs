//! Notes, folded: the two tables together, and what becomes of old entries.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::levers::{LastTold, Levers, known_since};
use super::networks::{Networks, Place};
use super::note::Note;
use super::points::{POINT_SIZE, Point, PointId, Points};
use crate::name::Name;
use crate::serving::content::SiteId;
use crate::serving::told::Edition;
use crate::serving::{Serving, ZoneServing};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// How many notes are taken in together, so that they wait for memory together.
pub const TOGETHER: usize = 32;
/// How often counts are halved.
const HALF_LIFE: Duration = Duration::from_secs(3600);
/// How much of the memory points may take; networks take the rest.
const FOR_POINTS: usize = 3;

/// What exposures may take, and how long they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Octets.
    pub memory: usize,
    /// How long it is kept who was told what; for as long as it may be held in any case.
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 128 << 20, retention: Duration::from_secs(24 * 60 * 60) }
    }
}

/// Who was told what.
#[derive(Debug)]
pub struct Exposures {
    pub(super) points: Points,
    pub(super) networks: Networks,
    pub(super) editions: BTreeMap<Edition, EditionInfo>,
    retention: Duration,
    /// Up to when something may have been told that nobody noted: before this process, or while there was no room.
    pub(super) blind_until: Timestamp,
    /// Since when each zone is answered from here: what others told of it before is not known.
    pub(super) zones: BTreeMap<Name, Timestamp>,
    /// Since when notes are taken.
    since: Timestamp,
    halved_at: Timestamp,
    /// Whether counts are halved in this round over the parts.
    halves: bool,
    next_part: usize,
    /// Points of which nothing is to be known any more, once no part refers to them.
    ending: Vec<PointId>,
    /// What stays known of levers that were renamed.
    pub(super) levers: Levers,
}

/// What an edition is.
#[derive(Clone, Debug)]
pub struct EditionInfo {
    /// The zone.
    pub zone: Name,
    /// The site.
    pub site: String,
    /// Since when it was given.
    pub since: Timestamp,
    /// What it was told from; gone when that is not served any more.
    pub snapshot: Weak<Snapshot>,
}

impl Exposures {
    /// None yet. `seed` is drawn at random once, and stays the same over restarts. What was told before `now` is not known.
    pub fn new(limits: Limits, seed: u64, now: Timestamp) -> Exposures {
        let for_points = limits.memory / FOR_POINTS;
        Exposures {
            points: Points::new(for_points / POINT_SIZE, seed),
            // Some of a part's room is in use twice while it grows.
            networks: Networks::new((limits.memory - for_points) / 16 * 15, seed.rotate_left(17)),
            editions: BTreeMap::new(),
            retention: limits.retention,
            blind_until: now,
            zones: BTreeMap::new(),
            since: now,
            halved_at: now,
            halves: false,
            next_part: 0,
            ending: Vec::new(),
            levers: Levers::default(),
        }
    }

    /// What is served from now on, before anybody is told of it.
    pub fn published(&mut self, serving: &Serving, now: Timestamp) {
        let (since, retention) = (self.since, self.retention);
        let mut levers = std::mem::take(&mut self.levers);
        levers.of(serving, |zone| known_since(since.max(self.blind_until_of(zone)), retention, now));
        self.levers = levers;
        let names = |zone: &ZoneServing| zone.content.sites.iter().map(|site| site.snapshot.len()).max();
        self.points.expect(serving.zones().iter().filter_map(|zone| names(zone)).sum());
        for zone in serving.zones() {
            self.zones.entry(zone.content.origin.clone()).or_insert(now);
            for (number, site) in (0..).map(SiteId).zip(&zone.content.sites) {
                let edition = zone.edition(number);
                self.editions.entry(edition).or_insert_with(|| EditionInfo {
                    zone: zone.content.origin.clone(),
                    site: site.name.clone(),
                    since: now,
                    snapshot: Arc::downgrade(&site.snapshot),
                });
            }
        }
    }

    /// Takes notes in.
    pub fn fold(&mut self, notes: &[Note]) {
        notes.chunks(TOGETHER).for_each(|notes| self.fold_together(notes));
    }

    fn fold_together(&mut self, notes: &[Note]) {
        let (mut hashes, mut under) = ([0; TOGETHER], [None; TOGETHER]);
        let mut places: [Option<Place>; TOGETHER] = [None; TOGETHER];
        // Each loop asks for what the next one needs, so that all notes wait for memory together.
        for (note, hash) in notes.iter().zip(&mut hashes) {
            *hash = self.points.hash_of(note);
            self.points.prefetch_index(*hash);
        }
        for (hash, id) in hashes[..notes.len()].iter().zip(&mut under) {
            *id = self.points.under(*hash);
            id.iter().for_each(|id| self.points.prefetch(*id));
        }
        for (((note, hash), id), place) in notes.iter().zip(hashes).zip(under).zip(&mut places) {
            match self.points.note(note, hash, id) {
                Some(id) => *place = self.networks.place(note.network, id),
                None => self.unnoted(note.at),
            }
            place.iter().for_each(|place| self.networks.prefetch(place));
        }
        for (note, place) in notes.iter().zip(&places) {
            place.iter().for_each(|place| self.networks.note(*place, note.at, note.proven));
        }
    }

    /// Whether so many notes can be taken in without more than a moment's work: nothing large has to be laid out anew.
    pub fn grows_quickly(&self, notes: usize) -> bool {
        self.points.grows_quickly(notes) && self.networks.grows_quickly()
    }

    /// Something was told at this time that nobody noted.
    pub fn unnoted(&mut self, at: Timestamp) {
        self.blind_until = self.blind_until.max(at);
    }

    /// Up to when something may have been told that nobody noted.
    pub fn blind_until(&self) -> Timestamp {
        self.blind_until
    }

    /// Up to when something may have been told of a zone that nobody noted.
    pub fn blind_until_of(&self, zone: &Name) -> Timestamp {
        self.zones.get(zone).copied().unwrap_or(self.blind_until).max(self.blind_until)
    }

    /// How long it is kept when somebody was told something.
    pub fn retention(&self) -> Duration {
        self.retention
    }

    /// When names of a zone were told last, each by its hash, and since when that is known of all of them.
    pub fn last_told(&self, zone: &Name, names: &std::collections::BTreeSet<u64>, now: Timestamp) -> LastTold {
        let of_zone = |edition| self.edition(edition).is_some_and(|info| info.zone == *zone);
        let told = self.points.iter().filter(|(_, point)| of_zone(point.what.edition));
        // What had no room to be noted by its name may have been one of them.
        let told = told.filter(|(_, point)| point.what.question.is_none_or(|(by, _)| names.contains(&by.name)));
        let mut all = LastTold { since: self.since, last: told.map(|(_, point)| point.last).max() };
        for name in names {
            match self.levers.get(zone, *name) {
                Some(known) => (all.since, all.last) = (all.since.max(known.since), all.last.max(known.last)),
                None => all.since = known_since(all.since, self.retention, now),
            }
        }
        all.since = all.since.max(self.blind_until_of(zone));
        all
    }

    /// Since when notes are taken.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Says that all is known since `since`: what was known before a restart was restored in full.
    pub fn is_whole_since(&mut self, since: Timestamp, blind_until: Timestamp) {
        (self.since, self.blind_until) = (since, blind_until);
    }

    /// What was told, whoever it was told to.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Who was told what.
    pub fn networks(&self) -> &Networks {
        &self.networks
    }

    /// What an edition is.
    pub fn edition(&self, edition: Edition) -> Option<&EditionInfo> {
        self.editions.get(&edition)
    }

    /// All editions of which something is known.
    pub fn editions(&self) -> impl Iterator<Item = (Edition, &EditionInfo)> {
        self.editions.iter().map(|(edition, info)| (*edition, info))
    }

    /// Octets that it takes, about.
    pub fn octets(&self) -> usize {
        self.networks.octets() + self.points.len() * POINT_SIZE
    }

    /// Over how long counts were made, about: what was asked an hour ago counts half.
    pub fn window(&self, now: Timestamp) -> Duration {
        // The sum of a row that halves each time is twice its first member, when it has gone on for long.
        now.since(self.since).min(2 * HALF_LIFE)
    }

    /// Forgets what is not to be kept any longer, a little at each call: some hundred calls pass over everything. `in_force` says
    /// which editions are answered from now.
    pub fn sweep(&mut self, now: Timestamp, in_force: impl Fn(Edition) -> bool) {
        if self.next_part == 0 {
            self.halves = now.since(self.halved_at) >= HALF_LIFE;
            if self.halves {
                self.points.halve();
                self.halved_at = now;
            }
            // No part refers to these any more: one round has passed since they ended.
            let ended: Vec<PointId> = std::mem::take(&mut self.ending);
            let still = |id: &PointId| self.points.get(*id).is_some_and(|point| self.is_over(&point, now));
            let ended: Vec<PointId> = ended.into_iter().filter(still).collect();
            for point in ended.iter().filter_map(|id| self.points.get(*id)) {
                if let Some(info) = self.editions.get(&point.what.edition) {
                    self.levers.keep(&info.zone, &point);
                }
            }
            self.points.forget(&ended);
            self.ending = self.points.iter().filter(|(_, point)| self.is_over(point, now)).map(|(id, _)| id).collect();
            let used: std::collections::BTreeSet<Edition> =
                self.points.iter().map(|(_, point)| point.what.edition).collect();
            // Notes of one that was given until just now may still come.
            let is_new = |info: &EditionInfo| info.since.after(HALF_LIFE) > now;
            self.editions.retain(|edition, info| used.contains(edition) || in_force(*edition) || is_new(info));
        }
        let (points, retention) = (&self.points, self.retention);
        self.networks.sweep(self.next_part, self.halves, |told| {
            points.get(told.point).is_some_and(|point| told.last.after(retention.max(point.ttl.duration())) > now)
        });
        self.next_part = (self.next_part + 1) % Networks::parts();
    }

    fn is_over(&self, point: &Point, now: Timestamp) -> bool {
        point.last.after(self.retention.max(point.ttl.duration())) <= now
    }
}
