//! What a packet asks for, looked at once: the name, and the zone that holds it; and what it was told.

use super::Serving;
use super::told::Told;
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
    /// What the answer told, once there is one.
    pub(super) told: Option<Told>,
}

impl Asked {
    /// What `packet` asks `serving` for.
    pub fn of(serving: &Serving, packet: &[u8]) -> Asked {
        let mut asked = Asked::default();
        asked.read(packet);
        asked.find(serving);
        asked
    }

    /// Reads what another packet asks for, yet to be [found](Asked::find).
    pub fn read(&mut self, packet: &[u8]) {
        let is_named = self.sought.read(packet.get(HEADER..).unwrap_or_default());
        self.name_end = is_named.then(|| HEADER + self.sought.len());
        (self.zone, self.told) = (None, None);
    }

    /// Finds the zone of `serving` that holds the name.
    pub fn find(&mut self, serving: &Serving) {
        if self.name_end.is_some() {
            self.sought.hash(serving.key);
            self.zone = serving.directory.find_index(&self.sought, 0);
        }
    }

    /// The number of the zone that holds the name, if any.
    pub fn zone(&self) -> Option<usize> {
        self.zone
    }

    /// What the answer told of a zone; none if there is no answer yet, if it is an error or if no zone of ours holds the name.
    pub fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// The type that the packet asks for.
    pub fn rtype(&self, packet: &[u8]) -> Option<RrType> {
        let octets = packet.get(self.name_end?..)?.first_chunk()?;
        Some(RrType(u16::from_be_bytes(*octets)))
    }

    /// The name as it stands in the packet, in the case that it came in; none if no uncompressed name stands there.
    pub(super) fn name<'p>(&self, packet: &'p [u8]) -> Option<NameRef<'p>> {
        self.name_end.map(|end| NameRef::trusted(&packet[HEADER..end]))
    }
}
