//! `zone.ttl-ceiling` and `zone.negative-ttl`: how long caches keep what the target says, and that it says nothing. What
//! is wrong there is wrong for that long.

use std::collections::BTreeSet;

use super::{Change, Finding, Pair, Side, id};
use crate::count::{counted, span};
use crate::evidence::Verdict;
use crate::time::Ttl;
use crate::zone::diff::diff;

/// From when on a TTL of what moves is worth a word, and from when on it stops a move: an hour and a day.
const POSITIVE: [u32; 2] = [3600, 86_400];
/// The same for negative answers: five minutes and an hour. RFC 2308 §5 knows longer ones to be "problematic"; in 2010 an
/// hour was long enough to make an outage of a failover.
const NEGATIVE: [u32; 2] = [300, 3600];

/// Judges the TTLs of the RRsets that move.
pub fn ceiling(change: Change<'_>) -> Finding {
    let mut long = BTreeSet::new();
    let mut longest = 0;
    for pair in change.pairs().iter().filter(|pair| pair.is_move()) {
        let cap = pair.after.site.snapshot.shape().max_ttl.unwrap_or(Ttl::MAX);
        // A large zone is not compared again where nothing of it is kept for long.
        if change.differing(pair).ttls[1].min(cap).seconds() <= POSITIVE[0] {
            continue;
        }
        let sets = diff(&pair.before.site.zone, &pair.after.site.zone).filter_map(|difference| difference.after);
        for set in sets.filter(|set| set.ttl.min(cap).seconds() > POSITIVE[0]) {
            let ttl = set.ttl.min(cap).seconds();
            longest = longest.max(ttl);
            long.insert(format!("{} {} would be kept for {}", set.owner, set.rtype, span(ttl.into())));
        }
    }
    if long.is_empty() {
        let reason = format!("what moves is kept for {} at most", span(POSITIVE[0].into()));
        return Finding::pass(id::TTL_CEILING, change.origin, reason);
    }
    Finding {
        gate: id::TTL_CEILING,
        zone: change.origin.to_name(),
        verdict: if longest > POSITIVE[1] { Verdict::Block } else { Verdict::Warn },
        reason: format!(
            "{} that moves would be kept for up to {}: so long would a way back take",
            counted(long.len(), "RRset"),
            span(longest.into())
        ),
        remedy: "set `max_ttl` for the zone, or lower these TTLs in its files".into(),
        items: long.into_iter().collect(),
    }
}

/// Judges how long caches would keep that there is nothing.
pub fn negative(change: Change<'_>) -> Finding {
    let moves = change.pairs().into_iter().filter(Pair::is_move);
    let Some((site, longest)) =
        moves.map(|pair| (&pair.after.site.name, negative_ttl(pair.after))).max_by_key(|found| found.1)
    else {
        return negative_of_an_edit(change);
    };
    let verdict = match longest {
        long if long > NEGATIVE[1] => Verdict::Block,
        long if long > NEGATIVE[0] => Verdict::Warn,
        _ => Verdict::Pass,
    };
    let reason = format!("at {site}, that a name does not exist is kept for {}", span(longest.into()));
    let remedy = match verdict {
        Verdict::Pass => "",
        _ => "set `negative_ttl` for the zone; in a signed one, have its signer lower the SOA's TTL or MINIMUM",
    };
    let remedy = remedy.into();
    Finding { gate: id::NEGATIVE_TTL, zone: change.origin.to_name(), verdict, reason, remedy, items: Vec::new() }
}

/// Judges how long caches may deny names that an edit adds: whoever asked for one before was told that there is none.
fn negative_of_an_edit(change: Change<'_>) -> Finding {
    let mut added = BTreeSet::new();
    let mut longest = 0;
    for pair in change.pairs() {
        let [before, after] = [pair.before.site, pair.after.site];
        let ttl = negative_ttl(pair.before);
        if ttl <= NEGATIVE[0] || std::sync::Arc::ptr_eq(&before.zone, &after.zone) {
            continue;
        }
        let names = diff(&before.zone, &after.zone).filter(|difference| difference.before.is_none());
        let names = names.map(|difference| difference.either().owner).filter(|name| !before.zone.exists(*name));
        let known = added.len();
        added.extend(names.map(|name| name.to_string()));
        longest = if added.len() > known { longest.max(ttl) } else { longest };
    }
    if added.is_empty() {
        return Finding::pass(
            id::NEGATIVE_TTL,
            change.origin,
            "no region moves, and no name comes that may be denied for long",
        );
    }
    Finding {
        gate: id::NEGATIVE_TTL,
        zone: change.origin.to_name(),
        verdict: Verdict::Warn,
        reason: format!(
            "{} may go on being denied for up to {} by caches that asked for them before",
            counted(added.len(), "new name"),
            span(longest.into())
        ),
        remedy: "set `negative_ttl` for the zone, and wait as long before names are added that are asked for already"
            .into(),
        items: added.into_iter().collect(),
    }
}

/// The negative TTL of a site as it is answered (RFC 2308 §5).
pub fn negative_ttl(side: Side<'_>) -> u32 {
    let shape = side.site.snapshot.shape();
    let own = side.site.zone.soa().map_or(Ttl::MAX, |soa| soa.negative_ttl());
    let caps = [shape.negative_ttl, shape.max_ttl].into_iter().flatten();
    caps.fold(own, Ttl::min).seconds()
}
