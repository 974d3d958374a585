//! Reading configuration and texts again: what changed is published, all of a zone or nothing.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::load::{Loading, SiteTexts};
use super::name_servers::{NameServers, told_serials};
use super::publish::{Cause, Last, Texts};
use super::setup::{Setup, ZoneSpec};
use super::{Driver, DriverError, Health};
use crate::door::{Candidate, Idle, Override, Proposal, Refused, Verified, wanted_serial};
use crate::evidence::{Evidence, Verdict};
use crate::failover::state::State;
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::rename::Overlays;
use crate::serial::Serial;
use crate::serving::ZoneServing;
use crate::serving::content::Content;
use crate::serving::notes::Notes;
use crate::serving::regions::RegionId;
use crate::serving::routing::Routing;
use crate::store::audit::{Deed, Override as Overridden};
use crate::store::journal::Actor;
use crate::world::edits::touched_by_moves;
use crate::world::judging::words_of;
use crate::world::routing::routing_of;
use crate::zone::diagnostic::Diagnostic;
use crate::zone::diff::diff;

/// How many zones the audit trail names of a reload.
const TOLD: usize = 100;

/// What a reload did to a zone.
#[derive(Clone, Debug)]
pub struct Reloaded {
    /// The zone.
    pub origin: Name,
    /// What was done.
    pub outcome: ReloadOutcome,
}

/// What a reload did to a zone.
#[derive(Clone, Debug)]
pub enum ReloadOutcome {
    /// Its texts say what they said before.
    Unchanged,
    /// The new content is served.
    Published {
        /// The generation that it was published as.
        generation: u64,
        /// The serial that is published now.
        serial: Serial,
        /// What changed.
        tally: Tally,
        /// What the gates found.
        findings: Vec<Finding>,
    },
    /// A gate stopped it; what was served before is served on.
    Refused(Vec<Finding>),
    /// The texts cannot be served; what was served before is served on, if anything was.
    KeptLastGood(Vec<Diagnostic>),
    /// The state could not be written, for this reason; what was served before is served on, if anything was.
    NotPublished(String),
    /// It touches what a move under way moves, a line for each RRset: it waits for the end of the move.
    Queued(Vec<String>),
}

impl Reloaded {
    fn health(&self) -> Health {
        match &self.outcome {
            ReloadOutcome::Unchanged | ReloadOutcome::Published { .. } => Health::Good,
            ReloadOutcome::Refused(findings) => Health::Refused(findings.clone()),
            ReloadOutcome::KeptLastGood(diagnostics) => Health::Broken(diagnostics.clone()),
            ReloadOutcome::NotPublished(why) => Health::NotPublished(why.clone()),
            ReloadOutcome::Queued(touched) => Health::Queued(touched.clone()),
        }
    }
}

/// How many RRsets an edit touches, over all sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// New ones.
    pub added: usize,
    /// Gone ones.
    pub removed: usize,
    /// Those that differ.
    pub changed: usize,
}

