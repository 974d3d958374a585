//! For how long users go on being denied a name that is answered again: who was told that there is none, keeps that.
//!
//! It is the same law as that of any drain: the negative answer is the old one, and the repair is the step. Caches are taken for
//! filled at no time in particular and asked without a pause, as those of names are that many use: which is the longest.

use std::sync::Arc;
use std::time::Duration;

use super::{Course, Demand, Holder, Outlook, Step, Told, forecast};
use crate::profile::{Kind, Population, Profile};
use crate::rr::RrType;
use crate::share::Share;
use crate::time::{Timestamp, Ttl};

/// Who may have been told that there is no such name.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied<'a> {
    /// The TTL that it was told with.
    pub ttl: Ttl,
    /// What is taken for granted of those that were not measured.
    pub population: &'a Population,
    /// Those that were measured, each with its part of the demand, from 0 to 1.
    pub measured: Vec<(f64, Arc<Profile>)>,
}

/// For how long they go on saying so.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Darkness {
    /// The TTL that it was told with.
    pub ttl: Ttl,
    /// The share of users that are answered again, so long behind the repair; none if there is nobody.
    pub course: Option<Course>,
    /// How long it is kept by which share of the caches, the shortest first; what is kept no longer than the TTL, together.
    pub holds: Vec<Hold>,
}

/// How long a share of the caches keeps it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Hold {
    /// So many seconds behind the repair at most.
    pub seconds: u64,
    /// The share, from 0 to 1.
    pub share: f64,
    /// Whether it is given to the first who asks behind that, however late.
    pub stale: bool,
}

impl Denied<'_> {
    /// What follows for a repair, whenever it comes.
    pub fn darkness(&self) -> Darkness {
        let repair = Timestamp(0);
        let steps = [Step { at: repair, share: Share::ALL }];
        let rest = 1.0 - self.measured.iter().map(|(part, _)| part).sum::<f64>();
        let known = self.measured.iter().map(|(part, profile)| (*part, Some(Arc::clone(profile))));
        let holder = |(weight, profile)| Holder {
            family: RrType::A,
            weight,
            demand: Demand::Unknown,
            told: Told::Unknown,
            ttl: self.ttl,
            kind: Kind::Negative,
            profile,
            moves: Some(repair),
        };
        let holders: Vec<Holder> = known.chain([(rest.max(0.0), None)]).map(holder).collect();
        let outlook = Outlook {
            holders: &holders,
            population: self.population,
            steps: &steps,
            known_until: repair,
            bound: Some(repair.after(self.ttl.duration())),
        };
        let course = forecast(&outlook).courses.into_iter().next();
        Darkness { ttl: self.ttl, course, holds: self.holds(rest.max(0.0)) }
    }

    fn holds(&self, rest: f64) -> Vec<Hold> {
        let all = self.population.weight();
        let class = |class: &'_ crate::profile::Class| (rest * class.counted() / all, class.profile.clone());
        let assumed: Vec<(f64, Profile)> = match all > 0.0 && all.is_finite() {
            true => self.population.classes.iter().map(class).collect(),
            false => vec![(rest, Profile::exact())],
        };
        let measured = self.measured.iter().map(|(part, profile)| (*part, (**profile).clone()));
        let mut holds: Vec<Hold> = Vec::new();
        for (share, profile) in assumed.into_iter().chain(measured).filter(|(share, _)| *share > 0.0) {
            let hold = profile.hold(self.ttl, Kind::Negative);
            // As good as exactly: what is rounded up to the next second, and what is fetched again before its end.
            let lasts = hold.refreshed.max(self.ttl.duration());
            let seconds = lasts.saturating_sub(Duration::from_millis(1)).as_secs() + 1;
            let seconds =
                if seconds <= u64::from(self.ttl.seconds()) + 1 { self.ttl.seconds().into() } else { seconds };
            let stale = hold.dropped.is_none();
            match holds.iter_mut().find(|known| (known.seconds, known.stale) == (seconds, stale)) {
                Some(known) => known.share += share,
                None => holds.push(Hold { seconds, share, stale }),
            }
        }
        holds.sort_by_key(|hold| (hold.stale, hold.seconds));
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Applications, Keeping};

    fn denied(ttl: u32, measured: Vec<(f64, Arc<Profile>)>, population: &Population) -> Darkness {
        Denied { ttl: Ttl::new(ttl).unwrap(), population, measured }.darkness()
    }

    #[test]
    fn who_keeps_ttls_is_back_with_the_negative_ttl() {
        let exact = Population { applications: None, ..Population::proposed().with_violators(0.0) };
        let dark = denied(3600, Vec::new(), &exact);
        assert_eq!(dark.holds, [Hold { seconds: 3600, share: 1.0, stale: false }]);
        let course = dark.course.unwrap();
        assert!((course.quantiles.half.unwrap() - 1800.0).abs() < 5.0, "{course:?}");
        assert!(course.new_at(Duration::from_secs(3600)) > 0.999 && course.old_at_bound.unwrap() < 1e-3);
    }

    #[test]
    fn who_keeps_negative_answers_for_longer_is_told_by_quantile() {
        let dark = denied(600, Vec::new(), &Population { applications: None, ..Population::proposed() });
        let longer: Vec<(u64, f64)> =
            dark.holds.iter().skip(1).filter(|hold| !hold.stale).map(|hold| (hold.seconds, hold.share)).collect();
        // Floors of 15 minutes; floors of an hour, and those of negative answers alone; three hours.
        let wanted = [(900, 0.014), (3600, 0.007 + 0.003), (10_800, 0.003)];
        assert_eq!(longer.len(), wanted.len(), "{:?}", dark.holds);
        for (found, wanted) in longer.iter().zip(wanted) {
            assert!(found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-9, "{found:?} {wanted:?}");
        }
        assert!((dark.holds.iter().map(|hold| hold.share).sum::<f64>() - 1.0).abs() < 1e-9);
        let course = dark.course.unwrap();
        // 99 % only once most of those are done with it, too.
        assert!(course.quantiles.ninety_nine.unwrap() > 600.0, "{course:?}");
        assert!((course.old_at_bound.unwrap() - 0.014).abs() < 0.006, "{course:?}");
    }

    #[test]
    fn what_was_measured_counts_in_place_of_what_is_assumed() {
        let exact = Population { applications: None, ..Population::proposed().with_violators(0.0) };
        let negative = Keeping { floor: Ttl::new(7200), ..Keeping::default() };
        let campus = Arc::new(Profile { negative, ..Profile::exact() });
        let dark = denied(60, vec![(0.25, campus)], &exact);
        let found: Vec<(u64, f64)> = dark.holds.iter().map(|hold| (hold.seconds, hold.share)).collect();
        assert_eq!(found, [(60, 0.75), (7200, 0.25)]);
        let course = dark.course.unwrap();
        assert!((course.new_at(Duration::from_secs(60)) - 0.75).abs() < 0.01, "{course:?}");
        assert!((course.quantiles.ninety_nine.unwrap() - 6912.0).abs() < 60.0, "{course:?}");
    }

    #[test]
    fn odd_input_is_no_trouble() {
        let nobody = Population { classes: Vec::new(), applications: Some(Applications::default()) };
        for ttl in [0, 1, u32::MAX >> 1] {
            let dark =
                denied(ttl, vec![(2.0, Arc::new(Profile::exact())), (f64::NAN, Arc::new(Profile::exact()))], &nobody);
            assert!(dark.holds.iter().all(|hold| hold.share.is_finite()), "{dark:?}");
        }
    }
}
