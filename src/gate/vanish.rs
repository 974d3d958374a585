//! `zone.nothing-vanishes`: what a region is answered now, it is answered after the move.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::ask::{Asker, Told, types_at};
use super::memo::Recall;
use super::{Change, Finding, Pair, id, reach};
use crate::count::counted;
use crate::digest::Digest;
use crate::evidence::Verdict;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serving::content::Policy;
use crate::zone::rdata;
use crate::zone::rrsets::{Owner, Rrset, Zone};

/// A label that no operator gives to a host: for names that only a wildcard or a delegation answers.
const NOBODY: &[u8] = b"_understudy-nobody-has-this-name";

/// Judges all regions that move.
pub fn judge(change: Change<'_>) -> Finding {
    let recall = &mut Recall::reading(change.memo);
    let Some(after) = change.zone_after() else {
        return Finding::pass(id::NOTHING_VANISHES, change.origin, "the zone is withdrawn");
    };
    let (mut lost, mut unproven) = (BTreeSet::new(), BTreeSet::new());
    let mut asked = 0;
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        for part in 0..PARTS {
            let found = find(change, pair, part, &after.content.policy, recall);
            lost.extend(found.lost.iter().cloned());
            unproven.extend(found.unproven.iter().cloned());
            asked += found.asked;
        }
    }
    let finding = |verdict, reason: String, remedy: &str, items| {
        let remedy = remedy.into();
        Finding { gate: id::NOTHING_VANISHES, zone: change.origin.to_name(), verdict, reason, remedy, items }
    };
    let questions = counted(asked, "question");
    let elsewhere = format!(
        "{} of {questions} that are answered now would lead to servers that are not ours: whether those answer is \
         not known here",
        unproven.len()
    );
    if !lost.is_empty() {
        let mut reason = format!(
            "{} of {questions} that are answered now would stop being answered; resolvers would keep that for the \
             negative TTL or longer",
            lost.len()
        );
        if !unproven.is_empty() {
            reason += &format!("; {elsewhere}");
        }
        let remedy = "add what is missing to the target's file and try again; names that are meant to go belong in \
                      may_vanish";
        lost.append(&mut unproven);
        return finding(Verdict::Block, reason, remedy, lost.into_iter().collect());
    }
    if !unproven.is_empty() {
        let remedy = "look whether they do, and override this by its digest if so";
        return finding(Verdict::Unknown, elsewhere, remedy, unproven.into_iter().collect());
    }
    let reason = format!("what is answered now stays so: {questions} asked");
    Finding::pass(id::NOTHING_VANISHES, change.origin, reason)
}

/// The parts of the search, so that it can be done on several threads.
pub(super) const PARTS: usize = 4;

/// What a region that moves would no longer be answered of one part of what is asked for, if it is not known.
pub(super) fn find(
    change: Change<'_>,
    pair: Pair<'_>,
    part: usize,
    policy: &Policy,
    recall: &mut Recall<'_>,
) -> Arc<Vanishing> {
    let key = || {
        let all = reach::digest(change, &[pair.before.view, pair.after.view]);
        Digest::of_parts([all.as_bytes(), &part.to_be_bytes()[..]])
    };
    recall.find(key, || Search::of(pair, policy).run(part))
}

/// What a region that moves would no longer be answered.
pub(crate) struct Vanishing {
    /// A line each, sorted.
    pub lost: Vec<String>,
    /// What others would have to answer; a line each, sorted.
    pub unproven: Vec<String>,
    /// How many questions are answered now.
    pub asked: usize,
    /// What is asked for in vain behind it, as in `lost`.
    pub dark: BTreeSet<(Name, RrType)>,
}

/// What the regions that move would no longer be answered: names as they are asked for, with `*` for what a wildcard answers.
pub fn dark(change: Change<'_>) -> BTreeSet<(Name, RrType)> {
    let recall = &mut Recall::reading(change.memo);
    let Some(after) = change.zone_after() else { return BTreeSet::new() };
    let mut dark = BTreeSet::new();
    for pair in change.pairs().into_iter().filter(Pair::is_move) {
        for part in 0..PARTS {
            dark.extend(find(change, pair, part, &after.content.policy, recall).dark.iter().cloned());
        }
    }
    dark
}

