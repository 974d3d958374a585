//! `zone.signatures` and `zone.signed-alike`: a move keeps a signed zone valid to whoever validates.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::memo::Recall;
use super::{Change, Finding, Pair, id, reach};
use crate::count::counted;
use crate::digest::Digest;
use crate::evidence::Verdict;
use crate::rr::RrType;
use crate::serving::content::SiteContent;
use crate::time::Timestamp;
use crate::zone::rrsets::Zone;

/// Judges the signatures of what is new: each verifies, and outlives the change. What is published for the first time
/// is only warned of: resolvers that do not validate get answers, where there would be none.
pub fn signatures(change: Change<'_>) -> Finding {
    let mut found = Found::default();
    let first = change.zone_before().is_none();
    let new: Vec<&SiteContent> = match change.zone_after().filter(|_| first) {
        Some(zone) => zone.routing.sites_in_use().into_iter().map(|site| zone.content.site(site)).collect(),
        None => change.pairs().iter().map(|pair| pair.after.site).collect(),
    };
    let signed: Vec<&SiteContent> = new.into_iter().filter(|site| site.snapshot.is_signed()).collect();
    for site in &signed {
        found.look(site, change.now);
    }
    let Found { wrong, soon, ends } = found;
    let ends = ends.map(|ends| format!("; the first {ends}")).unwrap_or_default();
    let finding = |verdict, reason: String, remedy: &str, items: BTreeSet<String>| Finding {
        gate: id::SIGNATURES,
        zone: change.origin.to_name(),
        verdict,
        reason,
        remedy: remedy.into(),
        items: items.into_iter().collect(),
    };
    if !wrong.is_empty() {
        let faults = counted(wrong.len(), "fault");
        let reason = format!("resolvers that validate would not accept this zone for long: {faults}{ends}");
        let remedy = "sign the zone anew and reload; `understudy check` shows whether that mends it";
        let verdict = if first { Verdict::Warn } else { Verdict::Block };
        return finding(verdict, reason, remedy, wrong);
    }
    if !soon.is_empty() {
        return finding(Verdict::Warn, format!("signatures end soon{ends}"), "sign the zone anew before that", soon);
    }
    let reason =
        if signed.is_empty() { "what is new is not signed" } else { "all signatures verify and outlive the change" };
    Finding::pass(id::SIGNATURES, change.origin, reason)
}

#[derive(Default)]
struct Found {
    wrong: BTreeSet<String>,
    soon: BTreeSet<String>,
    /// When the first signature of the first site that has something to tell ends.
    ends: Option<String>,
}

impl Found {
    fn look(&mut self, site: &SiteContent, now: Timestamp) {
        let Some(signatures) = &site.signatures else {
            self.wrong.insert(format!("{}: the signatures were not looked at", site.name));
            return;
        };
        let standing = signatures.standing(now, site.zone.longest_ttl());
        self.wrong.extend(standing.wrong.iter().map(|line| format!("{}: {line}", site.name)));
        self.soon.extend(standing.soon.iter().map(|line| format!("{}: {line}", site.name)));
        self.ends = self.ends.take().or(standing.ends);
    }
}

/// Judges whether both ends of a move have the same keys, and deny the same names and types: a resolver holds keys and
/// denials of one end while it asks the other.
pub fn alike(change: Change<'_>) -> Finding {
    let recall = &mut Recall::reading(change.memo);
    let mut differing = BTreeSet::new();
    for pair in change.pairs().iter().filter(|pair| pair.is_move()) {
        differing.extend(find(pair, recall).into_iter().flat_map(|unlike| unlike.lines.clone()));
    }
    if differing.is_empty() {
        return Finding::pass(id::SIGNED_ALIKE, change.origin, "both ends have the same keys and deny the same names");
    }
    Finding {
        gate: id::SIGNED_ALIKE,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason: format!(
            "{} in what both ends prove; resolvers that validate would take one end's word against the other's names",
            counted(differing.len(), "difference")
        ),
        remedy: "sign both ends with the same keys, and give both the same names and types".into(),
        items: differing.into_iter().collect(),
    }
}

/// What both ends of a move prove otherwise, if it is not known; none where neither is signed.
pub(super) fn find(pair: &Pair<'_>, recall: &mut Recall<'_>) -> Option<Arc<Unlike>> {
    let sites = [pair.before, pair.after].map(|side| side.site);
    let key =
        || Digest::of_parts(sites.iter().flat_map(|site| [site.name.clone().into_bytes(), reach::site_digest(site)]));
    sites.iter().any(|site| site.snapshot.is_signed()).then(|| recall.find(key, || compare(pair)))
}

/// What both ends of a move prove otherwise.
pub(crate) struct Unlike {
    /// A line each, sorted.
    pub lines: Vec<String>,
}

fn compare(pair: &Pair<'_>) -> Unlike {
    let mut differing = BTreeSet::new();
    compare_into(pair, &mut differing);
    Unlike { lines: differing.into_iter().collect() }
}

fn compare_into(pair: &Pair<'_>, differing: &mut BTreeSet<String>) {
    let (before, after) = (pair.before.site, pair.after.site);
    match (before.snapshot.is_signed(), after.snapshot.is_signed()) {
        (false, false) => return,
        (true, true) => {}
        (signed, _) => {
            let (with, without) = if signed { (before, after) } else { (after, before) };
            differing.insert(format!("{} is signed and {} is not", with.name, without.name));
            return;
        }
    }
    let keys = |zone: &Zone| -> Vec<Vec<u8>> {
        let set = zone.rrset(zone.origin(), RrType::DNSKEY);
        set.into_iter().flat_map(|set| set.rdatas().map(<[u8]>::to_vec)).collect()
    };
    if keys(&before.zone) != keys(&after.zone) {
        differing.insert(format!("the DNSKEY sets of {} and {} differ", before.name, after.name));
    }
    for (here, there) in [(before, after), (after, before)] {
        for set in here.zone.rrsets().filter(|set| set.rtype != RrType::RRSIG) {
            if there.zone.rrset(set.owner, set.rtype).is_none() {
                differing.insert(format!("{} {} is at {} only", set.owner, set.rtype, here.name));
            }
        }
    }
}
