//! SHA-256 digests: what identifies a text, a plan, a gate's findings.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; printed as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// `text` as a digest or the beginning of one, in lower case: 4 to 64 hexadecimal digits.
    pub fn beginning(text: &str) -> Result<String, String> {
        let fits = (4..=64).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        if fits {
            Ok(text.to_ascii_lowercase())
        } else {
            Err("a digest is 4 to 64 hexadecimal digits, as it was shown".into())
        }
    }

    /// The digest of `octets`.
    pub fn of(octets: &[u8]) -> Digest {
        Digest(Sha256::digest(octets).into())
    }

    /// The digest of several parts; where one ends counts, so that `["ab", "c"]` is not `["a", "bc"]`.
    pub fn of_parts<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Digest {
        let mut all = Parts::default();
        parts.into_iter().for_each(|part| all.add(part.as_ref()));
        all.digest()
    }

    /// The first eight hexadecimal digits: enough for a person to name one among a few.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }

    /// Whether `prefix` (at least four hexadecimal digits) is how this digest begins.
    pub fn matches(&self, prefix: &str) -> bool {
        prefix.len() >= 4 && self.to_string().starts_with(&prefix.to_ascii_lowercase())
    }

    /// The digest that these octets are, as [`Digest::as_bytes`] gave them.
    pub fn from_bytes(octets: [u8; 32]) -> Digest {
        Digest(octets)
    }

    /// The octets.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Parts that are digested one after the other, as [`Digest::of_parts`] does it.
#[derive(Clone, Debug, Default)]
pub struct Parts(Sha256);

impl Parts {
    /// Adds a part.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// The digest of all parts.
    pub fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let wrong = || format!("`{text}` is not a digest of 64 hexadecimal digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut octets = [0; 32];
        for (octet, pair) in octets.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *octet = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Digest(octets))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back_and_prefixes_match() {
        let digest = Digest::of(b"zone");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!(digest.matches(&digest.short()) && !digest.matches("") && !digest.matches("0000000"));
        assert_ne!(Digest::of_parts(["ab", "c"]), Digest::of_parts(["a", "bc"]));
    }
}
