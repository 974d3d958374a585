//! stub
use super::Driver;
use crate::name::{Name, NameRef};
use crate::rename::{Overlays, Turn};
use crate::serving::content::Content;

impl Driver {
    /// What is to lie over the texts of a zone: its renames, and where references to levers of other zones turn.
    pub(super) fn laid_over(&self, origin: &Name, former: Option<&Content>) -> Overlays {
        let own = former.map(|former| former.overlays.clone());
        let own =
            own.unwrap_or_else(|| self.published.get(origin).map(super::publish::Last::overlays).unwrap_or_default());
        let others = self.serving.zones().iter().filter(|zone| zone.content.origin != *origin);
        let turns: Vec<Turn> = others.flat_map(|zone| zone.content.overlays.own_turns()).collect();
        Overlays { turns, ..own }
    }

    /// Whether texts of other zones lead to a lever of this one.
    pub(super) fn is_led_to_from_elsewhere(&self, origin: &Name, lever: NameRef<'_>) -> bool {
        let mut others = self.serving.zones().iter().filter(|zone| zone.content.origin != *origin);
        others.any(|zone| zone.content.overlays.turns.iter().any(|turn| turn.lever.as_ref() == lever))
    }
}
