//! The rename: a lever's records under a fresh name beside it, and what refers to the lever led there.
//!
//! A **front** is a name that users hold, a **lever** the name in a zone of ours that it leads to. Where caches hold on to what
//! they were told of a lever, nobody has ever asked for a fresh name: as soon as fronts lead there, users arrive. A rename
//! lies over what the texts say (text → reader → check → overlays → compile), so that it follows their edits.

pub mod apply;
pub mod fold;
pub mod fresh;
pub mod levers;
pub mod refer;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::{Name, NameRef};
use crate::time::Timestamp;

/// More renames than this do not lie over one zone.
pub const MOST: usize = 64;

/// A lever under a fresh name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The lever, as the texts have it.
    pub lever: Name,
    /// The name beside it that has its records, too.
    pub fresh: Name,
    /// The number in the fresh name: none is given twice in a zone.
    pub number: u32,
    /// How far it has come.
    pub stage: Stage,
    /// Whether it is kept ready, and no reference turns until an operator wants it.
    #[serde(default)]
    pub spare: bool,
    /// Whether all that is below the lever comes along, as a DNAME leads there; else only names of ports and services do.
    #[serde(default)]
    pub whole: bool,
    /// Findings that an operator saw and that shall not stop its next steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// When what refers to the lever was led to the fresh name; none if that is not known, or was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned: Option<Timestamp>,
}

/// How far a rename has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The fresh name is published; not every name server of the zone is known to have it.
    Staged,
    /// Every name server of the zone was seen to give it.
    Confirmed,
    /// What refers to the lever leads to the fresh name.
    Referenced,
    /// References have turned back; caches may still lead to the fresh name, so it stays.
    Returned,
    /// The old lever is not answered any more.
    Retired,
}

impl Stage {
    /// Whether what refers to the lever leads to the fresh name.
    pub fn is_referenced(self) -> bool {
        matches!(self, Stage::Referenced | Stage::Retired)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Staged => "staged",
            Stage::Confirmed => "confirmed",
            Stage::Referenced => "referenced",
            Stage::Returned => "returned",
            Stage::Retired => "retired",
        })
    }
}

/// From a name to the one that what refers to it leads to instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The name in the texts.
    pub lever: Name,
    /// Where it leads instead.
    pub fresh: Name,
    /// Whether DNAMEs turn, too: all that is below the lever stands below the fresh name.
    #[serde(default)]
    pub whole: bool,
}

/// All that lies over the texts of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlays {
    /// The renames of levers in the zone, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renames: Vec<Rename>,
    /// Where references of this zone turn that lead to levers in other zones of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// The greatest number that was ever in a fresh name of this zone.
    #[serde(default)]
    pub last: u32,
}

impl Overlays {
    /// Whether what the texts say is what is answered.
    pub fn is_empty(&self) -> bool {
        self.renames.is_empty() && self.turns.is_empty()
    }

    /// Where references to levers of this zone turn: for each lever to the latest of its fresh names that is referred to.
    pub fn own_turns(&self) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for rename in self.renames.iter().filter(|rename| rename.stage.is_referenced()) {
            let Rename { lever, fresh, whole, .. } = rename.clone();
            turns.retain(|turn| turn.lever != lever);
            turns.push(Turn { lever, fresh, whole });
        }
        turns
    }

    /// The rename of this fresh name.
    pub fn get(&self, fresh: NameRef<'_>) -> Option<&Rename> {
        self.renames.iter().find(|rename| rename.fresh.as_ref() == fresh)
    }

    /// The renames of a lever, oldest first.
    pub fn of(&self, lever: NameRef<'_>) -> impl DoubleEndedIterator<Item = &Rename> {
        let lever = lever.to_name();
        self.renames.iter().filter(move |rename| rename.lever == lever)
    }

    /// The same with one more rename.
    pub fn with(&self, rename: Rename) -> Overlays {
        let mut next = self.clone();
        next.last = next.last.max(rename.number);
        next.renames.push(rename);
        next
    }

    /// The same with the rename of a fresh name at another stage.
    pub fn at(&self, fresh: NameRef<'_>, stage: Stage) -> Overlays {
        let mut next = self.clone();
        for rename in next.renames.iter_mut().filter(|rename| rename.fresh.as_ref() == fresh) {
            rename.stage = stage;
            // What is referred to is no spare.
            rename.spare &= !stage.is_referenced();
        }
        next
    }

    /// The same with all that refers to a lever led to its fresh name at a time.
    pub fn turned(&self, fresh: NameRef<'_>, now: Timestamp) -> Overlays {
        let mut next = self.at(fresh, Stage::Referenced);
        for rename in next.renames.iter_mut().filter(|rename| rename.fresh.as_ref() == fresh) {
            rename.turned = Some(now);
        }
        next
    }

    /// The same without the rename of a fresh name; its number is not given again.
    pub fn without(&self, fresh: NameRef<'_>) -> Overlays {
        let mut next = self.clone();
        next.renames.retain(|rename| rename.fresh.as_ref() != fresh);
        next
    }
}
