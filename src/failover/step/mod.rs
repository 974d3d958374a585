//! The step from one state to the next. Total: what does not apply leaves the state and records why.

mod advance;
mod begin;
mod configure;
mod health;
mod orders;
mod publish;
mod renames;
mod sampled;

use std::time::Duration;

use super::alert;
use super::effect::{Alert, Effect, EffectId, Ended, Issued, Pending};
use super::event::{Event, Target};
use super::invariants::{Broken, check};
use super::moves::{Hold, Move, MoveId, Outcome, Phase, Why};
use super::names::Frozen;
use super::refusal::Refusal;
use super::state::{Autopilot, State};
use crate::time::Timestamp;

/// How long nothing may be heard of an effect before it is asked for again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it is at most until something that failed is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// How often something is tried before it is given up, or a move that needs it is held.
pub(super) const TRIES: u16 = 5;
/// How many alerts may wait to be told; the oldest give way.
pub(super) const MOST_ALERTS: usize = 64;
/// How many endings may wait to be told before no move begins any more.
pub(super) const MOST_ENDINGS: usize = 64;
/// How much of a text that came from outside is kept, in characters.
const MOST_TEXT: usize = 500;
/// How many lines of findings are kept.
const MOST_LINES: usize = 20;

/// The state after an event, and what is to be done. `now` is when the event happened; if that is before the last event,
/// it counts as at the same time.
pub fn step(before: &State, event: &Event, now: Timestamp) -> (State, Vec<Issued>) {
    let mut turn = Turn::of(before, now);
    match turn.take(event) {
        Ok(()) => turn.settle(),
        Err(refusal) => {
            turn = Turn::of(before, now);
            turn.state.refusal = Some(refusal);
        }
    }
    match check(before, &turn.state) {
        Ok(()) => (turn.state, turn.issued),
        Err(broken) => stop(before, now, &broken),
    }
}

/// The state as it was, with every move on hold: the engine is at fault and does nothing more by itself.
fn stop(before: &State, now: Timestamp, broken: &Broken) -> (State, Vec<Issued>) {
    let mut turn = Turn::of(before, now);
    let what = broken.to_string();
    let is_news = !turn.all_moves().any(is_broken);
    for id in turn.ids() {
        let since = turn.now;
        turn.forget_rename(id);
        if let Some(moving) = turn.find_mut(id)
            && !is_broken(moving)
        {
            let (remind_at, deadline) = (since.after(moving.policy.hold_reminder), None);
            moving.hold =
                Some(Frozen::new(Hold { why: Why::Broken { what: what.clone() }, since, remind_at, deadline }));
        }
    }
    turn.state.autopilot = Frozen::new(Autopilot::Disarmed { why: "the engine stopped itself".into() });
    turn.state.refusal = Some(Refusal::Broken { what: what.clone() });
    if is_news {
        let alert = alert::broken(&turn.state.zone, &what);
        turn.alert(alert);
    }
    (turn.state, turn.issued)
}

fn is_broken(moving: &Move) -> bool {
    moving.hold.as_ref().is_some_and(|hold| matches!(hold.why, Why::Broken { .. }))
}

/// One step being taken.
struct Turn {
    state: State,
    issued: Vec<Issued>,
    now: Timestamp,
    /// The time of the event before.
    before: Timestamp,
    /// Whether what is to be served may be something else than before.
    rerouted: bool,
}

impl Turn {
    fn of(before: &State, now: Timestamp) -> Turn {
        let mut state = before.clone();
        state.last = before.last.max(now);
        state.refusal = None;
        Turn { now: state.last, before: before.last, state, issued: Vec::new(), rerouted: false }
    }

