//! The order in which a resolver is asked for canaries, so that what it keeps and its habits come out.

use std::time::Duration;

use super::pace::Stopped;
use super::prober::Progress;
use super::series::{HoldOrder, Subject};
use crate::canary::Content;
use crate::observation::{Kind, Measured, Observations, Reply, Series};
use crate::time::Ttl;

/// How often everything is done: three times it has to be seen to be believed.
const REPEATS: u32 = 3;
/// How many questions count the caches behind an address, at first and where there are many.
const COUNTING: [u32; 2] = [24, 96];
/// From how many caches on they are counted once more.
const MANY: u32 = 5;
/// For how many caches those are taken that could not be counted.
const SOME: u32 = 2;
/// The most questions that put an answer into all caches.
const MOST_FILLS: u32 = 64;
/// With this probability or less there is still a cache that was not met. It is small because it is asked so often: each
/// new answer may begin a row.
const UNMET: f64 = 0.0005;
/// How long behind the end of a hold is late.
const LATE: Duration = Duration::from_secs(2);
/// What is said of a resolver that gave nothing at all.
const SILENT: &str = "does not answer";
/// How often the canary zone has to be out of reach before it is said so.
const ATTEMPTS: u32 = 3;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The TTLs, by size.
    pub ttls: Vec<Ttl>,
    /// How long an answer is watched for at most; what is held for longer is held for at least so long.
    pub watch: Duration,
}

/// Why a resolver could not be measured, or not in whole.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    /// Asking was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It gave nothing at all.
    #[error("no answer from {0}: is it up, and does it answer this host?")]
    Silent(String),
    /// It did not give what the canaries' server has.
    #[error("it does not reach the canary zone: asked for a canary, it {0}")]
    OutOfReach(&'static str),
}

/// Measures a resolver.
pub(super) async fn calibrate(
    subject: &Subject<'_>,
    plan: &Plan,
    progress: &Progress<'_>,
) -> Result<Measured, Unmeasured> {
    let mut seen = Observations::default();
    let (Some(&least), Some(&greatest)) = (plan.ttls.iter().min(), plan.ttls.iter().max()) else {
        return Ok(seen.measure());
    };
    let of = plan.ttls.len() as u32 * 3 * REPEATS + REPEATS + REPEATS * 2;
    progress.begin("counting caches", of);
    reach(subject, greatest).await?;
    count(subject, greatest, &mut seen).await?;
    // Of more than can be counted, or of none, some are asked; nothing is said of how long they keep what at most.
    let caches = seen.measure().caches;
    let caches = caches.map_or(1, |caches| if caches.most.is_some() { caches.likely } else { SOME });
    let fills = fills(caches).min(most_fills(subject, least));
    small(subject, greatest, fills, &mut seen).await?;

    progress.say(&format!("waiting until answers with TTLs up to {greatest} s are let go of"));
    let usual =
        HoldOrder { before: Content::Data, ttl: least, fills, news: news(caches), phase: 0.0, watch: plan.watch };
    let kinds = [Content::Data, Content::NoName, Content::NoData];
    seen.holds = holds(subject, orders(&kinds, &plan.ttls, usual), progress).await?;

    // Failures, and silence above all, are remembered of a server: they come last.
    progress.say("waiting until failures are forgotten, and for stale answers");
    let end = |seen: &Observations| seen.measure().end_of_hold(Kind::Positive, least);
    let age = end(&seen).map(|end| end + LATE);
    let cold = async {
        let Some(age) = age else { return Ok(Vec::new()) };
        late(subject, Content::Data, least, fills, age, progress).await
    };
    let failures = holds(subject, orders(&[Content::Failure], &[least], usual), progress);
    let (cold, failures) = tokio::join!(cold, failures);
    seen.cold = cold?;
    seen.holds.extend(failures?);
    if let Some(age) = age {
        progress.say("waiting for what it answers while a server is silent");
        seen.failing = late(subject, Content::Silence, least, fills, age, progress).await?;
    }
    Ok(seen.measure())
}

