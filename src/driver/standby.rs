//! What a failover would have to find out is found out before: in the background, whenever what is served has changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::readings::Readings;
use crate::door::{Candidate, Proposal};
use crate::gate::memo::Memo;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::serving::content::SiteId;
use crate::serving::regions::RegionId;
use crate::serving::{Routing, Serving, ZoneServing};
use crate::time::Timestamp;

/// Moves of single regions are looked into for so many of them; a move of all is looked into in any case.
const REGIONS: usize = 32;
/// How long after files were written it is known whether they can be trusted by their times.
const SETTLING: Duration = Duration::from_millis(2100);
/// How much the thread stands back behind all others: the most that there is.
const NICE: libc::c_int = 19;

/// Finds out, on a thread of its own, what moves to the sites that are not in use would be judged by.
pub(super) struct Standby {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    wanted: Mutex<Wanted>,
    changed: Condvar,
    memos: Mutex<HashMap<Name, Arc<Memo>>>,
}

#[derive(Default)]
struct Wanted {
    /// What is served now, if nobody has looked into it yet.
    serving: Option<Arc<Serving>>,
    /// How often something was wanted, and how often that was done or overtaken.
    asked: u64,
    done: u64,
    ended: bool,
    /// How many wait for verdicts.
    resting: usize,
}

/// The thread rests as long as this lives.
pub(super) struct Rest<'a>(&'a Shared);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.0.wanted().resting -= 1;
        self.0.changed.notify_all();
    }
}

impl Standby {
    /// Starts the thread. It ends when this is dropped.
    pub fn start(readings: Readings) -> std::io::Result<Standby> {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        thread::Builder::new().name("standby".into()).spawn(move || own.work(&readings))?;
        Ok(Standby { shared })
    }

    /// Looks into what is served now; what was wanted before is given up.
    pub fn look_into(&self, serving: &Arc<Serving>) {
        let mut wanted = self.shared.wanted();
        wanted.serving = Some(Arc::clone(serving));
        wanted.asked += 1;
        self.shared.changed.notify_all();
    }

    /// What was found out about moves of a zone.
    pub fn memo(&self, origin: &Name) -> Arc<Memo> {
        self.shared.memos().get(origin).cloned().unwrap_or_default()
    }

