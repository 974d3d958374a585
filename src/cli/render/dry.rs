//! What a dry run says beside what the move itself says: what it rests on, what would come, and what could go wrong.

use std::fmt::Write as _;

use super::curve::{Canvas, seconds};
use super::{counted, run, wrapped};
use crate::control::api::drain::{DarkReport, KeeperReport};
use crate::control::api::moves::{MoveKind, MoveOutcome, MoveReport, Offline};
use crate::control::api::rename::Proposal;
use crate::drain::dark::{Darkness, Hold};
use crate::gate::id;

impl Offline {
    /// What stands above all else: that nobody answers, and what this rests on.
    pub(super) fn told(&self) -> String {
        let age = seconds(self.at.since(self.written).as_secs_f64().round());
        let mut text = format!(
            "THE DAEMON IS DOWN: nobody answers from here, and nothing was changed.\n\
             This rests on the files as they are now, and on a copy of the state in\n\
             {}, last written {} ({age} ago).\n",
            self.state_dir.display(),
            self.written
        );
        for run in &self.under_way {
            let _ = writeln!(text, "    goes on when it is started, and may change this: {}", run::progress(run));
        }
        text += "    not known, since it is down:\n";
        self.unknown.iter().for_each(|what| {
            let _ = writeln!(text, "      {what}");
        });
        text + "\n"
    }
}

impl MoveReport {
    /// The timeline of a dry run, how caches drain, who stays dark, and what to do where it goes otherwise.
    pub(super) fn foreseen(&self) -> String {
        let mut text = String::new();
        if self.outcome == MoveOutcome::WouldChange {
            text += "\nWhat would come, if nothing holds it up:\n";
            text += &match &self.forecast {
                Some(forecast) => forecast.drawn(Canvas::of_environment()),
                None => {
                    "  it is not noted who is told what (`[exposures]`): how caches drain is not known\n".to_owned()
                }
            };
        }
        text += &self.dark.as_ref().map(|dark| dark.told(&self.outcome)).unwrap_or_default();
        if self.outcome == MoveOutcome::WouldChange {
            text += "\nWhat could go wrong, how it shows, and what to type:\n";
            self.hazards().iter().for_each(|hazard| text += &hazard.told());
        }
        text
    }

    /// What could go wrong, what is likeliest first.
    fn hazards(&self) -> Vec<Hazard> {
        let (zone, to) = (self.zone.as_ref().dotless(), &self.to);
        let stepped = self.steps.len() > 1 || self.kind == MoveKind::Switchover;
        let back = match (self.kind, stepped) {
            // The way back from a way back is a move like any other.
            (MoveKind::Rollback, _) => format!("understudy failover {zone} --to SITE"),
            (_, true) => format!("understudy abort {zone}; once all have moved, understudy rollback {zone}"),
            (_, false) => format!("understudy rollback {zone}"),
        };
        let mut hazards = vec![
            Hazard::new(
                format!("{to} can't take its users, or fails"),
                format!(
                    "in what you watch {to} with; `understudy site down {to}` tells it here, and the run is held (exit 4)"
                ),
                back.clone(),
            ),
            Hazard::new(
                format!("a name is missing or wrong at {to}"),
                format!("users are denied it; `understudy query NAME TYPE --site {to}` shows what they are told"),
                format!(
                    "put {to}'s files right, then understudy reload (it waits while steps are taken); or go back, as above"
                ),
            ),
            Hazard::new(
                "caches keep old answers for too long",
                format!(
                    "the old site still has users; `understudy drain {zone}` shows how many may be there, and who is suspicious"
                ),
                match self.proposals.first() {
                    Some(Proposal { command, gain, .. }) => format!(
                        "{command}, which leads users round them: where resolvers hold {}, users of {:.1} % of what was asked of \
                         late arrive sooner for certain, by {:.0} s on average (--dry-run says more); keep the old site up \
                         meanwhile",
                        gain.stuck.of_lever(),
                        gain.certain * 100.0,
                        gain.sooner_seconds
                    ),
                    None => "keep the old site up until they are gone: nothing here can make a cache forget".into(),
                },
            ),
        ];
        let others = "what other name servers of the zone told";
        if self.forecast.as_ref().is_none_or(|forecast| forecast.left_out.iter().any(|what| what == others)) {
            hazards.push(Hazard::new(
                "another name server of the zone lags",
                format!(
                    "the wait goes on, and `understudy status` names it; dig @SERVER {zone} SOA tells an old serial"
                ),
                "have that server transfer the zone; the run goes on by itself",
            ));
        }
        hazards.extend([
            Hazard::new(
                "our own sockets do not give the new answers",
                "the command says NOT CONFIRMED, and the phase does not end",
                format!("understudy status; dig @ADDRESS {zone} SOA; the log; a restart is safe"),
            ),
            Hazard::new(
                "this server ends, or its disk is full",
                "commands say that no understudy is running, and those that follow a run that the daemon ended (exit 7); or \
                 `understudy status` says what could not be written",
                "make room, then understudy serve: the run goes on from the journal, and nothing is lost",
            ),
            Hazard::new(
                "something looks wrong, and it is not clear what",
                "to you, in graphs and calls",
                format!("understudy hold {zone}; look; then understudy resume {zone}, or the way back"),
            ),
        ]);
        hazards
    }
}

