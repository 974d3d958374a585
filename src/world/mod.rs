//! The world that a zone's traffic is moved in: what gives the time, does what the engine asks for, and answers clients.
//!
//! One loop ([`turns`]) runs in every world. Whether a run is live, a drill or simulated is a matter of the world and the
//! journal that it is given; neither the loop nor anything above it can tell.

pub mod edits;
pub mod held;
pub mod judging;
pub mod planning;
pub mod routing;
pub mod sim;
pub mod turns;

use crate::door::Verified;
use crate::failover::actor::Actor;
use crate::failover::effect::{EffectId, Issued};
use crate::failover::event::Event;
use crate::failover::state::State;
use crate::store::journal::Publication;
use crate::time::Timestamp;

/// What the loop around one zone's engine needs from outside, beside a journal.
pub trait World {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The stream of the journal that the zone's rows are written to.
    fn stream(&self) -> String;

    /// The generation of what is served.
    fn generation(&self) -> u64;

    /// Does what a step asks for, but for a publication: that is only prepared. What is asked for is in the journal by then,
    /// unless it is the gates' verdict, which changes nothing. None: what came of it is not known yet; it is told to
    /// [`turns::Engine::drive`] when it is, or asked for again by the engine when it never is.
    fn perform(&mut self, state: &State, issued: &Issued) -> Option<Outcome>;

    /// Gets a publication in front of clients that is in the journal by now.
    fn bring_out(&mut self, publication: Prepared);
}

/// What came of an effect.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the engine is told.
    pub event: Event,
    /// What is to get in front of clients as soon as that is written.
    pub publication: Option<Prepared>,
}

impl Outcome {
    /// What came of preparing a publication: what is to be published, if anything, or what gates have against it.
    pub fn of_publication(effect: EffectId, prepared: Result<Option<Prepared>, Vec<String>>) -> Outcome {
        match prepared {
            Ok(publication) => Outcome { event: Event::Published { effect }, publication },
            Err(findings) => Event::PublishRefused { effect, findings }.into(),
        }
    }
}

impl From<Event> for Outcome {
    fn from(event: Event) -> Outcome {
        Outcome { event, publication: None }
    }
}

/// A change that the gates let through, and what the journal is to say of it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What is to be served.
    pub verified: Verified,
    /// What the journal is to say of it.
    pub publications: Vec<Publication>,
}

impl Prepared {
    /// The generation that it is published as.
    pub fn generation(&self) -> u64 {
        self.verified.serving().generation
    }
}

/// Who causes an event, and why.
#[derive(Clone, Debug)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// Why, in the actor's words.
    pub reason: String,
}

impl By {
    /// The daemon, by itself.
    pub fn daemon() -> By {
        By { actor: daemon(), reason: String::new() }
    }
}

/// The actor of what the daemon does by itself.
pub fn daemon() -> Actor {
    Actor { uid: None, name: "understudy".into() }
}