impl Driver {
    /// Takes over a configuration and reads all texts. `accept` holds digests of findings that an operator saw and
    /// accepts. What cannot be taken over of one zone keeps no other one back.
    pub fn reload(&mut self, setup: Setup, accept: &[String], actor: &Actor) -> Vec<Reloaded> {
        // Regions are what routing is indexed by; they change with a restart only.
        let regions = std::mem::take(&mut self.setup.regions);
        let former = std::mem::replace(&mut self.setup, Setup { regions, ..setup });
        let specs = self.setup.zones.clone();
        let accepted = words(accept);
        let mut reloaded = self.withdraw_unconfigured(&former, &specs, &accepted, actor);
        let mut first = Vec::new();
        for spec in &specs {
            let served = self.serving.zone(spec.origin.as_ref()).cloned();
            let shape = self.shape(&spec.policy);
            let former = served.as_ref().map(|zone| &*zone.content);
            let loading = self.load_to_settle(spec, self.setup.include_outside, shape, former);
            let outcome = match served {
                _ if !loading.is_good() => ReloadOutcome::KeptLastGood(loading.errors()),
                Some(former) => {
                    let replaced = self.replace(spec, &former, loading, &accepted, actor);
                    replaced.unwrap_or_else(|error| ReloadOutcome::NotPublished(error.to_string()))
                }
                None => {
                    // Zones that are new are published together: a start has many of them.
                    first.push((reloaded.len(), self.proposal(spec, None, loading)));
                    ReloadOutcome::Unchanged
                }
            };
            reloaded.push(Reloaded { origin: spec.origin.clone(), outcome });
        }
        self.publish_first(first, &mut reloaded, actor);
        if reloaded.iter().any(|zone| !matches!(zone.outcome, ReloadOutcome::Unchanged)) {
            self.tidy();
        }
        for zone in &reloaded {
            self.health.insert(zone.origin.clone(), zone.health());
        }
        for spec in &specs {
            if let Err(error) = self.configured(spec) {
                tracing::error!(zone = %spec.origin, %error, "what the configuration says of moves could not be written");
            }
        }
        specs.iter().filter(|spec| spec.spare_levers > 0).for_each(|spec| self.renames.count_spares(&spec.origin));
        self.serve_in_manner();
        reloaded
    }

    /// Takes over the files of zones whose edits waited for the end of a move, and says what became of them.
    pub fn take_over_queued(&mut self) -> Vec<Reloaded> {
        let mut reloaded = Vec::new();
        for origin in std::mem::take(&mut self.queued) {
            let (spec, former) = (self.setup.zone(&origin).cloned(), self.serving.zone(origin.as_ref()).cloned());
            let Some((spec, former)) = spec.zip(former) else { continue };
            let shape = self.shape(&spec.policy);
            let loading = self.load_to_settle(&spec, self.setup.include_outside, shape, Some(&former.content));
            let outcome = match loading.is_good() {
                false => ReloadOutcome::KeptLastGood(loading.errors()),
                true => {
                    let replaced = self.replace(&spec, &former, loading, &[], &super::daemon());
                    replaced.unwrap_or_else(|error| ReloadOutcome::NotPublished(error.to_string()))
                }
            };
            let zone = Reloaded { origin, outcome };
            self.health.insert(zone.origin.clone(), zone.health());
            reloaded.push(zone);
        }
        if !reloaded.is_empty() {
            self.tidy();
            self.serve_in_manner();
        }
        reloaded
    }

    /// The first of `accept` that covers nothing that a reload of `setup` would find. Nothing is changed.
    pub fn idle(&self, setup: &Setup, accept: &[String]) -> Option<Idle> {
        if accept.is_empty() {
            return None;
        }
        let mut findings = Vec::new();
        for former in self.serving.zones() {
            let origin = &former.content.origin;
            let candidate = match setup.zone(origin) {
                None => Candidate::withdrawal(Arc::clone(&self.serving), origin.as_ref(), super::now()),
                Some(spec) => {
                    let shape = self.shape(&spec.policy);
                    let loading = self.load_to_settle(spec, setup.include_outside, shape, Some(&former.content));
                    if !loading.is_good() {
                        continue;
                    }
                    let (proposal, _) = self.proposal(spec, Some(former), loading);
                    if is_same(&former.content, &proposal.content) {
                        continue;
                    }
                    Candidate::new(Arc::clone(&self.serving), vec![proposal], super::now())
                }
            };
            findings.extend(candidate.judge().iter().cloned());
        }
        Idle::among(&words(accept), &findings)
    }