/// Something that could go wrong.
struct Hazard {
    what: String,
    shows: String,
    typed: String,
}

impl Hazard {
    fn new(what: impl Into<String>, shows: impl Into<String>, typed: impl Into<String>) -> Hazard {
        Hazard { what: what.into(), shows: shows.into(), typed: typed.into() }
    }

    fn told(&self) -> String {
        format!("  {}\n", self.what) + &wrapped("    shows: ", &self.shows) + &wrapped("    type:  ", &self.typed)
    }
}

impl DarkReport {
    fn told(&self, outcome: &MoveOutcome) -> String {
        let would = match outcome {
            MoveOutcome::Blocked => format!("WHO WOULD STAY DARK, if {} were overridden", id::NOTHING_VANISHES),
            _ => "WHO STAYS DARK".to_owned(),
        };
        let mut text =
            format!("\n{would}: {} would be denied that are answered now\n", counted(self.questions, "question"));
        if let Some(asked) = self.asked {
            let _ = writeln!(text, "  {:.1}% of what was asked of late was for these", asked * 100.0);
        }
        text += &wrapped(
            "  ",
            "Users are denied them as old answers run out, and caches keep that. Once the names are back (in the target's \
             files and by a reload, which waits while steps are taken; or by the way back), they are answered again to",
        );
        text.push('\n');
        let row = |columns: [&str; 5]| {
            let [told, kept, half, ninety, most] = columns;
            format!("  {told:<28}{kept:>10}{half:>14}{ninety:>14}{most:>14}\n")
        };
        text += &row(["WHAT WAS TOLD", "TTL", "50% WITHIN", "90% WITHIN", "99% WITHIN"]);
        let spans = [("while the run goes on", &self.during), ("once it has ended", &self.afterwards)];
        for (told, dark) in spans {
            let found = dark.course.as_ref().map(|course| course.quantiles).unwrap_or_default();
            let [half, ninety, most] = [found.half, found.ninety, found.ninety_nine]
                .map(|at| at.map_or_else(|| "not seen".to_owned(), |at| seconds(at.round())));
            text += &row([told, &seconds(dark.ttl.seconds().into()), &half, &ninety, &most]);
        }
        text += "\n  Caches that keep it for longer than the TTL, by the population that is assumed:\n";
        for (told, dark) in spans {
            text += &wrapped(&format!("    told {told}: "), &longer(dark));
        }
        for keeper in &self.measured {
            text += &measured(keeper);
        }
        text += "  caches between a resolver and its users may each add as much again\n";
        text
    }
}

/// How long which share of caches keeps it that keeps it for longer than the TTL.
fn longer(dark: &Darkness) -> String {
    let ttl = u64::from(dark.ttl.seconds());
    let part = |hold: &Hold| match hold.stale {
        true => format!("{:.1}% give it to the first who asks behind that, however late", hold.share * 100.0),
        false => format!("{:.1}% up to {}", hold.share * 100.0, seconds(hold.seconds as f64)),
    };
    let parts: Vec<String> = dark.holds.iter().filter(|hold| hold.stale || hold.seconds > ttl).map(part).collect();
    if parts.is_empty() { "none".into() } else { parts.join(", ") }
}

fn measured(keeper: &KeeperReport) -> String {
    let least = if keeper.at_least { " at least" } else { "" };
    let share = match &keeper.share {
        Some(share) => format!("it asked {share} of what was asked of late"),
        None => "how much it asks is not known: it is not in the figures".into(),
    };
    let [during, afterwards] = [keeper.during, keeper.afterwards].map(|span| seconds(span as f64));
    wrapped("  measured: ", &format!("{} keeps it for {during}, or else for {afterwards}{least}; {share}", keeper.name))
}
