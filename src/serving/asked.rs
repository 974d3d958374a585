//! What a packet asks for, looked at once: the name, and the zone that holds it.

use super::Serving;
use super::query::Query;
use crate::name::NameRef;
use crate::rr::RrType;
use crate::snapshot::emit::HEADER;
use crate::snapshot::sought::Sought;

/// What a packet asks for: room that is used again for the next one, and means nothing before the first.
#[derive(Default)]
pub struct Asked {
    /// The name, if there is one; once the packet is answered, the last one of the chain of aliases.
    pub(super) sought: Sought,
    /// Where the name ends in the packet; none if no uncompressed name stands behind the header.
    name_end: Option<usize>,
    /// The number of the zone that holds the name.
    pub(super) zone: Option<usize>,
}

impl Asked {
    /// What `packet` asks `serving` for.
    pub fn of(serving: &Serving, packet: &[u8]) -> Asked {
        let mut asked = Asked::default();
        asked.set(serving, packet);
        asked
    }

    /// What another packet asks `serving` for, from here on.
    pub fn set(&mut self, serving: &Serving, packet: &[u8]) {
        let is_named = self.sought.set(serving.key, packet.get(HEADER..).unwrap_or_default());
        self.name_end = is_named.then(|| HEADER + self.sought.len());
        self.zone = if is_named { serving.directory.find_index(&self.sought, 0) } else { None };
    }

    /// The number of the zone that holds the name, if any.
    pub fn zone(&self) -> Option<usize> {
        self.zone
    }

    /// The type that the packet asks for.
    pub fn rtype(&self, packet: &[u8]) -> Option<RrType> {
        let octets = packet.get(self.name_end?..)?.first_chunk()?;
        Some(RrType(u16::from_be_bytes(*octets)))
    }

    /// The packet, of at least a header's length, as a query.
    pub(super) fn query<'p>(&self, packet: &'p [u8]) -> Query<'p> {
        // In the case that it came in.
        Query::with_name(packet, self.name_end.map(|end| NameRef::trusted(&packet[HEADER..end])))
    }
}
