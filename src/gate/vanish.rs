//! `zone.nothing-vanishes`: what a region is answered now, it is answered after the move.

use std::collections::{BTreeSet, HashSet};

use super::ask::{Told, ask, types_at};
use super::{Change, Finding, Pair, id};
use crate::evidence::Verdict;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serving::content::Policy;
use crate::zone::rdata;
use crate::zone::rrsets::{Owner, Zone};

/// A label that no operator gives to a host: for names that only a wildcard or a delegation answers.
const NOBODY: &[u8] = b"_understudy-nobody-has-this-name";

/// Judges all regions that move.
pub fn judge(change: Change<'_>) -> Finding {
    let Some(after) = change.zone_after() else {
        return Finding::pass(id::NOTHING_VANISHES, change.origin, "the zone is withdrawn");
    };
    let mut lost = BTreeSet::new();
    let mut asked = 0;
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        let mut search = Search { pair, policy: &after.content.policy, lost: &mut lost, asked: &mut asked };
        search.run();
    }
    if lost.is_empty() {
        return Finding::pass(
            id::NOTHING_VANISHES,
            change.origin,
            format!("all {asked} names and types that are answered now stay so"),
        );
    }
    Finding {
        gate: id::NOTHING_VANISHES,
        zone: change.origin.to_name(),
        verdict: Verdict::Block,
        reason: format!(
            "{} of {asked} names and types that are answered now would stop being answered; resolvers would keep that \
             for the negative TTL or longer",
            lost.len()
        ),
        remedy: "add what is missing to the target's file and try again; names that are meant to go belong in \
                 may_vanish"
            .into(),
        items: lost.into_iter().collect(),
    }
}

struct Search<'a, 'l> {
    pair: Pair<'a>,
    policy: &'l Policy,
    lost: &'l mut BTreeSet<String>,
    asked: &'l mut usize,
}

impl Search<'_, '_> {
    fn run(&mut self) {
        let zone = &*self.pair.before.site.zone;
        let all_types: Vec<RrType> = zone.rrsets().map(|set| set.rtype).collect::<BTreeSet<_>>().into_iter().collect();
        for owner in zone.owners() {
            self.check_owner(owner, &all_types);
        }
        self.check_new_names();
    }

    fn check_owner(&mut self, owner: Owner<'_>, all_types: &[RrType]) {
        for set in owner.rrsets().filter(|set| is_asked_for(set.rtype)) {
            self.check(owner.name, set.rtype);
            match set.rtype {
                // Whatever the chain ends in, clients ask for it by this name.
                RrType::CNAME => self.check_each(owner.name, all_types),
                RrType::DNAME => self.check_below_dname(owner.name, set.rdatas().next()),
                // What is below a cut is somebody else's, and must stay so.
                RrType::NS if owner.name != self.pair.before.site.zone.origin() => {
                    self.check_child(owner.name, &[RrType::A])
                }
                _ => {}
            }
        }
        if owner.name.is_wildcard()
            && let Some(parent) = owner.name.parent()
        {
            let types: Vec<_> = owner.rrsets().map(|set| set.rtype).collect();
            self.check_child(parent, &types);
            if types.contains(&RrType::CNAME) {
                self.check_child(parent, all_types);
            }
        }
    }

    /// Names that only the target has can cut a wildcard off (RFC 4592 §2.2): it does not reach what exists, nor what
    /// is below that.
    fn check_new_names(&mut self) {
        let (before, after) = (&*self.pair.before.site.zone, &*self.pair.after.site.zone);
        let wildcards: HashSet<NameRef<'_>> = before
            .owners()
            .map(|owner| owner.name)
            .filter(|name| name.is_wildcard())
            .filter_map(NameRef::parent)
            .collect();
        if wildcards.is_empty() {
            return;
        }
        let mut seen = HashSet::new();
        for owner in after.owners() {
            for name in owner.name.ancestors().take_while(|name| name.is_at_or_below(before.origin())) {
                if before.exists(name) || !seen.insert(name) {
                    break;
                }
                let types = types_at(before, name);
                self.check_each(name, &types);
                self.check_child(name, &types);
            }
        }
    }

    /// The names that a DNAME leads to, by the names that clients ask for.
    fn check_below_dname(&mut self, owner: NameRef<'_>, rdata: Option<&[u8]>) {
        let zone: &Zone = &self.pair.before.site.zone;
        let Some((_, target)) = rdata.and_then(|rdata| rdata::names(RrType::DNAME, rdata).next()) else { return };
        for below in zone.owners().filter(|below| below.name.is_below(target)) {
            if let Ok(name) = below.name.replace_suffix(target, owner) {
                let types: Vec<_> = below.rrsets().map(|set| set.rtype).collect();
                self.check_each(name.as_ref(), &types);
            }
        }
    }

    fn check_child(&mut self, parent: NameRef<'_>, types: &[RrType]) {
        if let Ok(child) = parent.child(NOBODY) {
            self.check_each(child.as_ref(), types);
        }
    }

    fn check_each(&mut self, name: NameRef<'_>, types: &[RrType]) {
        for &rtype in types.iter().filter(|rtype| is_asked_for(**rtype)) {
            self.check(name, rtype);
        }
    }

    fn check(&mut self, name: NameRef<'_>, rtype: RrType) {
        let before = ask(self.pair.before.view, name, rtype);
        if !before.is_positive() {
            return;
        }
        *self.asked += 1;
        let after = ask(self.pair.after.view, name, rtype);
        if !before.is_kept_by(&after) && !self.policy.may_vanish(name) {
            self.lost.insert(line(name, rtype, &after));
        }
    }
}

fn line(name: NameRef<'_>, rtype: RrType, after: &Told) -> String {
    let shown: Name = match name.first_label() {
        Some(NOBODY) => name.parent().and_then(|parent| parent.child(b"*").ok()).unwrap_or_else(|| name.to_name()),
        _ => name.to_name(),
    };
    format!("{shown} {rtype} would become {after}")
}

/// Whether clients ask for the type: proofs and signatures come along by themselves.
fn is_asked_for(rtype: RrType) -> bool {
    !matches!(rtype, RrType::RRSIG | RrType::NSEC | RrType::NSEC3 | RrType::NSEC3PARAM)
}
