//! A site's text laid over the common one: which records of both make the zone.

use std::sync::Arc;

use foldhash::HashSet;

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::text::{Record, Records, ZoneText};

/// Set in the number of a record of the site's text.
const OF_SITE: u32 = 1 << 31;

/// The records of a zone in two texts.
pub(super) struct Overlay<'a> {
    common: Option<&'a ZoneText>,
    site: Option<&'a ZoneText>,
    replaced: Replaced<'a>,
}

impl<'a> Overlay<'a> {
    pub fn new(common: Option<&'a ZoneText>, site: Option<&'a ZoneText>) -> Overlay<'a> {
        let replaced = match (common, site) {
            (Some(_), Some(site)) => Replaced::of(site),
            _ => Replaced::default(),
        };
        // A site's whole zone stands alone.
        Overlay { common: common.filter(|_| !replaced.everything), site, replaced }
    }

    /// The numbers of the zone's records.
    pub fn picked(&self) -> Vec<u32> {
        let numbers = |text: Option<&ZoneText>| 0..text.map_or(0, |text| text.records.len() as u32);
        let common = numbers(self.common).filter(|number| !self.replaced.hides(&self.record(*number)));
        common.chain(numbers(self.site).map(|number| number | OF_SITE)).collect()
    }

    /// The record of a number.
    pub fn record(&self, number: u32) -> Record<'a> {
        let from = |text: Option<&'a ZoneText>, number: u32| -> Record<'a> {
            let Some(text) = text else { unreachable!("records are numbered by the texts that there are") };
            let records: &'a Records = &text.records;
            records.get(number as usize)
        };
        if number & OF_SITE == 0 {
            return from(self.common, number);
        }
        let mut record = from(self.site, number & !OF_SITE);
        // Files of the common text stand in front.
        record.place.file += self.common.map_or(0, |text| text.files.len() as u16);
        record
    }

    /// The paths of all files; a record's place counts into it.
    pub fn files(&self) -> Arc<[String]> {
        self.common.into_iter().chain(self.site).flat_map(|text| text.files.iter().cloned()).collect()
    }
}

/// What a site's text takes the place of.
#[derive(Default)]
struct Replaced<'a> {
    everything: bool,
    sets: HashSet<(NameRef<'a>, RrType)>,
    owners: HashSet<NameRef<'a>>,
    owners_of_cname: HashSet<NameRef<'a>>,
}

impl<'a> Replaced<'a> {
    fn of(site: &'a ZoneText) -> Replaced<'a> {
        if site.records.iter().any(|record| record.rtype == RrType::SOA) {
            return Replaced { everything: true, ..Replaced::default() };
        }
        let mut replaced = Replaced::default();
        for record in site.records.iter() {
            replaced.sets.insert((record.owner, record.rtype));
            replaced.owners.insert(record.owner);
            if record.rtype == RrType::CNAME {
                replaced.owners_of_cname.insert(record.owner);
            }
        }
        replaced
    }

    fn hides(&self, record: &Record<'_>) -> bool {
        !self.owners.is_empty()
            && (self.sets.contains(&(record.owner, record.rtype))
                || self.owners_of_cname.contains(&record.owner)
                // A CNAME stands alone: where the site has other data, they stand instead of the common CNAME.
                || record.rtype == RrType::CNAME && self.owners.contains(&record.owner))
    }
}
