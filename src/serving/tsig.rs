//! Transaction signatures (RFC 8945) of clients whose keys we don't have: the answer says just that.

use super::query::{Reader, expand};
use crate::name::{MAX_NAME, NameRef};
use crate::rr::{Class, RrType};
use crate::snapshot::answer::Rcode;

/// The response code that goes with it (RFC 8945 §5.2.1).
pub const NOTAUTH: Rcode = Rcode(9);
/// The error code in the record.
const BADKEY: u16 = 17;

/// The TSIG record of a query.
#[derive(Clone, Copy, Debug)]
pub struct Tsig<'p> {
    /// Where the name of the key stands, compressed perhaps.
    key_at: usize,
    algorithm: NameRef<'p>,
    /// Time signed and fudge.
    when: &'p [u8],
    original_id: u16,
}

impl<'p> Tsig<'p> {
    /// Reads a TSIG record that begins at `key_at`: class and data. `None`: it is malformed (RFC 8945 §4.2). The TTL has
    /// to be 0 and no peer cares.
    pub fn read(key_at: usize, class: u16, rdata: &'p [u8]) -> Option<Tsig<'p>> {
        if class != Class::ANY.0 {
            return None;
        }
        let mut reader = Reader::new(rdata, 0);
        let algorithm = reader.whole_name()?;
        let when = reader.take(8)?;
        let mac_size = reader.u16()?;
        reader.take(mac_size.into())?;
        let original_id = reader.u16()?;
        reader.u16()?;
        let other_size = reader.u16()?;
        reader.take(other_size.into())?;
        reader.is_at_end().then_some(Tsig { key_at, algorithm, when, original_id })
    }

    /// Writes the record that tells the client of `packet` that its key is not known (RFC 8945 §5.3.2), at `end`;
    /// returns where it ends, or `None` if it would go over `limit`.
    pub fn write_bad_key(&self, packet: &[u8], end: usize, limit: usize, out: &mut [u8]) -> Option<usize> {
        let mut key = [0; MAX_NAME];
        let (key_len, _) = expand(packet, self.key_at, &mut key)?;
        let rdata_len = self.algorithm.len() + self.when.len() + 8;
        let whole = end + key_len + 10 + rdata_len;
        if whole > limit {
            return None;
        }
        let mut at = end;
        for part in [
            &key[..key_len],
            &RrType::TSIG.0.to_be_bytes(),
            &Class::ANY.0.to_be_bytes(),
            &[0; 4],
            &(rdata_len as u16).to_be_bytes(),
            self.algorithm.as_wire(),
            self.when,
            // No MAC.
            &[0; 2],
            &self.original_id.to_be_bytes(),
            &BADKEY.to_be_bytes(),
            &[0; 2],
        ] {
            out[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Some(whole)
    }
}
