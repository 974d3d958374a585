//! What is wrong with a zone that reads well: what no server should answer (errors) and what somebody should look at
//! (warnings).
//!
//! The severities follow the servers that operators know: what two of BIND, Knot and NSD refuse is an error. A file a
//! subject: `apex` (SOA, NS and DS at the origin), `owners` (what may stand together), `cuts` (delegations and DNAMEs),
//! `targets` (names in the data), `texts` (TXT and CAA), `denial` (NSEC3), `signing` (other records of
//! DNSSEC); `lay` is what they all ask about the zone.

mod apex;
mod cuts;
mod denial;
mod lay;
mod owners;
mod signing;
mod targets;
mod texts;

use std::collections::BTreeMap;

use crate::name::NameRef;
use crate::time::Ttl;
use crate::zone::diagnostic::{Diagnostic, Place, Severity};
use crate::zone::rdata;
use crate::zone::rrsets::{Rrset, Zone};
use crate::zone::text::Record;

/// What is too long; beyond it a check warns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest TTL. By default a week, where most resolvers cut longer ones.
    pub max_ttl: Limit,
    /// The longest negative TTL. By default a day (RFC 2308 §5 finds one to three hours sensible).
    pub max_negative_ttl: Limit,
}

/// What is too long, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// What is too long for any zone: answers are given with it all the same.
    Usual(Ttl),
    /// A cap that the zone has in the configuration. Answers here keep to it, whatever the files say; those of other servers
    /// that have the same files don't.
    Cap(Ttl),
}

impl Limit {
    /// The longest that is not too long.
    pub fn most(self) -> Ttl {
        match self {
            Limit::Usual(most) | Limit::Cap(most) => most,
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        const WEEK: Ttl = Ttl::new(7 * 86_400).unwrap();
        const DAY: Ttl = Ttl::new(86_400).unwrap();
        Limits { max_ttl: Limit::Usual(WEEK), max_negative_ttl: Limit::Usual(DAY) }
    }
}

impl Limits {
    /// What is too long for a zone with these caps of its own: the usual where it has none.
    pub fn within(max_ttl: Option<Ttl>, negative_ttl: Option<Ttl>) -> Limits {
        let usual = Limits::default();
        Limits {
            max_ttl: max_ttl.map_or(usual.max_ttl, Limit::Cap),
            max_negative_ttl: negative_ttl.map_or(usual.max_negative_ttl, Limit::Cap),
        }
    }
}

/// All findings about a zone as one site answers it, in the order of its files.
pub fn check(zone: &Zone, limits: &Limits) -> Vec<Diagnostic> {
    let lay = lay::Lay::of(zone);
    let mut findings = Findings { zone, found: Vec::new(), counts: BTreeMap::new() };
    apex::check(&lay, limits, &mut findings);
    owners::check(&lay, limits, &mut findings);
    cuts::check(&lay, &mut findings);
    targets::check(&lay, &mut findings);
    texts::check(&lay, &mut findings);
    denial::check(&lay, &mut findings);
    signing::check(&lay, &mut findings);
    findings.in_order()
}

/// The most findings of a kind that are listed; the last one says how many more there are.
const MAX_OF_A_KIND: usize = 200;
/// The most characters of a record that a finding shows.
const MAX_SHOWN: usize = 80;

/// The findings so far.
struct Findings<'a> {
    zone: &'a Zone,
    found: Vec<(Place, Diagnostic)>,
    /// How many of each kind; not all of them are listed.
    counts: BTreeMap<&'static str, usize>,
}

impl<'a> Findings<'a> {
    /// Adds an error about `record`.
    fn error(&mut self, id: &'static str, record: Record<'a>, message: String, advice: impl Into<String>) {
        self.add(Severity::Error, id, Some(record), message, advice.into());
    }

    /// Adds a warning about `record`.
    fn warning(&mut self, id: &'static str, record: Record<'a>, message: String, advice: impl Into<String>) {
        self.add(Severity::Warning, id, Some(record), message, advice.into());
    }

    /// Adds an error about what the zone does not have.
    fn lacking(&mut self, id: &'static str, message: String, advice: impl Into<String>) {
        self.add(Severity::Error, id, None, message, advice.into());
    }

    /// Adds a finding about `record`, or about the zone as a whole.
    fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        record: Option<Record<'a>>,
        message: String,
        advice: String,
    ) {
        let count = self.counts.entry(id).or_default();
        *count += 1;
        if *count > MAX_OF_A_KIND {
            return;
        }
        let place = record.map(|record| record.place).unwrap_or_default();
        let file = self.zone.files().get(usize::from(place.file)).cloned().unwrap_or_default();
        let text = record.map(|record| shown(record, self.zone.origin())).unwrap_or_default();
        let (line, column) = (place.line, place.column);
        self.found.push((place, Diagnostic { severity, id, file, line, column, text, message, advice }));
    }

    fn in_order(mut self) -> Vec<Diagnostic> {
        self.found.sort_by(|(a, x), (b, y)| a.cmp(b).then(x.id.cmp(y.id)));
        for (id, count) in self.counts.into_iter().filter(|(_, count)| *count > MAX_OF_A_KIND) {
            if let Some((_, last)) = self.found.iter_mut().rfind(|(_, finding)| finding.id == id) {
                last.message += &format!("; {} more records have the same fault", count - MAX_OF_A_KIND);
            }
        }
        self.found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }
}

/// A record as a master file writes it, its TTL left out.
fn shown(record: Record<'_>, origin: NameRef<'_>) -> String {
    let data = rdata::write(record.rtype, record.rdata, Some(origin));
    let text = format!("{} {} {data}", record.owner.relative_to(origin), record.rtype);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The record of a set that stands last: the one too many, where one would do.
fn last(set: Rrset<'_>) -> Option<Record<'_>> {
    set.records().max_by_key(|record| record.place)
}

/// The record of a set that stands first.
fn first(set: Rrset<'_>) -> Option<Record<'_>> {
    set.records().min_by_key(|record| record.place)
}

/// `line 7` or `lines 7, 9 and 12`, at most six of them; with their files where these differ.
fn lines<'a>(zone: &Zone, records: impl Iterator<Item = Record<'a>>) -> String {
    let mut places: Vec<Place> = records.map(|record| record.place).collect();
    places.sort();
    let one_file = places.iter().all(|place| place.file == places[0].file);
    let mut told: Vec<String> = places
        .iter()
        .take(6)
        .map(|place| match zone.files().get(usize::from(place.file)) {
            Some(file) if !one_file => format!("{file}:{}", place.line),
            _ => place.line.to_string(),
        })
        .collect();
    match places.len() {
        0..=1 => format!("line {}", told.join("")),
        2..=6 => {
            let end = told.pop().unwrap_or_default();
            format!("lines {} and {end}", told.join(", "))
        }
        many => format!("lines {} and {} more", told.join(", "), many - 6),
    }
}
