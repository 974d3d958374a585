//! Steps of a ramp, by what was asked and not by how many ask: one great resolver counts as much as all its users.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::known::Known;
use crate::name::Name;
use crate::net::ClientNet;
use crate::serving::regions::RegionId;
use crate::serving::units::{Unit, Units};
use crate::share::Share;

/// Fewer answers than this say nothing about who asks how much.
const ENOUGH: u64 = 1000;
/// A unit that asks for more than this part of all is named, in basis points: it moves whole.
const GREAT: u64 = 100;

/// What units of some regions asked for of late.
#[derive(Clone, Debug, Default)]
pub struct Weights<'u> {
    units: HashMap<Unit<'u>, (ClientNet, u64)>,
    total: u64,
}

/// A step of a ramp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeighedStep {
    /// The share of what is asked that is wanted.
    pub wanted: Share,
    /// The share of units that comes closest to it.
    pub units: Share,
    /// What these asked for of late.
    pub measured: Share,
    /// Units that move whole with this step and asked for much: each with its share.
    pub great: Vec<(String, Share)>,
}

impl<'u> Weights<'u> {
    /// What the units of a zone's regions asked for of late; none if too little is known.
    pub fn of(known: &impl Known, zone: &Name, regions: &BTreeSet<RegionId>, units: &'u Units) -> Option<Weights<'u>> {
        let mut weights = Weights::default();
        known.each_part(|exposures, part| {
            for (told, _) in exposures.of_regions(part, zone, regions) {
                let network = told.network.network(told.level);
                network.into_iter().for_each(|network| weights.add(units, ClientNet(network), told.count.value()));
            }
        });
        (weights.total >= ENOUGH).then_some(weights)
    }

    /// Counts what a client asked for with its unit.
    pub fn add(&mut self, units: &'u Units, client: ClientNet, count: u64) {
        let unit = self.units.entry(units.unit_of(client)).or_insert((client, 0));
        unit.1 += count;
        self.total += count;
    }

    /// What each operator's resolvers asked for, of all.
    pub fn of_operators(&self) -> impl Iterator<Item = (&'u str, Share)> {
        self.units.iter().filter_map(|(unit, (_, count))| match unit {
            Unit::Operator(name) => Some((*name, self.share_of(*count))),
            Unit::Network(_) => None,
        })
    }

    /// The steps that come closest to the wanted shares of what is asked, in a move with this salt: each greater than the one
    /// before, the last one all. Where two wanted ones come to the same, there is one.
    pub fn steps(&self, wanted: &[Share], units: &Units, salt: u64) -> Vec<WeighedStep> {
        let mut order: Vec<(u16, Unit<'u>, u64)> =
            self.units.iter().map(|(unit, (client, count))| (units.moves_at(*client, salt), *unit, *count)).collect();
        order.sort_unstable();
        let mut steps: Vec<WeighedStep> = Vec::new();
        for wanted in wanted.iter().copied().filter(|share| share.is_split()) {
            let (at, measured) = self.closest(&order, wanted);
            let below = steps.last().map_or(0, |step| step.units.basis_points());
            let Some(share) = Share::new(at).filter(|share| share.is_split() && at > below) else { continue };
            let moving = order.iter().filter(|(position, ..)| *position > below && *position <= at);
            let great = moving.map(|(_, name, count)| (name.to_string(), self.share_of(*count)));
            let great = great.filter(|(_, share)| u64::from(share.basis_points()) >= GREAT).collect();
            steps.push(WeighedStep { wanted, units: share, measured, great });
        }
        let below = steps.last().map_or(0, |step| step.units.basis_points());
        let rest = order.iter().filter(|(position, ..)| *position > below);
        let great = rest.map(|(_, name, count)| (name.to_string(), self.share_of(*count)));
        let great = great.filter(|(_, share)| u64::from(share.basis_points()) >= GREAT).collect();
        steps.push(WeighedStep { wanted: Share::ALL, units: Share::ALL, measured: Share::ALL, great });
        steps
    }

    /// The share of units whose measured share is closest to the wanted one, and that one.
    fn closest(&self, order: &[(u16, Unit<'u>, u64)], wanted: Share) -> (u16, Share) {
        let (mut best, mut sum) = ((0, Share::NONE), 0);
        let off = |share: Share| share.basis_points().abs_diff(wanted.basis_points());
        for (number, (position, _, count)) in order.iter().enumerate() {
            sum += count;
            // Those at one position move together.
            if order.get(number + 1).is_some_and(|(next, ..)| next == position) {
                continue;
            }
            let measured = self.share_of(sum);
            // Even a step that moves more than is wanted is better than none at all.
            if best.0 == 0 || off(measured) < off(best.1) {
                best = (*position, measured);
            }
        }
        best
    }

    fn share_of(&self, count: u64) -> Share {
        let points = u128::from(count) * u128::from(Share::ALL.basis_points()) / u128::from(self.total.max(1));
        Share::new(u16::try_from(points).unwrap_or(u16::MAX)).unwrap_or(Share::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Region;
    use crate::serving::units::UnitKey;

    fn client(number: u32) -> ClientNet {
        ClientNet::from_source(std::net::Ipv4Addr::from_bits(number << 8 | 10 << 24).into())
    }

    fn shares(points: &[u16]) -> Vec<Share> {
        points.iter().map(|points| Share::new(*points).unwrap()).collect()
    }

    #[test]
    fn steps_follow_what_is_asked() {
        let units = Units::new(UnitKey([7; 16]), &[]);
        let mut weights = Weights::default();
        // A tenth of the networks ask nine tenths.
        (0..5000).for_each(|n| weights.add(&units, client(n), if n % 10 == 0 { 81 } else { 1 }));
        for salt in 0..20 {
            let steps = weights.steps(&shares(&[100, 1000, 3000, 10_000]), &units, salt);
            assert_eq!(steps.len(), 4);
            for step in &steps[..3] {
                assert!(step.measured.basis_points().abs_diff(step.wanted.basis_points()) < 20, "{step:?}");
                assert!(step.great.is_empty());
            }
            assert!(steps.iter().map(|step| step.units).is_sorted_by(|one, other| one < other));
            assert_eq!(steps[3].units, Share::ALL);
        }
    }

    #[test]
    fn a_great_resolver_moves_whole_and_is_named() {
        let quad = Region { name: "quad".into(), networks: vec!["10.0.0.0/16".parse().unwrap()] };
        let units = Units::new(UnitKey([7; 16]), &[quad]);
        let mut weights = Weights::default();
        // Forty of every hundred questions are quad's, from 256 networks.
        (0..256).for_each(|n| weights.add(&units, client(n), 25));
        (256..9856).for_each(|n| weights.add(&units, client(n), 1));
        let mut named = BTreeSet::new();
        for salt in 0..40 {
            let steps = weights.steps(&shares(&[1000, 5000]), &units, salt);
            let quads: Vec<_> = steps.iter().filter(|step| !step.great.is_empty()).collect();
            assert_eq!(quads.len(), 1, "{steps:?}");
            assert_eq!(quads[0].great, [("the resolvers of quad".to_owned(), Share::new(4000).unwrap())]);
            named.insert(quads[0].wanted);
        }
        // It is not always the same step.
        assert!(named.len() > 1);
    }

    #[test]
    fn one_unit_is_one_step() {
        let units = Units::new(UnitKey([7; 16]), &[]);
        let mut weights = Weights::default();
        weights.add(&units, client(1), 5000);
        let steps = weights.steps(&shares(&[100, 1000, 3000, 10_000]), &units, 3);
        assert!(steps.len() <= 2, "{steps:?}");
        assert_eq!(steps.last().unwrap().units, Share::ALL);
    }
}
