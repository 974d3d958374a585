//! The one door: a candidate is judged by the gates, and only what came through is published.
//!
//! [`Verified`] has no public constructor. What was judged is what is published: the same `Arc`.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use crate::digest::Digest;
use crate::evidence::Verdict;
use crate::gate::memo::Memo;
use crate::gate::{self, Change, Errand, Finding, id};
use crate::name::NameRef;
use crate::serial::Serial;
use crate::serving::content::Content;
use crate::serving::notes::Notes;
use crate::serving::regions::RegionId;
use crate::serving::routing::Side;
use crate::serving::{Routing, Serving, Settings, ZoneServing};
use crate::time::{Timestamp, Ttl};
use crate::zone::diff::Differing;

/// What is to become of one zone.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// What it is to answer at each site.
    pub content: Arc<Content>,
    /// Which site each region is to be answered from.
    pub routing: Routing,
    /// What reading and checking the texts found, as a gate's finding.
    pub loads: Finding,
    /// The serial to publish for a zone that is not served now but once was: the one of this very content and routing
    /// before a restart, or one above it. None: what follows from what is served.
    pub restored: Option<Serial>,
}

/// A change that nobody has judged yet: of one zone, or of several at once.
#[derive(Clone, Debug)]
pub struct Candidate {
    before: Arc<Serving>,
    after: Arc<Serving>,
    loads: Vec<Finding>,
    now: Timestamp,
    /// What the gates find, once they were asked: a candidate is immutable, so they find that for good.
    findings: OnceLock<Vec<Finding>>,
    /// How each pair of zones differs, by change and pair.
    differing: OnceLock<Vec<Vec<Arc<Differing>>>>,
    /// What was found out before.
    memo: Arc<Memo>,
}

/// A change that may be published.
#[derive(Clone, Debug)]
pub struct Verified {
    serving: Arc<Serving>,
    findings: Vec<Finding>,
}

/// A change that the gates stopped.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What each gate found.
    pub findings: Vec<Finding>,
}

/// The word of an operator that one finding shall not stop a change: it names the verdict that was shown, and covers no
/// other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Which gate.
    pub gate: String,
    /// How the digest of its finding begins.
    pub digest: String,
}

impl std::fmt::Display for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.gate, self.digest)
    }
}

impl std::str::FromStr for Override {
    type Err = String;

    /// `GATE@DIGEST`, as a refusal shows it; of the digest four digits are enough.
    fn from_str(text: &str) -> Result<Override, String> {
        let (gate, digest) = text
            .split_once('@')
            .ok_or("an override names the gate and the digest that was shown: GATE@DIGEST".to_owned())?;
        if gate.is_empty() {
            return Err("the gate in front of the `@` is missing".into());
        }
        if id::FIRM.contains(&gate) {
            return Err(format!("{gate} cannot be overridden: what it stops is wrong for certain"));
        }
        Ok(Override { gate: gate.into(), digest: Digest::beginning(digest)? })
    }
}

impl serde::Serialize for Override {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Override {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Override, D::Error> {
        <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Override {
    /// Whether it is about this finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        self.gate == finding.gate && !id::FIRM.contains(&finding.gate) && finding.digest().matches(&self.digest)
    }
}

/// A word of an operator that covers nothing: what was shown is not what is found now, or it is mistyped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}@{} covers nothing that stops this now", .word.gate, .word.digest)]
pub struct Idle {
    /// The word.
    pub word: Override,
    /// What does stop it now: gate and digest as they would be typed, and why.
    pub stopping: Vec<String>,
}

impl Idle {
    /// The first of `words` that covers none of the findings that stop a change.
    pub fn among(words: &[Override], findings: &[Finding]) -> Option<Idle> {
        let stopping = || findings.iter().filter(|finding| finding.verdict.stops());
        let word = words.iter().find(|word| !stopping().any(|finding| word.covers(finding)))?.clone();
        let told = |found: &Finding| format!("{}@{} ({})", found.gate, found.digest().short(), found.reason);
        Some(Idle { word, stopping: stopping().map(told).collect() })
    }
}

impl Candidate {
    /// What `before` would be with the proposals, one a zone. A serial is the text's where secondaries would take it,
    /// else the one after the last (RFC 1982).
    pub fn new(before: Arc<Serving>, proposals: Vec<Proposal>, now: Timestamp) -> Candidate {
        let mut loads = Vec::with_capacity(proposals.len());
        let zones = proposals.into_iter().map(|proposal| {
            loads.push(proposal.loads);
            let (content, routing) = (proposal.content, proposal.routing);
            let last = before.zone(content.origin.as_ref());
            let serial = proposal.restored.unwrap_or_else(|| next_serial(last, &content, &routing));
            ZoneServing::new(content, routing, serial, last)
        });
        let after = Arc::new(before.with_zones(zones));
        Candidate::of(before, after, loads, now)
    }

