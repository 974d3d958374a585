//! Shares: how much of a region's clients has moved.

use std::fmt;
use std::str::FromStr;

/// A share of a whole in basis points, of which the whole has 10,000: `30%` is 3,000 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Share(u16);

impl Share {
    /// Nothing.
    pub const NONE: Share = Share(0);
    /// The whole.
    pub const ALL: Share = Share(10_000);

    /// A share of so many basis points, if the whole has as many.
    pub const fn new(points: u16) -> Option<Share> {
        if points <= Share::ALL.0 { Some(Share(points)) } else { None }
    }

    /// The basis points: 0 to 10,000.
    pub const fn basis_points(self) -> u16 {
        self.0
    }

    /// Whether it is neither nothing nor the whole.
    pub fn is_split(self) -> bool {
        self != Share::NONE && self != Share::ALL
    }
}

impl fmt::Display for Share {
    /// In percent, with no more decimals than it takes: `30%`, `0.5%`, `12.34%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, rest) = (self.0 / 100, self.0 % 100);
        match (rest, rest % 10) {
            (0, _) => f.pad(&format!("{percent}%")),
            (_, 0) => f.pad(&format!("{percent}.{}%", rest / 10)),
            _ => f.pad(&format!("{percent}.{rest:02}%")),
        }
    }
}

impl FromStr for Share {
    type Err = String;

    /// A percentage with two decimals at most, from `0%` to `100%`.
    fn from_str(text: &str) -> Result<Share, String> {
        let wrong = || format!("`{text}` is no share: write a percentage from 0% to 100%, such as `30%` or `0.5%`");
        let number = text.strip_suffix('%').ok_or_else(wrong)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|octet| octet.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(decimals, 2) {
            return Err(wrong());
        }
        let number = |part: &str| part.parse::<u32>().map_err(|_| wrong());
        let tenths_missing = if decimals.len() == 1 { 10 } else { 1 };
        let points = number(whole)? * 100 + number(decimals)? * tenths_missing;
        u16::try_from(points).ok().and_then(Share::new).ok_or_else(wrong)
    }
}

impl TryFrom<u16> for Share {
    type Error = String;

    fn try_from(points: u16) -> Result<Share, String> {
        Share::new(points).ok_or_else(|| format!("{points} basis points are more than all: 10000 is 100%"))
    }
}

impl From<Share> for u16 {
    fn from(share: Share) -> u16 {
        share.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_reads_as_it_is_written() {
        for points in 0..=10_000 {
            let share = Share::new(points).unwrap();
            assert_eq!(share.to_string().parse(), Ok(share));
            let text = serde_json::to_string(&share).unwrap();
            assert_eq!((text.as_str(), serde_json::from_str(&text).unwrap()), (&*points.to_string(), share));
        }
        assert_eq!(Share::new(10_001), None);
        assert!(serde_json::from_str::<Share>("10001").is_err());
    }

    #[test]
    fn shares_are_percentages() {
        for (text, points, shown) in [
            ("30%", 3000, "30%"),
            ("0.5%", 50, "0.5%"),
            ("0.05%", 5, "0.05%"),
            ("100%", 10_000, "100%"),
            ("007%", 700, "7%"),
        ] {
            let share: Share = text.parse().unwrap();
            assert_eq!((share.basis_points(), share.to_string().as_str()), (points, shown));
            assert_eq!(share.is_split(), text != "100%");
        }
        for wrong in ["", "%", "30", "-1%", "+1%", "101%", "100.01%", "1.%", ".5%", "0.005%", "1e1%", " 1%", "65637%"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
