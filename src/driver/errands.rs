//! What gates would ask about a large zone is found out on several threads, and kept: a move is judged when it is
//! planned, and again when it is published.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::Driver;
use super::load::LARGE;
use crate::door::Candidate;
use crate::gate::Errand;
use crate::gate::memo::Memo;
use crate::name::Name;

impl Driver {
    /// The candidate for a change of one zone, with all at hand that is known about such changes; about a large zone, with
    /// all that gates would ask.
    pub(super) fn looked_into(&self, origin: &Name, candidate: Candidate) -> Candidate {
        if !is_large(&candidate) {
            return candidate.remembering(self.standby.memo(origin));
        }
        let _rest = self.standby.rest();
        // What the thread had found by now need not be found again.
        let known = self.standby.memo(origin);
        let (is_first, begun) = (known.is_empty(), Instant::now());
        let candidate = candidate.remembering(known);
        let learnt = run(&candidate.errands());
        if is_first && !learnt.is_empty() {
            let took = begun.elapsed().as_millis();
            tracing::info!(zone = %origin, "nothing was verified in advance: a change was looked into, in {took} ms");
        }
        candidate.remembering(self.standby.learn(origin, learnt))
    }
}

fn is_large(candidate: &Candidate) -> bool {
    let sites = candidate.changes().filter_map(|change| change.zone_after()).flat_map(|zone| &zone.content.sites);
    sites.map(|site| site.zone.len()).max().is_some_and(|len| len >= LARGE)
}

/// Finds out what is not known yet, on as many threads as there are processors.
fn run(errands: &[Errand<'_>]) -> Memo {
    let mut learnt = Memo::default();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(errands.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(errand) = errands.get(next.fetch_add(1, Ordering::Relaxed)) {
            let memo = errand.run();
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(memo);
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
    found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).iter().for_each(|memo| learnt.learn(memo));
    learnt
}