    /// Writes into the audit trail what a reload published or an operator accepted. What was published stays: if it can't
    /// be written, this says so.
    pub fn record_reload(&self, reloaded: &[Reloaded], accept: &[String], actor: &Actor) -> Option<String> {
        let published = reloaded.iter().filter_map(|zone| match &zone.outcome {
            ReloadOutcome::Published { serial, findings, .. } => Some((&zone.origin, serial, findings)),
            _ => None,
        });
        let published: Vec<_> = published.collect();
        if published.is_empty() && accept.is_empty() {
            return None;
        }
        let overridden = published.iter().flat_map(|(_, _, findings)| findings.iter());
        let overridden = overridden.filter(|finding| finding.verdict.stops()).map(|finding| Overridden {
            gate: finding.gate.into(),
            digest: finding.digest(),
            covered: finding.items.clone(),
        });
        let told = published.iter().take(TOLD).map(|(origin, serial, _)| format!(" {origin} {serial}"));
        let told: String = told.collect();
        let more = if published.len() > TOLD { " …" } else { "" };
        let deed = Deed {
            at: super::now(),
            actor: actor.clone(),
            command: accept.iter().fold("reload".to_owned(), |command, digest| format!("{command} --accept {digest}")),
            reason: String::new(),
            overrides: overridden.collect(),
            outcome: format!("published {} of {} zones:{told}{more}", published.len(), reloaded.len()),
        };
        let error = self.store.audit().record(&deed).err()?;
        tracing::error!(%error, "the audit trail could not be written");
        Some(format!("this is not in the audit trail, which could not be written: {error}"))
    }

    /// Takes over the settings, and what is to be said about zones whose files are broken. No answer's records change, so
    /// there is nothing to judge and nothing for the journal.
    fn serve_in_manner(&mut self) {
        let broken = self.setup.zones.iter().map(|spec| &spec.origin);
        let broken =
            broken.filter(|origin| self.health(origin).is_some_and(|health| !matches!(health, Health::Good))).cloned();
        let (stale, missing) = broken.partition(|origin| self.serving.zone(origin.as_ref()).is_some());
        let manner = Verified::in_manner(&self.serving, self.setup.settings.clone(), Notes::new(stale, missing));
        self.put_in_front(&manner);
        self.standby.look_into(&self.serving);
    }

    fn replace(
        &mut self,
        spec: &ZoneSpec,
        former: &ZoneServing,
        loading: Loading,
        accepted: &[Override],
        actor: &Actor,
    ) -> Result<ReloadOutcome, DriverError> {
        let needed = self.traffic(&spec.origin).map(State::sites_needed).unwrap_or_default();
        if let Some(gone) = needed.iter().find(|site| spec.sites.iter().all(|kept| kept.name != site.as_str())) {
            return Ok(ReloadOutcome::Refused(vec![Finding {
                gate: id::LOADS,
                zone: spec.origin.clone(),
                verdict: Verdict::Block,
                reason: format!(
                    "the site {gone} is no longer configured, and clients are answered from it, or may be again"
                ),
                remedy: format!(
                    "move the traffic to another site first: understudy failover {} --to SITE",
                    spec.origin
                ),
                items: Vec::new(),
            }]));
        }
        if let Some(blocked) = lever_kept(&spec.origin, &loading.blocked) {
            return Ok(ReloadOutcome::Refused(vec![blocked]));
        }
        let ended = loading.ended.clone();
        let (proposal, texts) = self.proposal(spec, Some(former), loading);
        // Renames make other texts give the same answers: these are what is told once they are taken back.
        let is_overlaid = former.content.overlays != Overlays::default();
        if is_same(&former.content, &proposal.content)
            && !(is_overlaid && self.are_other_texts(&spec.origin, &texts)?)
        {
            return Ok(ReloadOutcome::Unchanged);
        }
        let touched = self.touched_by_moves(&former.content, &proposal.content);
        if !touched.is_empty() {
            return Ok(ReloadOutcome::Queued(touched));
        }
        let tally = tally(&former.content, &proposal.content);
        let mut words = self.traffic(&spec.origin).map(words_of).unwrap_or_default();
        words.extend_from_slice(accepted);
        let verified = match Candidate::new(Arc::clone(&self.serving), vec![proposal], super::now()).verify(&words) {
            Ok(verified) => verified,
            Err(Refused { findings }) => return Ok(ReloadOutcome::Refused(findings)),
        };
        let mut cause = cause(actor, accepted);
        let mut findings = verified.findings().to_vec();
        if !ended.is_empty() {
            let told: Vec<String> = ended.iter().map(ToString::to_string).collect();
            told.iter().for_each(|line| tracing::warn!(zone = %spec.origin, "{line}"));
            cause.event["told"] = json!(told);
            findings.push(renames_kept(&spec.origin, told));
        }
        let generation = self.publish(&verified, vec![(spec.origin.clone(), texts)], cause)?;
        let serial = self.serial_of(&spec.origin);
        Ok(ReloadOutcome::Published { generation, serial, tally, findings })
    }

