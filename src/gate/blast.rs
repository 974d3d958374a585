//! `zone.blast-radius`: an edit does not remove more names than its author can have meant to; what it removes is told.

use std::collections::BTreeSet;

use super::ask::{Kind, ask};
use super::vanish::is_asked_for;
use super::{Change, Finding, Pair, id};
use crate::count::counted;
use crate::evidence::Verdict;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::serving::View;
use crate::zone::rrsets::Owner;

/// Judges all regions whose site stays and whose content changes.
pub fn judge(change: Change<'_>) -> Finding {
    let (mut removed, mut emptied) = (BTreeSet::new(), BTreeSet::new());
    let (mut exceeded, mut all) = (false, 0);
    for pair in change.pairs().iter().filter(|pair| !pair.is_move()) {
        let names = removed_names(pair);
        let count = pair.before.site.zone.owners().count();
        let radius = change.zone_after().map(|zone| zone.content.policy.blast_radius).unwrap_or_default();
        exceeded |= radius.is_exceeded_by(names.len(), count);
        all = all.max(count);
        removed.extend(names);
        emptied.extend(removed_types(pair));
    }
    if removed.is_empty() && emptied.is_empty() {
        return Finding::pass(id::BLAST_RADIUS, change.origin, "no name and no type is removed");
    }
    let (verdict, remedy) = if exceeded {
        let remedy = "if the names are meant to go, accept just these by the digest shown; if not, put the file right";
        (Verdict::Block, remedy.to_owned())
    } else {
        (Verdict::Warn, String::new())
    };
    let mut reason = format!("{} of {} would be removed", removed.len(), counted(all, "name"));
    if !emptied.is_empty() {
        reason += &format!(", and {} would stop being answered at names that stay", counted(emptied.len(), "type"));
    }
    removed.append(&mut emptied);
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

/// The types that are answered before and not after, at names that are there before and after.
fn removed_types(pair: &Pair<'_>) -> Vec<String> {
    let mut removed = Vec::new();
    for owner in pair.before.site.zone.owners() {
        let standings = [pair.before, pair.after].map(|side| standing(side.view, owner.name));
        if standings.iter().any(|standing| *standing != Standing::Name) {
            continue;
        }
        for rtype in asked_for_at(owner) {
            let [before, after] = [pair.before, pair.after].map(|side| ask(side.view, owner.name, rtype));
            if before.is_positive() && !after.is_positive() {
                removed.push(format!("{} {rtype}", owner.name));
            }
        }
    }
    removed
}

/// What clients ask a name for: an alias is asked for addresses.
fn asked_for_at(owner: Owner<'_>) -> Vec<RrType> {
    if owner.rrset(RrType::CNAME).is_some() {
        return vec![RrType::A, RrType::AAAA];
    }
    owner.rrsets().map(|set| set.rtype).filter(|rtype| is_asked_for(*rtype)).collect()
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
