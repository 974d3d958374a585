//! How caches drain, by who was told what: of moves under way, and of such as are only thought of.

use std::collections::BTreeMap;
use std::time::Duration;

use super::forecasts::lowered;
use super::name_servers::NameServers;
use super::plan::Draft;
use super::stretch::MeasuredResolver;
use super::{Driver, now};
use crate::drain::holders::{Holders, Scope, Turn, told_until};
use crate::drain::{Forecast, Outlook, Step, forecast};
use crate::exposure::bound::{Basis, SKEW};
use crate::failover::moves::{Clock, Direction, Move, MoveId, Origin, Phase, PhaseKind};
use crate::failover::names::RegionName;
use crate::failover::plan::Kind;
use crate::failover::policy::Policy;
use crate::failover::state::State;
use crate::name::Name;
use crate::profile::Population;
use crate::serving::ZoneServing;
use crate::serving::regions::RegionId;
use crate::share::Share;
use crate::snapshot::capped::Capped;
use crate::time::{Timestamp, Ttl};

/// How caches drain.
#[derive(Clone, Debug)]
pub struct Drain {
    /// When that was said.
    pub at: Timestamp,
    /// The moves that it is about; none: it is as if everybody were moved now.
    pub moves: Vec<MoveId>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The forecast.
    pub forecast: Forecast,
    /// What it was made of.
    pub holders: Holders,
    /// When no cache that obeys TTLs holds an old answer any more.
    pub bound: Timestamp,
    /// What that rests on.
    pub basis: String,
    /// Whether other name servers tell something that is not noted here.
    pub others: bool,
}

/// A phase of a move that is thought of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// Which.
    pub phase: PhaseKind,
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// What it does, and what its end rests on.
    pub what: String,
}

/// What a dry run foresees.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// The phases, in order.
    pub phases: Vec<Foreseen>,
    /// How caches drain.
    pub drain: Drain,
}

/// What a forecast is asked for.
struct Question<'a> {
    moves: Vec<MoveId>,
    turns: BTreeMap<RegionId, Turn>,
    steps: Vec<Step>,
    only: Option<&'a Name>,
    capped: Option<&'a Capped>,
    /// The TTL that old answers are given with up to the last step, where that is lowered.
    low: Option<Ttl>,
    /// When the last old answers run out, where that is decided.
    decided: Option<(Timestamp, String)>,
}

impl Driver {
    /// How caches drain that may hold old answers of a zone; none if it is not served, or not noted who is told what.
    pub fn drain(&self, origin: &Name, only: Option<&Name>) -> Option<Drain> {
        let at = now();
        let state = self.traffic(origin)?;
        let under_way: Vec<(MoveId, &Move)> =
            state.moves.iter().filter(|(_, moving)| moving.is_under_way()).map(|(id, moving)| (*id, moving)).collect();
        let Some((_, first)) = under_way.first() else { return self.drain_if_moved(origin, only, state, at) };
        let turns = under_way.iter().flat_map(|(_, moving)| self.turns_of(moving, at)).collect();
        let decided = match &first.phase {
            Phase::Draining { until, basis } => Some((first.watched.bound.unwrap_or(*until), basis.clone())),
            _ => None,
        };
        let question = Question {
            moves: under_way.iter().map(|(id, _)| *id).collect(),
            turns,
            steps: steps_of(first, at),
            only,
            capped: self.serving.zone(origin.as_ref())?.capped(),
            low: Some(first.policy.low_ttl),
            decided,
        };
        self.foresee(origin, question, at)
    }

    /// How the clients of a move's regions change sides.
    pub(super) fn turns_of(&self, moving: &Move, at: Timestamp) -> BTreeMap<RegionId, Turn> {
        let turn = |(region, from): (&RegionName, &Origin)| {
            let id = self.serving.regions.named(region.as_str())?;
            let is_back = moving.direction == Direction::Back;
            let back = || std::iter::once(&from.site).chain(&from.others).map(ToString::to_string).collect();
            let new = if is_back { back() } else { vec![moving.plan.to.to_string()] };
            Some((id, Turn { new, salt: Some(moving.salt()), is_back, steps: steps_of(moving, at) }))
        };
        moving.base.iter().filter_map(turn).collect()
    }

