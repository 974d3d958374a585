//! What the workers count. Each writes numbers of its own; they are summed when somebody asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::zones::ZoneCounts;
use crate::rr::RrType;
use crate::serving::Serving;
use crate::serving::asked::Asked;
use crate::serving::respond::Transport;

/// Upper bounds of the size classes of answers, in octets; one more class holds what is larger.
pub const SIZE_CLASSES: [usize; 5] = [128, 256, 512, 1232, 4096];

/// Types whose queries are counted each by itself; one more number holds all others.
pub const TYPES: [RrType; 15] = [
    RrType::A,
    RrType::AAAA,
    RrType::HTTPS,
    RrType::MX,
    RrType::TXT,
    RrType::NS,
    RrType::SOA,
    RrType::CNAME,
    RrType::PTR,
    RrType::SRV,
    RrType::DS,
    RrType::DNSKEY,
    RrType::CAA,
    RrType::SVCB,
    RrType::ANY,
];

/// Where in [`TYPES`] each type is, and how many these are for all others: queries come in an order that no processor could predict.
const KINDS: [u8; 258] = {
    let (mut kinds, mut at) = ([TYPES.len() as u8; 258], 0);
    while at < TYPES.len() {
        kinds[TYPES[at].0 as usize] = at as u8;
        at += 1;
    }
    kinds
};

/// The numbers: atomics at the worker's, plain ones where they are read.
#[derive(Debug, Default)]
pub struct Tally<N> {
    /// Queries over UDP, TCP and encrypted transports, in the order of [`Transport`].
    pub queries: [N; 3],
    /// Queries by type: see [`TYPES`].
    pub types: [N; 16],
    /// Answers by the RCODE of their header.
    pub rcodes: [N; 16],
    /// Answers by size: see [`SIZE_CLASSES`].
    pub sizes: [N; 6],
    /// Octets of queries.
    pub octets_in: N,
    /// Octets of answers.
    pub octets_out: N,
    /// Packets that got silence: no whole header, or themselves an answer.
    pub silent: N,
    /// Datagrams thrown away unread: from port 0, or longer than the receive buffer.
    pub discarded: N,
    /// Datagrams that the kernel dropped since a socket's queue was full (`SO_MEMINFO`).
    pub overflowed: N,
    /// Answers that the kernel would not send.
    pub unsent: N,
    /// Answers held back, and answers cut short, by response rate limiting.
    pub limited: N,
    /// Errors of the receiving system call.
    pub receive_errors: N,
    /// TCP connections taken in.
    pub accepted: N,
    /// TCP connections closed at once since their client has too many.
    pub refused: N,
    /// TCP connections closed to make room, the longest idle one first.
    pub evicted: N,
    /// TCP connections closed since a deadline passed.
    pub expired: N,
    /// Failed attempts to take a TCP connection in, lack of file descriptors above all.
    pub accept_errors: N,
}

/// The numbers of one worker, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    tally: Tally<AtomicU64>,
    shared: bool,
    zones: Arc<ZoneCounts>,
}

impl Counters {
    /// For one writing thread.
    pub fn owned() -> Arc<Counters> {
        Arc::default()
    }

    /// For several writing threads; dearer.
    pub fn shared() -> Arc<Counters> {
        Arc::new(Counters { shared: true, ..Counters::default() })
    }

    /// Queries by zone.
    pub fn zones(&self) -> &Arc<ZoneCounts> {
        &self.zones
    }