    fn take(&mut self, event: &Event) -> Result<(), Refusal> {
        match event {
            Event::Begin { plan, policy } => self.begin(plan, policy),
            Event::Judged { effect, verdict } => self.judged(*effect, verdict),
            Event::Approved { target, actor } => self.approved(target, actor),
            Event::Hold { target, actor, reason } => self.hold_ordered(target, actor, reason),
            Event::Resume { target, .. } => self.resume(target),
            Event::Abort { target, actor, reason } => self.abort(target, actor, reason),
            Event::SiteHealthChanged { site, health } => self.measured(site, *health),
            Event::SiteForced { site, health, actor, reason } => self.forced(site, *health, actor, reason),
            Event::Tick => self.tick(),
            Event::Published { effect } => self.published(*effect),
            Event::PublishRefused { effect, findings } => self.publish_refused(*effect, findings),
            Event::Confirmed { effect } => self.confirmed(*effect),
            Event::ConfirmFailed { effect, why } => self.confirm_failed(*effect, why),
            Event::Told { effect } => self.told(*effect),
            Event::EffectFailed { effect, why } => self.effect_failed(*effect, why),
            Event::Configured { policy, sites, regions } => self.configured(policy, sites, regions),
            Event::DrainBound { id, until, basis, longer } => self.drain_bound(*id, *until, basis, longer),
            Event::DrainSampled { effect, sample } => self.drain_sampled(*effect, sample),
            Event::RenamesFound { id, renames } => self.renames_found(*id, renames),
            Event::RenameBegun { effect, .. } => self.rename_begun(*effect),
            Event::RenameStopped { effect, why } => self.rename_stopped(*effect, why),
            Event::FrontsTurned { id, levers } => self.fronts_turned(*id, levers),
            Event::ContentChanged { moves } => self.content_changed(moves),
            Event::Restarted => self.restarted(self.before),
            Event::StateDoubted { why } => {
                self.state.doubt = Some(short(why));
                Ok(())
            }
            Event::StateAccepted { .. } => match self.state.doubt.take() {
                Some(_) => Ok(()),
                None => Err(idle("nobody doubts the state")),
            },
            Event::Autopilot { armed, actor, reason } => {
                let why = format!("{} disarmed it: {}", actor.name, short(reason));
                self.state.autopilot = Frozen::new(if *armed { Autopilot::Armed } else { Autopilot::Disarmed { why } });
                Ok(())
            }
        }
    }

    // --- Moves ---

    fn all_moves(&self) -> impl Iterator<Item = &Move> {
        self.state.moves.values().chain(self.state.challengers.values())
    }

    fn ids(&self) -> Vec<MoveId> {
        self.state.moves.keys().chain(self.state.challengers.keys()).copied().collect()
    }

    fn find_mut(&mut self, id: MoveId) -> Option<&mut Move> {
        match self.state.moves.get_mut(&id) {
            Some(moving) => Some(moving),
            None => self.state.challengers.get_mut(&id),
        }
    }

    /// The move that is meant; of two that have a region, the one that is to take over.
    fn target(&self, target: &Target) -> Result<MoveId, Refusal> {
        match target {
            Target::Id(id) => self.state.find(*id).map(|_| *id).ok_or(Refusal::NoMove),
            Target::Region(region) => {
                let newest_first = self.state.challengers.iter().chain(&self.state.moves);
                let mut having = newest_first.filter(|(_, moving)| moving.base.contains_key(region));
                having.next().map(|(id, _)| *id).ok_or(Refusal::NoMove)
            }
            Target::Only => match self.ids()[..] {
                [] => Err(Refusal::NoMove),
                [id] => Ok(id),
                _ => Err(Refusal::WhichMove),
            },
        }
    }

    fn enter(&mut self, id: MoveId, phase: Phase) {
        let now = self.now;
        if let Some(moving) = self.find_mut(id) {
            let kind = phase.kind();
            if moving.times.last().is_none_or(|(last, _)| *last != kind) {
                moving.times.push((kind, now));
            }
            moving.phase = phase;
        }
        self.rerouted = true;
    }