    fn of(before: Arc<Serving>, after: Arc<Serving>, loads: Vec<Finding>, now: Timestamp) -> Candidate {
        let (findings, differing, memo) = (OnceLock::new(), OnceLock::new(), Arc::default());
        Candidate { before, after, loads, now, findings, differing, memo }
    }

    /// The same candidate, judged with what was found out before: the verdicts are the same, and sooner there.
    pub fn remembering(self, memo: Arc<Memo>) -> Candidate {
        Candidate { memo, ..Candidate::of(self.before, self.after, self.loads, self.now) }
    }

    /// What `before` would be without a zone: a change that an operator has to see and accept.
    pub fn withdrawal(before: Arc<Serving>, origin: NameRef<'_>, now: Timestamp) -> Candidate {
        let after = Arc::new(before.without_zone(origin));
        let names = before.zone(origin).into_iter().flat_map(|zone| {
            let names = zone.content.sites.iter().flat_map(|site| site.zone.owners());
            names.map(|owner| owner.name.to_string())
        });
        let loads = Finding {
            gate: id::BLAST_RADIUS,
            zone: origin.to_name(),
            verdict: Verdict::Block,
            reason: "the zone is no longer configured: none of it would be answered".into(),
            remedy: "if it is meant to go, accept just this by the digest shown; if not, put the configuration right"
                .into(),
            items: names.collect::<BTreeSet<_>>().into_iter().collect(),
        };
        Candidate::of(before, after, vec![loads], now)
    }

    /// What is served now, and what would be.
    pub fn ends(&self) -> (&Serving, &Serving) {
        (&self.before, &self.after)
    }

    /// The changes, one a zone.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.loads.iter().map(|loads| Change {
            before: &self.before,
            after: &self.after,
            origin: loads.zone.as_ref(),
            now: self.now,
            memo: &self.memo,
        })
    }

    /// What tells this plan from any other: the regions that move, from where and to where, the `revision` that last
    /// decided on them, and every RRset that is answered otherwise afterwards. A change of anything else leaves the plan
    /// what it is, and so does a restart.
    pub fn digest(&self, revision: u64) -> Digest {
        let mut parts: Vec<Vec<u8>> = vec![revision.to_be_bytes().to_vec()];
        for (change, differing) in self.changes().zip(self.differing()) {
            parts.push(change.origin.as_wire().to_ascii_lowercase());
            if let (Some(before), Some(after)) = (change.zone_before(), change.zone_after()) {
                for (region, name) in change.after.regions.iter() {
                    let [old, new] = [before, after].map(|zone| routed(zone, region));
                    if old != new {
                        parts.push(name.as_bytes().to_vec());
                        parts.extend(old.into_iter().chain(new));
                    }
                }
            }
            // A pair that does not differ is none: what is answered is the same.
            let differing = differing.iter().filter(|differing| differing.total > 0);
            parts.extend(differing.map(|differing| differing.digest.as_bytes().to_vec()));
        }
        Digest::of_parts(parts)
    }

    /// How each pair of zones differs: for each of the changes, for each of its pairs.
    pub fn differing(&self) -> &[Vec<Arc<Differing>>] {
        self.differing.get_or_init(|| {
            let of_change = |change: Change<'_>| change.pairs().iter().map(|pair| change.differing(pair)).collect();
            self.changes().map(of_change).collect()
        })
    }

    /// All that gates would ask about the regions that move.
    pub fn errands(&self) -> Vec<Errand<'_>> {
        self.changes().flat_map(Change::errands).collect()
    }

    /// Finds out all that gates would ask about the regions that move.
    pub fn learn(&self) -> Memo {
        let mut memo = Memo::default();
        self.errands().iter().for_each(|errand| memo.learn(&errand.run()));
        memo
    }

    /// What every gate finds.
    pub fn judge(&self) -> &[Finding] {
        self.findings.get_or_init(|| self.ask_gates())
    }

    fn ask_gates(&self) -> Vec<Finding> {
        let gates = [
            gate::serials::judge,
            gate::vanish::judge,
            gate::closure::judge,
            gate::signed::signatures,
            gate::signed::alike,
            gate::blast::judge,
            gate::dead_ends::judge,
            gate::apex::judge,
            gate::ttls::ceiling,
            gate::ttls::negative,
        ];
        let judged = self.changes().flat_map(|change| gates.map(|judge| judge(change)));
        self.loads.iter().cloned().chain(judged).collect()
    }

    /// Lets the candidate through if no gate stops it but those that are overridden.
    pub fn verify(self, overrides: &[Override]) -> Result<Verified, Refused> {
        let findings = self.judge().to_vec();
        if findings.iter().any(|finding| stops(finding, overrides)) {
            return Err(Refused { findings });
        }
        Ok(Verified { serving: self.after, findings })
    }
}

