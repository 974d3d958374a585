//! `zone.blast-radius`: an edit does not remove more names than its author can have meant to.

use std::collections::BTreeSet;

use super::ask::{Kind, ask};
use super::{Change, Finding, Pair, id};
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::serving::View;

/// Judges all regions whose site stays and whose content changes.
pub fn judge(change: Change<'_>) -> Finding {
    let mut removed = BTreeSet::new();
    let (mut exceeded, mut all) = (false, 0);
    for pair in change.pairs().iter().filter(|pair| !pair.is_move()) {
        let names = removed_names(pair);
        let count = pair.before.site.zone.owners().count();
        let radius = change.zone_after().map(|zone| zone.content.policy.blast_radius).unwrap_or_default();
        exceeded |= radius.is_exceeded_by(names.len(), count);
        all = all.max(count);
        removed.extend(names);
    }
    if removed.is_empty() {
        return Finding::pass(id::BLAST_RADIUS, change.origin, "no name is removed");
    }
    let (verdict, remedy) = if exceeded {
        let remedy = "if the names are meant to go, accept just these by the digest shown; if not, put the file right";
        (Verdict::Block, remedy.to_owned())
    } else {
        (Verdict::Warn, String::new())
    };
    let reason = format!("{} of {all} names would be removed", removed.len());
    Finding {
        gate: id::BLAST_RADIUS,
        zone: change.origin.to_name(),
        verdict,
        reason,
        remedy,
        items: removed.into_iter().collect(),
    }
}

/// The owners that are answered before and do not exist after.
fn removed_names(pair: &Pair<'_>) -> Vec<String> {
    let names = pair.before.site.zone.owners().map(|owner| owner.name);
    names
        .filter(|name| standing(pair.after.view, *name) < standing(pair.before.view, *name))
        .map(|name| name.to_string())
        .collect()
}

/// How much there is of a name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Nothing,
    AliasOfNothing,
    Name,
}

fn standing(view: View<'_>, name: NameRef<'_>) -> Standing {
    let told = ask(view, name, RrType::SOA);
    match (told.kind, told.aliases) {
        (Kind::NameError, 0) => Standing::Nothing,
        (Kind::NameError, _) => Standing::AliasOfNothing,
        _ => Standing::Name,
    }
}
