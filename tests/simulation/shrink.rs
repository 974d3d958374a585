//! A case that fails, told so that it can be seen again, and with no more in it than it takes.

use understudy::store::journal::MemoryJournal;

use crate::case::Case;
use crate::run::{Summary, Violation, run};
use crate::wrong::Without;

/// Runs a case with a journal in memory.
pub fn play(case: &Case, without: Option<Without>) -> Result<Summary, Violation> {
    run(case, MemoryJournal::default(), without)
}

/// The parts of a case that it takes to fail: each of them is needed.
pub fn shrink(case: &Case, without: Option<Without>) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..case.parts()).collect();
    loop {
        let before = kept.len();
        for part in kept.clone() {
            let fewer: Vec<usize> = kept.iter().copied().filter(|other| *other != part).collect();
            if play(&case.only(|part| fewer.contains(&part)), without).is_err() {
                kept = fewer;
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}

/// All that there is to say of a seed that fails: why, what happens, and the command that shows it again.
pub fn tell(seed: u64, without: Option<Without>) -> String {
    let case = Case::of(seed);
    let kept = shrink(&case, without);
    let parts: Vec<String> = kept.iter().map(usize::to_string).collect();
    let case = case.only(|part| kept.contains(&part));
    let Err(Violation { what, trace }) = play(&case, without) else { return format!("seed {seed} holds") };
    let weakened = without.map(|without| format!(" UNDERSTUDY_WITHOUT={without:?}")).unwrap_or_default();
    format!(
        "seed {seed}: {what}\n\n{case}\n{}\n\nTo see it again:\n  \
         UNDERSTUDY_SEED={seed} UNDERSTUDY_PARTS={}{weakened} cargo test --test simulation one_seed -- --nocapture\n",
        trace.join("\n"),
        parts.join(","),
    )
}