    /// As if everybody were moved to some other site now.
    fn drain_if_moved(&self, origin: &Name, only: Option<&Name>, state: &State, at: Timestamp) -> Option<Drain> {
        let steps = vec![Step { at, share: Share::ALL }];
        let turn = Turn { new: Vec::new(), salt: None, is_back: false, steps: steps.clone() };
        let turns = self.region_ids(state.base.keys()).map(|id| (id, turn.clone())).collect();
        let question = Question { moves: Vec::new(), turns, steps, only, capped: None, low: None, decided: None };
        self.foresee(origin, question, at)
    }

    /// What a move that is only thought of comes to; none if it is not noted who is told what.
    pub(super) fn prospect(&self, draft: &Draft, policy: &Policy) -> Option<Prospect> {
        let at = now();
        let zone = self.serving.zone(draft.origin.as_ref())?;
        let is_planned = draft.kind == Kind::Switchover;
        let capped = lowered(zone, draft, policy);
        let salt = draft.digest.as_bytes().iter().take(8).fold(0, |salt, octet| salt << 8 | u64::from(*octet));
        let question = |steps: Vec<Step>| {
            let new = vec![draft.to.to_string()];
            let turn = Turn { new, salt: Some(salt), is_back: false, steps: steps.clone() };
            let turns = self.region_ids(draft.regions.keys()).map(|id| (id, turn.clone())).collect();
            let low = is_planned.then_some(policy.low_ttl);
            Question { moves: Vec::new(), turns, steps, only: None, capped: Some(&capped), low, decided: None }
        };
        // Until when what is told by now may be held: that is what Lowering waits for.
        let ceiling = at.after(draft.old_ttl.duration());
        let (lowered, basis) = match self.held_now(zone, &question(Vec::new()), at)? {
            (until, basis) if until < ceiling => (until, basis),
            _ => (ceiling, Basis::Journal.to_string()),
        };
        let begin = if is_planned { lowered } else { at };
        let steps: Vec<Step> = stepped(policy.steps.as_slice(), begin, policy.step_wait).collect();
        let drain = self.foresee(&draft.origin, question(steps), at)?;
        let phases = foreseen(&drain, policy, at, is_planned.then_some((lowered, basis)));
        Some(Prospect { phases, drain })
    }

    pub(super) fn region_ids<'a>(
        &self,
        regions: impl Iterator<Item = &'a RegionName>,
    ) -> impl Iterator<Item = RegionId> {
        regions.filter_map(|region| self.serving.regions.named(region.as_str()))
    }

    /// Until when old answers may be held that were told by now, and what that rests on.
    fn held_now(&self, zone: &ZoneServing, question: &Question<'_>, at: Timestamp) -> Option<(Timestamp, String)> {
        let Question { turns: regions, only, capped, low, .. } = question;
        let (serving, only, capped, low) = (&*self.serving, *only, *capped, *low);
        // How long resolvers keep it does not matter to who was told what.
        let scope = Scope { serving, zone, only, regions, capped, low, profiles: &[] };
        let (until, is_whole) = told_until(&**self.folding.as_ref()?, &scope, at);
        Some(self.bound(&zone.content.origin, until, is_whole, at, at))
    }

    /// When old answers run out that were told up to `last`, of which it is known until when they may be held.
    fn bound(
        &self,
        origin: &Name,
        until: Option<Timestamp>,
        is_whole: bool,
        last: Timestamp,
        at: Timestamp,
    ) -> (Timestamp, String) {
        match until {
            _ if !is_whole => {
                let held = last.after(self.longest_of(origin).duration()).after(SKEW);
                (held.max(at), Basis::Journal.to_string())
            }
            Some(until) if until > at => (until, Basis::Exposure.to_string()),
            _ => (at, Basis::NobodyTold.to_string()),
        }
    }

    fn foresee(&self, origin: &Name, question: Question<'_>, at: Timestamp) -> Option<Drain> {
        let zone = self.serving.zone(origin.as_ref())?;
        let Question { moves, turns, steps, only, capped, low, decided } = question;
        let measured = self.measured_resolvers(at).into_iter();
        let profiles: Vec<_> = measured.flat_map(MeasuredResolver::with_sources).collect();
        let scope = Scope { serving: &self.serving, zone, only, regions: &turns, capped, low, profiles: &profiles };
        let folding = self.folding.as_ref()?;
        let holders = Holders::of(&**folding, &scope, at);
        let last = steps.last().map_or(at, |step| step.at);
        let longest = holders.holders.iter().map(|holder| holder.ttl).max().unwrap_or_default();
        let (bound, basis) = decided.unwrap_or_else(|| match last > at {
            // What is told up to the last step is not known yet.
            true => (last.after(longest.duration()).after(SKEW), Basis::Journal.to_string()),
            false => self.bound(origin, holders.until, holders.is_whole, last, at),
        });
        let outlook = Outlook {
            holders: &holders.holders,
            population: &Population::proposed(),
            steps: &steps,
            known_until: at,
            bound: Some(bound),
        };
        let forecast = forecast(&outlook);
        let others = self
            .setup
            .zone(origin)
            .is_none_or(|spec| !NameServers::of(spec, &zone.content.sites[0]).are_all_ours(&self.own));
        Some(Drain { at, moves, steps, forecast, bound, basis, others, holders })
    }
}

