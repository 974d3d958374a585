//! From what an operator asks for to a plan: the target's texts read anew, judged, and told.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::load::{Loading, SiteLoading, UNREADABLE};
use super::publish::Texts;
use super::{Driver, now};
use crate::digest::Digest;
use crate::door::{Candidate, Proposal};
use crate::evidence::Verdict;
use crate::failover::names::{RegionName, SiteName};
use crate::failover::plan::{Impossible, Kind, MoveRequest};
use crate::gate::{Finding, Side, id};
use crate::name::Name;
use crate::rr::RrType;
use crate::serial::Serial;
use crate::serving::ZoneServing;
use crate::serving::content::{Content, SiteContent};
use crate::time::Ttl;
use crate::world::planning;
use crate::zone::diagnostic::{Diagnostic, Severity};
use crate::zone::diff::diff;
use crate::zone::rdata;
use crate::zone::rrsets::Rrset;

/// How many RRsets that differ are told.
const TOLD: usize = 1000;

/// A move as it would be made now, and what speaks against it.
pub(super) struct Draft {
    pub(super) origin: Name,
    pub(super) kind: Kind,
    pub(super) to: SiteName,
    /// The regions that move, each with the site that it is answered from.
    pub(super) regions: BTreeMap<RegionName, SiteName>,
    /// The zone as it would be answered at the end of the move.
    pub(super) candidate: Candidate,
    /// What the target is made of by now, if that is not what is served there.
    pub(super) edit: Option<(Arc<Content>, Finding, Texts)>,
    pub(super) findings: Vec<Finding>,
    pub(super) digest: Digest,
    pub(super) old_ttl: Ttl,
}

/// An RRset that is answered otherwise, as an operator reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RrsetChange {
    /// The owner.
    pub owner: Name,
    /// The type.
    pub rtype: RrType,
    /// Before: TTL and data of each record.
    pub before: Vec<String>,
    /// After.
    pub after: Vec<String>,
}

impl Driver {
    /// What a request means for a zone now. Nothing is changed.
    pub(super) fn draft(&mut self, origin: &Name, kind: Kind, request: &MoveRequest) -> Result<Draft, Impossible> {
        let served = self.serving.zone(origin.as_ref()).cloned().zip(self.setup.zone(origin).cloned());
        let (Some((former, spec)), Some(state)) = (served, self.traffic(origin).cloned()) else {
            return Err(Impossible::NotServed { zone: origin.clone() });
        };
        let request = &MoveRequest { to: planning::target(&state, kind, request)?, ..request.clone() };
        let regions = planning::regions_of(&former, &state, kind, request)?;
        // Only the target is taken over: edits of other sites come with a reload, and a new policy does, too.
        let shape = self.shape(&former.content.policy);
        let loading = self.load(&spec, self.setup.include_outside, shape, Some(&former.content));
        let Merged { content, changed, loads, edits, texts } = merge(&former, loading, &request.to, origin);
        let content = Arc::new(content);
        let to = content.site_named(&request.to).unwrap_or_default();
        let routing = planning::routing_at_end(&former, &self.serving.regions, regions.keys(), to);
        let edit = changed.then(|| (Arc::clone(&content), loads.clone(), texts));
        let proposal = Proposal { content, routing, loads, restored: None };
        let candidate = Candidate::new(Arc::clone(&self.serving), vec![proposal], now());
        let candidate = self.looked_into(origin, candidate);
        let revision = state.revision_of(regions.keys());
        let (digest, mut findings) = (candidate.digest(revision), candidate.judge().to_vec());
        findings.push(edits);
        // What was verified once and served is gone back to: its zone gates tell, and stop nothing. What was edited since is
        // judged as any other.
        if kind == Kind::Rollback && edit.is_none() {
            for finding in findings.iter_mut().filter(|found| found.verdict.stops() && !id::FIRM.contains(&found.gate))
            {
                finding.verdict = Verdict::Warn;
            }
        }
        let old_ttl = planning::old_ttl(&candidate, &self.held(origin), now());
        let to = SiteName::from(request.to.as_str());
        Ok(Draft { origin: origin.clone(), kind, to, regions, candidate, edit, findings, digest, old_ttl })
    }
}