/// Whether a finding stops a change that comes with these overrides.
pub fn stops(finding: &Finding, overrides: &[Override]) -> bool {
    finding.verdict.stops() && !overrides.iter().any(|word| word.covers(finding))
}

impl Verified {
    /// What was published before a restart, as the journal tells it: `generation` is the one it was published as. It was
    /// verified then, and an operator may have overridden what a gate found: what gates find now is told, and keeps nothing
    /// from being served.
    pub fn restored(before: Arc<Serving>, generation: u64, proposals: Vec<Proposal>, now: Timestamp) -> Verified {
        let Candidate { before, after, loads, .. } = Candidate::new(before, proposals, now);
        let candidate = Candidate::of(before, Arc::new(after.at_generation(generation)), loads, now);
        let findings = candidate.judge().to_vec();
        Verified { serving: candidate.after, findings }
    }

    /// What is served, the same zones in the same generation, with other settings and notes: they change how answers are
    /// given and what is said about them, never what a zone answers.
    pub fn in_manner(serving: &Serving, settings: Settings, notes: Notes) -> Verified {
        Verified { serving: Arc::new(serving.with_manner(settings, notes)), findings: Vec::new() }
    }

    /// What is to be served.
    pub fn serving(&self) -> &Arc<Serving> {
        &self.serving
    }

    /// What the gates found; what was overridden is among it.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// Where a region is answered from, as a plan's digest has it: the site, and of a move where to and how much.
fn routed(zone: &ZoneServing, region: RegionId) -> Vec<Vec<u8>> {
    let name = |site| zone.content.site(site).name.as_bytes().to_vec();
    let mut parts = vec![name(zone.routing.site(region))];
    if let Some(moving) = zone.routing.moving(region) {
        let low_ttl = moving.low_ttl.map_or(u32::MAX, Ttl::seconds);
        parts.push(name(moving.to));
        parts.push(moving.share.basis_points().to_be_bytes().to_vec());
        parts.push(low_ttl.to_be_bytes().to_vec());
    }
    parts
}

/// The serial that a zone's text asks for: that of the site which everybody is told the SOA from.
pub fn wanted_serial(content: &Content, routing: &Routing) -> Serial {
    content.site(routing.apex_site()).zone.soa().map_or(Serial(0), |soa| soa.serial)
}

/// The serial to publish: it rises when some region is answered differently, and only then.
fn next_serial(before: Option<&ZoneServing>, after: &Content, routing: &Routing) -> Serial {
    let wanted = wanted_serial(after, routing);
    let Some(before) = before else { return wanted };
    if after.site(routing.apex_site()).snapshot.is_signed() {
        return wanted; // The signer's, whatever it is: a gate says whether it will do.
    }
    let regions = before.routing.sites.len().max(routing.sites.len()) as u16;
    let changes = lowered(before.content.as_ref(), &before.routing) != lowered(after, routing)
        || (0..regions).map(RegionId).any(|region| answers_otherwise(before, after, routing, region));
    if changes { before.serial.advance(wanted) } else { before.serial }
}

/// Whether some of a region is answered differently.
fn answers_otherwise(before: &ZoneServing, after: &Content, routing: &Routing, region: RegionId) -> bool {
    let alike = |from: Side, to: Side| {
        let old = before.content.site(before.routing.site_at(region, from));
        let new = after.site(routing.site_at(region, to));
        Arc::ptr_eq(&old.snapshot, &new.snapshot) || new.answers_like(old)
    };
    let sides = [Side::Base, Side::To];
    let among = |routing: &Routing| routing.split(region).map(|moving| (moving.share, moving.salt));
    // The same clients are at the same sides; else what they get has to be the same at all sides.
    let is_same = if among(&before.routing) == among(routing) {
        sides.iter().all(|side| alike(*side, *side))
    } else {
        sides.iter().all(|from| sides.iter().all(|to| alike(*from, *to)))
    };
    !is_same
}

/// Between which sites which TTLs are lowered: those are answers, too.
fn lowered(content: &Content, routing: &Routing) -> BTreeSet<(String, String, Ttl)> {
    let name = |site| content.site(site).name.clone();
    routing.lowered().into_iter().map(|(one, other, ttl)| (name(one), name(other), ttl)).collect()
}
