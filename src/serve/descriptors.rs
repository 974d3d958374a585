//! File descriptors: connections may take many, and must leave enough for all else.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that connections leave to everything else: sockets, zone files, the journal, operators.
const RESERVE: u64 = 256;
/// More that are asked for, and not insisted on: connections told to go give theirs back a moment later only.
const LEAVING: u64 = 1024;

/// How many descriptors connections may take, of those that they would take at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What they would take.
    pub wanted: usize,
    /// What they may take.
    pub given: usize,
}

impl Room {
    /// Raises the limit on open files so that connections find `wanted` descriptors, as far as the system lets us: root
    /// may raise the hard limit, too.
    pub fn make(wanted: usize) -> Room {
        let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(RESERVE + LEAVING);
        let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Room { wanted, given: wanted } };
        let raised =
            [(needed, hard.max(needed)), (hard.min(needed), hard)].into_iter().find(|&(soft_now, hard_now)| {
                soft_now > soft && setrlimit(Resource::RLIMIT_NOFILE, soft_now, hard_now).is_ok()
            });
        Room::within(wanted, raised.map_or(soft, |(raised, _)| raised))
    }

    fn within(wanted: usize, limit: u64) -> Room {
        // However few there are, half of them are for connections.
        let room = limit.saturating_sub(RESERVE).max(limit / 2);
        Room { wanted, given: usize::try_from(room).unwrap_or(usize::MAX).min(wanted) }
    }

    /// Whether there are as many as wanted.
    pub fn is_enough(self) -> bool {
        self.given >= self.wanted
    }

    /// The part of so many connections that there is room for; one at least.
    pub fn share(self, connections: usize) -> usize {
        let part = connections as u128 * self.given as u128 / self.wanted.max(1) as u128;
        usize::try_from(part).unwrap_or(connections).min(connections).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_some_descriptors() {
        for (wanted, limit, given) in
            [(1024, 1 << 20, 1024), (1024, 1280, 1024), (1024, 1024, 768), (1024, 300, 150), (0, 1024, 0)]
        {
            let room = Room::within(wanted, limit);
            assert_eq!((room.given, room.is_enough()), (given, given == wanted), "{wanted} of {limit}");
        }
        let room = Room::within(4096, 1280);
        assert_eq!((room.share(1024), room.share(3), room.share(0)), (256, 1, 1));
        assert_eq!(Room::within(usize::MAX, u64::MAX).share(usize::MAX), usize::MAX - RESERVE as usize);
    }
}
