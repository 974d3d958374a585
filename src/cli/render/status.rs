//! How things stand, as a table.

use std::fmt::Write as _;

use super::{Report, indented};
use crate::cli::Exit;
use crate::control::api::moves::MoveStatus;
use crate::control::api::{ContentStatus, LastAct, Route, StatusReport, ZoneStatus};

/// How wide the table is where names allow.
const WIDTH: usize = 80;
/// How wide the column of zones is at most; longer names have a line of their own.
const ZONE_WIDTH: usize = 30;

impl Report for StatusReport {
    fn text(&self) -> String {
        let listeners: Vec<String> = self.listeners.iter().map(ToString::to_string).collect();
        let mut text = self.attention();
        text += &format!(
            "understudy {}, pid {}, up {}, generation {}\n",
            self.version,
            self.pid,
            uptime(self.uptime_seconds),
            self.generation
        );
        text += &wrapped("listening on", &listeners, ",");
        if !self.encrypted.is_empty() {
            let encrypted =
                self.encrypted.iter().map(|listener| format!("{} {}", listener.transport, listener.address));
            text += &wrapped("encrypted on", &encrypted.collect::<Vec<_>>(), ",");
        }
        // How far a move has come says its summary: what has begun is not done.
        let acts = [
            ("reload", &self.last_reload, [", taken over", ", NOT taken over"]),
            ("move asked for", &self.last_failover, ["", ", NOT as asked"]),
        ];
        for (act, last, [good, bad]) in acts {
            if let Some(LastAct { at, ok, summary }) = last {
                let _ = writeln!(text, "last {act} {at}{}: {summary}", if *ok { good } else { bad });
            }
        }
        let names = self.zones.iter().map(|zone| zone.name.as_ref().dotless().len());
        let width = names.filter(|len| *len <= ZONE_WIDTH).max().unwrap_or(0).max("ZONE".len());
        let _ =
            writeln!(text, "\n{:<width$}  {:>10}  {:>6}  {:<12}  ANSWERED FROM", "ZONE", "SERIAL", "EPOCH", "FILES");
        self.zones.iter().for_each(|zone| text += &row(zone, width));
        self.zones.iter().for_each(|zone| text += &under_way(zone));
        self.zones.iter().for_each(|zone| text += &trouble(zone));
        text + &self.levers()
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

impl StatusReport {
    /// How many names can be led round caches that do not let go.
    fn levers(&self) -> String {
        let counts = || self.zones.iter().filter_map(|zone| zone.levers);
        let (fronts, with) = counts().fold((0, 0), |(all, with), count| (all + count.fronts, with + count.with_lever));
        match fronts {
            0 => String::new(),
            _ => format!("\n{with} of {fronts} front names have a lever (understudy rename ZONE lists them)\n"),
        }
    }
}

fn row(zone: &ZoneStatus, width: usize) -> String {
    let mut name = zone.name.as_ref().dotless();
    let mut text = String::new();
    if name.len() > width {
        let _ = writeln!(text, "{name}");
        name.clear();
    }
    let serial = zone.serial.map_or_else(|| "-".into(), |serial| serial.to_string());
    let files = match zone.content {
        ContentStatus::Loaded => "loaded",
        ContentStatus::LastGood { .. } => "LAST GOOD",
        ContentStatus::RefusedEdit { .. } => "REFUSED EDIT",
        ContentStatus::QueuedEdit { .. } => "QUEUED",
        ContentStatus::Broken { .. } => "BROKEN",
    };
    let front = format!("{name:<width$}  {serial:>10}  {:>6}  {files:<12} ", zone.epoch);
    text + &wrapped(&front, &by_site(zone), ";")
}

/// The sites and which regions are answered from each; the site alone where all are answered from one.
fn by_site(zone: &ZoneStatus) -> Vec<String> {
    let mut sites: Vec<(String, Vec<&str>)> = Vec::new();
    for route in &zone.routes {
        let site = answered(zone, route);
        match sites.iter_mut().find(|(known, _)| *known == site) {
            Some((_, regions)) => regions.push(&route.region),
            None => sites.push((site, vec![&route.region])),
        }
    }
    match sites.as_slice() {
        [(site, _)] => vec![site.clone()],
        sites => sites.iter().map(|(site, regions)| format!("{site}: {}", regions.join(", "))).collect(),
    }
}

/// The site that a region is answered from, and the one that a share of it is answered from already.
fn answered(zone: &ZoneStatus, Route { region, site }: &Route) -> String {
    let moves = zone.moves.iter().filter(|now| now.to != *site && now.share != "0%");
    let moving = moves.clone().find(|now| now.from.iter().any(|route| route.region == *region));
    moving.map_or_else(|| site.clone(), |now| format!("{site} ({} at {})", now.share, now.to))
}

/// `front` and the words behind it with `separator` between them, broken into lines that start below the first word.
fn wrapped(front: &str, words: &[String], separator: &str) -> String {
    let indent = front.chars().count();
    let (mut text, mut used) = (front.to_owned(), indent);
    for (at, word) in words.iter().enumerate() {
        let end = if at + 1 < words.len() { separator } else { "" };
        let len = 1 + word.chars().count() + end.len();
        if at > 0 && used + len > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            used = indent;
        }
        let _ = write!(text, " {word}{end}");
        used += len;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The moves of a zone, what caches may hold, its last drill, and what is known of its sites where it is worth a word.
fn under_way(zone: &ZoneStatus) -> String {
    let mut lines: Vec<String> = zone.moves.iter().flat_map(progress).collect();
    if let Some(until) = zone.old_until {
        lines.push(format!("caches may hold answers that are not given any more until {}", until));
    }
    let drill = zone.last_drill.as_ref().map(|drill| super::drill::last(drill, crate::driver::now()));
    let answered: String = zone.drill_listeners.iter().map(|listener| format!(", answered on {listener}")).collect();
    lines.extend(drill.map(|drill| drill + &answered));
    for site in zone.sites.iter().filter(|site| site.health == "down" || site.forced.is_some()) {
        let forced = site.forced.as_ref().map(|forced| format!(", held so by {forced}; measured: {}", site.measured));
        lines.push(format!("site {} is {}{}", site.site, site.health, forced.unwrap_or_default()));
    }
    let renames: String = zone.renames.iter().map(super::rename::progress).collect();
    lines.extend(renames.lines().map(str::to_owned));
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{}:\n{lines}", zone.name.as_ref().dotless())
}

/// How a move stands, what its wait rests on, the resolvers that still gave old answers or of which nothing is known, and
/// renames that would help.
fn progress(now: &MoveStatus) -> Vec<String> {
    let late = now.late.iter().map(|found| format!("LATE: {}", found.text));
    let unsure = now.unsure.iter().map(|found| format!("UNKNOWN: {}", found.text));
    let basis = now.basis.iter().filter(|_| now.held.is_none()).map(|basis| format!("  that rests on: {basis}"));
    let renames = now.renames.iter().map(|rename| rename.text.clone());
    std::iter::once(super::run::progress(now)).chain(basis).chain(late).chain(unsure).chain(renames).collect()
}

fn trouble(zone: &ZoneStatus) -> String {
    let (what, diagnostics) = match &zone.content {
        ContentStatus::Loaded => return String::new(),
        ContentStatus::LastGood { diagnostics } => {
            ("its files can't be taken over; the last good content is served", diagnostics)
        }
        ContentStatus::RefusedEdit { diagnostics } => {
            ("a gate refused its files as they are; what was served before is served", diagnostics)
        }
        ContentStatus::QueuedEdit { diagnostics } => {
            ("edits of these RRsets wait for the end of a move; what was served before is served", diagnostics)
        }
        ContentStatus::Broken { diagnostics } => {
            ("its files can't be served, and nothing was before: queries for it fail", diagnostics)
        }
    };
    let lines: String = diagnostics.iter().map(|diagnostic| indented(diagnostic, "    ")).collect();
    format!("\n{}:\n  {what}\n{lines}", zone.name.as_ref().dotless())
}

fn uptime(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}