    /// Something was decided on the regions of a move: plans that were made before are stale. A plan that waits to take
    /// regions over is not: it was made to do so wherever they are.
    fn decide(&mut self, id: MoveId) {
        self.state.revision = self.state.revision.saturating_add(1);
        let revision = self.state.revision;
        let Some(moving) = self.find_mut(id) else { return };
        moving.revision = revision;
        let base = moving.base.clone();
        for region in base.keys() {
            let waits = |(other, moving): (&MoveId, &Move)| *other != id && moving.base.contains_key(region);
            if self.state.challengers.iter().any(waits) {
                continue;
            }
            match self.state.moved.edit().get_mut(region) {
                Some(moved) => *moved = revision,
                None => _ = self.state.moved.edit().insert(region.clone(), revision),
            }
        }
    }

    /// Puts a move on hold, whatever held it before.
    fn hold(&mut self, id: MoveId, why: Why) {
        let (now, zone) = (self.now, self.state.zone.clone());
        self.forget_rename(id);
        let Some(moving) = self.find_mut(id) else { return };
        let (remind_at, deadline) = (now.after(moving.policy.hold_reminder), now.after(moving.policy.hold_deadline));
        let told = alert::held(&zone, id, moving, &why);
        moving.hold = Some(Frozen::new(Hold { why, since: now, remind_at, deadline: Some(deadline) }));
        self.alert(told);
    }

    /// Ends a move. What is served changes with it where that is due: TTLs go back to what they were.
    fn end(&mut self, id: MoveId, outcome: Outcome) {
        let challenger = self.state.challengers.remove(&id);
        let was_challenger = challenger.is_some();
        let Some(last) = challenger.or_else(|| self.state.moves.remove(&id)) else { return };
        if outcome == Outcome::Done {
            for (region, origin) in last.base.iter() {
                self.state.base.edit().insert(region.clone(), last.plan.to.clone());
                self.state.previous.edit().insert(region.clone(), origin.site.clone());
            }
        }
        let of_it =
            |effect: &Effect| matches!(effect, Effect::Judge { id: of } | Effect::Sample { id: of } if *of == id);
        self.state.pending.retain(|_, pending| !of_it(&pending.effect));
        self.forget_rename(id);
        let base = last.base.clone();
        self.issue(Effect::Ended(Frozen::new(Ended { id, outcome, at: self.now, last })));
        self.rerouted = true;
        if was_challenger {
            self.unchallenge(&base);
        }
    }

    // --- Effects ---

    fn issue(&mut self, effect: Effect) {
        let id = EffectId(self.state.next_effect);
        self.state.next_effect = self.state.next_effect.saturating_add(1);
        let pending = Pending { effect: effect.clone(), failures: 0, again_at: self.now.after(PATIENCE) };
        self.state.pending.insert(id, pending);
        self.issued.push(Issued { id, effect });
    }

    fn alert(&mut self, alert: Alert) {
        let is_alert = |pending: &Pending| matches!(pending.effect, Effect::Alert(_));
        let oldest = self.state.pending.iter().find(|(_, pending)| is_alert(pending)).map(|(id, _)| *id);
        if self.state.pending.values().filter(|pending| is_alert(pending)).count() >= MOST_ALERTS
            && let Some(oldest) = oldest
        {
            self.state.pending.remove(&oldest);
        }
        self.issue(Effect::Alert(Frozen::new(alert)));
    }

    /// How long to wait after so many failures.
    fn back_off(&self, failures: u16) -> Duration {
        let doubled = 1u32 << failures.saturating_sub(1).min(16);
        self.state.policy.retry.saturating_mul(doubled).min(LONGEST_RETRY)
    }
}

fn idle(why: &str) -> Refusal {
    Refusal::Idle { why: why.into() }
}

/// A text from outside, at a length that a state can keep.
fn short(text: &str) -> String {
    text.chars().take(MOST_TEXT).collect()
}

fn short_all(lines: &[String]) -> Vec<String> {
    lines.iter().take(MOST_LINES).map(|line| short(line)).collect()
}
