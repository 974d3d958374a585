//! The diagram of the phases in ARCHITECTURE.md is drawn from what the engine does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::play::Play;
use super::table::{ID, after, compare, events, label, name_of, phases};
use crate::failover::moves::PhaseKind;
use crate::failover::plan::Kind;

const BEGIN: &str = "<!-- The diagram is drawn by a test: UNDERSTUDY_RECORD=1 cargo nextest run --lib failover -->\n";
const END: &str = "<!-- end of the diagram -->\n";

/// The name of a phase in the diagram.
fn node(phase: PhaseKind) -> &'static str {
    match phase {
        PhaseKind::Checking => "Checking",
        PhaseKind::AwaitingApproval => "AwaitingApproval",
        PhaseKind::Lowering => "Lowering",
        PhaseKind::Shifting => "Shifting",
        PhaseKind::Draining => "Draining",
        PhaseKind::Baking => "Baking",
    }
}

/// Every change of phase that an event of the table brings about, with the events.
fn edges() -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut failing = Play::new();
    failing.begin(Kind::Failover, "b", &["europe", "default"]);
    let mut starts = phases();
    starts.push(("a failover, checking", failing.clone()));
    failing.judge();
    starts.push(("a failover, not published", failing));
    let mut edges: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (_, play) in starts {
        let Some(before) = play.state.moves.get(&ID) else { continue };
        for (particular, event, at_deadline) in events(&play) {
            // A move that has to be approved is judged as any other; that it waits then is its policy.
            let then = after(&play, &event, at_deadline);
            let from = node(before.phase.kind()).to_owned();
            let to = match (then.state.moves.get(&ID), then.ended.get(&ID)) {
                (Some(moving), _) if moving.phase.kind() != before.phase.kind() => node(moving.phase.kind()).to_owned(),
                (None, Some(outcome)) => name_of(outcome).to_owned(),
                _ => continue,
            };
            edges.entry((from, to)).or_default().insert(label(&event, particular));
        }
    }
    let mut waiting = Play::new();
    waiting.policy.approval = crate::failover::policy::Approval::Planned;
    waiting.begin(Kind::Switchover, "b", &["europe"]);
    waiting.judge();
    assert_eq!(waiting.at(ID).phase.kind(), PhaseKind::AwaitingApproval);
    edges.entry(("Checking".into(), "AwaitingApproval".into())).or_default().insert("judged, passed".into());
    edges
}

fn diagram() -> String {
    let mut drawn = String::from("```mermaid\nstateDiagram-v2\n    [*] --> Checking : begin\n");
    let edges = edges();
    for ((from, to), events) in &edges {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        _ = writeln!(drawn, "    {from} --> {to} : {}", events.join(" / "));
    }
    let ends: BTreeSet<&str> =
        edges.keys().map(|(_, to)| to.as_str()).filter(|to| to.starts_with(char::is_lowercase)).collect();
    for end in ends {
        _ = writeln!(drawn, "    {end} --> [*]");
    }
    drawn + "```\n"
}

#[test]
fn the_architecture_shows_the_phases_as_they_are() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (front, rest) = page.split_once(BEGIN).expect("the page has the diagram");
    let (_, back) = rest.split_once(END).expect("the diagram has an end");
    compare("ARCHITECTURE.md", &format!("{front}{BEGIN}{}{END}{back}", diagram()));
}

#[test]
fn every_change_of_phase_is_one_that_the_invariants_let_through() {
    let phases = ["Checking", "AwaitingApproval", "Lowering", "Shifting", "Draining", "Baking"];
    let kinds = [
        PhaseKind::Checking,
        PhaseKind::AwaitingApproval,
        PhaseKind::Lowering,
        PhaseKind::Shifting,
        PhaseKind::Draining,
        PhaseKind::Baking,
    ];
    let edges = edges();
    for (from, from_kind) in phases.iter().zip(kinds) {
        for (to, to_kind) in phases.iter().zip(kinds) {
            let drawn = edges.contains_key(&((*from).to_owned(), (*to).to_owned()));
            let allowed = crate::failover::invariants::may_follow(from_kind, to_kind);
            assert_eq!(drawn, allowed, "{from} to {to}");
        }
    }
}
