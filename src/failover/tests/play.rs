//! A zone to play with: events go in, effects are answered as a world without faults would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::digest::Digest;
use crate::failover::actor::Actor;
use crate::failover::effect::{Alert, Effect, EffectId, Ended, Issued};
use crate::failover::event::{Event, Judgement, Target};
use crate::failover::health::Health;
use crate::failover::moves::{Move, MoveId, Outcome, PhaseKind, Why};
use crate::failover::names::{Frozen, RegionName, SiteName};
use crate::failover::plan::{Kind, Plan};
use crate::failover::policy::Policy;
use crate::failover::refusal::Refusal;
use crate::failover::renames::{Proposed, Turned};
use crate::failover::sample::{Evidence, Sample};
use crate::failover::state::State;
use crate::failover::step::step;
use crate::failover::steps::Steps;
use crate::failover::view::View;
use crate::name::Name;
use crate::observation::sight::Sight;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};

pub const SITES: [&str; 3] = ["a", "b", "c"];
pub const REGIONS: [&str; 3] = ["asia", "default", "europe"];

pub fn share(text: &str) -> Share {
    text.parse().unwrap()
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn ann() -> Actor {
    Actor { uid: Some(1001), name: "ann".into() }
}

pub fn bob() -> Actor {
    Actor { uid: Some(1002), name: "bob".into() }
}

/// 10% and 30% on the way, ten seconds each; a TTL of 10 seconds; a minute of baking.
pub fn policy() -> Policy {
    Policy {
        steps: Steps::try_from(vec![share("10%"), share("30%"), share("100%")]).unwrap(),
        step_wait: seconds(20),
        low_ttl: Ttl::new(10).unwrap(),
        bake: seconds(60),
        approval_expires: seconds(100),
        hold_reminder: seconds(300),
        hold_deadline: seconds(3000),
        drain_deadline: seconds(7200),
        ..Policy::default()
    }
}

/// A zone whose regions are all at `a`, and what became of it.
#[derive(Clone)]
pub struct Play {
    pub state: State,
    pub now: Timestamp,
    pub policy: Policy,
    pub alerts: Vec<Alert>,
    pub ended: BTreeMap<MoveId, Outcome>,
    /// All that was published, the newest last.
    pub published: Vec<View>,
    /// What was issued by the last event.
    pub issued: Vec<Issued>,
    /// What resolvers give when they are asked, again and again; nobody is asked where there is nothing.
    pub given: Vec<Evidence>,
}

impl Play {
    /// All sites are up.
    pub fn new() -> Play {
        let mut play = Play::unwatched();
        for site in SITES {
            play.health(site, Health::Up);
        }
        play
    }

    /// Nobody knows anything of any site.
    pub fn unwatched() -> Play {
        let base = REGIONS.iter().map(|region| ((*region).into(), "a".into())).collect();
        let (policy, now) = (policy(), Timestamp(1_000_000));
        let zone = Name::absolute("wiki.example").unwrap();
        let state = State::new(zone, Frozen::new(policy.clone()), SITES.iter().map(|site| (*site).into()), base, now);
        let (alerts, published, issued, ended) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Play { state, now, policy, alerts, ended, published, issued, given: Vec::new() }
    }

    pub fn plan(&self, kind: Kind, to: &str, regions: &[&str]) -> Plan {
        let regions: BTreeMap<RegionName, SiteName> =
            regions.iter().map(|region| ((*region).into(), self.state.base[*region].clone())).collect();
        Plan {
            digest: Digest::of_parts([to, &format!("{kind:?}{}", self.state.revision)]),
            kind,
            revision: self.state.revision_of(regions.keys()),
            regions,
            to: to.into(),
            old_ttl: Ttl::new(300).unwrap(),
            shown: None,
            ramp_possible: true,
            stepped: false,
            automatic: false,
            actor: ann(),
            reason: "a test".into(),
            overrides: Vec::new(),
            at: self.now,
            forecast: None,
        }
    }

    /// Takes one event in. Nothing that it asks for is done yet.
    pub fn event(&mut self, event: &Event) -> Result<(), Refusal> {
        let (state, issued) = step(&self.state, event, self.now);
        self.state = state;
        self.issued = issued;
        for issued in self.issued.clone() {
            match issued.effect {
                Effect::Alert(alert) => self.alerts.push((*alert).clone()),
                Effect::Ended(ended) => _ = self.ended.insert(ended.id, outcome_of(&ended)),
                _ => {}
            }
        }
        self.state.refusal.clone().map_or(Ok(()), Err)
    }

    pub fn try_begin(&mut self, plan: Plan) -> Result<MoveId, Refusal> {
        let id = MoveId(self.state.next_move);
        let policy = Frozen::new(self.policy.clone());
        self.event(&Event::Begin { plan: Frozen::new(plan), policy }).map(|()| id)
    }

    /// Begins a move of some regions; nobody has judged it.
    pub fn begin(&mut self, kind: Kind, to: &str, regions: &[&str]) -> MoveId {
        let plan = self.plan(kind, to, regions);
        self.try_begin(plan).unwrap()
    }

    /// The number of a pending effect.
    pub fn pending(&self, wanted: impl Fn(&Effect) -> bool) -> Option<EffectId> {
        self.state.pending.iter().find(|(_, pending)| wanted(&pending.effect)).map(|(id, _)| *id)
    }

    pub fn judge(&mut self) {
        let effect = self.pending(|effect| matches!(effect, Effect::Judge { .. })).expect("something to judge");
        self.event(&Event::Judged { effect, verdict: Judgement::Passed }).unwrap();
    }

    pub fn publish(&mut self) {
        let effect = self.pending(|effect| *effect == Effect::Publish).expect("something to publish");
        self.published.push(self.state.view());
        self.event(&Event::Published { effect }).unwrap();
    }

    pub fn refuse(&mut self) {
        let effect = self.pending(|effect| *effect == Effect::Publish).expect("something to publish");
        self.event(&Event::PublishRefused { effect, findings: vec!["zone.cross-closure".into()] }).unwrap();
    }

    pub fn confirm(&mut self) {
        let effect = self.pending(|effect| *effect == Effect::Confirm).expect("something to confirm");
        self.event(&Event::Confirmed { effect }).unwrap();
    }

    /// Resolvers were asked.
    pub fn sampled(&mut self) {
        let effect = self.pending(|effect| matches!(effect, Effect::Sample { .. })).expect("resolvers to ask");
        let now = self.now;
        let given = self.given.iter().map(|evidence| Evidence { at: now, ..evidence.clone() });
        self.event(&Event::DrainSampled { effect, sample: Sample::of(given) }).unwrap();
    }

    /// Answers all that is to be done, until nothing is.
    pub fn settle(&mut self) {
        while let Some((id, pending)) = self.state.pending.clone().into_iter().next() {
            match pending.effect {
                Effect::Judge { .. } => self.judge(),
                Effect::Publish => self.publish(),
                Effect::Confirm => self.confirm(),
                Effect::Sample { .. } => self.sampled(),
                Effect::Rename { lever, .. } => {
                    let fresh = lever.as_ref().parent().unwrap().child(b"fresh").unwrap();
                    self.event(&Event::RenameBegun { effect: id, fresh }).unwrap();
                }
                Effect::Alert(_) | Effect::Ended(_) => self.event(&Event::Told { effect: id }).unwrap(),
            }
        }
    }

    /// Lets time pass up to the next deadline, and answers what is to be done then. False: there is none.
    pub fn tick(&mut self) -> bool {
        let Some(deadline) = self.state.deadline() else { return false };
        self.now = self.now.max(deadline);
        self.event(&Event::Tick).unwrap();
        self.settle();
        true
    }

    /// Lets time pass, doing what is due on the way.
    pub fn pass(&mut self, wait: Duration) {
        let until = self.now.after(wait);
        while self.state.deadline().is_some_and(|deadline| deadline <= until) {
            self.tick();
        }
        self.now = until;
    }

    /// Lets time pass until a move is in a phase.
    pub fn until(&mut self, id: MoveId, phase: PhaseKind) {
        self.settle();
        for _ in 0..50 {
            if self.state.find(id).is_none_or(|moving| moving.phase.kind() == phase) {
                break;
            }
            assert!(self.tick(), "nothing is due, and {id} is {:?}", self.state.find(id));
        }
        assert_eq!(self.at(id).phase.kind(), phase);
    }

    /// Lets time pass until a move has ended.
    pub fn until_ended(&mut self, id: MoveId) -> Outcome {
        self.settle();
        for _ in 0..100 {
            if let Some(outcome) = self.ended.get(&id) {
                return outcome.clone();
            }
            assert!(self.tick(), "nothing is due, and {id} is {:?}", self.state.find(id));
        }
        panic!("{id} does not end: {:?}", self.state.find(id));
    }

    pub fn at(&self, id: MoveId) -> &Move {
        self.state.find(id).unwrap_or_else(|| panic!("{id} ended: {:?}", self.ended.get(&id)))
    }

    pub fn held(&self, id: MoveId) -> Option<&Why> {
        self.at(id).hold.as_ref().map(|hold| &hold.why)
    }

    pub fn health(&mut self, site: &str, health: Health) {
        self.event(&Event::SiteHealthChanged { site: site.into(), health }).unwrap();
    }

    pub fn abort(&mut self, id: MoveId) -> Result<(), Refusal> {
        self.event(&Event::Abort { target: Target::Id(id), actor: ann(), reason: "a test".into() })
    }

    pub fn hold(&mut self, id: MoveId) -> Result<(), Refusal> {
        self.event(&Event::Hold { target: Target::Id(id), actor: ann(), reason: "a test".into() })
    }

    pub fn resume(&mut self, id: MoveId) -> Result<(), Refusal> {
        self.event(&Event::Resume { target: Target::Id(id), actor: ann(), reason: "a test".into() })
    }

    pub fn configure(&mut self, sites: &[&str], regions: &[(&str, &str)]) -> Result<(), Refusal> {
        let sites: BTreeSet<SiteName> = sites.iter().map(|site| (*site).into()).collect();
        let regions = regions.iter().map(|(region, site)| ((*region).into(), (*site).into())).collect();
        self.event(&Event::Configured { policy: Frozen::new(self.policy.clone()), sites, regions })
    }

    /// How a region is to be answered: `a`, or `a, 30% b`.
    pub fn route(&self, region: &str) -> String {
        let route = &self.state.routes()[region];
        let moving = route.moving.as_ref().map(|moving| format!(", {} {}", moving.share, moving.to));
        format!("{}{}", route.site, moving.unwrap_or_default())
    }

    /// The TTL cap of a region in seconds.
    pub fn cap(&self, region: &str) -> Option<u32> {
        self.state.ttl_caps().get(region).map(|cap| cap.ttl.seconds())
    }
}

fn outcome_of(ended: &Ended) -> Outcome {
    ended.outcome.clone()
}

/// What a resolver gives, as it is seen.
pub fn given(resolver: &str, sight: Sight) -> Evidence {
    let (question, said, ttl) = ("www.wiki.example. A".into(), "192.0.2.1".into(), Ttl::new(20));
    Evidence { resolver: resolver.into(), question, sight, said, ttl, at: Timestamp(0) }
}

/// A name of the zone.
pub fn name(label: &str) -> Name {
    Name::absolute(&format!("{label}.wiki.example")).unwrap()
}

/// A rename that gains something.
pub fn found(lever: &str, against: Option<&str>) -> Proposed {
    let command = format!("understudy rename wiki.example {lever}.wiki.example");
    let (gain, against) = ("much".into(), against.map(Into::into));
    Proposed { lever: name(lever), gain, command, against, by_policy: false }
}

/// A lever that nothing leads to any more, where that had a TTL of 20 seconds.
pub fn turned(lever: &str, at: Timestamp) -> Turned {
    Turned { lever: name(lever), fresh: name(&format!("{lever}-r1")), at, ttl: Ttl::new(20).unwrap() }
}
