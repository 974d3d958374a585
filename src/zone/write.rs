//! Zones as master files: each record on a line of its own, names relative to the origin, owners written once.

use std::fmt::Write as _;

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::rdata;
use crate::zone::rrsets::Zone;
use crate::zone::text::{Record, ZoneText};

/// The zone text as one master file; its records keep their order. Reading it gives the same records.
pub fn text(text: &ZoneText) -> String {
    master_file(text.origin.as_ref(), text.records.iter())
}

/// The RRsets of a zone as a master file, each record with the TTL of its set, the SOA first.
pub fn zone(zone: &Zone) -> String {
    let sets = || zone.rrsets();
    let first = sets().filter(|set| set.rtype == RrType::SOA);
    let others = sets().filter(|set| set.rtype != RrType::SOA);
    let records =
        first.chain(others).flat_map(|set| set.records().map(move |record| Record { ttl: set.ttl, ..record }));
    master_file(zone.origin(), records)
}

fn master_file<'a>(origin: NameRef<'_>, records: impl Iterator<Item = Record<'a>>) -> String {
    let mut out = format!("$ORIGIN {origin}\n");
    let mut last: Option<NameRef<'_>> = None;
    for record in records {
        // The case of a name is part of the text.
        if last.is_none_or(|last| last.as_wire() != record.owner.as_wire()) {
            out.push_str(&rdata::relative(record.owner, origin));
        }
        last = Some(record.owner);
        let data = rdata::write(record.rtype, record.rdata, Some(origin));
        let _ = writeln!(out, "\t{}\t{}\t{data}", record.ttl, record.rtype);
    }
    out
}
