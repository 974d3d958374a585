//! The contents of a simulated zone: what each site may say, and the texts that say it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use understudy::name::Name;
use understudy::serving::content::{Content, Policy, SiteContent};
use understudy::snapshot::Snapshot;
use understudy::snapshot::compile::Shape;
use understudy::snapshot::sought::HashKey;
use understudy::store::files::Kept as KeptFiles;
use understudy::store::texts::{BundleId, Part, Role};
use understudy::world::sim::Kept;
use understudy::zone::reader::{self, Source, Sources};
use understudy::zone::rrsets::Zone;

pub const KEY: [u8; 16] = *b"a key for tests.";
/// What sites are called.
pub const SITES: [&str; 3] = ["amber", "blue", "coral"];
/// The levers that a site may have beside the one that all have.
pub const LEVERS: usize = 4;
/// What a site's front names lead to if not to one of its levers.
pub const SHARED: usize = LEVERS;
pub const TTLS: [u32; 4] = [20, 60, 120, 300];

/// What a site says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Which site.
    pub site: usize,
    /// The lever that `www` leads to; [`SHARED`]: the one that all sites have.
    pub lever: usize,
    /// Which levers the site has, a bit each; that of its front is always among them.
    pub levers: u8,
    /// The TTL of what users ask for.
    pub ttl: u32,
    /// The last octet of its addresses.
    pub edition: u8,
}

impl Variant {
    pub fn text(&self) -> String {
        let Variant { site, ttl, edition, .. } = *self;
        let lever = |lever: usize| if lever == SHARED { "lb".to_owned() } else { format!("lb{lever}") };
        let has = |at: &usize| self.levers & 1 << at != 0 || self.lever == *at;
        let levers = (0..LEVERS).filter(has).map(|at| format!("{} 30 A 10.{site}.{at}.{edition}\n", lever(at)));
        format!(
            "$TTL 60\n\
             @ SOA ns1 hostmaster 1 7200 3600 1209600 30\n@ NS ns1\n@ NS ns2\n\
             ns1 A 203.0.113.53\nns2 A 198.51.100.53\n\
             site 5 TXT {}\n\
             www {ttl} CNAME {}\nlb 30 A 10.{site}.99.{edition}\n{}\
             api {ttl} A 10.{site}.100.{edition}\n\
             @ {ttl} MX 10 mx\nmx {ttl} A 10.{site}.200.{edition}\n",
            SITES[site],
            lever(self.lever),
            levers.collect::<String>(),
        )
    }

    /// The text as the store keeps it.
    fn part(&self) -> Part {
        let root = SITES[self.site].to_owned();
        let files = BTreeMap::from([(root.clone(), Arc::from(self.text().into_bytes()))]);
        Part { role: Role::Site(root.clone()), kept: KeptFiles { root, files, included: BTreeMap::new() } }
    }
}

struct NoSources;

impl Sources for NoSources {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        Err(path.into())
    }
}

pub fn origin() -> Name {
    static ORIGIN: LazyLock<Name> = LazyLock::new(|| Name::absolute("wiki.example").unwrap());
    ORIGIN.clone()
}

/// What was read once in this process: runs have mostly the same.
#[derive(Default)]
struct Known {
    sites: HashMap<Variant, SiteContent>,
    /// By the address of what was read, which is never given up.
    variants: HashMap<usize, Variant>,
    contents: HashMap<BundleId, Arc<Content>>,
}

/// So many contents are known at most: then it begins anew.
const MOST_CONTENTS: usize = 10_000;

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(variant: &Variant) -> SiteContent {
    let source = Source { path: "zone".into(), octets: variant.text().as_bytes().into() };
    let reading = reader::read(&origin(), source, &mut NoSources);
    let text = reading.into_text().unwrap_or_else(|wrong| panic!("{wrong:#?}"));
    let zone = Zone::new(Some(&text), None).unwrap();
    let shape = Shape { key: HashKey::new(KEY), negative_ttl: None, max_ttl: None };
    let snapshot = Arc::new(Snapshot::compile(&zone, shape).unwrap());
    SiteContent { name: SITES[variant.site].into(), zone: Arc::new(zone), snapshot, signatures: None }
}

/// The texts of a content as the store keeps them.
pub fn parts(variants: &[Variant]) -> Vec<Part> {
    variants.iter().map(Variant::part).collect()
}

/// What the zone says at all its sites, and what that is kept as.
pub fn content(variants: &[Variant], epoch: u64) -> (BundleId, Arc<Content>) {
    let Known { sites: read_before, variants: by_zone, contents } = &mut *known();
    let sites = variants.iter().map(|variant| {
        let site = read_before.entry(*variant).or_insert_with(|| read(variant));
        by_zone.insert(Arc::as_ptr(&site.zone).addr(), *variant);
        site.clone()
    });
    let content = Arc::new(Content {
        origin: origin(),
        sites: sites.collect(),
        policy: Policy::default(),
        epoch,
        overlays: Default::default(),
    });
    let id = BundleId::of(origin().as_ref(), &parts(variants));
    if contents.len() >= MOST_CONTENTS {
        contents.clear();
    }
    contents.insert(id, Arc::clone(&content));
    (id, content)
}

/// What the sites of a content say.
pub fn variants_of(content: &Content) -> Vec<Variant> {
    let known = known();
    content.sites.iter().filter_map(|site| known.variants.get(&Arc::as_ptr(&site.zone).addr()).copied()).collect()
}

/// All contents that were made in this process, as a store would keep their texts.
pub fn all_kept() -> Kept {
    known().contents.iter().map(|(id, content)| (*id, Arc::clone(content))).collect()
}