/// The content that a move proposes: what the target's files say now, which have to be good, and at all other sites
/// what is served, whatever their files say by now.
pub(super) fn merge(former: &ZoneServing, loading: Loading, target: &str, origin: &Name) -> Merged {
    let mut texts = Texts::new();
    let mut loads = unread(target, origin);
    let mut changed = false;
    let (mut unpublished, mut edited) = (Vec::new(), Vec::new());
    let ends = loading.overlays != former.content.overlays || !loading.blocked.is_empty();
    let mut sites: Vec<SiteContent> = former.content.sites.clone();
    for site in loading.sites {
        let Some(place) = sites.iter_mut().find(|known| known.name == site.name) else { continue };
        if site.name != target {
            unpublished.extend(unlike(&site, place));
            continue;
        }
        loads = if ends { ends_renames(origin) } else { judge_target(&site, origin) };
        if let Some(content) = site.content {
            if !content.answers_like(place) {
                changed = true;
                edited = edits(place, &content);
            }
            *place = content;
            texts.insert(site.name, site.texts);
        }
    }
    let epoch = former.content.epoch + u64::from(changed);
    let policy = former.content.policy.clone();
    let overlays = former.content.overlays.clone();
    let content = Content { origin: origin.clone(), sites, policy, epoch, overlays };
    Merged { content, changed, loads, edits: unrelated(origin, target, edited, unpublished), texts }
}

/// The content that a move proposes, and what belongs to it.
pub(super) struct Merged {
    pub(super) content: Content,
    /// Whether the target's files say something else than what is served there.
    pub(super) changed: bool,
    pub(super) loads: Finding,
    edits: Finding,
    texts: Texts,
}

/// What the files make of renames is a reload's to take over.
fn ends_renames(origin: &Name) -> Finding {
    Finding {
        gate: id::LOADS,
        zone: origin.clone(),
        verdict: Verdict::Block,
        reason: "the files were edited in what a rename rests on, or have it in them by now".into(),
        remedy: "take that over first: understudy reload".into(),
        items: Vec::new(),
    }
}

/// `zone.unrelated-edits`: what the target's files say otherwise by now is published before the move, and told apart from
/// it; what those of other sites say is not.
fn unrelated(origin: &Name, target: &str, edited: Vec<String>, unpublished: Vec<String>) -> Finding {
    if edited.is_empty() && unpublished.is_empty() {
        return Finding::pass(id::UNRELATED_EDITS, origin.as_ref(), "no file was edited since it was loaded");
    }
    let mut reasons = Vec::new();
    if !edited.is_empty() {
        reasons.push(format!("the files of {target} were edited since they were loaded; that is published first"));
    }
    if !unpublished.is_empty() {
        reasons.push("the files of other sites are not what is served".to_owned());
    }
    Finding {
        gate: id::UNRELATED_EDITS,
        zone: origin.clone(),
        verdict: Verdict::Warn,
        reason: reasons.join("; "),
        remedy: if unpublished.is_empty() { "" } else { "understudy reload, before a move to one of them" }.into(),
        items: edited.into_iter().chain(unpublished).collect(),
    }
}

/// The RRsets that an edit touches.
fn edits(before: &SiteContent, after: &SiteContent) -> Vec<String> {
    let differences = diff(&before.zone, &after.zone).map(|difference| {
        let set = difference.either();
        let how = match (difference.before, difference.after) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        format!("{}: {} {} {how}", after.name, set.owner, set.rtype)
    });
    differences.take(TOLD).collect()
}

/// What is to be said of a site that a move leaves as it is, if its files say something else by now.
fn unlike(site: &SiteLoading, served: &SiteContent) -> Option<String> {
    match &site.content {
        Some(content) if content.answers_like(served) => None,
        Some(_) => Some(format!("{}: edited since it was loaded, not published: reload", site.name)),
        None => Some(format!("{}: its files can't be served by now; what was loaded last is kept", site.name)),
    }
}

