//! `check`: all that is wrong with a configuration and its zones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::command::Subject;
use crate::config::{Config, Origin, Problem, Source, SourceError, ZoneConfig};
use crate::control::api::Failure;
use crate::control::api::rename::{FrontStatus, LeverCount};
use crate::count::counted;
use crate::driver;
use crate::name::{Name, NameRef};
use crate::rename::levers::fronts;
use crate::rr::RrType;
use crate::snapshot::Snapshot;
use crate::snapshot::compile::{CompileError, Shape};
use crate::snapshot::sought::HashKey;
use crate::store::files::{FileSources, FilesError};
use crate::time::Timestamp;
use crate::zone::check::{Limits, check};
use crate::zone::diagnostic::{Diagnostic, Place, Severity};
use crate::zone::reader;
use crate::zone::rrsets::Zone;
use crate::zone::signatures::Signatures;
use crate::zone::text::ZoneText;

/// How many faults of signatures are listed.
const MAX_SIGNATURES: usize = 50;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct CheckReport {
    /// Whether all of it can be served.
    pub(super) accepted: bool,
    /// What is wrong with the configuration. Zones are checked once that is right.
    pub(super) problems: Vec<Problem>,
    /// The zones, in the order of the configuration.
    pub(super) zones: Vec<ZoneCheck>,
    /// What an operator may want to know, and is not wrong.
    pub(super) advice: Vec<String>,
}

/// What a check found about a zone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct ZoneCheck {
    /// The origin.
    pub(super) name: Name,
    /// Its sites; none where a file can't be read.
    pub(super) sites: Vec<SiteCheck>,
    /// How many findings are errors: with any, the zone is not served.
    pub(super) errors: usize,
    /// How many are warnings.
    pub(super) warnings: usize,
    /// The findings; what is in the text that all sites share stands there once.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How many of the names that users hold have a lever.
    pub(super) lever_count: LeverCount,
    /// The names that users hold, each with its lever or how to give it one, if they were asked for.
    pub(super) levers: Vec<FrontStatus>,
}

/// What a zone has at a site.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct SiteCheck {
    /// The site.
    pub(super) name: String,
    /// How many records the zone has there.
    pub(super) records: usize,
}

