//! Looking at who was told what, be that at hand or kept by a thread that learns more all the time.

use std::collections::BTreeSet;

use super::fold::Exposures;
use super::networks::{Networks, Told};
use super::points::Point;
use crate::name::Name;
use crate::serving::regions::RegionId;

/// Where it is known who was told what.
pub trait Known {
    /// Looks at all that is known by now.
    fn look<T>(&self, look: impl FnOnce(&Exposures) -> T) -> T;

    /// Looks at the networks that were told something, part by part: all entries of a network are in one part. Nothing else
    /// waits for longer than for one part; what becomes known meanwhile may be seen or not.
    fn each_part(&self, look: impl FnMut(&Exposures, &mut dyn Iterator<Item = Told>));
}

impl Known for Exposures {
    fn look<T>(&self, look: impl FnOnce(&Exposures) -> T) -> T {
        look(self)
    }

    fn each_part(&self, mut look: impl FnMut(&Exposures, &mut dyn Iterator<Item = Told>)) {
        (0..Networks::parts()).for_each(|number| self.look_at_part(number, &mut look));
    }
}

impl Exposures {
    /// Looks at the networks of one part.
    pub fn look_at_part(&self, number: usize, look: &mut impl FnMut(&Exposures, &mut dyn Iterator<Item = Told>)) {
        look(self, &mut self.networks().part(number));
    }

    /// Of these networks, those of some regions that were told something of a zone; each with what it was told.
    pub(super) fn of_regions(
        &self,
        part: &mut dyn Iterator<Item = Told>,
        zone: &Name,
        regions: &BTreeSet<RegionId>,
    ) -> impl Iterator<Item = (Told, Point)> {
        part.filter_map(|told| Some((told, self.points().get(told.point)?))).filter(|(_, point)| {
            let of_zone = || self.edition(point.what.edition).is_some_and(|info| info.zone == *zone);
            regions.contains(&point.what.region) && of_zone()
        })
    }
}
