//! Points in time and times to live.

use std::fmt;
use std::time::Duration;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This much later; stops at the end of time instead of wrapping.
    pub fn after(self, wait: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long from `earlier` to here; nothing if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

impl fmt::Display for Timestamp {
    /// As operators read it, in UTC and by the proleptic Gregorian calendar: `2010-03-24 18:05:00 UTC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.seconds().div_euclid(86_400), self.seconds().rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// The date so many days after 1970-01-01. Years are counted from 1 March, so that a leap day is their last one; 400 of
/// them have 146,097 days.
fn civil(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468; // days since 0000-03-01
    let (era, day) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153; // from March
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// A time to live in seconds: at most 2³¹−1 (RFC 2181 §8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Ttl(u32);

impl Ttl {
    /// The greatest one.
    pub const MAX: Ttl = Ttl(i32::MAX as u32);
    /// Not to be kept at all.
    pub const ZERO: Ttl = Ttl(0);

    /// A TTL of so many seconds, if it is one.
    pub const fn new(seconds: u32) -> Option<Ttl> {
        if seconds <= Ttl::MAX.0 { Some(Ttl(seconds)) } else { None }
    }

    /// A TTL from a 32-bit field: with the highest bit set it counts as 0 (RFC 2181 §8).
    pub const fn from_wire(field: u32) -> Ttl {
        if field <= Ttl::MAX.0 { Ttl(field) } else { Ttl::ZERO }
    }

    /// The seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// As a span of time.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }

    /// A TTL as master files write it: seconds, or numbers with the units `w d h m s` in any order, each once at most
    /// (`1h30m`).
    pub fn parse(text: &str) -> Option<Ttl> {
        let bytes = text.as_bytes();
        if !bytes.first()?.is_ascii_digit() {
            return None;
        }
        let (mut total, mut number, mut open, mut seen) = (0u64, 0u64, false, 0u8);
        for &byte in bytes {
            if byte.is_ascii_digit() {
                number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                open = true;
                continue;
            }
            let (unit, bit) = match byte.to_ascii_lowercase() {
                b'w' => (604_800, 1),
                b'd' => (86_400, 2),
                b'h' => (3_600, 4),
                b'm' => (60, 8),
                b's' => (1, 16),
                _ => return None,
            };
            if !open || seen & bit != 0 {
                return None;
            }
            seen |= bit;
            total = total.checked_add(number.checked_mul(unit)?)?;
            (number, open) = (0, false);
        }
        if open {
            // Digits behind a unit would have no unit of their own.
            if seen != 0 {
                return None;
            }
            total = number;
        }
        u32::try_from(total).ok().and_then(Ttl::new)
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<'de> serde::Deserialize<'de> for Ttl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Ttl, D::Error> {
        let seconds = u32::deserialize(deserializer)?;
        Ttl::new(seconds).ok_or_else(|| serde::de::Error::custom("a TTL is at most 2147483647 seconds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_are_told_in_utc() {
        for (second, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_269_453_900, "2010-03-24 18:05:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(Timestamp(second * 1000).to_string(), text);
        }
    }

    #[test]
    fn ttls_read_as_master_files_write_them() {
        for (text, seconds) in
            [("0", 0), ("300", 300), ("1h", 3600), ("1h30m", 5400), ("1W2D", 777_600), ("2147483647", i32::MAX as u32)]
        {
            assert_eq!(Ttl::parse(text).map(Ttl::seconds), Some(seconds), "{text}");
        }
        for text in ["", "h", "1x", "1h1h", "2147483648", "-1", "1h30", "99999999999999999999w"] {
            assert_eq!(Ttl::parse(text), None, "{text}");
        }
    }

    #[test]
    fn time_neither_wraps_nor_goes_back() {
        assert_eq!(Timestamp(i64::MAX).after(Duration::from_secs(9)), Timestamp(i64::MAX));
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Ttl::from_wire(0x8000_0000), Ttl::ZERO);
    }
}
