//! What an order comes to: which name is meant, what is to lie over the texts, and what speaks against it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{Deed, Draft, Impossible, Order};
use crate::count::counted;
use crate::driver::name_servers::NameServers;
use crate::driver::{Driver, now};
use crate::evidence::Verdict;
use crate::exposure::known::Known as _;
use crate::gate::rename::{Renaming, Shown, judge};
use crate::gate::{Finding, id};
use crate::name::Name;
use crate::rename::apply::along;
use crate::rename::fresh::choose;
use crate::rename::refer::{Reference, refers};
use crate::rename::{MOST, Rename, Stage};
use crate::rr::RrType;
use crate::serving::content::Content;
use crate::time::Timestamp;
use crate::zone::rdata;
use crate::zone::rrsets::{Rrset, Zone};

/// How long an old lever has to be left alone before it is retired.
const QUIET: Duration = Duration::from_secs(7 * 86_400);

impl Driver {
    /// What an order comes to. Nothing is changed.
    pub(super) fn draft_rename(&self, origin: &Name, order: &Order) -> Result<Draft, Impossible> {
        let zone = self.serving.zone(origin.as_ref()).ok_or_else(|| Impossible::NotServed(origin.clone()))?;
        let content = Arc::clone(&zone.content);
        match order.deed {
            Deed::Begin | Deed::Spare => self.draft_begin(&content, order),
            Deed::Undo => self.draft_undo(&content, &order.name),
            Deed::Retire => self.draft_retire(&content, &order.name),
        }
    }

    fn draft_begin(&self, content: &Content, order: &Order) -> Result<Draft, Impossible> {
        let lever = self.lever_of(content, &order.name)?;
        let overlays = &content.overlays;
        let is_under_way = |rename: &&Rename| !rename.spare && matches!(rename.stage, Stage::Staged | Stage::Confirmed);
        if let Some(under_way) = overlays.of(lever.as_ref()).find(is_under_way) {
            return Err(Impossible::UnderWay { lever: lever.clone(), fresh: under_way.fresh.clone() });
        }
        let references = self.leading_to(content, &lever);
        let words = order.overrides.iter().map(ToString::to_string).collect();
        let whole = is_whole(&references);
        // One from before a DNAME led to the lever lacks the names below it.
        let is_ready = |rename: &&Rename| rename.spare && rename.whole == whole;
        let spare = overlays.of(lever.as_ref()).find(is_ready).filter(|_| order.deed == Deed::Begin);
        let rename = match spare {
            Some(spare) => {
                // Its servers were seen to have it: what leads to the lever turns at once.
                let turned = (spare.stage == Stage::Confirmed).then(now);
                Rename { spare: false, words, turned, ..spare.clone() }
            }
            None => self.fresh_rename(content, &lever, &references, order.deed == Deed::Spare, words)?,
        };
        let (fresh, stage) = (rename.fresh.clone(), rename.stage);
        let renamed = |stage| overlays.without(fresh.as_ref()).with(Rename { stage, ..rename.clone() });
        let shown = order.asks.then(|| self.certificates_at(content, &lever, &rename.fresh, &references));
        let findings = self.judge_rename(content, &rename, &references, shown.as_deref());
        let (next, end) = match (order.deed, stage) {
            (Deed::Spare, _) => (renamed(Stage::Staged), renamed(Stage::Confirmed)),
            // Its servers were seen to have it: that is what it was kept ready for.
            (_, Stage::Confirmed) => (renamed(Stage::Referenced), renamed(Stage::Referenced)),
            _ => (renamed(Stage::Staged), renamed(Stage::Referenced)),
        };
        Ok(Draft { lever, fresh, next, end, findings, references })
    }

    /// A rename of a lever that was not thought of before.
    fn fresh_rename(
        &self,
        content: &Content,
        lever: &Name,
        references: &[Reference],
        spare: bool,
        words: Vec<String>,
    ) -> Result<Rename, Impossible> {
        if content.overlays.renames.len() >= MOST {
            return Err(Impossible::TooMany(content.origin.clone()));
        }
        let sites: Vec<_> = content.sites.iter().map(|site| &*site.zone).collect();
        let chosen = choose(&sites, lever.as_ref(), content.overlays.last);
        let (fresh, number) = chosen.map_err(|why| Impossible::NoFresh { lever: lever.clone(), why })?;
        let (lever, stage, whole) = (lever.clone(), Stage::Staged, is_whole(references));
        Ok(Rename { lever, fresh, number, stage, spare, whole, words, turned: None })
    }