struct Search<'a> {
    pair: Pair<'a>,
    policy: &'a Policy,
    /// What clients ask for by the name of an alias.
    aliased: Vec<RrType>,
    lost: BTreeSet<String>,
    /// What others would have to answer.
    unproven: BTreeSet<String>,
    dark: BTreeSet<(Name, RrType)>,
    asked: usize,
    asker: Asker,
}

impl<'a> Search<'a> {
    fn of(pair: Pair<'a>, policy: &'a Policy) -> Search<'a> {
        let aliased = aliased_types(&pair.before.site.zone);
        let (lost, unproven, dark) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Search { pair, policy, aliased, lost, unproven, dark, asked: 0, asker: Asker::default() }
    }

    fn run(mut self, part: usize) -> Vanishing {
        let zone = &self.pair.before.site.zone;
        let [first, end] = [part, part + 1].map(|part| zone.owners().len() * part / PARTS);
        for owner in zone.owners_within(first..end) {
            self.check_owner(owner);
        }
        if part == 0 {
            self.check_new_names();
        }
        let lines = |set: BTreeSet<String>| set.into_iter().collect();
        Vanishing { lost: lines(self.lost), unproven: lines(self.unproven), asked: self.asked, dark: self.dark }
    }

    fn check_owner(&mut self, owner: Owner<'a>) {
        let types: Vec<RrType> = owner.rrsets().map(|set| set.rtype).collect();
        self.check_types(owner.name, &types);
        if owner.name.is_wildcard()
            && let Some(parent) = owner.name.parent()
        {
            self.check_child(parent, &types);
        }
        for set in owner.rrsets() {
            match set.rtype {
                RrType::DNAME => self.check_below_dname(set),
                // What is below a cut is somebody else's, and must stay so.
                RrType::NS if owner.name != self.pair.before.site.zone.origin() => {
                    self.check_child(owner.name, &[RrType::A]);
                    self.check_glue(set);
                }
                _ => {}
            }
        }
    }

    /// Names that only the target has can cut a wildcard off (RFC 4592 §2.2): it does not reach what exists, nor what
    /// is below that.
    fn check_new_names(&mut self) {
        let (before, after) = (&*self.pair.before.site.zone, &*self.pair.after.site.zone);
        if !before.owners().any(|owner| owner.name.is_wildcard()) {
            return;
        }
        let (mut seen, mut known) = (HashSet::new(), before.owners_beside(after).peekable());
        for owner in after.owners_beside(before) {
            // Both are in the same order: most names are passed by without being searched for.
            while known.next_if(|known| known.name < owner.name).is_some() {}
            if known.peek().is_some_and(|known| known.name == owner.name) {
                continue;
            }
            for name in owner.name.ancestors().take_while(|name| name.is_at_or_below(before.origin())) {
                if before.exists(name) || !seen.insert(name) {
                    break;
                }
                let types = types_at(before, name);
                self.check_types(name, &types);
                // Below an asterisk itself nobody asks.
                if !name.is_wildcard() {
                    self.check_child(name, &types);
                }
            }
        }
    }

    /// The names that a DNAME leads to, by the names that clients ask for.
    fn check_below_dname(&mut self, dname: Rrset<'a>) {
        let Some((_, target)) = dname.rdatas().next().and_then(|rdata| rdata::names(RrType::DNAME, rdata).next())
        else {
            return;
        };
        // Where nothing of ours is found, somebody else answers for all that is below.
        self.check_child(dname.owner, &[RrType::CNAME]);
        let Some(led_to) = self.pair.before.view.content_of(target) else { return };
        for below in led_to.zone.owners().filter(|below| below.name.is_below(target)) {
            let types: Vec<_> = below.rrsets().map(|set| set.rtype).collect();
            let Ok(name) = below.name.replace_suffix(target, dname.owner) else { continue };
            match name.as_ref().parent() {
                Some(parent) if name.as_ref().is_wildcard() => self.check_child(parent, &types),
                _ => self.check_types(name.as_ref(), &types),
            }
        }
    }

    /// The addresses that come along with a delegation: without them its servers below it are not found.
    fn check_glue(&mut self, cut: Rrset<'_>) {
        let (before, after) = (&*self.pair.before.site.zone, &*self.pair.after.site.zone);
        let Some(servers) = after.rrset(cut.owner, RrType::NS) else { return };
        let names = servers.rdatas().flat_map(|rdata| rdata::names(RrType::NS, rdata)).map(|(_, name)| name);
        for name in names.filter(|name| name.is_at_or_below(cut.owner)) {
            let [had, has] = [before, after].map(|zone| zone.owner(name));
            for rtype in [RrType::A, RrType::AAAA] {
                let [had, has] = [had, has].map(|owner| owner.and_then(|owner| owner.rrset(rtype)).is_some());
                if had && !has && !self.policy.may_vanish(name) {
                    let (cut, site) = (cut.owner, &self.pair.after.site.name);
                    self.lost.insert(format!("{name} {rtype} would be missing from referrals to {cut} at {site}"));
                }
            }
        }
    }

    fn check_child(&mut self, parent: NameRef<'_>, types: &[RrType]) {
        if let Ok(child) = parent.child(NOBODY) {
            self.check_types(child.as_ref(), types);
        }
    }

    fn check_types(&mut self, name: NameRef<'_>, types: &[RrType]) {
        if types.contains(&RrType::CNAME) {
            return self.check_alias(name);
        }
        for &rtype in types.iter().filter(|rtype| is_asked_for(**rtype)) {
            self.check(name, rtype);
        }
    }

    /// Clients ask for what an alias leads to, by the alias's name. One that leads to nothing is asked for as such.
    fn check_alias(&mut self, name: NameRef<'_>) {
        let mut leads_somewhere = false;
        for at in 0..self.aliased.len() {
            leads_somewhere |= self.check(name, self.aliased[at]);
        }
        if !leads_somewhere {
            self.check(name, RrType::CNAME);
        }
    }

    /// Whether it is answered now.
    fn check(&mut self, name: NameRef<'_>, rtype: RrType) -> bool {
        let before = self.asker.ask(self.pair.before.view, name, rtype);
        if !before.is_positive() {
            return false;
        }
        self.asked += 1;
        let after = self.asker.ask(self.pair.after.view, name, rtype);
        if !self.policy.may_vanish(name) {
            match before.kept_by(&after) {
                Verdict::Pass | Verdict::Warn => {}
                Verdict::Unknown => drop(self.unproven.insert(self.line(name, rtype, &after))),
                Verdict::Block => {
                    self.lost.insert(self.line(name, rtype, &after));
                    self.dark.insert((shown(name), rtype));
                }
            }
        }
        true
    }

    fn line(&self, name: NameRef<'_>, rtype: RrType, after: &Told) -> String {
        format!("{} {rtype} would become {after} at {}", shown(name), self.pair.after.site.name)
    }
}

/// A name as operators know it.
fn shown(name: NameRef<'_>) -> Name {
    match name.first_label() {
        Some(NOBODY) => name.parent().and_then(|parent| parent.child(b"*").ok()).unwrap_or_else(|| name.to_name()),
        _ => name.to_name(),
    }
}

/// What clients may ask for by the name of an alias: addresses, and whatever else the zone has but what only stands at
/// the apex or at a cut.
fn aliased_types(zone: &Zone) -> Vec<RrType> {
    let only_there = [RrType::SOA, RrType::NS, RrType::DS, RrType::DNSKEY, RrType::CNAME, RrType::DNAME];
    let own = zone.rrsets().map(|set| set.rtype).filter(|rtype| is_asked_for(*rtype) && !only_there.contains(rtype));
    own.chain([RrType::A, RrType::AAAA]).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether clients ask for the type: proofs and signatures come along by themselves.
pub fn is_asked_for(rtype: RrType) -> bool {
    !matches!(rtype, RrType::RRSIG | RrType::NSEC | RrType::NSEC3 | RrType::NSEC3PARAM)
}
