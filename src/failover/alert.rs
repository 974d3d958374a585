//! What operators are told: what happened, what it means for users, and the next command to type.

use super::effect::{Alert, Severity};
use super::moves::{Direction, Move, MoveId, PhaseKind, Why};
use super::names::RegionName;
use super::sample::Sample;
use crate::name::Name;
use crate::share::Share;

/// A move was put on hold.
pub(super) fn held(zone: &Name, id: MoveId, moving: &Move, why: &Why) -> Alert {
    let severity = match why {
        Why::Operator { .. } | Why::Unseen { .. } => Severity::Notice,
        Why::TargetDown { .. } | Why::DrainOverdue | Why::ContentChanged => Severity::Warning,
        _ => Severity::Critical,
    };
    let mut what = format!("{} is on hold while {}: {}", subject(zone, id, moving), moving.phase.kind(), reason(why));
    let given = moving.watched.sample.as_ref().filter(|_| *why == Why::DrainOverdue).and_then(Sample::reservation);
    if let Some(given) = given {
        what += &format!("; {given}");
    }
    Alert { severity, what, meaning: meaning(moving, why), next: next(zone, moving, why) }
}

/// A move is still on hold. `overdue`: for longer than it should be.
pub(super) fn still_held(zone: &Name, id: MoveId, moving: &Move, why: &Why, overdue: bool) -> Alert {
    let first = held(zone, id, moving, why);
    let since = moving.hold.as_ref().map_or(0, |hold| hold.since.seconds());
    let severity = if overdue { Severity::Critical } else { first.severity };
    let what = format!("still so since {since} (seconds since 1970): {}", first.what);
    Alert { severity, what, ..first }
}

/// What a move waited for is there.
pub(super) fn lifted(zone: &Name, id: MoveId, moving: &Move) -> Alert {
    let what = format!("{} goes on: what it waited for is there", subject(zone, id, moving));
    Alert { severity: Severity::Notice, what, meaning: "nothing changed for users".into(), next: String::new() }
}

/// What is served is not what it should be once no move needs anything else.
pub(super) fn not_restored(zone: &Name, findings: &[String]) -> Alert {
    Alert {
        severity: Severity::Warning,
        what: format!("{zone} could not be published as it should be by now: {}", findings.join("; ")),
        meaning:
            "users get the right answers, but with the low TTLs of a move that has ended, so that they ask more often; \
                  it is tried again"
                .into(),
        next: "understudy check; understudy status".to_owned(),
    }
}

/// The engine found itself at fault.
pub(super) fn broken(zone: &Name, what: &str) -> Alert {
    Alert {
        severity: Severity::Critical,
        what: format!("the failover engine of {zone} stopped itself: {what}"),
        meaning: "users get the answers that they got before; no traffic moves until an operator resumes the moves"
            .into(),
        next: format!("understudy status; and report it, with understudy history {zone} --json"),
    }
}

fn subject(zone: &Name, id: MoveId, moving: &Move) -> String {
    let regions: Vec<&str> = moving.base.keys().map(RegionName::as_str).take(5).collect();
    let more = moving.base.len().saturating_sub(5);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{id} of {zone} to {} ({}{more})", moving.plan.to, regions.join(", "))
}

/// Why a move is held, in a sentence.
pub(super) fn reason(why: &Why) -> String {
    match why {
        Why::Operator { actor, reason } => format!("{} said so: {reason}", actor.name),
        Why::Relapse { site, alone: false } => format!("{site}, where clients are sent, is down"),
        Why::Relapse { site, alone: true } => {
            format!("{site}, where clients are sent, is down, and no other site of the move is known to work")
        }
        Why::TargetDown { site } => format!("{site}, where clients are to be sent, is down"),
        Why::Unseen { site } => format!("nothing is known of {site}"),
        Why::CutOff => "no site of the move is known to work: we may be the ones that are cut off".into(),
        Why::SourceDown { site } => {
            format!("it is to be reversed, but {site}, where clients would go back to, is down")
        }
        Why::Refused { findings } => format!("the gates refused to publish its next step: {}", findings.join("; ")),
        Why::NotConfirmed { why } => format!("our own sockets do not give what was published: {why}"),
        Why::Failing { why } => format!("its next step can't be published: {why}"),
        Why::DrainOverdue => {
            "old answers may still be held after the longest time that they were to be waited for".into()
        }
        Why::ContentChanged => "records that it moves were edited".into(),
        Why::Broken { what } => format!("the engine stopped itself: {what}"),
    }
}

fn meaning(moving: &Move, why: &Why) -> String {
    let to = &moving.plan.to;
    let where_to = match (moving.published, moving.phase.kind()) {
        (Share::NONE, PhaseKind::Checking | PhaseKind::AwaitingApproval) => "nothing has changed for users".to_owned(),
        (Share::NONE, _) => "nobody is sent to another site; TTLs of records that change are low".to_owned(),
        (Share::ALL, _) => format!("all users of these regions are sent to {to}, and stay there"),
        (share, _) => format!("{share} of the users are sent to {to}, the others to where they were"),
    };
    match why {
        Why::Relapse { site, .. } => format!("{where_to}; those who are sent to {site} may find nothing there"),
        Why::NotConfirmed { .. } => "some users may get older answers than others".into(),
        _ => where_to,
    }
}

fn next(zone: &Name, moving: &Move, why: &Why) -> String {
    let region = moving.base.keys().next().map(|region| format!(" --region {region}"));
    let region = region.filter(|_| moving.base.len() == 1).unwrap_or_default();
    let resume = format!("understudy resume {zone}{region}");
    match why {
        Why::Relapse { .. } | Why::SourceDown { .. } => {
            format!("understudy failover {zone} --to ANOTHER-SITE{region}; or, once it works, {resume}")
        }
        Why::TargetDown { site } | Why::Unseen { site } => {
            let back = if moving.phase.kind() == PhaseKind::Baking { "rollback" } else { "abort" };
            format!("if {site} works: understudy site up {site}; if not: understudy {back} {zone}{region}")
        }
        Why::CutOff => "understudy status; if a site works: understudy site up SITE".into(),
        Why::Refused { .. } | Why::ContentChanged if moving.direction == Direction::Forward => {
            format!("understudy check; then {resume}, or understudy abort {zone}{region}")
        }
        _ => resume,
    }
}
