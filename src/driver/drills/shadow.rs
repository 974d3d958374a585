//! The world of a drill: a stage that only it changes, its own listeners in front of it, and its own stream of the journal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::super::confirm::confirm;
use super::super::now;
use super::super::setup::DrillListen;
use super::halt::Halt;
use super::sample::Samples;
use super::stream;
use crate::door::{Candidate, Verified};
use crate::failover::effect::{Alert, Effect, Ended, Issued};
use crate::failover::event::{Event, Judgement};
use crate::failover::moves::MoveId;
use crate::failover::plan::Plan;
use crate::failover::sample::Sample;
use crate::failover::state::State;
use crate::gate::memo::Memo;
use crate::name::Name;
use crate::net::Network;
use crate::serve::stage::Stage;
use crate::serve::{ListenSettings, Listeners, Running};
use crate::serving::notes::Notes;
use crate::serving::ranges::Ranges;
use crate::serving::{Serving, Settings, ZoneServing};
use crate::time::Timestamp;
use crate::world::{Outcome, Prepared, World, judging, planning};

/// The world of a drill.
pub(super) struct Shadow {
    origin: Name,
    stage: Arc<Stage>,
    serving: Arc<Serving>,
    running: Running,
    /// What was found out beforehand about moves of the zone.
    memo: Arc<Memo>,
    /// What is asked of the listeners after each publication.
    pub(super) samples: Samples,
    halt: Arc<Halt>,
    /// What operators would have been told, oldest first.
    pub(super) alerts: Vec<Alert>,
    /// The moves that have ended, oldest first.
    pub(super) ended: Vec<Ended>,
}

/// What is served, as a drill answers it: it takes everybody's word for whom they ask for (RFC 7871), so that clients of
/// any region can be played.
pub(super) fn shadow_of(live: &Serving) -> Arc<Serving> {
    let everybody = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    let everybody = everybody.into_iter().filter_map(|any| Network::new(any, 0));
    let trusted_subnets = Arc::new(Ranges::new(everybody.map(|network| (network, 1))));
    let settings = Settings { cookies: None, trusted_subnets, ..live.settings.clone() };
    Arc::clone(Verified::in_manner(live, settings, Notes::default()).serving())
}

impl Shadow {
    /// Begins to answer what is served, on listeners of its own.
    ///
    /// # Errors
    /// An address or a thread can't be had; what it says is for operators.
    pub(super) fn raise(
        origin: &Name,
        live: &Serving,
        listen: &DrillListen,
        memo: Arc<Memo>,
        samples: Samples,
        halt: Arc<Halt>,
    ) -> Result<Shadow, String> {
        let serving = shadow_of(live);
        let settings = ListenSettings {
            addresses: listen.addresses.clone(),
            workers: NonZeroUsize::MIN,
            ..ListenSettings::default()
        };
        let stage = Stage::new(Arc::clone(&serving)).map_err(|error| error.to_string())?;
        let listeners = Listeners::bind(&settings).map_err(|error| {
            let free =
                "Without the key, drills are answered on a free port of 127.0.0.1, and nothing has to be configured.";
            format!("{}: {error} {free}", listen.place)
        })?;
        let running = listeners.run(&stage).map_err(|error| error.to_string())?;
        let (origin, alerts, ended) = (origin.clone(), Vec::new(), Vec::new());
        Ok(Shadow { origin, stage, serving, running, memo, samples, halt, alerts, ended })
    }

    /// What it answers from.
    pub(super) fn serving(&self) -> &Arc<Serving> {
        &self.serving
    }

    /// The zone as it answers it.
    pub(super) fn zone(&self) -> Option<&ZoneServing> {
        self.serving.zone(self.origin.as_ref())
    }

    /// Where it listens.
    pub(super) fn listeners(&self) -> &[SocketAddr] {
        self.running.addresses()
    }

    /// What a plan comes to in the end.
    pub(super) fn end_of(&self, plan: &Plan) -> Option<Candidate> {
        Some(planning::end_of(&self.serving, &self.origin, plan, now())?.remembering(Arc::clone(&self.memo)))
    }

    /// The same candidate, judged with what was found out beforehand.
    pub(super) fn remembering(&self, candidate: Candidate) -> Candidate {
        candidate.remembering(Arc::clone(&self.memo))
    }

    /// Whether its listeners give what is published, and what is published is what the texts say.
    ///
    /// # Errors
    /// Where they don't.
    pub(super) fn confirm(&self) -> Result<(), String> {
        if !confirm(&self.serving, self.listeners(), &self.origin, None) {
            return Err("a listener of the drill does not give what was published; the log names it".into());
        }
        let wrong = |listener: &SocketAddr| self.samples.wrong(&self.serving, *listener, &self.halt);
        let wrong: Vec<String> = self.listeners().iter().flat_map(wrong).collect();
        if let Some(why) = self.halt.why() {
            return Err(format!("it was not asked to the end: {why}"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("wrong answers: {}", wrong.join("; "))) }
    }

    fn judge(&self, state: &State, id: MoveId) -> Judgement {
        let Some(moving) = state.find(id) else { return Judgement::Passed };
        match self.end_of(&moving.plan) {
            Some(candidate) => judging::judgement(&candidate, &self.origin, &moving.plan),
            None => Judgement::Blocked(vec![format!("the zone is not served at {}", moving.plan.to)]),
        }
    }

    fn prepare(&self, state: &State) -> Result<Option<Prepared>, Vec<String>> {
        let Some(candidate) = judging::wanted(&self.serving, state, now())? else { return Ok(None) };
        let verified = judging::let_through(self.remembering(candidate), state)?;
        // Nothing is published: there is nothing for a restart to go on with.
        Ok(Some(Prepared { verified, publications: Vec::new() }))
    }
}

impl World for Shadow {
    fn now(&self) -> Timestamp {
        now()
    }

    fn stream(&self) -> String {
        stream(&self.origin)
    }

    fn generation(&self) -> u64 {
        self.serving.generation
    }

    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome> {
        let effect = issued.id;
        Some(match &issued.effect {
            Effect::Judge { id } => Event::Judged { effect, verdict: self.judge(state, *id) }.into(),
            Effect::Publish => Outcome::of_publication(effect, self.prepare(state)),
            Effect::Confirm => match self.confirm() {
                Ok(()) => Event::Confirmed { effect }.into(),
                Err(why) => Event::ConfirmFailed { effect, why }.into(),
            },
            // No resolver is sent here: there is nothing that one could be asked for.
            Effect::Sample { .. } => Event::DrainSampled { effect, sample: Sample::default() }.into(),
            // Nobody finds renames here that gain something.
            Effect::Rename { .. } => Event::RenameStopped { effect, why: "nothing is renamed here".into() }.into(),
            Effect::Alert(alert) => {
                self.alerts.push((**alert).clone());
                Event::Told { effect }.into()
            }
            Effect::Ended(ended) => {
                self.ended.push((**ended).clone());
                Event::Told { effect }.into()
            }
        })
    }

    fn bring_out(&mut self, Prepared { verified, .. }: Prepared) {
        self.stage.publish(&verified);
        self.serving = Arc::clone(verified.serving());
    }
}