    /// Adds `n` to the number that `pick` picks.
    pub fn add(&self, pick: impl FnOnce(&Tally<AtomicU64>) -> &AtomicU64, n: u64) {
        let number = pick(&self.tally);
        if self.shared {
            number.fetch_add(n, Relaxed);
        } else {
            number.store(number.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }

    /// Notes a query, what it asked for and its answer, if it got one.
    pub fn answered(&self, transport: Transport, query: &[u8], asked: &Asked, answer: Option<&[u8]>) {
        self.add(|t| &t.queries[transport as usize], 1);
        self.add(|t| &t.octets_in, query.len() as u64);
        let rtype = asked.rtype(query);
        let kind =
            rtype.and_then(|rtype| KINDS.get(usize::from(rtype.0))).map_or(TYPES.len(), |kind| usize::from(*kind));
        self.add(|t| &t.types[kind], 1);
        let Some(answer) = answer else { return self.add(|t| &t.silent, 1) };
        let class = SIZE_CLASSES.iter().filter(|&&bound| answer.len() > bound).count();
        self.add(|t| &t.rcodes[usize::from(answer.get(3).map_or(0, |flags| flags & 0x0F))], 1);
        self.add(|t| &t.sizes[class], 1);
        self.add(|t| &t.octets_out, answer.len() as u64);
    }

    /// Notes a query that was answered from `serving`, its zone with it; for who shares these numbers with others.
    pub fn answered_from(
        &self,
        serving: &Serving,
        transport: Transport,
        query: &[u8],
        asked: &Asked,
        answer: Option<&[u8]>,
    ) {
        self.answered(transport, query, asked, answer);
        if let Some(zone) = asked.zone() {
            self.zones.add(serving, zone);
        }
    }

    /// Adds these numbers to `total`.
    pub fn add_to(&self, total: &mut Tally<u64>) {
        for (from, to) in self.tally.numbers().into_iter().zip(total.numbers_mut()) {
            *to += from.load(Relaxed);
        }
    }
}

macro_rules! every_number {
    ($tally:ident, $iter:ident, $($by:tt)+) => {
        $tally.queries.$iter().chain($tally.types.$iter()).chain($tally.rcodes.$iter()).chain($tally.sizes.$iter()).chain([
            $($by)+ $tally.octets_in, $($by)+ $tally.octets_out, $($by)+ $tally.silent, $($by)+ $tally.discarded,
            $($by)+ $tally.overflowed, $($by)+ $tally.unsent, $($by)+ $tally.limited, $($by)+ $tally.receive_errors,
            $($by)+ $tally.accepted, $($by)+ $tally.refused, $($by)+ $tally.evicted, $($by)+ $tally.expired,
            $($by)+ $tally.accept_errors,
        ])
    };
}

impl<N> Tally<N> {
    fn numbers(&self) -> impl IntoIterator<Item = &N> {
        every_number!(self, iter, &)
    }

    fn numbers_mut(&mut self) -> impl IntoIterator<Item = &mut N> {
        every_number!(self, iter_mut, &mut)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::gate::tests::{served, zone};
    use crate::name::Name;

    #[test]
    fn workers_add_up() {
        let (one, two) = (Counters::owned(), Counters::shared());
        let query = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x07example\x03net\0\0\x1C\0\x01";
        let asks = |query: &[u8]| Asked::of(&Serving::default(), query);
        one.answered(Transport::Udp, query, &asks(query), Some(&[0, 0, 0x80, 0x83]));
        two.answered(Transport::Tcp, &[0; 12], &asks(&[0; 12]), Some(&[0; 5000]));
        two.answered(Transport::Tcp, &[0; 3], &asks(&[0; 3]), None);
        two.add(|t| &t.accept_errors, 7);
        let mut total = Tally::default();
        one.add_to(&mut total);
        two.add_to(&mut total);
        assert_eq!((total.queries, total.rcodes[3], total.rcodes[0]), ([1, 2, 0], 1, 1));
        assert_eq!((total.sizes, total.octets_in, total.octets_out), ([1, 0, 0, 0, 0, 1], 44, 5004));
        assert_eq!((total.types[1], total.types[TYPES.len()]), (1, 2), "AAAA, and none");
        assert_eq!((total.silent, total.accept_errors), (1, 7));
    }

    #[test]
    fn queries_count_for_their_zone_over_any_transport() {
        let serving = served(vec![zone("x.example", &[("a", "w A 192.0.2.1")], &[0], &[])]);
        let counters = Counters::shared();
        let asks = |name: &[u8]| [b"\0\0\0\0\0\x01\0\0\0\0\0\0", name, b"\0\x01\0\x01"].concat();
        let within = asks(b"\x01W\x01x\x07EXAMPLE\0");
        for (transport, query) in [
            (Transport::Tcp, &within),
            (Transport::Encrypted, &within),
            (Transport::Tcp, &asks(b"\x07example\0")),
            (Transport::Tcp, &vec![0; 5]),
        ] {
            counters.answered_from(&serving, transport, query, &Asked::of(&serving, query), None);
        }
        let mut total = BTreeMap::new();
        counters.zones().add_to(&mut total);
        assert_eq!(total, BTreeMap::from([(Name::absolute("x.example").unwrap(), 2)]));
    }
}
