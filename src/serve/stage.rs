//! What a set of listeners answers from.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};

use super::counters::Counters;
use super::dnstap::{Ends, Exchange, Protocol, Tap};
use super::folding::Folding;
use crate::door::Verified;
use crate::serving::Serving;
use crate::serving::asked::Asked;
use crate::serving::respond::{Asker, Transport};

/// How long the janitor waits before it looks again whether the last reader of an old `Serving` is gone: a batch is over
/// soon, whoever keeps an old one on purpose keeps it long.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// What a set of listeners answers from. There is one for the public and one for every drill under way.
#[derive(Debug)]
pub struct Stage {
    serving: ArcSwap<Serving>,
    folding: Option<Arc<Folding>>,
    tap: OnceLock<Arc<Tap>>,
    janitor: Mutex<Sender<Arc<Serving>>>,
}

/// A query that came to one of several threads that share what they count and note.
pub(super) struct Came<'p> {
    pub packet: &'p [u8],
    pub transport: Transport,
    pub protocol: Protocol,
    pub ends: Ends,
}

impl Stage {
    /// A stage that answers from `serving`.
    ///
    /// It starts a thread of its own, on which whatever is swapped out is freed: freeing a million names takes longer
    /// than a query may wait.
    pub fn new(serving: Arc<Serving>) -> std::io::Result<Arc<Stage>> {
        Stage::noted(serving, None)
    }

    /// The same, with `folding` to keep who is told what.
    pub fn noted(serving: Arc<Serving>, folding: Option<Arc<Folding>>) -> std::io::Result<Arc<Stage>> {
        let (janitor, old) = mpsc::channel();
        thread::Builder::new().name("janitor".into()).spawn(move || free_when_unread(&old))?;
        Ok(Arc::new(Stage {
            serving: ArcSwap::new(serving),
            folding,
            tap: OnceLock::new(),
            janitor: Mutex::new(janitor),
        }))
    }

    /// What keeps who is told what, if anything does.
    pub fn folding(&self) -> Option<&Arc<Folding>> {
        self.folding.as_ref()
    }

    /// Answers a query from `serving`; takes down what was told, counts and shows it. Returns the answer; none is silence.
    pub(super) fn answer<'o>(
        &self,
        serving: &Serving,
        came: Came<'_>,
        counters: &Counters,
        out: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        let Came { packet, transport, protocol, ends } = came;
        let asker = Asker { source: ends.client.ip(), transport, now: super::now() };
        let mut asked = Asked::of(serving, packet);
        let answered = serving.respond_to(packet, &mut asked, &asker, out);
        if let Some(folding) = &self.folding {
            folding.noting().note(asked.told(), asker.now);
        }
        let answer = answered.map(|length| &out[..length]);
        counters.answered_from(serving, transport, packet, &asked, answer);
        if let Some(tap) = self.tap.get() {
            tap.show(&Exchange { protocol, ends, query: packet, answer: answer.unwrap_or_default() });
        }
        answer
    }

    /// Shows by `tap` what is asked and answered, on listeners that run from now on. The first one stays.
    pub fn show_by(&self, tap: Arc<Tap>) {
        let _ = self.tap.set(tap);
    }

    /// What shows it, if anything does.
    pub(super) fn tap(&self) -> Option<&Arc<Tap>> {
        self.tap.get()
    }

    /// What to answer from now. Cheap, but not free: once a batch, and let go of before waiting for the next one.
    pub fn load(&self) -> Guard<Arc<Serving>> {
        self.serving.load()
    }

    /// Answers from what was verified from now on. Batches under way end with what they began with.
    pub fn publish(&self, verified: &Verified) {
        let old = self.serving.swap(Arc::clone(verified.serving()));
        // The janitor ends with the stage only; should it be gone all the same, the old one is freed here.
        let _ = self.janitor.lock().unwrap_or_else(PoisonError::into_inner).send(old);
    }
}

/// Keeps each old one until nobody else holds it, so that its last owner is this thread and never a worker.
fn free_when_unread(old: &mpsc::Receiver<Arc<Serving>>) {
    let mut held: Vec<Arc<Serving>> = Vec::new();
    let mut wait = LOOK_AGAIN.0;
    loop {
        let arrived = if held.is_empty() {
            old.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            old.recv_timeout(wait)
        };
        match arrived {
            Ok(serving) => {
                held.push(serving);
                wait = LOOK_AGAIN.0;
            }
            Err(RecvTimeoutError::Timeout) => wait = (wait * 2).min(LOOK_AGAIN.1),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        held.retain(|serving| Arc::strong_count(serving) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Candidate;
    use crate::time::Timestamp;

    /// A change of nothing, verified.
    fn next(before: &Arc<Serving>) -> Verified {
        Candidate::new(Arc::clone(before), Vec::new(), Timestamp::default()).verify(&[]).unwrap()
    }

    #[test]
    fn a_reader_keeps_what_it_loaded_and_the_next_sees_the_new_one() {
        let old = Arc::new(Serving::default());
        let new = next(&old);
        let stage = Stage::new(Arc::clone(&old)).unwrap();
        let before = stage.load();
        stage.publish(&new);
        assert!(Arc::ptr_eq(&before, &old) && Arc::ptr_eq(&stage.load(), new.serving()));
    }

    #[test]
    fn the_last_owner_of_an_old_one_is_the_janitor() {
        let stage = Stage::new(Arc::default()).unwrap();
        let (reader, old) = (stage.load(), Arc::downgrade(&stage.load()));
        stage.publish(&next(&Arc::default()));
        // The reader's own share is let go of: the janitor still holds one until it looks again.
        assert!(Arc::strong_count(&reader) >= 2);
        drop(reader);
        while old.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
