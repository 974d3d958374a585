//! `zone.serial`: the serial that secondaries and caches see only rises (RFC 1982).

use super::{Change, Finding, Pair, id};
use crate::evidence::Verdict;
use crate::serial::Serial;
use crate::serving::regions::RegionId;

/// Judges the serial that the change would publish, and the ones that the texts ask for.
pub fn judge(change: Change<'_>) -> Finding {
    let (Some(before), Some(after)) = (change.zone_before(), change.zone_after()) else {
        return Finding::pass(id::SERIAL, change.origin, "the zone is published for the first time");
    };
    let block = |reason, remedy: String| Finding {
        gate: id::SERIAL,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason,
        remedy,
        items: Vec::new(),
    };
    for pair in change.pairs().iter().filter(|pair| !pair.is_move()) {
        let serials = pair.before.site.zone.soa().zip(pair.after.site.zone.soa());
        if let Some((old, new)) =
            serials.map(|(old, new)| (old.serial, new.serial)).filter(|(old, new)| jumps(*old, *new))
        {
            let middle = Serial(old.0.wrapping_add((1 << 31) - 1));
            return block(
                format!(
                    "the text's serial goes from {old} to {new}, further than secondaries can follow (RFC 1982 §3.2)"
                ),
                format!(
                    "go there in two steps: publish {middle}, wait until every secondary has it, then publish {new}"
                ),
            );
        }
    }
    let changed = after.serial != before.serial || !change.pairs().is_empty();
    if after.serial != before.serial && !after.serial.is_above(before.serial) || changed && is_stuck(change) {
        return block(
            format!("serial {} would follow {}, and secondaries would not take it", after.serial, before.serial),
            format!("publish a serial above {}; that of a signed zone has to be raised by its signer", before.serial),
        );
    }
    Finding::pass(id::SERIAL, change.origin, format!("serial {} follows {}", after.serial, before.serial))
}

/// Whether what is new keeps the serial of what it replaces, though it is not the same: only a signed zone can, since
/// its SOA is told as it was signed.
fn is_stuck(change: Change<'_>) -> bool {
    let (Some(before), Some(after)) = (change.zone_before(), change.zone_after()) else { return false };
    // Of a default region that is partly over the SOA is that of the site which it leaves, until all of it is over.
    let will_rise = |pair: &Pair<'_>| {
        let end = pair.after.site.snapshot.signed_serial().is_some_and(|serial| serial.is_above(before.serial));
        end && pair.region == RegionId::default() && after.routing.split(pair.region).is_some()
    };
    let is_same = |pair: &Pair<'_>| {
        pair.after.site.snapshot.is_signed() && !pair.after.site.answers_like(pair.before.site) && !will_rise(pair)
    };
    after.serial == before.serial && change.pairs().iter().any(is_same)
}

/// Whether an edit raises the serial by 2³¹ or more: to a secondary that is no rise.
fn jumps(old: Serial, new: Serial) -> bool {
    new.0 > old.0 && !new.is_above(old)
}
