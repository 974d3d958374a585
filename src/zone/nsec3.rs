//! Hashed owner names (RFC 5155).

use sha1::{Digest as _, Sha1};

use crate::name::NameRef;
use crate::rr::RrType;
use crate::zone::rrsets::Zone;

/// The octets of a hashed owner name (RFC 5155 §5, SHA-1).
pub const HASH: usize = 20;

/// A hashed owner name.
pub type Hash = [u8; HASH];

/// How a zone's names are hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How often more than once.
    pub iterations: u16,
    /// What is hashed along.
    pub salt: Box<[u8]>,
}

impl Parameters {
    /// Those of a zone's first NSEC3PARAM record that uses SHA-1 (RFC 5155 §4).
    pub fn of(zone: &Zone) -> Option<Parameters> {
        zone.rrset(zone.origin(), RrType::NSEC3PARAM)?.rdatas().find_map(|rdata| Some(Parameters::read(rdata)?.0))
    }

    /// What an NSEC3PARAM or NSEC3 record begins with, and what comes behind it; none for other hashes than SHA-1.
    pub fn read(rdata: &[u8]) -> Option<(Parameters, &[u8])> {
        let (front, rest) = rdata.split_at_checked(5)?;
        let (salt, rest) = rest.split_at_checked(front[4].into())?;
        let iterations = u16::from_be_bytes([front[2], front[3]]);
        (front[0] == 1).then(|| (Parameters { iterations, salt: salt.into() }, rest))
    }

    /// The hash of a name in lower case (RFC 5155 §5).
    pub fn hash(&self, name: &[u8]) -> Hash {
        let mut hash: Hash = Sha1::new().chain_update(name).chain_update(&self.salt).finalize().into();
        for _ in 0..self.iterations {
            hash = Sha1::new().chain_update(hash).chain_update(&self.salt).finalize().into();
        }
        hash
    }
}

/// The hash that an NSEC3 record's owner tells: its first label in base32hex (RFC 5155 §3, RFC 4648 §7).
pub fn hash_of_owner(owner: NameRef<'_>) -> Option<Hash> {
    let label = owner.first_label().filter(|label| label.len() == HASH * 8 / 5)?;
    let mut hash = [0; HASH];
    for (group, octets) in label.chunks_exact(8).zip(hash.chunks_exact_mut(5)) {
        let bits = group.iter().try_fold(0u64, |bits, digit| {
            let value = match digit.to_ascii_lowercase() {
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'v' => digit - b'a' + 10,
                _ => return None,
            };
            Some(bits << 5 | u64::from(value))
        })?;
        octets.copy_from_slice(&bits.to_be_bytes()[3..]);
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    /// The example of RFC 5155, Appendix A: salt AABBCCDD, 12 iterations.
    #[test]
    fn names_hash_as_in_rfc_5155() {
        let parameters = Parameters { iterations: 12, salt: [0xAA, 0xBB, 0xCC, 0xDD].into() };
        for (name, owner) in [
            ("example", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"),
            ("a.example", "35mthgpgcu1qg68fab165klnsnk3dpvl"),
            ("*.w.example", "r53bq7cc2uvmubfu5ocmm6pers9tk9en"),
            ("x.y.w.example", "2vptu5timamqttgl4luu9kg21e0aor3s"),
        ] {
            let owner = Name::absolute(&format!("{owner}.example")).unwrap();
            let hash = parameters.hash(Name::absolute(name).unwrap().as_ref().as_wire());
            assert_eq!(Some(hash), hash_of_owner(owner.as_ref()), "{name}");
        }
    }
}
