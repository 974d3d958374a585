//! A stretch of every day, by UTC.

use std::fmt;
use std::str::FromStr;

use crate::time::Timestamp;

/// Minutes of a day, and milliseconds of a minute.
const DAY: u16 = 24 * 60;
const MINUTE: i64 = 60_000;

/// A stretch of every day, by UTC: `02:00-05:00`. One that ends before it begins goes over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The minute of the day that it begins with.
    from: u16,
    /// How many minutes it has: from 1 to a whole day.
    length: u16,
}

impl Window {
    /// The first moment from `at` on that is within it.
    pub fn next(self, at: Timestamp) -> Timestamp {
        let day = i64::from(DAY) * MINUTE;
        let since = at.0.saturating_sub(i64::from(self.from) * MINUTE).rem_euclid(day);
        if since < i64::from(self.length) * MINUTE { at } else { Timestamp(at.0.saturating_add(day - since)) }
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let wrong = || format!("`{text}` is no stretch of the day such as 02:00-05:00");
        let minute = |text: &str| {
            let (hour, minute) = text.split_once(':')?;
            let number = |text: &str, below: u16| {
                let is_number = text.len() == 2 && text.bytes().all(|octet| octet.is_ascii_digit());
                text.parse::<u16>().ok().filter(|number| is_number && *number < below)
            };
            let of_day = number(hour, 25)? * 60 + number(minute, 60)?;
            (of_day <= DAY).then_some(of_day)
        };
        let (from, until) = text.split_once('-').ok_or_else(wrong)?;
        let (from, until) = minute(from).zip(minute(until)).ok_or_else(wrong)?;
        match (until + DAY - from) % DAY {
            0 if until == from => Err(format!("`{text}` has no length; the whole day is 00:00-24:00")),
            0 => Ok(Window { from: from % DAY, length: DAY }),
            length => Ok(Window { from: from % DAY, length }),
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = self.from + self.length;
        let until = if until > DAY { until - DAY } else { until };
        write!(f, "{:02}:{:02}-{:02}:{:02}", self.from / 60, self.from % 60, until / 60, until % 60)
    }
}

impl serde::Serialize for Window {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time on a day in 2010.
    fn at(hour: i64, minute: i64) -> Timestamp {
        Timestamp((1_269_388_800 + hour * 3600 + minute * 60) * 1000)
    }

    #[test]
    fn the_next_moment_within_a_window_is_found() {
        for (window, now, next) in [
            ("02:00-05:00", at(1, 59), at(2, 0)),
            ("02:00-05:00", at(2, 0), at(2, 0)),
            ("02:00-05:00", at(4, 59), at(4, 59)),
            ("02:00-05:00", at(5, 0), at(26, 0)),
            ("22:00-02:00", at(23, 0), at(23, 0)),
            ("22:00-02:00", at(1, 59), at(1, 59)),
            ("22:00-02:00", at(2, 0), at(22, 0)),
            ("00:00-24:00", at(13, 7), at(13, 7)),
            ("24:00-01:00", at(23, 0), at(24, 0)),
        ] {
            assert_eq!(window.parse::<Window>().unwrap().next(now), next, "{window} at {now}");
        }
        let early: Window = "02:00-05:00".parse().unwrap();
        assert_eq!(early.next(Timestamp(i64::MAX)), Timestamp(i64::MAX));
        assert!(early.next(Timestamp(i64::MIN / 2)).0 >= i64::MIN / 2);
    }

    #[test]
    fn windows_read_as_they_are_written() {
        for text in ["02:00-05:00", "22:30-02:00", "00:00-24:00", "23:59-00:00"] {
            let window: Window = text.parse().unwrap();
            let again: Window = window.to_string().parse().unwrap();
            assert_eq!(again, window, "{text}");
        }
        for text in
            ["", "2:00-5:00", "02:00", "02:00-02:00", "25:00-26:00", "24:01-03:00", "02:60-03:00", "+2:00-03:00"]
        {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }
}
