//! How many caches stand behind an address, by how many of them were met.

use super::{CacheCount, Reply, Series};

/// No more caches than this are told apart.
const MOST: u32 = 512;
/// With this probability or less, so few caches would have been met if there were so many.
const UNLIKELY: f64 = 0.05;

/// Counts the caches that were met in series of questions, each asked at once and held for longer than it took.
pub(super) fn count(series: &[Series]) -> Option<CacheCount> {
    let met: Vec<(u32, u32)> = series.iter().filter_map(met).collect();
    let least = met.iter().map(|(met, _)| *met).max()?;
    // Where every question met another cache there may be any number, or none that keeps anything.
    if met.iter().all(|(met, asked)| met == asked) {
        return Some(CacheCount { least, likely: least, most: None });
    }
    let expected = |caches: u32, asked: u32| {
        let caches = f64::from(caches);
        caches * (1.0 - (1.0 - 1.0 / caches).powi(asked as i32))
    };
    let off =
        |caches: u32| met.iter().map(|(met, asked)| (expected(caches, *asked) - f64::from(*met)).powi(2)).sum::<f64>();
    let likely = (least..=MOST).min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
    let is_likely =
        |caches: u32| met.iter().map(|(met, asked)| at_most(*met, caches, *asked)).product::<f64>() > UNLIKELY;
    let most = (likely..=MOST).take_while(|caches| is_likely(*caches)).last().unwrap_or(likely);
    Some(CacheCount { least, likely, most: (most < MOST).then_some(most) })
}

/// Whether so many questions put an answer into each cache, but by a rare accident.
pub(super) fn fill(caches: Option<CacheCount>, questions: u32) -> bool {
    let Some(CacheCount { likely, most: Some(_), .. }) = caches else { return false };
    let caches = f64::from(likely);
    caches * (1.0 - 1.0 / caches).powi(questions as i32) <= 2.0 * UNLIKELY
}

/// How many caches were met by how many questions of a series; none if it showed nothing.
fn met(series: &Series) -> Option<(u32, u32)> {
    let mut given: Vec<i64> = Vec::new();
    let mut asked = 0;
    for ask in &series.asks {
        if let Reply::Data { version: 1, given: at, .. } = ask.reply {
            given.push(at.0);
            asked += 1;
        }
    }
    given.sort_unstable();
    given.dedup();
    (asked > 1).then_some((given.len() as u32, asked))
}

/// The probability that so many questions, each to one of so many caches by chance, meet at most so many different ones.
fn at_most(met: u32, caches: u32, asked: u32) -> f64 {
    // How likely each number of caches met is, after one more question each time.
    let mut chances = vec![0.0; met as usize + 2];
    chances[0] = 1.0;
    for _ in 0..asked {
        for known in (0..chances.len()).rev() {
            let again = chances[known] * known as f64 / f64::from(caches);
            let new = if known == 0 {
                0.0
            } else {
                chances[known - 1] * (1.0 - (known - 1) as f64 / f64::from(caches)).max(0.0)
            };
            chances[known] = again + new;
        }
    }
    chances[..=met as usize].iter().sum()
}
