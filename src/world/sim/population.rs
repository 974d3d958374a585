//! Who asks: resolvers drawn by seed from a mixture, and how many clients stand behind each.

use std::net::{IpAddr, Ipv4Addr};

use super::chance::Chance;
use super::resolver::{Habits, Stale};

/// A mixture that resolvers are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// What they do.
    pub kinds: Vec<Kind>,
    /// How large they are.
    pub sizes: Vec<Size>,
    /// What clients keep themselves.
    pub minds: Minds,
}

/// Resolvers with the same habits.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// The part of clients behind them, in proportion to the other kinds'.
    pub part: f64,
    /// Their habits; how many caches they have is a matter of their size.
    pub habits: Habits,
}

/// Resolvers of the same size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The part of clients behind them, in proportion to the other sizes'.
    pub part: f64,
    /// How many clients stand behind each.
    pub clients: u32,
    /// The least and the greatest number of its caches.
    pub caches: (u16, u16),
}

/// What clients keep themselves, whatever TTL they were told, and how often they look. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minds {
    /// The part of clients that keep answers.
    pub part: f64,
    /// They keep them for at least so long.
    pub least: f64,
    /// They keep them for at most so long.
    pub most: f64,
    /// A client uses the name so often: the average time between two uses.
    pub pause: f64,
}

/// A resolver that was drawn: where it asks from, what it does, and who stands behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    /// The address that it asks from; no two are of the same network.
    pub address: IpAddr,
    /// Its habits.
    pub habits: Habits,
    /// The number of its kind in the mixture.
    pub kind: usize,
    /// How many clients stand behind it.
    pub clients: u32,
    /// What it draws from.
    pub seed: u64,
}

/// The most resolvers that are drawn: each has a /24 of its own.
const MOST: usize = 1 << 22;
/// How long what is past its end is given out at once by those who do so: as good as for ever.
const STALE_FOR: u32 = 30 * 86_400;

impl Mixture {
    /// The proposed one: 82 in 100 clients behind resolvers that keep TTLs, 8 behind caps, 7 behind floors, 2 behind stale
    /// answers, 1 behind negative answers that are kept for too long; 7 in 10 keep answers themselves.
    pub fn proposed() -> Mixture {
        let mut kinds = vec![Kind { part: 82.0, habits: Habits::default() }];
        for cap in [300, 3600, 6 * 3600, 12 * 3600] {
            kinds.push(Kind { part: 2.0, habits: Habits { cap, negative_cap: cap, ..Habits::default() } });
        }
        for (floor, of_floors) in [(60, 0.4), (300, 0.3), (900, 0.2), (3600, 0.1)] {
            let habits = Habits { floor, negative_floor: floor, ..Habits::default() };
            kinds.push(Kind { part: 7.0 * of_floors, habits });
        }
        kinds.push(Kind { part: 2.0, habits: Habits { stale: Stale::AtOnce(STALE_FOR), ..Habits::default() } });
        for (negative_floor, part) in [(600, 0.4), (3600, 0.3), (10_800, 0.3)] {
            kinds.push(Kind { part, habits: Habits { negative_floor, ..Habits::default() } });
        }
        Mixture { kinds, sizes: Size::proposed(), minds: Minds { part: 0.7, least: 30.0, most: 120.0, pause: 30.0 } }
    }