    /// Has the thread rest until what is returned is dropped: somebody waits for a verdict, and needs the processors.
    pub fn rest(&self) -> Rest<'_> {
        self.shared.wanted().resting += 1;
        Rest(&self.shared)
    }

    /// Keeps what was found out about moves of a zone beside what is known. All that is known then.
    pub fn learn(&self, origin: &Name, learnt: Memo) -> Arc<Memo> {
        self.shared.learn(origin, learnt)
    }

    /// Waits until all that is wanted by now is done.
    #[cfg(test)]
    pub fn wait(&self) {
        let mut wanted = self.shared.wanted();
        while wanted.done < wanted.asked {
            wanted = self.shared.changed.wait(wanted).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.shared.wanted().ended = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memos(&self) -> MutexGuard<'_, HashMap<Name, Arc<Memo>>> {
        self.memos.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, origin: &Name, learnt: Memo) -> Arc<Memo> {
        let mut memos = self.memos();
        let mut all = learnt;
        memos.get(origin).into_iter().for_each(|known| all.learn(known));
        let all = Arc::new(all);
        memos.insert(origin.clone(), Arc::clone(&all));
        all
    }

    fn work(&self, readings: &Readings) {
        stand_back();
        while let Some((serving, number)) = self.next(readings) {
            let begun = Instant::now();
            if self.look_into(&serving) {
                let (zones, took) = (serving.zones().len(), begun.elapsed().as_millis());
                tracing::info!(zones, generation = serving.generation, "moves were verified in advance, in {took} ms");
            }
            readings.tidy();
            // The last owner of a large zone must not be whoever swaps it out.
            drop(serving);
            let mut wanted = self.wanted();
            wanted.done = wanted.done.max(number);
            self.changed.notify_all();
        }
    }

    /// What is wanted next, and which wish that is. Files that were read too soon after they were written are seen to
    /// meanwhile.
    fn next(&self, readings: &Readings) -> Option<(Arc<Serving>, u64)> {
        loop {
            let mut wanted = self.wanted();
            if wanted.ended {
                return None;
            }
            if let Some(serving) = wanted.serving.take() {
                return Some((serving, wanted.asked));
            }
            if !readings.are_racy() {
                drop(self.changed.wait(wanted));
                continue;
            }
            let idle = |wanted: &mut Wanted| wanted.serving.is_none() && !wanted.ended;
            let waited = self.changed.wait_timeout_while(wanted, SETTLING, idle);
            let (wanted, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(wanted);
            if waited.timed_out() {
                readings.settle();
            }
        }
    }

    /// Whether there is nothing newer to look into; waits while somebody waits for verdicts.
    fn may_go_on(&self) -> bool {
        let wanted = self.wanted();
        let is_resting = |wanted: &mut Wanted| wanted.resting > 0 && !wanted.ended;
        let wanted = self.changed.wait_while(wanted, is_resting).unwrap_or_else(PoisonError::into_inner);
        wanted.serving.is_none() && !wanted.ended
    }

    /// Whether all of it was looked into: not if something newer was wanted meanwhile.
    fn look_into(&self, serving: &Arc<Serving>) -> bool {
        self.memos().retain(|origin, _| serving.zone(origin.as_ref()).is_some());
        for zone in serving.zones() {
            let origin = &zone.content.origin;
            let mut learnt = Memo::default();
            for routing in moves(serving, zone) {
                for (from, to) in pairs(&zone.routing, &routing) {
                    zone.look_ahead(from, to);
                }
                let known = self.memos().get(origin).cloned().unwrap_or_default();
                let candidate = candidate(serving, zone, routing).remembering(known);
                for errand in candidate.errands() {
                    if !self.may_go_on() {
                        return false;
                    }
                    let found = errand.run();
                    learnt.learn(&found);
                    self.learn(origin, found);
                }
            }
            // What was known and not asked for again is about content that is gone.
            self.memos().insert(origin.clone(), Arc::new(learnt));
        }
        true
    }
}

/// The routings that an operator may ask for: all regions at another site, or one of them.
fn moves(serving: &Serving, zone: &ZoneServing) -> Vec<Routing> {
    let regions: Vec<RegionId> = serving.regions.iter().map(|(region, _)| region).collect();
    let single = if regions.len() > 1 { &regions[..regions.len().min(REGIONS)] } else { &[] };
    let groups: Vec<&[RegionId]> = std::iter::once(&regions[..]).chain(single.chunks(1)).collect();
    let sites = (0..zone.content.sites.len()).map(|site| SiteId(site as u16));
    let routings = sites.flat_map(|site| {
        groups.iter().map(move |group| {
            let mut routing = zone.routing.clone();
            group.iter().for_each(|region| routing.set(*region, site, zone.routing.revision + 1));
            routing
        })
    });
    routings.filter(|routing| routing.sites != zone.routing.sites).collect()
}

/// From which sites to which a change of routing moves clients.
fn pairs(before: &Routing, after: &Routing) -> BTreeSet<(SiteId, SiteId)> {
    let pairs = before.sites.iter().zip(&after.sites).map(|(from, to)| (*from, *to));
    pairs.filter(|(from, to)| from != to).collect()
}

fn candidate(serving: &Arc<Serving>, zone: &ZoneServing, routing: Routing) -> Candidate {
    let loads = Finding::pass(id::LOADS, zone.content.origin.as_ref(), "it is served");
    let proposal = Proposal { content: Arc::clone(&zone.content), routing, loads, restored: None };
    // What the clock makes of signatures is found out when it matters; nothing that is remembered depends on it.
    Candidate::new(Arc::clone(serving), vec![proposal], Timestamp::default())
}

/// Lets all other threads go first. Where the system will not, it is one among others.
pub(super) fn stand_back() {
    // SAFETY: it changes the priority of a thread, this one, and touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}