/// A master file that was read: its text, unless it has errors, and all findings.
pub(super) struct Reading {
    pub(super) text: Option<ZoneText>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Checks `subject`; `levers` says whether all front names are wanted.
pub(super) fn run(subject: &Subject, levers: bool) -> Result<CheckReport, Failure> {
    let config = match subject {
        Subject::Zone(origin, file) => {
            Config { zones: vec![ZoneConfig::bare(origin.clone(), file.clone())], ..Config::bare() }
        }
        Subject::Config(source) => match source.load() {
            Ok(config) => config,
            Err(SourceError::Wrong(_) | SourceError::NotUtf8 { .. }) if zone_file(source).is_some() => {
                let file = zone_file(source).unwrap_or_default();
                return Err(Failure::new(
                    format!("{} looks like a zone file, and a configuration is wanted", file.display()),
                    "nothing was checked: a zone file doesn't say which zone it is of",
                    format!("understudy check ORIGIN {}", file.display()),
                ));
            }
            Err(SourceError::Wrong(problems)) => {
                return Ok(CheckReport {
                    accepted: false,
                    problems: problems.0,
                    zones: Vec::new(),
                    advice: Vec::new(),
                });
            }
            Err(error) => return Err(error.into()),
        },
    };
    let zones: Vec<ZoneCheck> = {
        let check = |zone| check_zone(zone, &config, levers, |file| read(&config, &zone.name, file));
        config.zones.iter().map(check).collect()
    };
    let accepted = zones.iter().all(|zone| zone.errors == 0);
    Ok(CheckReport { accepted, problems: Vec::new(), zones, advice: undrilled(&config).into_iter().collect() })
}

/// Says once of all zones that could be moved, and that nobody drills, that there are drills.
fn undrilled(config: &Config) -> Option<String> {
    let zones = config.zones.iter().filter(|zone| zone.sites.len() > 1 && zone.drill.is_none());
    let zones: Vec<String> = zones.map(|zone| zone.name.as_ref().dotless()).collect();
    let (first, more) = zones.split_first()?;
    let and = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Some(format!(
        "nobody has asked for drills of {first}{and}: `[zone.drill]` with `every = \"7d\"` tries moves out where nobody is \
         sent to, and has moves warn where none succeeded of late"
    ))
}

/// The file of `source`, if it looks like a zone's.
fn zone_file(source: &Source) -> Option<PathBuf> {
    let Origin::File(Some(path)) = &source.origin else { return None };
    let octets = std::fs::read(path).ok()?;
    let mut words = octets.split(|octet| octet.is_ascii_whitespace());
    words.any(|word| word.eq_ignore_ascii_case(b"SOA") || word == b"$TTL" || word == b"$ORIGIN").then(|| path.clone())
}

/// Checks a zone at each of its sites; `read` reads one of its files.
fn check_zone(zone: &ZoneConfig, config: &Config, levers: bool, read: impl Fn(&Path) -> Reading) -> ZoneCheck {
    let common = zone.file.as_deref().map(&read);
    let texts: Vec<(&str, Option<Reading>)> =
        zone.sites.iter().map(|site| (site.name.as_str(), site.file.as_deref().map(&read))).collect();
    let limits = Limits::within(zone.max_ttl, zone.negative_ttl);
    let mut notes = Notes::default();
    for reading in common.iter().chain(texts.iter().filter_map(|(_, reading)| reading.as_ref())) {
        notes.add(&reading.diagnostics);
    }
    let (mut sites, mut zones) = (Vec::new(), Vec::new());
    for (site, reading) in &texts {
        // A text with errors has said so; what the zone would be without it says nothing.
        let readings = [common.as_ref(), reading.as_ref()];
        if readings.iter().flatten().any(|reading| reading.text.is_none()) {
            continue;
        }
        let [below, above] = readings.map(|reading| reading.and_then(|reading| reading.text.as_ref()));
        if let Some(laid) = Zone::new(below, above) {
            notes.add(&check(&laid, &limits));
            notes.add(&refusals(zone, &laid));
            notes.add(&signatures(&laid, driver::now()));
            sites.push(SiteCheck { name: (*site).into(), records: laid.record_count() });
            zones.push(laid);
        }
    }
    let diagnostics = notes.all;
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let (lever_count, levers) = fronts_of(&zones, config, levers);
    ZoneCheck { name: zone.name.clone(), sites, errors, warnings, diagnostics, lever_count, levers }
}

/// The names that users hold: how many there are, how many have a lever, and all of them if they are wanted.
fn fronts_of(sites: &[Zone], config: &Config, wanted: bool) -> (LeverCount, Vec<FrontStatus>) {
    let sites: Vec<&Zone> = sites.iter().collect();
    let ours = |target: NameRef<'_>| config.zones.iter().any(|zone| target.is_at_or_below(zone.name.as_ref()));
    let fronts = fronts(&sites, ours);
    let with_lever = fronts.iter().filter(|front| front.has_lever()).count();
    let count = LeverCount { fronts: fronts.len(), with_lever };
    (count, if wanted { fronts.into_iter().map(Into::into).collect() } else { Vec::new() })
}

/// Why a server would refuse a zone that has no other errors.
fn refusals(zone: &ZoneConfig, laid: &Zone) -> Vec<Diagnostic> {
    // Nobody looks anything up in it: the key need not be secret.
    let key = HashKey::new([0; 16]);
    let shape = Shape { key, negative_ttl: zone.negative_ttl, max_ttl: zone.max_ttl };
    let Err(error) = Snapshot::compile(laid, shape) else { return Vec::new() };
    let set = match &error {
        // What is said of a zone without a SOA is said of its records already.
        CompileError::NoSoa { .. } => return Vec::new(),
        CompileError::Oversize { owner, rtype, .. } => laid.rrset(owner.as_ref(), *rtype),
    };
    let place = set.into_iter().flat_map(|set| set.records()).map(|record| record.place).min().unwrap_or_default();
    vec![about(laid, place, Severity::Error, "cannot-compile", error.to_string(), "")]
}

/// What resolvers that validate would make of a signed zone now, and before long.
fn signatures(laid: &Zone, now: Timestamp) -> Vec<Diagnostic> {
    if !laid.is_signed() {
        return Vec::new();
    }
    let standing = Signatures::of(laid, None).standing(now, laid.longest_ttl());
    let place = laid.rrset(laid.origin(), RrType::SOA).into_iter().flat_map(|set| set.records());
    let place = place.map(|record| record.place).min().unwrap_or_default();
    let ends = standing.ends.map(|ends| format!("; the first {ends}")).unwrap_or_default();
    let mut found = Vec::new();
    for line in standing.wrong.iter().take(MAX_SIGNATURES) {
        let message =
            format!("{line}{ends}: resolvers that validate don't accept it, or not for as long as caches keep it");
        found.push(about(laid, place, Severity::Error, "bad-signature", message, "sign the zone anew"));
    }
    if let Some(more) = standing.wrong.len().checked_sub(MAX_SIGNATURES).filter(|more| *more > 0) {
        let message = format!("{} more of the kind", counted(more, "fault"));
        found.push(about(laid, place, Severity::Error, "bad-signature", message, "sign the zone anew"));
    }
    for line in standing.soon {
        let message = format!("{line}{ends}");
        found.push(about(
            laid,
            place,
            Severity::Warning,
            "signature-ends-soon",
            message,
            "sign the zone anew before that",
        ));
    }
    found
}

fn about(zone: &Zone, place: Place, severity: Severity, id: &'static str, message: String, advice: &str) -> Diagnostic {
    Diagnostic {
        severity,
        id,
        file: zone.files().get(usize::from(place.file)).cloned().unwrap_or_default(),
        line: place.line,
        column: place.column,
        text: String::new(),
        message,
        advice: advice.into(),
    }
}

/// Findings, each once: what the common text has is found at every site.
#[derive(Default)]
struct Notes {
    all: Vec<Diagnostic>,
    seen: HashSet<String>,
}

impl Notes {
    fn add(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            if self.seen.insert(diagnostic.to_string()) {
                self.all.push(diagnostic.clone());
            }
        }
    }
}

/// Reads a master file; that it can't be opened is a finding like any other.
fn read(config: &Config, origin: &Name, file: &Path) -> Reading {
    let opened = FileSources::new(&config.dir, config.include_outside).and_then(|mut sources| {
        let root = sources.root(file)?;
        Ok((sources, root))
    });
    match opened {
        Ok((mut sources, root)) => {
            let reading = reader::read(origin, root, &mut sources);
            let diagnostics = reading.diagnostics.clone();
            Reading { text: reading.into_text().ok(), diagnostics }
        }
        Err(error) => Reading { text: None, diagnostics: vec![unreadable(config.dir.join(file), &error)] },
    }
}

fn unreadable(path: PathBuf, error: &FilesError) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        id: "unreadable",
        file: path.display().to_string(),
        line: 0,
        column: 0,
        text: String::new(),
        message: error.to_string(),
        advice: "correct the path or the file's permissions".into(),
    }
}