    fn judge_rename(
        &self,
        content: &Content,
        rename: &Rename,
        references: &[Reference],
        shown: Option<&[Shown]>,
    ) -> Vec<Finding> {
        let leads = |zone: &Content| {
            zone.sites.iter().any(|site| site.zone.is_signed() && leads_to(&site.zone, content, &rename.lever))
        };
        let others = self.serving.zones().iter().filter(|zone| zone.content.origin != content.origin);
        let signed: Vec<Name> =
            others.filter(|zone| leads(&zone.content)).map(|zone| zone.content.origin.clone()).collect();
        let renaming = Renaming {
            origin: content.origin.as_ref(),
            sites: &content.sites,
            lever: rename.lever.as_ref(),
            fresh: rename.fresh.as_ref(),
            whole: rename.whole,
            references,
            signed: &signed,
            shown,
        };
        let mut findings = judge(&renaming);
        findings.push(self.servers_known(content));
        findings
    }

    /// `rename.name-servers`: it has to be known where all name servers of the zone are asked whether they have the fresh name.
    fn servers_known(&self, content: &Content) -> Finding {
        let origin = content.origin.as_ref();
        let Some(spec) = self.setup.zone(&content.origin) else {
            return Finding::pass(id::RENAME_SERVERS, origin, "the zone is not configured any more");
        };
        let servers = NameServers::of(spec, &content.sites[0]);
        if servers.elsewhere.is_empty() {
            let reason = format!("{} of its name servers are asked", servers.addresses.len());
            return Finding::pass(id::RENAME_SERVERS, origin, reason);
        }
        Finding {
            gate: id::RENAME_SERVERS,
            zone: content.origin.clone(),
            verdict: Verdict::Unknown,
            reason: "not all name servers of the zone can be asked whether they have the fresh name: one that lags would tell \
                     resolvers that it does not exist"
                .into(),
            remedy: "set `name_servers` of the zone to where they are asked; or override this once you know that they have it at \
                     once"
                .into(),
            items: servers.elsewhere.iter().map(|name| format!("{name}: its address is not known here")).collect(),
        }
    }

    fn draft_undo(&self, content: &Content, name: &Name) -> Result<Draft, Impossible> {
        let overlays = &content.overlays;
        // A name that is kept ready is not what a lever was renamed to.
        let is_meant = |rename: &Rename| rename.stage != Stage::Returned && (!rename.spare || rename.fresh == *name);
        let rename = self.meant(content, name, is_meant);
        let rename =
            rename.ok_or_else(|| Impossible::Nothing(format!("{name} is not renamed: there is nothing to undo")))?;
        let fresh = rename.fresh.as_ref();
        let end = match rename.stage {
            // The lever is answered again only if no other rename of it has it retired.
            Stage::Retired => overlays
                .of(rename.lever.as_ref())
                .filter(|other| other.stage == Stage::Retired)
                .fold(overlays.clone(), |all, other| all.at(other.fresh.as_ref(), Stage::Referenced)),
            Stage::Referenced => overlays.at(fresh, Stage::Returned),
            // Nobody was ever led there.
            _ => overlays.without(fresh),
        };
        let (lever, fresh) = (rename.lever.clone(), rename.fresh.clone());
        let references = self.leading_to(content, &lever);
        Ok(Draft { lever, fresh, next: end.clone(), end, findings: Vec::new(), references })
    }

    fn draft_retire(&self, content: &Content, name: &Name) -> Result<Draft, Impossible> {
        let overlays = &content.overlays;
        let is_over = |rename: &Rename| matches!(rename.stage, Stage::Referenced | Stage::Returned);
        let rename = self.meant(content, name, is_over).ok_or_else(|| {
            Impossible::Nothing(format!("{name} is neither an old lever nor a fresh name that nothing leads to"))
        })?;
        let (lever, fresh) = (rename.lever.clone(), rename.fresh.clone());
        let latest = overlays.own_turns().into_iter().find(|turn| turn.lever == lever).map(|turn| turn.fresh);
        let is_led_to = latest.as_ref() == Some(&fresh);
        let (end, old) = match is_led_to {
            true => (overlays.at(fresh.as_ref(), Stage::Retired), lever.clone()),
            false => (overlays.without(fresh.as_ref()), fresh.clone()),
        };
        let findings = vec![self.quiet(content, &old, rename.whole)];
        let references = self.leading_to(content, &lever);
        Ok(Draft { lever, fresh, next: end.clone(), end, findings, references })
    }

