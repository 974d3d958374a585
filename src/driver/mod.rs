//! The only loop that changes what is served: it reads texts, proposes, has the gates judge, writes the journal and
//! only then publishes.

mod bounds;
pub mod confirm;
pub mod dark;
pub mod drains;
pub mod drills;
pub mod engine;
mod errands;
mod forecasts;
pub mod load;
pub mod moves;
pub mod name_servers;
pub mod plan;
pub mod publish;
mod readings;
pub mod reload;
pub mod rename;
pub mod restore;
pub mod sampling;
pub mod setup;
mod sharing;
mod standby;
pub mod stretch;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::digest::Digest;
use crate::gate::Finding;
use crate::name::Name;
use crate::serve::folding::Folding;
use crate::serve::stage::Stage;
use crate::serving::Serving;
use crate::serving::content::Policy;
use crate::snapshot::compile::Shape;
use crate::store::journal::{Sequence, SqliteJournal};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;
use crate::zone::diagnostic::Diagnostic;
use bounds::Bounds;
use drills::Drills;
use engine::{EndedStream, Engine, Told};
use publish::Last;
use readings::Readings;
use rename::Renames;
use sampling::Sampling;
use setup::Setup;
use standby::Standby;

pub use crate::world::daemon;

/// The stream of the journal that the public stage is written to.
const STREAM: &str = "public";

/// What went wrong below the rules: nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The state could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row of the journal says what this version does not understand.
    #[error("the journal's last row for {zone} cannot be understood ({why}): it was written by another version")]
    Row {
        /// The zone.
        zone: Name,
        /// What is wrong with it.
        why: String,
    },
    /// The state is of zones none of which is configured.
    #[error(
        "the state is of other zones ({}), and none of them is configured: it may be somebody else's. Nothing was changed; \
         name its own configuration with --config, or another directory with --state-dir",
        zones.join(", ")
    )]
    OtherZones {
        /// The zones of the state, or the first of them.
        zones: Vec<String>,
    },
    /// The system gave no resources.
    #[error("the system gave no resources to serve with: {0}")]
    System(#[from] std::io::Error),
}

/// Changes what one stage answers. There is one driver, and it does one thing at a time.
pub struct Driver {
    setup: Setup,
    store: Store,
    journal: SqliteJournal,
    stage: Arc<Stage>,
    /// Knows who was told what, if that is noted.
    folding: Option<Arc<Folding>>,
    /// When it is looked again until when old answers may be held.
    bounds: Bounds,
    /// What is published: the same that the stage answers from.
    serving: Arc<Serving>,
    last: Option<Sequence>,
    /// What each zone was last published as, by the journal; zones that are not served any more among them.
    published: HashMap<Name, Last>,
    /// What became of the texts of each zone when they were last read.
    health: HashMap<Name, Health>,
    /// Why it is not known what a state that was lost knew: until zones were published from it.
    lost: Option<String>,
    /// What is decided on each zone's traffic.
    engines: HashMap<Name, Engine>,
    /// Where the streams of zones end that are served no more.
    ended_streams: HashMap<Name, EndedStream>,
    /// The alerts of late.
    alerts: VecDeque<Told>,
    /// The plan that the gates let through just now, until the engine asks for their verdict.
    cleared: Option<(Name, Digest)>,
    /// Zones whose edits waited for the end of a move that has ended.
    queued: BTreeSet<Name>,
    /// Where our own sockets are: nobody else's answers come from there.
    own: Vec<SocketAddr>,
    /// Our own sockets, to ask them whether a change arrived; none before they answer.
    listeners: Vec<SocketAddr>,
    /// The renames whose next step is waited for.
    renames: Renames,
    /// What was made of the files that were read last.
    readings: Readings,
    /// What was found out about moves beforehand.
    standby: Standby,
    /// Drills, under way and over.
    drills: Drills,
    /// Zones whose drills were due and could not begin, and when that was last seen.
    put_off: HashMap<Name, Timestamp>,
    /// What resolvers are to be asked, and are being asked.
    sampling: Sampling,
}

/// What became of a zone's texts when they were last read.
#[derive(Clone, Debug)]
pub enum Health {
    /// They are what is served.
    Good,
    /// They cannot be served.
    Broken(Vec<Diagnostic>),
    /// A gate stopped them.
    Refused(Vec<Finding>),
    /// They could not be published, for this reason.
    NotPublished(String),
    /// They touch what a move under way moves, and wait for its end: a line for each RRset.
    Queued(Vec<String>),
}

impl Driver {
    /// What queries are answered from.
    pub fn serving(&self) -> &Arc<Serving> {
        &self.serving
    }

    /// What the configuration says.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// What became of a zone's texts when they were last read.
    pub fn health(&self, origin: &Name) -> Option<&Health> {
        self.health.get(origin)
    }

    /// The state that lasts.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Tells where our own sockets are, which do not answer yet.
    pub fn set_own(&mut self, own: Vec<SocketAddr>) {
        self.own = own;
    }

    /// Tells which of our own sockets answer; from then on a change is confirmed by asking them.
    pub fn set_listeners(&mut self, listeners: Vec<SocketAddr>) {
        self.own.clone_from(&listeners);
        self.listeners = listeners;
    }

    fn shape(&self, policy: &Policy) -> Shape {
        Shape { key: self.serving.key, negative_ttl: policy.negative_ttl, max_ttl: policy.max_ttl }
    }
}

/// The time now, by the system's clock.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
