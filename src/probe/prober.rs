//! The prober: measures resolvers on a thread of its own, all of those that were asked for at once, and tells how far it is.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::ask::Carrier;
use super::calibrate::{Plan, Unmeasured, calibrate};
use super::chance::Chance;
use super::look::look;
use super::pace::{Budget, Pace};
use super::register::Register;
use super::series::Subject;
use crate::canary::CanaryZone;
use crate::name::Name;
use crate::observation::Measured;
use crate::observation::sight::Heard;
use crate::rr::RrType;
use crate::serve::{self, ServeError};
use crate::time::Timestamp;

/// A resolver to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What operators call it.
    pub name: String,
    /// Where it is asked; of several, each question goes to one by chance.
    pub addresses: Vec<SocketAddr>,
    /// How it is asked.
    pub carrier: Carrier,
    /// At most so many questions in a second.
    pub rate: u32,
    /// How many questions are left of its day's budget.
    pub budget: u64,
}

/// What came of measuring a resolver.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// The resolver.
    pub target: Target,
    /// When it ended.
    pub at: Timestamp,
    /// What was found; or why nothing was.
    pub result: Result<Measured, String>,
    /// How many questions it took.
    pub questions: u64,
}

/// How far measuring a resolver is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// The resolver.
    pub name: String,
    /// What is done, or waited for.
    pub doing: String,
    /// How many series have ended.
    pub done: u32,
    /// Of how many.
    pub of: u32,
    /// Whether it has come to its end.
    pub ended: bool,
}

/// A calibration, under way or ended.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// Counts calibrations since the start; 0: there was none.
    pub number: u64,
    /// When it began.
    pub began: Timestamp,
    /// How far it is with each resolver.
    pub standings: Vec<Standing>,
    /// What came of those that it is done with.
    pub ended: Vec<Calibrated>,
}

impl Calibration {
    /// Whether something is measured yet.
    pub fn is_under_way(&self) -> bool {
        self.standings.iter().any(|standing| !standing.ended)
    }
}

/// Measures resolvers. It ends what it does when it is dropped.
#[derive(Debug)]
pub struct Prober {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

impl Drop for Prober {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Debug)]
struct Shared {
    zone: CanaryZone,
    register: Arc<Register>,
    calibration: Mutex<Calibration>,
    /// What each resolver last said to which question.
    looked: Mutex<HashMap<String, (Name, RrType, Looked)>>,
    chance: Chance,
}

/// What a resolver said, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// When.
    pub at: Timestamp,
    /// What.
    pub heard: Heard,
}

/// A question for a name that users ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: RrType,
    /// How often it is asked, so that several caches behind an address are met.
    pub times: u32,
}

/// What one resolver is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    /// The resolver.
    pub target: Target,
    /// The questions.
    pub questions: Vec<Question>,
}

/// Where it is told how far measuring a resolver is.
pub(super) struct Progress<'s> {
    shared: &'s Shared,
    at: usize,
}

/// A calibration is under way: one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("resolvers are being measured already")]
pub struct Busy;

impl Prober {
    /// A prober for the canaries of this zone, whose arrivals are in `register`.
    pub fn new(zone: CanaryZone, register: Arc<Register>) -> Result<Prober, ServeError> {
        let (calibration, looked) = (Mutex::default(), Mutex::default());
        let shared = Shared { zone, register, calibration, looked, chance: Chance::new() };
        Ok(Prober { shared: Arc::new(shared), runtime: Some(serve::runtime("prober", 1)?) })
    }

    /// Begins to measure these resolvers; what comes of each is handed to `keep` when it ends. Returns the calibration's
    /// number.
    pub fn begin(
        &self,
        targets: Vec<Target>,
        plan: Plan,
        keep: impl Fn(&Calibrated) + Send + Sync + 'static,
    ) -> Result<u64, Busy> {
        let mut calibration = self.shared.calibration();
        if calibration.is_under_way() {
            return Err(Busy);
        }
        let standing = |target: &Target| Standing {
            name: target.name.clone(),
            doing: "waiting to be asked".into(),
            done: 0,
            of: 0,
            ended: false,
        };
        *calibration = Calibration {
            number: calibration.number + 1,
            began: serve::now(),
            standings: targets.iter().map(standing).collect(),
            ended: Vec::new(),
        };
        let keep = Arc::new(keep);
        if let Some(runtime) = &self.runtime {
            for (at, target) in targets.into_iter().enumerate() {
                let (shared, plan, keep) = (Arc::clone(&self.shared), plan.clone(), Arc::clone(&keep));
                runtime.spawn(async move {
                    let calibrated = shared.measure(at, target, &plan).await;
                    keep(&calibrated);
                    shared.end(at, calibrated);
                });
            }
        }
        Ok(calibration.number)
    }

