//! What happens in a run, and what goes wrong: drawn from a seed, and told in a line each.

use std::collections::BTreeMap;
use std::time::Duration;

use understudy::failover::health::Health;
use understudy::failover::plan::Kind;
use understudy::failover::policy::{Approval, Policy};
use understudy::failover::steps::Steps;
use understudy::share::Share;
use understudy::time::Ttl;
use understudy::world::sim::faulty::{DiskFault, Fault};

use crate::content::{LEVERS, SHARED, TTLS, Variant};
use crate::support::generate::Rng;

pub const REGIONS: [&str; 2] = ["default", "europe"];

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Act {
    /// A move is asked for. It may be carried out later than its plan was shown: by the plan's digest then.
    Move { kind: Kind, to: usize, region: Option<usize>, shown: Option<Duration> },
    /// Something is done to the moves of a region.
    Steer(Steering, usize),
    /// Checks see a site otherwise.
    Health(usize, Health),
    /// An operator says how a site is.
    Force(usize, Option<Health>),
    /// A site's text is edited.
    Edit(usize, Change),
    /// The clock is set forward or back, by so many milliseconds.
    Clock(i64),
    /// It was found out when the old answers of a region's move will be gone.
    Bound(usize),
    /// The daemon is stopped and started again.
    Restart,
}

#[derive(Clone, Copy, Debug)]
pub enum Steering {
    Hold,
    Resume,
    Abort,
    Approve,
}

/// What is edited in a site's text. No name goes.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Other addresses.
    Edition,
    /// Another TTL.
    Ttl(u32),
    /// One more lever.
    Lever(usize),
    /// The front leads to another lever, which the site gets if it has not got it.
    Front(usize),
}

impl Change {
    pub fn apply(self, variant: Variant) -> Variant {
        match self {
            Change::Edition => Variant { edition: variant.edition % 200 + 1, ..variant },
            Change::Ttl(ttl) => Variant { ttl, ..variant },
            Change::Lever(lever) => Variant { levers: variant.levers | 1 << lever, ..variant },
            Change::Front(SHARED) => Variant { lever: SHARED, levers: had(&variant), ..variant },
            Change::Front(lever) => Variant { lever, levers: had(&variant) | 1 << lever, ..variant },
        }
    }
}

