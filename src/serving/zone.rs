//! A zone as it is answered: its content, which of it each client gets, and what is told otherwise while it moves.

use std::sync::{Arc, OnceLock};

use super::content::{Content, SiteContent, SiteId};
use super::routing::Routing;
use super::told::Edition;
use crate::name::{Name, NameRef};
use crate::rr::RrType;
use crate::serial::Serial;
use crate::snapshot::Snapshot;
use crate::snapshot::answer::Scope;
use crate::snapshot::capped::{Capped, Unlike};
use crate::snapshot::sought::Sought;
use crate::time::Ttl;
use crate::zone::rdata;

/// A zone as it is answered. What follows from content and routing is worked out when it is made.
#[derive(Clone, Debug)]
pub struct ZoneServing {
    /// What it answers at each site.
    pub content: Arc<Content>,
    /// Which site each region is answered from.
    pub routing: Routing,
    /// The serial that all answers tell.
    pub serial: Serial,
    /// The sites that some client is answered from, each once; never none.
    in_use: Vec<SiteId>,
    /// What is told of its apex and its name servers, where clients are answered from several sites.
    apex: Option<Apex>,
    lowered: Option<Arc<Lowered>>,
    pairs: Arc<Pairs>,
    /// By [`SiteId`]; of a zone that was never served, none.
    editions: Vec<Edition>,
}

/// What is told to everybody alike: caches ask for it from anywhere, and find the zone by it.
#[derive(Clone, Debug)]
struct Apex {
    /// The site that it is told from.
    site: SiteId,
    /// The zone's name servers whose names are in the zone, in lower case.
    servers: Vec<Name>,
}

/// What is told to be kept for less long than it says.
#[derive(Debug)]
struct Lowered {
    /// The site whose SOA record denials are told with.
    apex: SiteId,
    /// Between which sites, and the most that is told.
    between: Vec<(SiteId, SiteId, Ttl)>,
    capped: Capped,
}

/// How each two sites of a content differ, once somebody has asked: by the lesser number, then by the greater one.
#[derive(Debug)]
struct Pairs(Box<[OnceLock<Row>]>);

type Row = Box<[OnceLock<Arc<Unlike>>]>;

impl ZoneServing {
    /// A zone with this content, routed so. What `last`, the same zone until now, had worked out is taken over where it
    /// still holds.
    pub fn new(content: Arc<Content>, routing: Routing, serial: Serial, last: Option<&ZoneServing>) -> ZoneServing {
        let in_use = routing.sites_in_use();
        let apex = (in_use.len() > 1).then(|| Apex::of(&content, &routing, &in_use));
        let between = routing.lowered();
        let last = last.filter(|last| Arc::ptr_eq(&last.content, &content));
        let pairs = last.map_or_else(|| Arc::new(Pairs::of(&content)), |last| Arc::clone(&last.pairs));
        let known = last.and_then(|last| last.lowered.as_ref());
        let apex_site = routing.apex_site();
        let lowered = match known.filter(|known| known.between == between && known.apex == apex_site) {
            _ if between.is_empty() => None,
            Some(known) => Some(Arc::clone(known)),
            None => Some(Arc::new(Lowered::of(&content, &pairs, between, apex_site))),
        };
        ZoneServing { content, routing, serial, in_use, apex, lowered, pairs, editions: Vec::new() }
    }

    /// Numbers what is answered at each site: as before where that is the same.
    pub(super) fn number_editions(&mut self, before: Option<&ZoneServing>, last: &mut Edition) {
        let lowered = |zone: &ZoneServing| zone.lowered.as_ref().map(Arc::as_ptr);
        let before = before.filter(|before| lowered(before) == lowered(self));
        let editions = self.content.sites.iter().map(|site| {
            let same = |before: &ZoneServing| {
                let at = before
                    .content
                    .sites
                    .iter()
                    .position(|former| former.name == site.name && Arc::ptr_eq(&former.snapshot, &site.snapshot))?;
                before.editions.get(at).copied()
            };
            before.and_then(same).unwrap_or_else(|| {
                *last = last.next();
                *last
            })
        });
        self.editions = editions.collect();
    }

    /// The name of this hash under the key of the serving, if it exists at a site.
    pub fn name_under(&self, hash: u64) -> Option<Name> {
        let mut sites = self.content.sites.iter();
        sites.find_map(|site| Some(NameRef::trusted(site.snapshot.node_named(hash)?.name()).to_name()))
    }

    /// The editions of what is answered at each site.
    pub fn editions(&self) -> &[Edition] {
        &self.editions
    }

    /// The edition of what is answered at a site.
    pub fn edition(&self, site: SiteId) -> Edition {
        self.editions.get(usize::from(site.0)).copied().unwrap_or_default()
    }

    /// The sites that some client is answered from, each once, in order of their number.
    pub fn sites_in_use(&self) -> &[SiteId] {
        &self.in_use
    }

    /// The site that everybody is answered from, if it is one.
    pub(super) fn only_site(&self) -> Option<SiteId> {
        if self.apex.is_none() { self.in_use.first().copied() } else { None }
    }

