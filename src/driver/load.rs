//! From a zone's texts, wherever they come from, to what each of its sites would answer.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use super::setup::{SiteSpec, TextFile, ZoneSpec};
use super::sharing::share;
use crate::name::{Name, NameRef};
use crate::pages::in_small_pages;
use crate::rename::Overlays;
use crate::rename::apply::overlaid;
use crate::rename::fold::{Ended, settle};
use crate::serving::content::{Content, SiteContent};
use crate::snapshot::Snapshot;
use crate::snapshot::compile::Shape;
use crate::store::files::{FileSources, Kept, KeptSources};
use crate::store::stamps::Stamps;
use crate::store::texts::{Bundle, Part, Role};
use crate::zone::check::{Limits, check};
use crate::zone::diagnostic::{Diagnostic, Severity};
use crate::zone::reader::{Source, Sources, read};
use crate::zone::rrsets::Zone;
use crate::zone::signatures::Signatures;
use crate::zone::text::ZoneText;

/// The id of the finding that a zone's file cannot be read at all: what it says is unknown then, not empty.
pub const UNREADABLE: &str = "unreadable";

/// From how many RRsets on a site is worth a thread of its own.
pub(super) const LARGE: usize = 20_000;

/// What became of the texts of a zone.
pub struct Loading {
    /// What became of each site, in the order of the configuration.
    pub sites: Vec<SiteLoading>,
    /// What lies over the texts of all of them.
    pub overlays: Overlays,
    /// The renames that the texts have ended.
    pub ended: Vec<Ended>,
    /// What the texts take away from renames, a line each: they can't be taken over.
    pub blocked: Vec<String>,
}

/// What is to lie over the texts of a zone that is read.
pub(super) struct Laid<'a> {
    /// The overlays; where references to other zones turn is told of all that might.
    pub(super) overlays: Overlays,
    /// Which other zone's texts lead to a lever of this one.
    pub(super) elsewhere: &'a dyn Fn(NameRef<'_>) -> Option<Name>,
}

/// What became of the texts of a site.
pub struct SiteLoading {
    /// The site.
    pub name: String,
    /// What it would answer, if its texts have no errors.
    pub content: Option<SiteContent>,
    /// All that was found, warnings too.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts, the common one and what they include among them; none where what was published was made of the same.
    pub texts: SiteTexts,
    /// How to tell whether its files are still those that were read.
    pub stamps: Stamps,
}

/// The texts that a site's content was made of.
#[derive(Clone, Debug, Default)]
pub struct SiteTexts {
    /// The common text and what it includes.
    pub common: Option<Kept>,
    /// The site's own text and what it includes.
    pub own: Option<Kept>,
}

impl SiteTexts {
    /// The texts as the store keeps them.
    pub fn into_parts(self, site: &str) -> impl Iterator<Item = Part> {
        let common = self.common.map(|kept| Part { role: Role::Common(site.into()), kept });
        let own = self.own.map(|kept| Part { role: Role::Site(site.into()), kept });
        common.into_iter().chain(own)
    }

    /// The texts of `site` as the store kept them.
    pub fn of_bundle(site: &str, bundle: &Bundle) -> SiteTexts {
        let part = |role: Role| bundle.parts.iter().find(|part| part.role == role).map(|part| part.kept.clone());
        SiteTexts { common: part(Role::Common(site.into())), own: part(Role::Site(site.into())) }
    }

    /// Whether files have the same content, wherever they lie.
    pub fn say_the_same_as(&self, other: &SiteTexts) -> bool {
        let files = |kept: &Option<Kept>| kept.as_ref().map(|kept| kept.files.values().cloned().collect::<Vec<_>>());
        files(&self.common) == files(&other.common) && files(&self.own) == files(&other.own)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.common.is_none() && self.own.is_none()
    }
}

