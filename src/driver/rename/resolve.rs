//! From the name that an operator types to the lever that is meant.

use super::Impossible;
use crate::driver::Driver;
use crate::name::{Name, NameRef};
use crate::rename::levers::{Front, fronts};
use crate::rename::refer::refers;
use crate::rr::RrType;
use crate::serving::content::Content;

impl Driver {
    /// The fronts of a zone.
    pub fn fronts(&self, content: &Content) -> Vec<Front> {
        let sites: Vec<_> = content.sites.iter().map(|site| &*site.zone).collect();
        let found = fronts(&sites, |target| self.is_ours(target));
        // Nobody holds what is kept ready, was led back from, or is led past: users hold what leads there.
        let is_none = |name: NameRef<'_>| {
            let mut renames = content.overlays.renames.iter();
            renames.any(|rename| name.is_at_or_below(rename.fresh.as_ref()) || name == rename.lever.as_ref())
        };
        found.into_iter().filter(|front| !is_none(front.name.as_ref())).collect()
    }

    /// The lever that a name means: itself, if something leads to it; that which it was renamed from; or the only one that it
    /// leads to.
    pub(super) fn lever_of(&self, content: &Content, name: &Name) -> Result<Name, Impossible> {
        let no_lever = |why: String| Impossible::NoLever { name: name.clone(), why };
        if !name.as_ref().is_at_or_below(content.origin.as_ref()) {
            return Err(no_lever(format!("it is not in the zone {}", content.origin)));
        }
        let of_texts = |lever: Name| match content.overlays.get(lever.as_ref()) {
            Some(rename) => rename.lever.clone(),
            None => lever,
        };
        if let Some(rename) = content.overlays.get(name.as_ref()) {
            return Ok(rename.lever.clone());
        }
        if self.is_lever(content, name) {
            return Ok(name.clone());
        }
        let front = self.fronts(content).into_iter().find(|front| front.name == *name);
        let Some(front) = front else {
            let why = "nothing in a zone of ours leads to it, and it leads to nothing here".to_owned();
            return Err(no_lever(why));
        };
        let mut levers: Vec<Name> = front.levers.iter().map(|(_, lever)| of_texts(lever.clone())).collect();
        levers.sort();
        levers.dedup();
        match levers.as_slice() {
            [] => Err(no_lever(front.advice())),
            [lever] if !lever.as_ref().is_at_or_below(content.origin.as_ref()) => {
                let zone = lever.as_ref().ancestors().find_map(|origin| self.serving.zone(origin));
                let zone = zone.map_or_else(String::new, |zone| zone.content.origin.to_string());
                Err(no_lever(format!("its lever is in another zone: understudy rename {zone} {lever}")))
            }
            [lever] if self.is_lever(content, lever) => Ok(lever.clone()),
            [lever] => Err(no_lever(format!("it leads to {lever}, which has no records of its own in the zone"))),
            several => {
                let levers = several.iter().map(ToString::to_string).collect();
                Err(Impossible::Several { name: name.clone(), levers })
            }
        }
    }

    /// Whether a name has records of its own, and something in a zone of ours leads to it, or did before it was renamed.
    fn is_lever(&self, content: &Content, name: &Name) -> bool {
        let owners = content.sites.iter().filter_map(|site| site.zone.owner(name.as_ref()));
        let mut owners = owners.filter(|owner| owner.rrset(RrType::NS).is_none());
        let is_renamed = content.overlays.of(name.as_ref()).next().is_some();
        let mut zones = self.serving.zones().iter().flat_map(|zone| zone.content.sites.iter());
        *name != content.origin
            && (is_renamed || owners.next().is_some() && zones.any(|site| refers(&site.zone, name.as_ref())))
    }

    /// Whether a name is in a zone that is served here, and not delegated from it.
    fn is_ours(&self, name: NameRef<'_>) -> bool {
        let Some(zone) = name.ancestors().find_map(|origin| self.serving.zone(origin)) else { return false };
        let origin = zone.content.origin.as_ref();
        let below = || name.ancestors().take_while(|above| above.is_below(origin));
        !zone.content.sites.iter().any(|site| below().any(|above| site.zone.rrset(above, RrType::NS).is_some()))
    }
}
