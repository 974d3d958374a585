//! Having the servers' processor for oneself while queries are queued.
//!
//! A thread at real-time priority on the processor that the servers are pinned to: while it runs none of them can, and as soon as
//! it sleeps whoever has something to do goes on. None of their threads is woken or stopped by it, so that nothing is measured but
//! what queries cost.

use std::io;
use std::time::Duration;

use libc::cpu_set_t;

/// This thread holds the processor.
pub struct Hold {
    before: cpu_set_t,
}

impl Hold {
    /// Takes the last processor, until it is dropped.
    pub fn take() -> io::Result<Hold> {
        // SAFETY: no processors are a value.
        let mut last: cpu_set_t = unsafe { std::mem::zeroed() };
        let (before, number) = processors()?;
        // SAFETY: the number is one that a set has.
        unsafe { libc::CPU_SET(number, &mut last) };
        let hold = Hold { before };
        bind(&last)?;
        schedule(libc::SCHED_FIFO, 1)?;
        Ok(hold)
    }

    /// Lets others have it for a while.
    pub fn let_go(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = schedule(libc::SCHED_OTHER, 0);
        let _ = bind(&self.before);
    }
}

/// The last processor that this process may run on.
pub fn last_processor() -> usize {
    processors().map_or(0, |(_, last)| last)
}

/// The processors that this thread may run on, and the last of them.
fn processors() -> io::Result<(cpu_set_t, usize)> {
    // SAFETY: no processors are a value.
    let mut all: cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to a set that is alive, of the size that is said; 0 is the calling thread.
    done(unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &raw mut all) })?;
    // SAFETY: the numbers are those that a set has.
    let last = (0..libc::CPU_SETSIZE as usize).rev().find(|number| unsafe { libc::CPU_ISSET(*number, &all) });
    Ok((all, last.unwrap_or_default()))
}

fn bind(to: &cpu_set_t) -> io::Result<()> {
    // SAFETY: it only reads the set, of the size that is said; 0 is the calling thread.
    done(unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), to) })
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: it only reads the parameters, which are alive; 0 is the calling thread.
    done(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