/// Reads a zone's files, but for those of sites that are known to have stayed as they were. What says the same as in
/// `former` is taken from there.
pub(super) fn from_files(
    spec: &ZoneSpec,
    include_outside: bool,
    shape: Shape,
    former: Option<&Content>,
    laid: &Laid<'_>,
    known: impl Fn(&SiteSpec) -> Option<SiteLoading>,
) -> Loading {
    let mut known: Vec<Option<SiteLoading>> = spec.sites.iter().map(known).collect();
    let kept = former.filter(|_| known.iter().all(Option::is_some)).map(|former| former.overlays.clone());
    if kept.is_none() && !laid.overlays.is_empty() {
        // Whether renames are still wanted is a matter of what all texts say.
        known.fill_with(|| None);
    }
    let open = |file: &TextFile| -> Opened {
        let opened = FileSources::new(&file.root, include_outside).and_then(|mut sources| {
            let first = in_small_pages(|| sources.root(&file.path))?;
            Ok((first, sources))
        });
        match opened {
            Ok((first, mut sources)) => {
                let read = read_one(&spec.origin, first, &mut sources);
                let stamps = sources.stamps().clone();
                Opened { read, kept: Some(sources.into_kept()), stamps }
            }
            Err(error) => {
                let found = about_file(&file.path.display().to_string(), UNREADABLE, error.to_string());
                Opened { read: (None, vec![found]), kept: None, stamps: Stamps::default() }
            }
        }
    };
    let common = spec.common.as_ref().filter(|_| known.iter().any(Option::is_none)).map(open);
    let unknown = spec.sites.iter().zip(&known).filter(|(_, known)| known.is_none());
    let drafts: Vec<Draft<'_>> = unknown
        .map(|(site, _)| {
            let own = site.file.as_ref().map(open);
            let kept = |part: &Option<Opened>| part.as_ref().and_then(|part| part.kept.clone());
            let texts = SiteTexts { common: kept(&common), own: kept(&own) };
            let mut stamps = Stamps::default();
            common.iter().chain(&own).for_each(|part| stamps.join(&part.stamps));
            let [common, own] = [&common, &own].map(|part| part.as_ref().map(|part| &part.read));
            Draft { stamps, ..Draft::new(&site.name, common, own, texts) }
        })
        .collect();
    // What was read is in the drafts: the memory is needed for what comes next.
    drop(common);
    let (overlays, ended, blocked) = match kept {
        Some(overlays) => (overlays, Vec::new(), Vec::new()),
        None => {
            let zones: Vec<&Zone> = drafts.iter().filter_map(|draft| draft.zone.as_ref()).collect();
            let settled = settle(&zones, &laid.overlays, laid.elsewhere);
            (settled.overlays, settled.ended, settled.blocked)
        }
    };
    let finish = |draft: Draft<'_>| draft.finish(shape, former, &overlays);
    let is_large = drafts.iter().filter_map(|draft| draft.zone.as_ref()).any(|zone| zone.len() >= LARGE);
    let read: Vec<SiteLoading> = if is_large && drafts.len() > 1 {
        thread::scope(|scope| {
            let threads: Vec<_> = drafts.into_iter().map(|draft| scope.spawn(move || finish(draft))).collect();
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            threads.into_iter().map(join).collect()
        })
    } else {
        drafts.into_iter().map(finish).collect()
    };
    let mut read = read.into_iter();
    let mut sites: Vec<SiteLoading> =
        known.iter_mut().filter_map(|known| known.take().or_else(|| read.next())).collect();
    share(sites.iter_mut().filter_map(|site| site.content.as_mut()), former);
    Loading { sites, overlays, ended, blocked }
}

/// Reads a site's kept texts, and lays over them what is to lie there. What says the same as in `former` is taken from there.
pub fn from_kept(
    origin: &Name,
    site: &str,
    texts: SiteTexts,
    shape: Shape,
    overlays: &Overlays,
    former: Option<&Content>,
) -> SiteLoading {
    let open = |kept: &Kept| {
        let mut sources = KeptSources(kept.clone());
        match sources.root() {
            Some(first) => read_one(origin, first, &mut sources),
            None => (None, vec![about_file(&kept.root, UNREADABLE, "the file was not kept".into())]),
        }
    };
    let (common, own) = (texts.common.as_ref().map(open), texts.own.as_ref().map(open));
    let draft = Draft::new(site, common.as_ref(), own.as_ref(), texts);
    drop((common, own));
    draft.finish(shape, former, overlays)
}

/// A file that was opened, and all that it includes.
struct Opened {
    read: Read,
    kept: Option<Kept>,
    stamps: Stamps,
}