    /// The latest rename that a name can mean, by its lever or its fresh name.
    fn meant<'c>(&self, content: &'c Content, name: &Name, wanted: impl Fn(&Rename) -> bool) -> Option<&'c Rename> {
        let is_named = |rename: &&Rename| rename.lever == *name || rename.fresh == *name;
        let renames = content.overlays.renames.iter().rev();
        let exact = renames.clone().find(|rename| rename.fresh == *name && wanted(rename));
        exact.or_else(|| renames.clone().filter(is_named).find(|rename| wanted(rename))).or_else(|| {
            let lever = self.lever_of(content, name).ok()?;
            renames.filter(|rename| rename.lever == lever).find(|rename| wanted(rename))
        })
    }

    /// `rename.quiet`: whether a name, and what goes with it, was left alone for so long that nobody misses it.
    fn quiet(&self, content: &Content, old: &Name, whole: bool) -> Finding {
        let at = now();
        let origin = content.origin.as_ref();
        let leading = self.still_leading_to(old);
        if !leading.is_empty() {
            return Finding {
                gate: id::RENAME_QUIET,
                zone: content.origin.clone(),
                verdict: Verdict::Block,
                reason: format!("{} still leads to {old}, and would lead nowhere", counted(leading.len(), "RRset")),
                remedy: "have it lead somewhere else first: edit the files, then understudy reload".into(),
                items: leading,
            };
        }
        let (verdict, reason) = match self.last_told(content, old, whole) {
            None => (
                Verdict::Unknown,
                format!(
                    "nobody knows when {old} was asked for last: it is not noted who is told what, or other name servers \
                     of the zone are asked, too"
                ),
            ),
            Some((Some(last), _)) if at.since(last) < QUIET => {
                (Verdict::Block, format!("{old} was asked for at {last}, {} s ago", at.since(last).as_secs()))
            }
            Some((_, since)) if at.since(since) < QUIET => {
                (Verdict::Unknown, format!("{old} was not asked for since {since}; what was before that is not known"))
            }
            Some(_) => {
                return Finding::pass(
                    id::RENAME_QUIET,
                    origin,
                    format!("{old} was not asked for in {} days", QUIET.as_secs() / 86_400),
                );
            }
        };
        let days = QUIET.as_secs() / 86_400;
        let remedy = format!(
            "wait until it was left alone for {days} days; to retire it now, override this by the digest shown"
        );
        let zone = content.origin.clone();
        let items = vec![format!("{old}: who still leads there would be told that it does not exist")];
        Finding { gate: id::RENAME_QUIET, zone, verdict, reason, remedy, items }
    }

    /// What is answered in zones of ours and leads to a name, NS records among it, which do not turn; a line each.
    fn still_leading_to(&self, name: &Name) -> Vec<String> {
        let sites = self.serving.zones().iter().flat_map(|zone| &zone.content.sites);
        let sets = sites.flat_map(|site| site.zone.rrsets());
        let leads = |set: &Rrset<'_>| {
            let mut targets = set.rdatas().flat_map(|data| rdata::names(set.rtype, data));
            set.rtype != RrType::SOA && targets.any(|(_, target)| target == name.as_ref())
        };
        let lines: BTreeSet<String> =
            sets.filter(leads).map(|set| format!("{} {} leads to {name}", set.owner, set.rtype)).collect();
        lines.into_iter().collect()
    }

    /// When a name, or what goes with it, was told last, and since when that is known; none if it is not noted.
    fn last_told(&self, content: &Content, old: &Name, whole: bool) -> Option<(Option<Timestamp>, Timestamp)> {
        let servers = NameServers::of(self.setup.zone(&content.origin)?, &content.sites[0]);
        if !servers.are_all_ours(&self.own) {
            return None;
        }
        let owners = content.sites.iter().flat_map(|site| along(&site.zone, old.as_ref(), whole));
        let gone: BTreeSet<u64> = owners.map(|owner| self.serving.key.of(owner.name.to_lowercase().as_ref())).collect();
        let told = self.folding.as_ref()?.look(|known| known.last_told(&content.origin, &gone, now()));
        Some((told.last, told.since))
    }
}

/// Whether all names below a lever come along: a DNAME leads there.
fn is_whole(references: &[Reference]) -> bool {
    references.iter().any(|reference| reference.rtype == RrType::DNAME)
}

/// Whether a zone leads to a lever or to one of its fresh names.
fn leads_to(zone: &Zone, content: &Content, lever: &Name) -> bool {
    refers(zone, lever.as_ref())
        || content.overlays.of(lever.as_ref()).any(|rename| refers(zone, rename.fresh.as_ref()))
}
