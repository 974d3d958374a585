//! Sites that can carry so much: what is too much fails, and clients try it again.
//!
//! Who fails is a matter of chance among all that come in a second, those that come again among them. That is how a site stays
//! overloaded once it is: what fails comes on top of what is new.

/// How clients try again what has failed: behind a pause, which doubles each time, and by chance up to half of it sooner or later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// The pause before the first time, in seconds.
    pub pause: f64,
    /// How often a client tries again before it gives up.
    pub times: u32,
}

/// What came to a site in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// What came for the first time.
    pub fresh: f64,
    /// What came again.
    pub again: f64,
    /// What failed of both.
    pub failed: f64,
    /// What was given up: it had failed too often.
    pub lost: f64,
}

/// The most times that anything is tried again; a client that never gives up comes near it.
pub const MOST_TIMES: u32 = 20;
/// No pause grows longer than this, in seconds.
const LONGEST_PAUSE: f64 = 300.0;
/// Less than this is nobody.
const NOBODY: f64 = 1e-9;

impl Second {
    /// All that came.
    pub fn offered(&self) -> f64 {
        self.fresh + self.again
    }
}

/// What becomes of what comes for the first time in each second, at a site that carries `capacity` a second.
pub fn carried(fresh: &[f64], capacity: f64, retry: &Retry) -> Vec<Second> {
    let times = retry.times.min(MOST_TIMES) as usize;
    // What will come in each second, by how often it has failed.
    let mut due = vec![vec![0.0; times + 1]; fresh.len()];
    let mut seconds = Vec::with_capacity(fresh.len());
    for (now, &fresh) in fresh.iter().enumerate() {
        let mut coming = std::mem::take(&mut due[now]);
        let again: f64 = coming.iter().sum();
        coming[0] += fresh;
        let mut second = Second { fresh, again, ..Second::default() };
        let over = second.offered() - capacity.max(0.0);
        let part = if over > NOBODY { (over / second.offered()).min(1.0) } else { 0.0 };
        for (failures, count) in coming.into_iter().enumerate().filter(|(_, count)| *count > NOBODY) {
            let failed = count * part;
            second.failed += failed;
            if failures == times {
                second.lost += failed;
            } else {
                come_again(&mut due, now, failed, failures, retry.pause);
            }
        }
        seconds.push(second);
    }
    seconds
}

/// Spreads what has failed so often over the seconds in which it comes again.
fn come_again(due: &mut [Vec<f64>], now: usize, failed: f64, failures: usize, pause: f64) {
    let pause = (pause.max(0.0) * 2f64.powi(failures as i32)).min(LONGEST_PAUSE);
    let [first, last] = [0.5, 1.5].map(|part| now + (pause * part).round().max(1.0) as usize);
    let part = failed / (last - first + 1) as f64;
    for second in due.iter_mut().take(last + 1).skip(first) {
        second[failures + 1] += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Retry = Retry { pause: 1.0, times: 3 };

    #[test]
    fn what_a_site_can_carry_does_not_fail() {
        for second in carried(&[99.0, 100.0, 0.0, 50.0], 100.0, &RETRY) {
            assert_eq!((second.again, second.failed, second.lost), (0.0, 0.0, 0.0));
        }
    }

    #[test]
    fn what_fails_comes_on_top_of_what_is_new() {
        let seconds = carried(&[200.0; 300], 100.0, &RETRY);
        assert!((seconds[0].failed - 100.0).abs() < 1e-6);
        // In the end each request is tried four times or succeeds: the more come, the more fail.
        let last = seconds.last().unwrap();
        assert!(last.again > 200.0 && last.offered() > 400.0, "{last:?}");
        assert!((last.offered() - last.failed - 100.0).abs() < 1e-6, "it still carries what it can");
        assert!((last.lost - 100.0).abs() < 2.0, "what is not carried is given up: {last:?}");
        // Of clients that do not try again, no more come.
        let patient = carried(&[200.0; 300], 100.0, &Retry { times: 0, ..RETRY });
        assert_eq!((patient[299].again, patient[299].lost), (0.0, 100.0));
    }

    #[test]
    fn nothing_gets_lost_on_the_way() {
        // A rush, and then silence until the last one has come again.
        let mut fresh = vec![500.0; 20];
        fresh.resize(400, 0.0);
        let seconds = carried(&fresh, 300.0, &RETRY);
        let sum = |of: fn(&Second) -> f64| seconds.iter().map(of).sum::<f64>();
        let served = sum(|second| second.offered() - second.failed);
        assert!((served + sum(|second| second.lost) - 10_000.0).abs() < 1e-3, "{served}");
        assert!(served > 6000.0, "what came again found room: {served}");
        assert_eq!(seconds[399], Second::default());
    }

    #[test]
    fn odd_numbers_are_no_trouble() {
        for (capacity, pause, times) in [(0.0, 0.0, 0), (-1.0, 1e9, 1000), (f64::INFINITY, -1.0, 3)] {
            let seconds = carried(&[10.0; 50], capacity, &Retry { pause, times });
            assert!(seconds.iter().all(|second| second.failed.is_finite() && second.failed <= second.offered() + 1e-9));
        }
        assert!(carried(&[], 1.0, &RETRY).is_empty());
    }
}