/// One text: what it says if it has no errors, and all that was found in it.
type Read = (Option<ZoneText>, Vec<Diagnostic>);

fn read_one(origin: &Name, root: Source, sources: &mut dyn Sources) -> Read {
    let reading = in_small_pages(|| read(origin, root, sources));
    let diagnostics = reading.diagnostics.clone();
    (reading.into_text().ok(), diagnostics)
}

fn about_file(path: &str, id: &'static str, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        id,
        file: path.to_owned(),
        line: 0,
        column: 0,
        text: String::new(),
        message,
        advice: String::new(),
    }
}

/// A site whose texts were read and laid over each other, not yet checked.
struct Draft<'s> {
    site: &'s str,
    zone: Option<Zone>,
    diagnostics: Vec<Diagnostic>,
    texts: SiteTexts,
    stamps: Stamps,
}

impl<'s> Draft<'s> {
    fn new(site: &'s str, common: Option<&Read>, own: Option<&Read>, texts: SiteTexts) -> Draft<'s> {
        let mut diagnostics: Vec<Diagnostic> =
            common.iter().chain(&own).flat_map(|(_, diagnostics)| diagnostics.iter().cloned()).collect();
        let zone = match (common.map(text_of), own.map(text_of)) {
            // A text with an error is not served, not even in part.
            (Some(None), _) | (_, Some(None)) => None,
            (None, None) => {
                diagnostics.push(about_file(site, UNREADABLE, "no file is configured for this site".into()));
                None
            }
            (common, own) => in_small_pages(|| Zone::new(common.flatten(), own.flatten())),
        };
        Draft { site, zone, diagnostics, texts, stamps: Stamps::default() }
    }

    fn finish(mut self, shape: Shape, former: Option<&Content>, overlays: &Overlays) -> SiteLoading {
        let zone = self.zone.take();
        let content = zone.and_then(|zone| compile(self.site, zone, shape, former, overlays, &mut self.diagnostics));
        let Draft { diagnostics, texts, stamps, .. } = self;
        SiteLoading { name: self.site.to_owned(), content, diagnostics, texts, stamps }
    }
}

fn text_of(read: &Read) -> Option<&ZoneText> {
    read.0.as_ref()
}

fn compile(
    site: &str,
    mut zone: Zone,
    shape: Shape,
    former: Option<&Content>,
    overlays: &Overlays,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SiteContent> {
    let found = in_small_pages(|| check(&zone, &Limits::within(shape.max_ttl, shape.negative_ttl)));
    let wrong = found.iter().any(|finding| finding.severity == Severity::Error);
    diagnostics.extend(found);
    if wrong {
        return None;
    }
    in_small_pages(|| zone.settle());
    if let Some(over) = overlaid(&zone, overlays) {
        zone = over;
    }
    let same = former
        .into_iter()
        .flat_map(|former| &former.sites)
        .find(|known| known.name == site && known.snapshot.shape() == shape && known.zone.digest() == zone.digest());
    if let Some(same) = same {
        return Some(same.clone());
    }
    match Snapshot::compile(&zone, shape) {
        Ok(snapshot) => {
            let known = former.into_iter().flat_map(|former| &former.sites).find(|known| known.name == site);
            let known = known.and_then(|known| known.signatures.as_deref());
            let signatures = zone.is_signed().then(|| Arc::new(Signatures::of(&zone, known)));
            Some(SiteContent { name: site.to_owned(), zone: Arc::new(zone), snapshot: Arc::new(snapshot), signatures })
        }
        Err(error) => {
            let file = zone.files().first().cloned().unwrap_or_default();
            diagnostics.push(about_file(&file, "cannot-compile", error.to_string()));
            None
        }
    }
}

impl Loading {
    /// All errors.
    pub fn errors(&self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics();
        all.retain(|finding| finding.severity == Severity::Error);
        all
    }

    /// Whether every site can be served.
    pub fn is_good(&self) -> bool {
        self.sites.iter().all(|site| site.content.is_some())
    }

    /// All that was found, each finding once: sites share a text.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for finding in self.sites.iter().flat_map(|site| &site.diagnostics) {
            if seen.insert((finding.id, &finding.file, finding.line, finding.column, &finding.message)) {
                all.push(finding.clone());
            }
        }
        all
    }
}
