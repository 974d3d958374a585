//! DNS cookies (RFC 7873) with the server cookies of RFC 9018: a client that gives one back has shown that answers to
//! its address reach it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use siphasher::sip::SipHasher24;
use siphasher::sip128;

use crate::time::Timestamp;

/// A cookie of both parts, as it stands in an answer.
pub type Full = [u8; 24];

/// The only version there is (RFC 9018 §4.1).
const VERSION: u8 = 1;
/// How old a server cookie may be (RFC 9018 §4.3).
const VALID: i32 = 3600;
/// From which age on a fresh one is given (RFC 9018 §4.3).
const FRESH: i32 = 1800;
/// How far in the future it may come from: clocks of servers that share a secret differ (RFC 9018 §4.3).
const AHEAD: i32 = 300;

/// What server cookies are made with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CookieKeys {
    /// New ones are made with this key.
    pub current: [u8; 16],
    /// Those made with this key are still taken.
    pub previous: Option<[u8; 16]>,
}

/// Where the keys of server cookies come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CookieSecret {
    /// They are derived from one random root, another for every period of this length.
    ///
    /// A period is no shorter than a cookie is valid, so that two keys are all that is ever needed. Which key it is
    /// depends on the time alone: nothing has to be done for it to roll, and it is the same after a restart.
    Rolled {
        /// The root.
        root: [u8; 16],
        /// The length of a period; under an hour counts as an hour.
        every: Duration,
    },
    /// They are given, the same to all servers that answer on one address (RFC 9018 §5).
    Shared(CookieKeys),
}

impl CookieSecret {
    /// The keys at a time.
    pub fn keys(&self, now: Timestamp) -> CookieKeys {
        match *self {
            CookieSecret::Shared(keys) => keys,
            CookieSecret::Rolled { root, every } => {
                let period = i64::try_from(every.as_secs()).unwrap_or(i64::MAX).max(VALID.into());
                let number = now.seconds().div_euclid(period);
                let key = |number: i64| {
                    sip128::SipHasher24::new_with_key(&root).hash(&number.to_be_bytes()).as_u128().to_le_bytes()
                };
                CookieKeys { current: key(number), previous: Some(key(number.wrapping_sub(1))) }
            }
        }
    }
}

// No log may tell keys.
impl fmt::Debug for CookieKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKeys")
    }
}

impl fmt::Debug for CookieSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CookieSecret::Rolled { .. } => "Rolled",
            CookieSecret::Shared(_) => "Shared",
        })
    }
}

/// A COOKIE option as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'p> {
    /// The client's part.
    pub client: [u8; 8],
    /// The server's part, which may be another server's; empty if the client has none yet.
    pub server: &'p [u8],
}

/// What a server cookie says about who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The client has none yet.
    New,
    /// It is not one of ours for this client, or too old.
    Bad,
    /// It is ours: the address is not forged.
    Proven,
}

/// A cookie after a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What the server cookie says.
    pub standing: Standing,
    /// What goes into the answer.
    pub answer: Full,
}

