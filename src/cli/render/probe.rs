//! What was found of resolvers.

use std::fmt::Write as _;

use super::Report;
use crate::cli::Exit;
use crate::control::api::probe::{CalibrationReport, LookReport, ProfilesReport, ResolverReport};
use crate::observation::sight::Sight;
use crate::observation::{CacheCount, Habit, Hold, Kind, Measured};

/// How wide the words in front are.
const WIDTH: usize = 20;
/// How many addresses are shown that a resolver asks from.
const EGRESSES: usize = 4;

impl Report for ResolverReport {
    fn text(&self) -> String {
        let addresses: Vec<String> = self.address.iter().map(ToString::to_string).collect();
        let mut text = match addresses.as_slice() {
            [] => self.name.clone(),
            addresses => format!("{} ({} by {})", self.name, addresses.join(", "), self.transport),
        };
        if let (Some(at), Some(expires)) = (self.at, self.expires) {
            let word = if self.expired { "EXPIRED" } else { "good until" };
            let _ = write!(text, ", {at}, {word} {expires}");
        }
        text.push('\n');
        if let Some(why) = &self.unknown {
            let _ = writeln!(text, "  UNKNOWN: {why}");
        }
        if let Some(failed) = &self.failed {
            let _ = writeln!(text, "  {failed}");
        }
        if let Some(measured) = &self.measured {
            text += &found(measured);
        }
        text
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl Report for ProfilesReport {
    fn text(&self) -> String {
        if self.one {
            return self.resolvers.iter().map(ResolverReport::text).collect();
        }
        let name = self.resolvers.iter().map(|resolver| resolver.name.len()).max().unwrap_or(0).max("RESOLVER".len());
        let mut text = format!("{:<name$}  {:>6}  {:<24}  WHAT IT DOES\n", "RESOLVER", "CACHES", "MEASURED");
        for resolver in &self.resolvers {
            let at = resolver.at.map_or("never".into(), |at| at.to_string());
            let at = if resolver.expired { format!("{at} !") } else { at };
            let caches = resolver.measured.as_ref().map_or("-".into(), caches_of);
            let _ = writeln!(text, "{:<name$}  {caches:>6}  {at:<24}  {}", resolver.name, in_short(resolver));
        }
        if self.resolvers.iter().any(|resolver| resolver.expired) {
            text += "\n!: too long ago to be believed; `understudy probe calibrate` measures again\n";
        }
        text
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl Report for LookReport {
    fn text(&self) -> String {
        let counts: Vec<String> = Sight::ALL
            .into_iter()
            .filter_map(|sight| Some((sight, *self.counts.get(&sight)?)))
            .filter(|(sight, count)| *count > 0 || *sight == Sight::New)
            .map(|(sight, count)| format!("{count} {}", sight.word()))
            .collect();
        let word = if self.complete { "complete" } else { "NOT complete" };
        let of = self.resolvers.len();
        let name = self.name.as_ref().dotless();
        let mut text = format!("{name} {}, {}: {word}\n{} of {of}\n", self.rtype, self.at, counts.join(", "));
        if let Some(until) = self.old_until {
            let left = until.since(self.at).as_secs();
            let _ = writeln!(text, "caches that keep TTLs may give old answers for {left} s more, until {until}");
        }
        let width = self.resolvers.iter().map(|resolver| resolver.name.len()).max().unwrap_or(0).max("RESOLVER".len());
        let _ = writeln!(text, "\n{:<width$}  {:<8}  {:>8}  GIVES", "RESOLVER", "STATE", "TTL LEFT");
        for resolver in &self.resolvers {
            let ttl = resolver.ttl.map_or("-".into(), |ttl| ttl.to_string());
            let ttl = if resolver.ttl_too_long { format!("{ttl} !") } else { ttl };
            let mut gives = resolver.given.join(" ");
            if !resolver.note.is_empty() {
                gives = format!("{gives} ({})", resolver.note).trim_start().into();
            }
            if !resolver.sight.is_done() && !resolver.expected.is_empty() {
                let _ = write!(gives, "; expected: {}", resolver.expected.join(" "));
            }
            let _ = writeln!(text, "{:<width$}  {:<8}  {ttl:>8}  {gives}", resolver.name, resolver.sight.word());
        }
        if let Some(ttl) = self.ttl.filter(|_| self.resolvers.iter().any(|resolver| resolver.ttl_too_long)) {
            let _ = writeln!(text, "\n!: longer than the {ttl} s that our zone tells");
        }
        for rename in self.renames.iter().filter(|_| !self.complete) {
            let _ = writeln!(text, "\n{}", rename.text);
        }
        text
    }

    fn exit(&self) -> Exit {
        if self.complete { Exit::Done } else { Exit::Error }
    }
}

/// How far measuring is, in one line.
pub(in crate::cli) fn progress(report: &CalibrationReport) -> String {
    let waiting: Vec<_> = report.standings.iter().filter(|standing| !standing.ended).collect();
    let ended = report.standings.len() - waiting.len();
    let mut text = format!("{ended} of {} measured", report.standings.len());
    if let Some(last) = waiting.iter().min_by_key(|standing| standing.done) {
        let _ = write!(text, "; {}: {} ({} of {})", last.name, last.doing, last.done, last.of);
    }
    text
}

fn in_short(resolver: &ResolverReport) -> String {
    match (&resolver.measured, &resolver.unknown) {
        (Some(measured), _) if measured.verdicts.is_empty() => "keeps TTLs".into(),
        (Some(measured), _) => measured.verdicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        (None, why) => format!("UNKNOWN: {}", why.as_deref().unwrap_or("nothing was found")),
    }
}

fn found(measured: &Measured) -> String {
    let mut rows = vec![("caches", caches_of(measured)), ("asks from", egress(measured))];
    for kind in Kind::ALL {
        let holds: Vec<String> = measured.holds.iter().filter(|hold| hold.kind == kind).map(hold).collect();
        if !holds.is_empty() {
            rows.push((kind.word(), holds.join("; ")));
        }
    }
    rows.push(("fetches in advance", habit(&measured.prefetch)));
    rows.push(("stale at once", habit(&measured.stale_at_once)));
    rows.push(("stale on failure", habit(&measured.stale_on_failure)));
    rows.push(("NXDOMAIN for below", habit(&measured.absence_below)));
    rows.push(("asks over TCP", habit(&measured.asks_over_tcp)));
    let yes = |is: bool| if is { "yes" } else { "no" };
    rows.push(("replies over TCP", measured.replies_over_tcp.map_or("UNKNOWN", yes).into()));
    rows.push(("sends", sends(measured)));
    let tally = measured.tally;
    rows.push((
        "questions",
        format!("{}, {} refused, {} unanswered, {} failed", tally.asked, tally.refused, tally.unanswered, tally.failed),
    ));
    let mut text: String = rows.into_iter().map(|(word, what)| format!("  {word:<WIDTH$}{what}\n")).collect();
    for verdict in &measured.verdicts {
        let _ = writeln!(text, "  - {verdict}");
    }
    text
}

fn caches_of(measured: &Measured) -> String {
    match measured.caches {
        None => "?".into(),
        Some(CacheCount { least, most: None, .. }) => format!("{least}+"),
        Some(CacheCount { likely, most: Some(most), .. }) if most > likely => format!("{likely}-{most}"),
        Some(CacheCount { likely, .. }) => likely.to_string(),
    }
}

fn egress(measured: &Measured) -> String {
    let mut shown: Vec<String> = measured.egress.iter().take(EGRESSES).map(ToString::to_string).collect();
    let more = measured.egress.len() - shown.len();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

fn hold(hold: &Hold) -> String {
    let told = if hold.kind == Kind::Failure { String::new() } else { format!("{} s: ", hold.ttl) };
    let least = if hold.at_least { "at least " } else { "" };
    let longest = hold.longest.map(|longest| format!(", another cache {longest}")).unwrap_or_default();
    format!("{told}{least}{} ± {}{longest}", hold.hold, hold.uncertainty)
}

fn habit(habit: &Habit) -> String {
    match habit {
        Habit::Yes { times, of } => format!("yes ({times} of {of})"),
        Habit::No { times, of } => format!("no ({times} of {of})"),
        Habit::Unknown { why } => format!("UNKNOWN: {why}"),
    }
}

fn sends(measured: &Measured) -> String {
    let all = [
        (measured.dnssec_ok, "DO"),
        (measured.client_subnet, "client subnets"),
        (measured.mixed_case, "names in mixed case"),
    ];
    let sent: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    if sent.is_empty() { "nothing of note".into() } else { sent.join(", ") }
}
