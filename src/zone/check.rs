//! What is wrong with a zone that reads well: what no server should answer (errors) and what somebody should look at
//! (warnings).
//!
//! The severities follow the servers that operators know: what two of BIND, Knot and NSD refuse is an error. A file a
//! subject: `apex` (SOA, NS and DS at the origin), `owners` (what may stand together), `cuts` (delegations and DNAMEs),
//! `targets` (names in the data), `texts` (TXT and CAA); `lay` is what they all ask about the zone.

mod apex;
mod cuts;
mod lay;
mod owners;
mod targets;
mod texts;

use crate::time::Ttl;
use crate::zone::diagnostic::{Diagnostic, Place, Severity};
use crate::zone::rrsets::{Rrset, Zone};
use crate::zone::text::Record;

/// What is too long; beyond it a check warns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest TTL. By default a week, where most resolvers cut longer ones.
    pub max_ttl: Ttl,
    /// The longest negative TTL. By default a day (RFC 2308 §5 finds one to three hours sensible).
    pub max_negative_ttl: Ttl,
}

impl Default for Limits {
    fn default() -> Limits {
        const WEEK: Ttl = Ttl::new(7 * 86_400).unwrap();
        const DAY: Ttl = Ttl::new(86_400).unwrap();
        Limits { max_ttl: WEEK, max_negative_ttl: DAY }
    }
}

/// All findings about a zone as one site answers it, in the order of its files.
pub fn check(zone: &Zone, limits: &Limits) -> Vec<Diagnostic> {
    let lay = lay::Lay::of(zone);
    let mut findings = Findings { zone, found: Vec::new() };
    apex::check(&lay, limits, &mut findings);
    owners::check(&lay, limits, &mut findings);
    cuts::check(&lay, &mut findings);
    targets::check(&lay, &mut findings);
    texts::check(&lay, &mut findings);
    findings.in_order()
}

/// The findings so far.
struct Findings<'a> {
    zone: &'a Zone,
    found: Vec<(Place, Diagnostic)>,
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
        let origin = self.zone.origin();
        let place = record.map(|record| record.place).unwrap_or_default();
        let file = self.zone.files().get(usize::from(place.file)).cloned().unwrap_or_default();
        let text = record.map(|record| format!("{} {}", record.owner.relative_to(origin), record.rtype));
        let (line, column) = (place.line, place.column);
        let text = text.unwrap_or_default();
        self.found.push((place, Diagnostic { severity, id, file, line, column, text, message, advice }));
    }

    fn in_order(mut self) -> Vec<Diagnostic> {
        self.found.sort_by(|(a, x), (b, y)| a.cmp(b).then(x.id.cmp(y.id)));
        self.found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
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

/// `line 7` or `lines 7, 9 and 12`, at most six of them.
fn lines<'a>(records: impl Iterator<Item = Record<'a>>) -> String {
    let mut numbers: Vec<String> = Vec::new();
    let mut places: Vec<Place> = records.map(|record| record.place).collect();
    places.sort();
    for place in places.iter().take(6) {
        numbers.push(place.line.to_string());
    }
    match places.len() {
        0..=1 => format!("line {}", numbers.join("")),
        2..=6 => {
            let end = numbers.pop().unwrap_or_default();
            format!("lines {} and {end}", numbers.join(", "))
        }
        many => format!("lines {} and {} more", numbers.join(", "), many - 6),
    }
}
