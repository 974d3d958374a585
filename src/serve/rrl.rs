//! Response rate limiting: what a forged source can have us send to its victim is bounded.
//!
//! Each UDP worker limits by itself, in a table of its own and fixed size, so that there is nothing to share; a network
//! whose queries are spread over several workers gets up to as many times the rate. When the table is full of networks
//! at their limit, the one nearest to being free again is forgotten: it errs towards answering.

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::peek::{self, Kind};
use crate::net::Network;

/// Networks that share a cache line, of which a newcomer may take any.
const WAYS: usize = 4;

/// How answers over UDP are limited.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RateLimit {
    /// Answers a second to one network, of each kind: positive, empty, NXDOMAIN, error.
    pub per_second: NonZeroU32,
    /// How much of that rate may come at once.
    pub window: Duration,
    /// Every so-manieth answer over the limit is sent cut instead of held back, so that a real client goes on over TCP;
    /// 0 sends none.
    pub slip: u32,
    /// Prefix length of what counts as one network in IPv4.
    pub prefix_v4: u8,
    /// Prefix length of what counts as one network in IPv6.
    pub prefix_v6: u8,
    /// Networks that are never limited.
    pub exempt: Vec<Network>,
    /// Networks (times kinds of answers) to remember, in each worker.
    pub remembered: usize,
}

impl Default for RateLimit {
    fn default() -> RateLimit {
        RateLimit {
            per_second: NonZeroU32::new(200).unwrap_or(NonZeroU32::MIN),
            window: Duration::from_secs(1),
            slip: 2,
            prefix_v4: 24,
            prefix_v6: 56,
            exempt: Vec::new(),
            remembered: 1 << 16,
        }
    }
}

/// What to do with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Send it.
    Send,
    /// Send it cut.
    Cut,
    /// Hold it back.
    Drop,
}

/// The limiter of one worker.
#[derive(Debug)]
pub(super) struct Limiter {
    settings: RateLimit,
    /// Microseconds that an answer uses up, and how far ahead of the clock a network may be.
    step: u64,
    window: u64,
    buckets: Box<[[Bucket; WAYS]]>,
    hasher: foldhash::quality::RandomState,
    started: Instant,
    limited: u32,
}

/// When the answers of a network (of one kind) would be over, were they sent at just the rate that is allowed.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    key: u64,
    until: u64,
}

impl Limiter {
    pub(super) fn new(settings: &RateLimit) -> Limiter {
        let sets = (settings.remembered / WAYS).max(1).next_power_of_two();
        Limiter {
            step: (1_000_000 / u64::from(settings.per_second.get())).max(1),
            window: u64::try_from(settings.window.as_micros()).unwrap_or(u64::MAX),
            buckets: vec![[Bucket::default(); WAYS]; sets].into(),
            hasher: foldhash::quality::RandomState::default(),
            started: Instant::now(),
            limited: 0,
            settings: settings.clone(),
        }
    }

