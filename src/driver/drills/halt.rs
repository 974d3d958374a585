//! How a drill is told to stop.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tells a drill to stop. Who calls it waits for nothing; the drill looks at it wherever something takes its time.
#[derive(Debug, Default)]
pub(super) struct Halt {
    why: Mutex<Option<String>>,
    called: Condvar,
}

impl Halt {
    /// Has the drill stop. The first reason counts.
    pub(super) fn call(&self, why: String) {
        self.lock().get_or_insert(why);
        self.called.notify_all();
    }

    /// Why it is to stop, if it is.
    pub(super) fn why(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Waits for so long, or until it is to stop: why.
    pub(super) fn wait(&self, length: Duration) -> Option<String> {
        let until = Instant::now() + length;
        let mut why = self.lock();
        while why.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            (why, _) = self.called.wait_timeout(why, left).unwrap_or_else(PoisonError::into_inner);
        }
        why.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_called_and_the_first_reason_counts() {
        let halt = Arc::new(Halt::default());
        assert_eq!((halt.wait(Duration::ZERO), halt.wait(Duration::from_millis(5)), halt.why()), (None, None, None));
        let other = Arc::clone(&halt);
        let waiting = std::thread::spawn(move || other.wait(Duration::from_secs(60)));
        halt.call("one".into());
        halt.call("two".into());
        assert_eq!((waiting.join().unwrap().as_deref(), halt.why().as_deref()), (Some("one"), Some("one")));
        assert_eq!(halt.wait(Duration::from_secs(60)).as_deref(), Some("one"));
    }
}
