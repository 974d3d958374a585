//! Chance that can be had again: everything drawn follows from a seed.

/// A stream of numbers that a seed gives (SplitMix64). Not for secrets.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The stream of this number among those of a seed; they have nothing to do with each other.
    pub fn stream(seed: u64, number: u64) -> Chance {
        let mut of = Chance(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Chance(of.draw())
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number from 0 to 1, without 1.
    pub fn share(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from 0 to `count`, without `count`; 0 where that is 0.
    pub fn below(&mut self, count: u32) -> u32 {
        ((u64::from(count) * (self.draw() >> 32)) >> 32) as u32
    }

    /// A number between these two.
    pub fn between(&mut self, least: f64, greatest: f64) -> f64 {
        least + (greatest - least) * self.share()
    }

    /// How long it is to the next of events that come by chance, `mean` apart on average.
    pub fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_averages_that_they_should() {
        let mut chance = Chance::stream(7, 3);
        let mut mean = |mut draw: Box<dyn FnMut(&mut Chance) -> f64>| {
            (0..100_000).map(|_| draw(&mut chance)).sum::<f64>() / 100_000.0
        };
        assert!((mean(Box::new(Chance::share)) - 0.5).abs() < 0.01);
        assert!((mean(Box::new(|chance| chance.wait(8.0))) - 8.0).abs() < 0.2);
        assert!((mean(Box::new(|chance| f64::from(chance.below(9)))) - 4.0).abs() < 0.05);
        assert!((mean(Box::new(|chance| chance.between(30.0, 120.0))) - 75.0).abs() < 0.5);
        assert_eq!((Chance::new(1).below(0), Chance::new(5).draw()), (0, Chance::new(5).draw()));
    }
}