    /// Resolvers for so many clients. Kinds are dealt out so that the parts of clients come as close to the mixture as sizes
    /// allow, and by chance within that.
    pub fn draw(&self, clients: u32, seed: u64) -> Vec<Egress> {
        let mut chance = Chance::new(seed);
        let all: f64 = self.kinds.iter().map(|kind| counted(kind.part)).sum();
        let sizes: f64 = self.sizes.iter().map(|size| counted(size.part)).sum();
        let mut drawn: Vec<Egress> = Vec::new();
        // How many clients each kind has still to get. What a great one got too much, it gets less of smaller ones.
        let mut wanting = vec![0.0; self.kinds.len()];
        let mut left = clients;
        for (number, size) in self.sizes.iter().enumerate() {
            let last = number + 1 == self.sizes.len();
            let part = (f64::from(clients) * counted(size.part) / sizes).round() as u32;
            let mut open = if last { left } else { part.min(left) };
            left -= open;
            for (wants, kind) in wanting.iter_mut().zip(&self.kinds) {
                *wants += f64::from(open) * counted(kind.part) / all;
            }
            while open > 0 && drawn.len() < MOST {
                let clients = size.clients.clamp(1, open);
                open -= clients;
                let kind = pick(&wanting, &mut chance);
                if let Some(wants) = wanting.get_mut(kind) {
                    *wants -= f64::from(clients);
                }
                let (fewest, most) = size.caches;
                let caches = fewest + chance.below(u32::from(most.saturating_sub(fewest)) + 1) as u16;
                let habits = self.kinds.get(kind).map_or_else(Habits::default, |kind| kind.habits.clone());
                let habits = Habits { caches: caches.max(1), ..habits };
                let address = address(drawn.len() as u32);
                drawn.push(Egress { address, habits, kind, clients, seed: chance.draw() });
            }
        }
        drawn
    }
}

impl Size {
    /// A fifth of clients behind great services of many caches, three behind providers' resolvers, one behind small ones.
    pub fn proposed() -> Vec<Size> {
        vec![
            Size { part: 0.2, clients: 20_000, caches: (8, 16) },
            Size { part: 0.6, clients: 1000, caches: (1, 4) },
            Size { part: 0.2, clients: 10, caches: (1, 1) },
        ]
    }
}

fn counted(part: f64) -> f64 {
    if part.is_finite() { part.max(0.0) } else { 0.0 }
}

/// A kind that wants clients, by how many it wants; the one that wants most where none does.
fn pick(wanting: &[f64], chance: &mut Chance) -> usize {
    let all: f64 = wanting.iter().map(|wants| wants.max(0.0)).sum();
    let mut at = chance.share() * all;
    for (kind, wants) in wanting.iter().enumerate() {
        at -= wants.max(0.0);
        if at < 0.0 {
            return kind;
        }
    }
    let most = wanting.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
    most.map_or(0, |(kind, _)| kind)
}

/// An address in a /24 of its own.
fn address(number: u32) -> IpAddr {
    Ipv4Addr::from_bits((0x0100_0000 + (number << 8)) | 53).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixture_is_met_and_every_client_has_a_resolver() {
        let mixture = Mixture::proposed();
        for clients in [1, 9, 1000, 250_000] {
            let drawn = mixture.draw(clients, 5);
            assert_eq!(drawn.iter().map(|egress| egress.clients).sum::<u32>(), clients);
            assert_eq!(drawn, mixture.draw(clients, 5));
        }
        let drawn = mixture.draw(1_000_000, 6);
        let of = |kind| {
            f64::from(drawn.iter().filter(|egress| egress.kind == kind).map(|egress| egress.clients).sum::<u32>())
        };
        let parts: f64 = mixture.kinds.iter().map(|kind| kind.part).sum();
        for (number, kind) in mixture.kinds.iter().enumerate() {
            assert!((of(number) / 1e6 - kind.part / parts).abs() < 0.015, "kind {number}");
        }
        assert!(drawn.iter().any(|egress| egress.habits.caches >= 8));
    }

    #[test]
    fn odd_mixtures_are_no_trouble() {
        let none = Mixture { kinds: vec![Kind { part: f64::NAN, habits: Habits::default() }], ..Mixture::proposed() };
        let nothing = Mixture { kinds: Vec::new(), ..Mixture::proposed() };
        for mixture in [none, nothing] {
            assert_eq!(mixture.draw(100, 1).iter().map(|egress| egress.clients).sum::<u32>(), 100);
        }
    }
}