/// Steps from a time on, each so long behind the one before.
pub(super) fn stepped(shares: &[Share], begin: Timestamp, wait: Duration) -> impl Iterator<Item = Step> {
    let mut next = begin;
    shares.iter().map(move |share| {
        let at = next;
        next = next.after(wait);
        Step { at, share: *share }
    })
}

/// The steps of a move: those that were taken, as far as it is known when, and those ahead, if nothing holds it up.
fn steps_of(moving: &Move, at: Timestamp) -> Vec<Step> {
    let Policy { steps, step_wait, .. } = &*moving.policy;
    let began = |kind| moving.times.iter().rev().find(|(known, _)| *known == kind).map(|(_, at)| *at);
    if moving.direction == Direction::Back {
        // Counted is who has gone back.
        let back = |share: Share| Share::new(Share::ALL.basis_points() - share.basis_points()).unwrap_or(Share::ALL);
        let mut shares = vec![moving.share];
        while let Some(share) = shares.last().copied().filter(|share| *share > Share::NONE) {
            shares.push(if moving.plan.is_stepped() { steps.below(share) } else { Share::NONE });
        }
        let shares: Vec<Share> = shares.into_iter().map(back).collect();
        return stepped(&shares, moving.phase_since(), *step_wait).collect();
    }
    let shares = if moving.plan.is_stepped() { steps.as_slice() } else { &[Share::ALL] };
    let (taken, ahead): (Vec<Share>, Vec<Share>) = shares.iter().partition(|share| **share <= moving.published);
    let first = began(PhaseKind::Shifting).unwrap_or(at);
    let (last, next) = match moving.phase {
        Phase::Lowering { clock: Clock::Until(until), .. } => (at, until.max(at)),
        Phase::Lowering { clock: Clock::Publishing, .. } => (at, at.after(moving.given.duration())),
        Phase::Shifting { clock: Clock::Until(until) } => {
            (Timestamp(until.0.saturating_sub(step_wait.as_millis() as i64)), until.max(at))
        }
        _ => (began(PhaseKind::Draining).unwrap_or(at), at),
    };
    let mut taken: Vec<Step> = stepped(&taken, first, *step_wait).collect();
    taken.iter_mut().for_each(|step| step.at = step.at.min(last));
    if let Some(step) = taken.last_mut() {
        step.at = last;
    }
    taken.extend(stepped(&ahead, next, *step_wait));
    taken
}

/// The phases of a move that is thought of; `lowering` says when TTLs are low, and what that rests on.
fn foreseen(drain: &Drain, policy: &Policy, at: Timestamp, lowering: Option<(Timestamp, String)>) -> Vec<Foreseen> {
    let phase = |phase, from, until, what: String| Foreseen { phase, from, until, what };
    let last = drain.steps.last().map_or(at, |step| step.at);
    let mut phases = vec![phase(PhaseKind::Checking, at, at, "the gates judge it again, as above".into())];
    if let Some((until, basis)) = lowering {
        let what = format!("TTLs of what moves are {} s; the old ones run out: {basis}", policy.low_ttl.seconds());
        phases.push(phase(PhaseKind::Lowering, at, until, what));
    }
    for (number, step) in drain.steps.iter().enumerate() {
        let until = drain.steps.get(number + 1).map_or(step.at, |next| next.at);
        phases.push(phase(PhaseKind::Shifting, step.at, until, format!("{} of the units", step.share)));
    }
    phases.push(phase(PhaseKind::Draining, last, drain.bound, format!("old answers run out: {}", drain.basis)));
    let end = drain.bound.after(policy.bake);
    phases.push(phase(PhaseKind::Baking, drain.bound, end, "the target is seen healthy; then TTLs go back".into()));
    phases
}