    /// The time as the limiter counts it: once a batch.
    pub(super) fn now(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// What to do with this answer to a query from `source`, of whom `proven` says whether the address is no forged one.
    pub(super) fn judge(&mut self, now: u64, source: IpAddr, answer: &[u8], proven: impl FnOnce() -> bool) -> Verdict {
        let source = source.to_canonical();
        if self.within(now, source, peek::kind(answer)) {
            return Verdict::Send;
        }
        // Dearer questions are asked of those over the limit only.
        if self.settings.exempt.iter().any(|network| network.contains(source)) || proven() {
            return Verdict::Send;
        }
        self.limited = self.limited.wrapping_add(1);
        if self.limited.checked_rem(self.settings.slip) == Some(0) { Verdict::Cut } else { Verdict::Drop }
    }

    /// Whether one more answer is within the network's limit; counts it if so.
    fn within(&mut self, now: u64, source: IpAddr, kind: Kind) -> bool {
        let prefix = if source.is_ipv4() { self.settings.prefix_v4 } else { self.settings.prefix_v6 };
        let network = Network::new(source, prefix).unwrap_or(Network::host(source));
        let key = self.hasher.hash_one((network, kind));
        let set = key as usize & (self.buckets.len() - 1);
        let buckets = &mut self.buckets[set];
        let own = buckets.iter().position(|bucket| bucket.key == key);
        // The one whose time is over first, long ago as a rule.
        let free = || (0..WAYS).min_by_key(|&way| buckets[way].until).unwrap_or(0);
        let way = own.unwrap_or_else(free);
        let until = if own.is_some() { buckets[way].until.max(now) } else { now };
        let within = until - now < self.window.max(self.step);
        buckets[way] = Bucket { key, until: if within { until + self.step } else { until } };
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn limiter(per_second: u32, slip: u32, remembered: usize) -> Limiter {
        let per_second = NonZeroU32::new(per_second).unwrap();
        let exempt = vec!["203.0.113.0/24".parse().unwrap()];
        Limiter::new(&RateLimit { per_second, slip, exempt, remembered, ..RateLimit::default() })
    }

    /// An answer of this RCODE, without a question.
    fn answer(rcode: u8) -> [u8; 12] {
        [0, 0, 0x80, rcode, 0, 0, 0, 0, 0, 0, 0, 0]
    }

    fn sent(limiter: &mut Limiter, now: u64, source: &str, rcode: u8, times: usize) -> usize {
        let source = source.parse().unwrap();
        let sent = |_: &usize| limiter.judge(now, source, &answer(rcode), || false) == Verdict::Send;
        (0..times).filter(sent).count()
    }

    #[test]
    fn a_network_gets_its_rate_and_no_other_pays_for_it() {
        let mut limiter = limiter(10, 0, 1024);
        for (now, source, rcode, times, expected) in [
            (SECOND, "192.0.2.1", 3, 100, 10),
            // The same network, also as a mapped address.
            (SECOND, "192.0.2.200", 3, 100, 0),
            (SECOND, "::ffff:192.0.2.3", 3, 100, 0),
            // Another kind, another network, another family, and one that is exempt.
            (SECOND, "192.0.2.1", 5, 100, 10),
            (SECOND, "192.0.3.1", 3, 100, 10),
            (SECOND, "2001:db8::1", 3, 100, 10),
            (SECOND, "2001:db8:0:ff::1", 3, 100, 0),
            (SECOND, "2001:db8:0:100::1", 3, 100, 10),
            (SECOND, "203.0.113.5", 3, 100, 100),
            // What time gives back, and no more than the window ever.
            (SECOND + SECOND / 2, "192.0.2.1", 3, 100, 5),
            (60 * SECOND, "192.0.2.1", 3, 100, 10),
        ] {
            assert_eq!(sent(&mut limiter, now, source, rcode, times), expected, "{source} {rcode} at {now}");
        }
    }

    #[test]
    fn some_of_what_is_over_the_limit_is_sent_cut() {
        for (slip, cut) in [(0, 0), (1, 90), (2, 45), (10, 9)] {
            let mut limiter = limiter(10, slip, 1024);
            let source = "192.0.2.1".parse().unwrap();
            let verdicts: Vec<Verdict> = (0..100).map(|_| limiter.judge(0, source, &answer(0), || false)).collect();
            assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Send).count(), 10);
            assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Cut).count(), cut, "slip {slip}");
        }
    }

    #[test]
    fn who_is_proven_is_never_limited() {
        let mut limiter = limiter(1, 0, 64);
        let source = "192.0.2.1".parse().unwrap();
        let sent = |limiter: &mut Limiter, proven| limiter.judge(7, source, &answer(3), || proven) == Verdict::Send;
        assert!(sent(&mut limiter, false) && !sent(&mut limiter, false));
        assert!(sent(&mut limiter, true) && !sent(&mut limiter, false) && sent(&mut limiter, true));
    }

    #[test]
    fn a_flood_from_everywhere_leaves_the_table_as_large_as_it_was() {
        let mut limiter = limiter(10, 0, 64);
        for network in 0..100_000u32 {
            let source = std::net::Ipv4Addr::from_bits(network << 8);
            assert_eq!(limiter.judge(7, source.into(), &answer(3), || false), Verdict::Send);
        }
        assert_eq!(limiter.buckets.len() * WAYS, 64);
        // One that keeps at it is limited all the same.
        assert!(sent(&mut limiter, 7, "192.0.2.1", 3, 100) <= 10);
    }
}
