//! Who was told what, and until when it may be kept.
//!
//! Every answer is a [`note::Note`]. Notes are folded into two tables: **points** (`points`), one for each rule of a zone's edition,
//! type and region, which know when somebody was told last; and **told networks** (`networks`), one entry for each point and
//! client network. Both are bounded in memory. When there is no more room, networks are counted together by shorter prefixes,
//! and rules of a zone together as one: what is known gets coarser, and a [`bound::Bound`] later. No answer is left out.

pub mod bound;
pub mod count;
pub mod kept;
pub mod known;
pub mod networks;
pub mod note;
pub mod points;
pub mod weights;

mod fold;
pub mod levers;
#[cfg(test)]
mod tests;

pub use fold::{EditionInfo, Exposures, Limits, TOGETHER};
