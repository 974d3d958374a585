//! `zone.signatures` and `zone.signed-alike`: a move keeps a signed zone valid to whoever validates.

use std::collections::BTreeSet;

use super::{Change, Finding, Pair, id};
use crate::evidence::Verdict;
use crate::rr::RrType;
use crate::serving::content::SiteContent;
use crate::time::Timestamp;
use crate::zone::rrsets::Zone;

/// Signatures that end sooner than this behind the longest TTL end while caches may still hold what they sign.
const MARGIN: i64 = 3600;
/// Signatures that end sooner than this are worth a word.
const SOON: i64 = 3 * 86_400;

/// Judges the signatures of what is new: each verifies, and outlives the change.
pub fn signatures(change: Change<'_>) -> Finding {
    let mut wrong = BTreeSet::new();
    let mut late = BTreeSet::new();
    let mut signed = 0;
    for pair in change.pairs().iter().filter(|pair| pair.after.site.snapshot.is_signed()) {
        signed += 1;
        look(pair.after.site, change.now, &mut wrong, &mut late);
    }
    let finding = |verdict, reason: String, remedy: &str, items: BTreeSet<String>| Finding {
        gate: id::SIGNATURES,
        zone: change.origin.to_name(),
        verdict,
        reason,
        remedy: remedy.into(),
        items: items.into_iter().collect(),
    };
    if !wrong.is_empty() {
        let reason = format!("{} signatures would not be accepted by resolvers that validate", wrong.len());
        return finding(Verdict::Block, reason, "sign the zone anew and try again", wrong);
    }
    if !late.is_empty() {
        return finding(Verdict::Warn, "signatures end soon".into(), "sign the zone anew before that", late);
    }
    let reason = if signed == 0 { "what is new is not signed" } else { "all signatures verify and outlive the change" };
    Finding::pass(id::SIGNATURES, change.origin, reason)
}

fn look(site: &SiteContent, now: Timestamp, wrong: &mut BTreeSet<String>, late: &mut BTreeSet<String>) {
    let Some(signatures) = &site.signatures else {
        wrong.insert(format!("{}: the signatures were not looked at", site.name));
        return;
    };
    wrong.extend(signatures.problems.iter().map(|problem| format!("{}: {problem}", site.name)));
    let longest = site.zone.rrsets().map(|set| set.ttl.seconds()).max().unwrap_or(0);
    if let Some((expiration, whose)) = &signatures.first_to_expire {
        let left = seconds_until(*expiration, now);
        let line = format!("{}: the signature over {whose} ends in {left} s", site.name);
        if left < i64::from(longest) + MARGIN {
            wrong.insert(line);
        } else if left < SOON {
            late.insert(line);
        }
    }
    if let Some((inception, whose)) = &signatures.last_to_begin
        && seconds_until(*inception, now) > 0
    {
        wrong.insert(format!("{}: the signature over {whose} is not valid yet", site.name));
    }
}

/// From now to a time of a signature, which counts modulo 2³² (RFC 4034 §3.1.5).
fn seconds_until(time: u32, now: Timestamp) -> i64 {
    i64::from(time.wrapping_sub(now.seconds() as u32) as i32)
}

/// Judges whether both ends of a move have the same keys, and deny the same names and types: a resolver holds keys and
/// denials of one end while it asks the other.
pub fn alike(change: Change<'_>) -> Finding {
    let mut differing = BTreeSet::new();
    for pair in change.pairs().iter().filter(|pair| pair.is_move()) {
        compare(pair, &mut differing);
    }
    if differing.is_empty() {
        return Finding::pass(id::SIGNED_ALIKE, change.origin, "both ends have the same keys and deny the same names");
    }
    Finding {
        gate: id::SIGNED_ALIKE,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason: format!(
            "{} differences in what both ends prove; resolvers that validate would take one end's word against the \
             other's names",
            differing.len()
        ),
        remedy: "sign both ends with the same keys, and give both the same names and types".into(),
        items: differing.into_iter().collect(),
    }
}

fn compare(pair: &Pair<'_>, differing: &mut BTreeSet<String>) {
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
