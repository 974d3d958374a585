//! Choosing the fresh name.

use crate::name::{Name, NameRef};
use crate::zone::rrsets::Zone;

/// The longest label (RFC 1035 §2.3.4).
const MAX_LABEL: usize = 63;
/// So many names may stand in the files already.
const TRIES: u32 = 1000;

/// Why there is no fresh name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFresh {
    /// The lever is a wildcard, or the root.
    #[error("it has no name of its own: give the front a CNAME to a name in the zone first")]
    Nameless,
    /// The name would be too long.
    #[error("a name beside it would be longer than 255 octets")]
    TooLong,
    /// All that were tried are taken.
    #[error("all names that were tried beside it are taken")]
    Taken,
}

/// The fresh name for a lever, a sibling of it, and the number in it: `edge-r3` for `edge`, and for `edge-r2`. The number is
/// above `last`, the greatest that was given before, and no site of the zone has the name or one below it.
pub fn choose(sites: &[&Zone], lever: NameRef<'_>, last: u32) -> Result<(Name, u32), NoFresh> {
    let (Some(label), Some(parent), false) = (lever.first_label(), lever.parent(), lever.is_wildcard()) else {
        return Err(NoFresh::Nameless);
    };
    let base = base(label);
    for number in last.saturating_add(1)..=last.saturating_add(TRIES) {
        let suffix = format!("-r{number}");
        let kept = base.len().min(MAX_LABEL - suffix.len());
        let label = [&base[..kept], suffix.as_bytes()].concat();
        let name = parent.child(&label).map_err(|_| NoFresh::TooLong)?;
        if sites.iter().all(|zone| !zone.exists(name.as_ref())) {
            return Ok((name, number));
        }
    }
    Err(NoFresh::Taken)
}

/// A label without the number that a rename gave it.
fn base(label: &[u8]) -> &[u8] {
    let digits = label.iter().rev().take_while(|octet| octet.is_ascii_digit()).count();
    let front = &label[..label.len() - digits];
    match front.strip_suffix(b"-r").or_else(|| front.strip_suffix(b"-R")) {
        Some(base) if digits > 0 && !base.is_empty() => base,
        _ => label,
    }
}