    /// Whether some texts are not those that a zone was last published with.
    fn are_other_texts(&self, origin: &Name, texts: &Texts) -> Result<bool, DriverError> {
        let Some(last) = self.published.get(origin) else { return Ok(true) };
        let Some(bundle) = self.store.texts().bundle(last.live)? else { return Ok(true) };
        let is_other = |(site, texts): (&String, &SiteTexts)| {
            !texts.is_empty() && !texts.say_the_same_as(&SiteTexts::of_bundle(site, &bundle))
        };
        Ok(texts.iter().any(is_other))
    }

    /// The zone as its texts have it now, routed as before; the texts to keep beside it.
    fn proposal(&self, spec: &ZoneSpec, former: Option<&ZoneServing>, loading: Loading) -> (Proposal, Texts) {
        let mut texts = Texts::new();
        let mut sites = Vec::new();
        let overlays = loading.overlays;
        for site in loading.sites {
            texts.insert(site.name.clone(), site.texts);
            sites.extend(site.content);
        }
        let last = self.published.get(&spec.origin);
        let epoch = former.map_or_else(|| last.map_or(0, Last::epoch), |former| former.content.epoch) + 1;
        let (origin, policy) = (spec.origin.clone(), spec.policy.clone());
        let content = Arc::new(Content { origin, sites, policy, epoch, overlays });
        let routing = match (former, last) {
            // By the names of sites: what was decided counts, whichever of them could be restored.
            (Some(former), _) => match self.traffic(&spec.origin) {
                Some(state) => routing_of(state, &state.served, &content, &self.serving.regions),
                None => renumbered(&former.routing, &former.content, &content),
            },
            // It was served once: traffic stays where it was moved to.
            (None, Some(last)) if !last.is_withdrawn() => self.routing_from(last, Some(spec), &content),
            (None, _) => self.first_routing(spec, &content),
        };
        // Secondaries may still have what was served once.
        let restored = match former {
            Some(_) => None,
            None => last.map(|last| last.serial.advance(wanted_serial(&content, &routing))),
        };
        let loads = Finding::pass(id::LOADS, spec.origin.as_ref(), format!("{} sites load", content.sites.len()));
        (Proposal { content, routing, loads, restored }, texts)
    }

    /// The RRsets that an edit touches and that moves under way move, or would.
    pub(super) fn touched_by_moves(&self, old: &Content, new: &Content) -> Vec<String> {
        self.traffic(&old.origin).map_or_else(Vec::new, |state| touched_by_moves(state, old, new))
    }

