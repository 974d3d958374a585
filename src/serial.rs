//! Zone serial numbers (RFC 1982).

use std::fmt;

/// The serial number of a zone, compared by serial number arithmetic (RFC 1982 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Serial(pub u32);

impl Serial {
    /// Whether a secondary that holds `other` would take a zone with this serial. Two serials 2³¹ apart are neither
    /// above nor below each other.
    pub fn is_above(self, other: Serial) -> bool {
        let ahead = self.0.wrapping_sub(other.0);
        ahead != 0 && ahead < 1 << 31
    }

    /// The serial after this one.
    pub fn next(self) -> Serial {
        Serial(self.0.wrapping_add(1))
    }

    /// The serial to publish next, `self` being the last one published: what the text wants if a secondary would take
    /// it, else the one after.
    pub fn advance(self, wanted: Serial) -> Serial {
        if wanted.is_above(self) { wanted } else { self.next() }
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_only_rise() {
        for (last, wanted, published) in [
            (2024120501, 2024120502, 2024120502),
            (2024120501, 1733400000, 2024120502), // dates to epoch seconds
            (2024120501, 2024120501, 2024120502), // changed data, same serial
            (4294967290, 3, 3),                   // over the wrap
            (u32::MAX, u32::MAX, 0),
            (0, 1 << 31, 1), // 2³¹ apart is not above
        ] {
            let next = Serial(last).advance(Serial(wanted));
            assert_eq!(next, Serial(published));
            assert!(next.is_above(Serial(last)));
        }
    }
}
