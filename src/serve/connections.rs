//! Who may hold a TCP connection: bounds in all and for each client, and who goes when there is no room.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use crate::net::Network;

/// Prefix length of what counts as one client in IPv6: what a home or a small site is commonly given (RFC 6177).
const CLIENT_PREFIX_V6: u8 = 56;

/// All connections, and which of them was idle longest.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    limit_for_client: usize,
    started: Instant,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Entry>,
    by_client: HashMap<Network, usize>,
    /// When each was last known to be active. Activity is noted in the connection's own atomic and brought here only
    /// when somebody has to go: the first whose time here is still true is the longest idle one.
    idle: BTreeSet<(u64, u64)>,
}

#[derive(Debug)]
struct Entry {
    client: Network,
    noted: u64,
    seat: Arc<Seat>,
}

/// What a connection shares with the table.
#[derive(Debug, Default)]
struct Seat {
    active: AtomicU64,
    evicted: Notify,
}

/// The right to hold a connection; given back when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    connections: Arc<Connections>,
    id: u64,
    seat: Arc<Seat>,
}

/// What became of a newcomer.
#[derive(Debug)]
pub(super) enum Admission {
    /// It may stay.
    Admitted(Ticket),
    /// It may stay, and the longest idle one was told to go.
    InsteadOfIdlest(Ticket),
    /// This client holds as many as it may.
    TooManyOfClient,
}

impl Connections {
    pub(super) fn new(limit: usize, limit_for_client: usize) -> Arc<Connections> {
        let (limit, started) = (limit.max(1), Instant::now());
        Arc::new(Connections { limit, limit_for_client, started, table: Mutex::default() })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.table().open.len()
    }

    /// Takes a newcomer in, if need be in the place of the one that was idle longest.
    pub(super) fn admit(self: &Arc<Connections>, source: IpAddr) -> Admission {
        let client = client_of(source);
        let mut table = self.table();
        if table.by_client.get(&client).is_some_and(|&count| count >= self.limit_for_client) {
            return Admission::TooManyOfClient;
        }
        let full = table.open.len() >= self.limit;
        if full {
            table.evict_idlest();
        }
        let (id, now, seat) = (table.next, self.now(), Arc::<Seat>::default());
        seat.active.store(now, Relaxed);
        table.next += 1;
        table.open.insert(id, Entry { client, noted: now, seat: Arc::clone(&seat) });
        table.idle.insert((now, id));
        *table.by_client.entry(client).or_default() += 1;
        drop(table);
        let ticket = Ticket { connections: Arc::clone(self), id, seat };
        if full { Admission::InsteadOfIdlest(ticket) } else { Admission::Admitted(ticket) }
    }

    /// Tells the longest idle connection to go; whether there was one.
    pub(super) fn evict_idlest(&self) -> bool {
        self.table().evict_idlest()
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn evict_idlest(&mut self) -> bool {
        while let Some((noted, id)) = self.idle.pop_first() {
            let Some(entry) = self.open.get_mut(&id) else { continue };
            let active = entry.seat.active.load(Relaxed);
            if active > noted {
                entry.noted = active;
                self.idle.insert((active, id));
                continue;
            }
            entry.seat.evicted.notify_one();
            self.remove(id);
            return true;
        }
        false
    }

    fn remove(&mut self, id: u64) {
        let Some(Entry { client, noted, .. }) = self.open.remove(&id) else { return };
        self.idle.remove(&(noted, id));
        if let Some(count) = self.by_client.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.by_client.remove(&client);
            }
        }
    }
}

impl Ticket {
    /// Notes that a whole query came. Half of one doesn't count: it would keep a sluggard's place.
    pub(super) fn active(&self) {
        self.seat.active.store(self.connections.now(), Relaxed);
    }

    /// Ends when the connection has to make room.
    pub(super) async fn evicted(&self) {
        self.seat.evicted.notified().await;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connections.table().remove(self.id);
    }
}

fn client_of(source: IpAddr) -> Network {
    let source = source.to_canonical();
    let wide = if source.is_ipv6() { Network::new(source, CLIENT_PREFIX_V6) } else { None };
    wide.unwrap_or(Network::host(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(connections: &Arc<Connections>, source: &str) -> Option<Ticket> {
        match connections.admit(source.parse().unwrap()) {
            Admission::Admitted(ticket) | Admission::InsteadOfIdlest(ticket) => Some(ticket),
            Admission::TooManyOfClient => None,
        }
    }

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_site() {
        let connections = Connections::new(100, 2);
        let mut held = Vec::new();
        for (source, admitted_so) in [
            ("192.0.2.1", true),
            ("::ffff:192.0.2.1", true),
            ("192.0.2.1", false),
            ("192.0.2.2", true),
            ("2001:db8::1", true),
            ("2001:db8:0:ff::1", true),
            ("2001:db8:0:7f::9", false),
            ("2001:db8:0:100::1", true),
        ] {
            let ticket = admitted(&connections, source);
            assert_eq!(ticket.is_some(), admitted_so, "{source}");
            held.extend(ticket);
        }
        assert_eq!(connections.count(), 6);
        held.clear();
        assert_eq!(connections.count(), 0);
        assert!(connections.table().by_client.is_empty() && connections.table().idle.is_empty());
    }

    #[tokio::test]
    async fn the_longest_idle_one_goes_when_there_is_no_room() {
        let connections = Connections::new(3, 3);
        let [one, two, three] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|s| admitted(&connections, s).unwrap());
        // Later than anything noted so far, however coarse the clock.
        one.seat.active.store(u64::MAX - 1, Relaxed);
        let four = admitted(&connections, "192.0.2.4").unwrap();
        two.evicted().await;
        assert_eq!(connections.count(), 3);
        // Its own leaving later takes nobody else's place away.
        drop(two);
        assert_eq!(connections.count(), 3);
        assert!(connections.evict_idlest());
        three.evicted().await;
        drop(four);
        assert!(connections.evict_idlest());
        one.evicted().await;
        assert!(!connections.evict_idlest());
    }
}