fn had(variant: &Variant) -> u8 {
    if variant.lever == SHARED { variant.levers } else { variant.levers | 1 << variant.lever }
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct ResolverSpec {
    /// From which addresses.
    pub egresses: Vec<[u8; 4]>,
    /// Whether all of them fill one cache.
    pub shared: bool,
    /// How long it waits between two questions of its users, in milliseconds: up to twice as long.
    pub pause: u64,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub variants: Vec<Variant>,
    pub policy: Policy,
    /// Whether checks watch the sites.
    pub watched: bool,
    pub resolvers: Vec<ResolverSpec>,
    /// What happens when, from the beginning, in that order.
    pub acts: Vec<(Duration, Act)>,
    pub effects: BTreeMap<u64, Fault>,
    pub commits: BTreeMap<u64, DiskFault>,
}

/// How long things happen for.
const HORIZON: u64 = 1000;

impl Case {
    pub fn of(seed: u64) -> Case {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
        let rng = &mut rng;
        let sites = 2 + usize::from(rng.chance(40));
        let variants = variants(rng, sites);
        let policy = policy(rng);
        let watched = rng.chance(70);
        let resolvers = (0..5).map(|_| resolver(rng)).collect();
        let count = 2 + rng.below(10);
        let mut acts: Vec<_> = (0..count).map(|_| (when(rng), act(rng, sites))).collect();
        acts.extend(beside_moves(rng, &acts, sites));
        acts.sort_by_key(|(at, _)| *at);
        let mut effects = BTreeMap::new();
        let mut commits = BTreeMap::new();
        if rng.chance(75) {
            effects.extend((0..rng.below(5)).map(|_| (rng.below(40) as u64, fault(rng))));
            commits.extend((0..rng.below(3)).map(|_| (rng.below(40) as u64, disk_fault(rng))));
        }
        Case { seed, variants, policy, watched, resolvers, acts, effects, commits }
    }

    /// How many parts it has that may be left out.
    pub fn parts(&self) -> usize {
        self.acts.len() + self.effects.len() + self.commits.len()
    }

    /// The same with these parts only, by their number.
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Case {
        let mut number = 0;
        let mut next = || {
            number += 1;
            keep(number - 1)
        };
        let mut case = self.clone();
        case.acts.retain(|_| next());
        case.effects.retain(|_, _| next());
        case.commits.retain(|_, _| next());
        case
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Policy { steps, step_wait, low_ttl, approval, .. } = &self.policy;
        writeln!(f, "steps {:?}, wait {step_wait:?}, low TTL {low_ttl}, approval {approval:?}", steps.as_slice())?;
        self.variants.iter().try_for_each(|variant| writeln!(f, "{variant:?}"))?;
        self.resolvers.iter().try_for_each(|resolver| writeln!(f, "{resolver:?}"))?;
        self.acts.iter().try_for_each(|(at, act)| writeln!(f, "{at:>10.1?} {act:?}"))?;
        self.effects.iter().try_for_each(|(at, fault)| writeln!(f, "effect {at}: {fault:?}"))?;
        self.commits.iter().try_for_each(|(at, fault)| writeln!(f, "commit {at}: {fault:?}"))
    }
}

fn variants(rng: &mut Rng, sites: usize) -> Vec<Variant> {
    // Mostly both sites have what either refers to; sometimes one has a lever of its own.
    let everywhere = rng.below(1 << LEVERS) as u8;
    let variant = |site| {
        let own: u8 = if rng.chance(25) { 1 << rng.below(LEVERS) } else { 0 };
        let lever = match rng.below(3) {
            0 => SHARED,
            _ => (0..LEVERS)
                .find(|at| everywhere & (1u8 << ((at + site) % LEVERS)) != 0)
                .map_or(SHARED, |at| (at + site) % LEVERS),
        };
        let lever = if own != 0 && rng.chance(50) { own.trailing_zeros() as usize } else { lever };
        Variant { site, lever, levers: everywhere | own, ttl: *rng.pick(&TTLS), edition: 1 }
    };
    (0..sites).map(variant).collect()
}

fn policy(rng: &mut Rng) -> Policy {
    let share = |percent: u16| Share::new(percent * 100).unwrap();
    let steps: &[&[u16]] = &[&[10, 30, 100], &[50, 100], &[25, 50, 75, 100], &[100]];
    let steps = rng.pick(steps).iter().map(|percent| share(*percent)).collect::<Vec<_>>();
    Policy {
        steps: Steps::try_from(steps).unwrap(),
        step_wait: Duration::from_secs(20),
        low_ttl: Ttl::new(*rng.pick(&[5, 10, 30])).unwrap(),
        bake: Duration::from_secs(60),
        approval: if rng.chance(20) { Approval::Planned } else { Approval::Nothing },
        approval_expires: Duration::from_secs(200),
        hold_reminder: Duration::from_secs(300),
        hold_deadline: Duration::from_secs(1200),
        drain_deadline: Duration::from_secs(1800),
        capacity_steps: rng.chance(20),
        ..Policy::default()
    }
}

fn resolver(rng: &mut Rng) -> ResolverSpec {
    let europe = rng.chance(40);
    let count = *rng.pick(&[1, 1, 3, 8]);
    let egresses = (0..count).map(|_| {
        // A farm may have addresses in both regions.
        let europe = if count > 3 && rng.chance(20) { !europe } else { europe };
        let [second, third, last] = [0; 3].map(|_| rng.below(250) as u8 + 1);
        [if europe { 100 } else { 200 }, second, third, last]
    });
    let egresses = egresses.collect();
    ResolverSpec { egresses, shared: rng.chance(70), pause: 3000 + rng.below(25_000) as u64 }
}

/// What happens just before and while traffic moves tells more than what happens at any other time.
fn beside_moves(rng: &mut Rng, acts: &[(Duration, Act)], sites: usize) -> Vec<(Duration, Act)> {
    let mut beside = Vec::new();
    for (at, act) in acts {
        let Act::Move { region, shown, .. } = act else { continue };
        let at = *at + shown.unwrap_or_default();
        let region = region.unwrap_or(0);
        if rng.chance(30) {
            beside.push((at + seconds(rng, 100), Act::Steer(Steering::Approve, region)));
        }
        if rng.chance(40) {
            let steering = *rng.pick(&[Steering::Abort, Steering::Abort, Steering::Hold, Steering::Resume]);
            beside.push((at + seconds(rng, 400), Act::Steer(steering, region)));
        }
        if rng.chance(30) {
            beside.push((at.saturating_sub(seconds(rng, 200)), edit(rng, sites)));
        }
        if rng.chance(20) {
            beside.push((at + seconds(rng, 200), edit(rng, sites)));
        }
        if rng.chance(25) {
            let bounds = (0..4).map(|_| (at + seconds(rng, 500), Act::Bound(region)));
            beside.extend(bounds);
        }
        if rng.chance(15) {
            let health = *rng.pick(&[Health::Up, Health::Down, Health::Unknown]);
            beside.push((at + seconds(rng, 200), Act::Health(rng.below(sites), health)));
        }
    }
    beside
}

fn edit(rng: &mut Rng, sites: usize) -> Act {
    let lever = rng.below(LEVERS);
    let change = match rng.below(5) {
        0 => Change::Edition,
        1 | 2 => Change::Ttl(*rng.pick(&TTLS)),
        3 => Change::Lever(lever),
        _ => Change::Front(if rng.chance(25) { SHARED } else { lever }),
    };
    Act::Edit(rng.below(sites), change)
}

fn when(rng: &mut Rng) -> Duration {
    Duration::from_millis(rng.below(HORIZON as usize * 1000) as u64)
}

fn seconds(rng: &mut Rng, most: usize) -> Duration {
    Duration::from_millis(rng.below(most * 1000) as u64)
}

fn act(rng: &mut Rng, sites: usize) -> Act {
    let site = rng.below(sites);
    match rng.below(20) {
        0..8 => {
            let kind =
                *rng.pick(&[Kind::Switchover, Kind::Switchover, Kind::Switchover, Kind::Failover, Kind::Rollback]);
            let region = rng.chance(50).then(|| rng.below(REGIONS.len()));
            let shown = rng.chance(35).then(|| seconds(rng, 300));
            // All are at the first site when it begins.
            let to = if rng.chance(60) { sites - 1 } else { site };
            Act::Move { kind, to, region, shown }
        }
        8..12 => {
            let steering = *rng.pick(&[Steering::Hold, Steering::Resume, Steering::Abort, Steering::Approve]);
            Act::Steer(steering, rng.below(REGIONS.len()))
        }
        12 | 13 => Act::Health(site, *rng.pick(&[Health::Up, Health::Down, Health::Unknown])),
        14 => Act::Force(site, *rng.pick(&[None, Some(Health::Up), Some(Health::Down)])),
        15..18 => edit(rng, sites),
        18 => Act::Clock(rng.below(120_000) as i64 - 90_000),
        _ => Act::Restart,
    }
}

fn fault(rng: &mut Rng) -> Fault {
    match rng.below(6) {
        0 => Fault::Failed,
        1 => Fault::Lost,
        2 => Fault::Late(seconds(rng, 120)),
        3 => Fault::Doubled(seconds(rng, 120)),
        4 => Fault::CrashBefore,
        _ => Fault::CrashAfter,
    }
}

fn disk_fault(rng: &mut Rng) -> DiskFault {
    match rng.below(4) {
        0 | 1 => DiskFault::Full(1 + rng.below(4) as u64),
        2 => DiskFault::CrashBefore,
        _ => DiskFault::CrashAfter,
    }
}