/// Sees that the resolver gives what the canaries' server has.
async fn reach(subject: &Subject<'_>, ttl: Ttl) -> Result<(), Unmeasured> {
    let mut why = "was not asked";
    for _ in 0..ATTEMPTS {
        let series = subject.burst(Content::Data, ttl, 1).await?;
        why = match series.asks.first().map(|ask| ask.reply) {
            Some(Reply::Data { .. }) => return Ok(()),
            Some(Reply::NoName(_)) => "says there is no such name (is the zone delegated to this server?)",
            Some(Reply::NoData(_)) => "says there is no such data",
            Some(Reply::Failure) => "fails (SERVFAIL)",
            Some(Reply::Refused) => "refuses",
            Some(Reply::Other) => "gives something else",
            Some(Reply::Nothing) | None => SILENT,
        };
    }
    if why == SILENT {
        let addresses: Vec<String> = subject.addresses.iter().map(ToString::to_string).collect();
        return Err(Unmeasured::Silent(format!("{} by {}", addresses.join(" and "), subject.carrier)));
    }
    Err(Unmeasured::OutOfReach(why))
}

async fn count(subject: &Subject<'_>, ttl: Ttl, seen: &mut Observations) -> Result<(), Stopped> {
    let [few, many] = COUNTING;
    // Held for as long as the questions take.
    let ttl = |questions| ttl.max(Ttl::new(subject.span(questions).as_secs() as u32 + 1).unwrap_or(Ttl::MAX));
    seen.counts.push(subject.burst(Content::Data, ttl(few), few).await?);
    if seen.measure().caches.is_some_and(|caches| caches.likely > MANY) {
        seen.counts.push(subject.burst(Content::Data, ttl(many), many).await?);
    }
    Ok(())
}

/// What takes a few questions only.
async fn small(subject: &Subject<'_>, ttl: Ttl, fills: u32, seen: &mut Observations) -> Result<(), Stopped> {
    for _ in 0..REPEATS {
        seen.below.push(subject.below(ttl, fills).await?);
        seen.streams.push(subject.burst(Content::Stream, ttl, 1).await?);
    }
    seen.over_tcp = Some(subject.over_tcp(ttl).await?);
    Ok(())
}

/// Each kind with each TTL, again and again, every time at another phase.
fn orders(kinds: &[Content], ttls: &[Ttl], usual: HoldOrder) -> Vec<HoldOrder> {
    let mut orders = Vec::new();
    for &before in kinds {
        for &ttl in ttls {
            let phase = |repeat| f64::from(repeat) / f64::from(REPEATS);
            orders.extend((0..REPEATS).map(|repeat| HoldOrder { before, ttl, phase: phase(repeat), ..usual }));
        }
    }
    orders
}

/// Measures holds, all at once as far as the pace allows.
async fn holds(subject: &Subject<'_>, orders: Vec<HoldOrder>, progress: &Progress<'_>) -> Result<Vec<Series>, Stopped> {
    let one = |order: HoldOrder| async move {
        let series = subject.hold(&order).await;
        progress.step();
        series
    };
    all(orders.into_iter().map(one)).await
}

async fn late(
    subject: &Subject<'_>,
    after: Content,
    ttl: Ttl,
    fills: u32,
    age: Duration,
    progress: &Progress<'_>,
) -> Result<Vec<Series>, Stopped> {
    let one = |_| async move {
        let series = subject.late(after, ttl, fills, age).await;
        progress.step();
        series
    };
    all((0..REPEATS).map(one)).await
}

/// Waits for all of them, side by side; the first failure is the failure of all.
async fn all<T, E>(futures: impl Iterator<Item = impl Future<Output = Result<T, E>>>) -> Result<Vec<T>, E> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut waits = false;
        for (future, done) in &mut pending {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(result) => *done = Some(result),
                    std::task::Poll::Pending => waits = true,
                }
            }
        }
        let failed = pending.iter().any(|(_, done)| matches!(done, Some(Err(_))));
        if waits && !failed { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    pending.into_iter().filter_map(|(_, done)| done).collect()
}

/// How many questions put an answer into each of so many caches.
fn fills(caches: u32) -> u32 {
    if caches <= 1 {
        return 2;
    }
    let caches = f64::from(caches);
    ((caches * (caches.ln() + 3.0)).ceil() as u32).min(MOST_FILLS)
}

/// How many questions there is time for while answers with this TTL are fresh.
fn most_fills(subject: &Subject<'_>, ttl: Ttl) -> u32 {
    ((ttl.duration().as_secs_f64() / 2.0 / subject.pace.gap().as_secs_f64()) as u32).max(2)
}

/// How many new answers in a row say that none of so many caches has the old one.
fn news(caches: u32) -> u32 {
    if caches <= 1 {
        return 2;
    }
    (UNMET.ln() / (1.0 - 1.0 / f64::from(caches)).ln()).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_asked_to_meet_every_cache() {
        assert_eq!([1, 3, 1000].map(fills), [2, 13, 64]);
        assert_eq!([1, 2, 3].map(news), [2, 11, 19]);
    }
}