    /// Asks each of these resolvers for a name, and hands what they say to `tell`, in the same order. One that was asked for
    /// it so short a time ago that it may not be asked again is not; what it said then counts.
    pub fn look(
        &self,
        targets: Vec<Target>,
        name: Name,
        rtype: RrType,
        tell: impl FnOnce(Vec<Looked>) + Send + 'static,
    ) {
        let Some(runtime) = &self.runtime else { return };
        let shared = Arc::clone(&self.shared);
        runtime.spawn(async move {
            let looks = targets.into_iter().map(|target| {
                let (shared, name) = (Arc::clone(&shared), name.clone());
                tokio::spawn(async move { shared.look(&target, name, rtype).await })
            });
            let mut seen = Vec::new();
            for look in looks.collect::<Vec<_>>() {
                let nothing = Looked { at: serve::now(), heard: Heard::Nothing };
                seen.push(look.await.unwrap_or(nothing));
            }
            tell(seen);
        });
    }

    /// Asks each of these resolvers what it is to be asked, at its pace and within its budget, and hands what each said to
    /// `tell`, in the same order: to which of its questions it said what.
    pub fn sample(&self, asked: Vec<Questions>, tell: impl FnOnce(Vec<Vec<(usize, Looked)>>) + Send + 'static) {
        let Some(runtime) = &self.runtime else { return };
        let shared = Arc::clone(&self.shared);
        runtime.spawn(async move {
            let samples = asked.into_iter().map(|questions| {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move { shared.sample(&questions).await })
            });
            let mut said = Vec::new();
            for sample in samples.collect::<Vec<_>>() {
                said.push(sample.await.unwrap_or_default());
            }
            tell(said);
        });
    }

    /// How the last calibration stands.
    pub fn calibration(&self) -> Calibration {
        self.shared.calibration().clone()
    }
}

impl Shared {
    fn calibration(&self) -> MutexGuard<'_, Calibration> {
        self.calibration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn measure(&self, at: usize, target: Target, plan: &Plan) -> Calibrated {
        let subject = Subject {
            zone: &self.zone,
            register: &self.register,
            addresses: &target.addresses,
            carrier: target.carrier,
            pace: Pace::new(target.rate, Budget::new(target.budget)),
        };
        let result = calibrate(&subject, plan, &Progress { shared: self, at }).await;
        let questions = target.budget - subject.pace.left();
        let result = result.map_err(|error: Unmeasured| error.to_string());
        Calibrated { target, at: serve::now(), result, questions }
    }

    async fn look(&self, target: &Target, name: Name, rtype: RrType) -> Looked {
        let now = serve::now();
        let least = Duration::from_secs(1) / target.rate.max(1);
        let looked = || self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, known_type, last)) = looked().get(&target.name)
            && now.since(last.at) < least
            && (known, *known_type) == (&name, rtype)
        {
            return last.clone();
        }
        let said = self.look_now(target, &name, rtype).await;
        looked().insert(target.name.clone(), (name, rtype, said.clone()));
        said
    }

    async fn look_now(&self, target: &Target, name: &Name, rtype: RrType) -> Looked {
        let chance = self.chance.number() as usize;
        let heard = match target.addresses.get(chance % target.addresses.len().max(1)) {
            Some(address) => look(*address, target.carrier, name.as_ref(), rtype, (chance >> 32) as u16).await,
            None => Heard::Nothing,
        };
        Looked { at: serve::now(), heard }
    }

    /// What a resolver says to its questions, until its budget is used up or it does not answer twice.
    async fn sample(&self, Questions { target, questions }: &Questions) -> Vec<(usize, Looked)> {
        let pace = Pace::new(target.rate, Budget::new(target.budget));
        let mut said = Vec::new();
        for (at, question) in questions.iter().enumerate() {
            for _ in 0..question.times {
                if pace.turn().await.is_err() {
                    return said;
                }
                let mut looked = self.look_now(target, &question.name, question.rtype).await;
                // A datagram may be lost.
                if looked.heard == Heard::Nothing && pace.turn().await.is_ok() {
                    looked = self.look_now(target, &question.name, question.rtype).await;
                }
                let is_silent = looked.heard == Heard::Nothing;
                said.push((at, looked));
                if is_silent {
                    return said;
                }
            }
        }
        said
    }

    fn end(&self, at: usize, calibrated: Calibrated) {
        let mut calibration = self.calibration();
        if let Some(standing) = calibration.standings.get_mut(at) {
            standing.ended = true;
            standing.doing = match &calibrated.result {
                Ok(_) => "measured".into(),
                Err(why) => format!("not measured: {why}"),
            };
        }
        calibration.ended.push(calibrated);
    }
}

impl Progress<'_> {
    fn with(&self, change: impl FnOnce(&mut Standing)) {
        if let Some(standing) = self.shared.calibration().standings.get_mut(self.at) {
            change(standing);
        }
    }

    /// Says what is done first, and of how many series there will be results.
    pub(super) fn begin(&self, doing: &str, of: u32) {
        self.with(|standing| (standing.doing, standing.of) = (doing.into(), of));
    }

    /// Says what is done, or waited for.
    pub(super) fn say(&self, doing: &str) {
        self.with(|standing| standing.doing = doing.into());
    }

    /// One more series has ended.
    pub(super) fn step(&self) {
        self.with(|standing| standing.done += 1);
    }
}
