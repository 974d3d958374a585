//! Sites get well and fall ill; moves wait for them, or stop.

use super::{PATIENCE, Turn, idle, short};
use crate::failover::actor::Actor;
use crate::failover::alert;
use crate::failover::effect::Issued;
use crate::failover::health::{Forced, Health, SiteHealth};
use crate::failover::moves::{Direction, Move, MoveId, Phase, PhaseKind, Why};
use crate::failover::names::{Frozen, SiteName};
use crate::failover::refusal::Refusal;
use crate::share::Share;
use crate::time::Timestamp;

impl Turn {
    pub(super) fn measured(&mut self, site: &SiteName, health: Health) -> Result<(), Refusal> {
        let known = self.state.health.edit().get_mut(site).ok_or_else(|| Refusal::NoSite { site: site.clone() })?;
        if known.measured == health && known.watched {
            return Err(idle(&format!("{site} was measured so already")));
        }
        *known = Frozen::new(SiteHealth { measured: health, watched: true, ..(**known).clone() });
        Ok(())
    }

    pub(super) fn forced(
        &mut self,
        site: &SiteName,
        health: Option<Health>,
        actor: &Actor,
        reason: &str,
    ) -> Result<(), Refusal> {
        let at = self.now;
        let known = self.state.health.edit().get_mut(site).ok_or_else(|| Refusal::NoSite { site: site.clone() })?;
        if known.forced.is_none() && health.is_none() {
            return Err(idle(&format!("{site} counts as measured already")));
        }
        let actor = Actor { uid: actor.uid, name: short(&actor.name) };
        let forced = health.map(|health| Forced { health, actor, reason: short(reason), at });
        *known = Frozen::new(SiteHealth { forced, ..(**known).clone() });
        Ok(())
    }

    /// The daemon has started. Nothing was seen since the last event, and what was to be done may not have been.
    pub(super) fn restarted(&mut self, last: Timestamp) -> Result<(), Refusal> {
        self.stop_watching(last);
        self.ask_for_all();
        for site in self.state.health.edit().values_mut().filter(|site| site.measured != Health::Unknown) {
            *site = Frozen::new(SiteHealth { measured: Health::Unknown, ..(**site).clone() });
        }
        Ok(())
    }

    /// Whether all these sites are watched and none is known to work: then we may be the ones that are cut off.
    pub(super) fn nothing_works<'a>(&self, mut sites: impl Iterator<Item = &'a SiteName>) -> bool {
        sites.all(|site| {
            self.state.health.get(site).is_some_and(|known| known.is_watched() && known.effective() != Health::Up)
        })
    }

    /// What keeps a move from going on, as far as the health of its sites goes.
    pub(super) fn hindrance(&self, moving: &Move) -> Option<Why> {
        if !moving.is_under_way() {
            return None;
        }
        let (heading, leaving) = (self.state.heading_for(moving), self.state.leaving(moving));
        let down = heading.iter().find(|site| self.state.health_of(site) == Health::Down);
        let alone = || self.nothing_works(leaving.iter().copied());
        let phase = moving.phase.kind();
        if let Some(site) = down.map(|site| (*site).clone()) {
            let there = moving.published != Share::NONE || moving.direction == Direction::Back;
            return Some(match (there, alone()) {
                (true, alone) => Why::Relapse { site, alone },
                (false, true) => Why::CutOff,
                (false, false) => Why::TargetDown { site },
            });
        }
        let unseen = heading.iter().find(|site| self.state.health_of(site) == Health::Unknown);
        let site = unseen.map(|site| (*site).clone())?;
        let watched = self.state.health.get(&site).is_some_and(|known| known.is_watched());
        match phase {
            PhaseKind::Baking if watched => Some(Why::Unseen { site }),
            _ if watched && alone() => Some(Why::CutOff),
            PhaseKind::Shifting if watched => Some(Why::Unseen { site }),
            _ => None,
        }
    }

    /// Puts moves on hold that their sites' health keeps from going on, and lets those go on that it no longer does.
    pub(super) fn review(&mut self) {
        for id in self.state.moves.keys().copied().collect::<Vec<_>>() {
            let Some(moving) = self.state.moves.get(&id) else { continue };
            let hindrance = self.hindrance(moving);
            match (moving.hold.as_ref().map(|hold| &hold.why), hindrance) {
                (None, Some(why)) => self.hold(id, why),
                (Some(former), Some(why)) if former.lifts_itself() && *former != why => self.hold(id, why),
                (Some(former), None) if former.lifts_itself() => self.lift(id),
                _ => {}
            }
            self.watch(id);
        }
    }

    /// What a move waited for is there.
    fn lift(&mut self, id: MoveId) {
        let zone = self.state.zone.clone();
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        moving.hold = None;
        let told = alert::lifted(&zone, id, moving);
        self.alert(told);
    }

    /// Counts how long the new site was seen healthy.
    fn watch(&mut self, id: MoveId) {
        let now = self.now;
        let Some(moving) = self.state.moves.get(&id) else { return };
        // Of a site that nobody watches nothing can be seen: there the time counts in which nobody said anything.
        let to = &moving.plan.to;
        let unwatched = self.state.health.get(to).is_some_and(|known| !known.is_watched());
        let healthy = moving.hold.is_none() && (unwatched || self.state.health_of(to) == Health::Up);
        let Some(moving) = self.state.moves.get_mut(&id) else { return };
        if let Phase::Baking { observed, since } = &mut moving.phase {
            match *since {
                None if healthy => *since = Some(now),
                Some(from) if !healthy => {
                    (*observed, *since) = (observed.saturating_add(now.since(from)), None);
                }
                _ => {}
            }
        }
    }

    /// Counts how long new sites were seen healthy up to a time, after which nobody looked.
    fn stop_watching(&mut self, at: Timestamp) {
        for moving in self.state.moves.values_mut() {
            if let Phase::Baking { observed, since } = &mut moving.phase
                && let Some(from) = since.take()
            {
                *observed = observed.saturating_add(at.since(from));
            }
        }
    }

    /// Asks again for all that nobody has said is done.
    fn ask_for_all(&mut self) {
        let again_at = self.now.after(PATIENCE);
        for (id, pending) in &mut self.state.pending {
            (pending.failures, pending.again_at) = (0, again_at);
            self.issued.push(Issued { id: *id, effect: pending.effect.clone() });
        }
    }
}