impl<'p> Cookie<'p> {
    /// Reads the data of a COOKIE option: 8 octets, and none or 8 to 32 more (RFC 7873 §4). `None`: it is malformed.
    pub fn read(data: &'p [u8]) -> Option<Cookie<'p>> {
        let (client, server) = data.split_first_chunk()?;
        matches!(server.len(), 0 | 8..=32).then_some(Cookie { client: *client, server })
    }

    /// Looks at a cookie that came from `source`.
    pub fn check(&self, source: IpAddr, now: Timestamp, keys: &CookieKeys) -> Checked {
        let seconds = now.seconds() as u32;
        let fresh = || make(self.client, [VERSION, 0, 0, 0], seconds, source, &keys.current);
        let answer = |standing, answer| Checked { standing, answer };
        if self.server.is_empty() {
            return answer(Standing::New, fresh());
        }
        let Ok(&[version, r1, r2, r3, t1, t2, t3, t4, ..]) = <&[u8; 16]>::try_from(self.server) else {
            return answer(Standing::Bad, fresh());
        };
        let made = u32::from_be_bytes([t1, t2, t3, t4]);
        // Serial number arithmetic (RFC 1982), as RFC 9018 §4.3 asks for.
        let age = seconds.wrapping_sub(made) as i32;
        if version != VERSION || !(-AHEAD..=VALID).contains(&age) {
            return answer(Standing::Bad, fresh());
        }
        // What is reserved is not looked at, but hashed as it came (RFC 9018 §4.2).
        let with = |key| make(self.client, [version, r1, r2, r3], made, source, key);
        let is_ours = |full: &Full| same(&full[8..], self.server);
        let by_current = with(&keys.current);
        if is_ours(&by_current) {
            return answer(Standing::Proven, if age < FRESH { by_current } else { fresh() });
        }
        match keys.previous {
            Some(previous) if is_ours(&with(&previous)) => answer(Standing::Proven, fresh()),
            _ => answer(Standing::Bad, fresh()),
        }
    }
}

/// Makes a cookie (RFC 9018 §4.4).
fn make(client: [u8; 8], head: [u8; 4], seconds: u32, source: IpAddr, key: &[u8; 16]) -> Full {
    let mut input = [0; 32];
    input[..8].copy_from_slice(&client);
    input[8..12].copy_from_slice(&head);
    input[12..16].copy_from_slice(&seconds.to_be_bytes());
    let end = match source.to_canonical() {
        IpAddr::V4(address) => {
            input[16..20].copy_from_slice(&address.octets());
            20
        }
        IpAddr::V6(address) => {
            input[16..32].copy_from_slice(&address.octets());
            32
        }
    };
    let mut full = [0; 24];
    full[..16].copy_from_slice(&input[..16]);
    full[16..].copy_from_slice(&SipHasher24::new_with_key(key).hash(&input[..end]).to_le_bytes());
    full
}

/// Compares without telling by the time taken how much is equal.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn key(hex: &str) -> [u8; 16] {
        octets(hex).try_into().unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1000)
    }

    fn check(data: &str, source: &str, seconds: i64, keys: &CookieKeys) -> (Standing, Vec<u8>) {
        let data = octets(data);
        let Checked { standing, answer } =
            Cookie::read(&data).unwrap().check(source.parse().unwrap(), at(seconds), keys);
        (standing, answer.into())
    }

    /// The test vectors of RFC 9018, appendix A.
    #[test]
    fn cookies_are_those_of_rfc_9018() {
        let one = CookieKeys { current: key("e5e973e5a6b2a43f48e7dc849e37bfcf"), previous: None };
        let rolled = CookieKeys {
            current: key("445536bcd2513298075a5d379663c962"),
            previous: Some(key("dd3bdf9344b678b185a6f5cb60fca715")),
        };
        let v6 = "2001:db8:220:1:59de:d0f4:8769:82b8";
        for (given, source, seconds, keys, standing, answer) in [
            (
                "2464c4abcf10c957",
                "198.51.100.100",
                1_559_731_985,
                &one,
                Standing::New,
                "2464c4abcf10c957010000005cf79f111f8130c3eee29480",
            ),
            (
                "2464c4abcf10c957010000005cf79f111f8130c3eee29480",
                "::ffff:198.51.100.100",
                1_559_734_385,
                &one,
                Standing::Proven,
                "2464c4abcf10c957010000005cf7a871d4a564a1442aca77",
            ),
            (
                "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
                "203.0.113.203",
                1_559_727_985,
                &one,
                Standing::Proven,
                "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
            ),
            (
                "22681ab97d52c298010000005cf7c57926556bd0934c72f8",
                v6,
                1_559_741_961,
                &rolled,
                Standing::Proven,
                "22681ab97d52c298010000005cf7c609a6bb79d16625507a",
            ),
        ] {
            assert_eq!(check(given, source, seconds, keys), (standing, octets(answer)), "{given} at {seconds}");
        }
    }

    #[test]
    fn a_server_cookie_proves_one_client_for_an_hour() {
        let keys = CookieKeys { current: [1; 16], previous: None };
        let source = "192.0.2.1".parse().unwrap();
        let now = 1_700_000_000;
        let own = make([7; 8], [1, 0, 0, 0], now as u32, source, &keys.current);
        let standing = |data: &[u8], source: &str, seconds| {
            Cookie::read(data).unwrap().check(source.parse().unwrap(), at(seconds), &keys).standing
        };
        for (source, seconds, expected) in [
            ("192.0.2.1", now, Standing::Proven),
            ("192.0.2.1", now + 3600, Standing::Proven),
            ("192.0.2.1", now + 3601, Standing::Bad),
            ("192.0.2.1", now - 300, Standing::Proven),
            ("192.0.2.1", now - 301, Standing::Bad),
            ("192.0.2.2", now, Standing::Bad),
            ("2001:db8::1", now, Standing::Bad),
            // The clock of 32 bits starts again, and is what it was (RFC 9018 §4.3).
            ("192.0.2.1", now + (1 << 32), Standing::Proven),
        ] {
            assert_eq!(standing(&own, source, seconds), expected, "{source} at {seconds}");
        }
        for octet in 0..24 {
            let mut other = own;
            other[octet] ^= 1;
            assert_eq!(standing(&other, "192.0.2.1", now), Standing::Bad, "octet {octet} differs");
        }
        for length in 16..=40 {
            let data = [&own[..], &[0; 16]].concat();
            let expected = if length == 24 { Standing::Proven } else { Standing::Bad };
            assert_eq!(standing(&data[..length], "192.0.2.1", now), expected, "{length} octets");
        }
    }

    #[test]
    fn keys_roll_with_time_and_nobody_is_lost() {
        let secret = CookieSecret::Rolled { root: [9; 16], every: Duration::from_secs(86_400) };
        let source = "192.0.2.1".parse().unwrap();
        for start in [0, 86_400 * 19_000, 86_400 * 19_000 - 1, -5] {
            let keys = secret.keys(at(start));
            let given = Cookie { client: [3; 8], server: &[] }.check(source, at(start), &keys).answer;
            for (later, expected) in [(0, Standing::Proven), (3600, Standing::Proven), (200_000, Standing::Bad)] {
                let cookie = Cookie::read(&given).unwrap();
                let checked = cookie.check(source, at(start + later), &secret.keys(at(start + later)));
                assert_eq!(checked.standing, expected, "{start} + {later}");
            }
        }
        assert_eq!(secret.keys(at(86_400)).previous, Some(secret.keys(at(86_399)).current));
        assert_ne!(secret.keys(at(86_400)).current, secret.keys(at(86_399)).current);
        assert!(!format!("{secret:?} {:?}", secret.keys(at(0))).contains('9'));
    }

    #[test]
    fn lengths_that_no_cookie_has_are_malformed() {
        for length in 0..=50 {
            let well_formed = matches!(length, 8 | 16..=40);
            assert_eq!(Cookie::read(&[0; 50][..length]).is_some(), well_formed, "{length} octets");
        }
    }
}