    fn publish_first(&mut self, first: Vec<(usize, (Proposal, Texts))>, reloaded: &mut [Reloaded], actor: &Actor) {
        if first.is_empty() {
            return;
        }
        let (mut proposals, mut texts, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut guessed = Vec::new();
        let told = self.lost.as_ref().map(|_| self.told_serials(&first));
        for (at, (place, (mut proposal, kept))) in first.into_iter().enumerate() {
            if let (Some(lost), Some(told)) = (&self.lost, told.as_ref().and_then(|told| told.get(at))) {
                guessed.extend(floor(&mut proposal, lost, told));
            }
            texts.push((proposal.content.origin.clone(), kept));
            proposals.push(proposal);
            places.push(place);
        }
        let published = match Candidate::new(Arc::clone(&self.serving), proposals, super::now()).verify(&[]) {
            Ok(verified) => {
                let published = self.publish(&verified, texts, cause(actor, &[]));
                let begun = published.and_then(|generation| self.begin_state(&guessed).map(|()| generation));
                begun.map_err(|error| error.to_string())
            }
            Err(Refused { findings }) => {
                for place in places {
                    reloaded[place].outcome = ReloadOutcome::Refused(findings.clone());
                }
                return;
            }
        };
        for place in places {
            let origin = &reloaded[place].origin;
            reloaded[place].outcome = match &published {
                Ok(generation) => {
                    let added = self.serving.zone(origin.as_ref()).map_or(0, rrset_count);
                    let tally = Tally { added, ..Tally::default() };
                    let (generation, serial) = (*generation, self.serial_of(origin));
                    ReloadOutcome::Published { generation, serial, tally, findings: Vec::new() }
                }
                Err(why) => ReloadOutcome::NotPublished(why.clone()),
            };
        }
    }

    /// What the name servers of zones tell that are published first: all are asked at once.
    fn told_serials(&self, first: &[(usize, (Proposal, Texts))]) -> Vec<Evidence<Serial>> {
        let asked = first.iter().map(|(_, (proposal, _))| {
            let site = proposal.content.site(proposal.routing.site(RegionId::default()));
            let spec = self.setup.zone(&proposal.content.origin);
            (proposal.content.origin.clone(), spec.map(|spec| NameServers::of(spec, site)).unwrap_or_default())
        });
        told_serials(&asked.collect::<Vec<_>>(), &self.own)
    }

    /// Zones that the configuration names no more stop being answered once an operator accepted just that. Until then
    /// they are served, and can be failed over, as before.
    fn withdraw_unconfigured(
        &mut self,
        former: &Setup,
        specs: &[ZoneSpec],
        accepted: &[Override],
        actor: &Actor,
    ) -> Vec<Reloaded> {
        let configured: HashSet<&Name> = specs.iter().map(|spec| &spec.origin).collect();
        let served = self.serving.zones().iter().filter(|zone| !configured.contains(&zone.content.origin));
        let gone: Vec<Arc<ZoneServing>> = served.cloned().collect();
        let mut reloaded = Vec::new();
        for zone in gone {
            let origin = zone.content.origin.clone();
            let outcome = self.withdraw(&zone, accepted, actor);
            let outcome = outcome.unwrap_or_else(|error| ReloadOutcome::NotPublished(error.to_string()));
            if !matches!(outcome, ReloadOutcome::Published { .. }) {
                let spec = former.zone(&origin).cloned().unwrap_or_else(|| ZoneSpec::unconfigured(&zone.content));
                self.setup.zones.push(spec);
            }
            reloaded.push(Reloaded { origin, outcome });
        }
        reloaded
    }

    fn withdraw(
        &mut self,
        zone: &ZoneServing,
        accepted: &[Override],
        actor: &Actor,
    ) -> Result<ReloadOutcome, DriverError> {
        let origin = &zone.content.origin;
        match Candidate::withdrawal(Arc::clone(&self.serving), origin.as_ref(), super::now()).verify(accepted) {
            Ok(verified) => {
                let generation =
                    self.publish(&verified, vec![(origin.clone(), Texts::new())], cause(actor, accepted))?;
                let tally = Tally { removed: rrset_count(zone), ..Tally::default() };
                let findings = verified.findings().to_vec();
                Ok(ReloadOutcome::Published { generation, serial: zone.serial, tally, findings })
            }
            Err(Refused { findings }) => Ok(ReloadOutcome::Refused(findings)),
        }
    }

    pub(super) fn serial_of(&self, origin: &Name) -> Serial {
        self.serving.zone(origin.as_ref()).map_or(Serial(0), |zone| zone.serial)
    }
}

/// Has a zone go on from the serial that its name servers tell, where what was last published is lost. Why that has to be
/// guessed, if it has.
fn floor(proposal: &mut Proposal, lost: &str, told: &Evidence<Serial>) -> Option<(Name, String)> {
    let origin = &proposal.content.origin;
    match told {
        Evidence::Known { value, .. } => {
            let serial = value.advance(wanted_serial(&proposal.content, &proposal.routing));
            tracing::warn!(zone = %origin, "{lost}: the zone's name servers tell serial {value}; it goes on with {serial}");
            proposal.restored = Some(serial);
            None
        }
        Evidence::Unknown { why } => {
            Some((origin.clone(), format!("{lost}, and what was published is not known ({why})")))
        }
    }
}

/// `rename.lever-kept`: texts that take a lever away and lead to it are not taken over: the fresh name has its records from
/// there.
fn lever_kept(origin: &Name, blocked: &[String]) -> Option<Finding> {
    (!blocked.is_empty()).then(|| Finding {
        gate: id::LEVER_KEPT,
        zone: origin.clone(),
        verdict: Verdict::Block,
        reason: "the files take away what a rename rests on, and still lead to it".into(),
        remedy: format!(
            "put the records back; or write the rename into the files (understudy rename --print {origin}), or take it back \
             (understudy rename --undo {origin} NAME)"
        ),
        items: blocked.to_vec(),
    })
}

/// What the texts made of renames, to be told beside what the gates found.
fn renames_kept(origin: &Name, told: Vec<String>) -> Finding {
    Finding {
        gate: id::LEVER_KEPT,
        zone: origin.clone(),
        verdict: Verdict::Warn,
        reason: "the files end renames".into(),
        remedy: String::new(),
        items: told,
    }
}

/// What an operator accepts of a reload.
fn words(accept: &[String]) -> Vec<Override> {
    accept.iter().map(|digest| Override { gate: id::BLAST_RADIUS.into(), digest: digest.clone() }).collect()
}

fn cause(actor: &Actor, accepted: &[Override]) -> Cause {
    let accepted: Vec<_> = accepted.iter().map(|word| word.digest.clone()).collect();
    Cause { actor: actor.clone(), reason: String::new(), event: json!({ "reload": { "accepted": accepted } }) }
}

fn rrset_count(zone: &ZoneServing) -> usize {
    zone.content.sites.iter().map(|site| site.zone.len()).max().unwrap_or(0)
}

/// Whether a zone with this content is answered, and treated, as with that one.
fn is_same(a: &Content, b: &Content) -> bool {
    a.policy == b.policy
        && a.overlays == b.overlays
        && a.sites.len() == b.sites.len()
        && a.sites.iter().zip(&b.sites).all(|(a, b)| a.name == b.name && a.answers_like(b))
}

/// The routing of `old` with the numbers that its sites have in `new`.
fn renumbered(routing: &Routing, old: &Content, new: &Content) -> Routing {
    routing.renumbered(|site| new.site_named(&old.site(site).name).unwrap_or_default())
}

fn tally(old: &Content, new: &Content) -> Tally {
    let mut tally = Tally::default();
    for site in &new.sites {
        let Some(former) = old.site_named(&site.name).map(|id| old.site(id)) else { continue };
        if Arc::ptr_eq(&former.zone, &site.zone) {
            continue;
        }
        for difference in diff(&former.zone, &site.zone) {
            match (difference.before, difference.after) {
                (None, _) => tally.added += 1,
                (_, None) => tally.removed += 1,
                _ => tally.changed += 1,
            }
        }
    }
    tally
}
