//! Old answers are waited for, and a rename would lead users round them: it is proposed, or done if the policy says so. Once
//! fronts lead past a lever, what leads there is waited for, and no more what caches hold of the lever.

use super::{Turn, idle, short};
use crate::failover::effect::{Effect, EffectId};
use crate::failover::moves::{Move, MoveId, Phase, by_the_journal};
use crate::failover::refusal::Refusal;
use crate::failover::renames::{Initiative, MOST_PROPOSED, MOST_TURNED, Proposed, Turned};
use crate::name::Name;

impl Turn {
    pub(super) fn renames_found(&mut self, id: MoveId, found: &[Proposed]) -> Result<(), Refusal> {
        let is_challenged = self.state.moves.get(&id).is_some_and(|moving| self.state.is_challenged(moving));
        let is_renaming = self.state.is_renaming();
        let moving = self.draining(id)?;
        let initiative = moving.policy.rename;
        if initiative == Initiative::Never {
            return Err(idle(&format!("the policy of {id} wants no renames proposed")));
        }
        let stands_still = is_challenged || moving.hold.is_some();
        let watched = &moving.watched;
        let is_known = |lever: &Name| {
            watched.renames.iter().any(|known| known.lever == *lever)
                || watched.turned.iter().any(|turned| turned.lever == *lever)
        };
        let mut news: Vec<Proposed> = Vec::new();
        let mut wanted = None;
        let room = MOST_PROPOSED - watched.renames.len();
        for rename in found {
            if news.len() >= room || is_known(&rename.lever) || news.iter().any(|known| known.lever == rename.lever) {
                continue;
            }
            let by_policy = initiative == Initiative::Do && rename.against.is_none();
            // One at a time: the others are found again.
            if by_policy && (is_renaming || stands_still || wanted.is_some()) {
                continue;
            }
            if by_policy {
                wanted = Some(rename.lever.clone());
            }
            news.push(Proposed {
                lever: rename.lever.clone(),
                gain: short(&rename.gain),
                command: short(&rename.command),
                against: rename.against.as_deref().map(short),
                by_policy,
            });
        }
        if news.is_empty() {
            return Err(idle("nothing is known of these renames that was not"));
        }
        moving.watched.edit().renames.append(&mut news);
        if let Some(lever) = wanted {
            self.issue(Effect::Rename { id, lever });
        }
        Ok(())
    }

    pub(super) fn rename_begun(&mut self, effect: EffectId) -> Result<(), Refusal> {
        self.take_rename(effect).map(|_| ())
    }

    /// What the policy wants can't be done by itself: it is for an operator to do.
    pub(super) fn rename_stopped(&mut self, effect: EffectId, why: &str) -> Result<(), Refusal> {
        let (id, lever) = self.take_rename(effect)?;
        let moving = self.draining(id)?;
        for known in moving.watched.edit().renames.iter_mut().filter(|known| known.lever == lever) {
            (known.against, known.by_policy) = (Some(short(why)), false);
        }
        Ok(())
    }

    /// Nothing leads to these levers any more: what caches hold of them does not matter once they don't lead there either.
    pub(super) fn fronts_turned(&mut self, id: MoveId, levers: &[Turned]) -> Result<(), Refusal> {
        let now = self.now;
        let moving = self.draining(id)?;
        let base = moving.base.clone();
        let Phase::Draining { until, basis } = &mut moving.phase else { return Err(Refusal::NoMove) };
        let watched = moving.watched.edit();
        let mut news = Vec::new();
        for turned in levers {
            let is_known = |known: &Turned| known.lever == turned.lever && known.fresh == turned.fresh;
            if watched.turned.len() < MOST_TURNED && !watched.turned.iter().any(is_known) {
                // It is told once it is published: somebody may have been led to the lever until just now.
                let turned = Turned { at: now, ..turned.clone() };
                watched.turned.push(turned.clone());
                news.push(turned);
            }
        }
        let Some(last) = news.iter().max_by_key(|turned| turned.until()) else {
            return Err(idle("nothing is known of these levers that was not"));
        };
        // Who obeys TTLs is waited for as before. Of all others it is asked anew what they give.
        let bound = watched.bound.unwrap_or(*until);
        *basis = match last.until() > bound {
            true => format!("the TTL of what led to {} until it was renamed", last.lever),
            false => by_the_journal(),
        };
        *until = bound.max(last.until());
        (watched.bound, watched.longer, watched.sample, watched.samples) = (Some(*until), Vec::new(), None, 0);
        for turned in &news {
            base.keys().for_each(|region| self.state.ttls.edit().note(region, turned.ttl, turned.at));
        }
        self.forget(&Effect::Sample { id });
        // Whoever renamed it, it is done.
        let is_done = |effect: &Effect| match effect {
            Effect::Rename { id: of, lever } => *of == id && news.iter().any(|turned| turned.lever == *lever),
            _ => false,
        };
        self.state.pending.retain(|_, pending| !is_done(&pending.effect));
        Ok(())
    }

    /// A rename that was asked for and has not begun is not wanted now. Should it gain something later, it is found again.
    pub(super) fn forget_rename(&mut self, id: MoveId) {
        let is_of_it = |effect: &Effect| matches!(effect, Effect::Rename { id: of, .. } if *of == id);
        let Some(forgotten) = self.state.pending.iter().find(|(_, pending)| is_of_it(&pending.effect)) else { return };
        let Ok((_, lever)) = self.take_rename(*forgotten.0) else { return };
        if let Some(moving) = self.find_mut(id) {
            moving.watched.edit().renames.retain(|known| known.lever != lever);
        }
    }

    fn take_rename(&mut self, effect: EffectId) -> Result<(MoveId, Name), Refusal> {
        match self.state.pending.get(&effect).map(|pending| pending.effect.clone()) {
            Some(Effect::Rename { id, lever }) => {
                self.state.pending.remove(&effect);
                Ok((id, lever))
            }
            _ => Err(Refusal::Late { effect }),
        }
    }

    /// A move that waits for old answers.
    fn draining(&mut self, id: MoveId) -> Result<&mut Move, Refusal> {
        let moving = self.state.moves.get_mut(&id).ok_or(Refusal::NoMove)?;
        match moving.phase {
            Phase::Draining { .. } => Ok(moving),
            _ => Err(idle(&format!("{id} is {}: no old answers are waited for", moving.phase.kind()))),
        }
    }
}