/// `zone.loads`: a target whose texts have errors is no target; one whose texts cannot be read is unknown, never empty.
fn judge_target(site: &SiteLoading, origin: &Name) -> Finding {
    if site.content.is_some() {
        return Finding::pass(id::LOADS, origin.as_ref(), format!("the texts of {} load", site.name));
    }
    let errors: Vec<&Diagnostic> =
        site.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let unreadable = errors.iter().any(|finding| finding.id == UNREADABLE);
    let (verdict, reason) = if unreadable {
        (Verdict::Unknown, format!("what {} would answer is unknown: its texts cannot be read", site.name))
    } else {
        (Verdict::Block, format!("the texts of {} have {} errors", site.name, errors.len()))
    };
    Finding {
        gate: id::LOADS,
        zone: origin.clone(),
        verdict,
        reason,
        remedy: "put the files right and try again; what is served now is served on".into(),
        items: errors.iter().map(|finding| finding.to_string()).collect(),
    }
}

/// `zone.loads` of a target that the configuration has no files for.
fn unread(target: &str, origin: &Name) -> Finding {
    Finding {
        gate: id::LOADS,
        zone: origin.clone(),
        verdict: Verdict::Unknown,
        reason: format!("what {target} would answer is unknown: it is no longer configured"),
        remedy: "put the zone and its site into the configuration again, and reload".into(),
        items: Vec::new(),
    }
}

/// How answers change, as a client sees it: TTLs capped, and the SOA with the serial that is published.
pub(super) fn changes(candidate: &Candidate) -> Vec<RrsetChange> {
    let mut all: Vec<RrsetChange> = Vec::new();
    let mut seen = HashSet::new();
    for (change, differing) in candidate.changes().zip(candidate.differing()) {
        let (Some(before), Some(after)) = (change.zone_before(), change.zone_after()) else { continue };
        for (pair, differing) in change.pairs().into_iter().zip(differing) {
            let soa = |side: Side<'_>, zone: &ZoneServing| {
                let set = side.site.zone.rrset(change.origin, RrType::SOA);
                set.map_or(Vec::new(), |set| lines(set, side, zone.serial))
            };
            let (old, new) = (soa(pair.before, before), soa(pair.after, after));
            let soa = RrsetChange { owner: change.origin.to_name(), rtype: RrType::SOA, before: old, after: new };
            let at = |side: Side<'_>, owner: &Name, rtype, serial| {
                side.site.zone.rrset(owner.as_ref(), rtype).map_or(Vec::new(), |set| lines(set, side, serial))
            };
            let listed = differing.first.iter().filter(|(_, rtype)| *rtype != RrType::SOA);
            let others = listed.map(|(owner, rtype)| RrsetChange {
                owner: owner.clone(),
                rtype: *rtype,
                before: at(pair.before, owner, *rtype, before.serial),
                after: at(pair.after, owner, *rtype, after.serial),
            });
            let soa = Some(soa).filter(|soa| soa.before != soa.after);
            all.extend(soa.into_iter().chain(others).filter(|change| seen.insert(change.clone())));
        }
    }
    all
}

/// The records of an RRset as they would stand behind its owner in a zone file.
fn lines(set: Rrset<'_>, side: Side<'_>, serial: Serial) -> Vec<String> {
    let shape = side.site.snapshot.shape();
    let ttl = set.ttl.min(shape.max_ttl.unwrap_or(Ttl::MAX));
    let line = |rdata: &[u8]| {
        let mut rdata = rdata.to_vec();
        // The serial is the first of five numbers at the end (RFC 1035 §3.3.13).
        if let (RrType::SOA, Some(at)) = (set.rtype, rdata.len().checked_sub(20)) {
            rdata[at..at + 4].copy_from_slice(&serial.0.to_be_bytes());
        }
        format!("{ttl} IN {} {}", set.rtype, rdata::write(set.rtype, &rdata, None))
    };
    set.rdatas().map(line).collect()
}
