//! How much of a region's clients is answered from the new site.

use std::fmt;
use std::str::FromStr;

/// A part of a whole in basis points: 10000 is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Share(u16);

impl Share {
    /// Nobody.
    pub const NONE: Share = Share(0);
    /// Everybody.
    pub const ALL: Share = Share(10_000);

    /// A share of so many basis points, if it is one.
    pub const fn new(basis_points: u16) -> Option<Share> {
        if basis_points <= Share::ALL.0 { Some(Share(basis_points)) } else { None }
    }

    /// The basis points.
    pub const fn basis_points(self) -> u16 {
        self.0
    }

    /// Whether some are answered from one site and some from the other.
    pub fn is_split(self) -> bool {
        self != Share::NONE && self != Share::ALL
    }
}

impl TryFrom<u16> for Share {
    type Error = String;

    fn try_from(basis_points: u16) -> Result<Share, String> {
        Share::new(basis_points).ok_or_else(|| format!("{basis_points} basis points are more than all: 10000 is 100%"))
    }
}

impl From<Share> for u16 {
    fn from(share: Share) -> u16 {
        share.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 100, self.0 % 100);
        match rest {
            0 => write!(f, "{whole}%"),
            _ if rest % 10 == 0 => write!(f, "{whole}.{}%", rest / 10),
            _ => write!(f, "{whole}.{rest:02}%"),
        }
    }
}

impl FromStr for Share {
    type Err = String;

    /// Reads `30%` or `0.5%`: two decimals at most.
    fn from_str(text: &str) -> Result<Share, String> {
        let wrong = || format!("`{text}` is not a share: write 0% to 100%, with two decimals at most, such as 0.5%");
        let number = text.strip_suffix('%').ok_or_else(wrong)?;
        let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str, most: usize| {
            let good = (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            good.then(|| part.parse::<u16>().ok()).flatten().ok_or_else(wrong)
        };
        let (whole, hundredths) = (digits(whole, 3)?, digits(rest, 2)? * if rest.len() == 1 { 10 } else { 1 });
        Share::new(whole * 100 + hundredths).ok_or_else(wrong)
    }
}

/// The shares that a move stops at on its way: ascending, the last one is everybody.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<Share>", into = "Vec<Share>")]
pub struct Steps(Vec<Share>);

impl Steps {
    /// How many there may be.
    pub const MOST: usize = 100;

    /// Everybody at once.
    pub fn at_once() -> Steps {
        Steps(vec![Share::ALL])
    }

    /// The next share above this one; everybody, where there is none.
    pub fn above(&self, share: Share) -> Share {
        self.0.iter().copied().find(|step| *step > share).unwrap_or(Share::ALL)
    }

    /// The next share below this one; nobody, where there is none.
    pub fn below(&self, share: Share) -> Share {
        self.0.iter().rev().copied().find(|step| *step < share).unwrap_or(Share::NONE)
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Share] {
        &self.0
    }
}

impl TryFrom<Vec<Share>> for Steps {
    type Error = String;

    fn try_from(steps: Vec<Share>) -> Result<Steps, String> {
        let ascending = steps.windows(2).all(|pair| pair[0] < pair[1]);
        if steps.first().is_none_or(|first| *first == Share::NONE) || !ascending {
            return Err("steps ascend, and the first one is more than 0%: such as 1%, 10%, 100%".into());
        }
        if steps.last() != Some(&Share::ALL) {
            return Err("the last step is 100%: a move ends with everybody answered from the new site".into());
        }
        if steps.len() > Steps::MOST {
            return Err(format!("a move has at most {} steps; there are {}", Steps::MOST, steps.len()));
        }
        Ok(Steps(steps))
    }
}

impl From<Steps> for Vec<Share> {
    fn from(steps: Steps) -> Vec<Share> {
        steps.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_back_as_they_are_written() {
        for basis_points in 0..=10_000 {
            let share = Share::new(basis_points).unwrap();
            assert_eq!(share.to_string().parse(), Ok(share));
        }
        for (text, basis_points) in [("0.5%", 50), ("30%", 3000), ("12.25%", 1225), ("0.05%", 5), ("100.0%", 10_000)] {
            assert_eq!(text.parse::<Share>().map(Share::basis_points), Ok(basis_points), "{text}");
        }
        for text in ["", "%", "30", "100.01%", "101%", "-1%", "+1%", "1.234%", ".5%", "1.%", "9999%", "1 %", "٣%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        assert_eq!(Share::new(10_001), None);
        assert!(serde_json::from_str::<Share>("10001").is_err());
    }

    #[test]
    fn steps_ascend_to_everybody() {
        let steps =
            |shares: &[&str]| Steps::try_from(shares.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        let good = steps(&["1%", "30%", "100%"]).unwrap();
        let walk = |share: &str| {
            (good.above(share.parse().unwrap()).to_string(), good.below(share.parse().unwrap()).to_string())
        };
        assert_eq!(walk("0%"), ("1%".into(), "0%".into()));
        assert_eq!(walk("30%"), ("100%".into(), "1%".into()));
        assert_eq!(walk("45%"), ("100%".into(), "30%".into()));
        assert_eq!(walk("100%"), ("100%".into(), "30%".into()));
        for bad in [&[][..], &["0%", "100%"], &["10%", "10%", "100%"], &["30%", "10%", "100%"], &["10%"]] {
            assert!(steps(bad).is_err(), "{bad:?}");
        }
    }
}
