//! The threads of a set of listeners: how they begin and end.

use std::thread::{self, JoinHandle};

use super::listen::ServeError;

/// Threads that answer.
#[derive(Debug, Default)]
pub(super) struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    /// Starts one more.
    pub(super) fn start(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
        self.0.push(thread::Builder::new().name(name).spawn(body).map_err(ServeError::Threads)?);
        Ok(())
    }

    /// Waits until all have ended, which somebody has told them to. Blocks.
    pub(super) fn join(&mut self) {
        for thread in self.0.drain(..) {
            // A panic there is reported by the panic hook; here it must not keep the others from ending.
            let _ = thread.join();
        }
    }
}

/// A runtime of its own: whatever else the process does, these tasks are not behind it.
pub(crate) fn runtime(name: &str, workers: usize) -> Result<tokio::runtime::Runtime, ServeError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers).thread_name(name).enable_all().build().map_err(ServeError::Threads)
}
