//! By which shares a move goes.

use crate::share::Share;

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

    /// These shares, and then everybody, whether that is among them or not.
    pub fn up_to_all(mut shares: Vec<Share>) -> Result<Steps, String> {
        if shares.last() != Some(&Share::ALL) {
            shares.push(Share::ALL);
        }
        Steps::try_from(shares)
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
