//! From overlays back to texts: what to write into the files, and whether they say it by now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::apply::along;
use super::refer::{Reference, references, refers};
use super::{Overlays, Rename, Stage};
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::zone::rdata;
use crate::zone::rrsets::{Rrset, Zone};

/// What became of overlays when the texts below them were read anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// What lies over the texts from now on.
    pub overlays: Overlays,
    /// Renames that are over, or that nothing refers to any more.
    pub ended: Vec<Ended>,
    /// What the texts take away from renames that are referred to: they can't be taken over, a line each.
    pub blocked: Vec<String>,
}

/// A rename that the texts have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The lever.
    pub lever: Name,
    /// Its fresh name.
    pub fresh: Name,
    /// How.
    pub end: End,
}

/// How the texts end a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// They say what it made of them.
    Folded,
    /// They have neither the lever nor anything that leads to it.
    Gone,
    /// Nothing in them leads to the lever any more: the fresh name stays until it is retired.
    Unreferenced,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { lever, fresh, end } = self;
        match end {
            End::Folded => write!(f, "the rename of {lever} to {fresh} is in the files now, and so it is over"),
            End::Gone => write!(
                f,
                "the files have neither {lever} nor anything that leads to it: its rename to {fresh} is over, and {fresh} is not answered any more"
            ),
            End::Unreferenced => write!(
                f,
                "nothing in the files leads to {lever} any more: {fresh} is answered for those who hold references to it, until it is retired (`understudy rename --retire`)"
            ),
        }
    }
}