    /// The site that `sought` and `rtype` are answered from whoever asks, if they are.
    ///
    /// A question for all types (ANY, RRSIG) is none of these: it is answered from the client's own site.
    pub(crate) fn common_site(&self, sought: &Sought, rtype: RrType) -> Option<SiteId> {
        let apex = self.apex.as_ref()?;
        let is_common = match rtype {
            RrType::SOA | RrType::NS | RrType::DNSKEY | RrType::CDS | RrType::CDNSKEY => {
                sought.len() == self.content.origin.as_ref().len()
            }
            RrType::A | RrType::AAAA => apex.servers.iter().any(|server| server.as_ref() == sought.name()),
            _ => false,
        };
        is_common.then_some(apex.site)
    }

    /// The content that `common_site` means, and the name servers whose addresses are told from there.
    pub(super) fn common_content(&self) -> Option<(&SiteContent, &[Name])> {
        self.apex.as_ref().map(|apex| (self.content.site(apex.site), &*apex.servers))
    }

    /// What everybody is told of the apex, for a client that is answered from `own`.
    pub(super) fn apex_snapshot<'s>(&'s self, own: &'s Snapshot) -> &'s Snapshot {
        self.apex.as_ref().map_or(own, |apex| &self.content.site(apex.site).snapshot)
    }

    /// Whether addresses of the node `name` are not told along with other records by a client's `own` site: they are
    /// those of a name server, and everybody is told them from one site.
    pub(super) fn withholds(&self, name: &[u8], own: &Snapshot) -> bool {
        let Some(apex) = &self.apex else { return false };
        if std::ptr::eq(&raw const **self.snapshot(apex.site), own) {
            return false;
        }
        let name = NameRef::trusted(name);
        let stands_in =
            |server: NameRef<'_>| name.is_wildcard() && name.parent().is_some_and(|parent| server.is_below(parent));
        apex.servers.iter().map(Name::as_ref).any(|server| server == name || stands_in(server))
    }

    /// What is answered at a site.
    pub(super) fn snapshot(&self, site: SiteId) -> &Arc<Snapshot> {
        &self.content.site(site).snapshot
    }

    /// What is true of all records that a client gets.
    pub(super) fn scope(&self, snapshot: &Snapshot) -> Scope<'_> {
        let serial = (!snapshot.is_signed()).then_some(self.serial);
        let capped = self.lowered.as_ref().map(|lowered| &lowered.capped);
        Scope { origin_len: self.content.origin.as_ref().len(), serial, capped }
    }

    /// Which RRsets are told to be kept for less long than they say, while the zone moves.
    pub fn capped(&self) -> Option<&Capped> {
        self.lowered.as_ref().map(|lowered| &lowered.capped)
    }

    /// Lowers what clients may be told otherwise at the other of two sites. What that is, is found out once for a content,
    /// however often it is moved between them.
    pub fn lower_between(&self, capped: &mut Capped, one: SiteId, other: SiteId, ttl: Ttl) {
        self.pairs.lower(&self.content, capped, [one, other], ttl);
    }

    /// Finds out what clients may be told otherwise at the other of two sites, before a move needs to know.
    pub fn look_ahead(&self, one: SiteId, other: SiteId) {
        self.pairs.unlike(&self.content, [one, other]);
    }

    /// Between which sites RRsets that differ are told to be kept for less long than they say, and for how long at most.
    pub fn lowered(&self) -> &[(SiteId, SiteId, Ttl)] {
        self.lowered.as_ref().map_or(&[], |lowered| &lowered.between)
    }
}

impl Apex {
    fn of(content: &Content, routing: &Routing, in_use: &[SiteId]) -> Apex {
        let origin = content.origin.as_ref();
        let mut servers: Vec<Name> = in_use
            .iter()
            .filter_map(|site| content.site(*site).zone.rrset(origin, RrType::NS))
            .flat_map(|set| set.rdatas().flat_map(|rdata| rdata::names(RrType::NS, rdata)).map(|(_, name)| name))
            .filter(|name| name.is_at_or_below(origin))
            .map(|name| name.to_lowercase())
            .collect();
        servers.sort_unstable();
        servers.dedup();
        Apex { site: routing.apex_site(), servers }
    }
}

impl Pairs {
    fn of(content: &Content) -> Pairs {
        Pairs(content.sites.iter().map(|_| OnceLock::new()).collect())
    }

    fn unlike(&self, content: &Content, [one, other]: [SiteId; 2]) -> Arc<Unlike> {
        let find = || Arc::new(Unlike::between([one, other].map(|site| content.site(site).end())));
        let row = self.0.get(usize::from(one.min(other).0));
        let row = row.map(|row| row.get_or_init(|| content.sites.iter().map(|_| OnceLock::new()).collect()));
        let known = row.and_then(|row| row.get(usize::from(one.max(other).0)));
        // Nobody waits for another thread, which may be one that all others go before: who comes second finds it, too.
        known.map_or_else(find, |known| match known.get() {
            Some(unlike) => Arc::clone(unlike),
            None => {
                let found = find();
                Arc::clone(known.get_or_init(|| found))
            }
        })
    }

    fn lower(&self, content: &Content, capped: &mut Capped, sites: [SiteId; 2], ttl: Ttl) {
        capped.lower(self.unlike(content, sites), sites.map(|site| content.site(site).end()), ttl);
    }
}

impl Lowered {
    fn of(content: &Content, pairs: &Pairs, between: Vec<(SiteId, SiteId, Ttl)>, apex: SiteId) -> Lowered {
        let mut capped = Capped::default();
        for &(one, other, ttl) in &between {
            pairs.lower(content, &mut capped, [one, other], ttl);
            capped.lower_denials(content.site(apex).end(), ttl);
        }
        Lowered { apex, between, capped }
    }
}
