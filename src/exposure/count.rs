//! How often, in thirteen bits.

/// How often something was seen: exact up to 511, to a few parts in a hundred up to sixteen million, and no more beyond.
///
/// Beyond what is exact only one of 2, 4, 8… is counted, drawn by the octets that the caller hands in (R. Morris, Counting large
/// numbers of events in small registers, 1978).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(u16);

/// Bits of the number that is counted, and below them those of how many it stands for.
const MANTISSA: u32 = 9;
const EXPONENT: u32 = 4;
const FULL: u16 = (1 << MANTISSA) - 1;
const MOST: u16 = (1 << EXPONENT) - 1;

impl Count {
    /// How many bits it takes.
    pub const BITS: u32 = MANTISSA + EXPONENT;

    /// One more; `drawn` is any number without a pattern.
    pub fn one_more(self, drawn: u64) -> Count {
        let (mantissa, exponent) = self.parts();
        if drawn & ((1 << exponent) - 1) != 0 {
            return self;
        }
        match (mantissa, exponent) {
            (FULL, MOST) => self,
            // Twice as much stands for half as many.
            (FULL, _) => Count::of(FULL.div_ceil(2), exponent + 1),
            _ => Count::of(mantissa + 1, exponent),
        }
    }

    /// Both together.
    pub fn and(self, other: Count) -> Count {
        Count::about(self.value() + other.value())
    }

    /// Half as many.
    pub fn halved(self) -> Count {
        Count::about(self.value() / 2)
    }

    /// About so many.
    pub fn about(value: u64) -> Count {
        let exponent = (64 - value.leading_zeros()).saturating_sub(MANTISSA);
        if exponent > u32::from(MOST) {
            Count::of(FULL, MOST)
        } else {
            Count::of((value >> exponent) as u16, exponent as u16)
        }
    }

    /// How many that is, about.
    pub fn value(self) -> u64 {
        let (mantissa, exponent) = self.parts();
        u64::from(mantissa) << exponent
    }

    /// As [`Count::BITS`] bits.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From its bits.
    pub fn from_bits(bits: u16) -> Count {
        Count(bits & ((1 << Count::BITS) - 1))
    }

    fn of(mantissa: u16, exponent: u16) -> Count {
        Count(exponent << MANTISSA | mantissa)
    }

    fn parts(self) -> (u16, u16) {
        (self.0 & FULL, self.0 >> MANTISSA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern (SplitMix64).
    fn drawn(number: u64) -> u64 {
        let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    #[test]
    fn small_numbers_are_exact_and_large_ones_nearly_so() {
        let mut count = Count::default();
        for number in 1..=3_000_000u64 {
            count = count.one_more(drawn(number));
            let off = (count.value() as f64 - number as f64).abs() / number as f64;
            assert!(off < if number < 512 { 1e-9 } else { 0.15 }, "{number} counts as {}", count.value());
        }
        assert_eq!((count.halved().value() as f64 / count.value() as f64 * 2.0).round(), 1.0);
    }

    #[test]
    fn numbers_never_wrap_and_add_up() {
        let most = Count::about(u64::MAX);
        assert_eq!((most.one_more(0), most.and(most).value()), (most, most.value()));
        assert_eq!(Count::about(511).value(), 511);
        assert_eq!(Count::about(300).and(Count::about(400)).value(), 700);
        assert_eq!(Count::from_bits(most.bits()), most);
        assert!(most.bits() < 1 << Count::BITS);
    }
}