/// What is left of overlays over the texts of all sites as they are now. `elsewhere` says which other zone's texts lead
/// to a lever of this one.
pub fn settle(sites: &[&Zone], overlays: &Overlays, elsewhere: impl Fn(NameRef<'_>) -> Option<Name>) -> Settled {
    let mut settled = Settled { overlays: overlays.clone(), ..Settled::default() };
    settled.overlays.turns.retain(|turn| sites.iter().any(|zone| refers(zone, turn.lever.as_ref())));
    if sites.iter().any(|zone| zone.is_signed()) {
        // What is signed is answered as it was signed.
        settled.overlays.turns.clear();
        let line =
            |rename: &Rename| format!("{} is renamed to {}, and the files are signed", rename.lever, rename.fresh);
        settled.blocked = overlays.renames.iter().map(line).collect();
        return settled;
    }
    for rename in &overlays.renames {
        let (lever, fresh) = (rename.lever.as_ref(), rename.fresh.as_ref());
        let has = |name| sites.iter().any(|zone| zone.owner(name).is_some());
        // All that the overlay has has to be in the texts, else it would vanish with it.
        let has_all = |zone: &&Zone| {
            along(zone, lever, rename.whole).all(|owner| {
                let fresh = owner.name.replace_suffix(lever, fresh);
                fresh.is_ok_and(|fresh| zone.owner(fresh.as_ref()).is_some())
            })
        };
        let has_fresh = has(fresh) && sites.iter().all(has_all);
        let leads = |name| sites.iter().any(|zone| refers(zone, name)) || elsewhere(name).is_some();
        let dangling = dangling(sites, rename, &elsewhere);
        if !dangling.is_empty() {
            settled.blocked.extend(dangling);
            continue;
        }
        let end = match (has(lever), leads(lever)) {
            (_, false) if has_fresh => End::Folded,
            (false, true) if !has(fresh) => End::Gone,
            (false, false) => End::Gone,
            (true, false) if rename.stage == Stage::Referenced && !leads(fresh) => End::Unreferenced,
            _ => continue,
        };
        settled.overlays = match end {
            End::Folded | End::Gone => settled.overlays.without(fresh),
            End::Unreferenced => settled.overlays.at(fresh, Stage::Returned),
        };
        settled.ended.push(Ended { lever: rename.lever.clone(), fresh: rename.fresh.clone(), end });
    }
    settled
}

/// What leads to a lever that fronts were turned from, or to the fresh name, and to nothing at a site whose texts do not have the lever
/// any more: a line each.
fn dangling(sites: &[&Zone], rename: &Rename, elsewhere: impl Fn(NameRef<'_>) -> Option<Name>) -> Vec<String> {
    let (lever, fresh) = (rename.lever.as_ref(), rename.fresh.as_ref());
    // Nothing leads to the fresh name by itself before that; then only what the texts say counts.
    let is_led_to = |name: NameRef<'_>| name == fresh || rename.stage.is_referenced() && name == lever;
    let mut lines = Vec::new();
    for zone in sites.iter().filter(|zone| zone.owner(lever).is_none() && zone.owner(fresh).is_none()) {
        let found = references(zone, is_led_to).into_iter();
        lines.extend(found.map(|found| {
            let Reference { owner, rtype, target } = found;
            format!("{owner} {rtype} leads to {target}, and files of that site have neither {lever} nor {fresh}")
        }));
    }
    // Of a lever that some sites have, another zone knows nothing more.
    if sites.iter().all(|zone| zone.owner(lever).is_none() && zone.owner(fresh).is_none()) {
        let led = [lever, fresh].into_iter().filter(|name| is_led_to(*name));
        let led = led.filter_map(|name| Some((name, elsewhere(name)?)));
        lines.extend(led.map(|(name, zone)| {
            format!("the zone {zone} leads to {name}, and the files have neither {lever} nor {fresh}")
        }));
    }
    lines.sort();
    lines.dedup();
    lines
}

/// The lines to write into the files of a zone so that they say what its renames make of them. `sites` has each site by
/// name with what is answered there.
pub fn print(origin: NameRef<'_>, sites: &[(&str, &Zone)], overlays: &Overlays) -> String {
    let mut out = String::new();
    let turns = overlays.own_turns();
    for rename in overlays.renames.iter().filter(|rename| turns.iter().any(|turn| turn.fresh == rename.fresh)) {
        let _ = writeln!(out, "; {} is renamed to {}", rename.lever, rename.fresh);
        let fresh = rename.fresh.as_ref();
        // Those of earlier fresh names lie over the zone until they are retired: nothing that users hold leads there.
        let is_former = |owner: NameRef<'_>| {
            let mut others = overlays.renames.iter().filter(|other| other.fresh != rename.fresh);
            others.any(|other| owner.is_at_or_below(other.fresh.as_ref()))
        };
        section(&mut out, origin, sites, "these records are new", |set| set.owner.is_at_or_below(fresh));
        section(&mut out, origin, sites, "these take the place of those of the same name and type", |set| {
            !set.owner.is_at_or_below(fresh) && !is_former(set.owner) && leads(set, fresh)
        });
        if rename.stage == Stage::Retired {
            let _ = writeln!(out, "; {} is retired: remove its records, and those of ports below it", rename.lever);
        }
    }
    for turn in &overlays.turns {
        let _ = writeln!(out, "; {}, in another zone, is renamed to {}", turn.lever, turn.fresh);
        let fresh = turn.fresh.as_ref();
        section(&mut out, origin, sites, "these take the place of those of the same name and type", |set| {
            leads(set, fresh)
        });
    }
    out
}

fn leads(set: Rrset<'_>, target: NameRef<'_>) -> bool {
    crate::zone::outward::leads(set.rtype)
        && set.rdatas().any(|data| rdata::names(set.rtype, data).any(|(_, name)| name == target))
}

/// The RRsets that `wanted` picks: first those that are the same at all sites, then those of each site.
fn section(
    out: &mut String,
    origin: NameRef<'_>,
    sites: &[(&str, &Zone)],
    what: &str,
    wanted: impl Fn(Rrset<'_>) -> bool,
) {
    let mut lines: BTreeMap<(Name, RrType, String), Vec<&str>> = BTreeMap::new();
    for (site, zone) in sites {
        for set in zone.rrsets().filter(|set| wanted(*set)) {
            let owner = rdata::relative(set.owner, origin);
            let text: String = set
                .rdatas()
                .map(|data| {
                    format!(
                        "{owner}\t{}\tIN\t{}\t{}\n",
                        set.ttl,
                        set.rtype,
                        rdata::write(set.rtype, data, Some(origin))
                    )
                })
                .collect();
            lines.entry((set.owner.to_lowercase(), set.rtype, text)).or_default().push(site);
        }
    }
    let common = |at: &Vec<&str>| at.len() == sites.len();
    if lines.values().any(common) {
        let _ = writeln!(out, "; For all sites, {what}:");
        lines.iter().filter(|(_, at)| common(at)).for_each(|((_, _, text), _)| out.push_str(text));
    }
    for (site, _) in sites {
        let of_site = || lines.iter().filter(|(_, at)| !common(at) && at.contains(site));
        if of_site().next().is_some() {
            let _ = writeln!(out, "; For the site {site}, {what}:");
            of_site().for_each(|((_, _, text), _)| out.push_str(text));
        }
    }
}
